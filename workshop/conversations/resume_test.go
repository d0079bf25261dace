package conversations_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/adk/prebuilt/planexecute"
	"github.com/cloudwego/eino/adk/prebuilt/supervisor"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/cost/agents"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// Runs that are interrupted and resumed from a checkpoint.

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

// approving is a middleware that interrupts before a call with certain arguments runs.
type approving[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	arguments string
}

func (a approving[M]) WrapInvokableToolCall(_ context.Context, next adk.InvokableToolCallEndpoint,
	_ *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
		if was, _, _ := tool.GetInterruptState[any](ctx); !was && arguments == a.arguments {
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
		return with(adding, approving[M]{&adk.TypedBaseChatModelAgentMiddleware[M]{}, removing("get_weather,list_stocks").Calls[0].Arguments})
	}
	o := restartedOf(t, way{}, conversation{turns: []turn{adding("get_weather,send_mail"),
		removing("get_weather,list_stocks")}}, agent(), agent())
	require.NoError(t, o.err)
	assert.Contains(t, o.last().Messages[len(o.last().Messages)-1].Text, `{"removed":["get_weather"],"not_found":["list_stocks"]`)
	assert.Equal(t, "search_tools add_tool show_all_tools remove_tool list_stocks send_mail", o.saw()[0])
}

// A run is resumed at a search. The answer depends on what the model saw and on the user's request, as without an
// interrupt.
func TestResumeSearches(t *testing.T) {
	ofBothTypes(t, testResumeSearches[chat], testResumeSearches[agentic])
}

func testResumeSearches[M adk.MessageType](t *testing.T) {
	mails := `{"query":"mail","max_results":2}`
	c := conversation{turns: []turn{selecting("mail_0"), callTools(called("m", "tool_search", mails+" "))}}
	for _, protocol := range []toolsearch.Protocol{toolsearch.ProtocolToolSearch, toolsearch.ProtocolDispatch, toolsearch.ProtocolAnchored} {
		config := toolsearch.Config{Protocol: protocol, Index: toolsearch.BM25, SendEvents: true,
			DynamicTools: testtools.EchoTools("mail_0: Mail", "mail_1: Mail", "mail_2: Mail", "mail_3: Mail", "mail_4: Mail, what is new")}
		agent := func() *adk.TypedChatModelAgentConfig[M] {
			return with(newMiddleware[M](t, config), approving[M]{&adk.TypedBaseChatModelAgentMiddleware[M]{}, mails + " "})
		}
		want := playingOf[M](t, way{}, []toolsearch.Config{config})(c).result(t, "m")
		assert.Equal(t, want, restartedOf(t, way{}, c, agent(), agent()).result(t, "m"), "the answer under %v", protocol)
		assert.Contains(t, want, "mail_4", "which the request asks for")
	}
}

// What a resumed run recalls is no news: its session gets all that is loaded, and no event says that a tool is gone, not
// even one that a Filter now denies.
func TestResumeTellsNothing(t *testing.T) {
	for _, protocol := range []toolsearch.Protocol{toolsearch.ProtocolToolSearch, toolsearch.ProtocolDispatch, toolsearch.ProtocolAnchored} {
		var told []toolsearch.Event
		mails := `{"query":"send_mail"}`
		agent := func(filter func(context.Context, toolsearch.Document) bool, turns ...turn) adk.TypedAgent[chat] {
			config := with(newMiddleware[chat](t, toolsearch.Config{Protocol: protocol, Index: toolsearch.BM25, Filter: filter,
				OnEvent: func(_ context.Context, e toolsearch.Event) { told = append(told, e) }}), approving[chat]{arguments: mails})
			config.Model = toolsearchtest.NewModel[chat](turns...)
			return newAgent(t, config)
		}
		r := &restarting{}
		interrupt(t, r, agent(nil, selecting("get_weather,list_stocks"), callTools(called("m", "tool_search", mails))))
		told, r.session = nil, toolsearch.NewSession()
		_, err := resume(t, r, agent(toolsearch.FilterTools(nil, []string{"send_mail", "list_stocks"}), say("done")))
		require.NoError(t, err)
		assert.Subset(t, r.session.Loaded(), []string{"send_mail", "list_stocks"}, protocol)
		assert.NotContains(t, fmt.Sprintf("%+v", told), "get_weather", protocol)
		for _, e := range told {
			_, isLoad := e.(*toolsearch.LoadEvent)
			assert.False(t, isLoad, "%v: %+v", protocol, e)
		}
	}
}

// restarting is a conversation of several agents over two processes.
type restarting struct {
	way
	store   testtools.MemoryStore
	session *toolsearch.Session // of the second process; nil means none
}

func (r *restarting) context() context.Context {
	if r.session == nil {
		return context.Background()
	}
	return toolsearch.WithSession(context.Background(), r.session)
}

// interrupt runs an agent until a tool asks for a confirmation, and ends its process.
func interrupt[M adk.MessageType](t *testing.T, r *restarting, agent adk.TypedAgent[M]) {
	t.Helper()
	runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, EnableStreaming: r.streaming, CheckPointStore: &r.store})
	_, err := drain(runner.Run(r.context(), encoded[M](question...), adk.WithCheckPointID("1")))
	require.NoError(t, err)
	_, saved := r.store.Load("1")
	require.True(t, saved, "the checkpoint of the interrupted run")
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

