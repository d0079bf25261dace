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

// Which tools the model sees beyond those it searched for, and which it does not see any
// more: AlwaysLoaded, DeferFrom, MaxLoaded, Preselect, WithLoaded.

// officeTools is a catalog with two servers, a tool that is tagged, and one that is not.
func officeTools() []tool.BaseTool {
	return echoTools(
		"mcp__github__create_issue: Opens an issue",
		"mcp__github__list_issues: Lists issues",
		"mcp__slack__list_channels: Lists channels",
		"mcp__slack__send_message: Posts into a channel",
		"ask_human: Asks the person in charge",
		"get_weather: Current weather of a city",
	)
}

// tagHumans is Annotate and the tag "human" for ask_human.
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
		if got := announced(r); !slices.Equal(got, want) {
			t.Errorf("call %d: the reminder lists %q, want %q", i, got, want)
		}
	}
}

func TestAlwaysLoaded(t *testing.T) {
	row := func(name string, patterns []string, config toolsearch.Config, turns []turn, always string, rest []string, saw ...string) conversation {
		config.AlwaysLoaded = patterns
		for i, loaded := range saw {
			saw[i] = strings.TrimSpace("clock tool_search " + strings.TrimSpace(always+" "+loaded))
		}
		return conversation{
			name: name, config: config, dynamic: officeTools(), static: echoTools("clock: The time"), turns: turns, saw: saw,
			check: func(t *testing.T, o outcome) { checkAnnounced(t, o, rest...) },
		}
	}
	const github, lists = "mcp__github__create_issue mcp__github__list_issues", "mcp__github__list_issues mcp__slack__list_channels"
	playAll(t, []conversation{
		row("by name, in the order of the catalog", []string{"get_weather", "ask_human", "get_weather"}, toolsearch.Config{},
			[]turn{selecting("mcp__github__create_issue")}, "ask_human get_weather",
			strings.Fields(github+" mcp__slack__list_channels mcp__slack__send_message"), "", "mcp__github__create_issue"),
		row("by namespace", []string{"github:*"}, toolsearch.Config{}, []turn{selecting("get_weather")}, github,
			strings.Fields("mcp__slack__list_channels mcp__slack__send_message ask_human get_weather"), "", "get_weather"),
		row("by names within any namespace", []string{"*:list_*"}, toolsearch.Config{}, []turn{selecting("get_weather")}, lists,
			strings.Fields("mcp__github__create_issue mcp__slack__send_message ask_human get_weather"), "", "get_weather"),
		row("by tag", []string{"tag:human"}, toolsearch.Config{Annotate: tagHumans}, []turn{selecting("get_weather")}, "ask_human",
			strings.Fields(github+" mcp__slack__list_channels mcp__slack__send_message get_weather"), "", "get_weather"),
		row("what no tool matches is ignored", []string{"jira:*", "no_such_tool", "tag:x"}, toolsearch.Config{}, []turn{selecting("get_weather")}, "",
			strings.Fields(github+" mcp__slack__list_channels mcp__slack__send_message ask_human get_weather"), "", "get_weather"),
		row("they are found again, which changes nothing", []string{"ask_human"}, toolsearch.Config{},
			[]turn{selecting("ask_human,get_weather"), search(`{"query":"person"}`), calling("ask_human")}, "ask_human",
			strings.Fields(github+" mcp__slack__list_channels mcp__slack__send_message get_weather"), "", "get_weather", "get_weather", "get_weather"),
		row("they do not count towards MaxLoaded and are not evicted", []string{"ask_human"}, toolsearch.Config{MaxLoaded: 1},
			[]turn{calling("ask_human"), selecting("get_weather"), selecting("mcp__github__list_issues")}, "ask_human",
			strings.Fields(github+" mcp__slack__list_channels mcp__slack__send_message get_weather"),
			"", "", "get_weather", "mcp__github__list_issues"),
		row("refused are only others", []string{"ask_human"}, toolsearch.Config{Unloaded: toolsearch.UnloadedRefuse},
			[]turn{toolsearchtest.CallTools(call{Name: "ask_human", Arguments: "{}"}, call{Name: "get_weather", Arguments: "{}"})}, "ask_human",
			strings.Fields(github+" mcp__slack__list_channels mcp__slack__send_message get_weather"), "", ""),
		{
			name: "all of them: the model still searches, and nothing is announced", dynamic: officeTools(),
			config: toolsearch.Config{AlwaysLoaded: []string{"*"}}, turns: []turn{search(`{"query":"weather"}`)},
			saw: slices.Repeat([]string{"tool_search " + github + " mcp__slack__list_channels mcp__slack__send_message ask_human get_weather"}, 2),
			check: func(t *testing.T, o outcome) {
				if len(o.requests[0].Messages) != 1 {
					t.Errorf("the model got %+v, want the question alone", o.requests[0].Messages)
				}
				if got := answerOf(t, o.result(t, "call_1")); !slices.Equal(got.Matches, []string{"get_weather"}) {
					t.Errorf("got %+v", got)
				}
			},
		},
		{
			name: "with SearchAdd they cannot be removed", dynamic: officeTools(),
			config: toolsearch.Config{Protocol: toolsearch.ProtocolSearchAdd, AlwaysLoaded: []string{"ask_human"}},
			turns: []turn{toolsearchtest.CallTool("add_tool", `{"tool_names":["get_weather"]}`),
				toolsearchtest.CallTool("remove_tool", `{"tool_names":["ask_human","get_weather"]}`)},
			saw: []string{
				"search_tools add_tool show_all_tools remove_tool ask_human",
				"search_tools add_tool show_all_tools remove_tool ask_human get_weather",
				"search_tools add_tool show_all_tools remove_tool ask_human",
			},
			check: func(t *testing.T, o outcome) {
				if got := o.result(t, "call_2"); !strings.HasPrefix(got, `{"removed":["get_weather"],"not_found":["ask_human"]`) {
					t.Errorf("got %s", got)
				}
			},
		},
		{
			name: "native: they stand in the ordinary list", dynamic: officeTools(),
			config: toolsearch.Config{UseModelToolSearch: true, AlwaysLoaded: []string{"ask_human"}},
			turns:  []turn{selecting("ask_human,get_weather")},
			saw:    []string{"ask_human", "ask_human"},
			check: func(t *testing.T, o outcome) {
				for i, r := range o.requests {
					if got := r.DeferredNames(); len(got) != 5 || slices.Contains(got, "ask_human") {
						t.Errorf("call %d: deferred %v", i, got)
					}
				}
			},
		},
	})
}

