package cost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sort"

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

// Ways returns the ways that a provider's models can use, the simplest first: all tools shown,
// the provider's native protocol, and the protocols for every model. Two protocols are not among
// them. A search by the provider itself, with ProtocolNativeServer, cannot be played without the
// provider. ProtocolRegexp is for histories of Eino v0.8, and costs what ProtocolToolSearch costs
// if as many tools match.
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
	Searches int // of Calls, those that search or load
	Changes  int // how often the list of tools changed

	Cold, Warm           Usage   // with nothing cached before, and with the turn before cached
	ColdPrice, WarmPrice float64 // in US dollars
}

// A Row is what a conversation costs in every way.
type Row struct {
	Shape    Shape     // of the conversation
	Outcomes []Outcome // as the report's Ways

	// Cold and Warm are the ways to take for this conversation, as Advice says. Each costs at
	// most Slack more than the cheapest outcome.
	Cold, Warm Way
	// ColdText and WarmText are the same among the ways that need no native search.
	ColdText, WarmText Way
}

// A Report compares ways to show tools.
type Report struct {
	Provider Provider // whose prices and cache these are
	Tools    int      // in the catalog
	Tokens   int      // of their definitions
	Ways     []Way    // that were compared
	Rows     []Row    // one for each shape, or for each run of a log
	Checks   []Check  // of CompareLog, one for each run

	// Best is the way to take. It costs at most Slack more than the cheapest of Ways over all
	// conversations together, cold and warm. Of several such ways, Best is the one that costs so
	// little in most conversations, and of these the first. For some conversations another way may
	// be cheaper: see their rows.
	Best Way
	// BestText is the way to take without native search. It is Best if no advised way needs native
	// search.
	BestText Way
	// BreakEven is the number of tools from which Best costs less than showing all, in parts of the
	// catalog that grow by a tool at a time and have the tools that are called; 0 means that it
	// never does in this catalog. Once showing all costs Slack more than Best in a part, larger
	// parts are not played.
	BreakEven int
	// Advice puts Best, BreakEven and BestText into words, and says for which conversations to take
	// another way. It describes them by what they have in common, such as the tokens of their
	// history and a warm cache. Following it costs at most Slack more than the cheapest way, in each
	// of the conversations, cold and warm. Conversations that have nothing in common are named, but
	// no more than 12 in a sentence: Rows have them all.
	Advice string
}

// Compare plays conversations of the given shapes over tools, in every way that the provider
// allows, and recommends one. If fewer tools can be called with example arguments than a shape has
// Loads, the row's shape has that smaller number. Rows that become the same are merged. Compare
// fails if no tool can be called, if a shape has fewer than two calls, no load, or as many loads as
// calls, if a number is negative or the conversations are too long to play, if a price of the
// provider or a rule of its cache is wrong, or if ctx is done.
func Compare(ctx context.Context, tools []*schema.ToolInfo, p *Provider, shapes []Shape) (*Report, error) {
	if err := checkInput(tools, p); err != nil {
		return nil, err
	}
	if len(shapes) == 0 {
		return nil, errors.New("cost: no conversations")
	}
	var scenarios []scenario
	seen := make(map[Shape]bool)
	for _, shape := range shapes {
		if err := shape.check(); err != nil {
			return nil, fmt.Errorf("cost: %w", err)
		}
		c := Script(tools, shape)
		if len(c.Steps) == 0 {
			return nil, fmt.Errorf("cost: no tool of the catalog's %d can be called with example arguments", len(tools))
		}
		called := make(map[string]bool)
		for _, step := range c.Steps {
			called[step.Tool] = true
		}
		if shape.Loads = len(called); !seen[shape] {
			seen[shape] = true
			scenarios = append(scenarios, scenario{shape, c})
		}
	}
	return compare(ctx, tools, p, scenarios, nil)
}

func checkInput(tools []*schema.ToolInfo, p *Provider) error {
	if p == nil {
		return errors.New("cost: no provider")
	}
	if err := p.check(); err != nil {
		return fmt.Errorf("cost: the provider: %w", err)
	}
	if i := slices.Index(tools, nil); i >= 0 {
		return fmt.Errorf("cost: tool %d is nil", i+1)
	}
	return nil
}

// A Check compares what a run was billed with what is computed for the same run in the same way.
// The difference tells how far to trust the rest of a report.
type Check struct {
	Way                        Way     // in which the run was recorded
	Billed, Computed           Usage   // Computed is warm if the run's first call found anything in the cache
	BilledPrice, ComputedPrice float64 // in US dollars
}

