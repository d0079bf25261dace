package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// What holds for each model call, whatever the conversation. Numbers refer to "What holds" in
// CONTRIBUTING.md.

// seenCall is a call of the model.
type seenCall[M adk.MessageType] struct {
	*world
	protocol  toolsearch.Protocol
	run, call int
	user      int
	input     []M
	parts     []part // of the input
	request   toolsearchtest.Request
	tools     []*schema.ToolInfo // ordinary, deferred and for search
	isInside  bool
}

// lastSeen is what the model saw in its last call.
type lastSeen struct{ loaded, reach []string }

func checkCall[M adk.MessageType](c *seenCall[M]) {
	c.calls++
	c.parts = partsOf(c.input)
	c.tools = slices.Concat(c.request.Tools, c.request.Deferred)
	if c.request.SearchTool != nil {
		c.tools = append(c.tools, c.request.SearchTool)
	}
	c.log("  run %d, call %d, within %v, sees %d messages, %d deferred tools, and %.2000q",
		c.run, c.call, c.isInside, len(c.input), len(c.request.Deferred), c.request.ToolNames())
	for _, m := range c.request.Messages[max(0, len(c.request.Messages)-4):] {
		c.log("    %s %.60q %.60q: %.240q %.500q", m.Role, m.ToolName, m.CallID, m.Text, m.Calls)
	}
	c.shown = append(c.shown, fmt.Sprintf("run %d, call %d, within %v, %d deferred", c.run, c.call, c.isInside, len(c.request.Deferred)))
	c.shown = append(c.shown, described(c.world, false, c.input, c.tools)...)
	c.checkLists()
	c.checkReminders()
	c.checkAnswers()
	if c.isInside {
		return
	}
	// Eino's patching takes an empty agentic result for a missing one, and adds another.
	if c.tidy && !c.plan.odd && !c.plan.has("trimming", "forgetting") && !(c.plan.agentic && c.plan.has("patching")) {
		c.checkPairs()
	}
	c.checkReach()
	if c.protocol == toolsearch.ProtocolToolSearch || c.protocol == toolsearch.ProtocolRegexp {
		c.checkFound()
	}
}

// described returns messages and tools as lines, of which long ones are a beginning and a hash. With isIdentity
// it says which messages and tools they are, without it the ids that Eino makes up are left out.
func described[M adk.MessageType](w *world, isIdentity bool, messages []M, lists ...[]*schema.ToolInfo) (lines []string) {
	add := func(pointer any, text string) {
		if isIdentity {
			text = fmt.Sprintf("%p ", pointer) + text
		} else {
			text = plainID(text)
		}
		if most := 4000; len(text) > most {
			text = fmt.Sprintf("%s... %x", text[:most], sha256.Sum256([]byte(text)))
		}
		lines = append(lines, text)
	}
	for _, msg := range messages {
		add(msg, asJSON(msg))
	}
	for _, list := range lists {
		lines = append(lines, "tools:")
		for _, t := range list {
			add(t, fmt.Sprintf("%q %q %v %s", t.Name, t.Desc, t.Extra, w.schemaOf(t)))
		}
	}
	return lines
}

// schemaOf returns the schema of a definition as JSON. Each model call shows the same schemas again.
func (w *world) schemaOf(info *schema.ToolInfo) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, known := w.schemas[info.ParamsOneOf]
	if !known {
		definition, err := info.ToJSONSchema()
		if text = asJSON(definition); err != nil {
			text = err.Error()
		}
		w.schemas[info.ParamsOneOf] = text
	}
	return text
}

var randomID = regexp.MustCompile(`"_eino_msg_id":"[^"]*"`)

// plainID returns a text without the ids that Eino makes up.
func plainID(text string) string { return randomID.ReplaceAllString(text, `"_eino_msg_id":""`) }

// firstDifference returns the first difference of two lists of lines, or "".
func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		at := 0
		for at < min(len(a[i]), len(b[i])) && a[i][at] == b[i][at] {
			at++
		}
		from := max(0, at-80)
		return fmt.Sprintf("line %d, byte %d: %.300q and %.300q", i, at, a[i][from:], b[i][from:])
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d lines and %d lines", len(a), len(b))
	}
	return ""
}

