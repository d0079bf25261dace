package toolsearch

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/conversation"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/wording"
	"github.com/eino-toolsearch/toolsearch/search"
)

// What all meta-tools and their answers share; then tool_search, its form for ProtocolRegexp, and
// the two tools of ProtocolDispatch. Arguments and results are read in arguments.go.

// host is what a meta-tool needs from its surroundings.
type host struct {
	names   metaNames
	prompt  *wording.Texts
	run     func(ctx context.Context) (*run, error) // the run of a call
	budget  int                                     // the largest answer, in bytes
	defines bool                                    // tool_search is the model's own search tool: the model gets definitions
}

// metaTool is a tool that the model sees instead of the catalog. It answers every call, even a
// mistaken call, and returns an error only when its context is done.
type metaTool struct {
	typeName string
	info     *schema.ToolInfo
	run      answering
}

// answering answers a call of a meta-tool.
type answering func(ctx context.Context, arguments string) (string, error)

// searchType is the type of every search tool in Eino's callbacks, whatever its name and protocol.
const searchType = "ToolSearch"

// GetType implements components.Typer.
func (t *metaTool) GetType() string { return t.typeName }

// Info implements tool.BaseTool.
func (t *metaTool) Info(context.Context) (*schema.ToolInfo, error) { return t.info, nil }

// InvokableRun implements tool.InvokableTool.
func (t *metaTool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	return t.run(ctx, arguments)
}

// metaTool returns a meta-tool. description is a key of the prompt.
func (h *host) metaTool(typeName, name, description string, parameters map[string]*schema.ParameterInfo, run answering) *metaTool {
	info := &schema.ToolInfo{Name: name, Desc: h.prompt.Text(description), ParamsOneOf: schema.NewParamsOneOfByParams(parameters)}
	return &metaTool{typeName: typeName, info: info, run: run}
}

// searching returns a search tool.
func (h *host) searching(parameters map[string]*schema.ParameterInfo, run answering) *metaTool {
	return h.metaTool(searchType, h.names.search, "description", parameters, run)
}

// searchParameters are the parameters of a search by keywords. Further queries are a list of their
// own: Gemini and some endpoints of OpenAI's form refuse a request in which a parameter may be a
// text or a list.
func (h *host) searchParameters() map[string]*schema.ParameterInfo {
	return map[string]*schema.ParameterInfo{
		"query":       {Type: schema.String, Desc: h.prompt.Text("query"), Required: true},
		"queries":     {Type: schema.Array, ElemInfo: &schema.ParameterInfo{Type: schema.String}, Desc: h.prompt.Text("queries")},
		"max_results": {Type: schema.Integer, Desc: h.prompt.Text("max-results")},
	}
}

