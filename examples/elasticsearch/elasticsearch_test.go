package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	retrieveres8 "github.com/cloudwego/eino-ext/components/retriever/es8"
	"github.com/cloudwego/eino-ext/components/retriever/es8/search_mode"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"
	"github.com/elastic/go-elasticsearch/v8"
	"github.com/elastic/go-elasticsearch/v8/typedapi/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/elasticsearch/loopback"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/search"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// everywhere runs a test against the loopback server, and against the cluster at
// ELASTICSEARCH_URL if that is set.
func everywhere(t *testing.T, test func(t *testing.T, client *elasticsearch.Client)) {
	t.Run("loopback", func(t *testing.T) {
		_, client := startLoopback(t)
		test(t, client)
	})
	t.Run("cluster", func(t *testing.T) {
		if os.Getenv("ELASTICSEARCH_URL") == "" {
			t.Skip("ELASTICSEARCH_URL is not set")
		}
		client, _, err := connect()
		require.NoError(t, err)
		test(t, client)
	})
}

func startLoopback(t *testing.T) (*loopback.Server, *elasticsearch.Client) {
	t.Helper()
	server := loopback.Start()
	t.Cleanup(server.Close)
	client, err := elasticsearch.NewClient(elasticsearch.Config{Addresses: []string{server.URL}})
	require.NoError(t, err)
	return server, client
}

// newEngine makes an index that is deleted after the test.
func newEngine(t *testing.T, client *elasticsearch.Client, embedder embedding.Embedder) *engine {
	t.Helper()
	e, err := createEngine(t, client, embedder)
	require.NoError(t, err)
	return e
}

// createEngine is newEngine but returns its error instead of ending the test.
func createEngine(t *testing.T, client *elasticsearch.Client, embedder embedding.Embedder) (*engine, error) {
	t.Helper()
	e := &engine{client: client, index: throwAway(), embedder: embedder, dims: hashedDims}
	if err := e.create(t.Context()); err != nil {
		return nil, err
	}
	t.Cleanup(func() { assert.NoError(t, e.drop(context.Background()), "dropping the index") })
	return e, nil
}

func (e *engine) retrieverFor(t *testing.T) retriever.Retriever {
	t.Helper()
	r, err := e.retriever(t.Context())
	require.NoError(t, err)
	return r
}

func catalogOf(t *testing.T, infos []*schema.ToolInfo, index toolsearch.Indexer) *toolsearch.Catalog {
	t.Helper()
	catalog, err := toolsearch.NewCatalogFromInfos(t.Context(), infos, index)
	require.NoError(t, err)
	return catalog
}

func (e *engine) mustSync(t *testing.T, infos []*schema.ToolInfo) search.Stored {
	t.Helper()
	stored, err := e.sync(t.Context(), infos, nil)
	require.NoError(t, err)
	return stored
}

func serviceInfos(t *testing.T) (infos []*schema.ToolInfo) {
	t.Helper()
	for _, tl := range services.Tools() {
		info, err := tl.Info(t.Context())
		require.NoError(t, err)
		infos = append(infos, info)
	}
	return infos
}

func found(t *testing.T, catalog *toolsearch.Catalog, query string) (names []string) {
	t.Helper()
	result, err := catalog.Search(t.Context(), query, 5)
	require.NoError(t, err)
	for _, match := range result.Matches {
		names = append(names, match.Info.Name)
	}
	return names
}

// hashed embeds a text as the sum of its words' directions, chosen by a hash. It works like
// an embedder without a model.
type hashed struct{}

const hashedDims = 256

func (hashed) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	vectors := make([][]float64, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float64, hashedDims)
		vectors[i][0] = 0.01 // the zero vector has no cosine
		for _, word := range strings.Fields(strings.ToLower(text)) {
			sum := fnv.New32a()
			sum.Write([]byte(word))
			vectors[i][sum.Sum32()%hashedDims]++
		}
	}
	return vectors, nil
}

