package toolsearch_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// Native mode: the model gets the catalog as deferred tools and searches with tool_search
// by means of its own.

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
	for _, static := range [][]tool.BaseTool{nil, echoTools("clock: The time")} {
		shown := ""
		title := "without static tools"
		if static != nil {
			shown, title = "clock", "with static tools"
		}
		and := func(more string) string { return strings.TrimSpace(shown + " " + more) }
		t.Run(title, func(t *testing.T) {
			playAll(t, []conversation{
				{
					name: "the catalog is deferred at every call and each tool stands once", config: native, static: static,
					turns: []turn{search(`{"query":"weather","max_results":1}`), toolsearchtest.CallTool("get_weather", `{"city":"Rome"}`), toolsearchtest.CallTool("get_weather", `{}`)},
					saw:   []string{shown, shown, shown, shown},
					check: func(t *testing.T, o outcome) {
						everyCall(func(t *testing.T, i int, r request) {
							if got := deferred(r); got != catalog {
								t.Errorf("call %d: deferred %q, want %q", i, got, catalog)
							}
							if r.SearchTool == nil || r.SearchTool.Name != "tool_search" {
								t.Errorf("call %d: search tool %v", i, r.SearchTool)
							}
							if r.Messages[0].Text != newsReminder {
								t.Errorf("call %d: message 0 is %q, want the reminder", i, r.Messages[0].Text)
							}
						})(t, o)
						if got := nativeResult(t, o, "call_1"); !slices.Equal(got, []string{"get_weather"}) {
							t.Errorf("the search returned %v", got)
						}
						if got, want := o.result(t, "call_2"), `get_weather ran with {"city":"Rome"}`; got != want {
							t.Errorf("got %q, want %q", got, want)
						}
					},
				},
				{
					name: "what a search returns is the whole definition", config: native, static: static,
					turns: []turn{search(`{"query":"select:send_mail,list_stocks"}`)},
					check: func(t *testing.T, o outcome) {
						for _, m := range o.last().Messages {
							for _, info := range m.Found {
								js, err := info.ParamsOneOf.ToJSONSchema()
								if err != nil || js.Properties.Len() != 1 || info.Desc == "" {
									t.Errorf("%s: description %q, schema %v, %v", info.Name, info.Desc, js, err)
								}
							}
						}
						if got := nativeResult(t, o, "call_1"); !slices.Equal(got, []string{"send_mail", "list_stocks"}) {
							t.Errorf("the search returned %v", got)
						}
					},
				},
				{
					name: "a hidden tool that is called runs and moves to the ordinary list", config: native, static: static,
					turns: []turn{toolsearchtest.CallTool("send_mail", `{}`), search(`{"query":"select:send_mail,get_weather"}`)},
					saw:   []string{shown, and("send_mail"), and("send_mail")},
					check: func(t *testing.T, o outcome) {
						if got, want := o.result(t, "call_1"), "send_mail ran with {}"; got != want {
							t.Errorf("got %q, want %q", got, want)
						}
						// Adapters refuse a definition that comes twice.
						if got := nativeResult(t, o, "call_2"); !slices.Equal(got, []string{"get_weather"}) {
							t.Errorf("the search returned %v, want what is not in the ordinary list", got)
						}
					},
				},
				{
					name: "under UnloadedRefuse a hidden tool does not run until it is found", config: refuse, static: static,
					turns: []turn{
						toolsearchtest.CallTool("send_mail", `{}`), search(`{"query":"select:send_mail"}`), toolsearchtest.CallTool("send_mail", `{}`),
					},
					saw: []string{shown, shown, shown, shown},
					check: func(t *testing.T, o outcome) {
						if got := answerOf(t, o.result(t, "call_1")); !strings.Contains(got.Message, "select:send_mail") {
							t.Errorf("got %+v", got)
						}
						if got, want := o.result(t, "call_3"), "send_mail ran with {}"; got != want {
							t.Errorf("got %q, want %q", got, want)
						}
						checkCallAsMade(t, o, called("call_1", "send_mail", "{}"))
					},
				},
				{
					name: "an unknown name is answered in words, and calls beside it run", config: native, static: static,
					turns: []turn{toolsearchtest.CallTools(
						call{Name: "send_male", Arguments: `{"city":"Rome"}`},
						call{Name: "tool_search", Arguments: `{"query":"select:get_weather"}`})},
					check: func(t *testing.T, o outcome) {
						if got := answerOf(t, o.result(t, "call_1")); !slices.Contains(got.Suggestions, "send_mail") {
							t.Errorf("got %+v, want send_mail suggested", got)
						}
						checkCallAsMade(t, o, called("call_1", "send_male", `{"city":"Rome"}`))
						if got := nativeResult(t, o, "call_2"); !slices.Equal(got, []string{"get_weather"}) {
							t.Errorf("the search returned %v", got)
						}
					},
				},
				{
					name: "a default history goes on natively", config: native, static: static, history: loadedHistory(),
					turns: []turn{search(`{"query":"select:list_stocks"}`)},
					// To an agentic model the old results stay texts, and the tools move to the
					// ordinary list; others get the results in native form.
					check: everyCall(func(t *testing.T, i int, r request) {
						for _, name := range []string{"get_weather", "send_mail"} {
							if !slices.Contains(reachable(r), name) {
								t.Errorf("call %d: %s is out of reach", i, name)
							}
						}
						names := slices.DeleteFunc(append(r.ToolNames(), r.DeferredNames()...), func(name string) bool { return name == "clock" })
						if got, want := sortedSet(names), sortedSet(strings.Fields(catalog)); len(names) != len(want) || !slices.Equal(got, want) {
							t.Errorf("call %d: the model saw %v, want each tool once", i, names)
						}
					}),
				},
			})
		})
	}
}