// CompareLog plays recorded runs in every way that the provider allows, as Compare does with
// shapes. The part of a run's first prompt that a replay does not have counts as history: the
// system message, the agent's own tools and the turns before. What the model said and thought
// besides its calls is taken from the log. CompareLog fails if the catalog has none of the tools
// that the runs call.
func CompareLog(ctx context.Context, tools []*schema.ToolInfo, p *Provider, runs []Run) (*Report, error) {
	if err := checkInput(tools, p); err != nil {
		return nil, err
	}
	var recorded []scenario
	for _, run := range runs {
		recorded = append(recorded, scenario{Conversation: run.Conversation})
	}
	if least, _ := nested(tools, recorded); least == 0 {
		return nil, fmt.Errorf("cost: the log calls none of the catalog's %d tools", len(tools))
	}
	var scenarios []scenario
	var checks []Check
	definitions := tokensOf(tools)
	for i, run := range runs {
		if len(run.Calls) == 0 {
			return nil, fmt.Errorf("cost: run %d of the log has no call of a model", i+1)
		}
		s, check, err := run.fit(ctx, tools, definitions, p)
		if err != nil {
			return nil, err
		}
		scenarios, checks = append(scenarios, s), append(checks, check)
	}
	return compare(ctx, tools, p, scenarios, checks)
}

// fit finds the history of a run's conversation, and plays it in the way in which it was recorded.
// definitions is the tokens of the tools.
func (r *Run) fit(ctx context.Context, tools []*schema.ToolInfo, definitions int, p *Provider) (s scenario, check Check, err error) {
	s.Conversation = r.Conversation
	s.Steps = slices.Clone(s.Steps)
	for i := range s.Steps {
		s.Steps[i].Result = max(0, s.Steps[i].Result-framing(p.Wire))
	}
	s.Calls = 1
	called := make(map[string]bool)
	for _, step := range s.Steps {
		if step.Tool != "" && !step.Together {
			s.Calls++
		}
		if step.Tool != "" && !called[step.Tool] {
			called[step.Tool] = true
			s.Loads++
		}
	}
	if err := s.check(definitions); err != nil {
		return s, check, err
	}
	played, err := Replay(ctx, tools, r.Way.Config(len(tools)), p.Wire, s.Conversation)
	if err != nil {
		return s, check, fmt.Errorf("%v: %w", r.Way, err)
	}
	s.Conversation.History = max(0, r.Calls[0].Prompt-p.Bill(nil, played.Requests[:1])[0].Input())
	s.Shape.History = s.Conversation.History
	if err := s.check(definitions); err != nil {
		return s, check, err
	}
	o, err := outcome(ctx, tools, p, r.Way, s.Conversation)
	check = Check{Way: r.Way, Billed: r.Billed(p), Computed: o.Cold}
	if r.Calls[0].Cached > 0 {
		check.Computed = o.Warm
	}
	s.Conversation.Said = max(0, check.Billed.Output-check.Computed.Output)
	check.Computed.Output += s.Conversation.Said
	check.BilledPrice, check.ComputedPrice = p.Price(check.Billed), p.Price(check.Computed)
	return s, check, err
}

// maxPlayed bounds the tokens of a conversation's requests if every tool is shown, since all
// requests are in memory together.
const maxPlayed = 100_000_000

type scenario struct {
	Shape
	Conversation
}

// check fails if the conversation is too long to be played over tools of so many tokens.
func (s *scenario) check(definitions int) error {
	prompt, err := s.Conversation.check()
	if err != nil {
		return fmt.Errorf("cost: %w", err)
	}
	if (definitions+prompt)*s.Calls > maxPlayed {
		return fmt.Errorf("cost: %d requests of up to %d tokens are too many to play: want at most %d tokens together",
			s.Calls, definitions+prompt, maxPlayed)
	}
	return nil
}

func tokensOf(tools []*schema.ToolInfo) (sum int) {
	for _, info := range tools {
		sum += definitionTokens(info)
	}
	return sum
}

