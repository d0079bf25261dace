package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/eval"
)

// The command eval, and its output for machines and for people.

type evalOutput struct {
	Tools     int              `json:"tools"`
	Queries   int              `json:"queries"`
	Searchers []searcherOutput `json:"searchers"`
	Short     []eval.Shortfall `json:"short,omitempty"`  // metrics below what was asked for
	Misses    []eval.Miss      `json:"misses,omitempty"` // the queries to blame
	// Difference is the second searcher minus the first, by metric.
	Difference map[string]eval.Difference `json:"difference,omitempty"`
}

type searcherOutput struct {
	Name     string                              `json:"name"`
	Emulated bool                                `json:"emulated,omitempty"` // it emulates somebody else's searcher
	Metrics  map[string]eval.Estimate            `json:"metrics"`
	Kinds    map[string]map[string]eval.Estimate `json:"kinds,omitempty"`
	Queries  []queryOutput                       `json:"queries,omitempty"` // with -v
	Misses   []eval.Miss                         `json:"misses,omitempty"`  // with -v: where other tools came first
}

type queryOutput struct {
	ID    string `json:"id"`
	Ranks []int  `json:"ranks"` // rank of each group of wanted tools; 0 means not found
}

func (c *command) eval(ctx context.Context, operands []string) (int, error) {
	from, rest, ok := c.origin(operands)
	if !ok || len(rest) != 1 {
		return failed, wrongUsage("eval: want CATALOG QUERIES")
	}
	if from.operand == "-" && rest[0] == "-" {
		return failed, wrongUsage("eval: only one file can be standard input")
	}
	if c.n < 10 {
		return failed, wrongUsage("eval: -n %d: want at least 10, since nDCG@10 needs 10 hits", c.n)
	}
	if c.resamples < 0 {
		return failed, wrongUsage("eval: -resamples %d: want 0 or more", c.resamples)
	}
	names := strings.Split(c.searcher, ",")
	if len(names) > 2 {
		return failed, wrongUsage("eval: -searcher %s: want one or two searchers", c.searcher)
	}
	if len(names) > 1 && (len(c.minima) > 0 || c.baseline != "") {
		return failed, wrongUsage("eval: -min and -baseline want one searcher, not %s", c.searcher)
	}
	goals, err := c.goals(ctx, names[0])
	if err != nil {
		return failed, err
	}
	indexes, err := c.indexers(ctx, names...)
	if err != nil {
		return failed, err
	}
	tools, err := c.catalog(ctx, from)
	if err != nil {
		return failed, err
	}
	queries, err := c.queries(ctx, rest[0])
	if err != nil {
		return failed, err
	}
	if err := c.embedQueries(ctx, texts(queries)); err != nil {
		return failed, err
	}
	options := eval.Options{Depth: c.n, Resamples: c.resamples}
	if c.resamples == 0 {
		options.Resamples = -1
	}
	reports := make([]*eval.Report, len(names))
	for i := range names {
		options.Index = indexes[i]
		options.Progress = func(done, total int) { c.step("searching with "+names[i], done, total) }
		done := c.waiting("indexing %s for %s", plural(len(tools.Tools), "tool"), names[i])
		reports[i], err = eval.Run(ctx, tools, queries, options)
		done()
		if err != nil {
			return failed, err
		}
	}
	var comparison *eval.Comparison
	if len(reports) == 2 {
		if comparison, err = eval.Compare(reports[0], reports[1]); err != nil {
			return failed, err
		}
	}
	verdict := &eval.Verdict{}
	if len(reports) == 1 { // a comparison of two searchers has no goals
		if verdict, err = reports[0].Check(ctx, tools, goals); err != nil {
			return failed, err
		}
	}
	misplaced := make([][]eval.Miss, len(reports))
	for i := 0; c.verbose && i < len(reports); i++ {
		if misplaced[i], err = reports[i].Misses(ctx, tools, nil); err != nil {
			return failed, err
		}
	}
	code := found
	if !verdict.Reached() {
		code = short
	}
	if c.json {
		output := c.evalJSON(len(tools.Tools), names, reports, comparison)
		output.Short, output.Misses = verdict.Short, verdict.Misses
		for i := range names {
			output.Searchers[i].Misses = misplaced[i]
		}
		return code, c.printJSON(output)
	}
	fmt.Fprintf(c.out, "tools: %d, queries: %d\n\n", len(tools.Tools), len(queries))
	if err := c.printEval(names, reports, comparison); err != nil {
		return failed, err
	}
	for i, name := range names {
		if err := c.printMisses("other tools came first, with "+labelOf(name), misplaced[i], 0); err != nil {
			return failed, err
		}
	}
	if err := c.printShort(verdict.Short); err != nil {
		return failed, err
	}
	missed := slices.DeleteFunc(slices.Clone(verdict.Misses), func(m eval.Miss) bool { // those were printed above
		return slices.ContainsFunc(misplaced[0], func(printed eval.Miss) bool { return printed.ID == m.ID })
	})
	const shown = 20
	return code, c.printMisses("misses", missed, shown)
}

