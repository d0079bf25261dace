package toolsearch

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bytedance/sonic"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
)

// The search tool the model calls, and all the library knows of JSON: arguments in,
// however a model wrote them, and results out and, from a history, in again.

// searchTool is tool_search. It answers every call, a mistaken one too, and returns an
// error only when its context is done.
type searchTool struct {
	catalog *Catalog
	info    *schema.ToolInfo
	prompt  *prompt
	found   func(ctx context.Context, names []string) // told what a search loaded; may be nil
	event   func(ctx context.Context, e SearchEvent)  // Config.OnSearch; may be nil
}

func newSearchTool(c *Catalog, name string) *searchTool {
	return &searchTool{catalog: c, prompt: c.prompt, info: &schema.ToolInfo{
		Name: name,
		Desc: c.prompt.text("description"),
		ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			"query":       {Type: schema.String, Desc: c.prompt.text("query"), Required: true},
			"max_results": {Type: schema.Integer, Desc: c.prompt.text("max-results")},
		}),
	}}
}

// Tool returns tool_search over the catalog, for a ToolsNode in a graph of one's own.
// Nothing there hides or shows tools: what is found is for the graph to act on.
func (c *Catalog) Tool() tool.InvokableTool {
	return newSearchTool(c, DefaultToolName)
}

// Info implements tool.BaseTool.
func (t *searchTool) Info(context.Context) (*schema.ToolInfo, error) { return t.info, nil }

// InvokableRun implements tool.InvokableTool.
func (t *searchTool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	answer, _, err := t.answer(ctx, arguments)
	if err != nil {
		return "", err
	}
	return answer.String(), nil
}

// answer reads the arguments and does what they ask for. The matches come a second time
// with their definitions.
func (t *searchTool) answer(ctx context.Context, arguments string) (searchAnswer, []Match, error) {
	request := readRequest(arguments)
	if request.stand != nil {
		return request.stand.answer(t.prompt), nil, nil
	}
	if request.unreadable {
		return searchAnswer{Message: t.prompt.text("bad-arguments")}, nil, nil
	}
	start := time.Now()
	result, failure, err := t.catalog.all().find(ctx, request.queries, request.limit)
	if err != nil {
		t.report(ctx, request, SearchEvent{Duration: time.Since(start), Err: err})
		return searchAnswer{}, nil, err
	}
	names := make([]string, len(result.Matches))
	for i, m := range result.Matches {
		names[i] = m.Info.Name
	}
	if t.found != nil {
		t.found(ctx, names)
	}
	t.report(ctx, request, SearchEvent{
		Matches: names, NotFound: result.NotFound, Total: result.Total,
		Duration: time.Since(start), Err: failure,
	})
	return searchAnswer{
		Matches: names, NotFound: result.NotFound, Suggestions: result.Suggestions, Message: result.Message,
	}, result.Matches, nil
}

func (t *searchTool) report(ctx context.Context, r searchRequest, e SearchEvent) {
	if t.event == nil {
		return
	}
	e.Tool = t.info.Name
	e.Query = cut(strings.Join(r.queries, " | "), maxQueryBytes)
	t.event(ctx, e)
}

// searchAnswer is what the model reads. Keys but matches are there only when they have
// something to say.
type searchAnswer struct {
	Matches     []string `json:"matches"`
	NotFound    []string `json:"not_found,omitempty"`
	Suggestions []string `json:"suggestions,omitempty"`
	Message     string   `json:"message,omitempty"`
}

func (a searchAnswer) String() string {
	if a.Matches == nil {
		a.Matches = []string{}
	}
	text, err := sonic.ConfigStd.MarshalToString(a) // escapes <, > and & as encoding/json does
	if err != nil {                                 // strings always marshal
		return `{"matches":[]}`
	}
	return text
}

// readMatches calls yield with each name in the matches of a search result, and returns
// false if text is not one.
func readMatches(text string, yield func(name string)) bool {
	if readPlainMatches(text, yield) {
		return true
	}
	var result struct {
		Matches []string `json:"matches"`
	}
	if !strings.HasPrefix(strings.TrimSpace(text), "{") || sonic.ConfigStd.UnmarshalFromString(text, &result) != nil {
		return false
	}
	for _, name := range result.Matches {
		yield(name)
	}
	return result.Matches != nil
}

