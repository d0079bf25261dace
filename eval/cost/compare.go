package cost

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Which way to show tools is cheapest.

// A Way is a way to show tools: all of them, or a protocol.
type Way struct {
	All      bool                // every tool is shown, and Protocol says nothing
	Protocol toolsearch.Protocol // which tools are shown instead
}

// String returns "all", or the protocol's name.
func (w Way) String() string {
	if w.All {
		return "all"
	}
	return w.Protocol.String()
}

// Config returns the configuration in which Compare plays a way over that many tools. What takes
// words searches by BM25, so that protocols are compared and not their searchers.
func (w Way) Config(tools int) toolsearch.Config {
	config := toolsearch.Config{Protocol: w.Protocol}
	switch {
	case w.All:
		config.DeferFrom = tools + 1
	case w.Protocol != toolsearch.ProtocolRegexp && w.Protocol != toolsearch.ProtocolSearchAdd:
		config.Index = search.BM25
	}
	return config
}

// Ways returns the ways that a provider's models can use, the simplest first: all tools shown,
// the provider's native protocol, and the protocols for every model. Two protocols are not among
// them. What a provider searches by itself, with ProtocolNativeServer, cannot be played without
// it. ProtocolRegexp is for histories of Eino v0.8, and costs what ProtocolToolSearch costs if as
// many tools match.
func Ways(p *Provider) []Way {
	ways := []Way{{All: true}}
	if native, ok := p.native(); ok {
		ways = append(ways, Way{Protocol: native})
	}
	for _, protocol := range []toolsearch.Protocol{
		toolsearch.ProtocolToolSearch, toolsearch.ProtocolDispatch, toolsearch.ProtocolSearchAdd,
		toolsearch.ProtocolRanked,
	} {
		ways = append(ways, Way{Protocol: protocol})
	}
	return ways
}

// An Outcome is what a conversation costs in one way.
type Outcome struct {
	Way      Way // in which it was played
	Calls    int // model calls
	Searches int // of them, those that search or load
	Changes  int // how often the list of tools changed

	Cold, Warm           Usage   // with nothing cached before, and with the turn before cached
	ColdPrice, WarmPrice float64 // in US dollars
}

// A Row is what a conversation costs in every way.
type Row struct {
	Shape    Shape     // of the conversation
	Outcomes []Outcome // as the report's Ways
}

// A Report compares ways to show tools.
type Report struct {
	Provider Provider // whose prices and cache these are
	Tools    int      // in the catalog
	Tokens   int      // of their definitions
	Ways     []Way    // that were compared
	Rows     []Row    // one for each shape

	// Best is the way to take. It costs at most 5 % more than the cheapest of Ways over all
	// conversations together, cold and warm: of the ways that cost so little, Best is the first.
	Best Way
	// BestText is the same among the ways that need no native search.
	BestText Way
	// BreakEven is the number of tools from which on Best costs less than showing all; 0 means
	// that it never does in this catalog.
	BreakEven int
	// Advice says it in a sentence or two.
	Advice string
}

// Slack is how much more than the cheapest way a recommendation may cost, if it is simpler.
const Slack = 0.05

// Compare plays conversations of the given shapes over tools, in every way that the provider
// allows, and recommends one. It fails if there are no tools that a script can call, or if ctx is
// done.
func Compare(ctx context.Context, tools []*schema.ToolInfo, p *Provider, shapes []Shape) (*Report, error) {
	report := &Report{Provider: *p, Tools: len(tools), Ways: Ways(p)}
	for _, info := range tools {
		report.Tokens += definitionTokens(info)
	}
	for _, shape := range shapes {
		row, err := compareShape(ctx, tools, p, shape, report.Ways)
		if err != nil {
			return nil, err
		}
		report.Rows = append(report.Rows, row)
	}
	report.Best = report.choose(func(Way) bool { return true })
	native, hasNative := p.native()
	report.BestText = report.choose(func(w Way) bool { return w.All || !hasNative || w.Protocol != native })
	var err error
	if report.BreakEven, err = breakEven(ctx, tools, p, shapes, report.Best); err != nil {
		return nil, err
	}
	report.Advice = report.advice()
	return report, nil
}

