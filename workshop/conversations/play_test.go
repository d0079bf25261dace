// Package conversations_test plays conversations through real agents, in every way that an agent can be run.
// The tests of the root package need no agent.
package conversations_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/cost/agents"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

func TestMain(m *testing.M) { testtools.RunPatiently(m) }

type (
	message = toolsearchtest.Message
	call    = toolsearchtest.Call
	turn    = toolsearchtest.Turn
	request = toolsearchtest.Request

	chat    = *schema.Message
	agentic = *schema.AgenticMessage
)

var (
	callTool  = toolsearchtest.CallTool
	callTools = toolsearchtest.CallTools
	say       = toolsearchtest.Say
	question  = []message{userSays("What is new?")}
)

func userSays(text string) message   { return message{Role: toolsearchtest.User, Text: text} }
func systemSays(text string) message { return message{Role: toolsearchtest.System, Text: text} }
func modelSays(text string) message  { return message{Role: toolsearchtest.Assistant, Text: text} }

func modelCalls(calls ...call) message { return message{Role: toolsearchtest.Assistant, Calls: calls} }

// toolSays is the result of a call. A store may have lost the tool's name.
func toolSays(callID, name, text string) message {
	return message{Role: toolsearchtest.Tool, CallID: callID, ToolName: name, Text: text}
}

// echo is a tool that answers with its name and arguments.
func echo(info *schema.ToolInfo) tool.BaseTool {
	return &testtools.EchoTool{PlainTool: testtools.PlainTool{Of: info}}
}

// echoes are such tools with those definitions.
func echoes(infos []*schema.ToolInfo) (tools []tool.BaseTool) {
	for _, info := range infos {
		tools = append(tools, echo(info))
	}
	return tools
}

// publicSet returns the folder of a public set of tools and queries, with a slash at its end.
func publicSet(t *testing.T, name string) (folder string) {
	t.Helper()
	folder = "../../../shared/retrieval/" + name + "/"
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("no retrieval sets: %v", err)
	}
	return folder
}

// using returns a config with that protocol, and maxLoaded one with that limit.
func using(p toolsearch.Protocol) toolsearch.Config { return toolsearch.Config{Protocol: p} }

func maxLoaded(n int) toolsearch.Config {
	return toolsearch.Config{Limits: toolsearch.Limits{MaxLoaded: n}}
}

// way is one of the ways to run an agent.
type way struct {
	agentic, streaming, runner bool
}

func (w way) String() string {
	name := func(is bool, yes, no string) string {
		if is {
			return yes
		}
		return no
	}
	return name(w.agentic, "agentic", "message") + "/" + name(w.streaming, "stream", "generate") + "/" + name(w.runner, "runner", "bare")
}

// allWays returns those of the eight ways in which any two of the three choices meet in all four
// combinations. With -short, with which the race detector runs, it returns the two with the most
// goroutines: streams of both message types.
func allWays() []way {
	ways := []way{{streaming: true, runner: true}, {agentic: true, streaming: true}}
	if testing.Short() {
		return ways
	}
	return append(ways, way{}, way{agentic: true, runner: true})
}

// inAllWays runs a test for both message types, with and without streaming, with and without a Runner.
func inAllWays(t *testing.T, forMessage, forAgentic func(t *testing.T, w way)) {
	t.Helper()
	for _, w := range allWays() {
		t.Run(w.String(), func(t *testing.T) {
			if w.agentic {
				forAgentic(t, w)
			} else {
				forMessage(t, w)
			}
		})
	}
}

// everyWay is inAllWays for a test that names no message type.
func everyWay(t *testing.T, test func(t *testing.T, w way)) {
	t.Helper()
	inAllWays(t, test, test)
}

// ofBothTypes runs a test for both message types.
func ofBothTypes(t *testing.T, forMessage, forAgentic func(t *testing.T)) {
	t.Run("message", forMessage)
	t.Run("agentic", forAgentic)
}

// conversation is a row of a conversation table.
type conversation struct {
	name    string
	config  toolsearch.Config
	dynamic []tool.BaseTool // DynamicTools of config; nil means those that it has, or testtools.NewsTools
	static  []tool.BaseTool
	ctx     context.Context // nil means the background
	tools   adk.ToolsConfig // its Tools are set from static
	prompt  string          // the agent's instruction
	history []message       // before the user's question
	asks    string          // the user's question; "" means the usual one
	turns   []turn          // a last turn that says "done" is added
	saw     []string        // the tool names of each model call, joined by blanks; nil means that they do not matter
	check   func(t *testing.T, o outcome)
}

