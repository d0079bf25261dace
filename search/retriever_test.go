package search_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/indexer"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// engine is a search engine in memory. It is Eino's Indexer and Retriever. The score of a document is
// the number of its words that the query has.
type engine struct {
	mu        sync.Mutex
	documents map[string]*schema.Document
	batches   []int
}

func (e *engine) Store(_ context.Context, documents []*schema.Document, _ ...indexer.Option) (ids []string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.documents == nil {
		e.documents = map[string]*schema.Document{}
	}
	for _, d := range documents {
		e.documents[d.ID] = d
		ids = append(ids, d.ID)
	}
	e.batches = append(e.batches, len(documents))
	return ids, nil
}

func (e *engine) Retrieve(_ context.Context, query string, options ...retriever.Option) (found []*schema.Document, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	asked := strings.Fields(strings.ToLower(query))
	for _, d := range e.documents {
		score := 0
		for word := range strings.FieldsSeq(strings.ToLower(d.Content)) {
			if slices.Contains(asked, word) {
				score++
			}
		}
		if score > 0 {
			copied := *d
			copied.MetaData = maps.Clone(d.MetaData)
			found = append(found, copied.WithScore(float64(score)))
		}
	}
	slices.SortFunc(found, func(a, b *schema.Document) int {
		return cmp.Or(cmp.Compare(b.Score(), a.Score()), strings.Compare(a.ID, b.ID))
	})
	return found[:min(len(found), *retriever.GetCommonOptions(nil, options...).TopK)], nil
}

// inEngine is an Indexer that writes the documents into a new engine and searches there.
func inEngine(ctx context.Context, docs []search.Document) (search.Searcher, error) {
	e := &engine{}
	for _, d := range docs { // StoreDocuments refuses empty names
		if _, err := e.Store(ctx, []*schema.Document{search.SchemaDocument(d)}); err != nil {
			return nil, err
		}
	}
	return search.Retriever(e)(ctx, docs)
}

func TestRetrieverAnswersAsPromised(t *testing.T) {
	checkSearcher(t, inEngine, func(random *rand.Rand, _ []search.Document) string {
		return testtools.Pick(random, []string{"", "+"}) + testtools.Pick(random, words) + " " + testtools.Pick(random, words)
	})
	checkHostile(t, inEngine)
}

// retrieving is a function as a retriever.
type retrieving func(ctx context.Context, query string, options ...retriever.Option) ([]*schema.Document, error)

func (a retrieving) Retrieve(ctx context.Context, query string, options ...retriever.Option) ([]*schema.Document, error) {
	return a(ctx, query, options...)
}

func answering(documents ...*schema.Document) retrieving {
	return func(context.Context, string, ...retriever.Option) ([]*schema.Document, error) { return documents, nil }
}

// scored returns the document of a tool as an engine returns it. The score 0 means that it has none.
func scored(name string, score float64) *schema.Document {
	d := &schema.Document{ID: search.DocumentID(name)}
	if score != 0 {
		d.WithScore(score)
	}
	return d
}

func abc() []search.Document {
	docs := []search.Document{doc("a", "The first letter"), doc("b", "The second one"), doc("c", "The third, as in letters")}
	docs[0].Namespace, docs[1].Namespace, docs[2].Namespace = "latin", "latin", "Other-one"
	return docs
}

