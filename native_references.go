package toolsearch

import (
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/conversation"
)

// The mode of ProtocolNativeReferences, for the Claude chat model: tool_search is an ordinary
// tool, and the adapter turns native results into references. The middleware defers nothing.

type referencesMode struct{ nativeMode }

func (referencesMode) show(r *run, t *transcript, given lists, loaded *conversation.LoadSet) {
	loaded.ByResult = convertResults(r, t, given, loaded)
}

func (referencesMode) lists(r *run, given lists, loaded *conversation.LoadSet) lists {
	tools := visible(r, given.tools, ordinaryOnes(r, given.tools, loaded))
	return lists{tools: remember(r, tools, loaded), deferred: othersDeferred(r, given.deferred)}
}

// called changes nothing: a called tool is in the history or remembered.
func (referencesMode) called(_ *run, given lists, _ []int) lists { return given }

func (referencesMode) keeps(*run, *resultView, *callView) bool { return true }

func (referencesMode) convert(f *converter, result resultView, _ *callView) (resultView, bool) {
	return f.fresh(result)
}

// remember returns tools with the names of the loaded tools in a mark of the search
// tool's definition.
func remember(r *run, tools []*schema.ToolInfo, loaded *conversation.LoadSet) []*schema.ToolInfo {
	names := toJSON(r.namesOf(loaded.Docs))
	for i, t := range tools {
		if t == nil || t.Name != r.names.search {
			continue
		}
		if marked := conversation.MarkRemembered(t, names); marked != t {
			tools = slices.Clone(tools)
			tools[i] = marked
		}
		break
	}
	return tools
}