// TestNativeMistakes: a mistake or a miss is answered and the run goes on. Models of
// *schema.Message get words; agentic adapters take nothing but a search result for an
// answer, so it is an empty one.
func TestNativeMistakes(t *testing.T) {
	var table []conversation
	for _, arguments := range []string{``, `{`, `{}`, `{"query":""}`, `{"query":"zzz"}`, `{"query":"select:zzz"}`, `{"query":{}}`} {
		table = append(table, conversation{
			name: arguments, config: toolsearch.Config{UseModelToolSearch: true},
			turns: []turn{search(arguments), search(`{"query":"select:send_mail"}`)},
			check: func(t *testing.T, o outcome) {
				for _, m := range o.last().Messages {
					switch {
					case m.CallID != "call_1":
					case m.Native && len(m.Found) > 0:
						t.Errorf("found %v", m.Found)
					case !m.Native && answerOf(t, m.Text).Message == "":
						t.Errorf("no words of help in %q", m.Text)
					}
				}
				if got := nativeResult(t, o, "call_2"); !slices.Equal(got, []string{"send_mail"}) {
					t.Errorf("the next search returned %v", got)
				}
			},
		})
	}
	playAll(t, table)
}

// nativeResult returns the tools a native search returned.
func nativeResult(t *testing.T, o outcome, callID string) []string {
	t.Helper()
	for _, m := range o.last().Messages {
		if m.CallID == callID && m.Role == toolsearchtest.Tool {
			if !m.Native {
				t.Fatalf("%s was answered by %q, not by a search result", callID, m.Text)
			}
			names := []string{}
			for _, info := range m.Found {
				names = append(names, info.Name)
			}
			return names
		}
	}
	t.Fatalf("the model got no result for %s", callID)
	return nil
}

// TestNativeKeepsWhatItFound: MaxLoaded evicts nothing that a native search showed to the
// model, which has it for as long as the result stands there.
func TestNativeKeepsWhatItFound(t *testing.T) {
	turns := []turn{selecting("get_weather"), selecting("send_mail"), calling("get_weather"), calling("send_mail")}
	check := func(t *testing.T, o outcome) {
		for id, name := range map[string]string{"call_3": "get_weather", "call_4": "send_mail"} {
			if got, want := o.result(t, id), name+" ran with {}"; got != want {
				t.Errorf("%s: got %q, want %q", id, got, want)
			}
		}
	}
	config := toolsearch.Config{UseModelToolSearch: true, MaxLoaded: 1, Unloaded: toolsearch.UnloadedRefuse}
	playAll(t, []conversation{{name: "deferred", config: config, turns: turns, check: check}})

	config.Native = toolsearch.NativeReferences
	c := conversation{name: "references", config: config, turns: turns}
	check(t, play[*schema.Message](t, c, way{}))
}

