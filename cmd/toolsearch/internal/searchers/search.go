package searchers

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/catalog"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/search"
	"github.com/eino-toolsearch/toolsearch/usage"
)

// The commands search and explain. They print tables for people and the structs below as
// JSON for machines.

// SearchHelp is the help text of the command search.
var SearchHelp = catalog.HelpOf("search [flags] CATALOG QUERY...", `
Prints the best tools for a query. A query is words, "+word" for a word that must
match, or "select:name,name" for tools by name.
`, "", FlagsHelp+useFlagsHelp+`	-n N             how many tools to print, 1 to 50 (5)
	-json            print JSON
`+catalog.FlagsHelp, `
	toolsearch search tools.jsonl create an issue
	toolsearch search -n 10 tools.jsonl +github issue
	toolsearch search tools.jsonl select:get_weather,send_mail
	toolsearch search -searcher hybrid -embed http://localhost:11434/v1 \
	    -model nomic-embed-text tools.jsonl where is my parcel
	toolsearch search -header 'Authorization: Bearer ${TOKEN}' https://a.example/mcp issue
	toolsearch search send a mail -- npx -y some-mail-server
`, "0 something was found, 1 nothing was found, 2 a mistake")

// ExplainHelp is the help text of the command explain.
var ExplainHelp = catalog.HelpOf("explain [flags] CATALOG QUERY TOOL", `
Prints what a tool's score for a query is made of. Quote a query of several words.
`, "", FlagsHelp+useFlagsHelp+`	-json            print JSON
`+catalog.FlagsHelp, `
	toolsearch explain tools.jsonl "open a ticket" create_issue
	toolsearch explain -searcher keyword tools.jsonl "open a ticket" create_issue
`, "0 the tool matches, 1 it does not, 2 a mistake")

const useFlagsHelp = "\t-called NAMES    tools that a conversation has called, and\n" +
	"\t-log FILE        a recording of others: what they call with these counts, as\n" +
	"\t                 with Config.Usage\n"

// compile reads the catalog and compiles it for the searcher of -searcher, and for a conversation.
func (c *Choice) compile(ctx context.Context) (*eval.Catalog, *toolsearch.Catalog) {
	if (c.log == "") != (c.called == "") {
		c.WrongUsage("-log and -called want each other")
	}
	options := &toolsearch.CatalogOptions{Index: c.Indexers(ctx, c.Searcher)[0]}
	tools := c.Catalog(ctx)
	options.Annotate = tools.Annotate
	if c.log != "" {
		store, isTool := &usage.Store{}, make(map[string]bool)
		for _, info := range tools.Tools {
			isTool[info.Name] = true
		}
		c.Recording(ctx, c.log, func(name string, e toolsearch.Event) { store.Observe(ctx, name, e) })
		called := strings.Split(c.called, ",")
		if at := slices.IndexFunc(called, func(name string) bool { return !isTool[name] }); at >= 0 {
			c.WrongUsage("-called: no tool named %q", cli.OneLine(called[at], 64))
		}
		options.Related = store.Snapshot(ctx)(called, func(name string) bool { return isTool[name] })
	}
	step := "indexing " + cli.Plural(len(tools.Tools), "tool")
	return tools, cli.Await(ctx, c.Call, step, func() (*toolsearch.Catalog, error) {
		return toolsearch.NewCatalogFromInfos(ctx, tools.Tools, options)
	})
}

type searchOutput struct {
	Query       string        `json:"query"`
	Total       int           `json:"total"` // matches before the limit
	Matches     []matchOutput `json:"matches"`
	NotFound    []string      `json:"not_found,omitempty"`
	Suggestions []string      `json:"suggestions,omitempty"`
	Message     string        `json:"message,omitempty"`  // for a pattern: what is wrong, or what to try
	Emulated    bool          `json:"emulated,omitempty"` // the searcher emulates somebody else's
}

type matchOutput struct {
	Name        string  `json:"name"`
	Score       float64 `json:"score"`
	Server      string  `json:"server,omitempty"`
	Description string  `json:"description"`
}

// patience is how long a search may take: an endpoint for vectors is asked up to four times.
const patience = 5 * time.Minute