func TestAlwaysLoadedIsChecked(t *testing.T) {
	for _, pattern := range []string{"", "  ", ":", "github:", ":list_*", "tag:"} {
		_, err := toolsearch.New(context.Background(), &toolsearch.Config{DynamicTools: newsTools(), AlwaysLoaded: []string{"get_weather", pattern}})
		if err == nil || !strings.Contains(err.Error(), "AlwaysLoaded") || !strings.Contains(err.Error(), fmt.Sprintf("%q", pattern)) {
			t.Errorf("%q: got the error %v", pattern, err)
		}
	}
}

func TestDeferFrom(t *testing.T) {
	const all = "get_weather get_forecast send_mail list_stocks mcp__slack__send_message"
	alone := func(t *testing.T, o outcome) {
		t.Helper()
		for i, r := range o.requests {
			if len(r.Messages) != 1+2*i || r.SearchTool != nil || len(r.Deferred) > 0 {
				t.Errorf("call %d: the model got %+v, want the question and results alone", i, r)
			}
		}
	}
	notSlack := toolsearch.FilterTools(nil, []string{"get_*", "send_mail", "list_stocks"})
	playAll(t, []conversation{
		{
			name: "below it the model sees all, and no trace of a search", config: toolsearch.Config{DeferFrom: 6},
			static: echoTools("clock: The time"), turns: []turn{calling("send_mail")},
			saw: []string{"clock " + all, "clock " + all}, check: alone,
		},
		{
			name: "below it, refusing unloaded tools: none is unloaded", config: toolsearch.Config{DeferFrom: 6, Unloaded: toolsearch.UnloadedRefuse},
			turns: []turn{calling("send_mail")}, saw: []string{all, all},
			check: func(t *testing.T, o outcome) {
				if got := o.result(t, "call_1"); got != "send_mail ran with {}" {
					t.Errorf("got %q", got)
				}
			},
		},
		{
			name: "below it, native", config: toolsearch.Config{DeferFrom: 6, UseModelToolSearch: true},
			turns: []turn{calling("send_mail")}, saw: []string{all, all}, check: alone,
		},
		{
			name: "below it, dispatchTo", config: toolsearch.Config{DeferFrom: 6, Protocol: toolsearch.ProtocolDispatch},
			turns: []turn{calling("send_mail")}, saw: []string{all, all}, check: alone,
		},
		{
			name: "below it, searching and adding", config: toolsearch.Config{DeferFrom: 6, Protocol: toolsearch.ProtocolSearchAdd},
			turns: []turn{calling("send_mail")}, saw: []string{all, all}, check: alone,
		},
		{
			name: "at it they are hidden", config: toolsearch.Config{DeferFrom: 5}, turns: []turn{selecting("send_mail")},
			saw:   []string{"tool_search", "tool_search send_mail"},
			check: func(t *testing.T, o outcome) { checkAnnounced(t, o, strings.Fields(all)...) },
		},
		{
			name: "what Filter drops does not count", config: toolsearch.Config{DeferFrom: 5, Filter: notSlack},
			turns: []turn{calling("send_mail")}, saw: slices.Repeat([]string{"get_weather get_forecast send_mail list_stocks"}, 2), check: alone,
		},
		{
			name: "a filter that leaves nothing leaves no meta-tool", config: toolsearch.Config{Filter: toolsearch.FilterTools(nil, nil)},
			static: echoTools("clock: The time"), turns: []turn{calling("clock")}, saw: []string{"clock", "clock"}, check: alone,
		},
		{
			name: "MaxLoaded forbids to show all", config: toolsearch.Config{DeferFrom: 6, MaxLoaded: 4},
			turns: []turn{selecting("send_mail")}, saw: []string{"tool_search", "tool_search send_mail"},
		},
		{
			name:    "a history with a search and its reminder: both stay understood, the reminder goes",
			config:  toolsearch.Config{DeferFrom: 6},
			history: append([]message{{Role: toolsearchtest.User, Text: newsReminder}}, loadedHistory()...),
			saw:     []string{all},
			check: func(t *testing.T, o outcome) {
				if n := len(o.requests[0].Messages); n != len(loadedHistory())+1 {
					t.Errorf("the model got %d messages", n)
				}
			},
		},
	})
}