func TestRetrieverReadsAnswers(t *testing.T) {
	other := &schema.Document{ID: search.DocumentID("elsewhere"), MetaData: map[string]any{search.MetaName: "elsewhere"}}
	byName := func(id string, name any) *schema.Document {
		return &schema.Document{ID: id, MetaData: map[string]any{search.MetaName: name}}
	}
	for _, tt := range []struct {
		what      string
		documents []*schema.Document
		want      string // names and scores, the best first
	}{
		{"scores", []*schema.Document{scored("c", 3), scored("a", 2), scored("b", 0.5)}, "c 3, a 2, b 0.5"},
		{"scores out of order", []*schema.Document{scored("c", 2), scored("a", 3), scored("b", 0.5)}, "a 3, c 2, b 0.5"},
		{"equal scores", []*schema.Document{scored("c", 2), scored("b", 2), scored("a", 2)}, "a 2, b 2, c 2"},
		{"distances", []*schema.Document{scored("c", 0.1), scored("a", 0.2), scored("b", 0.2)}, "c 1, a 0.5, b 0.3333"},
		{"no scores", []*schema.Document{scored("c", 0), scored("a", 0), scored("b", 0)}, "c 1, a 0.5, b 0.3333"},
		{"a score missing", []*schema.Document{scored("c", 9), scored("a", 0), scored("b", 8)}, "c 1, a 0.5, b 0.3333"},
		{"a negative score", []*schema.Document{scored("c", 9), scored("a", -1)}, "c 1, a 0.5"},
		{"a score that is not a number", []*schema.Document{scored("c", 9), scored("a", math.NaN())}, "c 1, a 0.5"},
		{"an infinite score", []*schema.Document{scored("c", math.Inf(1)), scored("a", 1)}, "c 1, a 0.5"},
		{"documents of others", []*schema.Document{other, nil, {}, {ID: "?"}, scored("b", 0), other, scored("a", 0)}, "b 1, a 0.5"},
		{"a document of others without a score", []*schema.Document{other, scored("b", 2), scored("a", 1)}, "b 2, a 1"},
		{"repeated documents", []*schema.Document{scored("a", 3), scored("b", 2), scored("b", 4)}, "b 4, a 3"},
		{"repeated documents without scores", []*schema.Document{scored("b", 0), scored("b", 0), scored("a", 0)}, "b 1, a 0.3333"},
		{"other IDs", []*schema.Document{{ID: "b"}, byName("77", "c"), byName("78", 1), byName("", "a")}, "b 1, c 0.5, a 0.3333"},
		{"an ID that differs from its metadata", []*schema.Document{byName(search.DocumentID("a"), "b")}, "a 1"},
		{"no documents", nil, ""},
	} {
		docs := abc()
		answer, err := searcherOf(t, search.Retriever(answering(tt.documents...)), docs...).Search(t.Context(), search.ParseQuery("letter"))
		var got []string
		for _, hit := range answer.Hits {
			got = append(got, fmt.Sprintf("%s %.4g", docs[hit.Doc].Name, hit.Score))
		}
		assert.NoError(t, err, "%s", tt.what)
		assert.Equal(t, tt.want, strings.Join(got, ", "), "%s", tt.what)
		assert.Equal(t, len(got), answer.Total, "%s", tt.what)
	}
}

// A query that drops tools asks for more documents until it has a tenth of Depth, or until there is
// no more to ask for. It reads no more than it asked for.
func TestRetrieverAsksFurther(t *testing.T) {
	docs := numbered(20_000)
	var documents []*schema.Document
	for _, d := range docs {
		documents = append(documents, scored(d.Name, 0))
	}
	for _, tt := range []struct {
		what    string
		depth   int
		engine  int // documents in it
		allowed func(doc int) bool
		asked   []int
		found   int
	}{
		{"all tools", 0, 20_000, nil, []int{100}, 100},
		{"every other tool", 0, 20_000, func(doc int) bool { return doc%2 == 0 }, []int{500}, 250},
		{"every hundredth tool", 0, 20_000, func(doc int) bool { return doc%100 == 0 }, []int{500, 2500}, 25},
		{"three tools, which come first", 0, 20_000, func(doc int) bool { return doc < 3 }, []int{500}, 3},
		{"tools at the end", 0, 20_000, func(doc int) bool { return doc > 9_990 }, []int{500, 2500, 10_000}, 9},
		{"no tool", 0, 20_000, func(doc int) bool { return false }, []int{500}, 0},
		{"an engine without more", 0, 2000, func(doc int) bool { return doc%1000 == 7 }, []int{500, 2500}, 2},
		{"an engine that gives no more", 0, 20_000, func(doc int) bool { return doc == 400 || doc > 9_999 }, []int{500, 2500, 10_000}, 1},
		{"all tools, at a small depth", 7, 20_000, nil, []int{7}, 7},
		{"every other tool, at a small depth", 7, 20_000, func(doc int) bool { return doc%2 == 0 }, []int{35}, 18},
		{"all tools, at a depth that is too large", 1 << 40, 20_000, nil, []int{10_000}, 10_000},
		{"all tools, at a depth that is none", -1, 20_000, nil, []int{100}, 100},
	} {
		var asked []int
		retrieve := retrieving(func(_ context.Context, _ string, options ...retriever.Option) ([]*schema.Document, error) {
			asked = append(asked, *retriever.GetCommonOptions(nil, options...).TopK)
			return documents[:tt.engine], nil
		})
		s := searcherOf(t, search.RetrieverOptions{Retriever: retrieve, Depth: tt.depth}.Index, docs...)
		q := search.ParseQuery("works")
		q.Allowed = tt.allowed
		answer := testtools.Must(s.Search(t.Context(), q))(t, tt.what)
		assert.NoError(t, answer.Partial, tt.what)
		assert.Equal(t, tt.asked, asked, tt.what)
		assert.Len(t, answer.Hits, tt.found, tt.what)
	}

	down := errors.New("no more than 1000")
	s := searcherOf(t, search.Retriever(retrieving(func(_ context.Context, _ string, options ...retriever.Option) ([]*schema.Document, error) {
		if n := *retriever.GetCommonOptions(nil, options...).TopK; n <= 1000 {
			return documents[:n], nil
		}
		return nil, down
	})), docs...)
	q := search.ParseQuery("works")
	q.Allowed = func(doc int) bool { return doc%100 == 0 }
	answer := testtools.Must(s.Search(t.Context(), q))(t, "an engine that refuses more")
	assert.ErrorIs(t, answer.Partial, down)
	assert.Len(t, answer.Hits, 5)
}

