package toolsearch_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
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

var worldNames = []string{"mcp__a__get_x", "mcp__a__get_y", "mcp__a__list_z", "mcp__b__get_x", "mcp__b__send_x", "mcp__b__send_y", "plain_x", "plain_y"}

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
		Protocol:     []toolsearch.Protocol{toolsearch.ProtocolToolSearch, toolsearch.ProtocolSearchAdd}[seed/8%2],
		OnEvent:      onFailure(func(err error) { assert.Fail(t, "a failure event", "%v", err) }),
	}
	w.middleware = newMiddleware[M](t, w.config)
	w.ref = reference{maxLoaded: w.config.Limits.MaxLoaded, refuse: w.config.Unloaded == toolsearch.UnloadedRefuse, always: []string{"always_there"}}
	return w
}

func (w *world[M]) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

// begin starts a run. A run that resumes keeps the tool list.
func (w *world[M]) begin(resumes bool) error {
	ctx, runCtx, err := w.middleware.BeforeAgent(context.Background(), &adk.ChatModelAgentContext{Tools: testtools.EchoTools("clock: The time")})
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
		if w.config.Protocol != toolsearch.ProtocolToolSearch {
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
		c.Name, c.Arguments = "tool_search", fmt.Sprintf(`{"query":%q,"max_results":%d}`, testtools.Pick(w.random, []string{"get", "send x", "+a", "zzz", "does"}), w.random.IntN(4))
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
		w.append(message{Role: toolsearchtest.Tool, CallID: c.ID, ToolName: c.Name, Text: answer}, deeds)
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
	t.Run("message", testReferenceModel[*schema.Message])
	t.Run("agentic", testReferenceModel[*schema.AgenticMessage])
}

func testReferenceModel[M adk.MessageType](t *testing.T) {
	const steps = 40
	seeds := testtools.Rounds(96, 12)
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

// FuzzHistory makes histories of fuzz bytes. The hooks neither fail nor write to a history,
// whatever it has, and the model sees what it must see.
func FuzzHistory(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 4))
	for size := range 64 {
		data := make([]byte, 4+2*size)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		f.Add(data)
	}
	for i := range byte(8 * historyOps) { // each kind of message twice, with others between
		f.Add([]byte{i / historyOps, i, 1, i, 2, 3, 0, 1, i, 1, 5, i})
	}
	for variant := range byte(8) { // no tool lists, then messages
		f.Add([]byte{variant, 0, 1, 2, 3, 0, 3, 1, 4, 2, 5})             // calls of an unknown name, a static tool and an empty name
		f.Add([]byte{variant, 0, 1, 2, 2, 0, 1, 1, 2})                   // calls of hidden tools
		f.Add([]byte{variant, 0, 1, 2, 1, 0, 3, 4, 4, 0, 0})             // an answer that must be renamed
		f.Add([]byte{variant, 0, 1, 3, 0, 1, 4, 4, 0, 0, 3, 1, 3, 0})    // stand-ins
		f.Add([]byte{variant, 0, 1, 6, 0, 0, 6, 1})                      // two reminders
		f.Add([]byte{variant, 0, 1, 0, 7, 1, 6, 0, 7, 0, 9, 0, 8, 1, 0}) // reminders of every kind
		f.Add([]byte{variant, 1, 5, 2, 3, 0, 1, 0, 5, 2, 3, 0, 1, 5, 0, 3, 2, 2, 0, 0, 1, 1})
	}
	forMessage, forAgentic := historyMiddlewares[*schema.Message](f), historyMiddlewares[*schema.AgenticMessage](f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			t.Skip()
		}
		checkHistory(t, forMessage, data)
		checkHistory(t, forAgentic, data)
	})
}

// historyMiddlewares returns eight middlewares. The bits of the index mean that the protocol is
// native, that unloaded tools are refused, and that unknown names are left to Eino.
func historyMiddlewares[M adk.MessageType](f *testing.F) (list []adk.TypedChatModelAgentMiddleware[M]) {
	for i := range 8 {
		list = append(list, newMiddleware[M](f, toolsearch.Config{
			DynamicTools: testtools.NewsTools(), UseModelToolSearch: i&1 != 0,
			Unloaded: toolsearch.UnloadedPolicy(i >> 1 & 1), Unknown: toolsearch.UnknownPolicy(i >> 2 & 1),
		}))
	}
	return list
}