var requests = []struct{ query, want string }{
	{"create an issue", "mcp__github__create_issue"},
	{"send message channel", "mcp__slack__send_message"},
	{"+stripe refund", "mcp__stripe__refund_charge"},
	{"sentry list errors stack trace", "mcp__sentry__list_errors"},
	{"weather forecast", "mcp__weather__daily_forecast"},
	{"restart deployment kubernetes", "mcp__kubernetes__restart_deployment"},
}

func TestFindsTools(t *testing.T) {
	everywhere(t, func(t *testing.T, client *elasticsearch.Client) {
		dense := func(e *engine) (retriever.Retriever, error) {
			return e.retrieverOf(t.Context(), search_mode.SearchModeDenseVectorSimilarity(search_mode.DenseVectorSimilarityTypeCosineSimilarity, vectorField))
		}
		usual := func(e *engine) (retriever.Retriever, error) { return e.retriever(t.Context()) }
		for _, tt := range []struct {
			what      string
			embedder  embedding.Embedder
			retriever func(*engine) (retriever.Retriever, error)
		}{
			{"words", nil, usual}, {"words and vectors", hashed{}, usual}, {"vectors", hashed{}, dense},
		} {
			t.Run(tt.what, func(t *testing.T) {
				infos := serviceInfos(t)
				e := newEngine(t, client, tt.embedder)
				e.mustSync(t, infos)
				r, err := tt.retriever(e)
				require.NoError(t, err)
				catalog := catalogOf(t, infos, toolsearch.Retriever(r))
				for _, request := range requests {
					assert.Contains(t, found(t, catalog, request.query), request.want, "found by %q", request.query)
				}
			})
		}
	})
}

// TestKeepsTheContract tests the contract through eino-ext and over the wire. It leaves out
// explanations, which would take thousands of requests and are tested without a wire.
func TestKeepsTheContract(t *testing.T) {
	everywhere(t, func(t *testing.T, client *elasticsearch.Client) {
		toolsearchtest.TestSearcher(t, func(ctx context.Context, docs []toolsearch.Document) (toolsearch.Searcher, error) {
			e, err := createEngine(t, client, nil)
			if err != nil {
				return nil, err
			}
			ix, err := e.indexer(ctx)
			if err != nil {
				return nil, err
			}
			if _, err := search.StoreDocuments(ctx, ix, docs, search.StoreOptions{}); err != nil {
				return nil, err
			}
			if err := e.refresh(ctx); err != nil {
				return nil, err
			}
			r, err := e.retriever(ctx)
			if err != nil {
				return nil, err
			}
			searcher, err := toolsearch.Retriever(r)(ctx, docs)
			if err != nil {
				return nil, err
			}
			return struct{ toolsearch.Searcher }{searcher}, nil
		})
	})
}

func TestWritesWhatChanged(t *testing.T) {
	everywhere(t, func(t *testing.T, client *elasticsearch.Client) {
		infos := serviceInfos(t)
		e := newEngine(t, client, nil)
		first := e.mustSync(t, infos)
		assert.Equal(t, len(infos), first.Written)
		again := e.mustSync(t, infos)
		assert.Zero(t, again.Written)
		assert.Equal(t, len(infos), again.Unchanged)

		// Without the stored hashes, everything is written again, but no document twice.
		ix, err := e.indexer(t.Context())
		require.NoError(t, err)
		docs, err := search.Documents(infos, nil)
		require.NoError(t, err)
		_, err = search.StoreDocuments(t.Context(), ix, docs, search.StoreOptions{})
		require.NoError(t, err)
		assert.Equal(t, first.Hashes, e.mustHold(t), "after writing twice")

		changed := *infos[7]
		changed.Desc = "Summons the plumber"
		later := e.mustSync(t, append([]*schema.ToolInfo{&changed}, infos[10:]...))
		assert.Equal(t, 1, later.Written)
		assert.Len(t, later.Gone, 9)
		assert.Equal(t, later.Hashes, e.mustHold(t))
		names := found(t, catalogOf(t, infos, toolsearch.Retriever(e.retrieverFor(t))), "plumber")
		assert.Equal(t, []string{changed.Name}, names)
	})
}

