package toolsearch

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
)

// What the model sees, worked out before every call from what is always there:
//
//	history, tool list, notebook -> loaded -> visible (here) or deferred (native.go)
//
// A dynamic tool is loaded when a search result in the history names it, when the
// history shows a call to it, when the caller carried it over, or when the tool list
// holds our copy of its definition: the copy's mark in Extra survives trimming,
// summarising and a checkpoint where the history does not. Loading is cumulative.

// loadedMark is the key, in the Extra of our copy of a tool's definition, of the name of
// the search tool that loaded it. The value is a string: gob takes no unknown types.
const loadedMark = "_toolsearch_loaded"

// rememberedMark is the key, in the Extra of our copy of the search tool's definition, of
// the names of the loaded tools, a line each: where these are not in the tool list, it is
// what survives.
const rememberedMark = "_toolsearch_remembered"

// loadedSet is the loaded tools, as documents of the catalog, in the order in which they
// were first loaded.
type loadedSet struct {
	docs   []int
	has    docset.Set
	native docset.Set // those that a native search result shows to the model

	// When each was last used: found or called. Later is more; what is only known to be
	// loaded has none. Nil: not kept, since nothing will be evicted.
	used  map[int]int
	clock int
	busy  []int // called, and the call is not answered yet

	settle func() // evicts what is too much; nil: nothing is
}

func newLoadedSet(c *Catalog) *loadedSet {
	return &loadedSet{has: docset.New(len(c.docs)), native: docset.New(len(c.docs))}
}

