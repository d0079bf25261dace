package toolsearch_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/components/indexer"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
)

// TestDocumentIDs: what Python's uuid.uuid5 makes of the same names.
func TestDocumentIDs(t *testing.T) {
	for name, want := range map[string]string{
		"get_weather": "ca4c2b1c-0139-5c62-ad1b-5dde40d37d1a",
		"发送邮件":        "a443c137-f8ad-5f80-aa9d-a80ddb4be95e",
	} {
		if got := toolsearch.DocumentID(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestSchemaDocument(t *testing.T) {
	d := toolsearch.Document{
		Name: "mcp__github__createIssue", Description: " Opens an issue\n",
		Parameters: []toolsearch.Parameter{{Name: "title", Description: "Title of it"}, {Name: "issueState", Enum: []string{"open", "closed"}},
			{Name: "draft"}, {Description: "Nameless"}},
		Annotation: toolsearch.Annotation{Namespace: "github", Hint: "bug report", Aliases: []string{"new_issue"}, Tags: []string{"write", "code"}},
	}
	got := toolsearch.SchemaDocument(d)
	want := `mcp__github__createIssue mcp github create Issue
new_issue new issue
bug report
write, code
Opens an issue
title: Title of it
issueState issue State: open, closed
draft
Nameless`
	if got.Content != want {
		t.Errorf("content\n%s\nwant\n%s", got.Content, want)
	}
	hash, _ := got.MetaData[toolsearch.MetaHash].(string)
	if len(hash) != 64 {
		t.Errorf("hash %q", hash)
	}
	wantData := map[string]any{"name": d.Name, "namespace": "github", "hash": hash, "tags": []string{"write", "code"}, "aliases": []string{"new_issue"}}
	if got.ID != toolsearch.DocumentID(d.Name) || !reflect.DeepEqual(got.MetaData, wantData) {
		t.Errorf("ID %s, metadata %v", got.ID, got.MetaData)
	}
	for what, change := range map[string]func(*toolsearch.Document){
		"name": func(d *toolsearch.Document) { d.Name += "s" }, "description": func(d *toolsearch.Document) { d.Description += "!" },
		"namespace": func(d *toolsearch.Document) { d.Namespace = "" }, "a tag": func(d *toolsearch.Document) { d.Tags = []string{"write", "", "code"} },
		"aliases as tags": func(d *toolsearch.Document) { d.Tags, d.Aliases = d.Aliases, d.Tags },
		"parameters":      func(d *toolsearch.Document) { d.Parameters = nil },
	} {
		changed := d
		change(&changed)
		if toolsearch.SchemaDocument(changed).MetaData[toolsearch.MetaHash] == hash {
			t.Errorf("another %s has the same hash", what)
		}
	}
}

func TestSchemaDocumentOfHostileTools(t *testing.T) {
	docs := hostileDocs()
	docs[0].Parameters = slices.Repeat([]toolsearch.Parameter{{Name: strings.Repeat("p", 5000), Description: strings.Repeat("\xff", 1<<20)}}, 512)
	for i, d := range docs {
		content := toolsearch.SchemaDocument(d).Content
		if len(content) > 32<<10 || !utf8.ValidString(content) {
			t.Errorf("document %d: %d bytes, valid %t", i, len(content), utf8.ValidString(content))
		}
	}
}

func lettersOf(n int) (docs []toolsearch.Document) {
	for i := range n {
		docs = append(docs, doc(fmt.Sprintf("tool_%d", i), "Works"))
	}
	return docs
}

func TestStoreDocuments(t *testing.T) {
	e := &engine{}
	var progress []string
	options := toolsearch.StoreOptions{BatchSize: 3, Progress: func(written, total int) { progress = append(progress, fmt.Sprintf("%d/%d", written, total)) }}
	first, err := toolsearch.StoreDocuments(t.Context(), e, lettersOf(7), options)
	if err != nil || first.Written != 7 || len(first.Hashes) != 7 || !slices.Equal(e.batches, []int{3, 3, 1}) || !slices.Equal(progress, []string{"3/7", "6/7", "7/7"}) {
		t.Fatalf("%+v, error %v, batches %v, progress %v", first, err, e.batches, progress)
	}

	// Again, and nothing is doubled.
	again, err := toolsearch.StoreDocuments(t.Context(), e, lettersOf(7), toolsearch.StoreOptions{})
	if err != nil || len(e.documents) != 7 || !maps.Equal(again.Hashes, first.Hashes) || !slices.Equal(e.batches[3:], []int{7}) {
		t.Errorf("again: %d documents, %+v, error %v", len(e.documents), again, err)
	}

	// Only what changed: two tools left, one is new, one does something else.
	docs := append(lettersOf(5), doc("new", "Works"))
	docs[1].Description = "Plays"
	later, err := toolsearch.StoreDocuments(t.Context(), e, docs, toolsearch.StoreOptions{Known: first.Hashes})
	gone := []string{toolsearch.DocumentID("tool_5"), toolsearch.DocumentID("tool_6")}
	slices.Sort(gone)
	if err != nil || later.Written != 2 || later.Unchanged != 4 || len(later.Hashes) != 6 || !slices.Equal(later.Gone, gone) ||
		!slices.Equal(e.batches[4:], []int{2}) || e.documents[toolsearch.DocumentID("tool_1")].Content != "tool_1 tool 1\nPlays" {
		t.Errorf("later: %+v, error %v, batches %v", later, err, e.batches[4:])
	}
	none, err := toolsearch.StoreDocuments(t.Context(), e, docs, toolsearch.StoreOptions{Known: later.Hashes})
	if err != nil || none.Written != 0 || none.Unchanged != 6 || len(e.batches) != 5 {
		t.Errorf("nothing new: %+v, error %v", none, err)
	}
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
		docs    []toolsearch.Document
		written int
		want    string
	}{
		{"an error", failing(2, func([]*schema.Document) ([]string, error) { return nil, full }), lettersOf(7), 3, "documents 4 to 6 of 7: disk full"},
		{"a panic", failing(3, func([]*schema.Document) ([]string, error) { panic("nil map") }), lettersOf(7), 6, "documents 7 to 7 of 7: panic: nil map"},
		{"too few", failing(1, func([]*schema.Document) ([]string, error) { return []string{"1"}, nil }), lettersOf(7), 0, "has stored 1 of 3"},
		{"an empty name", &engine{}, []toolsearch.Document{doc("a", ""), doc("", "")}, 0, "document 1: empty name"},
		{"a name twice", &engine{}, []toolsearch.Document{doc("a", ""), doc("b", ""), doc("a", "")}, 0, `documents 0 and 2 are both named "a"`},
		{"no indexer", (*engine)(nil), lettersOf(1), 0, "no indexer"},
	} {
		stored, err := toolsearch.StoreDocuments(t.Context(), tt.indexer, tt.docs, toolsearch.StoreOptions{BatchSize: 3})
		if err == nil || !strings.Contains(err.Error(), tt.want) || stored.Written != tt.written || len(stored.Hashes) != tt.written {
			t.Errorf("%s: %+v, error %v; want %d written and %q", tt.what, stored, err, tt.written, tt.want)
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if stored, err := toolsearch.StoreDocuments(done, &engine{}, lettersOf(7), toolsearch.StoreOptions{}); !errors.Is(err, context.Canceled) || stored.Written > 0 {
		t.Errorf("cancelled: %+v, error %v", stored, err)
	}
}
