package eval

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestValues(t *testing.T) {
	log2 := math.Log2
	tests := []struct {
		name  string
		ranks []int
		want  []float64 // R@1, R@5, complete@1, complete@5, MRR, nDCG@10
	}{
		{"first", []int{1}, []float64{1, 1, 1, 1, 1, 1}},
		{"second", []int{2}, []float64{0, 1, 0, 1, 1. / 2, 1 / log2(3)}},
		{"at the cut-off", []int{5}, []float64{0, 1, 0, 1, 1. / 5, 1 / log2(6)}},
		{"behind the cut-off", []int{6}, []float64{0, 0, 0, 0, 1. / 6, 1 / log2(7)}},
		{"behind nDCG's", []int{11}, []float64{0, 0, 0, 0, 1. / 11, 0}},
		{"not found", []int{0}, []float64{0, 0, 0, 0, 0, 0}},
		{"two of two", []int{3, 1}, []float64{1. / 2, 1, 0, 1, 1, (1 + 1/log2(4)) / (1 + 1/log2(3))}},
		{"one of two", []int{0, 4}, []float64{0, 1. / 2, 0, 0, 1. / 4, 1 / log2(5) / (1 + 1/log2(3))}},
		{"groups that share a tool", []int{1, 1}, []float64{1, 1, 1, 1, 1, 1}},
	}
	for _, test := range tests {
		got := values(test.ranks, []int{1, 5})
		for i := range got {
			if math.Abs(got[i]-test.want[i]) > 1e-12 {
				t.Errorf("%s: %s is %g, want %g", test.name, metricNames([]int{1, 5})[i], got[i], test.want[i])
			}
		}
	}
	// More groups than nDCG looks at: the ideal holds ten of them.
	twelve := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	if got := ndcg(twelve); got != 1 {
		t.Errorf("nDCG of twelve groups at the first twelve ranks is %g, want 1", got)
	}
}

func TestRanks(t *testing.T) {
	found := []string{"a", "b", "c", "d"}
	groups := [][]string{{"c"}, {"x", "d", "b"}, {"x"}, {"b"}}
	if got, want := ranks(found, groups), []int{3, 2, 0, 2}; !slices.Equal(got, want) {
		t.Errorf("ranks %v, want %v", got, want)
	}
	if got := (QueryResult{Ranks: []int{0, 3, 2}}).Rank(); got != 2 {
		t.Errorf("Rank %d, want 2", got)
	}
	if got := (QueryResult{Ranks: []int{0, 0}}).Rank(); got != 0 {
		t.Errorf("Rank %d, want 0", got)
	}
}

// The standard error of a mean of ones and zeros is known; the interval is about 1.96 of
// them to either side.
func TestInterval(t *testing.T) {
	var rows [][]float64
	for i := range 400 {
		rows = append(rows, []float64{float64(i % 4 / 3), 1})
	}
	got := estimates(rows, 2, Options{Resamples: 4000, Seed: 1})
	half := 1.96 * math.Sqrt(0.25*0.75/400)
	if e := got[0]; e.Value != 0.25 || math.Abs(e.Low-(0.25-half)) > 0.006 || math.Abs(e.High-(0.25+half)) > 0.006 {
		t.Errorf("got %+v, want 0.25 from about %.4f to about %.4f", e, 0.25-half, 0.25+half)
	}
	if got[1] != (Estimate{1, 1, 1}) {
		t.Errorf("where all queries are alike: %+v, want no spread", got[1])
	}
	if again := estimates(rows, 2, Options{Resamples: 4000, Seed: 1}); !slices.Equal(again, got) {
		t.Errorf("the same seed gives %+v, then %+v", got, again)
	}
	if other := estimates(rows, 2, Options{Resamples: 4000, Seed: 2}); slices.Equal(other, got) {
		t.Error("another seed gives the same intervals")
	}
	if none := estimates(rows, 2, Options{Resamples: -1}); none[0] != (Estimate{0.25, 0.25, 0.25}) {
		t.Errorf("without resamples %+v", none[0])
	}
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i)
	}
	if low, high := middle95(hundred); low != 2 || high != 97 {
		t.Errorf("middle of 0 to 99: %g to %g, want 2 to 97", low, high)
	}
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
		{"two responses", `{"result": {"tools": [{"name": "mail__send", "description": "Send a letter",
			"inputSchema": {"properties": {"to": {"description": "Recipient"}}}}]}}
			{"result": {"tools": [{"name": "mail__read", "description": "Read a letter"}, {"name": "weather"}]}}`, "mail"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			catalog, err := parseCatalog("file", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			docs, _, err := catalog.searcher(t.Context(), toolsearch.Keyword)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, doc := range docs {
				got = append(got, fmt.Sprintf("%s|%s|%s", doc.Name, doc.Description, doc.Namespace))
			}
			want := []string{"mail__send|Send a letter|" + test.namespace, "mail__read|Read a letter|mail", "weather||"}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			if got, want := docs[0].Parameters, []toolsearch.Parameter{{Name: "to", Description: "Recipient", Enum: []string{}}}; !reflect.DeepEqual(got, want) {
				t.Errorf("parameters %+v, want %+v", got, want)
			}
		})
	}
}

func TestCatalogErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", " \n", `eval: f: no tools; want a line`},
		{"no tools", `{"tools": []}`, `eval: f: no tools; want a line`},
		{"an error of MCP", `{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601}}`, `eval: f:1: want a tool, an object with a "name"`},
		{"not JSON", "{\"name\": \"a\"}\nname: b\n", `eval: f:2: not JSON: invalid character 'a' in literal null (expecting 'u')`},
		{"not closed", "{\"name\": \"a\"}\n\n{\"name\": \"b\"\n{\"name\": \"c\"}\n", `eval: f:3: not JSON: invalid character '{' after object key:value pair (on line 4)`},
		{"cut off", "{\"name\": \"a\"}\n{\"name\": \"b\",\n", `eval: f:2: not JSON: the file ends within a value (on line 3)`},
		{"a number", "7", `eval: f:1: want a tool`},
		{"no name", "{\"name\": \"a\"}\n{\"title\": \"b\"}\n", `eval: f:2: want a tool, an object with a "name"`},
		{"empty name", "{\"name\": \"\"}\n", `eval: f:1: a tool without a name`},
		{"wrong type", "\n{\"name\": \"a\", \"description\": 5}\n", `eval: f:2: "description": want a string, not a JSON number`},
		{"wrong schema", "{\"name\": \"a\", \"parameters\": {\"properties\": 5}}\n", `eval: f:1: tool "a": parameters: `},
		{"twice", "{\"name\": \"a\"}\n{\"tools\": [{\"name\": \"b\"},\n {\"name\": \"a\"}]}", `eval: f:3: two tools named "a", the other one on line 1`},
	}
	for _, test := range tests {
		_, err := parseCatalog("f", []byte(test.text))
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %s", test.name, err, test.want)
		}
	}
}

func TestQueries(t *testing.T) {
	got, err := parseQueries("f", []byte(`{"id": "q1", "query": "send a letter", "gold": ["b", "a", "b"], "kind": "words"}

{"query": "read", "gold": ["x"], "accept": [["a", "b"], ["c"]], "note": 1}
`))
	want := []Query{
		{ID: "q1", Text: "send a letter", Groups: [][]string{{"b"}, {"a"}}, Kind: "words", File: "f", Line: 1},
		{ID: "3", Text: "read", Groups: [][]string{{"a", "b"}, {"c"}}, File: "f", Line: 3},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, error %v, want %+v", got, err, want)
	}
	tests := []struct{ name, text, want string }{
		{"nothing", "", `eval: f: no queries`},
		{"a list", "[]", `eval: f:1: want an object`},
		{"no query", `{"id": "a", "gold": ["x"]}`, `eval: f:1: no "query"`},
		{"no gold", "{\"query\": \"a\", \"gold\": [\"x\"]}\n{\"query\": \"a\", \"gold\": []}", `eval: f:2: no "gold"`},
		{"an empty group", `{"query": "a", "accept": [["x"], []]}`, `eval: f:1: an empty group`},
		{"gold as text", `{"query": "a", "gold": "x"}`, `eval: f:1: "gold": want a list, not a JSON string`},
		{"an id twice", "{\"id\": \"a\", \"query\": \"a\", \"gold\": [\"x\"]}\n{\"id\": \"a\", \"query\": \"b\", \"gold\": [\"x\"]}", `eval: f:2: two queries with the id "a", the other one on line 1`},
	}
	for _, test := range tests {
		_, err := parseQueries("f", []byte(test.text))
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %s", test.name, err, test.want)
		}
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.json")
	if _, err := LoadCatalog(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("LoadCatalog: error %v, want one of no such file", err)
	}
	if _, err := LoadQueries(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("LoadQueries: error %v, want one of no such file", err)
	}
}

