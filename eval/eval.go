// Package eval measures how well a searcher finds tools: recall, complete recall, mean
// reciprocal rank and nDCG over a catalog and queries whose tools are known, with
// confidence intervals, and one searcher against another.
//
//	catalog, err := eval.LoadCatalog("tools.jsonl")
//	queries, err := eval.LoadQueries("queries.jsonl")
//	report, err := eval.Run(ctx, catalog, queries, eval.Options{Index: toolsearch.Keyword})
//	recall, _ := report.Mean("R@5") // recall.Value, and recall.Low to recall.High
//
// The same input gives the same report, bit for bit, intervals included.
//
// # Metrics
//
// A query asks for one or more groups of tools. The tools of a group are interchangeable:
// the group is found when any of them is, and counts once. The rank of a group is the
// smallest rank of any of its tools, counted from 1; a group none of whose tools is among
// the first [Options].Depth hits has no rank. Then, for one query,
//
//	R@k          the share of its groups whose rank is at most k
//	complete@k   1 if the rank of every group is at most k, else 0
//	MRR          1 / the smallest rank of any of its groups, 0 if none has one
//	nDCG@10      sum over groups of rank r <= 10 of 1/log2(1+r), divided by the same sum
//	             for ranks 1, 2, ..., min(groups, 10), and at most 1
//
// nDCG is that of https://en.wikipedia.org/wiki/Discounted_cumulative_gain with a gain of
// 1 for the first hit of a group and 0 for every other hit; only where groups share tools
// could the quotient exceed 1. What a [Report] gives for a metric is the mean over
// queries, each of which weighs the same however many groups it has.
//
// # Intervals
//
// Intervals are bootstrap intervals of 95 %, by the percentile method: the mean is taken
// again over queries drawn from the queries with replacement, as many as there are, and
// the interval holds the middle 95 % of these means
// (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3). They say
// what other queries of the same kind could have given. Queries that are variants of one
// another are not independent, and then the intervals are too narrow.
package eval

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Options say what to measure and how. The zero value is a good default.
type Options struct {
	// Index builds the searcher. Nil: toolsearch.Keyword.
	Index toolsearch.Indexer

	// K are the cut-offs of recall and complete recall, ascending. Nil: 1, 5 and 10.
	K []int

	// Depth is how many hits are asked for. A tool beyond them counts as not found. Zero:
	// 50, or the greatest of K where that is more.
	Depth int

	// Resamples is the number of bootstrap samples behind an interval. Zero: 2000.
	// Negative: none, and the interval of a value is the value alone.
	Resamples int

	// Seed of the bootstrap.
	Seed uint64

	// Progress is told after each query how many of all are done. Nil: nobody is.
	Progress func(done, total int)
}

func (o Options) withDefaults() (Options, error) {
	if o.Index == nil {
		o.Index = toolsearch.Keyword
	}
	if o.K == nil {
		o.K = []int{1, 5, 10}
	}
	for i, k := range o.K {
		if k < 1 || i > 0 && k <= o.K[i-1] {
			return o, fmt.Errorf("eval: K %v: want ascending numbers from 1", o.K)
		}
	}
	deepest := slices.Max(append([]int{ndcgDepth}, o.K...))
	if o.Depth == 0 {
		o.Depth = max(50, deepest)
	}
	if o.Depth < deepest {
		return o, fmt.Errorf("eval: Depth %d is less than the %d that the metrics look at", o.Depth, deepest)
	}
	if o.Resamples == 0 {
		o.Resamples = 2000
	}
	return o, nil
}

// A Report is what Run measured.
type Report struct {
	Metrics []string      // names of what was measured, in the order of Means and Values
	Means   []Estimate    // the mean of each metric over all queries
	Queries []QueryResult // in the order of the queries
	options Options       // for the intervals of what is computed from the report
}

// An Estimate is a mean with its 95 % confidence interval.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// A QueryResult is what Run measured for one query.
type QueryResult struct {
	Query  Query
	Found  []string  // names of the tools found, best first, at most Options.Depth
	Ranks  []int     // of each of the query's groups, from 1; 0: not found
	Values []float64 // of each of Report.Metrics
}

