package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

func TestValues(t *testing.T) {
	log2 := math.Log2
	for _, test := range []struct {
		name  string
		ranks []int
		want  []float64 // R@1, R@5, R@10, complete@1, complete@5, complete@10, MRR, nDCG@10
	}{
		{"first", []int{1}, []float64{1, 1, 1, 1, 1, 1, 1, 1}},
		{"second", []int{2}, []float64{0, 1, 1, 0, 1, 1, 1. / 2, 1 / log2(3)}},
		{"at the cut-off", []int{5}, []float64{0, 1, 1, 0, 1, 1, 1. / 5, 1 / log2(6)}},
		{"after the cut-off", []int{6}, []float64{0, 0, 1, 0, 0, 1, 1. / 6, 1 / log2(7)}},
		{"after the cut-off of nDCG", []int{11}, []float64{0, 0, 0, 0, 0, 0, 1. / 11, 0}},
		{"not found", []int{0}, []float64{0, 0, 0, 0, 0, 0, 0, 0}},
		{"two of two", []int{3, 1}, []float64{1. / 2, 1, 1, 0, 1, 1, 1, (1 + 1/log2(4)) / (1 + 1/log2(3))}},
		{"one of two", []int{0, 4}, []float64{0, 1. / 2, 1. / 2, 0, 0, 0, 1. / 4, 1 / log2(5) / (1 + 1/log2(3))}},
		{"groups that share a tool", []int{1, 1}, []float64{1, 1, 1, 1, 1, 1, 1, 1}},
	} {
		assert.InDeltaSlice(t, test.want, values(test.ranks), 1e-12, test.name)
	}
	// nDCG looks at ten ranks, so its ideal has ten of the twelve groups.
	twelve := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	assert.Equal(t, 1.0, ndcg(twelve), "nDCG of twelve groups at the first twelve ranks")
}

// The standard error of a mean of ones and zeros is known. The interval is about 1.96
// standard errors to either side.
func TestInterval(t *testing.T) {
	var rows [][]float64
	for i := range 400 {
		rows = append(rows, []float64{float64(i % 4 / 3), 1})
	}
	got := estimates(rows, 2, 4000)
	half := 1.96 * math.Sqrt(0.25*0.75/400)
	require.Len(t, got, 2)
	assert.Equal(t, 0.25, got[0].Value)
	assert.InDelta(t, 0.25-half, got[0].Low, 0.006)
	assert.InDelta(t, 0.25+half, got[0].High, 0.006)
	assert.Equal(t, Estimate{1, 1, 1}, got[1], "all queries have the same value")
	assert.Equal(t, got, estimates(rows, 2, 4000), "again")
	none := estimates(rows, 2, -1)
	require.NotEmpty(t, none)
	assert.Equal(t, Estimate{0.25, 0.25, 0.25}, none[0], "without resamples")
}

const tools = `{"name": "mail__send", "description": "Send a letter", "parameters": {"type": "object", "properties": {"to": {"type": ["string", "null"], "description": "Recipient"}}}, "server": "post"}

{"name": "mail__read", "description": "Read a letter", "other": 1}
{"name": "weather"}
`

func TestCatalogFormats(t *testing.T) {
	list := `[
  {"name": "mail__send", "title": "Send", "description": "Send a letter",
   "inputSchema": {"type": "object", "properties": {"to": {"type": ["string", "null"], "description": "Recipient"}}}},
  {"name": "mail__read", "description": "Read a letter", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
  {"name": "weather", "inputSchema": {"type": "object", "properties": {"deep": true}}}
]`
	tests := []struct{ name, text, namespace string }{
		{"JSONL", tools, "post"},
		{"JSONL with a mark and carriage returns", "\ufeff" + strings.ReplaceAll(tools, "\n", "\r\n"), "post"},
		{"bare list", list, "mail"},
		{"tools/list result", `{"nextCursor": "x", "tools": ` + list + `}`, "mail"},
		{"tools/list response", `{"jsonrpc": "2.0", "id": 1, "result": {"tools": ` + list + `}}`, "mail"},
		{"a request to OpenAI", `{"model": "m", "messages": [], "tools": [
			{"type": "function", "function": {"name": "mail__send", "description": "Send a letter", "strict": true,
				"parameters": {"properties": {"to": {"description": "Recipient"}}}}},
			{"type": "function", "function": {"name": "mail__read", "description": "Read a letter"}},
			{"type": "function", "name": "weather"}]}`, "mail"},
		{"tools of a request to Anthropic", `[{"name": "mail__send", "description": "Send a letter",
			"input_schema": {"properties": {"to": {"description": "Recipient"}}}},
			{"name": "mail__read", "description": "Read a letter", "n\u0061me": "mail__read"}, {"name": "weather", "tools": []}]`, "mail"},
		{"two responses", `{"result": {"tools": [{"name": "mail__send", "description": "Send a letter",
			"inputSchema": {"properties": {"to": {"description": "Recipient"}}}}]}}
			{"result": {"tools": [{"name": "mail__read", "description": "Read a letter"}, {"name": "weather"}]}}`, "mail"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			catalog := testtools.Must(ReadCatalog(strings.NewReader(test.text), "file"))(t)
			docs := testtools.Must(search.Documents(catalog.Tools, catalog.Annotate))(t)
			var got []string
			for _, doc := range docs {
				got = append(got, fmt.Sprintf("%s|%s|%s", doc.Name, doc.Description, doc.Namespace))
			}
			want := []string{"mail__send|Send a letter|" + test.namespace, "mail__read|Read a letter|mail", "weather||"}
			require.Equal(t, want, got)
			assert.Equal(t, []search.Parameter{{Name: "to", Description: "Recipient", Enum: []string{}}}, docs[0].Parameters)
		})
	}
}

