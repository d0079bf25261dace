package nativetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

// The adapters' own faults and gaps, each in one or two calls of the model without an agent.
// docs/adapters.md describes them. If a test fails here after an update of an adapter, the
// fault may be gone: correct the page.

var (
	hi          = []message{{Role: toolsearchtest.User, Text: "Hi"}}
	found       = append(hi, searched("a")...)
	foundTwice  = append(found[:3:3], searched("b")...)
	emptyResult = append(hi,
		message{Role: toolsearchtest.Assistant, Calls: []toolsearchtest.Call{{ID: "a", Name: "clock", Arguments: "{}"}}},
		message{Role: toolsearchtest.Tool, CallID: "a", ToolName: "clock", Text: ""})
)

// searched returns a search and its native result.
func searched(id string) []message {
	return []message{{Role: toolsearchtest.Assistant, Calls: []toolsearchtest.Call{{ID: id, Name: searchTool, Arguments: "{}"}}},
		{Role: toolsearchtest.Tool, CallID: id, ToolName: searchTool, Native: true, Found: infos("get_weather")}}
}

func infos(names ...string) (all []*schema.ToolInfo) {
	for _, name := range names {
		info, _ := testtools.EchoTools(name + ": Does what it says")[0].Info(context.Background())
		all = append(all, info)
	}
	return all
}

// fault is one call of a model and its outcome.
type fault struct {
	name     string
	messages []message
	tools    []*schema.ToolInfo
	deferred []*schema.ToolInfo
	search   bool   // with the search tool as the native search tool
	patch    bool   // with the type that the claude adapter omits
	cache    bool   // with claude's AutoCacheControl
	server   bool   // the provider searches by itself
	stream   bool   // only when streaming
	err      string // text in the error; "" means no error
	body     string // text in the requests' bodies; "" means no request
}

func (f fault) options() []model.Option {
	options := []model.Option{model.WithTools(f.tools), model.WithDeferredTools(f.deferred)}
	if f.search {
		options = append(options, model.WithToolSearchTool(infos(searchTool)[0]))
	}
	return options
}

func TestClaudeFaults(t *testing.T) {
	playFaults(t, messageAdapters[0], []fault{
		{name: "the search tool of the provider has no type", messages: hi, deferred: infos("get_weather"), search: true,
			body: `{"name":"tool_search_tool_bm25"}`, err: "tools.1.custom.input_schema: Field required"},
		{name: "a found tool that is deferred too", messages: found, deferred: infos("get_weather"), search: true,
			err: "tool 'get_weather' from ToolSearchResult already exists in tool list"},
		{name: "a found tool that is an ordinary tool too", messages: found, tools: infos(searchTool, "get_weather"),
			err: "tool 'get_weather' from ToolSearchResult already exists in tool list"},
		{name: "a tool that is found twice", messages: foundTwice, tools: infos(searchTool),
			err: "tool 'get_weather' from ToolSearchResult already exists in tool list"},
		{name: "a tool that is found once", messages: found, tools: infos(searchTool),
			body: `{"tool_name":"get_weather","type":"tool_reference"}`},
		{name: "a tool without parameters", messages: hi, tools: []*schema.ToolInfo{{Name: "clock", Desc: "The time"}},
			body: `"tools":[{"name":"clock","description":"The time"}]`, err: "tools.0.custom.input_schema: Field required"},
		{name: "an empty result", messages: emptyResult, tools: infos("clock"),
			body: `{"content":[{"text":"","type":"text"}],"role":"user"}`, err: "text content blocks must be non-empty"},
		{name: "search by the provider, once the type is there", messages: hi, deferred: infos("get_weather"), patch: true, server: true,
			body: `{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}`},
		{name: "search by the provider, streamed", messages: hi, deferred: infos("get_weather"), patch: true, server: true, stream: true,
			body: `"stream":true`, err: "cannot concat multiple non-zero value of type []claude.ToolSearchEvent"},
		{name: "a cache breakpoint on a deferred tool", messages: hi, tools: infos("clock"), deferred: infos("get_weather"), patch: true, cache: true,
			body: `"defer_loading":true,"description":"Does what it says","cache_control":{"type":"ephemeral"}`,
			err:  "cannot have both defer_loading=true and cache_control"},
	})
}

func TestOpenAIFaults(t *testing.T) {
	dropped := fault{name: "deferred tools and the search tool are dropped", messages: hi, deferred: infos("get_weather"), search: true,
		body: `"model":"gpt"`}
	refused := fault{name: "a search result", messages: found, tools: infos(searchTool),
		err: "unsupported chat message part type: tool_search_result"}
	bodies := playFaults(t, messageAdapters[1], []fault{dropped, refused})
	refused.err = `unsupported content block type "tool_search_result"`
	for _, body := range append(bodies, playFaults(t, agenticAdapters[1], []fault{dropped, refused})...) {
		assert.NotContains(t, body, "get_weather")
		assert.NotContains(t, body, searchTool)
	}
}

