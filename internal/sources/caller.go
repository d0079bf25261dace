package sources

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cloudwego/eino/components/tool"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// Who asks. A Source has a caller for each key of its PerCaller, or one for everybody. The tools of all
// callers are in one snapshot, each definition once. A View is what one run sees of it.

// maxKept is how many tools Sources with PerCaller keep, over all groups and keys; a key counts as one more. The
// keys that have not asked for the longest time are forgotten: their next run is like their first.
const maxKept = 20_000

// A caller is the state of a Source for the runs of one key. Sources.mu guards it.
type caller struct {
	callerID
	calls foreign.Gate // those that hang included
	tools int          // in the newest good answer

	call     *call     // that is under way; nil means none
	asked    int       // number of calls so far
	answered int       // the number of the newest call with a good answer
	current  *answer   // the newest good answer whose definitions the current snapshot has; nil means none
	pending  *answer   // the newest good answer, if it is neither current nor refused
	former   []*answer // the last that others took the place of; only of everybody's Source
	returns  int       // how many of these came back; negative once it was reported
	failed   error     // of a call that nobody waited for; nil once it was reported
	unused   error     // why there is no catalog of an answer; nil once it was reported
	isDown   bool      // the last call failed or is late, or its answer cannot be used
	isSlow   bool      // the last good answer came late, which was reported
	resting  time.Time // the Source, or the catalog of its answer, took too long: it is not asked before this time
	refused  error     // why it rests; nil means that the Source took too long
	shown    placed    // what runs have reported of its tools
}

type callerID struct {
	group int
	key   string
}

// Callers are the callers that a run is one of, at most one for each group.
type Callers []*caller

// caller returns the caller of a key while Sources.mu is held, and forgets old ones, but none that is asked for or whose index is made.
func (s *Sources) caller(id callerID) *caller {
	of := &caller{callerID: id, calls: make(foreign.Gate, maxCalls)}
	if at := slices.IndexFunc(s.recent, func(c *caller) bool { return c.callerID == id }); at >= 0 {
		of = s.recent[at]
	}
	kept := 1 + of.tools
	s.recent = slices.DeleteFunc(s.recent, func(c *caller) bool {
		if c == of || s.groups[c.group].PerCaller == nil {
			return c == of
		}
		kept += 1 + c.tools
		return kept > maxKept && c.call == nil && c.pending == nil
	})
	s.recent = slices.Insert(s.recent, 0, of)
	return of
}

// settle makes a caller's newest answer the current one if the current snapshot has its definitions.
func (s *Sources) settle(of *caller) {
	p := &s.current.parts[of.group]
	switch {
	case of.pending != nil && p.has(of.pending):
		of.current, of.pending = of.pending, nil
	case of.current != nil && !p.has(of.current): // the snapshot was made while the answer came
		of.current, of.pending = nil, cmp.Or(of.pending, of.current)
	}
}

// A View is what a run sees of the current snapshot, and what it reports.
type View struct {
	*Snapshot
	Tools []tool.BaseTool // by document; nil for those of other callers
	Docs  docset.Set      // of Tools; nil means all
	Down  []int           // the groups whose Source does not answer, or not usably

	IsChanged      bool     // the tools of a Source are not those that were reported last
	Changed        []string // the names of the groups whose tools changed
	Added, Removed int      // names of tools
	Problems       []Problem
}

// See returns the view of a run. failures are by group.
func (s *Sources) See(mine Callers, failures []error) *View {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &View{Snapshot: s.current, Tools: slices.Clone(s.current.Tools), Docs: docset.New(len(s.current.Tools))}
	for _, of := range mine {
		if s.settle(of); of.current != nil {
			v.show(of)
		}
	}
	for doc, t := range v.Tools {
		if t != nil {
			v.Docs.Add(doc)
		}
	}
	stays := fmt.Sprintf("the last good catalog of %d tools stays", v.Docs.Len())
	if !s.rules.IsFiltered { // no two tools have the same name
		v.Docs = nil
	}
	problem := func(group int, err error, so string) {
		if g := s.groups[group]; err != nil {
			err = fmt.Errorf("toolsearch: %s: %w; %s", g.field(partSource), err, so)
			v.Problems = append(v.Problems, Problem{Group: g.Name, Part: partSource, Err: err})
		}
	}
	for _, of := range mine {
		problem(of.group, of.unused, stays)
		if of.unused = nil; of.isDown {
			v.Down = append(v.Down, of.group)
		}
		if of.returns >= minReturns {
			problem(of.group, errors.New("tools went and came back, several times"), "if they depend on who asks, set Group.PerCaller")
			of.returns = math.MinInt
		}
	}
	for i, err := range failures {
		problem(i, err, stays)
	}
	return v
}

// show shows a run the tools of a caller, and notes what runs have not reported of them.
func (v *View) show(of *caller) {
	last, g, isChanged := of.shown, v.groups[of.group], !of.current.sameAs(of.shown.answer)
	if last.answer != of.current || last.number != v.number {
		of.shown = v.place(of.current)
	}
	for i, doc := range of.shown.docs {
		v.Tools[doc] = of.shown.tools[i]
	}
	if !isChanged && last.number == v.number { // the tools may be in another order
		of.shown.lines = last.lines
	}
	if lines := of.shown.lines; len(lines) > 0 && (isChanged || !slices.Equal(lines, last.lines)) {
		v.Problems = append(v.Problems, g.problem(partSource, leftOut, lines))
	}
	if !isChanged {
		return
	}
	if v.IsChanged = true; g.Name != "" {
		v.Changed = append(v.Changed, g.Name)
	}
	v.Added, v.Removed = v.Added+len(of.shown.names), v.Removed+len(last.names)
	for name := range of.shown.names {
		if last.names[name] {
			v.Added, v.Removed = v.Added-1, v.Removed-1
		}
	}
}