func (e *engine) mustHold(t *testing.T) map[string]string {
	t.Helper()
	held, err := e.hashes(t.Context())
	require.NoError(t, err)
	return held
}

// TestForeignDocuments puts foreign documents into the index, and tools that left the catalog.
func TestForeignDocuments(t *testing.T) {
	everywhere(t, func(t *testing.T, client *elasticsearch.Client) {
		infos := serviceInfos(t)
		e := newEngine(t, client, nil)
		foreign := []*schema.ToolInfo{{Name: "elsewhere__create_issue", Desc: "create issue create issue create issue"}}
		e.mustSync(t, append(foreign, infos...))
		ix, err := e.indexer(t.Context())
		require.NoError(t, err)
		unnamed := &schema.Document{ID: "no-tool", Content: "create issue create issue", MetaData: map[string]any{search.MetaHash: "1"}}
		_, err = ix.Store(t.Context(), []*schema.Document{unnamed})
		require.NoError(t, err)
		require.NoError(t, e.refresh(t.Context()))
		r := e.retrieverFor(t)
		documents, err := r.Retrieve(t.Context(), "create issue", retriever.WithTopK(2))
		require.NoError(t, err)
		require.Len(t, documents, 2)
		require.Contains(t, []string{documents[0].ID, documents[1].ID}, "no-tool", "want foreign documents among the engine's first")
		names := found(t, catalogOf(t, infos, toolsearch.Retriever(r)), "create issue")
		assert.Len(t, names, 5)
		assert.Contains(t, names, "mcp__github__create_issue")
	})
}

// TestNamespaces uses the engine's filter to leave out documents of other namespaces.
func TestNamespaces(t *testing.T) {
	everywhere(t, func(t *testing.T, client *elasticsearch.Client) {
		infos := serviceInfos(t)
		e := newEngine(t, client, hashed{})
		e.mustSync(t, infos)
		o := toolsearch.RetrieverOptions{Retriever: e.retrieverFor(t), Options: func(q toolsearch.Query) []retriever.Option {
			if q.Namespace == "" {
				return nil
			}
			return []retriever.Option{retrieveres8.WithFilters([]types.Query{
				{Term: map[string]types.TermQuery{search.MetaNamespace: {Value: q.Namespace}}}})}
		}}
		var docs []toolsearch.Document
		var searcher toolsearch.Searcher
		catalogOf(t, infos, func(ctx context.Context, given []toolsearch.Document) (s toolsearch.Searcher, err error) {
			docs = given
			searcher, err = o.Index(ctx, given)
			return searcher, err
		})
		found, err := searcher.Search(t.Context(), toolsearch.Query{Text: "create", Keywords: []string{"create"}, Namespace: "stripe"})
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(found.Hits), 10)
		for _, hit := range found.Hits {
			assert.Equal(t, "stripe", docs[hit.Doc].Namespace, "found %s", docs[hit.Doc].Name)
		}
	})
}

// TestManyTools writes 2,000 tools, most of which then leave.
func TestManyTools(t *testing.T) {
	everywhere(t, func(t *testing.T, client *elasticsearch.Client) {
		var infos []*schema.ToolInfo
		verbs, nouns := strings.Fields("open close move copy count paint sell lend hide mend"), strings.Fields("door boat lamp chair clock horse violin kettle carpet mirror")
		for i := range 2000 {
			name := fmt.Sprintf("mcp__shop%d__%s_%s", i/100, verbs[i%10], nouns[i/10%10])
			infos = append(infos, &schema.ToolInfo{Name: name, Desc: fmt.Sprintf("To %s a %s of shop %d", verbs[i%10], nouns[i/10%10], i/100)})
		}
		e := newEngine(t, client, nil)
		var progress []int
		stored, err := e.sync(t.Context(), infos, func(written, total int) { progress = append(progress, written) })
		require.NoError(t, err)
		require.Equal(t, 2000, stored.Written)
		require.Len(t, progress, 20)
		require.Equal(t, 2000, progress[19])
		catalog := catalogOf(t, infos, toolsearch.Retriever(e.retrieverFor(t)))
		for i := 0; i < 2000; i += 37 {
			query := infos[i].Desc
			if names := found(t, catalog, query); assert.NotEmpty(t, names, "found by %q", query) {
				assert.Equal(t, infos[i].Name, names[0], "found first by %q", query)
			}
		}
		fewer := e.mustSync(t, infos[:500])
		assert.Zero(t, fewer.Written)
		assert.Len(t, fewer.Gone, 1500)
		assert.Len(t, e.mustHold(t), 500)
	})
}

