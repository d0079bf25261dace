// Command toolsearch searches a catalog of tools the way an agent's tool_search does. It also
// explains a score, measures how well a searcher finds what it should, lists what to fix in a
// catalog or in a live MCP server, computes what conversations over a catalog cost, and locks the
// definitions that somebody approved. Each command is a package of the folder internal.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/catalog"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/costs"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/evaluate"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/expand"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/inspect"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/locks"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/searchers"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/trial"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/ui"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
)

// commands are the commands in the order of their help. Those without run are main's own.
var commands = []struct {
	name string
	run  func(ctx context.Context, call *cli.Call, args []string) (code int)
	help string
}{
	{"search", searchers.Search, searchers.SearchHelp},
	{"explain", searchers.Explain, searchers.ExplainHelp},
	{"eval", evaluate.Eval, evaluate.Help},
	{"inspect", inspect.Inspect, inspect.Help},
	{"cost", costs.Cost, costs.Help},
	{"trial", tried, trial.Help},
	{"expand", expand.Expand, expand.Help},
	{"list", catalog.List, catalog.ListHelp},
	{"ui", ui.Show, ui.Help},
	{"lock", locks.Locked, locks.LockHelp},
	{"verify", locks.Locked, locks.VerifyHelp},
	{"diff", locks.Locked, locks.DiffHelp},
	{"approve", locks.Locked, locks.ApproveHelp},
	{"version", nil, programHelp},
	{"help", nil, programHelp},
}

// tried is the command trial without adapters.
func tried(ctx context.Context, call *cli.Call, args []string) int {
	return trial.Trial(ctx, call, args, nil)
}

func main() { cli.Main(run) }

// run is main without global state.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return cli.Program("toolsearch", stdin, stdout, stderr, func(call *cli.Call) (int, error) { return dispatch(ctx, call, args) })
}

// dispatch runs the command that the first argument names.
func dispatch(ctx context.Context, call *cli.Call, args []string) (int, error) {
	helps := make(map[string]string)
	var names []string
	for _, c := range commands {
		names, helps[c.name] = append(names, c.name), c.help
	}
	if len(args) == 0 {
		return cli.Failed, &cli.UsageError{Text: "no command; want " + strings.Join(names, ", ")}
	}
	call.Name = args[0]
	topic := call.Name
	switch call.Name {
	case "help", "-h", "-help", "--help":
		topic = strings.Join(args[1:], " ")
		if text := cmp.Or(helps[topic], programHelp); topic == "" || helps[topic] != "" {
			return cli.Found, help(call.Out, text)
		}
	case "version", "-version", "--version":
		return cli.Found, version(call.Out)
	}
	for _, c := range commands {
		if c.name != topic || c.run == nil {
			continue
		}
		code, err := cli.Run(func() int { return c.run(ctx, call, args[1:]) })
		if errors.Is(err, flag.ErrHelp) {
			return cli.Found, help(call.Out, c.help)
		}
		return code, err
	}
	return cli.Failed, &cli.UsageError{Text: fmt.Sprintf("no command %q; %s", cli.OneLine(topic, 60), cli.Near(topic, names))}
}

// version prints what the program was built from.
func version(out io.Writer) error {
	version, revision := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " " + s.Value
			}
		}
	}
	_, err := fmt.Fprintf(out, "toolsearch %s%s, %s %s/%s\n", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// help prints a help text. "{searchers}" stands for the list of searchers, "{providers}" for the
// names of providers.
func help(out io.Writer, text string) error {
	var list strings.Builder
	for _, s := range searchers.Menu {
		fmt.Fprintf(&list, "\t%-15s  %s\n", s.Name, s.About)
	}
	providers := strings.Join(costs.Names(cost.Providers()), ", ")
	_, err := strings.NewReplacer("{searchers}", list.String(), "{providers}", providers).WriteString(out, text)
	return err
}

const programHelp = `toolsearch searches a catalog of tools the way an agent's tool_search does.

Usage:

	toolsearch search  [flags] CATALOG QUERY...       find tools
	toolsearch explain [flags] CATALOG QUERY TOOL     show what a score is made of
	toolsearch eval    [flags] CATALOG QUERIES        measure a searcher, compare two
	toolsearch inspect [flags] CATALOG                see what to fix in a catalog
	toolsearch cost    [flags] CATALOG                see what conversations cost
	toolsearch trial   [flags] CATALOG                play tasks with your own model
	toolsearch expand  [flags] CATALOG                keep questions that tools are found by
	toolsearch list    [flags] CATALOG                write the tools as JSONL
	toolsearch ui      [flags] CATALOG                see all of it on a page
	toolsearch lock    [flags] CATALOG                write a lock file of all definitions
	toolsearch verify  [flags] CATALOG                list what is not as approved
	toolsearch diff    [flags] CATALOG                show what changed
	toolsearch approve [flags] CATALOG TOOL...        approve definitions as they are now
	toolsearch version                                print what this was built from

"toolsearch COMMAND -h" shows a command's flags and examples. Flags may stand
anywhere before "--". Output has color on a terminal unless NO_COLOR is set.

` + catalog.Help + `
Commands, including those in a file of servers, run with your rights and your
environment, so start only what you trust. They are stopped when their tools are known.
A server that sends more than 32 MiB or has more than 10,000 tools is an error.

Searchers, for -searcher:

{searchers}
Emulated searchers follow the public documentation of a service, which leaves gaps:
cmd/toolsearch/README.md says what is assumed.

embedding and hybrid need -embed URL, an endpoint that speaks OpenAI's protocol, and -model
NAME. It is sent the texts of tools and queries. Its key, if it needs one, is in the
variable TOOLSEARCH_EMBED_KEY. Vectors are kept in your cache folder.

Exit status:

	0  something was found; the evaluation was made; there is nothing to fix
	1  nothing was found; the explained tool does not match; the evaluation fell short;
	   there is something to fix; a tool is not as approved
	2  wrong usage, an unreadable file, a server that does not answer
`
