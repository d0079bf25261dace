package toolsearch

import (
	"cmp"
	"iter"
	"slices"
)

// A history in rounds. A round is a message that calls tools and the results that follow it, up to the next such
// message.
//
// Which call does a result answer? This file has the only rule. A result answers the call of its id in its round. Calls
// of a round that share an id, or have none, are answered in their order. But if one of these results finds no call
// left, or has a name that its call cannot have, no result of that id counts as an answer. A result without a name that
// answers no call of its round gets the name of the nearest earlier call of its id, since stores may reorder results.

// round is the calls of one view and the results that follow them.
type round struct {
	callAt   int // index of the view that calls; the first round is the results before any call
	calls    []callView
	from, to int // indices of its answers in the transcript
}

// answer is a tool result.
type answer struct {
	view, result int       // of its first part
	callAt       int       // index of the view of its call
	call         *callView // nil without a call
	called       string    // the name the model called; "" if unknown
}

// maxRoundsBack is how many rounds a result may come after its call.
const maxRoundsBack = 8

func (t *transcript) pair(names *metaNames) {
	var r round
	for i := range t.views {
		v := &t.views[i]
		if len(v.calls) > 0 {
			t.finish(r, names)
			r = round{callAt: i, calls: v.calls, from: len(t.answers)}
		}
		for j := range v.results {
			if v.results[j].part == 0 {
				t.answers = append(t.answers, answer{view: i, result: j})
			}
		}
	}
	t.finish(r, names)
}

// finish ends a round and finds the call of each of its answers.
func (t *transcript) finish(r round, names *metaNames) {
	r.to = len(t.answers)
	t.rounds = append(t.rounds, r)
	answers := t.answers[r.from:r.to]
	refused := make(map[string]bool) // ids with a result that cannot answer its call
	for i := range answers {
		a := &answers[i]
		result := t.result(a)
		call, byOrder := nextCall(r.calls, result.callID)
		if call != nil {
			call.answered = true
			a.call, a.callAt = call, r.callAt
		}
		if byOrder && call != nil {
			wanted := names.wantedBy(call)
			byOrder = result.name != "" && result.name != wanted && !names.answers(result.name) && !names.dispatches(wanted)
		}
		refused[result.callID] = refused[result.callID] || byOrder
	}
	for i := range answers {
		a := &answers[i]
		result := t.result(a)
		if refused[result.callID] {
			a.call = nil
		}
		if a.call != nil {
			a.called = names.wantedBy(a.call)
		} else if result.name == "" { // the tool called with the id in the latest rounds
			isCall := func(c callView) bool { return c.id == result.callID }
			for _, earlier := range t.rounds[max(0, len(t.rounds)-maxRoundsBack):] {
				if i := slices.IndexFunc(earlier.calls, isCall); i >= 0 {
					a.called = names.wantedBy(&earlier.calls[i])
				}
			}
		}
	}
}

// nextCall returns the call that the next result of an id answers, and whether only the order decides. If a single call
// has the id, all results of the id answer that call.
func nextCall(calls []callView, id string) (call *callView, byOrder bool) {
	var last *callView
	same := 0
	for i := range calls {
		if c := &calls[i]; c.id == id {
			same, last = same+1, c
			if call == nil && !c.answered {
				call = c
			}
		}
	}
	if same == 1 && id != "" {
		return last, false
	}
	return call, same > 0
}

func (t *transcript) result(a *answer) *resultView { return &t.views[a.view].results[a.result] }

// loading returns the parts of an answer that may load tools, if it is the result of a loader.
func (t *transcript) loading(a *answer, names *metaNames) iter.Seq[*resultView] {
	return func(yield func(*resultView) bool) {
		results := t.views[a.view].results
		for j := a.result; j < len(results) && (j == a.result || results[j].part > 0); j++ {
			result := &results[j]
			name := cmp.Or(result.name, a.called)
			if (names.isLoader(name) || result.native && names.isLoaderName(name)) && !yield(result) {
				return
			}
		}
	}
}

// wantedBy returns the name that the model called: of a stand-in, that of the call that it replaced.
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

// replace replaces a result. A call marked as a native search loses its mark when its result is no longer native.
func (t *transcript) replace(a *answer, result resultView) {
	result.replaced = true
	*t.result(a), t.views[a.view].edited = result, true
	if a.call != nil && a.call.nativeSearch && !result.native {
		a.call.dropMark, t.views[a.callAt].edited = true, true
	}
}
