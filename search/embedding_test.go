package search_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// wordEmbedder is an embedder without a model. Every word adds 1 or -1 at a place given by its hash,
// so texts are nearer the more words they share. It records the texts that it gets.
type wordEmbedder struct {
	mu     sync.Mutex
	calls  [][]string
	during func(ctx context.Context, texts []string) error // runs in each call; may be nil
	change func([][]float64) [][]float64                   // changes the answer; may be nil
}

const wordDimensions = 64

var mail = search.ParseQuery("mail")

func (e *wordEmbedder) EmbedStrings(ctx context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	e.mu.Lock()
	e.calls = append(e.calls, slices.Clone(texts))
	e.mu.Unlock()
	if e.during != nil {
		if err := e.during(ctx, texts); err != nil {
			return nil, err
		}
	}
	vectors := make([][]float64, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float64, wordDimensions)
		vectors[i][wordDimensions-1] = 0.1 // words may cancel each other out
		for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(" .,_", r) }) {
			hash := fnv.New64a()
			hash.Write([]byte(word))
			sum := hash.Sum64()
			vectors[i][sum%(wordDimensions-1)] += 1 - 2*float64(sum>>63)
		}
	}
	if e.change != nil {
		vectors = e.change(vectors)
	}
	return vectors, nil
}

func mails() []search.Document {
	return []search.Document{doc("get_weather", "Tells the weather"), doc("send_mail", "Sends mail"), doc("send_post", "Sends a letter")}
}

func rebuilt(t *testing.T, s search.Searcher, docs []search.Document) search.Searcher {
	t.Helper()
	return testtools.Must(s.(search.Rebuilder).Rebuild(t.Context(), docs))(t)
}

// texts returns all texts that the embedder got so far.
func (e *wordEmbedder) texts() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Concat(e.calls...)
}

func TestEmbeddingSearcher(t *testing.T) {
	index := search.Embedding(&wordEmbedder{})
	checkSearcher(t, index, nameOrWords)
	checkHostile(t, index)
}

// The score is the cosine, whatever lengths the vectors have.
func TestEmbeddingScores(t *testing.T) {
	vectors := map[string][]float64{"near": {3, 4}, "far": {0, 7}, "same": {1e200, 0}, "opposite": {-1, 0}, "query": {1e-200, 0}}
	e := &wordEmbedder{}
	e.change = func(answer [][]float64) [][]float64 {
		for i, text := range e.calls[len(e.calls)-1] {
			answer[i] = vectors[text]
		}
		return answer
	}
	docs := []search.Document{doc("near", ""), doc("far", ""), doc("same", ""), doc("opposite", "")}
	for minScore, want := range map[float64]map[int]float64{0: {2: 1, 0: 3. / 5}, 0.7: {2: 1}} {
		s := searcherOf(t, search.EmbeddingOptions{Embedder: e, Concurrency: 1, MinScore: minScore}.Index, docs...)
		assert.InDeltaMapValues(t, want, scoresOf(t, s, search.ParseQuery("query")), 1e-6)
	}
}

// The text of a tool has everything that is known of the tool. Its length and that of a query are bounded, and
// equal texts are embedded once.
func TestEmbeddingTexts(t *testing.T) {
	full := doc("mcp__git__openIssue", " Opens an issue ")
	full.Original, full.Hint, full.Aliases, full.Tags = "issue.open", "bug", []string{"new_issue"}, []string{"vcs", "work"}
	full.Parameters = []search.Parameter{{Name: "repo_name", Description: "Where"}, {Name: "title"}}
	docs := []search.Document{full, doc("a", "b"), doc("a", "b"), doc("_", " "), doc("long", strings.Repeat("天 ", 5000))}
	e := &wordEmbedder{}
	s := searcherOf(t, search.EmbeddingOptions{Embedder: e, Concurrency: 1}.Index, docs...)
	got := e.texts()
	want := []string{"mcp git open Issue. Opens an issue. bug. new issue. issue.open. vcs, work. repo name, title", "a. b"}
	require.Len(t, got, 3)
	assert.Equal(t, want, got[:2])
	assert.LessOrEqual(t, len([]rune(got[2])), 1000, "code points of the long text")
	hitsOf(t, s, search.ParseQuery(strings.Repeat("天气 ", 1000)))
	require.Len(t, e.texts(), 4)
	assert.LessOrEqual(t, len([]rune(e.texts()[3])), 1000, "code points of a long query")
	hits := hitsOf(t, s, search.ParseQuery("a b"))
	require.GreaterOrEqual(t, len(hits), 2, "two equal tools: %v", hits)
	assert.Equal(t, []search.Hit{{Doc: 1, Score: hits[0].Score}, {Doc: 2, Score: hits[0].Score}}, hits[:2], "two equal tools")
}

