package toolsearch_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

func TestConversations(t *testing.T) {
	playAll(t, []conversation{
		{
			name:  "what is found is shown from the next call on and can be called",
			turns: []turn{search(`{"query":"weather","max_results":1}`), toolsearchtest.CallTool("get_weather", `{"city":"Rome"}`)},
			saw:   []string{"tool_search", "tool_search get_weather", "tool_search get_weather"},
			check: func(t *testing.T, o outcome) {
				if got, want := o.result(t, "call_2"), `get_weather ran with {"city":"Rome"}`; got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			},
		},
		{
			name:   "static tools come first and stay, loaded ones are appended in their order",
			static: echoTools("clock: The time", "calculator: Adds"),
			turns:  []turn{search(`{"query":"select:send_mail"}`), search(`{"query":"select:get_weather,list_stocks"}`)},
			saw: []string{
				"clock calculator tool_search",
				"clock calculator tool_search send_mail",
				"clock calculator tool_search send_mail get_weather list_stocks",
			},
		},
		{
			name:  "finding a tool again changes nothing",
			turns: []turn{search(`{"query":"select:send_mail"}`), search(`{"query":"mail"}`), search(`{"query":"select:send_mail,send_mail"}`)},
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
			name:  "the reminder stands before the first message that is not a system one",
			turns: []turn{search(`{"query":"mail"}`)},
			history: []message{
				{Role: toolsearchtest.System, Text: "Be brief."},
				{Role: toolsearchtest.User, Text: "Hello"},
				{Role: toolsearchtest.Assistant, Text: "Hello!"},
			},
			check: func(t *testing.T, o outcome) {
				for i, r := range o.requests {
					if got := r.Messages[1].Text; got != newsReminder {
						t.Errorf("call %d: message 1 is %q, want the reminder", i, got)
					}
				}
			},
		},
		{
			name:   "without a reminder the model sees none",
			config: toolsearch.Config{Reminder: toolsearch.ReminderConfig{Disabled: true}},
			turns:  []turn{search(`{"query":"mail","max_results":1}`)},
			saw:    []string{"tool_search", "tool_search send_mail"},
			check: func(t *testing.T, o outcome) {
				if len(o.requests[0].Messages) != 1 {
					t.Errorf("the model got %d messages, want the question alone", len(o.requests[0].Messages))
				}
			},
		},
		{
			name:  "a hidden tool that is called runs and stays loaded",
			turns: []turn{toolsearchtest.CallTool("get_weather", `{}`), toolsearchtest.CallTool("get_weather", `{}`)},
			saw:   []string{"tool_search", "tool_search get_weather", "tool_search get_weather"},
			check: func(t *testing.T, o outcome) {
				if got, want := o.result(t, "call_1"), "get_weather ran with {}"; got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			},
		},
		{
			name:   "under UnloadedRefuse a hidden tool that is called does not run",
			config: toolsearch.Config{Unloaded: toolsearch.UnloadedRefuse},
			turns: []turn{
				toolsearchtest.CallTool("get_weather", `{"city":"Rome"}`),
				search(`{"query":"select:get_weather"}`),
				toolsearchtest.CallTool("get_weather", `{"city":"Rome"}`),
			},
			saw: []string{"tool_search", "tool_search", "tool_search get_weather", "tool_search get_weather"},
			check: func(t *testing.T, o outcome) {
				if got := answerOf(t, o.result(t, "call_1")); !strings.Contains(got.Message, `{"query":"select:get_weather"}`) {
					t.Errorf("the answer %q does not say what to search for", got.Message)
				}
				if got, want := o.result(t, "call_3"), `get_weather ran with {"city":"Rome"}`; got != want {
					t.Errorf("got %q, want %q", got, want)
				}
				checkCallAsMade(t, o, called("call_1", "get_weather", `{"city":"Rome"}`))
			},
		},
		{
			name: "a call to a name no tool has is answered with near names, and calls beside it run",
			turns: []turn{toolsearchtest.CallTools(
				call{Name: "get_wether", Arguments: `{"city":"Rome"}`},
				call{Name: "clok", Arguments: `{}`},
				call{Name: "clock", Arguments: `{}`},
				call{Name: "send_mail", Arguments: `{}`},
				call{Name: "", Arguments: ``},
				call{Name: "utterly_different", Arguments: `not json`})},
			static: echoTools("clock: The time"),
			saw:    []string{"clock tool_search", "clock tool_search send_mail"},
			check: func(t *testing.T, o outcome) {
				for id, near := range map[string]string{"call_1": "get_weather", "call_2": "clock"} {
					if got := answerOf(t, o.result(t, id)); len(got.Suggestions) == 0 || got.Suggestions[0] != near {
						t.Errorf("%s: suggestions %q, want %s first", id, got.Suggestions, near)
					}
				}
				for _, id := range []string{"call_5", "call_6"} {
					if got := answerOf(t, o.result(t, id)); got.Message == "" || len(got.Matches) > 0 {
						t.Errorf("%s: got %+v, want words of help", id, got)
					}
				}
				if got, want := o.result(t, "call_3"), "clock ran with {}"; got != want {
					t.Errorf("got %q, want %q", got, want)
				}
				checkCallAsMade(t, o, called("call_1", "get_wether", `{"city":"Rome"}`))
				checkCallAsMade(t, o, called("call_6", "utterly_different", "not json"))
			},
		},
		{
			name: "the caller's events show the call as it was made and its answer",
			turns: []turn{
				toolsearchtest.CallTool("get_wether", `{"city":"Rome"}`),
			},
			check: func(t *testing.T, o outcome) {
				if len(o.events) != 3 {
					t.Fatalf("got %d events, want call, answer, end", len(o.events))
				}
				if got, want := o.events[0].Calls[0], called("call_1", "get_wether", `{"city":"Rome"}`); got != want {
					t.Errorf("got call %v, want %v", got, want)
				}
				if got := o.events[1]; got.CallID != "call_1" || answerOf(t, got.Text).Suggestions[0] != "get_weather" {
					t.Errorf("got answer %+v", got)
				}
			},
		},
		{
			name:   "another tool name and Chinese",
			config: toolsearch.Config{ToolName: "find-tools", Language: toolsearch.Chinese},
			turns:  []turn{toolsearchtest.CallTool("find-tools", `{"query":"mail","max_results":1}`), toolsearchtest.CallTool("find-tools", `{}`)},
			saw:    []string{"find-tools", "find-tools send_mail", "find-tools send_mail"},
			check: func(t *testing.T, o outcome) {
				first := o.requests[0]
				if text := first.Messages[0].Text; !strings.HasPrefix(text, `<available-deferred-tools tool="find-tools">`) || !strings.Contains(text, "加载") {
					t.Errorf("reminder %q", text)
				}
				if text := first.Tools[0].Desc; !strings.Contains(text, "find-tools") || !strings.Contains(text, "关键词") {
					t.Errorf("description %q", text)
				}
				if text := o.result(t, "call_2"); !strings.Contains(text, "查询") {
					t.Errorf("result %q", text)
				}
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

// checkCallAsMade checks that the model sees its own call and, for it, a result of the
// same tool.
func checkCallAsMade(t *testing.T, o outcome, want call) {
	t.Helper()
	made, answered := false, false
	for _, m := range o.last().Messages {
		made = made || slices.Contains(m.Calls, want)
		answered = answered || m.Role == toolsearchtest.Tool && m.CallID == want.ID && m.ToolName == want.Name
	}
	if !made || !answered {
		t.Errorf("the model does not see its call %v (%v) or a result of that tool (%v)", want, made, answered)
	}
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
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("not an answer of tool_search: %q: %v", text, err)
	}
	if a.Matches == nil {
		t.Errorf("matches is missing or null in %s", text)
	}
	return a
}

// TestModelMistakes: whatever a model writes for arguments, it gets a result that says
// what to do, and the run goes on.
func TestModelMistakes(t *testing.T) {
	help := func(t *testing.T, a answer) {
		t.Helper()
		if len(a.Matches) > 0 || !strings.Contains(a.Message, "query") {
			t.Errorf("got %+v, want words on how to write a query", a)
		}
	}
	finds := func(names ...string) func(*testing.T, answer) {
		return func(t *testing.T, a answer) {
			t.Helper()
			if !slices.Equal(a.Matches, names) {
				t.Errorf("got %q, want %q", a.Matches, names)
			}
		}
	}
	count := func(want int) func(*testing.T, answer) {
		return func(t *testing.T, a answer) {
			t.Helper()
			if len(a.Matches) != want {
				t.Errorf("got %d matches, want %d", len(a.Matches), want)
			}
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
			turns: []turn{search(tt.arguments)},
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
			turns: []turn{search(`{"query":"` + tt.query + `"}`)},
			check: func(t *testing.T, o outcome) {
				got := answerOf(t, o.result(t, "call_1"))
				if !slices.Equal(got.Matches, tt.want.Matches) || !slices.Equal(got.NotFound, tt.want.NotFound) || !slices.Equal(got.Suggestions, tt.want.Suggestions) {
					t.Errorf("got %+v, want %+v", got, tt.want)
				}
				if got.Message == "" {
					t.Error("no words of help")
				}
			},
		})
	}
	playAll(t, table)
}
