package conversations_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// Under a native protocol, the model gets the catalog as deferred tools, and its provider or its
// adapter knows tool_search.

func TestNativeConversations(t *testing.T) {
	const catalog = "get_weather get_forecast send_mail list_stocks mcp__slack__send_message"
	deferred := func(r request) string { return strings.Join(r.DeferredNames(), " ") }
	everyCall := func(check func(t *testing.T, i int, r request)) func(*testing.T, outcome) {
		return func(t *testing.T, o outcome) {
			for i, r := range o.requests {
				check(t, i, r)
			}
		}
	}
	native := toolsearch.Config{UseModelToolSearch: true}
	refuse := toolsearch.Config{UseModelToolSearch: true, Unloaded: toolsearch.UnloadedRefuse}
	preselect := toolsearch.Config{UseModelToolSearch: true, Preselect: 1}
	for _, static := range [][]tool.BaseTool{nil, testtools.EchoTools("clock: The time")} {
		shown := ""
		title := "without static tools"
		if static != nil {
			shown, title = "clock", "with static tools"
		}
		and := func(more string) string { return strings.TrimSpace(shown + " " + more) }
		t.Run(title, func(t *testing.T) {
			playAll(t, []conversation{
				{
					name: "the catalog is deferred in every call, and each tool is in one list", config: native, static: static,
					turns: []turn{searching(`{"query":"weather","max_results":1}`), callTool("get_weather", `{"city":"Rome"}`),
						callTool("get_weather", `{}`)},
					saw: []string{shown, shown, shown, shown},
					check: func(t *testing.T, o outcome) {
						everyCall(func(t *testing.T, i int, r request) {
							assert.Equal(t, catalog, deferred(r), "call %d: what is deferred", i)
							if assert.NotNil(t, r.SearchTool, "call %d: the search tool", i) {
								assert.Equal(t, "tool_search", r.SearchTool.Name, "call %d: the search tool", i)
							}
							assert.Equal(t, newsReminder, r.Messages[0].Text, "call %d: message 0", i)
						})(t, o)
						assert.Equal(t, []string{"get_weather"}, nativeResult(t, o, "call_1"))
						assert.Equal(t, `get_weather ran with {"city":"Rome"}`, o.result(t, "call_2"))
					},
				},
				{
					name: "a search returns whole definitions", config: native, static: static,
					turns: []turn{searching(`{"query":"select:send_mail,list_stocks"}`)},
					check: func(t *testing.T, o outcome) {
						for _, m := range o.last().Messages {
							for _, info := range m.Found {
								js := testtools.Must(info.ParamsOneOf.ToJSONSchema())(t, info.Name)
								assert.Equal(t, 1, js.Properties.Len(), "%s: the number of parameters", info.Name)
								assert.NotEmpty(t, info.Desc, info.Name)
							}
						}
						assert.Equal(t, []string{"send_mail", "list_stocks"}, nativeResult(t, o, "call_1"))
					},
				},
				{
					name: "a hidden tool that is called runs and moves to the ordinary list", config: native, static: static,
					turns: []turn{callTool("send_mail", `{}`), searching(`{"query":"select:send_mail,get_weather"}`)},
					saw:   []string{shown, and("send_mail"), and("send_mail")},
					check: func(t *testing.T, o outcome) {
						assert.Equal(t, "send_mail ran with {}", o.result(t, "call_1"))
						// Adapters refuse a request that has a definition twice.
						assert.Equal(t, []string{"get_weather"}, nativeResult(t, o, "call_2"), "the found tools that are not in the ordinary list")
					},
				},
				{
					name: "under UnloadedRefuse a hidden tool does not run until it is found", config: refuse, static: static,
					turns: []turn{callTool("send_mail", `{}`), searching(`{"query":"select:send_mail"}`),
						callTool("send_mail", `{}`)},
					saw: []string{shown, shown, shown, shown},
					check: func(t *testing.T, o outcome) {
						assert.Contains(t, answerOf(t, o.result(t, "call_1")).Message, "select:send_mail")
						assert.Equal(t, "send_mail ran with {}", o.result(t, "call_3"))
						checkCallAsMade(t, o, called("call_1", "send_mail", "{}"))
					},
				},
				{
					name: "a call of an unknown name is answered in words, and the calls beside it run", config: native, static: static,
					turns: []turn{callTools(
						call{Name: "send_male", Arguments: `{"city":"Rome"}`},
						call{Name: "tool_search", Arguments: `{"query":"select:get_weather"}`})},
					check: func(t *testing.T, o outcome) {
						assert.Contains(t, answerOf(t, o.result(t, "call_1")).Suggestions, "send_mail")
						checkCallAsMade(t, o, called("call_1", "send_male", `{"city":"Rome"}`))
						assert.Equal(t, []string{"get_weather"}, nativeResult(t, o, "call_2"))
					},
				},
				{
					name: "a history of the default protocol goes on natively", config: native, static: static, history: loadedHistory(),
					turns: []turn{searching(`{"query":"select:list_stocks"}`)},
					// For an agentic model the old results stay texts, and the tools move to the
					// ordinary list. For a chat model the results become native.
					check: everyCall(func(t *testing.T, i int, r request) {
						assert.Subset(t, reachable(r), []string{"get_weather", "send_mail"}, "call %d: within reach", i)
						names := slices.DeleteFunc(append(r.ToolNames(), r.DeferredNames()...), func(name string) bool { return name == "clock" })
						assert.ElementsMatch(t, strings.Fields(catalog), names, "call %d: each tool once", i)
					}),
				},
				{name: "what Preselect loads stays, if the last call before removed it", config: preselect, static: static, saw: []string{and("send_mail")},
					history: []message{modelCalls(called("1", "remove_tool", "{}")), toolSays("1", "remove_tool", `{"removed":["send_mail"]}`)}, asks: "mail"},
			})
		})
	}
}

