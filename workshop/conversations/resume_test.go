package conversations_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/adk/prebuilt/planexecute"
	"github.com/cloudwego/eino/adk/prebuilt/supervisor"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// Runs that are interrupted and resumed from a checkpoint.

// memoryStore is a checkpoint store.
type memoryStore struct {
	mu   sync.Mutex
	data map[string][]byte
}

func (s *memoryStore) Get(_ context.Context, id string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.data[id]
	return data, ok, nil
}

func (s *memoryStore) Set(_ context.Context, id string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.data == nil {
		s.data = map[string][]byte{}
	}
	s.data[id] = data
	return nil
}

// confirmTool interrupts at its call and runs at the resume.
type confirmTool struct{ testtools.PlainTool }

func (c *confirmTool) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	if was, _, _ := tool.GetInterruptState[any](ctx); !was {
		return "", tool.Interrupt(ctx, "really?")
	}
	return "confirmed", nil
}

// restarted plays a conversation up to an interrupt, and goes on from a checkpoint with a new instance of everything,
// over the second config. A last turn that says "done" is added.
func restarted(t *testing.T, w way, c conversation, after toolsearch.Config, then ...turn) outcome {
	t.Helper()
	if w.agentic {
		return restartedOf(t, w, c, agentOver[agentic](t, c.config), agentOver[agentic](t, after), then...)
	}
	return restartedOf(t, w, c, agentOver[chat](t, c.config), agentOver[chat](t, after), then...)
}

func restartedOf[M adk.MessageType](t *testing.T, w way, c conversation, before, after *adk.TypedChatModelAgentConfig[M],
	then ...turn) outcome {
	t.Helper()
	r := &restarting{way: w}
	agent := func(config *adk.TypedChatModelAgentConfig[M], turns ...turn) (adk.TypedAgent[M], *toolsearchtest.Model[M]) {
		model := toolsearchtest.NewModel[M](turns...)
		config.Model, config.ToolsConfig = model, c.tools
		config.ToolsConfig.Tools = c.static
		return newAgent(t, config), model
	}
	first, model := agent(before, c.turns...)
	interrupt(t, r, first)
	require.Len(t, model.Requests(), len(c.turns), "model calls before the interrupt")
	second, model := agent(after, append(then, say("done"))...)
	events, err := resume(t, r, second)
	for i, r := range model.Requests() {
		checkRequest(t, i, r)
	}
	return outcome{model.Requests(), events, err}
}

// inRestarts runs a test for both message types, with and without streaming. Only a Runner can resume.
func inRestarts(t *testing.T, test func(t *testing.T, w way)) {
	t.Helper()
	for i := range 4 {
		w := way{agentic: i&1 != 0, streaming: i&2 != 0, runner: true}
		t.Run(w.String(), func(t *testing.T) { test(t, w) })
	}
}

// A run that is interrupted within a round of tool calls can be resumed from a checkpoint. The
// resumed run has new instances of everything, as after a restart of the process.
func TestResume(t *testing.T) { inRestarts(t, testResume) }

func testResume(t *testing.T, w way) {
	for _, native := range []bool{false, true} {
		for _, static := range [][]tool.BaseTool{nil, testtools.EchoTools("clock: The time")} {
			config := toolsearch.Config{
				DynamicTools: append(testtools.NewsTools(), confirming("delete_all")), UseModelToolSearch: native,
				SendEvents: true, // which Eino keeps in the checkpoint
			}
			// The second round has a search, an unknown name, and a tool that interrupts.
			turns := []turn{selecting("get_weather"), callTools(
				called("s", "tool_search", `{"query":"select:send_mail"}`), called("u", "send_male", `{}`), called("d", "delete_all", `{}`))}
			o := restarted(t, w, conversation{config: config, static: static, turns: turns}, config, calling("get_weather"))
			require.NoError(t, o.err)
			require.Len(t, o.requests, 2, "model calls after the resume")
			for i, r := range o.requests {
				names := r.ToolNames()
				assert.Subset(t, reachable(r), []string{"get_weather", "send_mail", "delete_all"}, "call %d: within reach; tools %v", i, names)
				assert.NotContains(t, names, "list_stocks", "call %d: the tools, of which list_stocks was not loaded", i)
				assert.Equal(t, !native, slices.Contains(names, "tool_search"), "call %d: the tool list", i)
				assert.Equal(t, static != nil, slices.Contains(names, "clock"), "call %d: whether the static tool is in %v", i, names)
			}
			checkCallAsMade(t, o, called("u", "send_male", `{}`))
		}
	}
}

