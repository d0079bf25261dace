// Searchadd lets the model look at tools before it loads them. Watch the tool list:
// search_tools does not change it, add_tool loads the tools that the model chose, and
// remove_tool removes them. A misspelled word still finds similar words. This protocol adds
// less to the context than all others. No key is needed, since the model is a script.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/internal/show"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

const question = "Will it rain in Hamburg today?"

// script is what a model does with the question. Replace it with a chat model of eino-ext.
var script = []toolsearchtest.Turn{
	toolsearchtest.CallTool("search_tools", `{"query":"wheather"}`),
	toolsearchtest.CallTool("search_tools", `{"query":"weather.*(rain|forecast)"}`),
	toolsearchtest.CallTool("add_tool", `{"tool_names":["mcp__weather__hourly_rain"]}`),
	toolsearchtest.CallTool("mcp__weather__hourly_rain", `{"location":"Hamburg"}`),
	toolsearchtest.CallTool("remove_tool", `{"tool_names":["mcp__weather__hourly_rain"]}`),
	toolsearchtest.Say("Light rain in two hours."),
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	middleware, err := toolsearch.New(ctx, &toolsearch.Config{
		DynamicTools: services.Tools(),
		Protocol:     toolsearch.ProtocolSearchAdd,
	})
	if err != nil {
		return err
	}
	model := toolsearchtest.NewModel[*schema.Message](script...)
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "helper", Description: "Helps", Model: model,
		Handlers: []adk.ChatModelAgentMiddleware{middleware},
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "user:", question)
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	_, _, err = show.New(out, model).Run(runner.Query(ctx, question))
	return err
}
