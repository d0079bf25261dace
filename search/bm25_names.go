package search

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/search/internal/bm25f"
	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
)

// The tools that a query names, as names.go in package letters defines it. There is no index of names. A tool
// that a query names has all of the query's terms. So the tools with the rarest term are looked at, if they have
// the other terms and their names may begin with the query's first letters: where "get" is a stop word, the terms
// of "get issue" leave every tool that mentions issues.

// maxNameTokens is how many words of a query are looked up as names.
const maxNameTokens = 8

// findNamed finds the tools that the text names, either as a whole or by a word that is written like a name.
func (r *bm25Reader) findNamed(text string) {
	clear(r.named)
	if r.name.Read(text) {
		r.addNamed(r.texts)
	}
	tokens := 0
	for token := range strings.FieldsSeq(text) {
		if tokens == maxNameTokens || len(token) == len(text) || !strings.Contains(strings.Trim(token, "_"), "_") {
			continue
		}
		if r.name.Read(token) {
			tokens++
			r.name.MustEnd() // a prefix is not enough here
			r.spare = r.analyzer.Append(r.spare[:0], token)
			r.addNamed(r.spare)
		}
	}
}

// addNamed adds the tools that have all terms of the name, and the name.
func (r *bm25Reader) addNamed(terms []int32) {
	add := func(doc int32) {
		if tier := r.name.Tier(r.x.docs[doc].Name, r.x.docs[doc].Aliases); tier > letters.NotNamed {
			r.named[doc] = max(r.named[doc], tier)
		}
	}
	r.lists = r.lists[:0]
	for i, n := range terms {
		id := r.word(n).id
		if id == noTerm {
			if i < len(terms)-1 || utf8.RuneCountInString(r.analyzer.Terms[n]) < letters.MinPart {
				return
			}
			r.name.CutShort()
			continue
		}
		r.lists = append(r.lists, r.x.List(id))
	}
	if len(terms) == 0 { // only stop words
		for doc, heads := range r.x.heads {
			if r.name.MayBe(heads) {
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
		lacks := func(list []bm25f.Posting) bool {
			_, found := bm25f.Find(list, doc)
			return !found
		}
		if r.name.MayBe(r.x.heads[doc]) && !slices.ContainsFunc(r.lists[1:], lacks) {
			add(doc)
		}
	}
}

// named returns the tools that a query names, whether it allows them or not.
func (x *bm25) named(q Query) map[int]letters.Tier {
	named := make(map[int]letters.Tier)
	x.with(func(s *bm25Scratch) {
		s.read(q)
		for doc, tier := range s.named {
			named[documentAt(x.docOf, int(doc))] = tier
		}
	})
	return named
}
