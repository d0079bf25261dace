package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
)

// The subcommands. What they print for machines are the structs below; what they print
// for people are tables.

type searchOutput struct {
	Query       string        `json:"query"`
	Total       int           `json:"total"` // that matched before the limit
	Matches     []matchOutput `json:"matches"`
	NotFound    []string      `json:"not_found,omitempty"`
	Suggestions []string      `json:"suggestions,omitempty"`
}

type matchOutput struct {
	Name        string  `json:"name"`
	Score       float64 `json:"score"`
	Server      string  `json:"server,omitempty"`
	Description string  `json:"description"`
}

func (c *command) search(ctx context.Context, operands []string) (int, error) {
	if len(operands) < 2 {
		return failed, wrongUsage("search: want CATALOG QUERY...")
	}
	if c.n < 1 || c.n > toolsearch.DefaultMaxResultsCap {
		return failed, wrongUsage("search: -n %d: want 1 to %d", c.n, toolsearch.DefaultMaxResultsCap)
	}
	tools, catalog, err := c.compiled(ctx, operands[0])
	if err != nil {
		return failed, err
	}
	query := strings.Join(operands[1:], " ")
	result, err := catalog.Search(ctx, query, c.n)
	if err != nil {
		return failed, err
	}
	output := searchOutput{
		Query: query, Total: result.Total, Matches: []matchOutput{},
		NotFound: result.NotFound, Suggestions: result.Suggestions,
	}
	for _, m := range result.Matches {
		output.Matches = append(output.Matches, matchOutput{m.Info.Name, m.Score, tools.Annotate(m.Info).Namespace, m.Info.Desc})
	}
	code := found
	if len(output.Matches) == 0 {
		code = nothing
	}
	if c.json {
		return code, c.printJSON(output)
	}
	return code, c.printSearch(output)
}

func (c *command) printSearch(output searchOutput) error {
	if len(output.Matches) == 0 {
		fmt.Fprintln(c.stderr, "Nothing found.")
	}
	if len(output.NotFound) > 0 {
		fmt.Fprintf(c.stderr, "No tool named: %s\n", oneLine(strings.Join(output.NotFound, ", "), 1000))
	}
	if len(output.Suggestions) > 0 {
		fmt.Fprintf(c.stderr, "Near names: %s\n", oneLine(strings.Join(output.Suggestions, ", "), 1000))
	}
	if len(output.Matches) == 0 {
		return nil
	}
	var t table
	t.row("", "score", "tool", "description")
	for i, m := range output.Matches {
		t.row(fmt.Sprint(i+1), fmt.Sprintf("%.4g", m.Score), oneLine(m.Name, 64), oneLine(m.Description, 80))
	}
	if err := t.print(c.out); err != nil {
		return err
	}
	if more := output.Total - len(output.Matches); more > 0 {
		_, err := fmt.Fprintf(c.out, "and %d more\n", more)
		return err
	}
	return nil
}

type explainOutput struct {
	Query string       `json:"query"`
	Tool  string       `json:"tool"`
	Score float64      `json:"score"`
	Parts []partOutput `json:"parts"`
}

type partOutput struct {
	Term   string  `json:"term"`
	Field  string  `json:"field,omitempty"`
	Score  float64 `json:"score"`
	Detail string  `json:"detail,omitempty"`
}

func (c *command) explain(ctx context.Context, operands []string) (int, error) {
	if len(operands) != 3 {
		return failed, wrongUsage("explain: want CATALOG QUERY TOOL; quote a query of several words")
	}
	_, catalog, err := c.compiled(ctx, operands[0])
	if err != nil {
		return failed, err
	}
	explanation, err := catalog.Explain(ctx, operands[1], operands[2])
	if err != nil {
		return failed, err
	}
	output := explainOutput{Query: operands[1], Tool: operands[2], Score: explanation.Score, Parts: []partOutput{}}
	for _, p := range explanation.Parts {
		output.Parts = append(output.Parts, partOutput{p.Term, p.Field, p.Score, p.Detail})
	}
	code := found
	if explanation.Score == 0 {
		code = nothing
	}
	if c.json {
		return code, c.printJSON(output)
	}
	var t table
	t.row("score", "term", "field", "because")
	for _, p := range output.Parts {
		t.row(fmt.Sprintf("%.4g", p.Score), oneLine(p.Term, 40), p.Field, oneLine(p.Detail, 100))
	}
	t.row(fmt.Sprintf("%.4g", output.Score), "", "", "in all")
	return code, t.print(c.out)
}

type evalOutput struct {
	Tools     int              `json:"tools"`
	Queries   int              `json:"queries"`
	Searchers []searcherOutput `json:"searchers"`
	// Difference is the second searcher less the first.
	Difference map[string]eval.Difference `json:"difference,omitempty"`
}

type searcherOutput struct {
	Name    string                              `json:"name"`
	Metrics map[string]eval.Estimate            `json:"metrics"`
	Kinds   map[string]map[string]eval.Estimate `json:"kinds,omitempty"`
	Queries []queryOutput                       `json:"queries,omitempty"` // with -v
}

