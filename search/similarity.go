package search

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
)

// Similarity search: how much of the query's text is in the tool's text, in order. Package letters
// computes the ratio (blocks.go).
//
// Every word of the query that the text contains adds 0.12 to the ratio. That is about the
// ratio of a short query against a short description, so one whole word outweighs letters
// that happen to be in order.
//
// A query computes a ratio only where it can matter: documents with more words of the query are
// ranked first, and the number of letters that two texts share, in any order, bounds their ratio.

const (
	defaultWordBonus = 0.12
	defaultFloor     = 0.05
)

// SimilarityOptions configures Similarity. The zero value is a good default.
type SimilarityOptions struct {
	// WordBonus is added to the score for each word of the query that the tool's text contains,
	// on the ratio's scale of 0 to 1. Zero means 0.12. Negative means no bonus.
	WordBonus float64

	// Floor is the score that a match must exceed. Zero means 0.05. Negative means 0: every text
	// that shares a letter with the query matches.
	Floor float64

	// MaxHits is the most hits of one search, whatever the query's limit. Zero means no bound.
	MaxHits int
}

// Similarity is the Indexer that ranks tools by the likeness of their text to the query, letter
// by letter: SimilarityOptions with all defaults.
//
// The text is the tool's name, description and hint, without empty ones, joined by spaces. The
// score is the ratio of Python's difflib.SequenceMatcher, from 0 to 1, plus 0.12 for each word of
// the query that the text contains. A score of 0.05 or less is not a match. Ties go by the order of
// the documents.
//
// The query is read up to 1024 code points, a text up to 4096. Memory is a few times the size
// of the texts. The time of a query is proportional to the number of documents.
func Similarity(ctx context.Context, docs []Document) (Searcher, error) {
	return SimilarityOptions{}.Index(ctx, docs)
}

// Index is an Indexer. See Similarity.
func (o SimilarityOptions) Index(ctx context.Context, docs []Document) (Searcher, error) {
	o.WordBonus, o.Floor = max(cmp.Or(o.WordBonus, defaultWordBonus), 0), max(cmp.Or(o.Floor, defaultFloor), 0)
	x := &similarityIndex{options: o, docs: docs, texts: make([]letters.Text, len(docs))}
	for i := range docs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x.texts[i] = letters.NewText(similarityTextOf(&docs[i]))
	}
	x.scratch.New = func() any { return new(letters.BlockFinder) }
	return x, nil
}

// similarityTextOf is what a query is compared with.
func similarityTextOf(doc *Document) string {
	whole := make([]string, 0, 3)
	for _, s := range []string{doc.Name, doc.Description, doc.Hint} {
		if s != "" {
			whole = append(whole, naming.Cut(s, letters.MaxText*utf8.UTFMax))
		}
	}
	return strings.ToLower(strings.Join(whole, " "))
}

// similarityIndex implements Searcher. It is immutable except for the pool.
type similarityIndex struct {
	options SimilarityOptions // with the defaults
	docs    []Document
	texts   []letters.Text
	scratch sync.Pool
}

// similarityQuery is the text to compare, and the words that earn the bonus.
type similarityQuery struct {
	text  string
	words []string
	sets  []uint64 // word -> naming.LetterSet
}

func newSimilarityQuery(q Query) similarityQuery {
	s := similarityQuery{text: naming.CutRunes(strings.ToLower(q.text()), letters.MaxQuery)}
	for _, word := range q.Keywords {
		word = strings.ToLower(word)
		s.words, s.sets = append(s.words, word), append(s.sets, naming.LetterSet(word))
	}
	return s
}

// wordsIn counts the query's words that the text contains. A word typed twice counts twice.
func (s *similarityQuery) wordsIn(t *letters.Text) int {
	n := 0
	for i, word := range s.words {
		if s.sets[i]&^t.LetterSet() == 0 && t.Contains(word) {
			n++
		}
	}
	return n
}

// score adds the bonus for words to a ratio, one by one, to get the same sum as Explain.
func (x *similarityIndex) score(ratio float64, words int) float64 {
	for range words {
		ratio += x.options.WordBonus
	}
	return ratio
}

func (x *similarityIndex) String() string { return "Similarity" }

func (x *similarityIndex) Search(ctx context.Context, q Query) (Hits, error) {
	query := newSimilarityQuery(q)
	words := make([]int, len(x.docs)) // the query's words in each document; -1 means not allowed
	most := 0
	for i := range x.docs {
		if i%256 == 0 && ctx.Err() != nil {
			return Hits{}, ctx.Err()
		}
		words[i] = -1
		if q.Allows(i) {
			words[i] = query.wordsIn(&x.texts[i])
		}
		most = max(most, words[i])
	}
	f := x.scratch.Get().(*letters.BlockFinder)
	defer x.scratch.Put(f)
	f.Begin(query.text)
	best := docset.NewTop(atMost(q.Limit, x.options.MaxHits), len(x.docs), nil)
	total := 0
	for n := most; n >= 0; n-- {
		for i := range words {
			if words[i] != n {
				continue
			}
			if i%64 == 0 && ctx.Err() != nil {
				return Hits{}, ctx.Err()
			}
			highest := x.score(f.Ratio(f.Load(&x.texts[i])), n)
			if highest <= x.options.Floor {
				continue
			}
			if x.score(0, n) > x.options.Floor && !best.Wants(highest, int32(i)) {
				total++ // a match, but not one of the best
				continue
			}
			matched, err := f.Matched(ctx)
			if err != nil {
				return Hits{}, err
			}
			if score := x.score(f.Ratio(matched), n); score > x.options.Floor {
				total++
				best.Add(score, int32(i))
			}
		}
	}
	return Hits{Hits: hitsOf(&best, nil), Total: total}, nil
}

func (x *similarityIndex) Explain(ctx context.Context, q Query, doc int) (Explanation, error) {
	if doc < 0 || doc >= len(x.docs) {
		return Explanation{}, fmt.Errorf("toolsearch: no document %d", doc)
	}
	query, text := newSimilarityQuery(q), &x.texts[doc]
	f := new(letters.BlockFinder)
	f.Begin(query.text)
	f.Load(text)
	matched, err := f.Matched(ctx)
	if err != nil {
		return Explanation{}, err
	}
	ratio := f.Ratio(matched)
	a, b := f.Lengths()
	e := Explanation{Score: ratio, Parts: []Contribution{{Term: query.text, Score: ratio,
		Detail: fmt.Sprintf("2*%d letters in blocks / (%d + %d letters)", matched, a, b)}}}
	for _, word := range query.words {
		part := Contribution{Term: word, Detail: "the text does not hold it"}
		if text.Contains(word) {
			part.Score, part.Detail = x.options.WordBonus, "the text contains it"
		}
		e.add(part)
	}
	if e.Score <= x.options.Floor {
		return Explanation{Parts: []Contribution{{Term: query.text,
			Detail: fmt.Sprintf("%.4f is not above the floor of %g", e.Score, x.options.Floor)}}}, nil
	}
	return e, nil
}