// nativeResult returns the tools in the native result of a call.
func nativeResult(t *testing.T, o outcome, callID string) []string {
	t.Helper()
	for _, m := range o.last().Messages {
		if m.CallID == callID && m.Role == toolsearchtest.Tool {
			require.True(t, m.Native, "the answer to %s is a native result, not %q", callID, m.Text)
			return namesOf(m.Found)
		}
	}
	require.FailNow(t, "a result is missing", callID)
	return nil
}

// MaxLoaded does not evict a tool that a native search found. The model has the tool as long as
// the history has the result.
func TestNativeKeepsWhatItFound(t *testing.T) {
	for _, w := range nativeWays {
		config := toolsearch.Config{Protocol: w.protocol, Limits: toolsearch.Limits{MaxLoaded: 1}, Unloaded: toolsearch.UnloadedRefuse}
		o := running(t, w.way, config)(selecting("get_weather"), selecting("send_mail"), calling("get_weather"), calling("send_mail"))
		assert.Equal(t, "get_weather ran with {}", o.result(t, "call_3"), w.protocol)
		assert.Equal(t, "send_mail ran with {}", o.result(t, "call_4"), w.protocol)
	}
}

// A search gives its places to tools that no earlier result shows. A provider's result has no place for a line about the
// others, so that they are shown again, or named in a text, where nothing else matches.
func TestNativeSearchesShowNothingTwice(t *testing.T) {
	mails := searching(`{"query":"mail","max_results":3}`)
	for _, w := range nativeWays {
		var searches []*toolsearch.SearchEvent
		config := toolsearch.Config{Protocol: w.protocol, OnEvent: hearing(&searches), DynamicTools: testtools.EchoTools(
			"mail_0: Mail", "mail_1: Mail", "mail_2: Mail", "mail_3: Mail", "mail_4: Mail", "mail_5: Mail")}
		if w.protocol == toolsearch.ProtocolNativeDeferred { // without an Index it is Eino's
			config.Index = toolsearch.BM25
		}
		o := running(t, w.way, config)(mails, mails, mails)
		first := []string{"mail_0", "mail_1", "mail_2"}
		assert.Equal(t, first, nativeResult(t, o, "call_1"), w.protocol)
		assert.Equal(t, []string{"mail_3", "mail_4", "mail_5"}, nativeResult(t, o, "call_2"), w.protocol)
		if w.agentic {
			assert.Equal(t, first, nativeResult(t, o, "call_3"), w.protocol)
			assert.Equal(t, first, searches[2].Matches, w.protocol)
		} else {
			assert.Equal(t, `{"matches":[],"already_loaded":["mail_0","mail_1","mail_2"]}`, o.result(t, "call_3"), w.protocol)
		}
	}
}

// nativeWays are ways with protocols that their messages can have.
var nativeWays = []struct {
	way
	protocol toolsearch.Protocol
}{
	{way{}, toolsearch.ProtocolNativeDeferred}, {way{agentic: true, streaming: true}, toolsearch.ProtocolNativeDeferred},
	{way{streaming: true, runner: true}, toolsearch.ProtocolNativeReferences},
}

