package toolsearch

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
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

// What all meta-tools and their answers share; then tool_search, its form for ProtocolRegexp, and the two tools of
// ProtocolDispatch. Arguments and results are read in arguments.go.

// host is what a meta-tool needs from its surroundings.
type host struct {
	names  metaNames
	prompt *wording.Texts
	run    func(ctx context.Context) (*run, error) // the run of a call
	budget int                                     // the answers of one message together, in bytes
}

// metaTool is a tool in the place of the catalog. It answers even a mistaken call; its only error is its context's.
type metaTool struct {
	host     *host
	typeName string // in Eino's callbacks
	info     *schema.ToolInfo
	answer   answering
}

// answering answers a call of a meta-tool in a run.
type answering func(ctx context.Context, r *run, arguments string) (string, error)

func (t *metaTool) GetType() string { return t.typeName }

func (t *metaTool) Info(context.Context) (*schema.ToolInfo, error) { return t.info, nil }

func (t *metaTool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	r, err := t.host.run(ctx)
	if err != nil {
		return "", err
	}
	r.recall(ctx)
	return t.answer(ctx, r, arguments)
}

// metaTool returns a meta-tool. description is a key of the prompt.
func (h *host) metaTool(typeName, name, description string, parameters map[string]*schema.ParameterInfo, answer answering) *metaTool {
	info := &schema.ToolInfo{Name: name, Desc: h.prompt.Text(description), ParamsOneOf: schema.NewParamsOneOfByParams(parameters)}
	return &metaTool{h, typeName, info, answer}
}

// searchTool returns a search tool, which reads and writes in its protocol's own way. Its type is the same, whatever
// its name and protocol.
func (h *host) searchTool(
	parameters map[string]*schema.ParameterInfo, read func(arguments string) searchRequest,
	write func(r *run, request searchRequest, result *Result, t trace) string,
) *metaTool {
	answer := func(ctx context.Context, r *run, arguments string) (string, error) {
		request := read(arguments)
		if request.stand != nil || request.unreadable {
			return write(r, request, h.excuse(r, request), trace{}), nil
		}
		return h.search(ctx, r, request, func(result *Result, t trace) string { return write(r, request, result, t) })
	}
	return h.metaTool("ToolSearch", h.names.search, "description", parameters, answer)
}

// searchParameters are the parameters of a search by keywords. Further queries are a list of their own: Gemini and some
// endpoints of OpenAI's form refuse a parameter that may be a text or a list.
func (h *host) searchParameters() map[string]*schema.ParameterInfo {
	return map[string]*schema.ParameterInfo{
		"query":       {Type: schema.String, Desc: h.prompt.Text("query"), Required: true},
		"queries":     {Type: schema.Array, ElemInfo: &schema.ParameterInfo{Type: schema.String}, Desc: h.prompt.Text("queries")},
		"max_results": {Type: schema.Integer, Desc: h.prompt.Text("max-results")},
	}
}

// queryParameter is the parameter that a search needs, under its name in a protocol.
func (h *host) queryParameter(name string) map[string]*schema.ParameterInfo {
	return map[string]*schema.ParameterInfo{name: {Type: schema.String, Desc: h.prompt.Text("query"), Required: true}}
}

func (h *host) namesTool() *metaTool {
	return h.searchTool(h.searchParameters(), readKeywords, func(_ *run, _ searchRequest, result *Result, t trace) string {
		return toJSON(answerOf(result, t))
	})
}

// nativeSearchTool is tool_search for agentic models: an enhanced tool whose result has the definitions of the tools it
// found. A mistake or a miss gives an empty result.
type nativeSearchTool struct{ *metaTool }

func (t *nativeSearchTool) InvokableRun(ctx context.Context, argument *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
	r, err := t.host.run(ctx)
	if err != nil {
		return nil, err
	}
	r.recall(ctx)
	request := readKeywords(argument.Text)
	if request.stand != nil {
		return enhancedResult(toJSON(answerOf(t.host.excuse(r, request), trace{}))), nil
	}
	var names []string
	if !request.unreadable {
		write := func(result *Result, _ trace) string { names = matchNames(result.Matches); return "" }
		if _, err := t.host.search(ctx, r, request, write); err != nil {
			return nil, err
		}
	}
	docs := slices.DeleteFunc(r.docsNamed(names), r.notebook.Defined().Has) // the ordinary list may have some of them
	found := &schema.ToolSearchResult{Tools: r.infos(docs)}
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeToolSearchResult, ToolSearchResult: found}}}, nil
}

