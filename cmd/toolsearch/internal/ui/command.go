package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/catalog"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/inspect"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/searchers"
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
func Show(ctx context.Context, call *cli.Call, args []string) int {
	c, flags := searchers.NewChoice(call, "keyword,bm25")
	defer c.Close()
	queries := flags.String("queries", "", "")
	port := flags.Int("port", 0, "")
	inBrowser := flags.Bool("open", false, "")
	c.Parse(flags, args, 0, 0, "CATALOG, or -- and the command that starts a server")
	chosen := strings.Split(c.Searcher, ",")
	switch {
	case len(chosen) > 2:
		c.WrongUsage("-searcher %s: want one or two searchers", c.Searcher)
	case *port < 0 || *port > 65535:
		c.WrongUsage("-port %d: want a number from 0 to 65535", *port)
	case c.Operand == "-" && *queries == "-":
		c.WrongUsage("only one file can be standard input")
	}
	p := Page{Title: c.Title(), Chosen: chosen}
	for _, s := range searchers.Menu {
		if s.Index == nil && !c.HasEndpoint() {
			continue
		}
		s.Index = c.Indexer(s.Name)
		p.Searchers = append(p.Searchers, s)
	}
	c.Indexers(ctx, chosen...)
	p.Queries = c.Queries(ctx, *queries)
	read := c.Load(ctx)
	p.Tools, _ = catalog.Apart(read.Tools)
	p.Findings = func(ctx context.Context) (*inspect.Report, error) {
		return inspect.Tools(ctx, read, searchers.Menu[0].Index)
	}
	server := cli.Must(Listen(ctx, p, *port))
	fmt.Fprintln(c.Out, server.URL())
	if out, ok := c.Out.(interface{ Flush() error }); ok { // the address must be readable before the command ends
		cli.Check(out.Flush())
	}
	if *inBrowser {
		file, err := open(server.URL())
		if err != nil {
			fmt.Fprintln(c.Stderr, "no browser opened:", err)
		}
		defer os.Remove(file)
	}
	cli.Check(server.Serve(ctx))
	return cli.Found
}

// open opens an address in the user's browser. The browser gets a file that leads to the address, since every
// user of the machine can read command lines. It returns the file, which is only for the user.
func open(url string) (file string, err error) {
	f, err := os.CreateTemp("", "toolsearch-*.html")
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, `<!doctype html><meta http-equiv="refresh" content="0;url=%s"><a href="%[1]s">toolsearch</a>`, url)
	if err := errors.Join(err, f.Close()); err != nil {
		return f.Name(), err
	}
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	browser := exec.Command(command[0], append(command[1:], f.Name())...)
	if err := browser.Start(); err != nil {
		return f.Name(), err
	}
	go func() { _ = browser.Wait() }() // its end is of no interest
	return f.Name(), nil
}