// checkLists checks the tool lists (invariant 3), and that none has a tool the user may not see
// (invariant 10). Texts of earlier runs in a history may name such a tool.
func (c *seenCall[M]) checkLists() {
	seen := map[string]bool{}
	for _, t := range c.tools {
		if seen[t.Name] {
			c.fault("a tool stands twice", "%.200q", t.Name)
		}
		if c.plan.forbidden[c.user][t.Name] {
			c.fault("a forbidden tool is seen", "%.200q by user %d", t.Name, c.user)
		}
		seen[t.Name] = true
	}
	wasDynamic := ""
	for _, name := range c.request.ToolNames() {
		isSecond := slices.Contains([]string{"cut_grass", "water_plants"}, name) // of the second middleware
		switch {
		case c.dynamic[name]:
			wasDynamic = name
		case wasDynamic != "" && !isSecond && !c.isInside: // the insider has no tools of its own that would come first
			c.fault("a loaded tool stands before another", "%.200q before %.200q, which is not dynamic", wasDynamic, name)
		}
	}
}

// checkReminders checks that there is at most one reminder of a middleware, from which nothing breaks
// out: invariant 5. What a system message quotes counts only where it may have the reminder.
func (c *seenCall[M]) checkReminders() {
	const opens, closes = "<available-deferred-tools", "</available-deferred-tools>"
	count := map[string]int{}
	for _, m := range c.request.Messages {
		text := strings.TrimSpace(m.Text)
		if at := strings.LastIndex(text, opens); m.Role == toolsearchtest.System && at >= 0 {
			text = text[at:]
			if c.plan.config.Reminder.Position != toolsearch.ReminderInstruction {
				continue
			}
		}
		isReminder := strings.HasPrefix(text, opens) && strings.HasSuffix(text, closes)
		if !isReminder || m.Role != toolsearchtest.System && m.Role != toolsearchtest.User {
			continue
		}
		tag, inner, _ := strings.Cut(text, "\n")
		if count[tag]++; count[tag] > 1 {
			c.fault("two reminders", "%.200q", tag)
		}
		if c.plan.config.Language == 0 && strings.ContainsAny(strings.TrimSuffix(inner, closes), "<>") {
			c.fault("a name breaks out of the reminder", "%.2000q", inner)
		}
	}
}

// leastAnswer bounds an answer without tools, with names that were not found, in bytes. It may exceed
// the smallest budget, since it has a message.
const leastAnswer = 8 << 10

// checkAnswers checks the results of search tools: their size (invariant 6), that native results come only
// under native protocols, and what tools they bring.
func (c *seenCall[M]) checkAnswers() {
	isNative := c.protocol == toolsearch.ProtocolNativeDeferred || c.protocol == toolsearch.ProtocolNativeReferences
	maxAnswer := max(4*cmp.Or(c.plan.config.Limits.MaxAnswerTokens, toolsearch.DefaultMaxAnswerTokens), leastAnswer)
	for _, p := range c.parts {
		isMeta := !p.isCall && p.name != "call_tool" && slices.Contains(metaNames, p.name)
		if isMeta && !c.plan.odd && len(p.text) > maxAnswer {
			c.fault("an answer has no bound", "%d bytes from %s", len(p.text), p.name)
		}
		if !p.native || c.isInside {
			continue
		}
		if !isNative {
			c.fault("a native result under another protocol", "%v got the result of call %q", c.protocol, p.id)
		}
		for _, t := range p.found {
			if c.plan.forbidden[c.user][t.Name] {
				c.fault("a forbidden tool is seen", "%.200q in a native result, by user %d", t.Name, c.user)
			}
			// The adapters of agentic protocols get results as they were given.
			if !c.plan.agentic && slices.Contains(c.request.ToolNames(), t.Name) {
				c.fault("a tool stands twice", "%.200q, in the tool list and in the native result of call %q", t.Name, p.id)
			}
		}
	}
}