// TestSearchesWhileItIsWritten is for the race detector.
func TestSearchesWhileItIsWritten(t *testing.T) {
	everywhere(t, func(t *testing.T, client *elasticsearch.Client) {
		infos := serviceInfos(t)
		e := newEngine(t, client, nil)
		e.mustSync(t, infos)
		catalog := catalogOf(t, infos, toolsearch.Retriever(e.retrieverFor(t)))
		var wait sync.WaitGroup
		for i := range 8 {
			wait.Add(1)
			go func() {
				defer wait.Done()
				for j := range 2 * len(requests) {
					request := requests[(i+j)%len(requests)]
					result, err := catalog.Search(t.Context(), request.query, 5)
					if !assert.NoError(t, err, "%q", request.query) {
						continue
					}
					assert.True(t, slices.ContainsFunc(result.Matches, func(m toolsearch.Match) bool { return m.Info.Name == request.want }),
						"%q finds %v, and not %s", request.query, result, request.want)
				}
			}()
		}
		changed := *infos[slices.IndexFunc(infos, func(info *schema.ToolInfo) bool { return strings.Contains(info.Name, "zendesk") })]
		for i := range 5 {
			changed.Desc = fmt.Sprintf("Version %d", i)
			others := slices.DeleteFunc(slices.Clone(infos), func(info *schema.ToolInfo) bool { return info.Name == changed.Name })
			stored, err := e.sync(t.Context(), append(others, &changed), nil)
			assert.NoError(t, err, changed.Desc)
			assert.Equal(t, 1, stored.Written, changed.Desc)
		}
		wait.Wait()
	})
}

// TestDegrades tests what the model finds when the cluster fails, and what the event says.
func TestDegrades(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	answer := func(status int, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return true
		}
	}
	for _, tt := range []struct {
		what  string
		fault func(http.ResponseWriter, *http.Request) bool
		want  string
	}{
		{"no connection", func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }, "EOF"},
		{"an error", answer(500, `{"error":{"type":"search_phase_execution_exception","reason":"all shards failed"},"status":500}`), "all shards failed"},
		{"too many requests", answer(429, `{"error":{"type":"es_rejected_execution_exception","reason":"queue full"},"status":429}`), "queue full"},
		{"an error page", answer(502, "<html>Bad Gateway</html>"), "invalid character"},
		{"half an answer", answer(200, `{"took":1,"hits":{"hits":[{"_index":"x","_id":`), "EOF"},
		// Well-formed JSON of another shape is left out: Elasticsearch's client reads it as an
		// answer without hits.
		{"a document without content", answer(200, `{"hits":{"hits":[{"_index":"x","_id":"y","_source":{}}]}}`), "content"},
		{"no answer", func(_ http.ResponseWriter, r *http.Request) bool {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
			return true
		}, "took longer than 50ms"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			server, client := startLoopback(t)
			e := newEngine(t, client, nil)
			e.mustSync(t, serviceInfos(t))
			server.Break(tt.fault)
			defer server.Break(nil)
			o := toolsearch.RetrieverOptions{Retriever: e.retrieverFor(t)}
			if tt.what == "no answer" {
				o.Timeout = 50 * time.Millisecond
			}
			event := searchInAgent(t, o.Index)
			assert.ErrorContains(t, event.Err, tt.want)
			assert.Contains(t, event.Matches, "mcp__github__create_issue")

			server.Break(nil)
			o.Timeout = 0
			assert.NoError(t, searchInAgent(t, o.Index).Err, "once the cluster works again")
		})
	}
	t.Run("no server", func(t *testing.T) {
		server, client := startLoopback(t)
		server.Close()
		e := &engine{client: client, index: throwAway()}
		event := searchInAgent(t, toolsearch.Retriever(e.retrieverFor(t)))
		assert.Error(t, event.Err)
		assert.NotEmpty(t, event.Matches)
	})
}