func enhancedResult(text string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
}

// Tool returns tool_search over the catalog, for a ToolsNode in your own graph, which uses the result as it likes. The
// searches of one call take at most DefaultSearchTimeout together, unless the call's context has a deadline of its own.
// After that the model gets what was found by then.
func (c *Catalog) Tool() tool.InvokableTool {
	all := &run{scope: c.all()}
	h := &host{
		names:  ProtocolToolSearch.names(DefaultToolName),
		prompt: c.prompt,
		run:    func(context.Context) (*run, error) { return all, nil },
		budget: bytesPerToken * DefaultMaxAnswerTokens,
	}
	return h.namesTool()
}

// excuse answers a request that is not a search: a stand-in, or unreadable arguments.
func (h *host) excuse(r *run, request searchRequest) *Result {
	s, say := request.stand, func(key string, values ...string) *Result { return &Result{Message: h.prompt.Text(key, values...)} }
	switch {
	case s == nil:
		return say("bad-arguments")
	case s.MisusedTool != "":
		if _, dynamic := r.scope.docNamed(s.MisusedTool); dynamic {
			return say("bad-tool-arguments", "{name}", naming.Safe(s.MisusedTool), "{problem}", s.Problem)
		}
		return &Result{Message: s.Problem}
	case s.UnloadedTool != "":
		search := toJSON(map[string]string{"query": "select:" + s.UnloadedTool})
		return say("unloaded-tool", "{name}", naming.Safe(s.UnloadedTool), "{search}", search)
	}
	key := "unknown-tool"
	if len(s.Suggestions) > 0 {
		key = "unknown-tool-near"
	}
	return &Result{
		NotFound: []string{s.UnknownTool}, Suggestions: s.Suggestions,
		Message: r.scope.missed(key, "{name}", naming.Safe(s.UnknownTool)),
	}
}

