package toolsearch_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/adk"
	oracle "github.com/cloudwego/eino/adk/middlewares/dynamictool/toolsearch"
	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

func TestConversations(t *testing.T) {
	playAll(t, []conversation{
		{
			name:  "a found tool is shown from the next call on and can be called",
			turns: []turn{searching(`{"query":"weather","max_results":1}`), toolsearchtest.CallTool("get_weather", `{"city":"Rome"}`)},
			saw:   []string{"tool_search", "tool_search get_weather", "tool_search get_weather"},
			check: func(t *testing.T, o outcome) {
				assert.Equal(t, `get_weather ran with {"city":"Rome"}`, o.result(t, "call_2"))
			},
		},
		{
			name:   "static tools come first and stay, loaded tools are appended in their order",
			static: testtools.EchoTools("clock: The time", "calculator: Adds"),
			turns:  []turn{searching(`{"query":"select:send_mail"}`), searching(`{"query":"select:get_weather,list_stocks"}`)},
			saw: []string{
				"clock calculator tool_search",
				"clock calculator tool_search send_mail",
				"clock calculator tool_search send_mail get_weather list_stocks",
			},
		},
		{
			name:  "finding a tool again changes nothing",
			turns: []turn{searching(`{"query":"select:send_mail"}`), searching(`{"query":"mail"}`), searching(`{"query":"select:send_mail,send_mail"}`)},
			saw:   []string{"tool_search", "tool_search send_mail", "tool_search send_mail", "tool_search send_mail"},
		},
		{
			name: "parallel searches load in the order of the calls",
			turns: []turn{toolsearchtest.CallTools(
				call{Name: "tool_search", Arguments: `{"query":"select:list_stocks"}`},
				call{Name: "tool_search", Arguments: `{"query":"select:get_weather"}`})},
			saw: []string{"tool_search", "tool_search list_stocks get_weather"},
		},
		{
			name:  "the reminder comes before the first message that is not a system message",
			turns: []turn{searching(`{"query":"mail"}`)},
			history: []message{
				{Role: toolsearchtest.System, Text: "Be brief."},
				{Role: toolsearchtest.User, Text: "Hello"},
				{Role: toolsearchtest.Assistant, Text: "Hello!"},
			},
			check: func(t *testing.T, o outcome) {
				for i, r := range o.requests {
					assert.Equal(t, newsReminder, r.Messages[1].Text, "call %d: message 1", i)
				}
			},
		},
		{
			name:   "without a reminder the model sees none",
			config: toolsearch.Config{Reminder: toolsearch.ReminderConfig{Disabled: true}},
			turns:  []turn{searching(`{"query":"mail","max_results":1}`)},
			saw:    []string{"tool_search", "tool_search send_mail"},
			check: func(t *testing.T, o outcome) {
				assert.Len(t, o.requests[0].Messages, 1, "the model gets only the question")
			},
		},
		{
			name:  "a hidden tool that is called runs and stays loaded",
			turns: []turn{toolsearchtest.CallTool("get_weather", `{}`), toolsearchtest.CallTool("get_weather", `{}`)},
			saw:   []string{"tool_search", "tool_search get_weather", "tool_search get_weather"},
			check: func(t *testing.T, o outcome) {
				assert.Equal(t, "get_weather ran with {}", o.result(t, "call_1"))
			},
		},
		{
			name:   "under UnloadedRefuse a hidden tool that is called does not run",
			config: toolsearch.Config{Unloaded: toolsearch.UnloadedRefuse},
			turns: []turn{
				toolsearchtest.CallTool("get_weather", `{"city":"Rome"}`),
				searching(`{"query":"select:get_weather"}`),
				toolsearchtest.CallTool("get_weather", `{"city":"Rome"}`),
			},
			saw: []string{"tool_search", "tool_search", "tool_search get_weather", "tool_search get_weather"},
			check: func(t *testing.T, o outcome) {
				assert.Contains(t, answerOf(t, o.result(t, "call_1")).Message, `{"query":"select:get_weather"}`, "the search that the refusal advises")
				assert.Equal(t, `get_weather ran with {"city":"Rome"}`, o.result(t, "call_3"))
				checkCallAsMade(t, o, called("call_1", "get_weather", `{"city":"Rome"}`))
			},
		},
		{
			name: "a call of an unknown name is answered with near names, and the calls beside it run",
			turns: []turn{toolsearchtest.CallTools(
				call{Name: "get_wether", Arguments: `{"city":"Rome"}`},
				call{Name: "clok", Arguments: `{}`},
				call{Name: "clock", Arguments: `{}`},
				call{Name: "send_mail", Arguments: `{}`},
				call{Name: "", Arguments: ``},
				call{Name: "utterly_different", Arguments: `not json`})},
			static: testtools.EchoTools("clock: The time"),
			saw:    []string{"clock tool_search", "clock tool_search send_mail"},
			check: func(t *testing.T, o outcome) {
				for id, near := range map[string]string{"call_1": "get_weather", "call_2": "clock"} {
					got := answerOf(t, o.result(t, id))
					require.NotEmpty(t, got.Suggestions, id)
					assert.Equal(t, near, got.Suggestions[0], "%s: the first suggestion", id)
				}
				for _, id := range []string{"call_5", "call_6"} {
					got := answerOf(t, o.result(t, id))
					assert.NotEmpty(t, got.Message, "%s: the help", id)
					assert.Empty(t, got.Matches, id)
				}
				assert.Equal(t, "clock ran with {}", o.result(t, "call_3"))
				checkCallAsMade(t, o, called("call_1", "get_wether", `{"city":"Rome"}`))
				checkCallAsMade(t, o, called("call_6", "utterly_different", "not json"))
			},
		},
		{
			name: "the caller's events show the call as the model made it, and its answer",
			turns: []turn{
				toolsearchtest.CallTool("get_wether", `{"city":"Rome"}`),
			},
			check: func(t *testing.T, o outcome) {
				require.Len(t, o.events, 3, "the events are the call, the answer and the end")
				require.NotEmpty(t, o.events[0].Calls)
				assert.Equal(t, called("call_1", "get_wether", `{"city":"Rome"}`), o.events[0].Calls[0])
				assert.Equal(t, "call_1", o.events[1].CallID)
				suggestions := answerOf(t, o.events[1].Text).Suggestions
				require.NotEmpty(t, suggestions)
				assert.Equal(t, "get_weather", suggestions[0])
			},
		},
		{
			name:   "the tool has another name, and the texts are Chinese",
			config: toolsearch.Config{ToolName: "find-tools", Language: toolsearch.Chinese},
			turns:  []turn{toolsearchtest.CallTool("find-tools", `{"query":"mail","max_results":1}`), toolsearchtest.CallTool("find-tools", `{}`)},
			saw:    []string{"find-tools", "find-tools send_mail", "find-tools send_mail"},
			check: func(t *testing.T, o outcome) {
				first := o.requests[0]
				reminder, description := first.Messages[0].Text, first.Tools[0].Desc
				assert.True(t, strings.HasPrefix(reminder, `<available-deferred-tools tool="find-tools">`), "reminder %q", reminder)
				assert.Contains(t, reminder, "加载")
				assert.Contains(t, description, "find-tools")
				assert.Contains(t, description, "关键词")
				assert.Contains(t, o.result(t, "call_2"), "查询")
			},
		},
	})
}

