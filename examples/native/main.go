// Native uses the tool search of the model's provider. There are three native protocols, each
// for other model adapters. Watch what the model is given under each:
//
//   - "native_deferred" gives the model the catalog as deferred tools, and tool_search to find
//     them. A search result has whole definitions.
//   - "native_references" gives tool_search as an ordinary tool and defers nothing. The model
//     gets the found tools as definitions; the history has them as text.
//   - "native_server" gives only the catalog, since the provider searches by itself.
//
// The first lines show which protocol ProtocolFor recommends for an adapter. No key is needed,
// since the models are scripts under the adapters' type names.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/internal/show"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

const question = "How is the weather in Rome?"

// The scripts are what a model does with the question. With a provider that searches by
// itself, the model calls the found tool without calling tool_search.
var (
	forecast = toolsearchtest.CallTool("mcp__weather__current_conditions", `{"location":"Rome"}`)
	done     = toolsearchtest.Say("Partly cloudy, 18 degrees.")
	finds    = []toolsearchtest.Turn{toolsearchtest.CallTool("tool_search", `{"query":"weather conditions","max_results":2}`), forecast, done}
	found    = []toolsearchtest.Turn{forecast, done}
)

// named is a scripted model with the type name of an adapter. ProtocolFor recognizes adapters
// by that name.
type named[M adk.MessageType] struct {
	*toolsearchtest.Model[M]
	typeName string
}

// GetType implements components.Typer.
func (n named[M]) GetType() string { return n.typeName }

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	for _, typeName := range []string{"Claude", "AgenticClaude", "AgenticOpenAI/Responses", "OpenAI"} {
		fmt.Fprintf(out, "%-24s %v\n", typeName, toolsearch.ProtocolFor(named[*schema.Message]{typeName: typeName}))
	}
	if err := ask[*schema.AgenticMessage](ctx, out, "AgenticOpenAI/Responses", toolsearch.ProtocolNativeDeferred, finds); err != nil {
		return err
	}
	if err := ask[*schema.Message](ctx, out, "Claude", toolsearch.ProtocolNativeReferences, finds); err != nil {
		return err
	}
	return ask[*schema.AgenticMessage](ctx, out, "AgenticOpenAI/Responses", toolsearch.ProtocolNativeServer, found)
}

// ask runs an agent in one of the protocols and prints what its model was given.
func ask[M adk.MessageType](ctx context.Context, out io.Writer, typeName string, protocol toolsearch.Protocol, script []toolsearchtest.Turn) error {
	middleware, err := toolsearch.NewTyped[M](ctx, &toolsearch.Config{
		DynamicTools: services.Tools(), Protocol: protocol,
	})
	if err != nil {
		return err
	}
	scripted := toolsearchtest.NewModel[M](script...)
	var chat model.BaseModel[M] = named[M]{scripted, typeName} // put the adapter of eino-ext here
	agent, err := adk.NewTypedChatModelAgent(ctx, &adk.TypedChatModelAgentConfig[M]{
		Name: "helper", Description: "Helps", Model: chat,
		Handlers: []adk.TypedChatModelAgentMiddleware[M]{middleware},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%v, as for %s\n", protocol, typeName)
	runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent})
	if _, _, err := show.New(out, scripted).Run(runner.Query(ctx, question)); err != nil {
		return err
	}
	for _, m := range scripted.Requests()[len(script)-1].Messages {
		if m.Role == toolsearchtest.Tool && m.ToolName == toolsearch.DefaultToolName {
			fmt.Fprintln(out, "the model was given the search's result as", show.Result(m))
		}
	}
	return nil
}
