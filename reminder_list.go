package toolsearch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// What the reminder says, within its budget. Each form says less than the one before it,
// and the first that fits is taken:
//
//	names with descriptions, as long as is asked for and then shorter
//	names
//	names by namespace, without the prefix they share
//	namespaces with the number of their tools, the largest first, as many as fit
//	one line
//
// It is a function of the tools alone: the same ones give the same bytes.

// bytesPerToken is how much text is taken for a token; it is about that for English prose
// and for names in most tokenizers, and too little of one for Chinese.
const bytesPerToken = 4

// describeBytes are the lengths that descriptions are cut to, in turn.
var describeBytes = [...]int{120, 60, 30}

type toolList struct {
	catalog   *Catalog
	docs      []int // the tools to be announced
	config    *ReminderConfig
	separated bool // the protocol searches and loads apart: only namespaces are told
}

func newToolList(c *Catalog, announced []int, config *Config) *toolList {
	return &toolList{catalog: c, docs: announced, config: &config.Reminder, separated: config.Protocol == ProtocolSearchAdd}
}

// text returns the list, for a reminder that has that many bytes besides.
func (l *toolList) text(frame int) string {
	budget := 1 << 62
	if l.config.MaxTokens > 0 {
		budget = min(l.config.MaxTokens, budget/bytesPerToken)*bytesPerToken - frame
	}
	if !l.separated && len(l.config.Namespaces) == 0 {
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
		if text := l.grouped(groups); len(text) <= budget {
			return text
		}
	}
	for _, describe := range []bool{true, false} {
		if text := l.namespaces(groups, budget, describe); text != "" {
			return text
		}
	}
	return l.catalog.prompt.text("reminder-count", "{count}", strconv.Itoa(len(l.docs)))
}

// names lists every name, with that many bytes of its description.
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

// toolGroup is the tools of one namespace, "" for those without.
type toolGroup struct {
	namespace string
	docs      []int
}

// groups returns the namespaces by name, the tools without one last.
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

// grouped lists every name behind what the names of its namespace begin with.
func (l *toolList) grouped(groups []toolGroup) string {
	var b strings.Builder
	b.WriteString(l.catalog.prompt.text("reminder-grouped"))
	for _, g := range groups {
		if summary := l.summary(g.namespace); summary != "" {
			b.WriteString("\n" + l.title(g) + ": " + summary)
		}
		prefix := l.prefix(g)
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

// prefix is what the names of a group all begin with, if that is their namespace.
func (l *toolList) prefix(g toolGroup) string {
	prefix := naming.Prefix(l.catalog.docs[g.docs[0]].Name, g.namespace)
	for _, doc := range g.docs {
		if naming.Prefix(l.catalog.docs[doc].Name, g.namespace) != prefix {
			return ""
		}
	}
	return prefix
}

func (l *toolList) title(g toolGroup) string {
	if g.namespace == "" {
		return l.catalog.prompt.text("reminder-no-namespace", "{count}", strconv.Itoa(len(g.docs)))
	}
	return fmt.Sprintf("%s (%d)", naming.Shown(g.namespace), len(g.docs))
}

// summary is what the user says of a namespace.
func (l *toolList) summary(namespace string) string {
	return shortLine(l.config.Namespaces[namespace], maxNamespaceSummary)
}

const maxNamespaceSummary = 300 // bytes

// namespaces lists the namespaces that fit, those with the most tools first; "" if not one
// does.
func (l *toolList) namespaces(groups []toolGroup, budget int, describe bool) string {
	bySize := slices.Clone(groups)
	slices.SortStableFunc(bySize, func(a, b toolGroup) int { return cmp.Compare(len(b.docs), len(a.docs)) })
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
	// What is left is said in fewer words the less it is, so the longest text of it that
	// can be is reserved.
	reserve := len(rest(bySize))
	var text strings.Builder
	text.WriteString(l.catalog.prompt.text("reminder-namespaces", "{count}", strconv.Itoa(len(l.docs))))
	taken := 0
	for i, g := range bySize {
		line := "\n" + l.title(g)
		if summary := l.summary(g.namespace); describe && summary != "" {
			line += ": " + summary
		}
		needed := text.Len() + len(line)
		if i < len(bySize)-1 {
			needed += reserve
		}
		if needed > budget {
			break
		}
		text.WriteString(line)
		taken++
	}
	if taken == 0 || describe && taken < len(bySize) {
		return ""
	}
	return text.String() + rest(bySize[taken:])
}
