package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/analysis"
	"github.com/eino-toolsearch/toolsearch/internal/byname"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/near"
)

// The tools that a query names, as package byname has it. There is no index of names. A tool that
// a query names has all of the query's terms. So the posting lists of these terms are intersected.
// Of the remaining tools, only the names that may begin with the query's first letters are
// compared: where "get" is a stop word, the terms of "get issue" leave every tool that speaks of
// issues.

// maxNameTokens is how many words of a query are looked up as names.
const maxNameTokens = 8

// bm25Named is a tool whose name the query spells out or begins.
type bm25Named struct {
	doc  int32
	tier byname.Tier
}

// hasBareName reports whether one of the tool's names consists of stop words only. No term
// leads to such a name. All names but the aliases end in the shortest one, so checking that
// is enough.
func hasBareName(z *analysis.Analyzer, doc *Document) bool {
	name := naming.Cut(doc.Name, naming.MaxBytes)
	if at := strings.LastIndex(name, "__"); at > 0 {
		name = name[at+2:]
	}
	if z.IsBare(name) {
		return true
	}
	for _, alias := range doc.Aliases {
		if z.IsBare(naming.Cut(alias, naming.MaxBytes)) {
			return true
		}
	}
	return false
}

// findNamed finds the tools that the text names, either as a whole or by a word that is
// written like a name. readText must have read the text.
func (s *bm25Scratch) findNamed(x *bm25, text string) {
	s.query.named = s.query.named[:0]
	if s.name.Read(text) {
		s.addNamed(x, s.texts)
	}
	tokens, found := 0, len(s.query.named)
	for token := range strings.FieldsSeq(text) {
		if tokens < maxNameTokens && len(token) < len(text) && strings.Contains(strings.Trim(token, "_"), "_") && s.name.Read(token) {
			tokens++
			s.name.MustEnd() // a prefix is not enough here
			s.spare = s.analyzer.Append(s.spare[:0], token)
			s.addNamed(x, s.spare)
		}
	}
	if len(s.query.named) == found {
		return
	}
	slices.SortFunc(s.query.named, func(a, b bm25Named) int { return cmp.Or(cmp.Compare(a.doc, b.doc), cmp.Compare(b.tier, a.tier)) })
	s.query.named = slices.CompactFunc(s.query.named, func(a, b bm25Named) bool { return a.doc == b.doc })
}

func (x *bm25) named(q Query) []bm25Named {
	s := x.scratch.Get().(*bm25Scratch)
	defer x.scratch.Put(s)
	s.read(x, q)
	named := slices.Clone(s.query.named)
	for i := range named {
		named[i].doc = int32(documentAt(x.docOf, int(named[i].doc)))
	}
	return named
}

// addNamed adds the tools that have all terms and whose names match s.name.
func (s *bm25Scratch) addNamed(x *bm25, terms []int32) {
	if len(terms) == 0 {
		for _, doc := range x.nameless {
			s.addIfNamed(x, doc)
		}
		return
	}
	s.lists = s.lists[:0]
	for i, n := range terms {
		id := s.id(x, n)
		if id == noTerm {
			if i < len(terms)-1 || utf8.RuneCountInString(s.analyzer.Terms[n]) < near.MinPart {
				return
			}
			s.name.CutShort()
			continue
		}
		s.lists = append(s.lists, x.list(id))
	}
	if len(s.lists) == 0 {
		return
	}
	slices.SortFunc(s.lists, func(a, b []bm25Posting) int { return cmp.Compare(len(a), len(b)) })
	s.having = s.having.Sized(len(x.docs))
	candidates := s.candidates[:0]
	for _, p := range s.lists[0] {
		candidates = append(candidates, p.doc())
	}
	for _, list := range s.lists[1:] {
		candidates = s.intersect(candidates, list)
	}
	for _, doc := range candidates {
		s.addIfNamed(x, doc)
	}
	s.candidates = candidates
}

// intersect keeps the documents that are in the list, in their order.
func (s *bm25Scratch) intersect(docs []int32, list []bm25Posting) []int32 {
	kept := docs[:0]
	if len(docs) < len(list)/16 {
		for _, doc := range docs {
			if _, found := findPosting(list, doc); found {
				kept = append(kept, doc)
			}
		}
		return kept
	}
	clear(s.having)
	for _, doc := range docs {
		s.having[doc/64] |= 1 << (doc % 64)
	}
	for _, p := range list {
		if doc := p.doc(); s.having.Has(int(doc)) {
			kept = append(kept, doc)
		}
	}
	return kept
}

func (s *bm25Scratch) addIfNamed(x *bm25, doc int32) {
	if !s.name.MayBe(x.heads[doc]) {
		return
	}
	if tier := s.name.Tier(x.docs[doc].Name, x.docs[doc].Aliases); tier > byname.NotNamed {
		s.query.named = append(s.query.named, bm25Named{doc, tier})
	}
}
