// Package planexecutor makes the executor of Eino's plan-execute agent with handlers, such as the
// middleware of package toolsearch. planexecute.ExecutorConfig has no field for them.
//
//	executor, err := planexecutor.New(ctx, &planexecute.ExecutorConfig{Model: model}, middleware)
//	...
//	agent, err := planexecute.New(ctx, &planexecute.Config{Planner: planner, Executor: executor, Replanner: replanner})
//
// Every step of a plan starts with a new history. Run the agent with toolsearch.WithSession, so that
// a tool loaded in one step is there in the next.
package planexecutor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/planexecute"
)

// The agents of a plan-execute agent exchange values in the session of Eino's ADK: the planner
// leaves the question and the plan there, the executor its answer, and the replanner the finished
// steps. Eino exports the keys of the four values, and the prompt.

// New returns the agent of planexecute.NewExecutor, with handlers. It has the name, the prompt
// and the model input of Eino's executor. It is an adk.ResumableAgent.
//
// A nil config, or a config that adk.NewChatModelAgent refuses, is an error. The agent runs only
// within planexecute.New: without a plan its run fails.
func New(ctx context.Context, config *planexecute.ExecutorConfig, handlers ...adk.ChatModelAgentMiddleware) (adk.Agent, error) {
	if config == nil {
		return nil, errors.New("planexecutor: no config")
	}
	input := config.GenInputFn
	if input == nil {
		input = promptOf
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:          "executor",
		Description:   "an executor agent",
		Model:         config.Model,
		ToolsConfig:   config.ToolsConfig,
		MaxIterations: config.MaxIterations,
		OutputKey:     planexecute.ExecutedStepSessionKey,
		Handlers:      handlers,
		GenModelInput: func(ctx context.Context, _ string, _ *adk.AgentInput) ([]adk.Message, error) {
			execution, err := executionIn(ctx)
			if err != nil {
				return nil, err
			}
			return input(ctx, execution)
		},
	})
	if err != nil {
		return nil, err
	}
	return agent, nil
}

// executionIn returns what the planner and the replanner left for the executor.
func executionIn(ctx context.Context) (*planexecute.ExecutionContext, error) {
	in := &planexecute.ExecutionContext{}
	plan, _ := adk.GetSessionValue(ctx, planexecute.PlanSessionKey)
	question, _ := adk.GetSessionValue(ctx, planexecute.UserInputSessionKey)
	done, _ := adk.GetSessionValue(ctx, planexecute.ExecutedStepsSessionKey)
	var planned, asked bool
	in.Plan, planned = plan.(planexecute.Plan)
	in.UserInput, asked = question.([]adk.Message)
	in.ExecutedSteps, _ = done.([]planexecute.ExecutedStep) // none before the first step has ended
	if !planned || !asked {
		return nil, errors.New("planexecutor: there is no plan; the agent runs within planexecute.New only")
	}
	return in, nil
}

// promptOf fills in planexecute.ExecutorPrompt, as Eino's executor does.
func promptOf(ctx context.Context, in *planexecute.ExecutionContext) ([]adk.Message, error) {
	plan, err := in.Plan.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var question, done strings.Builder
	for _, message := range in.UserInput {
		fmt.Fprintln(&question, message.Content)
	}
	for _, step := range in.ExecutedSteps {
		fmt.Fprintf(&done, "Step: %s\nResult: %s\n\n", step.Step, step.Result)
	}
	return planexecute.ExecutorPrompt.Format(ctx, map[string]any{
		"input":          question.String(),
		"plan":           string(plan),
		"executed_steps": done.String(),
		"step":           in.Plan.FirstStep(),
	})
}
