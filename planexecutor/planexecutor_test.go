package planexecutor_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/planexecute"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/planexecutor"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// toolCalling is a model for agents that bind tools themselves.
type toolCalling struct {
	*toolsearchtest.Model[*schema.Message]
}

func (m toolCalling) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

// run runs a plan of two steps. It returns what the executor's model and the caller got.
func run(t *testing.T, makeExecutor func(*planexecute.ExecutorConfig) (adk.Agent, error), config planexecute.ExecutorConfig) (requests []toolsearchtest.Request, events []toolsearchtest.Message) {
	t.Helper()
	ctx := t.Context()
	planner, err := planexecute.NewPlanner(ctx, &planexecute.PlannerConfig{
		ChatModelWithFormattedOutput: toolsearchtest.NewModel[*schema.Message](toolsearchtest.Say(`{"steps":["Ask the clock","Say {it}"]}`)),
	})
	require.NoError(t, err)
	replanner, err := planexecute.NewReplanner(ctx, &planexecute.ReplannerConfig{ChatModel: toolCalling{toolsearchtest.NewModel[*schema.Message](
		toolsearchtest.CallTool("plan", `{"steps":["Say {it}"]}`),
		toolsearchtest.CallTool("respond", `{"response":"Noon."}`),
	)}})
	require.NoError(t, err)
	scripted := toolsearchtest.NewModel[*schema.Message](
		toolsearchtest.CallTool("clock", `{}`), toolsearchtest.Say("Twelve."), // the first step
		toolsearchtest.Say("Said.")) // the second step
	config.Model = scripted
	executor, err := makeExecutor(&config)
	require.NoError(t, err)
	agent, err := planexecute.New(ctx, &planexecute.Config{Planner: planner, Executor: executor, Replanner: replanner})
	require.NoError(t, err)
	iterator := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Run(ctx, []adk.Message{schema.UserMessage("How late is it?"), schema.UserMessage("{now}")})
	for event, ok := iterator.Next(); ok; event, ok = iterator.Next() {
		require.NoError(t, event.Err)
		if event.Output != nil && event.Output.MessageOutput != nil {
			message, err := event.Output.MessageOutput.GetMessage()
			require.NoError(t, err)
			decoded := toolsearchtest.Decode(message)
			decoded.Extra = nil // Eino's random ids
			events = append(events, decoded)
		}
	}
	requests = scripted.Requests()
	for _, r := range requests {
		for i := range r.Messages {
			r.Messages[i].Extra = nil
		}
	}
	return requests, events
}

func withClock(t *testing.T, config planexecute.ExecutorConfig) planexecute.ExecutorConfig {
	t.Helper()
	clock, err := utils.InferTool("clock", "The time", func(context.Context, struct{}) (string, error) { return "12", nil })
	require.NoError(t, err)
	config.ToolsConfig.Tools = []tool.BaseTool{clock}
	return config
}

// Without handlers the agent behaves as Eino's own executor: its model sees the same, and so does the
// caller.
func TestTheExecutorIsEinos(t *testing.T) {
	eino := func(config *planexecute.ExecutorConfig) (adk.Agent, error) {
		return planexecute.NewExecutor(t.Context(), config)
	}
	ours := func(config *planexecute.ExecutorConfig) (adk.Agent, error) {
		return planexecutor.New(t.Context(), config)
	}
	for name, config := range map[string]planexecute.ExecutorConfig{
		"defaults": {},
		"a GenInputFn": {GenInputFn: func(_ context.Context, in *planexecute.ExecutionContext) ([]adk.Message, error) {
			text := in.UserInput[1].Content + in.Plan.FirstStep()
			for _, step := range in.ExecutedSteps {
				text += step.Step + step.Result
			}
			return []adk.Message{schema.UserMessage(text)}, nil
		}},
	} {
		config = withClock(t, config)
		wantRequests, wantEvents := run(t, eino, config)
		gotRequests, gotEvents := run(t, ours, config)
		require.Len(t, gotRequests, 3, name)
		assert.Equal(t, wantRequests, gotRequests, "%s: what the model saw", name)
		assert.Equal(t, wantEvents, gotEvents, "%s: what the caller got", name)
	}
}

// counter is a handler that counts the runs of its agent.
type counter struct {
	*adk.BaseChatModelAgentMiddleware
	runs *int
}

func (h counter) BeforeAgent(ctx context.Context, runCtx *adk.ChatModelAgentContext) (context.Context, *adk.ChatModelAgentContext, error) {
	*h.runs++
	return ctx, runCtx, nil
}

func TestHandlersRunInEveryStep(t *testing.T) {
	runs := 0
	run(t, func(config *planexecute.ExecutorConfig) (adk.Agent, error) {
		return planexecutor.New(t.Context(), config, counter{&adk.BaseChatModelAgentMiddleware{}, &runs})
	}, withClock(t, planexecute.ExecutorConfig{}))
	assert.Equal(t, 2, runs, "runs of the executor")
}

func TestMistakesAreErrors(t *testing.T) {
	ctx := t.Context()
	_, err := planexecutor.New(ctx, nil)
	assert.ErrorContains(t, err, "planexecutor: no config")
	_, err = planexecutor.New(ctx, &planexecute.ExecutorConfig{})
	assert.Error(t, err, "no model")

	executor, err := planexecutor.New(ctx, &planexecute.ExecutorConfig{Model: toolsearchtest.NewModel[*schema.Message]()})
	require.NoError(t, err)
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: executor}).Query(ctx, "Alone?")
	event, ok := events.Next()
	require.True(t, ok)
	assert.ErrorContains(t, event.Err, "planexecutor: there is no plan")
}
