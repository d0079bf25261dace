package toolsearch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// What Eino's agents are made of and made into, with the middleware in them: every kind
// of tool, agents inside agents, models that fail, several middlewares, many runs.

var question = []message{{Role: toolsearchtest.User, Text: "What is new?"}}

// with is the config of an agent that has those handlers.
func with[M adk.MessageType](handlers ...adk.TypedChatModelAgentMiddleware[M]) *adk.TypedChatModelAgentConfig[M] {
	return &adk.TypedChatModelAgentConfig[M]{Handlers: handlers}
}

func over[M adk.MessageType](t *testing.T, tools ...tool.BaseTool) adk.TypedChatModelAgentMiddleware[M] {
	t.Helper()
	return newMiddleware[M](t, toolsearch.Config{DynamicTools: tools})
}

// converse runs an agent on one question. A last turn that says "done" is added.
func converse[M adk.MessageType](ctx context.Context, t *testing.T, w way, config *adk.TypedChatModelAgentConfig[M], turns ...turn) outcome {
	t.Helper()
	scripted := toolsearchtest.NewModel[M](append(turns, toolsearchtest.Say("done"))...)
	config.Model = scripted
	events, err := runAgent(ctx, newAgent(t, config), w, question)
	return outcome{scripted.Requests(), events, err}
}

// selecting is a turn that asks the search tool for tools by name.
func selecting(names string) turn { return search(`{"query":"select:` + names + `"}`) }

// calling is a turn that calls a tool without arguments.
func calling(name string) turn { return toolsearchtest.CallTool(name, "{}") }

// checkSaw checks what a model was shown, call by call: its tools, and one reminder.
func checkSaw(t *testing.T, who string, o outcome, want ...string) {
	t.Helper()
	if got := o.saw(); o.err != nil || !slices.Equal(got, want) {
		t.Errorf("%s saw\n %s\nwant\n %s\nerror %v", who, strings.Join(got, "\n "), strings.Join(want, "\n "), o.err)
	}
	checkReminded(t, who, o, "<available-deferred-tools>")
}

