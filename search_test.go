package toolsearch_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"unicode"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// These tests search by a Catalog or by tool_search. They test the bounds of a search, searchers
// that fail, and what the events say.

// A model may send a query of any size. The cost of the search and the size of the answer are
// bounded.
func TestBounds(t *testing.T) {
	testtools.SkipWithoutGoroutines(t)
	ctx := context.Background()
	infos := make([]*schema.ToolInfo, 1000)
	for i := range infos {
		infos[i] = &schema.ToolInfo{Name: fmt.Sprintf("n%d", i)}
	}
	catalog := testtools.Must(toolsearch.NewCatalogFromInfos(ctx, infos, nil))(t)
	words := strings.Repeat("x", 63) + " " // 64 words are 4 KiB
	for name, text := range map[string]string{
		"many words":       strings.Repeat("n7 ", 1<<20/3),
		"few long words":   "n7 " + strings.Repeat(strings.Repeat("x", 1000)+" ", 1<<10),
		"one word":         "n7 " + strings.Repeat("x", 1<<20),
		"cut at a blank":   strings.Repeat("x", 1023) + " " + strings.Repeat("x", queryBytes-1024-4) + " n77 " + strings.Repeat(words, 1<<14),
		"cut after a word": strings.Repeat("x", 1023) + " " + strings.Repeat("x", queryBytes-1024-4) + " n7" + " " + strings.Repeat(words, 1<<14),
	} {
		t.Run(name, func(t *testing.T) {
			got := testtools.Must(catalog.Search(ctx, text, 5))(t)
			start := text[:queryBytes]
			if rest := text[queryBytes:]; rest[0] != ' ' { // the cut is within a word, which does not count
				start = start[:strings.LastIndexByte(start, ' ')]
			}
			want := testtools.Must(catalog.Search(ctx, start, 5))(t)
			assert.Equal(t, want, got, "the result of the first 4 KiB, and of the whole text")
		})
	}

	// A selection that is too long is cut between two names, not within a name.
	result := testtools.Must(catalog.Search(ctx, "select:"+strings.Repeat("n0,", 400_000), 0))(t)
	assert.Len(t, result.Matches, 1)
	assert.Empty(t, result.NotFound)
	assert.Empty(t, result.Message)

	const names = 100_000
	for name, separators := range map[string][]string{
		"commas": {","}, "blanks": {" "}, "groups of words": append(slices.Repeat([]string{" "}, 149), ","), "lines": {"\n"},
	} {
		for _, prefix := range []string{"n", "N", "missing"} {
			t.Run("select/"+name+"/"+prefix, func(t *testing.T) {
				var b strings.Builder
				b.WriteString("select:")
				for i := range names {
					fmt.Fprintf(&b, "%s%d%s", prefix, i%1000, separators[i%len(separators)])
				}
				result := testtools.Must(catalog.Search(ctx, b.String(), 5))(t)
				found := testtools.MatchNames(result)
				assert.LessOrEqual(t, len(found)+len(result.NotFound), 200, "%d matches, %d not found", len(found), len(result.NotFound))
				assert.Len(t, sortedSet(found), len(found), "the matches are distinct")
				assert.LessOrEqual(t, len(result.Suggestions), 5, "suggestions")
			})
		}
	}

	queries := make([]string, 1000)
	for i := range queries {
		queries[i] = fmt.Sprint("n", i)
	}
	for limit, most := range map[int]int{0: 10 * toolsearch.DefaultMaxResults, math.MaxInt32: 10 * toolsearch.DefaultMaxResultsCap} {
		arguments := testtools.Must(json.Marshal(map[string]any{"query": queries, "max_results": limit}))(t)
		text := testtools.Must(catalog.Tool().InvokableRun(ctx, string(arguments)))(t)
		var answer struct{ Matches []string }
		require.NoError(t, json.Unmarshal([]byte(text), &answer))
		assert.NotEmpty(t, answer.Matches, "1000 queries with max_results %d", limit)
		assert.LessOrEqual(t, len(answer.Matches), most, "1000 queries with max_results %d", limit)
	}
}

