// Package evaluate is the command eval, with its output for machines and for people. Package goals judges what
// an evaluation must reach: -min for a metric, -baseline for what it reached before, and max_rank for a query.
package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/catalog"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/searchers"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/testtools/goals"
)

// Help is the help text of the command eval.
var Help = catalog.HelpOf("eval [flags] CATALOG QUERIES", `
Prints recall at k, the share of queries complete at k, MRR and nDCG@10, in percent
with 95 % bootstrap intervals. For two searchers it also prints the difference, second
minus first, with a "*" where the interval excludes zero.
`, `
QUERIES is a file of JSONL, one {"id", "query", "gold", "accept", "kind",
"max_rank"} a line. max_rank is the rank that the query's tools must reach.
`, `	-searcher NAME   the searcher (keyword); NAME,NAME compares two
`+searchers.EmbedFlagsHelp+searchers.LexiconFlagHelp+`	-n N             hits per query, at least 10 (50)
	-resamples N     bootstrap samples behind an interval, 0 for no intervals (2000)
	-v               also print the ranks of every query's tools, and which tools came
	                 first instead and why
	-min M=SHARE     the least value of a metric, such as R@5=0.9; any number of them
	-baseline FILE   what eval -json printed before; no metric may be lower
	-tolerance T     how much lower than the baseline is still accepted (0)
	-json            print JSON
`+catalog.FlagsHelp, `
	toolsearch eval tools.jsonl queries.jsonl
	toolsearch eval -searcher keyword,bm25 tools.jsonl queries.jsonl
	toolsearch eval -v -resamples 0 tools.jsonl queries.jsonl
	toolsearch eval -searcher bm25 -min R@5=0.9,MRR=0.7 tools.jsonl queries.jsonl
	toolsearch eval -baseline before.json -tolerance 0.02 tools.jsonl queries.jsonl

What falls short of -min, -baseline or a query's max_rank is printed with the queries
to blame, and with the tool that came first instead. A comparison of two searchers
never falls short.
`, "0 the evaluation was made, 1 it fell short, 2 a mistake")

// A command is an eval with its flags.
type command struct {
	*searchers.Choice
	n         int
	resamples int
	minima    []string // of -min
	baseline  string
	tolerance float64
	verbose   bool
}

type evalOutput struct {
	Tools     int               `json:"tools"`
	Queries   int               `json:"queries"`
	Searchers []searcherOutput  `json:"searchers"`
	Short     []goals.Shortfall `json:"short,omitempty"`  // metrics below what was asked for
	Misses    []goals.Miss      `json:"misses,omitempty"` // the queries to blame
	// Difference is the second searcher minus the first, by metric.
	Difference map[string]difference `json:"difference,omitempty"`
	Hints      *hintsOutput          `json:"hints,omitempty"`
}

// A hintsOutput says for which servers the questions of -hints pay.
type hintsOutput struct {
	Pay  []string `json:"pay"`  // their tools are surely found earlier: the MRR of their queries rises
	Lose []string `json:"lose"` // their tools are surely found later
}

// A difference is what the second searcher adds to a metric.
type difference struct {
	Mean   eval.Estimate `json:"mean"`
	Wins   int           `json:"wins"` // queries on which the second is better
	Ties   int           `json:"ties"`
	Losses int           `json:"losses"`
}

type searcherOutput struct {
	Name     string                              `json:"name"`
	Emulated bool                                `json:"emulated,omitempty"` // it emulates somebody else's searcher
	Metrics  map[string]eval.Estimate            `json:"metrics"`
	Kinds    map[string]map[string]eval.Estimate `json:"kinds,omitempty"`
	Queries  []queryOutput                       `json:"queries,omitempty"` // with -v
	Misses   []goals.Miss                        `json:"misses,omitempty"`  // with -v: where other tools came first
}

type queryOutput struct {
	ID    string `json:"id"`
	Ranks []int  `json:"ranks"` // rank of each group of wanted tools; 0 means not found
}

