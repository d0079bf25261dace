// Ranked shows the model all candidates with scores and parameters, so it can compare them
// before it chooses. Watch the result of a search: a text with the best tool first, and the
// same as JSON for programs in the last line. All tools in the result are loaded. No key is
// needed, since the model is a script.
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

const question = "Pay the customer of charge ch_17 their money back."

// script is what a model does with the question. Replace it with a chat model of eino-ext.
var script = []toolsearchtest.Turn{
	toolsearchtest.CallTool("tool_search", `{"query":"refund a charge","limit":3}`),
	toolsearchtest.CallTool("mcp__stripe__refund_charge", `{"charge":"ch_17"}`),
	toolsearchtest.Say("The charge is refunded."),
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	middleware, err := toolsearch.New(ctx, &toolsearch.Config{
		DynamicTools: services.Tools(),
		Protocol:     toolsearch.ProtocolRanked,
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
