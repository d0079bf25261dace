package conversation

import (
	"maps"

	"github.com/cloudwego/eino/schema"
)

// Marks in the Extra of a middleware's own copies of definitions keep what a run knew when the history is lost: they
// survive trimming, summaries and checkpoints. Their values are strings, since a checkpoint encodes Extra with gob,
// which rejects unknown types. The values name the search tool, since an agent can have several middlewares. Histories
// and checkpoints contain the keys, so they must not change.
const (
	loadedMark     = "_toolsearch_loaded"
	deferredMark   = "_toolsearch_deferred"
	rememberedMark = "_toolsearch_remembered"
)

// MarkLoaded returns a copy of a definition, marked as loaded by a search tool.
func MarkLoaded(info *schema.ToolInfo, searchTool string) *schema.ToolInfo {
	return marked(info, loadedMark, searchTool)
}

// IsLoaded reports whether t is such a copy. t may be nil.
func IsLoaded(t *schema.ToolInfo, searchTool string) bool {
	return t != nil && len(t.Extra) > 0 && t.Extra[loadedMark] == searchTool
}

// IsLoadedByAny reports whether t is such a copy of any search tool. t may be nil.
func IsLoadedByAny(t *schema.ToolInfo) bool { return t != nil && t.Extra[loadedMark] != nil }

// MarkDeferred returns a copy of a definition, marked as deferred for a search tool. After a checkpoint the mark tells
// a tool that is gone from the catalog from one that another middleware defers.
func MarkDeferred(info *schema.ToolInfo, searchTool string) *schema.ToolInfo {
	return marked(info, deferredMark, searchTool)
}

// IsOurs reports whether the middleware with that search tool put t into a list.
func IsOurs(t *schema.ToolInfo, searchTool string) bool {
	return IsLoaded(t, searchTool) || t != nil && len(t.Extra) > 0 && t.Extra[deferredMark] == searchTool
}

// MarkRemembered returns the definition of a search tool, marked with the names of the loaded tools that are not in the
// tool list.
func MarkRemembered(t *schema.ToolInfo, names string) *schema.ToolInfo {
	return marked(t, rememberedMark, names)
}

// Remembered returns the names of MarkRemembered; "" means none.
func Remembered(t *schema.ToolInfo) string {
	names, _ := t.Extra[rememberedMark].(string)
	return names
}

func marked(info *schema.ToolInfo, key, value string) *schema.ToolInfo {
	copied := *info
	copied.Extra = make(map[string]any, len(info.Extra)+1)
	maps.Copy(copied.Extra, info.Extra)
	copied.Extra[key] = value
	return &copied
}
