package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
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

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/elasticsearch/loopback"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// everywhere runs a test against the loopback server and, where ELASTICSEARCH_URL is set,
// against that cluster too.
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
		if err != nil {
			t.Fatal(err)
		}
		test(t, client)
	})
}

func startLoopback(t *testing.T) (*loopback.Server, *elasticsearch.Client) {
	t.Helper()
	server := loopback.Start()
	t.Cleanup(server.Close)
	client, err := elasticsearch.NewClient(elasticsearch.Config{Addresses: []string{server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	return server, client
}

// newEngine makes an index that is deleted after the test.
func newEngine(t *testing.T, client *elasticsearch.Client, embedder embedding.Embedder) *engine {
	t.Helper()
	e := &engine{client: client, index: throwAway(), embedder: embedder, dims: hashedDims}
	if err := e.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.drop(context.Background()); err != nil {
			t.Errorf("dropping the index: %v", err)
		}
	})
	return e
}

func (e *engine) retrieverFor(t *testing.T) retriever.Retriever {
	t.Helper()
	r, err := e.retriever(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func catalogOf(t *testing.T, infos []*schema.ToolInfo, index toolsearch.Indexer) *toolsearch.Catalog {
	t.Helper()
	catalog, err := toolsearch.NewCatalogFromInfos(t.Context(), infos, index)
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

func (e *engine) mustSync(t *testing.T, infos []*schema.ToolInfo) toolsearch.Stored {
	t.Helper()
	stored, err := e.sync(t.Context(), catalogOf(t, infos, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func serviceInfos(t *testing.T) (infos []*schema.ToolInfo) {
	t.Helper()
	for _, tl := range services.Tools() {
		info, err := tl.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		infos = append(infos, info)
	}
	return infos
}

func found(t *testing.T, catalog *toolsearch.Catalog, query string) (names []string) {
	t.Helper()
	result, err := catalog.Search(t.Context(), query, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range result.Matches {
		names = append(names, match.Info.Name)
	}
	return names
}

// hashed embeds a text as the directions of its words, which hashing picks: like enough to
// an embedder, without a model.
type hashed struct{}

const hashedDims = 256

func (hashed) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	vectors := make([][]float64, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float64, hashedDims)
		vectors[i][0] = 0.01 // no text is nothing, of which there is no cosine
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
				if err != nil {
					t.Fatal(err)
				}
				catalog := catalogOf(t, infos, toolsearch.Retriever(r))
				for _, request := range requests {
					if names := found(t, catalog, request.query); !slices.Contains(names, request.want) {
						t.Errorf("%q finds %q, and not %s", request.query, names, request.want)
					}
				}
			})
		}
	})
}

// TestKeepsTheContract: through eino-ext and over the wire too. But for explanations, which
// would ask some thousand times what is tested without a wire.
func TestKeepsTheContract(t *testing.T) {
	everywhere(t, func(t *testing.T, client *elasticsearch.Client) {
		toolsearchtest.TestSearcher(t, func(ctx context.Context, docs []toolsearch.Document) (toolsearch.Searcher, error) {
			e := newEngine(t, client, nil)
			ix, err := e.indexer(ctx)
			if err != nil {
				return nil, err
			}
			if _, err := toolsearch.StoreDocuments(ctx, ix, docs, toolsearch.StoreOptions{}); err != nil {
				return nil, err
			}
			if err := e.refresh(ctx); err != nil {
				return nil, err
			}
			searcher, err := toolsearch.Retriever(e.retrieverFor(t))(ctx, docs)
			if err != nil {
				return nil, err
			}
			return struct{ toolsearch.Counter }{searcher.(toolsearch.Counter)}, nil
		})
	})
}

func TestWritesWhatChanged(t *testing.T) {
	everywhere(t, func(t *testing.T, client *elasticsearch.Client) {
		infos := serviceInfos(t)
		e := newEngine(t, client, nil)
		first := e.mustSync(t, infos)
		if first.Written != len(infos) {
			t.Errorf("first: %d of %d written", first.Written, len(infos))
		}
		if again := e.mustSync(t, infos); again.Written != 0 || again.Unchanged != len(infos) {
			t.Errorf("again: %d written, %d unchanged", again.Written, again.Unchanged)
		}

		// Without knowing what is there, everything is written again, and nothing twice.
		ix, err := e.indexer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := catalogOf(t, infos, nil).Store(t.Context(), ix, toolsearch.StoreOptions{}); err != nil {
			t.Fatal(err)
		}
		if held := e.mustHold(t); !maps.Equal(held, first.Hashes) {
			t.Errorf("after writing twice the index holds %d documents, want %d", len(held), len(infos))
		}

		changed := *infos[7]
		changed.Desc = "Summons the plumber"
		later := e.mustSync(t, append([]*schema.ToolInfo{&changed}, infos[10:]...))
		if later.Written != 1 || len(later.Gone) != 9 || !maps.Equal(e.mustHold(t), later.Hashes) {
			t.Errorf("later: %d written, %d gone", later.Written, len(later.Gone))
		}
		if names := found(t, catalogOf(t, infos, toolsearch.Retriever(e.retrieverFor(t))), "plumber"); !slices.Equal(names, []string{changed.Name}) {
			t.Errorf("a changed tool: found %q", names)
		}
	})
}

func (e *engine) mustHold(t *testing.T) map[string]string {
	t.Helper()
	held, err := e.hashes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// TestForeignDocuments: others write to the index as well, and the catalog has lost tools.
func TestForeignDocuments(t *testing.T) {
	everywhere(t, func(t *testing.T, client *elasticsearch.Client) {
		infos := serviceInfos(t)
		e := newEngine(t, client, nil)
		foreign := []*schema.ToolInfo{{Name: "elsewhere__create_issue", Desc: "create issue create issue create issue"}}
		e.mustSync(t, append(foreign, infos...))
		ix, err := e.indexer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		unnamed := &schema.Document{ID: "no-tool", Content: "create issue create issue", MetaData: map[string]any{toolsearch.MetaHash: "1"}}
		if _, err := ix.Store(t.Context(), []*schema.Document{unnamed}); err != nil {
			t.Fatal(err)
		}
		if err := e.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := e.retrieverFor(t)
		documents, err := r.Retrieve(t.Context(), "create issue", retriever.WithTopK(2))
		if err != nil || len(documents) != 2 || documents[0].ID != "no-tool" && documents[1].ID != "no-tool" {
			t.Fatalf("the engine finds %v, error %v; want what is foreign among its first", documents, err)
		}
		names := found(t, catalogOf(t, infos, toolsearch.Retriever(r)), "create issue")
		if len(names) != 5 || !slices.Contains(names, "mcp__github__create_issue") {
			t.Errorf("found %q", names)
		}
	})
}

// TestNamespaces: the engine's own filter spares it documents of other namespaces.
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
				{Term: map[string]types.TermQuery{toolsearch.MetaNamespace: {Value: q.Namespace}}}})}
		}}
		var docs []toolsearch.Document
		var searcher toolsearch.Searcher
		catalogOf(t, infos, func(ctx context.Context, given []toolsearch.Document) (s toolsearch.Searcher, err error) {
			docs = given
			searcher, err = o.Index(ctx, given)
			return searcher, err
		})
		hits, err := searcher.Search(t.Context(), toolsearch.Query{Text: "create", Keywords: []string{"create"}, Namespace: "stripe"})
		if err != nil || len(hits) < 10 {
			t.Fatalf("%d hits, error %v", len(hits), err)
		}
		for _, hit := range hits {
			if docs[hit.Doc].Namespace != "stripe" {
				t.Errorf("found %s", docs[hit.Doc].Name)
			}
		}
	})
}