// A text result in a chat model's history becomes a native result. If it cannot, its tools go into
// the ordinary list. A loaded tool is within reach in exactly one way, and a tool that is not
// loaded is out of reach.
func TestNativeTexts(t *testing.T) {
	search := modelCalls(called("a", "tool_search", "{}"))
	found := `{"matches":["get_weather"]}`
	for _, tt := range []struct {
		name    string
		history []message
		native  bool // whether the definition is in a result
		loaded  bool
	}{
		{"a search", []message{search, toolSays("a", "tool_search", found)}, true, true},
		{"a result without a name", []message{search, toolSays("a", "", found)}, true, true},
		{"a result without a name, after another call",
			[]message{search, modelCalls(called("b", "clock", "{}")), toolSays("a", "", found), toolSays("b", "", "noon")}, false, true},
		{"a call without a search", []message{modelCalls(called("w", "get_weather", "{}")), toolSays("w", "get_weather", "sunny")}, false, true},
		{"a tool added and removed", []message{
			modelCalls(called("a", "add_tool", `{"tool_names":["get_weather"]}`)),
			toolSays("a", "add_tool", `{"added":["get_weather"],"already_loaded":[],"not_found":[]}`),
			modelCalls(called("b", "remove_tool", `{"tool_names":["get_weather"]}`)),
			toolSays("b", "remove_tool", `{"removed":["get_weather"],"not_found":[]}`),
		}, false, false},
	} {
		for _, protocol := range []toolsearch.Protocol{toolsearch.ProtocolNativeDeferred, toolsearch.ProtocolNativeReferences} {
			o := playing(t, way{}, using(protocol))(conversation{history: tt.history, turns: []turn{selecting("send_mail")}})
			require.NoError(t, o.err)
			for i, r := range o.requests {
				var found []string
				for _, m := range r.Messages {
					found = append(found, namesOf(m.Found)...)
				}
				shown := slices.DeleteFunc(found, func(name string) bool { return name != "get_weather" })
				about := fmt.Sprintf("%s, %v, call %d", tt.name, protocol, i)
				assert.Len(t, shown, map[bool]int{true: 1}[tt.native], "%s: how often get_weather is in a result", about)
				assert.Equal(t, tt.loaded && !tt.native, slices.Contains(r.ToolNames(), "get_weather"), "%s: the ordinary list", about)
			}
		}
	}
}

// A tool of the ordinary list counts towards MaxLoaded, though the model searches for it again, and does not come
// back when it was hidden.
func TestNativeEviction(t *testing.T) {
	var history []message
	for _, name := range []string{"get_weather", "get_forecast", "send_mail", "list_stocks"} {
		history = append(history, modelCalls(called(name, name, "{}")), toolSays(name, name, "ran"))
	}
	for _, w := range nativeWays {
		agent := playing(t, w.way, toolsearch.Config{Protocol: w.protocol, Limits: toolsearch.Limits{MaxLoaded: 1}})
		ordinary := func(c conversation) (last []string) {
			for _, r := range agent(c).requests {
				last = append(last, strings.Join(slices.DeleteFunc(r.ToolNames(), func(name string) bool { return name == "tool_search" }), " "))
			}
			return last
		}
		assert.Equal(t, []string{"list_stocks", "get_forecast"},
			ordinary(conversation{history: history, turns: []turn{calling("get_forecast")}}), w.protocol)
		assert.Equal(t, []string{"", "get_weather", "get_weather", "send_mail", "send_mail", "list_stocks"},
			ordinary(conversation{turns: []turn{calling("get_weather"), selecting("get_weather"), calling("send_mail"),
				selecting("send_mail"), calling("list_stocks")}}), w.protocol)
	}
}

// Another middleware takes results of tool_search for its own if no other middleware has a tool of
// that name. It leaves the native results of another middleware alone.
func TestNativeBesideAnotherProtocol(t *testing.T) {
	for _, w := range nativeWays {
		configs := []toolsearch.Config{
			{DynamicTools: testtools.EchoTools("cut_grass: Mows", "water_plants: Waters"), Protocol: w.protocol},
			using(toolsearch.ProtocolSearchAdd)}
		for range 2 {
			slices.Reverse(configs)
			o := running(t, w.way, configs...)(selecting("cut_grass"), calling("cut_grass"))
			assert.Equal(t, []string{"cut_grass"}, nativeResult(t, o, "call_1"), w.protocol)
		}
	}
}

// A native result whose store lost its name, and that answers no call, is no native result to a
// model that takes none, and shows no tool that the user may not see.
func TestStrayNativeResultBecomesAText(t *testing.T) {
	stray := message{Role: toolsearchtest.Tool, CallID: "1", Native: true, Found: []*schema.ToolInfo{{Name: "get_weather"}}}
	for _, history := range [][]message{
		{stray},
		{modelCalls(called("1", "clock", "{}")), stray}, // the id of another call
	} {
		for _, config := range []toolsearch.Config{{}, {Filter: toolsearch.FilterTools(nil, []string{"send_mail"})}} {
			o := play(t, conversation{config: config, history: history}, way{})
			require.NoError(t, o.err)
			for _, m := range o.last().Messages {
				assert.False(t, m.Native, "the model got a native result: %+v", m)
			}
		}
	}
}
