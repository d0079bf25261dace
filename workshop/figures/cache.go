package main

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
)

// What conversations over the quickstart's 166 tools cost compared with showing every tool,
// with the prices and the prompt cache of one provider.

// pricedBy is the provider whose prices the pages use.
const pricedBy = "anthropic"

// A bill is the extra cost over showing all tools, in percent.
type bill struct {
	uncached int // nothing is cached
	cold     int // this run's own requests are cached
	warm     int // the previous turn's request is cached too
}

func (b bill) String() string { return fmt.Sprintf("%+d / %+d / %+d %%", b.uncached, b.cold, b.warm) }

// prices are what a conversation costs, in US dollars.
type prices struct{ uncached, cold, warm float64 }

func (p prices) over(all prices) bill {
	more := func(ours, theirs float64) int { return int(100*ours/theirs+0.5) - 100 }
	return bill{more(p.uncached, all.uncached), more(p.cold, all.cold), more(p.warm, all.warm)}
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
		bills = append(bills, idea{}.prices(ctx, tools, p, cost.Way{Protocol: protocol}, conversation).over(all).String())
	}
	return bills
}

// bills returns the rows of the table of bills, with a column for each of three protocols.
func bills(ctx context.Context, tools []*schema.ToolInfo) table {
	rows := table{}
	for _, shape := range cost.Shapes {
		rows[shape.String()] = billsOf(ctx, tools, shape,
			toolsearch.ProtocolToolSearch, toolsearch.ProtocolDispatch, toolsearch.ProtocolNativeReferences)
	}
	return rows
}

// protocolBills returns what each protocol costs in one of the conversations.
func protocolBills(ctx context.Context, tools []*schema.ToolInfo) table {
	rows := table{"`ProtocolRegexp`": {notMeasured}} // the replay asks by names, not by patterns
	for name, protocol := range map[string]toolsearch.Protocol{
		"`ProtocolToolSearch`": toolsearch.ProtocolToolSearch, "`ProtocolDispatch`": toolsearch.ProtocolDispatch,
		"`ProtocolSearchAdd`": toolsearch.ProtocolSearchAdd, "`ProtocolRanked`": toolsearch.ProtocolRanked,
		"`ProtocolFor(model)`": toolsearch.ProtocolNativeReferences,
	} {
		rows[name] = billsOf(ctx, tools, shown, protocol)
	}
	return rows
}

func quickstartTools(ctx context.Context) (infos []*schema.ToolInfo) {
	for _, t := range services.Tools() {
		infos = append(infos, must(t.Info(ctx)))
	}
	return infos
}

// advice returns the rows of the table of recommendations: for each provider the way to take, and
// the way without native search.
func advice(ctx context.Context, tools []*schema.ToolInfo) table {
	rows := table{}
	for _, p := range cost.Providers() {
		r := must(cost.Compare(ctx, tools, &p, []cost.Shape{shown}))
		change := func(way cost.Way) string {
			return fmt.Sprintf("`%v`, %+.0f %%", way, 100*(r.Price(way)/r.Price(cost.Way{All: true})-1))
		}
		rows["`"+p.Name+"`"] = cells(p.Model, change(cost.Way{Protocol: toolsearch.ProtocolToolSearch}), change(r.Take(true)), change(r.Take(false)))
	}
	return rows
}
