// Package anchor moves definitions of tools from the tool list of a model's request into its conversation.
// A plan in the context of the request says where they belong, and a transport of the HTTP client moves
// them there and reports what it sent.
package anchor

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// A Plan is where the definitions of one model call belong.
type Plan struct {
	Search string // the search tool: a request whose list does not have it is another conversation
	Tools  []Tool
	Excess []string     // tools that the list loses if nothing moves, but for those that the request demands
	Now    At           // the end of the conversation
	Ends   []End        // of the requests that this one goes on from
	Drops  bool         // an earlier request asked to leave out thinking that the conversation has
	Report func(Report) // is called for every request of the conversation that the transport could read
}

// A Tool is a loaded tool, or one that was.
type Tool struct {
	Name    string
	Steps   []Step // of the requests before this one
	Begun   int    // how many of the steps are of requests before this run
	First   At     // where its definition goes if it has no steps
	Gone    bool   // it is not in the list; its definition is taken back if there is room
	HasRoom bool   // another step would be kept
}

// A Step is one definition of a tool, as its wire writes it, or one removal, at one place of the conversation.
type Step struct {
	At   At     `json:"at"`
	Wire string `json:"wire"` // steps of other wires are ignored
	JSON string `json:"json"` // the definition; "" removes the tool
}

// An End is where an earlier request ended on a wire, and which tools the conversation defined there.
type End struct {
	At    At
	Wire  string
	Tools []string
}

// At is a place in a conversation: behind the results of the round that has the result of a call, or behind one of
// the user's messages. The zero value is no place.
type At struct {
	Call string `json:"call,omitempty"` // the ID of the call
	Nth  int    `json:"nth,omitempty"`  // which of the results with that ID, from 0
	User int    `json:"user,omitempty"` // which message of the user's, from 1
	Item int    `json:"item,omitempty"` // which of their items, of which a message has one or more in Responses
	Text string `json:"text,omitempty"` // identifies the message; for a place behind results, the transport leaves both alone
}

// A Report is what a request had.
type Report struct {
	Steps   map[string][]Step // by tool, those of the request's wire; a tool without steps was in the list
	Wire    string            // of the request; "" if its list was left alone
	Err     error             // why tools stayed in the list
	Dropped bool              // the provider was asked, for the first time, to leave out earlier thinking
}

type planKey struct{}

// With returns a context whose requests follow a plan.
func With(ctx context.Context, plan *Plan) context.Context {
	if other, ok := ctx.Value(planKey{}).(*Plan); ok && other.Search != plan.Search { // of another middleware
		both := &Plan{Search: plan.Search, Tools: slices.Concat(other.Tools, plan.Tools), Now: plan.Now}
		both.Excess, both.Ends = slices.Concat(other.Excess, plan.Excess), slices.Concat(other.Ends, plan.Ends)
		both.Drops = other.Drops || plan.Drops
		both.Report = func(r Report) { other.Report(r); plan.Report(r) }
		return context.WithValue(ctx, planKey{}, both)
	}
	return context.WithValue(ctx, planKey{}, plan)
}

// insertion is what one place of a request gets.
type insertion struct {
	Step
	name string
}

// apply moves definitions from the list of a request to their places, and reports the steps of the new body. The text is
// nil if nothing moves. The report's error says that a tool stays in the list, since the request does not have its place.
func (p *Plan) apply(w *wire, b *body) (text []byte, report Report) {
	report.Steps, report.Wire = make(map[string][]Step), w.name
	added, marks := make(map[int][]insertion), make(map[int][]byte) // by the element that they go before
	places := w.placesOf(b.elements)
	for i := range p.Tools {
		t := &p.Tools[i]
		raw, isListed := b.tools[t.Name]
		if isListed == t.Gone || report.Steps[t.Name] != nil {
			continue
		}
		definition, mark := w.unmarked(raw) // empty if it is not listed
		steps := p.steps(w, t, definition, places)
		for at, step := range steps {
			index, _ := places.index(step.At)
			added[index] = append(added[index], insertion{step, t.Name})
			if at == len(steps)-1 && mark != nil {
				marks[index] = mark
			}
		}
		if len(steps) > 0 {
			report.Steps[t.Name] = steps
		} else if isListed {
			report.Err = errors.New("the request does not have the message that one belongs behind")
		}
	}
	for _, place := range added { // in an order that does not depend on which agent of a session was the first
		slices.SortStableFunc(place, func(a, b insertion) int { return strings.Compare(a.name, b.name) })
	}
	if len(added) > 0 {
		text = b.write(w, func(tool string) bool { return report.Steps[tool] != nil }, added, marks)
	}
	return text, report
}

// wasSent reports whether the place of a tool was in an earlier request on the wire, which did not define the tool.
func (p *Plan) wasSent(w *wire, t *Tool, places *places) bool {
	index, _ := places.index(t.First)
	return slices.ContainsFunc(p.Ends, func(end End) bool {
		last, ok := places.index(end.At)
		return ok && end.Wire == w.name && index <= last && !slices.Contains(end.Tools, t.Name)
	})
}

// steps returns the definitions and removals of a tool in a request; without any, the tool stays in the list. definition
// is that of the list. Of the places of one definition, the last counts. On a wire without changes, a tool has one definition.
func (p *Plan) steps(w *wire, t *Tool, definition string, places *places) (steps []Step) {
	add := func(next Step) {
		at, ok := places.index(next.At)
		if !ok || next.Wire != w.name || next.JSON != "" && w.nameOf([]byte(next.JSON)) != t.Name {
			return
		}
		for n := len(steps) - 1; n >= 0; n-- {
			if before, _ := places.index(steps[n].At); w.changes && steps[n].JSON != next.JSON && before <= at {
				break
			}
			steps = steps[:n]
		}
		if len(steps) > 0 || next.JSON != "" {
			steps = append(steps, next)
		}
	}
	for _, step := range t.Steps {
		add(step)
	}
	last, isFirst := len(steps)-1, w.definitions(t.Steps) <= max(1, w.definitions(t.Steps[:t.Begun])) // change in this run
	switch {
	case last < 0 && !t.Gone && t.HasRoom && p.wasSent(w, t, places):
		add(Step{p.Now, w.name, definition})
	case last < 0 && !t.Gone:
		add(Step{t.First, w.name, definition})
	case last < 0 || steps[last].JSON == definition || !w.changes: // as it was, or taken back already
	case t.HasRoom && (t.Gone || steps[last].JSON == "" || isFirst):
		add(Step{p.Now, w.name, definition})
	}
	if last := len(steps) - 1; last >= 0 && steps[last].JSON == "" && !t.Gone { // it could not come again
		return nil
	}
	return steps
}
