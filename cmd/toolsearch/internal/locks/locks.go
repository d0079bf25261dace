// Package locks is the commands lock, verify, diff and approve, over a lock file of package lock.
package locks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/catalog"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/lock"
	"github.com/eino-toolsearch/toolsearch/search"
)

const (
	namespaces = `
A tool's namespace is its server's name in mcp.json, or the "server" of its line, or what
its name says: server__tool.
`
	flagsHelp = `	-file FILE       the lock file (` + lock.FileName + `)
	-namespace NAME  the namespace of tools whose CATALOG names no server; with it,
	                 approved tools of other namespaces are not missing
` + catalog.FlagsHelp
	jsonHelp = "\t-json            print JSON, with the texts before and after\n"
)

// The help texts of the four commands.
var (
	LockHelp = catalog.HelpOf("lock [flags] CATALOG", `
Writes a lock file: the definitions of all tools, with the hashes by which a program
recognizes them (package lock). Read the tools first: the warnings of package lock are
printed. An existing file is left alone; approve adds to it.
`, namespaces, flagsHelp, `
	toolsearch lock tools.jsonl
	toolsearch lock mcp.json
	toolsearch lock -namespace github -- ./github-mcp-server stdio
`, "0 all tools are locked, 1 some cannot be, 2 a mistake")

	VerifyHelp = catalog.HelpOf("verify [flags] CATALOG", `
Compares a catalog with the lock file: lists tools that are new, changed, missing or
impossible to lock, and new tools that copy an approved tool.
`, namespaces, flagsHelp+jsonHelp, `
	toolsearch verify mcp.json
	toolsearch verify -namespace github -- ./github-mcp-server stdio
`, "0 all is as approved, 1 something is not, 2 a mistake")

	DiffHelp = catalog.HelpOf("diff [flags] CATALOG", `
Does what verify does, and shows what changed: "-" before the approved text, "+" before
the present text. Hidden characters are shown as escapes. Warnings are those of inspect.
`, namespaces, flagsHelp+jsonHelp, `
	toolsearch diff mcp.json
	toolsearch diff -namespace github -- ./github-mcp-server stdio
`, "0 all is as approved, 1 something is not, 2 a mistake")

	ApproveHelp = catalog.HelpOf("approve [flags] CATALOG TOOL...", `
Puts the present definitions into the lock file, and prints what it approved, as diff
does. TOOL is a name, or namespace:name. A server may answer diff and approve
differently: what approve prints is what the file has.
`, namespaces, flagsHelp+`	-all             approve all new and changed tools, copies too
	-prune           drop approved tools that CATALOG does not have
`, `
	toolsearch approve mcp.json send_mail github:create_issue
	toolsearch approve -namespace github create_issue -- ./github-mcp-server stdio
	toolsearch approve -all -prune -namespace github -- ./github-mcp-server stdio
`, "0 done, 1 a tool cannot be locked, 2 a mistake")
)

// A command is one of the four commands with its flags.
type command struct {
	*catalog.Reader
	path, namespace  string
	all, prune, json bool

	file     *lock.File
	docs     []search.Document // of the catalog, those that can be locked
	findings []lock.Finding
	warnings map[lock.ID][]lock.Finding
}

// Locked runs one of the four commands.
func Locked(ctx context.Context, call *cli.Call, args []string) int {
	reader, flags := catalog.NewReader(call)
	c, most := &command{Reader: reader}, 0
	flags.StringVar(&c.path, "file", lock.FileName, "")
	flags.StringVar(&c.namespace, "namespace", "", "")
	switch c.Name {
	case "approve":
		most = math.MaxInt
		flags.BoolVar(&c.all, "all", false, "")
		flags.BoolVar(&c.prune, "prune", false, "")
	case "verify", "diff":
		flags.BoolVar(&c.json, "json", false, "")
	}
	named := c.Parse(flags, args, 0, most, "CATALOG, or -- and the command that starts a server")
	if c.Name == "approve" && len(named) == 0 && !c.all && !c.prune {
		c.WrongUsage("want the names of tools, -all or -prune")
	}
	var err error
	c.file, err = lock.ReadFile(c.path)
	switch {
	case c.Name == "lock" && err == nil:
		err = errThere(c.path)
	case c.Name == "lock" && errors.Is(err, fs.ErrNotExist):
		c.file, err = &lock.File{}, nil
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("no lock file %s; toolsearch lock writes it", c.path)
	}
	cli.Check(err)
	tools := c.Load(ctx).Tools
	cli.Await(ctx, c.Call, "comparing "+cli.Plural(len(tools), "tool"), func() (any, error) {
		c.compare(tools)
		return nil, nil
	})
	switch c.Name {
	case "lock":
		return c.lockAll()
	case "approve":
		return c.approve(named)
	}
	return c.verify(c.Name == "diff")
}

func errThere(path string) error { return fmt.Errorf("%s is there already; approve adds to it", path) }

