package naming

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Filters made of lists, and the idle entries of these lists. The calls of a Filter do not show whether an entry is
// idle, since a program may call it for some tools only. So a Watch records which Filters are asked, and tries their
// entries.

// A Filter passes the tools that one of its lists names. It is safe for concurrent use.
type Filter struct{ entries []entry }

// entry is an entry of a list.
type entry struct {
	text    string   // for a person: "server \"github\""
	pattern *Pattern // nil means that the entry is malformed
}

// NewFilter returns a Filter that passes tools of the servers, tools with one of the tags, and tools that match the
// patterns in tools. A server is a namespace, such as "github" or "github:*". A malformed entry matches nothing.
func NewFilter(servers, tags, tools []string) *Filter {
	f := &Filter{}
	add := func(what, text string, p Pattern, ok bool) {
		entry := entry{text: what + " " + Quoted(text)}
		if ok {
			entry.pattern = &p
		}
		f.entries = append(f.entries, entry)
	}
	for _, server := range servers {
		name := strings.TrimSuffix(strings.TrimSpace(server), ":*")
		add("server", server, Pattern{namespace: name, tool: "*"}, name != "" && !strings.Contains(name, ":"))
	}
	for _, text := range tags {
		tag := strings.TrimSpace(text)
		add("tag", text, Pattern{tag: tag}, tag != "")
	}
	for _, text := range tools {
		p, err := ParsePattern(text)
		add("tool", text, p, err == nil)
	}
	return f
}

// Passes reports whether a list names the tool. A Watch in the context records the Filter.
func (f *Filter) Passes(ctx context.Context, t *Tool) bool {
	if w, ok := ctx.Value(watchKey{}).(*Watch); ok {
		w.add(f)
	}
	return slices.ContainsFunc(f.entries, func(e entry) bool { return e.pattern != nil && e.pattern.Matches(t) })
}

// A Watch collects the entries of every Filter that is asked under its context. It is safe for concurrent use.
type Watch struct {
	mu      sync.Mutex
	last    *Filter
	entries []entry // without repetitions
	has     map[string]bool
}

// watchKey is the context key of a Watch.
type watchKey struct{}

// NewWatch returns a Watch and its context.
func NewWatch(ctx context.Context) (context.Context, *Watch) {
	w := &Watch{has: make(map[string]bool)}
	return context.WithValue(ctx, watchKey{}, w), w
}

func (w *Watch) add(f *Filter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f == w.last {
		return
	}
	w.last = f
	for _, entry := range f.entries {
		if !w.has[entry.text] {
			w.has[entry.text] = true
			w.entries = append(w.entries, entry)
		}
	}
}

// Idle returns the entries that are malformed or of which isUsed says that no tool matches.
func (w *Watch) Idle(isUsed func(*Pattern) bool) (texts []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, entry := range w.entries {
		switch {
		case entry.pattern == nil:
			texts = append(texts, entry.text+" (malformed)")
		case !isUsed(entry.pattern):
			texts = append(texts, entry.text)
		}
	}
	return texts
}
