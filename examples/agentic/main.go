// Agentic runs an agent with *schema.AgenticMessage, whose messages are lists of content
// blocks. NewTyped makes the middleware; everything else is as in the other examples.
//
// Watch the kinds of blocks in the history at the end. Watch also the second question: it
// continues the history, so the tools that the first question found are loaded at once. No
// key is needed, since the model is a script.
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

// talk has the user's questions and what a model does with each. Replace the scripts with an
// agentic model of eino-ext.
var talk = []struct {
	question string
	script   []toolsearchtest.Turn
}{
	{"What fails most in checkout?", []toolsearchtest.Turn{
		toolsearchtest.CallTool("tool_search", `{"query":"+sentry errors stack","max_results":2}`),
		toolsearchtest.CallTool("mcp__sentry__list_errors", `{"project":"checkout"}`),
		toolsearchtest.Say("A cart that is undefined."),
	}},
	{"Where in the code?", []toolsearchtest.Turn{
		toolsearchtest.CallTool("mcp__sentry__get_stack_trace", `{"error_id":"ERR-204"}`),
		toolsearchtest.Say("In the function that adds up the cart."),
	}},
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	middleware, err := toolsearch.NewTyped[*schema.AgenticMessage](ctx, &toolsearch.Config{DynamicTools: services.Tools()})
	if err != nil {
		return err
	}
	model := toolsearchtest.NewModel[*schema.AgenticMessage]()
	agent, err := adk.NewTypedChatModelAgent(ctx, &adk.TypedChatModelAgentConfig[*schema.AgenticMessage]{
		Name: "helper", Description: "Helps", Model: model,
		Handlers: []adk.TypedChatModelAgentMiddleware[*schema.AgenticMessage]{middleware},
	})
	if err != nil {
		return err
	}
	runner := adk.NewTypedRunner(adk.TypedRunnerConfig[*schema.AgenticMessage]{Agent: agent})
	screen := show.New(out, model)
	var history []*schema.AgenticMessage
	for _, t := range talk {
		fmt.Fprintln(out, "user:", t.question)
		model.Play(t.script...)
		history = append(history, schema.UserAgenticMessage(t.question))
		answers, _, err := screen.Run(runner.Run(ctx, history))
		if err != nil {
			return err
		}
		history = append(history, answers...)
	}
	fmt.Fprintln(out, "history:")
	for _, m := range history {
		for _, block := range m.ContentBlocks {
			fmt.Fprintf(out, "  %-9s  %s\n", m.Role, block.Type)
		}
	}
	return nil
}