// A run is resumed at the call of a tool that is no longer in the catalog or no longer allowed.
// The tool does not run. The run ends with Eino's error, unless the agent has an
// UnknownToolsHandler that answers the call.
func TestResumeWithoutTheTool(t *testing.T) { inRestarts(t, testResumeWithoutTheTool) }

func testResumeWithoutTheTool(t *testing.T, w way) {
	for i := range 8 {
		isDenied, native, handled := i&1 != 0, i&2 != 0, i&4 != 0
		before := conversation{
			config: toolsearch.Config{DynamicTools: append(testtools.NewsTools(), confirming("delete_all")), UseModelToolSearch: native},
			turns:  []turn{selecting("send_mail"), callTools(called("d", "delete_all", "{}"), called("w", "get_weather", "{}"))},
		}
		if handled {
			before.tools.UnknownToolsHandler = func(_ context.Context, name, _ string) (string, error) {
				return name + " is not there any more", nil
			}
		}
		after := toolsearch.Config{UseModelToolSearch: native}
		if isDenied {
			after = before.config
			after.Filter = toolsearch.FilterTools(nil, []string{"send_mail", "get_weather"})
		}
		o := restarted(t, w, before, after, calling("get_weather"))
		if !handled {
			assert.ErrorContains(t, o.err, "delete_all not found")
			assert.Empty(t, o.requests, "model calls")
			continue
		}
		require.NoError(t, o.err)
		assert.Equal(t, "delete_all is not there any more", o.result(t, "d"), "the answer to the call")
		for i, r := range o.requests {
			assert.NotContains(t, append(r.ToolNames(), r.DeferredNames()...), "delete_all", "call %d: the tools", i)
			assert.NotContains(t, announced(r), "delete_all", "call %d: the reminder", i)
			assert.Subset(t, reachable(r), []string{"send_mail", "get_weather"}, "call %d: within reach", i)
		}
	}
}

// approving is a middleware that interrupts before remove_tool runs.
type approving[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
}

func (approving[M]) WrapInvokableToolCall(_ context.Context, next adk.InvokableToolCallEndpoint,
	call *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
		if was, _, _ := tool.GetInterruptState[any](ctx); !was && call.Name == "remove_tool" {
			return "", tool.Interrupt(ctx, "really?")
		}
		return next(ctx, arguments, opts...)
	}, nil
}

// A run is resumed at a call of remove_tool. The tool is removed, although the resumed run has had
// no model call that says what is loaded.
func TestResumeRemoves(t *testing.T) {
	ofBothTypes(t, testResumeRemoves[chat], testResumeRemoves[agentic])
}

func testResumeRemoves[M adk.MessageType](t *testing.T) {
	agent := func() *adk.TypedChatModelAgentConfig[M] {
		adding := newMiddleware[M](t, toolsearch.Config{Protocol: toolsearch.ProtocolSearchAdd, AlwaysLoaded: []string{"list_stocks"}})
		return with(adding, approving[M]{&adk.TypedBaseChatModelAgentMiddleware[M]{}})
	}
	o := restartedOf(t, way{}, conversation{turns: []turn{adding("get_weather,send_mail"), removing("get_weather,list_stocks")}}, agent(), agent())
	require.NoError(t, o.err)
	assert.Contains(t, o.last().Messages[len(o.last().Messages)-1].Text, `{"removed":["get_weather"],"not_found":["list_stocks"]`)
	assert.Equal(t, "search_tools add_tool show_all_tools remove_tool list_stocks send_mail", o.saw()[0])
}

