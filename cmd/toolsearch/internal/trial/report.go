package trial

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/template"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
)

// What a run counts, and the columns of the table, which are means of a run.
const (
	calls    = "calls" // of the model
	searches = "searches"
	misses   = "misses"   // searches that found nothing
	unused   = "unused"   // tools that a search found and nobody called
	siblings = "siblings" // calls of a tool that the task does not need, on a server that it needs
	refused  = "refused"  // calls that ran no tool
	input    = "prompt"   // tokens, cached or not
	cached   = "cached"
	output   = "output"
	dollars  = "dollars" // 0 without a table of prices
)

var columns = []struct{ name, format string }{
	{calls, "%.1f"}, {searches, "%.1f"}, {misses, "%.1f"}, {unused, "%.1f"}, {siblings, "%.1f"}, {refused, "%.1f"},
	{input, "%.0f"}, {cached, "%.0f"}, {output, "%.0f"}, {dollars, "%.4f"},
}

// A report is what the runs of a trial came to.
type report struct {
	Model  string    `json:"model"`
	Tools  int       `json:"tools"`
	Tasks  int       `json:"tasks"`
	Ways   []wayRow  `json:"ways"`
	Pairs  []pair    `json:"pairs"` // of every two ways
	Needed []toolRow `json:"needed"`
	Advice []string  `json:"advice"` // sentences
}

// A wayRow sums up the runs of a way.
type wayRow struct {
	Way      string             `json:"way"`
	Runs     int                `json:"runs"`
	Solved   float64            `json:"solved"`   // mean over the tasks, of 1
	Interval [2]float64         `json:"interval"` // that holds Solved with 95 %
	Means    map[string]float64 `json:"means"`    // of a run, by column
	Notes    []string           `json:"notes"`    // why calls were refused, and what failed in the library: once each

	byTask []float64 // solved, in the order of the tasks; -1 without a run
}

// A toolRow says what became of a tool in the runs of tasks that need it.
type toolRow struct {
	Tool   string `json:"tool"`
	Way    string `json:"way"`
	Needed int    `json:"needed"` // runs in which no tool of the same use was called instead
	Found  int    `json:"found"`  // of these
	Used   int    `json:"used"`   // of these, with the arguments that were wanted
}

// A pair compares two ways by task.
type pair struct {
	One    string  `json:"one"`
	Other  string  `json:"other"`
	Wins   int     `json:"wins"`   // tasks that One solves more often
	Losses int     `json:"losses"` // tasks that Other solves more often
	P      float64 `json:"p"`      // of the two-sided sign test
}

// reportOf sums up results.
func (r *trial) reportOf(results []result) *report {
	out := &report{Model: r.model, Tools: len(r.catalog.Tools), Tasks: len(r.tasks)}
	for _, w := range r.ways {
		row := wayRow{Way: w.name, Means: make(map[string]float64)}
		tools := make(map[string]*toolRow)
		played := 0
		for i := range r.tasks {
			t, solved, n := &r.tasks[i], 0.0, 0.0
			for _, result := range results {
				if result.Way != w.name || result.Task != t.ID {
					continue
				}
				if n++; result.Solved {
					solved++
				}
				for _, c := range columns {
					row.Means[c.name] += result.Counts[c.name]
				}
				for _, text := range slices.Concat(result.Refused, result.Failures) {
					if len(row.Notes) < 20 && !slices.Contains(row.Notes, text) {
						row.Notes = append(row.Notes, text)
					}
				}
				count(tools, &result, t)
			}
			if row.byTask = append(row.byTask, -1); n > 0 {
				row.byTask[i] = solved / n
				row.Solved, played, row.Runs = row.Solved+solved/n, played+1, row.Runs+int(n)
			}
		}
		for name := range row.Means {
			row.Means[name] /= max(1, float64(row.Runs))
		}
		row.Solved /= max(1, float64(played))
		row.Interval = wilson(row.Solved, played)
		for i := range out.Ways {
			out.Pairs = append(out.Pairs, compare(&out.Ways[i], &row))
		}
		out.Ways = append(out.Ways, row)
		for name, t := range tools {
			t.Tool, t.Way = name, w.name
			out.Needed = append(out.Needed, *t)
		}
	}
	slices.SortStableFunc(out.Needed, func(a, b toolRow) int { return cmp.Compare(a.Tool, b.Tool) }) // ways stay in order
	out.Advice = append(out.take(), out.unhide()...)
	return out
}

