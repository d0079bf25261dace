// Package costs is the command cost: what conversations over a catalog cost in each way to show
// tools.
package costs

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
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
const Help = `toolsearch cost [flags] CATALOG

Prints what conversations over the catalog cost, the provider's prompt cache included:
with every tool shown, and with each protocol that hides them. It recommends a
protocol, and says from how many tools it pays.

A provider bills the part of a prompt that it has just read at a fraction, and a prompt
is the tools, then the messages. A tool list that grows ends that part, so that every
load bills the whole history again. The conversations are played by a real agent with a
model that follows a plan. "Cold" means that nothing is cached before the run, "warm"
that the previous turn is. Tokens are estimated.

` + catalog.Help + `
Flags:

	-provider NAME   whose prices and cache (anthropic): {providers}
	-prices FILE     a table of your own, in the form of internal/cost/prices.json
	-shape H,C,L     a conversation of H tokens of history, C calls of the model
	                 without searches, and L tools; any number of them
	-made N,TOKENS   N tools of TOKENS tokens each, instead of CATALOG
	-log FILE        the runs of a recorded conversation, instead of -shape: JSON lines of
	                 this library's events and of your model's usage; what was billed is
	                 shown beside what is computed
	-svg FILE        write a picture
	-json            print JSON
` + catalog.FlagsHelp + `
Examples:

	toolsearch cost tools.jsonl
	toolsearch cost -provider openai -shape 20000,10,3 tools.jsonl
	toolsearch cost -made 200,120 -svg cost.svg
	toolsearch cost -log conversation.jsonl tools.jsonl
	toolsearch cost -prices mine.json -provider mine -- npx -y some-server

Exit status: 0 the costs were printed, 2 a mistake.
`

// A command is a cost with its flags.
type command struct {
	catalog.Reader
	provider string
	prices   string // a file
	made     string // a catalog of numbers
	svg      string // a file
	log      string // a file of a recorded conversation
	shapes   []cost.Shape
	json     bool
}

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

// Cost compares what conversations over a catalog cost.
func Cost(ctx context.Context, call *cli.Call, args []string) (int, error) {
	c := &command{Reader: catalog.Reader{Call: call}}
	flags := c.Flags()
	c.Register(flags)
	flags.BoolVar(&c.json, "json", false, "")
	flags.StringVar(&c.provider, "provider", "anthropic", "")
	flags.StringVar(&c.prices, "prices", "", "")
	flags.StringVar(&c.made, "made", "", "")
	flags.StringVar(&c.svg, "svg", "", "")
	flags.StringVar(&c.log, "log", "", "")
	flags.Func("shape", "", func(text string) error {
		n, err := numbers(text, "HISTORY", "CALLS", "LOADS")
		if err != nil {
			return err
		}
		s := cost.Shape{History: n[0], Calls: n[1], Loads: n[2]}
		if s.History > 1_000_000 || s.Calls < 2 || s.Calls > 200 || s.Loads < 1 || s.Loads >= s.Calls {
			return fmt.Errorf("want at most 1000000 tokens of history, 2 to 200 calls, and 1 load or more but fewer than calls")
		}
		c.shapes = append(c.shapes, s)
		return nil
	})
	operands, err := c.Parse(flags, args)
	if err != nil {
		return cli.Failed, err
	}
	provider, err := c.costProvider(ctx)
	if err != nil {
		return cli.Failed, err
	}
	runs, err := c.costLog(ctx)
	if err != nil {
		return cli.Failed, err
	}
	tools, err := c.costTools(ctx, operands)
	if err != nil {
		return cli.Failed, err
	}
	shapes := c.shapes
	if len(shapes) == 0 {
		shapes = cost.Shapes
	}
	done := c.Waiting("playing conversations over %s", cli.Plural(len(tools), "tool"))
	report, err := cli.Await(ctx, func() (*cost.Report, error) {
		if len(runs) > 0 {
			return cost.CompareLog(ctx, tools, provider, runs)
		}
		return cost.Compare(ctx, tools, provider, shapes)
	})
	done()
	if err != nil {
		return cli.Failed, err
	}
	if c.svg != "" {
		picture, err := drawCost(report)
		if err != nil {
			return cli.Failed, err
		}
		if err := os.WriteFile(c.svg, picture, 0o644); err != nil {
			return cli.Failed, err
		}
	}
	if c.json {
		return cli.Found, c.PrintJSON(JSON(report))
	}
	return cli.Found, c.printCost(report)
}

