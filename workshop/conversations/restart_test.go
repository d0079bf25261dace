package conversations_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/adk/prebuilt/planexecute"
	"github.com/cloudwego/eino/adk/prebuilt/supervisor"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

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
		text, err := json.Marshal(r.session)
		require.NoError(t, err)
		r.session = &toolsearch.Session{}
		require.NoError(t, json.Unmarshal(text, r.session))
	}
}

// resume resumes the run with an agent of a new process.
func resume[M adk.MessageType](t *testing.T, r *restarting, agent adk.TypedAgent[M]) {
	t.Helper()
	runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, EnableStreaming: r.streaming, CheckPointStore: &r.store})
	iterator, err := runner.Resume(r.context(), "1")
	require.NoError(t, err)
	_, err = drain(iterator)
	require.NoError(t, err)
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
		resume(t, r, agent)
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
						within = with(adk.TypedChatModelAgentMiddleware[M](ownSession[M]{&adk.TypedBaseChatModelAgentMiddleware[M]{},
							func() *toolsearch.Session { return toolsearch.NewSession() }}), careful[M](t))
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
				resume(t, r, agent)
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
			resume(t, r, adk.TypedAgent[chat](agent))
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
			assert.Equal(t, []string{"tool_search", "tool_search send_mail get_weather", second, second + " delete_all"}, sawOf(scripted), "before the restart")

			agent, scripted = process([]turn{replan("Mail it"), respond},
				say("Tidy."),                              // the end of the second step
				calling("get_weather"), say("It is out.")) // the third step
			resume(t, r, adk.TypedAgent[chat](agent))
			third := "tool_search" + what(" send_mail get_weather delete_all")
			called := third
			if what("x") == "" {
				called = "tool_search get_weather" // the call loads its tool
			}
			assert.Equal(t, []string{second + " delete_all", third, called}, sawOf(scripted), "after the restart")
		}, "send_mail", "get_weather", "delete_all")
	}, nil)
}