func TestMaxLoaded(t *testing.T) {
	const none = "tool_search"
	max2 := toolsearch.Config{MaxLoaded: 2}
	found := func(id string, names ...string) []message {
		return []message{
			{Role: toolsearchtest.Assistant, Calls: []call{called(id, "tool_search", `{"query":"x"}`)}},
			{Role: toolsearchtest.Tool, CallID: id, ToolName: "tool_search", Text: `{"matches":["` + strings.Join(names, `","`) + `"]}`},
		}
	}
	playAll(t, []conversation{
		{
			name: "the least recently found goes, found again it comes back, at the end", config: max2,
			turns: []turn{selecting("get_weather"), selecting("send_mail"), selecting("list_stocks"), selecting("get_weather")},
			saw: []string{none, none + " get_weather", none + " get_weather send_mail", none + " send_mail list_stocks",
				none + " list_stocks get_weather"},
		},
		{
			name: "a call is use", config: max2,
			turns: []turn{selecting("get_weather"), selecting("send_mail"), calling("get_weather"), selecting("list_stocks")},
			saw: []string{none, none + " get_weather", none + " get_weather send_mail", none + " get_weather send_mail",
				none + " get_weather list_stocks"},
		},
		{
			name: "to be found again is use", config: max2,
			turns: []turn{selecting("get_weather,send_mail"), search(`{"query":"current"}`), selecting("list_stocks")},
			saw:   []string{none, none + " get_weather send_mail", none + " get_weather send_mail", none + " get_weather list_stocks"},
		},
		{
			name: "of one search the best stay", config: max2,
			turns: []turn{selecting("list_stocks,get_forecast,send_mail,get_weather")},
			saw:   []string{none, none + " list_stocks get_forecast"},
		},
		{
			name: "a call to a hidden tool loads it and hides another", config: max2,
			turns: []turn{selecting("get_weather,send_mail"), calling("list_stocks")},
			saw:   []string{none, none + " get_weather send_mail", none + " get_weather list_stocks"},
		},
		{
			name: "a hidden tool that is refused is not used", config: toolsearch.Config{MaxLoaded: 1, Unloaded: toolsearch.UnloadedRefuse},
			turns: []turn{selecting("get_weather"), selecting("send_mail"), calling("get_weather"), calling("send_mail")},
			saw:   []string{none, none + " get_weather", none + " send_mail", none + " send_mail", none + " send_mail"},
		},
		{
			name: "a second run goes on from the history", config: max2,
			history: slices.Concat(found("c1", "get_weather"), found("c2", "send_mail"),
				[]message{{Role: toolsearchtest.Assistant, Calls: []call{called("c3", "get_weather", `{}`)}},
					{Role: toolsearchtest.Tool, CallID: "c3", ToolName: "get_weather", Text: "sunny"}},
				found("c4", "list_stocks")),
			turns: []turn{selecting("get_forecast")},
			saw:   []string{none + " get_weather list_stocks", none + " list_stocks get_forecast"},
		},
		{
			name: "what found again came back stands at the end in a second run too", config: max2,
			history: slices.Concat(found("c1", "get_weather"), found("c2", "send_mail"), found("c3", "list_stocks"), found("c4", "get_weather")),
			saw:     []string{none + " list_stocks get_weather"},
		},
		{
			name:   "dispatchTo: what was called since it was found is not the one to go",
			config: toolsearch.Config{MaxLoaded: 2, Protocol: toolsearch.ProtocolDispatch, Unloaded: toolsearch.UnloadedRefuse},
			turns: []turn{selecting("get_weather"), selecting("send_mail"), dispatchTo("get_weather"), selecting("list_stocks"),
				dispatchTo("get_weather"), dispatchTo("send_mail")},
			check: func(t *testing.T, o outcome) {
				if got := o.result(t, "call_5"); got != "get_weather ran with {}" {
					t.Errorf("get_weather, used after send_mail: %s", got)
				}
				if got := o.result(t, "call_6"); !strings.Contains(got, "nothing was run") {
					t.Errorf("send_mail, used least: %s", got)
				}
			},
		},
	})
}

