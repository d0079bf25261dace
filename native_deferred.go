package toolsearch

import (
	"context"
	"slices"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/conversation"
)

// The modes of ProtocolNativeDeferred: the model gets the catalog as deferred tools, and tool_search
// as its own search tool.

// nativeMode is what all native modes share.
type nativeMode struct{ textMode }

// lastWord works out the lists anew: the model could not reach a deferred tool whose search result
// was removed.
func (nativeMode) lastWord(r *run, t *transcript, given lists) (lists, *conversation.LoadSet) {
	loaded := r.stillLoaded(t, given)
	next := r.lists(given, loaded)
	r.notebook.SetOrdinary(toolNames(next.tools))
	return next, loaded
}

// deferredMode is the mode for agentic models: results are native in the history.
type deferredMode struct{ nativeMode }

func (deferredMode) modelSearchTool(info *schema.ToolInfo) *schema.ToolInfo { return info }

func (deferredMode) defers() bool { return true }

func (deferredMode) lists(r *run, given lists, loaded *conversation.LoadSet) lists {
	return deferredLists(r, given, loaded)
}

// called marks the called tools in the deferred list as loaded.
func (deferredMode) called(r *run, given lists, docs []int) lists {
	list := given.deferred
	for i, t := range given.deferred {
		if t == nil || conversation.IsLoaded(t, r.names.search) {
			continue
		}
		if doc, ok := r.scope.byName[t.Name]; ok && slices.Contains(docs, doc) {
			if &list[0] == &given.deferred[0] {
				list = slices.Clone(list)
			}
			list[i] = conversation.MarkLoaded(t, r.names.search)
		}
	}
	given.deferred = list
	return given
}

func (deferredMode) keeps(r *run, result *resultView, call *callView) bool {
	return result.native && (isMarkedSearch(call) || r.notebook.HasCall(result.callID))
}

// convert keeps native results where the provider demands them: those of this run and of marked
// calls.
func (m deferredMode) convert(f *converter, result resultView, call *callView) (resultView, bool) {
	if !result.native {
		return result, false
	}
	permitted := f.permitted(result.found)
	if !m.keeps(f.run, &result, call) {
		return result.asText(permitted), true
	}
	if len(permitted) == len(result.found) {
		return result, false
	}
	result.found = permitted
	return result, true
}

// chatDeferredMode is the mode for chat models: results are texts in the history, and native in the
// model's input. Native results in the history would make Eino's reduction end the run.
type chatDeferredMode struct{ deferredMode }

func (chatDeferredMode) show(r *run, t *transcript, given lists, loaded *conversation.LoadSet) {
	loaded.ByResult = convertResults(r, t, given, loaded)
}

func (chatDeferredMode) keeps(*run, *resultView, *callView) bool { return true }

func (chatDeferredMode) convert(f *converter, result resultView, _ *callView) (resultView, bool) {
	return f.fresh(result)
}

// deferredLists splits the tools of a model call into the ordinary list, without the search
// tool, and the deferred list. Loaded tools in the deferred list have the mark. Like visible
// it is idempotent. Deferred tools of other middlewares stay.
func deferredLists(r *run, given lists, loaded *conversation.LoadSet) lists {
	moved := ordinaryOnes(r, given.tools, loaded)
	next := lists{tools: make([]*schema.ToolInfo, 0, 8), deferred: make([]*schema.ToolInfo, 0, len(r.scope.docs))}
	for _, t := range visible(r, given.tools, moved) {
		if t.Name != r.names.search {
			next.tools = append(next.tools, t)
		}
	}
	next.deferred = append(next.deferred, othersDeferred(r, given.deferred)...)
	for doc := range r.scope.docs {
		switch info := r.scope.docs[doc].Info; {
		case moved.Has(doc) || !r.scope.sees(doc):
		case loaded.Has(doc):
			next.deferred = append(next.deferred, conversation.MarkLoaded(info, r.names.search))
		default:
			next.deferred = append(next.deferred, r.deferred[doc])
		}
	}
	return next
}

// ordinaryOnes returns the loaded tools that belong in the ordinary list: tools that no native
// result shows, tools that are in it already, and those of AlwaysLoaded.
func ordinaryOnes(r *run, tools []*schema.ToolInfo, loaded *conversation.LoadSet) *conversation.LoadSet {
	moved := conversation.NewLoadSet(len(r.scope.docs))
	for _, doc := range loaded.Docs {
		if !loaded.ByResult.Has(doc) || r.hidesNone || r.isAlways(doc) || hasLoaded(r, tools, r.scope.docs[doc].Name) {
			moved.Add(doc)
		}
	}
	return moved
}

// nativeSearchTool is tool_search for agentic models: an enhanced tool whose result contains
// the definitions of the tools it found. A mistake or a miss gives an empty result.
type nativeSearchTool struct {
	*metaTool
	host *host
}

// InvokableRun implements tool.EnhancedInvokableTool.
func (t *nativeSearchTool) InvokableRun(ctx context.Context, argument *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
	text := ""
	if argument != nil {
		text = argument.Text
	}
	request := readKeywords(text)
	if request.stand != nil {
		answer := t.host.answerFor(ctx, request.stand).String()
		return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: answer}}}, nil
	}
	found := &schema.ToolSearchResult{Tools: []*schema.ToolInfo{}}
	if !request.unreadable {
		result, _, err := t.host.search(ctx, request, true, wholeSize)
		if err != nil {
			return nil, err
		}
		r, err := t.host.run(ctx)
		if err != nil {
			return nil, err
		}
		known := nameSet(r.notebook.Ordinary())
		for _, m := range result.Matches {
			if !known[m.Info.Name] {
				found.Tools = append(found.Tools, m.Info)
			}
		}
	}
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{
		Type: schema.ToolPartTypeToolSearchResult, ToolSearchResult: found,
	}}}, nil
}
