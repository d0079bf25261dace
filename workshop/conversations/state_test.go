package conversations_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/filesystem"
	"github.com/cloudwego/eino/adk/middlewares/reduction"
	"github.com/cloudwego/eino/adk/middlewares/summarization"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// These tests look at the tools that the model sees without a search, and at the tools that it no
// longer sees: AlwaysLoaded, DeferFrom and MaxLoaded.

// officeTools are the tools of two servers, and two tools without a server.
func officeTools() []tool.BaseTool {
	return testtools.EchoTools(
		"mcp__github__create_issue: Opens an issue",
		"mcp__github__list_issues: Lists issues",
		"mcp__slack__list_channels: Lists channels",
		"mcp__slack__send_message: Posts into a channel",
		"ask_human: Asks the person in charge",
		"get_weather: Current weather of a city",
	)
}

// tagHumans adds the tag "human" to the default annotation of ask_human.
func tagHumans(info *schema.ToolInfo) toolsearch.Annotation {
	a := toolsearch.Annotate(info)
	if info.Name == "ask_human" {
		a.Tags = []string{"slow", "human"}
	}
	return a
}

// announced returns the names that the reminder of a request lists.
func announced(r request) []string {
	for _, m := range r.Messages {
		if text, ok := strings.CutSuffix(m.Text, "\n</available-deferred-tools>"); ok && m.Role != toolsearchtest.Tool {
			_, block, _ := strings.Cut(text, "<available-deferred-tools>\n")
			return strings.Split(block, "\n")[1:]
		}
	}
	return nil
}

func checkAnnounced(t *testing.T, o outcome, want ...string) {
	t.Helper()
	for i, r := range o.requests {
		assert.Equal(t, want, announced(r), "call %d: what the reminder lists", i)
	}
}

func TestAlwaysLoaded(t *testing.T) {
	row := func(name string, patterns []string, config toolsearch.Config, turns []turn, always string, saw ...string) conversation {
		config.AlwaysLoaded = patterns
		var rest []string
		for _, tl := range officeTools() {
			if name := testtools.MustInfo(t, tl).Name; !strings.Contains(always, name) {
				rest = append(rest, name)
			}
		}
		for i, loaded := range saw {
			saw[i] = strings.TrimSpace("clock tool_search " + strings.TrimSpace(always+" "+loaded))
		}
		return conversation{
			name: name, config: config, dynamic: officeTools(), static: testtools.EchoTools("clock: The time"), turns: turns, saw: saw,
			check: func(t *testing.T, o outcome) { checkAnnounced(t, o, rest...) },
		}
	}
	const github, lists = "mcp__github__create_issue mcp__github__list_issues", "mcp__github__list_issues mcp__slack__list_channels"
	playAll(t, []conversation{
		row("by name, in the order of the catalog", []string{"get_weather", "ask_human", "get_weather"}, toolsearch.Config{},
			[]turn{selecting("mcp__github__create_issue")}, "ask_human get_weather", "", "mcp__github__create_issue"),
		row("by namespace", []string{"github:*"}, toolsearch.Config{}, []turn{selecting("get_weather")}, github, "", "get_weather"),
		row("by names within any namespace", []string{"*:list_*"}, toolsearch.Config{}, []turn{selecting("get_weather")}, lists,
			"", "get_weather"),
		row("by tag", []string{"tag:human"}, toolsearch.Config{Annotate: tagHumans}, []turn{selecting("get_weather")},
			"ask_human", "", "get_weather"),
		row("a pattern that no tool matches is ignored", []string{"jira:*", "no_such_tool", "tag:x"}, toolsearch.Config{},
			[]turn{selecting("get_weather")}, "", "", "get_weather"),
		row("a search that finds them changes nothing", []string{"ask_human"}, toolsearch.Config{},
			[]turn{selecting("ask_human,get_weather"), searching(`{"query":"person"}`), calling("ask_human")}, "ask_human", "", "get_weather",
			"get_weather", "get_weather"),
		{
			name: "if all tools are loaded, the model still searches, and there is no reminder", dynamic: officeTools(),
			config: toolsearch.Config{AlwaysLoaded: []string{"*"}}, turns: []turn{searching(`{"query":"weather"}`)},
			saw: slices.Repeat([]string{"tool_search " + github + " mcp__slack__list_channels mcp__slack__send_message ask_human get_weather"}, 2),
			check: func(t *testing.T, o outcome) {
				assert.Len(t, o.requests[0].Messages, 1, "the model gets only the question")
				assert.Equal(t, []string{"get_weather"}, answerOf(t, o.result(t, "call_1")).Matches)
			},
		},
		{
			name: "under a native protocol they are in the ordinary list", dynamic: officeTools(),
			config: toolsearch.Config{UseModelToolSearch: true, AlwaysLoaded: []string{"ask_human"}},
			turns:  []turn{selecting("ask_human,get_weather")},
			saw:    []string{"ask_human", "ask_human"},
			check: func(t *testing.T, o outcome) {
				for i, r := range o.requests {
					assert.Len(t, r.DeferredNames(), 5, "call %d", i)
					assert.NotContains(t, r.DeferredNames(), "ask_human", "call %d", i)
				}
			},
		},
	})
}

