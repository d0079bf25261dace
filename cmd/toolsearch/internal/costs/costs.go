// Package costs is the command cost: what conversations over a catalog cost in each way to show
// tools.
package costs

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/catalog"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
)

// Help is the help text of the command cost.
var Help = catalog.HelpOf("cost [flags] CATALOG", `
Prints what conversations over the catalog cost, the provider's prompt cache included:
with every tool shown, and with each protocol that hides them. It recommends a
protocol, and says from how many tools it pays.

A provider bills the part of a prompt that it has just read at a fraction, and a prompt
is the tools, then the messages. A tool list that grows ends that part, so that every
load bills the whole history again. The conversations are played by a real agent with a
model that follows a plan. "Cold" means that nothing is cached before the run, "warm"
that the previous turn is. Tokens are estimated.
`, "", `	-provider NAME   whose prices and cache (anthropic): {providers}
	-prices FILE     a table of your own, in the form of internal/cost/prices.json
	-shape H,C,L     a conversation of H tokens of history, C calls of the model
	                 without searches, and L tools; any number of them
	-made N,TOKENS   N tools of TOKENS tokens each, instead of CATALOG
	-log FILE        the runs of a recorded conversation, instead of -shape: JSON lines of
	                 this library's events and of your model's usage; what was billed is
	                 shown beside what is computed
	-svg FILE        write a picture
	-json            print JSON
`+catalog.FlagsHelp, `
	toolsearch cost tools.jsonl
	toolsearch cost -provider openai -shape 20000,10,3 tools.jsonl
	toolsearch cost -made 200,120 -svg cost.svg
	toolsearch cost -log conversation.jsonl tools.jsonl
	toolsearch cost -prices mine.json -provider mine -- npx -y some-server
`, "0 the costs were printed, 2 a mistake")

// numbers reads whole numbers, divided by commas.
func numbers(text string, names ...string) (list []int, err error) {
	for _, part := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("want %s, whole numbers", strings.Join(names, ","))
		}
		list = append(list, n)
	}
	if len(list) != len(names) {
		return nil, fmt.Errorf("want %s", strings.Join(names, ","))
	}
	return list, nil
}

// ReadShape reads a value of -shape.
func ReadShape(text string) (s cost.Shape, err error) {
	n, err := numbers(text, "HISTORY", "CALLS", "LOADS")
	if err != nil {
		return s, err
	}
	s = cost.Shape{History: n[0], Calls: n[1], Loads: n[2]}
	if s.History > 1_000_000 || s.Calls < 2 || s.Calls > 200 || s.Loads < 1 || s.Loads >= s.Calls {
		return s, errors.New("want at most 1000000 tokens of history, 2 to 200 calls, and 1 load or more but fewer than calls")
	}
	return s, nil
}

// Cost compares what conversations over a catalog cost.
func Cost(ctx context.Context, call *cli.Call, args []string) int {
	c, flags := catalog.NewReader(call)
	asJSON := flags.Bool("json", false, "")
	name := flags.String("provider", "anthropic", "")
	prices := flags.String("prices", "", "")
	made := flags.String("made", "", "")
	svg := flags.String("svg", "", "")
	log := flags.String("log", "", "")
	var shapes []cost.Shape
	flags.Func("shape", "", func(text string) error {
		s, err := ReadShape(text)
		shapes = append(shapes, s)
		return err
	})
	c.Parse(flags, args, -1, 0, "CATALOG")
	provider := Provider(ctx, call, *prices, *name, "")
	var runs []cost.Run
	if *log != "" {
		if len(shapes) > 0 || *made != "" {
			c.WrongUsage("-log has the conversation already; leave out -shape and -made")
		}
		runs = readFile(ctx, call, *log, cost.ReadLog)
	}
	tools := readTools(ctx, c, *made)
	if len(shapes) == 0 {
		shapes = cost.Shapes
	}
	report := cli.Await(ctx, c.Call, "playing conversations over "+cli.Plural(len(tools), "tool"), func() (*cost.Report, error) {
		if len(runs) > 0 {
			return cost.CompareLog(ctx, tools, provider, runs)
		}
		return cost.Compare(ctx, tools, provider, shapes)
	})
	if *svg != "" {
		draw(report, *svg)
	}
	if *asJSON {
		c.PrintJSON(JSON(report))
	} else {
		printReport(call, report)
	}
	return cli.Found
}

// readFile reads a file of prices, or a log.
func readFile[T any](ctx context.Context, c *cli.Call, path string, read func(io.Reader) (T, error)) T {
	file, data := c.ReadFile(ctx, path)
	found, err := read(bytes.NewReader(data))
	if err != nil {
		cli.Check(fmt.Errorf("%s: %s", file, strings.TrimPrefix(strings.TrimPrefix(err.Error(), "cost: "), "the log: ")))
	}
	return found
}