// Eval runs the command.
func Eval(ctx context.Context, call *cli.Call, args []string) int {
	choice, flags := searchers.NewChoice(call, searchers.Menu[0].Name)
	c := &command{Choice: choice}
	defer c.Close()
	flags.IntVar(&c.n, "n", 50, "")
	flags.IntVar(&c.resamples, "resamples", 2000, "")
	flags.BoolVar(&c.verbose, "v", false, "")
	flags.StringVar(&c.baseline, "baseline", "", "")
	flags.Float64Var(&c.tolerance, "tolerance", 0, "")
	flags.Func("min", "", func(text string) error {
		c.minima = append(c.minima, strings.Split(text, ",")...)
		return nil
	})
	rest := c.Parse(flags, args, 1, 1, "CATALOG QUERIES")
	names := strings.Split(c.Searcher, ",")
	switch {
	case c.Operand == "-" && rest[0] == "-":
		c.WrongUsage("only one file can be standard input")
	case c.n < 10:
		c.WrongUsage("-n %d: want at least 10, since nDCG@10 needs 10 hits", c.n)
	case c.resamples < 0:
		c.WrongUsage("-resamples %d: want 0 or more", c.resamples)
	case len(names) > 2:
		c.WrongUsage("-searcher %s: want one or two searchers", c.Searcher)
	case len(names) > 1 && (len(c.minima) > 0 || c.baseline != "" || c.Hints != ""):
		c.WrongUsage("-min, -baseline and -hints want one searcher, not %s", c.Searcher)
	}
	want, indexes := c.goals(ctx, names[0]), c.Indexers(ctx, names...)
	tools, queries := c.Catalog(ctx), c.Queries(ctx, rest[0])
	if c.Hints != "" {
		names, indexes = append(names, names[0]+" with hints"), append(indexes, c.Hinted(ctx, indexes[0]))
		byServer(tools, queries)
	}
	options := eval.Options{Depth: c.n, Resamples: cmp.Or(c.resamples, -1)}
	output := evalOutput{Tools: len(tools.Tools), Queries: len(queries)}
	var reports []*eval.Report
	for i, name := range names {
		options.Index = indexes[i]
		options.Progress = func(done, total int) { c.Step("searching with "+name, done, total) }
		step := fmt.Sprintf("indexing %s for %s", cli.Plural(len(tools.Tools), "tool"), name)
		report := cli.Await(ctx, c.Call, step, func() (*eval.Report, error) { return eval.Run(ctx, tools, queries, options) })
		s := searcherOutput{Name: name, Emulated: searchers.IsEmulated(name), Metrics: goals.Means(report)}
		if kinds := report.Kinds(); len(kinds) > 1 {
			s.Kinds = make(map[string]map[string]eval.Estimate)
			for _, kind := range kinds {
				s.Kinds[kind] = goals.Means(report.OfKind(kind))
			}
		}
		if c.verbose {
			for _, q := range report.Queries {
				s.Queries = append(s.Queries, queryOutput{q.ID, q.Ranks})
			}
			s.Misses = cli.Must(goals.Misses(ctx, report, tools, indexes[i]))
		}
		reports, output.Searchers = append(reports, report), append(output.Searchers, s)
	}
	if len(reports) == 2 {
		output.Difference = compare(reports[0], reports[1])
		if c.Hints != "" {
			output.Hints = hintsOf(reports[0], reports[1])
		}
	} else { // a comparison of two searchers has no goals
		var err error
		output.Short, output.Misses, err = want.Check(ctx, reports[0], tools, indexes[0])
		cli.Check(err)
	}
	code := cli.FoundIf(len(output.Short)+len(output.Misses) == 0)
	if c.JSON {
		c.PrintJSON(output)
		return code
	}
	fmt.Fprintf(c.Out, "tools: %d, queries: %d\n\n", output.Tools, output.Queries)
	c.printEval(names, reports, output.Difference)
	for _, s := range output.Searchers {
		c.printMisses("other tools came first, with "+searchers.Label(s.Name), s.Misses, 0)
	}
	if output.Hints != nil {
		fmt.Fprintf(c.Out, "\nServers for which hints pay: %s.\n", cmp.Or(strings.Join(output.Hints.Pay, ", "), "none for sure"))
		if len(output.Hints.Lose) > 0 {
			fmt.Fprintf(c.Out, "Servers that lose, and are better left out by \"skip\": %s.\n", strings.Join(output.Hints.Lose, ", "))
		}
	}
	c.printShort(output.Short)
	missed := slices.DeleteFunc(output.Misses, func(m goals.Miss) bool { // those were printed above
		return slices.ContainsFunc(output.Searchers[0].Misses, func(printed goals.Miss) bool { return printed.ID == m.ID })
	})
	const shown = 20
	c.printMisses("misses", missed, shown)
	return code
}

