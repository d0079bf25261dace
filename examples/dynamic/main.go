// Dynamic follows a server whose tools change, with Config.Source. Watch the runs:
//
//   - The index is built again only by the first run that sees a change.
//   - The third run finds a tool that the server did not have before.
//   - The fourth run cannot reach the server and continues with the last good catalog.
//   - The last run loses a tool that is gone, although the history shows that it was loaded.
//
// No key is needed, since the model is a script.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/internal/show"
	"github.com/eino-toolsearch/toolsearch/examples/internal/workplace"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// A state is what the server has during a run, and what the model does in that run.
type state struct {
	title  string
	tools  []tool.BaseTool
	err    error
	script []toolsearchtest.Turn
}

func states() []state {
	slack := workplace.Tools("slack")
	both := workplace.Tools("slack", "jira")
	find := toolsearchtest.CallTool("tool_search", `{"query":"+ticket create","max_results":1}`)
	file := toolsearchtest.CallTool("mcp__jira__create_ticket", `{"project":"SHOP","type":"bug","summary":"Cart is empty"}`)
	return []state{
		{"the server has Slack", slack, nil, []toolsearchtest.Turn{find, toolsearchtest.Say("I find nothing to file tickets with.")}},
		{"nothing has changed", slack, nil, []toolsearchtest.Turn{toolsearchtest.Say("Still nothing.")}},
		{"it has got Jira", both, nil, []toolsearchtest.Turn{find, file, toolsearchtest.Say("The ticket is filed.")}},
		{"it cannot be reached", nil, errors.New("connection refused"), []toolsearchtest.Turn{file, toolsearchtest.Say("Another ticket is filed.")}},
		{"Jira is gone", slack, nil, []toolsearchtest.Turn{file, toolsearchtest.Say("I cannot file tickets any more.")}},
	}
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	var now state // only this goroutine runs the agent; a server's Source must be safe for concurrent use
	middleware, err := toolsearch.New(ctx, &toolsearch.Config{
		Source: func(context.Context) ([]tool.BaseTool, error) { return now.tools, now.err },
		OnEvent: func(_ context.Context, e toolsearch.Event) {
			if e, failed := e.(toolsearch.FailureEvent); failed {
				fmt.Fprintln(out, "a failure:", e.Err)
			}
		},
		Index: func(ctx context.Context, docs []toolsearch.Document) (toolsearch.Searcher, error) {
			if len(docs) > 0 { // New first builds an index without the Source's tools
				fmt.Fprintf(out, "an index of %d tools is built\n", len(docs))
			}
			return toolsearch.BM25(ctx, docs)
		},
	})
	if err != nil {
		return err
	}
	model := toolsearchtest.NewModel[*schema.Message]()
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "helper", Description: "Helps", Model: model,
		Handlers: []adk.ChatModelAgentMiddleware{middleware},
	})
	if err != nil {
		return err
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	screen := show.New(out, model)
	var history []*schema.Message
	for i, next := range states() {
		now = next
		fmt.Fprintf(out, "run %d: %s\n", i+1, now.title)
		model.Play(now.script...)
		history = append(history, schema.UserMessage("File a ticket: the cart is empty."))
		answers, _, err := screen.Run(runner.Run(ctx, history))
		if err != nil {
			return err
		}
		history = append(history, answers...)
	}
	return nil
}