// These tests interrupt Eino's presets in an inner agent and resume them as after a restart, with
// and without a Session. Each preset is played by two scripts, one for each process. The inner
// agent calls delete_all, which asks for a confirmation.

// A preset is made of agents whose models play scripts.
type preset[M adk.MessageType] struct {
	name   string
	agent  func(t *testing.T, models map[string]*toolsearchtest.Model[M]) adk.TypedAgent[M]
	turns  [2]map[string][]turn   // by process and model
	saw    [2]map[string][]string // what the models see; what is in brackets needs a session that the agents share
	loaded string                 // what that session has in the end
}

func TestRestarts(t *testing.T) {
	inAllWays(t,
		func(t *testing.T, w way) { testRestarts(t, w, append(presets[chat](), presetsOfMessages()...)) },
		func(t *testing.T, w way) { testRestarts(t, w, presets[agentic]()) })
}

func testRestarts[M adk.MessageType](t *testing.T, w way, presets []preset[M]) {
	if !w.runner {
		t.Skip("only a Runner can resume")
	}
	for _, p := range presets {
		for _, session := range []*toolsearch.Session{nil, toolsearch.NewSession()} {
			t.Run(fmt.Sprintf("%s, with a session %v", p.name, session != nil), func(t *testing.T) {
				r, brackets := &restarting{way: w, session: session}, regexp.MustCompile(`\[.*?\]`)
				if session != nil {
					brackets = regexp.MustCompile(`[\[\]]`)
				}
				for process, scripts := range p.turns {
					models := map[string]*toolsearchtest.Model[M]{}
					for name, turns := range scripts {
						models[name] = toolsearchtest.NewModel[M](turns...)
					}
					if agent := p.agent(t, models); process == 0 {
						interrupt(t, r, agent)
					} else {
						_, err := resume(t, r, agent)
						require.NoError(t, err)
					}
					for name, saw := range p.saw[process] {
						want := brackets.ReplaceAllString(strings.Join(saw, "\n"), "")
						assert.Equal(t, want, strings.Join(sawOf(models[name]), "\n"), "what %s saw in process %d", name, process)
					}
				}
				if session != nil {
					assert.Equal(t, strings.Fields(p.loaded), r.session.Loaded(), "what the session has")
				}
			})
		}
	}
}

func presets[M adk.MessageType]() []preset[M] {
	const outside, inside = "insider tool_search", "tool_search"
	ask := callTool("insider", `{"request":"Tidy up"}`)
	agentTool := func(beside ...adk.TypedChatModelAgentMiddleware[M]) func(*testing.T, map[string]*toolsearchtest.Model[M]) adk.TypedAgent[M] {
		return func(t *testing.T, models map[string]*toolsearchtest.Model[M]) adk.TypedAgent[M] {
			within := with(append(beside, careful[M](t))...)
			within.Name, within.Description, within.Model = "insider", "Knows", models["insider"]
			config := with(careful[M](t))
			config.Model = models["outside"]
			insider := adk.NewTypedAgentTool(context.Background(), adk.TypedAgent[M](newAgent(t, within)))
			config.ToolsConfig.Tools = []tool.BaseTool{insider}
			return newAgent(t, config)
		}
	}
	asking := [2]map[string][]turn{
		{"outside": {selecting("send_mail"), ask}, "insider": {selecting("delete_all"), calling("delete_all")}},
		{"outside": {ask, say("done")}, "insider": {say("Tidy."), say("Still tidy.")}},
	}
	return []preset[M]{
		{
			name: "an agent as a tool", agent: agentTool(), turns: asking,
			saw: [2]map[string][]string{
				{"outside": {outside, outside + " send_mail"}, "insider": {inside + "[ send_mail]", inside + "[ send_mail] delete_all"}},
				{"outside": slices.Repeat([]string{outside + " send_mail[ delete_all]"}, 2),
					"insider": {inside + "[ send_mail] delete_all", inside + "[ send_mail delete_all]"}},
			},
			loaded: "send_mail delete_all",
		},
		{
			name: "an agent as a tool that shares no session", agent: agentTool(&handler[M]{ownSession: true}), turns: asking,
			saw: [2]map[string][]string{
				{"outside": {outside, outside + " send_mail"}, "insider": {inside, inside + " delete_all"}},
				{"outside": slices.Repeat([]string{outside + " send_mail"}, 2), "insider": {inside + " delete_all", inside}},
			},
			loaded: "send_mail",
		},
	}
}

func transfer(to string) turn {
	return callTool("transfer_to_agent", `{"agent_name":"`+to+`"}`)
}

// toolCalling is a model for agents that bind tools themselves.
type toolCalling struct {
	*toolsearchtest.Model[chat]
}

func (m toolCalling) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

// replan is a replanner's turn that plans one more step, and respond is the turn that ends the plan.
func replan(step string) turn { return callTool("plan", `{"steps":["`+step+`"]}`) }