// listed finds the same tools, in the same order, whatever is asked.
func listed(docs ...int) toolsearch.Indexer {
	return func(context.Context, []toolsearch.Document) (toolsearch.Searcher, error) {
		return searcherFunc(func(_ context.Context, q toolsearch.Query) (hits []toolsearch.Hit, err error) {
			for i, doc := range docs {
				hits = append(hits, toolsearch.Hit{Doc: doc, Score: float64(-i)})
			}
			return hits, nil
		}), nil
	}
}

type searcherFunc func(context.Context, toolsearch.Query) ([]toolsearch.Hit, error)

func (f searcherFunc) Search(ctx context.Context, q toolsearch.Query) ([]toolsearch.Hit, error) {
	return f(ctx, q)
}

func small() (*Catalog, []Query) {
	return &Catalog{Tools: []*schema.ToolInfo{{Name: "a"}, {Name: "b"}, {Name: "c"}}},
		[]Query{
			{ID: "1", Text: "one", Groups: [][]string{{"a"}}, Kind: "x"},
			{ID: "2", Text: "two", Groups: [][]string{{"b"}, {"c"}}, Kind: "y"},
			{ID: "3", Text: "three", Groups: [][]string{{"a", "c"}}, Kind: "x"},
		}
}

func TestRun(t *testing.T) {
	catalog, queries := small()
	var progress []string
	report, err := Run(t.Context(), catalog, queries, Options{
		Index: listed(2, 0), K: []int{1, 2},
		Progress: func(done, total int) { progress = append(progress, fmt.Sprint(done, "/", total)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"1/3", "2/3", "3/3"}; !slices.Equal(progress, want) {
		t.Errorf("progress %q, want %q", progress, want)
	}
	if want := []string{"R@1", "R@2", "complete@1", "complete@2", "MRR", "nDCG@10"}; !slices.Equal(report.Metrics, want) {
		t.Fatalf("metrics %q, want %q", report.Metrics, want)
	}
	wantRanks := [][]int{{2}, {0, 1}, {1}}
	for i, result := range report.Queries {
		if !slices.Equal(result.Ranks, wantRanks[i]) || !slices.Equal(result.Found, []string{"c", "a"}) {
			t.Errorf("query %d: found %q at %v, want [c a] at %v", i, result.Found, result.Ranks, wantRanks[i])
		}
	}
	for metric, want := range map[string]float64{
		"R@1": (0 + 1./2 + 1) / 3, "R@2": (1 + 1./2 + 1) / 3,
		"complete@1": (0 + 0 + 1) / 3., "complete@2": (1 + 0 + 1) / 3., "MRR": (1./2 + 1 + 1) / 3,
	} {
		got, ok := report.Mean(metric)
		if !ok || math.Abs(got.Value-want) > 1e-12 || got.Low > want || got.High < want {
			t.Errorf("%s is %+v, want %g", metric, got, want)
		}
	}
	if _, ok := report.Mean("F1"); ok {
		t.Error("a mean of what was not measured")
	}
	if got := report.Kinds(); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("kinds %q", got)
	}
	if got, _ := report.OfKind("x").Mean("R@1"); got.Value != (0+1)/2. {
		t.Errorf("R@1 of kind x is %g, want 1/2", got.Value)
	}
}

func TestRunErrors(t *testing.T) {
	catalog, queries := small()
	failing := func(context.Context, []toolsearch.Document) (toolsearch.Searcher, error) {
		return searcherFunc(func(context.Context, toolsearch.Query) ([]toolsearch.Hit, error) {
			return nil, errors.New("out of order")
		}), nil
	}
	with := func(q Query) []Query { return append(slices.Clone(queries), q) }
	tests := []struct {
		name    string
		queries []Query
		options Options
		want    string
	}{
		{"no queries", nil, Options{}, "no queries"},
		{"unknown gold", with(Query{ID: "4", Groups: [][]string{{"d"}}, File: "f", Line: 9}), Options{}, `eval: f:9: query "4": the catalog has no tool "d"`},
		{"no gold", with(Query{ID: "4"}), Options{}, `eval: query "4": no gold tool`},
		{"an empty group", with(Query{ID: "4", Groups: [][]string{{}}}), Options{}, `eval: query "4": a group without a tool`},
		{"failing searcher", queries, Options{Index: failing}, `eval: query "1": searching: out of order`},
		{"a document that is not there", queries, Options{Index: listed(3)}, `found document 3 in a catalog of 3`},
		{"cut-offs", queries, Options{K: []int{5, 1}}, "ascending"},
		{"depth", queries, Options{K: []int{20}, Depth: 15}, "Depth 15 is less than the 20"},
	}
	for _, test := range tests {
		_, err := Run(t.Context(), catalog, test.queries, test.options)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %s", test.name, err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Run(ctx, catalog, queries, Options{Progress: func(int, int) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

func TestCompare(t *testing.T) {
	catalog, queries := small()
	run := func(queries []Query, options Options) *Report {
		t.Helper()
		report, err := Run(t.Context(), catalog, queries, options)
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	a := run(queries, Options{Index: listed(2, 0)}) // R@1 0, 1/2, 1
	b := run(queries, Options{Index: listed(0, 1)}) // R@1 1, 0, 1
	comparison, err := Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	got := comparison.Changes[slices.Index(comparison.Metrics, "R@1")]
	if math.Abs(got.Mean.Value-(1-0.5+0)/3) > 1e-12 || got.Wins != 1 || got.Losses != 1 || got.Ties != 1 || got.Certain() {
		t.Errorf("R@1 changes by %+v, want by 1/6 with one each", got)
	}
	if got.Mean.Low != -0.5 || got.Mean.High != 1 {
		t.Errorf("interval %+v, want all that can be drawn from three queries", got.Mean)
	}
	self, err := Compare(a, a)
	if err != nil || self.Changes[0] != (Difference{Ties: 3}) {
		t.Errorf("with itself: %+v, error %v", self.Changes[0], err)
	}
	if _, err := Compare(a, run(queries[:2], Options{})); err == nil {
		t.Error("reports on other numbers of queries compare")
	}
	if _, err := Compare(a, run(queries, Options{K: []int{3}})); err == nil {
		t.Error("reports on other metrics compare")
	}
	if _, err := Compare(a, run([]Query{queries[1], queries[0], queries[2]}, Options{})); err == nil {
		t.Error("reports on other queries compare")
	}
}

// What a whole evaluation of the files in testdata says, and that it says it twice.
func TestGoldenReport(t *testing.T) {
	catalog, err := LoadCatalog(filepath.Join("testdata", "tools.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	queries, err := LoadQueries(filepath.Join("testdata", "queries.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var texts [2]bytes.Buffer
	for i := range texts {
		report, err := Run(t.Context(), catalog, queries, Options{Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		for m, metric := range report.Metrics {
			fmt.Fprintf(&texts[i], "%-12s %.4f  %.4f to %.4f\n", metric, report.Means[m].Value, report.Means[m].Low, report.Means[m].High)
		}
		for _, result := range report.Queries {
			fmt.Fprintf(&texts[i], "%-4s %v\n", result.Query.ID, result.Ranks)
		}
	}
	if !bytes.Equal(texts[0].Bytes(), texts[1].Bytes()) {
		t.Error("two runs differ")
	}
	golden := filepath.Join("testdata", "report.golden")
	if *update {
		if err := os.WriteFile(golden, texts[0].Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(texts[0].Bytes(), want) {
		t.Errorf("got\n%s\nwant\n%s\n(go test ./eval -update rewrites it)", &texts[0], want)
	}
}
