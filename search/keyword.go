package search

import (
	"context"
	"fmt"
	"index/suffixarray"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/top"
)

// The default keyword scorer.
//
// It copies the scorer of Eino's own tool_search bit for bit: a model tuned to Eino's behaves
// the same with this one. Each keyword, lower-cased, earns a tool the best of four tiers:
//
//	10  a part of its name equals the keyword      issue   ~ create_issue
//	 5  a part of its name contains it             iss     ~ create_issue
//	 3  its full name contains it                  e_issue ~ create_issue
//	 2  its description contains it                bug     ~ "Opens a bug report"
//
// A tool's score is the sum over the keywords. A keyword typed twice counts twice. Equal
// scores are ordered by name. A tool with the score 0 does not match. By ReadQuery's rule,
// neither does a tool on which a required keyword scores 0. The numbers have no derivation.
// They say that one whole word of the name counts as much as five mentions in prose.
//
// Checking every tool for every keyword costs time proportional to the text of the whole
// catalog. The index searches the vocabulary instead. A keyword has no white space, so it
// can occur only inside
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

const (
	tierPartEquals   = 10
	tierPartContains = 5
	tierName         = 3
	tierDescription  = 2
)

// The places where a word of the vocabulary can occur. Each has a posting list.
const (
	placePart        = iota // the word is a part of the name
	placeSegment            // it is a segment of several parts
	placeDescription        // it is a field of the description
	places
)

// keywordLists are the posting lists of one word, by place: tools, ascending.
type keywordLists [places][]int32

// keywordIndex implements Searcher. It is immutable except for the pool of scratch space.
type keywordIndex struct {
	docs     []Document
	docOf    []int32  // tool number, in the order of names -> document
	names    []string // tool number -> lower-cased name
	suffixes *suffixarray.Index
	wordAt   []int32        // offset in the suffix array's text -> word
	starts   []int32        // word -> where it starts in that text
	lists    []keywordLists // of each word
	scratch  sync.Pool
}

// Keyword is the Indexer of the default keyword scorer. The time of a query is proportional to
// the number of tools that match, not to the size of the catalog. The memory is about the size
// of the catalog's names and distinct words.
//
// Descriptions are read up to 64 KiB.
func Keyword(ctx context.Context, docs []Document) (Searcher, error) {
	x, err := newKeywordIndex(ctx, docs)
	if err != nil {
		return nil, err
	}
	return x, nil
}

func newKeywordIndex(ctx context.Context, docs []Document) (*keywordIndex, error) {
	x := &keywordIndex{docs: docs, docOf: docsByName(docs), names: make([]string, len(docs))}

	b := vocabulary{ids: make(map[string]int32)}
	for number, doc := range x.docOf {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x.names[number] = strings.ToLower(docs[doc].Name)
		b.addName(int32(number), docs[doc].Name)
		for word := range strings.FieldsSeq(strings.ToLower(naming.Cut(docs[doc].Description, MaxDescriptionBytes))) {
			b.add(int32(number), word, placeDescription)
		}
	}
	x.lists = b.lists
	x.suffixes, x.wordAt, x.starts = b.suffixes()
	tools, words := len(docs), len(b.words)
	x.scratch.New = func() any {
		return &keywordScratch{cells: make([]keywordCell, tools), words: make([]uint32, words)}
	}
	return x, nil
}

// vocabulary collects words and where they occur.
type vocabulary struct {
	ids   map[string]int32
	words []string
	lists []keywordLists
}

// add adds an occurrence of a word. Tools are added in ascending order.
func (b *vocabulary) add(number int32, word string, place int) {
	id, known := b.ids[word]
	if !known {
		id = int32(len(b.words))
		b.ids[word] = id
		b.words = append(b.words, word)
		b.lists = append(b.lists, keywordLists{})
	}
	if list := &b.lists[id][place]; len(*list) == 0 || (*list)[len(*list)-1] != number {
		*list = append(*list, number)
	}
}

// addName adds the parts of a name, and the segments that have several parts. They may have
// white space, which keywords do not have: such a word contains keywords and equals none.
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

// ReadQuery implements QueryReader. It reads a namespace in front of the text as a keyword, as
// Eino does.
func (x *keywordIndex) ReadQuery(text string) Query {
	q := ParseQuery(text)
	if len(q.Required) > 0 {
		q.Allowed, q.Required = allHolding(q.Required, x.holdingPiece).Has, nil
	}
	return q
}

func (x *keywordIndex) documents() []Document { return x.docs }

// holdingPiece implements pieceIndex. It returns the documents on which the word scores.
func (x *keywordIndex) holdingPiece(word string) docset.Set {
	s := x.scratch.Get().(*keywordScratch)
	defer x.scratch.Put(s)
	s.begin(1)
	word = strings.ToLower(word)
	set := docset.New(len(x.docs))
	s.found, _ = x.containing(word, s.found[:0], s)
	for _, found := range s.found {
		for _, list := range x.lists[found] {
			for _, number := range list {
				set.Add(int(x.docOf[number]))
			}
		}
	}
	if strings.Contains(word, "_") {
		x.eachAcrossSegments(s, word, func(number int32) { set.Add(int(x.docOf[number])) })
	}
	return set
}

