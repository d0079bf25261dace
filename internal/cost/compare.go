package cost

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/tokens"
	"github.com/eino-toolsearch/toolsearch/search"
)

// What conversations cost in every way to show tools, and which way to take.

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

// Config returns the configuration in which Compare plays a way over that many tools. Protocols
// that search by words use BM25, so that protocols are compared and not their searchers.
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

// isForAll reports whether every model and every adapter can take the way.
func (w Way) isForAll() bool {
	return w.Protocol != toolsearch.ProtocolAnchored && !slices.Contains(nativeProtocols, w.Protocol)
}

// Ways returns the ways that a provider's models can use, the simplest first. ProtocolNativeServer cannot be
// played without the provider, and ProtocolRegexp costs what ProtocolToolSearch costs if as many match.
func Ways(p *Provider) []Way {
	ways := []Way{{All: true}}
	if p.Anchored {
		ways = append(ways, Way{Protocol: toolsearch.ProtocolAnchored})
	}
	if native, ok := p.native(); ok {
		ways = append(ways, Way{Protocol: native})
	}
	return append(ways, Way{Protocol: toolsearch.ProtocolToolSearch}, Way{Protocol: toolsearch.ProtocolDispatch},
		Way{Protocol: toolsearch.ProtocolSearchAdd}, Way{Protocol: toolsearch.ProtocolRanked})
}

// An Outcome is what a conversation costs in one way.
type Outcome struct {
	Way      Way // in which it was played
	Calls    int // model calls
	Searches int // of Calls, those that search or load
	Changes  int // how often the list of tools changed
	Usage    Usage
	Price    float64 // in US dollars
}

// A Row is what a conversation costs in every way, with one state of the cache.
type Row struct {
	Shape    Shape     // of the conversation
	Cache    string    // Cold, Warm or CacheNone
	Outcomes []Outcome // as the report's Ways
}

// Values of Row.Cache, beside CacheNone for a provider without a cache.
const (
	Cold = "cold" // nothing is cached before the conversation
	Warm = "warm" // the turn before is cached
)

// A Report compares ways to show tools.
type Report struct {
	Provider Provider // whose prices and cache these are
	Tools    int      // in the catalog
	Tokens   int      // of their definitions
	Ways     []Way    // that were compared
	Rows     []Row    // one for each shape, or for each run of a log, and state of the cache
	Checks   []Check  // of CompareLog, one for each run
}

// slack is how much more than the cheapest way a simpler way may cost, as a share of 1. Prices are
// estimates, and no closer than this.
const slack = 0.05

// Take returns the way to take for a conversation: the simplest that costs at most 5 % more than the
// cheapest. If not every model and adapter can take it, the way to take without it follows, and so on.
func (r *Row) Take() []Way { return take(r.Outcomes) }

// Take returns the ways to take for all conversations together, by the rule of Row.Take.
func (r *Report) Take() []Way {
	together := slices.Clone(r.Rows[0].Outcomes)
	for i := range together {
		together[i].Price = r.Price(together[i].Way)
	}
	return take(together)
}

func take(outcomes []Outcome) (ways []Way) {
	for {
		cheapest := slices.MinFunc(outcomes, func(a, b Outcome) int { return cmp.Compare(a.Price, b.Price) }).Price
		simplest := slices.IndexFunc(outcomes, func(o Outcome) bool { return o.Price <= cheapest*(1+slack) })
		ways = append(ways, outcomes[simplest].Way)
		if outcomes[simplest].Way.isForAll() {
			return ways
		}
		outcomes = slices.Delete(slices.Clone(outcomes), simplest, simplest+1)
	}
}

// Price returns what a way costs over all conversations together, in US dollars. It is 0 for a way that
// is not among Ways.
func (r *Report) Price(way Way) (sum float64) {
	for _, row := range r.Rows {
		for _, o := range row.Outcomes {
			if o.Way == way {
				sum += o.Price
			}
		}
	}
	return sum
}