// checkPairs checks that each call has its result and each result its call, and that the calls are the
// model's own, and not their replacements.
func (c *seenCall[M]) checkPairs() {
	open := map[string]string{}
	for _, p := range c.parts {
		name, isOpen := open[p.id]
		switch {
		case p.isCall && isOpen:
			c.fault("a call without a result", "call %q of %q comes twice", p.id, p.name)
		case p.isCall:
			open[p.id] = p.name
		case !isOpen:
			c.fault("a result without a call", "%q of %q", p.id, p.name)
		case name != p.name && name != "":
			c.fault("a result has another's name", "call %q is of %.100q, its result of %.100q", p.id, name, p.name)
			fallthrough
		default:
			delete(open, p.id)
		}
	}
	for id, name := range open {
		c.fault("a call without a result", "%q of %q", id, name)
	}
}

// checkReach checks that a tool within the model's reach stays there, in its place: invariants 2 and 3.
func (c *seenCall[M]) checkReach() {
	loaded := slices.DeleteFunc(c.request.ToolNames(), func(name string) bool { return !c.dynamic[name] })
	reach := slices.Clone(loaded)
	for _, p := range c.parts {
		for _, t := range p.found {
			isShown := c.protocol == toolsearch.ProtocolNativeReferences || slices.Contains(c.request.DeferredNames(), t.Name)
			if p.name != "" && isShown {
				reach = append(reach, t.Name)
			}
		}
	}
	before := c.last
	if c.last = (&lastSeen{loaded, reach}); before == nil {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(before.loaded), func(name string) bool { return !slices.Contains(loaded, name) })
	stayed := slices.DeleteFunc(slices.Clone(loaded), func(name string) bool { return !slices.Contains(before.loaded, name) })
	if !slices.Equal(kept, stayed) && !c.plan.reorders() {
		c.fault("loaded tools changed their order", "%.1000q became %.1000q", kept, stayed)
	}
	for _, name := range before.reach {
		if c.plan.config.Limits.MaxLoaded == 0 && !c.removes && !slices.Contains(reach, name) {
			c.fault("a tool went out of reach", "%.200q", name)
		}
	}
}

// checkFound checks that the tools a search of the run has found are loaded.
func (c *seenCall[M]) checkFound() {
	config := c.plan.config
	moves := slices.ContainsFunc(c.plan.runs, func(run runPlan) bool { return run.moves }) // the catalog may change within a run
	if config.Limits.MaxLoaded > 0 || config.DeferFrom > 0 || c.removes || c.plan.odd || moves {
		return
	}
	for _, p := range c.parts {
		var answer struct{ Matches, SelectedTools []string }
		if p.isCall || p.name != "tool_search" || !c.current[p.id] || json.Unmarshal([]byte(p.text), &answer) != nil {
			continue
		}
		for _, name := range append(answer.Matches, answer.SelectedTools...) {
			if c.dynamic[name] && !c.plan.forbidden[c.user][name] && !slices.Contains(c.last.loaded, name) {
				c.fault("what was found is not within reach", "%.200q, found by call %q", name, p.id)
			}
		}
	}
}

// watcher is the middleware under test. It checks what each hook is given and returns.
type watcher[M adk.MessageType] struct {
	adk.TypedChatModelAgentMiddleware[M]
	*world
}

type (
	state[M adk.MessageType]        = adk.TypedChatModelAgentState[M]
	modelContext[M adk.MessageType] = adk.TypedModelContext[M]
	hook[M adk.MessageType]         func(context.Context, *state[M], *modelContext[M]) (context.Context, *state[M], error)
)

func describedState[M adk.MessageType](w *world, isIdentity bool, s *state[M]) []string {
	return described(w, isIdentity, s.Messages, s.ToolInfos, s.DeferredToolInfos)
}

