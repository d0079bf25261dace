package main

import (
	"context"
	"fmt"
	"io"
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
	index, err := indexer(c.searcher)
	if err != nil {
		return failed, err
	}
	read, err := c.load(ctx, from)
	if err != nil {
		return failed, err
	}
	r, err := await(ctx, func() (*report, error) { return inspectTools(ctx, read, index) })
	if err != nil {
		return failed, err
	}
	r.Searcher = c.searcher
	code := found
	if len(r.Problems) > 0 {
		code = toFix
	}
	if c.json {
		return code, c.printJSON(r)
	}
	return code, c.printReport(r)
}

func (c *command) printReport(r *report) error {
	for _, s := range r.Servers {
		fmt.Fprintf(c.out, "server: %s\n", oneLine(strings.TrimSpace(s.Namespace+" "+s.Name+" "+s.Version)+", MCP "+s.Protocol, 200))
		if s.StrayLines > 0 {
			fmt.Fprintln(c.out, c.paint(bad, fmt.Sprintf("The server wrote %d lines to its standard output that are not messages; some clients give up over them.", s.StrayLines)))
		}
	}
	fmt.Fprintf(c.out, "tools: %d, in all %d tokens (bytes/4 of %d bytes: name, description and parameters as JSON)\n\n",
		len(r.Tools), r.Tokens, r.Bytes)
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
	fmt.Fprintf(c.out, "\nby name, by text: the tool's rank for the words of its own name and description, with %s; \"-\" means not in the first %d\n", r.Searcher, findWithin)
	return c.printProblems(r)
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