func TestCancelledSearch(t *testing.T) {
	one := []search.Hit{{Doc: 2}}
	check := func(t *testing.T, index toolsearch.Indexer, query string, newContext func() context.Context) {
		t.Helper()
		catalog := testtools.Must(toolsearch.NewCatalog(context.Background(), testtools.NewsTools(), &toolsearch.CatalogOptions{Index: index}))(t)
		result, err := catalog.Search(newContext(), query, 5)
		assert.ErrorIs(t, err, context.Canceled, "%q: Search gave %+v", query, result)
		text, err := catalog.Tool().InvokableRun(newContext(), `{"query":"`+query+`"}`)
		assert.ErrorIs(t, err, context.Canceled, "%q: the tool gave %q", query, text)
	}
	t.Run("before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, index := range []toolsearch.Indexer{nil, testtools.Canned{Hits: one}.Index, testtools.Canned{Err: errors.New("down")}.Index} {
			for _, query := range []string{"mail", "+send a b c", "select:send_mail", "zzz"} {
				check(t, index, query, func() context.Context { return ctx })
			}
		}
	})
	t.Run("meanwhile", func(t *testing.T) {
		var cancel context.CancelFunc
		newContext := func() (ctx context.Context) {
			ctx, cancel = context.WithCancel(context.Background())
			return ctx
		}
		for _, answer := range []testtools.Canned{{Hits: one}, {}, {Err: errors.New("down")}} {
			answer.During = func() { cancel() }
			check(t, answer.Index, "mail", newContext)
		}
	})
}

func TestBadIndexers(t *testing.T) {
	down := errors.New("down")
	for name, index := range map[string]toolsearch.Indexer{
		"fails":   func(context.Context, []toolsearch.Document) (search.Searcher, error) { return nil, down },
		"nothing": func(context.Context, []toolsearch.Document) (search.Searcher, error) { return nil, nil },
		"nil": func(context.Context, []toolsearch.Document) (search.Searcher, error) {
			return (*testtools.Canned)(nil), nil
		},
		"panics": func(context.Context, []toolsearch.Document) (search.Searcher, error) { panic("down") },
	} {
		for _, config := range []toolsearch.Config{{Index: index}, {Fallback: index}} {
			config.DynamicTools = testtools.NewsTools()
			_, err := toolsearch.New(context.Background(), &config)
			assert.ErrorContains(t, err, "index", name)
			if name == "fails" {
				assert.ErrorIs(t, err, down, name)
			} else {
				assert.NotErrorIs(t, err, down, name)
			}
		}
	}
}

// Explain says which demand of a query a tool does not meet, whichever searcher the catalog has.
func TestExplainSaysWhichDemandIsNotMet(t *testing.T) {
	infos := []*schema.ToolInfo{{Name: "github__create_issue", Desc: "Opens a report"}, {Name: "jira__create_issue", Desc: "Opens a ticket"}}
	for _, tt := range []struct {
		index       toolsearch.Indexer
		query, want string
	}{
		{toolsearch.BM25, "jira: create issue", "0\n  +0  \"jira\" in namespace: another namespace was asked for"},
		{toolsearch.BM25, "+tickets create", "0\n  +0  \"\": a required word is missing"},
		{toolsearch.BM25, "github: +tickets create", "0\n  +0  \"\": a required word is missing"},
		{toolsearch.Similarity, "+tickets create", "0\n  +0  \"\": a required word is missing"},
		{nil, "+ticket create", "0\n  +0  \"\": a required word is missing"},
		{nil, "jira: create", "10\n  +0  \"jira:\": not found\n  +10  \"create\" in name: a part of the name equals it"},
		{nil, "+report create", "12\n  +2  \"report\" in description: the description contains it\n  +10  \"create\" in name: a part of the name equals it"},
	} {
		catalog := testtools.Must(toolsearch.NewCatalogFromInfos(t.Context(), infos, &toolsearch.CatalogOptions{Index: tt.index}))(t)
		e := testtools.Must(catalog.Explain(t.Context(), tt.query, "github__create_issue"))(t, "%q", tt.query)
		assert.Equal(t, tt.want, e.String(), "%q", tt.query)
	}
}

// The bounds on a query, as ParseQuery documents them.
const (
	queryBytes = 4 << 10
	queryWords = 64
)

