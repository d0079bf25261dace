package sources

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
)

// Snapshots, and the names of groups and their parts in messages.

// A Snapshot is the tools of all groups at one time: those of each group together, and of these the
// tools that do not change first. It never changes.
type Snapshot struct {
	Tools []tool.BaseTool    // as an agent gets them; nil for a tool of a Source, of which each caller has its own
	Infos []*schema.ToolInfo // of Tools, as the model sees them
	Names []string           // of Tools, their own
	Of    []int              // the groups of Tools

	number  int // one more than that of the snapshot before
	groups  []*group
	parts   []part    // by group
	answers []*answer // that the snapshot before does not have
}

// part is what a snapshot has of a group's Source.
type part struct {
	answer   *answer                      // to all callers together
	entries  map[schemacheck.Print]*entry // of answer
	isShared bool                         // all callers have the same answer
}

// entry is what became of a tool of a Source.
type entry struct {
	doc   int      // its place in the snapshot; -1 means that it was left out
	notes []string // why it was left out, or what was mended
}

// has reports whether the part has all definitions of an answer.
func (p *part) has(a *answer) bool {
	if p.isShared {
		return a.sameAs(p.answer)
	}
	return !slices.ContainsFunc(a.list, func(l listed) bool { return p.entries[l.print] == nil })
}

// placed is the tools of an answer in a snapshot.
type placed struct {
	answer *answer
	number int // of the snapshot
	docs   []int
	tools  []tool.BaseTool // of docs
	names  map[string]bool // of tools
	lines  []string        // for each tool that was left out or mended
}

// place returns the tools of an answer whose definitions the snapshot has.
func (s *Snapshot) place(a *answer) placed {
	p := placed{answer: a, number: s.number, names: make(map[string]bool)}
	for _, l := range a.list {
		e := s.parts[a.of.group].entries[l.print]
		for _, note := range e.notes {
			p.lines = append(p.lines, fmt.Sprintf("tool %d, %s: %s", l.number, naming.Quoted(l.name), note))
		}
		if e.doc >= 0 {
			info := s.Infos[e.doc]
			p.docs, p.tools, p.names[info.Name] = append(p.docs, e.doc), append(p.tools, wrapped(l.tool, info)), true
		}
	}
	return p
}

// snapshot returns the snapshot of answers to callers, by group. A tool that cannot be in a catalog is left out, and
// costs the others nothing. The tools of callers take no names from others, who may not see them.
func (s *Sources) snapshot(answers [][]*answer) *Snapshot {
	next := &Snapshot{groups: s.groups}
	taken := maps.Clone(s.fixed)
	for i, g := range s.groups {
		for _, fixed := range g.fixed {
			next.add(i, wrapped(fixed.tool, fixed.info), fixed.info, fixed.name)
		}
		p := part{merged(answers[i]), make(map[schemacheck.Print]*entry), g.PerCaller == nil}
		next.parts = append(next.parts, p)
		for _, l := range p.answer.list {
			e := &entry{doc: -1}
			p.entries[l.print] = e
			info := s.admitted(g, &l, taken, func(err error) { e.notes = append(e.notes, err.Error()) })
			if info == nil {
				continue
			}
			e.doc = len(next.Infos)
			next.add(i, nil, info, l.name)
			taken[info.Name] = taken[info.Name] || p.isShared
		}
	}
	return next
}

func (s *Snapshot) add(group int, t tool.BaseTool, info *schema.ToolInfo, name string) {
	s.Tools, s.Infos = append(s.Tools, t), append(s.Infos, info)
	s.Names, s.Of = append(s.Names, name), append(s.Of, group)
}

// admitted returns a definition of a Source as providers take it, frozen, and says what is wrong with it. It
// returns nil if the tool has to be left out. taken are the names of other tools.
func (s *Sources) admitted(g *group, d *listed, taken map[string]bool, note func(error)) *schema.ToolInfo {
	if d.info == nil {
		note(errors.New(d.problem))
		return nil
	}
	info := g.Named(d.info)
	isTaken := taken[info.Name] || g.PerCaller != nil && d.twins > 0
	refuse := func(err error) *schema.ToolInfo { note(err); return nil }
	switch {
	case len(info.Desc) > s.rules.MaxDescription:
		return refuse(fmt.Errorf("a description of %d bytes; at most %d are taken", len(info.Desc), s.rules.MaxDescription))
	case s.rules.IsMeta(info.Name):
		return refuse(errors.New("a meta-tool has this name"))
	case isTaken && s.rules.IsFiltered:
		note(errors.New("another dynamic tool has this name; a request has the first that it may see; " + usePrefix))
	case isTaken:
		return refuse(errors.New("another dynamic tool has this name; " + usePrefix))
	}
	mended := g.mended(info, d.name, note)
	if mended == nil {
		return nil
	}
	return schemacheck.Frozen(mended)
}

// mended returns a definition as providers take it, and says what is wrong with it. It returns nil if the tool
// has to be left out. name is the tool's own.
func (g *group) mended(info *schema.ToolInfo, name string, note func(error)) *schema.ToolInfo {
	mended, err, odd := schemacheck.Mended(info)
	if mended == nil {
		note(err)
		return nil
	}
	if !strings.HasSuffix(info.Name, name) {
		note(fmt.Errorf("mended: shown as %q, since providers refuse its name", info.Name))
	}
	if err != nil {
		note(fmt.Errorf("mended: %w", err))
	}
	if odd != nil {
		note(fmt.Errorf("kept: %w", odd))
	}
	return mended
}

// Yields returns the problem of a tool that is left out, since the agent has another of its name.
func (s *Snapshot) Yields(i int) Problem {
	g, part := s.groups[s.Of[i]], partSource
	if s.Tools[i] != nil {
		part = g.partOfTools()
	}
	err := fmt.Errorf("toolsearch: %s: %q is left out, since the agent has another tool of that name; %s", g.field(part), s.Infos[i].Name, usePrefix)
	return Problem{Group: g.Name, Part: part, Tool: s.Infos[i].Name, Err: err}
}

const (
	partSource = "Source" // the field of the Config, or of a group, that tools of a Source are from
	leftOut    = "left out or mended:"

	// usePrefix says what to do about tools of one name.
	usePrefix = "to have both, put the tools of each server into a Group with Prefix"
)

// partOfTools returns the field that the group's fixed tools are from.
func (g *group) partOfTools() string {
	if g.AsGiven {
		return "DynamicTools"
	}
	return "Tools"
}

// field returns the name of a field for messages, with its group.
func (g *group) field(part string) string {
	if g.Name == "" {
		return part
	}
	return fmt.Sprintf("%s of group %q", part, g.Name)
}

// problem returns the problem of a field, with a line for each tool.
func (g *group) problem(part, what string, lines []string) Problem {
	return Problem{Group: g.Name, Part: part, Err: Problems(g.field(part)+": "+what, lines)}
}