func TestCatalogErrors(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"an empty file", " \n", `eval: f: no tools; want a line`},
		{"no tools", `{"tools": []}`, `eval: f: no tools; want a line`},
		{"an error of MCP", `{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601}}`, `eval: f:1: want a tool, an object with a "name"`},
		{"not JSON", "{\"name\": \"a\"}\nname: b\n", `eval: f:2: not JSON: invalid character 'a' in literal null (expecting 'u')`},
		{"not closed", "{\"name\": \"a\"}\n\n{\"name\": \"b\"\n{\"name\": \"c\"}\n",
			`eval: f:3: not JSON: invalid character '{' after object key:value pair (on line 4)`},
		{"cut off", "{\"name\": \"a\"}\n{\"name\": \"b\",\n", `eval: f:2: not JSON: the file ends within a value (on line 3)`},
		{"a number", "7", `eval: f:1: want a tool`},
		{"no name", "{\"name\": \"a\"}\n{\"title\": \"b\"}\n", `eval: f:2: want a tool, an object with a "name"`},
		{"empty name", "{\"name\": \"\"}\n", `eval: f:1: a tool without a name`},
		{"wrong type", "\n{\"name\": \"a\", \"description\": 5}\n", `eval: f:2: "description": a JSON number does not belong there`},
		{"wrong schema", "{\"name\": \"a\", \"parameters\": {\"properties\": 5}}\n", `eval: f:1: tool "a": parameters: `},
		{"a type of null", "{\"name\": \"a\", \"parameters\": {\"properties\": {\"x\": {\"type\": null}}}}\n",
			`eval: f:1: tool "a": parameters: a type of a JSON schema is null`},
		{"no schema", "{\"name\": \"a\", \"parameters\": 2}\n",
			`eval: f:1: tool "a": parameters: "schema": a JSON number does not belong there`},
		{"servers", `{"mcpServers": {"a": {"command": "b"}}}`, `eval: f:1: this lists MCP servers, not tools`},
		{"a name twice", "{\"name\": \"a\"}\n{\"tools\": [{\"name\": \"b\"},\n {\"name\": \"a\"}]}",
			`eval: f:3: two tools named "a", the other one on line 1`},
	} {
		_, err := ReadCatalog(strings.NewReader(test.text), "f")
		assert.Regexp(t, "^"+regexp.QuoteMeta(test.want), err, test.name)
	}
}

// Files may come from anywhere. Nested lists were once read again at every level: 25 MB took
// 19 minutes and 23 GB.
func TestCatalogsThatNest(t *testing.T) {
	const size = 1 << 20
	lists := func(depth int, inner string) string {
		return strings.Repeat("[", depth) + inner + strings.Repeat("]", depth)
	}
	objects := func(depth int, inner string) string {
		return strings.Repeat(`{"result":`, depth) + inner + strings.Repeat("}", depth)
	}
	schemas := strings.Repeat(`{"properties":{"a":`, 5_000)
	text := `"` + strings.Repeat("x", size) + `"`
	for _, test := range []struct{ name, text, want string }{
		{"lists left open", strings.Repeat("[", size), "nest more than 64 deep"},
		{"objects left open", strings.Repeat(`{"tools":`, size/9), "nest more than 64 deep"},
		{"lists", lists(9_000, text), "nest more than 64 deep"},
		{"objects", objects(9_000, text), "nest more than 64 deep"},
		{"a schema", `{"name":"a","parameters":` + schemas + text + strings.Repeat("}}", 5_000) + "}", "nest more than 64 deep"},
		{"lists within the depth", lists(60, text), "more than 8 lists and answers around a tool"},
		{"answers within the depth", objects(60, text), "more than 8 lists and answers around a tool"},
		{"a text left open", `{"name":"` + strings.Repeat("x", size), "the file ends within a value"},
		{"too long", strings.Repeat("\n", 64<<20+1), "more than 64 MiB"},
		{"too many", strings.Repeat(`{"name":"a"}`, 2), `two tools named "a", the other one on line 1`},
	} {
		_, err := ReadCatalog(strings.NewReader(test.text), "f")
		assert.ErrorContains(t, err, test.want, test.name)
	}
	_, err := ReadQueries(strings.NewReader(`{"query":`+lists(9_000, text)+`}`), "f")
	assert.ErrorContains(t, err, "nest more than 64 deep", "queries")
}

