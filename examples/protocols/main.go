// Protocols plays one short conversation under each protocol, or under the one that -protocol
// names. Watch in each what the model sees, and what its searches answer:
//
//   - "tool_search" loads what a search finds.
//   - "regexp", of Eino v0.8, searches names by patterns. The first pattern here is invalid, so
//     the model is told what is wrong and where.
//   - "search_add" lets the model look before it loads: search_tools does not change the tool
//     list, add_tool and remove_tool do. A misspelled word still finds similar words.
//   - "ranked" shows candidates with scores and parameters, as text and then as JSON.
//   - "dispatch" never changes the tool list: a search answers with definitions, and call_tool
//     runs the tools. The last line says how many calls began with the same bytes, which a
//     provider's prompt cache needs.
//   - "native_deferred" gives the model the catalog as deferred tools, and tool_search to find
//     them. A search result has whole definitions.
//   - "native_references" gives tool_search as an ordinary tool and defers nothing. The model
//     gets the found tools as definitions; the history has them as text.
//   - "native_server" gives only the catalog, since the provider searches by itself.
//   - "anchored" shows on the wire alone: see examples/anchored.
//
// No key is needed, since the models are scripts.
//
//	go run ./examples/protocols -protocol ranked
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/examples/show"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// A conversation is what a user asks, and what a model does with it.
type conversation struct {
	protocol toolsearch.Protocol
	question string
	script   []toolsearchtest.Turn
}

var call = toolsearchtest.CallTool

var conversations = []conversation{
	{toolsearch.ProtocolToolSearch, "Which invoices are open?", []toolsearchtest.Turn{
		call("tool_search", `{"query":"+stripe list invoices","max_results":1}`),
		call("mcp__stripe__list_invoices", `{"status":"open"}`),
		toolsearchtest.Say("These are open."),
	}},
	{toolsearch.ProtocolRegexp, "Is the checkout deployment healthy?", []toolsearchtest.Turn{
		call("tool_search", `{"regex_pattern":"kubernetes.*(pods"}`),
		call("tool_search", `{"regex_pattern":"kubernetes__(list|describe)_pod"}`),
		call("mcp__kubernetes__list_pods", `{"namespace":"checkout"}`),
		toolsearchtest.Say("Not quite: the worker restarts again and again."),
	}},
	{toolsearch.ProtocolSearchAdd, "Will it rain in Hamburg today?", []toolsearchtest.Turn{
		call("search_tools", `{"query":"wheather"}`),
		call("search_tools", `{"query":"weather.*(rain|forecast)"}`),
		call("add_tool", `{"tool_names":["mcp__weather__hourly_rain"]}`),
		call("mcp__weather__hourly_rain", `{"location":"Hamburg"}`),
		call("remove_tool", `{"tool_names":["mcp__weather__hourly_rain"]}`),
		toolsearchtest.Say("Light rain in two hours."),
	}},
	{toolsearch.ProtocolRanked, "Pay the customer of charge ch_17 their money back.", []toolsearchtest.Turn{
		call("tool_search", `{"query":"refund a charge","limit":3}`),
		call("mcp__stripe__refund_charge", `{"charge":"ch_17"}`),
		toolsearchtest.Say("The charge is refunded."),
	}},
	{toolsearch.ProtocolDispatch, "Tell #incidents that checkout is up again.", []toolsearchtest.Turn{
		call("tool_search", `{"query":"slack send message channel","max_results":1}`),
		call("call_tool", `{"name":"mcp__slack__send_message","arguments":{"channel":"#incidents"}}`),
		call("call_tool", `{"name":"mcp__slack__send_message","arguments":{"channel":"#incidents","text":"Checkout is up again."}}`),
		toolsearchtest.Say("I told #incidents."),
	}},
	{toolsearch.ProtocolNativeDeferred, weather, []toolsearchtest.Turn{search, forecast, answer}},
	{toolsearch.ProtocolNativeReferences, weather, []toolsearchtest.Turn{search, forecast, answer}},
	{toolsearch.ProtocolNativeServer, weather, []toolsearchtest.Turn{forecast, answer}}, // it calls what its provider found
}

const weather = "How is the weather in Rome?"

var (
	search   = call("tool_search", `{"query":"weather conditions","max_results":2}`)
	forecast = call("mcp__weather__current_conditions", `{"location":"Rome"}`)
	answer   = toolsearchtest.Say("Partly cloudy, 18 degrees.")
)

func main() {
	only := flag.String("protocol", "", "the one protocol to show, such as ranked; all if empty")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *only); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, only string) error {
	known := false
	for _, c := range conversations {
		if only != "" && only != c.protocol.String() {
			continue
		}
		known = true
		run := play[*schema.Message]
		if c.protocol == toolsearch.ProtocolNativeDeferred || c.protocol == toolsearch.ProtocolNativeServer {
			run = play[*schema.AgenticMessage] // the adapters of these protocols have agentic messages
		}
		if err := run(ctx, out, c); err != nil {
			return err
		}
	}
	if !known {
		return fmt.Errorf("there is no protocol %q", only)
	}
	return nil
}

// play runs an agent under the conversation's protocol, and prints what its model was given.
func play[M adk.MessageType](ctx context.Context, out io.Writer, c conversation) error {
	middleware, err := toolsearch.NewTyped[M](ctx, &toolsearch.Config{DynamicTools: services.Tools(), Protocol: c.protocol})
	if err != nil {
		return err
	}
	model := toolsearchtest.NewModel[M](c.script...) // put a chat model of eino-ext here, and toolsearch.ProtocolFor(model) above
	fmt.Fprintf(out, "protocol %v, ", c.protocol)
	if err := show.Ask(ctx, out, model, c.question, middleware); err != nil {
		return err
	}
	requests := model.Requests()
	for _, m := range requests[len(requests)-1].Messages {
		if m.Native {
			fmt.Fprintln(out, "the model was given the search's result as", show.Result(m))
		}
	}
	same := 0 // the definitions and the list of names, which a provider caches first
	for _, r := range requests {
		if prefixOf(r) == prefixOf(requests[0]) {
			same++
		}
	}
	fmt.Fprintf(out, "calls that began with the same bytes: %d of %d\n\n", same, len(requests))
	return nil
}

func prefixOf(r toolsearchtest.Request) string {
	prefix := r.Messages[0].Text
	for _, info := range r.Tools {
		parameters, _ := info.ToJSONSchema()
		definition, _ := json.Marshal([]any{info.Name, info.Desc, parameters})
		prefix += string(definition)
	}
	return prefix
}
