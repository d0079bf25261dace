package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch"
)

// Plans of conversations. A plan is data, made only from a seed and a number, so that a
// conversation can be played twice, and once more without the tools its user may not see.

// plan is a conversation: who talks, over which catalog, with which settings, and in which runs.
type plan struct {
	seed   uint64
	number int

	agentic, streaming, runner bool

	config   toolsearch.Config // without tools and functions
	index    string            // a key of indexers; "" means the protocol's own
	fallback string

	static []toolSpec
	fixed  []toolSpec
	served [][]toolSpec // what the Source answers, by edition; nil means no Source

	grouped bool // the Source belongs to a group, and some of the fixed tools to another group

	filtered  bool
	forbidden []map[string]bool // names, by user

	before, after []string // other middlewares, keys of others
	insider       bool     // a tool of the agent's own is an agent with the same middleware
	session       session
	restarts      bool // everything but the history, the session and the store is made anew for each run
	retries       bool // the model's provider fails now and then, and the agent asks again
	odd           bool // the model repeats ids, or leaves them out
	twice         bool // the hook before each call runs twice, which must change nothing

	past []string // the kinds of messages of the stored history that the conversation begins with
	runs []runPlan
}

// session is how long a Session lives.
type session int

const (
	noSession session = iota
	oneSession
	storedSession // encoded after each run, and decoded again
	sessionKinds
)

// runPlan is one run of the agent.
type runPlan struct {
	protocol toolsearch.Protocol
	user     int
	edition  edition
	rewrites []string // what the store did to the history since the last run, keys of rewrites
	calls    int      // of the model, the last of which ends the run
	cancel   cancel
	cancelAt int  // the model call at which
	moves    bool // to another edition and another user when it is resumed
}

// edition is the answer of the Source: an index into plan.served, or one of the faults below.
type edition int

// What is wrong with an answer of the Source.
const (
	failing   edition = -1 - iota // an error
	panicking                     // a panic
	empty                         // no tools
	nilTool                       // a tool that is nil
	nameless                      // a tool without a name
	doubled                       // a tool twice
	grabbing                      // a tool named like a meta-tool
	clashing                      // a tool named like one of the agent's own
	mute                          // a tool whose Info fails
	editionFaults
)

// cancel is how a run is cancelled.
type cancel int

const (
	never       cancel = iota
	atStart            // its context is done before it starts
	inModel            // its context is done while the model is called
	inTools            // its context is done while tools run
	byAgent            // by Eino's own cancel, at once
	byAgentSafe        // by Eino's own cancel, after the model or the tools
	cancels
)

// metaNames are the names that tools of the soak do not have.
var metaNames = strings.Fields("tool_search search_tools add_tool remove_tool show_all_tools call_tool find")

// otherToolNames are the names of tools from elsewhere, which dynamic tools do not have.
var otherToolNames = append(strings.Fields("clock insider cut_grass water_plants"), fileTools...)

var protocols = []toolsearch.Protocol{
	toolsearch.ProtocolToolSearch, toolsearch.ProtocolRegexp, toolsearch.ProtocolSearchAdd, toolsearch.ProtocolRanked, toolsearch.ProtocolDispatch,
	toolsearch.ProtocolNativeDeferred, toolsearch.ProtocolNativeReferences, toolsearch.ProtocolNativeServer,
}

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

func newPlan(seed uint64, number int) *plan {
	p := &plan{seed: seed, number: number}
	random := p.source("plan")
	p.agentic, p.streaming, p.runner = chance(random, 2), chance(random, 2), chance(random, 2)
	p.addTools(random)
	p.addSettings(random)
	p.addSurroundings(random)
	p.addRuns(random)
	p.grouped = chance(p.source("groups"), 3)
	return p
}