func (x *keywordIndex) Search(ctx context.Context, q Query) (Hits, error) {
	s := x.scratch.Get().(*keywordScratch)
	defer x.scratch.Put(s)
	s.begin(len(q.Keywords))
	for i, keyword := range q.Keywords {
		if err := ctx.Err(); err != nil {
			return Hits{}, err
		}
		if slices.Contains(q.Keywords[:i], keyword) {
			continue
		}
		s.times = 1
		for _, again := range q.Keywords[i+1:] {
			if again == keyword {
				s.times++
			}
		}
		s.tick++
		x.score(s, strings.ToLower(keyword))
	}
	best := top.New(q.Limit, len(s.touched), s.best)
	total := 0
	allowed := q.Allowed
	for _, number := range s.touched {
		if allowed == nil || allowed(int(x.docOf[number])) {
			total++
			best.Add(float64(s.cells[number].score), number)
		}
	}
	s.best = best.Items
	return Hits{Hits: hitsOf(&best, x.docOf), Total: total}, nil
}

// Explain implements Explainer. It checks the document itself, without the index.
func (x *keywordIndex) Explain(_ context.Context, q Query, doc int) (Explanation, error) {
	if doc < 0 || doc >= len(x.docs) {
		return Explanation{}, fmt.Errorf("toolsearch: no document %d", doc)
	}
	var e Explanation
	for _, keyword := range q.Keywords {
		e.add(tierOf(strings.ToLower(keyword), &x.docs[doc]))
	}
	return e, nil
}

// tierOf is the definition that the index must agree with.
func tierOf(keyword string, doc *Document) Contribution {
	part := Contribution{Term: keyword, Detail: "not found"}
	if strings.Contains(strings.ToLower(naming.Cut(doc.Description, MaxDescriptionBytes)), keyword) {
		part = Contribution{keyword, "description", tierDescription, "the description contains it"}
	}
	if strings.Contains(strings.ToLower(doc.Name), keyword) {
		part = Contribution{keyword, "name", tierName, "the name contains it"}
	}
	for _, name := range naming.Parts(doc.Name) {
		switch name = strings.ToLower(name); {
		case name == keyword:
			return Contribution{keyword, "name", tierPartEquals, "a part of the name equals it"}
		case strings.Contains(name, keyword):
			part = Contribution{keyword, "name", tierPartContains, "a part of the name contains it"}
		}
	}
	return part
}

// score gives every tool the best tier that the keyword earns it.
func (x *keywordIndex) score(s *keywordScratch, keyword string) {
	found, equal := x.containing(keyword, s.found[:0], s)
	s.found = found
	if equal >= 0 {
		s.add(x.lists[equal][placePart], tierPartEquals)
	}
	for _, word := range found {
		s.add(x.lists[word][placePart], tierPartContains)
	}
	if strings.Contains(keyword, "_") {
		var hit [1]int32
		x.eachAcrossSegments(s, keyword, func(number int32) {
			hit[0] = number
			s.add(hit[:], tierName)
		})
	} else {
		for _, word := range found {
			s.add(x.lists[word][placeSegment], tierName)
		}
	}
	for _, word := range found {
		s.add(x.lists[word][placeDescription], tierDescription)
	}
}

// containing appends to found the words that contain text. equal is the word that equals text,
// or -1.
func (x *keywordIndex) containing(text string, found []int32, s *keywordScratch) (_ []int32, equal int32) {
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
func (x *keywordIndex) eachAcrossSegments(s *keywordScratch, keyword string, yield func(number int32)) {
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

// keywordScratch is the working space of one query. Its arrays are not cleared between queries:
// the tick of a value tells whether it is from an earlier query.
type keywordScratch struct {
	first   uint32 // the tick before the query's first keyword
	tick    uint32 // advances with every keyword
	times   uint32 // how often the keyword was typed
	cells   []keywordCell
	touched []int32 // tools with a score
	best    []top.Scored

	look   uint32   // advances with every look-up in the vocabulary
	words  []uint32 // word -> the look-up that last found it
	found  []int32
	pieces []int32
	text   []byte
}

// keywordCell is eight bytes. The bounds on a query keep the score far below overflow.
type keywordCell struct {
	tick  uint32 // the keyword that last scored this tool
	score uint32
}

// begin starts a query of at most that many keywords. Each keyword takes a tick and up to two
// look-ups, and these counters must not overflow within the query.
func (s *keywordScratch) begin(keywords int) {
	s.touched = s.touched[:0]
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
func (s *keywordScratch) add(list []int32, points uint32) {
	points *= s.times
	cells, tick, first := s.cells, s.tick, s.first
	for _, number := range list {
		cell := &cells[number]
		switch {
		case cell.tick == tick:
		case cell.tick <= first:
			*cell = keywordCell{tick, points}
			s.touched = append(s.touched, number)
		default:
			*cell = keywordCell{tick, cell.score + points}
		}
	}
}
