package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// What every searcher must hold, whatever it ranks by.

// doc is a document with a name and a description.
func doc(name, text string) search.Document {
	return search.Document{Name: name, Description: text, Info: &schema.ToolInfo{Name: name, Desc: text}}
}

func searcherOf(t testing.TB, index search.Indexer, docs ...search.Document) search.Searcher {
	t.Helper()
	s, err := index(context.Background(), docs)
	require.NoError(t, err)
	return s
}

// find returns the hits of a searcher.
func find(ctx context.Context, s search.Searcher, q search.Query) ([]search.Hit, error) {
	answer, err := s.Search(ctx, q)
	return answer.Hits, err
}

// read returns the query that a catalog of the documents asks a searcher for a text.
func read(docs []search.Document, s search.Searcher, text string) search.Query {
	n := search.NewNarrower(docs)
	return n.Narrow(n.Read(s, text, ""), nil)
}

// checkScores checks that a query finds just the named documents, with those scores.
func checkScores(t *testing.T, index search.Indexer, docs []search.Document, query string, want map[string]float64) {
	t.Helper()
	s := searcherOf(t, index, docs...)
	hits, err := find(context.Background(), s, read(docs, s, query))
	require.NoError(t, err)
	for _, hit := range hits {
		name := docs[hit.Doc].Name
		if assert.Contains(t, want, name, "%q", query) {
			assert.InDelta(t, want[name], hit.Score, 1e-9, "%q: %s", query, name)
		}
	}
	assert.Len(t, hits, len(want), "%q, want %v", query, want)
}

// assertList is assert.Equal for lists of which an empty one may be nil.
func assertList[T any](t testing.TB, want, got []T, msgAndArgs ...any) {
	t.Helper()
	if len(want) == 0 {
		assert.Empty(t, got, msgAndArgs...)
		return
	}
	assert.Equal(t, want, got, msgAndArgs...)
}

func randomDocs(random *rand.Rand, size int) []search.Document {
	var docs []search.Document
	for i, info := range testtools.RandomCatalog(random, size) {
		d := doc(info.Name, info.Desc)
		d.Namespace = []string{"", "one", "two"}[i%3]
		d.Hint = testtools.Pick(random, append(testtools.Words, "", ""))
		docs = append(docs, d)
	}
	return docs
}