func (p *plan) addTools(random *rand.Rand) {
	taken := map[string]bool{}
	for _, name := range slices.Concat(metaNames, otherToolNames) {
		taken[name] = true
	}
	hostility := pick(random, []int{0, 10, 60})
	p.static = []toolSpec{{name: "clock", desc: "The time", schema: schemas[2]}}
	if chance(random, 3) {
		for _, spec := range someTools(random, 2, 0, taken) {
			spec.shifty = false // Eino asks a tool of the agent's own for its name again and again
			p.static = append(p.static, spec)
		}
	}
	if chance(random, 4) {
		p.static = nil
	}
	p.fixed = fixedTools(random, 1+random.IntN(25), hostility, taken)
	if chance(random, 3) || len(p.fixed) == 0 {
		serving := someTools(random, 2+random.IntN(15), hostility, taken)
		for range 3 {
			var now []toolSpec
			for _, spec := range serving {
				if chance(random, 4) {
					continue
				}
				if chance(random, 5) {
					spec.desc += " again"
				}
				now = append(now, spec)
			}
			if len(now) == 0 {
				now = serving
			}
			random.Shuffle(len(now), func(i, j int) { now[i], now[j] = now[j], now[i] })
			p.served = append(p.served, now)
		}
		if chance(random, 3) {
			p.fixed = nil
		}
	}
	if p.runner && chance(random, 3) && len(p.fixed) > 0 {
		confirming := &p.fixed[random.IntN(len(p.fixed))]
		confirming.result, confirming.way, confirming.shifty = confirms, invokable, false
		if p.agentic {
			p.streamNothing()
		}
	}
	if chance(random, 2) {
		p.addFilter(random)
	} else {
		p.forbidden = make([]map[string]bool, 2)
	}
}

// streamNothing leaves no tool that streams: Eino v0.9.21 cannot keep a streamed result of an agentic
// run in a second checkpoint.
func (p *plan) streamNothing() {
	for _, specs := range append([][]toolSpec{p.static, p.fixed}, p.served...) {
		for i := range specs {
			if specs[i].way == streamable {
				specs[i].way = invokable
			}
		}
	}
}

// addFilter forbids some tools to each of two users. Now and then a user has no tools at all.
func (p *plan) addFilter(random *rand.Rand) {
	p.filtered = true
	for range 2 {
		one := pick(random, []int{1, 2, 2, 3, 3, 8})
		forbidden := map[string]bool{}
		for _, name := range p.names() {
			if chance(random, one) {
				forbidden[name] = true
			}
		}
		p.forbidden = append(p.forbidden, forbidden)
	}
}

