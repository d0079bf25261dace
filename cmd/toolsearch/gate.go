package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
)

// What an evaluation must reach, for a catalog's own tests: -min for a metric, -baseline for what
// it reached before, and max_rank for a query. What falls short is listed with the queries that
// are to blame, and with what came first instead and why.

// A floor is the least value of a metric, as a share of 1.
type floor struct {
	metric string
	value  float64
	from   string // the flag that asks for it
}

// A shortfall is a metric below its floor.
type shortfall struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Want   float64 `json:"want"`
	From   string  `json:"from"`
}

// A miss is a query that is to blame.
type miss struct {
	ID      string   `json:"id"`
	Query   string   `json:"query"`
	MaxRank int      `json:"max_rank,omitempty"`
	Wanted  []wanted `json:"wanted"`
	First   *ranked  `json:"first,omitempty"` // the best tool that was not wanted
	missed  bool     // by its own max_rank
}

type wanted struct {
	Tools []string `json:"tools"` // any of them
	Rank  int      `json:"rank"`  // 0 means not found
	Score string   `json:"score,omitempty"`
}

type ranked struct {
	Tool  string `json:"tool"`
	Rank  int    `json:"rank"`
	Score string `json:"score,omitempty"` // what the score is made of
}

// floors reads -min and -baseline.
func (c *command) floors(ctx context.Context, searcher string) (list []floor, err error) {
	if c.tolerance < 0 || c.tolerance >= 1 || math.IsNaN(c.tolerance) {
		return nil, wrongUsage("eval: -tolerance %v: want a share from 0 to 1", c.tolerance)
	}
	for _, text := range c.minima {
		for _, one := range strings.Split(text, ",") {
			metric, share, _ := strings.Cut(one, "=")
			value, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
			if err != nil || !(value >= 0 && value <= 1) {
				return nil, wrongUsage("eval: -min %s: want METRIC=SHARE with a share from 0 to 1, such as R@5=0.9", one)
			}
			list = append(list, floor{strings.TrimSpace(metric), value, "-min"})
		}
	}
	if c.baseline == "" {
		return list, nil
	}
	file, data, err := c.readFile(ctx, c.baseline)
	if err != nil {
		return nil, err
	}
	var before evalOutput
	if json.Unmarshal(data, &before) != nil || len(before.Searchers) == 0 {
		return nil, fmt.Errorf("%s: want what eval -json printed", file)
	}
	at := slices.IndexFunc(before.Searchers, func(s searcherOutput) bool { return s.Name == searcher })
	if at < 0 {
		return nil, fmt.Errorf("%s: nothing about the searcher %s", file, searcher)
	}
	for metric, mean := range before.Searchers[at].Metrics {
		list = append(list, floor{metric, mean.Value - c.tolerance, "-baseline"})
	}
	return list, nil
}

// shortfalls compares a report with the floors, in the order of its metrics.
func shortfalls(report *eval.Report, floors []floor) ([]shortfall, error) {
	for _, f := range floors {
		if f.from == "-min" && !slices.Contains(report.Metrics, f.metric) {
			return nil, wrongUsage("eval: -min %s: want one of %s", f.metric, strings.Join(report.Metrics, ", "))
		}
	}
	var short []shortfall
	for m, metric := range report.Metrics {
		for _, f := range floors {
			// A share of queries is not exact; what equals its floor but for the last bits is
			// not below it.
			if value := report.Means[m].Value; f.metric == metric && value < f.value-1e-9 {
				short = append(short, shortfall{metric, value, f.value, f.from})
			}
		}
	}
	return short, nil
}

// misses returns the queries behind the shortfalls, and those beyond their own max_rank.
func misses(ctx context.Context, catalog *toolsearch.Catalog, report *eval.Report, short []shortfall) []miss {
	var list []miss
	for _, q := range report.Queries {
		blamed := q.Missed()
		for _, s := range short {
			blamed = blamed || q.Values[slices.Index(report.Metrics, s.Metric)] < 1
		}
		if !blamed {
			continue
		}
		m := miss{ID: q.Query.ID, Query: q.Query.Text, MaxRank: q.Query.MaxRank, missed: q.Missed()}
		for g, group := range q.Query.Groups {
			w := wanted{Tools: group, Rank: q.Ranks[g]}
			tool := group[0]
			if w.Rank > 0 {
				tool = q.Found[w.Rank-1]
			}
			w.Score = made(ctx, catalog, q.Query.Text, tool)
			m.Wanted = append(m.Wanted, w)
		}
		for i, name := range q.Found {
			if !slices.ContainsFunc(q.Query.Groups, func(group []string) bool { return slices.Contains(group, name) }) {
				m.First = &ranked{name, i + 1, made(ctx, catalog, q.Query.Text, name)}
				break
			}
		}
		list = append(list, m)
	}
	return list
}

// made says what a score is made of: "12 = 10 book + 2 seat". It is "" if the searcher does not
// explain.
func made(ctx context.Context, catalog *toolsearch.Catalog, query, tool string) string {
	explanation, err := catalog.Explain(ctx, query, tool)
	if err != nil {
		return ""
	}
	var terms, parts []string
	sums := make(map[string]float64) // over the fields of a tool
	for _, p := range explanation.Parts {
		term := oneLine(cmp.Or(p.Term, p.Detail, p.Field), 30)
		if _, ok := sums[term]; !ok && p.Score != 0 {
			terms = append(terms, term)
		}
		sums[term] += p.Score
	}
	for _, term := range terms {
		parts = append(parts, fmt.Sprintf("%.3g %s", sums[term], term))
	}
	if len(parts) == 0 {
		return "0"
	}
	const shown = 6
	if more := len(parts) - shown; more > 0 {
		parts = append(parts[:shown], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%.3g = %s", explanation.Score, strings.Join(parts, " + "))
}

// printGate prints what fell short and why.
func (c *command) printGate(short []shortfall, missed []miss) error {
	if len(short) > 0 {
		fmt.Fprintf(c.out, "\n%s\n", c.paint(bad, "fell short"))
		var t table
		t.row("metric", "is", "want", "")
		for _, s := range short {
			t.row(s.Metric, fmt.Sprintf("%.1f", 100*s.Value), fmt.Sprintf("%.1f", 100*s.Want), "by "+s.From)
		}
		if err := c.print(&t); err != nil {
			return err
		}
	}
	if len(missed) == 0 {
		return nil
	}
	const shown = 20
	fmt.Fprintf(c.out, "\n%s\n", c.paint(bad, "misses: "+fmt.Sprint(len(missed))))
	for i, m := range missed {
		if i == shown {
			fmt.Fprintln(c.out, c.paint(dim, fmt.Sprintf("and %d more; -json lists all", len(missed)-shown)))
			break
		}
		limit := ""
		if m.missed {
			limit = fmt.Sprintf(" (max_rank %d)", m.MaxRank)
		}
		fmt.Fprintf(c.out, "%s  %s%s\n", oneLine(m.ID, 40), oneLine(m.Query, 80), limit)
		t := table{styles: map[int]style{2: named, 3: dim}}
		for _, w := range m.Wanted {
			rank := "-"
			if w.Rank > 0 {
				rank = fmt.Sprint(w.Rank)
			}
			t.row("  wanted", rank, oneLine(strings.Join(w.Tools, " or "), 64), w.Score)
		}
		if m.First != nil {
			t.row("  instead", fmt.Sprint(m.First.Rank), oneLine(m.First.Tool, 64), m.First.Score)
		}
		if err := c.printRows(&t, false); err != nil {
			return err
		}
	}
	return nil
}