func TestEmbeddingBatches(t *testing.T) {
	places := make(chan struct{}, 3)
	e := &wordEmbedder{during: func(context.Context, []string) error {
		select {
		case places <- struct{}{}:
			time.Sleep(time.Millisecond) // lets calls overlap
			<-places
			return nil
		default:
			return errors.New("a fourth call at a time")
		}
	}}
	var progress []int
	searcherOf(t, search.EmbeddingOptions{Embedder: e, BatchSize: 7, Concurrency: 3, Progress: func(done, total int) {
		assert.Equal(t, 95, total)
		progress = append(progress, done)
	}}.Index, numbered(95)...)
	for _, texts := range e.calls {
		assert.LessOrEqual(t, len(texts), 7, "texts in a call")
	}
	assert.Len(t, e.texts(), 95)
	require.Len(t, progress, 15)
	assert.Equal(t, 0, progress[0])
	assert.Equal(t, 95, progress[14])
	assert.IsNonDecreasing(t, progress)
}

// A wrong answer of an embedder is an error that says what is wrong.
func TestBadEmbedders(t *testing.T) {
	change := func(f func([][]float64) [][]float64) *wordEmbedder { return &wordEmbedder{change: f} }
	last := func(f func([]float64) []float64) *wordEmbedder {
		return change(func(v [][]float64) [][]float64 { v[len(v)-1] = f(v[len(v)-1]); return v })
	}
	down := errors.New("down")
	tests := []struct {
		name string
		e    embedding.Embedder
		want string
	}{
		{"fails", &wordEmbedder{during: func(context.Context, []string) error { return down }}, "down"},
		{"panics", &wordEmbedder{during: func(context.Context, []string) error { panic("oh") }}, "panic: oh"},
		{"no answer", change(func([][]float64) [][]float64 { return nil }), "returned 0 vectors for 2 texts"},
		{"too many vectors", change(func(v [][]float64) [][]float64 { return append(v, v[0]) }), "returned 3 vectors for 2 texts"},
		{"too few vectors", change(func(v [][]float64) [][]float64 { return v[1:] }), "returned 1 vectors for 2 texts"},
		{"empty vectors", change(func(v [][]float64) [][]float64 { return make([][]float64, len(v)) }), "no direction"},
		{"a zero vector", last(func(v []float64) []float64 { return make([]float64, len(v)) }), "no direction"},
		{"a NaN", last(func(v []float64) []float64 { v[3] = math.NaN(); return v }), "no direction"},
		{"an infinite number", last(func(v []float64) []float64 { v[3] = math.Inf(-1); return v }), "no direction"},
		{"different dimensions", last(func(v []float64) []float64 { return v[1:] }), "64 and of 63 dimensions"},
		{"too many dimensions", last(func(v []float64) []float64 { return make([]float64, 1<<17) }), "131072 dimensions"},
		{"a nil embedder", nil, "Embedder is nil"},
		{"a nil pointer", (*wordEmbedder)(nil), "Embedder is nil"},
	}
	docs := mails()[:2]
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := search.Embedding(test.e)(context.Background(), docs)
			assert.ErrorContains(t, err, test.want)
			assert.Equal(t, nil, s) // assert.Nil also passes for a nil pointer
		})
	}
	// The batches have different dimensions.
	calls := 0
	e := change(func(v [][]float64) [][]float64 { calls++; v[0] = v[0][calls:]; return v })
	_, err := (search.EmbeddingOptions{Embedder: e, BatchSize: 1, Concurrency: 1}).Index(context.Background(), docs)
	assert.Error(t, err, "vectors of 63 and 62 dimensions in one index")
}

