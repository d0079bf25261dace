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
//	names by namespace, without the prefix they share
//	namespaces with the number of their tools, the largest first, as many as fit
//	one line
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
	separated bool // the protocol separates searching from loading: the text has only namespaces
}

func newToolList(c *Catalog, announced []int, config *Config) *toolList {
	return &toolList{catalog: c, docs: announced, config: &config.Reminder, separated: config.Protocol == ProtocolSearchAdd}
}

// text returns the list. frame is the length of the rest of the reminder, in bytes.
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

// prefix returns the namespace prefix that all names of a group share, or "".
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

// summary returns the configured description of a namespace.
func (l *toolList) summary(namespace string) string {
	return shortLine(l.config.Namespaces[namespace], maxNamespaceSummary)
}

const maxNamespaceSummary = 300 // bytes

// namespaces lists the namespaces that fit, the largest first. It returns "" if none fits, or
// if describe is set and not all of them fit.
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
	// The line about the remaining namespaces is longest when none is listed; that length is
	// reserved.
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
