package toolsearch_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// What every searcher must hold, whatever it ranks by.

// doc is a document with a name and a description.
func doc(name, text string) toolsearch.Document {
	return toolsearch.Document{Name: name, Description: text, Info: &schema.ToolInfo{Name: name, Desc: text}}
}

func searcherOf(t testing.TB, index toolsearch.Indexer, docs ...toolsearch.Document) toolsearch.Searcher {
	t.Helper()
	s, err := index(context.Background(), docs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkScores checks that a query finds just the named documents, with those scores.
func checkScores(t *testing.T, index toolsearch.Indexer, docs []toolsearch.Document, query string, want map[string]float64) {
	t.Helper()
	hits, err := searcherOf(t, index, docs...).Search(context.Background(), toolsearch.ParseQuery(query))
	if err != nil {
		t.Fatal(err)
	}
	for _, hit := range hits {
		name := docs[hit.Doc].Name
		if score, ok := want[name]; !ok || math.Abs(hit.Score-score) > 1e-9 {
			t.Errorf("%q: %s has score %v, want %v", query, name, hit.Score, score)
		}
	}
	if len(hits) != len(want) {
		t.Errorf("%q: %d hits, want %v", query, len(hits), want)
	}
}

func randomDocs(random *rand.Rand, size int) []toolsearch.Document {
	var docs []toolsearch.Document
	for i, info := range randomCatalog(random, size) {
		d := doc(info.Name, info.Desc)
		d.Namespace = []string{"", "one", "two"}[i%3]
		d.Hint = pick(random, append(someWords, "", ""))
		docs = append(docs, d)
	}
	return docs
}

// checkSearcher asks a searcher many questions about random catalogs and checks what the
// interfaces Searcher, Counter and Explainer promise of the answers.
func checkSearcher(t *testing.T, index toolsearch.Indexer, ask func(*rand.Rand, []toolsearch.Document) string) {
	t.Helper()
	ctx := context.Background()
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 11))
		docs := randomDocs(random, 1+random.IntN(120))
		before := slices.Clone(docs)
		s := searcherOf(t, index, docs...).(toolsearch.Counter)
		explainer := s.(toolsearch.Explainer)
		if !reflect.DeepEqual(docs, before) {
			t.Fatal("the index changed its documents")
		}
		for range 60 {
			q := toolsearch.ParseQuery(ask(random, docs))
			q.Namespace = pick(random, []string{"", "", "", "one", "two", "no such"})
			all, total, err := s.SearchCount(ctx, q)
			if err != nil {
				t.Fatalf("%q: %v", q.Text, err)
			}
			if total != len(all) {
				t.Errorf("%q: %d hits without a limit, but a total of %d", q.Text, len(all), total)
			}
			scores := make(map[int]float64)
			for i, hit := range all {
				if hit.Doc < 0 || hit.Doc >= len(docs) {
					t.Fatalf("%q: hit outside the catalog: %d", q.Text, hit.Doc)
				}
				if _, repeated := scores[hit.Doc]; repeated {
					t.Errorf("%q: document %d twice", q.Text, hit.Doc)
				}
				scores[hit.Doc] = hit.Score
				if hit.Score <= 0 || i > 0 && hit.Score > all[i-1].Score {
					t.Errorf("%q: score %v after %v", q.Text, hit.Score, all[max(0, i-1)].Score)
				}
				if q.Namespace != "" && docs[hit.Doc].Namespace != q.Namespace {
					t.Errorf("%q: document of namespace %q found in %q", q.Text, docs[hit.Doc].Namespace, q.Namespace)
				}
			}
			for i := range docs {
				e, err := explainer.Explain(ctx, q, i)
				if err != nil {
					t.Fatal(err)
				}
				sum := 0.0
				for _, part := range e.Parts {
					sum += part.Score
				}
				if e.Score != scores[i] || sum != scores[i] {
					t.Errorf("%q in %q, %q: score %v, explained as %s", q.Text, q.Namespace, docs[i].Name, scores[i], e)
				}
			}
			even := func(doc int) bool { return doc%2 == 0 }
			allowed := slices.DeleteFunc(slices.Clone(all), func(h toolsearch.Hit) bool { return !even(h.Doc) })
			q.Allowed = even
			if some, counted, err := s.SearchCount(ctx, q); err != nil || !slices.Equal(some, allowed) || counted != len(allowed) {
				t.Errorf("%q, of even documents: got %v of %d, error %v, want %v", q.Text, some, counted, err, allowed)
			}
			q.Allowed = nil
			q.Limit = 1 + random.IntN(8)
			best, counted, err := s.SearchCount(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			if want := all[:min(q.Limit, len(all))]; !slices.Equal(best, want) || counted != total {
				t.Errorf("%q, limit %d: got %v of %d, want %v of %d", q.Text, q.Limit, best, counted, want, total)
			}
			if again, err := s.Search(ctx, q); err != nil || !slices.Equal(again, best) {
				t.Errorf("%q: %v, then %v, %v", q.Text, best, again, err)
			}
		}
		if _, err := explainer.Explain(ctx, toolsearch.ParseQuery("a"), len(docs)); err == nil {
			t.Error("a document outside the catalog was explained")
		}
	}

	// No documents, no query, no time.
	hits, total, err := searcherOf(t, index).(toolsearch.Counter).SearchCount(ctx, toolsearch.ParseQuery("get"))
	if len(hits) != 0 || total != 0 || err != nil {
		t.Errorf("no documents: %v, %d, %v", hits, total, err)
	}
	docs := randomDocs(rand.New(rand.NewPCG(1, 1)), 50)
	s := searcherOf(t, index, docs...)
	if hits, err := s.Search(ctx, toolsearch.Query{}); len(hits) != 0 || err != nil {
		t.Errorf("empty query: %v, %v", hits, err)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if hits, err := s.Search(done, toolsearch.ParseQuery("get")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v, %v", hits, err)
	}
	if _, err := index(done, docs); !errors.Is(err, context.Canceled) {
		t.Errorf("index built under a cancelled context: %v", err)
	}

	// Many at once, which is for the race detector.
	want := make([]string, len(someWords))
	for i, word := range someWords {
		want[i] = hitsOf(s, word)
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i, word := range someWords {
				if got := hitsOf(s, word); got != want[i] {
					t.Errorf("%q: %s at once with others, %s alone", word, got, want[i])
				}
			}
		}()
	}
	wait.Wait()
}

