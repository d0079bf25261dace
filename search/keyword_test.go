package search_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// These are the tiers of the keyword scorer. An expected score is written as its sum.
const (
	partEquals   = 10
	partContains = 5
	inName       = 3
	inText       = 2
)

func TestKeywordScores(t *testing.T) {
	infos := []*schema.ToolInfo{
		{Name: "mcp__github__create_issue", Desc: "Opens a bug report in a repository."},
		{Name: "NotebookEdit", Desc: "Edit a Jupyter notebook cell"},
		{Name: "HTTPServer", Desc: ""},
		{Name: "plain", Desc: "Says CREATE, issue."},
	}
	tests := []struct {
		query string
		want  map[string]float64
	}{
		{"issue", map[string]float64{"mcp__github__create_issue": partEquals, "plain": inText}},
		{"ISSUE", map[string]float64{"mcp__github__create_issue": partEquals, "plain": inText}},
		{"iss", map[string]float64{"mcp__github__create_issue": partContains, "plain": inText}},
		{"e_iss", map[string]float64{"mcp__github__create_issue": inName}},
		{"b__c", map[string]float64{"mcp__github__create_issue": inName}},
		{"__", map[string]float64{"mcp__github__create_issue": inName}},
		{"bug", map[string]float64{"mcp__github__create_issue": inText}},
		{"report.", map[string]float64{}},
		{"repository.", map[string]float64{"mcp__github__create_issue": inText}},
		{"create issue", map[string]float64{"mcp__github__create_issue": partEquals + partEquals, "plain": inText + inText}},
		{"create create", map[string]float64{"mcp__github__create_issue": partEquals + partEquals, "plain": inText + inText}},
		{"+create bug", map[string]float64{"mcp__github__create_issue": partEquals + inText, "plain": inText}},
		{"+bug create", map[string]float64{"mcp__github__create_issue": inText + partEquals}},
		{"++bug", map[string]float64{}},
		{"+ bug", map[string]float64{"mcp__github__create_issue": inText}},
		{"notebook", map[string]float64{"NotebookEdit": partEquals}},
		{"notebookedit", map[string]float64{"NotebookEdit": inName}},
		{"okedi", map[string]float64{"NotebookEdit": inName}},
		{"edit", map[string]float64{"NotebookEdit": partEquals}},
		{"http", map[string]float64{"HTTPServer": partEquals}},
		{"pser", map[string]float64{"HTTPServer": inName}},
		{"nothing", map[string]float64{}},
	}
	catalog := testtools.Must(toolsearch.NewCatalogFromInfos(context.Background(), infos, nil))(t)
	for _, tt := range tests {
		result := testtools.Must(catalog.Search(context.Background(), tt.query, 10))(t)
		got := map[string]float64{}
		for _, m := range result.Matches {
			got[m.Info.Name] = m.Score
		}
		assert.Equal(t, tt.want, got, "%q", tt.query)
		assert.Equal(t, len(tt.want), result.Total, "%q", tt.query)
	}
}

func TestKeywordIsASearcher(t *testing.T) {
	checkSearcher(t, search.Keyword, func(random *rand.Rand, docs []search.Document) string {
		infos := make([]*schema.ToolInfo, len(docs))
		for i, d := range docs {
			infos[i] = d.Info
		}
		return testtools.RandomQuery(random, infos)
	})
}

// A name that providers refuse counts as a part of the description, for every searcher that explains its scores.
func TestOriginalNamesAreExplained(t *testing.T) {
	docs := []search.Document{{Name: "files_read_601e4eb6", Original: "files.read", Description: "Pages"}, {Name: "other", Description: "Files"}}
	for name, index := range map[string]search.Indexer{"keyword": search.Keyword, "fuzzy": search.Fuzzy, "bm25": search.BM25} {
		s, q := searcherOf(t, index, docs...), search.ParseQuery("files.read")
		found := hitsOf(t, s, q)
		require.NotEmpty(t, found, name)
		assert.Zero(t, found[0].Doc, name)
		assert.InDelta(t, found[0].Score, explained(t, s, q, 0).Score, 1e-9, name)
	}
}

// Keyword finds what Eino's own tool finds, in the same order, on generated catalogs and queries.
func TestKeywordEqualsOracle(t *testing.T) {
	for seed := range uint64(testtools.Rounds(15, 4)) {
		random := rand.New(rand.NewPCG(seed, 7))
		infos := testtools.RandomCatalog(random, 1+random.IntN(300))
		theirs := testtools.Must(testtools.NewOracle(t.Context(), infos))(t)
		ours := testtools.Must(toolsearch.NewCatalogFromInfos(context.Background(), infos, nil))(t)
		for range 150 {
			query, limit := testtools.RandomQuery(random, infos), 1+random.IntN(50)
			want := testtools.Must(theirs.Search(t.Context(), query, limit))(t)
			got := testtools.MatchNames(testtools.Must(ours.Search(context.Background(), query, limit))(t))
			if len(got)+len(want) > 0 { // an answer without matches may be nil or empty
				require.Equal(t, want, got, "seed %d, query %q, limit %d", seed, query, limit)
			}
		}
	}
}

func FuzzKeywordEqualsOracle(f *testing.F) {
	f.Add("create issue", "mcp__github__create_issue", "Opens an issue", "NotebookEdit", "edits")
	f.Add("+a_b Ab", "aB_b", "A_B a", "a b", "İ")
	f.Add("\u2028x", "x__x", "x\u0085y", "X Y", "ß ẞ")
	f.Fuzz(func(t *testing.T, query, name1, text1, name2, text2 string) {
		query, name1, name2 = strings.ToValidUTF8(query, "?"), strings.ToValidUTF8(name1, "?"), strings.ToValidUTF8(name2, "?")
		isSelection := len(query) >= 6 && strings.Contains(strings.ToLower(query), "select")
		if name1 == "" || name2 == "" || name1 == name2 || len(query) > 1000 || isSelection || len(strings.Fields(query)) > 50 {
			t.Skip()
		}
		infos := []*schema.ToolInfo{{Name: name1, Desc: text1}, {Name: name2, Desc: text2}}
		if len(strings.Fields(query)) == 0 || name1 == "tool_search" || name2 == "tool_search" {
			t.Skip()
		}
		ours, err := toolsearch.NewCatalogFromInfos(context.Background(), infos, nil)
		if err != nil {
			t.Fatal(err)
		}
		result, err := ours.Search(context.Background(), query, 5)
		if err != nil {
			t.Fatal(err)
		}
		theirs := testtools.Must(testtools.NewOracle(t.Context(), infos))(t)
		want := testtools.Must(theirs.Search(t.Context(), query, 5))(t)
		if got := testtools.MatchNames(result); !slices.Equal(got, want) {
			t.Errorf("query %q: got %q, want %q", query, got, want)
		}
	})
}
