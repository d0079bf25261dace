package conversations_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// These tests put the middleware into agents of many kinds: agents inside agents, agents whose models
// or tools fail, agents with several middlewares, and agents that run many times at the same time.

func TestReturnDirectlyEndsTheRun(t *testing.T) { everyWay(t, testReturnDirectly) }

func testReturnDirectly(t *testing.T, w way) {
	find, callIt := selecting("get_weather"), calling("get_weather")
	for _, tt := range []struct {
		name   string
		config toolsearch.Config
		turns  []turn
		saw    []string
	}{
		{"found first", toolsearch.Config{}, []turn{find, callIt}, []string{"tool_search", "tool_search get_weather"}},
		{"hidden", toolsearch.Config{}, []turn{callIt}, []string{"tool_search"}},
		// A refusal is not the tool's result, so it does not end the run.
		{"refused first", toolsearch.Config{Unloaded: toolsearch.UnloadedRefuse}, []turn{callIt, find, callIt},
			[]string{"tool_search", "tool_search", "tool_search get_weather"}},
		{"dispatched with wrong arguments first", using(toolsearch.ProtocolDispatch),
			[]turn{dispatching("get_weather", `{"city":7}`), dispatching("get_weather", "{}")}, slices.Repeat([]string{"tool_search call_tool"}, 2)},
	} {
		session := toolsearch.NewSession()
		o := play(t, conversation{config: tt.config, ctx: toolsearch.WithSession(context.Background(), session), turns: tt.turns,
			tools: adk.ToolsConfig{ReturnDirectly: map[string]bool{"get_weather": true}}}, w)
		checkSaw(t, tt.name, o, tt.saw...)
		assert.Equal(t, []string{"get_weather"}, session.Loaded(), "%s: what the session has", tt.name)
		require.Len(t, o.events, 2*len(tt.turns), tt.name)
		assert.Equal(t, "get_weather ran with {}", o.events[len(o.events)-1].Text, "%s: the end of the run", tt.name)
	}
}

// A retried model, and a model that takes over from a failed one, sees what the first attempt
// saw. This holds too when the reminder is missing from the messages of the retry.
func TestRetriedAndFailedOverModelsSeeTheSame(t *testing.T) {
	inAllWays(t, testFailingModels[chat], testFailingModels[agentic])
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
		config := agentOver[M](t, toolsearch.Config{UseModelToolSearch: native})
		backup := toolsearchtest.NewModel[M](calling("send_mail"), say("done"))
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
					return &adk.TypedRetryDecision[M]{Retry: rc.Err != nil, ModifiedInputMessages: handed(rc.InputMessages),
						PersistModifiedInputMessages: true}
				},
			}
		}
		o := converse(t, w, config, selecting("send_mail"), toolsearchtest.Fail(errors.New("overloaded")), calling("send_mail"))
		o.requests = append(o.requests, backup.Requests()...)
		start, then, deferred := "tool_search", "tool_search send_mail", 0
		if native {
			start, then, deferred = "", "", 5
		}
		checkSaw(t, name, o, start, then, then, then)
		require.Greater(t, len(o.requests), 2, name)
		assert.Equal(t, plainly(o.requests[1]), plainly(o.requests[2]), "%s: what the second attempt got", name)
		assert.Len(t, o.requests[2].DeferredNames(), deferred, "%s: the deferred tools of the second attempt", name)
	}
}

// plainly returns what matters to a model in a request.
func plainly(r request) (list []string) {
	for _, m := range r.Messages {
		list = append(list, fmt.Sprint(m.Role, m.Text, m.Calls, m.CallID, m.ToolName, len(m.Found)))
	}
	return append(append(list, r.ToolNames()...), r.DeferredNames()...)
}

// An agent can have two catalogs, each with its own search tool. Neither search tool finds the
// tools of the other catalog.
func TestTwoMiddlewaresKeepTheirOwnCatalogs(t *testing.T) { everyWay(t, testTwoMiddlewares) }