func compare(a, b *eval.Report) map[string]difference {
	report, differences := cli.Must(eval.Compare(a, b)), make(map[string]difference)
	for m, metric := range report.Metrics {
		d := difference{Mean: report.Means[m]}
		for _, q := range report.Queries {
			switch {
			case q.Values[m] > 0:
				d.Wins++
			case q.Values[m] < 0:
				d.Losses++
			default:
				d.Ties++
			}
		}
		differences[metric] = d
	}
	return differences
}

// byServer makes the server whose tool a query asks for the kind of the query.
func byServer(tools *eval.Catalog, queries []eval.Query) {
	servers := make(map[string]string)
	for _, info := range tools.Tools {
		servers[info.Name] = tools.Annotate(info).Namespace
	}
	for i, q := range queries {
		queries[i].Kind = cmp.Or(servers[q.Groups[0][0]], "no server")
	}
}

// hintsOf compares reports without and with hints, whose kinds are servers.
func hintsOf(without, with *eval.Report) *hintsOutput {
	const leastQueries = 8 // of a server: fewer say nothing for sure
	out := &hintsOutput{Pay: []string{}, Lose: []string{}}
	for _, server := range without.Kinds() {
		difference := cli.Must(eval.Compare(without.OfKind(server), with.OfKind(server)))
		switch change, _ := difference.Mean("MRR"); {
		case len(difference.Queries) < leastQueries:
		case change.Low > 0:
			out.Pay = append(out.Pay, server)
		case change.High < 0:
			out.Lose = append(out.Lose, server)
		}
	}
	return out
}

func (c *command) printEval(names []string, reports []*eval.Report, differences map[string]difference) {
	labels := cli.Each(names, searchers.Label)
	means := meansTable(labels, reports, differences, c.resamples > 0)
	if c.resamples == 0 || c.Fits(means) {
		c.Print(means)
	} else {
		c.Print(meansTable(labels, reports, differences, false))
		fmt.Fprintln(c.Out, c.Paint(cli.Dim, "The terminal is too narrow for the intervals."))
	}
	if kinds := reports[0].Kinds(); len(kinds) > 1 {
		fmt.Fprintln(c.Out)
		t := kindsTable(labels, reports, kinds)
		if c.Fits(t) {
			c.Print(t)
		} else { // one searcher below the other
			for i := range labels {
				c.Print(kindsTable(labels[i:i+1], reports[i:i+1], kinds))
			}
		}
	}
	if c.verbose || c.Hints != "" {
		c.printQueries(labels, reports)
	}
}

// meansTable is the table of all metrics, with or without their intervals.
func meansTable(names []string, reports []*eval.Report, differences map[string]difference, intervals bool) *cli.Table {
	estimate := func(e eval.Estimate, format string) string {
		text := fmt.Sprintf(format, 100*e.Value)
		if intervals {
			text += fmt.Sprintf(" ("+format+" to "+format+")", 100*e.Low, 100*e.High)
		}
		return text
	}
	t := &cli.Table{}
	header := append([]string{"metric"}, names...)
	if differences != nil {
		header = append(header, "difference", "wins", "ties", "losses")
	}
	t.Row(header...)
	for m, metric := range reports[0].Metrics {
		cells := []string{metric}
		for _, report := range reports {
			cells = append(cells, estimate(report.Means[m], "%.1f"))
		}
		if d, ok := differences[metric]; ok {
			change := estimate(d.Mean, "%+.1f")
			if intervals && (d.Mean.Low > 0 || d.Mean.High < 0) {
				change += " *"
			}
			cells = append(cells, change, fmt.Sprint(d.Wins), fmt.Sprint(d.Ties), fmt.Sprint(d.Losses))
		}
		t.Row(cells...)
	}
	return t
}

func kindsTable(names []string, reports []*eval.Report, kinds []string) *cli.Table {
	t, header, metrics := &cli.Table{}, []string{"kind", "queries"}, []string{"R@1", "R@5", "MRR"}
	for _, name := range names {
		for _, metric := range metrics {
			header = append(header, name+" "+metric)
		}
	}
	t.Row(header...)
	for _, kind := range kinds {
		cells := []string{cli.OneLine(kind, 40), fmt.Sprint(len(reports[0].OfKind(kind).Queries))}
		for _, report := range reports {
			part := report.OfKind(kind)
			for _, metric := range metrics {
				mean, _ := part.Mean(metric)
				cells = append(cells, fmt.Sprintf("%.1f", 100*mean.Value))
			}
		}
		t.Row(cells...)
	}
	return t
}

