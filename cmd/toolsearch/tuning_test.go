package main

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/search"
)

// The figures on hints are those of docs/tuning.md. The other figures of that page are in the golden
// files of its commands.
func TestTuningHints(t *testing.T) {
	catalog, err := eval.LoadCatalog("testdata/tuning/after.jsonl")
	require.NoError(t, err)
	queries, err := eval.LoadQueries("testdata/tuning/queries.jsonl")
	require.NoError(t, err)
	hints := map[string]string{
		"ship__track":         "shipment shipping",
		"ship__rate":          "postage shipping cost",
		"desk__tickets_patch": "assign",
		"crm__update_record":  "client correct",
	}
	hinted := func(ctx context.Context, docs []search.Document) (search.Searcher, error) {
		docs = slices.Clone(docs)
		for i := range docs {
			docs[i].Hint = hints[docs[i].Name]
		}
		return search.BM25(ctx, docs)
	}
	for _, test := range []struct {
		name  string
		index search.Indexer
		want  string
	}{
		{"BM25", search.BM25, "R@1 86.4, R@5 100.0, MRR 93.2"},
		{"with hints", hinted, "R@1 95.5, R@5 100.0, MRR 97.7"},
	} {
		report, err := eval.Run(t.Context(), catalog, queries, eval.Options{Index: test.index, Resamples: -1})
		require.NoError(t, err)
		percent := func(metric string) float64 {
			mean, _ := report.Mean(metric)
			return 100 * mean.Value
		}
		got := fmt.Sprintf("R@1 %.1f, R@5 %.1f, MRR %.1f", percent("R@1"), percent("R@5"), percent("MRR"))
		assert.Equal(t, test.want, got, "%s in docs/tuning.md", test.name)
	}
}
