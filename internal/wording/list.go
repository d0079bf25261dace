package wording

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// A Tool is what a list may show of a tool.
type Tool struct {
	Name                 string
	Description          string
	Namespace            string // "" means none
	NamespaceDescription string // "" means none
}

// A List writes the list of the tools that a model can search for, within a budget.
// Each form is shorter than the previous form, and the first form that fits is taken:
//
//	names with descriptions, if asked for, cut shorter and shorter
//	names
//	names by namespace, without the prefix they share, with descriptions of the namespaces
//	namespaces with the number of their tools and with their descriptions
//	namespaces with the number of their tools, the largest first, as many as fit
//	one line
//
// The descriptions of namespaces share the room: all are cut to the same length, a short
// description leaves its room to longer ones, and a talkative server does not crowd out the others.
//
// The text depends only on the List: the same tools give the same bytes.
type List struct {
	Tools []Tool

	// Groups are the namespaces that the program declared. Names are listed by namespace, even if
	// all of them fit, if a tool has one of these namespaces or if there are Descriptions. Nil means
	// none.
	Groups map[string]bool

	// Descriptions describe namespaces, and override the NamespaceDescription of tools. Nil means
	// none.
	Descriptions map[string]string

	// OnlyNamespaces means that no tool names are listed.
	OnlyNamespaces bool

	// Describe adds a short description to each name if the budget allows it and names are not
	// listed by namespace.
	Describe bool

	// Budget is the largest length in bytes. The last form, which is one line, is taken whatever its
	// length. Unlimited means that every name is listed.
	Budget int

	// Phrase returns a phrase of the list by its key, with pairs of a placeholder and its value
	// filled in.
	Phrase func(key string, values ...string) string
}

// Unlimited is the Budget of a list that may have any length.
const Unlimited = math.MaxInt

// MaxDescriptionBytes is how much of a namespace's description is read.
const MaxDescriptionBytes = 2 << 10

// describeBytes are the lengths that descriptions are cut to, in turn.
var describeBytes = [...]int{120, 60, 30, 0}

// Text writes the list.
func (l *List) Text() (text string, form Form) {
	isGrouped := slices.ContainsFunc(l.Tools, func(t Tool) bool { return l.Groups[t.Namespace] })
	if !isGrouped && !l.OnlyNamespaces && len(l.Descriptions) == 0 {
		for _, length := range describeBytes {
			if length > 0 && !l.Describe {
				continue
			}
			if text := l.names(length); len(text) <= l.Budget {
				return text, Names
			}
		}
	}
	groups := l.groups()
	if !l.OnlyNamespaces {
		if text, fits := l.described(groups, l.grouped); fits {
			return text, Names
		}
	}
	if text, fits := l.described(groups, l.titles); fits {
		return text, Groups
	}
	if text := l.namespaces(groups); text != "" {
		return text, Groups
	}
	return l.Phrase("reminder-count", "{count}", strconv.Itoa(len(l.Tools))), Nothing
}

// Bounds on the descriptions of namespaces.
const (
	// maxDescriptionsBytes is the room for all descriptions in an Unlimited list. Ten servers
	// then have a paragraph each, in about 1,000 tokens.
	maxDescriptionsBytes = 4_000
	// minDescriptionBytes is the shortest that a longer description is cut to.
	minDescriptionBytes = 30
)

// described writes a form of the list with descriptions that share the budget. write writes the
// form, with at most limit bytes of each description. It reports false if the form does not fit
// the budget or leaves too little to the descriptions.
func (l *List) described(groups []group, write func(groups []group, limit int) string) (string, bool) {
	var lengths []int
	total := 0
	for i := range groups {
		if n := len(l.summary(&groups[i], MaxDescriptionBytes)); n > 0 {
			lengths = append(lengths, n)
			total += n
		}
	}
	text := write(groups, MaxDescriptionBytes)
	room := l.Budget - (len(text) - total)
	if l.Budget == Unlimited {
		room = maxDescriptionsBytes
	}
	if len(lengths) == 0 || total <= room {
		return text, len(text) <= l.Budget
	}
	limit := evenLimit(lengths, room)
	switch {
	case limit >= minDescriptionBytes:
		return write(groups, limit), true
	case l.Budget == Unlimited: // all names are wanted
		return write(groups, 0), true
	default:
		return "", false
	}
}

// evenLimit returns the largest limit such that lengths, each cut to it, take no more than room.
// Room that short ones do not need goes to longer ones.
func evenLimit(lengths []int, room int) int {
	sorted := slices.Sorted(slices.Values(lengths))
	for i, n := range sorted {
		if left := len(sorted) - i; n*left > room {
			return max(room, 0) / left
		}
		room -= n
	}
	return sorted[len(sorted)-1]
}

