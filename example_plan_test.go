package toolsearch_test

// Eino's plan-execute agent with the middleware: planexecute.ExecutorConfig has no field for
// handlers, so the executor is made here.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/planexecute"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// newExecutor returns the agent of planexecute.NewExecutor, with handlers: its name, its prompt and
// its model input are those of Eino's. It runs only within planexecute.New.
func newExecutor(ctx context.Context, chat model.BaseChatModel, tools adk.ToolsConfig,
	handlers ...adk.ChatModelAgentMiddleware) (adk.Agent, error) {
	return adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "executor", Description: "an executor agent",
		Model: chat, ToolsConfig: tools, Handlers: handlers,
		OutputKey: planexecute.ExecutedStepSessionKey, // where the replanner looks
		GenModelInput: func(ctx context.Context, _ string, _ *adk.AgentInput) ([]adk.Message, error) {
			return stepPrompt(ctx)
		},
	})
}

// stepPrompt fills in Eino's prompt with what the planner and the replanner left in the session of
// Eino's ADK.
func stepPrompt(ctx context.Context) ([]adk.Message, error) {
	value, _ := adk.GetSessionValue(ctx, planexecute.PlanSessionKey)
	plan, planned := value.(planexecute.Plan)
	if !planned {
		return nil, errors.New("there is no plan; the agent runs within planexecute.New only")
	}
	text, err := plan.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var question, done strings.Builder
	value, _ = adk.GetSessionValue(ctx, planexecute.UserInputSessionKey)
	asked, _ := value.([]adk.Message)
	for _, message := range asked {
		fmt.Fprintln(&question, message.Content)
	}
	value, _ = adk.GetSessionValue(ctx, planexecute.ExecutedStepsSessionKey)
	executed, _ := value.([]planexecute.ExecutedStep) // none before the first step has ended
	for _, step := range executed {
		fmt.Fprintf(&done, "Step: %s\nResult: %s\n\n", step.Step, step.Result)
	}
	return planexecute.ExecutorPrompt.Format(ctx, map[string]any{
		"input": question.String(), "plan": string(text), "executed_steps": done.String(), "step": plan.FirstStep(),
	})
}

// Every step of a plan starts with a new history. With a Session, a tool that one step loaded is
// there in the next.
func ExampleWithSession_plan() {
	ctx := toolsearch.WithSession(context.Background(), toolsearch.NewSession())
	middleware := must(toolsearch.New(ctx, &toolsearch.Config{DynamicTools: demoTools()}))
	chat := toolsearchtest.NewModel[*schema.Message](
		toolsearchtest.CallTool("tool_search", `{"query":"slack"}`), toolsearchtest.Say("Found it."), // step 1
		toolsearchtest.CallTool("mcp__slack__send_message", `{}`), toolsearchtest.Say("Sent.")) // step 2
	executor, err := newExecutor(ctx, chat, adk.ToolsConfig{}, middleware)
	play(ctx, "Tell the team.", planWith(ctx, must(executor, err)))
	for i, request := range chat.Requests() {
		fmt.Println("step", i/2+1, "sees", request.ToolNames())
	}
	// Output:
	// step 1 sees [tool_search]
	// step 1 sees [tool_search mcp__slack__send_message]
	// step 2 sees [tool_search mcp__slack__send_message]
	// step 2 sees [tool_search mcp__slack__send_message]
}

// planWith returns an agent with a plan of two steps, whose planner and replanner play scripts.
func planWith(ctx context.Context, executor adk.Agent) adk.Agent {
	planner := must(planexecute.NewPlanner(ctx, &planexecute.PlannerConfig{
		ChatModelWithFormattedOutput: toolsearchtest.NewModel[*schema.Message](toolsearchtest.Say(`{"steps":["Find a channel","Write to {it}"]}`)),
	}))
	script := toolsearchtest.NewModel[*schema.Message](
		toolsearchtest.CallTool("plan", `{"steps":["Write to {it}"]}`),
		toolsearchtest.CallTool("respond", `{"response":"They know."}`),
	)
	replanner := must(planexecute.NewReplanner(ctx, &planexecute.ReplannerConfig{ChatModel: toolCalling{script}}))
	return must(planexecute.New(ctx, &planexecute.Config{Planner: planner, Executor: executor, Replanner: replanner}))
}

// toolCalling is a model for agents that bind tools themselves.
type toolCalling struct {
	*toolsearchtest.Model[*schema.Message]
}

func (m toolCalling) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

// Without handlers, newExecutor's agent is Eino's own executor to its model.
func TestExecutorIsEinos(t *testing.T) {
	requests := func(makeExecutor func(model.ToolCallingChatModel, adk.ToolsConfig) (adk.Agent, error)) []toolsearchtest.Request {
		scripted := toolsearchtest.NewModel[*schema.Message](toolsearchtest.CallTool("get_weather", `{}`),
			toolsearchtest.Say("Sunny."), toolsearchtest.Say("Written."))
		tools := adk.ToolsConfig{}
		tools.Tools = testtools.NewsTools()
		executor := testtools.Must(makeExecutor(toolCalling{scripted}, tools))(t)
		play(t.Context(), "What is new?", planWith(t.Context(), executor))
		seen := scripted.Requests()
		for _, r := range seen {
			for i := range r.Messages {
				r.Messages[i].Extra = nil // Eino's random ids
			}
		}
		return seen
	}
	eino := requests(func(chat model.ToolCallingChatModel, tools adk.ToolsConfig) (adk.Agent, error) {
		return planexecute.NewExecutor(t.Context(), &planexecute.ExecutorConfig{Model: chat, ToolsConfig: tools})
	})
	ours := requests(func(chat model.ToolCallingChatModel, tools adk.ToolsConfig) (adk.Agent, error) {
		return newExecutor(t.Context(), chat, tools)
	})
	require.Len(t, ours, 3)
	assert.Equal(t, eino, ours)
}