// TestManyTools: 2,000 of them, of which most leave.
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
		stored, err := e.sync(t.Context(), catalogOf(t, infos, nil), func(written, total int) { progress = append(progress, written) })
		if err != nil || stored.Written != 2000 || len(progress) != 20 || progress[19] != 2000 {
			t.Fatalf("%d written, progress %v, error %v", stored.Written, progress, err)
		}
		catalog := catalogOf(t, infos, toolsearch.Retriever(e.retrieverFor(t)))
		for i := 0; i < 2000; i += 37 {
			query := infos[i].Desc
			if names := found(t, catalog, query); len(names) == 0 || names[0] != infos[i].Name {
				t.Errorf("%q finds %q first, want %s", query, names, infos[i].Name)
			}
		}
		if fewer := e.mustSync(t, infos[:500]); fewer.Written != 0 || len(fewer.Gone) != 1500 || len(e.mustHold(t)) != 500 {
			t.Errorf("%d written, %d gone, %d left", fewer.Written, len(fewer.Gone), len(e.mustHold(t)))
		}
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
					if result, err := catalog.Search(t.Context(), request.query, 5); err != nil || !slices.ContainsFunc(result.Matches,
						func(m toolsearch.Match) bool { return m.Info.Name == request.want }) {
						t.Errorf("%q: %v, error %v", request.query, result, err)
					}
				}
			}()
		}
		changed := *infos[slices.IndexFunc(infos, func(info *schema.ToolInfo) bool { return strings.Contains(info.Name, "zendesk") })]
		for i := range 5 {
			changed.Desc = fmt.Sprintf("Version %d", i)
			if stored, err := e.sync(t.Context(), catalogOf(t, append(slices.DeleteFunc(slices.Clone(infos), func(info *schema.ToolInfo) bool {
				return info.Name == changed.Name
			}), &changed), nil), nil); err != nil || stored.Written != 1 {
				t.Errorf("%d written, error %v", stored.Written, err)
			}
		}
		wait.Wait()
	})
}

