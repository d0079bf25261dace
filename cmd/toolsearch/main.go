// Command toolsearch searches a catalog of tools the way an agent's tool_search does,
// takes a score apart, and measures how well a searcher finds what it should. Its help
// text, in usage below, says the rest.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
)

// searchers are what -searcher can name, the default first. Another one is a line here.
var searchers = []struct {
	name  string
	index toolsearch.Indexer
	about string
}{
	{"keyword", toolsearch.Keyword, "four tiers: part of the name, in a part, in the name, in the description"},
	{"bm25", toolsearch.BM25, "words of names, descriptions and parameters, stemmed; finds best"},
	{"fuzzy", toolsearch.Fuzzy, "substrings, then words, then misspellings"},
	{"regexp", toolsearch.Regexp, "names that match a regular expression (RE2)"},
	{"similarity", toolsearch.Similarity, "likeness to the tool's text, as difflib measures it"},
}

const usage = `toolsearch searches a catalog of tools, explains scores, and measures searchers.

Usage:

	toolsearch search  [flags] CATALOG QUERY...
	toolsearch explain [flags] CATALOG QUERY TOOL
	toolsearch eval    [flags] CATALOG QUERIES

CATALOG is a file of tools: JSONL, one {"name", "description", "parameters",
"server"} a line, or an MCP server's answer to tools/list. QUERIES is a file of
JSONL, one {"id", "query", "gold", "accept", "kind"} a line. "-" is standard input.

search prints the best tools for a query, words or "select:name,name".
explain prints what the score of one tool for a query is made of.
eval prints recall at k, the share of queries complete at k, MRR and nDCG@10 in
percent with 95 %% bootstrap intervals; of two searchers also the difference, the
second less the first, with a "*" where its interval excludes zero.

Flags may stand anywhere; what follows "--" is no flag:

	-searcher NAME   how to search; eval takes two, NAME,NAME
	-n N             search: most tools to print, 1 to 50 (5)
	                 eval: how many hits are asked for, from 10 (50)
	-resamples N     eval: bootstrap samples behind an interval, 0 for none (2000)
	-v               eval: also print the ranks of every query's tools
	-json            print JSON

Searchers:

%s
Exit status:

	0  something was found; the evaluation was made
	1  nothing was found; the tool explained does not match
	2  wrong usage, or a file that cannot be read
`

// Exit codes.
const (
	found   = 0
	nothing = 1
	failed  = 2
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with everything it touches given.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := bufio.NewWriter(stdout)
	c := &command{
		flags: flag.NewFlagSet("toolsearch", flag.ContinueOnError),
		stdin: stdin, out: out, stderr: stderr,
	}
	code, err := c.run(context.Background(), args)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		text, isUsage := err.Error(), errors.As(err, new(usageError))
		if !isUsage { // the packages name themselves; the program is one
			text = strings.TrimPrefix(strings.TrimPrefix(text, "eval: "), "toolsearch: ")
		}
		fmt.Fprintln(stderr, "toolsearch:", text)
		if isUsage {
			fmt.Fprintln(stderr, "toolsearch -h says more.")
		}
		return failed
	}
	return code
}

// A usageError is a mistake on the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

func wrongUsage(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

// A command is one call of the program.
type command struct {
	flags       *flag.FlagSet
	stdin       io.Reader
	out, stderr io.Writer

	searcher  string
	n         int
	resamples int
	verbose   bool
	json      bool
}

func (c *command) run(ctx context.Context, args []string) (int, error) {
	if len(args) == 0 {
		return failed, wrongUsage("no command; want search, explain or eval")
	}
	name := args[0]
	c.flags.SetOutput(io.Discard)
	c.flags.Usage = func() {}
	c.flags.StringVar(&c.searcher, "searcher", searchers[0].name, "")
	c.flags.BoolVar(&c.json, "json", false, "")
	var do func(context.Context, []string) (int, error)
	switch name {
	case "search":
		do = c.search
		c.flags.IntVar(&c.n, "n", toolsearch.DefaultMaxResults, "")
	case "explain":
		do = c.explain
	case "eval":
		do = c.eval
		c.flags.IntVar(&c.n, "n", 50, "")
		c.flags.IntVar(&c.resamples, "resamples", 2000, "")
		c.flags.BoolVar(&c.verbose, "v", false, "")
	case "help", "-h", "-help", "--help":
		return found, c.help()
	default:
		return failed, wrongUsage("no command %q; want search, explain or eval", name)
	}
	operands, err := c.parse(args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return found, c.help()
	}
	if err != nil {
		return failed, wrongUsage("%s: %v", name, err)
	}
	return do(ctx, operands)
}

// parse parses flags wherever they stand before a "--".
func (c *command) parse(args []string) (operands []string, err error) {
	var literal []string
	if i := slices.Index(args, "--"); i >= 0 {
		args, literal = args[:i], args[i+1:]
	}
	for len(args) > 0 {
		if err := c.flags.Parse(args); err != nil {
			return nil, err
		}
		if args = c.flags.Args(); len(args) > 0 {
			operands = append(operands, args[0])
			args = args[1:]
		}
	}
	return append(operands, literal...), nil
}

func (c *command) help() error {
	var list strings.Builder
	for _, s := range searchers {
		fmt.Fprintf(&list, "\t%-9s %s\n", s.name, s.about)
	}
	_, err := fmt.Fprintf(c.out, usage, list.String())
	return err
}

func indexer(name string) (toolsearch.Indexer, error) {
	var names []string
	for _, s := range searchers {
		if s.name == name {
			return s.index, nil
		}
		names = append(names, s.name)
	}
	return nil, wrongUsage("no searcher %q; there is %s", name, strings.Join(names, ", "))
}

func (c *command) catalog(path string) (*eval.Catalog, error) {
	if path == "-" {
		return eval.ReadCatalog(c.stdin, "standard input")
	}
	return eval.LoadCatalog(path)
}

func (c *command) queries(path string) ([]eval.Query, error) {
	if path == "-" {
		return eval.ReadQueries(c.stdin, "standard input")
	}
	return eval.LoadQueries(path)
}

// compiled is the catalog of a file, searched as -searcher says.
func (c *command) compiled(ctx context.Context, path string) (*eval.Catalog, *toolsearch.Catalog, error) {
	index, err := indexer(c.searcher)
	if err != nil {
		return nil, nil, err
	}
	tools, err := c.catalog(path)
	if err != nil {
		return nil, nil, err
	}
	compiled, err := tools.Compile(ctx, index)
	return tools, compiled, err
}
