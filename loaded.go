package toolsearch

import (
	"cmp"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
)

// The loaded tools, and the lists they stand in.

// loadedSet is the loaded tools, as documents of the catalog, in the order in which they
// were first loaded.
type loadedSet struct {
	docs  []int
	has   docset.Set
	shown docset.Set // those that a native search result shows to the model

	// When each was last used: found or called. Later is more; what is only known to be
	// loaded has none. Nil: not kept, since nothing will be evicted.
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

// use loads documents that were found or called at once, the best of them first: it is
// the last to be evicted.
func (s *loadedSet) use(docs ...int) {
	s.clock += len(docs)
	for i, doc := range docs {
		s.add(doc)
		if s.used != nil {
			s.used[doc] = s.clock - i
		}
	}
}

// keep removes the documents of which it is not true.
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

// evict removes the least recently used documents beyond limit. Exempt ones do not count;
// those with a call under way, the busy ones, count but stay.
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

// apply does what the result of a meta-tool says.
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
	tools    []*schema.ToolInfo // the ordinary ones
	deferred []*schema.ToolInfo // those the model searches natively
}
