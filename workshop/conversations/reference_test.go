package conversations_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// The reference model plays random conversations through the hooks. Before every model call it
// computes which tools the model must see, and compares them with the tools that the model does
// see. It works on plain names and knows neither documents nor notebooks nor messages.

// reference computes which tools must be visible. A tool is loaded if it was visible at the last
// call of this run, or if the rest of the history loads it, or if the last round did.
type reference struct {
	maxLoaded int
	refuse    bool
	always    []string
	catalog   map[string]bool // tools that the user of this run may have

	marks  []string       // dynamic tools of the tool list, in its order
	shown  [][]deed       // for each message of the history
	latest []deed         // what the last round of this run loaded or unloaded
	used   map[string]int // by tool; a later use has a larger number
	loaded []string       // in the order of loading
}

// deed is what a message did to tools. The kind "turn" begins the calls of a message of the model.
// The other kinds are "call", "find" and "remove".
type deed struct {
	kind  string
	names []string
}

func (r *reference) visible() []string {
	r.loaded, r.used = nil, map[string]int{}
	r.load(r.always...)
	r.load(r.marks...)
	lastTurn := 0
	for i, message := range r.shown {
		if slices.ContainsFunc(message, func(d deed) bool { return d.kind == "turn" }) {
			lastTurn = i
		}
	}
	for i, message := range r.shown {
		r.do(message, i < lastTurn)
	}
	r.do(r.latest, false)
	r.load(r.always...)
	r.evict()
	// A tool of the last list keeps its place.
	list := slices.DeleteFunc(slices.Clone(r.marks), func(name string) bool { return !slices.Contains(r.loaded, name) })
	for _, name := range r.loaded {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// do does the deeds of a message. The tool list already knows of old removals.
func (r *reference) do(deeds []deed, isOld bool) {
	for _, d := range deeds {
		switch d.kind {
		case "turn":
			r.evict()
		case "call":
			if !r.refuse || slices.Contains(r.loaded, d.names[0]) {
				r.use(d.names)
			}
		case "find":
			r.use(d.names)
		case "remove":
			r.loaded = slices.DeleteFunc(r.loaded, func(name string) bool {
				return slices.Contains(d.names, name) && !(isOld && slices.Contains(r.marks, name))
			})
		}
	}
}

func (r *reference) use(names []string) {
	r.load(names...)
	now := 100
	for _, at := range r.used {
		now = max(now, at+100)
	}
	for i, name := range names {
		r.used[name] = now - i
	}
}

func (r *reference) load(names ...string) {
	for _, name := range names {
		if r.catalog[name] && !slices.Contains(r.loaded, name) {
			r.loaded = append(r.loaded, name)
		}
	}
}

func (r *reference) evict() {
	if r.maxLoaded == 0 {
		return
	}
	var counted []string
	for _, name := range r.loaded {
		if !slices.Contains(r.always, name) {
			counted = append(counted, name)
		}
	}
	slices.SortStableFunc(counted, func(a, b string) int { return cmp.Compare(r.used[a], r.used[b]) })
	for _, name := range counted[:max(0, len(counted)-r.maxLoaded)] {
		r.loaded = slices.DeleteFunc(r.loaded, func(other string) bool { return other == name })
	}
}

// world is a conversation with everything that happens to it.
type world[M adk.MessageType] struct {
	random *rand.Rand
	log    []string
	ref    reference

	config     toolsearch.Config
	middleware adk.TypedChatModelAgentMiddleware[M]
	served     map[string]string // Source's tools: name -> description
	forbidden  map[string]bool

	ctx   context.Context // of the run
	tools map[string]tool.BaseTool
	mc    *adk.TypedModelContext[M]
	state *adk.TypedChatModelAgentState[M]
	calls int
}

var worldNames = []string{"mcp__a__get_x", "mcp__a__get_y", "mcp__a__list_z", "mcp__b__get_x", "mcp__b__send_x",
	"mcp__b__send_y", "plain_x", "plain_y"}

// newWorld chooses the settings by the seed.
func newWorld[M adk.MessageType](t *testing.T, seed uint64) *world[M] {
	w := &world[M]{random: rand.New(rand.NewPCG(seed, 11)), served: map[string]string{}, forbidden: map[string]bool{}}
	for _, name := range worldNames {
		w.served[name] = "Does 0"
	}
	w.config = toolsearch.Config{
		DynamicTools: testtools.EchoTools("fixed_one: Does", "fixed_two: Does", "always_there: Does"),
		Groups: []toolsearch.Group{{Source: func(context.Context) ([]tool.BaseTool, error) {
			var specs []string
			for name, description := range w.served { // in random order
				specs = append(specs, name+": "+description)
			}
			return testtools.EchoTools(specs...), nil
		}}},
		Filter:       func(_ context.Context, doc toolsearch.Document) bool { return !w.forbidden[doc.Name] },
		AlwaysLoaded: []string{"always_*"},
		Limits:       toolsearch.Limits{MaxLoaded: []int{0, 1, 2, 3}[seed%4]},
		Unloaded:     toolsearch.UnloadedPolicy(seed / 4 % 2),
		Protocol:     []toolsearch.Protocol{toolsearch.ProtocolToolSearch, toolsearch.ProtocolSearchAdd, toolsearch.ProtocolAnchored}[seed/8%3],
		OnEvent:      onFailure(func(err error) { assert.Fail(t, "a failure event", "%v", err) }),
	}
	w.middleware = newMiddleware[M](t, w.config)
	w.ref = reference{maxLoaded: w.config.Limits.MaxLoaded, refuse: w.config.Unloaded == toolsearch.UnloadedRefuse,
		always: []string{"always_there"}}
	return w
}

func (w *world[M]) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

// begin starts a run. A run that resumes keeps the tool list.
func (w *world[M]) begin(resumes bool) error {
	ctx, runCtx, err := w.middleware.BeforeAgent(context.Background(),
		&adk.ChatModelAgentContext{Tools: testtools.EchoTools("clock: The time")})
	if err != nil {
		return err
	}
	w.ctx, w.tools = ctx, map[string]tool.BaseTool{}
	var all []*schema.ToolInfo
	for _, tl := range runCtx.Tools {
		info, err := tl.Info(ctx)
		if err != nil {
			return err
		}
		all = append(all, info)
		w.tools[info.Name] = tl
	}
	w.mc = &adk.TypedModelContext[M]{Tools: all}
	if !resumes {
		w.state.ToolInfos, w.ref.marks = slices.Clone(all), nil
	}
	w.ref.latest = nil
	w.ref.catalog = map[string]bool{}
	for _, name := range append([]string{"fixed_one", "fixed_two", "always_there"}, worldNames...) {
		_, isServed := w.served[name]
		w.ref.catalog[name] = (isServed || !slices.Contains(worldNames, name)) && !w.forbidden[name]
	}
	return nil
}

// check does what comes before a model call, and checks what the model sees.
func (w *world[M]) check() error {
	_, next, err := w.middleware.BeforeModelRewriteState(w.ctx, w.state, w.mc)
	if err != nil {
		return err
	}
	w.state = next
	if grown := len(next.Messages) - len(w.ref.shown); grown == 1 { // the reminder was added
		w.ref.shown = append([][]deed{nil}, w.ref.shown...)
	} else if grown != 0 {
		return fmt.Errorf("%d messages became %d", len(w.ref.shown), len(next.Messages))
	}
	want := w.ref.visible()
	w.ref.marks, w.ref.latest = want, nil
	var got []string
	for _, info := range next.ToolInfos {
		if _, dynamic := w.ref.catalog[info.Name]; !dynamic {
			continue
		}
		got = append(got, info.Name)
		if description, isServed := w.served[info.Name]; isServed && info.Desc != description {
			return fmt.Errorf("the description of %s is %q, want %q", info.Name, info.Desc, description)
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the model saw %v, want %v", got, want)
	}
	return w.checkReminder()
}

func (w *world[M]) checkReminder() error {
	found := 0
	for _, m := range requestOf(w.state.Messages).Messages {
		if !strings.HasPrefix(m.Text, reminderOpen) {
			continue
		}
		found++
		if w.config.Protocol == toolsearch.ProtocolSearchAdd {
			continue
		}
		var want []string
		for _, name := range append([]string{"fixed_one", "fixed_two"}, worldNames...) {
			if w.ref.catalog[name] {
				want = append(want, name)
			}
		}
		if got := announced(request{Messages: []message{m}}); !slices.Equal(got, want) {
			return fmt.Errorf("the reminder lists %v, want %v", got, want)
		}
	}
	if found != 1 {
		return fmt.Errorf("%d reminders, want 1", found)
	}
	return nil
}

func (w *world[M]) anyName() string {
	return testtools.Pick(w.random, append([]string{"fixed_one", "fixed_two", "always_there", "no_such_tool"}, worldNames...))
}

func (w *world[M]) someNames() string {
	var names []string
	for range 1 + w.random.IntN(3) {
		names = append(names, w.anyName())
	}
	return strings.Join(names, ",")
}

func (w *world[M]) anyCall() call {
	w.calls++
	c := call{ID: fmt.Sprintf("c%d", w.calls), Arguments: "{}"}
	adds := w.config.Protocol == toolsearch.ProtocolSearchAdd
	switch op := w.random.IntN(10); {
	case op < 3:
		c.Name = w.anyName()
	case op < 5 && adds:
		c.Name, c.Arguments = "remove_tool", `{"tool_names":["`+strings.ReplaceAll(w.someNames(), ",", `","`)+`"]}`
	case adds:
		c.Name, c.Arguments = "add_tool", `{"tool_names":["`+strings.ReplaceAll(w.someNames(), ",", `","`)+`"]}`
	case op < 5:
		c.Name, c.Arguments = "tool_search", fmt.Sprintf(`{"query":%q,"max_results":%d}`,
			testtools.Pick(w.random, []string{"get", "send x", "+a", "zzz", "does"}), w.random.IntN(4))
	default:
		c.Name, c.Arguments = "tool_search", `{"query":"select:`+w.someNames()+`"}`
	}
	return c
}

// round adds a message of the model and the results of its calls.
func (w *world[M]) round() error {
	said, turn := message{Role: toolsearchtest.Assistant}, []deed{{kind: "turn"}}
	for range 1 + w.random.IntN(3) {
		c := w.anyCall()
		said.Calls = append(said.Calls, c)
		w.note("%s %s", c.Name, c.Arguments)
		if _, dynamic := w.ref.catalog[c.Name]; !dynamic {
			continue
		}
		turn = append(turn, deed{"call", []string{c.Name}})
		if !w.ref.refuse && w.ref.catalog[c.Name] && !slices.Contains(w.ref.marks, c.Name) {
			w.ref.marks = append(w.ref.marks, c.Name) // the tool runs, and stays loaded if the history is trimmed
		}
	}
	w.append(said, turn)
	_, next, err := w.middleware.AfterModelRewriteState(w.ctx, w.state, w.mc)
	if err != nil {
		return err
	}
	w.state = next
	for _, c := range toolsearchtest.Decode(next.Messages[len(next.Messages)-1]).Calls {
		tl, exists := w.tools[c.Name].(tool.InvokableTool)
		if !exists {
			return fmt.Errorf("the agent has no tool %s", c.Name)
		}
		answer, err := tl.InvokableRun(w.ctx, c.Arguments)
		if err != nil {
			return err
		}
		deeds, err := w.deedsOf(c.Name, answer)
		if err != nil {
			return err
		}
		w.append(toolSays(c.ID, c.Name, answer), deeds)
		w.ref.latest = append(w.ref.latest, deeds...)
	}
	return nil
}

func (w *world[M]) append(m message, deeds []deed) {
	w.state.Messages = append(slices.Clip(w.state.Messages), toolsearchtest.Encode[M](m))
	w.ref.shown = append(w.ref.shown, deeds)
}

// deedsOf returns the deeds of an answer. A tool that it names must be in the catalog and allowed.
func (w *world[M]) deedsOf(name, answer string) ([]deed, error) {
	var a struct {
		Matches, Added, Removed []string
		AlreadyLoaded           []string `json:"already_loaded"`
	}
	if _, dynamic := w.ref.catalog[name]; dynamic || json.Unmarshal([]byte(answer), &a) != nil {
		return nil, nil
	}
	found := slices.Concat(a.Matches, a.Added, a.AlreadyLoaded)
	for _, name := range append(slices.Clone(found), a.Removed...) {
		if !w.ref.catalog[name] {
			return nil, fmt.Errorf("%s was found, which is not in the catalog of this user", name)
		}
	}
	var deeds []deed
	if len(found) > 0 {
		deeds = append(deeds, deed{"find", found})
	}
	if len(a.Removed) > 0 {
		deeds = append(deeds, deed{"remove", a.Removed})
	}
	return deeds, nil
}

// disturb may change the conversation as middlewares, checkpoints and callers do.
func (w *world[M]) disturb() error {
	switch w.random.IntN(10) {
	case 0: // another middleware trims
		cut := w.random.IntN(len(w.state.Messages) + 1)
		w.note("trim %d of %d messages", cut, len(w.state.Messages))
		w.state.Messages, w.ref.shown = w.state.Messages[cut:], w.ref.shown[cut:]
		return nil
	case 1: // the run is resumed from a checkpoint
		var buffer bytes.Buffer
		restored := &adk.TypedChatModelAgentState[M]{}
		if err := gob.NewEncoder(&buffer).Encode(w.state); err != nil {
			return err
		}
		if err := gob.NewDecoder(&buffer).Decode(restored); err != nil {
			return err
		}
		w.note("resume")
		w.state = restored
		w.change()
		return w.begin(true)
	case 2: // another run begins with the messages
		w.note("second run")
		w.state = &adk.TypedChatModelAgentState[M]{Messages: w.state.Messages}
		w.change()
		return w.begin(false)
	}
	return nil
}

// change may change the source or the filter, as between two runs.
func (w *world[M]) change() {
	switch name := testtools.Pick(w.random, worldNames); w.random.IntN(6) {
	case 0:
		w.note("gone: %s", name)
		if delete(w.served, name); len(w.served) == 0 {
			w.served[name] = "Does 0"
		}
	case 1:
		w.note("served: %s", name)
		w.served[name] = fmt.Sprintf("Does %d", w.random.IntN(3))
	case 2:
		w.note("forbidden: %s", name)
		w.forbidden[name] = true
	case 3:
		w.note("allowed: everything")
		clear(w.forbidden)
	}
}

// playWorld plays steps and returns how many of them passed.
func playWorld[M adk.MessageType](t *testing.T, seed uint64, steps int) (log []string, done int, err error) {
	w := newWorld[M](t, seed)
	w.state = &adk.TypedChatModelAgentState[M]{}
	w.append(question[0], nil)
	if err := w.begin(false); err != nil {
		return nil, 0, err
	}
	for step := range steps {
		for _, do := range []func() error{w.check, w.check, w.round, w.disturb} { // the second check changes nothing
			if err := do(); err != nil {
				return w.log, step, err
			}
		}
	}
	return w.log, steps, nil
}

func TestReferenceModel(t *testing.T) {
	ofBothTypes(t, testReferenceModel[chat], testReferenceModel[agentic])
}

func testReferenceModel[M adk.MessageType](t *testing.T) {
	const steps = 40
	seeds := testtools.Rounds(32, 12)
	shortest, report, failed := steps, "", 0
	for seed := range uint64(seeds) {
		log, done, err := playWorld[M](t, seed, steps)
		if err == nil {
			continue
		}
		if failed++; report == "" || done < shortest {
			shortest = done
			report = fmt.Sprintf("seed %d, step %d: %v\n  %s", seed, done, err, strings.Join(log, "\n  "))
		}
	}
	assert.Zero(t, failed, "failed seeds of %d; the shortest is %s", seeds, report)
}