// Queries and tools on many lines are read in one pass, lines counted.
func TestCatalogOfManyLines(t *testing.T) {
	var lines, asked strings.Builder
	for i := range 100_001 {
		fmt.Fprintf(&lines, "{\"name\": \"t%d\"}\n", i)
		if i < 20_001 {
			fmt.Fprintf(&asked, "{\"query\": \"t%d\", \"gold\": [\"a\"]}\n", i)
		}
	}
	_, err := ReadCatalog(strings.NewReader(lines.String()), "f")
	assert.ErrorContains(t, err, "eval: f:100001: more than 100000 tools")
	assert.Equal(t, 20_001, testtools.Must(ReadQueries(strings.NewReader(asked.String()), "f"))(t)[20_000].line)
}

func TestQueries(t *testing.T) {
	got, err := ReadQueries(strings.NewReader(`{"id": "q1", "query": "send a letter", "gold": ["b", "a", "b"], "kind": "words", "max_rank": 3}

{"query": "read", "gold": ["x"], "accept": [["a", "b"], ["c"]], "note": 1}
`), "f")
	want := []Query{
		{ID: "q1", Text: "send a letter", Groups: [][]string{{"b"}, {"a"}}, Kind: "words", MaxRank: 3, file: "f", line: 1},
		{ID: "3", Text: "read", Groups: [][]string{{"a", "b"}, {"c"}}, file: "f", line: 3},
	}
	assert.NoError(t, err)
	assert.Equal(t, want, got)
	for _, test := range []struct{ name, text, want string }{
		{"an empty file", "", `eval: f: no queries`},
		{"a list", "[]", `eval: f:1: want an object`},
		{"a rank as text", `{"query": "a", "gold": ["x"], "max_rank": "first"}`, `eval: f:1: "max_rank": a JSON string does not belong there`},
		{"a rank below 1", `{"query": "a", "gold": ["x"], "max_rank": -1}`, `eval: f:1: "max_rank": want a rank from 1`},
		{"no query", `{"id": "a", "gold": ["x"]}`, `eval: f:1: no "query"`},
		{"no gold", "{\"query\": \"a\", \"gold\": [\"x\"]}\n{\"query\": \"a\", \"gold\": []}", `eval: f:2: no "gold"`},
		{"an empty group", `{"query": "a", "accept": [["x"], []]}`, `eval: f:1: an empty group`},
		{"gold as text", `{"query": "a", "gold": "x"}`, `eval: f:1: "gold": a JSON string does not belong there`},
		{"an id twice", "{\"id\": \"a\", \"query\": \"a\", \"gold\": [\"x\"]}\n{\"id\": \"a\", \"query\": \"b\", \"gold\": [\"x\"]}",
			`eval: f:2: two queries with the id "a", the other one on line 1`},
	} {
		_, err := ReadQueries(strings.NewReader(test.text), "f")
		assert.Regexp(t, "^"+regexp.QuoteMeta(test.want), err, test.name)
	}
}

// listed finds the same tools in the same order for every query.
func listed(docs ...int) search.Indexer {
	var hits []search.Hit
	for i, doc := range docs {
		hits = append(hits, search.Hit{Doc: doc, Score: float64(-i)})
	}
	return testtools.Canned{Hits: hits}.Index
}

func small() (*Catalog, []Query) {
	return &Catalog{Tools: []*schema.ToolInfo{{Name: "a"}, {Name: "b"}, {Name: "c"}}},
		[]Query{
			{ID: "1", Text: "one", Groups: [][]string{{"a"}}, Kind: "x"},
			{ID: "2", Text: "two", Groups: [][]string{{"b"}, {"c"}}, Kind: "y"},
			{ID: "3", Text: "three", Groups: [][]string{{"a", "c"}}, Kind: "x"},
		}
}

// ran returns the report of a run that must not fail.
func ran(t *testing.T, catalog *Catalog, queries []Query, options Options) *Report {
	t.Helper()
	return testtools.Must(Run(t.Context(), catalog, queries, options))(t)
}