// compare compares conversations over a catalog. checks are those of a log, or nil.
func compare(ctx context.Context, tools []*schema.ToolInfo, p *Provider, scenarios []scenario, checks []Check) (report *Report, err error) {
	report = &Report{Provider: *p, Tools: len(tools), Tokens: tokensOf(tools), Ways: Ways(p), Checks: checks}
	for _, s := range scenarios {
		if err := s.check(report.Tokens); err != nil {
			return nil, err
		}
	}
	if report.Rows, err = play(ctx, tools, p, report.Ways, scenarios); err != nil {
		return nil, err
	}
	all, text := report.advise()
	if report.BreakEven, err = report.breakEven(ctx, tools, scenarios); err != nil {
		return nil, err
	}
	report.Advice = report.advice(all, text)
	return report, nil
}

// play plays conversations over tools in every way.
func play(ctx context.Context, tools []*schema.ToolInfo, p *Provider, ways []Way, scenarios []scenario) (rows []Row, err error) {
	for _, c := range scenarios {
		row := Row{Shape: c.Shape}
		for _, way := range ways {
			o, err := outcome(ctx, tools, p, way, c.Conversation)
			if err != nil {
				return nil, err
			}
			row.Outcomes = append(row.Outcomes, o)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// outcome plays a conversation in a way.
func outcome(ctx context.Context, tools []*schema.ToolInfo, p *Provider, way Way, c Conversation) (Outcome, error) {
	played, err := Replay(ctx, tools, way.Config(len(tools)), p.Wire, c)
	if err != nil {
		return Outcome{}, fmt.Errorf("%v: %w", way, err)
	}
	o := Outcome{Way: way, Calls: len(played.Requests), Searches: played.Searches, Changes: played.Changes}
	o.Cold = Sum(p.Bill(nil, played.Requests))
	o.Warm = Sum(p.Bill(played.Earlier, played.Requests))
	o.ColdPrice, o.WarmPrice = p.Price(o.Cold), p.Price(o.Warm)
	return o, nil
}

// Price returns what a way costs over all conversations together, cold and warm, in US dollars. It
// is 0 for a way that is not among Ways.
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

// breakEven finds BreakEven, in parts of the catalog that grow, each within the next.
//
// The more tools, the more it costs to show them all. The cost of Best goes up and down a little,
// depending on what its searches find among more tools. So a binary search finds the number, and
// then each larger part is played until showing all costs clearly more than Best ever cost.
func (r *Report) breakEven(ctx context.Context, tools []*schema.ToolInfo, scenarios []scenario) (int, error) {
	if r.Best.All {
		return 0, nil
	}
	least, partOf := nested(tools, scenarios)
	most := r.Price(r.Best) // the highest cost of Best so far
	var failed error
	prices := func(n int) (all, best float64) {
		ways := []Way{{All: true}, r.Best}
		rows, err := play(ctx, partOf(n), &r.Provider, ways, scenarios)
		if err != nil {
			failed = err
		}
		played := Report{Rows: rows}
		all, best = played.Price(ways[0]), played.Price(r.Best)
		most = max(most, best)
		return all, best
	}
	from := least + sort.Search(len(tools)-least+1, func(i int) bool {
		all, best := prices(least + i)
		return failed != nil || best < all
	})
	for n := from; n <= len(tools) && failed == nil; n++ {
		all, best := prices(n)
		if best >= all {
			from = n + 1
		}
		if all > most*(1+Slack) {
			break
		}
	}
	if from > len(tools) {
		from = 0
	}
	return from, failed
}

// nested returns parts of a catalog. partOf returns the part of n tools, in the catalog's order:
// first the least tools that the conversations call, and then others from everywhere in the list.
// A part has all tools of every smaller part, so that two parts differ only in size.
func nested(tools []*schema.ToolInfo, scenarios []scenario) (least int, partOf func(n int) []*schema.ToolInfo) {
	isCalled := make(map[string]bool)
	for _, s := range scenarios {
		for _, name := range s.Loaded {
			isCalled[name] = true
		}
		for _, step := range s.Steps {
			isCalled[step.Tool] = true
		}
	}
	var called, others []int // places in the list
	for i, info := range tools {
		if isCalled[info.Name] {
			called = append(called, i)
		} else {
			others = append(others, i)
		}
	}
	// The order of reversed bits halves the list again and again.
	slices.SortFunc(others, func(a, b int) int { return cmp.Compare(bits.Reverse(uint(a)), bits.Reverse(uint(b))) })
	order := slices.Concat(called, others)
	return len(called), func(n int) []*schema.ToolInfo {
		places := slices.Sorted(slices.Values(order[:n]))
		part := make([]*schema.ToolInfo, n)
		for i, place := range places {
			part[i] = tools[place]
		}
		return part
	}
}