// checkReminded checks that those reminders stand in each request, once, and no others.
func checkReminded(t *testing.T, who string, o outcome, want ...string) {
	t.Helper()
	for i, r := range o.requests {
		checkRequest(t, i, r)
		var got []string
		for _, m := range r.Messages {
			if tag, _, _ := strings.Cut(m.Text, "\n"); isReminderTag(tag) {
				got = append(got, tag)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s, call %d: reminders %q, want %q", who, i, got, want)
		}
	}
}

func TestReturnDirectlyEndsTheRunWithTheResultOfADynamicTool(t *testing.T) {
	inAllWays(t, testReturnDirectly[*schema.Message], testReturnDirectly[*schema.AgenticMessage])
}

func testReturnDirectly[M adk.MessageType](t *testing.T, w way) {
	find, callIt := selecting("get_weather"), calling("get_weather")
	for _, tt := range []struct {
		name     string
		unloaded toolsearch.UnloadedPolicy
		turns    []turn
		saw      []string
	}{
		{"found first", 0, []turn{find, callIt}, []string{"tool_search", "tool_search get_weather"}},
		{"hidden", 0, []turn{callIt}, []string{"tool_search"}},
		// A refusal is not the tool's result, so it does not end the run.
		{"refused first", toolsearch.UnloadedRefuse, []turn{callIt, find, callIt}, []string{"tool_search", "tool_search", "tool_search get_weather"}},
	} {
		var loaded []string
		config := with(newMiddleware[M](t, toolsearch.Config{
			DynamicTools: newsTools(), Unloaded: tt.unloaded, OnLoaded: func(_ context.Context, names []string) { loaded = names },
		}))
		config.ToolsConfig.ReturnDirectly = map[string]bool{"get_weather": true}
		o := converse(context.Background(), t, w, config, tt.turns...)
		checkSaw(t, tt.name, o, tt.saw...)
		if len(o.events) != 2*len(tt.turns) || o.events[len(o.events)-1].Text != "get_weather ran with {}" {
			t.Errorf("%s: the run ended with %+v", tt.name, o.events)
		}
		if !slices.Equal(loaded, []string{"get_weather"}) {
			t.Errorf("%s: OnLoaded was told %q", tt.name, loaded)
		}
	}
}

// An agent as a tool of another: what one loads is nothing to the other, nor to the next
// call of the same one, even while both run and even with one middleware for both.
func TestAgentAsToolLoadsForItself(t *testing.T) {
	inAllWays(t, testAgentTool[*schema.Message], testAgentTool[*schema.AgenticMessage])
}

func testAgentTool[M adk.MessageType](t *testing.T, w way) {
	ctx := context.Background()
	for _, tt := range []struct {
		name           string
		shared         bool // one middleware for both
		dynamic        bool // the inner agent is a dynamic tool of the outer one
		history        bool // the inner agent gets the outer one's messages
		start, insider string
	}{
		{name: "one middleware", shared: true, start: "insider tool_search", insider: "insider tool_search"},
		{name: "two", start: "insider tool_search", insider: "insider tool_search"},
		{name: "dynamic", dynamic: true, start: "tool_search", insider: "tool_search insider"},
		{name: "one middleware, history", shared: true, history: true, start: "insider tool_search", insider: "insider tool_search"},
		{name: "two, history", history: true, start: "insider tool_search", insider: "insider tool_search"},
	} {
		var options []adk.AgentToolOption
		if tt.history {
			if w.agentic {
				continue // Eino has it for *schema.Message only
			}
			options = append(options, adk.WithFullChatHistoryAsInput())
		}
		outside := over[M](t, newsTools()...)
		within := over[M](t, echoTools("get_weather: Weather", "list_stocks: Seeds", "cut_grass: Mows")...)
		if tt.shared {
			within = outside
		}
		insider := toolsearchtest.NewModel[M](
			selecting("get_weather"), calling("get_weather"), toolsearchtest.Say("Sunny."),
			selecting("list_stocks"), toolsearchtest.Say("Up."))
		inner := with(within)
		inner.Name, inner.Description, inner.Model = "insider", "Knows", insider
		inside := adk.NewTypedAgentTool(ctx, adk.TypedAgent[M](newAgent(t, inner)), options...)

		config := with(outside)
		if tt.dynamic {
			config = with(over[M](t, append(newsTools(), inside)...))
		} else {
			config.ToolsConfig = toolsConfig(inside)
		}
		config.ToolsConfig.EmitInternalEvents = true
		o := converse(ctx, t, w, config,
			selecting("insider,send_mail"),
			toolsearchtest.CallTools(
				call{Name: "insider", Arguments: `{"request":"Weather?"}`},
				call{Name: "tool_search", Arguments: `{"query":"select:get_forecast"}`}),
			toolsearchtest.CallTool("insider", `{"request":"Stocks?"}`))

		then := tt.insider + " send_mail get_forecast"
		checkSaw(t, tt.name+": outside", o, tt.start, tt.insider+" send_mail", then, then)
		checkSaw(t, tt.name+": inside", outcome{requests: insider.Requests()},
			"tool_search", "tool_search get_weather", "tool_search get_weather", "tool_search", "tool_search list_stocks")
		if got := o.result(t, "call_2") + o.result(t, "call_4"); got != "Sunny.Up." {
			t.Errorf("%s: the inner agent answered %q", tt.name, got)
		}
		if text := fmt.Sprint(o.events); !strings.Contains(text, "get_weather ran with {}") {
			t.Errorf("%s: the inner agent's events are missing in %s", tt.name, text)
		}
		if text := fmt.Sprint(insider.Requests()[0].Messages); strings.Contains(text, "\ncut_grass\n") == tt.shared {
			t.Errorf("%s: the inner agent is reminded of the wrong catalog: %s", tt.name, text)
		}
	}
}

// Transfer exists for *schema.Message only. Either agent is told what the other did as a
// user's words, and goes on with what it had loaded itself when it is its turn again.
func TestSubAgentLoadsForItself(t *testing.T) {
	for _, w := range allWays() {
		if w.agentic {
			continue
		}
		t.Run(w.String(), func(t *testing.T) {
			ctx, ours := context.Background(), over[*schema.Message](t, newsTools()...)
			newOne := func(name string, turns ...turn) (adk.Agent, *toolsearchtest.Model[*schema.Message]) {
				scripted, config := toolsearchtest.NewModel[*schema.Message](turns...), with(ours)
				config.Name, config.Description, config.Model = name, "Knows", scripted
				return newAgent(t, config), scripted
			}
			transfer := func(to string) turn {
				return toolsearchtest.CallTool("transfer_to_agent", `{"agent_name":"`+to+`"}`)
			}
			chief, chiefModel := newOne("chief", selecting("send_mail"), transfer("aide"), calling("send_mail"), transfer("aide"))
			aide, aideModel := newOne("aide", selecting("get_weather"), transfer("chief"), toolsearchtest.Say("done"))
			agent, err := adk.SetSubAgents(ctx, chief, []adk.Agent{aide})
			if err != nil {
				t.Fatal(err)
			}
			_, err = runAgent(ctx, adk.TypedAgent[*schema.Message](agent), w, question)
			const start = "transfer_to_agent tool_search"
			checkSaw(t, "the chief", outcome{chiefModel.Requests(), nil, err}, start, start+" send_mail", start+" send_mail", start+" send_mail")
			checkSaw(t, "the aide", outcome{aideModel.Requests(), nil, err}, start, start+" get_weather", start+" get_weather")
		})
	}
}

// The deep preset gives its handlers to its general sub-agent too: the same middleware
// runs within itself. Both agents have the one model, whose script shows whose turn it is.
func TestDeepAgentAndItsSubAgentLoadForThemselves(t *testing.T) {
	inAllWays(t, testDeep[*schema.Message], testDeep[*schema.AgenticMessage])
}

func testDeep[M adk.MessageType](t *testing.T, w way) {
	scripted := toolsearchtest.NewModel[M](
		selecting("send_mail"),
		toolsearchtest.CallTool("task", `{"subagent_type":"general-purpose","description":"Weather?"}`),
		selecting("get_weather"), calling("get_weather"), toolsearchtest.Say("Sunny."), // the sub-agent
		calling("send_mail"), toolsearchtest.Say("done"))
	agent, err := deep.NewTyped(context.Background(), &deep.TypedConfig[M]{
		Name: "deep", Description: "Thinks", ChatModel: scripted, Handlers: with(over[M](t, newsTools()...)).Handlers,
	})
	if err != nil {
		t.Fatal(err)
	}
	events, err := runAgent(context.Background(), adk.TypedAgent[M](agent), w, question)
	const start, sub = "write_todos task tool_search", "write_todos tool_search"
	o := outcome{scripted.Requests(), events, err}
	checkSaw(t, "the model", o, start, start+" send_mail", sub, sub+" get_weather", sub+" get_weather", start+" send_mail", start+" send_mail")
	if got := o.result(t, "call_2"); got != "Sunny." {
		t.Errorf("the task's result is %q", got)
	}
}

// A model that is asked again, or another in its place, gets what the first was given,
// also when the retry was handed messages from which the reminder is gone.
func TestRetriedAndFailedOverModelsSeeTheSame(t *testing.T) {
	inAllWays(t, testFailingModels[*schema.Message], testFailingModels[*schema.AgenticMessage])
}

func testFailingModels[M adk.MessageType](t *testing.T, w way) {
	for i := range 8 {
		native, failover, forgets := i&1 != 0, i&2 != 0, i&4 != 0
		name := fmt.Sprintf("native %v, failover %v, reminder dropped %v", native, failover, forgets)
		handed := func(input []M) []M {
			if forgets {
				return input[1:]
			}
			return input
		}
		config := with(newMiddleware[M](t, toolsearch.Config{DynamicTools: newsTools(), UseModelToolSearch: native}))
		backup := toolsearchtest.NewModel[M](calling("send_mail"), toolsearchtest.Say("done"))
		if failover {
			config.ModelFailoverConfig = &adk.ModelFailoverConfig[M]{
				MaxRetries:     1,
				ShouldFailover: func(context.Context, M, error) bool { return true },
				GetFailoverModel: func(_ context.Context, fc *adk.FailoverContext[M]) (model.BaseModel[M], []M, error) {
					return backup, handed(fc.InputMessages), nil
				},
			}
		} else {
			config.ModelRetryConfig = &adk.TypedModelRetryConfig[M]{
				MaxRetries:  1,
				BackoffFunc: func(context.Context, int) time.Duration { return 0 },
				ShouldRetry: func(_ context.Context, rc *adk.TypedRetryContext[M]) *adk.TypedRetryDecision[M] {
					return &adk.TypedRetryDecision[M]{Retry: rc.Err != nil, ModifiedInputMessages: handed(rc.InputMessages), PersistModifiedInputMessages: true}
				},
			}
		}
		o := converse(context.Background(), t, w, config, selecting("send_mail"), toolsearchtest.Fail(errors.New("overloaded")), calling("send_mail"))
		o.requests = append(o.requests, backup.Requests()...)
		start, then := "tool_search", "tool_search send_mail"
		if native {
			start, then = "", ""
		}
		checkSaw(t, name, o, start, then, then, then)
		if failed, again := plainly(o.requests[1]), plainly(o.requests[2]); !slices.Equal(failed, again) {
			t.Errorf("%s: the first attempt got\n %q\nthe second\n %q", name, failed, again)
		}
		if deferred := o.requests[2].DeferredNames(); native != (len(deferred) == 5) {
			t.Errorf("%s: the second attempt got the deferred tools %q", name, deferred)
		}
	}
}

// plainly is what a model goes by in a request.
func plainly(r request) (list []string) {
	for _, m := range r.Messages {
		list = append(list, fmt.Sprint(m.Role, m.Text, m.Calls, m.CallID, m.ToolName, len(m.Found)))
	}
	return append(append(list, r.ToolNames()...), r.DeferredNames()...)
}

// Two catalogs in one agent, each behind a search tool of its own.
func TestTwoMiddlewaresKeepTheirOwnCatalogs(t *testing.T) {
	inAllWays(t, testTwoMiddlewares[*schema.Message], testTwoMiddlewares[*schema.AgenticMessage])
}

func testTwoMiddlewares[M adk.MessageType](t *testing.T, w way) {
	news, garden := "<available-deferred-tools>", `<available-deferred-tools tool="find">`
	for _, tt := range []struct {
		newsFirst, native bool // native: the garden is
		start, after      string
		next              string // a new run loads what the first has, but one middleware's after the other's
	}{
		{true, false, "tool_search find", "tool_search find send_mail cut_grass", "tool_search find send_mail cut_grass"},
		{false, false, "find tool_search", "find tool_search send_mail cut_grass", "find tool_search cut_grass send_mail"},
		{true, true, "tool_search", "tool_search send_mail", "tool_search send_mail"},
		{false, true, "tool_search", "tool_search send_mail", "tool_search send_mail"},
	} {
		loaded := map[string][]string{}
		build := func(name string, native bool, specs ...string) adk.TypedChatModelAgentMiddleware[M] {
			return newMiddleware[M](t, toolsearch.Config{DynamicTools: echoTools(specs...), ToolName: name, UseModelToolSearch: native,
				OnLoaded: func(_ context.Context, names []string) { loaded[name] = names }})
		}
		config := with(build("", false, "get_weather: Weather", "send_mail: Sends"), build("find", tt.native, "cut_grass: Mows", "water_plants: Waters"))
		if !tt.newsFirst {
			slices.Reverse(config.Handlers)
		}
		o := converse(context.Background(), t, w, config,
			selecting("send_mail"),
			toolsearchtest.CallTool("find", `{"query":"select:cut_grass"}`),
			toolsearchtest.CallTools(call{Name: "cut_grass", Arguments: "{}"}, call{Name: "send_mail", Arguments: "{}"}),
			// Neither finds what is the other's.
			toolsearchtest.CallTools(call{Name: "tool_search", Arguments: `{"query":"select:water_plants"}`}, call{Name: "find", Arguments: `{"query":"select:get_weather"}`}),
			// A name no tool has is answered once, with a near name of either.
			toolsearchtest.CallTools(call{Name: "cut_gras", Arguments: "{}"}, call{Name: "get_wether", Arguments: "{}"}))
		if want := []string{tt.start, tt.start + " send_mail", tt.after, tt.after, tt.after, tt.after}; o.err != nil || !slices.Equal(o.saw(), want) {
			t.Errorf("the model saw %q, want %q; error %v", o.saw(), want, o.err)
		}
		checkReminded(t, "the model", o, garden, news)
		for _, m := range o.last().Messages {
			if tag, names, _ := strings.Cut(m.Text, "\n"); tag == news && strings.Contains(names, "cut_grass") || tag == garden && strings.Contains(names, "send_mail") {
				t.Errorf("a reminder lists the other's tools: %s", m.Text)
			}
		}
		for id, want := range map[string]string{
			"call_5": `"not_found":["water_plants"]`, "call_6": `"not_found":["get_weather"]`, "call_7": `"suggestions":["cut_grass"`, "call_8": `"suggestions":["get_weather"`,
		} {
			wordless := id == "call_6" && tt.native && w.agentic // a native miss has no words there
			if text := o.result(t, id); !wordless && (!strings.HasPrefix(text, `{"matches":[]`) || !strings.Contains(text, want)) {
				t.Errorf("%s: got %s, want nothing but %s", id, text, want)
			}
		}
		checkCallAsMade(t, o, called("call_7", "cut_gras", "{}"))
		if !slices.Equal(loaded[""], []string{"send_mail"}) || !slices.Equal(loaded["find"], []string{"cut_grass"}) {
			t.Errorf("OnLoaded was told %q", loaded)
		}

		// The next run starts from what the caller kept: the events.
		clear(loaded)
		scripted := toolsearchtest.NewModel[M](toolsearchtest.Say("done"))
		config.Model = scripted
		history := append(append(slices.Clone(question), o.events...), message{Role: toolsearchtest.User, Text: "And now?"})
		_, err := runAgent(context.Background(), newAgent(t, config), w, history)
		next := outcome{scripted.Requests(), nil, err}
		want := strings.Fields(tt.next)
		if w.agentic && tt.native { // whose result is a text to an adapter that has not marked the call
			want = append(want, map[bool]string{true: "send_mail", false: "cut_grass"}[slices.Contains(want, "cut_grass")])
		}
		if got := next.requests[0].ToolNames(); err != nil || !sameElements(got, want) {
			t.Errorf("the next run's model saw %q, want %q; error %v", got, want, err)
		}
		checkReminded(t, "the next run's model", next, garden, news)
		if !slices.Equal(loaded[""], []string{"send_mail"}) || !slices.Equal(loaded["find"], []string{"cut_grass"}) {
			t.Errorf("in the next run OnLoaded was told %q", loaded)
		}
	}
}

var errMower = errors.New("no mower")

type (
	failingTool   struct{ infoOnly }
	panickingTool struct{ infoOnly }
	breakingTool  struct{ infoOnly } // fails in the middle of its stream
)

func (failingTool) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	return "", errMower
}