func TestAlwaysLoadedIsChecked(t *testing.T) {
	for _, pattern := range []string{"", "  ", ":", "github:", ":list_*", "tag:"} {
		_, err := toolsearch.New(context.Background(), &toolsearch.Config{DynamicTools: testtools.NewsTools(),
			AlwaysLoaded: []string{"get_weather", pattern}})
		assert.ErrorContains(t, err, "AlwaysLoaded", "%q", pattern)
		assert.ErrorContains(t, err, fmt.Sprintf("%q", pattern))
	}
}

func TestDeferFrom(t *testing.T) {
	const all = "get_weather get_forecast send_mail list_stocks mcp__slack__send_message"
	alone := func(t *testing.T, o outcome) {
		t.Helper()
		for i, r := range o.requests {
			assert.Len(t, r.Messages, 1+2*i, "call %d: the model gets only the question and the results", i)
			assert.Nil(t, r.SearchTool, "call %d", i)
			assert.Empty(t, r.Deferred, "call %d", i)
		}
	}
	below := func(name string, p toolsearch.Protocol) conversation {
		config := toolsearch.Config{DeferFrom: 6, Protocol: p}
		return conversation{name: name, config: config, turns: []turn{calling("send_mail")}, saw: []string{all, all}, check: alone}
	}
	notSlack := toolsearch.FilterTools(nil, []string{"get_*", "send_mail", "list_stocks"})
	playAll(t, []conversation{
		{name: "below it the model sees all tools, and no trace of a search", config: toolsearch.Config{DeferFrom: 6},
			static: testtools.EchoTools("clock: The time"), turns: []turn{calling("send_mail")},
			saw: []string{"clock " + all, "clock " + all}, check: alone},
		{
			name: "below it UnloadedRefuse refuses no tool", config: toolsearch.Config{DeferFrom: 6, Unloaded: toolsearch.UnloadedRefuse},
			turns: []turn{calling("send_mail")}, saw: []string{all, all},
			check: func(t *testing.T, o outcome) {
				assert.Equal(t, "send_mail ran with {}", o.result(t, "call_1"))
			},
		},
		below("below it, under a native protocol", toolsearch.ProtocolNativeDeferred),
		below("below it, under ProtocolDispatch", toolsearch.ProtocolDispatch),
		below("below it, under ProtocolSearchAdd", toolsearch.ProtocolSearchAdd),
		{name: "from it on the tools are hidden", config: toolsearch.Config{DeferFrom: 5}, turns: []turn{selecting("send_mail")},
			saw:   []string{"tool_search", "tool_search send_mail"},
			check: func(t *testing.T, o outcome) { checkAnnounced(t, o, strings.Fields(all)...) }},
		{name: "tools that Filter drops do not count", config: toolsearch.Config{DeferFrom: 5, Filter: notSlack},
			turns: []turn{calling("send_mail")}, saw: slices.Repeat([]string{"get_weather get_forecast send_mail list_stocks"}, 2),
			check: alone},
		{name: "a filter that drops every tool leaves no meta-tool",
			config: toolsearch.Config{Filter: toolsearch.FilterTools(nil, nil)}, static: testtools.EchoTools("clock: The time"),
			turns: []turn{calling("clock")}, saw: []string{"clock", "clock"}, check: alone},
		{name: "a smaller MaxLoaded keeps the tools hidden",
			config: toolsearch.Config{DeferFrom: 6, Limits: toolsearch.Limits{MaxLoaded: 4}},
			turns:  []turn{selecting("send_mail")}, saw: []string{"tool_search", "tool_search send_mail"}},
		{
			name:    "the reminder of an earlier run is removed, and its search stays",
			config:  toolsearch.Config{DeferFrom: 6},
			history: append([]message{userSays(newsReminder)}, loadedHistory()...),
			saw:     []string{all},
			check: func(t *testing.T, o outcome) {
				assert.Len(t, o.requests[0].Messages, len(loadedHistory())+1)
			},
		},
	})
}

