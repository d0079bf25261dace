package cost

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/internal/cost/agents"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// billedModel is a planned model that says what a provider bills.
type billedModel struct {
	*plannedModel
	provider *Provider
}

func (m billedModel) Generate(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	answer, err := m.plannedModel.Generate(ctx, input, opts...)
	if err != nil {
		return nil, err
	}
	usages := m.provider.Bill(nil, m.requests)
	u := usages[len(usages)-1]
	answer.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{
		PromptTokens: u.Input(), CompletionTokens: u.Output,
		PromptTokenDetails: schema.PromptTokenDetails{CachedTokens: u.Cached, CacheWriteTokens: u.Written},
	}}
	return answer, nil
}

// recorder logs the calls of a model.
type recorder struct {
	*adk.BaseChatModelAgentMiddleware
	log *slog.Logger
	way Way
}

func (r *recorder) AfterModelRewriteState(ctx context.Context, state *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	r.log.InfoContext(ctx, "model", "event", eval.ModelCall(r.way.String(), state.Messages[len(state.Messages)-1]))
	return ctx, state, nil
}

// recordLog plays a conversation in a program that logs it. own are the agent's own tools.
func recordLog(t *testing.T, tools []*schema.ToolInfo, way Way, p *Provider, c Conversation, own ...*schema.ToolInfo) (log string) {
	t.Helper()
	var out bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&out, nil))
	m := &plannedModel{writer: writer{wire: p.Wire}, protocol: way.Protocol, steps: c.Steps, answers: map[string]string{},
		tried: make([]int, len(c.Steps))}
	config := way.Config(len(tools))
	config.OnEvent = func(ctx context.Context, e toolsearch.Event) { logger.InfoContext(ctx, "toolsearch", "event", e) }
	for _, info := range tools {
		config.DynamicTools = append(config.DynamicTools, &standIn{info, m.answers})
	}
	middleware := testtools.Must(toolsearch.New(t.Context(), &config))(t)
	var static []tool.BaseTool
	for _, info := range own {
		static = append(static, &standIn{info, m.answers})
	}
	agentConfig := &adk.ChatModelAgentConfig{
		Name: "agent", Description: "Is recorded", Instruction: filler(c.System), Model: billedModel{m, p}, MaxIterations: 100,
		Handlers: []adk.ChatModelAgentMiddleware{&recorder{log: logger, way: way}, middleware},
	}
	agentConfig.ToolsConfig.Tools = static
	require.NoError(t, agents.Run(t.Context(), agentConfig, []adk.Message{
		schema.UserMessage("Go on."), schema.AssistantMessage(filler(c.History), nil), schema.UserMessage(defaultQuestion),
	}))
	return out.String()
}