var respond = callTool("respond", `{"response":"Done."}`)

// presetsOfMessages are the presets that Eino has for *schema.Message only, and the deep agent, which takes as long
// to compile for the other type as an agent.
func presetsOfMessages() []preset[chat] {
	const deeper, sub = "write_todos task tool_search", "write_todos tool_search"
	const start, inside = "transfer_to_agent tool_search", "tool_search"
	task := callTool("task", `{"subagent_type":"general-purpose","description":"Tidy up"}`)
	return []preset[chat]{
		{
			name: "a task of the deep agent",
			agent: func(t *testing.T, models map[string]*toolsearchtest.Model[chat]) adk.TypedAgent[chat] {
				return testtools.Must(deep.New(context.Background(), &deep.Config{
					Name: "deep", Description: "Thinks", ChatModel: models["deep"], Handlers: with(careful[chat](t)).Handlers,
				}))(t)
			},
			turns: [2]map[string][]turn{
				{"deep": {selecting("send_mail"), task, selecting("delete_all"), calling("delete_all")}},
				{"deep": {say("Tidy."), task, say("Still tidy."), say("done")}},
			},
			saw: [2]map[string][]string{
				{"deep": {deeper, deeper + " send_mail", sub + "[ send_mail]", sub + "[ send_mail] delete_all"}},
				{"deep": {sub + "[ send_mail] delete_all", deeper + " send_mail[ delete_all]", sub + "[ send_mail delete_all]",
					deeper + " send_mail[ delete_all]"}},
			},
			loaded: "send_mail delete_all",
		},
		{
			name: "a supervisor",
			agent: func(t *testing.T, models map[string]*toolsearchtest.Model[chat]) adk.TypedAgent[chat] {
				agents := map[string]adk.Agent{}
				for name, model := range models {
					config := with(careful[chat](t))
					config.Name, config.Description, config.Model = name, "Knows", model
					agents[name] = newAgent(t, config)
				}
				return testtools.Must(supervisor.New(context.Background(), &supervisor.Config{
					Supervisor: agents["chief"], SubAgents: []adk.Agent{agents["aide"], agents["clerk"]},
				}))(t)
			},
			turns: [2]map[string][]turn{
				{"chief": {selecting("send_mail"), transfer("aide")}, "aide": {selecting("delete_all"), calling("delete_all")}, "clerk": nil},
				{"chief": {transfer("clerk"), say("done")}, "aide": {say("Tidy.")}, "clerk": {say("Filed.")}},
			},
			saw: [2]map[string][]string{
				{"chief": {start, start + " send_mail"}, "aide": {inside + "[ send_mail]", inside + "[ send_mail] delete_all"}},
				{"chief": slices.Repeat([]string{start + " send_mail[ delete_all]"}, 2), "aide": {inside + "[ send_mail] delete_all"},
					"clerk": {inside + "[ send_mail delete_all]"}},
			},
			loaded: "send_mail delete_all",
		},
		{
			name: "a step of a plan",
			agent: func(t *testing.T, models map[string]*toolsearchtest.Model[chat]) adk.TypedAgent[chat] {
				executor := testtools.Must(agents.New(context.Background(), &adk.ChatModelAgentConfig{
					Name: "executor", Description: "an executor agent", Model: models["executor"], OutputKey: planexecute.ExecutedStepSessionKey,
					Handlers: []adk.ChatModelAgentMiddleware{careful[chat](t)},
					GenModelInput: func(context.Context, string, *adk.AgentInput) ([]adk.Message, error) {
						return []adk.Message{schema.UserMessage("Take the next step.")}, nil
					},
				}))(t)
				planner := testtools.Must(planexecute.NewPlanner(context.Background(), &planexecute.PlannerConfig{
					ChatModelWithFormattedOutput: toolsearchtest.NewModel[chat](say(`{"steps":["Look up the weather","Tidy up","Mail it"]}`)),
				}))(t)
				replanner := testtools.Must(planexecute.NewReplanner(context.Background(), &planexecute.ReplannerConfig{
					ChatModel: toolCalling{models["replanner"]},
				}))(t)
				return testtools.Must(planexecute.New(context.Background(),
					&planexecute.Config{Planner: planner, Executor: executor, Replanner: replanner}))(t)
			},
			turns: [2]map[string][]turn{
				{"executor": {selecting("send_mail,get_weather"), say("Sunny."), // the first step
					selecting("delete_all"), calling("delete_all")}, // the second step
					"replanner": {replan("Tidy up")}},
				{"executor": {say("Tidy."), // the end of the second step
					calling("get_weather"), say("It is out.")}, // the third step, whose call loads its tool
					"replanner": {replan("Mail it"), respond}},
			},
			saw: [2]map[string][]string{
				{"executor": {inside, inside + " send_mail get_weather", inside + "[ send_mail get_weather]",
					inside + "[ send_mail get_weather] delete_all"}},
				{"executor": {inside + "[ send_mail get_weather] delete_all", inside + "[ send_mail get_weather delete_all]",
					inside + "[ send_mail] get_weather[ delete_all]"}},
			},
			loaded: "send_mail get_weather delete_all",
		},
	}
}
