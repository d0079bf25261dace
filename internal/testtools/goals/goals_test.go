package goals

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// index ranks c before a, whatever the query.
var index = testtools.Canned{Hits: []search.Hit{{Doc: 2}, {Doc: 0, Score: -1}}}.Index

// smallReport returns a report on queries that all find c, then a: "one" wants a, "two" wants b
// and c, "three" wants a or c.
func smallReport(t *testing.T) (*eval.Catalog, *eval.Report) {
	t.Helper()
	catalog := &eval.Catalog{Tools: []*schema.ToolInfo{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	queries := []eval.Query{
		{ID: "1", Text: "one", Groups: [][]string{{"a"}}},
		{ID: "2", Text: "two", Groups: [][]string{{"b"}, {"c"}}},
		{ID: "3", Text: "three", Groups: [][]string{{"a", "c"}}},
	}
	return catalog, testtools.Must(eval.Run(t.Context(), catalog, queries, eval.Options{Index: index, Resamples: -1}))(t)
}

func TestMisses(t *testing.T) {
	catalog, report := smallReport(t)
	misses := testtools.Must(Misses(t.Context(), report, catalog, index))(t)
	want := []Miss{
		{ID: "1", Query: "one", Wanted: []Place{{Tools: []string{"a"}, Rank: 2}}, First: &Place{Tools: []string{"c"}, Rank: 1}},
		{ID: "2", Query: "two", Wanted: []Place{{Tools: []string{"b"}}, {Tools: []string{"c"}, Rank: 1}}, First: &Place{Tools: []string{"a"}, Rank: 2}},
	}
	assert.Equal(t, want, misses, "the searcher explains no score")
	misses = testtools.Must(blamed(t.Context(), report, catalog, index, func(q eval.Query) bool { return q.ID == "3" }))(t)
	assert.Equal(t, []Miss{{ID: "3", Query: "three", Wanted: []Place{{Tools: []string{"a", "c"}, Rank: 1}}}}, misses, "nothing came instead")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Misses(ctx, report, catalog, index)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestCheck(t *testing.T) {
	catalog, report := smallReport(t) // R@1 is (0 + 1/2 + 1) / 3, R@5 (1 + 1/2 + 1) / 3
	check := func(goals Goals) ([]Shortfall, []Miss) {
		short, misses, err := goals.Check(t.Context(), report, catalog, index)
		require.NoError(t, err)
		return short, misses
	}
	for name, goals := range map[string]Goals{
		"none":                        {},
		"goals that are just reached": {Min: map[string]float64{"R@1": 1.5 / 3, "R@5": 2.5 / 3}},
		"within the tolerance":        {Baseline: map[string]float64{"R@1": 0.6, "R@100": 1}, Tolerance: 0.1},
	} {
		short, misses := check(goals)
		assert.Empty(t, short, name)
		assert.Empty(t, misses, name)
	}
	short, misses := check(Goals{Min: map[string]float64{"R@5": 0.9}, Baseline: map[string]float64{"R@5": 0.95}, Tolerance: 0.1})
	require.Len(t, short, 2)
	assert.Equal(t, Shortfall{Metric: "R@5", Value: 2.5 / 3, Want: 0.9, From: "min"}, short[0])
	assert.Equal(t, "baseline", short[1].From)
	assert.InDelta(t, 0.85, short[1].Want, 1e-12)
	require.Len(t, misses, 1, "only the second query lacks something at 5")
	assert.Equal(t, "2", misses[0].ID)

	report.Queries[0].MaxRank, report.Queries[1].MaxRank, report.Queries[2].MaxRank = 1, 9, 1
	short, misses = check(Goals{})
	assert.Empty(t, short)
	require.Len(t, misses, 2, "a is at 2 and b is not found, but c is at 1")
	assert.True(t, misses[0].OverMaxRank())
	assert.True(t, misses[1].OverMaxRank())
	type least = map[string]float64
	for _, goals := range []Goals{{Min: least{"R@3": 1}}, {Min: least{"R@1": -0.1}}, {Tolerance: 1}, {Tolerance: -1}} {
		_, _, err := goals.Check(t.Context(), report, catalog, index)
		assert.Error(t, err, "%v", goals)
	}
}

// Texts of a catalog may come from anywhere.
func TestMissesAreSafeToPrint(t *testing.T) {
	catalog := &eval.Catalog{Tools: []*schema.ToolInfo{{Name: "evil\x1b[31m\u202e\nname", Desc: "book"}, {Name: "b"}}}
	queries := []eval.Query{{ID: "1\n", Text: "book\x1b[2J", Groups: [][]string{{"b"}}}}
	report := testtools.Must(eval.Run(t.Context(), catalog, queries, eval.Options{Index: search.BM25, Resamples: -1}))(t)
	misses := testtools.Must(Misses(t.Context(), report, catalog, search.BM25))(t)
	require.Len(t, misses, 1)
	assert.Regexp(t,
		`^1 : book \[2J\n  wanted b: not found, score 0\n  instead evil \[31m  name: rank 1, score [0-9.]+ = [0-9.]+ book$`, misses[0].String())
}

func TestBaselines(t *testing.T) {
	_, report := smallReport(t)
	data := testtools.Must(Baseline(report))(t)
	means := testtools.Must(ReadBaseline(data, "f", ""))(t)
	require.Len(t, means, len(report.Metrics))
	for m, metric := range report.Metrics {
		assert.Equal(t, report.Means[m].Value, means[metric], metric)
	}
	means, err := ReadBaseline([]byte(`{"searchers": [{"name": "a"}, {"name": "b", "metrics": {"MRR": {"value": 0.5}}}]}`), "f", "b")
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"MRR": 0.5}, means)
	_, err = ReadBaseline(data, "f", "yours")
	assert.ErrorContains(t, err, "nothing about the searcher yours")
	for text, want := range map[string]string{
		"":                                "f: want what eval -json printed",
		"[]":                              "f: want what eval -json printed",
		`{"searchers": []}`:               "f: want what eval -json printed",
		`{"searchers": [{}, {}]}`:         "f: want the metrics of one searcher, not of 2",
		`{"searchers": [{"metrics": 5}]}`: "f: want what eval -json printed",
	} {
		_, err := ReadBaseline([]byte(text), "f", "")
		assert.ErrorContains(t, err, want, text)
	}
}
