package search

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search/internal/analysis"
	"github.com/eino-toolsearch/toolsearch/search/internal/bm25f"
	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
)

// The tools that a query names, as names.go in package letters defines it. There is no index of names. A tool
// that a query names has all of the query's terms. So the tools with the rarest term are candidates, if
// they have the other terms and their names may begin with the query's first letters: where "get" is a
// stop word, the terms of "get issue" leave every tool that mentions issues. In a large catalog,
// thousands of candidates may remain. So a search compares the name of a candidate only if the tool's
// score, with the bonus for a name, is among the best so far.

// maxNameTokens is how many words of a query are looked up as names.
const maxNameTokens = 8

// bm25Candidate is a tool that has all terms of a name in the query, and may have the name.
type bm25Candidate struct {
	doc  int32
	name int // in the reader's names
}

// hasBareName reports whether one of the tool's names consists of stop words only. No term
// leads to such a name. Every form of the tool's own name ends in the shortest form, so only
// the shortest and the aliases are checked.
func hasBareName(z *analysis.Analyzer, doc *Document) bool {
	name := naming.Cut(doc.Name, naming.MaxBytes)
	if at := strings.LastIndex(name, "__"); at > 0 {
		name = name[at+2:]
	}
	return z.IsBare(name) || slices.ContainsFunc(doc.Aliases, func(alias string) bool { return z.IsBare(naming.Cut(alias, naming.MaxBytes)) })
}

// findNamed finds the tools that the text may name, either as a whole or by a word that is
// written like a name. The text was cut already.
func (r *bm25Reader) findNamed(text string) {
	r.candidates, r.names = r.candidates[:0], r.names[:0]
	if name := r.readName(text); name != nil {
		r.addNamed(name, r.texts)
	}
	tokens, whole := 0, len(r.candidates)
	for token := range strings.FieldsSeq(text) {
		if tokens == maxNameTokens || len(token) == len(text) || !strings.Contains(strings.Trim(token, "_"), "_") {
			continue
		}
		if name := r.readName(token); name != nil {
			tokens++
			name.MustEnd() // a prefix is not enough here
			r.spare = r.analyzer.Append(r.spare[:0], token)
			r.addNamed(name, r.spare)
		}
	}
	if len(r.candidates) > whole {
		slices.SortFunc(r.candidates, func(a, b bm25Candidate) int { return int(a.doc - b.doc) })
	}
}

// readName adds a text to the names. It returns nil if the text cannot be a name.
func (r *bm25Reader) readName(text string) *letters.Name {
	last := len(r.names)
	r.names = slices.Grow(r.names, 1)[:last+1]
	if !r.names[last].Read(text) {
		r.names = r.names[:last]
		return nil
	}
	return &r.names[last]
}

// addNamed adds the tools that have all terms and may have the last name.
func (r *bm25Reader) addNamed(name *letters.Name, terms []int32) {
	add := func(doc int32) { r.candidates = append(r.candidates, bm25Candidate{doc, len(r.names) - 1}) }
	r.lists = r.lists[:0]
	for i, n := range terms {
		id := r.word(n).id
		if id == noTerm {
			if i < len(terms)-1 || utf8.RuneCountInString(r.analyzer.Terms[n]) < letters.MinPart {
				return
			}
			name.CutShort()
			continue
		}
		r.lists = append(r.lists, r.x.List(id))
	}
	if len(terms) == 0 {
		for doc, is := range r.x.isNameless {
			if is && name.MayBe(r.x.heads[doc]) {
				add(int32(doc))
			}
		}
	}
	if len(r.lists) == 0 {
		return
	}
	slices.SortFunc(r.lists, func(a, b []bm25f.Posting) int { return len(a) - len(b) })
	for _, p := range r.lists[0] {
		doc := p.Doc()
		if !name.MayBe(r.x.heads[doc]) {
			continue
		}
		all := true
		for i := 1; i < len(r.lists) && all; i++ {
			r.lists[i] = bm25f.From(r.lists[i], doc)
			all = len(r.lists[i]) > 0 && r.lists[i][0].Doc() == doc
		}
		if all {
			add(doc)
		}
	}
}

// tier returns how the query names a tool.
func (r *bm25Reader) tier(doc int32) (best letters.Tier) {
	at, _ := slices.BinarySearchFunc(r.candidates, doc, func(n bm25Candidate, doc int32) int { return int(n.doc - doc) })
	for ; at < len(r.candidates) && r.candidates[at].doc == doc; at++ {
		best = max(best, r.names[r.candidates[at].name].Tier(r.x.docs[doc].Name, r.x.docs[doc].Aliases))
	}
	return best
}

// named returns the tools that a query names, whether it allows them or not.
func (x *bm25) named(q Query) map[int]letters.Tier {
	named := make(map[int]letters.Tier)
	x.with(func(s *bm25Scratch) {
		s.read(q)
		for _, may := range s.candidates {
			if tier := s.tier(may.doc); tier > letters.NotNamed {
				named[documentAt(x.docOf, int(may.doc))] = tier
			}
		}
	})
	return named
}
