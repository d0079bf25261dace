// Package sources knows where the tools of an agent come from: lists that do not change, and Sources,
// such as remote servers, which may fail, hang, or answer differently every time.
//
//	Ask -> answers -> Pending: a change -> Apply: a snapshot -> Accept, once there is a catalog of it
//
// Each Source is asked on a goroutine of its own. An answer with the definitions of the current snapshot
// only replaces its tools, which may have a new connection. Any other answer is pending, until a snapshot
// with it is accepted or refused.
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
	Name    string                                  // "" means none
	Tools   []tool.BaseTool                         // that do not change
	Source  Source                                  // nil means none
	Named   func(*schema.ToolInfo) *schema.ToolInfo // returns a definition with the name that the model sees
	AsGiven bool                                    // Tools are Config.DynamicTools, which stay as they are
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

	mu      sync.Mutex // guards the fields below and those of groups; held for moments
	current *Snapshot
}

// group is a Group and the state of its Source.
type group struct {
	Group
	fixed []fixedTool  // Tools that can be used
	calls foreign.Gate // those that hang included

	// guarded by Sources.mu
	call     *call     // that is under way; nil means none
	asked    int       // number of calls so far
	answered int       // the number of the newest call with a good answer
	pending  *answer   // the newest good answer, if it is neither in the current snapshot nor refused
	failed   error     // of a call that nobody waited for; nil once it was reported
	isDown   bool      // the last call failed or is late, or its answer cannot be used
	isSlow   bool      // the last good answer came late, which was reported
	resting  time.Time // the Source, or the catalog of its answer, took too long: it is not asked before this time
	refused  error     // why it rests; nil means that the Source took too long
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
	s := &Sources{rules: rules}
	var problems []Problem
	for _, given := range groups {
		g := &group{Group: given, calls: make(foreign.Gate, maxCalls)}
		infos, err := Definitions(ctx, g.field(g.partOfTools())+": ", g.Tools)
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
			if shown != nil {
				g.fixed = append(g.fixed, fixedTool{g.Tools[i], info.Name, shown})
			}
		}
		if len(refused) > 0 {
			problems = append(problems, g.problem(g.partOfTools(), what, refused))
		}
		s.groups = append(s.groups, g)
	}
	if err := s.checkNames(); err != nil {
		return nil, nil, err
	}
	s.current = s.snapshot(make([]*answer, len(groups)))
	return s, problems, nil
}

// checkNames checks that no fixed tool has the name of another, or of a meta-tool.
func (s *Sources) checkNames() error {
	first := make(map[string]string)
	for _, g := range s.groups {
		field := g.field(g.partOfTools())
		for i, fixed := range g.fixed {
			info := fixed.info
			if s.rules.IsMeta(info.Name) {
				return fmt.Errorf("toolsearch: %s: tool %d has the name of a meta-tool, %q; rename it or set ToolName", field, i, info.Name)
			}
			if other, taken := first[info.Name]; taken {
				return fmt.Errorf("toolsearch: %s: tool %d: duplicate name %q, %s has it too; %s", field, i, info.Name, other, usePrefix)
			}
			first[info.Name] = fmt.Sprintf("tool %d of %s", i, field)
		}
	}
	return nil
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

// Down returns the groups whose Source does not answer, or not usably.
func (s *Sources) Down() (groups []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, g := range s.groups {
		if g.isDown {
			groups = append(groups, i)
		}
	}
	return groups
}

// A Change is new answers.
type Change struct {
	Groups  []int // that have a new answer
	IsFirst bool  // a group has its first answer

	answers []*answer // by group; nil means that there is no new answer
}

// Pending returns the change since the current snapshot, or nil.
func (s *Sources) Pending() *Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &Change{answers: make([]*answer, len(s.groups))}
	for i, g := range s.groups {
		if g.pending != nil {
			c.Groups, c.answers[i] = append(c.Groups, i), g.pending
			c.IsFirst = c.IsFirst || s.current.answers[i] == nil
		}
	}
	if len(c.Groups) == 0 {
		return nil
	}
	return c
}

// Alone returns a change for each group, the smallest first: a large answer whose index takes all the time
// there is does not keep the others waiting.
func (c *Change) Alone() (changes []*Change) {
	bySize := func(i, j int) int { return len(c.answers[i].list) - len(c.answers[j].list) }
	for _, i := range slices.SortedStableFunc(slices.Values(c.Groups), bySize) {
		alone := &Change{Groups: []int{i}, answers: make([]*answer, len(c.answers))}
		alone.answers[i] = c.answers[i]
		changes = append(changes, alone)
	}
	return changes
}

// Apply returns the current snapshot with a change. It fails if none of the tools of a new answer can be
// used.
func (s *Sources) Apply(c *Change) (*Snapshot, error) {
	answers := slices.Clone(s.Current().answers)
	for _, i := range c.Groups {
		answers[i] = c.answers[i]
	}
	next := s.snapshot(answers)
	for _, i := range c.Groups {
		if !slices.ContainsFunc(next.origins, func(o origin) bool { return o.group == i && o.place >= 0 }) {
			return nil, Problems("no tool can be used:", next.left[i])
		}
	}
	return next, nil
}

// Accept makes a snapshot the current one. Its tools become those of the newest answers with the same
// definitions.
func (s *Sources) Accept(next *Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, g := range s.groups {
		a := next.answers[i]
		switch before := s.current.answers[i]; {
		case a.sameAs(g.pending):
			next, g.pending = next.with(i, g.pending), nil
		case a.sameAs(before):
			next = next.with(i, before)
		}
	}
	s.current = next
}

// Refuse drops a change of which there can be no catalog. If that took too long to find out, its Sources
// fail with the error for as long as a Source may take, and are not asked.
func (s *Sources) Refuse(c *Change, err error, tookTooLong bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range c.Groups {
		g := s.groups[i]
		if g.isDown = true; c.answers[i].sameAs(g.pending) {
			g.pending = nil
		}
		if tookTooLong {
			g.resting, g.refused = time.Now().Add(s.rules.Timeout), err
		}
	}
}

// Problem returns the problem of a group's Source that failed.
func (s *Sources) Problem(group int, err error) Problem {
	g := s.groups[group]
	err = fmt.Errorf("toolsearch: %s: %w; the last good catalog of %d tools stays", g.field(partSource), err, len(s.Current().Tools))
	return Problem{Group: g.Name, Part: partSource, Err: err}
}

// A Problem is something wrong with a part of a group.
type Problem struct {
	Part  string // a field of the group, or of the Config
	Group string // its name; "" means none
	Tool  string // its name; "" means none, or several
	Err   error
}
