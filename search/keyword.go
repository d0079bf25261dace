package search

import (
	"context"
	"fmt"
	"index/suffixarray"
	"slices"
	"strings"
	"sync"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// The default keyword scorer. The scores are those of Eino's own tool_search bit for bit. Each keyword, lower-cased,
// earns a tool the best of four tiers:
//
//	10  a part of its name equals the keyword      issue   ~ create_issue
//	 5  a part of its name contains it             iss     ~ create_issue
//	 3  its full name contains it                  e_issue ~ create_issue
//	 2  its description contains it                bug     ~ "Opens a bug report"
//
// A tool's score is the sum over the keywords; a keyword typed twice counts twice. Equal scores are ordered by name.
// The numbers are not derived from anything. A whole word of the name counts as much as five mentions in prose.
//
// The index searches the vocabulary instead of every tool's text. A keyword contains no white space, so it can occur
// only in a part of a name, in a segment of a name between underscores, or in a white-space field of a description:
//
//	keyword -- suffix array --> words that contain it -- postings --> tools
//
// The text of the suffix array is the distinct words, each with a line break. Every word leads to a posting list for
// each place where it occurs. Tools are numbered in the order of their names, so the tie-break compares numbers. The
// lists are walked from the best tier down, and the first visit to a tool counts.

// The points of the tiers.
const (
	partEquals    = 10
	partContains  = 5
	inName        = 3
	inDescription = 2
)

// The places where a word of the vocabulary can occur, the best first.
const (
	placePart        = iota // the word is a part of the name
	placeSegment            // it is a segment of several parts
	placeDescription        // it is a field of the description
	places
)

// placePoints are the points of a tool for a word that contains the keyword, by the place of the word.
var placePoints = [places]uint32{partContains, inName, inDescription}

// keywordIndex implements Searcher. It is immutable except for its scratches.
type keywordIndex struct {
	docs     []Document
	docOf    []int32  // tool number, in the order of names -> document
	names    []string // tool -> lower-cased name
	suffixes *suffixarray.Index
	wordAt   []int32           // offset in the suffix array's text -> word
	lists    [][places][]int32 // word -> tools, ascending, by place
	scratch  sync.Pool
}

// Keyword is the Indexer of the default keyword scorer. The time of a query is proportional to the number of tools
// that match, not to the size of the catalog. The memory is about the size of the catalog's names and distinct words.
// Descriptions are read up to 64 KiB.
func Keyword(ctx context.Context, docs []Document) (Searcher, error) {
	return asSearcher(newKeywordIndex(ctx, docs))
}

func newKeywordIndex(ctx context.Context, docs []Document) (*keywordIndex, error) {
	x := &keywordIndex{docs: docs, docOf: byName(ascending(len(docs)), docs), names: make([]string, len(docs))}
	ids := make(map[string]int32)
	var text []byte // of the suffix array: no keyword contains a line break, so no hit spans two words
	add := func(tool int, word string, place int) {
		id, known := ids[word]
		if !known {
			id = int32(len(x.lists))
			ids[word] = id
			x.lists = append(x.lists, [places][]int32{})
			text = append(append(text, word...), '\n')
			for range len(word) + 1 {
				x.wordAt = append(x.wordAt, id)
			}
		}
		if list := &x.lists[id][place]; len(*list) == 0 || (*list)[len(*list)-1] != int32(tool) {
			*list = append(*list, int32(tool))
		}
	}
	for tool := range x.names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		doc := &docs[x.docOf[tool]]
		x.names[tool] = strings.ToLower(doc.Name)
		// Words of names may have white space, which keywords do not have: such a word may contain
		// keywords but equals none.
		for segment := range strings.SplitSeq(doc.Name, "_") {
			parts := naming.Parts(segment)
			for _, part := range parts {
				add(tool, strings.ToLower(part), placePart)
			}
			if len(parts) > 1 {
				add(tool, strings.ToLower(segment), placeSegment)
			}
		}
		for word := range strings.FieldsSeq(strings.ToLower(descriptionOf(doc))) {
			add(tool, word, placeDescription)
		}
	}
	x.suffixes = suffixarray.New(text)
	x.scratch.New = func() any {
		return &keywordScratch{x: x, cells: make([]keywordCell, len(docs)), seen: docset.New(len(x.lists))}
	}
	return x, nil
}

// ReadQuery reads a namespace in front of the text as a keyword, as Eino does. A tool on which a required keyword
// scores 0 does not match.
func (x *keywordIndex) ReadQuery(text string) Query {
	q := ParseQuery(text)
	if len(q.Required) > 0 {
		q.Allowed, q.Required = allHolding(q.Required, x.holdingPiece).Has, nil
	}
	return q
}