func testTwoMiddlewares(t *testing.T, w way) {
	news, garden := "<available-deferred-tools>", `<available-deferred-tools tool="find">`
	for _, tt := range []struct {
		newsFirst, native bool // native is the protocol of the garden's catalog
		start, after      string
		next              string // the loaded tools of the next run, which are in the order of the middlewares
	}{
		{true, false, "tool_search find", "tool_search find send_mail cut_grass", "tool_search find send_mail cut_grass"},
		{false, false, "find tool_search", "find tool_search send_mail cut_grass", "find tool_search cut_grass send_mail"},
		{true, true, "tool_search", "tool_search send_mail", "tool_search send_mail"},
		{false, true, "tool_search", "tool_search send_mail", "tool_search send_mail"},
	} {
		configs := []toolsearch.Config{
			{DynamicTools: testtools.EchoTools("get_weather: Weather", "send_mail: Sends")},
			{DynamicTools: testtools.EchoTools("cut_grass: Mows", "water_plants: Waters"), ToolName: "find", UseModelToolSearch: tt.native}}
		if !tt.newsFirst {
			slices.Reverse(configs)
		}
		agent := playing(t, w, configs...)
		run := func(history []message, turns ...turn) outcome {
			session := toolsearch.NewSession()
			o := agent(conversation{ctx: toolsearch.WithSession(context.Background(), session), history: history, turns: turns})
			assert.NoError(t, o.err)
			checkReminded(t, "the model", o, garden, news)
			assert.ElementsMatch(t, []string{"send_mail", "cut_grass"}, session.Loaded(), "what the session has")
			return o
		}
		o := run(nil,
			selecting("send_mail"),
			callTool("find", `{"query":"select:cut_grass"}`),
			callTools(call{Name: "cut_grass", Arguments: "{}"}, call{Name: "send_mail", Arguments: "{}"}),
			// Each search tool is asked for a tool of the other catalog.
			callTools(call{Name: "tool_search", Arguments: `{"query":"select:water_plants"}`},
				call{Name: "find", Arguments: `{"query":"select:get_weather"}`}),
			// An unknown name is answered once, with a near name from either catalog.
			callTools(call{Name: "cut_gras", Arguments: "{}"}, call{Name: "get_wether", Arguments: "{}"}))
		assert.Equal(t, []string{tt.start, tt.start + " send_mail", tt.after, tt.after, tt.after, tt.after}, o.saw(), "what the model saw")
		for _, m := range o.last().Messages {
			switch tag, names, _ := strings.Cut(m.Text, "\n"); tag {
			case news:
				assert.NotContains(t, names, "cut_grass", "the reminder of the news")
			case garden:
				assert.NotContains(t, names, "send_mail", "the reminder of the garden")
			}
		}
		for id, want := range map[string]string{
			"call_5": `"not_found":["water_plants"]`, "call_6": `"not_found":["get_weather"]`, "call_7": `"suggestions":["cut_grass"`,
			"call_8": `"suggestions":["get_weather"`,
		} {
			wordless := id == "call_6" && tt.native && w.agentic // a native result without tools has no text
			if text := o.result(t, id); !wordless {
				assert.True(t, strings.HasPrefix(text, `{"matches":[]`), "%s: the result %s begins with no matches", id, text)
				assert.Contains(t, text, want, id)
			}
		}
		checkCallAsMade(t, o, called("call_7", "cut_gras", "{}"))

		// The history of the next run is made of the events.
		want := strings.Fields(tt.next)
		if w.agentic && tt.native { // adapters have not marked the call, so the result stays a text
			want = append(want, map[bool]string{true: "send_mail", false: "cut_grass"}[slices.Contains(want, "cut_grass")])
		}
		next := run(slices.Concat(question, o.events))
		assert.ElementsMatch(t, want, next.requests[0].ToolNames(), "what the next run's model saw")
	}
}

var errMower = errors.New("no mower")

// A tool that fails or panics ends its run, whether it is called alone or beside other tools. The
// next runs with the same middleware are as before.
func TestToolFailureEndsTheRunAndNothingElse(t *testing.T) { everyWay(t, testToolFailure) }

func testToolFailure(t *testing.T, w way) {
	mower := testtools.InfoOnly{Of: &schema.ToolInfo{Name: "cut_grass"}}
	for i, broken := range []tool.BaseTool{errorTool{mower, mows}, textStreamTool{mower, breaks("half the ")}, errorTool{mower, panics}} {
		agent := playing(t, w, toolsearch.Config{DynamicTools: append(testtools.NewsTools(), broken)})
		for _, calls := range [][]call{{{Name: "cut_grass"}}, {{Name: "send_mail"}, {Name: "cut_grass"}, {Name: "get_weather"}}} {
			o := agent(conversation{turns: []turn{selecting("cut_grass"), callTools(calls...)}})
			assert.ErrorContains(t, o.err, errMower.Error(), "tool %d, %d calls: the end of the run", i, len(calls))
			if i < 2 {
				assert.ErrorIs(t, o.err, errMower, "tool %d, %d calls: the end of the run", i, len(calls))
			}
			checkSaw(t, "the model", outcome{requests: o.requests}, "tool_search", "tool_search cut_grass")
		}
	}
}

