// Package keywords scores tools by keywords as Eino's own tool_search does, with an index.
//
// The scores are those of Eino's scorer bit for bit, so a model tuned to Eino's behaves the same with
// them. Each keyword, lower-cased, earns a tool the best of four tiers:
//
//	10  a part of its name equals the keyword      issue   ~ create_issue
//	 5  a part of its name contains it             iss     ~ create_issue
//	 3  its full name contains it                  e_issue ~ create_issue
//	 2  its description contains it                bug     ~ "Opens a bug report"
//
// A tool's score is the sum over the keywords. A keyword typed twice counts twice. Equal scores
// are ordered by name. A tool with the score 0 does not match. The numbers are not derived from
// anything. They say that a whole word of the name counts as much as five mentions in prose.
//
// Checking every tool for every keyword costs time proportional to the text of the whole catalog.
// The index searches the vocabulary instead. A keyword has no white space, so it can occur only in
//
//	a part of a name            or, where those are cut finer,
//	a segment of a name between underscores,
//	a white-space field of a description,
//
// Even a large catalog has few distinct words of these kinds:
//
//	keyword -- suffix array --> words that contain it -- postings --> tools
//
// The text of the suffix array is the distinct words, joined by line breaks. Every word has
// up to three posting lists, one for each place it occurs in (place* below). Tools are numbered
// in the order of their names, so the tie-break compares numbers. The lists are walked from
// the best tier down, and the first visit to a tool counts.
//
// A keyword with an underscore is an exception, since it can span segments. Its longest piece
// between underscores lies within one segment. That piece gives the candidates, and each
// candidate's name is checked.
package keywords

import (
	"context"
	"index/suffixarray"
	"math"
	"strings"
	"sync"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// The points of the tiers.
const (
	PartEquals   = 10
	PartContains = 5
	Name         = 3
	Description  = 2
)

// The places where a word of the vocabulary can occur. Each has a posting list.
const (
	placePart        = iota // the word is a part of the name
	placeSegment            // it is a segment of several parts
	placeDescription        // it is a field of the description
	places
)

// postings are the posting lists of one word, by place: tools, ascending.
type postings [places][]int32

// An Index is immutable except for the pool of scratch space. It is safe for concurrent use.
type Index struct {
	names    []string // tool -> lower-cased name
	suffixes *suffixarray.Index
	wordAt   []int32    // offset in the suffix array's text -> word
	starts   []int32    // word -> where it starts in that text
	lists    []postings // of each word
	scratch  sync.Pool
}

// New returns the index of n tools. text returns a tool's name and its description. It fails only
// if the context is done.
func New(ctx context.Context, n int, text func(tool int) (name, description string)) (*Index, error) {
	x := &Index{names: make([]string, n)}
	b := vocabulary{ids: make(map[string]int32)}
	for number := range x.names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name, description := text(number)
		x.names[number] = strings.ToLower(name)
		b.addName(int32(number), name)
		for word := range strings.FieldsSeq(strings.ToLower(description)) {
			b.add(int32(number), word, placeDescription)
		}
	}
	x.lists = b.lists
	x.suffixes, x.wordAt, x.starts = b.suffixes()
	words := len(b.words)
	x.scratch.New = func() any { return &Scores{index: x, cells: make([]cell, n), words: make([]uint32, words)} }
	return x, nil
}

// vocabulary collects words and where they occur.
type vocabulary struct {
	ids   map[string]int32
	words []string
	lists []postings
}

// add adds an occurrence of a word. Tools are added in ascending order.
func (b *vocabulary) add(number int32, word string, place int) {
	id, known := b.ids[word]
	if !known {
		id = int32(len(b.words))
		b.ids[word] = id
		b.words = append(b.words, word)
		b.lists = append(b.lists, postings{})
	}
	if list := &b.lists[id][place]; len(*list) == 0 || (*list)[len(*list)-1] != number {
		*list = append(*list, number)
	}
}

// addName adds the parts of a name, and the segments that have several parts. Words of names may
// have white space, which keywords do not have: such a word may contain keywords but equals none.
func (b *vocabulary) addName(number int32, name string) {
	for segment := range strings.SplitSeq(name, "_") {
		parts := naming.Parts(segment)
		for _, part := range parts {
			b.add(number, strings.ToLower(part), placePart)
		}
		if len(parts) > 1 {
			b.add(number, strings.ToLower(segment), placeSegment)
		}
	}
}

// suffixes joins the words by line breaks. No keyword has a line break, so no hit spans two
// words. Word w is text[starts[w]:starts[w+1]-1].
func (b *vocabulary) suffixes() (suffixes *suffixarray.Index, wordAt, starts []int32) {
	size := 0
	for _, word := range b.words {
		size += len(word) + 1
	}
	text := make([]byte, 0, size)
	wordAt = make([]int32, 0, size)
	starts = make([]int32, 0, len(b.words)+1)
	for id, word := range b.words {
		starts = append(starts, int32(len(text)))
		text = append(append(text, word...), '\n')
		for range len(word) + 1 {
			wordAt = append(wordAt, int32(id))
		}
	}
	return suffixarray.New(text), wordAt, append(starts, int32(len(text)))
}

