package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// The record of a play: faults, a transcript to read, and every byte that the model was given.

// fault is something that must not happen.
type fault struct{ kind, detail string }

// bytePart is one thing that the model was given.
type bytePart struct{ name, text string }

// lastSeen is what the model saw in its last call.
type lastSeen struct {
	run, user     int
	loaded, reach []string
	isKnown       bool
}

// recorder keeps the notes. Tools of a round run at the same time.
type recorder struct {
	plan    *plan
	dynamic map[string]bool // names of all dynamic tools

	mu         sync.Mutex
	faults     []fault
	known      []fault
	transcript []string
	parts      []bytePart

	// Only the model's goroutine uses the fields below. Tidy means that the history so far is as
	// agents left it, without damage. The answers of an UnknownToolsHandler are not in events, and
	// so not in a history.
	tidy     bool
	removes  bool                           // a call may have unloaded tools
	resumed  bool                           // no model call since the run was resumed
	last     lastSeen                       // of the previous model call
	made     map[string]bool                // ids of the calls of the run
	calls    map[string]toolsearchtest.Call // by id, of the whole conversation
	protocol toolsearch.Protocol
	schemas  map[*schema.ParamsOneOf]string // as JSON: each model call shows the same schemas again
}

func newRecorder(p *plan) *recorder {
	rec := &recorder{plan: p, dynamic: map[string]bool{}, tidy: len(p.past) == 0 && p.config.Unknown == 0, calls: map[string]toolsearchtest.Call{}, schemas: map[*schema.ParamsOneOf]string{}}
	for _, name := range p.names() {
		rec.dynamic[name] = true
	}
	return rec
}

func (rec *recorder) fault(kind, format string, values ...any) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	f := fault{kind, fmt.Sprintf(format, values...)}
	if what := known(rec.plan, kind); what != "" {
		rec.known = append(rec.known, f)
		rec.transcript = append(rec.transcript, "  KNOWN "+f.kind+": "+f.detail+"; "+what)
		return
	}
	rec.faults = append(rec.faults, f)
	rec.transcript = append(rec.transcript, "  FAULT "+f.kind+": "+f.detail)
}

func (rec *recorder) note(format string, values ...any) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.transcript = append(rec.transcript, fmt.Sprintf(format, values...))
}

func (rec *recorder) bytes(name, text string) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.parts = append(rec.parts, bytePart{name, text})
}

// schemaOf returns the schema of a definition as JSON.
func (rec *recorder) schemaOf(info *schema.ToolInfo) string {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	text, known := rec.schemas[info.ParamsOneOf]
	if !known {
		text = schemaText(info)
		rec.schemas[info.ParamsOneOf] = text
	}
	return text
}

// schemaText writes the schema of a definition as JSON.
func schemaText(info *schema.ToolInfo) string {
	definition, err := info.ToJSONSchema()
	if err != nil {
		return err.Error()
	}
	return written(definition)
}

// beginRun records the start of a run.
func (rec *recorder) beginRun(number int, run *runPlan) {
	rec.made, rec.last, rec.removes, rec.protocol = map[string]bool{}, lastSeen{}, false, run.protocol
	rec.note("run %d: %v, user %d, edition %d, the history %v, cancel %d at call %d", number, run.protocol, run.user, run.edition, run.rewrites, run.cancel, run.cancelAt)
}

// saw records what the model sees.
func (rec *recorder) saw(call int, r toolsearchtest.Request, isInside bool) {
	var results []string
	for _, m := range r.Messages {
		switch {
		case len(m.Calls) > 0:
			results = nil
		case m.Role == toolsearchtest.Tool:
			results = append(results, fmt.Sprintf("    %.60q answered %.60q: %.240q", m.ToolName, m.CallID, m.Text))
		}
	}
	for _, line := range results {
		rec.note("%s", line)
	}
	who := "call"
	if isInside {
		who = "within, call"
	}
	var names []string
	for _, name := range r.ToolNames() {
		names = append(names, fmt.Sprintf("%.40q", name))
	}
	rec.note("  %s %d sees %d messages, %d deferred tools, and %s", who, call, len(r.Messages), len(r.Deferred), strings.Join(names, " "))
}

// said records what the model says.
func (rec *recorder) said(call int, turn toolsearchtest.Turn, isInside bool) {
	if turn.Text != "" || len(turn.Calls) == 0 {
		rec.note("    says %q", turn.Text)
	}
	for _, c := range turn.Calls {
		rec.note("    calls %.100q with %.240q as %q", c.Name, c.Arguments, c.ID)
		rec.removes = rec.removes || strings.HasSuffix(c.Name, "remove_tool") || isInside || c.Name == "insider"
		if !isInside {
			rec.made[c.ID] = true
			rec.calls[c.ID] = c
		}
	}
}

// checkCallsAsMade checks that the history has the model's own calls, and not their replacements.
func (rec *recorder) checkCallsAsMade(parts []part) {
	for _, p := range parts {
		made, known := rec.calls[p.id]
		if p.isCall && known && (stored(made.Name) != stored(p.name) || stored(made.Arguments) != stored(p.text)) {
			rec.fault("a call is not as it was made", "call %q of %.100q with %.200q became %.100q with %.200q", p.id, made.Name, made.Arguments, p.name, p.text)
		}
	}
}

// report returns what is printed of a conversation: its plan, the events up to its first
// fault or all events, and its faults.
func report(p *plan, rec *recorder, verbose bool) string {
	transcript := rec.transcript
	var b strings.Builder
	fmt.Fprintf(&b, "conversation %d of seed %d: %s\n\n", p.number, p.seed, p)
	const most = 40
	if at := slices.IndexFunc(transcript, func(line string) bool { return strings.HasPrefix(line, "  FAULT ") }); at >= 0 && !verbose {
		transcript = transcript[:at+1]
	}
	if skipped := len(transcript) - most; skipped > 0 && !verbose {
		fmt.Fprintf(&b, "... %d lines; -v prints them\n", skipped)
		transcript = transcript[skipped:]
	}
	for _, line := range transcript {
		b.WriteString(line + "\n")
	}
	b.WriteString("\n")
	var kinds []string
	for _, f := range slices.Concat(rec.faults, rec.known) {
		if !slices.Contains(kinds, f.kind) {
			kinds = append(kinds, f.kind)
			fmt.Fprintf(&b, "%s: %s\n", f.kind, f.detail)
		}
	}
	fmt.Fprintf(&b, "\nAgain: go run ./workshop/soak -seed %d -conversation %d -v\n", p.seed, p.number)
	return b.String()
}
