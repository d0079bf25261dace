package toolsearch_test

import (
	"context"
	"fmt"
	"log"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

func ExampleNew() {
	ctx := context.Background()
	weather := must(utils.InferTool("get_weather", "Current weather of a city", getWeather))
	middleware := must(toolsearch.New(ctx, &toolsearch.Config{DynamicTools: []tool.BaseTool{weather /* and hundreds more */}}))
	model := toolsearchtest.NewModel[*schema.Message]( // a script in the place of a chat model
		toolsearchtest.CallTool("tool_search", `{"query":"weather"}`),
		toolsearchtest.CallTool("get_weather", `{"city":"Rome"}`),
		toolsearchtest.Say("It is sunny in Rome."))
	agent := must(adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "helper", Description: "Helps", Model: model,
		Handlers: []adk.ChatModelAgentMiddleware{middleware},
	}))
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: true})
	if err := show(runner.Query(ctx, "How is the weather in Rome?")); err != nil {
		log.Fatal(err)
	}
	// Output:
	// calls tool_search {"query":"weather"}
	// tool says {"matches":["get_weather"]}
	// calls get_weather {"city":"Rome"}
	// tool says Sunny in Rome
	// assistant says It is sunny in Rome.
}

func show(events *adk.AsyncIterator[*adk.AgentEvent]) error {
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			return event.Err
		}
		if event.Output == nil || event.Output.MessageOutput == nil {
			continue // an event without a message, such as those of Config.SendEvents
		}
		// GetMessage waits for the end of a streamed message. To show it as it comes, read
		// event.Output.MessageOutput.MessageStream where IsStreaming is true.
		message, err := event.Output.MessageOutput.GetMessage()
		if err != nil {
			return err
		}
		for _, call := range message.ToolCalls {
			fmt.Println("calls", call.Function.Name, call.Function.Arguments)
		}
		if message.Content != "" {
			fmt.Println(message.Role, "says", message.Content)
		}
	}
	return nil
}

func getWeather(_ context.Context, place struct {
	City string `json:"city" jsonschema:"description=Name of the city"`
}) (string, error) {
	return "Sunny in " + place.City, nil
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