// searchTool is tool_search of the default protocol.
func (h *host) searchTool() *metaTool {
	return h.searching(h.searchParameters(), func(ctx context.Context, arguments string) (string, error) {
		var sizeOf func(*schema.ToolInfo) int
		if h.defines {
			sizeOf = wholeSize
		}
		request := readKeywords(arguments)
		if answer, excused := h.excuse(ctx, request); excused {
			return answer.String(), nil
		}
		result, _, err := h.search(ctx, request, true, sizeOf)
		if err != nil {
			return "", err
		}
		return answerOf(result).String(), nil
	})
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

// Tool returns tool_search over the catalog, for a ToolsNode in your own graph. It does not hide or
// load tools: the graph uses the result as it likes. The searches of one call take at most
// DefaultSearchTimeout together, unless the call's context has a deadline of its own. After that
// the model gets what was found by then.
func (c *Catalog) Tool() tool.InvokableTool {
	all := &run{scope: c.all(), events: &eventSink{}}
	h := &host{
		names:  ProtocolToolSearch.names(DefaultToolName),
		prompt: c.prompt,
		run:    func(context.Context) (*run, error) { return all, nil },
		budget: bytesPerToken * DefaultMaxAnswerTokens,
	}
	return h.searchTool()
}

// excuse answers a request that is not a search: a stand-in, or unreadable arguments.
func (h *host) excuse(ctx context.Context, r searchRequest) (searchAnswer, bool) {
	if r.stand != nil {
		return h.answerFor(ctx, r.stand), true
	}
	if r.unreadable {
		return saying(h.prompt.Text("bad-arguments")), true
	}
	return searchAnswer{}, false
}

// search searches, leaves out what does not fit the answer, and reports the search. If loads is
// set, it records that the matches are loaded. sizeOf returns the bytes that a match takes in the answer;
// nil means that the answer has only its name.
func (h *host) search(ctx context.Context, request searchRequest, loads bool, sizeOf func(*schema.ToolInfo) int) (*Result, trace, error) {
	start := time.Now()
	r, err := h.run(ctx)
	if err != nil {
		return nil, trace{}, err
	}
	limited, cancel := r.limited(ctx)
	result, trace, err := r.scope.find(ctx, limited, request.queries, request.namespace, request.limit)
	cancel()
	duration := time.Since(start)
	if err != nil {
		result = nil
	} else {
		h.trim(result, sizeOf)
	}
	if err == nil && loads && r.isKept() {
		r.recordEffect(ctx, conversation.Effect{Loads: matchNames(result.Matches)})
	}
	if !r.events.listens() {
		return result, trace, err
	}
	event := &SearchEvent{
		Tool: h.names.search, Query: naming.Cut(strings.Join(request.queries, " | "), search.MaxQueryBytes),
		Duration: duration, Err: cmp.Or(err, trace.failure), Searcher: trace.answered,
	}
	if err == nil {
		event.Matches, event.NotFound, event.Total = matchNames(result.Matches), result.NotFound, result.Total
		for _, m := range result.Matches {
			event.Scores = append(event.Scores, m.Score)
			event.Tokens += r.scope.tokensOf(r.scope.byName[m.Info.Name])
		}
	}
	r.events.emit(ctx, event)
	return result, trace, err
}

// trim leaves out the matches that do not fit an answer. The best match always stays.
func (h *host) trim(result *Result, sizeOf func(*schema.ToolInfo) int) {
	result.NotFound = h.trimNames(result.NotFound)
	if sizeOf == nil {
		const longest = len(`"",`) + maxEscaped*naming.MaxBytes
		if len(result.Matches)*longest <= h.budget {
			return
		}
		sizeOf = func(info *schema.ToolInfo) int { return len(toJSON(info.Name)) + 1 }
	}
	size, found := 0, len(result.Matches)
	kept := result.Matches[:0:0]
	for i, m := range result.Matches {
		switch taken := sizeOf(m.Info); {
		case i == 0: // a giant does not hide the others
			size = min(taken, h.budget/2)
		case size+taken > h.budget:
			continue
		default:
			size += taken
		}
		kept = append(kept, m)
	}
	if len(kept) < found {
		leftOut := h.prompt.Text("left-out", "{count}", strconv.Itoa(found-len(kept)))
		result.Matches, result.Message = kept, strings.TrimSpace(result.Message+" "+leftOut)
	}
}

// trimNames returns as many names that no tool has as fit a quarter of an answer.
func (h *host) trimNames(names []string) []string {
	size := 0
	for i, name := range names {
		names[i] = naming.Cut(name, naming.MaxBytes)
		if size += len(toJSON(names[i])) + 1; size > h.budget/4 && i > 0 {
			return names[:i]
		}
	}
	return names
}

// answerFor answers a stand-in.
func (h *host) answerFor(ctx context.Context, s *standIn) searchAnswer {
	switch {
	case s.MisusedTool != "":
		return h.misuse(ctx, s)
	case s.UnloadedTool != "":
		search := toJSON(map[string]string{"query": "select:" + s.UnloadedTool})
		return saying(h.prompt.Text("unloaded-tool", "{name}", naming.Safe(s.UnloadedTool), "{search}", search))
	}
	key := "unknown-tool"
	if len(s.Suggestions) > 0 {
		key = "unknown-tool-near"
	}
	return answerOf(&Result{
		NotFound: []string{s.UnknownTool}, Suggestions: s.Suggestions, Message: h.prompt.Text(key, "{name}", naming.Safe(s.UnknownTool)),
	})
}

// definitionOf returns a definition that fits an answer. The parameters take at most half of the
// answer, and the description takes what is left.
func (h *host) definitionOf(info *schema.ToolInfo) definition {
	d := definition{Name: info.Name, Parameters: json.RawMessage(schemacheck.JSON(info))}
	if len(d.Parameters) > h.budget/2 {
		d.Parameters = json.RawMessage(`{"type":"object"}`)
	}
	left := max(h.budget-len(d.Parameters), 0)
	d.Description = naming.Cut(info.Desc, min(search.MaxDescriptionBytes, left/2))
	if len(toJSON(d.Description)) > left {
		d.Description = naming.Cut(d.Description, left/maxEscaped)
	}
	return d
}

// maxEscaped is the most bytes that JSON writes for one byte.
const maxEscaped = 6

// wholeSize is the size of a definition that the model gets whole.
func wholeSize(info *schema.ToolInfo) int {
	return len(toJSON(info.Name)) + len(toJSON(info.Desc)) + len(schemacheck.JSON(info))
}

// misuse answers a wrong dispatched call. If its arguments were wrong, the answer has the
// definition of the tool.
func (h *host) misuse(ctx context.Context, s *standIn) searchAnswer {
	answer := saying(s.Problem)
	r, err := h.run(ctx)
	if err != nil {
		return answer
	}
	if doc, ok := r.scope.byName[s.MisusedTool]; ok && r.scope.sees(doc) {
		answer.Message = h.prompt.Text("bad-tool-arguments", "{name}", naming.Safe(s.MisusedTool), "{problem}", s.Problem)
		rest := &host{budget: h.budget - len(toJSON(answer.Message))}
		tool := rest.definitionOf(r.scope.docs[doc].Info)
		answer.Tool = &tool
	}
	return answer
}

// selectedTools is the answer of tool_search of ProtocolRegexp.
type selectedTools struct {
	SelectedTools []string `json:"selectedTools"`
	help
}

// regexpTool is tool_search of ProtocolRegexp: a pattern in, names out.
func (h *host) regexpTool() *metaTool {
	parameters := map[string]*schema.ParameterInfo{
		"regex_pattern": {Type: schema.String, Desc: h.prompt.Text("query"), Required: true},
	}
	return h.searching(parameters, func(ctx context.Context, arguments string) (string, error) {
		request := readRequest(arguments, "regex_pattern", "pattern", "regex", "query", "q")
		request.limit = unlimited // MaxResultsCap still applies; a pattern itself says how much it wants
		if answer, excused := h.excuse(ctx, request); excused {
			return toJSON(selectedTools{answer.Matches, answer.help}), nil
		}
		result, _, err := h.search(ctx, request, true, nil)
		if err != nil {
			return "", err
		}
		return toJSON(selectedTools{matchNames(result.Matches), helpOf(result)}), nil
	})
}

// The two tools of ProtocolDispatch: tool_search, which answers with definitions, and
// call_tool. Before any tool runs, a call of call_tool is replaced by a call of the tool it
// names: see intercept.go.

// foundDefinitions is the answer of tool_search.
type foundDefinitions struct {
	Matches []definition `json:"matches"`
	help
}

func (h *host) definitionsTool() *metaTool {
	return h.searching(h.searchParameters(), func(ctx context.Context, arguments string) (string, error) {
		request := readKeywords(arguments)
		if answer, excused := h.excuse(ctx, request); excused {
			return answer.String(), nil
		}
		result, _, err := h.search(ctx, request, true, func(info *schema.ToolInfo) int { return len(toJSON(h.definitionOf(info))) + 1 })
		if err != nil {
			return "", err
		}
		found := foundDefinitions{Matches: make([]definition, len(result.Matches)), help: helpOf(result)}
		for i, m := range result.Matches {
			found.Matches[i] = h.definitionOf(m.Info)
		}
		return toJSON(found), nil
	})
}

// dispatchTool is call_tool. It runs only if its call was not replaced, which happens outside
// an agent.
func (h *host) dispatchTool() *metaTool {
	parameters := map[string]*schema.ParameterInfo{
		"name":      {Type: schema.String, Desc: h.prompt.Text("call-name"), Required: true},
		"arguments": {Type: schema.Object, Desc: h.prompt.Text("call-arguments")},
	}
	return h.metaTool("CallTool", h.names.call, "call-description", parameters, func(context.Context, string) (string, error) {
		return saying(h.prompt.Text("bad-dispatch")).String(), nil
	})
}
