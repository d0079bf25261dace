package toolsearch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// What always holds, whatever the conversation.

// TestToolsAreOnlyAppended: the tool list of each call begins with that of the call
// before, so that a provider's prompt cache holds, though the history is cut meanwhile.
func TestToolsAreOnlyAppended(t *testing.T) {
	for seed := range uint64(4) {
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
		names = append(names, fmt.Sprintf("%s_%s_%d", pick(random, []string{"github", "slack", "jira"}), pick(random, []string{"get", "list", "send"}), i))
		specs = append(specs, names[i]+": "+pick(random, []string{"Reads", "Writes", "Posts"}))
	}
	middleware := newMiddleware[M](t, toolsearch.Config{DynamicTools: echoTools(specs...), UseModelToolSearch: native})
	ctx, runCtx, err := middleware.BeforeAgent(context.Background(), &adk.ChatModelAgentContext{Tools: echoTools("clock: The time")})
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]tool.BaseTool{}
	var all []*schema.ToolInfo
	for _, tl := range runCtx.Tools {
		all = append(all, mustInfo(t, tl))
		tools[mustInfo(t, tl).Name] = tl
	}
	mc := &adk.TypedModelContext[M]{Tools: all}
	state := &adk.TypedChatModelAgentState[M]{ToolInfos: all, Messages: []M{toolsearchtest.Encode[M](message{Role: toolsearchtest.User, Text: "Go on."})}}
	shown := []string{"clock"}
	for step := range 200 {
		if _, state, err = middleware.BeforeModelRewriteState(ctx, state, mc); err != nil {
			t.Fatal(err)
		}
		now := namesOf(state.ToolInfos)
		if len(now) < len(shown) || !slices.Equal(now[:len(shown)], shown) || len(sortedSet(now)) != len(now) || step == 0 && len(now) > 2 {
			t.Fatalf("step %d: the tools were %v, now %v", step, shown, now)
		}
		shown = now

		said := message{Role: toolsearchtest.Assistant}
		for i := range 1 + random.IntN(3) {
			c := called(fmt.Sprintf("c%d_%d", step, i), "tool_search", `{"query":"select:`+pick(random, names)+`"}`)
			switch random.IntN(12) {
			case 0:
				c.Arguments = fmt.Sprintf(`{"query":"%s","max_results":%d}`, pick(random, []string{"github", "slack +send", "zzz"}), random.IntN(4))
			case 1:
				c.Name = pick(random, names)
			case 2:
				c.Name = "no_such_tool"
			}
			said.Calls = append(said.Calls, c)
		}
		state.Messages = append(slices.Clip(state.Messages), toolsearchtest.Encode[M](said))
		if _, state, err = middleware.AfterModelRewriteState(ctx, state, mc); err != nil {
			t.Fatal(err)
		}
		for _, c := range toolsearchtest.Decode(state.Messages[len(state.Messages)-1]).Calls {
			answer := message{Role: toolsearchtest.Tool, CallID: c.ID, ToolName: c.Name}
			if enhanced, ok := tools[c.Name].(tool.EnhancedInvokableTool); ok {
				result, err := enhanced.InvokableRun(ctx, &schema.ToolArgument{Text: c.Arguments})
				if err != nil {
					t.Fatal(err)
				}
				answer.Text = result.Parts[0].Text
				if found := result.Parts[0].ToolSearchResult; found != nil {
					answer.Native, answer.Found = true, found.Tools
				}
			} else if answer.Text, err = tools[c.Name].(tool.InvokableTool).InvokableRun(ctx, c.Arguments); err != nil {
				t.Fatal(err)
			}
			state.Messages = append(slices.Clip(state.Messages), toolsearchtest.Encode[M](answer))
		}
		if random.IntN(6) == 0 { // another middleware cuts the history down
			state.Messages = state.Messages[random.IntN(len(state.Messages)):]
		}
	}
	if len(shown) < 20 {
		t.Errorf("only %v were loaded: the conversation tests little", shown)
	}
}

// busyTurns loads, misses, mistakes and calls in parallel.
func busyTurns() []turn {
	return []turn{
		toolsearchtest.CallTools(call{Name: "tool_search", Arguments: `{"query":"select:list_stocks,get_wether"}`}, call{Name: "tool_search", Arguments: `{"query":"send weather","max_results":3}`}),
		toolsearchtest.CallTools(call{Name: "get_wether", Arguments: `{}`}, call{Name: "get_forecast", Arguments: `{"city":"Rome"}`}, call{Name: "zzz"}),
		search(`{"query":["zzz","mal","wether"]}`),
		search(`not { JSON`),
		toolsearchtest.CallTool("clock", `{}`),
		toolsearchtest.Say("done"),
	}
}

// runWith runs an agent with one middleware and returns the model it asked.
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

// randomID is what Eino numbers messages with.
var randomID = regexp.MustCompile(`"_eino_msg_id":"[^"]*"`)

