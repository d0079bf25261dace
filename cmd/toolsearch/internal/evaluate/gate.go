package evaluate

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/internal/goals"
)

// What an evaluation must reach, for a catalog's own tests: -min for a metric, -baseline for what
// it reached before, and max_rank for a query. Package goals judges. This file reads the flags,
// and prints what falls short with the queries to blame, what came first instead, and why.

// goals reads -min, -baseline and -tolerance.
func (c *command) goals(ctx context.Context, searcher string) goals.Goals {
	want := goals.Goals{Min: make(map[string]float64), Tolerance: c.tolerance}
	if c.tolerance < 0 || c.tolerance >= 1 || math.IsNaN(c.tolerance) {
		cli.Check(cli.WrongUsage("eval: -tolerance %v: want a share from 0 to 1", c.tolerance))
	}
	for _, one := range c.minima {
		metric, share, _ := strings.Cut(one, "=")
		value, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
		if err != nil || !(value >= 0 && value <= 1) {
			cli.Check(cli.WrongUsage("eval: -min %s: want METRIC=SHARE with a share from 0 to 1, such as R@5=0.9", one))
		}
		want.Min[strings.TrimSpace(metric)] = value
	}
	if c.baseline != "" {
		file, data, err := c.ReadFile(ctx, c.baseline)
		cli.Check(err)
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
