// Package docset holds sets of documents, the best of many scored documents, and values that were asked for recently.
package docset

import (
	"iter"
	"math/bits"
)

// A Set is a set of documents, a bit each.
type Set []uint64

// New returns a set of members, for documents with numbers below docs.
func New(docs int, members ...int) Set {
	s := make(Set, (docs+63)/64)
	for _, doc := range members {
		s.Add(doc)
	}
	return s
}

// Has reports whether a document is in the set. Its number is below that given to New. Nil has none.
func (s Set) Has(doc int) bool { return doc/64 < len(s) && s[doc/64]&(1<<(doc%64)) != 0 }

// Add adds the document and reports whether it was new.
func (s Set) Add(doc int) bool {
	if s.Has(doc) {
		return false
	}
	s[doc/64] |= 1 << (doc % 64)
	return true
}

// Len returns the number of documents in the set.
func (s Set) Len() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// All returns the documents of the set, in ascending order.
func (s Set) All() iter.Seq[int] {
	return func(yield func(doc int) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(64*i + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// Remove removes the document from the set.
func (s Set) Remove(doc int) { s[doc/64] &^= 1 << (doc % 64) }

// Union adds the documents of another set for as many documents, or of nil, which has none.
func (s Set) Union(other Set) {
	for i, word := range other {
		s[i] |= word
	}
}

// Intersect keeps the documents that are in another set for as many documents too.
func (s Set) Intersect(other Set) {
	for i := range s {
		s[i] &= other[i]
	}
}
