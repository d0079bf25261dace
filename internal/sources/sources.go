// Package sources knows where the tools of an agent come from: lists that do not change, and Sources, such as remote
// servers, which may fail, hang, or answer differently every time.
//
//	Ask: listings -> Pending: a change -> Apply: a snapshot -> Accept or Refuse -> Offer: what a run gets
//
// Each Source is asked on a goroutine of its own. If the current snapshot has all definitions of a listing, only the
// tools behind them are replaced, since they may have a new connection. Any other listing is pending, until a snapshot
// with it is accepted or refused. The package also asks tools for their definitions, and wraps them to answer with
// those.
package sources

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
)

// A Group is tools of one origin.
type Group struct {
	Name      string                                  // "" means none
	Tools     []tool.BaseTool                         // that do not change
	Source    Source                                  // nil means none
	PerCaller func(ctx context.Context) string        // whose tools Source answers with; nil means everybody's
	Named     func(*schema.ToolInfo) *schema.ToolInfo // returns a definition with the name that the model sees
	AsGiven   bool                                    // Tools are Config.DynamicTools, which stay as they are
}

// A Source returns tools that may change.
type Source func(ctx context.Context) ([]tool.BaseTool, error)

// Rules say which tools there can be, and how long to wait for them.
type Rules struct {
	Timeout        time.Duration          // of a Source
	MaxDescription int                    // bytes of a description that a Source may send
	IsMeta         func(name string) bool // reports whether a meta-tool has a name
	IsFiltered     bool                   // requests see different tools: several of one name stay, since a request may not see the first
}

// Sources are the groups, and what their Sources returned. They are safe for concurrent use.
type Sources struct {
	rules  Rules
	groups []*group
	fixed  map[string]bool // the names of the tools that do not change

	mu      sync.Mutex // guards the fields below, and those of callers; held for moments
	current *Snapshot
	recent  []*caller // all of them, the last to ask first
}

// group is a Group and the callers of its Source.
type group struct {
	Group
	part  string       // the field that Tools are from
	fixed Snapshot     // of Tools, without those that cannot be used
	gate  foreign.Gate // of the attempts of all callers, those that hang included
}

// New reads the tools that do not change. It returns what providers refuse of them. It fails on a tool without a usable
// definition, and on two tools of one name.
func New(ctx context.Context, groups []Group, rules Rules) (*Sources, []Problem, error) {
	s := &Sources{rules: rules, fixed: make(map[string]bool)}
	var problems []Problem
	where := make(map[string]string) // by name: which tool has it
	for _, given := range groups {
		s.rules.IsFiltered = s.rules.IsFiltered || given.PerCaller != nil
		g, what := &group{Group: given, part: "Tools", gate: make(foreign.Gate, maxGroupAttempts)}, leftOut
		if g.AsGiven {
			g.part, what = "DynamicTools", "providers refuse"
		}
		field := g.field(g.part)
		infos, err := Definitions(ctx, field+": ", g.Tools)
		if err != nil {
			return nil, nil, err
		}
		refusals := make([]error, len(infos))
		err = foreign.InParallel(context.Background(), runtime.GOMAXPROCS(0), len(infos), func(_ context.Context, i int) error {
			if g.AsGiven {
				refusals[i] = schemacheck.Refusal(infos[i])
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		var reasons []reason
		for i, info := range infos {
			because := func(err error) { reasons = append(reasons, reason{i, info.Name, fmt.Sprint(err)}) }
			shown := info
			if !g.AsGiven {
				shown = g.mended(g.Named(info), info.Name, because)
			} else if refusals[i] != nil {
				because(refusals[i])
			}
			switch {
			case shown == nil:
				continue
			case s.rules.IsMeta(shown.Name):
				return nil, nil, fmt.Errorf("toolsearch: %s: tool %d has the name of a meta-tool, %q; rename it or set ToolName", field, i, shown.Name)
			case s.fixed[shown.Name]:
				return nil, nil, fmt.Errorf("toolsearch: %s: tool %d: duplicate name %q, %s has it too; %s",
					field, i, shown.Name, where[shown.Name], usePrefix)
			}
			s.fixed[shown.Name], where[shown.Name] = true, fmt.Sprintf("tool %d of %s", i, field)
			g.fixed.add(len(s.groups), wrapped(g.Tools[i], shown), shown, info.Name)
		}
		if len(reasons) > 0 {
			problems = append(problems, g.problem(g.part, what, reasons))
		}
		s.groups = append(s.groups, g)
	}
	s.current = s.snapshot(make([][]*listing, len(groups)))
	return s, problems, nil
}

// A Change is new listings.
type Change struct {
	IsFirst bool // the run that asked for it has no listing of a group yet

	listings []*listing
}

// Pending returns the change since the current snapshot that a run waits for, or nil if it waits for none. All pending
// listings are part of the change, also those of other runs, since one index is made of them all.
func (s *Sources) Pending(mine Callers) *Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(mine, func(c *caller) bool { return c.pending != nil }) {
		return nil
	}
	change := &Change{IsFirst: slices.ContainsFunc(mine, func(c *caller) bool { return c.pending != nil && c.current == nil })}
	for _, c := range s.recent {
		if c.pending != nil {
			change.listings = append(change.listings, c.pending)
		}
	}
	return change
}

// Halves returns two changes, the smaller listings first, or nil for a single listing. A listing of which there
// can be no catalog, or whose index takes all the time there is, does not keep the others waiting.
func (change *Change) Halves() []*Change {
	if len(change.listings) == 1 {
		return nil
	}
	bySize := func(a, b *listing) int { return len(a.tools) - len(b.tools) }
	bySizes, half := slices.SortedStableFunc(slices.Values(change.listings), bySize), len(change.listings)/2
	return []*Change{{listings: bySizes[:half]}, {listings: bySizes[half:]}}
}

// Apply returns the current snapshot with a change. It fails if no tool of a new listing can be used.
func (s *Sources) Apply(change *Change) (*Snapshot, error) {
	listings, isNew := make([][]*listing, len(s.groups)), make(map[*caller]bool)
	for _, l := range change.listings {
		listings[l.caller.group], isNew[l.caller] = append(listings[l.caller.group], l), true
	}
	s.mu.Lock()
	number := s.current.number + 1
	for _, c := range s.recent {
		if c.current != nil && !isNew[c] {
			listings[c.group] = append(listings[c.group], c.current)
		}
	}
	s.mu.Unlock()
	next := s.snapshot(listings)
	next.number, next.added = number, change.listings
	for _, l := range change.listings {
		if placed := next.place(l); len(placed.docs) == 0 {
			return nil, Problems("no tool can be used:", texts(placed.reasons))
		}
	}
	return next, nil
}

// Accept makes a snapshot the current one, with the tools of the newest listings that have its definitions.
func (s *Sources) Accept(next *Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = next
	for _, l := range next.added {
		l.caller.current = l
	}
	for _, c := range s.recent {
		s.settle(c)
	}
}

// Refuse drops a change of which there can be no catalog. If that took too long to find out, its Sources fail with the
// error for as long as a Source may take, and are not asked.
func (s *Sources) Refuse(change *Change, err error, tookTooLong bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range change.listings {
		c := l.caller
		if c.isDown, c.refusal = true, err; l.sameAs(c.pending) {
			c.pending = nil
		}
		if tookTooLong {
			c.restsUntil, c.restingWhy = time.Now().Add(s.rules.Timeout), err
		}
	}
}

// A Problem is something wrong with a part of a group.
type Problem struct {
	Part  string // a field of the group, or of the Config
	Group string // its name; "" means none
	Tool  string // its name; "" means none, or several
	Err   error
}
