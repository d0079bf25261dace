// Package goals compares an evaluation with what it must reach, and says why it does not: the tests of a
// catalog, for the command toolsearch eval and for toolsearchtest.TestCatalog.
package goals

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Goals are what the metrics of a report must reach, as shares of 1. The zero value asks for nothing.
// Each query must also reach its MaxRank, whatever the goals are.
type Goals struct {
	Min       map[string]float64 // the least mean of a metric, by its name: {"R@5": 0.9}
	Baseline  map[string]float64 // of an earlier evaluation; no metric may be lower
	Tolerance float64            // how much lower than the Baseline a metric may be
}

// A Shortfall is a metric below a goal.
type Shortfall struct {
	Metric string  `json:"metric"` // as package eval names it
	Value  float64 `json:"value"`  // its mean, a share of 1
	Want   float64 `json:"want"`   // the least that was asked for
	From   string  `json:"from"`   // who asked for it: "min" or "baseline"
}

// String returns a line for people, with percents.
func (s Shortfall) String() string {
	return fmt.Sprintf("%s is %.1f, want %.1f by the %s", s.Metric, 100*s.Value, 100*s.Want, s.From)
}

// A Miss is a query whose tools are not where they should be, and what came first instead.
type Miss struct {
	ID      string  `json:"id"`                 // of the query
	Query   string  `json:"query"`              // its text
	MaxRank int     `json:"max_rank,omitempty"` // the Query's; 0 means any
	Wanted  []Place `json:"wanted"`             // one for each of the query's groups
	First   *Place  `json:"first,omitempty"`    // the best tool that was not wanted; nil means none
}

// A Place is where a query found a group of tools.
type Place struct {
	Tools []string `json:"tools"` // any of them
	Rank  int      `json:"rank"`  // from 1; 0 means not found
	// Score is what the score of the group's best tool is made of, such as "12 = 10 book + 2 seat".
	// It is "" if the searcher is not a search.Explainer.
	Score string `json:"score,omitempty"`
}

// OverMaxRank reports whether the query has a MaxRank that a wanted group does not reach:
// its rank is greater, or it was not found.
func (m Miss) OverMaxRank() bool {
	return slices.ContainsFunc(m.Wanted, func(w Place) bool { return isBeyond(w.Rank, m.MaxRank) })
}

// String returns a line for the query and a line for each tool. Texts of the catalog and of the
// queries are made safe to print.
func (m Miss) String() string {
	var b strings.Builder
	b.WriteString(naming.OneLine(m.ID, 100) + ": " + naming.OneLine(m.Query, 200))
	if m.OverMaxRank() {
		fmt.Fprintf(&b, " (max_rank %d)", m.MaxRank)
	}
	line := func(role string, p Place) {
		at, score := "not found", ""
		if p.Rank > 0 {
			at = fmt.Sprintf("rank %d", p.Rank)
		}
		if p.Score != "" {
			score = ", score " + p.Score
		}
		fmt.Fprintf(&b, "\n  %s %s: %s%s", role, naming.OneLine(strings.Join(p.Tools, " or "), 300), at, score)
	}
	for _, w := range m.Wanted {
		line("wanted", w)
	}
	if m.First != nil {
		line("instead", *m.First)
	}
	return b.String()
}

// Check compares a report with the goals and with the MaxRank of every query. It returns the metrics
// below a goal and the queries to blame, in the order of the report; without either, all goals are
// reached. catalog and index are those of the Run. Check fails on goals that make no sense, such as an
// unknown metric in Min, and if the searcher fails.
func (g Goals) Check(
	ctx context.Context, r *eval.Report, catalog *eval.Catalog, index search.Indexer,
) (short []Shortfall, misses []Miss, err error) {
	if err := g.validate(r.Metrics); err != nil {
		return nil, nil, err
	}
	for m, metric := range r.Metrics {
		value := r.Means[m].Value
		below := func(want float64, known bool, from string) {
			// Shares are rounded. A value that differs from a goal only in the last bits is
			// not below it.
			if known && value < want-1e-9 {
				short = append(short, Shortfall{metric, value, want, from})
			}
		}
		least, known := g.Min[metric]
		below(least, known, "min")
		before, known := g.Baseline[metric]
		below(before-g.Tolerance, known, "baseline")
	}
	misses, err = blamed(ctx, r, catalog, index, func(q eval.Query) bool {
		return slices.ContainsFunc(q.Ranks, func(rank int) bool { return isBeyond(rank, q.MaxRank) }) ||
			slices.ContainsFunc(short, func(s Shortfall) bool { return q.Values[slices.Index(r.Metrics, s.Metric)] < 1 })
	})
	return short, misses, err
}

func (g Goals) validate(metrics []string) error {
	for _, metric := range slices.Sorted(maps.Keys(g.Min)) {
		if !slices.Contains(metrics, metric) {
			return fmt.Errorf("eval: no metric %q; want one of %s", naming.OneLine(metric, 60), strings.Join(metrics, ", "))
		}
		if least := g.Min[metric]; !(least >= 0 && least <= 1) {
			return fmt.Errorf("eval: the least %s is %v; want a share from 0 to 1", metric, least)
		}
	}
	if g.Tolerance < 0 || g.Tolerance >= 1 || math.IsNaN(g.Tolerance) {
		return fmt.Errorf("eval: the tolerance is %v; want a share from 0 to 1", g.Tolerance)
	}
	return nil
}

