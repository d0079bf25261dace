package main

import (
	"slices"

	"github.com/eino-toolsearch/toolsearch"
)

// Known faults. A known fault is counted and does not fail the soak; -known prints it. Whoever
// mends a fault removes it here.

// knownFault has the kinds of a known fault, and the plans that may have it.
type knownFault struct {
	what  string
	kinds []string
	fits  func(p *plan) bool
}

// Kinds of faults that are named in more than one place.
const (
	changesState  = "a second time changes the state"
	changesOrder  = "loaded tools changed their order"
	outOfReach    = "a tool went out of reach"
	twoReminders  = "two reminders"
	strayNative   = "a native result without a name or a call"
	unloadedAgain = "an old answer of remove_tool unloads a tool again"
	misnamed      = "a result has another's name"
	filterTrace   = "Filter leaves a trace"
)

var knownFaults = []knownFault{
	{
		"with MaxLoaded, which tools stay and in what order depends on what is gone from the history, and a tool that the replay evicts and loads again moves to the end",
		[]string{changesState, changesOrder},
		func(p *plan) bool { return p.config.Limits.MaxLoaded > 0 },
	}, {
		"the ordinary list of a native protocol loses its order when a later middleware takes the native results away", []string{changesOrder},
		func(p *plan) bool {
			return p.losesResults() && p.plays(toolsearch.ProtocolNativeDeferred, toolsearch.ProtocolNativeReferences)
		},
	},
}

// known describes the known fault of a kind in a plan; "" means none.
func known(p *plan, kind string) string {
	for _, k := range knownFaults {
		if slices.Contains(k.kinds, kind) && k.fits(p) {
			return k.what
		}
	}
	return ""
}

// losesResults reports whether a middleware takes results out of the history.
func (p *plan) losesResults() bool {
	return p.has("trimming", "forgetting", "summarization", "clearing", "truncating")
}

// plays reports whether a run has one of the protocols.
func (p *plan) plays(protocols ...toolsearch.Protocol) bool {
	return slices.ContainsFunc(p.runs, func(run runPlan) bool { return slices.Contains(protocols, run.protocol) })
}
