// Package inspect is the command inspect: what to fix in a catalog (findings.go), as a report.
package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/catalog"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/searchers"
	"github.com/eino-toolsearch/toolsearch/eval"
)

// Help is the help text of the command inspect.
var Help = catalog.HelpOf("inspect [flags] CATALOG", `
Lists tools and what to fix in them. Problems are names and schemas that a provider
would refuse, names that two tools have, missing descriptions of tools and parameters,
and tools that no query finds. So are hidden characters, instructions to the model, and
names of other servers' tools.

Tokens are an estimate for name, description and parameters as JSON: the price of the
tool in every model call. A tool counts as found if it is among the first five for the
words of its own name or of its description. "-" means that it is not.
`, "", `	-searcher NAME   the searcher (keyword); any but regexp
`+searchers.EmbedFlagsHelp+`	-lexicon FILE    words of your own for bm25; lines that do nothing are listed
	-json            print JSON
`+catalog.FlagsHelp, `
	toolsearch inspect tools.jsonl
	toolsearch inspect -- npx -y @modelcontextprotocol/server-everything
	toolsearch inspect -json -searcher bm25 -timeout 2m -- ./server --stdio
`, "0 nothing to fix, 1 something to fix, 2 a mistake or no answer")

// Inspect lists the tools of a catalog and their problems.
func Inspect(ctx context.Context, call *cli.Call, args []string) int {
	c, flags := searchers.NewChoice(call, searchers.Menu[0].Name)
	defer c.Close()
	c.Parse(flags, args, 0, 0, "CATALOG, or -- and the command that starts a server")
	if c.Searcher == "regexp" {
		c.WrongUsage("-searcher regexp takes patterns; inspect searches by words")
	}
	index, read := c.Indexers(ctx, c.Searcher)[0], c.Load(ctx)
	var queries []eval.Query
	for _, d := range read.Tools {
		queries = append(queries, eval.Query{Text: ownWords(d.Name)}, eval.Query{Text: ownWords(d.Description)})
	}
	c.EmbedQueries(ctx, queries)
	step := "searching for each of " + cli.Plural(len(read.Tools), "tool")
	r := cli.Await(ctx, c.Call, step, func() (*Report, error) { return Tools(ctx, read, index) })
	cli.Check(c.VectorFailure())
	if c.Lexicon != "" { // the lines that do nothing over the tools
		docs, _ := catalog.Documents(read.Tools)
		for _, line := range cli.Must(c.ReadLexicon(ctx).Check(ctx, docs)) {
			r.add(kindLexicon, line)
		}
	}
	r.Searcher, r.Emulated = c.Searcher, searchers.IsEmulated(c.Searcher)
	if c.JSON {
		c.PrintJSON(r)
	} else {
		r.print(call)
	}
	return cli.FoundIf(len(r.Problems) == 0)
}

func (r *Report) print(c *cli.Call) {
	for _, s := range r.Servers {
		about := strings.TrimSpace(s.Namespace+" "+s.Name+" "+s.Version) + ", MCP " + s.Protocol
		fmt.Fprintf(c.Out, "server: %s\n", cli.OneLine(about, 200))
		if text := cli.OneLine(s.Instructions, 200); text != "" {
			fmt.Fprintf(c.Out, "instructions: %s\n", text)
		}
		if s.StrayLines > 0 {
			fmt.Fprintln(c.Out, c.Paint(cli.Bad, fmt.Sprintf(
				"The server wrote %s to its standard output that no client can read; some clients give up.", cli.Plural(s.StrayLines, "line"))))
		}
	}
	fmt.Fprintf(c.Out, "tools: %d, about %s in %s of name, description and parameters as JSON\n",
		len(r.Tools), cli.Plural(r.Tokens, "token"), cli.Plural(r.Bytes, "byte"))
	r.printTotals(c)
	t := cli.Table{Styles: map[int]cli.Style{1: cli.Named, 5: cli.Dim}}
	t.Row("tokens", "tool", "parameters", "by name", "by text", "description")
	for _, tool := range r.Tools {
		t.Row(fmt.Sprint(tool.Tokens), cli.OneLine(tool.Name, c.UpTo(64)), fmt.Sprint(tool.Parameters),
			cli.Ranks(tool.RankByName), cli.Ranks(tool.RankByDescription), cli.OneLine(tool.Description, c.UpTo(60)))
	}
	c.Print(&t)
	fmt.Fprintf(c.Out, "\nby name, by text: the tool's rank for the words of its own name and description, with %s; "+
		"\"-\" means not in the first %d\n", searchers.Label(r.Searcher), findWithin)
	r.printProblems(c)
}