// readPlainMatches reads the form searchAnswer writes, as long as no name needs escaping.
// Histories hold hundreds of results and every one is read before each model call.
func readPlainMatches(text string, yield func(name string)) bool {
	rest, ok := strings.CutPrefix(text, `{"matches":[`)
	if !ok {
		return false
	}
	list, _, ok := strings.Cut(rest, "]")
	if !ok || strings.IndexByte(list, '\\') >= 0 || strings.Count(list, `"`)%2 != 0 {
		return false // an escape, or a bracket inside a name
	}
	for list != "" {
		var name string
		if list, ok = strings.CutPrefix(list, `"`); !ok {
			return false
		}
		if name, list, ok = strings.Cut(list, `"`); !ok {
			return false
		}
		list = strings.TrimPrefix(list, ",")
		yield(name)
	}
	return true
}

// searchRequest is what a model asked for, once its arguments are read.
type searchRequest struct {
	queries    []string
	limit      int // 0: the default
	unreadable bool
	stand      *standIn
}

// standIn is the call the middleware itself puts in the place of one that cannot be run,
// so that the model gets a tool result for it: see intercept.go.
type standIn struct {
	UnknownTool  string   `json:"unknown_tool,omitempty"`
	UnloadedTool string   `json:"unloaded_tool,omitempty"`
	Suggestions  []string `json:"suggestions,omitempty"`
}

func (s *standIn) String() string {
	text, err := sonic.ConfigStd.MarshalToString(s)
	if err != nil { // strings always marshal
		return "{}"
	}
	return text
}

// selectArguments are the arguments of the search that selects a tool.
func selectArguments(name string) string {
	text, err := sonic.ConfigStd.MarshalToString(map[string]string{"query": "select:" + name})
	if err != nil { // strings always marshal
		return "{}"
	}
	return text
}

func (s *standIn) answer(p *prompt) searchAnswer {
	switch {
	case s.UnloadedTool != "":
		return searchAnswer{Message: p.text("unloaded-tool", "{name}", shownName(s.UnloadedTool), "{search}", selectArguments(s.UnloadedTool))}
	case len(s.Suggestions) > 0:
		return searchAnswer{
			NotFound: []string{s.UnknownTool}, Suggestions: s.Suggestions,
			Message: p.text("unknown-tool-near", "{name}", shownName(s.UnknownTool)),
		}
	default:
		return searchAnswer{
			NotFound: []string{s.UnknownTool},
			Message:  p.text("unknown-tool", "{name}", shownName(s.UnknownTool)),
		}
	}
}

const (
	maxArgumentBytes = 64 << 10 // of the arguments of one call; the rest is not read
	maxWrappings     = 3        // JSON in a JSON string in a JSON string
)

// readRequest reads arguments as models write them: JSON, fenced JSON, JSON in prose or
// in a JSON string, a bare query; numbers as strings or floats; one query or several.
func readRequest(arguments string) searchRequest {
	if request, ok := readAskedFor(arguments); ok {
		return request
	}
	arguments, whole := cut(arguments, maxArgumentBytes), len(arguments) <= maxArgumentBytes
	value, ok := decodeLoosely(arguments, whole)
	if !ok {
		return searchRequest{unreadable: true}
	}
	for range maxWrappings {
		text, isText := value.(string)
		if !isText {
			break
		}
		inner, ok := decode(unfence(text))
		if !ok {
			break
		}
		value = inner
	}
	object, isObject := value.(map[string]any)
	if !isObject {
		queries, ok := queriesOf(value)
		return searchRequest{queries: queries, unreadable: !ok}
	}
	if s := standInOf(object); s != nil {
		return searchRequest{stand: s}
	}
	asked := firstOf(object, "query", "queries", "q", "keywords")
	queries, ok := queriesOf(asked)
	if _, given := object["query"]; asked == nil && len(object) > 0 && !given {
		ok = false // it holds something, but not under a name known here
	}
	return searchRequest{
		queries:    queries,
		limit:      limitOf(firstOf(object, "max_results", "limit", "maxResults")),
		unreadable: !ok,
	}
}

