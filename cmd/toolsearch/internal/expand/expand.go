// Package expand is the command expand: it keeps a file of questions that people would ask for each tool, has a model
// write those that are missing (write.go), and checks them.
package expand

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/catalog"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Help is the help text of the command expand.
var Help = catalog.HelpOf("expand [flags] CATALOG", `
Keeps a file of questions that people would ask for each tool, and checks it. Searchers
read them as hints, so that a terse tool is found by words that its definition lacks.
toolsearch eval -hints says for which servers that pays.

A line is {"server", "name", "about", "questions"}, with two questions for you to write. A
line {"server": ..., "skip": true} leaves a server out. When the command runs again, it
adds new tools and keeps what is written.
`, "", `	-o FILE          the file (expansions.jsonl)
	-model NAME@URL  a model that writes the missing questions, at an address that speaks
	                 OpenAI's protocol; you see the cost, and are asked first. Its key is
	                 in $TOOLSEARCH_MODEL_KEY. It is sent names and descriptions
	-log FILE        a recording: the model writes for the servers whose tools it calls
	-provider NAME   whose prices these are, as for cost; without it, the model's name says
	-prices FILE     a table of your own, as for cost
	-yes             does not ask
`+catalog.FlagsHelp, `
	toolsearch expand tools.jsonl
	toolsearch expand -model qwen3@http://localhost:8000/v1 tools.jsonl
	toolsearch eval -searcher bm25 -hints expansions.jsonl tools.jsonl queries.jsonl
`, "0 there is nothing to fix, 1 there is, 2 a mistake, or a model that does not answer")

const (
	perTool     = 2   // questions that a tool should have
	maxQuestion = 200 // characters
)

// A command is an expand with its flags.
type command struct {
	*catalog.Reader
	file, model, log, provider, prices string
	yes                                bool

	lines []eval.Expansion // of the file: of the catalog's tools in their order, then servers that are left out, and tools that are gone
	skips map[string]bool  // servers that are left out
}

// Expand runs the command.
func Expand(ctx context.Context, call *cli.Call, args []string) int {
	reader, flags := catalog.NewReader(call)
	c := &command{Reader: reader, skips: make(map[string]bool)}
	flags.StringVar(&c.file, "o", "expansions.jsonl", "")
	flags.StringVar(&c.model, "model", "", "")
	flags.StringVar(&c.log, "log", "", "")
	flags.StringVar(&c.provider, "provider", "", "")
	flags.StringVar(&c.prices, "prices", "", "")
	flags.BoolVar(&c.yes, "yes", false, "")
	c.Parse(flags, args, 0, 0, "CATALOG")
	if c.log != "" && c.model == "" {
		c.WrongUsage("-log is for -model")
	}
	tools := c.Catalog(ctx)
	c.read(ctx, tools)
	c.save()
	if c.model != "" {
		c.write(ctx, tools)
	}
	hints := eval.Hints(c.lines)
	findings := c.check(ctx, tools, hints)
	var t cli.Table
	t.Row("server", "tool", "to fix")
	for _, f := range findings {
		t.Row(cli.OneLine(f.Server, 40), cli.OneLine(f.Name, 64), cli.OneLine(f.About, 300))
	}
	fmt.Fprintf(c.Out, "%s: %d of %s with questions, %d to fix\n", c.file, len(hints), cli.Plural(len(tools.Tools), "tool"), len(findings))
	if len(findings) > 0 {
		fmt.Fprintln(c.Out)
		c.Print(&t)
	}
	return cli.FoundIf(len(findings) == 0)
}

