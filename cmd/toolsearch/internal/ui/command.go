package ui

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/catalog"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/costs"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/inspect"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/searchers"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
)

// The command ui: a page on the loopback address. Package ui serves it.

// Help is the help text of the command ui.
var Help = catalog.HelpOf("ui [flags] CATALOG", `
Serves a page about the catalog until it is interrupted, and prints the page's address:
a search as you type, two searchers side by side, each score taken apart, where the
tokens go, what inspect finds, what conversations cost, and the misses of an evaluation.

The page is on 127.0.0.1 and nowhere else. Only somebody who knows the address, which
has a random part, can open it. Nothing leaves the machine except what -embed sends.
`, "", `	-searcher NAME   the searcher shown first; NAME,NAME shows two (keyword,bm25)
`+searchers.EmbedFlagsHelp+`	-queries FILE    queries as eval takes them: their misses, and what came first
	-port N          the port; 0 means any free port (0)
	-open            also open the page in a browser
`+catalog.FlagsHelp, `
	toolsearch ui tools.jsonl
	toolsearch ui -open -queries queries.jsonl tools.jsonl
	toolsearch ui -searcher bm25,fuzzy mcp.json
	toolsearch ui -searcher bm25,hybrid -embed http://127.0.0.1:11434/v1 -model M tools.jsonl
`, "0 interrupted, 2 a mistake")

// Show serves the page until ctx is done.
func Show(ctx context.Context, call *cli.Call, args []string) (int, error) {
	c, flags := searchers.NewChoice(call, "keyword,bm25")
	defer c.Close()
	queries := flags.String("queries", "", "")
	port := flags.Int("port", 0, "")
	inBrowser := flags.Bool("open", false, "")
	from, _, err := c.Parse(flags, args, 0, 0, "CATALOG, or -- and the command that starts a server")
	if err != nil {
		return cli.Failed, err
	}
	chosen := strings.Split(c.Searcher, ",")
	switch {
	case len(chosen) > 2:
		err = cli.WrongUsage("ui: -searcher %s: want one or two searchers", c.Searcher)
	case *port < 0 || *port > 65535:
		err = cli.WrongUsage("ui: -port %d: want a number from 0 to 65535", *port)
	case from.Operand == "-" && *queries == "-":
		err = cli.WrongUsage("ui: only one file can be standard input")
	}
	if err != nil {
		return cli.Failed, err
	}
	p := Page{Title: from.String(), Chosen: chosen}
	if from.Operand != "" && !from.IsURL() {
		p.Title = filepath.Base(from.Operand)
	}
	if p.Searchers, err = menu(c); err != nil {
		return cli.Failed, err
	}
	if _, err := c.Indexers(ctx, chosen...); err != nil {
		return cli.Failed, err
	}
	if *queries != "" {
		if p.Queries, err = c.Queries(ctx, *queries); err != nil {
			return cli.Failed, err
		}
	}
	read, err := c.Load(ctx, from)
	if err != nil {
		return cli.Failed, err
	}
	if p.Catalog, p.Tools, err = pageTools(read.Tools); err != nil {
		return cli.Failed, err
	}
	if err := c.EmbedQueries(ctx, searchers.Texts(p.Queries)); err != nil {
		return cli.Failed, err
	}
	p.Findings = func(ctx context.Context) ([]Finding, error) { return findings(ctx, read) }
	p.Providers = costs.Names(cost.Providers())
	p.Costs = func(ctx context.Context, name string) (any, error) {
		provider, _ := cost.Named(cost.Providers(), name)
		report, err := cost.Compare(ctx, p.Catalog.Tools, provider, cost.Shapes)
		if err != nil {
			return nil, err
		}
		return costs.JSON(report), nil
	}
	server, err := Listen(ctx, p, *port)
	if err != nil {
		return cli.Failed, err
	}
	fmt.Fprintln(c.Out, server.URL())
	if out, ok := c.Out.(interface{ Flush() error }); ok { // the address must be readable before the command ends
		if err := out.Flush(); err != nil {
			return cli.Failed, err
		}
	}
	if *inBrowser {
		if err := open(server.URL()); err != nil {
			fmt.Fprintln(c.Stderr, "no browser opened:", err)
		}
	}
	return cli.Found, server.Serve(ctx)
}

// menu returns the searchers that the page offers: those with vectors only if -embed says where to
// get them.
func menu(c *searchers.Choice) (list []Searcher, err error) {
	for _, s := range searchers.Menu {
		list = append(list, Searcher{Name: s.Name, Label: searchers.Label(s.Name), About: s.About, Index: s.Index})
	}
	for _, s := range searchers.ByVectors {
		if !c.HasEndpoint() {
			break
		}
		index, err := c.Indexer(s.Name)
		if err != nil {
			return nil, err
		}
		list = append(list, Searcher{Name: s.Name, About: s.About, Index: index})
	}
	return list, nil
}

// pageTools returns the catalog that the page searches, and what the page shows of each tool.
// Tools that a catalog cannot hold are among the findings.
func pageTools(read []catalog.Definition) (*eval.Catalog, []Tool, error) {
	read, _ = catalog.Apart(read)
	built, kept, err := catalog.Of(read)
	if err == nil && built == nil {
		err = errors.New("no tool has a name")
	}
	if err != nil {
		return nil, nil, err
	}
	tools := make([]Tool, len(built.Tools))
	for i, d := range kept {
		count, _, bare := d.Parameters()
		tools[i] = Tool{
			Tokens: (d.Bytes() + 3) / 4, Parameters: count, Schema: d.Schema,
			Refused: !catalog.TakenName.MatchString(d.Name) || d.SchemaProblem() != "" || len(bare) > 0,
		}
	}
	return built, tools, nil
}

// findings returns what inspect finds, in the order of its report.
func findings(ctx context.Context, read *catalog.Contents) ([]Finding, error) {
	r, err := inspect.Tools(ctx, read, searchers.Menu[0].Index)
	if err != nil {
		return nil, err
	}
	list := make([]Finding, 0, len(r.Problems))
	for _, k := range inspect.Kinds {
		for _, p := range r.Problems {
			if p.Kind == k.Kind {
				list = append(list, Finding{Heading: k.Heading, Tools: p.Tools, Detail: p.Detail})
			}
		}
	}
	return list, nil
}

// open opens an address in the user's browser.
func open(url string) error {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	browser := exec.Command(command[0], slices.Concat(command[1:], []string{url})...)
	if err := browser.Start(); err != nil {
		return err
	}
	go func() { _ = browser.Wait() }() // its end is of no interest
	return nil
}
