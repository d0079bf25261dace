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

// A List writes the list of the tools that a model can search for, in the first of these forms that fits a budget:
//
//	names with descriptions, if asked for, cut shorter and shorter
//	names
//	names by namespace, without the prefix they share, with descriptions of the namespaces
//	namespaces with the number of their tools and with their descriptions
//	namespaces with the number of their tools, the largest first, as many as fit
//	one line
//
// The descriptions of namespaces share the room: all are cut to the same length, a short one leaves its room to longer
// ones, and a talkative server does not crowd out the others. The same tools give the same bytes.
type List struct {
	Tools          []Tool
	Groups         map[string]bool   // the namespaces that the program declared; with tools of one, names are by namespace
	Descriptions   map[string]string // of namespaces, before those of tools; with any, names are by namespace
	OnlyNamespaces bool              // lists no names of tools
	Describe       bool              // adds short descriptions to names that are not by namespace
	Budget         int               // the largest length in bytes, of all forms but the last

	// Phrase returns a phrase of the list by its key, with pairs of a placeholder and its value filled in.
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
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(len(b.tools), len(a.tools)) }) // the largest first
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
	// maxDescriptionsBytes is the room for all descriptions in an Unlimited list: a paragraph each for ten servers.
	maxDescriptionsBytes = 4_000
	// minDescriptionBytes is the shortest that a longer description is cut to.
	minDescriptionBytes = 30
)

// described writes a form of the list with descriptions that share the budget. write writes it with at most limit bytes
// of each. It reports false if the form does not fit the budget or leaves too little to the descriptions.
func (l *List) described(groups []group, write func(groups []group, limit int) string) (string, bool) {
	var lengths []int
	total := 0
	for i := range groups {
		if n := len(groups[i].summary(MaxDescriptionBytes)); n > 0 {
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

// evenLimit returns the largest limit such that lengths, each cut to it, take no more than room, which they exceed.
func evenLimit(lengths []int, room int) int {
	slices.Sort(lengths)
	for len(lengths) > 1 && lengths[0]*len(lengths) <= room {
		room, lengths = room-lengths[0], lengths[1:]
	}
	return max(room, 0) / len(lengths)
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
	namespace   string
	tools       []*Tool
	title       string // with the number of tools
	description string
	prefix      string // of its namespace, if all names share it
}

// groups returns the tools by namespace, sorted by name. Tools without a namespace come last.
func (l *List) groups() []group {
	of := make(map[string][]*Tool)
	for i := range l.Tools {
		t := &l.Tools[i]
		of[t.Namespace] = append(of[t.Namespace], t)
	}
	var groups []group
	for _, namespace := range slices.Sorted(maps.Keys(of)) {
		g := group{namespace: namespace, tools: of[namespace], prefix: naming.Prefix(of[namespace][0].Name, namespace)}
		for _, t := range g.tools { // a tool may have a Group's namespace without being in the Group
			g.description = cmp.Or(g.description, t.NamespaceDescription)
			if naming.Prefix(t.Name, namespace) != g.prefix {
				g.prefix = ""
			}
		}
		if own, known := l.Descriptions[namespace]; known {
			g.description = own
		}
		g.title = fmt.Sprintf("%s (%d)", naming.Safe(namespace), len(g.tools))
		groups = append(groups, g)
	}
	if len(groups) > 0 && groups[0].namespace == "" {
		groups = append(groups[1:], groups[0])
		last := &groups[len(groups)-1]
		last.title = l.Phrase("reminder-no-namespace", "{count}", strconv.Itoa(len(last.tools)))
	}
	return groups
}

// summary returns at most limit bytes of the description of a namespace.
func (g *group) summary(limit int) string { return naming.ShortLine(g.description, limit) }

// line is the title and the summary, on a line of their own.
func (g *group) line(limit int) string {
	if summary := g.summary(limit); summary != "" {
		return "\n" + g.title + ": " + summary
	}
	return "\n" + g.title
}

// grouped lists every name by namespace, without the prefix that the names share.
func (l *List) grouped(groups []group, limit int) string {
	var b strings.Builder
	b.WriteString(l.Phrase("reminder-grouped"))
	for i := range groups {
		g := &groups[i]
		if g.summary(limit) != "" || g.prefix == "" && l.Groups[g.namespace] { // otherwise no line would name the namespace
			b.WriteString(g.line(limit))
		}
		b.WriteByte('\n')
		if g.prefix != "" {
			b.WriteString(naming.Safe(g.prefix) + "*: ")
		}
		for i, t := range g.tools {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(naming.Safe(strings.TrimPrefix(t.Name, g.prefix)))
		}
	}
	return b.String()
}

// titles lists namespaces.
func (l *List) titles(groups []group, limit int) string {
	var b strings.Builder
	b.WriteString(l.Phrase("reminder-namespaces", "{count}", strconv.Itoa(len(l.Tools))))
	for i := range groups {
		b.WriteString(groups[i].line(limit))
	}
	return b.String()
}

// namespaces lists the first namespaces that fit, and counts the others. It returns "" if no namespace fits.
func (l *List) namespaces(groups []group) string {
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
	// The line about the remaining namespaces is longest when none is listed; that length is reserved.
	reserve := len(rest(groups))
	text, taken := l.titles(nil, 0), 0
	for i := range groups {
		if i == len(groups)-1 {
			reserve = 0
		}
		line := groups[i].line(0)
		if len(text)+len(line)+reserve > l.Budget {
			break
		}
		text, taken = text+line, i+1
	}
	if taken == 0 {
		return ""
	}
	return text + rest(groups[taken:])
}