// names lists every name, with at most describe bytes of its description.
func (l *List) names(describe int) string {
	var b strings.Builder
	b.WriteString(l.Phrase("reminder"))
	for i := range l.Tools {
		t := &l.Tools[i]
		b.WriteString("\n" + naming.Safe(t.Name))
		if text := naming.ShortLine(t.Description, describe); text != "" {
			b.WriteString(": " + text)
		}
	}
	return b.String()
}

// group is the tools of a namespace, or with namespace "" the tools without a namespace.
type group struct {
	namespace string
	tools     []int
}

// groups returns the tools by namespace, sorted by name. Tools without a namespace come last.
func (l *List) groups() []group {
	of := make(map[string][]int)
	for tool, t := range l.Tools {
		of[t.Namespace] = append(of[t.Namespace], tool)
	}
	var groups []group
	for _, namespace := range slices.Sorted(maps.Keys(of)) {
		groups = append(groups, group{namespace, of[namespace]})
	}
	if len(groups) > 0 && groups[0].namespace == "" {
		groups = append(groups[1:], groups[0])
	}
	return groups
}

// grouped lists every name by namespace, without the prefix that the names share.
func (l *List) grouped(groups []group, limit int) string {
	var b strings.Builder
	b.WriteString(l.Phrase("reminder-grouped"))
	for i := range groups {
		g := &groups[i]
		prefix := l.prefix(g)
		if summary := l.summary(g, limit); summary != "" {
			b.WriteString("\n" + l.title(g) + ": " + summary)
		} else if prefix == "" && l.Groups[g.namespace] { // otherwise no line would name the namespace
			b.WriteString("\n" + l.title(g))
		}
		b.WriteByte('\n')
		if prefix != "" {
			b.WriteString(naming.Safe(prefix) + "*: ")
		}
		for i, tool := range g.tools {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(naming.Safe(strings.TrimPrefix(l.Tools[tool].Name, prefix)))
		}
	}
	return b.String()
}

// prefix returns the namespace prefix that all names of a group share, or "".
func (l *List) prefix(g *group) string {
	prefix := naming.Prefix(l.Tools[g.tools[0]].Name, g.namespace)
	for _, tool := range g.tools {
		if naming.Prefix(l.Tools[tool].Name, g.namespace) != prefix {
			return ""
		}
	}
	return prefix
}

func (l *List) title(g *group) string {
	if g.namespace == "" {
		return l.Phrase("reminder-no-namespace", "{count}", strconv.Itoa(len(g.tools)))
	}
	return fmt.Sprintf("%s (%d)", naming.Safe(g.namespace), len(g.tools))
}

// summary returns at most limit bytes of the description of a namespace.
func (l *List) summary(g *group, limit int) string {
	text, known := l.Descriptions[g.namespace]
	for i := 0; i < len(g.tools) && !known; i++ { // a tool may have a Group's namespace without being in the Group
		text = l.Tools[g.tools[i]].NamespaceDescription
		known = text != ""
	}
	return naming.ShortLine(text, limit)
}

// titles lists all namespaces, the largest first.
func (l *List) titles(groups []group, limit int) string {
	var b strings.Builder
	b.WriteString(l.namespacesLead())
	for _, g := range bySize(groups) {
		b.WriteString("\n" + l.title(&g))
		if summary := l.summary(&g, limit); summary != "" {
			b.WriteString(": " + summary)
		}
	}
	return b.String()
}

func (l *List) namespacesLead() string {
	return l.Phrase("reminder-namespaces", "{count}", strconv.Itoa(len(l.Tools)))
}

func bySize(groups []group) []group {
	return slices.SortedStableFunc(slices.Values(groups), func(a, b group) int { return cmp.Compare(len(b.tools), len(a.tools)) })
}

// namespaces lists the namespaces that fit, the largest first, and counts the others. It returns
// "" if no namespace fits.
func (l *List) namespaces(groups []group) string {
	groups = bySize(groups)
	rest := func(left []group) string {
		if len(left) == 0 {
			return ""
		}
		tools := 0
		for _, g := range left {
			tools += len(g.tools)
		}
		return "\n" + l.Phrase("reminder-more-namespaces", "{namespaces}", strconv.Itoa(len(left)), "{count}", strconv.Itoa(tools))
	}
	// The line about the remaining namespaces is longest when none is listed; that length is
	// reserved.
	reserve := len(rest(groups))
	var text strings.Builder
	text.WriteString(l.namespacesLead())
	taken := 0
	for i := range groups {
		line := "\n" + l.title(&groups[i])
		needed := text.Len() + len(line)
		if i < len(groups)-1 {
			needed += reserve
		}
		if needed > l.Budget {
			break
		}
		text.WriteString(line)
		taken++
	}
	if taken == 0 {
		return ""
	}
	return text.String() + rest(groups[taken:])
}
