package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/components/indexer"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/search"
)

// TestDocumentIDs: what Python's uuid.uuid5 makes of the same names.
func TestDocumentIDs(t *testing.T) {
	for name, want := range map[string]string{
		"get_weather": "ca4c2b1c-0139-5c62-ad1b-5dde40d37d1a",
		"发送邮件":        "a443c137-f8ad-5f80-aa9d-a80ddb4be95e",
	} {
		assert.Equal(t, want, search.DocumentID(name), "%s", name)
	}
}

func TestSchemaDocument(t *testing.T) {
	d := search.Document{
		Name: "mcp__github__createIssue", Description: " Opens an issue\n",
		Parameters: []search.Parameter{{Name: "title", Description: "Title of it"}, {Name: "issueState", Enum: []string{"open", "closed"}},
			{Name: "draft"}, {Description: "Nameless"}},
		Annotation: search.Annotation{Namespace: "github", Hint: "bug report", Aliases: []string{"new_issue"}, Tags: []string{"write", "code"}},
	}
	got := search.SchemaDocument(d)
	want := `mcp__github__createIssue mcp github create Issue
new_issue new issue
bug report
write, code
Opens an issue
title: Title of it
issueState issue State: open, closed
draft
Nameless`
	assert.Equal(t, want, got.Content)
	hash, _ := got.MetaData[search.MetaHash].(string)
	assert.Len(t, hash, 64)
	wantData := map[string]any{"name": d.Name, "namespace": "github", "hash": hash, "tags": []string{"write", "code"}, "aliases": []string{"new_issue"}}
	assert.Equal(t, search.DocumentID(d.Name), got.ID)
	assert.Equal(t, wantData, got.MetaData)
	for what, change := range map[string]func(*search.Document){
		"name": func(d *search.Document) { d.Name += "s" }, "description": func(d *search.Document) { d.Description += "!" },
		"namespace": func(d *search.Document) { d.Namespace = "" }, "a tag": func(d *search.Document) { d.Tags = []string{"write", "", "code"} },
		"aliases as tags": func(d *search.Document) { d.Tags, d.Aliases = d.Aliases, d.Tags },
		"parameters":      func(d *search.Document) { d.Parameters = nil },
	} {
		changed := d
		change(&changed)
		assert.NotEqual(t, hash, search.SchemaDocument(changed).MetaData[search.MetaHash], "another %s has the same hash", what)
	}
}

func TestSchemaDocumentOfHostileTools(t *testing.T) {
	docs := hostileDocs()
	docs[0].Parameters = slices.Repeat([]search.Parameter{{Name: strings.Repeat("p", 5000), Description: strings.Repeat("\xff", 1<<20)}}, 512)
	for i, d := range docs {
		content := search.SchemaDocument(d).Content
		assert.LessOrEqual(t, len(content), 32<<10, "document %d: bytes", i)
		assert.True(t, utf8.ValidString(content), "document %d: valid", i)
	}
}

func lettersOf(n int) (docs []search.Document) {
	for i := range n {
		docs = append(docs, doc(fmt.Sprintf("tool_%d", i), "Works"))
	}
	return docs
}

func TestStoreDocuments(t *testing.T) {
	e := &engine{}
	var progress []string
	options := search.StoreOptions{BatchSize: 3, Progress: func(written, total int) { progress = append(progress, fmt.Sprintf("%d/%d", written, total)) }}
	first, err := search.StoreDocuments(t.Context(), e, lettersOf(7), options)
	require.NoError(t, err)
	require.Equal(t, 7, first.Written)
	require.Len(t, first.Hashes, 7)
	require.Equal(t, []int{3, 3, 1}, e.batches)
	require.Equal(t, []string{"3/7", "6/7", "7/7"}, progress)

	// Again, and nothing is doubled.
	again, err := search.StoreDocuments(t.Context(), e, lettersOf(7), search.StoreOptions{})
	assert.NoError(t, err, "again")
	assert.Len(t, e.documents, 7, "again")
	assert.Equal(t, first.Hashes, again.Hashes, "again")
	require.Equal(t, []int{7}, e.batches[3:], "again")

	// Only what changed: two tools left, one is new, one does something else.
	docs := append(lettersOf(5), doc("new", "Works"))
	docs[1].Description = "Plays"
	later, err := search.StoreDocuments(t.Context(), e, docs, search.StoreOptions{Known: first.Hashes})
	gone := []string{search.DocumentID("tool_5"), search.DocumentID("tool_6")}
	slices.Sort(gone)
	assert.NoError(t, err, "later")
	assert.Equal(t, 2, later.Written, "later")
	assert.Equal(t, 4, later.Unchanged, "later")
	assert.Len(t, later.Hashes, 6, "later")
	assert.Equal(t, gone, later.Gone, "later")
	assert.Equal(t, []int{2}, e.batches[4:], "later")
	require.Contains(t, e.documents, search.DocumentID("tool_1"), "later")
	assert.Equal(t, "tool_1 tool 1\nPlays", e.documents[search.DocumentID("tool_1")].Content, "later")
	none, err := search.StoreDocuments(t.Context(), e, docs, search.StoreOptions{Known: later.Hashes})
	assert.NoError(t, err, "nothing new")
	assert.Zero(t, none.Written, "nothing new")
	assert.Equal(t, 6, none.Unchanged, "nothing new")
	assert.Len(t, e.batches, 5, "nothing new")
}

type storing func([]*schema.Document) ([]string, error)

func (s storing) Store(_ context.Context, docs []*schema.Document, _ ...indexer.Option) ([]string, error) {
	return s(docs)
}

func TestStoreDocumentsFails(t *testing.T) {
	full := errors.New("disk full")
	failing := func(at int, how storing) storing {
		calls := 0
		return func(docs []*schema.Document) ([]string, error) {
			if calls++; calls == at {
				return how(docs)
			}
			return nil, nil // some indexers do not tell IDs
		}
	}
	for _, tt := range []struct {
		what    string
		indexer indexer.Indexer
		docs    []search.Document
		written int
		want    string
	}{
		{"an error", failing(2, func([]*schema.Document) ([]string, error) { return nil, full }), lettersOf(7), 3, "documents 4 to 6 of 7: disk full"},
		{"a panic", failing(3, func([]*schema.Document) ([]string, error) { panic("nil map") }), lettersOf(7), 6, "documents 7 to 7 of 7: panic: nil map"},
		{"too few", failing(1, func([]*schema.Document) ([]string, error) { return []string{"1"}, nil }), lettersOf(7), 0, "has stored 1 of 3"},
		{"an empty name", &engine{}, []search.Document{doc("a", ""), doc("", "")}, 0, "document 1: empty name"},
		{"a name twice", &engine{}, []search.Document{doc("a", ""), doc("b", ""), doc("a", "")}, 0, `documents 0 and 2 are both named "a"`},
		{"no indexer", (*engine)(nil), lettersOf(1), 0, "no indexer"},
	} {
		stored, err := search.StoreDocuments(t.Context(), tt.indexer, tt.docs, search.StoreOptions{BatchSize: 3})
		assert.ErrorContains(t, err, tt.want, "%s", tt.what)
		assert.Equal(t, tt.written, stored.Written, "%s", tt.what)
		assert.Len(t, stored.Hashes, tt.written, "%s", tt.what)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	stored, err := search.StoreDocuments(done, &engine{}, lettersOf(7), search.StoreOptions{})
	assert.ErrorIs(t, err, context.Canceled, "cancelled")
	assert.Zero(t, stored.Written, "cancelled")
}
