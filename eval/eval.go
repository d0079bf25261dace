// Package eval measures how well a searcher finds tools, and compares two searchers. It
// needs a catalog and queries whose tools are known. It computes recall, complete recall,
// mean reciprocal rank and nDCG, with confidence intervals.
//
//	catalog, err := eval.LoadCatalog("tools.jsonl")
//	queries, err := eval.LoadQueries("queries.jsonl")
//	report, err := eval.Run(ctx, catalog, queries, eval.Options{Index: search.Keyword})
//	recall, _ := report.Mean("R@5") // recall.Value, and recall.Low to recall.High
//
// The same input gives the same report, bit for bit, including the intervals.
//
// # Metrics
//
// A query asks for one or more groups of tools. The tools of a group are interchangeable:
// the group is found when any of them is found, and counts once. The rank of a group is the
// smallest rank of any of its tools, counted from 1. A group has no rank if none of its tools
// is among the first [Options].Depth hits. Then, for one query,
//
//	R@k          the share of its groups whose rank is at most k, for k of 1, 5 and 10
//	complete@k   1 if the rank of every group is at most k, else 0; likewise
//	MRR          1 / the smallest rank of any of its groups, 0 if no group has a rank
//	nDCG@10      sum over groups of rank r <= 10 of 1/log2(1+r), divided by the same sum
//	             for ranks 1, 2, ..., min(groups, 10), and at most 1
//
// nDCG is defined as in https://en.wikipedia.org/wiki/Discounted_cumulative_gain with a gain
// of 1 for the first hit of a group and 0 for every other hit. The quotient can exceed 1 only
// if groups share tools. A [Report] gives the mean of a metric over the queries. Every query
// has the same weight, however many groups it has.
//
// What a report must reach, and which queries are to blame if it does not, is the business of the command
// toolsearch eval and of toolsearchtest.TestCatalog, a test of your own catalog.
//
// # Encoders
//
// [Languages] tells which languages the encoder of a search.Embedding knows. It needs no catalog and
// no queries.
//
// # Intervals
//
// Intervals are 95 % bootstrap intervals by the percentile method (Efron and Tibshirani, An
// Introduction to the Bootstrap, 1993, section 13.3). Each resample draws as many queries as
// there are, with replacement, and takes their mean. The interval holds the middle 95 % of
// these means. It estimates what other queries of the same kind would have given. Queries
// that are variants of each other are not independent and make the intervals too narrow.
package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/eino-toolsearch/toolsearch/search"
)

// Options say what to measure and how. The zero value is a good default.
type Options struct {
	// Index builds the searcher. Nil means search.Keyword.
	Index search.Indexer

	// Depth is the number of hits per query, at least 10. A tool that is not among these hits
	// counts as not found. Zero means 50.
	Depth int

	// Resamples is the number of bootstrap samples behind an interval. Zero means 2000. A
	// negative number means none: Low and High of an Estimate then equal its Value.
	Resamples int

	// Progress is called after each query with the number of queries done and of all
	// queries. Nil means no calls.
	Progress func(done, total int)
}

// A Report is what Run measured, or what Compare computed.
type Report struct {
	Metrics   []string   // names of the metrics, in the order of Means and of a Query's Values
	Means     []Estimate // the mean of each metric over all queries
	Queries   []Query    // those of Run, with what was measured
	resamples int        // for the intervals of OfKind and Compare
}