func (s *loadedSet) add(doc int) {
	if s.has.Add(doc) {
		s.docs = append(s.docs, doc)
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

// noteNative notes that a native search result shows the documents to the model.
func (s *loadedSet) noteNative(docs ...int) {
	for _, doc := range docs {
		s.native.Add(doc)
	}
}

func (s *loadedSet) remove(doc int) {
	if s.has.Has(doc) {
		s.keep(func(other int) bool { return other != doc })
	}
}

// keep removes the documents of which it is not true.
func (s *loadedSet) keep(isKept func(doc int) bool) {
	s.docs = slices.DeleteFunc(s.docs, func(doc int) bool {
		if isKept(doc) {
			return false
		}
		s.has.Remove(doc)
		s.native.Remove(doc)
		return true
	})
}

// evict removes the least recently used documents beyond limit. Exempt ones do not count;
// those with a call under way count but stay.
func (s *loadedSet) evict(limit int, isExempt func(doc int) bool) {
	counted := slices.DeleteFunc(slices.Clone(s.docs), isExempt)
	if len(counted) <= limit {
		return
	}
	isBusy := func(doc int) bool { return slices.Contains(s.busy, doc) }
	excess := len(counted) - limit
	counted = slices.DeleteFunc(counted, isBusy)
	slices.SortStableFunc(counted, func(a, b int) int { return cmp.Compare(s.used[a], s.used[b]) })
	evicted := counted[:min(excess, len(counted))]
	s.keep(func(doc int) bool { return !slices.Contains(evicted, doc) })
}

// addNames loads the named tools; names the catalog does not have are passed over.
func (s *loadedSet) addNames(c *Catalog, names []string) {
	for _, name := range names {
		if doc, ok := c.byName[name]; ok {
			s.add(doc)
		}
	}
}

// addMarked loads the tools whose definitions in the list are our copies.
func (s *loadedSet) addMarked(r *reader, tools []*schema.ToolInfo) {
	for _, t := range tools {
		if isMarked(t, r.names.search) {
			s.addNames(r.catalog, []string{t.Name})
		}
		if t != nil && t.Name == r.names.search && len(t.Extra) > 0 {
			remembered, _ := t.Extra[rememberedMark].(string)
			s.addNames(r.catalog, strings.Split(remembered, "\n"))
		}
	}
}

// remember returns tools with the loaded ones noted on the search tool's definition.
func remember(r *reader, tools []*schema.ToolInfo, loaded *loadedSet) []*schema.ToolInfo {
	names := make([]string, len(loaded.docs))
	for i, doc := range loaded.docs {
		names[i] = r.catalog.docs[doc].Name
	}
	remembered := strings.Join(names, "\n")
	for i, t := range tools {
		if t == nil || t.Name != r.names.search {
			continue
		}
		if noted, _ := t.Extra[rememberedMark].(string); noted != remembered {
			copied := *t
			copied.Extra = maps.Clone(t.Extra)
			if copied.Extra == nil {
				copied.Extra = make(map[string]any, 1)
			}
			copied.Extra[rememberedMark] = remembered
			tools = slices.Clone(tools)
			tools[i] = &copied
		}
		break
	}
	return tools
}

// apply does what the result of a meta-tool says.
func (s *loadedSet) apply(e effect) {
	s.use(e.loads...)
	for _, doc := range e.unloads {
		s.remove(doc)
	}
}

// doubled returns a name of ours that a tool list holds twice, or "". What is in the list
// for being loaded does not count beside the tool itself.
func doubled(r *run, tools []*schema.ToolInfo) string {
	var metas []string
	seen := docset.New(len(r.scope.docs))
	for _, t := range tools {
		if t == nil || isMarked(t, r.reader.names.search) {
			continue
		}
		if r.reader.names.has(t.Name) {
			if slices.Contains(metas, t.Name) {
				return t.Name
			}
			metas = append(metas, t.Name)
		}
		if doc, dynamic := r.owns(t.Name); dynamic && !seen.Add(doc) {
			return t.Name
		}
	}
	return ""
}

// visible is the tool list the model is to see: the tools that are not dynamic, then,
// each in the place it was first given, the loaded ones. It is idempotent.
func visible(r *run, tools []*schema.ToolInfo, loaded *loadedSet) []*schema.ToolInfo {
	catalog, names := r.reader.catalog, &r.reader.names
	list := make([]*schema.ToolInfo, 0, 8)
	shown := docset.New(len(catalog.docs))
	for _, t := range tools {
		if t == nil {
			continue
		}
		doc, dynamic := r.owns(t.Name)
		switch {
		case dynamic && isMarked(t, names.search) && loaded.has.Has(doc) && shown.Add(doc):
			if info := catalog.docs[doc].Info; !sameDefinition(t, info) {
				t = marked(info, names.search) // the catalog changed
			}
			list = append(list, t)
		case dynamic || isMarked(t, names.search): // hidden, or gone from the catalog
		case r.plain && names.has(t.Name):
		default:
			list = append(list, t)
		}
	}
	for _, doc := range loaded.docs {
		if !shown.Has(doc) {
			list = append(list, marked(catalog.docs[doc].Info, names.search))
		}
	}
	return list
}

// withLoaded is the tool list with more tools loaded; tools itself if they all were.
func withLoaded(r *reader, tools []*schema.ToolInfo, loaded *loadedSet) []*schema.ToolInfo {
	list := slices.Clip(tools)
	for _, doc := range loaded.docs {
		if info := r.catalog.docs[doc].Info; !containsName(tools, info.Name) {
			list = append(list, marked(info, r.names.search))
		}
	}
	return list
}

func isMarked(t *schema.ToolInfo, tool string) bool {
	return t != nil && len(t.Extra) > 0 && t.Extra[loadedMark] == tool
}

// sameDefinition reports whether a marked copy is still one of info. After a checkpoint
// it is equal at most, and made anew.
func sameDefinition(copied, info *schema.ToolInfo) bool {
	return copied.Desc == info.Desc && copied.ParamsOneOf == info.ParamsOneOf
}

// marked is our copy of a definition: it says that the tool was loaded, and by which
// search tool.
func marked(info *schema.ToolInfo, tool string) *schema.ToolInfo {
	copied := *info
	copied.Extra = maps.Clone(info.Extra)
	if copied.Extra == nil {
		copied.Extra = make(map[string]any, 1)
	}
	copied.Extra[loadedMark] = tool
	return &copied
}
