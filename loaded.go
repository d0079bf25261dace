package toolsearch

import (
	"maps"
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

	// The time each document was last found or called. A greater number is later. 0 is the time
	// of a tool that is only known to be loaded. Nil means that nothing will be evicted.
	used  []int
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
	excess := len(s.docs) - limit
	if excess <= 0 {
		return
	}
	for _, doc := range s.docs {
		if isExempt(doc) {
			excess--
		}
	}
	if excess <= 0 {
		return
	}
	// Few tools are to go: the oldest so far, in one walk, instead of sorting all.
	evicted := make([]int, 0, excess)
	for _, doc := range s.docs {
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
	s.drop(evicted)
}

// apply applies the effect of a meta-tool's result.
func (s *loadedSet) apply(e effect) {
	s.use(e.loads...)
	s.drop(e.unloads)
}

// drop removes documents.
func (s *loadedSet) drop(docs []int) {
	if len(docs) == 0 {
		return
	}
	for _, doc := range docs {
		s.has.Remove(doc)
		s.shown.Remove(doc)
	}
	s.docs = slices.DeleteFunc(s.docs, func(doc int) bool { return !s.has.Has(doc) })
}

// lists are the tools of a model call.
type lists struct {
	tools    []*schema.ToolInfo // the ordinary tool list
	deferred []*schema.ToolInfo // the tools that the model searches by itself
}

// Our copies of definitions, and the marks in their Extra. The marks keep what a run knew
// when the history is lost. Their values are strings, since a checkpoint encodes Extra with
// gob, and gob rejects unknown types.

// loadedMark is a key in the Extra of our copy of a tool's definition. Its value is the name
// of the search tool that loaded the tool.
const loadedMark = "_toolsearch_loaded"

// rememberedMark is a key in the Extra of our copy of the search tool's definition. Its value
// is a JSON list of the names of the loaded tools. It keeps those that are not in the tool list.
const rememberedMark = "_toolsearch_remembered"

// deferredMark is a key in the Extra of a deferred definition. Its value is the name of the
// search tool that the tool is deferred for. After a checkpoint it distinguishes a tool that
// is gone from the catalog from a tool that another middleware defers.
const deferredMark = "_toolsearch_deferred"

// deferredCopies returns the definitions of a catalog with deferredMark.
func deferredCopies(c *Catalog, searchTool string) []*schema.ToolInfo {
	copies := make([]*schema.ToolInfo, len(c.docs))
	for i := range c.docs {
		copied := *c.docs[i].Info
		copied.Extra = maps.Clone(copied.Extra)
		if copied.Extra == nil {
			copied.Extra = make(map[string]any, 1)
		}
		copied.Extra[deferredMark] = searchTool
		copies[i] = &copied
	}
	return copies
}

// isOurs reports whether the middleware with that search tool put t into a list.
func isOurs(t *schema.ToolInfo, searchTool string) bool {
	return isMarked(t, searchTool) || len(t.Extra) > 0 && t.Extra[deferredMark] == searchTool
}

func containsMarked(tools []*schema.ToolInfo, name, searchTool string) bool {
	return slices.ContainsFunc(tools, func(t *schema.ToolInfo) bool { return t != nil && t.Name == name && isMarked(t, searchTool) })
}

func isMarked(t *schema.ToolInfo, tool string) bool {
	return t != nil && len(t.Extra) > 0 && t.Extra[loadedMark] == tool
}

// sameDefinition reports whether a marked copy is still a copy of info. After a checkpoint
// the parameters are another pointer, and the copy is made anew.
func sameDefinition(copied, info *schema.ToolInfo) bool {
	return copied.Desc == info.Desc && copied.ParamsOneOf == info.ParamsOneOf
}

// marked returns our copy of a definition, marked as loaded by that search tool.
func marked(info *schema.ToolInfo, tool string) *schema.ToolInfo {
	copied := *info
	copied.Extra = maps.Clone(info.Extra)
	if copied.Extra == nil {
		copied.Extra = make(map[string]any, 1)
	}
	copied.Extra[loadedMark] = tool
	return &copied
}

func containsName(tools []*schema.ToolInfo, name string) bool {
	return slices.ContainsFunc(tools, func(t *schema.ToolInfo) bool { return t != nil && t.Name == name })
}
