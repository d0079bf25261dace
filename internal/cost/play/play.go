// Package play plays conversations through Eino's agents. Whatever package makes an agent compiles all of it
// once more, which takes seconds: those that need only what the model was asked play here.
package play

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
)

// Chat runs an agent to its end, and returns the first error of its run.
func Chat(ctx context.Context, config *adk.ChatModelAgentConfig, input []*schema.Message) error {
	return run(ctx, config, input)
}

// Agentic is Chat for the other type of messages.
func Agentic(ctx context.Context, config *adk.TypedChatModelAgentConfig[*schema.AgenticMessage], input []*schema.AgenticMessage) error {
	return run(ctx, config, input)
}

func run[M adk.MessageType](ctx context.Context, config *adk.TypedChatModelAgentConfig[M], input []M) error {
	agent, err := adk.NewTypedChatModelAgent(ctx, config)
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