// The first error stops the build. A context that is done ends the build, whatever the embedder waits
// for.
func TestEmbeddingStops(t *testing.T) {
	docs := numbered(1000)
	down := errors.New("down")
	e := &wordEmbedder{during: func(context.Context, []string) error { return down }}
	_, err := (search.EmbeddingOptions{Embedder: e, BatchSize: 1}).Index(context.Background(), docs)
	assert.ErrorIs(t, err, down)
	assert.LessOrEqual(t, len(e.texts()), 8, "calls, of which 4 run at a time and 4 are handed out meanwhile")
	ctx, cancel := context.WithCancel(context.Background())
	release := make(chan struct{})
	defer close(release)
	e = &wordEmbedder{during: func(context.Context, []string) error { cancel(); <-release; return nil }}
	_, err = search.Embedding(e)(ctx, docs)
	assert.ErrorIs(t, err, context.Canceled)
}

// An embedder that fails or hangs for a query makes the search worse and does not end the run. The
// event has the error.
func TestEmbeddingDegrades(t *testing.T) {
	down := errors.New("down")
	release := make(chan struct{})
	defer close(release)
	for _, test := range []struct {
		name   string
		during func(context.Context, []string) error
		change func([][]float64) [][]float64
		want   error
		text   string
	}{
		{name: "fails", during: func(context.Context, []string) error { return down }, want: down},
		{name: "waits", during: func(ctx context.Context, _ []string) error { <-ctx.Done(); return ctx.Err() },
			want: context.DeadlineExceeded, text: "no answer within 1ms"},
		{name: "hangs", during: func(context.Context, []string) error { <-release; return nil }, want: context.DeadlineExceeded},
		{name: "panics", during: func(context.Context, []string) error { panic("oh") }, text: "panic: oh"},
		{name: "another model", change: func(v [][]float64) [][]float64 { v[0] = v[0][1:]; return v }, text: "63 dimensions, but the tools have 64"},
	} {
		for _, fallback := range []search.Indexer{nil, search.Fuzzy} {
			t.Run(test.name, func(t *testing.T) {
				e := &wordEmbedder{}
				timeout := time.Minute
				if test.want == context.DeadlineExceeded {
					timeout = time.Millisecond
				}
				index := func(ctx context.Context, docs []search.Document) (search.Searcher, error) {
					s, err := search.EmbeddingOptions{Embedder: e, QueryTimeout: timeout}.Index(ctx, docs)
					e.during, e.change = test.during, test.change
					return s, err
				}
				answer, event := askTool(t, toolsearch.Config{Index: index, Fallback: fallback}, "weather")
				assert.Contains(t, answer.Matches, "get_weather")
				assert.ErrorContains(t, event.Err, test.text)
				if test.want != nil {
					assert.ErrorIs(t, event.Err, test.want)
				}
			})
		}
	}
}