// searchInAgent lets an agent's model search once.
func searchInAgent(t *testing.T, index toolsearch.Indexer) (event toolsearch.SearchEvent) {
	t.Helper()
	middleware, err := toolsearch.New(t.Context(), &toolsearch.Config{
		DynamicTools: services.Tools(), Index: index,
		OnEvent: func(_ context.Context, e toolsearch.Event) {
			if e, ok := e.(toolsearch.SearchEvent); ok {
				event = e
			}
		},
	})
	require.NoError(t, err)
	model := toolsearchtest.NewModel[*schema.Message](
		toolsearchtest.CallTool(toolsearch.DefaultToolName, `{"query":"create github issue"}`), toolsearchtest.Say("Found it."))
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "helper", Description: "Helps", Model: model, Handlers: []adk.ChatModelAgentMiddleware{middleware}})
	require.NoError(t, err)
	events := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent}).Query(t.Context(), "Report this.")
	for e, ok := events.Next(); ok; e, ok = events.Next() {
		require.NoError(t, e.Err, "the run ended")
	}
	assert.Equal(t, event.Matches, model.Requests()[1].ToolNames()[1:], "the event's matches, and what the model saw")
	return event
}

// TestWritingFails: a document that Elasticsearch refused does not count as stored.
func TestWritingFails(t *testing.T) {
	server, client := startLoopback(t)
	infos := serviceInfos(t)
	e := newEngine(t, client, nil)
	bulkFails := func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/_bulk") {
			return false
		}
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}
	server.Break(bulkFails)
	stored, err := e.sync(t.Context(), infos, nil)
	assert.ErrorContains(t, err, "documents 1 to 100 of 166: the document of "+infos[0].Name+" was not stored")
	assert.Empty(t, stored.Hashes, "no bulk gets through")
	ix, err := e.indexer(t.Context())
	require.NoError(t, err)
	ids, err := ix.(*checkedIndexer).Indexer.Store(t.Context(), []*schema.Document{{ID: "1"}})
	const mended = "the error of the es8 indexer for a failed bulk: if it has one now, checkedIndexer can go"
	assert.NoError(t, err, mended)
	assert.Len(t, ids, 1, mended)
	server.Break(nil)
	e.mustSync(t, infos)

	// One document among many is refused: its name is too long for a keyword field.
	long := &schema.ToolInfo{Name: strings.Repeat("long_", 10_000), Desc: "Too long"}
	stored, err = e.sync(t.Context(), append(slices.Clone(infos), long), nil)
	assert.Error(t, err, "one document refused")
	assert.Zero(t, stored.Written, "one document refused")
	assert.Equal(t, len(infos), stored.Unchanged, "one document refused")
}

func TestProgram(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), &out))
	rest := out.String()
	for _, want := range []string{
		"first time: 166 tools written, 0 unchanged\n", "second time: 0 tools written, 166 unchanged\n",
		`search "post message to a channel" finds `, "mcp__slack__send_message", "model call 1 saw tool_search\n",
		"model call 2 saw tool_search, ", "mcp__slack__send_message", "The index is gone.",
		`search "post message to a channel" finds `, "mcp__slack__send_message", "by the fallback, since", "index_not_found_exception",
		"model call 1 saw tool_search\n", "model call 2 saw tool_search, ", "mcp__slack__send_message",
	} {
		require.Contains(t, rest, want, "in that place of\n%s", out.String())
		_, rest, _ = strings.Cut(rest, want)
	}
}