// TestNativeTexts: texts of a chat model's history become native results, and what cannot
// become one puts its tools into the ordinary list. Whatever the history, a loaded tool is
// within reach in one way, and one that is not loaded in none.
func TestNativeTexts(t *testing.T) {
	search := message{Role: toolsearchtest.Assistant, Calls: []call{called("a", "tool_search", "{}")}}
	found := `{"matches":["get_weather"]}`
	tests := []struct {
		name    string
		history []message
		native  bool // the definition is in a result
		loaded  bool
	}{
		{"a search", []message{search, {Role: toolsearchtest.Tool, CallID: "a", ToolName: "tool_search", Text: found}}, true, true},
		{"a result without a name", []message{search, {Role: toolsearchtest.Tool, CallID: "a", Text: found}}, true, true},
		{
			"a result without a name, after another call",
			[]message{search, {Role: toolsearchtest.Assistant, Calls: []call{called("b", "clock", "{}")}},
				{Role: toolsearchtest.Tool, CallID: "a", Text: found}, {Role: toolsearchtest.Tool, CallID: "b", Text: "noon"}},
			false, true,
		},
		{"a call alone", []message{{Role: toolsearchtest.Assistant, Calls: []call{called("w", "get_weather", "{}")}},
			{Role: toolsearchtest.Tool, CallID: "w", ToolName: "get_weather", Text: "sunny"}}, false, true},
		{
			"added and removed",
			[]message{
				{Role: toolsearchtest.Assistant, Calls: []call{called("a", "add_tool", `{"tool_names":["get_weather"]}`)}},
				{Role: toolsearchtest.Tool, CallID: "a", ToolName: "add_tool", Text: `{"added":["get_weather"],"already_loaded":[],"not_found":[]}`},
				{Role: toolsearchtest.Assistant, Calls: []call{called("b", "remove_tool", `{"tool_names":["get_weather"]}`)}},
				{Role: toolsearchtest.Tool, CallID: "b", ToolName: "remove_tool", Text: `{"removed":["get_weather"],"not_found":[]}`},
			},
			false, false,
		},
	}
	for _, tt := range tests {
		for _, dialect := range []toolsearch.NativeDialect{toolsearch.NativeDeferred, toolsearch.NativeReferences} {
			t.Run(fmt.Sprintf("%s/%v", tt.name, dialect), func(t *testing.T) {
				config := toolsearch.Config{UseModelToolSearch: true, Native: dialect}
				o := play[*schema.Message](t, conversation{config: config, history: tt.history, turns: []turn{selecting("send_mail")}}, way{})
				if o.err != nil {
					t.Fatal(o.err)
				}
				for i, r := range o.requests {
					shown := 0
					for _, m := range r.Messages {
						for _, info := range m.Found {
							if info.Name == "get_weather" {
								shown++
							}
						}
					}
					ordinary := slices.Contains(r.ToolNames(), "get_weather")
					if want := tt.native; shown > 1 || (shown == 1) != want || ordinary != (tt.loaded && !tt.native) {
						t.Errorf("call %d: %d times in a result, in the ordinary list: %v", i, shown, ordinary)
					}
				}
			})
		}
	}
}

// TestNativeEviction: what MaxLoaded hides does not come back among the ordinary tools.
func TestNativeEviction(t *testing.T) {
	t.Run("message", testNativeEviction[*schema.Message])
	t.Run("agentic", testNativeEviction[*schema.AgenticMessage])
}