// The score 1/rank does not tell how many documents belong to tools that a request may not see.
func TestRetrieverRestricts(t *testing.T) {
	docs := abc()
	s := searcherOf(t, search.Retriever(answering(scored("b", 0), scored("a", 0), scored("c", 0))), docs...)
	some := testtools.Must(s.(search.Restricter).Restrict(t.Context(), []int{0, 2}))(t)
	assert.Equal(t, []search.Hit{{Doc: 0, Score: 1}, {Doc: 2, Score: 0.5}}, hitsOf(t, some, search.ParseQuery("letter")))
}

func TestRetrieverAsksTheEngine(t *testing.T) {
	var asked []string
	s := searcherOf(t, search.RetrieverOptions{
		Depth: 30,
		Retriever: retrieving(func(_ context.Context, query string, options ...retriever.Option) ([]*schema.Document, error) {
			o := retriever.GetCommonOptions(nil, options...)
			asked = append(asked, fmt.Sprintf("%s/%s/%d", query, *o.Index, *o.TopK))
			return nil, nil
		}),
		Options: func(q search.Query) []retriever.Option {
			return []retriever.Option{retriever.WithIndex(fmt.Sprintf("%s%d", q.Namespace, q.Limit)), retriever.WithTopK(1)}
		},
	}.Index, abc()...)
	for _, q := range []search.Query{
		{Text: "first  letter", Limit: 3},
		{Text: "first letter", Keywords: []string{"first", "letter"}, Required: []string{"first"}},
		{Keywords: []string{"first", "letter"}, Namespace: "latin"},
		search.ParseQuery(" + "), {},
		{Text: strings.Repeat("letter ", 10_000)},
		{Text: "\xffa"},
	} {
		hitsOf(t, s, q)
	}
	want := []string{
		"first letter/0/30", "first letter/0/150", "first letter/latin0/150",
		strings.TrimSpace(strings.Repeat("letter ", 4096/len("letter "))) + "/0/30", "a/0/30",
	}
	assert.Equal(t, want, asked)
}

func TestRetrieverExplains(t *testing.T) {
	for _, tt := range []struct {
		documents []*schema.Document
		query     string
		doc       int
		want      string
	}{
		{[]*schema.Document{nil, scored("a", 2.5), scored("b", 1)}, "x +letter", 0, "2.5\n  +2.5  \"x letter\": the engine's score; its document 1 of this catalog"},
		{[]*schema.Document{nil, scored("a", 0)}, "x", 0, "1\n  +1  \"x\": 1/1, as it is the engine's document 1 of this catalog"},
		{[]*schema.Document{scored("a", 0)}, "x", 1, "0\n  +0  \"x\": not among the 1 tools the engine found"},
	} {
		s := searcherOf(t, search.Retriever(answering(tt.documents...)), abc()...)
		assert.Equal(t, tt.want, explained(t, s, search.ParseQuery(tt.query), tt.doc).String(), "%q", tt.query)
	}
}

