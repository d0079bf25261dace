// Regexp uses the protocol of Eino v0.8: the model searches 166 tools with one regular
// expression over their names. Watch the first pattern, which is invalid: the model is told
// what is wrong and where, and its second pattern finds tools. All tools that a pattern
// matches are in the tool list from the next call on. No key is needed, since the model is a
// script.
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

const question = "Is the checkout deployment healthy?"

// script is what a model does with the question. Replace it with a chat model of eino-ext.
var script = []toolsearchtest.Turn{
	toolsearchtest.CallTool("tool_search", `{"regex_pattern":"kubernetes.*(pods"}`),
	toolsearchtest.CallTool("tool_search", `{"regex_pattern":"kubernetes__(list|describe)_pod"}`),
	toolsearchtest.CallTool("mcp__kubernetes__list_pods", `{"namespace":"checkout"}`),
	toolsearchtest.Say("Not quite: the worker restarts again and again."),
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	middleware, err := toolsearch.New(ctx, &toolsearch.Config{
		DynamicTools: services.Tools(),
		Protocol:     toolsearch.ProtocolRegexp,
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
