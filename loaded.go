package toolsearch

import (
	"cmp"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
)

// The loaded tools, and the tool lists of a model call.

// loadedSet is the loaded tools, as documents of the catalog, in the order of their first
// loading.
type loadedSet struct {
	docs  []int
	has   docset.Set
	shown docset.Set // those that a native search result shows to the model

	// The time each tool was last found or called. A greater number is later. A tool that is
	// only known to be loaded has no time. Nil means that nothing will be evicted.
	used  map[int]int
	clock int
}

func newLoadedSet(c *Catalog) *loadedSet {
	return &loadedSet{has: docset.New(len(c.docs)), shown: docset.New(len(c.docs))}
}

func (s *loadedSet) add(docs ...int) {
	for _, doc := range docs {
		if s.has.Add(doc) {
			s.docs = append(s.docs, doc)
		}
	}
}

// use loads documents that were found or called together, the best first. The best will be
// evicted last.
func (s *loadedSet) use(docs ...int) {
	s.clock += len(docs)
	for i, doc := range docs {
		s.add(doc)
		if s.used != nil {
			s.used[doc] = s.clock - i
		}
	}
}

// keep removes the documents that isKept rejects.
func (s *loadedSet) keep(isKept func(doc int) bool) {
	s.docs = slices.DeleteFunc(s.docs, func(doc int) bool {
		if isKept(doc) {
			return false
		}
		s.has.Remove(doc)
		s.shown.Remove(doc)
		return true
	})
}

// evict removes the least recently used documents beyond limit. Exempt documents do not
// count. Busy documents, whose calls have no results yet, count but stay.
func (s *loadedSet) evict(limit int, busy []int, isExempt func(doc int) bool) {
	counted := slices.DeleteFunc(slices.Clone(s.docs), isExempt)
	if len(counted) <= limit {
		return
	}
	excess := len(counted) - limit
	counted = slices.DeleteFunc(counted, func(doc int) bool { return slices.Contains(busy, doc) })
	slices.SortStableFunc(counted, func(a, b int) int { return cmp.Compare(s.used[a], s.used[b]) })
	evicted := counted[:min(excess, len(counted))]
	s.keep(func(doc int) bool { return !slices.Contains(evicted, doc) })
}

// apply applies the effect of a meta-tool's result.
func (s *loadedSet) apply(e effect) {
	s.use(e.loads...)
	s.drop(e.unloads)
}

// drop removes documents.
func (s *loadedSet) drop(docs []int) {
	if len(docs) > 0 {
		s.keep(func(doc int) bool { return !slices.Contains(docs, doc) })
	}
}

// lists are the tools of a model call.
type lists struct {
	tools    []*schema.ToolInfo // the ordinary tool list
	deferred []*schema.ToolInfo // the tools that the model searches by itself
}
