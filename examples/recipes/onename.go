package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/show"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// Two tools with one name.

// onename shows three ways in which two tools have the same name. Watch who answers:
//
//   - The agent's own tool wins over a dynamic tool, and an event says so.
//   - Two catalogs in one agent need two names for their search tools.
//   - Two servers in one catalog: New refuses, and its error says what to do.
func onename(ctx context.Context, out io.Writer) error {
	return errors.Join(ownToolWins(ctx, out), twoCatalogs(ctx, out), twoServers(ctx, out))
}

func ownToolWins(ctx context.Context, out io.Writer) error {
	fmt.Fprintln(out, "the agent's own tool and a dynamic tool")
	middleware, err := toolsearch.New(ctx, &toolsearch.Config{
		DynamicTools: []tool.BaseTool{say("create_issue", "the server"), say("list_issues", "the server")},
		OnEvent: func(_ context.Context, e toolsearch.Event) {
			if failure, ok := e.(*toolsearch.FailureEvent); ok {
				what, _, _ := strings.Cut(failure.Err.Error(), ";") // the rest says what to do
				fmt.Fprintln(out, "  event:", what)
			}
		},
	})
	if err != nil {
		return err
	}
	own := []tool.BaseTool{say("create_issue", "the agent itself")}
	return play(ctx, out, []handler{middleware}, own,
		toolsearchtest.CallTool("create_issue", `{}`))
}

func twoCatalogs(ctx context.Context, out io.Writer) error {
	fmt.Fprintln(out, "two catalogs in one agent")
	work, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: []tool.BaseTool{say("create_issue", "work")}})
	if err != nil {
		return err
	}
	home, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: []tool.BaseTool{say("water_plants", "home")}})
	if err != nil {
		return err
	}
	err = play(ctx, io.Discard, []handler{work, home}, nil)
	if err == nil {
		return errors.New("an agent takes two search tools of the same name")
	}
	_, hint, _ := strings.Cut(err.Error(), "toolsearch: ")
	hint, _, _ = strings.Cut(hint, "\n")
	fmt.Fprintln(out, "  error:", hint)

	home, err = toolsearch.New(ctx, &toolsearch.Config{
		ToolName:     "home_search",
		DynamicTools: []tool.BaseTool{say("water_plants", "home")},
	})
	if err != nil {
		return err
	}
	return play(ctx, out, []handler{work, home}, nil,
		toolsearchtest.CallTool("home_search", `{"query":"plants"}`),
		toolsearchtest.CallTool("water_plants", `{}`))
}

func twoServers(ctx context.Context, out io.Writer) error {
	fmt.Fprintln(out, "two servers in one catalog")
	_, err := toolsearch.New(ctx, &toolsearch.Config{
		DynamicTools: []tool.BaseTool{say("search", "the first server"), say("search", "the second server")},
	})
	if err == nil {
		return errors.New("toolsearch.New takes two dynamic tools of the same name")
	}
	fmt.Fprintln(out, "  New refuses them, and says what to do")
	return nil
}

// say returns a tool that says who answers.
func say(name, who string) tool.InvokableTool {
	t, err := utils.InferTool(name, "Does "+strings.ReplaceAll(name, "_", " "), func(context.Context, struct{}) (string, error) {
		return who + " answers", nil
	})
	if err != nil {
		panic(err) // the definition is wrong
	}
	return t
}

// play runs an agent and prints the results of its tools.
func play(
	ctx context.Context, out io.Writer, handlers []handler, own []tool.BaseTool, script ...toolsearchtest.Turn,
) error {
	model := toolsearchtest.NewModel[*schema.Message](append(script, toolsearchtest.Say("Done."))...)
	agent, err := newAgent(ctx, "helper", model, handlers, own...)
	if err != nil {
		return err
	}
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Go on.")
	messages, _, err := show.New(io.Discard, model).Run(events)
	for _, message := range messages {
		if message.Role == schema.Tool {
			fmt.Fprintf(out, "  %s: %s\n", message.ToolName, message.Content)
		}
	}
	return err
}
