package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/analysis"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/near"
)

// Asking for a tool by its name. Names are compared letter by letter, ignoring what stands
// between the words. They are compared with and without the prefixes of MCP clients:
//
//	mcp__github__create_issue   github create issue   create issue
//
// A query that spells out one of these names is exact. A query that spells out at least
// the first two words of a name is a prefix: "github create", "create iss" if no tool has
// the word "iss". A single word is not a prefix: it says what the tool is about, and "list"
// should not bring forward all tools whose names begin with it.
//
// There is no index of names. A tool that a query names has all of the query's terms. So
// the posting lists of these terms are intersected. Of the remaining tools, only the names
// that may begin with the query's first letters are compared: where "get" is a stop word, the
// terms of "get issue" leave every tool that speaks of issues.

// headLengths are the numbers of first letters by which names are told apart. See heads.
var headLengths = [...]int{4, 8}

const (
	minPrefixWords = 2
	maxNameTokens  = 8 // words of a query that are looked up as names
)

// bm25Named is a tool whose name the query spells out or begins.
type bm25Named struct {
	doc  int32
	tier nameTier
}

type nameTier uint32

const (
	notNamed nameTier = iota
	prefixNamed
	exactlyNamed
)

// nameVariants calls yield with every spelling of a tool's name, until yield returns false.
func nameVariants(doc *Document, yield func(name string) bool) {
	name := naming.Cut(doc.Name, naming.MaxBytes)
	if !yield(name) {
		return
	}
	rest, isMCP := strings.CutPrefix(name, "mcp__")
	if isMCP && !yield(rest) {
		return
	}
	if at := strings.LastIndex(rest, "__"); at > 0 && !yield(rest[at+2:]) {
		return
	}
	for _, alias := range doc.Aliases {
		if !yield(naming.Cut(alias, naming.MaxBytes)) {
			return
		}
	}
}

// heads is a set of the beginnings of names: a bit for the first 4 letters of each name, and
// another for the first 8. Different beginnings may share a bit. A name of fewer letters has none.
type heads uint64

// add notes a letter, the count-th of a name. hash is that of the letters before it.
func (h *heads) add(hash uint32, letter rune, count int) (next uint32) {
	next = (hash ^ uint32(letter)) * 16777619 // FNV-1a, by letters
	if slices.Contains(headLengths[:], count) {
		*h |= 1 << (next >> 26)
	}
	return next
}

func headsOf(doc *Document) (all heads) {
	nameVariants(doc, func(name string) bool {
		hash, count := uint32(0), 0
		for _, r := range name {
			if class := analysis.ClassOf(r); class != analysis.NoLetter {
				count++
				hash = all.add(hash, lowerOf(r, class), count)
			}
			if count == headLengths[len(headLengths)-1] {
				break
			}
		}
		return true
	})
	return all
}

// lowerOf returns a letter in lower case.
func lowerOf(r rune, class analysis.Class) rune {
	if class == analysis.Lower {
		return r
	}
	return unicode.ToLower(r)
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

// bm25Name is a query read as a name.
type bm25Name struct {
	letters []rune // of its words, lower-cased
	heads   heads
	words   int
	torn    bool // the last word may be cut short
}

// read reports false if the text cannot be a name.
func (n *bm25Name) read(text string) bool {
	n.letters, n.heads, n.words, n.torn = n.letters[:0], 0, 0, false
	hash := uint32(0)
	for i := 0; i < len(text); {
		class, end := analysis.WordAt(text, i)
		if class != analysis.NoLetter {
			n.words++
			for _, r := range text[i:end] {
				r = lowerOf(r, analysis.ClassOf(r))
				n.letters = append(n.letters, r)
				hash = n.heads.add(hash, r, len(n.letters))
			}
			if len(n.letters) > naming.MaxBytes {
				return false
			}
		}
		i = end
	}
	return n.words > 0
}

// tier returns the best tier of a tool's names.
func (n *bm25Name) tier(doc *Document) nameTier {
	best := notNamed
	nameVariants(doc, func(name string) bool {
		best = max(best, n.tierOf(name))
		return best < exactlyNamed
	})
	return best
}

func (n *bm25Name) tierOf(name string) nameTier {
	letters := n.letters
	for i, r := range name {
		class := analysis.ClassOf(r)
		r = lowerOf(r, class)
		switch {
		case class == analysis.NoLetter:
		case len(letters) > 0 && r == letters[0]:
			letters = letters[1:]
		case len(letters) == 0 && n.words >= minPrefixWords && (n.torn || beginsWord(name, i)):
			return prefixNamed
		default:
			return notNamed
		}
	}
	if len(letters) > 0 {
		return notNamed
	}
	return exactlyNamed
}

func beginsWord(text string, i int) bool {
	at := 0
	for at < i {
		_, at = analysis.WordAt(text, at)
	}
	return at == i
}

// findNamed finds the tools that the text names, either as a whole or by a word that is
// written like a name. readText must have read the text.
func (s *bm25Scratch) findNamed(x *bm25, text string) {
	s.query.named = s.query.named[:0]
	if s.name.read(text) {
		s.addNamed(x, s.texts)
	}
	tokens, found := 0, len(s.query.named)
	for token := range strings.FieldsSeq(text) {
		if tokens < maxNameTokens && len(token) < len(text) && strings.Contains(strings.Trim(token, "_"), "_") && s.name.read(token) {
			tokens++
			s.name.words = 0 // a prefix is not enough here
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
			s.name.torn = true
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
	if s.name.heads&^x.heads[doc] != 0 {
		return
	}
	if tier := s.name.tier(&x.docs[doc]); tier > notNamed {
		s.query.named = append(s.query.named, bm25Named{doc, tier})
	}
}
