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

// pricesOf plays a conversation in a way.
func pricesOf(ctx context.Context, tools []*schema.ToolInfo, way cost.Way, shape cost.Shape) (p prices, err error) {
	caching, ok := cost.Named(cost.Providers(), pricedBy)
	if !ok {
		return p, fmt.Errorf("no prices of %s", pricedBy)
	}
	plain := *caching
	plain.Cache = cost.CacheNone
	played, err := cost.Replay(ctx, tools, way.Config(len(tools)), caching.Wire, cost.Script(tools, shape))
	if err != nil {
		return p, err
	}
	return prices{
		uncached: plain.Price(cost.Sum(plain.Bill(nil, played.Requests))),
		cold:     caching.Price(cost.Sum(caching.Bill(nil, played.Requests))),
		warm:     caching.Price(cost.Sum(caching.Bill(played.Earlier, played.Requests))),
	}, nil
}

// billed are the protocols whose bills the pages have, in the order of the columns.
var billed = []toolsearch.Protocol{toolsearch.ProtocolToolSearch, toolsearch.ProtocolDispatch, toolsearch.ProtocolNativeReferences}

// bills returns the rows of the table of bills.
func bills(ctx context.Context) (table, error) {
	tools, err := quickstartTools(ctx)
	if err != nil {
		return nil, err
	}
	rows := table{}
	for _, shape := range cost.Shapes {
		all, err := pricesOf(ctx, tools, cost.Way{All: true}, shape)
		if err != nil {
			return nil, err
		}
		var row []string
		for _, protocol := range billed {
			ours, err := pricesOf(ctx, tools, cost.Way{Protocol: protocol}, shape)
			if err != nil {
				return nil, err
			}
			row = append(row, ours.over(all).String())
		}
		rows[shape.String()] = row
	}
	return rows, nil
}

// protocolBills returns what each protocol costs in one of the conversations.
func protocolBills(ctx context.Context) (table, error) {
	tools, err := quickstartTools(ctx)
	if err != nil {
		return nil, err
	}
	shape := cost.Shape{History: 20_000, Calls: 10, Loads: 3}
	all, err := pricesOf(ctx, tools, cost.Way{All: true}, shape)
	if err != nil {
		return nil, err
	}
	rows := table{"`ProtocolRegexp`": {notMeasured}} // the replay asks by names, not by patterns
	for name, protocol := range map[string]toolsearch.Protocol{
		"`ProtocolToolSearch`": toolsearch.ProtocolToolSearch, "`ProtocolDispatch`": toolsearch.ProtocolDispatch,
		"`ProtocolSearchAdd`": toolsearch.ProtocolSearchAdd, "`ProtocolRanked`": toolsearch.ProtocolRanked,
		"`ProtocolFor(model)`": toolsearch.ProtocolNativeReferences,
	} {
		ours, err := pricesOf(ctx, tools, cost.Way{Protocol: protocol}, shape)
		if err != nil {
			return nil, err
		}
		rows[name] = []string{ours.over(all).String()}
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
func advice(ctx context.Context) (table, error) {
	tools, err := quickstartTools(ctx)
	if err != nil {
		return nil, err
	}
	rows := table{}
	for _, p := range cost.Providers() {
		r, err := cost.Compare(ctx, tools, &p, []cost.Shape{{History: 20_000, Calls: 10, Loads: 3}})
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