// costProvider reads the table of prices and returns the provider of -provider.
func (c *command) costProvider(ctx context.Context) (*cost.Provider, error) {
	list := cost.Providers()
	if c.prices != "" {
		file, data, err := c.ReadFile(ctx, c.prices)
		if err != nil {
			return nil, err
		}
		if list, err = cost.ReadProviders(bytes.NewReader(data)); err != nil {
			return nil, fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "cost: "))
		}
	}
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
	}
	provider, ok := cost.Named(list, c.provider)
	if !ok {
		return nil, cli.WrongUsage("cost: no provider %q; %s", cli.OneLine(c.provider, 64), cli.Near(c.provider, names))
	}
	return provider, nil
}

// costLog reads the recorded conversation of -log, if there is any.
func (c *command) costLog(ctx context.Context) ([]cost.Run, error) {
	if c.log == "" {
		return nil, nil
	}
	if len(c.shapes) > 0 || c.made != "" {
		return nil, cli.WrongUsage("cost: -log has the conversation already; leave out -shape and -made")
	}
	file, data, err := c.ReadFile(ctx, c.log)
	if err != nil {
		return nil, err
	}
	runs, err := cost.ReadLog(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "cost: the log: "))
	}
	return runs, nil
}

// costTools reads the catalog, or makes the catalog of -made.
func (c *command) costTools(ctx context.Context, operands []string) ([]*schema.ToolInfo, error) {
	if c.made != "" {
		n, err := numbers(c.made, "TOOLS", "TOKENS")
		switch {
		case err != nil:
			return nil, cli.WrongUsage("cost: -made: %v", err)
		case len(operands) > 0 || len(c.Server) > 0:
			return nil, cli.WrongUsage("cost: want either CATALOG or -made")
		case n[0] < 1 || n[0] > 5_000 || n[1] > 10_000:
			return nil, cli.WrongUsage("cost: -made: want 1 to 5000 tools of at most 10000 tokens")
		}
		return cost.Tools(n[0], n[1]), nil
	}
	from, rest, ok := c.Origin(operands)
	if !ok || len(rest) > 0 {
		return nil, cli.WrongUsage("cost: want CATALOG")
	}
	catalog, err := c.Catalog(ctx, from)
	if err != nil {
		return nil, err
	}
	return catalog.Tools, nil
}