// Names returns the names of providers.
func Names(list []cost.Provider) []string {
	return cli.Each(list, func(p cost.Provider) string { return p.Name })
}

// Provider returns a provider of a file of prices, or of the built-in table: the one of that name, or without a name
// the one whose model it is; nil means that no price of the model is known.
func Provider(ctx context.Context, c *cli.Call, prices, name, model string) *cost.Provider {
	list := cost.Providers()
	if prices != "" {
		list = readFile(ctx, c, prices, cost.ReadProviders)
	}
	isModel := func(p cost.Provider) bool { return p.Model == model }
	if at := slices.IndexFunc(list, isModel); name == "" && at >= 0 {
		return &list[at]
	} else if name == "" && model != "" {
		return nil
	}
	provider, ok := cost.Named(list, name)
	if !ok {
		c.WrongUsage("no provider %q; %s", cli.OneLine(name, 64), cli.Near(name, Names(list)))
	}
	return provider
}

// readTools reads the catalog, or makes the catalog of -made.
func readTools(ctx context.Context, c *catalog.Reader, made string) []*schema.ToolInfo {
	if made == "" && !c.Has() {
		c.WrongUsage("want CATALOG")
	}
	if made == "" {
		return c.Catalog(ctx).Tools
	}
	n, err := numbers(made, "TOOLS", "TOKENS")
	switch {
	case err != nil:
		c.WrongUsage("-made: %v", err)
	case c.Has():
		c.WrongUsage("want either CATALOG or -made")
	case n[0] < 1 || n[0] > 5_000 || n[1] > 10_000:
		c.WrongUsage("-made: want 1 to 5000 tools of at most 10000 tokens")
	}
	return cost.Tools(n[0], n[1])
}

// A costRun is a conversation, played with one state of the cache.
type costRun struct {
	Conversation string    `json:"conversation"`
	History      int       `json:"history"`
	Calls        int       `json:"calls"`
	Loads        int       `json:"loads"`
	Cache        string    `json:"cache"` // cold, warm or none
	Take         []string  `json:"take"`  // the first that the model and its adapter can: cost.Row.Take
	Ways         []costWay `json:"ways"`
}

// costWay is what a conversation costs in one way. Tokens are those of all its requests.
type costWay struct {
	Way      string  `json:"way"`
	Dollars  float64 `json:"dollars"`
	Percent  float64 `json:"percent"` // more than showing all
	Requests int     `json:"requests"`
	Searches int     `json:"searches"`
	Changes  int     `json:"changes"`
	Cached   int     `json:"cached"`
	Written  int     `json:"written"`
	Plain    int     `json:"plain"`
	Output   int     `json:"output"`
}

// costRuns puts the outcomes of a report in the order of the table.
func costRuns(r *cost.Report) (runs []costRun) {
	for _, row := range r.Rows {
		run := costRun{
			Conversation: row.Shape.String(), History: row.Shape.History, Calls: row.Shape.Calls, Loads: row.Shape.Loads,
			Cache: row.Cache, Take: cli.Each(row.Take(), cost.Way.String),
		}
		for _, o := range row.Outcomes {
			way := costWay{
				Way: o.Way.String(), Dollars: o.Price, Requests: o.Calls, Searches: o.Searches, Changes: o.Changes,
				Cached: o.Usage.Cached, Written: o.Usage.Written, Plain: o.Usage.Plain, Output: o.Usage.Output,
			}
			if len(run.Ways) > 0 && run.Ways[0].Dollars > 0 { // not for a free provider
				way.Percent = 100 * (o.Price/run.Ways[0].Dollars - 1)
			}
			run.Ways = append(run.Ways, way)
		}
		runs = append(runs, run)
	}
	return runs
}

// A costCheck compares what was billed for all runs of a log with what is computed for them.
type costCheck struct {
	Measure  string  `json:"measure"`
	Billed   float64 `json:"billed"`
	Computed float64 `json:"computed"`
	Percent  float64 `json:"percent"` // computed more than billed
}