// count counts a run for the tools that its task needs.
func count(tools map[string]*toolRow, result *result, t *task) {
	for _, group := range t.Groups {
		used := func(name string) bool {
			return slices.ContainsFunc(result.Ran, func(c call) bool { return c.Tool == name && t.solves(c) })
		}
		instead := slices.ContainsFunc(group, used)
		for _, name := range group {
			if instead && !used(name) {
				continue
			}
			if tools[name] == nil {
				tools[name] = new(toolRow)
			}
			tools[name].Needed++
			if slices.Contains(result.Found, name) {
				tools[name].Found++
			}
			if used(name) {
				tools[name].Used++
			}
		}
	}
}

// wilson returns Wilson's interval (1927) of a share of n, at 95 %. Runs of one task are not independent, so n is tasks.
func wilson(share float64, tasks int) [2]float64 {
	if tasks == 0 {
		return [2]float64{0, 1}
	}
	const z = 1.959964
	n := float64(tasks)
	middle, half := share+z*z/(2*n), z*math.Sqrt(share*(1-share)/n+z*z/(4*n*n))
	return [2]float64{max(0, (middle-half)/(1+z*z/n)), min(1, (middle+half)/(1+z*z/n))}
}

// compare compares two ways by the tasks that both played.
func compare(one, other *wayRow) pair {
	p := pair{One: one.Way, Other: other.Way}
	for i, share := range one.byTask {
		switch {
		case share < 0 || other.byTask[i] < 0:
		case share > other.byTask[i]:
			p.Wins++
		case share < other.byTask[i]:
			p.Losses++
		}
	}
	n, tail, term := p.Wins+p.Losses, 0.0, 1.0
	for i := 0; i <= min(p.Wins, p.Losses); i++ { // the binomial distribution, divided by 2^-n
		tail += term
		term *= float64(n-i) / float64(i+1)
	}
	p.P = min(1, 2*tail*math.Pow(2, -float64(n)))
	return p
}

// cheaper orders ways by what they cost.
func cheaper(a, b wayRow) int {
	return cmp.Or(cmp.Compare(a.Means[dollars], b.Means[dollars]), cmp.Compare(a.Means[input]+a.Means[output], b.Means[input]+b.Means[output]))
}

// take says which way to take: the cheapest of those that are not surely worse than the one that solves most.
func (r *report) take() []string {
	played := slices.DeleteFunc(slices.Clone(r.Ways), func(w wayRow) bool { return w.Runs == 0 })
	if len(played) < 2 {
		return nil
	}
	best := slices.MinFunc(played, func(a, b wayRow) int { return cmp.Or(cmp.Compare(b.Solved, a.Solved), cheaper(a, b)) })
	var good []wayRow
	var worse []string
	least := 1.0
	for _, w := range played {
		if p := compare(&best, &w).P; p < 0.05 {
			worse = append(worse, fmt.Sprintf("%s (p = %.3f)", w.Way, p))
		} else {
			good, least = append(good, w), min(least, p)
		}
	}
	way := slices.MinFunc(good, cheaper)
	text := fmt.Sprintf("Take %s: it solves %.0f %%", way.Way, 100*way.Solved)
	if len(worse) > 0 {
		text += fmt.Sprintf(", and these solve surely less than %s: %s", best.Way, strings.Join(worse, ", "))
	}
	if len(good) > 1 {
		text += fmt.Sprintf("; it is the cheapest of %d ways whose difference may be noise (sign test over %s, least p %.2f)",
			len(good), cli.Plural(r.Tasks, "task"), least)
	}
	return []string{text + "."}
}

