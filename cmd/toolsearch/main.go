// Command toolsearch searches a catalog of tools the way an agent's tool_search does. It also
// explains a score, measures how well a searcher finds what it should, lists what to fix in a
// catalog or in a live MCP server, computes what conversations over a catalog cost, and locks the
// definitions that somebody approved. See the help texts in help.go.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
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
	{"lsa", search.LSA, "topics of the catalog, by latent semantic analysis; alone it finds less than bm25"},
	{"bm25+lsa", search.Hybrid(search.BM25, search.LSA), "bm25 and lsa together; finds more for long requests, and builds slowly"},
	{"anthropic-bm25", anthropicBM25, "emulated: Claude's own search by words"},
	{"anthropic-regex", anthropicRegex, "emulated: Claude's own search by a Python pattern"},
}

// commands are the names of the commands.
var commands = []string{"search", "explain", "eval", "inspect", "cost", "list", "ui", "lock", "verify", "diff", "approve", "version", "help"}

// Exit codes.
const (
	found   = 0
	nothing = 1
	short   = 1 // of eval
	toFix   = 1 // of inspect, verify and diff
	failed  = 2
)

func main() {
	// A signal must also end the servers that were started. A second signal ends the program
	// at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main without global state.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := bufio.NewWriter(stdout)
	c := &command{
		flags: flag.NewFlagSet("toolsearch", flag.ContinueOnError),
		stdin: stdin, out: out, stderr: stderr, color: colored(stdout, os.Getenv), width: widthOf(stdout, os.Getenv), live: isTerminal(stderr),
	}
	code, err := c.run(ctx, args)
	if c.vectors != nil {
		c.vectors.close()
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		wrong := (*usageError)(nil)
		isUsage := errors.As(err, &wrong)
		text := err.Error()
		if !isUsage { // the program's name stands in front, so the packages' names go
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
	width       int                          // of the terminal; 0 means none
	live        bool                         // whether stderr is a terminal, for progress
	line        atomic.Pointer[progressLine] // of the running step

	name      string   // of the command
	server    []string // the command behind "--", if there is one
	headers   []string // of -header
	searcher  string
	embed     string // URL of -embed
	model     string
	vectors   *vectors // of -embed; nil until a searcher needs them
	lexicon   string   // of -lexicon, a file
	n         int
	resamples int
	minima    []string // of -min
	baseline  string
	tolerance float64
	timeout   time.Duration
	verbose   bool
	json      bool
	lock      lockFlags
	cost      costFlags
	page      uiFlags
}

func (c *command) run(ctx context.Context, args []string) (int, error) {
	if len(args) == 0 {
		return failed, wrongUsage("no command; want %s", strings.Join(commands, ", "))
	}
	name := args[0]
	c.name = name
	c.flags.SetOutput(io.Discard)
	c.flags.Usage = func() {}
	c.flags.StringVar(&c.searcher, "searcher", searchers[0].name, "")
	c.flags.StringVar(&c.embed, "embed", "", "")
	c.flags.StringVar(&c.model, "model", "", "")
	c.flags.BoolVar(&c.json, "json", false, "")
	c.flags.DurationVar(&c.timeout, "timeout", time.Minute, "")
	c.flags.Func("header", "", func(text string) error {
		c.headers = append(c.headers, text)
		return nil
	})
	switch name {
	case "search", "explain", "eval", "inspect":
		c.flags.StringVar(&c.lexicon, "lexicon", "", "")
	}
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
		c.flags.StringVar(&c.baseline, "baseline", "", "")
		c.flags.Float64Var(&c.tolerance, "tolerance", 0, "")
		c.flags.Func("min", "", func(text string) error {
			c.minima = append(c.minima, text)
			return nil
		})
	case "inspect":
		do = c.inspect
	case "cost":
		do = c.costs
		c.setCostFlags()
	case "list":
		do = c.list
	case "ui":
		do = c.ui
		c.setUIFlags()
	case "lock", "verify", "diff", "approve":
		do = c.locked
		c.setLockFlags()
	case "help", "-h", "-help", "--help":
		topic := strings.Join(args[1:], " ")
		if topic != "" && !slices.Contains(commands, topic) {
			return failed, wrongUsage("no command %q; %s", oneLine(topic, 60), near(topic, commands))
		}
		return found, c.help(topic)
	case "version", "-version", "--version":
		return found, c.version()
	default:
		return failed, wrongUsage("no command %q; %s", name, near(name, commands))
	}
	operands, server, err := c.parse(args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return found, c.help(name)
	case err != nil:
		return failed, wrongUsage(name+": %v", c.nearFlag(err))
	}
	if (c.embed != "" || c.model != "") && !slices.ContainsFunc(strings.Split(c.searcher, ","), needsEndpoint) {
		return failed, wrongUsage(name+": %s", "-embed and -model are for the searchers embedding and hybrid")
	}
	c.server = server
	return do(ctx, operands)
}

// flagNames returns the flags that the help text of a command names.
func flagNames(command string) (names []string) {
	_, text, _ := strings.Cut(helps[command], "\nFlags:\n")
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "\t-"); ok {
			names = append(names, "-"+strings.Fields(name)[0])
		}
	}
	return names
}