// compare compares tools with the lock file.
func (c *command) compare(tools []catalog.Definition) {
	for i := range tools {
		if tools[i].Server == "" {
			tools[i].Server = c.namespace
		}
	}
	docs, wrong := catalog.Documents(tools)
	c.warnings = make(map[lock.ID][]lock.Finding)
	for i, doc := range docs {
		if err := wrong[i]; err != nil {
			c.findings = append(c.findings, lock.Finding{Kind: lock.Refused, ID: idOf(doc), Reason: err.Error()})
		} else {
			c.docs = append(c.docs, doc)
		}
	}
	c.findings = append(c.findings, slices.DeleteFunc(c.file.Verify(c.docs), func(f lock.Finding) bool {
		isRefused := slices.ContainsFunc(c.findings, func(r lock.Finding) bool { return r.ID == f.ID })
		return f.Kind == lock.Missing && (isRefused || c.namespace != "" && f.Namespace != c.namespace)
	})...)
	for _, w := range lock.Lint(docs) {
		c.warnings[w.ID] = append(c.warnings[w.ID], w)
	}
	c.docs = slices.DeleteFunc(c.docs, func(doc search.Document) bool { return new(lock.File).Approve(doc) != nil })
}

func idOf(doc search.Document) lock.ID { return lock.ID{Namespace: doc.Namespace, Name: doc.Name} }

// print prints a finding, with what it changes where texts is set.
func (c *command) print(f lock.Finding, texts bool) {
	fmt.Fprintln(c.Out, c.Paint(cli.Bad, f.String()))
	if !texts {
		return
	}
	for line := range strings.Lines(f.Diff()) {
		s := cli.Dim
		if strings.HasPrefix(line, " ") {
			s = cli.Plain
		}
		fmt.Fprintf(c.Out, "  %s\n", c.Paint(s, strings.TrimSuffix(line, "\n")))
	}
	c.warn(f.ID)
}

// warn prints what Lint says of a tool.
func (c *command) warn(id lock.ID) {
	for _, w := range c.warnings[id] {
		fmt.Fprintf(c.Out, "  %s\n", c.Paint(cli.Bad, fmt.Sprintf("warning: %s in %s", w.Kind, w.Reason)))
	}
}

func (c *command) verify(texts bool) int {
	code := cli.FoundIf(len(c.findings) == 0)
	if c.json {
		c.PrintJSON(struct {
			File     string         `json:"file"`
			Tools    int            `json:"tools"`
			Findings []lock.Finding `json:"findings"`
		}{c.path, len(c.docs), append([]lock.Finding{}, c.findings...)})
		return code
	}
	for _, f := range c.findings {
		c.print(f, texts)
	}
	if len(c.findings) == 0 {
		fmt.Fprintf(c.Out, "%s, as %s has them\n", cli.Plural(len(c.docs), "tool"), c.path)
	}
	return code
}

// write writes the lock file and reports the tools that cannot be in it.
func (c *command) write() int {
	cli.Check(c.file.WriteFile(c.path))
	code := cli.Found
	for _, f := range c.findings {
		if f.Kind == lock.Refused {
			fmt.Fprintln(c.Stderr, f)
			code = cli.Nothing
		}
	}
	fmt.Fprintf(c.Out, "%s: %s\n", c.path, cli.Plural(len(c.file.IDs()), "tool"))
	return code
}

func (c *command) lockAll() int {
	cli.Check(c.file.Approve(c.docs...))
	for _, id := range c.file.IDs() {
		if len(c.warnings[id]) > 0 {
			fmt.Fprintln(c.Out, id)
			c.warn(id)
		}
	}
	if _, err := os.Stat(c.path); err == nil { // another program may have written the file meanwhile
		cli.Check(errThere(c.path))
	}
	return c.write()
}

func (c *command) approve(named []string) int {
	chosen := make(map[lock.ID]bool)
	for _, name := range named {
		chosen[cli.Must(c.find(name))] = true
	}
	docs := slices.DeleteFunc(slices.Clone(c.docs), func(doc search.Document) bool { return !c.all && !chosen[idOf(doc)] })
	cli.Check(c.file.Approve(docs...))
	for _, f := range c.findings {
		switch {
		case f.Kind == lock.Missing && c.prune:
			c.file.Remove(f.ID)
			fmt.Fprintf(c.Out, "dropped %v\n", f.ID)
		case f.Kind != lock.Missing && f.Kind != lock.Refused && (c.all || chosen[f.ID]):
			fmt.Fprint(c.Out, "approved ")
			c.print(f, true)
		}
	}
	c.findings = slices.DeleteFunc(c.findings, func(f lock.Finding) bool { return !c.all && !chosen[f.ID] })
	return c.write()
}

// find returns the tool that is called name or namespace:name.
func (c *command) find(name string) (lock.ID, error) {
	var named []lock.ID
	all := cli.Each(c.docs, idOf)
	for _, f := range c.findings {
		if f.Kind == lock.Refused {
			all = append(all, f.ID)
		}
	}
	var names, list []string
	for _, id := range all {
		names = append(names, id.Name)
		if (name == id.Name || name == id.Namespace+":"+id.Name) && !slices.Contains(named, id) {
			named, list = append(named, id), append(list, id.String())
		}
	}
	shown := cli.OneLine(name, 100)
	switch other := cli.Nearest(name, names); {
	case len(named) == 1:
		return named[0], nil
	case len(named) > 1:
		return lock.ID{}, fmt.Errorf("%s is the name of several tools (%s); write namespace:%[1]s", shown, strings.Join(list, ", "))
	case other != "":
		return lock.ID{}, fmt.Errorf("the catalog has no tool named %s; did you mean %s?", shown, cli.OneLine(other, 100))
	}
	return lock.ID{}, fmt.Errorf("the catalog has no tool named %s", shown)
}