// outcome is the outcome of a conversation.
type outcome struct {
	requests []request // what the model saw
	events   []message // what the caller got, in order
	err      error     // of the run
}

// last returns what the model saw in its last call.
func (o outcome) last() request { return o.requests[len(o.requests)-1] }

// result returns the result that the model got for the call with that ID.
func (o outcome) result(t *testing.T, callID string) string {
	t.Helper()
	messages := o.last().Messages
	i := slices.IndexFunc(messages, func(m message) bool { return m.Role == toolsearchtest.Tool && m.CallID == callID })
	require.GreaterOrEqual(t, i, 0, "the result for %s is missing", callID)
	return messages[i].Text
}

func (o outcome) saw() []string {
	var saw []string
	for _, r := range o.requests {
		saw = append(saw, strings.Join(r.ToolNames(), " "))
	}
	return saw
}

func playAll(t *testing.T, table []conversation) {
	t.Helper()
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) { everyWay(t, func(t *testing.T, w way) { playAndCheck(t, c, w) }) })
	}
}

func playAndCheck(t *testing.T, c conversation, w way) {
	t.Helper()
	o := play(t, c, w)
	require.NoError(t, o.err, "the run")
	if c.saw != nil {
		assert.Equal(t, c.saw, o.saw(), "what the model saw")
	}
	for i, r := range o.requests {
		checkRequest(t, i, r)
	}
	if c.check != nil {
		c.check(t, o)
	}
}

// checkSaw checks the tools that a model saw in each call, and that each call had one reminder.
func checkSaw(t *testing.T, who string, o outcome, want ...string) {
	t.Helper()
	assert.NoError(t, o.err, who)
	assert.Equal(t, want, o.saw(), "what %s saw", who)
	checkReminded(t, who, o, "<available-deferred-tools>")
}

// checkReminded checks that each request has exactly those reminders, each once.
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
		slices.Sort(got)
		assert.Equal(t, want, got, "%s, call %d: reminders", who, i)
	}
}

// checkRequest checks that a request has no tool twice and no reminder twice, and that every call has a result.
func checkRequest(t *testing.T, i int, r request) {
	t.Helper()
	seen := map[string]bool{}
	for _, info := range append(slices.Clone(r.Tools), r.Deferred...) {
		assert.False(t, seen[info.Name], "call %d: the request has %s twice", i, info.Name)
		seen[info.Name] = true
	}
	reminders := map[string]int{}
	open := map[string]bool{}
	for _, m := range r.Messages {
		if tag, _, _ := strings.Cut(m.Text, "\n"); m.Role == toolsearchtest.User && isReminderTag(tag) {
			reminders[tag]++
		}
		for _, c := range m.Calls {
			open[c.ID] = true
		}
		if m.Role == toolsearchtest.Tool {
			delete(open, m.CallID)
		}
	}
	for tag, n := range reminders {
		assert.Equal(t, 1, n, "call %d: reminders %s", i, tag)
	}
	assert.Empty(t, open, "call %d: calls without a result", i)
}

func play(t *testing.T, c conversation, w way) outcome {
	t.Helper()
	if c.dynamic != nil {
		c.config.DynamicTools = c.dynamic
	}
	return playing(t, w, c.config)(c)
}

// playing returns an agent with a middleware over each config, as the function that plays a conversation.
func playing(t *testing.T, w way, configs ...toolsearch.Config) func(c conversation) outcome {
	t.Helper()
	if w.agentic {
		return playingOf[agentic](t, w, configs)
	}
	return playingOf[chat](t, w, configs)
}

func playingOf[M adk.MessageType](t *testing.T, w way, configs []toolsearch.Config) func(c conversation) outcome {
	t.Helper()
	agent := with[M]()
	for _, config := range configs {
		agent.Handlers = append(agent.Handlers, newMiddleware[M](t, config))
	}
	return func(c conversation) outcome {
		t.Helper()
		agent.Instruction, agent.ToolsConfig = c.prompt, c.tools
		agent.ToolsConfig.Tools = c.static
		messages := slices.Concat(c.history, []message{userSays(cmp.Or(c.asks, question[0].Text))})
		return converseOn(cmp.Or(c.ctx, context.Background()), t, w, agent, messages, c.turns...)
	}
}

