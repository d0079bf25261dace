package toolsearch_test

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// NewTyped is New for agents of *schema.AgenticMessage too; nothing else differs.
func ExampleNewTyped() {
	ctx := context.Background()
	middleware, err := toolsearch.NewTyped[*schema.AgenticMessage](ctx, &toolsearch.Config{DynamicTools: demoTools()})
	if err != nil {
		fmt.Println(err)
		return
	}
	model := toolsearchtest.NewModel[*schema.AgenticMessage](
		toolsearchtest.CallTool("tool_search", `{"query":"channel"}`),
		toolsearchtest.Say("Slack can do that."),
	)
	agent, err := adk.NewTypedChatModelAgent(ctx, &adk.TypedChatModelAgentConfig[*schema.AgenticMessage]{
		Name: "helper", Description: "Helps", Model: model,
		Handlers: []adk.TypedChatModelAgentMiddleware[*schema.AgenticMessage]{middleware},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	events := agent.Run(ctx, &adk.TypedAgentInput[*schema.AgenticMessage]{
		Messages: []*schema.AgenticMessage{schema.UserAgenticMessage("Who can write to a channel?")},
	})
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			fmt.Println(event.Err)
			return
		}
	}
	for i, request := range model.Requests() {
		fmt.Println("call", i+1, "saw", request.ToolNames())
	}
	// Output:
	// call 1 saw [tool_search]
	// call 2 saw [tool_search mcp__slack__send_message]
}