func checkHistory[M adk.MessageType](t *testing.T, middlewares []adk.TypedChatModelAgentMiddleware[M], data []byte) {
	t.Helper()
	variant := (&history{data: data}).next(8)
	m, native := middlewares[variant], variant&1 != 0
	decode := func() (*history, *adk.TypedChatModelAgentState[M]) {
		h := &history{data: data[min(1, len(data)):]}
		return h, decodeState[M](h)
	}
	mc := &adk.TypedModelContext[M]{Tools: append(staticInfos(), dynamicInfos()...)}
	before := func(state *adk.TypedChatModelAgentState[M]) *adk.TypedChatModelAgentState[M] {
		ctx, _, _ := m.BeforeAgent(context.Background(), &adk.ChatModelAgentContext{})
		_, next, err := m.BeforeModelRewriteState(ctx, state, mc)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}

	_, in := decode()
	out := before(in)
	h, untouched := decode()
	if !reflect.DeepEqual(in, untouched) {
		t.Errorf("BeforeModelRewriteState wrote to its input")
	}
	checkSeen(t, out, h, native)
	if again := before(out); !reflect.DeepEqual(again, out) {
		t.Errorf("the second BeforeModelRewriteState changed the state:\n%s\n%s", describe(out), describe(again))
	}
	_, after, err := m.AfterModelRewriteState(context.Background(), out, mc)
	if err != nil {
		t.Fatal(err)
	}
	// The same input gives the same bytes.
	if twin := before(untouched); !reflect.DeepEqual(out, twin) {
		t.Errorf("a hook wrote to its input, or the same input gave another state:\n%s\n%s", describe(out), describe(twin))
	}
	shown := namesOf(after.ToolInfos)
	if len(shown) < len(out.ToolInfos) || !slices.Equal(shown[:len(out.ToolInfos)], namesOf(out.ToolInfos)) || len(sortedSet(shown)) != len(shown) {
		t.Errorf("after the call the tools are %v, before it %v", shown, namesOf(out.ToolInfos))
	}
	checkStandIns(t, out, after, before)
}

// checkSeen checks what the model is shown.
func checkSeen[M adk.MessageType](t *testing.T, state *adk.TypedChatModelAgentState[M], h *history, native bool) {
	t.Helper()
	reminders := 0
	for _, msg := range state.Messages {
		m := decodeOrNone(msg)
		isBlock := strings.HasPrefix(m.Text, "<available-deferred-tools>") && strings.HasSuffix(strings.TrimSpace(m.Text), "</available-deferred-tools>")
		switch {
		case m.Role != toolsearchtest.User:
		case isBlock || m.Extra["_toolsearch_reminder"] != nil:
			reminders++
			if m.Text != newsReminder {
				t.Errorf("the reminder is %q", m.Text)
			}
		case strings.Contains(m.Text, "<all_user_messages>"):
			_, after, quoted := strings.Cut(m.Text, "<available-deferred-tools>")
			if quoted && strings.Contains(after, "</available-deferred-tools>") {
				t.Errorf("a summary quotes the reminder: %q", m.Text)
			}
		}
	}
	if reminders != 1 {
		t.Errorf("%d reminders in %s", reminders, describe(state))
	}
	shown, hidden := namesOf(state.ToolInfos), namesOf(state.DeferredToolInfos)
	if all := append(slices.Clone(shown), hidden...); state.ToolInfos == nil || len(sortedSet(all)) != len(all) {
		t.Errorf("tools %v (nil: %v) and deferred %v", shown, state.ToolInfos == nil, hidden)
	}
	static := slices.DeleteFunc(namesOf(staticInfos()), func(name string) bool { return native && name == "tool_search" })
	if native && slices.Contains(shown, "tool_search") || slices.Contains(shown, "clock") && !slices.Equal(shown[:len(static)], static) {
		t.Errorf("the tools %v do not begin with %v, or they have the native search tool", shown, static)
	}
	if h.theirs && !slices.Contains(hidden, "of_another") {
		t.Errorf("another middleware's deferred tool is missing in %v", hidden)
	}
	for _, name := range h.loads {
		if !slices.Contains(shown, name) && (!native || !slices.Contains(hidden, name)) {
			t.Errorf("%s was found but is not in %v", name, shown)
		}
	}
}

