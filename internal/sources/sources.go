// Package sources knows where the tools of an agent come from: lists that do not change, and Sources,
// such as remote servers, which may fail, hang, or answer differently every time.
//
//	Ask -> answers -> Pending: a change -> Apply: a snapshot -> Accept, once there is a catalog of it
//
// Each Source is asked on a goroutine of its own. An answer whose definitions the current snapshot has only
// replaces the tools of its caller, which may have a new connection. Any other answer is pending, until a
// snapshot with it is accepted or refused.
package sources

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
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
	IsFiltered     bool                   // requests see different tools: those of one name stay, since a request may see only the later
}

// Sources are the groups, and what their Sources answered. It is safe for concurrent use.
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
	fixed []fixedTool  // Tools that can be used
	calls foreign.Gate // of all callers, those that hang included
}

// fixedTool is a tool that does not change.
type fixedTool struct {
	tool tool.BaseTool
	name string           // its own
	info *schema.ToolInfo // as the model sees it
}

// New reads the tools that do not change. It returns what providers refuse of them. It fails on a tool
// without a usable definition, and on two tools of one name.
func New(ctx context.Context, groups []Group, rules Rules) (*Sources, []Problem, error) {
	s := &Sources{rules: rules, fixed: make(map[string]bool)}
	var problems []Problem
	where := make(map[string]string) // is the tool of a name
	for _, given := range groups {
		s.rules.IsFiltered = s.rules.IsFiltered || given.PerCaller != nil
		g := &group{Group: given, calls: make(foreign.Gate, maxGroupCalls)}
		field := g.field(g.partOfTools())
		infos, err := Definitions(ctx, field+": ", g.Tools)
		if err != nil {
			return nil, nil, err
		}
		what, refused := leftOut, []string(nil)
		for i, info := range infos {
			note := func(err error) {
				refused = append(refused, fmt.Sprintf("tool %d, %s: %v", i, naming.Quoted(info.Name), err))
			}
			shown := info
			if g.AsGiven {
				what = "providers refuse"
				if err := schemacheck.Refusal(info); err != nil {
					note(err)
				}
			} else {
				shown = g.mended(g.Named(info), info.Name, note)
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
			g.fixed = append(g.fixed, fixedTool{g.Tools[i], info.Name, shown})
		}
		if len(refused) > 0 {
			problems = append(problems, g.problem(g.partOfTools(), what, refused))
		}
		s.groups = append(s.groups, g)
	}
	s.current = s.snapshot(make([][]*answer, len(groups)))
	return s, problems, nil
}

// MayChange reports whether a group has a Source.
func (s *Sources) MayChange() bool {
	return slices.ContainsFunc(s.groups, func(g *group) bool { return g.Source != nil })
}

// Current returns the snapshot that was accepted last, with the newest tools.
func (s *Sources) Current() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// A Change is new answers.
type Change struct {
	IsFirst bool // the run that asked for it has no answer of a group yet

	answers []*answer
}

// Pending returns the change since the current snapshot that a run waits for, or nil. What others wait for is
// part of it, since it takes one index.
func (s *Sources) Pending(mine Callers) *Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(mine, func(of *caller) bool { return of.pending != nil }) {
		return nil
	}
	c := &Change{IsFirst: slices.ContainsFunc(mine, func(of *caller) bool { return of.pending != nil && of.current == nil })}
	for _, of := range s.recent {
		if of.pending != nil {
			c.answers = append(c.answers, of.pending)
		}
	}
	return c
}

// Halves returns two changes, the smaller answers first, or nil for a single answer: an answer of which there
// can be no catalog, or whose index takes all the time there is, does not keep the others waiting.
func (c *Change) Halves() []*Change {
	if len(c.answers) == 1 {
		return nil
	}
	bySize := func(a, b *answer) int { return len(a.list) - len(b.list) }
	sorted, half := slices.SortedStableFunc(slices.Values(c.answers), bySize), len(c.answers)/2
	return []*Change{{answers: sorted[:half]}, {answers: sorted[half:]}}
}

// Apply returns the current snapshot with a change. It fails if none of the tools of a new answer can be
// used.
func (s *Sources) Apply(c *Change) (*Snapshot, error) {
	answers, isNew := make([][]*answer, len(s.groups)), make(map[*caller]bool)
	for _, a := range c.answers {
		answers[a.of.group], isNew[a.of] = append(answers[a.of.group], a), true
	}
	s.mu.Lock()
	number := s.current.number + 1
	for _, of := range s.recent {
		if of.current != nil && !isNew[of] {
			answers[of.group] = append(answers[of.group], of.current)
		}
	}
	s.mu.Unlock()
	next := s.snapshot(answers)
	next.number, next.answers = number, c.answers
	for _, a := range c.answers {
		if placed := next.place(a); len(placed.docs) == 0 {
			return nil, Problems("no tool can be used:", placed.lines)
		}
	}
	return next, nil
}

// Accept makes a snapshot the current one. Its tools become those of the newest answers with the same
// definitions.
func (s *Sources) Accept(next *Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = next
	for _, a := range next.answers {
		a.of.current = a
	}
	for _, of := range s.recent {
		s.settle(of)
	}
}

// Refuse drops a change of which there can be no catalog. If that took too long to find out, its Sources fail
// with the error for as long as a Source may take, and are not asked.
func (s *Sources) Refuse(c *Change, err error, tookTooLong bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range c.answers {
		of := a.of
		if of.isDown, of.unused = true, err; a.sameAs(of.pending) {
			of.pending = nil
		}
		if tookTooLong {
			of.resting, of.refused = time.Now().Add(s.rules.Timeout), err
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