// parse parses the flags anywhere before a "--". It returns the other arguments before the
// "--", and the command of a server after it.
func (c *command) parse(args []string) (operands, server []string, err error) {
	if i := slices.Index(args, "--"); i >= 0 {
		if args, server = args[:i], args[i+1:]; len(server) == 0 {
			return nil, nil, errors.New("want the command of a server behind --")
		}
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
	// All commands parse the same flags. Each accepts only those in its help.
	c.flags.Visit(func(f *flag.Flag) {
		if !slices.Contains(flagNames(c.name), "-"+f.Name) {
			err = fmt.Errorf("flag provided but not defined: -%s", f.Name)
		}
	})
	return operands, server, err
}

// searcherNames are the values of -searcher.
func searcherNames() (names []string) {
	for _, s := range searchers {
		names = append(names, s.name)
	}
	for _, s := range embedSearchers {
		names = append(names, s.name)
	}
	return names
}

// indexers returns the searchers of -searcher, bm25 with the words of -lexicon.
func (c *command) indexers(ctx context.Context, names ...string) ([]search.Indexer, error) {
	indexes := make([]search.Indexer, len(names))
	for i, name := range names {
		var err error
		if indexes[i], err = c.indexer(name); err != nil {
			return nil, err
		}
	}
	at := slices.Index(names, "bm25")
	switch {
	case c.lexicon == "":
		return indexes, nil
	case at < 0 && c.name != "inspect": // inspect checks the lexicon in any case
		return nil, wrongUsage(c.name+": -lexicon wants %s", "-searcher bm25")
	}
	lexicon, err := c.readLexicon(ctx)
	if err != nil {
		return nil, err
	}
	if at >= 0 {
		indexes[at] = search.BM25Options{Lexicon: lexicon}.Index
	}
	return indexes, nil
}

// readLexicon reads the file of -lexicon.
func (c *command) readLexicon(ctx context.Context) (*search.Lexicon, error) {
	text, err := await(ctx, func() ([]byte, error) {
		file, err := os.Open(c.lexicon)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return io.ReadAll(io.LimitReader(file, search.MaxLexiconBytes+1))
	})
	if err != nil {
		return nil, err
	}
	lexicon, err := search.ParseLexicon(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %s", c.lexicon, strings.ReplaceAll(err.Error(), "toolsearch: ", ""))
	}
	return lexicon, nil
}

func indexer(name string) (search.Indexer, error) {
	for _, s := range searchers {
		if s.name == name {
			return s.index, nil
		}
	}
	names := searcherNames()
	return nil, wrongUsage("no searcher %q; %s", name, near(name, names))
}

// near suggests the name that is nearest to a mistyped name, or lists all.
func near(typed string, names []string) string {
	if name := nearest(typed, names); name != "" {
		return fmt.Sprintf("did you mean %s?", name)
	}
	return "want " + strings.Join(names, ", ")
}

// nearest returns the name that is nearest to a mistyped name, or "" if none is near.
func nearest(typed string, names []string) string {
	for most := 1; most <= min(2, len(typed)/2); most++ {
		for _, name := range names {
			if naming.Edits([]byte(typed), []byte(name), most) <= most {
				return name
			}
		}
	}
	for _, name := range names {
		if len(typed) > 1 && strings.HasPrefix(name, typed) {
			return name
		}
	}
	return ""
}

// nearFlag adds near names to the error of a flag that the command does not have.
func (c *command) nearFlag(err error) error {
	const unknown = "flag provided but not defined: "
	flag, ok := strings.CutPrefix(err.Error(), unknown)
	if !ok {
		return err
	}
	name := "-" + strings.TrimLeft(flag, "-")
	return fmt.Errorf("no flag %s; %s", oneLine(flag, 60), near(name, flagNames(c.name)))
}

// version prints what the program was built from.
func (c *command) version() error {
	version, revision := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " " + s.Value
			}
		}
	}
	_, err := fmt.Fprintf(c.out, "toolsearch %s%s, %s %s/%s\n", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

func (c *command) queries(ctx context.Context, path string) ([]eval.Query, error) {
	file, data, err := c.readFile(ctx, path)
	if err != nil {
		return nil, err
	}
	return await(ctx, func() ([]eval.Query, error) { return eval.ReadQueries(bytes.NewReader(data), file) })
}
