package toolsearch

import (
	"strings"
	"sync"
)

// A history in rounds. A round is a message that calls tools and the results that follow it,
// up to the next message that does.
//
// Which call does a result answer? One rule, here and nowhere else: the call of its id in its
// round. Where several calls of a round share an id, or have none, they are answered in
// their order, unless the name of one of these results fits no such call: then no result of
// that id is taken for an answer. A result without a name that answers no call of its round
// is named after the nearest call of its id in one of the rounds before, since stores may
// reorder results.

// round is the calls of one view and what follows them.
type round struct {
	caller   int // the view that calls; -1 for results before any call
	from, to int // its answers
}

// answer is a tool result.
type answer struct {
	view, result int       // of its first part
	caller       int       // the view of its call; -1 if there is none
	call         *callView // nil if there is none
	called       string    // the name the model called; "" if that is unknown
}

// maxRoundsBack is how many rounds a result may stand behind its call.
const maxRoundsBack = 8

// pair fills in the rounds and the answers of the transcript. A stand-in of these names
// counts as the call it stands in for.
func (t *transcript) pair(names *metaNames) {
	t.rounds, t.answers, t.misnamed = t.rounds[:0], t.answers[:0], false
	current := round{caller: -1}
	for i := range t.views {
		v := &t.views[i]
		if len(v.calls) > 0 {
			t.finish(current, names)
			current = round{caller: i, from: len(t.answers)}
		}
		for j := range v.results {
			if v.results[j].part == 0 {
				t.answers = append(t.answers, answer{view: i, result: j, caller: -1})
			}
		}
	}
	t.finish(current, names)
}

// finish ends a round: it finds the call of each of its answers.
func (t *transcript) finish(r round, names *metaNames) {
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
	var refused map[string]bool // ids whose results fit no calls
	for i := range answers {
		a := &answers[i]
		result := t.result(a)
		call, shared := nextCall(calls, result.callID)
		if call != nil {
			call.answered = true
			a.call, a.caller = call, r.caller
		}
		if shared && (call == nil || !names.fits(result.name, call)) {
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
			a.called = names.asked(a.call)
			t.misnamed = t.misnamed || a.called != result.name
		case result.name == "":
			a.called = t.calledBefore(result.callID, names)
		}
	}
}

// nextCall returns the call that the next result of an id answers, and whether order alone
// tells so. All results of an id that one call has answer that call.
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

// calledBefore returns the name of the tool that was called with an id in the latest rounds.
func (t *transcript) calledBefore(id string, names *metaNames) string {
	for i := len(t.rounds) - 1; i >= max(0, len(t.rounds)-maxRoundsBack); i-- {
		if t.rounds[i].caller < 0 {
			continue
		}
		for j := range t.views[t.rounds[i].caller].calls {
			if call := &t.views[t.rounds[i].caller].calls[j]; call.id == id {
				return names.asked(call)
			}
		}
	}
	return ""
}

// asked is the name the model called: a stand-in of these names is known by the call it
// stands in for.
func (n *metaNames) asked(c *callView) string {
	if n.stoodIn(c) {
		return c.wanted
	}
	return c.name
}

// stoodIn reports whether the call is a stand-in that a middleware of these names made.
func (n *metaNames) stoodIn(c *callView) bool {
	return c.standIn && (c.name == n.search || n.call != "" && c.wanted == n.call)
}

// fits reports whether a result of that name may answer the call.
func (n *metaNames) fits(name string, c *callView) bool {
	asked := n.asked(c)
	return name == "" || name == asked || n.answers(name) || n.dispatches(asked)
}

// effect is what the result of a meta-tool does to the loaded tools, as documents.
type effect struct{ loads, unloads []int }

// reader reads the results of meta-tools. It remembers what they do: the same results are
// read again before every model call of a conversation, by runs that share nothing else.
type reader struct {
	catalog    *Catalog
	countCalls bool // a call to a hidden tool loads it

	mu      sync.RWMutex
	effects map[string]effect // by the text of the result
}

// Bounds on what a reader remembers. It forgets all when it is full.
const (
	maxMemoTexts = 4096
	maxMemoBytes = 2 << 10 // a longer text is not remembered
)

// effectOf returns what the result of a meta-tool does.
func (r *reader) effectOf(text string) effect {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.effectOfLocked(text)
}

// effectOfLocked is effectOf for whoever holds the lock for reading: a replay takes it once
// for hundreds of results. It is let go of while a new text is read.
func (r *reader) effectOfLocked(text string) effect {
	e, known := r.effects[text]
	if known {
		return e
	}
	r.mu.RUnlock()
	defer r.mu.RLock()
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