// A costRun is a conversation, played with one state of the cache.
type costRun struct {
	Conversation string    `json:"conversation"`
	History      int       `json:"history"`
	Calls        int       `json:"calls"`
	Loads        int       `json:"loads"`
	Cache        string    `json:"cache"`                      // cold, warm or none
	Take         string    `json:"take"`                       // the simplest way that costs at most 5 % more than the cheapest
	TakeText     string    `json:"take_without_native_search"` // the same with another adapter
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
	states := []string{"cold", "warm"}
	if r.Provider.Cache == cost.CacheNone {
		states = []string{"none"}
	}
	for _, row := range r.Rows {
		for _, state := range states {
			run := costRun{
				Conversation: row.Shape.String(), History: row.Shape.History, Calls: row.Shape.Calls, Loads: row.Shape.Loads,
				Cache: state, Take: row.Take(state == "warm", true).String(), TakeText: row.Take(state == "warm", false).String(),
			}
			for _, o := range row.Outcomes {
				usage, price, all := o.Cold, o.ColdPrice, row.Outcomes[0].ColdPrice
				if state == "warm" {
					usage, price, all = o.Warm, o.WarmPrice, row.Outcomes[0].WarmPrice
				}
				percent := 0.0
				if all > 0 { // not for a free provider
					percent = 100 * (price/all - 1)
				}
				run.Ways = append(run.Ways, costWay{
					o.Way.String(), price, percent, o.Calls, o.Searches, o.Changes,
					usage.Cached, usage.Written, usage.Plain, usage.Output,
				})
			}
			runs = append(runs, run)
		}
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
	var billed, computed []cost.Usage
	for _, check := range r.Checks {
		billed, computed = append(billed, check.Billed), append(computed, check.Computed)
	}
	b, c := cost.Sum(billed), cost.Sum(computed)
	add := func(measure string, billed, computed float64) {
		percent := 0.0 // also where nothing was billed
		if billed > 0 {
			percent = 100 * (computed - billed) / billed
		}
		checks = append(checks, costCheck{measure, billed, computed, percent})
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
		Best     string        `json:"best"`
		BestText string        `json:"best_without_native_search"`
		Advice   string        `json:"advice"`
		Log      []costCheck   `json:"log,omitempty"`
	}{r.Tools, r.Tokens, r.Provider, costRuns(r), r.Take(true).String(), r.Take(false).String(), r.Advice(), costChecks(r)}
}

func (c *command) printCost(r *cost.Report) error {
	p := &r.Provider
	fmt.Fprintf(c.Out, "tools: %d, about %s of definitions\n", r.Tools, cli.Plural(r.Tokens, "token"))
	fmt.Fprintf(c.Out, "provider: %s, %s, prices of %s\n\n", cli.OneLine(p.Name, 64), cli.OneLine(p.Model, 64), p.Date)
	var t cli.Table
	header := []string{"history, calls, loads", "cache"}
	for _, way := range r.Ways {
		header = append(header, way.String())
	}
	t.Row(append(header, "take")...)
	for _, run := range costRuns(r) {
		cells := []string{run.Conversation, run.Cache, fmt.Sprintf("%.4f", run.Ways[0].Dollars)}
		for _, w := range run.Ways[1:] {
			cells = append(cells, fmt.Sprintf("%+.0f%%", w.Percent))
		}
		take := run.Take
		if run.TakeText != take {
			take += ", else " + run.TakeText
		}
		t.Row(append(cells, take)...)
	}
	if err := c.Print(&t); err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "\nall: US dollars for the conversation if every tool is shown; others: how much more or less.\n"+
		"take: the simplest way that costs at most 5%% more than the cheapest; else: without native search.\n")
	if p.Note != "" {
		fmt.Fprintln(c.Out, cli.OneLine(p.Note, 400))
	}
	if err := c.printChecks(r); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.Out, "\n%s\n", cli.OneLine(r.Advice(), 4000))
	return err
}

// printChecks prints what was billed beside what is computed.
func (c *command) printChecks(r *cost.Report) error {
	checks := costChecks(r)
	if checks == nil {
		return nil
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
	for _, check := range checks {
		decimals := 0
		if check.Measure == "dollars" {
			decimals = 4
		}
		difference := ""
		if check.Billed > 0 {
			difference = fmt.Sprintf("%+.0f%%", check.Percent)
		}
		t.Row(check.Measure, fmt.Sprintf("%.*f", decimals, check.Billed), fmt.Sprintf("%.*f", decimals, check.Computed), difference)
	}
	return c.Print(&t)
}

//go:embed cost.svg.tmpl
var costTemplate string

// costBar is a line of the picture. Lengths are in the picture's units.
type costBar struct {
	Label, Value string
	Y, Text      int
	Width        float64
	Best         bool
}

type costPanel struct {
	Title string
	Y     int
	Bars  []costBar
}

// drawCost draws a report as SVG, one panel for each conversation: the same report gives the
// same bytes.
func drawCost(r *cost.Report) ([]byte, error) {
	const barHeight, titleHeight, gap, fullWidth = 18, 24, 16, 360
	picture := struct {
		Title  string
		Height int
		Panels []costPanel
	}{Title: fmt.Sprintf("%d tools with %s, prices of %s", r.Tools, cli.OneLine(r.Provider.Model, 64), r.Provider.Date), Height: 40}
	for _, run := range costRuns(r) {
		panel := costPanel{Title: run.Conversation + " (history, calls, loads), cache: " + run.Cache, Y: picture.Height + 14}
		most := 0.0
		for _, w := range run.Ways {
			most = max(most, w.Dollars)
		}
		picture.Height += titleHeight
		for i, w := range run.Ways {
			value := fmt.Sprintf("$%.4f", w.Dollars)
			if i > 0 {
				value = fmt.Sprintf("%+.0f %%", w.Percent)
			}
			panel.Bars = append(panel.Bars, costBar{w.Way, value, picture.Height, picture.Height + 12,
				fullWidth * w.Dollars / max(most, 1e-12), w.Way == run.Take})
			picture.Height += barHeight
		}
		picture.Height += gap
		picture.Panels = append(picture.Panels, panel)
	}
	t, err := template.New("cost").Parse(costTemplate)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, picture)
	return out.Bytes(), err
}