// Begin returns the scores of a query of at most that many keywords. The caller releases them.
func (x *Index) Begin(keywords int) *Scores {
	s := x.scratch.Get().(*Scores)
	s.begin(keywords)
	return s
}

// EachHolding calls yield for the tools on which a word scores, for some tools more than once.
func (x *Index) EachHolding(word string, yield func(tool int32)) {
	s := x.Begin(1)
	defer s.Release()
	word = strings.ToLower(word)
	s.found, _ = x.containing(word, s.found[:0], s)
	for _, found := range s.found {
		for _, list := range x.lists[found] {
			for _, number := range list {
				yield(number)
			}
		}
	}
	if strings.Contains(word, "_") {
		x.eachAcrossSegments(s, word, yield)
	}
}

// Release returns the working space to the index. The scores must not be used afterwards.
func (s *Scores) Release() { s.index.scratch.Put(s) }

// Of returns the score of a touched tool.
func (s *Scores) Of(tool int32) float64 { return float64(s.cells[tool].score) }

// Add gives every tool the best tier that a keyword earns it, as many times as the keyword was
// typed. Each keyword is added once.
func (s *Scores) Add(keyword string, times int) {
	s.times = uint32(times)
	s.tick++
	x, keyword := s.index, strings.ToLower(keyword)
	found, equal := x.containing(keyword, s.found[:0], s)
	s.found = found
	if equal >= 0 {
		s.add(x.lists[equal][placePart], PartEquals)
	}
	for _, word := range found {
		s.add(x.lists[word][placePart], PartContains)
	}
	if strings.Contains(keyword, "_") {
		var hit [1]int32
		x.eachAcrossSegments(s, keyword, func(number int32) {
			hit[0] = number
			s.add(hit[:], Name)
		})
	} else {
		for _, word := range found {
			s.add(x.lists[word][placeSegment], Name)
		}
	}
	for _, word := range found {
		s.add(x.lists[word][placeDescription], Description)
	}
}

// containing appends to found the words that contain text. equal is the word that equals text,
// or -1.
func (x *Index) containing(text string, found []int32, s *Scores) (_ []int32, equal int32) {
	equal = -1
	s.look++
	s.text = append(s.text[:0], text...)
	for _, at := range x.suffixes.Lookup(s.text, -1) {
		word := x.wordAt[at]
		if s.words[word] == s.look {
			continue // a word may contain the text twice
		}
		s.words[word] = s.look
		found = append(found, word)
		if int(x.starts[word+1]-x.starts[word]) == len(text)+1 {
			equal = word
		}
	}
	return found, equal
}

// eachAcrossSegments calls yield for the tools whose names contain a keyword with underscores,
// for some tools more than once. If the keyword has only underscores, every name is a
// candidate.
func (x *Index) eachAcrossSegments(s *Scores, keyword string, yield func(number int32)) {
	longest := ""
	for piece := range strings.SplitSeq(keyword, "_") {
		if len(piece) > len(longest) {
			longest = piece
		}
	}
	check := func(number int32) {
		if strings.Contains(x.names[number], keyword) {
			yield(number)
		}
	}
	if longest == "" {
		for number := range x.names {
			check(int32(number))
		}
		return
	}
	s.pieces, _ = x.containing(longest, s.pieces[:0], s)
	for _, word := range s.pieces {
		for _, list := range x.lists[word][:placeDescription] {
			for _, number := range list {
				check(number)
			}
		}
	}
}

// Scores are the scores of one query, and its working space. The arrays are not cleared between
// queries: the tick of a value tells whether an earlier query set it.
type Scores struct {
	Touched []int32         // the tools with a score
	Best    []docset.Scored // space that the caller may use

	index *Index
	first uint32 // the tick before the query's first keyword
	tick  uint32 // advances with every keyword
	times uint32 // how often the keyword was typed
	cells []cell

	look   uint32   // advances with every look-up in the vocabulary
	words  []uint32 // word -> the look-up that last found it
	found  []int32
	pieces []int32
	text   []byte
}

// cell is eight bytes. The bounds on a query keep the score far below overflow.
type cell struct {
	tick  uint32 // the keyword that last scored this tool
	score uint32
}

// begin starts a query of at most that many keywords. Each keyword takes a tick and up to
// two look-ups, and these counters must not overflow within the query.
func (s *Scores) begin(keywords int) {
	s.Touched = s.Touched[:0]
	if room := uint32(2*keywords + 1); max(s.tick, s.look) > math.MaxUint32-room {
		s.tick, s.look = 0, 0
		clear(s.cells)
		clear(s.words)
	}
	s.first = s.tick
}

// add scores the tools of a list, except those the keyword has already scored. It is not
// inlined: in a caller that keeps more in registers, the loop is slower.
//
//go:noinline
func (s *Scores) add(list []int32, points uint32) {
	points *= s.times
	cells, tick, first := s.cells, s.tick, s.first
	for _, number := range list {
		c := &cells[number]
		switch {
		case c.tick == tick:
		case c.tick <= first:
			*c = cell{tick, points}
			s.Touched = append(s.Touched, number)
		default:
			*c = cell{tick, c.score + points}
		}
	}
}