// printQueries prints the ranks of every query's tools; without -v, those of the queries that lose by hints.
func (c *command) printQueries(names []string, reports []*eval.Report) {
	t, first := &cli.Table{}, "id"
	if !c.verbose {
		first = "found later"
	}
	t.Row(append(append([]string{first}, names...), "query")...)
	mrr, rows := slices.Index(reports[0].Metrics, "MRR"), 0
	for i, q := range reports[0].Queries {
		if !c.verbose && reports[1].Queries[i].Values[mrr] >= q.Values[mrr] {
			continue
		}
		cells := []string{cli.OneLine(q.ID, 40)}
		for _, report := range reports {
			cells = append(cells, cli.Ranks(report.Queries[i].Ranks...))
		}
		t.Row(append(cells, cli.OneLine(q.Text, 80))...)
		rows++
	}
	if rows > 0 {
		fmt.Fprintln(c.Out)
		c.Print(t)
	}
}

// goals reads -min, -baseline and -tolerance.
func (c *command) goals(ctx context.Context, searcher string) goals.Goals {
	want := goals.Goals{Min: make(map[string]float64), Tolerance: c.tolerance}
	if c.tolerance < 0 || c.tolerance >= 1 || math.IsNaN(c.tolerance) {
		c.WrongUsage("-tolerance %v: want a share from 0 to 1", c.tolerance)
	}
	for _, one := range c.minima {
		metric, share, _ := strings.Cut(one, "=")
		value, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
		if err != nil || !(value >= 0 && value <= 1) {
			c.WrongUsage("-min %s: want METRIC=SHARE with a share from 0 to 1, such as R@5=0.9", one)
		}
		want.Min[strings.TrimSpace(metric)] = value
	}
	if c.baseline != "" {
		file, data := c.ReadFile(ctx, c.baseline)
		want.Baseline = cli.Must(goals.ReadBaseline(data, file, searcher))
	}
	return want
}

// printShort prints the metrics that fell short.
func (c *command) printShort(short []goals.Shortfall) {
	if len(short) == 0 {
		return
	}
	fmt.Fprintf(c.Out, "\n%s\n", c.Paint(cli.Bad, "fell short"))
	var t cli.Table
	t.Row("metric", "is", "want", "")
	for _, s := range short {
		t.Row(s.Metric, fmt.Sprintf("%.1f", 100*s.Value), fmt.Sprintf("%.1f", 100*s.Want), "by -"+s.From)
	}
	c.Print(&t)
}

// printMisses prints the first misses, or all if most is 0: where the wanted tools are, and what
// came first instead.
func (c *command) printMisses(heading string, misses []goals.Miss, most int) {
	if len(misses) == 0 {
		return
	}
	fmt.Fprintf(c.Out, "\n%s\n", c.Paint(cli.Bad, fmt.Sprintf("%s: %d", heading, len(misses))))
	for i, m := range misses {
		if most > 0 && i == most {
			fmt.Fprintln(c.Out, c.Paint(cli.Dim, fmt.Sprintf("and %d more; -v shows all", len(misses)-most)))
			break
		}
		limit := ""
		if m.OverMaxRank() {
			limit = fmt.Sprintf(" (max_rank %d)", m.MaxRank)
		}
		fmt.Fprintf(c.Out, "%s  %s%s\n", cli.OneLine(m.ID, 40), cli.OneLine(m.Query, 80), limit)
		t := cli.Table{Styles: map[int]cli.Style{2: cli.Named, 3: cli.Dim}, Headerless: true}
		for _, w := range m.Wanted {
			t.Row("  wanted", cli.Ranks(w.Rank), cli.OneLine(strings.Join(w.Tools, " or "), 64), w.Score)
		}
		if m.First != nil {
			t.Row("  instead", fmt.Sprint(m.First.Rank), cli.OneLine(strings.Join(m.First.Tools, " or "), 64), m.First.Score)
		}
		c.Print(&t)
	}
}