// holdingPiece returns the documents on which a word scores: those that contain it, or a longer word with it.
func (x *keywordIndex) holdingPiece(word string) docset.Set {
	s := x.scratch.Get().(*keywordScratch)
	defer s.release()
	s.score(word)
	set := docset.New(len(x.docs))
	for _, tool := range s.touched {
		set.Add(int(x.docOf[tool]))
	}
	return set
}

func (x *keywordIndex) Search(ctx context.Context, q Query) (Hits, error) {
	s := x.scratch.Get().(*keywordScratch)
	defer s.release()
	for _, keyword := range q.Keywords {
		if err := ctx.Err(); err != nil {
			return Hits{}, err
		}
		s.score(keyword)
	}
	best := docset.NewTop(q.Limit, len(s.touched), s.best)
	for _, tool := range s.touched {
		if q.Allows(int(x.docOf[tool])) {
			best.Add(float64(s.cells[tool].score), tool)
		}
	}
	s.best = best.Items
	return hitsOf(&best, x.docOf), nil
}

// keywordScratch is the memory of a search. It serves one search at a time.
type keywordScratch struct {
	x       *keywordIndex
	cells   []keywordCell // by tool
	touched []int32       // the tools whose cells are not empty
	keyword uint32        // how many keywords were scored
	found   []int32       // words that contain a keyword
	seen    docset.Set    // found, as a set
	best    []docset.Scored
}

// keywordCell is eight bytes. The bounds on a query keep the score far below overflow.
type keywordCell struct {
	mark  uint32 // the keyword that last scored this tool, from 1
	score uint32
}

func (s *keywordScratch) release() {
	for _, tool := range s.touched {
		s.cells[tool] = keywordCell{}
	}
	s.touched, s.keyword = s.touched[:0], 0
	s.x.scratch.Put(s)
}

func (s *keywordScratch) score(keyword string) {
	s.keyword++
	x, keyword := s.x, strings.ToLower(keyword)
	if strings.Contains(keyword, "_") { // and so in no part of a name
		s.addAcross(keyword)
	}
	if equal, isWord := s.containing(keyword); isWord {
		s.add(x.lists[equal][placePart], partEquals)
	}
	for place, points := range placePoints {
		for _, word := range s.found {
			s.add(x.lists[word][place], points)
		}
	}
}

// add scores the tools of a list, except those the keyword has already scored. It is not
// inlined: in a caller that keeps more in registers, the loop is slower.
//
//go:noinline
func (s *keywordScratch) add(list []int32, points uint32) {
	cells, keyword := s.cells, s.keyword
	for _, tool := range list {
		c := &cells[tool]
		switch c.mark {
		case keyword:
			continue
		case 0:
			s.touched = append(s.touched, tool)
		}
		*c = keywordCell{keyword, c.score + points}
	}
}

// containing sets found to the words that contain a text, and returns the word that equals it.
func (s *keywordScratch) containing(text string) (equal int32, isWord bool) {
	clear(s.seen)
	s.found = s.found[:0]
	words, wordAt := s.x.suffixes.Bytes(), s.x.wordAt
	for _, at := range s.x.suffixes.Lookup([]byte(text), -1) {
		word := wordAt[at]
		if !s.seen.Add(int(word)) {
			continue // a word may contain the text twice
		}
		s.found = append(s.found, word)
		if end := at + len(text); words[end] == '\n' && (at == 0 || wordAt[at-1] != word) && (end+1 == len(words) || wordAt[end+1] != word) {
			equal, isWord = word, true
		}
	}
	return equal, isWord
}

// addAcross scores the tools whose names contain a keyword with underscores, which can span segments. Its longest
// piece between underscores lies within one segment and gives the candidates.
func (s *keywordScratch) addAcross(keyword string) {
	check := func(list []int32) {
		for i, tool := range list {
			if strings.Contains(s.x.names[tool], keyword) {
				s.add(list[i:i+1], inName)
			}
		}
	}
	longest := slices.MaxFunc(strings.Split(keyword, "_"), func(a, b string) int { return len(a) - len(b) })
	if longest == "" { // only underscores
		check(ascending(len(s.x.names)))
	}
	s.containing(longest)
	for _, word := range s.found {
		for _, list := range s.x.lists[word][:placeDescription] {
			check(list)
		}
	}
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
	if strings.Contains(strings.ToLower(descriptionOf(doc)), keyword) {
		part = Contribution{keyword, "description", inDescription, "the description contains it"}
	}
	if strings.Contains(strings.ToLower(doc.Name), keyword) {
		part = Contribution{keyword, "name", inName, "the name contains it"}
	}
	for _, name := range naming.Parts(doc.Name) {
		switch name = strings.ToLower(name); {
		case name == keyword:
			return Contribution{keyword, "name", partEquals, "a part of the name equals it"}
		case strings.Contains(name, keyword):
			part = Contribution{keyword, "name", partContains, "a part of the name contains it"}
		}
	}
	return part
}
