package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// These tests use the real server and real vectors.

// cacheFolder keeps the installed server and the vectors, so only the first run is slow.
func cacheFolder() (string, error) {
	folder, err := os.UserCacheDir()
	return filepath.Join(folder, "toolsearch-hybrid"), err
}

var shared = sync.OnceValues(func() (*server, error) {
	folder, err := cacheFolder()
	if err != nil {
		return nil, err
	}
	return startServer(context.Background(), folder)
})

// TestMain does not stop the server: its stdin closes when the process ends.
func TestMain(m *testing.M) { os.Exit(m.Run()) }

// running returns the server that the tests share, and its embedder.
func running(t *testing.T) (*server, embedding.Embedder) {
	t.Helper()
	if err := missing(); err != nil {
		t.Skip(err)
	}
	s := testtools.Must(shared())(t)
	e := testtools.Must(s.embedder(t.Context()))(t)
	return s, e
}

// The hybrid is better than either part on the project's own set, which is partly Chinese and
// partly misspelled.
func TestHybridOnRankingSet(t *testing.T) {
	_, e := running(t)
	const folder = "../../testdata/ranking/"
	catalog, queries := testtools.Must(eval.LoadCatalog(folder+"tools.jsonl"))(t), testtools.Must(eval.LoadQueries(folder+"queries.jsonl"))(t)
	catalog.Tools = append(catalog.Tools, services.Infos()...)
	meaning := toolsearch.Embedding(e)
	var recall, mrr [3]float64
	for i, index := range []toolsearch.Indexer{toolsearch.BM25, meaning, toolsearch.Hybrid(toolsearch.BM25, meaning)} {
		report := testtools.Must(eval.Run(t.Context(), catalog, queries, eval.Options{Index: index, Resamples: -1}))(t)
		for metric, of := range map[string]*[3]float64{"R@5": &recall, "MRR": &mrr} {
			mean, _ := report.Mean(metric)
			of[i] = mean.Value
		}
	}
	for i, part := range []string{"BM25", "Embedding"} {
		assert.Greater(t, recall[2], recall[i], "recall of the hybrid and of %s", part)
		assert.Greater(t, mrr[2], mrr[i], "MRR of the hybrid and of %s", part)
	}
}

// The whole program runs. The agent's second search has no embedding server and finds tools
// by words.
func TestProgram(t *testing.T) {
	if err := missing(); err != nil {
		t.Skip(err)
	}
	folder := testtools.Must(cacheFolder())(t)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, folder))
	_, after, stopped := strings.Cut(out.String(), "(the embedding server is stopped)")
	assert.True(t, stopped, "the server was not stopped:\n%s", out.String())
	for _, want := range []string{
		"mcp__slack__send_message", "from   index, toolsearch: failed in part: Embedding", "says   The team has the balance.",
	} {
		assert.Contains(t, after, want, "the search did not go on without the server:\n%s", out.String())
	}
	assert.Equal(t, 1, strings.Count(out.String(), "failed in part"), "it degraded before the server was stopped:\n%s", out.String())
	// The hybrid, the last column, is among the first five in every row. Each part misses some.
	firstFive := []string{"1", "2", "3", "4", "5"}
	misses := [2]int{}
	for _, question := range questions {
		_, row, _ := strings.Cut(out.String(), question.query+" ")
		row, _, _ = strings.Cut(row, "\n")
		places := strings.Fields(row) // Keyword, BM25, Embedding, Hybrid
		if !assert.Len(t, places, 4, "%q", question.query) || !assert.Contains(t, firstFive, places[3], "%q", question.query) {
			continue
		}
		for i, place := range places[1:3] {
			if !slices.Contains(firstFive, place) {
				misses[i]++
			}
		}
	}
	assert.NotZero(t, misses[0], "misses of BM25")
	assert.NotZero(t, misses[1], "misses of the embedding")
}

// The server speaks the API as clients use it, and refuses everything else with a message.
func TestServer(t *testing.T) {
	s, _ := running(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for body, want := range map[string]string{
		`{"input":"send mail"}`:                         `"index":0,"embedding":[-0.0`,
		`{"input":["a","b"],"encoding_format":"float"}`: `"index":1,"embedding":[`,
		`{"input":["a"],"encoding_format":"base64"}`:    `"index":0,"embedding":"`,
		`{`:                 `{"error":{"message":"the body is not JSON`,
		`{"input":["a",7]}`: `{"error":{"message":"input 1 is not a text`,
		`{"input":"` + strings.Repeat("a", 4001) + `"}`: "longer than 4000",
		strings.Repeat(" ", 9<<20):                      "longer than",
	} {
		response := testtools.Must(client.Post(s.url+"/embeddings", "application/json", strings.NewReader(body)))(t)
		text := testtools.Must(io.ReadAll(response.Body))(t)
		response.Body.Close()
		assert.Contains(t, string(text), want, "%.80s", body)
	}
}