const newsReminder = `<available-deferred-tools>
Load these with tool_search before use:
get_weather
get_forecast
send_mail
list_stocks
mcp__slack__send_message
</available-deferred-tools>`

var oddRune = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// onTheWire returns the call as the model sees it again: as the model made it, but for what
// providers refuse.
func onTheWire(c call) call {
	var object map[string]any
	if !utf8.ValidString(c.Arguments) || json.Unmarshal([]byte(c.Arguments), &object) != nil || object == nil {
		c.Arguments = "{}"
	}
	c.Name = oddRune.ReplaceAllString(c.Name, "_")
	c.Name = cmp.Or(c.Name[:min(len(c.Name), 64)], "unknown")
	return c
}

// checkCallAsMade checks that the model sees its own call, and a result of the tool it called.
func checkCallAsMade(t *testing.T, o outcome, want call) {
	t.Helper()
	want = onTheWire(want)
	made, answered := false, false
	for _, m := range o.last().Messages {
		made = made || slices.Contains(m.Calls, want)
		answered = answered || m.Role == toolsearchtest.Tool && m.CallID == want.ID && m.ToolName == want.Name
	}
	assert.True(t, made, "the model does not see its call %v", want)
	assert.True(t, answered, "the model does not see a result of the tool it called: %v", want)
}

