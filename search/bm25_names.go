package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search/internal/analysis"
	"github.com/eino-toolsearch/toolsearch/search/internal/bm25f"
	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
)

// The tools that a query names, as names.go in package letters defines it. There is no index of names. A tool
// that a query names has all of the query's terms. So the posting lists of these terms are intersected.
// Of the remaining tools, only those whose names may begin with the query's first letters are
// candidates: where "get" is a stop word, the terms of "get issue" leave every tool that mentions
// issues. In a large catalog, thousands of candidates may remain. So a search
// compares the name of a candidate only if the tool's score, with the bonus for a name, is among
// the best so far.

// maxNameTokens is how many words of a query are looked up as names.
const maxNameTokens = 8

// bm25Named is a tool whose name the query spells out or begins.
type bm25Named struct {
	doc  int32
	tier letters.Tier
}

// bm25Candidate is a tool that has all terms of a name in the query, and may have the name.
type bm25Candidate struct {
	doc  int32
	name int32 // in the scratch's names
}

// hasBareName reports whether one of the tool's names consists of stop words only. No term
// leads to such a name. Every form of the tool's own name ends in the shortest form, so only
// the shortest and the aliases are checked.
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

// findNamed finds the tools that the text may name, either as a whole or by a word that is
// written like a name. readText must have read the text.
func (r *bm25Reader) findNamed(x *bm25, text string) {
	r.candidates, r.names = r.candidates[:0], r.names[:0]
	if name, reads := r.readName(text); reads {
		r.addNamed(x, name, r.texts)
	}
	tokens, found := 0, len(r.candidates)
	for token := range strings.FieldsSeq(text) {
		if tokens == maxNameTokens || len(token) == len(text) || !strings.Contains(strings.Trim(token, "_"), "_") {
			continue
		}
		if name, reads := r.readName(token); reads {
			tokens++
			name.MustEnd() // a prefix is not enough here
			r.spare = r.analyzer.Append(r.spare[:0], token)
			r.addNamed(x, name, r.spare)
		}
	}
	if len(r.candidates) > found {
		slices.SortFunc(r.candidates, func(a, b bm25Candidate) int { return int(a.doc - b.doc) })
	}
}

// readName adds a text to s.names, unless it cannot be a name.
func (r *bm25Reader) readName(text string) (name *letters.Name, reads bool) {
	r.names = slices.Grow(r.names, 1)[:len(r.names)+1]
	name = &r.names[len(r.names)-1]
	if !name.Read(text) {
		r.names = r.names[:len(r.names)-1]
		return nil, false
	}
	return name, true
}

// tier returns how the query names a tool.
func (r *bm25Reader) tier(x *bm25, doc int32) (best letters.Tier) {
	at, _ := slices.BinarySearchFunc(r.candidates, doc, func(n bm25Candidate, doc int32) int { return int(n.doc - doc) })
	for ; at < len(r.candidates) && r.candidates[at].doc == doc; at++ {
		best = max(best, r.names[r.candidates[at].name].Tier(x.docs[doc].Name, x.docs[doc].Aliases))
	}
	return best
}

func (x *bm25) named(q Query) (named []bm25Named) {
	s := x.take()
	s.read(x, q)
	for i, may := range s.candidates {
		if i > 0 && s.candidates[i-1].doc == may.doc {
			continue
		}
		if tier := s.tier(x, may.doc); tier > letters.NotNamed {
			named = append(named, bm25Named{int32(documentAt(x.docOf, int(may.doc))), tier})
		}
	}
	x.scratch.Put(s)
	return named
}

// addNamed adds the tools that have all terms and may have the name.
func (r *bm25Reader) addNamed(x *bm25, name *letters.Name, terms []int32) {
	if len(terms) == 0 {
		for _, doc := range x.nameless {
			if name.MayBe(x.heads[doc]) {
				r.candidates = append(r.candidates, bm25Candidate{doc, int32(len(r.names) - 1)})
			}
		}
		return
	}
	r.lists = r.lists[:0]
	for i, n := range terms {
		id := r.id(x, n)
		if id == noTerm {
			if i < len(terms)-1 || utf8.RuneCountInString(r.analyzer.Terms[n]) < letters.MinPart {
				return
			}
			name.CutShort()
			continue
		}
		r.lists = append(r.lists, x.List(id))
	}
	if len(r.lists) == 0 {
		return
	}
	slices.SortFunc(r.lists, func(a, b []bm25f.Posting) int { return cmp.Compare(len(a), len(b)) })
	r.having = r.having.Sized(len(x.docs))
	docs := r.docs[:0]
	for _, p := range r.lists[0] {
		if name.MayBe(x.heads[p.Doc()]) {
			docs = append(docs, p.Doc())
		}
	}
	for _, list := range r.lists[1:] {
		docs = r.intersect(docs, list)
	}
	for _, doc := range docs {
		r.candidates = append(r.candidates, bm25Candidate{doc, int32(len(r.names) - 1)})
	}
	r.docs = docs
}

// intersect keeps the documents that are in the list, in their order.
func (r *bm25Reader) intersect(docs []int32, list []bm25f.Posting) []int32 {
	kept := docs[:0]
	if len(docs) < len(list)/16 {
		for _, doc := range docs {
			if _, found := bm25f.Find(list, doc); found {
				kept = append(kept, doc)
			}
		}
		return kept
	}
	clear(r.having)
	for _, doc := range docs {
		r.having[doc/64] |= 1 << (doc % 64)
	}
	for _, p := range list {
		if doc := p.Doc(); r.having.Has(int(doc)) {
			kept = append(kept, doc)
		}
	}
	return kept
}
