package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/top"
)

// Similarity search: how much of the query's text is in the tool's text, in order.
//
// The measure is that of Ratcliff and Obershelp (Dr. Dobb's Journal, July 1988), in the
// variant of Python's difflib.SequenceMatcher(None, a, b).ratio(). Scores and thresholds
// tuned in Python hold here:
//
//	a = the query, b = the tool's text, both lower-cased, as code points
//	matched = the length of the longest block common to a and b
//	        + matched of the texts left of the block + matched of the texts right of it
//	ratio   = 2*matched / (len(a) + len(b))
//
// Of equally long blocks the first in a counts, then the first in b. If b has 200 code points
// or more, a code point that makes up more than 1 % of b (occurs more than len(b)/100 + 1
// times) is popular. A block cannot start from a popular code point, but it may grow over
// them. Hence the ratio is not symmetric, and long prose scores low for the letters that a
// short query shares with all prose.
//
// Every word of the query that the text contains adds 0.12 to the ratio. That is about the
// ratio of a short query against a short description, so one whole word outweighs letters
// that happen to be in order.
//
// A block is found by walking a and looking up where b has the same code point:
//
//	document -- letters, sorted --> places in b -- run ending there --> longest block
//
// The letters and places of a document are computed once. A query computes a ratio only
// where it can matter: documents with more words of the query are ranked first, and the number
// of letters that two texts share, in any order, bounds their ratio. The worst case is blocks
// of one letter; the bounds below then keep one ratio at some ten milliseconds.

const (
	maxSimilarityQuery = 1024 // code points of the query that are compared
	maxSimilarityText  = 4096 // code points of a tool's text that are compared

	popularFrom = 200 // a text of this many code points or more has popular code points

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
// score is the ratio of Python's difflib.SequenceMatcher, from 0 to 1, plus 0.12 for each word
// of the query that the text contains. A score of 0.05 or less is no match. Ties go by the
// order of the documents.
//
// The query is read up to 1024 code points, a text up to 4096. Memory is a few times the size
// of the texts. The time of a query is proportional to the number of documents.
func Similarity(ctx context.Context, docs []Document) (Searcher, error) {
	return SimilarityOptions{}.Index(ctx, docs)
}

// Index is an Indexer. See Similarity.
func (o SimilarityOptions) Index(ctx context.Context, docs []Document) (Searcher, error) {
	x := &similarityIndex{
		docs:    docs,
		texts:   make([]similarityText, len(docs)),
		bonus:   max(cmp.Or(o.WordBonus, defaultWordBonus), 0),
		floor:   max(cmp.Or(o.Floor, defaultFloor), 0),
		maxHits: max(o.MaxHits, 0),
	}
	var b similarityBuilder
	for i := range docs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x.texts[i] = b.text(&docs[i])
	}
	x.scratch.New = func() any { return new(blockFinder) }
	return x, nil
}

// similarityIndex implements Searcher. It is immutable except for the pool.
type similarityIndex struct {
	docs    []Document
	texts   []similarityText
	bonus   float64
	floor   float64
	maxHits int
	scratch sync.Pool
}

// similarityText is b, with the places of its code points.
type similarityText struct {
	text    string // lower-cased
	wide    []rune // its code points; nil means that text is ASCII
	length  int    // in code points
	set     uint64 // naming.LetterSet of text
	letters []letter
	places  []uint16 // where the letters occur, ascending for each; popular letters have none
}

// letter is a distinct code point of a text. The letters of a text are sorted.
type letter struct {
	char     rune
	count    uint16 // how often the text has it
	from, to uint16 // its places are places[from:to]
}

func (t *similarityText) at(i int) rune {
	if t.wide == nil {
		return rune(t.text[i])
	}
	return t.wide[i]
}

// similarityBuilder is the working space of the build.
type similarityBuilder struct {
	chars  []uint64 // code point << 32 | place
	places []uint16
}