func (panickingTool) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	panic(errMower.Error())
}

func (breakingTool) StreamableRun(context.Context, string, ...tool.Option) (textStream, error) {
	reader, writer := schema.Pipe[string](2)
	defer writer.Close()
	writer.Send("half the ", nil)
	writer.Send("", errMower)
	return reader, nil
}

// A tool that fails, or panics, ends its run, alone or beside other calls. That is the
// tool's business; the middleware is as good as before.
func TestToolFailureEndsTheRunAndNothingElse(t *testing.T) {
	inAllWays(t, testToolFailure[*schema.Message], testToolFailure[*schema.AgenticMessage])
}

func testToolFailure[M adk.MessageType](t *testing.T, w way) {
	mower := infoOnly{&schema.ToolInfo{Name: "cut_grass"}}
	for _, broken := range []tool.BaseTool{failingTool{mower}, panickingTool{mower}, breakingTool{mower}} {
		_, panics := broken.(panickingTool)
		ours := over[M](t, append(newsTools(), broken)...)
		for _, calls := range [][]call{{{Name: "cut_grass"}}, {{Name: "send_mail"}, {Name: "cut_grass"}, {Name: "get_weather"}}} {
			o := converse(context.Background(), t, w, with(ours), selecting("cut_grass"), toolsearchtest.CallTools(calls...))
			if o.err == nil || !panics && !errors.Is(o.err, errMower) || !strings.Contains(o.err.Error(), errMower.Error()) {
				t.Errorf("%T, %d calls: the run ended with %v", broken, len(calls), o.err)
			}
			checkSaw(t, "the model", outcome{requests: o.requests}, "tool_search", "tool_search cut_grass")
		}
	}
}