func TestRetrieverFails(t *testing.T) {
	down := errors.New("connection refused")
	hang := make(chan struct{})
	defer close(hang)
	type documents = []*schema.Document
	for _, tt := range []struct {
		what, want string
		retrieve   func(context.Context) (documents, error)
	}{
		{"an error", "connection refused", func(context.Context) (documents, error) { return nil, down }},
		{"a panic", "index out of range", func(context.Context) (documents, error) { panic("index out of range") }},
		{"a retriever that hangs", "took longer than 1ms", func(context.Context) (documents, error) { <-hang; return nil, nil }},
		{"a retriever that heeds its context", "took longer than 1ms: context deadline exceeded", func(ctx context.Context) (documents, error) {
			<-ctx.Done()
			return nil, errors.New("half an answer")
		}},
	} {
		o := search.RetrieverOptions{Retriever: retrieving(func(ctx context.Context, _ string, _ ...retriever.Option) (documents, error) {
			return tt.retrieve(ctx)
		})}
		if strings.Contains(tt.want, "1ms") {
			o.Timeout = time.Millisecond
		}
		s := searcherOf(t, o.Index, abc()...)
		hits, err := find(t.Context(), s, search.ParseQuery("letter"))
		assert.ErrorContains(t, err, tt.want, "%s: found %v", tt.what, hits)
		e, err := s.(search.Explainer).Explain(t.Context(), search.ParseQuery("letter"), 0)
		assert.Error(t, err, "%s: explained as %v", tt.what, e)
	}
	for _, none := range []retriever.Retriever{nil, retrieving(nil), (*engine)(nil)} {
		_, err := search.Retriever(none)(t.Context(), nil)
		assert.Error(t, err, "a nil %T", none)
	}
}

// A cancelled search returns although the engine hangs. At most 64 late searches are with the engine.
func TestRetrieverLetsGoOfAHangingEngine(t *testing.T) {
	hang := make(chan struct{})
	asked := make(chan struct{}, 1000)
	stubborn := retrieving(func(context.Context, string, ...retriever.Option) ([]*schema.Document, error) {
		asked <- struct{}{}
		<-hang
		return []*schema.Document{scored("a", 1)}, nil
	})
	s, letter := searcherOf(t, search.RetrieverOptions{Retriever: stubborn, Timeout: -1}.Index, abc()...), search.ParseQuery("letter")
	for i := range 64 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-asked; cancel() }()
		_, err := find(ctx, s, letter)
		require.ErrorIs(t, err, context.Canceled, "search %d", i)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := find(ctx, s, letter)
	assert.ErrorIs(t, err, context.DeadlineExceeded, "a 65th search")
	assert.Empty(t, asked, "a 65th search")
	close(hang)
	assert.Len(t, hitsOf(t, s, letter), 1, "when the engine answers again")
}

// The engine's own callbacks see a retriever, and not the tool that searches.
func TestRetrieverIsSeenByCallbacks(t *testing.T) {
	var seen []string
	handler := callbacks.NewHandlerBuilder().OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
		seen = append(seen, fmt.Sprintf("%s %s", info.Component, info.Type))
		return ctx
	}).Build()
	ctx := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{Component: components.ComponentOfTool, Type: "search"}, handler)
	s := searcherOf(t, search.Retriever(typed{retrieving(func(ctx context.Context, query string, _ ...retriever.Option) ([]*schema.Document, error) {
		callbacks.OnStart(callbacks.EnsureRunInfo(ctx, "Typed", components.ComponentOfRetriever), query)
		return nil, nil
	})}), abc()...)
	_, err := s.Search(ctx, search.ParseQuery("letter"))
	assert.NoError(t, err)
	assert.Equal(t, []string{"Retriever Typed"}, seen)
}

type typed struct{ retrieving }

func (typed) GetType() string { return "Typed" }