// checkSearcher asks a searcher many questions about random catalogs and checks what the
// interfaces Searcher and Explainer promise of the answers.
func checkSearcher(t *testing.T, index search.Indexer, ask func(*rand.Rand, []search.Document) string) {
	t.Helper()
	ctx := context.Background()
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 11))
		docs := randomDocs(random, 1+random.IntN(120))
		before := slices.Clone(docs)
		s := searcherOf(t, index, docs...)
		explainer := s.(search.Explainer)
		narrower := search.NewNarrower(docs)
		require.Equal(t, before, docs, "the index changed its documents")
		for range 60 {
			q := narrower.Read(s, ask(random, docs), testtools.Pick(random, []string{"", "", "", "one", "two", "no such"}))
			q = narrower.Narrow(q, nil)
			answer, err := s.Search(ctx, q)
			require.NoError(t, err, "%q", q.Text)
			all, total := answer.Hits, answer.Total
			assert.Len(t, all, total, "%q: hits without a limit, and the total", q.Text)
			scores := make(map[int]float64)
			for i, hit := range all {
				require.GreaterOrEqual(t, hit.Doc, 0, "%q: hit outside the catalog", q.Text)
				require.Less(t, hit.Doc, len(docs), "%q: hit outside the catalog", q.Text)
				_, repeated := scores[hit.Doc]
				assert.False(t, repeated, "%q: document %d twice", q.Text, hit.Doc)
				scores[hit.Doc] = hit.Score
				assert.Positive(t, hit.Score, "%q", q.Text)
				if i > 0 {
					assert.LessOrEqual(t, hit.Score, all[i-1].Score, "%q: not the best first", q.Text)
				}
				if q.Namespace != "" {
					assert.Equal(t, q.Namespace, docs[hit.Doc].Namespace, "%q", q.Text)
				}
			}
			for i := range docs {
				e, err := explainer.Explain(ctx, q, i)
				require.NoError(t, err)
				if !q.Allows(i) { // for others to explain
					continue
				}
				sum := 0.0
				for _, part := range e.Parts {
					sum += part.Score
				}
				assert.Equal(t, scores[i], e.Score, "%q in %q, %q: explained as %s", q.Text, q.Namespace, docs[i].Name, e)
				assert.Equal(t, scores[i], sum, "%q in %q, %q: explained as %s", q.Text, q.Namespace, docs[i].Name, e)
			}
			even := func(doc int) bool { return doc%2 == 0 }
			allowed := slices.DeleteFunc(slices.Clone(all), func(h search.Hit) bool { return !even(h.Doc) })
			some, err := s.Search(ctx, narrower.Narrow(q, even))
			assert.NoError(t, err, "%q, of even documents", q.Text)
			assertList(t, allowed, some.Hits, "%q, of even documents", q.Text)
			assert.Equal(t, len(allowed), some.Total, "%q, of even documents", q.Text)
			q.Limit = 1 + random.IntN(8)
			best, err := s.Search(ctx, q)
			require.NoError(t, err)
			assertList(t, all[:min(q.Limit, len(all))], best.Hits, "%q, limit %d", q.Text, q.Limit)
			assert.Equal(t, total, best.Total, "%q, limit %d", q.Text, q.Limit)
			again, err := find(ctx, s, q)
			assert.NoError(t, err, "%q, again", q.Text)
			assertList(t, best.Hits, again, "%q, again", q.Text)
		}
		_, err := explainer.Explain(ctx, search.ParseQuery("a"), len(docs))
		assert.Error(t, err, "a document outside the catalog was explained")
	}

	// No documents, no query, no time.
	none, err := searcherOf(t, index).Search(ctx, search.ParseQuery("get"))
	assert.NoError(t, err, "no documents")
	assert.Empty(t, none.Hits, "no documents")
	assert.Zero(t, none.Total, "no documents")
	docs := randomDocs(rand.New(rand.NewPCG(1, 1)), 50)
	s := searcherOf(t, index, docs...)
	hits, err := find(ctx, s, search.Query{})
	assert.NoError(t, err, "empty query")
	assert.Empty(t, hits, "empty query")
	done, cancel := context.WithCancel(ctx)
	cancel()
	hits, err = find(done, s, search.ParseQuery("get"))
	assert.ErrorIs(t, err, context.Canceled, "cancelled, found %v", hits)
	_, err = index(done, docs)
	assert.ErrorIs(t, err, context.Canceled, "index built under a cancelled context")

	// Many at once, which is for the race detector.
	want := make([]string, len(testtools.Words))
	for i, word := range testtools.Words {
		want[i] = hitsOf(s, word)
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i, word := range testtools.Words {
				assert.Equal(t, want[i], hitsOf(s, word), "%q: alone, and at once with others", word)
			}
		}()
	}
	wait.Wait()
}

func hitsOf(s search.Searcher, query string) string {
	hits, err := find(context.Background(), s, search.NewNarrower(nil).Read(s, query, ""))
	return fmt.Sprint(hits, err)
}

// hostileDocs are what no server should send: nothing, much, and much of the same.
func hostileDocs() []search.Document {
	return []search.Document{
		doc("", ""), doc("_", " "), doc("\xff\xfe", "\xc3"), doc("\u202e<b>\x00", "\u0000\n"),
		doc(strings.Repeat("a", 1<<16), strings.Repeat("a", 1<<20)),
		doc(strings.Repeat("ab_", 1<<12), strings.Repeat("ba ", 1<<18)),
		doc(strings.Repeat("aB", 1<<12), strings.Repeat("日历", 1<<17)),
		doc("İ", strings.Repeat("İ", 1<<16)), doc("ﬀ", "ß ẞ"),
	}
}