func (b *similarityBuilder) text(doc *Document) similarityText {
	whole := make([]string, 0, 3)
	for _, s := range []string{doc.Name, doc.Description, doc.Hint} {
		if s != "" {
			whole = append(whole, naming.Cut(s, maxSimilarityText*utf8.UTFMax))
		}
	}
	t := similarityText{text: naming.CutRunes(strings.ToLower(strings.Join(whole, " ")), maxSimilarityText)}
	b.chars = b.chars[:0]
	for _, char := range t.text {
		b.chars = append(b.chars, uint64(char)<<32|uint64(t.length))
		t.length++
	}
	t.set = naming.LetterSet(t.text)
	if t.length != len(t.text) {
		t.wide = []rune(t.text)
	}
	slices.Sort(b.chars)
	t.letters, b.places = make([]letter, 0, 32), b.places[:0]
	for i := 0; i < len(b.chars); {
		next := i + 1
		for next < len(b.chars) && b.chars[next]>>32 == b.chars[i]>>32 {
			next++
		}
		l := letter{char: rune(b.chars[i] >> 32), count: uint16(next - i), from: uint16(len(b.places))}
		if t.length < popularFrom || next-i <= t.length/100+1 {
			for _, c := range b.chars[i:next] {
				b.places = append(b.places, uint16(c))
			}
		}
		l.to = uint16(len(b.places))
		t.letters = append(t.letters, l)
		i = next
	}
	t.letters, t.places = slices.Clone(t.letters), slices.Clone(b.places)
	return t
}

// similarityQuery is a, and the words that earn the bonus.
type similarityQuery struct {
	text  string
	words []string
	sets  []uint64 // word -> naming.LetterSet
}

func newSimilarityQuery(q Query) similarityQuery {
	s := similarityQuery{text: naming.CutRunes(strings.ToLower(q.text()), maxSimilarityQuery)}
	for _, word := range q.Keywords {
		word = strings.ToLower(word)
		s.words, s.sets = append(s.words, word), append(s.sets, naming.LetterSet(word))
	}
	return s
}

// wordsIn counts the query's words that the text contains. A word typed twice counts twice.
func (s *similarityQuery) wordsIn(t *similarityText) int {
	n := 0
	for i, word := range s.words {
		if s.sets[i]&^t.set == 0 && strings.Contains(t.text, word) {
			n++
		}
	}
	return n
}