// call calls a hook, and checks that it does not write to the state that it is given.
func (h hook[M]) call(
	ctx context.Context, w *world, name string, given *state[M], mc *modelContext[M],
) (context.Context, *state[M], error) {
	was := describedState(w, true, given)
	next, after, err := h(ctx, given, mc)
	if changed := firstDifference(was, describedState(w, true, given)); changed != "" {
		w.fault("a hook wrote to its input", "%s: %s", name, changed)
	}
	return next, after, err
}

func (w *watcher[M]) BeforeModelRewriteState(
	ctx context.Context, given *state[M], mc *modelContext[M],
) (context.Context, *state[M], error) {
	ours := hook[M](w.TypedChatModelAgentMiddleware.BeforeModelRewriteState)
	ctx, state, err := ours.call(ctx, w.world, "BeforeModelRewriteState", given, mc)
	if err != nil {
		return ctx, state, err
	}
	if state.ToolInfos == nil {
		w.fault("a nil tool list", "BeforeModelRewriteState returned no tool list, which Eino takes for a list that was never set")
	}
	before, after := partsOf(given.Messages), partsOf(state.Messages)
	if !slices.EqualFunc(before, after, func(a, b part) bool { return a.isCall == b.isCall && a.id == b.id }) {
		w.fault("calls or results changed", "BeforeModelRewriteState was given %.1000v and returned %.1000v", before, after)
	}
	for _, p := range after { // as the model made them, in the form of a store of JSON, which is UTF-8
		valid := func(text string) string { return string([]rune(text)) }
		said, known := w.said[p.id]
		isSame := valid(said.Name) == valid(p.name) && valid(said.Arguments) == valid(p.text)
		if w.tidy && !w.plan.odd && p.isCall && known && !isSame {
			w.fault("a call is not as it was made", "%.400q became %.400q", fmt.Sprint(said), fmt.Sprint(p))
		}
	}
	if !w.plan.twice {
		return ctx, state, nil
	}
	_, second, err := ours.call(ctx, w.world, "BeforeModelRewriteState for the second time", state, mc)
	if err != nil {
		return ctx, state, err
	}
	changed := firstDifference(describedState(w.world, false, state), describedState(w.world, false, second))
	isForgotten := w.removes && w.plan.has("truncating", "clearing") // the result that tells of a removal may be gone
	if changed != "" && w.plan.config.Limits.MaxLoaded == 0 && !w.plan.guesses() && !isForgotten {
		w.fault("a second time changes the state", "%s", changed)
	}
	return ctx, state, nil
}

func (w *watcher[M]) AfterModelRewriteState(
	ctx context.Context, given *state[M], mc *modelContext[M],
) (context.Context, *state[M], error) {
	ours := hook[M](w.TypedChatModelAgentMiddleware.AfterModelRewriteState)
	return ours.call(ctx, w.world, "AfterModelRewriteState", given, mc)
}

func (w *watcher[M]) WrapModel(ctx context.Context, inner model.BaseModel[M], mc *modelContext[M]) (model.BaseModel[M], error) {
	ours, err := w.TypedChatModelAgentMiddleware.WrapModel(ctx, &watchedModel[M]{inner, w.world}, mc)
	return &watchedModel[M]{ours, w.world}, err
}

// watchedModel checks that nothing behind it writes to the input of a model.
type watchedModel[M adk.MessageType] struct {
	inner model.BaseModel[M]
	world *world
}

func (m *watchedModel[M]) Generate(ctx context.Context, input []M, opts ...model.Option) (M, error) {
	defer m.compare(input, opts)()
	return m.inner.Generate(ctx, input, opts...)
}

func (m *watchedModel[M]) Stream(ctx context.Context, input []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	defer m.compare(input, opts)()
	return m.inner.Stream(ctx, input, opts...)
}

func (m *watchedModel[M]) compare(input []M, opts []model.Option) func() {
	options := model.GetCommonOptions(nil, opts...)
	now := func() []string { return described(m.world, true, input, options.Tools, options.DeferredTools) }
	was := now()
	return func() {
		if changed := firstDifference(was, now()); changed != "" {
			m.world.fault("the model's input was written to", "%s", changed)
		}
	}
}