// running is playing for conversations that are only turns. The runs must not fail.
func running(t *testing.T, w way, configs ...toolsearch.Config) func(turns ...turn) outcome {
	t.Helper()
	play := playing(t, w, configs...)
	return func(turns ...turn) outcome {
		t.Helper()
		o := play(conversation{turns: turns})
		require.NoError(t, o.err, "the run")
		return o
	}
}

// newMiddleware returns a middleware over the config's tools, which are testtools.NewsTools if it has none.
func newMiddleware[M adk.MessageType](t testing.TB, config toolsearch.Config) adk.TypedChatModelAgentMiddleware[M] {
	t.Helper()
	if config.DynamicTools == nil && config.Groups == nil {
		config.DynamicTools = testtools.NewsTools()
	}
	return testtools.Must(toolsearch.NewTyped[M](context.Background(), &config))(t)
}

func over[M adk.MessageType](t *testing.T, tools ...tool.BaseTool) adk.TypedChatModelAgentMiddleware[M] {
	t.Helper()
	return newMiddleware[M](t, toolsearch.Config{DynamicTools: tools})
}

// with returns the config of an agent with those handlers.
func with[M adk.MessageType](handlers ...adk.TypedChatModelAgentMiddleware[M]) *adk.TypedChatModelAgentConfig[M] {
	return &adk.TypedChatModelAgentConfig[M]{Handlers: handlers}
}

// handler is another middleware of an agent.
type handler[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	tools      []tool.BaseTool        // that it gives the agent
	ownSession bool                   // for each run of the agent
	rewrite    func(messages []M) []M // before each model call; nil leaves the messages alone
	hides      string                 // a tool that it removes from the list before each model call
}

func (h *handler[M]) BeforeAgent(
	ctx context.Context, runCtx *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	if h.ownSession {
		ctx = toolsearch.WithSession(ctx, toolsearch.NewSession())
	}
	next := *runCtx
	next.Tools = append(slices.Clone(runCtx.Tools), h.tools...)
	return ctx, &next, nil
}

func (h *handler[M]) BeforeModelRewriteState(ctx context.Context, state *adk.TypedChatModelAgentState[M],
	_ *adk.TypedModelContext[M]) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	next := *state
	if h.rewrite != nil {
		next.Messages = h.rewrite(state.Messages)
	}
	isHidden := func(info *schema.ToolInfo) bool { return info.Name == h.hides }
	next.ToolInfos = slices.DeleteFunc(slices.Clone(state.ToolInfos), isHidden)
	return ctx, &next, nil
}

// agentOver returns the config of an agent with one middleware.
func agentOver[M adk.MessageType](t *testing.T, config toolsearch.Config) *adk.TypedChatModelAgentConfig[M] {
	t.Helper()
	return with(newMiddleware[M](t, config))
}

// rewritten returns what a middleware makes of the state before a model call.
func rewritten[M adk.MessageType](ctx context.Context, t testing.TB, middleware adk.TypedChatModelAgentMiddleware[M],
	state *adk.TypedChatModelAgentState[M]) *adk.TypedChatModelAgentState[M] {
	t.Helper()
	_, next, err := middleware.BeforeModelRewriteState(ctx, state, nil)
	require.NoError(t, err)
	return next
}

// converse runs an agent on one question. A last turn that says "done" is added.
func converse[M adk.MessageType](t *testing.T, w way, config *adk.TypedChatModelAgentConfig[M], turns ...turn) outcome {
	t.Helper()
	return converseOn(context.Background(), t, w, config, question, turns...)
}

// converseOn is converse on other messages than the question.
func converseOn[M adk.MessageType](
	ctx context.Context, t *testing.T, w way, config *adk.TypedChatModelAgentConfig[M], messages []message, turns ...turn,
) outcome {
	t.Helper()
	return conversing(ctx, t, w, config, messages, turns...)()
}