// costChecks sums up the checks of a report. It returns nil for a report without a log.
func costChecks(r *cost.Report) (checks []costCheck) {
	if len(r.Checks) == 0 {
		return nil
	}
	b := cost.Sum(cli.Each(r.Checks, func(check cost.Check) cost.Usage { return check.Billed }))
	c := cost.Sum(cli.Each(r.Checks, func(check cost.Check) cost.Usage { return check.Computed }))
	add := func(measure string, billed, computed float64) {
		check := costCheck{Measure: measure, Billed: billed, Computed: computed}
		if billed > 0 {
			check.Percent = 100 * (computed - billed) / billed
		}
		checks = append(checks, check)
	}
	add("input", float64(b.Input()), float64(c.Input()))
	add("cached", float64(b.Cached), float64(c.Cached))
	add("dollars", r.Provider.Price(b), r.Provider.Price(c))
	return checks
}

// JSON returns a report in the form that cost -json prints.
func JSON(r *cost.Report) any {
	return struct {
		Tools    int           `json:"tools"`
		Tokens   int           `json:"tokens"`
		Provider cost.Provider `json:"provider"`
		Runs     []costRun     `json:"runs"`
		Best     []string      `json:"best"`
		Advice   string        `json:"advice"`
		Log      []costCheck   `json:"log,omitempty"`
	}{r.Tools, r.Tokens, r.Provider, costRuns(r), cli.Each(r.Take(), cost.Way.String), r.Advice(), costChecks(r)}
}

func printReport(c *cli.Call, r *cost.Report) {
	p := &r.Provider
	fmt.Fprintf(c.Out, "tools: %d, about %s of definitions\n", r.Tools, cli.Plural(r.Tokens, "token"))
	fmt.Fprintf(c.Out, "provider: %s, %s, prices of %s\n\n", cli.OneLine(p.Name, 64), cli.OneLine(p.Model, 64), p.Date)
	var t cli.Table
	t.Row(slices.Concat([]string{"history, calls, loads", "cache"}, cli.Each(r.Ways, cost.Way.String), []string{"take"})...)
	for _, run := range costRuns(r) {
		cells := []string{run.Conversation, run.Cache, fmt.Sprintf("%.4f", run.Ways[0].Dollars)}
		for _, w := range run.Ways[1:] {
			cells = append(cells, fmt.Sprintf("%+.0f%%", w.Percent))
		}
		t.Row(append(cells, strings.Join(run.Take, ", else "))...)
	}
	c.Print(&t)
	fmt.Fprint(c.Out, "\nall: US dollars for the conversation if every tool is shown; others: how much more or less.\n"+
		"take: the simplest way that costs at most 5% more than the cheapest; else: if the model or its adapter cannot.\n")
	if p.Assumed != "" {
		fmt.Fprintln(c.Out, cli.OneLine(p.Assumed, 400))
	}
	printChecks(c, r)
	fmt.Fprintf(c.Out, "\n%s\n", cli.OneLine(r.Advice(), 4000))
}

// printChecks prints what was billed beside what is computed.
func printChecks(c *cli.Call, r *cost.Report) {
	if len(r.Checks) == 0 {
		return
	}
	var ways []string
	for _, check := range r.Checks {
		if way := check.Way.String(); !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	fmt.Fprintf(c.Out, "\nThe log: %s with %s, as billed and as computed:\n\n", cli.Plural(len(r.Checks), "run"), strings.Join(ways, ", "))
	var t cli.Table
	t.Row("", "billed", "computed", "")
	for _, check := range costChecks(r) {
		format, difference := "%.0f", ""
		if check.Measure == "dollars" {
			format = "%.4f"
		}
		if check.Billed > 0 {
			difference = fmt.Sprintf("%+.0f%%", check.Percent)
		}
		t.Row(check.Measure, fmt.Sprintf(format, check.Billed), fmt.Sprintf(format, check.Computed), difference)
	}
	c.Print(&t)
}

//go:embed cost.svg.tmpl
var costTemplate string

// draw draws a report as SVG.
func draw(r *cost.Report, path string) {
	const top, titleHeight, barHeight, gap, fullWidth = 40, 24, 18, 16, 360
	runs, panel := costRuns(r), titleHeight+len(r.Ways)*barHeight+gap
	title := fmt.Sprintf("%d tools with %s, prices of %s", r.Tools, cli.OneLine(r.Provider.Model, 64), r.Provider.Date)
	cli.Draw(path, costTemplate, template.FuncMap{
		"title": func(run int) int { return top + run*panel + 14 },
		"bar":   func(run, bar, more int) int { return top + run*panel + titleHeight + bar*barHeight + more },
		"width": func(run costRun, w costWay) string {
			most := 1e-12
			for _, other := range run.Ways {
				most = max(most, other.Dollars)
			}
			return fmt.Sprintf("%.1f", fullWidth*w.Dollars/most)
		},
	}, map[string]any{"Title": title, "Height": top + len(runs)*panel, "Runs": runs})
}