// DocumentID returns what Python's uuid.uuid5 returns for the same names.
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
		Name: "mcp__github__createIssue", Original: "issue.create", Description: " Opens an issue\n",
		Parameters: []search.Parameter{{Name: "title", Description: "Title of it"}, {Name: "issueState", Enum: []string{"open", "closed"}},
			{Name: "draft"}, {Description: "Nameless"}},
		Annotation: search.Annotation{Namespace: "github", Hint: "bug report", Aliases: []string{"new_issue"}, Tags: []string{"write", "code"}},
	}
	got := search.SchemaDocument(d)
	want := `mcp__github__createIssue mcp github create Issue
new_issue new issue
issue.create
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
		"namespace": func(d *search.Document) { d.Namespace = "" }, "tag": func(d *search.Document) { d.Tags = []string{"write", "", "code"} },
		"order of aliases and tags": func(d *search.Document) { d.Tags, d.Aliases = d.Aliases, d.Tags },
		"list of parameters":        func(d *search.Document) { d.Parameters = nil },
	} {
		changed := d
		change(&changed)
		assert.NotEqual(t, hash, search.SchemaDocument(changed).MetaData[search.MetaHash], "the hash with another %s", what)
	}
}

func TestSchemaDocumentOfHostileTools(t *testing.T) {
	docs := hostileDocs()
	docs[0].Parameters = slices.Repeat([]search.Parameter{{Name: strings.Repeat("p", 5000), Description: strings.Repeat("\xff", 1<<20)}}, 512)
	for i, d := range docs {
		content := search.SchemaDocument(d).Content
		assert.LessOrEqual(t, len(content), 32<<10, "document %d: bytes", i)
		assert.True(t, utf8.ValidString(content), "document %d: valid UTF-8", i)
	}
}

func TestStoreDocuments(t *testing.T) {
	e := &engine{}
	first, _, err := search.StoreDocuments(t.Context(), e, numbered(207), nil)
	require.NoError(t, err)
	require.Len(t, first, 207)
	require.Equal(t, []int{100, 100, 7}, e.batches)

	// The same documents are stored again, and replace those in the engine.
	again, _, err := search.StoreDocuments(t.Context(), e, numbered(207), nil)
	assert.NoError(t, err, "again")
	assert.Len(t, e.documents, 207, "again")
	assert.Equal(t, first, again, "again")
	require.Equal(t, []int{100, 100, 7}, e.batches[3:], "again")

	// Only changes are stored: two tools are gone, one is new, and one has another description.
	docs := append(numbered(205), doc("new", "Works"))
	docs[1].Description = "Plays"
	later, left, err := search.StoreDocuments(t.Context(), e, docs, first)
	gone := []string{search.DocumentID("tool_205"), search.DocumentID("tool_206")}
	slices.Sort(gone)
	assert.NoError(t, err, "later")
	assert.Len(t, later, 206, "later")
	assert.Equal(t, gone, left, "later")
	assert.Equal(t, []int{2}, e.batches[6:], "later")
	require.Contains(t, e.documents, search.DocumentID("tool_1"), "later")
	assert.Equal(t, "tool_1 tool 1\nPlays", e.documents[search.DocumentID("tool_1")].Content, "later")
	none, _, err := search.StoreDocuments(t.Context(), e, docs, later)
	assert.NoError(t, err, "nothing new")
	assert.Equal(t, later, none, "nothing new")
	assert.Len(t, e.batches, 7, "nothing new")
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
			return nil, nil // some indexers return no IDs
		}
	}
	for _, tt := range []struct {
		what    string
		indexer indexer.Indexer
		docs    []search.Document
		written int
		want    string
	}{
		{"an error", failing(2, func([]*schema.Document) ([]string, error) { return nil, full }), numbered(207), 100, "documents 101 to 200 of 207: disk full"},
		{"a panic", failing(3, func([]*schema.Document) ([]string, error) { panic("nil map") }), numbered(207), 200, "documents 201 to 207 of 207: panic: nil map"},
		{"too few IDs", failing(1, func([]*schema.Document) ([]string, error) { return []string{"1"}, nil }), numbered(207), 0, "has stored 1 of 100"},
		{"an empty name", &engine{}, []search.Document{doc("a", ""), doc("", "")}, 0, "document 1: empty name"},
		{"a name twice", &engine{}, []search.Document{doc("a", ""), doc("b", ""), doc("a", "")}, 0, `documents 0 and 2 are both named "a"`},
		{"a nil indexer", (*engine)(nil), numbered(1), 0, "no indexer"},
	} {
		hashes, _, err := search.StoreDocuments(t.Context(), tt.indexer, tt.docs, nil)
		assert.ErrorContains(t, err, tt.want, "%s", tt.what)
		assert.Len(t, hashes, tt.written, "%s", tt.what)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	hashes, _, err := search.StoreDocuments(done, &engine{}, numbered(207), nil)
	assert.ErrorIs(t, err, context.Canceled, "cancelled")
	assert.Empty(t, hashes, "cancelled")
}
