package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/ui"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
)

// The command ui: a page on the loopback address. Package ui serves it.

const uiHelp = `toolsearch ui [flags] CATALOG

Serves a page about the catalog until it is interrupted, and prints the page's address:
a search as you type, two searchers side by side, each score taken apart, where the
tokens go, what inspect finds, what conversations cost, and the misses of an evaluation.

The page is on 127.0.0.1 and nowhere else. Only somebody who knows the address, which
has a random part, can open it. Nothing leaves the machine except what -embed sends.

` + catalogHelp + `
Flags:

	-searcher NAME   the searcher shown first; NAME,NAME shows two (keyword,bm25)
` + embedFlags + `	-queries FILE    queries as eval takes them: their misses, and what came first
	-port N          the port; 0 means any free port (0)
	-open            also open the page in a browser
` + serverFlags + `
Examples:

	toolsearch ui tools.jsonl
	toolsearch ui -open -queries queries.jsonl tools.jsonl
	toolsearch ui -searcher bm25,fuzzy mcp.json
	toolsearch ui -searcher bm25,hybrid -embed http://127.0.0.1:11434/v1 -model M tools.jsonl

Exit status: 0 interrupted, 2 a mistake.
`

type uiFlags struct {
	queries string
	port    int
	open    bool
}

func (c *command) setUIFlags() {
	c.flags.StringVar(&c.page.queries, "queries", "", "")
	c.flags.IntVar(&c.page.port, "port", 0, "")
	c.flags.BoolVar(&c.page.open, "open", false, "")
	c.flags.Lookup("searcher").DefValue = "keyword,bm25"
	c.searcher = "keyword,bm25"
}

func (c *command) ui(ctx context.Context, operands []string) (int, error) {
	from, rest, ok := c.origin(operands)
	chosen := strings.Split(c.searcher, ",")
	switch {
	case !ok || len(rest) > 0:
		return failed, wrongUsage("ui: want CATALOG, or -- and the command that starts a server")
	case len(chosen) > 2:
		return failed, wrongUsage("ui: -searcher %s: want one or two searchers", c.searcher)
	case c.page.port < 0 || c.page.port > 65535:
		return failed, wrongUsage("ui: -port %d: want a number from 0 to 65535", c.page.port)
	case from.operand == "-" && c.page.queries == "-":
		return failed, wrongUsage("ui: only one file can be standard input")
	}
	p := ui.Page{Title: from.String(), Chosen: chosen}
	if from.operand != "" && !from.isURL() {
		p.Title = filepath.Base(from.operand)
	}
	var err error
	if p.Searchers, err = c.menu(); err != nil {
		return failed, err
	}
	for _, name := range chosen {
		if _, err := c.indexer(name); err != nil {
			return failed, err
		}
	}
	if c.page.queries != "" {
		if p.Queries, err = c.queries(ctx, c.page.queries); err != nil {
			return failed, err
		}
	}
	read, err := c.load(ctx, from)
	if err != nil {
		return failed, err
	}
	if p.Catalog, p.Tools, err = pageTools(read.tools); err != nil {
		return failed, err
	}
	if err := c.embedQueries(ctx, texts(p.Queries)); err != nil {
		return failed, err
	}
	p.Findings = func(ctx context.Context) ([]ui.Finding, error) { return findings(ctx, read) }
	for _, provider := range cost.Providers() {
		p.Providers = append(p.Providers, provider.Name)
	}
	p.Costs = func(ctx context.Context, provider string) (any, error) {
		return conversationCosts(ctx, p.Catalog, provider)
	}
	return found, c.serve(ctx, p)
}

// menu returns the searchers that the page offers: those with vectors only if -embed says where to
// get them.
func (c *command) menu() (list []ui.Searcher, err error) {
	for _, s := range searchers {
		list = append(list, ui.Searcher{Name: s.name, Label: labelOf(s.name), About: s.about, Index: s.index})
	}
	for _, s := range embedSearchers {
		if c.embed == "" {
			break
		}
		index, err := c.indexer(s.name)
		if err != nil {
			return nil, err
		}
		list = append(list, ui.Searcher{Name: s.name, About: s.about, Index: index})
	}
	return list, nil
}

// pageTools returns the catalog that the page searches, and what the page shows of each tool.
// Tools that a catalog cannot hold are among the findings.
func pageTools(read []definition) (*eval.Catalog, []ui.Tool, error) {
	read, _ = apart(read)
	catalog, first, err := catalogOf(read)
	if err == nil && catalog == nil {
		err = errors.New("no tool has a name")
	}
	if err != nil {
		return nil, nil, err
	}
	tools := make([]ui.Tool, len(catalog.Tools))
	for i, info := range catalog.Tools {
		d := &read[first[info.Name]]
		count, _, bare := d.parameters()
		tools[i] = ui.Tool{
			Tokens: (d.bytes() + 3) / 4, Parameters: count, Schema: d.Schema,
			Refused: !takenName.MatchString(d.Name) || d.schemaProblem() != "" || len(bare) > 0,
		}
	}
	return catalog, tools, nil
}

// findings returns what inspect finds, in the order of its report.
func findings(ctx context.Context, read *contents) ([]ui.Finding, error) {
	r, err := inspectTools(ctx, read, searchers[0].index)
	if err != nil {
		return nil, err
	}
	list := make([]ui.Finding, 0, len(r.Problems))
	for _, k := range kinds {
		for _, p := range r.Problems {
			if p.Kind == k.kind {
				list = append(list, ui.Finding{Heading: k.heading, Tools: p.Tools, Detail: p.Detail})
			}
		}
	}
	return list, nil
}

// conversationCosts returns what cost -json prints for a provider of the built-in table.
func conversationCosts(ctx context.Context, catalog *eval.Catalog, name string) (any, error) {
	provider, ok := cost.Named(cost.Providers(), name)
	if !ok {
		return nil, fmt.Errorf("no provider %q", name)
	}
	report, err := cost.Compare(ctx, catalog.Tools, provider, cost.Shapes)
	if err != nil {
		return nil, err
	}
	return costJSON(report), nil
}

// serve shows the page until ctx is done.
func (c *command) serve(ctx context.Context, p ui.Page) error {
	server, err := ui.Listen(ctx, p, c.page.port)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.out, server.URL())
	if out, ok := c.out.(interface{ Flush() error }); ok { // the address must be readable before the command ends
		if err := out.Flush(); err != nil {
			return err
		}
	}
	if c.page.open {
		if err := open(server.URL()); err != nil {
			fmt.Fprintln(c.stderr, "no browser opened:", err)
		}
	}
	return server.Serve(ctx)
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
