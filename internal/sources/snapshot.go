package sources

import (
	"errors"
	"fmt"
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
	Tools []tool.BaseTool    // as an agent gets them
	Infos []*schema.ToolInfo // of Tools, as the model sees them
	Names []string           // of Tools, their own

	groups  []*group
	origins []origin   // of Tools
	answers []*answer  // by group; nil means that its Source has not answered
	left    [][]string // by group: a line for each tool of its Source that was left out or mended
}

// origin is where a tool is from.
type origin struct {
	group int
	place int // in the answer of the group's Source; -1 means that it is one of the group's Tools
}

// snapshot returns the snapshot of answers. A tool that cannot be in a catalog is left out, and costs
// the others nothing.
func (s *Sources) snapshot(answers []*answer) *Snapshot {
	next := &Snapshot{groups: s.groups, answers: answers, left: make([][]string, len(s.groups))}
	taken := make(map[string]bool)
	for _, g := range s.groups {
		for _, fixed := range g.fixed {
			taken[fixed.info.Name] = true
		}
	}
	for i, g := range s.groups {
		for _, fixed := range g.fixed {
			next.add(fixed.tool, fixed.info, fixed.name, origin{i, -1})
		}
		if answers[i] == nil {
			continue
		}
		for place, l := range answers[i].list {
			info := s.admitted(g, &l.definition, taken, func(name string, err error) {
				next.left[i] = append(next.left[i], fmt.Sprintf("tool %d, %s: %v", l.number, naming.Quoted(name), err))
			})
			if info != nil {
				taken[info.Name] = true
				next.add(l.tool, info, l.name, origin{i, place})
			}
		}
	}
	return next
}

func (s *Snapshot) add(t tool.BaseTool, info *schema.ToolInfo, name string, o origin) {
	s.Tools, s.Infos = append(s.Tools, wrapped(t, info)), append(s.Infos, info)
	s.Names, s.origins = append(s.Names, name), append(s.origins, o)
}

// admitted returns a definition of a Source as providers take it, frozen, and says what is wrong with it. It returns nil if the tool has to be left out. taken are the names of other tools.
func (s *Sources) admitted(g *group, d *definition, taken map[string]bool, note func(name string, err error)) *schema.ToolInfo {
	if d.info == nil {
		note("", errors.New(d.problem))
		return nil
	}
	info := g.Named(d.info)
	refuse := func(err error) *schema.ToolInfo { note(d.name, err); return nil }
	switch {
	case len(info.Desc) > s.rules.MaxDescription:
		return refuse(fmt.Errorf("a description of %d bytes; at most %d are taken", len(info.Desc), s.rules.MaxDescription))
	case s.rules.IsMeta(info.Name):
		return refuse(errors.New("a meta-tool has this name"))
	case taken[info.Name] && s.rules.IsFiltered:
		note(d.name, errors.New("another dynamic tool has this name; a request has the first that it may see; "+usePrefix))
	case taken[info.Name]:
		return refuse(errors.New("another dynamic tool has this name; " + usePrefix))
	}
	mended := g.mended(info, d.name, func(err error) { note(d.name, err) })
	if mended == nil {
		return nil
	}
	return schemacheck.Frozen(mended)
}

// mended returns a definition as providers take it, and says what is wrong with it. It returns nil if the tool
// has to be left out. name is the tool's own.
func (g *group) mended(info *schema.ToolInfo, name string, note func(error)) *schema.ToolInfo {
	mended, err := schemacheck.Mended(info)
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
	if odd := schemacheck.OddParameter(mended); odd != nil {
		note(fmt.Errorf("kept: %w", odd))
	}
	return mended
}

// with returns a snapshot with the tools of another answer of a group with the same definitions.
func (s *Snapshot) with(group int, a *answer) *Snapshot {
	if a == s.answers[group] {
		return s
	}
	next := *s
	next.answers, next.Tools = slices.Clone(s.answers), slices.Clone(s.Tools)
	next.answers[group] = a
	for i, o := range s.origins {
		if o.group == group && o.place >= 0 {
			next.Tools[i] = wrapped(a.list[o.place].tool, s.Infos[i])
		}
	}
	return &next
}

// Group returns the group of a tool.
func (s *Snapshot) Group(i int) int { return s.origins[i].group }

// Changed returns the names of the groups that have other definitions than in a snapshot before.
func (s *Snapshot) Changed(before *Snapshot) (names []string) {
	for i, g := range s.groups {
		if g.Name != "" && !s.hasAnswer(i, before) {
			names = append(names, g.Name)
		}
	}
	return names
}

// hasAnswer reports whether a group's definitions are those of a snapshot before.
func (s *Snapshot) hasAnswer(group int, before *Snapshot) bool {
	a := s.answers[group]
	return a == nil || a.sameAs(before.answers[group])
}

// Problems returns what was left out or mended, by group, unless the snapshot before had the same
// problems with the same definitions.
func (s *Snapshot) Problems(before *Snapshot) (problems []Problem) {
	for i, g := range s.groups {
		if len(s.left[i]) > 0 && !(s.hasAnswer(i, before) && slices.Equal(s.left[i], before.left[i])) {
			problems = append(problems, g.problem(partSource, leftOut, s.left[i]))
		}
	}
	return problems
}

// Yields returns the problem of a tool that is left out, since the agent has another of its name.
func (s *Snapshot) Yields(i int) Problem {
	g, part := s.groups[s.origins[i].group], partSource
	if s.origins[i].place < 0 {
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
