package toolsearch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// The text of the reminder, within its budget. Each form is shorter than the form before it,
// and the first that fits is taken:
//
//	names with descriptions, if asked for, cut shorter and shorter
//	names
//	names by namespace, without the prefix they share, with descriptions of the namespaces
//	namespaces with the number of their tools and with their descriptions
//	namespaces with the number of their tools, the largest first, as many as fit
//	one line
//
// Tools of groups are listed by namespace. The descriptions of namespaces share what room there
// is: all are cut to the same length, so that a short description leaves its room to long ones,
// and a server that says much does not crowd out the others.
//
// The text depends only on the tools and the configuration: the same tools give the same bytes.

// bytesPerToken is the assumed length of a token. It is about right for English prose and for
// names in most tokenizers. A token of Chinese has more bytes.
const bytesPerToken = 4

// describeBytes are the lengths that descriptions are cut to, in turn.
var describeBytes = [...]int{120, 60, 30}

type toolList struct {
	catalog   *Catalog
	docs      []int // the tools to be announced
	config    *ReminderConfig
	named     map[string]bool // the names of the Groups
	separated bool            // the protocol separates searching from loading: the text has only namespaces
}

func newToolList(c *Catalog, announced []int, config *Config) *toolList {
	l := &toolList{catalog: c, docs: announced, config: &config.Reminder, named: make(map[string]bool), separated: config.Protocol == ProtocolSearchAdd}
	for _, g := range config.Groups {
		l.named[g.Name] = true
	}
	return l
}

// isGrouped reports whether names are listed by namespace even if all of them fit.
func (l *toolList) isGrouped() bool {
	return l.separated || len(l.config.Namespaces) > 0 ||
		len(l.named) > 0 && slices.ContainsFunc(l.docs, func(doc int) bool { return l.named[l.catalog.docs[doc].Namespace] })
}

// text returns the list. frame is the length of the rest of the reminder, in bytes.
func (l *toolList) text(frame int) string {
	budget := 1 << 62
	if l.config.MaxTokens > 0 {
		budget = min(l.config.MaxTokens, budget/bytesPerToken)*bytesPerToken - frame
	}
	if !l.isGrouped() {
		if l.config.Describe {
			for _, length := range describeBytes {
				if text := l.names(length); len(text) <= budget {
					return text
				}
			}
		}
		if text := l.names(0); len(text) <= budget {
			return text
		}
	}
	groups := l.groups()
	if !l.separated {
		if text, fits := l.described(groups, budget, l.grouped); fits {
			return text
		}
	}
	if text, fits := l.described(groups, budget, l.titles); fits {
		return text
	}
	if text := l.namespaces(groups, budget); text != "" {
		return text
	}
	return l.catalog.prompt.text("reminder-count", "{count}", strconv.Itoa(len(l.docs)))
}

// Bounds on the descriptions of namespaces.
const (
	// maxDescriptionsBytes is the room of all of them without a MaxTokens. Ten servers then have
	// as much as a paragraph each, in about 1,000 tokens.
	maxDescriptionsBytes = 4_000
	// minDescriptionBytes is the least that is told of a longer description.
	minDescriptionBytes = 30
)

// described writes a form of the list with descriptions that share the budget. write writes the
// form, with at most limit bytes of each description. It reports false if the form does not fit
// the budget or leaves too little to the descriptions.
func (l *toolList) described(groups []toolGroup, budget int, write func(groups []toolGroup, limit int) string) (string, bool) {
	var lengths []int
	total := 0
	for i := range groups {
		if n := len(l.summary(&groups[i], maxDescribedBytes)); n > 0 {
			lengths = append(lengths, n)
			total += n
		}
	}
	text := write(groups, maxDescribedBytes)
	room := budget - (len(text) - total)
	if l.config.MaxTokens == 0 {
		room = maxDescriptionsBytes
	}
	if len(lengths) == 0 || total <= room {
		return text, len(text) <= budget
	}
	limit := evenLimit(lengths, room)
	switch {
	case limit >= minDescriptionBytes:
		return write(groups, limit), true
	case l.config.MaxTokens == 0: // all names are asked for
		return write(groups, 0), true
	default:
		return "", false
	}
}

// evenLimit returns the largest limit such that lengths, each cut to it, take no more than room.
// What the short ones do not need goes to the long ones.
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
func (l *toolList) names(describe int) string {
	var b strings.Builder
	b.WriteString(l.catalog.prompt.text("reminder"))
	for _, doc := range l.docs {
		d := &l.catalog.docs[doc]
		b.WriteString("\n" + naming.Shown(d.Name))
		if text := shortLine(d.Description, describe); text != "" {
			b.WriteString(": " + text)
		}
	}
	return b.String()
}