// Runs share the middleware, and one agent too as long as it has no tools of its own
// (with some, plain Eino has a data race). Run with -race.
func TestConcurrentRunsSeeOnlyWhatTheyLoaded(t *testing.T) {
	inAllWays(t, testConcurrentRuns[*schema.Message], testConcurrentRuns[*schema.AgenticMessage])
}

func testConcurrentRuns[M adk.MessageType](t *testing.T, w way) {
	const runs = 32
	var specs []string
	for i := range runs {
		specs = append(specs, fmt.Sprintf("tool_%d: Does", i))
	}
	// A run is known by its question, and its progress by the number of results.
	progress := func(r request) (mine, next string, results int) {
		for _, m := range r.Messages {
			var number int
			if _, err := fmt.Sscanf(m.Text, "Question %d", &number); err == nil {
				mine, next = fmt.Sprintf("tool_%d", number), fmt.Sprintf("tool_%d", (number+1)%runs)
			} else if m.Role == toolsearchtest.Tool {
				results++
			}
		}
		return mine, next, results
	}
	// Each loads two tools, one by finding and one by calling it, and each of the two is
	// loaded in the other way by another run.
	script := slices.Repeat([]turn{{Decide: func(r request) turn {
		mine, next, results := progress(r)
		return []turn{selecting(mine), calling(mine), calling(next), toolsearchtest.Say("done")}[results]
	}}}, 4*runs)
	for _, shared := range []bool{true, false} {
		scripted := toolsearchtest.NewModel[M](script...)
		config := with(over[M](t, echoTools(specs...)...))
		config.Model = scripted
		agent := newAgent(t, config)
		var group sync.WaitGroup
		for i := range runs {
			if !shared {
				agent = newAgent(t, config)
			}
			group.Add(1)
			go func(agent adk.TypedAgent[M]) {
				defer group.Done()
				if _, err := runAgent(context.Background(), agent, w, []message{{Role: toolsearchtest.User, Text: fmt.Sprintf("Question %d", i)}}); err != nil {
					t.Errorf("run %d: %v", i, err)
				}
			}(agent)
		}
		group.Wait()
		o := outcome{requests: scripted.Requests()}
		if n := len(o.requests); n != 4*runs {
			t.Errorf("%d model calls, want %d", n, 4*runs)
		}
		for _, r := range o.requests {
			mine, next, results := progress(r)
			want := [][]string{{"tool_search"}, {"tool_search", mine}, {"tool_search", mine}, {"tool_search", mine, next}}[results]
			if got := r.ToolNames(); !slices.Equal(got, want) {
				t.Errorf("after %d results the run of %s saw %q, want %q", results, mine, got, want)
			}
		}
		checkReminded(t, "the model", o, "<available-deferred-tools>")
	}
}