// The number of calls that hang is bounded.
func TestEmbeddingHangs(t *testing.T) {
	e := &wordEmbedder{}
	s := searcherOf(t, search.EmbeddingOptions{Embedder: e, QueryTimeout: time.Millisecond}.Index, doc("get_weather", ""))
	release := make(chan struct{})
	defer close(release)
	e.during = func(context.Context, []string) error { <-release; return nil }
	before := len(e.texts())
	for i := range 40 {
		_, err := find(t.Context(), s, search.ParseQuery(fmt.Sprint("weather ", i)))
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	assert.LessOrEqual(t, len(e.texts())-before, 32, "calls that hang")
}

func TestEmbeddingRemembersQueries(t *testing.T) {
	// A cache of two drops "one" when "three" comes.
	for size, want := range map[int]int{0: 3, 2: 4, -1: 6} {
		e := &wordEmbedder{}
		s := searcherOf(t, search.EmbeddingOptions{Embedder: e, QueryCache: size}.Index, doc("get_weather", ""))
		before := len(e.texts())
		for _, query := range []string{"one", "two", "two", "three", "one", "three"} {
			hitsOf(t, s, search.ParseQuery(query))
		}
		assert.Equal(t, want, len(e.texts())-before, "queries embedded with a cache of %d", size)
	}
}

// vectorMap is a VectorStore that can fail.
type vectorMap struct {
	vectors          map[string][]float32
	loadErr, saveErr error
	calls            int
	flushes          []int // calls before each Flush
}

func (s *vectorMap) Flush() error {
	s.flushes = append(s.flushes, s.calls)
	return nil
}

func (s *vectorMap) Load(_ context.Context, keys []string) ([][]float32, error) {
	s.calls++
	vectors := make([][]float32, len(keys))
	for i, key := range keys {
		vectors[i] = s.vectors[key]
	}
	return vectors, s.loadErr
}

func (s *vectorMap) Save(_ context.Context, keys []string, vectors [][]float32) error {
	s.calls++
	for i, key := range keys {
		s.vectors[key] = slices.Clone(vectors[i])
	}
	return s.saveErr
}

// A stored vector is not embedded again, even by another process. When a tool has changed, only its
// text is embedded. The vectors of a model are not used for another model.
func TestEmbeddingStore(t *testing.T) {
	for name, store := range map[string]func() search.VectorStore{
		"memory": func() func() search.VectorStore {
			s := &vectorMap{vectors: map[string][]float32{}}
			return func() search.VectorStore { return s }
		}(),
		"file": func() func() search.VectorStore {
			path := filepath.Join(t.TempDir(), "some", "vectors")
			return func() search.VectorStore { return search.NewFileStore(path, 0) }
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			docs := mails()
			var first []search.Hit
			build := func(model string, wantEmbedded int) {
				t.Helper()
				e := &wordEmbedder{}
				var progress []int
				var failures []error
				s := searcherOf(t, search.EmbeddingOptions{Embedder: e, Model: model, Store: store(), BatchSize: 2,
					Progress:     func(done, _ int) { progress = append(progress, done) },
					OnStoreError: func(err error) { failures = append(failures, err) }}.Index, docs...)
				assert.Empty(t, failures)
				assert.Len(t, e.texts(), wantEmbedded)
				require.NotEmpty(t, progress)
				assert.Equal(t, 3-wantEmbedded, progress[0])
				assert.Equal(t, 3, progress[len(progress)-1])
				if hits := hitsOf(t, s, mail); first == nil {
					first = hits
				} else {
					assert.Equal(t, first, hits, "the hits with the stored vectors")
				}
			}
			build("one", 3)
			build("one", 0)
			build("two", 3)
			build("one", 0)
			docs[2].Hint, first = "stamp", nil
			build("one", 1)
			build("one", 0)
		})
	}
}

// A catalog that is built again has only new texts embedded, alone and in a hybrid.
func TestEmbeddingRebuilds(t *testing.T) {
	for name, index := range map[string]func(e embedding.Embedder) search.Indexer{
		"alone":       search.Embedding,
		"in a hybrid": func(e embedding.Embedder) search.Indexer { return search.Hybrid(search.BM25, search.Embedding(e)) },
	} {
		t.Run(name, func(t *testing.T) {
			e := &wordEmbedder{}
			docs := mails()
			s := searcherOf(t, index(e), docs...)
			for _, step := range []struct {
				what  string
				docs  []search.Document
				texts []string // that are embedded
			}{
				{"the same", docs, nil},
				{"another order, and a tool with the text of another", []search.Document{docs[2], docs[0], docs[1], doc("send-mail", "Sends mail")}, nil},
				{"a tool fewer", docs[:2], nil},
				{"a tool that is known no longer", docs, []string{"send post. Sends a letter"}},
				{"no tools", nil, nil},
				{"other tools", []search.Document{doc("a", "b"), doc("_", "")}, []string{"a. b"}},
			} {
				e.calls = nil
				s = rebuilt(t, s, step.docs)
				assertList(t, step.texts, e.texts(), "%s: the texts that are embedded", step.what)
				assert.Equal(t, hitsOf(t, searcherOf(t, index(&wordEmbedder{}), step.docs...), mail), hitsOf(t, s, mail), step.what)
			}
		})
	}
}

