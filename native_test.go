package toolsearch_test

import (
	"slices"
	"strings"
	"testing"

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
