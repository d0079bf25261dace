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

type place struct {
	City string `json:"city" jsonschema:"description=Name of the city"`
}

func main() {
	ctx := context.Background()
	weather, err := utils.InferTool("get_weather", "Current weather of a city",
		func(_ context.Context, p place) (string, error) { return "Sunny in " + p.City, nil })
	if err != nil {
		log.Fatal(err)
	}
	middleware, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: []tool.BaseTool{weather /* and hundreds more */}})
	if err != nil {
		log.Fatal(err)
	}
	model := toolsearchtest.NewModel[*schema.Message]( // a script; use a chat model of eino-ext
		toolsearchtest.CallTool("tool_search", `{"query":"weather"}`),
		toolsearchtest.CallTool("get_weather", `{"city":"Rome"}`),
		toolsearchtest.Say("It is sunny in Rome."))
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "helper", Description: "Helps", Model: model,
		Handlers: []adk.ChatModelAgentMiddleware{middleware},
	})
	if err != nil {
		log.Fatal(err)
	}
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "How is the weather in Rome?")
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			log.Fatal(event.Err)
		}
		fmt.Println(event.Output.MessageOutput.Message)
	}
}
