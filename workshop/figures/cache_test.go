package figures

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
)

// What conversations over the quickstart's 166 tools cost compared with showing every tool,
// with the prices and the prompt cache of one provider.

// pricedBy is the provider whose prices the pages use.
const pricedBy = "anthropic"

// over returns by how many percent prices are higher than others, each without a cache, cold and warm.
func over(prices, others [3]float64) (percent [3]any) {
	for i := range prices {
		percent[i] = int(100*prices[i]/others[i]+0.5) - 100
	}
	return percent
}

// shown is the conversation of the tables that have only one.
var shown = cost.Shape{History: 20_000, Calls: 10, Loads: 3}

func providerNamed(name string) *cost.Provider {
	p, ok := cost.Named(cost.Providers(), name)
	if !ok {
		panic("no prices of " + name)
	}
	return p
}

// billsOf returns what a conversation costs under each of some protocols.
func billsOf(ctx context.Context, tools []*schema.ToolInfo, shape cost.Shape, protocols ...toolsearch.Protocol) (bills []string) {
	p, conversation := providerNamed(pricedBy), cost.Script(tools, shape)
	all := idea{}.prices(ctx, tools, p, cost.Way{All: true}, conversation)
	for _, protocol := range protocols {
		percent := over(idea{}.prices(ctx, tools, p, cost.Way{Protocol: protocol}, conversation), all)
		bills = append(bills, fmt.Sprintf("%+d / %+d / %+d %%", percent[:]...))
	}
	return bills
}

// bills returns the rows of the table of bills, with a column for each of four protocols.
func bills(ctx context.Context, tools []*schema.ToolInfo) table {
	rows := table{}
	for _, shape := range cost.Shapes {
		rows[shape.String()] = billsOf(ctx, tools, shape,
			toolsearch.ProtocolToolSearch, toolsearch.ProtocolDispatch, toolsearch.ProtocolAnchored, toolsearch.ProtocolNativeReferences)
	}
	return rows
}

// protocolBills returns what each protocol costs in one of the conversations.
func protocolBills(ctx context.Context, tools []*schema.ToolInfo) table {
	rows := table{"`ProtocolRegexp`": {notMeasured}} // the replay asks by names, not by patterns
	protocols := []toolsearch.Protocol{toolsearch.ProtocolToolSearch, toolsearch.ProtocolDispatch, toolsearch.ProtocolSearchAdd,
		toolsearch.ProtocolRanked, toolsearch.ProtocolNativeReferences, toolsearch.ProtocolAnchored}
	names := []string{"ToolSearch", "Dispatch", "SearchAdd", "Ranked", "For(model)", "Anchored"}
	for i, bill := range billsOf(ctx, tools, shown, protocols...) {
		rows["`Protocol"+names[i]+"`"] = []string{bill}
	}
	return rows
}

// advice returns the rows of the table of recommendations: for each provider the way to take, and
// the way that every model and adapter can take.
func advice(ctx context.Context, tools []*schema.ToolInfo) table {
	rows := table{}
	for _, p := range cost.Providers() {
		r := must(cost.Compare(ctx, tools, &p, []cost.Shape{shown}))
		change := func(way cost.Way) string {
			return fmt.Sprintf("`%v`, %+.0f %%", way, 100*(r.Price(way)/r.Price(cost.Way{All: true})-1))
		}
		take := r.Take()
		rows["`"+p.Name+"`"] = cells(p.Model, change(cost.Way{Protocol: toolsearch.ProtocolToolSearch}), change(take[0]), change(take[len(take)-1]))
	}
	return rows
}