func compareShape(ctx context.Context, tools []*schema.ToolInfo, p *Provider, shape Shape, ways []Way) (Row, error) {
	row := Row{Shape: shape}
	conversation := Script(tools, shape)
	if len(conversation.Steps) == 0 {
		return row, fmt.Errorf("cost: none of %d tools can be called with example arguments, or no calls are asked for", len(tools))
	}
	for _, way := range ways {
		played, err := Replay(ctx, tools, way.Config(len(tools)), p.Wire, conversation)
		if err != nil {
			return row, fmt.Errorf("%v: %w", way, err)
		}
		o := Outcome{Way: way, Calls: len(played.Requests), Searches: played.Searches, Changes: played.Changes}
		o.Cold = Sum(p.Bill(nil, played.Requests))
		o.Warm = Sum(p.Bill(played.Earlier, played.Requests))
		o.ColdPrice, o.WarmPrice = p.Price(o.Cold), p.Price(o.Warm)
		row.Outcomes = append(row.Outcomes, o)
	}
	return row, nil
}

// Price returns what a way costs over all conversations together, cold and warm, in US dollars.
func (r *Report) Price(way Way) (sum float64) {
	for _, row := range r.Rows {
		for _, o := range row.Outcomes {
			if o.Way == way {
				sum += o.ColdPrice + o.WarmPrice
			}
		}
	}
	return sum
}

// choose returns the first of the ways that cost at most Slack more than the cheapest.
func (r *Report) choose(isAllowed func(Way) bool) Way {
	var allowed []Way
	least := -1.0
	for _, way := range r.Ways {
		if isAllowed(way) {
			allowed = append(allowed, way)
			if price := r.Price(way); least < 0 || price < least {
				least = price
			}
		}
	}
	for _, way := range allowed {
		if r.Price(way) <= least*(1+Slack) {
			return way
		}
	}
	return Way{All: true}
}

// breakEven returns the smallest number of tools for which a way costs less than showing all.
// The more tools, the more hiding them saves, so it is searched by halves.
func breakEven(ctx context.Context, tools []*schema.ToolInfo, p *Provider, shapes []Shape, way Way) (int, error) {
	if way.All {
		return 0, nil
	}
	var failed error
	ways := []Way{{All: true}, way}
	n := 1 + sort.Search(len(tools), func(i int) bool {
		var all, hidden float64
		for _, shape := range shapes {
			row, err := compareShape(ctx, spread(tools, i+1), p, shape, ways)
			if err != nil {
				failed = err
				return true
			}
			all += row.Outcomes[0].ColdPrice + row.Outcomes[0].WarmPrice
			hidden += row.Outcomes[1].ColdPrice + row.Outcomes[1].WarmPrice
		}
		return hidden < all
	})
	if n > len(tools) {
		n = 0
	}
	return n, failed
}

// spread returns n of the tools, from all parts of the list.
func spread(tools []*schema.ToolInfo, n int) []*schema.ToolInfo {
	some := make([]*schema.ToolInfo, n)
	for i := range some {
		some[i] = tools[i*len(tools)/n]
	}
	return some
}

var goNames = map[toolsearch.Protocol]string{
	toolsearch.ProtocolToolSearch: "ProtocolToolSearch",
	toolsearch.ProtocolSearchAdd:  "ProtocolSearchAdd", toolsearch.ProtocolRanked: "ProtocolRanked",
	toolsearch.ProtocolDispatch: "ProtocolDispatch", toolsearch.ProtocolNativeDeferred: "ProtocolNativeDeferred",
	toolsearch.ProtocolNativeReferences: "ProtocolNativeReferences",
}

// advice says which way to take.
func (r *Report) advice() string {
	with := fmt.Sprintf("With %s and these %d tools: ", r.Provider.Model, r.Tools)
	if r.Best.All {
		return with + "show them all; hiding them does not pay in these conversations."
	}
	var b strings.Builder
	b.WriteString(with + goNames[r.Best.Protocol])
	if r.Best != r.BestText {
		fmt.Fprintf(&b, " if the model's adapter is %s", r.Provider.With)
	}
	if r.BreakEven > 0 {
		fmt.Fprintf(&b, ", from %d tools on", r.BreakEven)
	}
	b.WriteString(".")
	switch {
	case r.Best == r.BestText:
	case r.BestText.All:
		b.WriteString(" With another adapter: show them all.")
	default:
		fmt.Fprintf(&b, " With another adapter: %s.", goNames[r.BestText.Protocol])
	}
	return b.String()
}