// A program's log gives the conversation that the program played, and a bill like its provider's.
func TestReadLog(t *testing.T) {
	tools := services.Infos()
	for i := range len(tools) / 3 { // from everywhere in the list
		tools[i] = tools[3*i]
	}
	tools = tools[:len(tools)/3]
	c := Script(tools, Shape{History: 3000, Calls: 7, Loads: 3, Result: 120})
	c.System = 100
	clock := &schema.ToolInfo{Name: "clock", Desc: "The time"}
	c.Steps = slices.Insert(c.Steps, 2,
		Step{Query: "dance a waltz"},
		Step{Tool: "clock", Arguments: `{}`, Result: 40}, Step{Tool: c.Steps[1].Tool, Arguments: c.Steps[1].Arguments, Result: 40,
			Together: true})
	for _, test := range []struct {
		provider string
		way      Way
	}{
		{"anthropic", Way{All: true}},
		{"anthropic", Way{Protocol: toolsearch.ProtocolToolSearch}},
		{"anthropic", Way{Protocol: toolsearch.ProtocolNativeReferences}},
		{"anthropic", Way{Protocol: toolsearch.ProtocolSearchAdd}},
		{"anthropic", Way{Protocol: toolsearch.ProtocolAnchored}},
		{"openai", Way{Protocol: toolsearch.ProtocolToolSearch}},
		{"openai", Way{Protocol: toolsearch.ProtocolDispatch}},
		{"deepseek", Way{Protocol: toolsearch.ProtocolRanked}},
	} {
		name, p := fmt.Sprintf("%s, %v", test.provider, test.way), provider(t, test.provider)
		log := recordLog(t, tools, test.way, p, c, clock)
		runs := testtools.Must(ReadLog(strings.NewReader("{\"msg\":\"ready\"}\n\nlistening on :8080\n{\n[]\nnull\n"+log)))(t, name)
		require.Len(t, runs, 1, name)
		assert.Equal(t, test.way, runs[0].Way, name)
		want := slices.DeleteFunc(slices.Clone(c.Steps), func(s Step) bool { return test.way.All && s.Tool == "" })
		steps := runs[0].conversation.Steps
		require.Len(t, steps, len(want), name)
		for i, step := range steps {
			assert.Equal(t, want[i].Tool, step.Tool, "%s: step %d", name, i)
			assert.Equal(t, want[i].Together, step.Together, "%s: step %d", name, i)
			assert.GreaterOrEqual(t, step.After, time.Duration(0), "%s: step %d", name, i)
			if want[i].Tool != "" {
				assert.InDelta(t, want[i].Result, step.Result-framing(p.Wire), 25, "%s: step %d: tokens of the result", name, i)
			}
		}

		report := testtools.Must(CompareLog(t.Context(), tools, p, runs))(t, name)
		check := report.Checks[0]
		assert.InEpsilon(t, check.Billed.Input(), check.Computed.Input(), 0.05, "%s: %+v", name, check)
		assert.GreaterOrEqual(t, check.Computed.Output, check.Billed.Output, "%s: tokens of output, with what the model said", name)
		assert.InEpsilon(t, p.Price(check.Billed), p.Price(check.Computed), 0.06, "%s: %+v", name, check)
		assert.InDelta(t, 3100, report.Rows[0].Shape.History, 200, "%s: the history, with the system message and the agent's own tools", name)
		assert.Equal(t, Shape{History: report.Rows[0].Shape.History, Calls: 8, Loads: 4}, report.Rows[0].Shape, name)
		assert.Len(t, report.Rows[0].Outcomes, len(Ways(p)), name)
		for _, o := range report.Rows[0].Outcomes {
			if o.Way == test.way {
				assert.Equal(t, len(runs[0].calls), o.Calls, "%s: model calls", name)
			}
		}
	}
}

// logged is a line of a log.
func logged(event string) string { return `{"event":` + event + "}\n" }

func TestReadLogOfRuns(t *testing.T) {
	const (
		search = `{"event":"model","prompt_tokens":1000,"output_tokens":10,"calls":["find"]}`
		hit    = `{"event":"search","tool":"find","matches":2}`
		load   = `{"event":"load","loaded":["a","b"],"unloaded":null,"tools_changed":true,"loaded_tokens":300}`
		call   = `{"event":"model","way":"tool_search","prompt_tokens":1400,"cached_tokens":900,"output_tokens":20,"calls":["b"]}`
		answer = `{"event":"model","prompt_tokens":1500,"output_tokens":5,"calls":null}`
	)
	runs, err := ReadLog(strings.NewReader(logged(search) + logged(hit) + logged(load) + logged(call) + logged(answer) +
		logged(`{"event":"load","unloaded":["a"],"tools_changed":true}`) +
		logged(`{"event":"load","tools_changed":true,"tool_tokens":200}`) +
		logged(answer) + logged(call) + logged(search) + logged(hit) + logged(search) + logged(call)))
	require.NoError(t, err)
	require.Len(t, runs, 3)
	assert.Equal(t, Conversation{Steps: []Step{{Tool: "b", Query: "select:a,b", Result: 1500 - 1400 - 20}}}, runs[0].conversation)
	assert.Equal(t, Usage{900, 0, 3000, 35}, runs[0].billed(&Provider{}))
	assert.Equal(t, Usage{0, 0, 3900, 35}, runs[0].billed(&Provider{Cache: CacheNone}))
	assert.Equal(t, Usage{900, 3000, 0, 35}, runs[0].billed(&Provider{Written: 1}), "what it wrote is not said")
	mixed := testtools.Must(ReadLog(strings.NewReader(logged(call) + `{"time":"2026-01-02T03:04:05Z","event":` + call + "}\n" + logged(answer))))(t)
	assert.Zero(t, mixed[0].conversation.Steps[1].After, "a line without a time")
	assert.Equal(t, Conversation{Loaded: []string{"b"}}, runs[1].conversation, "a run that only answers; what was loaded before")
	assert.Equal(t, Conversation{Loaded: []string{"b"}, Steps: []Step{{Tool: "b"}, {Query: unknownQuery}, {Query: unknownQuery}}},
		runs[2].conversation,
		"the log ends with a call; a prompt that shrinks; searches that load nothing")
}

