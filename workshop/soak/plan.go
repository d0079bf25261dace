package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Plans of conversations. A plan is data, made only from a seed and a number, so that a
// conversation can be played twice, and once more without the tools its user may not see.

// plan is a conversation: who talks, over which catalog, with which settings, and in which runs.
type plan struct {
	seed   uint64
	number int

	agentic, streaming, runner bool

	config          toolsearch.Config // without tools and functions
	index, fallback string            // keys of indexers; "" means the protocol's own

	static []toolSpec
	fixed  []toolSpec
	served [][]toolSpec // what the Source answers, by edition; nil means no Source

	confirms bool // a tool interrupts the run
	grouped  bool // the Source belongs to a group, and some of the fixed tools to another group

	filtered  bool
	forbidden []map[string]bool // names in all forms, by user

	before, after []string // other middlewares, of otherNames
	insider       bool     // a tool of the agent's own is an agent with the same middleware
	session       bool
	stored        bool // the session is encoded after each run, and decoded again
	restarts      bool // everything but the history, the session and the store is made anew for each run
	retries       bool // the model's provider fails now and then, and the agent asks again
	odd           bool // the model repeats ids, or leaves them out
	twice         bool // the hook before each call runs twice, which must change nothing

	past []string // the kinds of messages of the stored history that the conversation begins with
	runs []runPlan
}

// runPlan is one run of the agent.
type runPlan struct {
	protocol toolsearch.Protocol
	user     int
	edition  int      // what the Source answers: an index of plan.served, or -1 minus an index of badAnswers
	rewrites []string // what the store did to the history since the last run, of rewriteNames
	calls    int      // of the model, the last of which ends the run
	cancel   string   // how the run is cancelled, of cancelNames; "" means never
	cancelAt int      // the model call at which
	moves    bool     // to another edition and another user when it is resumed
}

// cancelNames are the ways to cancel a run: its context is done at the start, while the model is called
// or while tools run, or Eino's own cancel ends it, at once or after the model or the tools.
var cancelNames = []string{"start", "model", "tools", "agent", "agent, safely"}

// metaNames are the names that tools of the soak do not have.
var metaNames = strings.Fields("tool_search search_tools add_tool remove_tool show_all_tools call_tool find")

// otherToolNames are the names of tools from elsewhere, which dynamic tools do not have.
var otherToolNames = append(strings.Fields("clock insider cut_grass water_plants"), fileTools...)

var indexers = map[string]toolsearch.Indexer{
	"keyword": toolsearch.Keyword, "regexp": toolsearch.Regexp, "fuzzy": toolsearch.Fuzzy, "similarity": toolsearch.Similarity,
	"bm25": toolsearch.BM25, "hybrid": toolsearch.Hybrid(toolsearch.BM25, toolsearch.Fuzzy, toolsearch.Keyword),
	"topics": toolsearch.Hybrid(toolsearch.BM25, toolsearch.LSA),
}

// source returns the random numbers for a purpose. They do not depend on how many another
// purpose has used.
func (p *plan) source(purpose string, numbers ...int) *rand.Rand {
	state := p.seed*1_000_003 + uint64(p.number)
	for _, b := range []byte(purpose + fmt.Sprint(numbers)) {
		state = (state ^ uint64(b)) * 0x100000001b3
	}
	return rand.New(rand.NewPCG(p.seed, state))
}

func pick[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }

// chance is true once in n times.
func chance(random *rand.Rand, n int) bool { return random.IntN(n) == 0 }

func newPlan(seed uint64, number int) *plan {
	p := &plan{seed: seed, number: number}
	random := p.source("plan")
	p.agentic, p.streaming, p.runner = chance(random, 2), chance(random, 2), chance(random, 2)
	p.addTools(random)
	p.addSettings(random)
	p.addSurroundings(random)
	p.addRuns(random)
	return p
}

