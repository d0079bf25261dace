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
// callers are in one snapshot, each definition once. An Offer is what one run gets of it.

// maxKept is how many tools Sources with PerCaller keep, over all groups and keys; a key counts as one more. The keys
// that have not asked for the longest time are forgotten: their next run is like their first.
const maxKept = 20_000

// A caller is the state of a Source for the runs of one key. Sources.mu guards it.
type caller struct {
	group int
	key   string
	gate  foreign.Gate // of its attempts, those that hang included

	attempt  *attempt   // the one under way; nil means none
	answered time.Time  // when the attempt began that gave the newest listing
	current  *listing   // the newest whose definitions the current snapshot has; nil means none
	pending  *listing   // the newest, if it is neither current nor refused; nil means none
	replaced []*listing // the last few that others replaced; only of a Source without PerCaller
	returns  int        // how often one of these came back; negative once a run has reported it
	shown    placement  // of the newest current listing that a run saw
	trouble
}

// trouble is what is wrong with a Source, for the runs of one key. A good listing ends it, except isSlow and refusal.
type trouble struct {
	isDown     bool      // an attempt failed or is late, or a listing was refused
	isSlow     bool      // the last good attempt was late, which a run has reported; the next late one is not reported
	unreported error     // of an attempt that failed after runs had given up waiting for it
	refusal    error     // why a listing was refused; nil once a run has reported it
	restsUntil time.Time // when the Source may be asked again, since it, or the index of its listing, took too long
	restingWhy error     // what every run reports until then; nil for a Source that took too long
}

// Callers are those of one run: the caller of each Source that its key selects.
type Callers []*caller

// caller returns the caller of a key while Sources.mu is held. It forgets old callers, but none with an attempt under
// way or a pending listing.
func (s *Sources) caller(group int, key string) *caller {
	c := &caller{group: group, key: key, gate: make(foreign.Gate, maxAttempts)}
	if at := slices.IndexFunc(s.recent, func(c *caller) bool { return c.group == group && c.key == key }); at >= 0 {
		c = s.recent[at]
	}
	kept := c.size()
	s.recent = slices.DeleteFunc(s.recent, func(other *caller) bool {
		if other == c || s.groups[other.group].PerCaller == nil {
			return other == c
		}
		kept += other.size()
		return kept > maxKept && other.attempt == nil && other.pending == nil
	})
	s.recent = slices.Insert(s.recent, 0, c)
	return c
}

// size is what a caller counts towards maxKept.
func (c *caller) size() int { return 1 + len(cmp.Or(c.pending, c.current, &listing{}).tools) }

// settle makes a caller's newest listing the current one if the current snapshot has its definitions.
func (s *Sources) settle(c *caller) {
	switch {
	case c.pending != nil && s.current.has(c.pending):
		c.current, c.pending = c.pending, nil
	case c.current != nil && !s.current.has(c.current): // the snapshot was made while the listing came
		c.current, c.pending = nil, cmp.Or(c.pending, c.current)
	}
}

// An Offer is what a run gets of the current snapshot, and what it reports.
type Offer struct {
	*Snapshot
	Tools []tool.BaseTool // by document; nil for those of other callers
	Docs  docset.Set      // of Tools; nil means all
	Down  []int           // the groups whose Source does not answer, or not usably

	IsChanged      bool     // the tools of a Source are not those that were reported last
	Changed        []string // the names of the groups whose tools changed
	Added, Removed int      // names of tools
	Problems       []Problem
}

// Offer returns what a run gets. failures are those of Ask.
func (s *Sources) Offer(mine Callers, failures []error) *Offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &Offer{Snapshot: s.current, Tools: slices.Clone(s.current.Tools), Docs: docset.New(len(s.current.Tools))}
	for _, c := range mine {
		if s.settle(c); c.current != nil {
			o.show(c)
		}
	}
	for doc, t := range o.Tools {
		if t != nil {
			o.Docs.Add(doc)
		}
	}
	stays := func(group int) string {
		if at := slices.IndexFunc(mine, func(c *caller) bool { return c.group == group && c.current != nil }); at >= 0 {
			return fmt.Sprintf("its last %d tools stay", len(mine[at].shown.docs))
		}
		return "none of its tools is used"
	}
	if !s.rules.IsFiltered { // no two tools have the same name
		o.Docs = nil
	}
	report := func(group int, err error, so string) {
		if g := s.groups[group]; err != nil {
			err = fmt.Errorf("toolsearch: %s: %w; %s", g.field(partSource), err, so)
			o.Problems = append(o.Problems, Problem{Group: g.Name, Part: partSource, Err: err})
		}
	}
	for _, c := range mine {
		report(c.group, c.refusal, stays(c.group))
		if c.refusal = nil; c.isDown {
			o.Down = append(o.Down, c.group)
		}
		if c.returns >= minReturns {
			report(c.group, errors.New("tools went and came back, several times"), "if they depend on who asks, set Group.PerCaller")
			c.returns = math.MinInt
		}
	}
	for group, err := range failures {
		report(group, err, stays(group))
	}
	return o
}

// show adds a caller's tools to an offer, and what runs have not reported of them.
func (o *Offer) show(c *caller) {
	last, g, isChanged := c.shown, o.groups[c.group], !c.current.sameAs(c.shown.listing)
	if last.listing != c.current || last.number != o.number {
		c.shown = o.place(c.current)
	}
	for i, doc := range c.shown.docs {
		o.Tools[doc] = c.shown.tools[i]
	}
	if !isChanged && last.number == o.number { // the tools may be in another order
		c.shown.reasons = last.reasons
	}
	if reasons := c.shown.reasons; len(reasons) > 0 && (isChanged || !slices.Equal(reasons, last.reasons)) {
		o.Problems = append(o.Problems, g.problem(partSource, leftOut, reasons))
	}
	if !isChanged {
		return
	}
	if o.IsChanged = true; g.Name != "" {
		o.Changed = append(o.Changed, g.Name)
	}
	o.Added, o.Removed = o.Added+len(c.shown.names), o.Removed+len(last.names)
	for name := range c.shown.names {
		if last.names[name] {
			o.Added, o.Removed = o.Added-1, o.Removed-1
		}
	}
}
