package toolsearch_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
)

// Relevance is a golden file and a number: what every searcher makes of 200 queries over
// the tools of the quickstart and of an office that speaks Chinese. A change of scoring
// shows in review as a difference of ranks. Rewrite the files with
//
//	go test -run Ranking -update .
//
// The queries were written to be of the kinds agents write, not to be found:
//
//	keywords   what a model types that knows how tools are called
//	sentence   what it copies from its user
//	twin       which of several tools that are called alike
//	typo       misspelt
//	synonym    words that are not in the definition
//	parameter  words that are only in the schema of the parameters
//	chinese    the same, without spaces

var update = flag.Bool("update", false, "rewrite golden files")

// A searcher has the file testdata/ranking/<name>.golden. Another one is a line here.
var rankingSearchers = []struct {
	name  string
	index toolsearch.Indexer
}{
	{"keyword", toolsearch.Keyword},
	{"bm25", toolsearch.BM25},
}

func TestRanking(t *testing.T) {
	folder := filepath.Join("testdata", "ranking")
	catalog, err := eval.LoadCatalog(filepath.Join(folder, "tools.jsonl"))
	require.NoError(t, err)
	for _, tool := range services.Tools() {
		info, err := tool.Info(t.Context())
		require.NoError(t, err)
		catalog.Tools = append(catalog.Tools, info)
	}
	queries, err := eval.LoadQueries(filepath.Join(folder, "queries.jsonl"))
	require.NoError(t, err)
	for _, searcher := range rankingSearchers {
		t.Run(searcher.name, func(t *testing.T) {
			report, err := eval.Run(t.Context(), catalog, queries, eval.Options{
				Index: searcher.index, Depth: len(catalog.Tools), Resamples: -1,
			})
			require.NoError(t, err)
			got := rankingText(report, len(catalog.Tools))
			golden := filepath.Join(folder, searcher.name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(golden, got, 0o666))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			reportLines(t, golden, got, want)
		})
	}
}

// rankingText has a table of kinds, and a line for each query: where its tool came out,
// "-" for not at all, and what came out in its place.
func rankingText(report *eval.Report, tools int) []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%d tools, %d queries\n\n", tools, len(report.Queries))
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "kind\tqueries\trecall@1\trecall@5\tMRR")
	line := func(kind string, r *eval.Report) {
		fmt.Fprintf(table, "%s\t%d", kind, len(r.Queries))
		for _, metric := range []string{"R@1", "R@5", "MRR"} {
			mean, _ := r.Mean(metric)
			fmt.Fprintf(table, "\t%.3f", mean.Value)
		}
		fmt.Fprintln(table)
	}
	line("all", report)
	for _, kind := range report.Kinds() {
		line(kind, report.OfKind(kind))
	}
	table.Flush()
	fmt.Fprintln(&text)
	for _, result := range report.Queries {
		rank, first := "-", "nothing"
		if r := result.Rank(); r > 0 {
			rank = fmt.Sprint(r)
		}
		if len(result.Found) > 0 {
			first = result.Found[0]
		}
		query := result.Query
		fmt.Fprintf(&text, "%4s  %-12s  %s -> %s", rank, query.ID, query.Text, query.Groups[0][0])
		if rank != "1" {
			fmt.Fprintf(&text, ", first %s", first)
		}
		fmt.Fprintln(&text)
	}
	return text.Bytes()
}

// reportLines shows the lines in which a golden file differs.
func reportLines(t *testing.T, golden string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	gotLines, wantLines := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range max(len(gotLines), len(wantLines)) {
		var g, w []byte
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			w = wantLines[i]
		}
		assert.Equal(t, string(w), string(g), "%s:%d", golden, i+1)
	}
	t.Log("go test -run Ranking -update . rewrites it")
}

// The set stays what the numbers are quoted for.
func TestRankingSet(t *testing.T) {
	queries, err := eval.LoadQueries(filepath.Join("testdata", "ranking", "queries.jsonl"))
	require.NoError(t, err)
	kinds := make(map[string]int)
	var texts []string
	for _, query := range queries {
		kinds[query.Kind]++
		assert.NotContains(t, texts, query.Text, "line %d: the query is there twice", query.Line)
		texts = append(texts, query.Text)
	}
	for kind, n := range kinds {
		assert.NotEmpty(t, kind, "the kind of %d queries", n)
		assert.GreaterOrEqual(t, n, 10, "queries of kind %q", kind)
	}
	assert.GreaterOrEqual(t, len(queries), 200, "queries")
	assert.GreaterOrEqual(t, len(services.Tools()), 150, "tools of the quickstart")
}