// A store is asked only for texts that the catalog before did not have.
func TestEmbeddingRebuildsWithAStore(t *testing.T) {
	e := &wordEmbedder{}
	store := &vectorMap{vectors: map[string][]float32{}}
	docs := mails()
	s := searcherOf(t, search.EmbeddingOptions{Embedder: e, Store: store, Model: "one"}.Index, docs...)
	for _, step := range []struct {
		what  string
		docs  []search.Document
		calls int // of the store
		texts int // that are embedded
	}{
		{"the same", docs, 0, 0},
		{"two tools fewer", docs[:1], 0, 0},
		{"two tools that the store has", docs, 1, 0},
		{"a tool that it does not have", append(docs, doc("cut_grass", "Mows")), 2, 1}, // Load and Save
	} {
		e.calls, store.calls = nil, 0
		s = rebuilt(t, s, step.docs)
		assert.Equal(t, step.calls, store.calls, "%s: calls of the store", step.what)
		assert.Len(t, e.texts(), step.texts, "%s: the texts that are embedded", step.what)
	}
}

// Vectors of other dimensions than those of the embedder now are of another model.
func TestEmbeddingRebuildsWithAnotherModel(t *testing.T) {
	e := &wordEmbedder{}
	docs := mails()
	s := searcherOf(t, search.Embedding(e), docs[:2]...)
	e.change = func(vectors [][]float64) [][]float64 {
		for i := range vectors {
			vectors[i] = append(vectors[i], 1)
		}
		return vectors
	}
	best := bestOf(t, rebuilt(t, s, docs), search.ParseQuery("send mail"))
	require.NotEmpty(t, best)
	assert.Equal(t, 1, best[0])
}

// A build calls Flush once at its end, even if it fails.
func TestEmbeddingFlushes(t *testing.T) {
	for name, e := range map[string]*wordEmbedder{"whole": {}, "broken off": {during: func(context.Context, []string) error { return errors.New("no quota") }}} {
		store := &vectorMap{vectors: map[string][]float32{}}
		_, _ = search.EmbeddingOptions{Embedder: e, Model: "one", Store: store}.Index(context.Background(), mails())
		assert.Equal(t, []int{store.calls}, store.flushes, name)
	}
}

// A store that fails or has wrong vectors does not stop the build.
func TestBadStores(t *testing.T) {
	docs := mails()
	want := hitsOf(t, searcherOf(t, search.Embedding(&wordEmbedder{}), docs...), mail)
	filled := func(change func([]float32) []float32) *vectorMap {
		s := &vectorMap{vectors: map[string][]float32{}}
		searcherOf(t, search.EmbeddingOptions{Embedder: &wordEmbedder{}, Store: s, Model: "m"}.Index, docs[:2]...)
		for key, v := range s.vectors {
			s.vectors[key] = change(v)
		}
		s.calls = 0
		return s
	}
	same := func(v []float32) []float32 { return v }
	down := errors.New("down")
	for _, test := range []struct {
		name  string
		store search.VectorStore
		calls int
		err   string
	}{
		{"a store that cannot load", &vectorMap{loadErr: down}, 1, "loading vectors: down"},
		{"a store that cannot save", &vectorMap{vectors: map[string][]float32{}, saveErr: down}, 2, "saving vectors: down"},
		{"a store that panics", &vectorMap{}, 2, "saving vectors: panic: assignment to entry in nil map"},
		{"zero vectors", filled(func(v []float32) []float32 { return make([]float32, len(v)) }), 4, ""},
		{"vectors with a NaN", filled(func(v []float32) []float32 { v[1] = float32(math.NaN()); return v }), 4, ""},
		{"vectors of other dimensions", filled(func(v []float32) []float32 { return v[1:] }), 2, "of different dimensions"},
		{"good vectors", filled(same), 2, ""},
		{"a nil pointer", (*vectorMap)(nil), 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var failures []string
			s := searcherOf(t, search.EmbeddingOptions{Embedder: &wordEmbedder{}, Store: test.store, Model: "m", BatchSize: 1,
				OnStoreError: func(err error) { failures = append(failures, err.Error()) }}.Index, docs...)
			assert.Equal(t, want, hitsOf(t, s, mail))
			if test.err == "" {
				assert.Empty(t, failures)
			} else if assert.Len(t, failures, 1) {
				assert.Contains(t, failures[0], test.err)
			}
			if s, ok := test.store.(*vectorMap); ok && s != nil {
				assert.Equal(t, test.calls, s.calls, "calls of the store")
			}
		})
	}
	_, err := (search.EmbeddingOptions{Embedder: &wordEmbedder{}, Store: filled(same)}).Index(context.Background(), docs)
	assert.ErrorContains(t, err, "Model", "a store without a Model")
}