// search searches, writes an answer without what is too long for it, and reports the search. Unless searching is separate
// from loading, it records that the matches are loaded.
func (h *host) search(ctx context.Context, r *run, request searchRequest, write func(*Result, trace) string) (text string, err error) {
	start := time.Now()
	limited, cancel := r.limited(ctx)
	scope := r.scope
	scope.isShown, scope.cutsOff = r.shown(), r.sendsDefinitions()
	if scope.isMixed && scope.isShown != nil && !r.mode.isNative() { // Eino's own answers and native results do not name copies
		scope.chosen = make(map[int]int)
	}
	use, _ := r.related.Load().(map[int]float64)
	relevance := r.relevances(limited)
	if len(use)+len(relevance) > 0 {
		scope.evidence = &evidence{use, relevance, len(request.queries) > 1 && len(r.request) > longRequest}
	}
	// What fills a place is not worth that of a tool in use, nor a line among what can only be loaded.
	scope.fills = len(relevance) > 0 && scope.isShown != nil && !scope.cutsOff && h.names.add == "" && r.config.Limits.MaxLoaded == 0
	scope.showsNoNames = r.reminder.form != wording.Names
	result, trace, err := scope.find(ctx, limited, request.queries, request.namespace, request.limit)
	cancel()
	duration := time.Since(start)
	if err == nil && r.mode == deferredMode && len(result.Matches) == 0 { // an empty result would say that nothing matches
		for _, info := range r.infos(r.docsNamed(trace.alreadyShown)) {
			result.Matches = append(result.Matches, Match{Info: info})
		}
	}
	// The next call shows MaxLoaded tools: the best new match, what the model sees already, and further matches.
	isListed := r.mode == textMode || r.mode == anchoredMode && !r.moves.Load()
	if err == nil && trace.ranked > 0 && scope.isShown != nil && isListed && h.names.add == "" && r.config.Limits.MaxLoaded > 0 {
		most := max(1, r.config.Limits.MaxLoaded/r.notebook.Answers())
		counted := slices.DeleteFunc(slices.Clone(trace.alreadyShown), func(name string) bool { return r.isAlways(r.scope.byName[name]) })
		result.Matches = result.Matches[:min(len(result.Matches), max(1, most-len(counted)))]
		gone := counted[min(len(counted), most-len(result.Matches)):] // no more stay visible
		trace.alreadyShown = slices.DeleteFunc(trace.alreadyShown, func(name string) bool { return slices.Contains(gone, name) })
	}
	if err == nil {
		if text, trace.alreadyShown = h.fit(r, result, trace, write); h.names.add == "" && r.isInAgent() {
			r.recordEffect(ctx, conversation.Effect{Loads: append(matchNames(result.Matches), trace.alreadyShown...)})
		}
	}
	if !r.events.listens() {
		return text, err
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
	return text, err
}

// fit writes an answer with as many matches as the room is for, at least the best, and returns which of alreadyShown it names.
func (h *host) fit(r *run, result *Result, t trace, write func(*Result, trace) string) (answer string, shown []string) {
	for _, names := range [...]*[]string{&result.NotFound, &t.alreadyShown, &t.copies} {
		for n := len(*names); n > 1 && len(toJSON(*names)) > h.room(r)/4; n = len(*names) {
			*names = (*names)[:n*3/4]
		}
	}
	all := result.Matches
	sizeOf := func(matches ...Match) (text string, size int) {
		result.Matches = matches
		text = write(result, t)
		size = len(text)
		for i := 0; i < len(matches) && r.mode.searches(); i++ { // the model gets whole definitions
			info := matches[i].Info
			size += len(toJSON(info.Name)) + len(toJSON(info.Desc)) + len(schemacheck.JSON(info))
		}
		return text, size
	}
	if text, size := sizeOf(all...); size <= h.room(r) || len(all) < 2 {
		return text, t.alreadyShown
	}
	t.isLong = true
	_, rest := sizeOf()
	kept, left := all[:0:0], h.room(r)-rest
	for i, m := range all {
		_, size := sizeOf(m)
		if size -= rest; i == 0 { // a giant does not hide the others
			size = min(size, left/2)
		}
		if i == 0 || size <= left {
			kept, left = append(kept, m), left-size
		}
	}
	if result.Matches = kept; len(kept) < len(all) {
		count := strconv.Itoa(len(all) - len(kept))
		result.Message = strings.TrimSpace(result.Message + " " + h.prompt.Text("left-out", "{count}", count))
	}
	return write(result, t), t.alreadyShown
}

// room returns the bytes for one answer: the calls of one message divide the budget evenly.
func (h *host) room(r *run) int { return h.budget / r.notebook.Answers() }

// definitionOf returns a definition that fits so many bytes. The parameters take at most half of them, and without texts
// nine tenths: a call can be written without a description, but not without the parameters.
func definitionOf(info *schema.ToolInfo, budget int) definition {
	d := definition{Name: info.Name, Parameters: json.RawMessage(schemacheck.JSON(info))}
	d.isCut = len(d.Parameters) > budget/2
	for _, text := range [...]int{maxParameterText, 0} {
		if len(d.Parameters) > budget/2 {
			d.Parameters = json.RawMessage(schemacheck.Short(string(d.Parameters), text))
		}
	}
	if len(d.Parameters) > budget*9/10 {
		d.Parameters = json.RawMessage(`{"type":"object"}`)
	}
	left := max(budget-len(d.Parameters), 0)
	d.Description = naming.Cut(info.Desc, min(search.MaxDescriptionBytes, left/2))
	if len(toJSON(d.Description)) > left {
		d.Description = naming.Cut(d.Description, left/maxEscaped)
	}
	d.isCut = d.isCut || len(d.Description) < len(info.Desc)
	return d
}

// cut cuts the texts of a definition to so many bytes.
func (d *definition) cut(description, parameter int) {
	before := len(d.Description) + len(d.Parameters)
	d.Description = naming.ShortLine(d.Description, description)
	d.Parameters = json.RawMessage(schemacheck.Short(string(d.Parameters), parameter))
	d.isCut = d.isCut || len(d.Description)+len(d.Parameters) < before
}

const maxEscaped = 6 // bytes that JSON writes for one byte, at most

func (h *host) regexpTool() *metaTool {
	read := func(arguments string) searchRequest {
		request := readRequest(arguments, "regex_pattern", "pattern", "regex", "query", "q")
		request.limit = unlimited // MaxResultsCap still applies; a pattern itself says how much it wants
		return request
	}
	return h.searchTool(h.queryParameter("regex_pattern"), read, func(_ *run, _ searchRequest, result *Result, t trace) string {
		return toJSON(struct {
			SelectedTools []string `json:"selectedTools"`
			help
		}{matchNames(result.Matches), helpOf(result, t)})
	})
}

// The two tools of ProtocolDispatch: tool_search, which answers with definitions, and call_tool.

// foundDefinitions is the answer of tool_search.
type foundDefinitions struct {
	Shared  []json.RawMessage `json:"shared,omitempty"` // what parameters of several matches are, as "#/shared/0"
	Matches []definition      `json:"matches"`          // not nil
	help
	Tool *definition `json:"tool,omitempty"` // the tool called with wrong arguments
}

// Of what several queries found, the model needs little, and mostly the best of each. So in a long answer texts are cut:
// of about one match for each query to these lengths, and those of parameters left out of the others. The definitions are
// valid for the same arguments, and a call with wrong arguments is answered with the whole schema.
const (
	maxWhole            = 2 << 10 // bytes of definitions in an answer that is not long
	maxOtherDescription = 100     // bytes; a best match has maxBriefDescription
	maxParameterText    = 120     // bytes
)

func (h *host) definitionsTool() *metaTool {
	write := func(r *run, request searchRequest, result *Result, t trace) string {
		found := foundDefinitions{Matches: make([]definition, len(result.Matches)), help: helpOf(result, t)}
		parameters := make([]json.RawMessage, len(result.Matches))
		size, best := 0, t.ranked
		for i, m := range result.Matches {
			found.Matches[i] = definitionOf(m.Info, h.room(r))
			found.Matches[i].FoundBy = t.foundBy[m.Info.Name]
			size += len(toJSON(found.Matches[i]))
		}
		for i := range found.Matches {
			d := &found.Matches[i]
			if d.FoundBy != "" && (t.isLong || size > maxWhole) {
				if best--; best >= 0 {
					d.cut(maxBriefDescription, maxParameterText)
				} else {
					d.cut(maxOtherDescription, 0)
				}
			}
			parameters[i] = d.Parameters
		}
		found.Shared = schemacheck.Share(parameters)
		for i, text := range parameters {
			found.Matches[i].Parameters = text
		}
		if slices.ContainsFunc(found.Matches, func(d definition) bool { return d.isCut }) {
			found.Message = strings.TrimSpace(found.Message + " " + h.prompt.Text("in-short"))
		}
		if request.stand != nil {
			if doc, dynamic := r.scope.docNamed(request.stand.MisusedTool); dynamic {
				tool := definitionOf(r.scope.docs[doc].Info, h.room(r)-len(toJSON(result.Message)))
				found.Tool = &tool
			}
		}
		return toJSON(found)
	}
	return h.searchTool(h.searchParameters(), readKeywords, write)
}

// dispatchTool is call_tool. Within an agent, its calls are replaced by calls of the tools they name: see intercept.go.
func (h *host) dispatchTool() *metaTool {
	parameters := map[string]*schema.ParameterInfo{
		"name":      {Type: schema.String, Desc: h.prompt.Text("call-name"), Required: true},
		"arguments": {Type: schema.Object, Desc: h.prompt.Text("call-arguments")},
	}
	return h.metaTool("CallTool", h.names.call, "call-description", parameters, func(context.Context, *run, string) (string, error) {
		return toJSON(answerOf(&Result{Message: h.prompt.Text("bad-dispatch")}, trace{})), nil
	})
}