// score adds the bonus for words to a ratio, one by one, to get the same sum as Explain.
func (x *similarityIndex) score(ratio float64, words int) float64 {
	for range words {
		ratio += x.bonus
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
	f := x.scratch.Get().(*blockFinder)
	defer x.scratch.Put(f)
	f.begin(query.text)
	best := top.New(atMost(q.Limit, x.maxHits), len(x.docs), nil)
	total := 0
	for n := most; n >= 0; n-- {
		for i := range words {
			if words[i] != n {
				continue
			}
			if i%64 == 0 && ctx.Err() != nil {
				return Hits{}, ctx.Err()
			}
			highest := x.score(ratioOf(f.load(&x.texts[i]), len(f.a), x.texts[i].length), n)
			if highest <= x.floor {
				continue
			}
			if x.score(0, n) > x.floor && !best.Wants(highest, int32(i)) {
				total++ // a match, but not one of the best
				continue
			}
			matched, err := f.matched(ctx)
			if err != nil {
				return Hits{}, err
			}
			if score := x.score(ratioOf(matched, len(f.a), x.texts[i].length), n); score > x.floor {
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
	f := new(blockFinder)
	f.begin(query.text)
	f.load(text)
	matched, err := f.matched(ctx)
	if err != nil {
		return Explanation{}, err
	}
	ratio := ratioOf(matched, len(f.a), text.length)
	e := Explanation{Score: ratio, Parts: []Contribution{{Term: query.text, Score: ratio,
		Detail: fmt.Sprintf("2*%d letters in blocks / (%d + %d letters)", matched, len(f.a), text.length)}}}
	for _, word := range query.words {
		part := Contribution{Term: word, Detail: "the text does not hold it"}
		if strings.Contains(text.text, word) {
			part.Score, part.Detail = x.bonus, "the text holds it"
		}
		e.add(part)
	}
	if e.Score <= x.floor {
		return Explanation{Parts: []Contribution{{Term: query.text,
			Detail: fmt.Sprintf("%.4f is not above the floor of %g", e.Score, x.floor)}}}, nil
	}
	return e, nil
}

// ratioOf returns the ratio; it is 1 for two empty texts, which are equal.
func ratioOf(matched, a, b int) float64 {
	if a+b == 0 {
		return 1
	}
	return 2 * float64(matched) / float64(a+b)
}

// blockFinder finds the blocks that a query shares with each of several texts.
type blockFinder struct {
	a       []rune
	kinds   []int32 // the code points of a, numbered
	letters []rune  // number -> code point, sorted
	counts  []int   // number -> how often a has it

	b      *similarityText
	places [][]uint16 // number -> where b has it

	// runs[j+1] is the run of equal code points that ends at j in b. Its stamp tells the row,
	// which is the place in a. A stamp is never used twice.
	runs  []blockRun
	stamp uint32
	todo  []span
	steps int // since ctx was last asked
}

type blockRun struct {
	stamp  uint32
	length int32
}

// span is a part of a and a part of b between blocks.
type span struct{ alo, ahi, blo, bhi int }

// begin sets the query.
func (f *blockFinder) begin(query string) {
	f.a = append(f.a[:0], []rune(query)...)
	f.letters = append(f.letters[:0], f.a...)
	slices.Sort(f.letters)
	f.letters = slices.Compact(f.letters)
	f.counts = append(f.counts[:0], make([]int, len(f.letters))...)
	f.kinds = f.kinds[:0]
	for _, char := range f.a {
		kind, _ := slices.BinarySearch(f.letters, char)
		f.kinds = append(f.kinds, int32(kind))
		f.counts[kind]++
	}
	f.places = slices.Grow(f.places[:0], len(f.letters))[:len(f.letters)]
	if f.runs == nil {
		f.runs = make([]blockRun, maxSimilarityText+1)
	}
}

// load sets the text. It returns how many code points the text shares with the query, in any
// order, which is an upper bound on the length of all blocks.
func (f *blockFinder) load(b *similarityText) (shared int) {
	f.b = b
	clear(f.places)
	next := 0
	for kind, char := range f.letters {
		for next < len(b.letters) && b.letters[next].char < char {
			next++
		}
		if next == len(b.letters) {
			break
		}
		if l := &b.letters[next]; l.char == char {
			f.places[kind] = b.places[l.from:l.to]
			shared += min(f.counts[kind], int(l.count))
		}
	}
	return shared
}

// matched returns the length of all blocks. It does not depend on which side of a block is
// searched first, so a stack replaces the recursion, which could be deep.
func (f *blockFinder) matched(ctx context.Context) (matched int, err error) {
	f.todo = append(f.todo[:0], span{0, len(f.a), 0, f.b.length})
	for len(f.todo) > 0 {
		s := f.todo[len(f.todo)-1]
		f.todo = f.todo[:len(f.todo)-1]
		if s.alo == s.ahi || s.blo == s.bhi {
			continue
		}
		i, j, length := f.longest(s)
		if f.steps > 1<<16 {
			f.steps = 0
			if err := ctx.Err(); err != nil {
				return 0, err
			}
		}
		if length > 0 {
			matched += length
			f.todo = append(f.todo, span{s.alo, i, s.blo, j}, span{i + length, s.ahi, j + length, s.bhi})
		}
	}
	return matched, nil
}

// longest finds the longest block within a span. Of equally long blocks it takes the first in
// a, then the first in b.
func (f *blockFinder) longest(s span) (besti, bestj, best int) {
	if rows := uint32(s.ahi - s.alo + 1); f.stamp > math.MaxUint32-rows {
		f.stamp = 0
		clear(f.runs)
	}
	besti, bestj = s.alo, s.blo
	f.stamp++ // the first row follows no row
	for i := s.alo; i < s.ahi; i++ {
		f.stamp++
		places := f.places[f.kinds[i]]
		f.steps += 1 + len(places)
		// The walk is backwards: the run at j continues the run before j in the row above,
		// which must not be overwritten yet.
		for n := len(places) - 1; n >= 0 && int(places[n]) >= s.blo; n-- {
			j := int(places[n])
			if j >= s.bhi {
				continue
			}
			length := 1
			if before := f.runs[j]; before.stamp == f.stamp-1 {
				length += int(before.length)
			}
			f.runs[j+1] = blockRun{f.stamp, int32(length)}
			if start := i + 1 - length; length > best || length == best && start == besti {
				besti, bestj, best = start, j+1-length, length
			}
		}
	}
	// Popular code points have no places. A block, even an empty block, grows over them.
	for besti > s.alo && bestj > s.blo && f.a[besti-1] == f.b.at(bestj-1) {
		besti, bestj, best = besti-1, bestj-1, best+1
	}
	for besti+best < s.ahi && bestj+best < s.bhi && f.a[besti+best] == f.b.at(bestj+best) {
		best++
	}
	return besti, bestj, best
}
