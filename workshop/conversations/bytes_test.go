package conversations_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What stays the same: the same input gives the same bytes, tools are only appended, and nothing is written to.

// The tool list of each call begins with the tool list of the call before, so a provider's prompt
// cache stays valid. This holds although the history is cut between the calls.
func TestToolsAreOnlyAppended(t *testing.T) {
	for seed := range uint64(testtools.Rounds(4, 1)) {
		for _, native := range []bool{false, true} {
			t.Run(fmt.Sprintf("seed=%d/native=%v", seed, native), func(t *testing.T) {
				t.Run("message", func(t *testing.T) { checkAppended[*schema.Message](t, seed, native) })
				t.Run("agentic", func(t *testing.T) { checkAppended[*schema.AgenticMessage](t, seed, native) })
			})
		}
	}
}

func checkAppended[M adk.MessageType](t *testing.T, seed uint64, native bool) {
	random := rand.New(rand.NewPCG(seed, 5))
	var names, specs []string
	for i := range 60 {
		names = append(names, fmt.Sprintf("%s_%s_%d", testtools.Pick(random, []string{"github", "slack", "jira"}), testtools.Pick(random, []string{"get", "list", "send"}), i))
		specs = append(specs, names[i]+": "+testtools.Pick(random, []string{"Reads", "Writes", "Posts"}))
	}
	middleware := newMiddleware[M](t, toolsearch.Config{DynamicTools: testtools.EchoTools(specs...), UseModelToolSearch: native})
	ctx, runCtx, err := middleware.BeforeAgent(context.Background(), &adk.ChatModelAgentContext{Tools: testtools.EchoTools("clock: The time")})
	require.NoError(t, err)
	tools := map[string]tool.BaseTool{}
	var all []*schema.ToolInfo
	for _, tl := range runCtx.Tools {
		all = append(all, testtools.MustInfo(t, tl))
		tools[testtools.MustInfo(t, tl).Name] = tl
	}
	mc := &adk.TypedModelContext[M]{Tools: all}
	state := &adk.TypedChatModelAgentState[M]{ToolInfos: all, Messages: []M{toolsearchtest.Encode[M](message{Role: toolsearchtest.User, Text: "Go on."})}}
	shown := []string{"clock"}
	for step := range 200 {
		_, state, err = middleware.BeforeModelRewriteState(ctx, state, mc)
		require.NoError(t, err, "step %d", step)
		now := namesOf(state.ToolInfos)
		require.GreaterOrEqual(t, len(now), len(shown), "step %d: the tools %v after %v", step, now, shown)
		require.Equal(t, shown, now[:len(shown)], "step %d: the beginning of the tools", step)
		require.Len(t, sortedSet(now), len(now), "step %d: the distinct tools of %v", step, now)
		if step == 0 {
			require.LessOrEqual(t, len(now), 2, "the first tools are %v", now)
		}
		shown = now

		said := message{Role: toolsearchtest.Assistant}
		for i := range 1 + random.IntN(3) {
			c := called(fmt.Sprintf("c%d_%d", step, i), "tool_search", `{"query":"select:`+testtools.Pick(random, names)+`"}`)
			switch random.IntN(12) {
			case 0:
				c.Arguments = fmt.Sprintf(`{"query":"%s","max_results":%d}`, testtools.Pick(random, []string{"github", "slack +send", "zzz"}), random.IntN(4))
			case 1:
				c.Name = testtools.Pick(random, names)
			case 2:
				c.Name = "no_such_tool"
			}
			said.Calls = append(said.Calls, c)
		}
		state.Messages = append(slices.Clip(state.Messages), toolsearchtest.Encode[M](said))
		_, state, err = middleware.AfterModelRewriteState(ctx, state, mc)
		require.NoError(t, err, "step %d", step)
		for _, c := range toolsearchtest.Decode(state.Messages[len(state.Messages)-1]).Calls {
			answer := message{Role: toolsearchtest.Tool, CallID: c.ID, ToolName: c.Name}
			if enhanced, ok := tools[c.Name].(tool.EnhancedInvokableTool); ok {
				result, err := enhanced.InvokableRun(ctx, &schema.ToolArgument{Text: c.Arguments})
				require.NoError(t, err, "step %d", step)
				answer.Text = result.Parts[0].Text
				if found := result.Parts[0].ToolSearchResult; found != nil {
					answer.Native, answer.Found = true, found.Tools
				}
			} else {
				answer.Text, err = tools[c.Name].(tool.InvokableTool).InvokableRun(ctx, c.Arguments)
				require.NoError(t, err, "step %d", step)
			}
			state.Messages = append(slices.Clip(state.Messages), toolsearchtest.Encode[M](answer))
		}
		if random.IntN(6) == 0 { // another middleware cuts the history down
			state.Messages = state.Messages[random.IntN(len(state.Messages)):]
		}
	}
	assert.GreaterOrEqual(t, len(shown), 20, "the tools that were loaded: %v", shown)
}

