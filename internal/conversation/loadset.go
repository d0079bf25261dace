// Package conversation keeps what a run knows of its conversation: the loaded tools, what the run did since its last
// model call, and the marks that survive the loss of the history.
package conversation

import (
	"cmp"
	"slices"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
)

// A LoadSet holds the loaded tools, as documents of a catalog, in the order of their first loading.
type LoadSet struct {
	Docs     []int
	Members  docset.Set // the same documents
	ByResult docset.Set // members that a native search result shows to the model
	Called   []int      // by the model, in the order of the calls; some may be no members
	InUse    []int      // found, added or called since the last model call; some may be no members

	// The time each document was last found or called; a greater number is later. 0 means that a tool is only known to be
	// loaded.
	used  map[int]int
	clock int
}

// NewLoadSet returns an empty set for a catalog of n documents.
func NewLoadSet(n int) *LoadSet {
	return &LoadSet{Members: docset.New(n), ByResult: docset.New(n), used: make(map[int]int)}
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

// Use loads documents that were found or called together, the best first, which will be evicted last.
func (s *LoadSet) Use(docs ...int) {
	s.clock += len(docs)
	for i, doc := range docs {
		s.Add(doc)
		s.used[doc] = s.clock - i
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
	s.Keep(func(doc int) bool { return !slices.Contains(docs, doc) })
}

// Excess returns the least recently used documents beyond limit. Exempt documents do not count. Busy documents, whose
// calls have no results yet, count but stay.
func (s *LoadSet) Excess(limit int, busy []int, isExempt func(doc int) bool) []int {
	counted := slices.DeleteFunc(slices.Clone(s.Docs), isExempt)
	excess := max(0, len(counted)-limit)
	free := slices.DeleteFunc(counted, func(doc int) bool { return slices.Contains(busy, doc) })
	slices.SortStableFunc(free, func(a, b int) int { return cmp.Compare(s.used[a], s.used[b]) })
	return free[:min(excess, len(free))]
}
