package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// What holds for each model call, whatever the conversation. Numbers refer to "What holds" in
// CONTRIBUTING.md.

// maxAnswer bounds the text of a search tool's answer, in bytes. The smallest answer may exceed
// the smallest budget, since it has a message.
func (p *plan) maxAnswer() int {
	return max(4*cmp.Or(p.config.Limits.MaxAnswerTokens, toolsearch.DefaultMaxAnswerTokens), leastAnswer)
}

// leastAnswer bounds an answer without tools, with names that were not found, in bytes.
const leastAnswer = 8 << 10

// seenCall is a call of the model.
type seenCall[M adk.MessageType] struct {
	plan      *plan
	protocol  toolsearch.Protocol
	run, call int
	user      int
	input     []M
	request   toolsearchtest.Request
	isInside  bool
}

func checkCall[M adk.MessageType](rec *recorder, c *seenCall[M]) {
	rec.saw(c.call, c.request, c.isInside)
	writeBytes(rec, c)
	c.checkLists(rec)
	c.checkReminders(rec)
	c.checkForbidden(rec)
	c.checkAnswers(rec)
	if c.isInside {
		return
	}
	if rec.tidy && !c.plan.odd && !c.plan.rewrites() {
		c.checkPairs(rec)
	}
	c.checkReach(rec)
}

// writeBytes records all that the model was given: invariant 8. Of long texts it records a hash.
func writeBytes[M adk.MessageType](rec *recorder, c *seenCall[M]) {
	name := fmt.Sprintf("run %d, call %d, ", c.run, c.call)
	if c.isInside {
		name = fmt.Sprintf("within, call %d, ", c.call)
	}
	for i, msg := range c.input {
		rec.bytes(fmt.Sprintf("%smessage %d", name, i), short(plainID(written(msg))))
	}
	for i, list := range [][]*schema.ToolInfo{c.request.Tools, c.request.Deferred, {c.request.SearchTool}} {
		for j, t := range list {
			if t == nil {
				continue
			}
			what := []string{"tool", "deferred tool", "search tool"}[i]
			rec.bytes(fmt.Sprintf("%s%s %d", name, what, j), short(fmt.Sprintf("%q %q %v %s", t.Name, t.Desc, t.Extra, rec.schemaOf(t))))
		}
	}
}