// names returns the names of all dynamic tools, in any edition.
func (p *plan) names() (names []string) {
	seen := map[string]bool{}
	add := func(specs []toolSpec) {
		for _, spec := range specs {
			if !seen[spec.name] {
				seen[spec.name] = true
				names = append(names, spec.name)
			}
		}
	}
	add(p.fixed)
	for _, specs := range p.served {
		add(specs)
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
	c.Limits.MaxLoaded = maybe(3, 1, 2, 5)
	c.Preselect = maybe(4, 1, 3)
	c.DeferFrom = maybe(4, 5, 10, 100)
	c.MaxResults = maybe(4, 1, 3, 50)
	c.Limits.MaxPerNamespace = maybe(4, -1, 1, 2)
	c.Language = toolsearch.Language(maybe(4, 1))
	c.SendEvents = chance(random, 4)
	c.Limits.MaxAnswerTokens = maybe(5, 20, 200, 2000)
	c.Reminder = toolsearch.ReminderConfig{
		Disabled: chance(random, 8), MaxTokens: maybe(4, 10, 60, 400), Describe: chance(random, 4),
		Position: toolsearch.ReminderPosition(random.IntN(3)),
	}
	if chance(random, 6) {
		c.Reminder.Namespaces = map[string]string{"github": "Code", "evil": pick(random, hostileTexts)}
	}
	if chance(random, 4) {
		c.AlwaysLoaded = []string{"github:*", "*:list_*", "tag:read-only", "no_such_tool"}
		if names := p.names(); chance(random, 2) {
			c.AlwaysLoaded = append(c.AlwaysLoaded, strings.ReplaceAll(pick(random, names), ":", "*")+"*")
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
		name := pick(random, otherNames)
		if chance(random, 2) {
			p.before = append(p.before, name)
		} else {
			p.after = append(p.after, name)
		}
	}
	p.insider = chance(random, 6)
	p.session = session(random.IntN(int(sessionKinds)))
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
		run := runPlan{protocol: protocol, calls: 1 + random.IntN(7)}
		if !paired {
			run.user = random.IntN(2)
		}
		if p.served != nil {
			run.edition = edition(random.IntN(len(p.served)))
			if !paired && chance(random, 4) {
				run.edition = -1 - edition(random.IntN(int(-editionFaults-1)))
			}
		}
		if i > 0 || len(p.past) > 0 {
			for chance(random, 2) {
				run.rewrites = append(run.rewrites, pick(random, rewriteNames))
			}
		}
		if chance(random, 12) {
			run.cancel, run.cancelAt = cancel(random.IntN(int(cancels))), random.IntN(run.calls)
		}
		run.moves = !paired && chance(random, 4)
		p.runs = append(p.runs, run)
	}
}

func (p *plan) protocol(random *rand.Rand) toolsearch.Protocol {
	for {
		if protocol := pick(random, protocols); !p.agentic || protocol != toolsearch.ProtocolNativeReferences {
			return protocol
		}
	}
}

// has reports whether one of the other middlewares is there.
func (p *plan) has(names ...string) bool {
	return slices.ContainsFunc(slices.Concat(p.before, p.after), func(name string) bool { return slices.Contains(names, name) })
}

// paired reports whether the conversation, without the tools its user may not see and without a
// Filter, is the same to the byte.
func (p *plan) paired() bool {
	if !p.filtered || !p.deterministic() || len(p.forbidden[p.runs[0].user]) == 0 {
		return false
	}
	for _, run := range p.runs {
		if run.user != p.runs[0].user || run.edition < 0 || run.moves {
			return false
		}
	}
	// New needs a tool, and an answer of the Source needs a tool that can be in a catalog.
	isSeen := func(spec toolSpec) bool { return !p.forbidden[p.runs[0].user][spec.name] }
	if len(p.fixed) > 0 && !slices.ContainsFunc(p.fixed, isSeen) {
		return false
	}
	return !slices.ContainsFunc(p.served, func(specs []toolSpec) bool {
		return !slices.ContainsFunc(specs, func(spec toolSpec) bool { return isSeen(spec) && plainName.MatchString(spec.name) })
	})
}

// plainName matches the names that providers take. A tool of a Source with any other name is left
// out.
var plainName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// deterministic reports whether a second play gives the same bytes: a cancellation meets the
// run wherever it happens to be.
func (p *plan) deterministic() bool {
	for _, run := range p.runs {
		if run.cancel != never {
			return false
		}
	}
	return true
}

// String describes the plan in a line.
func (p *plan) String() string {
	var words []string
	add := func(is bool, format string, values ...any) {
		if is {
			words = append(words, fmt.Sprintf(format, values...))
		}
	}
	add(true, "%s", map[bool]string{false: "chat messages", true: "agentic messages"}[p.agentic])
	add(p.streaming, "streaming")
	add(p.runner, "Runner")
	add(p.config.Unloaded != 0, "UnloadedRefuse")
	add(p.config.Unknown != 0, "UnknownFail")
	add(p.config.Limits.MaxLoaded > 0, "MaxLoaded %d", p.config.Limits.MaxLoaded)
	add(p.config.Preselect > 0, "Preselect %d", p.config.Preselect)
	add(p.config.DeferFrom > 0, "DeferFrom %d", p.config.DeferFrom)
	add(p.config.Limits.MaxPerNamespace != 0, "MaxPerNamespace %d", p.config.Limits.MaxPerNamespace)
	add(p.config.Limits.MaxAnswerTokens > 0, "MaxAnswerTokens %d", p.config.Limits.MaxAnswerTokens)
	add(p.config.AlwaysLoaded != nil, "AlwaysLoaded %.200q", p.config.AlwaysLoaded)
	add(true, "reminder %+v", p.config.Reminder)
	add(p.index != "", "Index %s", p.index)
	add(p.fallback != "", "Fallback %s", p.fallback)
	add(true, "%d static, %d fixed tools", len(p.static), len(p.fixed))
	add(p.served != nil, "Source")
	add(p.filtered, "Filter")
	add(p.session == oneSession, "Session")
	add(p.session == storedSession, "stored Session")
	add(p.restarts, "restarts")
	add(p.insider, "insider")
	add(p.config.SendEvents, "SendEvents")
	add(p.retries, "retries")
	add(p.odd, "odd ids")
	add(p.twice, "worked out twice")
	add(len(p.before) > 0, "before it %v", p.before)
	add(len(p.after) > 0, "after it %v", p.after)
	add(len(p.past) > 0, "past %v", p.past)
	return strings.Join(words, ", ")
}