// checkStandIns answers the calls that were replaced. It checks that before the next model call the
// model's own calls are back, and that the answers have their names.
func checkStandIns[M adk.MessageType](t *testing.T, out, after *adk.TypedChatModelAgentState[M], before func(*adk.TypedChatModelAgentState[M]) *adk.TypedChatModelAgentState[M]) {
	t.Helper()
	end := len(out.Messages) - 1
	if len(after.Messages) != end+1 || !slices.Equal(after.Messages[:end], out.Messages[:end]) {
		t.Fatalf("AfterModelRewriteState changed more than the last message: %s", describe(after))
	}
	made, sent := decodeOrNone(out.Messages[end]).Calls, decodeOrNone(after.Messages[end]).Calls
	ids := map[string]bool{"": true}
	next := *after
	next.Messages = slices.Clone(after.Messages)
	var names []string
	for i, c := range sent {
		if c == made[i] {
			continue
		}
		if c.Name != "tool_search" || c.ID != made[i].ID || ids[c.ID] {
			return // two calls have the same ID, so an answer fits either
		}
		ids[c.ID] = true
		names = append(names, made[i].Name)
		next.Messages = append(next.Messages, toolsearchtest.Encode[M](message{
			Role: toolsearchtest.Tool, CallID: c.ID, ToolName: "tool_search", Text: `{"matches":[],"message":"No."}`}))
	}
	for i, c := range made {
		if sent[i] == c && ids[c.ID] {
			return
		}
	}
	restored := before(&next)
	if !reflect.DeepEqual(restored.Messages[end], out.Messages[end]) {
		t.Errorf("the calls came back as %+v, want %+v", decodeOrNone(restored.Messages[end]).Calls, made)
	}
	for i, name := range names {
		if got := decodeOrNone(restored.Messages[end+1+i]).ToolName; got != name && name != "" {
			t.Errorf("the answer to %q is named %q", name, got)
		}
	}
}

// history decodes fuzz input to a history. Missing bytes are zero.
type history struct {
	data   []byte
	loads  []string // tools that the decoded results have loaded
	theirs bool     // another middleware defers a tool
}

func (h *history) next(n int) int {
	if len(h.data) == 0 {
		return 0
	}
	b := h.data[0]
	h.data = h.data[1:]
	return int(b) % n
}

func (h *history) text() string {
	n := min(h.next(64), len(h.data))
	text := string(h.data[:n])
	h.data = h.data[n:]
	return text
}

func staticInfos() []*schema.ToolInfo {
	return []*schema.ToolInfo{{Name: "clock"}, {Name: "calculator"}, {Name: "tool_search"}}
}

func dynamicInfos() (infos []*schema.ToolInfo) {
	for _, t := range testtools.NewsTools() {
		infos = append(infos, t.(*testtools.EchoTool).Of)
	}
	return infos
}

func decodeState[M adk.MessageType](h *history) *adk.TypedChatModelAgentState[M] {
	state := &adk.TypedChatModelAgentState[M]{}
	dynamic := func(info *schema.ToolInfo) []*schema.ToolInfo {
		mark := func(tool string) *schema.ToolInfo {
			return &schema.ToolInfo{Name: info.Name, Desc: info.Desc, Extra: map[string]any{"_toolsearch_loaded": tool}}
		}
		return [][]*schema.ToolInfo{{info}, nil, {mark("tool_search")}, {mark("find")}, {nil}, {mark("tool_search"), info, mark("tool_search")}}[h.next(6)]
	}
	if h.next(4) > 0 {
		state.ToolInfos = staticInfos()
		for _, info := range dynamicInfos() {
			state.ToolInfos = append(state.ToolInfos, dynamic(info)...)
		}
	}
	if h.next(4) == 0 {
		h.theirs = true
		state.DeferredToolInfos = []*schema.ToolInfo{{Name: "of_another"}}
		for _, info := range dynamicInfos() {
			state.DeferredToolInfos = append(state.DeferredToolInfos, dynamic(info)...)
		}
	}
	for len(h.data) > 0 {
		state.Messages = append(state.Messages, decodeMessage[M](h))
	}
	return state
}

const historyOps = 12

var historyResults = []struct {
	text  string
	loads []string
}{
	{`{"matches":["get_weather"]}`, []string{"get_weather"}},
	{`{"matches":["send_mail","no_such_tool","list_stocks"]}`, []string{"send_mail", "list_stocks"}},
	{` {"message":"]","matches":["get_\u0066orecast"]}`, []string{"get_forecast"}},
	{`{"matches":[]}`, nil}, {`{"matches":[],"message":"No."}`, nil}, {`{"matches":null}`, nil}, {`{"matches":[1]}`, nil},
	{`{"matches":["send_mail"`, nil}, {`sunny`, nil}, {``, nil},
}