func TestAgenticOpenAIFaults(t *testing.T) {
	playFaults(t, agenticAdapters[0], []fault{
		{name: "a search result whose call has no mark", messages: found, tools: infos(searchTool),
			body: `"type":"tool_search_output"`, err: "No tool call found for tool search output with call_id a"},
		{name: "search by the provider", messages: hi, deferred: infos("get_weather"), server: true,
			body: `{"type":"tool_search"}`},
		{name: "search by the provider, streamed", messages: hi, deferred: infos("get_weather"), server: true, stream: true,
			body: `{"type":"tool_search"}`},
	})
}

// playFaults checks each fault and returns the bodies that went over the wire.
func playFaults[M adk.MessageType](t *testing.T, a adapter[M], table []fault) (bodies []string) {
	t.Helper()
	for _, f := range table {
		t.Run(a.name+", "+f.name, func(t *testing.T) {
			a.skipRace(t, f.stream)
			answer := provider.Say("Hello.")
			if f.server {
				answer.Calls = []provider.Call{{Server: true, Arguments: `{"query":"weather"}`, Found: []string{"get_weather"}}, calling("get_weather")}
			}
			server := provider.New(t, a.api, answer)
			m := a.model(t, server)
			if f.patch {
				m = any(patched[map[bool]int{true: 2}[f.cache]].model(t, server)).(model.BaseModel[M])
			}
			_, err := ask(m, f.messages, f.stream, f.options()...)
			checkError(t, err, f.err)
			body := ""
			for _, r := range server.Requests() {
				body += string(r.Body)
			}
			assert.Contains(t, body, f.body, "what went over the wire")
			assert.Equal(t, f.body == "", body == "", "whether anything went over the wire")
			bodies = append(bodies, body)
		})
	}
	return bodies
}

// checkError checks that err contains want. "" means that there must be no error.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		assert.NoError(t, err)
	} else {
		assert.ErrorContains(t, err, want)
	}
}

// ask calls a model once.
func ask[M adk.MessageType](m model.BaseModel[M], messages []message, stream bool, options ...model.Option) (answer M, err error) {
	input := make([]M, len(messages))
	for i, m := range messages {
		input[i] = toolsearchtest.Encode[M](m)
	}
	if !stream {
		return m.Generate(context.Background(), input, options...)
	}
	chunks, err := m.Stream(context.Background(), input, options...)
	if err != nil {
		return answer, err
	}
	whole := adk.TypedMessageVariant[M]{IsStreaming: true, MessageStream: chunks}
	return whole.GetMessage()
}

// patched are the claude adapters with a transport that adds the missing type, as a user can do.
var patched, _ = sending(func() http.RoundTripper { return searchToolType{} }, "")

type searchToolType struct{}

func (searchToolType) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	body = bytes.Replace(body, []byte(`{"name":"tool_search_tool_bm25"}`),
		[]byte(`{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}`), 1)
	patched := r.Clone(r.Context())
	patched.Body, patched.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return http.DefaultTransport.RoundTrip(patched)
}

// TestToolWithoutParameters: for a dynamic tool without parameters the claude adapter sends no
// schema, which would end the run when the tool is found. The middleware shows its own copy of
// the tool, which can have an empty schema.
func TestToolWithoutParameters(t *testing.T) {
	a := messageAdapters[0]
	for _, none := range []*schema.ParamsOneOf{nil, schema.NewParamsOneOfByJSONSchema(nil), schema.NewParamsOneOfByParams(nil)} {
		server := provider.New(t, a.api, calls(selecting("ping")), calls(provider.Call{Name: "ping", Arguments: "{}"}), provider.Say("Pong."))
		s := setup{dynamic: []tool.BaseTool{&testtools.PlainTool{Of: &schema.ToolInfo{Name: "ping", Desc: "Answers", ParamsOneOf: none}}}}
		_, err := run(t, a.model(t, server), s)
		assert.NoError(t, err)
		checkRequests(t, server.Requests(), dialects[0], false, []string{"", "ping", "ping"})
	}
}

// oddCalls are calls that models make and providers refuse in a history.
var oddCalls = []provider.Call{
	{Name: "multi_tool_use.parallel", Arguments: "{}"}, {Name: "functions.get_weather", Arguments: "{}"}, {Name: "get weather", Arguments: "{}"},
	{Name: strings.Repeat("n", 100), Arguments: "{}"}, {Name: "查询天气", Arguments: "{}"}, {Name: "", Arguments: "{}"},
	{Name: "get_weather", Arguments: "null"}, {Name: "get_weather", Arguments: "[]"}, {Name: "get_weather", Arguments: "Rome, please"},
	{Name: "get_weather", Arguments: "{}{}"}, {Name: "get_weather", Arguments: "1e999"}, {Name: "get_weather", Arguments: `{"city":1e999}`},
	{Name: "get_weather", Arguments: ""}, {Name: "clock", Arguments: ""}, {Name: searchTool, Arguments: `{"query":`},
}

