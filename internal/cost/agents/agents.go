// Package agents makes Eino's agents and runs them. Whatever package makes an agent compiles all of it once more,
// which takes seconds: tests, examples and figures have theirs made here.
package agents

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
)

// Run runs an agent to its end, and returns the first error of its run.
func Run[M adk.MessageType](ctx context.Context, config *adk.TypedChatModelAgentConfig[M], input []M) error {
	agent, err := New(ctx, config)
	if err != nil {
		return err
	}
	events := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent}).Run(ctx, input)
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			return event.Err
		}
	}
	return nil
}

// New makes Eino's agent.
func New[M adk.MessageType](ctx context.Context, config *adk.TypedChatModelAgentConfig[M]) (adk.TypedResumableAgent[M], error) {
	agent, err := made(ctx, config)
	resumable, _ := agent.(adk.TypedResumableAgent[M])
	return resumable, err
}

//go:noinline // where it was inlined, the agent would be compiled once more
func made(ctx context.Context, config any) (any, error) {
	if config, ok := config.(*adk.ChatModelAgentConfig); ok {
		return adk.NewChatModelAgent(ctx, config)
	}
	return adk.NewTypedChatModelAgent(ctx, config.(*adk.TypedChatModelAgentConfig[*schema.AgenticMessage]))
}
