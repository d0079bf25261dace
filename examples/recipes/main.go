// Recipes runs the programs of docs/recipes that need no more than this module: each answers one
// question. Without a name it lists them. No key is needed, since the models play scripts.
//
//	go run ./examples/recipes permissions
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"

	"github.com/eino-toolsearch/toolsearch/internal/cost/agents"
)

var recipes = []struct {
	name, shows string
	run         func(context.Context, io.Writer) error
}{
	{"permissions", "two users with different tools", permissions},
	{"multiagent", "agents that share what they have loaded", multiagent},
	{"skills", "tool search beside Eino's skills", skills},
	{"neversearches", "what helps a model that never searches", neversearches},
	{"onename", "two tools with the same name", onename},
	{"resume", "tools stay loaded across a checkpoint", resume},
	{"graph", "the search tool in a plain compose graph", graph},
}

func main() {
	log.SetFlags(0)
	if err := run(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	for _, r := range recipes {
		if len(args) == 0 {
			fmt.Fprintf(out, "%-14s %s\n", r.name, r.shows)
		} else if args[0] == r.name {
			return r.run(ctx, out)
		}
	}
	if len(args) > 0 {
		return fmt.Errorf("there is no recipe %q", args[0])
	}
	return nil
}

type handler = adk.ChatModelAgentMiddleware

// newAgent returns an agent with handlers, such as the middleware, and tools of its own.
func newAgent(
	ctx context.Context, name string, chat model.BaseChatModel, handlers []handler, own ...tool.BaseTool,
) (adk.Agent, error) {
	config := &adk.ChatModelAgentConfig{Name: name, Description: "Helps", Model: chat, Handlers: handlers}
	config.ToolsConfig.Tools = own
	return agents.New(ctx, config)
}
