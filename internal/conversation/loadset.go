// Package conversation keeps what a run knows of its conversation: the loaded tools, what the run did
// since its last model call, and the marks that survive the loss of the history.
package conversation

import (
	"slices"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
)

// A LoadSet holds the loaded tools, as documents of a catalog, in the order of their first loading.
type LoadSet struct {
	Docs     []int
	Members  docset.Set // the same documents
	ByResult docset.Set // members that a native search result shows to the model
	InUse    []int      // found, added or called since the last model call; some may be no members

	// The time each document was last found or called. A greater number is later. 0 means that
	// a tool is only known to be loaded. Nil means that nothing will be evicted.
	used  []int
	clock int
}

// NewLoadSet returns an empty set for a catalog of n documents.
func NewLoadSet(n int) *LoadSet { return &LoadSet{Members: docset.New(n), ByResult: docset.New(n)} }

// NewEvictableSet returns an empty set that records the use of documents, for Evict.
func NewEvictableSet(n int) *LoadSet {
	s := NewLoadSet(n)
	s.used = make([]int, n)
	return s
}

// Has reports whether the document is loaded.
func (s *LoadSet) Has(doc int) bool { return s.Members.Has(doc) }

// Add loads documents that are known to be loaded.
func (s *LoadSet) Add(docs ...int) {
	for _, doc := range docs {
		if s.Members.Add(doc) {
			s.Docs = append(s.Docs, doc)
		}
	}
}

// Use loads documents that were found or called together, the best first. The best will be
// evicted last.
func (s *LoadSet) Use(docs ...int) {
	s.clock += len(docs)
	for i, doc := range docs {
		s.Add(doc)
		if s.used != nil {
			s.used[doc] = s.clock - i
		}
	}
}

// Keep removes the documents that isKept rejects.
func (s *LoadSet) Keep(isKept func(doc int) bool) {
	s.Docs = slices.DeleteFunc(s.Docs, func(doc int) bool {
		if isKept(doc) {
			return false
		}
		s.Members.Remove(doc)
		s.ByResult.Remove(doc)
		return true
	})
}

// Drop removes documents.
func (s *LoadSet) Drop(docs []int) {
	for _, doc := range docs {
		s.Members.Remove(doc)
	}
	s.Keep(s.Members.Has)
}

// Evict removes the least recently used documents beyond limit from a set made by NewEvictableSet.
// Exempt documents do not count. Busy documents, whose calls have no results yet, count but stay.
func (s *LoadSet) Evict(limit int, busy []int, isExempt func(doc int) bool) {
	excess := len(s.Docs) - limit
	if excess <= 0 {
		return
	}
	for _, doc := range s.Docs {
		if isExempt(doc) {
			excess--
		}
	}
	if excess <= 0 {
		return
	}
	// Only a few tools are evicted: one walk keeps the oldest so far, without sorting all.
	evicted := make([]int, 0, excess)
	for _, doc := range s.Docs {
		at := len(evicted)
		for at > 0 && s.used[evicted[at-1]] > s.used[doc] {
			at--
		}
		if at == excess || isExempt(doc) || slices.Contains(busy, doc) {
			continue
		}
		if len(evicted) == excess {
			evicted = evicted[:excess-1]
		}
		evicted = slices.Insert(evicted, at, doc)
	}
	s.Drop(evicted)
}