func dispatchTo(name string) turn {
	return toolsearchtest.CallTool("call_tool", `{"name":"`+name+`","arguments":{}}`)
}

// TestPendingCallsAreNotEvicted: a tool stays while a call of it has no answer yet, though
// it was used least.
func TestPendingCallsAreNotEvicted(t *testing.T) {
	t.Run("message", testPendingCalls[*schema.Message])
	t.Run("agentic", testPendingCalls[*schema.AgenticMessage])
}

func testPendingCalls[M adk.MessageType](t *testing.T) {
	middleware := newMiddleware[M](t, toolsearch.Config{DynamicTools: newsTools(), MaxLoaded: 2})
	state := &adk.TypedChatModelAgentState[M]{Messages: encoded[M](
		message{Role: toolsearchtest.User, Text: "What is new?"},
		message{Role: toolsearchtest.Assistant, Calls: []call{called("c", "tool_search", `{}`)}},
		message{Role: toolsearchtest.Tool, CallID: "c", ToolName: "tool_search", Text: `{"matches":["get_weather","send_mail"]}`},
		message{Role: toolsearchtest.Assistant, Calls: []call{called("w", "get_weather", `{}`), called("s", "tool_search", `{}`), called("m", "send_mail", `{}`)}},
		message{Role: toolsearchtest.Tool, CallID: "m", ToolName: "send_mail", Text: "sent"},
		message{Role: toolsearchtest.Tool, CallID: "s", ToolName: "tool_search", Text: `{"matches":["list_stocks","get_forecast"]}`},
	)}
	for _, want := range []string{"get_weather list_stocks", "list_stocks get_forecast"} {
		_, next, err := middleware.BeforeModelRewriteState(context.Background(), state, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(namesOf(next.ToolInfos), " "); got != want {
			t.Errorf("the model saw %q, want %q", got, want)
		}
		state.Messages = append(state.Messages, encoded[M](message{Role: toolsearchtest.Tool, CallID: "w", ToolName: "get_weather", Text: "sunny"})...)
	}
}

func encoded[M adk.MessageType](messages ...message) []M {
	list := make([]M, len(messages))
	for i, m := range messages {
		list[i] = toolsearchtest.Encode[M](m)
	}
	return list
}

// TestMaxLoadedAcrossResume interrupts the one tool there is room for, beside a search that
// finds another: it is run all the same, and then it goes.
func TestMaxLoadedAcrossResume(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("message/stream=%v", streaming), func(t *testing.T) { testMaxLoadedAcrossResume[*schema.Message](t, streaming) })
		t.Run(fmt.Sprintf("agentic/stream=%v", streaming), func(t *testing.T) { testMaxLoadedAcrossResume[*schema.AgenticMessage](t, streaming) })
	}
}

