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

func providerNamed(name string) (*cost.Provider, error) {
	if p, ok := cost.Named(cost.Providers(), name); ok {
		return p, nil
	}
	return nil, fmt.Errorf("no prices of %s", name)
}

// billsOf returns what a conversation costs under each of some protocols.
func billsOf(ctx context.Context, tools []*schema.ToolInfo, shape cost.Shape, protocols ...toolsearch.Protocol) (bills []string, err error) {
	p, err := providerNamed(pricedBy)
	if err != nil {
		return nil, err
	}
	conversation := cost.Script(tools, shape)
	all, err := idea{}.prices(ctx, tools, p, cost.Way{All: true}, conversation)
	for i := 0; err == nil && i < len(protocols); i++ {
		var ours prices
		ours, err = idea{}.prices(ctx, tools, p, cost.Way{Protocol: protocols[i]}, conversation)
		bills = append(bills, ours.over(all).String())
	}
	return bills, err
}

// bills returns the rows of the table of bills, with a column for each of three protocols.
func bills(ctx context.Context, tools []*schema.ToolInfo) (rows table, err error) {
	rows = table{}
	for _, shape := range cost.Shapes {
		rows[shape.String()], err = billsOf(ctx, tools, shape,
			toolsearch.ProtocolToolSearch, toolsearch.ProtocolDispatch, toolsearch.ProtocolNativeReferences)
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// protocolBills returns what each protocol costs in one of the conversations.
func protocolBills(ctx context.Context, tools []*schema.ToolInfo) (rows table, err error) {
	rows = table{"`ProtocolRegexp`": {notMeasured}} // the replay asks by names, not by patterns
	for name, protocol := range map[string]toolsearch.Protocol{
		"`ProtocolToolSearch`": toolsearch.ProtocolToolSearch, "`ProtocolDispatch`": toolsearch.ProtocolDispatch,
		"`ProtocolSearchAdd`": toolsearch.ProtocolSearchAdd, "`ProtocolRanked`": toolsearch.ProtocolRanked,
		"`ProtocolFor(model)`": toolsearch.ProtocolNativeReferences,
	} {
		if rows[name], err = billsOf(ctx, tools, shown, protocol); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func quickstartTools(ctx context.Context) (infos []*schema.ToolInfo, err error) {
	for _, t := range services.Tools() {
		info, err := t.Info(ctx)
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// advice returns the rows of the table of recommendations: for each provider the way to take, and
// the way without native search.
func advice(ctx context.Context, tools []*schema.ToolInfo) (table, error) {
	rows := table{}
	for _, p := range cost.Providers() {
		r, err := cost.Compare(ctx, tools, &p, []cost.Shape{shown})
		if err != nil {
			return nil, err
		}
		change := func(way cost.Way) string {
			return fmt.Sprintf("`%v`, %+.0f %%", way, 100*(r.Price(way)/r.Price(cost.Way{All: true})-1))
		}
		rows["`"+p.Name+"`"] = cells(p.Model, change(cost.Way{Protocol: toolsearch.ProtocolToolSearch}), change(r.Take(true)), change(r.Take(false)))
	}
	return rows, nil
}
