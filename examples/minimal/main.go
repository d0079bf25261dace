// Minimal is the whole of what a program needs: tools, the middleware, an agent.
package main

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

func main() {
	ctx := context.Background()
	weather := must(utils.InferTool("get_weather", "Current weather of a city", getWeather))
	middleware := must(toolsearch.New(ctx, &toolsearch.Config{DynamicTools: []tool.BaseTool{weather /* and hundreds more */}}))
	model := toolsearchtest.NewModel[*schema.Message]( // a script; use a chat model of eino-ext
		toolsearchtest.CallTool("tool_search", `{"query":"weather"}`),
		toolsearchtest.CallTool("get_weather", `{"city":"Rome"}`),
		toolsearchtest.Say("It is sunny in Rome."))
	agent := must(adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "helper", Description: "Helps", Model: model,
		Handlers: []adk.ChatModelAgentMiddleware{middleware},
	}))
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "How is the weather in Rome?")
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			log.Fatal(event.Err)
		}
		fmt.Println(event.Output.MessageOutput.Message)
	}
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