func (p *plan) addTools(random *rand.Rand) {
	taken := map[string]bool{}
	for _, name := range slices.Concat(metaNames, otherToolNames) {
		taken[name] = true
	}
	hostility := pick(random, []int{0, 10, 60})
	if !chance(random, 4) {
		p.static = []toolSpec{{name: "clock", desc: "The time", schema: schemas[2]}}
	}
	if chance(random, 4) {
		p.static = append(p.static, someTools(random, 2, 0, taken)...)
	}
	for i := range p.static {
		p.static[i].shifty = false // Eino asks a tool of the agent's own for its name again and again
	}
	p.fixed = someTools(random, 1+random.IntN(25), hostility, taken)
	p.fixed = slices.DeleteFunc(p.fixed, func(s toolSpec) bool { return len(s.name) > 128 }) // New refuses longer names
	if chance(random, 3) || len(p.fixed) == 0 {
		serving := someTools(random, 2+random.IntN(15), hostility, taken)
		for range 3 {
			now := slices.DeleteFunc(slices.Clone(serving), func(toolSpec) bool { return chance(random, 4) })
			if len(now) == 0 {
				now = slices.Clone(serving)
			}
			for i := range now {
				if chance(random, 5) {
					now[i].desc += " again"
				}
			}
			random.Shuffle(len(now), func(i, j int) { now[i], now[j] = now[j], now[i] })
			p.served = append(p.served, now)
		}
		if chance(random, 3) {
			p.fixed = nil
		}
	}
	if p.runner && chance(random, 3) && len(p.fixed) > 0 {
		p.confirms = true
		confirming := &p.fixed[random.IntN(len(p.fixed))]
		confirming.result, confirming.way, confirming.shifty = "confirms", "invokable", false
	}
	p.grouped = chance(random, 3)
	p.forbidden = make([]map[string]bool, 2)
	if p.filtered = chance(random, 2); !p.filtered {
		return
	}
	for user := range p.forbidden { // now and then a user has no tools at all
		p.forbidden[user] = map[string]bool{}
		one := pick(random, []int{1, 2, 2, 3, 3, 8})
		for _, name := range p.names() {
			if chance(random, one) {
				for _, form := range formsOf(name) {
					p.forbidden[user][form] = true
				}
			}
		}
	}
}

// formsOf returns the names under which a tool may be seen: its own, as a group shows it, and those of a shifty tool
// that is asked twice, since a bad answer has it twice.
func formsOf(name string) []string {
	twice := name + "_2"
	return []string{name, naming.Shown("", name), twice, naming.Shown("", twice)}
}

// names returns the names of all dynamic tools, in any edition.
func (p *plan) names() (names []string) {
	for _, spec := range slices.Concat(append([][]toolSpec{p.fixed}, p.served...)...) {
		if !slices.Contains(names, spec.name) {
			names = append(names, spec.name)
		}
	}
	return names
}

func (p *plan) addSettings(random *rand.Rand) {
	c := &p.config
	maybe := func(n int, values ...int) int {
		if chance(random, n) {
			return pick(random, values)
		}
		return 0
	}
	c.Unloaded = toolsearch.UnloadedPolicy(random.IntN(2))
	c.Unknown = toolsearch.UnknownPolicy(maybe(3, 1))
	c.Preselect = maybe(4, 1, 3)
	c.DeferFrom = maybe(4, 5, 10, 100)
	c.MaxResults = maybe(4, 1, 3, 50)
	c.Limits = toolsearch.Limits{MaxLoaded: maybe(3, 1, 2, 5), MaxPerNamespace: maybe(4, -1, 1, 2), MaxAnswerTokens: maybe(5, 20, 200, 2000)}
	c.Language = toolsearch.Language(maybe(4, 1))
	c.SendEvents = chance(random, 4)
	c.Reminder = toolsearch.ReminderConfig{
		Disabled: chance(random, 8), MaxTokens: maybe(4, 10, 60, 400), Describe: chance(random, 4),
		Position: toolsearch.ReminderPosition(random.IntN(3)),
	}
	if chance(random, 6) {
		c.Reminder.Namespaces = map[string]string{"github": "Code", "evil": pick(random, hostileTexts)}
	}
	if chance(random, 4) {
		c.AlwaysLoaded = []string{"github:*", "*:list_*", "tag:read-only", "no_such_tool"}
		if chance(random, 2) {
			c.AlwaysLoaded = append(c.AlwaysLoaded, strings.ReplaceAll(pick(random, p.names()), ":", "*")+"*")
		}
	}
	if chance(random, 2) {
		p.index = pick(random, []string{"keyword", "regexp", "fuzzy", "similarity", "bm25", "hybrid", "topics"})
	}
	if chance(random, 4) {
		p.fallback = pick(random, []string{"keyword", "regexp", "fuzzy", "similarity", "bm25"})
	}
}

func (p *plan) addSurroundings(random *rand.Rand) {
	for range random.IntN(3) {
		list := pick(random, []*[]string{&p.before, &p.after})
		if name := pick(random, otherNames); !p.has(name) {
			*list = append(*list, name)
		}
	}
	p.insider = chance(random, 6)
	p.session, p.stored = !chance(random, 3), chance(random, 2)
	p.restarts = chance(random, 2)
	p.retries = chance(random, 6)
	p.odd = chance(random, 3)
	p.twice = chance(random, 2)
}

