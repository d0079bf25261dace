package toolsearch

import (
	"strings"
	"sync"
)

// A history in rounds. A round is a message that calls tools and the results that follow it,
// up to the next message that calls tools.
//
// Which call does a result answer? This file has the only rule. A result answers the call of
// its id in its round. Calls of a round that share an id, or have none, are answered in their
// order. But if one of these results finds no call left, or has a name that does not fit its
// call, no result of that id counts as an answer. A result without a name that answers no call
// of its round gets the name of the nearest earlier call of its id, since stores may reorder
// results.

// round is the calls of one view and the results that follow them.
type round struct {
	caller   int // the view that calls; -1 for results before any call
	from, to int // indices of its answers in the transcript
}

// answer is a tool result.
type answer struct {
	view, result int       // of its first part
	caller       int       // the view of its call; -1 if it has no call
	call         *callView // nil if it has no call
	called       string    // the name the model called; "" if unknown
}

// maxRoundsBack is how many rounds a result may come after its call.
const maxRoundsBack = 8

// pair adds view i to the rounds of the transcript, after the views before it. A stand-in made by a
// middleware of these names counts as the call that it replaced. The caller calls finish after the
// last view.
func (t *transcript) pair(i int, names *metaNames) {
	v := &t.views[i]
	if len(v.calls) > 0 {
		t.finish(names)
		t.current = round{caller: i, from: len(t.answers)}
	}
	for j := range v.results {
		t.native = t.native || v.results[j].native
		if v.results[j].part == 0 {
			t.answers = append(t.answers, answer{view: i, result: j, caller: -1})
		}
	}
}

// finish ends the current round and finds the call of each of its answers.
func (t *transcript) finish(names *metaNames) {
	r := t.current
	r.to = len(t.answers)
	if r.caller < 0 && r.from == r.to {
		return
	}
	t.rounds = append(t.rounds, r)
	var calls []callView
	if r.caller >= 0 {
		calls = t.views[r.caller].calls
		for i := range calls {
			t.misnamed = t.misnamed || calls[i].standIn
		}
	}
	answers := t.answers[r.from:r.to]
	var refused map[string]bool // ids with a result that does not fit its call
	for i := range answers {
		a := &answers[i]
		result := t.result(a)
		call, shared := nextCall(calls, result.callID)
		if call != nil {
			call.answered = true
			a.call, a.caller = call, r.caller
		}
		if shared && (call == nil || !names.mayAnswer(result.name, call)) {
			if refused == nil {
				refused = make(map[string]bool)
			}
			refused[result.callID] = true
		}
	}
	for i := range answers {
		a := &answers[i]
		result := t.result(a)
		if refused[result.callID] {
			a.call, a.caller = nil, -1
		}
		switch {
		case a.call != nil:
			a.called = names.wantedBy(a.call)
			t.misnamed = t.misnamed || a.called != result.name
		case result.name == "":
			a.called = t.calledBefore(result.callID, names)
		}
	}
}

// nextCall returns the call that the next result of an id answers, and whether only the order
// decides. If a single call has the id, all results of the id answer that call.
func nextCall(calls []callView, id string) (call *callView, byOrder bool) {
	var first, open *callView
	same := 0
	for i := range calls {
		c := &calls[i]
		if c.id != id {
			continue
		}
		same++
		if first == nil {
			first = c
		}
		if open == nil && !c.answered {
			open = c
		}
	}
	if same == 1 && id != "" {
		return first, false
	}
	return open, same > 0
}

// result returns the first part of an answer.
func (t *transcript) result(a *answer) *resultView { return &t.views[a.view].results[a.result] }

// calledBefore returns the name of the tool called with an id in the latest rounds, or "".
func (t *transcript) calledBefore(id string, names *metaNames) string {
	for i := len(t.rounds) - 1; i >= max(0, len(t.rounds)-maxRoundsBack); i-- {
		if t.rounds[i].caller < 0 {
			continue
		}
		for j := range t.views[t.rounds[i].caller].calls {
			if call := &t.views[t.rounds[i].caller].calls[j]; call.id == id {
				return names.wantedBy(call)
			}
		}
	}
	return ""
}

// wantedBy returns the name the model called. For a stand-in made by a middleware of these names
// that is the name of the call that it replaced.
func (n *metaNames) wantedBy(c *callView) string {
	if n.stoodIn(c) {
		return c.wanted
	}
	return c.name
}

// stoodIn reports whether the call is a stand-in made by a middleware of these names.
func (n *metaNames) stoodIn(c *callView) bool {
	return c.standIn && (c.name == n.search || n.call != "" && c.wanted == n.call)
}

// mayAnswer reports whether a result of that name may answer the call.
func (n *metaNames) mayAnswer(name string, c *callView) bool {
	wanted := n.wantedBy(c)
	return name == "" || name == wanted || n.answers(name) || n.dispatches(wanted)
}

// convertedResult is a result of a loader in the form that the model reads.
type convertedResult struct {
	answer *answer
	result resultView
}

// convert asks for the form of every result of a loader. The results themselves change with
// takeConverted.
func (t *transcript) convert(
	isLoader func(name string) bool, form func(result resultView, call *callView) (converted resultView, changed bool),
) {
	for i := range t.answers {
		a := &t.answers[i]
		result := t.result(a)
		name := result.name
		if name == "" && a.call != nil { // without a call, called is only a guess
			name = a.called
		}
		if !isLoader(name) && (result.name != "" || !result.native) {
			continue
		}
		if converted, changed := form(*result, a.call); changed {
			t.converted = append(t.converted, convertedResult{a, converted})
		}
	}
}

// takeConverted puts the converted results into the history. A call marked as a native search loses its
// mark when its result is no longer native.
func (t *transcript) takeConverted() {
	for _, f := range t.converted {
		f.result.replaced = true
		*t.result(f.answer) = f.result
		t.views[f.answer.view].edited = true
		if call := f.answer.call; isMarkedSearch(call) && !f.result.native {
			call.dropMark = true
			t.views[f.answer.caller].edited = true
		}
	}
}

// isMarkedSearch reports whether the adapter marked the call as a native search.
func isMarkedSearch(call *callView) bool { return call != nil && call.nativeSearch }

// effect is the documents that the result of a meta-tool loads and unloads.
type effect struct{ loads, unloads []int }

// reader reads the results of meta-tools and remembers their effects: every model call of a
// conversation, in every run, reads the same results again.
type reader struct {
	catalog    *Catalog
	countCalls bool // a call to a hidden tool loads it

	mu      sync.RWMutex
	effects map[string]effect // text of a result -> its effect
}

// Bounds on a reader's memory. A full reader forgets everything.
const (
	maxMemoTexts = 4096
	maxMemoBytes = 2 << 10 // a longer text is not remembered
)

// effectOf returns the effect of a meta-tool's result.
func (r *reader) effectOf(text string) effect {
	r.mu.RLock()
	e, known := r.effects[text]
	r.mu.RUnlock()
	if known {
		return e
	}
	readResult(text, func(name string, unloads bool) {
		doc, ok := r.catalog.byName[name]
		switch {
		case !ok:
		case unloads:
			e.unloads = append(e.unloads, doc)
		default:
			e.loads = append(e.loads, doc)
		}
	})
	if len(text) > maxMemoBytes {
		return e
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.effects == nil || len(r.effects) >= maxMemoTexts {
		r.effects = make(map[string]effect)
	}
	r.effects[strings.Clone(text)] = e
	return e
}
