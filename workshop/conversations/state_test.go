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
		_, next, err := middleware.BeforeModelRewriteState(context.Background(), state, nil)
		require.NoError(t, err)
		assert.Equal(t, want, strings.Join(namesOf(next.ToolInfos), " "))
		state.Messages = append(state.Messages, encoded[M](toolSays("w", "get_weather", "sunny"))...)
	}
}

func confirming(name string) tool.BaseTool {
	return &confirmTool{testtools.PlainTool{Of: &schema.ToolInfo{Name: name, Desc: "Asks before it does"}}}
}

// A tool that was removed and found again stays, though the result of the search is cleared from the history and the
// answer of remove_tool is not. The same holds for what was loaded for the question.
func TestOldRemovalDoesNotUnloadAgain(t *testing.T) {
	removed := []message{
		modelCalls(called("a", "remove_tool", `{"tool_names":["get_weather"]}`)),
		toolSays("a", "remove_tool", `{"removed":["get_weather"],"not_found":[],"message":"Removed."}`),
	}
	cut, err := reduction.NewTyped(context.Background(), &reduction.TypedConfig[chat]{
		Backend: filesystem.NewInMemoryBackend(), MaxLengthForTrunc: 10, SkipClear: true})
	require.NoError(t, err)
	o := converseOn(context.Background(), t, way{}, with(news[chat](t), cut), append(removed, question...),
		selecting("get_weather"), calling("list_stocks"))
	checkSaw(t, "the model", o, "tool_search", "tool_search get_weather", "tool_search get_weather list_stocks")

	o = play(t, conversation{config: toolsearch.Config{Protocol: toolsearch.ProtocolSearchAdd, Preselect: 1}, history: removed,
		asks: "Current weather of a city", turns: []turn{calling("show_all_tools")}}, way{})
	const loaded = "search_tools add_tool show_all_tools remove_tool get_weather"
	checkSaw(t, "the model", o, loaded, loaded)
}