func TestRun(t *testing.T) {
	catalog, queries := small()
	var progress []string
	report := ran(t, catalog, queries, Options{
		Index:    listed(2, 0),
		Progress: func(done, total int) { progress = append(progress, fmt.Sprint(done, "/", total)) },
	})
	assert.Equal(t, []string{"1/3", "2/3", "3/3"}, progress)
	require.Equal(t, []string{"R@1", "R@5", "R@10", "complete@1", "complete@5", "complete@10", "MRR", "nDCG@10"}, report.Metrics)
	for i, ranks := range [][]int{{2}, {0, 1}, {1}} {
		assert.Equal(t, ranks, report.Queries[i].Ranks, "query %d", i)
		assert.Equal(t, []string{"c", "a"}, report.Queries[i].Found, "query %d", i)
	}
	assert.Len(t, report.Queries, 3)
	for metric, want := range map[string]float64{
		"R@1": (0 + 1./2 + 1) / 3, "R@5": (1 + 1./2 + 1) / 3,
		"complete@1": (0 + 0 + 1) / 3., "complete@5": (1 + 0 + 1) / 3., "MRR": (1./2 + 1 + 1) / 3,
	} {
		got, ok := report.Mean(metric)
		assert.True(t, ok, metric)
		assert.InDelta(t, want, got.Value, 1e-12, metric)
		assert.LessOrEqual(t, got.Low, want, metric)
		assert.GreaterOrEqual(t, got.High, want, metric)
	}
	_, ok := report.Mean("F1")
	assert.False(t, ok, "whether an unknown metric has a mean")
	assert.Equal(t, []string{"x", "y"}, report.Kinds())
	got, _ := report.OfKind("x").Mean("R@1")
	assert.Equal(t, (0+1)/2., got.Value, "R@1 of kind x")
}

func TestRunErrors(t *testing.T) {
	catalog, queries := small()
	with := func(q Query) []Query { return append(slices.Clone(queries), q) }
	for _, test := range []struct {
		name    string
		queries []Query
		options Options
		want    string
	}{
		{"no queries", nil, Options{}, "no queries"},
		{"unknown gold", with(Query{ID: "4", Groups: [][]string{{"d"}}, file: "f", line: 9}), Options{},
			`eval: f:9: query "4": the catalog has no tool "d"`},
		{"no gold", with(Query{ID: "4"}), Options{}, `eval: query "4": no gold tool`},
		{"an empty group", with(Query{ID: "4", Groups: [][]string{{}}}), Options{}, `eval: query "4": a group without a tool`},
		{"failing searcher", queries, Options{Index: testtools.Canned{Err: errors.New("out of order")}.Index},
			`eval: query "1": searching: out of order`},
		{"a document outside the catalog", queries, Options{Index: listed(3)}, `found document 3 in a catalog of 3`},
		{"depth", queries, Options{Depth: 9}, "Depth 9 is less than the 10"},
		{"a rank", with(Query{ID: "q", Groups: [][]string{{"a"}}, MaxRank: 51}), Options{},
			`query "q": the rank 51 is beyond the 50 hits of a query`},
	} {
		_, err := Run(t.Context(), catalog, test.queries, test.options)
		assert.ErrorContains(t, err, test.want, test.name)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Run(ctx, catalog, queries, Options{Progress: func(int, int) { cancel() }})
	assert.ErrorIs(t, err, context.Canceled, "cancelled")
}

func TestCompare(t *testing.T) {
	catalog, queries := small()
	a := ran(t, catalog, queries, Options{Index: listed(2, 0)}) // R@1 0, 1/2, 1
	b := ran(t, catalog, queries, Options{Index: listed(0, 1)}) // R@1 1, 0, 1
	got, at := testtools.Must(Compare(a, b))(t), slices.Index(a.Metrics, "R@1")
	assert.InDelta(t, (1-0.5+0)/3, got.Means[at].Value, 1e-12)
	// With three queries, the interval has every mean that can be drawn.
	assert.Equal(t, Estimate{Value: got.Means[at].Value, Low: -0.5, High: 1}, got.Means[at])
	for i, want := range []float64{1, -0.5, 0} {
		assert.Equal(t, want, got.Queries[i].Values[at], "the difference on query %d", i)
	}
	assert.Zero(t, testtools.Must(Compare(a, a))(t).Means[0], "a report compared with itself")
	assert.Equal(t, 1.0, b.Queries[0].Values[at], "the reports stay")
	_, err := Compare(a, ran(t, catalog, queries[:2], Options{}))
	assert.Error(t, err, "reports with different numbers of queries")
	_, err = Compare(a, ran(t, catalog, []Query{queries[1], queries[0], queries[2]}, Options{}))
	assert.Error(t, err, "reports with different queries")
}