func hitsOf(s toolsearch.Searcher, query string) string {
	hits, err := s.Search(context.Background(), toolsearch.ParseQuery(query))
	return fmt.Sprint(hits, err)
}

// hostileDocs are what no server should send: nothing, much, and much of the same.
func hostileDocs() []toolsearch.Document {
	return []toolsearch.Document{
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
func checkHostile(t *testing.T, index toolsearch.Indexer) {
	t.Helper()
	docs := hostileDocs()
	s := searcherOf(t, index, docs...)
	for _, text := range hostileQueries {
		q := toolsearch.ParseQuery(text)
		hits, err := s.Search(context.Background(), q)
		if wrong := (*toolsearch.QueryError)(nil); err != nil && !errors.As(err, &wrong) {
			t.Errorf("%.20q: %v", text, err)
		}
		for _, hit := range hits {
			e, err := s.(toolsearch.Explainer).Explain(context.Background(), q, hit.Doc)
			if err != nil || e.Score != hit.Score {
				t.Errorf("%.20q: %v, explained as %v, %v", text, hit, e.Score, err)
			}
		}
	}
}

// benchmarkSearcher measures a searcher on catalogs like real ones.
func benchmarkSearcher(b *testing.B, index toolsearch.Indexer, queries ...string) {
	for _, size := range []int{1_000, 10_000, 100_000} {
		infos := benchCatalog(size)
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
	for name, index := range map[string]toolsearch.Indexer{
		"Keyword":         toolsearch.Keyword,
		"BM25":            toolsearch.BM25,
		"Fuzzy":           toolsearch.Fuzzy,
		"Regexp":          toolsearch.Regexp,
		"Similarity":      toolsearch.Similarity,
		"Embedding":       toolsearch.Embedding(&wordEmbedder{}),
		"Hybrid":          toolsearch.Hybrid(toolsearch.BM25, toolsearch.Embedding(&wordEmbedder{})),
		"Hybrid of a few": toolsearch.HybridOptions{Parts: []toolsearch.Indexer{toolsearch.Keyword, toolsearch.BM25}, Depth: 20}.Index,
		"Retriever":       inEngine,
	} {
		t.Run(name, func(t *testing.T) { toolsearchtest.TestSearcher(t, index) })
	}
}