// A tool is not evicted while one of its calls has no answer.
func TestPendingCallsAreNotEvicted(t *testing.T) {
	ofBothTypes(t, testPendingCalls[chat], testPendingCalls[agentic])
}

func testPendingCalls[M adk.MessageType](t *testing.T) {
	middleware := newMiddleware[M](t, maxLoaded(2))
	state := &adk.TypedChatModelAgentState[M]{Messages: encoded[M](
		userSays("What is new?"),
		modelCalls(called("c", "tool_search", `{}`)),
		toolSays("c", "tool_search", `{"matches":["get_weather","send_mail"]}`),
		modelCalls(called("w", "get_weather", `{}`), called("s", "tool_search", `{}`), called("m", "send_mail", `{}`)),
		toolSays("m", "send_mail", "sent"),
		toolSays("s", "tool_search", `{"matches":["list_stocks","get_forecast"]}`),
	)}
	for _, want := range []string{"get_weather list_stocks", "list_stocks get_forecast"} {
		next := rewritten(context.Background(), t, middleware, state)
		assert.Equal(t, want, strings.Join(namesOf(next.ToolInfos), " "))
		state.Messages = append(state.Messages, encoded[M](toolSays("w", "get_weather", "sunny"))...)
	}
}

func confirming(name string) tool.BaseTool {
	info := &schema.ToolInfo{Name: name, Desc: "Asks before it does"}
	return &testtools.ConfirmTool{PlainTool: testtools.PlainTool{Of: info}}
}

// Loaded tools survive whatever happens to the history.

// loadedHistory returns the history of a first run that loaded two tools.
func loadedHistory() []message {
	return []message{
		userSays("How is the weather?"),
		modelCalls(called("c1", "tool_search", `{"query":"weather"}`)),
		toolSays("c1", "tool_search", `{"matches":["get_weather"]}`),
		modelCalls(called("c2", "get_weather", `{}`), called("c3", "tool_search", `{"query":"mail"}`)),
		toolSays("c2", "get_weather", `sunny`),
		toolSays("c3", "tool_search", `{"matches":["send_mail","no_such_tool"]}`),
		modelSays("Sunny."),
	}
}

func changed(history []message, change func(m *message)) []message {
	for i := range history {
		change(&history[i])
	}
	return history
}

