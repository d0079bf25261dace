package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
)

// Markdown writes results as BENCHMARKS.md. The same results give the same bytes.
func Markdown(r *Results) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Benchmarks

<!-- Written by "go run ." in workshop/benchmarks/; edit markdown.go there instead. -->

## How it was measured

%s
The catalog is the quickstart's %d tools again and again, each time under the names of other makers
and with another sentence in each description. Each of twenty-five questions, from two words to a long sentence, asks for five
results. Questions go through `+"`tool_search`"+`, from JSON arguments to JSON result; for Eino's own
package, through its own `+"`tool_search`"+`. %s is the baseline: "100×" means a hundredth of its
time. Machines are noisy, so the contestants take turns in one run and all numbers are medians.
Read the ratios rather than the times.

`+"`bleve`"+` is [bleve](https://github.com/blevesearch/bleve) in memory with English analysis and all
text in one field. Of all set-ups tried, this was the fastest and found the most.
Only `+"`BM25`"+` and bleve also read parameters.

To measure again, which takes a few minutes and rewrites this file:

`+"```sh\ncd workshop/benchmarks\ngo run .                 # -sizes 100,1000 for a short report\n```\n",
		environment(r.Environment), len(services.Infos()), Baseline)
	writeSpeed(&b, r)
	writeQuality(&b, r.Quality)
	return b.Bytes()
}

func environment(e Environment) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- %s, %s, %s, GOMAXPROCS %d\n", e.Go, e.System, cmp.Or(e.CPU, "unknown processor"), e.Procs)
	for _, m := range e.Modules {
		fmt.Fprintf(&b, "- %s\n", m)
	}
	return b.String()
}

// A grid holds speeds by searcher and size.
type grid struct {
	sizes     []int
	searchers []string
	cells     map[string]map[int]Speed
}

func gridOf(speeds []Speed) grid {
	g := grid{cells: make(map[string]map[int]Speed)}
	for _, s := range speeds {
		if !slices.Contains(g.sizes, s.Tools) {
			g.sizes = append(g.sizes, s.Tools)
		}
		if g.cells[s.Searcher] == nil {
			g.searchers = append(g.searchers, s.Searcher)
			g.cells[s.Searcher] = make(map[int]Speed)
		}
		g.cells[s.Searcher][s.Tools] = s
	}
	slices.Sort(g.sizes)
	return g
}

// table writes a row for each searcher and a column for each size.
func (g grid) table(b *bytes.Buffer, title string, cell func(s, baseline Speed) string) {
	fmt.Fprintf(b, "\n| %s |", title)
	for _, size := range g.sizes {
		fmt.Fprintf(b, " %s tools |", grouped(float64(size)))
	}
	fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("--:|", len(g.sizes)))
	for _, name := range g.searchers {
		fmt.Fprintf(b, "| %s |", name)
		for _, size := range g.sizes {
			fmt.Fprintf(b, " %s |", cell(g.cells[name][size], g.cells[Baseline][size]))
		}
		fmt.Fprintln(b)
	}
}

func writeSpeed(b *bytes.Buffer, r *Results) {
	g := gridOf(r.Speed)
	if len(g.sizes) == 0 {
		return
	}
	fmt.Fprint(b, "\n## Queries\n\nThe median question:\n")
	g.table(b, "time", func(s, baseline Speed) string {
		return withRatio(s.Query, baseline.Query, s.Searcher)
	})
	fmt.Fprint(b, "\nThe slowest of the twenty-five questions, for most searchers a long sentence:\n")
	g.table(b, "time", func(s, baseline Speed) string {
		return withRatio(s.Slowest, baseline.Slowest, s.Searcher)
	})
	fmt.Fprint(b, "\nAllocations per question:\n")
	g.table(b, "allocations", func(s, _ Speed) string { return grouped(s.Allocs) })

	fmt.Fprintf(b, "\n## Building the index\n\nThe time to build the searcher of documents, also as a number of queries (q) of %s, which has no index.\n", Baseline)
	g.table(b, "time", func(s, baseline Speed) string {
		if s.Searcher == Baseline || baseline.Query == 0 {
			return duration(s.Build)
		}
		return fmt.Sprintf("%s · %s q", duration(s.Build), ratio(float64(s.Build)/float64(baseline.Query)))
	})
	fmt.Fprint(b, "\n## Memory\n\nHeap bytes per tool, without the tools' own definitions:\n")
	g.table(b, "bytes", func(s, _ Speed) string { return grouped(s.Bytes) })
}

