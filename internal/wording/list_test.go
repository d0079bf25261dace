package wording_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/internal/wording"
)

// phrase writes a phrase as its key and its values.
func phrase(key string, values ...string) string {
	text := "<" + key
	for i := 1; i < len(values); i += 2 {
		text += " " + values[i]
	}
	return text + ">"
}

func list() wording.List {
	return wording.List{
		Tools: []wording.Tool{
			{Name: "mcp__git__commit", Description: "Records changes", Namespace: "git"},
			{Name: "mcp__git__push", Description: "Sends commits", Namespace: "git", NamespaceDescription: "Version control"},
			{Name: "weather", Description: "Tells the\nweather"},
			{Name: "mcp__db__query", Description: "Asks a table", Namespace: "db"},
		},
		Budget: wording.Unlimited,
		Phrase: phrase,
	}
}

func TestForms(t *testing.T) {
	const (
		names      = "<reminder>\nmcp__git__commit\nmcp__git__push\nweather\nmcp__db__query"
		described  = "<reminder>\nmcp__git__commit: Records changes\nmcp__git__push: Sends commits\nweather: Tells the weather\nmcp__db__query: Asks a table"
		grouped    = "<reminder-grouped>\nmcp__db__*: query\ngit (2): Version control\nmcp__git__*: commit, push\nweather"
		namespaces = "<reminder-namespaces 4>\ngit (2): Version control\ndb (1): query, Asks, table\n<reminder-no-namespace 1>: weather, Tells, the"
		largest    = "<reminder-namespaces 4>\ngit (2)\n<reminder-more-namespaces 2 2>"
		count      = "<reminder-count 4>"
	)
	for _, c := range []struct {
		name string
		edit func(l *wording.List)
		want string
	}{
		{"every name", func(*wording.List) {}, names},
		{"descriptions, if asked for", func(l *wording.List) { l.Describe = true }, described},
		{"descriptions that just fit", func(l *wording.List) { l.Describe, l.Budget = true, len(described) }, described},
		{"names, where descriptions do not fit", func(l *wording.List) { l.Describe, l.Budget = true, len(names) }, names},
		{"by namespace, since a group is declared", func(l *wording.List) { l.Groups = map[string]bool{"git": true} }, grouped},
		{"no names", func(l *wording.List) { l.OnlyNamespaces = true }, namespaces},
		{"no names, no room for descriptions", func(l *wording.List) { l.OnlyNamespaces, l.Budget = true, len(largest) }, largest},
		{"one line", func(l *wording.List) { l.Budget = len(largest) - 1 }, count},
		{"one line, whatever the budget", func(l *wording.List) { l.Budget = -1 }, count},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := list()
			c.edit(&l)
			text, _, _ := l.Text()
			assert.Equal(t, c.want, text)
		})
	}
}