// read reads the file, if there is one, for the tools of the catalog.
func (c *command) read(ctx context.Context, tools *eval.Catalog) {
	var old []eval.Expansion
	if _, err := os.Stat(c.file); !errors.Is(err, fs.ErrNotExist) {
		_, data := c.ReadFile(ctx, c.file)
		old = cli.Must(eval.ReadExpansions(bytes.NewReader(data), c.file))
	}
	written := make(map[string][]string)
	for _, e := range old {
		written[e.Name], c.skips[e.Server] = e.Questions, c.skips[e.Server] || e.Skip
	}
	for _, info := range tools.Tools {
		c.lines = append(c.lines, eval.Expansion{Server: tools.Annotate(info).Namespace, Name: info.Name,
			About: naming.OneLine(info.Desc, 300), Questions: written[info.Name]})
		delete(written, info.Name)
	}
	for _, e := range old {
		if e.Skip || len(written[e.Name]) > 0 {
			c.lines = append(c.lines, e)
		}
	}
}

// save writes the file, whole.
func (c *command) save() {
	var text []byte
	for _, e := range c.lines {
		for !e.Skip && len(e.Questions) < perTool {
			e.Questions = append(slices.Clip(e.Questions), "")
		}
		text = append(text, cli.Line(e)...)
	}
	cli.Check(toolfile.Replace(c.file, cli.Visible(text), 0o644))
}

// check returns what is to be fixed: what About says, of Server or of the tool Name. The tools of a server need
// questions all or none: those with questions would be found in place of those without.
func (c *command) check(ctx context.Context, tools *eval.Catalog, hints map[string]string) (findings []eval.Expansion) {
	add := func(e eval.Expansion, format string, args ...any) {
		e.About = fmt.Sprintf(format, args...)
		findings = append(findings, e)
	}
	missing, counts := make(map[string][]string), make(map[string]int) // by server
	for _, e := range c.lines[:len(tools.Tools)] {
		if counts[e.Server]++; len(e.Questions) == 0 {
			missing[e.Server] = append(missing[e.Server], e.Name)
		}
	}
	for _, server := range slices.Sorted(maps.Keys(counts)) {
		if n := len(missing[server]); n > 0 && n < counts[server] && !c.skips[server] {
			add(eval.Expansion{Server: server}, "%d of %d tools have no questions: write them, or leave the server out (%s)",
				n, counts[server], cli.OneLine(strings.Join(missing[server], ", "), 120))
		}
	}
	for _, e := range c.lines[len(tools.Tools):] {
		if !e.Skip || counts[e.Server] == 0 {
			add(e, "the catalog has no such tool or server")
		}
	}
	hinted := cli.Must(tools.Compile(ctx, eval.Hinted(search.BM25, hints)))
	askedFor := make(map[string]string) // question -> tool
	for i, e := range c.lines[:len(tools.Tools)] {
		if c.skips[e.Server] {
			continue
		}
		for _, question := range e.Questions {
			other := askedFor[strings.ToLower(question)]
			askedFor[strings.ToLower(question)] = e.Name
			text := fault(question, e.Name+" "+tools.Tools[i].Desc)
			if other != "" {
				text = "is also a question of " + other
			} else if text == "" {
				found := cli.Must(hinted.Search(ctx, question, 1)).Matches
				if len(found) > 0 && found[0].Info.Name != e.Name {
					text = "finds " + found[0].Info.Name + " first"
				}
			}
			if text != "" {
				add(e, "%q %s", cli.OneLine(question, 80), text)
			}
		}
		c.Step("checking the questions", i+1, len(tools.Tools))
	}
	return findings
}

// fault says what is wrong with a question by itself, for a tool of that text; "" means nothing.
func fault(question, about string) string {
	switch n := utf8.RuneCountInString(question); {
	case n < 4 || n > maxQuestion:
		return fmt.Sprintf("has %d characters: want 4 to %d", n, maxQuestion)
	case scriptOf(question) != scriptOf(about):
		return "is in another language than the tool"
	}
	return ""
}

// scriptOf returns the script of most words of a text. A word has some five letters, and one of Han.
func scriptOf(text string) (most string) {
	weights := make(map[string]int)
	for _, name := range [...]string{"Latin", "Han", "Hangul", "Cyrillic", "Arabic"} {
		for _, r := range text {
			if unicode.Is(unicode.Scripts[name], r) {
				weights[name]++
			}
		}
		if name == "Han" {
			weights[name] *= 5
		}
		if weights[name] > weights[most] {
			most = name
		}
	}
	return most
}