// answer is the JSON that tool_search returns.
type answer struct {
	Matches     []string `json:"matches"`
	NotFound    []string `json:"not_found"`
	Suggestions []string `json:"suggestions"`
	Message     string   `json:"message"`
}

func answerOf(t *testing.T, text string) answer {
	t.Helper()
	var a answer
	require.NoError(t, json.Unmarshal([]byte(text), &a), "not an answer of tool_search: %q", text)
	assert.NotNil(t, a.Matches, "matches is missing or null in %s", text)
	return a
}

// A model gets a result that says what to do, whatever arguments it writes, and the run goes on.
func TestModelMistakes(t *testing.T) {
	help := func(t *testing.T, a answer) {
		t.Helper()
		assert.Empty(t, a.Matches)
		assert.Contains(t, a.Message, "query", "the message says how to write a query")
	}
	finds := func(names ...string) func(*testing.T, answer) {
		return func(t *testing.T, a answer) {
			t.Helper()
			assert.Equal(t, names, a.Matches)
		}
	}
	count := func(want int) func(*testing.T, answer) {
		return func(t *testing.T, a answer) {
			t.Helper()
			assert.Len(t, a.Matches, want)
		}
	}
	tests := []struct {
		arguments string
		check     func(*testing.T, answer)
	}{
		{``, help},
		{`  `, help},
		{`{`, help},
		{`{}`, help},
		{`[]`, help},
		{`null`, help},
		{`{"query":""}`, help},
		{`{"query":" \n"}`, help},
		{`{"query":null}`, help},
		{`{"query":"+"}`, help},
		{`{"query":"select:"}`, help},
		{`{"query":"select: , ,"}`, help},
		{`{"query":{"text":"mail"}}`, help},
		{`{"query":"mail"`, help},
		{`{'query':'mail'}`, help},
		{`{"query":["mail"}`, help},
		{`{"query":7}`, count(0)},
		{`{"query":["send_mail","stocks"]}`, finds("send_mail", "list_stocks")},
		{`{"query":["select:send_mail","stocks"]}`, finds("send_mail", "list_stocks")},
		{`{"query":["stocks",["mail"],null,7]}`, finds("list_stocks")},
		{`{"queries":["stocks"]}`, finds("list_stocks")},
		{`{"query":"stocks","queries":["mail"]}`, finds("list_stocks", "send_mail")},
		{`{"query":"stocks","queries":["select:send_mail","stocks",""]}`, finds("list_stocks", "send_mail")},
		{`{"query":"","queries":["mail","stocks"],"max_results":5}`, finds("send_mail", "list_stocks")},
		{`{"query":"stocks","queries":"mail"}`, finds("list_stocks", "send_mail")},
		{`{"query":"stocks","queries":[]}`, finds("list_stocks")},
		{`{"query":"stocks","queries":{"text":"mail"}}`, finds("list_stocks")},
		{`{"queries":{"text":"mail"}}`, help},
		{`{"query":"stocks","queries":[` + strings.Repeat(`"zzz",`, 8000) + `"mail"]}`, finds("list_stocks")},
		{`{"query":"[\"stocks\",\"mail\"]"}`, finds("list_stocks", "send_mail")}, // the list as the text that the schema asks for
		{`{"query":" [\"stocks\"] ","max_results":1}`, finds("list_stocks")},
		{`{"query":"[stocks]"}`, count(0)},
		{`"stocks"`, finds("list_stocks")},
		{`stocks`, finds("list_stocks")},
		{`["stocks"]`, finds("list_stocks")},
		{"```json\n{\"query\":\"stocks\"}\n```", finds("list_stocks")},
		{"```{\"query\":\"stocks\"}```", finds("list_stocks")},
		{"```\nstocks\n```", finds("list_stocks")},
		{`Sure: {"query":"stocks"}.`, finds("list_stocks")},
		{`"{\"query\":\"stocks\"}"`, finds("list_stocks")},
		{`"\"{\\\"query\\\":\\\"stocks\\\"}\""`, finds("list_stocks")},
		{`{"query":"send","max_results":1}`, count(1)},
		{`{"query":"send","limit":1}`, count(1)},
		{`{"query":"send","namespace":"slack"}`, count(1)},
		{`{"query":"send","server":"Slack"}`, count(1)},
		{`{"query":"send","namespace":"no such"}`, count(0)},
		{`{"query":"send","max_results":"1"}`, count(1)},
		{`{"query":"send","max_results":"5"}`, count(2)},
		{`{"query":"send","max_results":2.0}`, count(2)},
		{`{"query":"send","max_results":1.5}`, count(1)},
		{`{"query":"send","max_results":-1}`, count(2)},
		{`{"query":"send","max_results":0}`, count(2)},
		{`{"query":"send","max_results":null}`, count(2)},
		{`{"query":"send","max_results":"many"}`, count(2)},
		{`{"query":"send","max_results":9223372036854775808}`, count(2)},
		{`{"query":"send","max_results":1e999}`, count(2)},
		{`{"query":"send","max_results":-1e999}`, count(2)},
		{`{"query":"send","max_results":[1]}`, count(2)},
		{`{"query":"send","unknown":true}`, count(2)},
		{"\ufeff" + `{"query":"stocks"}`, finds("list_stocks")},
		{`{"query":"SELECT : 'send_mail' ，\"LIST-STOCKS\"、 [get_weather]"}`, finds("send_mail", "list_stocks", "get_weather")},
		{`{"query":"select:send_mail list_stocks"}`, finds("send_mail", "list_stocks")},
		{`{"query":"select:Get Weather"}`, finds("get_weather")},
		{`{"query":"` + strings.Repeat("stocks ", 150_000) + `"}`, finds("list_stocks")},
		{`{"query":"` + strings.Repeat("x", 1<<20) + `"}`, count(0)},
		{`{"query":"` + strings.Repeat(`\`, 1<<20) + `"}`, count(0)},
		{strings.Repeat("[", 1<<20), help},
		{strings.Repeat(`{"query":`, 1<<18), help},
	}
	var table []conversation
	for _, tt := range tests {
		table = append(table, conversation{
			name:  strings.Map(func(r rune) rune { return r }, tt.arguments[:min(len(tt.arguments), 40)]),
			turns: []turn{searching(tt.arguments)},
			check: func(t *testing.T, o outcome) { tt.check(t, answerOf(t, o.result(t, "call_1"))) },
		})
	}
	playAll(t, table)
}

func TestNotFound(t *testing.T) {
	tests := []struct {
		query string
		want  answer
	}{
		{"select:get_wether", answer{NotFound: []string{"get_wether"}, Suggestions: []string{"get_weather"}}},
		{"select:send_mail,get_wether", answer{Matches: []string{"send_mail"}, NotFound: []string{"get_wether"}, Suggestions: []string{"get_weather"}}},
		{"select:send_mial", answer{NotFound: []string{"send_mial"}, Suggestions: []string{"send_mail"}}},
		{"wether", answer{Suggestions: []string{"get_weather"}}},
		{"select:zzz", answer{NotFound: []string{"zzz"}}},
		{"zzz", answer{}},
	}
	var table []conversation
	for _, tt := range tests {
		table = append(table, conversation{
			name:  tt.query,
			turns: []turn{searching(`{"query":"` + tt.query + `"}`)},
			check: func(t *testing.T, o outcome) {
				got := answerOf(t, o.result(t, "call_1"))
				assert.Equal(t, append([]string{}, tt.want.Matches...), got.Matches) // append makes nil an empty list
				assert.Equal(t, tt.want.NotFound, got.NotFound)
				assert.Equal(t, tt.want.Suggestions, got.Suggestions)
				assert.NotEmpty(t, got.Message, "the help")
			},
		})
	}
	playAll(t, table)
}

// These are tools of every kind. Each kind has its own type, because callbacks report the name
// of the type.
type (
	counted struct {
		info  *schema.ToolInfo
		infos *atomic.Int32 // calls of Info
	}
	invokeTool               struct{ counted }
	streamTool               struct{ counted }
	enhancedInvokeTool       struct{ counted }
	enhancedStreamTool       struct{ counted }
	invokeStreamTool         struct{ invokeTool }
	enhancedBothTool         struct{ enhancedInvokeTool }
	invokeEnhancedStreamTool struct{ invokeTool }
	enhancedInvokeStreamTool struct{ enhancedInvokeTool }
	typedTool                struct{ invokeTool } // names its type itself
	reportingTool            struct{ counted }    // calls the callbacks itself
	silentTool               struct{ streamTool } // says that it calls the callbacks itself, and does not

	textStream   = *schema.StreamReader[string]
	resultStream = *schema.StreamReader[*schema.ToolResult]
)

func (c counted) Info(context.Context) (*schema.ToolInfo, error) {
	c.infos.Add(1)
	return c.info, nil
}

func streamed(arguments string) (textStream, error) {
	return schema.StreamReaderFromArray([]string{"streamed ", "with ", arguments}), nil
}

func enhanced(text string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
}

func enhancedStreamed(arguments string) (resultStream, error) {
	return schema.StreamReaderFromArray([]*schema.ToolResult{enhanced("enhanced, streamed "), enhanced("with " + arguments)}), nil
}

func (invokeTool) InvokableRun(_ context.Context, arguments string, _ ...tool.Option) (string, error) {
	return "invoked with " + arguments, nil
}

func (enhancedInvokeTool) InvokableRun(_ context.Context, argument *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
	return enhanced("enhanced, invoked with " + argument.Text), nil
}

func (streamTool) StreamableRun(_ context.Context, arguments string, _ ...tool.Option) (textStream, error) {
	return streamed(arguments)
}

func (invokeStreamTool) StreamableRun(_ context.Context, arguments string, _ ...tool.Option) (textStream, error) {
	return streamed(arguments)
}

func (enhancedInvokeStreamTool) StreamableRun(_ context.Context, arguments string, _ ...tool.Option) (textStream, error) {
	return streamed(arguments)
}

func (enhancedStreamTool) StreamableRun(_ context.Context, argument *schema.ToolArgument, _ ...tool.Option) (resultStream, error) {
	return enhancedStreamed(argument.Text)
}

func (enhancedBothTool) StreamableRun(_ context.Context, argument *schema.ToolArgument, _ ...tool.Option) (resultStream, error) {
	return enhancedStreamed(argument.Text)
}

func (invokeEnhancedStreamTool) StreamableRun(_ context.Context, argument *schema.ToolArgument, _ ...tool.Option) (resultStream, error) {
	return enhancedStreamed(argument.Text)
}

func (typedTool) GetType() string              { return "Weatherman" }
func (reportingTool) GetType() string          { return "Reporter" }
func (reportingTool) IsCallbacksEnabled() bool { return true }
func (*silentTool) IsCallbacksEnabled() bool   { return true }

func (reportingTool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	callbacks.OnEnd(callbacks.OnStart(ctx, "its own start"), "its own end")
	return "reported " + arguments, nil
}

// trace records what another middleware and the callbacks see of calls of get_weather.
type trace[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	lines []string
}

func (tr *trace[M]) note(hook, name string, what any) {
	if name == "get_weather" {
		tr.lines = append(tr.lines, fmt.Sprint(hook, " ", name, " ", what))
	}
}

func (tr *trace[M]) WrapInvokableToolCall(_ context.Context, next adk.InvokableToolCallEndpoint, tc *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	tr.note("invokable", tc.Name, tc.CallID)
	return next, nil
}

func (tr *trace[M]) WrapStreamableToolCall(_ context.Context, next adk.StreamableToolCallEndpoint, tc *adk.ToolContext) (adk.StreamableToolCallEndpoint, error) {
	tr.note("streamable", tc.Name, tc.CallID)
	return next, nil
}

func (tr *trace[M]) WrapEnhancedInvokableToolCall(_ context.Context, next adk.EnhancedInvokableToolCallEndpoint, tc *adk.ToolContext) (adk.EnhancedInvokableToolCallEndpoint, error) {
	tr.note("enhanced invokable", tc.Name, tc.CallID)
	return next, nil
}

func (tr *trace[M]) WrapEnhancedStreamableToolCall(_ context.Context, next adk.EnhancedStreamableToolCallEndpoint, tc *adk.ToolContext) (adk.EnhancedStreamableToolCallEndpoint, error) {
	tr.note("enhanced streamable", tc.Name, tc.CallID)
	return next, nil
}

func (tr *trace[M]) context() context.Context {
	return callbacks.InitCallbacks(context.Background(), nil, callbacks.NewHandlerBuilder().
		OnStartFn(noting[M, callbacks.CallbackInput](tr, "start")).
		OnEndFn(noting[M, callbacks.CallbackOutput](tr, "end")).
		OnEndWithStreamOutputFn(noting[M, *schema.StreamReader[callbacks.CallbackOutput]](tr, "end")).Build())
}

func noting[M adk.MessageType, V any](tr *trace[M], when string) func(context.Context, *callbacks.RunInfo, V) context.Context {
	return func(ctx context.Context, info *callbacks.RunInfo, value V) context.Context {
		if s, ok := any(value).(interface{ Close() }); ok {
			s.Close()
		}
		if info.Component == components.ComponentOfTool {
			tr.note(when, info.Name, fmt.Sprintf("%s %T", info.Type, value))
		}
		return ctx
	}
}

// Every kind of tool works the same as a dynamic tool and without the library.
func TestEveryKindOfTool(t *testing.T) {
	for _, tt := range []struct {
		typeName string // what the callbacks report; "" means that they are not called
		tool     func(c counted) tool.BaseTool
	}{
		{"invokeTool", func(c counted) tool.BaseTool { return &invokeTool{c} }},
		{"streamTool", func(c counted) tool.BaseTool { return &streamTool{c} }},
		{"enhancedInvokeTool", func(c counted) tool.BaseTool { return &enhancedInvokeTool{c} }},
		{"enhancedStreamTool", func(c counted) tool.BaseTool { return &enhancedStreamTool{c} }},
		{"invokeStreamTool", func(c counted) tool.BaseTool { return &invokeStreamTool{invokeTool{c}} }},
		{"enhancedBothTool", func(c counted) tool.BaseTool { return &enhancedBothTool{enhancedInvokeTool{c}} }},
		{"invokeEnhancedStreamTool", func(c counted) tool.BaseTool { return invokeEnhancedStreamTool{invokeTool{c}} }},
		{"enhancedInvokeStreamTool", func(c counted) tool.BaseTool { return enhancedInvokeStreamTool{enhancedInvokeTool{c}} }},
		{"Weatherman", func(c counted) tool.BaseTool { return &typedTool{invokeTool{c}} }},
		{"Reporter", func(c counted) tool.BaseTool { return &reportingTool{c} }},
		{"", func(c counted) tool.BaseTool { return &silentTool{streamTool{c}} }},
	} {
		t.Run(tt.typeName, func(t *testing.T) {
			inAllWays(t,
				func(t *testing.T, w way) { testKind[*schema.Message](t, w, tt.typeName, tt.tool) },
				func(t *testing.T, w way) { testKind[*schema.AgenticMessage](t, w, tt.typeName, tt.tool) })
		})
	}
}

// testKind compares a dynamic tool with the same tool as a static tool of an agent without the
// middleware: what the model gets, what the caller gets, and what callbacks and another
// middleware see.
func testKind[M adk.MessageType](t *testing.T, w way, typeName string, newTool func(counted) tool.BaseTool) {
	const id, arguments = "the_call", `{"city":"Rome"}`
	callIt := toolsearchtest.CallTools(called(id, "get_weather", arguments))
	infos := new(atomic.Int32)
	weather := newTool(counted{&schema.ToolInfo{Name: "get_weather", Desc: "Weather"}, infos})

	plain, traced := new(trace[M]), new(trace[M])
	config := with[M](plain)
	config.ToolsConfig = toolsConfig(weather)
	want := converse(plain.context(), t, w, config, callIt)
	infos.Store(0)
	got := converse(traced.context(), t, w, with(over[M](t, append(testtools.NewsTools()[1:], weather)...), traced),
		selecting("get_weather"), callIt, selecting("send_mail"))

	checkSaw(t, "the model", got, "tool_search", "tool_search get_weather", "tool_search get_weather", "tool_search get_weather send_mail")
	result := got.result(t, id)
	assert.Equal(t, want.result(t, id), result, "what the model got")
	assert.True(t, strings.HasSuffix(result, arguments), "the result %q ends with the arguments", result)
	require.Greater(t, len(got.events), 3, "events")
	require.Greater(t, len(want.events), 1, "events without the library")
	event, plainEvent := got.events[3], want.events[1]
	assert.Equal(t, plainEvent.Text, event.Text, "the text that the caller got")
	assert.Equal(t, id, event.CallID, "the call ID that the caller got")
	assert.Equal(t, plainEvent.ToolName, event.ToolName, "the tool name that the caller got")
	assert.Equal(t, plain.lines, traced.lines, "the trace")
	// Two empty traces would be equal too.
	require.NotEmpty(t, plain.lines)
	hooked := strings.HasSuffix(plain.lines[0], "able get_weather the_call")
	started := strings.Count(strings.Join(plain.lines, "\n"), "start get_weather "+typeName)
	assert.True(t, hooked, "the trace without the library begins with a hook: %q", plain.lines)
	assert.Equal(t, typeName != "", started == 1, "the trace without the library has one start of %q: %q", typeName, plain.lines)
	assert.Equal(t, int32(1), infos.Load(), "calls of the tool's Info, all by New")
}

// These conversations go wrong with Eino's own middleware at v0.9.21, and go well with this one.
// When Eino mends a defect, its row fails: remove the row and what the docs say about the defect.
func TestEinosDefects(t *testing.T) {
	sawTwice := func(o outcome) bool {
		return slices.ContainsFunc(o.requests, func(r request) bool {
			all := append(r.ToolNames(), r.DeferredNames()...)
			return len(sortedSet(all)) != len(all)
		})
	}
	lost := func(name string) func(o outcome) bool {
		return func(o outcome) bool {
			return !slices.Contains(append(o.last().ToolNames(), o.last().DeferredNames()...), name)
		}
	}
	failed := func(o outcome) bool { return o.err != nil }
	agentic := way{agentic: true}
	tests := []struct {
		name    string
		way     way
		native  bool
		static  []tool.BaseTool
		history []message
		turns   []turn
		shows   func(o outcome) bool
	}{
		{"native: every tool twice in the second call", way{}, true, nil, nil, []turn{searching(`{"query":"mail"}`)}, sawTwice},
		{"native: every tool twice in the second call, agentic", way{agentic: true, runner: true}, true, nil, nil, []turn{searching(`{"query":"mail"}`)}, sawTwice},
		{"native: the deferred tools are lost without a Runner", agentic, true, testtools.EchoTools("clock: The time"), nil, []turn{searching(`{"query":"mail"}`)}, lost("get_weather")},
		{"arguments that are not JSON end the run", way{}, false, nil, nil, []turn{searching(`{"query":`)}, failed},
		{"an empty query ends the run", agentic, false, nil, nil, []turn{searching(`{"query":""}`)}, failed},
		{"a call of an unknown name ends the run", way{}, false, nil, nil, []turn{toolsearchtest.CallTool("get_wether", `{}`)}, failed},
		{"a search without a match answers null", way{}, false, nil, nil, []turn{searching(`{"query":"zzz"}`)}, func(o outcome) bool {
			return slices.ContainsFunc(o.last().Messages, func(m message) bool { return strings.Contains(m.Text, `"matches":null`) })
		}},
		{"a history whose results name no tool loads nothing", way{}, false, nil, changed(loadedHistory(), func(m *message) { m.ToolName = "" }), nil, lost("get_weather")},
		{"a history without Extra gets a second reminder", agentic, false, nil, []message{{Role: toolsearchtest.User, Text: newsReminder}}, nil, func(o outcome) bool {
			reminders := slices.DeleteFunc(o.last().Messages, func(m message) bool { return !strings.HasPrefix(m.Text, "<available") })
			return len(reminders) > 1
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			turns := append(slices.Clone(tt.turns), toolsearchtest.Say("done"))
			var ours, theirs outcome
			if tt.way.agentic {
				ours, theirs = bothWith[*schema.AgenticMessage](t, tt.way, tt.native, tt.static, tt.history, turns)
			} else {
				ours, theirs = bothWith[*schema.Message](t, tt.way, tt.native, tt.static, tt.history, turns)
			}
			if assert.NoError(t, ours.err) {
				assert.False(t, tt.shows(ours), "ours has the defect: %v, %+v", ours.saw(), ours.last().Messages)
			}
			assert.True(t, tt.shows(theirs), "Eino's middleware still has the defect: %v", theirs.saw())
		})
	}
}

func bothWith[M adk.MessageType](t *testing.T, w way, native bool, static []tool.BaseTool, history []message, turns []turn) (ours, theirs outcome) {
	t.Helper()
	its, err := oracle.NewTyped[M](context.Background(), &oracle.Config{DynamicTools: testtools.NewsTools(), UseModelToolSearch: native})
	require.NoError(t, err)
	run := func(middleware adk.TypedChatModelAgentMiddleware[M]) outcome {
		var input []M
		for _, m := range append(slices.Clone(history), message{Role: toolsearchtest.User, Text: "What is new?"}) {
			input = append(input, toolsearchtest.Encode[M](m))
		}
		model, events, err := runWith(t, w, middleware, static, input, turns...)
		return outcome{model.Requests(), events, err}
	}
	return run(newMiddleware[M](t, toolsearch.Config{DynamicTools: testtools.NewsTools(), UseModelToolSearch: native})), run(its)
}
