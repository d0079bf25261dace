package search_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// What a query demands besides a ranking.

func narrowDocs() []search.Document {
	docs := []search.Document{
		doc("mcp__github__create_issue", "Opens a report with the HTTP2Server"),
		doc("jira__create_ticket", "Opens an ISSUE"),
		doc("send_mail", "Sends naïve e-mails"),
		doc("日历创建", "在日历中创建新的事件"),
	}
	docs[0].Namespace, docs[1].Namespace = "GitHub", "my-jira"
	docs[0].Parameters = []search.Parameter{{Name: "assignee", Description: "Whose duty it is", Enum: []string{"nobody"}}}
	docs[1].Annotation.Hint, docs[1].Annotation.Tags, docs[1].Annotation.Aliases = "complaints", []string{"billing"}, []string{"file_bug"}
	return docs
}

// allowedOf returns the documents that a query allows, as digits.
func allowedOf(q search.Query, docs int) string {
	allowed := ""
	for doc := range docs {
		if q.Allows(doc) {
			allowed += string(rune('0' + doc))
		}
	}
	return allowed
}

func TestNarrower(t *testing.T) {
	docs := narrowDocs()
	n := search.NewNarrower(docs)
	for _, tt := range []struct {
		text, namespace string
		rank            string // what is left to rank by
		allowed         string
	}{
		{"create issue", "", "create issue", "0123"},
		{"+issue", "", "issue", "01"},
		{"+ISSUES create", "", "ISSUES create", "01"}, // inflected
		{"+sue  x", "", "sue  x", "01"},               // a piece of a word
		{"+opens +issue", "", "opens issue", "01"},
		{"+report +issue", "", "report issue", "0"},
		{"+report +ticket", "", "report ticket", ""},
		{"+report +report", "", "report report", "0"},
		{"+create_issue", "", "create_issue", "01"}, // each of its words
		{"+e_iss", "", "e_iss", "0"},
		{"+http", "", "http", "0"},
		{"+server", "", "server", "0"},
		{"+assignees", "", "assignees", "0"}, // of a parameter
		{"+duties", "", "duties", "0"},
		{"+nobody", "", "nobody", "0"},
		{"+ignee", "", "ignee", ""}, // a piece of a word counts in names and descriptions only
		{"+jira", "", "jira", "1"},
		{"+complaint", "", "complaint", "1"},
		{"+billed", "", "billed", "1"},
		{"+bugs", "", "bugs", "1"},
		{"+the", "", "the", "0"}, // a stop word, literally
		{"+with", "", "with", "0"},
		{"+naive", "", "naive", "2"},
		{"+事件", "", "事件", "3"},
		{"+missing", "", "missing", ""},
		{"++issue", "", "+issue", "01"}, // the second is the word's, whose term is issue
		{"c++ +", "", "c++", "0123"},
		{"github: +report", "", "report", "0"},
		{"GITHUB : opens\n things", "", "opens\n things", "0"},
		{"My_Jira:+opens", "", "opens", "1"},
		{"my jira: opens", "", "opens", "1"},
		{"github:", "", "", "0"},
		{"github: jira: x", "", "jira: x", "0"},
		{"nobody: +issue", "", "nobody: issue", "01"},
		{": issue", "", ": issue", "0123"},
		{"opens", "github", "opens", "0"},
		{"opens", "my_jira", "opens", "1"},
		{"opens", "nobody", "opens", ""},
		{"github: opens", "my-jira", "github: opens", "1"}, // an argument goes before
		{"", "", "", "0123"},
	} {
		q := n.Narrow(n.Read(nil, tt.text, tt.namespace), nil)
		assert.Equal(t, tt.rank, q.Text, "%q in %q", tt.text, tt.namespace)
		if tt.rank != "c++" && tt.rank != "+issue" {
			assert.Equal(t, strings.Fields(tt.rank), append([]string{}, q.Keywords...), "%q in %q", tt.text, tt.namespace)
		}
		assert.Equal(t, tt.allowed, allowedOf(q, len(docs)), "%q in %q", tt.text, tt.namespace)
		even := n.Narrow(n.Read(nil, tt.text, tt.namespace), func(doc int) bool { return doc%2 == 0 })
		assert.Equal(t, strings.NewReplacer("1", "", "3", "").Replace(tt.allowed), allowedOf(even, len(docs)), "%q in %q, filtered", tt.text, tt.namespace)
	}
}