// printTotals prints the tools that cost most, those that a provider would refuse, and what each
// server costs.
func (r *Report) printTotals(c *cli.Call) {
	const shown = 5
	var largest, refused, order []string
	servers := make(map[string]*struct{ tools, tokens, refused int })
	for i, t := range r.Tools {
		s := servers[t.Server]
		if s == nil {
			s = new(struct{ tools, tokens, refused int })
			servers[t.Server], order = s, append(order, t.Server)
		}
		s.tools, s.tokens = s.tools+1, s.tokens+t.Tokens
		if t.Refused {
			s.refused++
			refused = append(refused, cmp.Or(cli.OneLine(t.Name, 64), fmt.Sprintf("(tool %d)", i+1)))
		}
	}
	if bySize := slices.Clone(r.Tools); len(bySize) > 2*shown {
		slices.SortStableFunc(bySize, func(a, b ToolReport) int { return cmp.Compare(b.Tokens, a.Tokens) })
		for _, t := range bySize[:shown] {
			if t.Name != "" {
				largest = append(largest, fmt.Sprintf("%s (%d)", cli.OneLine(t.Name, 64), t.Tokens))
			}
		}
	}
	if len(largest) > 0 {
		fmt.Fprintf(c.Out, "largest: %s\n", strings.Join(largest, ", "))
	}
	if len(refused) > 0 {
		most := min(len(refused), c.UpTo(shown))
		text := strings.Join(refused[:most], ", ")
		if more := len(refused) - most; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintln(c.Out, c.Paint(cli.Bad, fmt.Sprintf("a provider would refuse %s: %s", cli.Plural(len(refused), "tool"), text)))
	}
	fmt.Fprintln(c.Out)
	if len(order) < 2 {
		return
	}
	var t cli.Table
	t.Row("server", "tools", "tokens", "refused")
	for _, name := range order {
		s := servers[name]
		t.Row(cmp.Or(cli.OneLine(name, 64), "(none)"), fmt.Sprint(s.tools), fmt.Sprint(s.tokens), fmt.Sprint(s.refused))
	}
	c.Print(&t)
	fmt.Fprintln(c.Out)
}

func (r *Report) printProblems(c *cli.Call) {
	if len(r.Problems) == 0 {
		fmt.Fprint(c.Out, "\nNothing to fix.\n")
	}
	shown := c.UpTo(20)
	for _, k := range Kinds {
		problems := r.OfKind(k.Kind)
		if len(problems) == 0 {
			continue
		}
		fmt.Fprintf(c.Out, "\n%s\n", c.Paint(cli.Bad, fmt.Sprintf("%s: %d", k.Heading, len(problems))))
		t := cli.Table{Styles: map[int]cli.Style{1: cli.Named}, Headerless: true}
		for _, p := range problems[:min(len(problems), shown)] {
			t.Row("", cli.OneLine(strings.Join(p.Tools, ", "), c.UpTo(100)), cli.OneLine(p.Detail, c.UpTo(120)))
		}
		c.Print(&t)
		if more := len(problems) - shown; more > 0 {
			fmt.Fprintln(c.Out, c.Paint(cli.Dim, fmt.Sprintf("  and %d more; piped output has all", more)))
		}
	}
}