// unhide names, for each way, the tools that were used in at least two more runs where all tools are shown.
func (r *report) unhide() (advice []string) {
	shown := make(map[string]toolRow)
	for _, t := range r.Needed {
		if t.Way == "all" {
			shown[t.Tool] = t
		}
	}
	for _, w := range r.Ways {
		var names []string
		for _, t := range r.Needed {
			if all := shown[t.Tool]; t.Way == w.Way && all.Used >= t.Used+2 && all.Used*t.Needed > t.Used*all.Needed {
				names = append(names, fmt.Sprintf("%s (%d of %d runs, shown %d of %d)", t.Tool, t.Used, t.Needed, all.Used, all.Needed))
			}
		}
		if len(names) > 0 {
			advice = append(advice, fmt.Sprintf("Do not hide with %s, by AlwaysLoaded: %s.", w.Way, strings.Join(names, ", ")))
		}
	}
	return advice
}

func (r *trial) print(out *report) {
	fmt.Fprintf(r.Out, "%s, %s, %s\n\n", cli.OneLine(out.Model, 64), cli.Plural(out.Tools, "tool"), cli.Plural(out.Tasks, "task"))
	var ways, tools cli.Table
	header := []string{"way", "runs", "solved", "from", "to"}
	for _, c := range columns {
		header = append(header, c.name)
	}
	ways.Row(header...)
	for _, w := range out.Ways {
		row := []string{w.Way, fmt.Sprint(w.Runs)}
		for _, share := range []float64{w.Solved, w.Interval[0], w.Interval[1]} {
			row = append(row, fmt.Sprintf("%.0f%%", 100*share))
		}
		for _, c := range columns {
			row = append(row, fmt.Sprintf(c.format, w.Means[c.name]))
		}
		ways.Row(row...)
	}
	r.Print(&ways)
	fmt.Fprint(r.Out, "\nMeans of a run. from, to: solved with 95 % certainty. calls: of the model. unused: tools found and not called.\n"+
		"siblings: calls of other tools of a needed server. refused: calls that ran no tool. prompt, cached, output: tokens.\n")
	tools.Row("not always used where it was needed", "way", "runs", "found", "used")
	isShort := false
	for _, n := range out.Needed {
		if n.Used < n.Needed {
			isShort = true
			tools.Row(n.Tool, n.Way, fmt.Sprint(n.Needed), fmt.Sprint(n.Found), fmt.Sprint(n.Used))
		}
	}
	if isShort {
		fmt.Fprintln(r.Out)
		r.Print(&tools)
	}
	for _, w := range out.Ways {
		for _, text := range w.Notes {
			fmt.Fprintf(r.Out, "\n%s: %s\n", w.Way, cli.OneLine(text, 300))
		}
	}
	for _, text := range out.Advice {
		fmt.Fprintf(r.Out, "\n%s\n", cli.OneLine(text, 4000))
	}
}

//go:embed trial.svg.tmpl
var picture string

// draw draws a report as SVG.
func draw(r *report, path string) {
	const top, rowHeight, left, width = 48, 30, 200, 300
	title := fmt.Sprintf("%s: tasks solved, of %d over %s", cli.OneLine(r.Model, 64), r.Tasks, cli.Plural(r.Tools, "tool"))
	cli.Draw(path, picture, template.FuncMap{
		"x":       func(share float64) string { return fmt.Sprintf("%.1f", left+width*share) },
		"y":       func(row, more int) int { return top + row*rowHeight + more },
		"percent": func(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) },
	}, map[string]any{"Title": title, "Height": top + len(r.Ways)*rowHeight + 10, "Ways": r.Ways})
}