// TestNarrowerKeepsWhatIsAllowed: what a query allows already stays a demand.
func TestNarrowerKeepsWhatIsAllowed(t *testing.T) {
	n := search.NewNarrower(narrowDocs())
	q := search.Query{Text: "issue", Required: []string{"opens"}, Allowed: func(doc int) bool { return doc > 0 }}
	assert.Equal(t, "1", allowedOf(n.Narrow(q, nil), 4))
	assert.Empty(t, allowedOf(n.Narrow(q, func(doc int) bool { return doc != 1 }), 4))
}

// TestNarrowerBorrows: whichever searchers are at hand, and whatever they were built of, the
// rule is the same.
func TestNarrowerBorrows(t *testing.T) {
	docs := narrowDocs()
	fewer, others := docs[:2], narrowDocs()
	others[2].Description = "issue"
	for name, s := range map[string]search.Searcher{
		"none":                      nil,
		"Keyword":                   searcherOf(t, search.Keyword, docs...),
		"BM25":                      searcherOf(t, search.BM25, docs...),
		"BM25 without parameters":   searcherOf(t, search.BM25Options{ParameterName: search.Field{Weight: -1}}.Index, docs...),
		"both within a hybrid":      searcherOf(t, search.Hybrid(search.Hybrid(search.Fuzzy, search.BM25), search.Keyword), docs...),
		"Keyword of fewer":          searcherOf(t, search.Keyword, fewer...),
		"BM25 of fewer":             searcherOf(t, search.BM25, fewer...),
		"Keyword of others":         searcherOf(t, search.Keyword, others...),
		"BM25 of others":            searcherOf(t, search.BM25, others...),
		"Keyword of nothing at all": searcherOf(t, search.Keyword),
	} {
		n := search.NewNarrower(docs, s)
		for text, want := range map[string]string{"+issues": "01", "+sue": "01", "+assignees": "0", "+mails": "2", "+opens": "01"} {
			assert.Equal(t, want, allowedOf(n.Narrow(n.Read(nil, text, ""), nil), len(docs)), "%s: %q", name, text)
		}
		hits, err := find(t.Context(), n.Keyword(), search.ParseQuery("opens"))
		assert.NoError(t, err, name)
		assert.Len(t, hits, 2, name)
	}
}

// TestQueryReaders: the searchers that read a text in a way of their own.
func TestQueryReaders(t *testing.T) {
	docs := narrowDocs()
	n := search.NewNarrower(docs)
	for _, tt := range []struct {
		index           search.Indexer
		text, namespace string
		rank            string
		words           int
		allowed         string
	}{
		{search.Keyword, "+issue", "", "issue", 1, "01"},
		{search.Keyword, "+ISSUE create +r", "", "ISSUE create r", 3, "01"},
		{search.Keyword, "+issues", "", "issues", 1, ""}, // what scores nothing
		{search.Keyword, "+assignee", "", "assignee", 1, ""},
		{search.Keyword, "+e_iss", "", "e_iss", 1, "0"},
		{search.Keyword, "+the", "", "the", 1, "0"},
		{search.Keyword, "github: +opens", "", "github: opens", 2, "01"}, // a word like any other
		{search.Keyword, "+opens", "github", "opens", 1, "0"},
		{search.Regexp, "+x github: y", "", "+x github: y", 0, "0123"},
		{search.Regexp, " github:.* ", "github", "github:.*", 0, "0"},
	} {
		s := searcherOf(t, tt.index, docs...)
		q := n.Narrow(n.Read(s, tt.text, tt.namespace), nil)
		assert.Equal(t, tt.rank, q.Text, "%q in %q", tt.text, tt.namespace)
		assert.Len(t, q.Keywords, tt.words, "%q in %q", tt.text, tt.namespace)
		assert.Equal(t, tt.allowed, allowedOf(q, len(docs)), "%q in %q", tt.text, tt.namespace)
	}
}

// TestNarrowerAtOnce: the parts of a Narrower are built once, whoever asks first. It is for the
// race detector.
func TestNarrowerAtOnce(t *testing.T) {
	docs := narrowDocs()
	n := search.NewNarrower(docs)
	s := searcherOf(t, search.BM25, docs...)
	var wait sync.WaitGroup
	for range 4 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for _, word := range testtools.Words {
				hits, err := find(context.Background(), s, n.Narrow(n.Read(s, "github: +"+word, ""), nil))
				assert.NoError(t, err)
				assert.LessOrEqual(t, len(hits), 1)
			}
			assert.Equal(t, "01", allowedOf(n.Narrow(n.Read(s, "+issue", ""), nil), len(docs)))
		}()
	}
	wait.Wait()
}
