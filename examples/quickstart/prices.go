package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
)

// What the conversation costs, played once for each way to show tools, with the prices and the
// prompt cache of one provider. Cold means that nothing is cached before the run, warm that the
// previous turn is cached.

// printPrices prints the sum at the end.
func printPrices(ctx context.Context, out io.Writer, infos []*schema.ToolInfo) error {
	provider, _ := cost.Named(cost.Providers(), "anthropic")
	fmt.Fprintf(out, "\nWhat this conversation costs with %s, in US cents:\n", provider.Model)
	fmt.Fprintf(out, "  %-28s  %-15s  %-15s  %s\n", "", "without a cache", "cache, cold", "cache, warm")
	var all [3]float64
	for _, way := range []struct {
		name   string
		config toolsearch.Config
	}{
		{fmt.Sprintf("showing all %d tools", len(infos)), toolsearch.Config{DeferFrom: len(infos) + 1}},
		{"ProtocolToolSearch (default)", toolsearch.Config{}},
		{"ProtocolDispatch", toolsearch.Config{Protocol: toolsearch.ProtocolDispatch}},
		{"ProtocolAnchored", toolsearch.Config{Protocol: toolsearch.ProtocolAnchored}},
		{"ProtocolNativeReferences", toolsearch.Config{Protocol: toolsearch.ProtocolNativeReferences}},
	} {
		cents, err := centsOf(ctx, infos, way.config, provider)
		if err != nil {
			return err
		}
		line := fmt.Sprintf("  %-28s", way.name)
		for i, c := range cents {
			if way.config.DeferFrom > 0 {
				all[i] = c
				line += fmt.Sprintf("  %-15s", fmt.Sprintf("%5.2f", c))
			} else {
				line += fmt.Sprintf("  %-15s", fmt.Sprintf("%5.2f (%+.0f %%)", c, 100*(c/all[i]-1)))
			}
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
	return nil
}

// centsOf plays the conversation in one way: without a cache, with a cold cache and with a warm
// cache.
func centsOf(
	ctx context.Context, infos []*schema.ToolInfo, config toolsearch.Config, provider *cost.Provider,
) (cents [3]float64, err error) {
	conversation := cost.Conversation{System: 8}
	query := ""
	for _, turn := range script {
		for _, call := range turn.Calls {
			if call.Name == toolsearch.DefaultToolName {
				var search struct{ Query string }
				_ = json.Unmarshal([]byte(call.Arguments), &search) // the script is valid
				query = search.Query
				continue
			}
			conversation.Steps = append(conversation.Steps, cost.Step{Tool: call.Name, Arguments: call.Arguments, Query: query, Result: 60})
		}
	}
	played, err := cost.Replay(ctx, infos, config, provider.Wire, conversation)
	if err != nil {
		return cents, err
	}
	for i, price := range played.Prices(provider) {
		cents[i] = 100 * price
	}
	return cents, nil
}
