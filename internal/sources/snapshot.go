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

// A Snapshot is the tools of all groups at one time: those of each group together, and of these the tools that do not
// change first. It never changes.
type Snapshot struct {
	Tools []tool.BaseTool    // as an agent gets them; nil for a tool of a Source, of which each caller has its own
	Infos []*schema.ToolInfo // of Tools, as the model sees them
	Names []string           // of Tools, their own
	Of    []int              // the groups of Tools

	number   int // of snapshots before it
	groups   []*group
	verdicts []verdicts // by group
	added    []*listing // those that the snapshot before does not have
}

// verdicts say what became of the tools that a Source returned to all callers together.
type verdicts struct {
	print   schemacheck.Print              // of all definitions
	docs    map[schemacheck.Print]int      // by definition: its place in the snapshot; -1 means that it was left out
	reasons map[schemacheck.Print][]string // by definition: why it was left out, or what was mended
}

// has reports whether the snapshot contains all definitions of a listing; without PerCaller, exactly those.
func (s *Snapshot) has(l *listing) bool {
	v := &s.verdicts[l.caller.group]
	if s.groups[l.caller.group].PerCaller == nil {
		return l.print == v.print
	}
	return !slices.ContainsFunc(l.tools, func(t listed) bool { _, is := v.docs[t.print]; return !is })
}

// placement is the tools of a listing in a snapshot.
type placement struct {
	listing *listing
	number  int // of the snapshot
	docs    []int
	tools   []tool.BaseTool // of docs
	names   map[string]bool // of tools
	reasons []reason
}

// reason says why a tool was left out, or what was mended.
type reason struct {
	number int    // of the tool, in its list
	name   string // the tool's own
	text   string
}

// place returns the tools of a listing whose definitions the snapshot has.
func (s *Snapshot) place(l *listing) placement {
	p, v := placement{listing: l, number: s.number, names: make(map[string]bool)}, &s.verdicts[l.caller.group]
	for _, t := range l.tools {
		for _, text := range v.reasons[t.print] {
			p.reasons = append(p.reasons, reason{t.number, t.name, text})
		}
		if doc := v.docs[t.print]; doc >= 0 {
			info := s.Infos[doc]
			p.docs, p.tools, p.names[info.Name] = append(p.docs, doc), append(p.tools, wrapped(t.tool, info)), true
		}
	}
	return p
}

// snapshot returns the snapshot of listings, by group. A tool that cannot be in a catalog is left out, and costs the
// others nothing. One of a Source with PerCaller takes its name from no other tool, since other callers do not see it.
func (s *Sources) snapshot(listings [][]*listing) *Snapshot {
	next := &Snapshot{groups: s.groups}
	taken := maps.Clone(s.fixed)
	for i, g := range s.groups {
		for n, t := range g.fixed.Tools {
			next.add(i, t, g.fixed.Infos[n], g.fixed.Names[n])
		}
		var tools []listed
		for _, l := range listings[i] {
			tools = append(tools, l.tools...)
		}
		v := verdicts{sorted(tools), make(map[schemacheck.Print]int), make(map[schemacheck.Print][]string)}
		next.verdicts = append(next.verdicts, v)
		for _, t := range tools {
			if _, known := v.docs[t.print]; known { // from an earlier listing
				continue
			}
			info := s.admitted(g, &t, taken, func(err error) { v.reasons[t.print] = append(v.reasons[t.print], err.Error()) })
			if v.docs[t.print] = -1; info == nil {
				continue
			}
			v.docs[t.print] = len(next.Infos)
			next.add(i, nil, info, t.name)
			taken[info.Name] = taken[info.Name] || g.PerCaller == nil
		}
	}
	return next
}

func (s *Snapshot) add(group int, t tool.BaseTool, info *schema.ToolInfo, name string) {
	s.Tools, s.Infos = append(s.Tools, t), append(s.Infos, info)
	s.Names, s.Of = append(s.Names, name), append(s.Of, group)
}

// admitted returns the definition of a Source's tool in a form that providers accept, frozen. It returns nil if the
// tool has to be left out, and tells because what is wrong. taken are the names of other tools.
func (s *Sources) admitted(g *group, d *listed, taken map[string]bool, because func(error)) *schema.ToolInfo {
	refuse := func(err error) *schema.ToolInfo { because(err); return nil }
	if d.info == nil {
		return refuse(errors.New(d.problem))
	}
	info := g.Named(d.info)
	isTaken := taken[info.Name] || g.PerCaller != nil && d.twins > 0
	switch {
	case len(info.Desc) > s.rules.MaxDescription:
		return refuse(fmt.Errorf("a description of %d bytes; at most %d are taken", len(info.Desc), s.rules.MaxDescription))
	case s.rules.IsMeta(info.Name):
		return refuse(errors.New("a meta-tool has this name"))
	case isTaken && s.rules.IsFiltered:
		because(errors.New("another dynamic tool has this name; a request has the first that it may see; " + usePrefix))
	case isTaken:
		return refuse(errors.New("another dynamic tool has this name; " + usePrefix))
	}
	if info = g.mended(info, d.name, because); info == nil {
		return nil
	}
	return schemacheck.Frozen(info)
}

// mended is admitted for any tool, whose own name is given, and does not freeze.
func (g *group) mended(info *schema.ToolInfo, name string, because func(error)) *schema.ToolInfo {
	mended, err, odd := schemacheck.Mended(info)
	if mended == nil {
		because(err)
		return nil
	}
	if !strings.HasSuffix(info.Name, name) {
		because(fmt.Errorf("mended: shown as %q, since providers refuse its name", info.Name))
	}
	if err != nil {
		because(fmt.Errorf("mended: %w", err))
	}
	if odd != nil {
		because(fmt.Errorf("kept: %w", odd))
	}
	return mended
}

// Yields returns the problem of a tool that is left out, since the agent has another of its name.
func (s *Snapshot) Yields(i int) Problem {
	g, part := s.groups[s.Of[i]], partSource
	if s.Tools[i] != nil {
		part = g.part
	}
	err := fmt.Errorf("toolsearch: %s: %q is left out, since the agent has another tool of that name; %s", g.field(part), s.Infos[i].Name, usePrefix)
	return Problem{Group: g.Name, Part: part, Tool: s.Infos[i].Name, Err: err}
}

const (
	partSource = "Source" // the field of the Config, or of a group, that names a Source
	leftOut    = "left out or mended:"

	// usePrefix says what to do about tools of one name.
	usePrefix = "to have both, put the tools of each server into a Group with Prefix"
)

func (g *group) field(part string) string {
	if g.Name == "" {
		return part
	}
	return fmt.Sprintf("%s of group %q", part, g.Name)
}

// problem returns the problem of a field, with a line for each reason. It names the tool if all reasons are about one.
func (g *group) problem(part, what string, reasons []reason) Problem {
	p := Problem{Group: g.Name, Part: part, Tool: reasons[0].name, Err: Problems(g.field(part)+": "+what, texts(reasons))}
	if slices.ContainsFunc(reasons, func(r reason) bool { return r.number != reasons[0].number }) {
		p.Tool = ""
	}
	return p
}

func texts(reasons []reason) (lines []string) {
	for _, r := range reasons {
		lines = append(lines, fmt.Sprintf("tool %d, %s: %s", r.number, naming.Quoted(r.name), r.text))
	}
	return lines
}