func writeQuality(b *bytes.Buffer, list []Quality) {
	own := ofSet(list, ownSet)
	if len(own) == 0 {
		return
	}
	fmt.Fprintf(b, `
## Retrieval quality

The right tool of every question is known. The tables show how often it is among the first
five, how often it is the first, and the mean reciprocal rank, in percent. `+"`BM25 as usual`"+` is
BM25 as most tool searches ship it: k1 1.2, b 0.75, name and description alike, Chinese by
character, no stemming, no stop words, no parameters.

The repository's own set has %d questions over %d tools (testdata/ranking):

| searcher | recall@5 | recall@1 | MRR |
|---|--:|--:|--:|
`, own[0].Queries, own[0].Tools)
	for _, q := range own {
		fmt.Fprintf(b, "| %s | %.1f | %.1f | %.1f |\n", q.Searcher, 100*q.Recall5, 100*q.Recall1, 100*q.MRR)
	}
	writePublic(b, list)
	fmt.Fprint(b, "\nWhether a model finds and calls the right tool shows a trial: `toolsearch trial`, see\n"+
		"[the command](cmd/toolsearch/README.md#a-trial-with-your-own-model). A result stands here with its model, date, tasks\n"+
		"and command. There is none yet.\n")
}

// writePublic writes recall@5 / MRR of the public sets, and the mean over them.
func writePublic(b *bytes.Buffer, list []Quality) {
	public := slices.DeleteFunc(slices.Clone(list), func(q Quality) bool { return q.Set == ownSet })
	if len(public) == 0 {
		return
	}
	var means []Quality // by searcher; each was measured on each set
	for _, q := range ofSet(list, public[0].Set) {
		means = append(means, Quality{Searcher: q.Searcher})
	}
	fmt.Fprint(b, "\nThe public sets are not part of the repository. Recall@5 / MRR:\n\n| set | tools | questions |")
	for _, m := range means {
		fmt.Fprintf(b, " %s |", m.Searcher)
	}
	fmt.Fprintf(b, "\n|---|--:|--:|%s", strings.Repeat("--:|", len(means)))
	sets := len(public) / len(means)
	for i, q := range public {
		m := &means[i%len(means)]
		if m.Recall5, m.MRR = m.Recall5+q.Recall5/float64(sets), m.MRR+q.MRR/float64(sets); m == &means[0] {
			fmt.Fprintf(b, "\n| %s | %s | %s |", q.Set, grouped(float64(q.Tools)), grouped(float64(q.Queries)))
		}
		fmt.Fprintf(b, " %.1f / %.1f |", 100*q.Recall5, 100*q.MRR)
	}
	fmt.Fprint(b, "\n| mean | | |")
	for _, m := range means {
		fmt.Fprintf(b, " %.1f / %.1f |", 100*m.Recall5, 100*m.MRR)
	}
	fmt.Fprintln(b)
}

func ofSet(list []Quality, set string) []Quality {
	return slices.DeleteFunc(slices.Clone(list), func(q Quality) bool { return q.Set != set })
}

// withRatio writes a time and how many times faster than the baseline it is.
func withRatio(t, baseline time.Duration, name string) string {
	if name == Baseline || baseline == 0 || t == 0 {
		return duration(t)
	}
	return duration(t) + " · " + ratio(float64(baseline)/float64(t)) + "×"
}

// duration writes a time with two or three digits.
func duration(d time.Duration) string {
	unit, name := float64(time.Second), "s"
	switch {
	case d < time.Microsecond:
		unit, name = 1, "ns"
	case d < time.Millisecond:
		unit, name = float64(time.Microsecond), "µs"
	case d < time.Second:
		unit, name = float64(time.Millisecond), "ms"
	}
	return ratio(float64(d)/unit) + " " + name
}

// ratio writes a number with two or three digits, or with all digits before the point.
func ratio(x float64) string {
	switch {
	case x >= 9.95:
		return grouped(x)
	case x >= 0.0995:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'g', 1, 64)
}

// grouped writes a whole number with commas.
func grouped(x float64) string {
	digits := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