// These tests interrupt Eino's presets in an inner agent and resume them as after a restart, with
// and without a Session. Each preset is played by two scripts, one for each process. The inner
// agent calls delete_all, which asks for a confirmation.

// inResumableWays runs a test with and without streaming, for both message types or for
// *schema.Message alone. Only a Runner can resume.
func inResumableWays(t *testing.T, forMessage, forAgentic func(t *testing.T, w way)) {
	t.Helper()
	for _, w := range allWays() {
		test := forMessage
		if w.agentic {
			test = forAgentic
		}
		if w.runner && test != nil {
			t.Run(w.String(), func(t *testing.T) { test(t, w) })
		}
	}
}

// restarting is a conversation of several agents over two processes.
type restarting struct {
	way
	store   memoryStore
	session *toolsearch.Session // of the second process; nil means none
}

func (r *restarting) context() context.Context {
	if r.session == nil {
		return context.Background()
	}
	return toolsearch.WithSession(context.Background(), r.session)
}

// eachRestarted plays a conversation over two processes twice. With a session, which goes from one
// process to the other as JSON, what(name) is name. Without a session, what(name) is "".
func eachRestarted(t *testing.T, w way, play func(t *testing.T, r *restarting, what func(name string) string), loaded ...string) {
	t.Helper()
	t.Run("without a session", func(t *testing.T) {
		play(t, &restarting{way: w}, func(string) string { return "" })
	})
	t.Run("with a session", func(t *testing.T) {
		r := &restarting{way: w, session: toolsearch.NewSession()}
		play(t, r, func(name string) string { return name })
		assert.Equal(t, loaded, r.session.Loaded(), "what the session has")
	})
}

// interrupt runs an agent until a tool asks for a confirmation, and ends its process.
func interrupt[M adk.MessageType](t *testing.T, r *restarting, agent adk.TypedAgent[M]) {
	t.Helper()
	runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, EnableStreaming: r.streaming, CheckPointStore: &r.store})
	_, err := drain(runner.Run(r.context(), encoded[M](question...), adk.WithCheckPointID("1")))
	require.NoError(t, err)
	require.Contains(t, r.store.data, "1", "the checkpoint of the interrupted run")
	if r.session != nil {
		text := testtools.Must(json.Marshal(r.session))(t)
		r.session = &toolsearch.Session{}
		require.NoError(t, json.Unmarshal(text, r.session))
	}
}

// resume resumes the run with an agent of a new process.
func resume[M adk.MessageType](t *testing.T, r *restarting, agent adk.TypedAgent[M]) ([]message, error) {
	t.Helper()
	runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, EnableStreaming: r.streaming, CheckPointStore: &r.store})
	iterator := testtools.Must(runner.Resume(r.context(), "1"))(t)
	return drain(iterator)
}

// careful returns a middleware over the news and a tool that asks for a confirmation.
func careful[M adk.MessageType](t *testing.T) adk.TypedChatModelAgentMiddleware[M] {
	t.Helper()
	return over[M](t, append(testtools.NewsTools(), confirming("delete_all"))...)
}

// sawOf returns what a model saw, call by call.
func sawOf[M adk.MessageType](scripted *toolsearchtest.Model[M]) []string {
	return outcome{requests: scripted.Requests()}.saw()
}

func TestRestartInATaskOfTheDeepAgent(t *testing.T) {
	inResumableWays(t, testRestartDeep[chat], testRestartDeep[agentic])
}

