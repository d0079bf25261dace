package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
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

var public = flag.Bool("public", false, "measure on the public sets, which takes minutes")

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

// rankingSet returns the project's own catalog and queries.
func rankingSet(t *testing.T) (*eval.Catalog, []eval.Query) {
	t.Helper()
	folder := filepath.Join("..", "..", "testdata", "ranking")
	catalog := testtools.Must(eval.LoadCatalog(filepath.Join(folder, "tools.jsonl")))(t)
	catalog.Tools = append(catalog.Tools, services.Infos()...)
	queries := testtools.Must(eval.LoadQueries(filepath.Join(folder, "queries.jsonl")))(t)
	return catalog, queries
}

// score is recall at 5 and MRR, in percent.
type score struct{ recall, mrr float64 }

func scoreOf(r *eval.Report) score {
	recall, _ := r.Mean("R@5")
	mrr, _ := r.Mean("MRR")
	return score{100 * recall.Value, 100 * mrr.Value}
}

// measure measures BM25, Embedding and their Hybrid.
func measure(t *testing.T, catalog *eval.Catalog, queries []eval.Query, meaning toolsearch.Indexer) (reports [3]*eval.Report) {
	t.Helper()
	for i, index := range []toolsearch.Indexer{toolsearch.BM25, meaning, toolsearch.Hybrid(toolsearch.BM25, meaning)} {
		report := testtools.Must(eval.Run(t.Context(), catalog, queries, eval.Options{Index: index, Resamples: -1}))(t)
		reports[i] = report
	}
	return reports
}

// The hybrid is better than either part on the project's own set, which is partly Chinese and
// partly misspelled.
func TestHybridOnRankingSet(t *testing.T) {
	_, e := running(t)
	catalog, queries := rankingSet(t)
	reports := measure(t, catalog, queries, toolsearch.Embedding(e))
	var all [3]score
	for i := range reports {
		all[i] = scoreOf(reports[i])
	}
	t.Logf("R@5 and MRR of BM25, Embedding and Hybrid: %.1f", all)
	for i, part := range []string{"BM25", "Embedding"} {
		assert.Greater(t, all[2].recall, all[i].recall, "recall of the hybrid and of %s", part)
		assert.Greater(t, all[2].mrr, all[i].mrr, "MRR of the hybrid and of %s", part)
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
	tests := []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"text", "POST", "/embeddings", `{"input":"send mail"}`, 200, `"index":0,"embedding":[-0.0`},
		{"texts", "POST", "/embeddings", `{"input":["a","b"],"encoding_format":"float"}`, 200, `"index":1,"embedding":[`},
		{"base64", "POST", "/embeddings", `{"input":["a"],"encoding_format":"base64"}`, 200, `"index":0,"embedding":"`},
		{"no JSON", "POST", "/embeddings", `{`, 400, "not JSON"},
		{"no input", "POST", "/embeddings", `{}`, 400, "input must be"},
		{"null", "POST", "/embeddings", `null`, 400, "input must be"},
		{"no texts", "POST", "/embeddings", `{"input":[]}`, 400, "input must be"},
		{"a number", "POST", "/embeddings", `{"input":["a",7]}`, 400, "input 1 is not a text"},
		{"blank", "POST", "/embeddings", `{"input":" "}`, 400, "input 0 is empty"},
		{"long", "POST", "/embeddings", `{"input":"` + strings.Repeat("a", 4001) + `"}`, 400, "longer than 4000"},
		{"format", "POST", "/embeddings", `{"input":"a","encoding_format":"int8"}`, 400, "encoding_format"},
		{"too much", "POST", "/embeddings", strings.Repeat(" ", 9<<20), 413, "longer than"},
		{"elsewhere", "POST", "/chat", `{}`, 404, "only"},
		{"GET", "GET", "/embeddings", ``, 405, "POST"},
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), test.method, s.url+test.path, strings.NewReader(test.body))
			require.NoError(t, err)
			response := testtools.Must(client.Do(request))(t)
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			assert.NoError(t, err)
			assert.Equal(t, test.status, response.StatusCode)
			assert.Contains(t, string(body), test.want)
			if test.status != 200 {
				assert.Contains(t, string(body), `{"error":{"message":`)
			}
		})
	}
}

// The mean over the public sets is better for the hybrid than for either part. Run it with
//
//	go test -run PublicSets -v -timeout 1h . -public
//
// TOOLSEARCH_RETRIEVAL says where the sets are, by default shared/retrieval beside the
// repository.
func TestHybridOnPublicSets(t *testing.T) {
	if !*public {
		t.Skip("a long run: go test -run PublicSets -v -timeout 1h . -public")
	}
	dir := os.Getenv("TOOLSEARCH_RETRIEVAL")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "retrieval")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no retrieval sets: %v; TOOLSEARCH_RETRIEVAL names the folder that holds them", err)
	}
	_, e := running(t)
	sets := strings.Fields("azure_mcp azure_mcp_xl metatool_single bfcl_live tooleyes stabletoolbench ultratool_en ultratool_zh")
	t.Logf("%-16s  %12s  %12s  %12s", "R@5 MRR", "BM25", "Embedding", "Hybrid")
	var mean [3]score
	for _, set := range sets {
		catalog := testtools.Must(eval.LoadCatalog(filepath.Join(dir, set, "tools.jsonl")))(t)
		queries := testtools.Must(eval.LoadQueries(filepath.Join(dir, set, "queries.jsonl")))(t)
		text := fmt.Sprintf("%-16s", set)
		for i, report := range measure(t, catalog, queries, toolsearch.Embedding(e)) {
			s := scoreOf(report)
			text += fmt.Sprintf("  %5.1f  %5.1f", s.recall, s.mrr)
			mean[i].recall += s.recall / float64(len(sets))
			mean[i].mrr += s.mrr / float64(len(sets))
		}
		t.Log(text)
	}
	t.Logf("mean: %.1f", mean)
	for i, part := range []string{"BM25", "Embedding"} {
		assert.Greater(t, mean[2].recall, mean[i].recall, "mean recall of the hybrid and of %s", part)
		assert.Greater(t, mean[2].mrr, mean[i].mrr, "mean MRR of the hybrid and of %s", part)
	}
}