// Search runs the command search.
func Search(ctx context.Context, call *cli.Call, args []string) int {
	c, flags := NewChoice(call, "bm25")
	defer c.Close()
	n := flags.Int("n", toolsearch.DefaultMaxResults, "")
	terms := c.Parse(flags, args, 1, math.MaxInt, "CATALOG QUERY..., or QUERY... -- COMMAND")
	if *n < 1 || *n > toolsearch.DefaultMaxResultsCap {
		c.WrongUsage("-n %d: want a number from 1 to %d", *n, toolsearch.DefaultMaxResultsCap)
	}
	tools, catalog := c.compile(ctx)
	query := strings.Join(terms, " ")
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	step := "searching " + cli.Plural(len(tools.Tools), "tool")
	result := cli.Await(limited, c.Call, step, func() (*toolsearch.Result, error) { return catalog.Search(limited, query, *n) })
	cli.Check(c.VectorFailure())
	output := searchOutput{
		Query: query, Total: result.Total, Matches: []matchOutput{},
		NotFound: result.NotFound, Suggestions: result.Suggestions, Emulated: IsEmulated(c.Searcher),
	}
	if len(result.Matches) == 0 && strings.Contains(c.Searcher, "regex") {
		output.Message = result.Message
	}
	for _, m := range result.Matches {
		output.Matches = append(output.Matches, matchOutput{m.Info.Name, m.Score, tools.Annotate(m.Info).Namespace, m.Info.Desc})
	}
	if c.JSON {
		c.PrintJSON(output)
	} else {
		c.printSearch(output)
	}
	return cli.FoundIf(len(output.Matches) > 0)
}

func (c *Choice) printSearch(output searchOutput) {
	if len(output.Matches) == 0 {
		fmt.Fprintln(c.Stderr, strings.TrimSpace("Nothing found. "+output.Message))
	}
	if len(output.NotFound) > 0 {
		fmt.Fprintf(c.Stderr, "No tool named: %s\n", cli.OneLine(strings.Join(output.NotFound, ", "), 1000))
	}
	if len(output.Suggestions) > 0 {
		fmt.Fprintf(c.Stderr, "Near names: %s\n", cli.OneLine(strings.Join(output.Suggestions, ", "), 1000))
	}
	if len(output.Matches) == 0 {
		return
	}
	t := cli.Table{Styles: map[int]cli.Style{0: cli.Dim, 2: cli.Named}}
	hasServers := slices.ContainsFunc(output.Matches, func(m matchOutput) bool { return m.Server != "" })
	row := func(cells ...string) {
		if !hasServers {
			cells = slices.Delete(cells, 3, 4)
		}
		t.Row(cells...)
	}
	row("", "score", "tool", "server", "description")
	scores := cli.Each(output.Matches, func(m matchOutput) float64 { return m.Score })
	for i, score := range cli.ScoreTexts(scores...) {
		m := output.Matches[i]
		row(fmt.Sprint(i+1), score, cli.OneLine(m.Name, 64),
			cli.OneLine(m.Server, 64), cli.OneLine(m.Description, c.UpTo(80)))
	}
	c.Print(&t)
	if more := output.Total - len(output.Matches); more > 0 {
		fmt.Fprintln(c.Out, c.Paint(cli.Dim, fmt.Sprintf("and %d more", more)))
	}
	c.NoteEmulated()
}

type explainOutput struct {
	Query    string       `json:"query"`
	Tool     string       `json:"tool"`
	Score    float64      `json:"score"`
	Parts    []partOutput `json:"parts"`
	Emulated bool         `json:"emulated,omitempty"`
}

// A partOutput is a search.Contribution.
type partOutput struct {
	Term   string  `json:"term"`
	Field  string  `json:"field,omitempty"`
	Score  float64 `json:"score"`
	Detail string  `json:"detail,omitempty"`
}

// Explain runs the command explain.
func Explain(ctx context.Context, call *cli.Call, args []string) int {
	c, flags := NewChoice(call, "bm25")
	defer c.Close()
	rest := c.Parse(flags, args, 2, 2, "CATALOG QUERY TOOL; quote a query of several words")
	query, tool := rest[0], rest[1]
	_, catalog := c.compile(ctx)
	explanation := cli.Await(ctx, c.Call, "explaining the score", func() (search.Explanation, error) {
		explanation, err := catalog.Explain(ctx, query, tool)
		if err == nil {
			return explanation, nil
		}
		if result, wrong := catalog.Search(ctx, "select:"+tool, 1); wrong == nil && len(result.Suggestions) > 0 {
			err = fmt.Errorf("%w; near names: %s", err, cli.OneLine(strings.Join(result.Suggestions, ", "), 300))
		}
		return explanation, err
	})
	code := cli.FoundIf(explanation.Score != 0)
	output := explainOutput{query, tool, explanation.Score, []partOutput{}, IsEmulated(c.Searcher)}
	scores := []float64{output.Score}
	for _, p := range explanation.Parts {
		output.Parts = append(output.Parts, partOutput(p))
		scores = append(scores, p.Score)
	}
	if c.JSON {
		c.PrintJSON(output)
		return code
	}
	t := cli.Table{Styles: map[int]cli.Style{1: cli.Named, 2: cli.Dim}}
	t.Row("score", "term", "field", "because")
	texts := cli.ScoreTexts(scores...)
	for i, p := range output.Parts {
		t.Row(texts[i+1], cli.OneLine(p.Term, 40), p.Field, cli.OneLine(p.Detail, 100))
	}
	t.Row(texts[0], "", "", "in all")
	c.Print(&t)
	c.NoteEmulated()
	return code
}