// An Estimate is a mean with its 95 % confidence interval.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Run searches the catalog for every query and measures the ranks of its tools.
//
// Run reads a query as a catalog does and gives it to the searcher alone, so "select:"
// has no meaning. Run fails if there are no queries, if a query wants a tool that the catalog
// does not have, or if the searcher fails. When ctx is done, Run returns ctx's error.
func Run(ctx context.Context, catalog *Catalog, queries []Query, options Options) (*Report, error) {
	if options.Index == nil {
		options.Index = search.Keyword
	}
	options.Depth, options.Resamples = cmp.Or(options.Depth, 50), cmp.Or(options.Resamples, 2000)
	if deepest := cutoffs[len(cutoffs)-1]; options.Depth < deepest {
		return nil, fmt.Errorf("eval: Depth %d is less than the %d that the metrics need", options.Depth, deepest)
	}
	if len(queries) == 0 {
		return nil, fmt.Errorf("eval: no queries")
	}
	known := make(map[string]bool, len(catalog.Tools))
	for _, info := range catalog.Tools {
		known[info.Name] = true
	}
	for _, query := range queries {
		if err := query.check(known); err != nil {
			return nil, fmt.Errorf("eval: %s: %w", query.where(), err)
		}
		if query.MaxRank > options.Depth {
			return nil, fmt.Errorf("eval: %s: the rank %d is beyond the %d hits of a query", query.where(), query.MaxRank, options.Depth)
		}
	}
	docs, err := search.Documents(catalog.Tools, catalog.Annotate)
	if err != nil {
		return nil, err
	}
	searcher, err := options.Index(ctx, docs)
	if err != nil {
		return nil, err
	}
	narrower := search.NewNarrower(docs, searcher)
	report := &Report{Metrics: slices.Clone(metricNames), resamples: options.Resamples}
	for i, query := range queries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		q := narrower.Narrow(narrower.Read(searcher, query.Text, "", nil), nil)
		q.Limit = options.Depth
		answer, err := searcher.Search(ctx, q)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err = cmp.Or(err, answer.Partial); err != nil {
			return nil, fmt.Errorf("eval: %s: searching: %w", query.where(), err)
		}
		query.Found = nil
		for _, hit := range answer.Hits[:min(len(answer.Hits), options.Depth)] {
			if hit.Doc < 0 || hit.Doc >= len(docs) {
				return nil, fmt.Errorf("eval: %s: the searcher found document %d in a catalog of %d", query.where(), hit.Doc, len(docs))
			}
			query.Found = append(query.Found, docs[hit.Doc].Name)
		}
		query.Ranks = ranks(query.Found, query.Groups)
		query.Values = values(query.Ranks)
		report.Queries = append(report.Queries, query)
		if options.Progress != nil {
			options.Progress(i+1, len(queries))
		}
	}
	report.estimate()
	return report, nil
}

// check fails if the query has a group without a known tool.
func (q Query) check(known map[string]bool) error {
	if len(q.Groups) == 0 {
		return errors.New("no gold tool")
	}
	for _, group := range q.Groups {
		if len(group) == 0 {
			return errors.New("a group without a tool")
		}
		for _, name := range group {
			if !known[name] {
				return fmt.Errorf("the catalog has no tool %q", name)
			}
		}
	}
	return nil
}

// Mean returns the mean of a metric, and false if the metric was not measured.
func (r *Report) Mean(metric string) (Estimate, bool) {
	i := slices.Index(r.Metrics, metric)
	if i < 0 {
		return Estimate{}, false
	}
	return r.Means[i], true
}

// Kinds returns the kinds of the queries in order of first occurrence. "" stands for queries
// without a kind.
func (r *Report) Kinds() []string {
	var kinds []string
	for _, query := range r.Queries {
		if !slices.Contains(kinds, query.Kind) {
			kinds = append(kinds, query.Kind)
		}
	}
	return kinds
}

// OfKind returns the report on the queries of one kind.
func (r *Report) OfKind(kind string) *Report {
	part := &Report{Metrics: r.Metrics, resamples: r.resamples}
	part.Queries = slices.DeleteFunc(slices.Clone(r.Queries), func(q Query) bool { return q.Kind != kind })
	part.estimate()
	return part
}

// Compare returns a report whose values are those of b minus those of a, query by query. Most of what
// makes a query easy or hard affects both and cancels out, so a difference can be certain, with an
// interval that excludes 0, even where the intervals of the two means overlap. Both must have the same
// queries. The options of a's Run decide how the intervals are computed.
func Compare(a, b *Report) (*Report, error) {
	if len(a.Queries) != len(b.Queries) {
		return nil, fmt.Errorf("eval: comparing reports on %d and on %d queries", len(a.Queries), len(b.Queries))
	}
	difference := &Report{Metrics: a.Metrics, resamples: a.resamples}
	for i, query := range b.Queries {
		one := a.Queries[i]
		if one.ID != query.ID || one.Text != query.Text {
			return nil, fmt.Errorf("eval: comparing reports on different queries: number %d is %q and %q", i+1, one.ID, query.ID)
		}
		query.Values = slices.Clone(query.Values)
		for m := range query.Values {
			query.Values[m] -= one.Values[m]
		}
		difference.Queries = append(difference.Queries, query)
	}
	difference.estimate()
	return difference, nil
}

func (r *Report) estimate() {
	rows := make([][]float64, len(r.Queries))
	for i, query := range r.Queries {
		rows[i] = query.Values
	}
	r.Means = estimates(rows, len(r.Metrics), r.resamples)
}
