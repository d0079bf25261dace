package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/examples/show"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// Tool search without the ADK.

// conversation is the state of the graph: the messages so far. Every node adds its own.
type conversation struct{ messages []*schema.Message }

// graph searches tools in a plain compose graph, without the ADK. Two things are enough. The
// ToolsNode has Catalog.Tool as an ordinary tool beside all 166 tools. The model's node reads
// from the messages which tools to show. The middleware also takes care of the reminder, the
// model's mistakes, the policies and the histories; in a graph these are up to you.
func graph(ctx context.Context, out io.Writer) error {
	const question = "Is it going to rain in Hamburg?"
	chat := toolsearchtest.NewModel[*schema.Message](
		toolsearchtest.CallTool("tool_search", `{"query":"will it rain","max_results":2}`),
		toolsearchtest.CallTool("mcp__weather__hourly_rain", `{"location":"Hamburg"}`),
		toolsearchtest.Say("Light rain in two hours."))
	runnable, err := newGraph(ctx, chat)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "user:", question)
	answer, err := runnable.Invoke(ctx, []*schema.Message{schema.UserMessage(question)})
	if err != nil {
		return err
	}
	for i, r := range chat.Requests() {
		last := r.Messages[len(r.Messages)-1]
		fmt.Fprintf(out, "model call %d\n  got    %s\n  sees   %s\n", i+1, show.Result(last), show.Names(r.Tools))
	}
	fmt.Fprintln(out, "answer:", answer.Content)
	return nil
}

// newGraph makes a graph of two nodes, the model and the tools. It ends when the model calls
// no tool.
func newGraph(ctx context.Context, chat model.BaseChatModel) (compose.Runnable[[]*schema.Message, *schema.Message], error) {
	tools := services.Tools()
	catalog, err := toolsearch.NewCatalog(ctx, tools, &toolsearch.CatalogOptions{Index: toolsearch.BM25})
	if err != nil {
		return nil, err
	}
	search := catalog.Tool()
	searchInfo, err := search.Info(ctx)
	if err != nil {
		return nil, err
	}
	toolsNode, err := compose.NewToolNode(ctx, &compose.ToolsNodeConfig{Tools: append(tools, search)})
	if err != nil {
		return nil, err
	}

	g := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(
		func(context.Context) *conversation { return &conversation{} }))
	ask := compose.InvokableLambda(func(ctx context.Context, messages []*schema.Message) (*schema.Message, error) {
		found, err := loaded(ctx, catalog, messages)
		if err != nil {
			return nil, err
		}
		return chat.Generate(ctx, messages, model.WithTools(append([]*schema.ToolInfo{searchInfo}, found...)))
	})
	addModel := g.AddLambdaNode("model", ask, compose.WithStatePreHandler(remember), compose.WithStatePostHandler(
		func(_ context.Context, answer *schema.Message, c *conversation) (*schema.Message, error) {
			c.messages = append(c.messages, answer)
			return answer, nil
		}))
	addTools := g.AddToolsNode("tools", toolsNode)
	addBranch := g.AddBranch("model", compose.NewGraphBranch(
		func(_ context.Context, answer *schema.Message) (string, error) {
			if len(answer.ToolCalls) > 0 {
				return "tools", nil
			}
			return compose.END, nil
		}, map[string]bool{"tools": true, compose.END: true}))
	for _, err := range []error{addModel, addTools, addBranch, g.AddEdge(compose.START, "model"), g.AddEdge("tools", "model")} {
		if err != nil {
			return nil, err
		}
	}
	return g.Compile(ctx)
}

// remember adds fresh messages to the conversation and returns all of it for the model.
func remember(_ context.Context, fresh []*schema.Message, c *conversation) ([]*schema.Message, error) {
	c.messages = append(c.messages, fresh...)
	return c.messages, nil
}

// loaded returns the tools that search results in the messages name. They are in the order in
// which they were first found, so the list only grows at its end.
func loaded(ctx context.Context, catalog *toolsearch.Catalog, messages []*schema.Message) (infos []*schema.ToolInfo, err error) {
	seen := map[string]bool{}
	for _, m := range messages {
		var result struct{ Matches []string }
		if m.Role != schema.Tool || m.ToolName != toolsearch.DefaultToolName || json.Unmarshal([]byte(m.Content), &result) != nil {
			continue
		}
		for _, name := range result.Matches {
			if seen[name] {
				continue
			}
			seen[name] = true
			found, err := catalog.Search(ctx, "select:"+name, 1)
			if err != nil {
				return nil, err
			}
			for _, match := range found.Matches {
				infos = append(infos, match.Info)
			}
		}
	}
	return infos, nil
}