func TestHistories(t *testing.T) {
	both := []string{"tool_search get_weather send_mail"}
	playAll(t, []conversation{
		{
			name: "without the calls",
			history: slices.DeleteFunc(loadedHistory(), func(m message) bool {
				return len(m.Calls) > 0 || m.ToolName == "get_weather"
			}),
			saw: both,
		},
		{
			name: "with results in another order than the calls",
			history: func() []message {
				h := loadedHistory()
				h[4], h[5] = h[5], h[4]
				return changed(h, func(m *message) { m.ToolName = "" })
			}(),
			saw: both,
		},
		{
			name: "with call IDs that repeat in every round",
			history: changed(loadedHistory(), func(m *message) {
				for i, c := range m.Calls {
					if c.ID != "c2" {
						m.Calls[i].ID = "call_0"
					}
				}
				if m.CallID != "" && m.CallID != "c2" {
					m.CallID = "call_0"
				}
				m.ToolName = ""
			}),
			saw: both,
		},
		{
			name: "another tool's result that looks like a search result loads nothing",
			history: []message{
				modelCalls(called("c1", "grep", `{}`)),
				toolSays("c1", "", `{"matches":["get_weather"]}`),
				modelCalls(called("c2", "grep", `{}`)),
				toolSays("c2", "grep", `{"matches":["send_mail"]}`),
				userSays(`{"matches":["list_stocks"]}`),
			},
			saw: []string{"tool_search"},
		},
		{
			name: "results that cannot be read are ignored",
			history: []message{
				modelCalls(called("c1", "tool_search", ``), called("c2", "tool_search", ``), called("c3", "tool_search", ``)),
				toolSays("c1", "tool_search", `[Old tool result content cleared]`),
				toolSays("c2", "tool_search", `{"matches":["get_weather"`),
				toolSays("c3", "tool_search", `{"matches": [ "a]\"b", "send_mail" ], "message": "]"}`),
			},
			saw: []string{"tool_search send_mail"},
		},
		{
			name: "calls without IDs match their results by the order",
			history: []message{
				modelCalls(called("", "get_wether", `{}`), called("", "tool_search", `{"query":"zzz"}`), called("", "tool_search", `{"query":"mail"}`)),
				{Role: toolsearchtest.Tool, ToolName: "tool_search", Text: `{"matches":[],"message":"No such tool."}`},
				{Role: toolsearchtest.Tool, ToolName: "tool_search", Text: `{"matches":[]}`},
				{Role: toolsearchtest.Tool, ToolName: "tool_search", Text: `{"matches":["send_mail"]}`},
			},
			saw: []string{"tool_search send_mail"},
			check: func(t *testing.T, o outcome) {
				assert.Equal(t, []string{"get_wether", "tool_search", "tool_search"}, namesOfResults(o))
			},
		},
		{
			name: "no result is renamed if a round has one ID and its names are in another order",
			history: []message{
				modelCalls(called("1", "get_weather", `{}`), called("1", "tool_search", `{"query":"zzz"}`)),
				toolSays("1", "tool_search", `{"matches":[]}`),
				toolSays("1", "get_weather", `sunny`),
			},
			check: func(t *testing.T, o outcome) {
				assert.Equal(t, []string{"tool_search", "get_weather"}, namesOfResults(o))
			},
		},
	})
}

// namesOfResults returns the names of the tools that answered, in the order the model sees.
func namesOfResults(o outcome) (names []string) {
	for _, m := range o.last().Messages {
		if m.Role == toolsearchtest.Tool {
			names = append(names, m.ToolName)
		}
	}
	return names
}

// A request has one reminder. It is current, and it stays at its place.
func TestReminders(t *testing.T) {
	ours := func(text string) message {
		return message{Role: toolsearchtest.User, Text: text, Extra: map[string]any{"_toolsearch_reminder": "tool_search"}}
	}
	stale := strings.Replace(newsReminder, "get_weather", "get_the_weather", 1)
	einos := "<available-deferred-tools>\nget_the_weather\nsend_mail\n</available-deferred-tools>"
	hi := userSays("Hi")
	tests := []struct {
		name    string
		history []message
		at      int // of the reminder, in what the model sees
		total   int // messages the model sees, the question included
	}{
		{"no reminder", []message{hi}, 0, 3},
		{"current, marked", []message{ours(newsReminder), hi}, 0, 3},
		{"current, without the mark", []message{userSays(newsReminder), hi}, 0, 3},
		{"stale, marked", []message{ours(stale), hi}, 0, 3},
		{"stale, without the mark", []message{userSays(stale), hi}, 0, 3},
		{"stale, in the second place", []message{hi, userSays(stale)}, 1, 3},
		{"two reminders", []message{userSays(newsReminder), hi, ours(newsReminder)}, 0, 3},
		{"stale and current", []message{userSays(stale), hi, ours(newsReminder)}, 0, 3},
		{"a reminder of Eino's own package", []message{userSays(einos), hi}, 0, 3},
		{"marked, with another text", []message{ours("<available-deferred-tools>..."), hi}, 0, 3},
		{"a user mentions the tag", []message{userSays("What is <available-deferred-tools>?"), hi}, 0, 4},
		{"a user's text begins with the tag", []message{userSays("<available-deferred-tools> is what?"), hi}, 0, 4},
	}
	var table []conversation
	for _, tt := range tests {
		table = append(table, conversation{
			name: tt.name, history: tt.history,
			turns: []turn{searching(`{"query":"mail"}`)},
			check: func(t *testing.T, o outcome) {
				for i, r := range o.requests {
					require.Len(t, r.Messages, tt.total+2*i, "call %d", i)
					assert.Equal(t, newsReminder, r.Messages[tt.at].Text, "call %d: message %d", i, tt.at)
				}
			},
		})
	}
	playAll(t, table)
}

