// Mcp gives an agent all tools of GitHub's own MCP server. Watch what the model sees of them:
// only the search tool at first, and then the tools it searched for. The catalog follows the
// server, which may announce that its tools changed (live.go).
//
// With a file of servers in the form of MCP clients, it starts these servers instead and shows the
// list of their tools that the model sees (groups.go):
//
//	go run . mcp.json
//
// No key is needed. The model is a script. The server's calls fail, since the server may not
// reach anything outside this machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/show"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if len(os.Args) > 1 {
		if err := showFile(ctx, os.Stdout, os.Args[1]); err != nil {
			log.Fatal(err)
		}
		return
	}
	fmt.Println("Starting GitHub's MCP server; the first time, building it may take a minute.")
	server, stop, err := connect(ctx)
	if err == nil {
		err = errors.Join(ask(ctx, os.Stdout, server.Tools, "Run 4711 of octo/demo failed. Please rerun what failed."), stop())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// ask asks an agent with all current tools of the source one question.
func ask(ctx context.Context, out io.Writer, source func(context.Context) ([]tool.BaseTool, error), question string) error {
	search, err := toolsearch.New(ctx, &toolsearch.Config{Source: source})
	if err != nil {
		return err
	}
	// Replace this with a real chat model. This model plays a script and needs no key.
	model := toolsearchtest.NewModel[*schema.Message](
		toolsearchtest.CallTool("tool_search", `{"query":"rerun workflow","max_results":3}`),
		toolsearchtest.CallTool("actions_run_trigger", `{"method":"rerun_failed_jobs","owner":"octo","repo":"demo","run_id":4711}`),
		toolsearchtest.Say("I could not rerun it: GitHub cannot be reached from here."),
	)
	watch := &watcher{out: out}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "assistant", Description: "Helps with GitHub", Model: model,
		Handlers: []adk.ChatModelAgentMiddleware{search, watch}, // watch is second, to see the tools as search leaves them
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "\nUser:", question)
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, question)
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			return event.Err
		}
		if message, _, err := adk.GetMessage(event); err == nil && message != nil && message.Role == schema.Assistant && message.Content != "" {
			fmt.Fprintln(out, "\nAssistant:", message.Content)
		}
	}

	tools, err := source(ctx)
	if err != nil {
		return err
	}
	all := make([]*schema.ToolInfo, len(tools))
	for i, t := range tools {
		if all[i], err = t.Info(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\nOn average about %d tokens per model call; showing all %d tools would take about %d.\n",
		watch.tokens/watch.calls, len(all), show.Tokens(all...))
	return nil
}

// watcher prints what the model sees and does.
type watcher struct {
	*adk.BaseChatModelAgentMiddleware
	out           io.Writer
	calls, tokens int
}

func (w *watcher) BeforeModelRewriteState(ctx context.Context, state *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	names := make([]string, len(state.ToolInfos))
	for i, info := range state.ToolInfos {
		names[i] = info.Name
	}
	definitions, list := show.Tokens(state.ToolInfos...), 0
	for _, message := range state.Messages {
		if strings.HasPrefix(message.Content, "<available-deferred-tools>") {
			list += len(message.Content) / 4
		}
	}
	w.calls++
	w.tokens += definitions + list
	fmt.Fprintf(w.out, "\nModel call %d: about %d tokens of tool definitions and %d for the list of hidden names\n  sees  %s\n",
		w.calls, definitions, list, strings.Join(names, ", "))
	return ctx, state, nil
}

func (w *watcher) WrapInvokableToolCall(_ context.Context, run adk.InvokableToolCallEndpoint, call *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
		result, err := run(ctx, arguments, opts...)
		fmt.Fprintf(w.out, "  calls %s %s\n  gets  %.300s\n", call.Name, arguments, strings.Join(strings.Fields(result), " "))
		return result, err
	}, nil
}
