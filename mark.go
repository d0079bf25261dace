package toolsearch

import (
	"maps"
	"slices"

	"github.com/cloudwego/eino/schema"
)

// Our copies of definitions, and the marks they bear in their Extra: what a run knew survives
// in them where the history does not. The values of marks are strings, since Extra goes
// through gob at a checkpoint and gob takes no unknown types.

// loadedMark is the key, in the Extra of our copy of a tool's definition, of the name of
// the search tool that loaded it. The value is a string: gob takes no unknown types.
const loadedMark = "_toolsearch_loaded"

// rememberedMark is the key, in the Extra of our copy of the search tool's definition, of
// the names of the loaded tools, a line each: where these are not in the tool list, it is
// what survives.
const rememberedMark = "_toolsearch_remembered"

// deferredMark is the key, in the Extra of a deferred definition, of the name of the search
// tool it is deferred for. After a checkpoint it tells a tool that is gone from the catalog
// from one that another middleware defers.
const deferredMark = "_toolsearch_deferred"

// deferredCopies are the definitions of a catalog with that mark.
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

// isOurs reports whether the middleware of that search tool put t into a list.
func isOurs(t *schema.ToolInfo, searchTool string) bool {
	return isMarked(t, searchTool) || len(t.Extra) > 0 && t.Extra[deferredMark] == searchTool
}

func containsMarked(tools []*schema.ToolInfo, name, searchTool string) bool {
	return slices.ContainsFunc(tools, func(t *schema.ToolInfo) bool { return t != nil && t.Name == name && isMarked(t, searchTool) })
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

func containsName(tools []*schema.ToolInfo, name string) bool {
	return slices.ContainsFunc(tools, func(t *schema.ToolInfo) bool { return t != nil && t.Name == name })
}