// Rank returns the smallest rank of any of the query's groups, and 0 if none was found.
func (r QueryResult) Rank() int {
	best := 0
	for _, rank := range r.Ranks {
		if rank > 0 && (best == 0 || rank < best) {
			best = rank
		}
	}
	return best
}

// Run searches the catalog for every query and measures where its tools come out.
//
// A query is read as a catalog reads it, with its "+word" and its namespace in front, and
// searched for by the searcher alone: one that begins with "select:" selects nothing. Run fails if a query
// wants a tool the catalog lacks, if there is no query, if the searcher fails, and, with
// ctx's error, when ctx is done.
func Run(ctx context.Context, catalog *Catalog, queries []Query, options Options) (*Report, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(queries) == 0 {
		return nil, fmt.Errorf("eval: no queries")
	}
	if err := checkGroups(catalog, queries); err != nil {
		return nil, err
	}
	docs, searcher, err := catalog.searcher(ctx, options.Index)
	if err != nil {
		return nil, err
	}
	narrower := search.NewNarrower(docs, searcher)
	report := &Report{Metrics: metricNames(options.K), options: options}
	for i, query := range queries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		q := narrower.Narrow(narrower.Read(searcher, query.Text, ""), nil)
		q.Limit = options.Depth
		answer, err := searcher.Search(ctx, q)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err = cmp.Or(err, answer.Partial); err != nil {
			return nil, fmt.Errorf("eval: %s: searching: %w", query.where(), err)
		}
		hits := answer.Hits
		result := QueryResult{Query: query, Found: make([]string, 0, min(len(hits), options.Depth))}
		for _, hit := range hits[:min(len(hits), options.Depth)] {
			if hit.Doc < 0 || hit.Doc >= len(docs) {
				return nil, fmt.Errorf("eval: %s: the searcher found document %d in a catalog of %d", query.where(), hit.Doc, len(docs))
			}
			result.Found = append(result.Found, docs[hit.Doc].Name)
		}
		result.Ranks = ranks(result.Found, query.Groups)
		result.Values = values(result.Ranks, options.K)
		report.Queries = append(report.Queries, result)
		if options.Progress != nil {
			options.Progress(i+1, len(queries))
		}
	}
	report.estimate()
	return report, nil
}

func checkGroups(catalog *Catalog, queries []Query) error {
	known := make(map[string]bool, len(catalog.Tools))
	for _, info := range catalog.Tools {
		known[info.Name] = true
	}
	for _, query := range queries {
		if len(query.Groups) == 0 {
			return fmt.Errorf("eval: %s: no gold tool", query.where())
		}
		for _, group := range query.Groups {
			if len(group) == 0 {
				return fmt.Errorf("eval: %s: a group without a tool", query.where())
			}
			for _, name := range group {
				if !known[name] {
					return fmt.Errorf("eval: %s: the catalog has no tool %q", query.where(), name)
				}
			}
		}
	}
	return nil
}

// Mean returns the mean of the metric of that name, and false if it was not measured.
func (r *Report) Mean(metric string) (Estimate, bool) {
	i := slices.Index(r.Metrics, metric)
	if i < 0 {
		return Estimate{}, false
	}
	return r.Means[i], true
}

// Kinds returns the kinds of the queries in the order in which they first occur; "" is
// the kind of queries without one.
func (r *Report) Kinds() []string {
	var kinds []string
	for _, result := range r.Queries {
		if !slices.Contains(kinds, result.Query.Kind) {
			kinds = append(kinds, result.Query.Kind)
		}
	}
	return kinds
}

// OfKind returns the report on the queries of one kind alone.
func (r *Report) OfKind(kind string) *Report {
	part := &Report{Metrics: r.Metrics, options: r.options}
	for _, result := range r.Queries {
		if result.Query.Kind == kind {
			part.Queries = append(part.Queries, result)
		}
	}
	part.estimate()
	return part
}

func (r *Report) estimate() {
	rows := make([][]float64, len(r.Queries))
	for i, result := range r.Queries {
		rows[i] = result.Values
	}
	r.Means = estimates(rows, len(r.Metrics), r.options)
}