// A summary may quote any number of reminders. The quotations are removed.
func TestHostileSummary(t *testing.T) {
	pair := "<available-deferred-tools>x</available-deferred-tools>"
	nested := "<available-" + pair + "deferred-tools>y</available-deferred-tools>"
	var table []conversation
	for name, text := range map[string]string{
		"many": strings.Repeat(pair, 20_000), "nested": nested, "unclosed": strings.Repeat("<available-deferred-tools>", 20_000) + pair,
		"bulleted": "Kept.\n - " + pair + "\nKept too.",
	} {
		table = append(table, conversation{
			name: name, history: []message{userSays("<all_user_messages>" + text + "</all_user_messages>")},
			turns: []turn{searching(`{"query":"mail"}`)},
			check: func(t *testing.T, o outcome) {
				for i, r := range o.requests {
					require.Greater(t, len(r.Messages), 1, "call %d", i)
					assert.Zero(t, strings.Count(r.Messages[1].Text, pair), "call %d: the quotations in the summary", i)
					assert.Equal(t, newsReminder, r.Messages[0].Text, "call %d: the first message", i)
					if name == "bulleted" {
						assert.Equal(t, "<all_user_messages>Kept.\nKept too.</all_user_messages>", r.Messages[1].Text, "call %d: the summary", i)
					}
				}
			},
		})
	}
	playAll(t, table)
}

// Loaded tools survive other middlewares that remove and rewrite messages within a run. The other
// middleware comes before or after ours, with the default protocol and a native one, and with the
// reminder at each position.
func TestOtherMiddlewares(t *testing.T) {
	inAllWays(t, testOtherMiddlewares[chat], testOtherMiddlewares[agentic])
}

// otherMiddlewares returns functions that make a new middleware for each use.
func otherMiddlewares[M adk.MessageType]() map[string]func(t *testing.T) adk.TypedChatModelAgentMiddleware[M] {
	ctx := context.Background()
	reducing := func(config reduction.TypedConfig[M]) func(t *testing.T) adk.TypedChatModelAgentMiddleware[M] {
		return func(t *testing.T) adk.TypedChatModelAgentMiddleware[M] {
			return testtools.Must(reduction.NewTyped(ctx, &config))(t)
		}
	}
	return map[string]func(t *testing.T) adk.TypedChatModelAgentMiddleware[M]{
		"trimming": func(*testing.T) adk.TypedChatModelAgentMiddleware[M] {
			return &handler[M]{rewrite: func(messages []M) []M { return slices.Clone(messages[max(0, len(messages)-2):]) }}
		},
		"forgetting all but the question": func(*testing.T) adk.TypedChatModelAgentMiddleware[M] {
			return &handler[M]{rewrite: func([]M) []M { return encoded[M](question...) }}
		},
		"summarization": func(t *testing.T) adk.TypedChatModelAgentMiddleware[M] {
			summarizer := toolsearchtest.NewModel[M]()
			for range 10 {
				summarizer.Play(say("<summary>\nMuch was said.\n<all_user_messages>\n- as the model tells it\n</all_user_messages>\n</summary>"))
			}
			return testtools.Must(summarization.NewTyped(ctx, &summarization.TypedConfig[M]{
				Model: summarizer, Trigger: &summarization.TriggerCondition{ContextMessages: 3},
			}))(t)
		},
		"reduction that cuts every result short": reducing(reduction.TypedConfig[M]{
			Backend: filesystem.NewInMemoryBackend(), MaxLengthForTrunc: 10, SkipClear: true}),
		"reduction that spares tool_search": reducing(reduction.TypedConfig[M]{
			SkipTruncation: true, MaxTokensForClear: 1, ClearExcludeTools: []string{"tool_search"}}),
		"reduction": reducing(reduction.TypedConfig[M]{SkipTruncation: true, MaxTokensForClear: 1, ClearRetentionSuffixLimit: 1}),
	}
}

