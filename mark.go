package toolsearch

import (
	"maps"
	"slices"

	"github.com/cloudwego/eino/schema"
)

// Our copies of definitions, and the marks in their Extra. The marks keep what a run knew
// when the history is lost. Their values are strings, since a checkpoint encodes Extra with
// gob, and gob rejects unknown types.

// loadedMark is a key in the Extra of our copy of a tool's definition. Its value is the name
// of the search tool that loaded the tool.
const loadedMark = "_toolsearch_loaded"

// rememberedMark is a key in the Extra of our copy of the search tool's definition. Its value
// is the names of the loaded tools, a line each. It keeps those that are not in the tool list.
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