// TestConcurrentRunsKeepTheirCatalogAndTheirUser: many runs over one middleware, whose source
// changes all the while, each for a user who may have other tools. Run with -race.
func TestConcurrentRunsKeepTheirCatalogAndTheirUser(t *testing.T) {
	inAllWays(t, testConcurrentVisibility[*schema.Message], testConcurrentVisibility[*schema.AgenticMessage])
}

// editionKey is the context key of the edition of the catalog that a run's source answers
// with; the user of a run is allowedKey's.
type editionKey struct{}

func testConcurrentVisibility[M adk.MessageType](t *testing.T, w way) {
	const runs, editions, users = 48, 3, 4
	middleware := newMiddleware[M](t, toolsearch.Config{
		DynamicTools: echoTools("clock: The time"),
		Source: func(ctx context.Context) ([]tool.BaseTool, error) {
			edition := ctx.Value(editionKey{}).(int)
			var specs []string
			for user := range users {
				for _, kind := range []string{"a", "b", "c"} {
					specs = append(specs, fmt.Sprintf("%s_of_user%d_in_edition%d: Does", kind, user, edition))
				}
			}
			return echoTools(specs...), nil
		},
		Filter: func(ctx context.Context, info *schema.ToolInfo) bool {
			return strings.Contains(info.Name, ctx.Value(allowedKey{}).(string)) || info.Name == "clock"
		},
		AlwaysLoaded: []string{"clock"}, MaxLoaded: 2, Preselect: 1, SendEvents: true,
		OnError:  func(_ context.Context, err error) { t.Error(err) },
		OnLoaded: func(context.Context, []string) {},
	})
	var group sync.WaitGroup
	for i := range runs {
		group.Add(1)
		go func() {
			defer group.Done()
			user, edition := fmt.Sprintf("user%d", i%users), i/users%editions
			ctx := context.WithValue(context.WithValue(context.Background(), editionKey{}, edition), allowedKey{}, user)
			name := func(kind string) string { return fmt.Sprintf("%s_of_%s_in_edition%d", kind, user, edition) }
			theirs := fmt.Sprintf("b_of_user%d_in_edition%d", (i+1)%users, edition)
			scripted := toolsearchtest.NewModel[M](
				selecting(name("a")+","+theirs), selecting(name("b")), calling(name("c")), calling(theirs), search(`{"query":"edition"}`), toolsearchtest.Say("done"))
			config := with(middleware)
			config.Model = scripted
			if _, err := runAgent(ctx, newAgent(t, config), w, question); err != nil {
				t.Errorf("run %d: %v", i, err)
				return
			}
			var saw []string
			for _, r := range scripted.Requests() {
				saw = append(saw, strings.Join(slices.DeleteFunc(r.ToolNames(), func(n string) bool { return n == "tool_search" || n == "clock" }), " "))
				if got := announced(r); !slices.Equal(got, []string{name("a"), name("b"), name("c")}) {
					t.Errorf("run %d: the reminder lists %v", i, got)
				}
			}
			want := []string{"", name("a"), name("a") + " " + name("b"), name("b") + " " + name("c"), name("b") + " " + name("c")}
			if got := saw[:5]; !slices.Equal(got, want) {
				t.Errorf("run %d saw\n %s\nwant\n %s", i, strings.Join(got, "\n "), strings.Join(want, "\n "))
			}
			if got := strings.Fields(saw[5]); len(got) != 2 || !strings.Contains(saw[5], user) {
				t.Errorf("run %d saw %v after a search for all", i, got)
			}
		}()
	}
	group.Wait()
}
