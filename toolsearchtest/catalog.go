package toolsearchtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/testtools/goals"
	"github.com/eino-toolsearch/toolsearch/search"
)

// The tests of a catalog: whether questions find the tools that they should find.

// A CatalogTest says which tools TestCatalog searches and what the searches must reach. Queries
// and one of Tools and File are required.
type CatalogTest struct {
	// Tools are the tools to search: an agent's Config.DynamicTools, say. Nil means the tools of
	// File.
	Tools []tool.BaseTool

	// File holds the tools if Tools is nil, in any form that eval.ReadCatalog reads. The command
	// toolsearch list writes such a file from MCP servers.
	File string

	// Queries is the file of queries, as eval.ReadQueries reads it. A query's "max_rank" is the rank
	// that its tools must reach.
	Queries string

	// Index and Annotate should be those of the agent's Config. Nil means the same as there:
	// search.Keyword and search.Annotate, except that tools of File have their server as the
	// namespace.
	Index    search.Indexer
	Annotate func(*schema.ToolInfo) search.Annotation

	// Min is the least mean of a metric over the queries, as a share of 1: {"R@5": 0.9}. Package
	// eval defines the metrics: R@1, R@5, R@10, complete@1, complete@5, complete@10, MRR and
	// nDCG@10.
	Min map[string]float64

	// Baseline is a file with the metrics of an earlier run, and no metric may be lower by more than
	// Tolerance, a share of 1. "" means no baseline. toolsearch eval -json writes such a file, and
	// so does Update.
	Baseline  string
	Tolerance float64

	// Update writes the Baseline instead of comparing with it. Let a flag of your tests decide.
	Update bool
}

// TestCatalog tests that queries find their tools, as the command toolsearch eval does:
//
//	func TestTools(t *testing.T) {
//		toolsearchtest.TestCatalog(t, toolsearchtest.CatalogTest{
//			Tools: tools, Queries: "testdata/queries.jsonl",
//			Index: toolsearch.BM25, Min: map[string]float64{"R@5": 0.9},
//		})
//	}
//
// A metric below Min or the Baseline is an error, and so is a query beyond its "max_rank". The
// error lists the queries to blame with the ranks of the tools they want, what came first
// instead, and how both scores add up. The metrics are logged: go test -v shows them.
func TestCatalog(t *testing.T, test CatalogTest) {
	t.Helper()
	report, short, misses, err := test.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for m, metric := range report.Metrics {
		mean := report.Means[m]
		t.Logf("%-12s %5.1f (%.1f to %.1f)", metric, 100*mean.Value, 100*mean.Low, 100*mean.High)
	}
	for _, s := range short {
		t.Error(s)
	}
	for i, m := range misses {
		const shown = 20
		if i == shown {
			t.Errorf("and %d more", len(misses)-shown)
			break
		}
		t.Error(m)
	}
}

func (c CatalogTest) run(ctx context.Context) (report *eval.Report, short []goals.Shortfall, misses []goals.Miss, err error) {
	if c.Baseline == "" && (c.Update || c.Tolerance != 0) {
		return nil, nil, nil, errors.New("toolsearchtest: Update and Tolerance need a Baseline")
	}
	catalog, err := c.catalog(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	queries, err := eval.LoadQueries(c.Queries)
	if err != nil {
		return nil, nil, nil, err
	}
	report, err = eval.Run(ctx, catalog, queries, eval.Options{Index: c.index()})
	if err != nil {
		return nil, nil, nil, err
	}
	want := goals.Goals{Min: c.Min, Tolerance: c.Tolerance}
	switch {
	case c.Update:
		data, wrong := goals.Baseline(report)
		err = cmp.Or(wrong, os.WriteFile(c.Baseline, append(data, '\n'), 0o666))
	case c.Baseline != "":
		var data []byte
		if data, err = os.ReadFile(c.Baseline); err != nil {
			err = fmt.Errorf("toolsearchtest: %w (Update writes a baseline)", err)
		} else {
			want.Baseline, err = goals.ReadBaseline(data, c.Baseline, "")
		}
	}
	if err == nil {
		short, misses, err = want.Check(ctx, report, catalog, c.index())
	}
	return report, short, misses, err
}

func (c CatalogTest) catalog(ctx context.Context) (*eval.Catalog, error) {
	if (c.Tools == nil) == (c.File == "") {
		return nil, errors.New("toolsearchtest: want either Tools or File")
	}
	if c.Tools == nil {
		return eval.LoadCatalog(c.File)
	}
	catalog := &eval.Catalog{}
	for i, t := range c.Tools {
		if t == nil {
			return nil, fmt.Errorf("toolsearchtest: tool %d is nil", i)
		}
		info, err := t.Info(ctx)
		if err != nil {
			return nil, fmt.Errorf("toolsearchtest: the info of tool %d: %w", i, err)
		}
		catalog.Tools = append(catalog.Tools, info)
	}
	return catalog, nil
}

// index returns Index, with the documents annotated by Annotate.
func (c CatalogTest) index() search.Indexer {
	index := c.Index
	if index == nil {
		index = search.Keyword
	}
	if c.Annotate == nil {
		return index
	}
	return func(ctx context.Context, docs []search.Document) (search.Searcher, error) {
		for i := range docs { // package eval makes them only for this Indexer
			docs[i].Annotation = c.Annotate(docs[i].Info)
		}
		return index(ctx, docs)
	}
}