func testMaxLoadedAcrossResume[M adk.MessageType](t *testing.T, streaming bool) {
	store := &memoryStore{}
	config := toolsearch.Config{MaxLoaded: 1, DynamicTools: append(newsTools(), confirming("delete_all"))}
	first := interrupted[M](t, store, streaming, config,
		selecting("delete_all"),
		toolsearchtest.CallTools(call{Name: "delete_all", Arguments: "{}"}, call{Name: "tool_search", Arguments: `{"query":"select:send_mail"}`}))
	if want := []string{"tool_search", "tool_search delete_all"}; !slices.Equal(first.saw(), want) {
		t.Errorf("before the interrupt the model saw %q, want %q", first.saw(), want)
	}
	second := resumed[M](t, store, streaming, config, toolsearchtest.CallTools(called("w", "get_weather", "{}")))
	if second.err != nil {
		t.Fatal(second.err)
	}
	if want := []string{"tool_search send_mail", "tool_search get_weather"}; !slices.Equal(second.saw(), want) {
		t.Errorf("after the resume the model saw %q, want %q", second.saw(), want)
	}
	if got := second.result(t, "call_2"); got != "confirmed" {
		t.Errorf("the interrupted call answered %q", got)
	}
}

func confirming(name string) tool.BaseTool {
	return &confirmTool{plainTool{&schema.ToolInfo{Name: name, Desc: "Asks before it does"}}}
}

// interrupted plays turns up to an interrupt; the run is kept in store.
func interrupted[M adk.MessageType](t *testing.T, store *memoryStore, streaming bool, config toolsearch.Config, turns ...turn) outcome {
	t.Helper()
	runner, scripted := checkpointed[M](t, store, streaming, config, turns...)
	events, err := drain(runner.Run(context.Background(), encoded[M](question...), adk.WithCheckPointID("1")))
	if err != nil {
		t.Fatal(err)
	}
	if len(scripted.Requests()) != len(turns) {
		t.Fatalf("%d model calls before the interrupt, want %d", len(scripted.Requests()), len(turns))
	}
	return outcome{scripted.Requests(), events, nil}
}

// resumed goes on with the run in store, with another instance of everything. A last turn
// that says "done" is added.
func resumed[M adk.MessageType](t *testing.T, store *memoryStore, streaming bool, config toolsearch.Config, turns ...turn) outcome {
	t.Helper()
	runner, scripted := checkpointed[M](t, store, streaming, config, append(turns, toolsearchtest.Say("done"))...)
	iterator, err := runner.Resume(context.Background(), "1")
	if err != nil {
		t.Fatal(err)
	}
	events, err := drain(iterator)
	for i, r := range scripted.Requests() {
		checkRequest(t, i, r)
	}
	return outcome{scripted.Requests(), events, err}
}

func checkpointed[M adk.MessageType](t *testing.T, store *memoryStore, streaming bool, config toolsearch.Config, turns ...turn) (*adk.TypedRunner[M], *toolsearchtest.Model[M]) {
	t.Helper()
	scripted := toolsearchtest.NewModel[M](turns...)
	agent := newAgent(t, &adk.TypedChatModelAgentConfig[M]{Model: scripted, Handlers: []adk.TypedChatModelAgentMiddleware[M]{newMiddleware[M](t, config)}})
	return adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, EnableStreaming: streaming, CheckPointStore: store}), scripted
}