// readAskedFor reads the form the tool's schema asks for, and no other.
func readAskedFor(arguments string) (request searchRequest, ok bool) {
	var object struct {
		Query      *string `json:"query"`
		MaxResults int     `json:"max_results"`
	}
	if len(arguments) > maxArgumentBytes || strict.UnmarshalFromString(arguments, &object) != nil || object.Query == nil {
		return searchRequest{}, false
	}
	return searchRequest{queries: []string{*object.Query}, limit: max(object.MaxResults, 0)}, true
}

// decodeLoosely finds the JSON value in arguments. Text that does not look like JSON is
// taken for the query itself.
func decodeLoosely(arguments string, whole bool) (any, bool) {
	text := unfence(arguments)
	if value, ok := decode(text); ok {
		return value, true
	}
	if !whole {
		// The cut most likely fell into the query, which alone can be this long.
		for _, end := range []string{`"}`, `"]}`, `"`} {
			if value, ok := decode(strings.TrimRight(text, `\`) + end); ok {
				return value, true
			}
		}
	}
	open, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if open >= 0 && end > open {
		return decode(text[open : end+1])
	}
	if strings.ContainsAny(text, "{}[]") {
		return nil, false
	}
	return strings.Trim(text, `"`), true
}

// unfence takes the text out of a Markdown code fence.
func unfence(text string) string {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	inner, fenced := strings.CutPrefix(text, "```")
	if !fenced {
		return text
	}
	if language, rest, ok := strings.Cut(inner, "\n"); ok && !strings.ContainsAny(language, "{[\"") {
		inner = rest
	}
	inner, _, _ = strings.Cut(inner, "```")
	return strings.TrimSpace(inner)
}

var strict = sonic.Config{DisallowUnknownFields: true, ValidateString: true, CopyString: true}.Froze()

// decoder keeps numbers as text: one too large for any Go type is still a number.
var decoder = sonic.Config{UseNumber: true, ValidateString: true, CopyString: true}.Froze()

func decode(text string) (value any, ok bool) {
	if decoder.UnmarshalFromString(text, &value) != nil {
		return nil, false
	}
	return value, true
}

func firstOf(object map[string]any, keys ...string) any {
	for _, key := range keys {
		if value, ok := object[key]; ok && value != nil {
			return value
		}
	}
	return nil
}

// queriesOf reads a query or a list of them; null is none.
func queriesOf(value any) (queries []string, ok bool) {
	switch v := value.(type) {
	case nil:
		return nil, true
	case string:
		return []string{v}, true
	case json.Number:
		return []string{v.String()}, true
	case bool:
		return []string{strconv.FormatBool(v)}, true
	case []any:
		for _, element := range v[:min(len(v), maxQueries)] {
			if _, isList := element.([]any); isList {
				continue
			}
			inner, _ := queriesOf(element)
			queries = append(queries, inner...)
		}
		return queries, len(queries) > 0 || len(v) == 0
	default:
		return nil, false
	}
}

// limitOf reads a count of results; what is none asks for the default.
func limitOf(value any) int {
	var text string
	switch v := value.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = strings.TrimSpace(v)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 1) || math.IsNaN(f) || f < 1 {
		return 0
	}
	return int(min(f, math.MaxInt32))
}

func standInOf(object map[string]any) *standIn {
	unknown, isUnknown := object["unknown_tool"].(string)
	unloaded, isUnloaded := object["unloaded_tool"].(string)
	if object["query"] != nil || !isUnknown && !isUnloaded {
		return nil
	}
	s := &standIn{UnknownTool: cut(unknown, maxNameBytes), UnloadedTool: unloaded}
	if list, ok := object["suggestions"].([]any); ok {
		for _, element := range list[:min(len(list), maxSuggestions)] {
			if name, ok := element.(string); ok {
				s.Suggestions = append(s.Suggestions, name)
			}
		}
	}
	return s
}
