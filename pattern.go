package toolsearch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Patterns that name tools, of Config.AlwaysLoaded and FilterTools, and which of FilterTools are idle.

// toolPattern is a parsed pattern. An asterisk stands for any text, even none.
type toolPattern struct {
	text      string // the whole pattern, which may also be a name
	tag       string // of "tag:x"
	namespace string // of "namespace:tool"
	tool      string
	kind      patternKind
}

type patternKind int

const (
	patternName patternKind = iota // "get_weather", "get_*"
	patternScoped
	patternTag
)

func parseToolPattern(text string) (toolPattern, error) {
	p := toolPattern{text: strings.TrimSpace(text)}
	if p.text == "" {
		return p, fmt.Errorf("the pattern %q is empty", text)
	}
	before, after, scoped := strings.Cut(p.text, ":")
	switch {
	case !scoped:
	case before == "" || after == "":
		return p, fmt.Errorf("the pattern %q has nothing before or after its colon", text)
	case before == "tag":
		p.kind, p.tag = patternTag, after
	default:
		p.kind, p.namespace, p.tool = patternScoped, before, after
	}
	return p, nil
}

func parseToolPatterns(texts []string) ([]toolPattern, error) {
	patterns := make([]toolPattern, 0, len(texts))
	for _, text := range texts {
		p, err := parseToolPattern(text)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

func (p *toolPattern) matches(doc *Document) bool {
	name := doc.Name
	if name == p.text {
		return true
	}
	switch p.kind {
	case patternTag:
		return slices.ContainsFunc(doc.Tags, func(tag string) bool { return glob(p.tag, tag) })
	case patternScoped:
		return glob(naming.Fold(p.namespace), naming.Fold(doc.Namespace)) && (glob(p.tool, name) || glob(p.tool, naming.Bare(name, doc.Namespace)))
	default:
		return glob(p.text, name)
	}
}

func matchesAny(patterns []toolPattern, doc *Document) bool {
	for i := range patterns {
		if patterns[i].matches(doc) {
			return true
		}
	}
	return false
}

// glob reports whether the whole text matches pattern. An asterisk stands for any text.
func glob(pattern, text string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, head)
	if !ok {
		return false
	}
	for {
		part, more, wild := strings.Cut(rest, "*")
		if !wild {
			return strings.HasSuffix(text, part)
		}
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text, rest = after, more
	}
}

// FilterTools returns a Config.Filter that passes the tools of the servers and the listed
// tools: a tool passes if it is in either list. A server is a namespace, such as "github" or
// "github:*". A tool is a pattern as in Config.AlwaysLoaded, such as "github:create_issue",
// "get_weather" or "tag:read". Tools of the tags pass in any case: with "human", a user may ask a
// human whatever else the user may do. Empty lists and no tags pass nothing: a user without
// permissions has no tools. For no filter at all leave Config.Filter nil.
//
// Config.Annotate sets namespaces and tags. A malformed pattern matches nothing. If an entry is
// malformed, or no tool of the whole catalog matches it, a FailureEvent says so, once for each
// catalog. A Filter of your own that calls this one has to pass its context on for that.
func FilterTools(servers, tools []string, tags ...string) func(ctx context.Context, doc Document) bool {
	var list filterList
	var patterns []toolPattern
	add := func(what, text string, p toolPattern, ok bool) {
		entry := filterEntry{text: what + " " + quoted(text)}
		if ok {
			patterns = append(patterns, p)
			entry.pattern = &p
		}
		list = append(list, entry)
	}
	for _, server := range servers {
		name := strings.TrimSuffix(strings.TrimSpace(server), ":*")
		add("server", server, toolPattern{kind: patternScoped, namespace: name, tool: "*"}, name != "" && !strings.Contains(name, ":"))
	}
	for _, text := range tags {
		tag := strings.TrimSpace(text)
		add("tag", text, toolPattern{kind: patternTag, tag: tag}, tag != "")
	}
	for _, text := range tools {
		p, err := parseToolPattern(text)
		add("tool", text, p, err == nil)
	}
	return func(ctx context.Context, doc Document) bool {
		if asked, ok := ctx.Value(filterListsKey{}).(*filterLists); ok {
			asked.add(&list)
		}
		return matchesAny(patterns, &doc)
	}
}

// filterList is what FilterTools was given.
type filterList []filterEntry

type filterEntry struct {
	text    string       // for an event: "server \"github\""
	pattern *toolPattern // nil means that the entry is malformed
}

// filterListsKey is the context key of a *filterLists, under which a Filter is asked.
type filterListsKey struct{}

// filterLists collects the entries of every FilterTools that a Filter calls. Whether an entry is
// idle is not seen from these calls, since a Filter may ask FilterTools about some tools only.
type filterLists struct {
	mu      sync.Mutex // a Filter may call from several goroutines
	last    *filterList
	entries filterList // without repetitions
	has     map[string]bool
}

func (f *filterLists) add(list *filterList) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if list == f.last {
		return
	}
	f.last = list
	for _, entry := range *list {
		if !f.has[entry.text] {
			f.has[entry.text] = true
			f.entries = append(f.entries, entry)
		}
	}
}

// idle returns the entries that are malformed or match no tool of an edition. It returns none if
// it was asked about the same entries before.
func (f *filterLists) idle(ed *edition) (texts []string) {
	f.mu.Lock()
	entries := f.entries
	f.mu.Unlock()
	var all strings.Builder
	for _, entry := range entries {
		all.WriteString(entry.text)
	}
	if !ed.filters.isNew(all.String()) {
		return nil
	}
	for _, entry := range entries {
		switch {
		case entry.pattern == nil:
			texts = append(texts, entry.text+" (malformed)")
		case !slices.ContainsFunc(ed.catalog.docs, func(doc Document) bool { return entry.pattern.matches(&doc) }):
			texts = append(texts, entry.text)
		}
	}
	return texts
}

// seenTexts remembers texts. It may be used by several runs at once. The zero value is ready.
type seenTexts struct {
	mu  sync.Mutex
	has map[string]bool
}

// maxSeenTexts bounds what seenTexts remembers: each user may have another Filter.
const maxSeenTexts = 1000

// isNew reports whether a text was not seen before.
func (s *seenTexts) isNew(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has[text] {
		return false
	}
	if s.has == nil || len(s.has) == maxSeenTexts {
		s.has = make(map[string]bool)
	}
	s.has[text] = true
	return true
}
