package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// inspect lists the tools of a catalog and their problems.
func (c *command) inspect(ctx context.Context, operands []string) (int, error) {
	from, rest, ok := c.origin(operands)
	switch {
	case !ok || len(rest) > 0:
		return failed, wrongUsage("inspect: want CATALOG, or -- and the command that starts a server")
	case c.searcher == "regexp":
		return failed, wrongUsage("inspect: -searcher regexp takes patterns; inspect searches by words")
	}
	indexes, err := c.indexers(ctx, c.searcher)
	if err != nil {
		return failed, err
	}
	read, err := c.load(ctx, from)
	if err != nil {
		return failed, err
	}
	var queries []string
	for _, d := range read.tools {
		queries = append(queries, ownWords(d.Name), ownWords(d.Description))
	}
	if err := c.embedQueries(ctx, queries); err != nil {
		return failed, err
	}
	done := c.waiting("searching for each of %s", plural(len(read.tools), "tool"))
	r, err := await(ctx, func() (*report, error) { return inspectTools(ctx, read, indexes[0]) })
	done()
	if err = cmp.Or(err, c.vectorFailure()); err != nil {
		return failed, err
	}
	if c.lexicon != "" {
		if err := c.checkLexicon(ctx, r, read); err != nil {
			return failed, err
		}
	}
	r.Searcher, r.Emulated = c.searcher, isEmulated(c.searcher)
	code := found
	if len(r.Problems) > 0 {
		code = toFix
	}
	if c.json {
		return code, c.printJSON(r)
	}
	return code, c.printReport(r)
}

// checkLexicon adds the lines of the lexicon that do nothing over the tools.
func (c *command) checkLexicon(ctx context.Context, r *report, read *contents) error {
	lexicon, err := c.readLexicon(ctx)
	if err != nil {
		return err
	}
	docs, _ := documentsOf(read.tools)
	findings, err := lexicon.Check(ctx, docs)
	if err != nil {
		return err
	}
	for _, f := range findings {
		r.add(kindLexicon, fmt.Sprintf("line %d: %s", f.Line, f.Detail))
	}
	return nil
}

func (c *command) printReport(r *report) error {
	for _, s := range r.Servers {
		fmt.Fprintf(c.out, "server: %s\n", oneLine(strings.TrimSpace(s.Namespace+" "+s.Name+" "+s.Version)+", MCP "+s.Protocol, 200))
		if text := oneLine(s.Instructions, 200); text != "" {
			fmt.Fprintf(c.out, "instructions: %s\n", text)
		}
		if s.StrayLines > 0 {
			fmt.Fprintln(c.out, c.paint(bad, fmt.Sprintf("The server wrote %s to its standard output that no client can read; some clients give up.", plural(s.StrayLines, "line"))))
		}
	}
	fmt.Fprintf(c.out, "tools: %d, in all %s (bytes/4 of %s: name, description and parameters as JSON)\n",
		len(r.Tools), plural(r.Tokens, "token"), plural(r.Bytes, "byte"))
	if err := c.printTotals(r); err != nil {
		return err
	}
	rank := func(n int) string {
		if n == 0 {
			return "-"
		}
		return fmt.Sprint(n)
	}
	t := table{styles: map[int]style{1: named, 5: dim}}
	t.row("tokens", "tool", "parameters", "by name", "by text", "description")
	for _, tool := range r.Tools {
		t.row(fmt.Sprint(tool.Tokens), oneLine(tool.Name, 64), fmt.Sprint(tool.Parameters),
			rank(tool.RankByName), rank(tool.RankByDescription), oneLine(tool.Description, 60))
	}
	if err := c.print(&t); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "\nby name, by text: the tool's rank for the words of its own name and description, with %s; \"-\" means not in the first %d\n", labelOf(r.Searcher), findWithin)
	return c.printProblems(r)
}

// printTotals prints the tools that cost most, those that a provider would refuse, and what each
// server costs.
func (c *command) printTotals(r *report) error {
	const shown = 5
	bySize := slices.Clone(r.Tools)
	slices.SortStableFunc(bySize, func(a, b toolReport) int { return cmp.Compare(b.Bytes, a.Bytes) })
	var largest, refused []string
	for i, t := range bySize {
		if i < shown && len(bySize) > 2*shown && t.Name != "" {
			largest = append(largest, fmt.Sprintf("%s (%d)", oneLine(t.Name, 64), t.Tokens))
		}
	}
	var totals table
	totals.row("server", "tools", "tokens", "refused")
	type total struct{ tools, bytes, refused int }
	servers, order := make(map[string]*total), []string(nil)
	for i, t := range r.Tools {
		if servers[t.Server] == nil {
			servers[t.Server], order = &total{}, append(order, t.Server)
		}
		s := servers[t.Server]
		s.tools, s.bytes = s.tools+1, s.bytes+t.Bytes
		if t.Refused {
			s.refused++
			refused = append(refused, cmp.Or(oneLine(t.Name, 64), fmt.Sprintf("(tool %d)", i+1)))
		}
	}
	if len(largest) > 0 {
		fmt.Fprintf(c.out, "largest: %s\n", strings.Join(largest, ", "))
	}
	if len(refused) > 0 {
		text := strings.Join(refused[:min(len(refused), shown)], ", ")
		if more := len(refused) - shown; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintln(c.out, c.paint(bad, fmt.Sprintf("a provider would refuse %s: %s", plural(len(refused), "tool"), text)))
	}
	fmt.Fprintln(c.out)
	if len(order) < 2 {
		return nil
	}
	for _, name := range order {
		s := servers[name]
		totals.row(cmp.Or(oneLine(name, 64), "(none)"), fmt.Sprint(s.tools), fmt.Sprint((s.bytes+3)/4), fmt.Sprint(s.refused))
	}
	if err := c.print(&totals); err != nil {
		return err
	}
	_, err := fmt.Fprintln(c.out)
	return err
}

func (c *command) printProblems(r *report) error {
	if len(r.Problems) == 0 {
		_, err := io.WriteString(c.out, "\nNothing to fix.\n")
		return err
	}
	const shown = 20
	for _, k := range kinds {
		t := table{styles: map[int]style{1: named}}
		count := 0
		for _, p := range r.Problems {
			if p.Kind != k.kind {
				continue
			}
			if count++; count <= shown {
				t.row("", oneLine(strings.Join(p.Tools, ", "), 100), oneLine(p.Detail, 120))
			}
		}
		if count == 0 {
			continue
		}
		fmt.Fprintf(c.out, "\n%s\n", c.paint(bad, fmt.Sprintf("%s: %d", k.heading, count)))
		if err := c.printRows(&t, false); err != nil {
			return err
		}
		if count > shown {
			fmt.Fprintln(c.out, c.paint(dim, fmt.Sprintf("  and %d more; -json lists all", count-shown)))
		}
	}
	return nil
}
