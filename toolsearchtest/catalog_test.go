package toolsearchtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/search"
)

const (
	catalogFile = "../eval/testdata/tools.jsonl"
	queriesFile = "../eval/testdata/queries.jsonl"
)

func write(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

func TestCatalogThatReachesItsGoals(t *testing.T) {
	TestCatalog(t, CatalogTest{File: catalogFile, Queries: queriesFile, Index: search.BM25, Min: map[string]float64{"R@5": 0.8}})
}

// A shortfall is reported as by toolsearch eval.
func TestCatalogThatFallsShort(t *testing.T) {
	test := CatalogTest{
		File: catalogFile, Min: map[string]float64{"R@5": 0.9},
		Queries: write(t, `{"id": "q1", "query": "borrow a book longer", "gold": ["books_renew"], "max_rank": 1}
{"id": "q2\n", "query": "tans\u001b[2J", "gold": ["translate_text"]}
{"id": "q3", "query": "buy seat", "accept": [["train__buy_ticket", "theatre__buy_ticket"]], "max_rank": 2}`),
	}
	_, short, misses, err := test.run(t.Context())
	require.NoError(t, err)
	require.Len(t, short, 1)
	assert.Equal(t, "R@5 is 66.7, want 90.0 by the min", short[0].String())
	require.Len(t, misses, 2)
	assert.Equal(t, "q1: borrow a book longer (max_rank 1)\n"+
		"  wanted books_renew: rank 2, score 9 = 2 a + 5 book + 2 longer\n"+
		"  instead books_search: rank 1, score 10 = 5 a + 5 book", misses[0].String())
	assert.Equal(t, "q2 : tans [2J\n  wanted translate_text: not found, score 0", misses[1].String())

	test.Min = nil
	_, short, misses, err = test.run(t.Context())
	require.NoError(t, err)
	assert.Empty(t, short)
	require.Len(t, misses, 1, "max_rank counts without any other goal")
	assert.Equal(t, "q1", misses[0].ID)
}

func TestCatalogAgainstABaseline(t *testing.T) {
	baseline := filepath.Join(t.TempDir(), "baseline.json")
	test := CatalogTest{File: catalogFile, Queries: queriesFile, Index: search.BM25, Baseline: baseline}
	_, _, _, err := test.run(t.Context())
	assert.ErrorContains(t, err, "Update writes a baseline")

	test.Update = true
	_, _, _, err = test.run(t.Context())
	require.NoError(t, err)
	test.Update = false
	_, short, misses, err := test.run(t.Context())
	require.NoError(t, err)
	assert.Zero(t, len(short)+len(misses), "the same run reaches what it reached")

	test.Index = search.Keyword
	_, short, misses, err = test.run(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, short, "a worse searcher falls short")
	assert.Equal(t, "baseline", short[0].From)
	assert.NotEmpty(t, misses)

	test.Tolerance = 0.5
	_, short, misses, err = test.run(t.Context())
	require.NoError(t, err)
	assert.Zero(t, len(short)+len(misses), "within the tolerance")
}

// The tools of an agent are tested with the annotations of its Config.
func TestCatalogOfAnAgent(t *testing.T) {
	send := utils.NewTool(&schema.ToolInfo{Name: "send_letter", Desc: "Posts a letter"}, nothing)
	ring := utils.NewTool(&schema.ToolInfo{Name: "ring", Desc: "Rings a bell"}, nothing)
	test := CatalogTest{
		Tools: []tool.BaseTool{ring, send}, Index: search.BM25,
		Queries: write(t, `{"query": "frobnicate", "gold": ["send_letter"], "max_rank": 1}`),
	}
	_, short, misses, err := test.run(t.Context())
	require.NoError(t, err)
	assert.Positive(t, len(short)+len(misses), "the word of the query is nowhere")

	test.Annotate = func(info *schema.ToolInfo) search.Annotation {
		a := search.Annotate(info)
		if info.Name == "send_letter" {
			a.Hint = "frobnicate"
		}
		return a
	}
	_, short, misses, err = test.run(t.Context())
	require.NoError(t, err)
	assert.Zero(t, len(short)+len(misses), "the hint has the word")
}

func TestCatalogTestsThatCannotRun(t *testing.T) {
	queries := write(t, `{"query": "book", "gold": ["books_renew"]}`)
	for _, test := range []struct {
		name string
		test CatalogTest
		want string
	}{
		{"no tools", CatalogTest{Queries: queries}, "want either Tools or File"},
		{"no queries", CatalogTest{File: catalogFile}, "no such file"},
		{"unknown gold", CatalogTest{File: catalogFile, Queries: write(t, `{"query": "a", "gold": ["b"]}`)}, `the catalog has no tool "b"`},
		{"unknown metric", CatalogTest{File: catalogFile, Queries: queries, Min: map[string]float64{"recall": 1}},
			`no metric "recall"; want one of R@1, R@5`},
		{"a share above 1", CatalogTest{File: catalogFile, Queries: queries, Min: map[string]float64{"R@5": 90}}, "want a share from 0 to 1"},
		{"no baseline", CatalogTest{File: catalogFile, Queries: queries, Tolerance: 0.1}, "need a Baseline"},
		{"a file that is not a baseline", CatalogTest{File: catalogFile, Queries: queries, Baseline: catalogFile},
			"want what eval -json printed"},
	} {
		_, _, _, err := test.test.run(t.Context())
		assert.ErrorContains(t, err, test.want, test.name)
	}
}

func nothing(context.Context, struct{}) (string, error) { return "", nil }