// busyTurns are searches, calls and mistakes, some in parallel.
func busyTurns() []turn {
	return []turn{
		toolsearchtest.CallTools(call{Name: "tool_search", Arguments: `{"query":"select:list_stocks,get_wether"}`}, call{Name: "tool_search", Arguments: `{"query":"send weather","max_results":3}`}),
		toolsearchtest.CallTools(call{Name: "get_wether", Arguments: `{}`}, call{Name: "get_forecast", Arguments: `{"city":"Rome"}`}, call{Name: "zzz"}),
		searching(`{"query":["zzz","mal","wether"]}`),
		searching(`not { JSON`),
		toolsearchtest.CallTool("clock", `{}`),
		toolsearchtest.Say("done"),
	}
}

// runWith runs an agent with one middleware and returns its model.
func runWith[M adk.MessageType](t *testing.T, w way, middleware adk.TypedChatModelAgentMiddleware[M], static []tool.BaseTool, input []M, turns ...turn) (*toolsearchtest.Model[M], []message, error) {
	t.Helper()
	model := toolsearchtest.NewModel[M](turns...)
	agent := newAgent(t, &adk.TypedChatModelAgentConfig[M]{Model: model, ToolsConfig: toolsConfig(static...), Handlers: []adk.TypedChatModelAgentMiddleware[M]{middleware}})
	if !w.runner {
		events, err := drain(agent.Run(context.Background(), &adk.TypedAgentInput[M]{Messages: input, EnableStreaming: w.streaming}))
		return model, events, err
	}
	runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, EnableStreaming: w.streaming})
	events, err := drain(runner.Run(context.Background(), input))
	return model, events, err
}

func userInput[M adk.MessageType]() []M {
	return []M{toolsearchtest.Encode[M](message{Role: toolsearchtest.System, Text: "Be brief.", Extra: map[string]any{"k": "v"}}),
		toolsearchtest.Encode[M](message{Role: toolsearchtest.User, Text: "What is new?"})}
}

// randomID matches the random ID that Eino gives a message.
var randomID = regexp.MustCompile(`"_eino_msg_id":"[^"]*"`)

// asked returns every byte that a model got.
func asked[M adk.MessageType](t *testing.T, model *toolsearchtest.Model[M]) string {
	t.Helper()
	var b strings.Builder
	requests := model.Requests()
	for i, messages := range model.Inputs() {
		text, err := json.Marshal([]any{messages, requests[i].Tools, requests[i].Deferred, requests[i].SearchTool})
		require.NoError(t, err)
		b.Write(append(text, '\n'))
	}
	return randomID.ReplaceAllString(b.String(), `"_eino_msg_id":""`)
}

// The same conversation gives the model the same bytes, so no map order reaches the model.
func TestSameBytes(t *testing.T) {
	inAllWays(t, testSameBytes[*schema.Message], testSameBytes[*schema.AgenticMessage])
}

