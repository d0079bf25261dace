// Native leaves the search to the model's provider. There are three native protocols, each for
// other model adapters. Watch what the model is given in each: with "native_deferred" the catalog as tools
// it may find, tool_search as its means, and a search gives whole definitions; with
// "native_references" tool_search is an ordinary tool and nothing is deferred, and what it finds
// goes to the model as definitions, though the history has it as text; with "native_server" the
// catalog alone, since the provider finds by itself. What ProtocolFor says of an adapter
// comes first. It needs no key: the models are scripts under the adapters' type names.
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

// The scripts are what a model does with the question. A provider that searches by itself
// calls what it found without a call of tool_search.
var (
	forecast = toolsearchtest.CallTool("mcp__weather__current_conditions", `{"location":"Rome"}`)
	done     = toolsearchtest.Say("Partly cloudy, 18 degrees.")
	finds    = []toolsearchtest.Turn{toolsearchtest.CallTool("tool_search", `{"query":"weather conditions","max_results":2}`), forecast, done}
	found    = []toolsearchtest.Turn{forecast, done}
)

// named is a scripted model under the type name of an adapter, by which ProtocolFor knows it.
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