func TestReadLogFails(t *testing.T) {
	const ok = `{"event":"model","prompt_tokens":10,"output_tokens":1,"calls":["a"]}`
	for _, test := range []struct{ text, want string }{
		{"", "no call of a model"},
		{`{"event":"started"}`, "no call of a model"},
		{`{"event":{"event":"catalog","tools":"many"}}`, "no call of a model"},
		{"ready\n{\n[]\n", "no call of a model"},
		{logged(`{"event":"other","loaded":["a"` + strings.Repeat(`,"a"`, maxNames) + `]}`), "no call of a model"},
		{logged(ok) + "ready\n" + logged(`{"event":"load","loaded":"a"}`), "line 3: json"},
		{logged(`{"event":"load","loaded_tokens":-1}`), "line 1: loaded_tokens is -1"},
		{logged(`{"event":"load","loaded_tokens":9223372036854775807}`), "line 1: loaded_tokens is 9223372036854775807"},
		{logged(`{"event":"model","prompt_tokens":9223372036854775807}`), "line 1: prompt_tokens are 9223372036854775807"},
		{logged(`{"event":"model","prompt_tokens":5,"output_tokens":9223372036854775807}`), "line 1: prompt_tokens are 5"},
		{logged(`{"event":"model"}`), "line 1: the call of the model has no prompt_tokens"},
		{logged(`{"event":"model","prompt_tokens":10,"cached_tokens":6,"written_tokens":5}`), "line 1: of 10 prompt_tokens"},
		{logged(`{"event":"model","prompt_tokens":10,"output_tokens":-5}`), "line 1: of 10 prompt_tokens"},
		{logged(`{"event":"model","prompt_tokens":10,"way":"native_server"}`), `line 1: way is "native_server"`},
		{logged(`{"event":"load","loaded":["a"` + strings.Repeat(`,"a"`, maxNames) + `]}`), "line 1: more than 20000 names"},
		{`{"time":"now","event":` + ok + "}", "line 1: time"},
		{strings.Repeat(logged(ok), maxModelCalls+1), "line 2001: more than 2000 calls"},
		{logged(ok) + strings.Repeat(" ", maxLineBytes+1), "line 2: bufio.Scanner: token too long"},
	} {
		_, err := ReadLog(strings.NewReader(test.text))
		assert.ErrorContains(t, err, test.want, "%.60s", test.text)
	}
	_, err := ReadLog(io.MultiReader(strings.NewReader(logged(ok)), strings.NewReader(strings.Repeat(strings.Repeat(" ", 1<<19)+"\n", 129))))
	assert.ErrorContains(t, err, "line 129: more than 64 MiB")

	runs := testtools.Must(ReadLog(strings.NewReader(strings.Repeat(logged(ok), 2))))(t)
	_, err = CompareLog(t.Context(), Tools(3, 50), provider(t, "openai"), runs)
	assert.ErrorContains(t, err, "calls none of the catalog's 3 tools")
}
