package search

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
)

// Similarity search, by the ratio of package letters (blocks.go). A word of the query in the text adds 0.12, about the
// ratio of a short query against a short description, so it outweighs letters that happen to be in order.
//
// A query computes a ratio only where it can matter: the number of letters that two texts share, in any order, bounds
// their ratio.

const (
	defaultWordBonus = 0.12
	defaultFloor     = 0.05
)

// SimilarityOptions configures Similarity. The zero value is a good default.
type SimilarityOptions struct {
	// WordBonus is added to the ratio, from 0 to 1, for each word of the query that the tool's text contains. Zero
	// means 0.12. Negative means no bonus.
	WordBonus float64

	// Floor is the score that a match must exceed. Zero means 0.05. Negative means 0: every text
	// that shares a letter with the query matches.
	Floor float64
}

// Similarity is the Indexer that ranks tools by the likeness of their text to the query, letter by letter, with the
// defaults of SimilarityOptions.
//
// The text is the tool's name, description and hint, joined by spaces. The score is the ratio of Python's
// difflib.SequenceMatcher, from 0 to 1, plus 0.12 for each word of the query that the text contains. A score of 0.05
// or less is not a match. Ties go by the order of the documents.
//
// The query is read up to 1024 code points, a text up to 4096. Memory is a few times the size of the texts. The time
// of a query is proportional to the number of documents.
func Similarity(ctx context.Context, docs []Document) (Searcher, error) {
	return SimilarityOptions{}.Index(ctx, docs)
}

// Index is an Indexer. See Similarity.
func (o SimilarityOptions) Index(ctx context.Context, docs []Document) (Searcher, error) {
	o.WordBonus, o.Floor = max(cmp.Or(o.WordBonus, defaultWordBonus), 0), max(cmp.Or(o.Floor, defaultFloor), 0)
	x := &similarityIndex{options: o, texts: make([]letters.Text, len(docs))}
	for i := range docs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		doc, whole := &docs[i], make([]string, 0, 4)
		for _, s := range []string{doc.Name, doc.Original, doc.Description, doc.Hint} {
			if s != "" {
				whole = append(whole, naming.Cut(s, letters.MaxText*utf8.UTFMax))
			}
		}
		x.texts[i] = letters.NewText(strings.ToLower(strings.Join(whole, " ")))
	}
	return x, nil
}

// similarityIndex implements Searcher. It is immutable.
type similarityIndex struct {
	options SimilarityOptions // with the defaults
	texts   []letters.Text    // by document
}

// readSimilar returns the text to compare, and the words that earn the bonus.
func readSimilar(q Query) (text string, words []string) {
	for _, word := range q.Keywords {
		words = append(words, strings.ToLower(word))
	}
	return naming.CutRunes(strings.ToLower(q.text()), letters.MaxQuery), words
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
	query, keywords := readSimilar(q)
	f := letters.NewBlockFinder(query)
	best := docset.NewTop(q.Limit, len(x.texts), nil)
	for i := range x.texts {
		if i%64 == 0 && ctx.Err() != nil {
			return Hits{}, ctx.Err()
		}
		if !q.Allows(i) {
			continue
		}
		words := 0 // of the query; a word typed twice counts twice
		for _, word := range keywords {
			if x.texts[i].Contains(word) {
				words++
			}
		}
		highest := x.score(f.Ratio(f.Load(&x.texts[i])), words)
		if highest <= x.options.Floor {
			continue
		}
		if x.score(0, words) > x.options.Floor && !best.Wants(highest, int32(i)) {
			best.Total++ // a match, but not one of the best
			continue
		}
		matched, err := f.Matched(ctx)
		if err != nil {
			return Hits{}, err
		}
		if score := x.score(f.Ratio(matched), words); score > x.options.Floor {
			best.Add(score, int32(i))
		}
	}
	return hitsOf(&best, nil), nil
}

func (x *similarityIndex) Explain(ctx context.Context, q Query, doc int) (Explanation, error) {
	if doc < 0 || doc >= len(x.texts) {
		return Explanation{}, fmt.Errorf("toolsearch: no document %d", doc)
	}
	query, words := readSimilar(q)
	f := letters.NewBlockFinder(query)
	f.Load(&x.texts[doc])
	matched, err := f.Matched(ctx)
	if err != nil {
		return Explanation{}, err
	}
	ratio := f.Ratio(matched)
	a, b := f.Lengths()
	e := Explanation{Score: ratio, Parts: []Contribution{{Term: query, Score: ratio,
		Detail: fmt.Sprintf("2*%d letters in blocks / (%d + %d letters)", matched, a, b)}}}
	for _, word := range words {
		part := Contribution{Term: word, Detail: "the text does not hold it"}
		if x.texts[doc].Contains(word) {
			part.Score, part.Detail = x.options.WordBonus, "the text contains it"
		}
		e.add(part)
	}
	if e.Score <= x.options.Floor {
		return Explanation{Parts: []Contribution{{Term: query,
			Detail: fmt.Sprintf("%.4f is not above the floor of %g", e.Score, x.options.Floor)}}}, nil
	}
	return e, nil
}