// conversing makes an agent and returns the function that runs it, which makes no assertion.
func conversing[M adk.MessageType](
	ctx context.Context, t *testing.T, w way, config *adk.TypedChatModelAgentConfig[M], messages []message, turns ...turn,
) (run func() outcome) {
	t.Helper()
	scripted := toolsearchtest.NewModel[M](append(slices.Clone(turns), say("done"))...)
	config.Model = scripted
	agent := newAgent(t, config)
	return func() outcome {
		events, err := runAgent(ctx, agent, w, messages)
		return outcome{scripted.Requests(), events, err}
	}
}

func newAgent[M adk.MessageType](t testing.TB, config *adk.TypedChatModelAgentConfig[M]) adk.TypedResumableAgent[M] {
	t.Helper()
	if config.Name == "" {
		config.Name, config.Description = "reporter", "Tells the news"
	}
	return testtools.Must(agents.New(context.Background(), config))(t)
}

// runAgent runs an agent to the end and returns the messages of the events.
func runAgent[M adk.MessageType](ctx context.Context, agent adk.TypedAgent[M], w way, messages []message) ([]message, error) {
	return drain(eventsOf(ctx, agent, w, encoded[M](messages...)))
}

func eventsOf[M adk.MessageType](
	ctx context.Context, agent adk.TypedAgent[M], w way, input []M,
) *adk.AsyncIterator[*adk.TypedAgentEvent[M]] {
	if !w.runner {
		return agent.Run(ctx, &adk.TypedAgentInput[M]{Messages: input, EnableStreaming: w.streaming})
	}
	return adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, EnableStreaming: w.streaming}).Run(ctx, input)
}

func encoded[M adk.MessageType](messages ...message) []M {
	list := make([]M, len(messages))
	for i, m := range messages {
		list[i] = toolsearchtest.Encode[M](m)
	}
	return list
}

// drain returns the messages of the events. It reads them after the run has ended, because Eino's
// reduction writes to messages that events share.
func drain[M adk.MessageType](events *adk.AsyncIterator[*adk.TypedAgentEvent[M]]) (messages []message, err error) {
	var all []*adk.TypedAgentEvent[M]
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		all = append(all, event)
	}
	for _, event := range all {
		err = errors.Join(err, event.Err)
		if event.Output == nil || event.Output.MessageOutput == nil {
			continue
		}
		msg, msgErr := event.Output.MessageOutput.GetMessage()
		if msgErr != nil {
			err = errors.Join(err, msgErr)
			continue
		}
		messages = append(messages, toolsearchtest.Decode(msg))
	}
	return messages, err
}

func searching(arguments string) turn { return callTool("tool_search", arguments) }

// selecting is a turn that selects tools by their names.
func selecting(names string) turn { return searching(`{"query":"select:` + names + `"}`) }

// calling is a turn that calls a tool without arguments.
func calling(name string) turn { return callTool(name, "{}") }

// adding and removing are turns that load and unload tools under ProtocolSearchAdd.
func adding(names string) turn {
	return callTool("add_tool", `{"tool_names":["`+strings.ReplaceAll(names, ",", `","`)+`"]}`)
}
func removing(names string) turn {
	return callTool("remove_tool", `{"tool_names":["`+strings.ReplaceAll(names, ",", `","`)+`"]}`)
}

func called(id, name, arguments string) call {
	return call{ID: id, Name: name, Arguments: arguments}
}

func isReminderTag(line string) bool {
	return strings.HasPrefix(line, "<available-deferred-tools") && strings.HasSuffix(line, ">")
}

// hearing is the Config.OnEvent of tests that look at events of one kind.
func hearing[E toolsearch.Event](heard *[]E) func(context.Context, toolsearch.Event) {
	var mu sync.Mutex
	return func(_ context.Context, e toolsearch.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e, ok := e.(E); ok {
			*heard = append(*heard, e)
		}
	}
}

// onFailure is the Config.OnEvent of tests that look at failures.
func onFailure(told func(err error)) func(context.Context, toolsearch.Event) {
	return func(_ context.Context, e toolsearch.Event) {
		if failure, ok := e.(*toolsearch.FailureEvent); ok {
			told(failure.Err)
		}
	}
}

var update = flag.Bool("update", false, "rewrite golden files")

func sortedSet(words []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(words)))
}