func testNativeEviction[M adk.MessageType](t *testing.T) {
	var history []message
	for _, name := range []string{"get_weather", "get_forecast", "send_mail", "list_stocks"} {
		history = append(history, message{Role: toolsearchtest.Assistant, Calls: []call{called(name, name, "{}")}},
			message{Role: toolsearchtest.Tool, CallID: name, ToolName: name, Text: "ran"})
	}
	_, agentic := any(*new(M)).(*schema.AgenticMessage)
	for _, dialect := range []toolsearch.NativeDialect{toolsearch.NativeDeferred, toolsearch.NativeReferences} {
		if agentic && dialect == toolsearch.NativeReferences {
			continue
		}
		config := toolsearch.Config{UseModelToolSearch: true, Native: dialect, MaxLoaded: 1}
		o := play[M](t, conversation{config: config, history: history, turns: []turn{calling("get_forecast")}}, way{})
		var saw []string
		for _, r := range o.requests {
			saw = append(saw, strings.Join(slices.DeleteFunc(r.ToolNames(), func(name string) bool { return name == "tool_search" }), " "))
		}
		if want := []string{"list_stocks", "get_forecast"}; o.err != nil || !slices.Equal(saw, want) {
			t.Errorf("%v: the model saw %q, want %q; error %v", dialect, saw, want, o.err)
		}
	}
}

// TestNativeSearchForTheOrdinary: a tool that stands in the ordinary list does not escape
// MaxLoaded by being searched for.
func TestNativeSearchForTheOrdinary(t *testing.T) {
	for _, dialect := range []toolsearch.NativeDialect{toolsearch.NativeDeferred, toolsearch.NativeReferences} {
		config := toolsearch.Config{UseModelToolSearch: true, Native: dialect, MaxLoaded: 1}
		o := play[*schema.Message](t, conversation{config: config, turns: []turn{
			calling("get_weather"), selecting("get_weather"), calling("send_mail"), selecting("send_mail"), calling("list_stocks"),
		}}, way{})
		got := slices.DeleteFunc(o.last().ToolNames(), func(name string) bool { return name == "tool_search" })
		if o.err != nil || !slices.Equal(got, []string{"list_stocks"}) {
			t.Errorf("%v: the model saw %v; error %v", dialect, got, o.err)
		}
	}
}

// TestNativeHistoryOfANameTaken: an agent's own tool, of a name that search tools have, does
// not keep an old native result from becoming a text for a model that searches by no means of
// its own.
func TestNativeHistoryOfANameTaken(t *testing.T) {
	playAll(t, []conversation{{
		static: echoTools("search_tools: The agent's own"),
		history: []message{
			{Role: toolsearchtest.Assistant, Calls: []call{called("a", "search_tools", `{"query":"weather"}`)}},
			{Role: toolsearchtest.Tool, CallID: "a", ToolName: "search_tools", Native: true, Found: []*schema.ToolInfo{{Name: "get_weather"}}},
		},
		turns: []turn{calling("get_weather")},
		saw:   slices.Repeat([]string{"search_tools tool_search get_weather"}, 2),
		check: func(t *testing.T, o outcome) {
			if got, want := o.result(t, "a"), `{"matches":["get_weather"]}`; got != want {
				t.Errorf("the result is %q, want %q", got, want)
			}
		},
	}})
}

// TestNativeBesideAnotherProtocol: another middleware, to which results of tool_search would be
// its own if nobody else had a tool of that name, leaves native ones alone.
func TestNativeBesideAnotherProtocol(t *testing.T) {
	inAllWays(t, testNativeBesideAnotherProtocol[*schema.Message], testNativeBesideAnotherProtocol[*schema.AgenticMessage])
}

func testNativeBesideAnotherProtocol[M adk.MessageType](t *testing.T, w way) {
	dialects := []toolsearch.NativeDialect{toolsearch.NativeDeferred, toolsearch.NativeReferences}
	if w.agentic {
		dialects = dialects[:1]
	}
	for _, dialect := range dialects {
		for _, reversed := range []bool{false, true} {
			config := with(
				newMiddleware[M](t, toolsearch.Config{DynamicTools: echoTools("cut_grass: Mows", "water_plants: Waters"), UseModelToolSearch: true, Native: dialect}),
				newMiddleware[M](t, toolsearch.Config{DynamicTools: newsTools(), Protocol: toolsearch.ProtocolSearchAdd}))
			if reversed {
				slices.Reverse(config.Handlers)
			}
			o := converse(context.Background(), t, w, config, selecting("cut_grass"), calling("cut_grass"))
			if got := nativeResult(t, o, "call_1"); o.err != nil || !slices.Equal(got, []string{"cut_grass"}) {
				t.Errorf("%v, reversed=%v: the search returned %v; error %v", dialect, reversed, got, o.err)
			}
		}
	}
}