func testRestartDeep[M adk.MessageType](t *testing.T, w way) {
	eachRestarted(t, w, func(t *testing.T, r *restarting, what func(string) string) {
		process := func(turns ...turn) (adk.TypedAgent[M], *toolsearchtest.Model[M]) {
			scripted := toolsearchtest.NewModel[M](turns...)
			agent, err := deep.NewTyped(context.Background(), &deep.TypedConfig[M]{
				Name: "deep", Description: "Thinks", ChatModel: scripted, Handlers: with(careful[M](t)).Handlers,
			})
			require.NoError(t, err)
			return agent, scripted
		}
		task := callTool("task", `{"subagent_type":"general-purpose","description":"Tidy up"}`)
		agent, scripted := process(selecting("send_mail"), task, selecting("delete_all"), calling("delete_all"))
		interrupt(t, r, agent)
		const start, sub = "write_todos task tool_search", "write_todos tool_search"
		tidying := sub + what(" send_mail") + " delete_all"
		assert.Equal(t, []string{start, start + " send_mail", sub + what(" send_mail"), tidying}, sawOf(scripted), "before the restart")

		agent, scripted = process(say("Tidy."), task, say("Still tidy."), say("done"))
		_, err := resume(t, r, agent)
		require.NoError(t, err)
		knows := start + " send_mail" + what(" delete_all")
		assert.Equal(t, []string{tidying, knows, sub + what(" send_mail delete_all"), knows}, sawOf(scripted), "after the restart")
	}, "send_mail", "delete_all")
}

func TestRestartInAnAgentAsTool(t *testing.T) {
	inResumableWays(t, testRestartAgentTool[chat], testRestartAgentTool[agentic])
}

func testRestartAgentTool[M adk.MessageType](t *testing.T, w way) {
	for name, own := range map[string]bool{"shares": false, "does not share": true} {
		t.Run(name, func(t *testing.T) {
			loaded := []string{"send_mail", "delete_all"}
			if own {
				loaded = []string{"send_mail"}
			}
			eachRestarted(t, w, func(t *testing.T, r *restarting, shared func(string) string) {
				what := shared
				if own {
					what = func(string) string { return "" }
				}
				process := func(outer, inner []turn) (agent adk.TypedAgent[M], outside, insider *toolsearchtest.Model[M]) {
					outside, insider = toolsearchtest.NewModel[M](outer...), toolsearchtest.NewModel[M](inner...)
					within := with(careful[M](t))
					if own {
						within = with[M](&handler[M]{ownSession: true}, careful[M](t))
					}
					within.Name, within.Description, within.Model = "insider", "Knows", insider
					config := with(careful[M](t))
					config.Model = outside
					config.ToolsConfig = toolsConfig(adk.NewTypedAgentTool(context.Background(), adk.TypedAgent[M](newAgent(t, within))))
					return newAgent(t, config), outside, insider
				}
				ask := callTool("insider", `{"request":"Tidy up"}`)
				agent, outside, insider := process([]turn{selecting("send_mail"), ask}, []turn{selecting("delete_all"), calling("delete_all")})
				interrupt(t, r, agent)
				const start = "insider tool_search"
				inside := "tool_search" + what(" send_mail")
				assert.Equal(t, []string{start, start + " send_mail"}, sawOf(outside), "outside, before the restart")
				assert.Equal(t, []string{inside, inside + " delete_all"}, sawOf(insider), "inside, before the restart")

				agent, outside, insider = process([]turn{ask, say("done")}, []turn{say("Tidy."), say("Still tidy.")})
				_, err := resume(t, r, agent)
				require.NoError(t, err)
				knows := start + " send_mail" + what(" delete_all")
				assert.Equal(t, []string{knows, knows}, sawOf(outside), "outside, after the restart")
				assert.Equal(t, []string{inside + " delete_all", inside + what(" delete_all")}, sawOf(insider), "inside, after the restart")
			}, loaded...)
		})
	}
}