// TestOddCalls: the model's mistake costs a call, not the conversation. On the wire, every call
// has a name and an object, in the request after the mistake and in the next.
func TestOddCalls(t *testing.T) {
	on(t, "", messageAdapters, func(t *testing.T, a adapter[*schema.Message]) { testOddCalls(t, a, toolsearch.ProtocolToolSearch) })
	on(t, "", agenticAdapters, func(t *testing.T, a adapter[*schema.AgenticMessage]) {
		testOddCalls(t, a, toolsearch.ProtocolToolSearch)
	})
	testOddCalls(t, messageAdapters[0], toolsearch.ProtocolNativeReferences)
	testOddCalls(t, messageAdapters[0], toolsearch.ProtocolDispatch)
	testOddCalls(t, agenticAdapters[0], toolsearch.ProtocolNativeDeferred)
	testOddCalls(t, agenticAdapters[0], toolsearch.ProtocolDispatch)
}

func testOddCalls[M adk.MessageType](t *testing.T, a adapter[M], protocol toolsearch.Protocol) {
	valid := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	for _, odd := range oddCalls {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v/%.30s %.20s/stream=%v", a.name, protocol, odd.Name, odd.Arguments, stream), func(t *testing.T) {
				a.skipRace(t, stream)
				if a.api == provider.Messages && !stream && odd.Arguments != "{}" {
					t.Skip("an answer of the Messages API has an object, unless its stream breaks off")
				}
				server := provider.New(t, a.api, calls(odd), calls(provider.Call{Name: "clock", Arguments: "{}"}), provider.Say("Hello."))
				_, err := run(t, a.model(t, server), setup{config: toolsearch.Config{Protocol: protocol}, static: true, stream: stream})
				require.NoError(t, err)
				requests := server.Requests()
				require.Len(t, requests, 3)
				for i, r := range requests[1:] {
					var body any
					require.NoError(t, json.Unmarshal(r.Body, &body), "request %d", i+1)
					sent := sentCalls(body)
					assert.Len(t, sent, i+1, "request %d: calls", i+1)
					for _, call := range sent {
						assert.Regexp(t, valid, call.Name, "request %d", i+1)
						var object map[string]any
						assert.NoError(t, json.Unmarshal([]byte(call.Arguments), &object), "request %d: the arguments %s", i+1, call.Arguments)
						assert.NotNil(t, object, "request %d: the arguments %s", i+1, call.Arguments)
					}
				}
			})
		}
	}
}

// sentCalls returns the calls in a request's body, whichever of the three APIs it is for.
func sentCalls(body any) (calls []provider.Call) {
	switch v := body.(type) {
	case []any:
		for _, inner := range v {
			calls = append(calls, sentCalls(inner)...)
		}
	case map[string]any:
		name, _ := v["name"].(string)
		arguments, isText := v["arguments"].(string)
		switch kind := v["type"]; {
		case kind == "tool_use":
			text, _ := json.Marshal(v["input"])
			return []provider.Call{{Name: name, Arguments: string(text)}}
		case kind == "tool_search_call":
			text, _ := json.Marshal(v["arguments"])
			return []provider.Call{{Name: searchTool, Arguments: string(text)}}
		case isText:
			return []provider.Call{{Name: name, Arguments: arguments}}
		}
		for _, inner := range v {
			calls = append(calls, sentCalls(inner)...)
		}
	}
	return calls
}

// TestBrokenInput: an Anthropic stream may break off within a call's input, for example at the
// token limit. The middleware repairs such a call and the run continues.
func TestBrokenInput(t *testing.T) {
	a := messageAdapters[0]
	a.skipRace(t, true)
	for _, protocol := range []toolsearch.Protocol{toolsearch.ProtocolToolSearch, toolsearch.ProtocolNativeReferences} {
		server := provider.New(t, a.api, calls(search(`{"query":`)), calls(selecting("get_weather")), provider.Say("Hello."))
		_, err := run(t, a.model(t, server), setup{config: toolsearch.Config{Protocol: protocol}, stream: true})
		assert.NoError(t, err, protocol)
		body := lastBody(server.Requests())
		assert.Contains(t, body, "could not be read", "%v: what went over the wire", protocol)
		assert.Equal(t, protocol == toolsearch.ProtocolNativeReferences, strings.Contains(body, `"tool_reference"`), "%v: what went over the wire", protocol)
	}
}

// silent is a tool that returns nothing.
type silent struct{ testtools.PlainTool }

func (silent) InvokableRun(context.Context, string, ...tool.Option) (string, error) { return "", nil }

// TestEmptyResult: a tool may return an empty text, but two of the adapters cannot send that.
func TestEmptyResult(t *testing.T) {
	for i, want := range []string{"text content blocks must be non-empty", ""} {
		testEmptyResult(t, messageAdapters[i], want)
	}
	for i, want := range []string{"function tool result content is empty", ""} {
		testEmptyResult(t, agenticAdapters[i], want)
	}
}

func testEmptyResult[M adk.MessageType](t *testing.T, a adapter[M], want string) {
	t.Run(a.name, func(t *testing.T) {
		server := provider.New(t, a.api, calls(provider.Call{Name: "ping", Arguments: "{}"}), provider.Say("Pong."))
		_, err := run(t, a.model(t, server), setup{dynamic: []tool.BaseTool{&silent{testtools.PlainTool{Of: infos("ping")[0]}}}})
		checkError(t, err, want)
	})
}