// Misses explains the queries whose wanted tools were not all found before any other tool. catalog and
// index are those of the Run.
func Misses(ctx context.Context, r *eval.Report, catalog *eval.Catalog, index search.Indexer) ([]Miss, error) {
	return blamed(ctx, r, catalog, index, func(q eval.Query) bool {
		first := Unwanted(q)
		return slices.ContainsFunc(q.Ranks, func(rank int) bool { return rank == 0 || first >= 0 && rank > first })
	})
}

// blamed explains the queries for which isBlamed returns true.
func blamed(
	ctx context.Context, r *eval.Report, catalog *eval.Catalog, index search.Indexer, isBlamed func(eval.Query) bool,
) (list []Miss, err error) {
	var compiled *toolsearch.Catalog
	for _, q := range r.Queries {
		if !isBlamed(q) {
			continue
		}
		if compiled == nil {
			if compiled, err = catalog.Compile(ctx, index); err != nil {
				return nil, err
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		list = append(list, explain(ctx, compiled, q))
	}
	return list, nil
}

func explain(ctx context.Context, catalog *toolsearch.Catalog, q eval.Query) Miss {
	m := Miss{ID: q.ID, Query: q.Text, MaxRank: q.MaxRank}
	for g, group := range q.Groups {
		w := Place{Tools: group, Rank: q.Ranks[g]}
		tool := group[0]
		if w.Rank > 0 {
			tool = q.Found[w.Rank-1]
		}
		w.Score = sum(ctx, catalog, q.Text, tool)
		m.Wanted = append(m.Wanted, w)
	}
	if at := Unwanted(q); at >= 0 {
		m.First = &Place{q.Found[at : at+1], at + 1, sum(ctx, catalog, q.Text, q.Found[at])}
	}
	return m
}

// Unwanted returns the index of the best tool found that is in none of the query's groups, or -1.
func Unwanted(q eval.Query) int {
	return slices.IndexFunc(q.Found, func(name string) bool {
		return !slices.ContainsFunc(q.Groups, func(group []string) bool { return slices.Contains(group, name) })
	})
}

// isBeyond reports whether a rank is greater than most, if that is not 0, or none.
func isBeyond(rank, most int) bool { return most > 0 && (rank == 0 || rank > most) }

// sum writes a score as a sum over the query's terms: "12 = 10 book + 2 seat".
func sum(ctx context.Context, catalog *toolsearch.Catalog, query, tool string) string {
	explanation, err := catalog.Explain(ctx, query, tool)
	if err != nil {
		return ""
	}
	var terms, parts []string
	scores := make(map[string]float64) // over the fields of a tool
	for _, p := range explanation.Parts {
		term := naming.OneLine(cmp.Or(p.Term, p.Detail, p.Field), 40)
		if _, ok := scores[term]; !ok && p.Score != 0 {
			terms = append(terms, term)
		}
		scores[term] += p.Score
	}
	for _, term := range terms {
		parts = append(parts, scoreText(scores[term])+" "+term)
	}
	if len(parts) == 0 {
		return "0"
	}
	const shown = 6
	if more := len(parts) - shown; more > 0 {
		parts = append(parts[:shown], fmt.Sprintf("%d more", more))
	}
	return scoreText(explanation.Score) + " = " + strings.Join(parts, " + ")
}

// scoreText writes a score with three digits, or as a whole number if that has more.
func scoreText(score float64) string {
	if math.Abs(score) >= 1000 {
		return fmt.Sprintf("%.0f", score)
	}
	return fmt.Sprintf("%.3g", score)
}

// ReadBaseline reads what toolsearch eval -json printed, and returns the mean of each metric of one
// searcher for Goals.Baseline. The searcher "" means the only one. file is the file's name in errors.
func ReadBaseline(data []byte, file, searcher string) (map[string]float64, error) {
	type measured struct {
		Name    string
		Metrics map[string]eval.Estimate
	}
	var before struct{ Searchers []measured }
	if json.Unmarshal(data, &before) != nil || len(before.Searchers) == 0 {
		return nil, fmt.Errorf("eval: %s: want what eval -json printed", file)
	}
	at := 0
	if searcher != "" {
		at = slices.IndexFunc(before.Searchers, func(s measured) bool { return s.Name == searcher })
	} else if len(before.Searchers) > 1 {
		return nil, fmt.Errorf("eval: %s: want the metrics of one searcher, not of %d", file, len(before.Searchers))
	}
	if at < 0 {
		return nil, fmt.Errorf("eval: %s: nothing about the searcher %s", file, naming.OneLine(searcher, 60))
	}
	means := make(map[string]float64)
	for metric, mean := range before.Searchers[at].Metrics {
		means[metric] = mean.Value
	}
	return means, nil
}

// Means returns the means of a report by their metrics.
func Means(r *eval.Report) map[string]eval.Estimate {
	means := make(map[string]eval.Estimate)
	for m, metric := range r.Metrics {
		means[metric] = r.Means[m]
	}
	return means
}

// Baseline writes the report's metrics as ReadBaseline reads them.
func Baseline(r *eval.Report) ([]byte, error) {
	return json.MarshalIndent(map[string]any{"searchers": []any{map[string]any{"name": "", "metrics": Means(r)}}}, "", "  ")
}