// short returns a text, or the beginning and the hash of a long text.
func short(text string) string {
	const most = 4000
	if len(text) <= most {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return text[:most] + "... " + hex.EncodeToString(sum[:])
}

// checkLists checks the tool lists: invariant 3.
func (c *seenCall[M]) checkLists(rec *recorder) {
	seen := map[string]bool{}
	for _, t := range append(slices.Concat(c.request.Tools, c.request.Deferred), c.request.SearchTool) {
		if t == nil {
			continue
		}
		if seen[t.Name] {
			rec.fault("a tool stands twice", "%.200q", t.Name)
		}
		seen[t.Name] = true
	}
	dynamic, wasDynamic := rec.dynamic, ""
	for _, name := range c.request.ToolNames() {
		switch {
		case dynamic[name]:
			wasDynamic = name
		case wasDynamic != "" && !slices.Contains(secondNames, name) && !c.isInside: // the insider has no tools of its own that would come first
			rec.fault("a loaded tool stands before another", "%.200q before %.200q, which is not dynamic", wasDynamic, name)
		}
	}
}

// secondNames are the tools of the second middleware's catalog.
var secondNames = []string{"cut_grass", "water_plants"}

// checkReminders checks that there is at most one reminder, from which nothing breaks out:
// invariant 5.
func (c *seenCall[M]) checkReminders(rec *recorder) {
	count := map[string]int{}
	for _, m := range c.request.Messages {
		block, found := reminderIn(m)
		if !found {
			continue
		}
		tag, inner, _ := strings.Cut(block, "\n")
		if count[tag]++; count[tag] > 1 {
			rec.fault(twoReminders, "%.200q", tag)
		}
		if c.plan.config.Language == 0 && strings.ContainsAny(strings.TrimSuffix(inner, "</available-deferred-tools>"), "<>") {
			rec.fault("a name breaks out of the reminder", "%.2000q", inner)
		}
	}
}

// reminderIn returns the reminder in a message of a user or of the system.
func reminderIn(m toolsearchtest.Message) (block string, found bool) {
	text := m.Text
	if m.Role == toolsearchtest.System {
		at := strings.LastIndex(text, "<available-deferred-tools")
		if at < 0 {
			return "", false
		}
		text = text[at:]
	} else if m.Role != toolsearchtest.User {
		return "", false
	}
	text = strings.TrimSpace(text)
	return text, strings.HasPrefix(text, "<available-deferred-tools") && strings.HasSuffix(text, "</available-deferred-tools>")
}

// checkForbidden checks that no list has a tool the user may not see: invariant 10. Texts
// of earlier runs in a history may name such a tool.
func (c *seenCall[M]) checkForbidden(rec *recorder) {
	forbidden := c.plan.forbidden[c.user]
	for _, t := range append(slices.Concat(c.request.Tools, c.request.Deferred), c.request.SearchTool) {
		if t != nil && forbidden[t.Name] {
			rec.fault("a forbidden tool is seen", "%.200q by user %d", t.Name, c.user)
		}
	}
	for _, p := range partsOf(c.input) {
		for _, t := range p.found {
			if t != nil && forbidden[t.Name] && !c.isInside {
				rec.fault(p.strayOr("a forbidden tool is seen"), "%.200q in a native result, by user %d", t.Name, c.user)
			}
		}
	}
}

// checkAnswers checks the results of search tools: their size (invariant 6), and that native
// results come only under native protocols.
func (c *seenCall[M]) checkAnswers(rec *recorder) {
	isNative := c.protocol >= toolsearch.ProtocolNativeDeferred
	ordinary := map[string]bool{}
	for _, name := range c.request.ToolNames() {
		ordinary[name] = true
	}
	for _, p := range partsOf(c.input) {
		if !p.isCall && !c.plan.odd && p.name != "call_tool" && slices.Contains(metaNames, p.name) && len(p.text) > c.plan.maxAnswer() {
			rec.fault("an answer has no bound", "%d bytes from %s", len(p.text), p.name)
		}
		if !p.native || c.isInside {
			continue
		}
		if !isNative || c.protocol == toolsearch.ProtocolNativeServer {
			rec.fault(p.strayOr("a native result under another protocol"), "%v got the result of call %q", c.protocol, p.id)
		}
		if c.plan.agentic {
			continue // the adapters of these protocols get results as they were given
		}
		for _, t := range p.found {
			if t != nil && ordinary[t.Name] {
				rec.fault(p.strayOr("a tool stands twice"), "%.200q, in the tool list and in the native result of call %q", t.Name, p.id)
			}
		}
	}
}

// strayOr returns the kind of a native result's fault.
func (p part) strayOr(kind string) string {
	if p.native && p.name == "" {
		return strayNative
	}
	return kind
}

// removed reports whether a part is an answer of remove_tool, or may be one if its name was lost.
func (p part) removed() bool {
	return !p.isCall && (p.name == "remove_tool" || p.name == "") && strings.HasPrefix(p.text, `{"removed":["`)
}

// checkPairs checks that each call has its result and each result its call.
func (c *seenCall[M]) checkPairs(rec *recorder) {
	open := map[string]string{}
	for _, p := range partsOf(c.input) {
		name, isOpen := open[p.id]
		switch {
		case p.isCall && isOpen:
			rec.fault("a call without a result", "call %q of %q comes twice", p.id, p.name)
		case p.isCall:
			open[p.id] = p.name
		case !isOpen:
			rec.fault("a result without a call", "%q of %q", p.id, p.name)
		default:
			kind := "a result has another's name, and a text"
			if p.text == "" || c.plan.has("clearing") { // the clearing gives it a text
				kind = misnamed
			}
			if name != p.name && name != "" {
				rec.fault(kind, "call %q is of %.100q, its result of %.100q", p.id, name, p.name)
			}
			delete(open, p.id)
		}
	}
	for id, name := range open {
		rec.fault("a call without a result", "%q of %q", id, name)
	}
}

// checkReach checks that a tool within the model's reach stays there, in its place, and that
// the tools a search has found are within reach: invariants 2 and 3.
func (c *seenCall[M]) checkReach(rec *recorder) {
	var loaded, reach []string
	for _, name := range c.request.ToolNames() {
		if rec.dynamic[name] {
			loaded = append(loaded, name)
		}
	}
	reach = slices.Clone(loaded)
	deferred := c.request.DeferredNames()
	parts := partsOf(c.input)
	for _, p := range parts {
		for _, t := range p.found {
			if t != nil && p.name != "" && (slices.Contains(deferred, t.Name) || c.protocol == toolsearch.ProtocolNativeReferences) {
				reach = append(reach, t.Name)
			}
		}
	}
	before := rec.last
	rec.last = lastSeen{run: c.run, user: c.user, loaded: loaded, reach: reach, isKnown: true}
	if before.isKnown && before.run == c.run && before.user == c.user && !rec.resumed {
		kept := slices.DeleteFunc(slices.Clone(before.loaded), func(name string) bool { return !slices.Contains(loaded, name) })
		stayed := slices.DeleteFunc(slices.Clone(loaded), func(name string) bool { return !slices.Contains(before.loaded, name) })
		if !slices.Equal(kept, stayed) {
			rec.fault(changesOrder, "%.1000q became %.1000q", kept, stayed)
		}
		kind := outOfReach
		if slices.ContainsFunc(parts, part.removed) {
			kind = unloadedAgain
		}
		for _, name := range before.reach {
			if c.plan.config.Limits.MaxLoaded == 0 && !rec.removes && !slices.Contains(reach, name) {
				rec.fault(kind, "%.200q", name)
			}
		}
	}
	rec.resumed = false
	loads := c.protocol == toolsearch.ProtocolToolSearch || c.protocol == toolsearch.ProtocolRegexp
	if !loads || c.plan.config.Limits.MaxLoaded > 0 || rec.removes || c.plan.config.DeferFrom > 0 {
		return
	}
	for _, p := range parts {
		if p.isCall || p.name != "tool_search" || !rec.made[p.id] || c.plan.odd {
			continue
		}
		var answer struct{ Matches, SelectedTools []string }
		if json.Unmarshal([]byte(p.text), &answer) != nil {
			continue
		}
		for _, name := range append(answer.Matches, answer.SelectedTools...) {
			if rec.dynamic[name] && !c.plan.forbidden[c.user][name] && rec.made[p.id] && !slices.Contains(reach, name) && !c.plan.moves() {
				rec.fault("what was found is not within reach", "%.200q, found by call %q", name, p.id)
			}
		}
	}
}

// rewrites reports whether another middleware takes messages away.
func (p *plan) rewrites() bool {
	// Eino's patching takes an empty agentic result for a missing one, and adds another.
	return p.has("trimming", "forgetting") || p.agentic && p.has("patching")
}

// moves reports whether the catalog may change within a run.
func (p *plan) moves() bool {
	return slices.ContainsFunc(p.runs, func(run runPlan) bool { return run.moves })
}

// compareBytes returns the first difference between two plays, or "".
func compareBytes(a, b *recorder) string {
	for i := range max(len(a.parts), len(b.parts)) {
		if i >= len(a.parts) || i >= len(b.parts) {
			return fmt.Sprintf("one has %d parts, the other %d", len(a.parts), len(b.parts))
		}
		if a.parts[i] != b.parts[i] {
			return fmt.Sprintf("%s and %s: %s", a.parts[i].name, b.parts[i].name, difference(a.parts[i].text, b.parts[i].text))
		}
	}
	return ""
}

// difference shows the first difference of two texts.
func difference(a, b string) string {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	from := max(0, at-80)
	until := func(text string) string { return text[from:min(len(text), at+200)] }
	return fmt.Sprintf("at byte %d: %q and %q", at, until(a), until(b))
}