// asked is every byte a model was given.
func asked[M adk.MessageType](t *testing.T, model *toolsearchtest.Model[M]) string {
	t.Helper()
	var b strings.Builder
	requests := model.Requests()
	for i, messages := range model.Inputs() {
		text, err := json.Marshal([]any{messages, requests[i].Tools, requests[i].Deferred, requests[i].SearchTool})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	return randomID.ReplaceAllString(b.String(), `"_eino_msg_id":""`)
}

// TestSameBytes: no map order reaches the model.
func TestSameBytes(t *testing.T) {
	inAllWays(t, testSameBytes[*schema.Message], testSameBytes[*schema.AgenticMessage])
}

func testSameBytes[M adk.MessageType](t *testing.T, w way) {
	for _, native := range []bool{false, true} {
		first := ""
		for i := range 20 {
			middleware := newMiddleware[M](t, toolsearch.Config{DynamicTools: newsTools(), UseModelToolSearch: native})
			model, _, err := runWith(t, w, middleware, echoTools("clock: The time"), userInput[M](), busyTurns()...)
			if err != nil {
				t.Fatal(err)
			}
			got := asked(t, model)
			if i == 0 {
				first = got
			}
			if got != first {
				t.Fatalf("native=%v: run %d gave\n%s\nrun 0\n%s", native, i, got, first)
			}
		}
	}
}

// TestNothingIsMutated compares all that the user handed over with a twin that was made
// in the same way and then left alone.
func TestNothingIsMutated(t *testing.T) {
	inAllWays(t, testNothingIsMutated[*schema.Message], testNothingIsMutated[*schema.AgenticMessage])
}

func testNothingIsMutated[M adk.MessageType](t *testing.T, w way) {
	handOver := func(native bool) (toolsearch.Config, []tool.BaseTool, []M) {
		tools, static := newsTools(), echoTools("clock: The time")
		for _, tl := range append(slices.Clone(tools), static...) {
			mustInfo(t, tl).Extra = map[string]any{"owner": "me"}
		}
		return toolsearch.Config{DynamicTools: tools, UseModelToolSearch: native}, static, userInput[M]()
	}
	for _, native := range []bool{false, true} {
		config, static, input := handOver(native)
		middleware, err := toolsearch.NewTyped[M](context.Background(), &config)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second run with what the first may have left behind
			if _, _, err := runWith(t, w, middleware, static, input, busyTurns()...); err != nil {
				t.Fatal(err)
			}
		}
		twinConfig, twinStatic, twinInput := handOver(native)
		for _, pair := range [][2]any{{config, twinConfig}, {static, twinStatic}, {input, twinInput}} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				t.Errorf("native=%v: %T was written to: %+v", native, pair[0], pair[0])
			}
		}
	}
}

// TestCatalogNeverChanges: what New was given may change afterwards, and an Indexer may
// write to what it is given; the catalog does not.
func TestCatalogNeverChanges(t *testing.T) {
	ctx := context.Background()
	run := func(change func(*toolsearch.Config)) string {
		config := toolsearch.Config{DynamicTools: newsTools()}
		middleware, err := toolsearch.NewTyped[*schema.Message](ctx, &config)
		if err != nil {
			t.Fatal(err)
		}
		change(&config)
		model, _, err := runWith(t, way{}, middleware, echoTools("clock: The time"), userInput[*schema.Message](), busyTurns()...)
		if err != nil {
			t.Fatal(err)
		}
		return asked(t, model)
	}
	want := run(func(*toolsearch.Config) {})
	got := run(func(config *toolsearch.Config) {
		clear(config.DynamicTools)
		*config = toolsearch.Config{
			UseModelToolSearch: true, MaxResults: 1, MaxResultsCap: 1, ToolName: "other", Language: toolsearch.Chinese,
			Unloaded: toolsearch.UnloadedRefuse, Unknown: toolsearch.UnknownFail, Reminder: toolsearch.ReminderConfig{Disabled: true},
		}
	})
	if got != want {
		t.Errorf("after its Config changed the middleware gave\n%s\nwant\n%s", got, want)
	}

	infos := dynamicInfos()
	catalog, err := toolsearch.NewCatalogFromInfos(ctx, infos, func(ctx context.Context, docs []toolsearch.Document) (toolsearch.Searcher, error) {
		defer clear(docs)
		return toolsearch.Keyword(ctx, slices.Clone(docs))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		info.Name, info.Desc = "changed", "changed"
	}
	clear(infos)
	for _, query := range []string{"mail", "select:send_mail"} {
		result, err := catalog.Search(ctx, query, 1)
		if err != nil || !slices.Equal(matchNames(result), []string{"send_mail"}) || result.Matches[0].Info.Desc != "Sends an e-mail" {
			t.Errorf("%q: got %+v, %v", query, result, err)
		}
	}
}

func numberedCatalog(t *testing.T, size int) *toolsearch.Catalog {
	t.Helper()
	names := make([]string, size)
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i)
	}
	return catalogOf(t, names...)
}