// Runs at the same time keep the catalog and the user that they started with. They share a
// middleware whose source changes all the time, and each user may see other tools. Run this test
// with -race.
func TestConcurrentRunsKeepTheirCatalogAndTheirUser(t *testing.T) {
	inAllWays(t, testConcurrentVisibility[chat], testConcurrentVisibility[agentic])
}

func testConcurrentVisibility[M adk.MessageType](t *testing.T, w way) {
	const runs, editions, users = 48, 3, 4
	var asked atomic.Int32
	middleware := newMiddleware[M](t, toolsearch.Config{
		DynamicTools: testtools.EchoTools("clock: The time"),
		Groups: []toolsearch.Group{{Source: func(ctx context.Context) ([]tool.BaseTool, error) {
			edition := asked.Add(1) % editions
			var specs []string
			for user := range users {
				for _, kind := range []string{"a", "b", "c"} {
					specs = append(specs, fmt.Sprintf("%s_of_user%d_in_edition%d: Does", kind, user, edition))
				}
			}
			return testtools.EchoTools(specs...), nil
		}}, {Source: func(context.Context) ([]tool.BaseTool, error) { // nobody may see what changes in this group
			return testtools.EchoTools("bell: Rings", fmt.Sprintf("bell_%d: Rings", asked.Load()%editions)), nil
		}}},
		Filter: func(ctx context.Context, doc toolsearch.Document) bool {
			return strings.Contains(doc.Name, ctx.Value(allowedKey{}).(string)) || doc.Name == "clock" || doc.Name == "bell"
		},
		AlwaysLoaded: []string{"clock", "bell"}, Limits: toolsearch.Limits{MaxLoaded: 2}, Preselect: 1, SendEvents: true,
		OnEvent: onFailure(func(err error) { assert.ErrorContains(t, err, "Group.PerCaller") }), // the answers alternate
	})
	var group sync.WaitGroup
	for i := range runs {
		user, other := fmt.Sprintf("user%d", i%users), fmt.Sprintf("user%d", (i+1)%users)
		// The run's edition is that of its reminder.
		name := func(r request, kind, user string) string {
			listed := announced(r)
			if len(listed) == 0 {
				return "no reminder"
			}
			_, edition, _ := strings.Cut(listed[0], "_in_")
			return kind + "_of_" + user + "_in_" + edition
		}
		var mine []string // of the run's edition and user
		run := conversing(as(user), t, w, with(middleware), question,
			turn{Decide: func(r request) turn {
				mine = []string{name(r, "a", user), name(r, "b", user), name(r, "c", user)}
				return selecting(mine[0] + "," + name(r, "b", other))
			}},
			turn{Decide: func(r request) turn { return selecting(name(r, "b", user)) }},
			turn{Decide: func(r request) turn { return calling(name(r, "c", user)) }},
			turn{Decide: func(r request) turn { return calling(name(r, "b", other)) }},
			searching(`{"query":"edition"}`))
		group.Go(func() {
			o := run()
			assert.NoError(t, o.err, "run %d", i)
			var saw []string
			for _, r := range o.requests {
				saw = append(saw, strings.Join(slices.DeleteFunc(r.ToolNames(),
					func(n string) bool { return n == "tool_search" || n == "clock" || n == "bell" }), " "))
				assert.Subset(t, r.ToolNames(), []string{"clock", "bell"}, "run %d", i)
				assert.Equal(t, mine, announced(r), "run %d: what the reminder lists", i)
			}
			if !assert.Greater(t, len(saw), 5, "run %d: model calls", i) {
				return
			}
			want := []string{"", mine[0], mine[0] + " " + mine[1], mine[1] + " " + mine[2], mine[1] + " " + mine[2]}
			assert.Equal(t, want, saw[:5], "what run %d saw", i)
			assert.Len(t, strings.Fields(saw[5]), 2, "what run %d saw after a search that finds every tool", i)
			assert.Contains(t, saw[5], user, "what run %d saw after a search that finds every tool", i)
		})
	}
	group.Wait()
}