func testSameBytes[M adk.MessageType](t *testing.T, w way) {
	for _, native := range []bool{false, true} {
		first := ""
		for i := range 20 {
			middleware := newMiddleware[M](t, toolsearch.Config{DynamicTools: testtools.NewsTools(), UseModelToolSearch: native})
			model, _, err := runWith(t, w, middleware, testtools.EchoTools("clock: The time"), userInput[M](), busyTurns()...)
			require.NoError(t, err, "native=%v: run %d", native, i)
			got := asked(t, model)
			if i == 0 {
				first = got
			}
			require.Equal(t, first, got, "native=%v: run 0 and run %d", native, i)
		}
	}
}

// Nothing that the user hands over is written to. It is compared with a twin that was made the same
// way and not used.
func TestNothingIsMutated(t *testing.T) {
	inAllWays(t, testNothingIsMutated[*schema.Message], testNothingIsMutated[*schema.AgenticMessage])
}

func testNothingIsMutated[M adk.MessageType](t *testing.T, w way) {
	handOver := func(native bool) (toolsearch.Config, []tool.BaseTool, []M) {
		tools, static := testtools.NewsTools(), testtools.EchoTools("clock: The time")
		for _, tl := range append(slices.Clone(tools), static...) {
			testtools.MustInfo(t, tl).Extra = map[string]any{"owner": "me"}
		}
		return toolsearch.Config{DynamicTools: tools, UseModelToolSearch: native}, static, userInput[M]()
	}
	for _, native := range []bool{false, true} {
		config, static, input := handOver(native)
		middleware, err := toolsearch.NewTyped[M](context.Background(), &config)
		require.NoError(t, err)
		for range 2 { // a second run would find what the first run left behind
			_, _, err := runWith(t, w, middleware, static, input, busyTurns()...)
			require.NoError(t, err, "native=%v", native)
		}
		twinConfig, twinStatic, twinInput := handOver(native)
		assert.Equal(t, twinConfig, config, "native=%v: the Config", native)
		assert.Equal(t, twinStatic, static, "native=%v: the agent's tools", native)
		assert.Equal(t, twinInput, input, "native=%v: the input", native)
	}
}

// A catalog never changes. The Config may change after New, and an Indexer may write to its
// documents.
func TestCatalogNeverChanges(t *testing.T) {
	ctx := context.Background()
	run := func(change func(*toolsearch.Config)) string {
		config := toolsearch.Config{DynamicTools: testtools.NewsTools()}
		middleware, err := toolsearch.NewTyped[*schema.Message](ctx, &config)
		require.NoError(t, err)
		change(&config)
		model, _, err := runWith(t, way{}, middleware, testtools.EchoTools("clock: The time"), userInput[*schema.Message](), busyTurns()...)
		require.NoError(t, err)
		return asked(t, model)
	}
	want := run(func(*toolsearch.Config) {})
	got := run(func(config *toolsearch.Config) {
		clear(config.DynamicTools)
		*config = toolsearch.Config{
			UseModelToolSearch: true, MaxResults: 1, Limits: toolsearch.Limits{MaxResultsCap: 1}, ToolName: "other", Language: toolsearch.Chinese,
			Unloaded: toolsearch.UnloadedRefuse, Unknown: toolsearch.UnknownFail, Reminder: toolsearch.ReminderConfig{Disabled: true},
		}
	})
	assert.Equal(t, want, got, "what the model gets after the Config has changed")

	infos := dynamicInfos()
	catalog, err := toolsearch.NewCatalogFromInfos(ctx, infos, &toolsearch.CatalogOptions{Index: func(ctx context.Context, docs []toolsearch.Document) (toolsearch.Searcher, error) {
		defer clear(docs)
		return toolsearch.Keyword(ctx, slices.Clone(docs))
	}})
	require.NoError(t, err)
	for _, info := range infos {
		info.Name, info.Desc = "changed", "changed"
	}
	clear(infos)
	for _, query := range []string{"mail", "select:send_mail"} {
		result, err := catalog.Search(ctx, query, 1)
		require.NoError(t, err, query)
		require.Equal(t, []string{"send_mail"}, testtools.MatchNames(result), query)
		assert.Equal(t, "Sends an e-mail", result.Matches[0].Info.Desc, query)
	}
}