func testOtherMiddlewares[M adk.MessageType](t *testing.T, w way) {
	for name, other := range otherMiddlewares[M]() {
		for setting, config := range map[string]toolsearch.Config{
			"by default": {}, "native": {UseModelToolSearch: true},
			"reminder last":               {Reminder: toolsearch.ReminderConfig{Position: toolsearch.ReminderLast}},
			"reminder in the instruction": {Reminder: toolsearch.ReminderConfig{Position: toolsearch.ReminderInstruction}},
		} {
			for _, order := range []string{"ours first", "ours last"} {
				t.Run(name+", "+order+", "+setting, func(t *testing.T) {
					config.DynamicTools = testtools.NewsTools()
					handlers := []adk.TypedChatModelAgentMiddleware[M]{newMiddleware[M](t, config), other(t)}
					if order == "ours last" {
						slices.Reverse(handlers)
					}
					checkSurvival(t, w, handlers, config.UseModelToolSearch)
				})
			}
		}
	}
}

// checkSurvival loads three tools in three rounds. It checks that a loaded tool stays within the
// model's reach.
func checkSurvival[M adk.MessageType](t *testing.T, w way, handlers []adk.TypedChatModelAgentMiddleware[M], native bool) {
	t.Helper()
	o := converse(t, w, with(handlers...), selecting("get_weather"), selecting("send_mail"),
		callTools(called("s", "list_stocks", `{}`), called("u", "list_stock", `{}`)))
	require.NoError(t, o.err)
	requests := o.requests
	for i, r := range requests {
		reminders := 0
		called := false // a trimmed history may have lost the call
		for _, m := range r.Messages {
			called = called || slices.ContainsFunc(m.Calls, func(c call) bool { return c.ID == "u" })
			if called && m.CallID == "u" {
				assert.Equal(t, "list_stock", m.ToolName, "call %d: the tool name of the answer to an unknown call", i)
			}
			reminders += strings.Count(m.Text, "<available-deferred-tools>")
		}
		assert.Equal(t, 1, reminders, "call %d: reminders in %+v", i, r.Messages)
	}
	loadedBy := [][]string{{}, {"get_weather"}, {"get_weather", "send_mail"}, {"get_weather", "send_mail", "list_stocks"}}
	require.GreaterOrEqual(t, len(requests), len(loadedBy))
	for i, want := range loadedBy {
		r := requests[i]
		assert.Subset(t, reachable(r), want, "call %d: within reach; tools %v", i, r.ToolNames())
		if native {
			assert.Equal(t, len(testtools.NewsTools()), len(r.Tools)+len(r.Deferred),
				"call %d: each tool is in one list; tools %v, deferred %v", i, r.ToolNames(), r.DeferredNames())
		} else {
			assert.Len(t, r.ToolNames(), 1+len(want), "call %d: the tools are tool_search and %v", i, want)
		}
	}
}

// reachable returns the dynamic tools that a model can call. They are in its tool list or in a
// native search result that it sees.
func reachable(r request) []string {
	names := slices.DeleteFunc(r.ToolNames(), func(name string) bool { return name == "tool_search" })
	for _, m := range r.Messages {
		for _, info := range m.Found {
			if slices.Contains(r.DeferredNames(), info.Name) {
				names = append(names, info.Name)
			}
		}
	}
	return names
}
