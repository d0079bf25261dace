// Quickstart runs an agent with 166 tools of 15 services behind tool_search. It prints what
// the model saw, searched for, called and got in every turn, and how many tokens that
// took.
//
// It needs no key and no network, since the model is a script. The agent, the Runner and the
// middleware are the same as in a real program. At the end it prints what the conversation
// costs, with and without a prompt cache.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/examples/show"
	"github.com/eino-toolsearch/toolsearch/internal/cost/agents"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

const question = "Checkout fails for some customers since this morning. Find the error, file a GitHub issue for it, and tell #incidents."

// script is what a real model would do with the question. Replace it with a chat model of
// eino-ext to see a real model.
var script = []toolsearchtest.Turn{
	toolsearchtest.CallTool("tool_search", `{"query":"sentry list errors stack trace"}`),
	toolsearchtest.CallTool("mcp__sentry__list_errors", `{"project":"checkout","status":"unresolved"}`),
	toolsearchtest.CallTool("tool_search", `{"query":"+github create issue","max_results":3}`),
	toolsearchtest.CallTool("mcp__github__create_issue", `{"owner":"acme","repo":"checkout","title":"TypeError: cart is undefined"}`),
	toolsearchtest.CallTool("tool_search", `{"query":"select:mcp__slack__send_message"}`),
	toolsearchtest.CallTool("mcp__slack__send_message", `{"channel":"#incidents","text":"Checkout fails: cart is undefined. Issue filed."}`),
	toolsearchtest.Say("I found the error, filed an issue for it and told #incidents."),
}

func main() {
	log.SetFlags(0)
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	tools := services.Tools()
	middleware, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: tools})
	if err != nil {
		return err
	}
	model := toolsearchtest.NewModel[*schema.Message](script...)
	agent, err := agents.New(ctx, &adk.ChatModelAgentConfig{
		Name:        "on-call",
		Description: "Helps whoever is on call",
		Instruction: "You help whoever is on call.",
		Model:       model,
		Handlers:    []adk.ChatModelAgentMiddleware{middleware},
	})
	if err != nil {
		return err
	}

	infos := services.Infos()
	fmt.Fprintf(out, "catalog: %d tools, about %d tokens of definitions\nuser:    %s\n", len(tools), show.Tokens(infos...), question)

	calls := 0
	shown := map[string]bool{}
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, question)
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			return event.Err
		}
		message, err := event.Output.MessageOutput.GetMessage()
		if err != nil {
			return err
		}
		if message.Role == schema.Tool {
			fmt.Fprintf(out, "  %s answered\n    %s\n", message.ToolName, short(message.Content))
			continue
		}
		// The message is the model's. Find the request that it answers.
		request := model.Requests()[calls]
		calls++
		definitions, overhead := sizes(request)
		fmt.Fprintf(out, "\nmodel call %d\n  it saw %s, about %d tokens; names and searches take %d more\n",
			calls, counted(len(request.Tools), "tool"), definitions, overhead)
		for _, name := range request.ToolNames() {
			if !shown[name] {
				shown[name] = true
				fmt.Fprintf(out, "    new: %s\n", name)
			}
		}
		for _, call := range message.ToolCalls {
			if call.Function.Name == toolsearch.DefaultToolName {
				fmt.Fprintf(out, "  it searched for %s\n", call.Function.Arguments)
			} else {
				fmt.Fprintf(out, "  it called %s\n    with %s\n", call.Function.Name, call.Function.Arguments)
			}
		}
		if message.Content != "" {
			fmt.Fprintf(out, "  it said: %s\n", message.Content)
		}
	}

	return printPrices(ctx, out, infos)
}

// sizes returns what a request spends on tools, in tokens: the definitions, and as overhead
// the list of names and all searches so far with their results.
func sizes(r toolsearchtest.Request) (definitions, overhead int) {
	definitions = show.Tokens(r.Tools...)
	for _, m := range r.Messages {
		if strings.HasPrefix(m.Text, "<available-deferred-tools>") || m.ToolName == toolsearch.DefaultToolName {
			overhead += len(m.Text) / 4
		}
		for _, call := range m.Calls {
			if call.Name == toolsearch.DefaultToolName {
				overhead += (len(call.Name) + len(call.Arguments)) / 4
			}
		}
	}
	return definitions, overhead
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func short(text string) string {
	const limit = 110
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return text
}