var hostileQueries = []string{
	strings.Repeat("a", 4096), strings.Repeat("a ", 2048), strings.Repeat("ab", 2048), strings.Repeat("日历", 600),
	strings.Repeat("_", 4096), "\xff", "\x00", "\u202e", strings.Repeat("İ", 2000), strings.Repeat("+a ", 100), "+", "_", "-",
}

// checkHostile checks that a searcher neither panics nor fails on any of them. A model's
// query that is wrong is no failure.
func checkHostile(t *testing.T, index search.Indexer) {
	t.Helper()
	docs := hostileDocs()
	s := searcherOf(t, index, docs...)
	for _, text := range hostileQueries {
		q := read(docs, s, text)
		hits, err := find(context.Background(), s, q)
		if err != nil {
			assert.ErrorAs(t, err, new(*search.QueryError), "%.20q", text)
		}
		for _, hit := range hits {
			e, err := s.(search.Explainer).Explain(context.Background(), q, hit.Doc)
			assert.NoError(t, err, "%.20q: %v", text, hit)
			assert.Equal(t, hit.Score, e.Score, "%.20q: %v", text, hit)
		}
	}
}

// benchmarkSearcher measures a searcher on catalogs like real ones.
func benchmarkSearcher(b *testing.B, index search.Indexer, queries ...string) {
	for _, size := range []int{1_000, 10_000, 100_000} {
		infos := testtools.BenchCatalog(size)
		b.Run(fmt.Sprintf("tools=%d/build", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := toolsearch.NewCatalogFromInfos(context.Background(), infos, index); err != nil {
					b.Fatal(err)
				}
			}
		})
		catalog, err := toolsearch.NewCatalogFromInfos(context.Background(), infos, index)
		if err != nil {
			b.Fatal(err)
		}
		for _, query := range queries {
			b.Run(fmt.Sprintf("tools=%d/%s", size, query), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := catalog.Search(context.Background(), query, 5); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// TestSearchersKeepTheContract: the contract any searcher is to keep, kept by our own.
func TestSearchersKeepTheContract(t *testing.T) {
	for name, index := range map[string]search.Indexer{
		"Keyword":         search.Keyword,
		"BM25":            search.BM25,
		"Fuzzy":           search.Fuzzy,
		"Regexp":          search.Regexp,
		"Similarity":      search.Similarity,
		"Embedding":       search.Embedding(&wordEmbedder{}),
		"Hybrid":          search.Hybrid(search.BM25, search.Embedding(&wordEmbedder{})),
		"Hybrid of a few": search.HybridOptions{Parts: []search.Indexer{search.Keyword, search.BM25}, Depth: 20}.Index,
		"Retriever":       inEngine,
	} {
		t.Run(name, func(t *testing.T) { toolsearchtest.TestSearcher(t, index) })
	}
}

// eventOf makes one search through the tool of a middleware, and returns the names found and
// the event.
func eventOf(t *testing.T, ctx context.Context, config toolsearch.Config, arguments string) (matches []string, event toolsearch.SearchEvent, err error) {
	t.Helper()
	config.DynamicTools = testtools.NewsTools()
	config.OnEvent = func(_ context.Context, e toolsearch.Event) {
		if e, ok := e.(toolsearch.SearchEvent); ok {
			event = e
		}
	}
	middleware, err := toolsearch.New(context.Background(), &config)
	require.NoError(t, err)
	_, runCtx, err := middleware.BeforeAgent(context.Background(), &adk.ChatModelAgentContext{})
	require.NoError(t, err)
	text, err := runCtx.Tools[0].(tool.InvokableTool).InvokableRun(ctx, arguments)
	if err != nil {
		return nil, event, err
	}
	var answer struct{ Matches []string }
	require.NoError(t, json.Unmarshal([]byte(text), &answer))
	return answer.Matches, event, nil
}