func FuzzParseQuery(f *testing.F) {
	for _, text := range []string{
		"", " ", "+", "++", "+++a ++", "+a a", "a +a", "create issue", "+github create  issue", "select:a,b", "\u2003x\u0085y\u00a0z",
		"a +\xff\u2028\xe2\x80", strings.Repeat("a ", 5000), strings.Repeat("+", 5000), strings.Repeat("+a ", 63) + strings.Repeat("b", 5000),
		strings.Repeat("\x80", 5000), strings.Repeat("日", 2000) + " x", "a" + strings.Repeat("\u2028", 3000) + "b", "ns:word", "A a Ä ä İ ı",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q := search.ParseQuery(text)
		assert.LessOrEqual(t, len(q.Text), queryBytes)
		assert.True(t, strings.Contains(text, "+") || strings.Contains(text, q.Text), "Text is a piece of what was typed")
		assert.LessOrEqual(t, len(q.Keywords), queryWords)
		for _, word := range q.Keywords {
			assert.False(t, word == "" || strings.ContainsFunc(word, unicode.IsSpace), "keyword %q", word)
		}
		// The words of Text are the keywords, up to the bound on their number.
		words := strings.Fields(q.Text)
		assert.Equal(t, words[:min(len(words), queryWords)], q.Keywords)
		// String writes a "+" before every occurrence of a required word, although one "+" is
		// enough. The text can so grow past the bound. Within the bound it parses to the same query.
		typed := q.String()
		if len(typed) > queryBytes {
			return
		}
		again := search.ParseQuery(typed)
		assert.Equal(t, q.Keywords, again.Keywords, "%q", typed)
		assert.Equal(t, sortedSet(q.Required), sortedSet(again.Required), "%q", typed)
		assert.Subset(t, q.Keywords, q.Required)
	})
}

func sortedSet(words []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(words)))
}

// Relevance is tested by a golden file for each searcher. The file has the searcher's figures and
// its ranks for 246 queries over the tools of the quickstart and of an office that works in
// Chinese. In review, a change of scoring shows as a difference of ranks. Rewrite the files with
//
//	go test -run Ranking -update .
//
// The queries are of the kinds that agents write:
//
//	keywords   a model knows how tools are named
//	sentence   a model copies what its user says
//	twin       several tools have similar names
//	typo       a word is misspelt
//	synonym    the words are not in the definition
//	parameter  the words are only in the schema of the parameters
//	chinese    the words are Chinese, without spaces
//	identifier the query has an identifier of a thing
//	brand      a product's name in another spelling
//	mixed      the query is in Chinese and the tool in English, or the other way round
//	jargon     words of a trade

var update = flag.Bool("update", false, "rewrite golden files")

// rankingSearchers are the searchers with a file testdata/ranking/<name>.golden.
var rankingSearchers = []struct {
	name  string
	index toolsearch.Indexer
}{
	{"keyword", toolsearch.Keyword},
	{"bm25", toolsearch.BM25},
}

func TestRanking(t *testing.T) {
	folder := filepath.Join("testdata", "ranking")
	catalog := testtools.Must(eval.LoadCatalog(filepath.Join(folder, "tools.jsonl")))(t)
	for _, tool := range services.Tools() {
		catalog.Tools = append(catalog.Tools, testtools.MustInfo(t, tool))
	}
	queries := testtools.Must(eval.LoadQueries(filepath.Join(folder, "queries.jsonl")))(t)
	for _, searcher := range rankingSearchers {
		t.Run(searcher.name, func(t *testing.T) {
			options := eval.Options{Index: searcher.index, Depth: len(catalog.Tools), Resamples: -1}
			report := testtools.Must(eval.Run(t.Context(), catalog, queries, options))(t)
			got := rankingText(report, len(catalog.Tools))
			testtools.Golden(t, filepath.Join(folder, searcher.name+".golden"), got, *update)
		})
	}
}

// rankingText returns a table of kinds and a line for each query. The line has the rank of the
// wanted tool, or "-" if the tool was not found, and the tool that was found first.
func rankingText(report *eval.Report, tools int) string {
	var text strings.Builder
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
	for _, query := range report.Queries {
		rank, first := "-", "nothing"
		if r := query.Ranks[0]; r > 0 {
			rank = fmt.Sprint(r)
		}
		if len(query.Found) > 0 {
			first = query.Found[0]
		}
		fmt.Fprintf(&text, "%4s  %-12s  %s -> %s", rank, query.ID, query.Text, query.Groups[0][0])
		if rank != "1" {
			fmt.Fprintf(&text, ", first %s", first)
		}
		fmt.Fprintln(&text)
	}
	return text.String()
}
