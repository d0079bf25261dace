package toolsearch_test

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

type place struct {
	City string `json:"city" jsonschema:"description=Name of the city"`
}

func weatherOf(_ context.Context, p place) (string, error) { return "Sunny in " + p.City, nil }

// This agent has its tools behind tool_search. The model is a script, so the example needs no key.
// A program uses a chat model of eino-ext in its place.
func ExampleNew() {
	ctx := context.Background()
	weather, err := utils.InferTool("get_weather", "Current weather of a city", weatherOf)
	if err != nil {
		fmt.Println(err)
		return
	}
	middleware, err := toolsearch.New(ctx, &toolsearch.Config{
		DynamicTools: []tool.BaseTool{weather}, // and hundreds more
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	model := toolsearchtest.NewModel[*schema.Message](
		toolsearchtest.CallTool("tool_search", `{"query":"weather"}`),
		toolsearchtest.CallTool("get_weather", `{"city":"Rome"}`),
		toolsearchtest.Say("It is sunny in Rome."),
	)
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "helper", Description: "Helps", Model: model,
		Handlers: []adk.ChatModelAgentMiddleware{middleware},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "How is the weather in Rome?")
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			fmt.Println(event.Err)
			return
		}
		message := event.Output.MessageOutput.Message
		for _, call := range message.ToolCalls {
			fmt.Println("calls", call.Function.Name, call.Function.Arguments)
		}
		if message.Content != "" {
			fmt.Println(message.Role, "says", message.Content)
		}
	}
	for i, request := range model.Requests() {
		fmt.Println("call", i+1, "saw", request.ToolNames())
	}
	// Output:
	// calls tool_search {"query":"weather"}
	// tool says {"matches":["get_weather"]}
	// calls get_weather {"city":"Rome"}
	// tool says Sunny in Rome
	// assistant says It is sunny in Rome.
	// call 1 saw [tool_search]
	// call 2 saw [tool_search get_weather]
	// call 3 saw [tool_search get_weather]
}