// shortLine returns the beginning of a description as one line of at most limit bytes.
func shortLine(text string, limit int) string {
	if limit <= 0 {
		return ""
	}
	line := strings.TrimSpace(naming.OneLine(text, 4*limit))
	if len(line) <= limit {
		return line
	}
	return strings.TrimSpace(naming.CutWords(line, limit-len("…"))) + "…"
}

// toolGroup is the tools of a namespace, or with namespace "" the tools without a namespace.
type toolGroup struct {
	namespace string
	docs      []int
}

// groups returns the tools by namespace, sorted by name. Tools without a namespace come last.
func (l *toolList) groups() []toolGroup {
	at := make(map[string]int)
	var groups []toolGroup
	for _, doc := range l.docs {
		namespace := l.catalog.docs[doc].Namespace
		i, known := at[namespace]
		if !known {
			i = len(groups)
			at[namespace] = i
			groups = append(groups, toolGroup{namespace: namespace})
		}
		groups[i].docs = append(groups[i].docs, doc)
	}
	slices.SortFunc(groups, func(a, b toolGroup) int {
		if (a.namespace == "") != (b.namespace == "") {
			return len(b.namespace) - len(a.namespace)
		}
		return strings.Compare(a.namespace, b.namespace)
	})
	return groups
}

// grouped lists every name by namespace, without the prefix that the names share.
func (l *toolList) grouped(groups []toolGroup, limit int) string {
	var b strings.Builder
	b.WriteString(l.catalog.prompt.text("reminder-grouped"))
	for i := range groups {
		g := &groups[i]
		prefix := l.prefix(g)
		if summary := l.summary(g, limit); summary != "" {
			b.WriteString("\n" + l.title(g) + ": " + summary)
		} else if prefix == "" && l.named[g.namespace] { // else no line would say the namespace
			b.WriteString("\n" + l.title(g))
		}
		b.WriteByte('\n')
		if prefix != "" {
			b.WriteString(naming.Shown(prefix) + "*: ")
		}
		for i, doc := range g.docs {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(naming.Shown(strings.TrimPrefix(l.catalog.docs[doc].Name, prefix)))
		}
	}
	return b.String()
}

// prefix returns the namespace prefix that all names of a group share, or "".
func (l *toolList) prefix(g *toolGroup) string {
	prefix := naming.Prefix(l.catalog.docs[g.docs[0]].Name, g.namespace)
	for _, doc := range g.docs {
		if naming.Prefix(l.catalog.docs[doc].Name, g.namespace) != prefix {
			return ""
		}
	}
	return prefix
}

func (l *toolList) title(g *toolGroup) string {
	if g.namespace == "" {
		return l.catalog.prompt.text("reminder-no-namespace", "{count}", strconv.Itoa(len(g.docs)))
	}
	return fmt.Sprintf("%s (%d)", naming.Shown(g.namespace), len(g.docs))
}

// summary returns at most limit bytes of the description of a namespace.
func (l *toolList) summary(g *toolGroup, limit int) string {
	text, known := l.config.Namespaces[g.namespace]
	for i := 0; i < len(g.docs) && !known; i++ { // a tool of the namespace need not be of its group
		text = l.catalog.docs[g.docs[i]].NamespaceDescription
		known = text != ""
	}
	return shortLine(text, limit)
}

// titles lists all namespaces, the largest first.
func (l *toolList) titles(groups []toolGroup, limit int) string {
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

func (l *toolList) namespacesLead() string {
	return l.catalog.prompt.text("reminder-namespaces", "{count}", strconv.Itoa(len(l.docs)))
}

func bySize(groups []toolGroup) []toolGroup {
	return slices.SortedStableFunc(slices.Values(groups), func(a, b toolGroup) int { return cmp.Compare(len(b.docs), len(a.docs)) })
}

// namespaces lists the namespaces that fit, the largest first, and counts the others. It returns
// "" if none fits.
func (l *toolList) namespaces(groups []toolGroup, budget int) string {
	groups = bySize(groups)
	rest := func(left []toolGroup) string {
		if len(left) == 0 {
			return ""
		}
		tools := 0
		for _, g := range left {
			tools += len(g.docs)
		}
		return "\n" + l.catalog.prompt.text("reminder-more-namespaces", "{namespaces}", strconv.Itoa(len(left)), "{count}", strconv.Itoa(tools))
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
		if needed > budget {
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