func (c *command) evalJSON(tools int, names []string, reports []*eval.Report, comparison *eval.Comparison) evalOutput {
	output := evalOutput{Tools: tools, Queries: len(reports[0].Queries)}
	for i, report := range reports {
		s := searcherOutput{Name: names[i], Emulated: isEmulated(names[i]), Metrics: byMetric(report)}
		if kinds := report.Kinds(); len(kinds) > 1 {
			s.Kinds = make(map[string]map[string]eval.Estimate)
			for _, kind := range kinds {
				s.Kinds[kind] = byMetric(report.OfKind(kind))
			}
		}
		if c.verbose {
			for _, q := range report.Queries {
				s.Queries = append(s.Queries, queryOutput{q.Query.ID, q.Ranks})
			}
		}
		output.Searchers = append(output.Searchers, s)
	}
	if comparison != nil {
		output.Difference = make(map[string]eval.Difference)
		for m, metric := range comparison.Metrics {
			output.Difference[metric] = comparison.Changes[m]
		}
	}
	return output
}

func byMetric(report *eval.Report) map[string]eval.Estimate {
	means := make(map[string]eval.Estimate)
	for m, metric := range report.Metrics {
		means[metric] = report.Means[m]
	}
	return means
}

func (c *command) printEval(names []string, reports []*eval.Report, comparison *eval.Comparison) error {
	var labels []string
	for _, name := range names {
		labels = append(labels, labelOf(name))
	}
	means := meansTable(labels, reports, comparison, c.resamples > 0)
	narrow := c.resamples > 0 && !c.fits(means)
	if narrow {
		means = meansTable(labels, reports, comparison, false)
	}
	if err := c.print(means); err != nil {
		return err
	}
	if narrow {
		fmt.Fprintln(c.out, c.paint(dim, "The terminal is too narrow for the intervals."))
	}
	if kinds := reports[0].Kinds(); len(kinds) > 1 {
		if err := c.printKinds(labels, reports, kinds); err != nil {
			return err
		}
	}
	if c.verbose {
		return c.printQueries(labels, reports)
	}
	return nil
}

// meansTable is the table of all metrics, with or without their intervals.
func meansTable(names []string, reports []*eval.Report, comparison *eval.Comparison, intervals bool) *table {
	estimate := func(e eval.Estimate, format string) string {
		text := fmt.Sprintf(format, 100*e.Value)
		if intervals {
			text += fmt.Sprintf(" ("+format+" to "+format+")", 100*e.Low, 100*e.High)
		}
		return text
	}
	t := &table{}
	header := append([]string{"metric"}, names...)
	if comparison != nil {
		header = append(header, "difference", "wins", "ties", "losses")
	}
	t.row(header...)
	for m, metric := range reports[0].Metrics {
		cells := []string{metric}
		for _, report := range reports {
			cells = append(cells, estimate(report.Means[m], "%.1f"))
		}
		if comparison != nil {
			d := comparison.Changes[m]
			difference := estimate(d.Mean, "%+.1f")
			if intervals && d.Certain() {
				difference += " *"
			}
			cells = append(cells, difference, fmt.Sprint(d.Wins), fmt.Sprint(d.Ties), fmt.Sprint(d.Losses))
		}
		t.row(cells...)
	}
	return t
}

// printKinds prints the metrics of each kind of query, side by side if the terminal is wide enough.
func (c *command) printKinds(names []string, reports []*eval.Report, kinds []string) error {
	t := kindsTable(names, reports, kinds)
	fmt.Fprintln(c.out)
	if c.fits(t) {
		return c.print(t)
	}
	for i := range names {
		if err := c.print(kindsTable(names[i:i+1], reports[i:i+1], kinds)); err != nil {
			return err
		}
	}
	return nil
}

func kindsTable(names []string, reports []*eval.Report, kinds []string) *table {
	t := &table{}
	header := []string{"kind", "queries"}
	for _, name := range names {
		for _, metric := range []string{"R@1", "R@5", "MRR"} {
			header = append(header, name+" "+metric)
		}
	}
	t.row(header...)
	for _, kind := range kinds {
		cells := []string{oneLine(kind, 40), fmt.Sprint(len(reports[0].OfKind(kind).Queries))}
		for _, report := range reports {
			part := report.OfKind(kind)
			for _, metric := range []string{"R@1", "R@5", "MRR"} {
				mean, _ := part.Mean(metric)
				cells = append(cells, fmt.Sprintf("%.1f", 100*mean.Value))
			}
		}
		t.row(cells...)
	}
	return t
}

func (c *command) printQueries(names []string, reports []*eval.Report) error {
	var t table
	t.row(append(append([]string{"id"}, names...), "query")...)
	for i, q := range reports[0].Queries {
		cells := []string{oneLine(q.Query.ID, 40)}
		for _, report := range reports {
			cells = append(cells, rankText(report.Queries[i].Ranks))
		}
		t.row(append(cells, oneLine(q.Query.Text, 80))...)
	}
	fmt.Fprintln(c.out)
	return c.print(&t)
}

// rankText writes ranks, with "-" for a group that was not found.
func rankText(ranks []int) string {
	texts := make([]string, len(ranks))
	for i, rank := range ranks {
		texts[i] = fmt.Sprint(rank)
		if rank == 0 {
			texts[i] = "-"
		}
	}
	return strings.Join(texts, " ")
}

func texts(queries []eval.Query) []string {
	list := make([]string, len(queries))
	for i, q := range queries {
		list[i] = q.Text
	}
	return list
}
