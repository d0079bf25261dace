package benchmarks

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
)

// What a conversation costs by model, catalog and protocol, prompt cache included. These numbers
// are arithmetic, and the same on every machine.

// Cost is what a conversation over a catalog costs with one model.
type Cost struct {
	Catalog       string
	Tools, Tokens int     // of the catalog
	Model, Prices string  // the model and the day of its prices
	Cold, Warm    float64 // what showing all tools costs, in US dollars
	Ways          []CostOfWay
	Best          string // the way to take
}

// CostOfWay is how much more a way to show tools costs than showing all, in percent: with nothing
// cached before, and with the previous turn cached.
type CostOfWay struct {
	Way        string
	Cold, Warm float64
}

// costShape is the conversation: an assistant's working day, in which three tools are needed.
var costShape = cost.Shape{History: 20_000, Calls: 10, Loads: 3}

// MeasureCosts plays a conversation over three catalogs with every provider of internal/cost.
func MeasureCosts(ctx context.Context, progress func(string)) (costs []Cost, err error) {
	var quickstart []*schema.ToolInfo
	for _, t := range services.Tools() {
		info, err := t.Info(ctx)
		if err != nil {
			return nil, err
		}
		quickstart = append(quickstart, info)
	}
	for _, catalog := range []struct {
		name  string
		tools []*schema.ToolInfo
	}{{"made", cost.Tools(40, 120)}, {"quickstart", quickstart}, {"made", cost.Tools(400, 120)}} {
		for _, p := range cost.Providers() {
			progress(fmt.Sprintf("%d tools: playing a conversation with %s", len(catalog.tools), p.Model))
			r, err := cost.Compare(ctx, catalog.tools, &p, []cost.Shape{costShape})
			if err != nil {
				return nil, err
			}
			costs = append(costs, costOf(catalog.name, r))
		}
	}
	return costs, nil
}

func costOf(catalog string, r *cost.Report) Cost {
	outcomes := r.Rows[0].Outcomes
	all := outcomes[0]
	c := Cost{
		Catalog: catalog, Tools: r.Tools, Tokens: r.Tokens, Model: r.Provider.Model, Prices: r.Provider.Date,
		Cold: rounded(all.ColdPrice, 4), Warm: rounded(all.WarmPrice, 4), Best: r.Take(true).String(),
	}
	for _, o := range outcomes[1:] {
		c.Ways = append(c.Ways, CostOfWay{o.Way.String(), more(o.ColdPrice, all.ColdPrice), more(o.WarmPrice, all.WarmPrice)})
	}
	return c
}

func more(price, all float64) float64 { return rounded(100*(price/all-1), 0) }

// rounded rounds x, so that results.json is the same on machines that add in another order.
func rounded(x float64, decimals int) float64 {
	unit := math.Pow(10, float64(decimals))
	return math.Round(x*unit)/unit + 0 // not -0
}

func writeCosts(b *bytes.Buffer, costs []Cost) {
	if len(costs) == 0 {
		return
	}
	fmt.Fprintf(b, `
## What a conversation costs

A conversation with %s tokens of history, %d model calls if every tool is shown, and %d tools that
are called, as `+"`toolsearch cost`"+` plays it: with nothing cached before the run / with the previous turn
cached. *all* is what it costs to show every tool, in US dollars; the other ways are compared with it, in
percent. *native* is the protocol by which the provider's own models search natively. *best* is the
simplest way that costs at most 5 %% more than the cheapest. Prices, with their dates and sources, and the rules of
the caches are in internal/cost/prices.json. The catalogs are the quickstart's and made-up ones of 120 tokens
a tool. The numbers do not depend on the machine:
`+"`go run ./cmd/report -from results.json -costs`"+` measures them alone.
`, grouped(float64(costShape.History)), costShape.Calls, costShape.Loads)
	columns := []string{"native", "tool_search", "dispatch", "search_add", "ranked"}
	last := 0
	for _, c := range costs {
		if c.Tools != last {
			last = c.Tools
			fmt.Fprintf(b, "\n%d tools, about %s tokens of definitions (%s):\n\n| model | prices of | all |", c.Tools, grouped(float64(c.Tokens)), c.Catalog)
			for _, column := range columns {
				fmt.Fprintf(b, " %s |", column)
			}
			fmt.Fprintf(b, " best |\n|---|---|--:|%s---|\n", strings.Repeat("--:|", len(columns)))
		}
		fmt.Fprintf(b, "| %s | %s | %.4f / %.4f |", c.Model, c.Prices, c.Cold, c.Warm)
		for _, column := range columns {
			fmt.Fprintf(b, " %s |", c.cell(column))
		}
		fmt.Fprintf(b, " %s |\n", c.Best)
	}
}

// cell writes what the way of a column costs.
func (c *Cost) cell(column string) string {
	for _, w := range c.Ways {
		if w.Way == column || column == "native" && strings.HasPrefix(w.Way, column) {
			return fmt.Sprintf("%+.0f / %+.0f", w.Cold, w.Warm)
		}
	}
	return "–"
}
