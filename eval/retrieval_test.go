package eval

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// publicSets returns the folder of the public sets, which are not part of this repository. It is
// TOOLSEARCH_RETRIEVAL, or by default shared/retrieval beside the repository.
func publicSets(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("TOOLSEARCH_RETRIEVAL")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "retrieval")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no retrieval sets: %v; TOOLSEARCH_RETRIEVAL names the folder that holds them", err)
	}
	return dir
}

// loaded reads the tools and the queries of a folder.
func loaded(t *testing.T, dir string) (*Catalog, []Query) {
	t.Helper()
	catalog := testtools.Must(LoadCatalog(filepath.Join(dir, "tools.jsonl")))(t)
	return catalog, testtools.Must(LoadQueries(filepath.Join(dir, "queries.jsonl")))(t)
}

// byWords are the reports of BM25 on sets that were measured.
var byWords = make(map[string]*Report)

// measured returns BM25's report on it.
func measured(t *testing.T, dir, set string) *Report {
	t.Helper()
	if byWords[set] == nil {
		catalog, queries := loaded(t, filepath.Join(dir, set))
		byWords[set] = ran(t, catalog, queries, Options{Index: search.BM25, Resamples: -1})
	}
	return byWords[set]
}

// gainOf returns by how many points a metric of a report is above that of another.
func gainOf(metric string, before, after *Report) float64 {
	was, _ := before.Mean(metric)
	is, _ := after.Mean(metric)
	return 100 * (is.Value - was.Value)
}

// BM25 beats the usual BM25, whose figures others computed, on every public set. In the mean it is
// better by at least 17 points of recall and of MRR. It is at least as good on Chinese questions as
// on the same questions in English.
func TestBM25OnPublicSets(t *testing.T) {
	dir := publicSets(t)
	sets := []struct {
		set         string
		recall, mrr float64
	}{
		{"azure_mcp", 95.6, 84.7},
		{"azure_mcp_xl", 89.0, 74.0},
		{"metatool_single", 43.1, 35.5},
		{"bfcl_live", 62.7, 50.2},
		{"tooleyes", 67.0, 58.7},
		{"stabletoolbench", 54.5, 65.3},
		{"ultratool_en", 38.9, 38.9},
		{"ultratool_zh", 51.1, 50.6},
	}
	gains := map[string]float64{}
	got := map[string]float64{}
	for _, s := range sets {
		report := measured(t, dir, s.set)
		for metric, usual := range map[string]float64{"R@5": s.recall, "MRR": s.mrr} {
			mean, _ := report.Mean(metric)
			assert.Greater(t, 100*mean.Value, usual, "%s: %s", s.set, metric)
			gains[metric] += (100*mean.Value - usual) / float64(len(sets))
			got[s.set+metric] = mean.Value
		}
	}
	for _, metric := range []string{"R@5", "MRR"} {
		t.Logf("%s: %+.2f points in the mean", metric, gains[metric])
		assert.GreaterOrEqual(t, gains[metric], 17.0, "%s: points in the mean", metric)
		assert.GreaterOrEqual(t, got["ultratool_zh"+metric], got["ultratool_en"+metric], "%s: in Chinese and in English", metric)
	}
}

// Topics help where words fall short: in long tasks over MCP servers, and where tools and questions
// are in different languages. Where the words suffice, they cost next to nothing.
func TestLSAOnPublicSets(t *testing.T) {
	dir := publicSets(t)
	for _, test := range []struct {
		set, metric string
		gain        float64 // at least, in points
	}{
		{"mcpbench", "R@10", 2},
		{"ultratool_zh_en", "R@5", 1},
		{"azure_mcp", "R@5", -0.5},
		{"tooleyes", "R@5", -0.5},
	} {
		catalog, queries := loaded(t, filepath.Join(dir, test.set))
		both := ran(t, catalog, queries, Options{Index: search.Hybrid(search.BM25, search.LSA), Resamples: -1})
		assert.GreaterOrEqual(t, gainOf(test.metric, measured(t, dir, test.set), both), test.gain, "%s: %s", test.set, test.metric)
	}
}
