// Command toolsearch searches a catalog of tools the way an agent's tool_search does. It also
// explains a score, measures how well a searcher finds what it should, lists what to fix
// in a catalog or in a live MCP server, and locks the definitions that somebody approved. See the
// help texts in help.go.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/search"
)

// searchers are the values of -searcher, the default first. A new searcher is a new line
// here.
var searchers = []struct {
	name  string
	index search.Indexer
	about string
}{
	{"keyword", search.Keyword, "four tiers: part of the name, in a part, in the name, in the description"},
	{"bm25", search.BM25, "stemmed words of names, descriptions and parameters; finds best"},
	{"fuzzy", search.Fuzzy, "substrings, then words, then misspellings"},
	{"regexp", search.Regexp, "names that match a regular expression (RE2)"},
	{"similarity", search.Similarity, "similarity to the tool's text, as difflib measures it"},
}

// Exit codes.
const (
	found   = 0
	nothing = 1
	toFix   = 1 // of inspect, verify and diff
	failed  = 2
)

func main() {
	// A signal must also end the server that inspect started.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main without global state.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := bufio.NewWriter(stdout)
	c := &command{
		flags: flag.NewFlagSet("toolsearch", flag.ContinueOnError),
		stdin: stdin, out: out, stderr: stderr, color: colored(stdout, os.Getenv),
	}
	code, err := c.run(ctx, args)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		wrong := (*usageError)(nil)
		isUsage := errors.As(err, &wrong)
		text := err.Error()
		if !isUsage { // the program names itself, so the packages' names go
			text = strings.TrimPrefix(strings.TrimPrefix(text, "eval: "), "toolsearch: ")
		}
		fmt.Fprintln(stderr, "toolsearch:", text)
		if isUsage {
			fmt.Fprintf(stderr, "See %s.\n", strings.Join(append([]string{"toolsearch"}, append(wrong.command, "-h")...), " "))
		}
		return failed
	}
	return code
}

// A usageError is a mistake on the command line.
type usageError struct {
	text    string
	command []string // the command that was used wrongly, if there is one
}

func (e *usageError) Error() string { return e.text }

// wrongUsage makes a usageError. If format begins with a command and a colon, the error
// points to that command's help.
func wrongUsage(format string, args ...any) error {
	e := &usageError{text: fmt.Sprintf(format, args...)}
	if command, _, ok := strings.Cut(format, ":"); ok && helps[command] != "" {
		e.command = []string{command}
	}
	return e
}

// A command is one call of the program.
type command struct {
	flags       *flag.FlagSet
	stdin       io.Reader
	out, stderr io.Writer
	color       bool

	searcher  string
	n         int
	resamples int
	timeout   time.Duration
	verbose   bool
	json      bool
	lock      lockFlags
}

func (c *command) run(ctx context.Context, args []string) (int, error) {
	if len(args) == 0 {
		return failed, wrongUsage("no command; want search, explain, eval, inspect, lock, verify, diff or approve")
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
	case "inspect":
		c.flags.DurationVar(&c.timeout, "timeout", time.Minute, "")
	case "lock", "verify", "diff", "approve":
		c.setLockFlags(name)
	case "help", "-h", "-help", "--help":
		return found, c.help(strings.Join(args[1:], " "))
	default:
		return failed, wrongUsage("no command %q; want search, explain, eval, inspect, lock, verify, diff or approve", name)
	}
	operands, literal, err := c.parse(args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return found, c.help(name)
	case err != nil:
		return failed, wrongUsage(name+": %v", err)
	case name == "inspect":
		return c.inspect(ctx, operands, literal)
	case do == nil:
		return c.locked(ctx, name, operands, literal)
	}
	return do(ctx, append(operands, literal...))
}

// parse parses the flags anywhere before a "--". It returns the other arguments before the
// "--", and all arguments after it.
func (c *command) parse(args []string) (operands, literal []string, err error) {
	if i := slices.Index(args, "--"); i >= 0 {
		args, literal = args[:i], args[i+1:]
	}
	for len(args) > 0 {
		if err := c.flags.Parse(args); err != nil {
			return nil, nil, err
		}
		if args = c.flags.Args(); len(args) > 0 {
			operands = append(operands, args[0])
			args = args[1:]
		}
	}
	return operands, literal, nil
}

func indexer(name string) (search.Indexer, error) {
	var names []string
	for _, s := range searchers {
		if s.name == name {
			return s.index, nil
		}
		names = append(names, s.name)
	}
	return nil, wrongUsage("no searcher %q; want %s", name, strings.Join(names, ", "))
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

// compiled reads the catalog of a file and compiles it for the searcher of -searcher.
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