// TestDegrades: what the model finds when the cluster is not well, and what the event says.
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
		// Well-formed JSON of another shape is not here: Elasticsearch's client reads it as an
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
			if event.Err == nil || !strings.Contains(event.Err.Error(), tt.want) {
				t.Errorf("the event has the error %v, want one with %q", event.Err, tt.want)
			}
			if !slices.Contains(event.Matches, "mcp__github__create_issue") {
				t.Errorf("found %q", event.Matches)
			}

			server.Break(nil)
			o.Timeout = 0
			if event := searchInAgent(t, o.Index); event.Err != nil {
				t.Errorf("once it is well again: %v", event.Err)
			}
		})
	}
	t.Run("no server", func(t *testing.T) {
		server, client := startLoopback(t)
		server.Close()
		e := &engine{client: client, index: throwAway()}
		if event := searchInAgent(t, toolsearch.Retriever(e.retrieverFor(t))); event.Err == nil || len(event.Matches) == 0 {
			t.Errorf("found %q, error %v", event.Matches, event.Err)
		}
	})
}

// searchInAgent has the model of an agent search once.
func searchInAgent(t *testing.T, index toolsearch.Indexer) (event toolsearch.SearchEvent) {
	t.Helper()
	middleware, err := toolsearch.New(t.Context(), &toolsearch.Config{
		DynamicTools: services.Tools(), Index: index, OnSearch: func(_ context.Context, e toolsearch.SearchEvent) { event = e }})
	if err != nil {
		t.Fatal(err)
	}
	model := toolsearchtest.NewModel[*schema.Message](
		toolsearchtest.CallTool(toolsearch.DefaultToolName, `{"query":"create github issue"}`), toolsearchtest.Say("Found it."))
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "helper", Description: "Helps", Model: model, Handlers: []adk.ChatModelAgentMiddleware{middleware}})
	if err != nil {
		t.Fatal(err)
	}
	events := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent}).Query(t.Context(), "Report this.")
	for e, ok := events.Next(); ok; e, ok = events.Next() {
		if e.Err != nil {
			t.Fatalf("the run ended: %v", e.Err)
		}
	}
	if got := model.Requests()[1].ToolNames()[1:]; !slices.Equal(got, event.Matches) {
		t.Errorf("the model saw %q, the event has %q", got, event.Matches)
	}
	return event
}

// TestWritingFails: what Elasticsearch has refused is not taken for stored.
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
	stored, err := e.sync(t.Context(), catalogOf(t, infos, nil), nil)
	if err == nil || !strings.Contains(err.Error(), "documents 1 to 100 of 166: the document of "+infos[0].Name+" was not stored") || len(stored.Hashes) > 0 {
		t.Errorf("no bulk gets through: %d stored, error %v", len(stored.Hashes), err)
	}
	ix, err := e.indexer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ids, err := ix.(*checkedIndexer).Indexer.Store(t.Context(), []*schema.Document{{ID: "1"}})
	if err != nil || len(ids) != 1 {
		t.Errorf("the es8 indexer returns %v, error %v, for a bulk that failed: it has been mended, and checkedIndexer can go", ids, err)
	}
	server.Break(nil)
	e.mustSync(t, infos)

	// One document among many is refused: its name is longer than a keyword may be.
	long := &schema.ToolInfo{Name: strings.Repeat("long_", 10_000), Desc: "Too long"}
	stored, err = e.sync(t.Context(), catalogOf(t, append(slices.Clone(infos), long), nil), nil)
	if err == nil || stored.Written != 0 || stored.Unchanged != len(infos) {
		t.Errorf("one document refused: %d written, error %.100v", stored.Written, err)
	}
}

func TestProgram(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	rest := out.String()
	for _, want := range []string{
		"first time: 166 tools written, 0 unchanged\n", "second time: 0 tools written, 166 unchanged\n",
		"model call 1 saw tool_search\n", "mcp__slack__send_message", "The index is gone.",
		"by keywords, since", "index_not_found_exception", "model call 3 saw tool_search, ",
	} {
		_, after, there := strings.Cut(rest, want)
		if !there {
			t.Fatalf("no %q (in that place) in\n%s", want, out.String())
		}
		rest = after
	}
}
