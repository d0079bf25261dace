package search_test

import (
	"math/rand/v2"
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
	docs := []search.Document{
		doc("mcp__github__create_issue", "Opens a bug report in a repository."),
		doc("NotebookEdit", "Edit a Jupyter notebook cell"),
		doc("HTTPServer", ""),
		doc("plain", "Says CREATE, issue."),
	}
	for _, tt := range []struct {
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
	} {
		checkScores(t, search.Keyword, docs, tt.query, tt.want)
	}
}

func TestKeywordIsASearcher(t *testing.T) {
	checkSearcher(t, search.Keyword, func(random *rand.Rand, docs []search.Document) string {
		infos := make([]*schema.ToolInfo, len(docs))
		for i, d := range docs {
			infos[i] = d.Info
		}
		return randomQuery(random, infos)
	})
}

// A tool is found by its own name too, if providers refuse that.
func TestOriginalNamesAreExplained(t *testing.T) {
	docs := []search.Document{{Name: "files_read_601e4eb6", Original: "files.read", Description: "Pages"}, {Name: "other", Description: "Files"}}
	for name, index := range map[string]search.Indexer{
		"keyword": search.Keyword, "fuzzy": search.Fuzzy, "bm25": search.BM25, "regexp": search.Regexp, "similarity": search.Similarity,
	} {
		s, q := searcherOf(t, index, docs...), search.ParseQuery("files.read")
		found := hitsOf(t, s, q)
		require.NotEmpty(t, found, name)
		assert.Zero(t, found[0].Doc, name)
		assert.InDelta(t, found[0].Score, explained(t, s, q, 0).Score, 1e-9, name)
	}
	assert.Empty(t, hitsOf(t, searcherOf(t, search.Regexp, docs...), search.Query{Text: "^$"}), "a tool without another name")
}

// againstOracle returns a check of one query: Keyword finds what Eino's own tool finds, in the same order.
func againstOracle(t *testing.T, infos []*schema.ToolInfo) func(query string, limit int) {
	theirs := testtools.Must(testtools.NewOracle(t.Context(), infos))(t)
	ours := testtools.Must(toolsearch.NewCatalogFromInfos(t.Context(), infos, nil))(t)
	return func(query string, limit int) {
		want := testtools.Must(theirs.Search(t.Context(), query, limit))(t)
		got := testtools.MatchNames(testtools.Must(ours.Search(t.Context(), query, limit))(t))
		assertList(t, want, got, "query %q, limit %d", query, limit)
	}
}

func TestKeywordEqualsOracle(t *testing.T) {
	for seed := range uint64(testtools.Rounds(15, 4)) {
		random := rand.New(rand.NewPCG(seed, 7))
		infos := randomCatalog(random, 1+random.IntN(300))
		check := againstOracle(t, infos)
		for range 60 {
			check(randomQuery(random, infos), 1+random.IntN(50))
		}
	}
}

func FuzzKeywordEqualsOracle(f *testing.F) {
	f.Add("create", "acreate", "Opens an issue", "create\nissue", "edits")
	f.Add("+a_b Ab", "aB_b", "A_B a", "a b", "İ")
	f.Add("\u2028x", "x__x", "x\u0085y", "X Y", "ß ẞ")
	f.Fuzz(func(t *testing.T, query, name1, text1, name2, text2 string) {
		query, name1, name2 = strings.ToValidUTF8(query, "?"), strings.ToValidUTF8(name1, "?"), strings.ToValidUTF8(name2, "?")
		isSelection := len(query) >= 6 && strings.Contains(strings.ToLower(query), "select")
		if name1 == "" || name2 == "" || name1 == name2 || len(query) > 1000 || isSelection || len(strings.Fields(query)) > 50 {
			t.Skip()
		}
		if len(strings.Fields(query)) == 0 || name1 == "tool_search" || name2 == "tool_search" {
			t.Skip()
		}
		againstOracle(t, []*schema.ToolInfo{{Name: name1, Desc: text1}, {Name: name2, Desc: text2}})(query, 5)
	})
}