func decodeMessage[M adk.MessageType](h *history) M {
	ids := []string{"c1", "c2", "c3", ""}
	names := []string{"tool_search", "get_weather", "send_mail", "get_wether", "clock", ""}
	ours := map[string]any{"_toolsearch_reminder": "tool_search"}
	m := message{Role: toolsearchtest.User, Text: "What is new?"}
	switch h.next(historyOps) {
	case 0:
	case 1:
		m.Role = []string{toolsearchtest.System, toolsearchtest.User, toolsearchtest.Assistant}[h.next(3)]
		m.Text = h.text()
	case 2:
		m = message{Role: toolsearchtest.Assistant}
		for range h.next(4) {
			m.Calls = append(m.Calls, called(ids[h.next(len(ids))], names[h.next(len(names))], `{}`))
		}
	case 3: // with a call that an earlier run replaced and did not restore
		m = message{Role: toolsearchtest.Assistant, Calls: []call{called(ids[h.next(len(ids))], "tool_search", `{}`)}}
		return withCallExtra(toolsearchtest.Encode[M](m), map[string]any{
			"_toolsearch_call_name": names[h.next(len(names))], "_toolsearch_call_arguments": `{"city":"Rome"}`})
	case 4:
		result := historyResults[h.next(len(historyResults))]
		m = message{Role: toolsearchtest.Tool, CallID: ids[h.next(len(ids))], ToolName: names[h.next(len(names))], Text: result.text}
		if m.ToolName == "tool_search" {
			h.loads = append(h.loads, result.loads...)
		}
	case 5:
		m = message{Role: toolsearchtest.Tool, CallID: ids[h.next(len(ids))], ToolName: "tool_search", Native: true, Found: []*schema.ToolInfo{nil, {Name: "no_such_tool"}}}
		for _, info := range dynamicInfos()[:h.next(4)] {
			m.Found, h.loads = append(m.Found, info), append(h.loads, info.Name)
		}
	case 6:
		m.Text, m.Extra = newsReminder, []map[string]any{ours, nil}[h.next(2)]
	case 7: // a stale reminder
		m.Text, m.Extra = strings.Replace(newsReminder, "send_mail", "fax", 1), []map[string]any{ours, nil}[h.next(2)]
	case 8: // a reminder of Eino's own middleware, or a marked and edited reminder
		m.Text, m.Extra = "<available-deferred-tools>\nget_weather\n</available-deferred-tools>", map[string]any{"__toolsearch_reminder__": true}
		if h.next(2) == 1 {
			m.Text, m.Extra = h.text(), ours
		}
	case 9:
		m.Text = "<all_user_messages>\n    - " + newsReminder + "\n    - " + h.text() + "\n    - " + newsReminder + "\n</all_user_messages>"
	case 10:
		m = message{Role: toolsearchtest.Tool, CallID: ids[h.next(len(ids))], ToolName: names[h.next(len(names))], Text: h.text()}
		return withManyParts(toolsearchtest.Encode[M](m), historyResults[h.next(len(historyResults))].text)
	case 11:
		var none M
		return none
	}
	return toolsearchtest.Encode[M](m)
}

// withCallExtra puts a copy of extra onto every call.
func withCallExtra[M adk.MessageType](msg M, extra map[string]any) M {
	switch m := any(msg).(type) {
	case *schema.Message:
		for i := range m.ToolCalls {
			m.ToolCalls[i].Extra = extra
		}
	case *schema.AgenticMessage:
		for _, block := range m.ContentBlocks {
			block.Extra = extra
		}
	}
	return msg
}

// withManyParts adds parts to a tool's message: a text, an empty native result, and an empty part.
func withManyParts[M adk.MessageType](msg M, text string) M {
	switch m := any(msg).(type) {
	case *schema.Message:
		m.UserInputMultiContent = []schema.MessageInputPart{
			{Type: schema.ChatMessagePartTypeText, Text: m.Content}, {ToolSearchResult: &schema.ToolSearchResult{}}, {Text: text}}
	case *schema.AgenticMessage:
		result := m.ContentBlocks[0].FunctionToolResult
		result.Content = append(result.Content, nil, &schema.FunctionToolResultContentBlock{Text: &schema.UserInputText{Text: text}})
		other := schema.NewContentBlock(&schema.ToolSearchFunctionToolResult{CallID: result.CallID, Name: result.Name})
		m.ContentBlocks = append(m.ContentBlocks, nil, other, &schema.ContentBlock{})
	}
	return msg
}

func decodeOrNone[M adk.MessageType](msg M) message {
	if reflect.ValueOf(msg).IsNil() {
		return message{}
	}
	return toolsearchtest.Decode(msg)
}

func namesOf(infos []*schema.ToolInfo) []string {
	names := make([]string, len(infos))
	for i, info := range infos {
		names[i] = "nil"
		if info != nil {
			names[i] = info.Name
		}
	}
	return names
}

func describe[M adk.MessageType](state *adk.TypedChatModelAgentState[M]) string {
	var b strings.Builder
	fmt.Fprintln(&b, "tools", namesOf(state.ToolInfos), "deferred", namesOf(state.DeferredToolInfos))
	for _, msg := range state.Messages {
		fmt.Fprintf(&b, "  %+v\n", decodeOrNone(msg))
	}
	return strings.ReplaceAll(b.String(), newsReminder, "(the reminder)")
}
