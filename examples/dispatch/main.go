// Dispatch keeps the tool list constant. A search answers with definitions, and call_tool
// runs the tools that they define.
//
// Watch how call_tool answers arguments that do not fit. Watch also the last line: in every
// call the model got the same bytes of tool definitions and the same first message, so a
// provider's prompt cache stays valid for the whole conversation. No key is needed, since the
// model is a script.
package main

import (
	"context"
	"encoding/json"
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

const question = "Tell #incidents that checkout is up again."

// script is what a model does with the question. Replace it with a chat model of eino-ext.
var script = []toolsearchtest.Turn{
	toolsearchtest.CallTool("tool_search", `{"query":"slack send message channel","max_results":1}`),
	toolsearchtest.CallTool("call_tool", `{"name":"mcp__slack__send_message","arguments":{"channel":"#incidents"}}`),
	toolsearchtest.CallTool("call_tool", `{"name":"mcp__slack__send_message","arguments":{"channel":"#incidents","text":"Checkout is up again."}}`),
	toolsearchtest.Say("I told #incidents."),
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	middleware, err := toolsearch.New(ctx, &toolsearch.Config{
		DynamicTools: services.Tools(),
		Protocol:     toolsearch.ProtocolDispatch,
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
	if _, _, err := show.New(out, model).Run(runner.Query(ctx, question)); err != nil {
		return err
	}
	return comparePrefixes(out, model.Requests())
}

// comparePrefixes prints how many calls began with the same bytes as the first call. It
// compares the tool definitions and the list of names, which a provider caches first.
func comparePrefixes(out io.Writer, requests []toolsearchtest.Request) error {
	var first string
	same := 0
	for i, r := range requests {
		definitions, err := prefix(r)
		if err != nil {
			return err
		}
		if i == 0 {
			first = definitions
		}
		if definitions == first {
			same++
		}
	}
	fmt.Fprintf(out, "calls that began with the same bytes: %d of %d\n", same, len(requests))
	return nil
}

func prefix(r toolsearchtest.Request) (string, error) {
	text := ""
	for _, info := range r.Tools {
		parameters, err := info.ToJSONSchema()
		if err != nil {
			return "", err
		}
		definition, err := json.Marshal([]any{info.Name, info.Desc, parameters})
		if err != nil {
			return "", err
		}
		text += string(definition)
	}
	return text + r.Messages[0].Text, nil
}