func (p *plan) addRuns(random *rand.Rand) {
	protocol := p.protocol(random)
	if chance(random, 3) {
		for range 1 + random.IntN(6) {
			kind := pick(random, pastNames)
			if kind == "native" && !p.agentic && p.has("clearing", "truncating") {
				continue // Eino's reduction fails on a native result, which ends the run
			}
			p.past = append(p.past, kind)
		}
	}
	paired := p.filtered && chance(random, 2) // one user throughout
	for i := range 1 + random.IntN(4) {
		if p.restarts && chance(random, 2) {
			protocol = p.protocol(random)
		}
		run := runPlan{protocol: protocol, calls: 1 + random.IntN(7), moves: !paired && chance(random, 4)}
		if !paired {
			run.user = random.IntN(2)
		}
		if p.served != nil {
			run.edition = random.IntN(len(p.served))
			if !paired && chance(random, 4) {
				run.edition = -1 - random.IntN(len(badAnswers))
			}
		}
		if i > 0 || len(p.past) > 0 {
			for chance(random, 2) {
				run.rewrites = append(run.rewrites, pick(random, rewriteNames))
			}
		}
		if chance(random, 12) {
			run.cancel, run.cancelAt = pick(random, cancelNames), random.IntN(run.calls)
		}
		p.runs = append(p.runs, run)
	}
}

func (p *plan) protocol(random *rand.Rand) toolsearch.Protocol {
	for {
		protocol := toolsearch.Protocol(random.IntN(protocols))
		if !p.agentic || protocol != toolsearch.ProtocolNativeReferences {
			return protocol
		}
	}
}

// protocols is how many there are.
const protocols = int(toolsearch.ProtocolAnchored) + 1

// has reports whether one of the other middlewares is there.
func (p *plan) has(names ...string) bool {
	return slices.ContainsFunc(slices.Concat(p.before, p.after), func(name string) bool { return slices.Contains(names, name) })
}

// guesses reports whether a history is shuffled and has no ids, so that it does not say which result answers which
// call. The middleware then names some results after a call that it guesses, and may guess otherwise the next time.
func (p *plan) guesses() bool {
	return slices.ContainsFunc(p.runs, func(run runPlan) bool {
		return slices.Contains(run.rewrites, "no ids") && slices.Contains(run.rewrites, "shuffle")
	})
}

// reorders reports whether loaded tools may change their order: with MaxLoaded, a tool that is evicted and loaded again
// moves to the end; and a middleware may take away the results by which a protocol orders definitions.
func (p *plan) reorders() bool {
	orders := []toolsearch.Protocol{toolsearch.ProtocolNativeDeferred, toolsearch.ProtocolNativeReferences, toolsearch.ProtocolAnchored}
	isOrdered := func(run runPlan) bool { return slices.Contains(orders, run.protocol) }
	return p.config.Limits.MaxLoaded > 0 || slices.ContainsFunc(p.runs, isOrdered) &&
		p.has("trimming", "forgetting", "summarization", "clearing", "truncating")
}

// paired reports whether the conversation is the same to the byte without the tools that its user may not see.
func (p *plan) paired() bool {
	forbidden := p.forbidden[p.runs[0].user]
	if !p.filtered || !p.deterministic() || len(forbidden) == 0 {
		return false
	}
	for _, run := range p.runs {
		if run.user != p.runs[0].user || run.edition < 0 || run.moves {
			return false
		}
	}
	// New needs a tool, and an answer of the Source needs a tool that can be in a catalog.
	for _, specs := range append([][]toolSpec{p.fixed}, p.served...) {
		if len(specs) > 0 && !slices.ContainsFunc(specs, func(spec toolSpec) bool { return !forbidden[spec.name] && len(spec.name) <= 128 }) {
			return false
		}
	}
	return true
}

// deterministic reports whether a second play gives the same bytes: a cancellation meets the
// run wherever it happens to be.
func (p *plan) deterministic() bool {
	return !slices.ContainsFunc(p.runs, func(run runPlan) bool { return run.cancel != "" })
}

// String describes the plan, without its tools.
func (p *plan) String() string {
	short := *p
	short.static, short.fixed, short.served, short.forbidden = nil, nil, nil, nil
	type plain plan
	return fmt.Sprintf("%+v", plain(short))
}