type queryOutput struct {
	ID    string `json:"id"`
	Ranks []int  `json:"ranks"` // of each group of tools wanted; 0: not found
}

func (c *command) eval(ctx context.Context, operands []string) (int, error) {
	if len(operands) != 2 {
		return failed, wrongUsage("eval: want CATALOG QUERIES")
	}
	if operands[0] == "-" && operands[1] == "-" {
		return failed, wrongUsage("eval: only one file can be standard input")
	}
	if c.n < 10 {
		return failed, wrongUsage("eval: -n %d: want at least 10, which is how far the metrics look", c.n)
	}
	if c.resamples < 0 {
		return failed, wrongUsage("eval: -resamples %d: want 0 or more", c.resamples)
	}
	names := strings.Split(c.searcher, ",")
	if len(names) > 2 {
		return failed, wrongUsage("eval: -searcher %s: want one or two", c.searcher)
	}
	indexes := make([]toolsearch.Indexer, len(names))
	for i, name := range names {
		var err error
		if indexes[i], err = indexer(name); err != nil {
			return failed, err
		}
	}
	tools, err := c.catalog(operands[0])
	if err != nil {
		return failed, err
	}
	queries, err := c.queries(operands[1])
	if err != nil {
		return failed, err
	}
	options := eval.Options{Depth: c.n, Resamples: c.resamples}
	if c.resamples == 0 {
		options.Resamples = -1
	}
	reports := make([]*eval.Report, len(names))
	for i := range names {
		progress, done := c.progress(names[i])
		options.Index, options.Progress = indexes[i], progress
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
	if c.json {
		return found, c.printJSON(c.evalJSON(len(tools.Tools), names, reports, comparison))
	}
	fmt.Fprintf(c.out, "tools: %d, queries: %d\n\n", len(tools.Tools), len(queries))
	return found, c.printEval(names, reports, comparison)
}

func (c *command) evalJSON(tools int, names []string, reports []*eval.Report, comparison *eval.Comparison) evalOutput {
	output := evalOutput{Tools: tools, Queries: len(reports[0].Queries)}
	for i, report := range reports {
		s := searcherOutput{Name: names[i], Metrics: byMetric(report)}
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
	estimate := func(e eval.Estimate, format string) string {
		text := fmt.Sprintf(format, 100*e.Value)
		if c.resamples > 0 {
			text += fmt.Sprintf(" ("+format+" to "+format+")", 100*e.Low, 100*e.High)
		}
		return text
	}
	var means table
	header := append([]string{"metric"}, names...)
	if comparison != nil {
		header = append(header, "difference", "wins", "ties", "losses")
	}
	means.row(header...)
	for m, metric := range reports[0].Metrics {
		cells := []string{metric}
		for _, report := range reports {
			cells = append(cells, estimate(report.Means[m], "%.1f"))
		}
		if comparison != nil {
			d := comparison.Changes[m]
			difference := estimate(d.Mean, "%+.1f")
			if c.resamples > 0 && d.Certain() {
				difference += " *"
			}
			cells = append(cells, difference, fmt.Sprint(d.Wins), fmt.Sprint(d.Ties), fmt.Sprint(d.Losses))
		}
		means.row(cells...)
	}
	if err := means.print(c.out); err != nil {
		return err
	}
	if kinds := reports[0].Kinds(); len(kinds) > 1 {
		if err := c.printKinds(names, reports, kinds); err != nil {
			return err
		}
	}
	if c.verbose {
		return c.printQueries(names, reports)
	}
	return nil
}

func (c *command) printKinds(names []string, reports []*eval.Report, kinds []string) error {
	var t table
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
	fmt.Fprintln(c.out)
	return t.print(c.out)
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
	return t.print(c.out)
}

// rankText writes ranks, and "-" for what was not found.
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

// progress returns what tells a terminal how far a long evaluation is, and what wipes
// that away. Anything but a terminal is told nothing.
func (c *command) progress(name string) (progress func(done, total int), end func()) {
	file, ok := c.stderr.(*os.File)
	if !ok {
		return nil, func() {}
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil, func() {}
	}
	const interval = 200 * time.Millisecond
	shown, next := false, time.Now().Add(2*interval)
	progress = func(done, total int) {
		if now := time.Now(); now.After(next) {
			next, shown = now.Add(interval), true
			fmt.Fprintf(file, "\r%s: %d of %d queries", name, done, total)
		}
	}
	end = func() {
		if shown {
			fmt.Fprint(file, "\r\x1b[K")
		}
	}
	return progress, end
}

func (c *command) printJSON(v any) error {
	encoder := json.NewEncoder(c.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// A table aligns its columns; the first row is the header.
type table struct{ rows [][]string }

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(w io.Writer) error {
	aligned := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, cells := range t.rows {
		fmt.Fprintln(aligned, strings.Join(cells, "\t"))
	}
	return aligned.Flush()
}

// oneLine makes foreign text fit a cell: on one line, without what cannot be printed, and
// at most limit characters long.
func oneLine(s string, limit int) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:limit-1]), " ") + "…"
}