// Advice says in one sentence which way to take if it is the same in every conversation, cold and
// warm, or else that it is not.
func (r *Report) Advice() string {
	tools, all := fmt.Sprintf("these %d tools", r.Tools), "show them all"
	if r.Tools == 1 {
		tools, all = "this tool", "show it"
	}
	best := r.Take()
	for _, row := range r.Rows {
		if !slices.Equal(row.Take(), best) {
			return fmt.Sprintf("With %s and %s, the way to take depends on the conversation.", r.Provider.Model, tools)
		}
	}
	var advice []string
	for _, way := range best {
		switch {
		case way.All:
			advice = append(advice, all)
		case way.isForAll():
			advice = append(advice, way.String())
		case way.Protocol == toolsearch.ProtocolAnchored:
			advice = append(advice, "anchored if requests pass its transport")
		default:
			adapter := cmp.Or(r.Provider.With, "one with native search")
			advice = append(advice, fmt.Sprintf("%s if the model's adapter is %s", way, adapter))
		}
	}
	return fmt.Sprintf("With %s and %s, in each of these conversations: %s.", r.Provider.Model, tools, strings.Join(advice, ", else "))
}

// A scenario is a conversation to play, with its shape for the report.
type scenario struct {
	Shape
	Conversation
}

// Compare plays conversations of the shapes over tools, in every way that the provider allows. If fewer tools
// can be called with example arguments than a shape has Loads, the row's shape has that smaller number, and
// rows that become the same are merged. It fails if no tool can be called, or the conversations are too long.
func Compare(ctx context.Context, tools []*schema.ToolInfo, p *Provider, shapes []Shape) (*Report, error) {
	var scenarios []scenario
	seen := make(map[Shape]bool)
	for _, shape := range shapes {
		c := Script(tools, shape)
		if len(c.Steps) == 0 {
			return nil, fmt.Errorf("cost: no tool of the catalog's %d can be called with example arguments", len(tools))
		}
		if shape.Loads = len(c.called()); !seen[shape] {
			seen[shape] = true
			scenarios = append(scenarios, scenario{shape, c})
		}
	}
	return compare(ctx, tools, p, scenarios)
}

// compare plays conversations over a catalog in every way.
func compare(ctx context.Context, tools []*schema.ToolInfo, p *Provider, scenarios []scenario) (*Report, error) {
	report := &Report{Provider: *p, Tools: len(tools), Tokens: tokensOf(tools), Ways: Ways(p)}
	for _, s := range scenarios {
		if err := s.check(report.Tokens); err != nil {
			return nil, err
		}
	}
	states := []string{Cold, Warm}
	if p.Cache == CacheNone {
		states = []string{CacheNone}
	}
	for _, s := range scenarios {
		rows := make([]Row, len(states))
		for _, way := range report.Ways {
			o, err := outcomes(ctx, tools, p, way, s.Conversation)
			if err != nil {
				return nil, err
			}
			for i, state := range states {
				rows[i] = Row{s.Shape, state, append(rows[i].Outcomes, o[i])}
			}
		}
		report.Rows = append(report.Rows, rows...)
	}
	return report, nil
}

// outcomes plays a conversation in a way, for a cold and for a warm cache.
func outcomes(ctx context.Context, tools []*schema.ToolInfo, p *Provider, way Way, c Conversation) (o [2]Outcome, err error) {
	played, err := Replay(ctx, tools, way.Config(len(tools)), p.Wire, c)
	if err != nil {
		return o, fmt.Errorf("%v: %w", way, err)
	}
	for i, earlier := range [][]Request{nil, played.Earlier} {
		usage := Sum(p.Bill(earlier, played.Requests))
		o[i] = Outcome{way, len(played.Requests), played.Searches, played.Changes, usage, p.Price(usage)}
	}
	return o, nil
}

// Bounds of a conversation that is played, since all its requests are in memory together.
const (
	maxPrompt = 4_000_000   // tokens of the longest prompt, without tools
	maxPlayed = 100_000_000 // tokens of the requests if every tool is shown
)

// check fails if the conversation is too long to be played over tools of so many tokens.
func (s *scenario) check(definitions int) error {
	prompt := s.System + s.Conversation.History
	for _, step := range s.Steps {
		prompt += step.Result
	}
	if prompt > maxPrompt {
		return fmt.Errorf("cost: a conversation of more than %d tokens", maxPrompt)
	}
	if (definitions+prompt)*s.Calls > maxPlayed {
		return fmt.Errorf("cost: %d requests of up to %d tokens are too many to play: want at most %d tokens together",
			s.Calls, definitions+prompt, maxPlayed)
	}
	return nil
}

// tokensOf returns the tokens of definitions.
func tokensOf(tools []*schema.ToolInfo) (sum int) {
	for _, info := range tools {
		sum += tokens.OfTool(info.Name, info.Desc, schemacheck.JSON(info))
	}
	return sum
}