func TestRestartUnderASupervisor(t *testing.T) {
	inResumableWays(t, func(t *testing.T, w way) {
		eachRestarted(t, w, func(t *testing.T, r *restarting, what func(string) string) {
			process := func(chief, aide, clerk []turn) (adk.Agent, map[string]*toolsearchtest.Model[chat]) {
				models, agents := map[string]*toolsearchtest.Model[chat]{}, map[string]adk.Agent{}
				for name, turns := range map[string][]turn{"chief": chief, "aide": aide, "clerk": clerk} {
					models[name] = toolsearchtest.NewModel[chat](turns...)
					config := with(careful[chat](t))
					config.Name, config.Description, config.Model = name, "Knows", models[name]
					agents[name] = newAgent(t, config)
				}
				agent, err := supervisor.New(context.Background(), &supervisor.Config{
					Supervisor: agents["chief"], SubAgents: []adk.Agent{agents["aide"], agents["clerk"]},
				})
				require.NoError(t, err)
				return agent, models
			}
			agent, models := process([]turn{selecting("send_mail"), transfer("aide")}, []turn{selecting("delete_all"), calling("delete_all")}, nil)
			interrupt(t, r, adk.TypedAgent[chat](agent))
			const start = "transfer_to_agent tool_search"
			assert.Equal(t, []string{start, start + " send_mail"}, sawOf(models["chief"]), "the chief, before the restart")
			aided := "tool_search" + what(" send_mail")
			assert.Equal(t, []string{aided, aided + " delete_all"}, sawOf(models["aide"]), "the aide, before the restart")

			agent, models = process([]turn{transfer("clerk"), say("done")}, []turn{say("Tidy.")}, []turn{say("Filed.")})
			_, err := resume(t, r, adk.TypedAgent[chat](agent))
			require.NoError(t, err)
			assert.Equal(t, []string{aided + " delete_all"}, sawOf(models["aide"]), "the aide, after the restart")
			knows := start + " send_mail" + what(" delete_all")
			assert.Equal(t, []string{knows, knows}, sawOf(models["chief"]), "the chief, after the restart")
			assert.Equal(t, []string{"tool_search" + what(" send_mail delete_all")}, sawOf(models["clerk"]), "the clerk")
		}, "send_mail", "delete_all")
	}, nil)
}

func TestRestartInAStepOfAPlan(t *testing.T) {
	inResumableWays(t, func(t *testing.T, w way) {
		eachRestarted(t, w, func(t *testing.T, r *restarting, what func(string) string) {
			process := func(replans []turn, turns ...turn) (adk.Agent, *toolsearchtest.Model[chat]) {
				scripted := toolsearchtest.NewModel[chat](turns...)
				executor, err := adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{
					Name: "executor", Description: "an executor agent", Model: scripted, OutputKey: planexecute.ExecutedStepSessionKey,
					Handlers: []adk.ChatModelAgentMiddleware{careful[chat](t)},
					GenModelInput: func(context.Context, string, *adk.AgentInput) ([]adk.Message, error) {
						return []adk.Message{schema.UserMessage("Take the next step.")}, nil
					},
				})
				require.NoError(t, err)
				return planOf(t, executor, `{"steps":["Look up the weather","Tidy up","Mail it"]}`, replans...), scripted
			}
			agent, scripted := process([]turn{replan("Tidy up")},
				selecting("send_mail,get_weather"), say("Sunny."), // the first step
				selecting("delete_all"), calling("delete_all")) // the second step
			interrupt(t, r, adk.TypedAgent[chat](agent))
			second := "tool_search" + what(" send_mail get_weather")
			assert.Equal(t, []string{"tool_search", "tool_search send_mail get_weather", second, second + " delete_all"},
				sawOf(scripted), "before the restart")

			agent, scripted = process([]turn{replan("Mail it"), respond},
				say("Tidy."),                              // the end of the second step
				calling("get_weather"), say("It is out.")) // the third step
			_, err := resume(t, r, adk.TypedAgent[chat](agent))
			require.NoError(t, err)
			third := "tool_search" + what(" send_mail get_weather delete_all")
			called := third
			if what("x") == "" {
				called = "tool_search get_weather" // the call loads its tool
			}
			assert.Equal(t, []string{second + " delete_all", third, called}, sawOf(scripted), "after the restart")
		}, "send_mail", "get_weather", "delete_all")
	}, nil)
}
