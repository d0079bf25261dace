package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/lock"
	"github.com/eino-toolsearch/toolsearch/search"
)

// The commands lock, verify, diff and approve, over a lock file of package lock.

const lockSource = catalogHelp + `
A tool's namespace is its server's name in mcp.json, or the "server" of its line, or what
its name says: server__tool.
`

const lockFlagsHelp = `	-file FILE       the lock file (` + lock.FileName + `)
	-namespace NAME  the namespace of tools whose CATALOG names no server; with it,
	                 approved tools of other namespaces are not missing
` + serverFlags

const (
	lockHelp = `toolsearch lock [flags] CATALOG

Writes a lock file: the definitions of all tools, with the hashes by which a program
recognizes them (package lock). Read the tools first: the warnings of package lock are
printed. An existing file is left alone; approve adds to it.

` + lockSource + `
Flags:

` + lockFlagsHelp + `
Examples:

	toolsearch lock tools.jsonl
	toolsearch lock mcp.json
	toolsearch lock -namespace github -- ./github-mcp-server stdio

Exit status: 0 all tools are locked, 1 some cannot be, 2 a mistake.
`
	verifyHelp = `toolsearch verify [flags] CATALOG

Compares a catalog with the lock file: lists tools that are new, changed, missing or
impossible to lock, and new tools that copy an approved tool.

` + lockSource + `
Flags:

` + lockFlagsHelp + `	-json            print JSON, with the texts before and after

Examples:

	toolsearch verify mcp.json
	toolsearch verify -namespace github -- ./github-mcp-server stdio

Exit status: 0 all is as approved, 1 something is not, 2 a mistake.
`
	diffHelp = `toolsearch diff [flags] CATALOG

Does what verify does, and shows what changed: "-" before the approved text, "+" before
the present text. Hidden characters are shown as escapes. Warnings are those of inspect.

` + lockSource + `
Flags:

` + lockFlagsHelp + `	-json            print JSON, with the texts before and after

Examples:

	toolsearch diff mcp.json
	toolsearch diff -namespace github -- ./github-mcp-server stdio

Exit status: 0 all is as approved, 1 something is not, 2 a mistake.
`
	approveHelp = `toolsearch approve [flags] CATALOG TOOL...

Puts the present definitions into the lock file, and prints what it approved, as diff
does. TOOL is a name, or namespace:name. A server may answer diff and approve
differently: what approve prints is what the file has.

` + lockSource + `
Flags:

` + lockFlagsHelp + `	-all             approve all new and changed tools, copies too
	-prune           drop approved tools that CATALOG does not have

Examples:

	toolsearch approve mcp.json send_mail github:create_issue
	toolsearch approve -namespace github create_issue -- ./github-mcp-server stdio
	toolsearch approve -all -prune -namespace github -- ./github-mcp-server stdio

Exit status: 0 done, 1 a tool cannot be locked, 2 a mistake.
`
)

// lockFlags are flags of these commands alone.
type lockFlags struct {
	file, namespace string
	all, prune      bool
}

func (c *command) setLockFlags() {
	c.flags.StringVar(&c.lock.file, "file", lock.FileName, "")
	c.flags.StringVar(&c.lock.namespace, "namespace", "", "")
	if c.name == "approve" {
		c.flags.BoolVar(&c.lock.all, "all", false, "")
		c.flags.BoolVar(&c.lock.prune, "prune", false, "")
	}
}

// locked runs one of the four commands.
func (c *command) locked(ctx context.Context, operands []string) (int, error) {
	from, named, ok := c.origin(operands)
	switch {
	case !ok || c.name != "approve" && len(named) > 0:
		return failed, wrongUsage(c.name+": want %s", "CATALOG, or -- and the command that starts a server")
	case c.name == "approve" && len(named) == 0 && !c.lock.all && !c.lock.prune:
		return failed, wrongUsage("approve: want the names of tools, -all or -prune")
	}
	file, err := lock.ReadFile(c.lock.file)
	switch {
	case c.name == "lock" && err == nil:
		return failed, fmt.Errorf("%s is there already; approve adds to it", c.lock.file)
	case c.name == "lock" && errors.Is(err, fs.ErrNotExist):
		file = &lock.File{}
	case errors.Is(err, fs.ErrNotExist):
		return failed, fmt.Errorf("no lock file %s; toolsearch lock writes it", c.lock.file)
	case err != nil:
		return failed, errors.New(strings.TrimPrefix(err.Error(), "lock: "))
	}
	read, err := c.load(ctx, from)
	if err != nil {
		return failed, err
	}
	done := c.waiting("comparing %s", plural(len(read.tools), "tool"))
	k, err := await(ctx, func() (*comparison, error) { return c.comparison(file, read.tools), nil })
	done()
	if err != nil {
		return failed, err
	}
	switch c.name {
	case "lock":
		return k.lockAll()
	case "approve":
		return k.approve(named)
	}
	return k.verify(c.name == "diff")
}

// A comparison is a catalog beside a lock file.
type comparison struct {
	*command
	file     *lock.File
	docs     []search.Document // that can be locked
	findings []lock.Finding
	warnings map[lock.ID][]lock.Warning
}

func (c *command) comparison(file *lock.File, tools []definition) *comparison {
	for i := range tools {
		if tools[i].Server == "" {
			tools[i].Server = c.lock.namespace
		}
	}
	docs, wrong := documentsOf(tools)
	k := &comparison{command: c, file: file, warnings: make(map[lock.ID][]lock.Warning)}
	for i, doc := range docs {
		if err := wrong[i]; err != nil {
			k.findings = append(k.findings, lock.Finding{Kind: lock.Refused, ID: idOf(doc), Reason: err.Error()})
		} else {
			k.docs = append(k.docs, doc)
		}
	}
	k.findings = append(k.findings, slices.DeleteFunc(file.Verify(k.docs), func(f lock.Finding) bool {
		isRefused := slices.ContainsFunc(k.findings, func(r lock.Finding) bool { return r.ID == f.ID })
		return f.Kind == lock.Missing && (isRefused || c.lock.namespace != "" && f.Namespace != c.lock.namespace)
	})...)
	for _, w := range lock.Lint(docs) {
		id := idOf(docs[w.Doc])
		k.warnings[id] = append(k.warnings[id], w)
	}
	k.docs = slices.DeleteFunc(k.docs, func(doc search.Document) bool { _, err := lock.Define(doc); return err != nil })
	return k
}

func idOf(doc search.Document) lock.ID { return lock.ID{Namespace: doc.Namespace, Name: doc.Name} }

// print prints a finding, with what it changes where texts is set.
func (k *comparison) print(f lock.Finding, texts bool) {
	fmt.Fprintln(k.out, k.paint(bad, f.String()))
	if !texts {
		return
	}
	for line := range strings.Lines(f.Diff()) {
		s := dim
		if strings.HasPrefix(line, " ") {
			s = plain
		}
		fmt.Fprintf(k.out, "  %s\n", k.paint(s, strings.TrimSuffix(line, "\n")))
	}
	k.warn(f.ID, "  ")
}

// warn prints what Lint says of a tool.
func (k *comparison) warn(id lock.ID, indent string) {
	for _, w := range k.warnings[id] {
		fmt.Fprintf(k.out, "%s%s\n", indent, k.paint(bad, fmt.Sprintf("warning: %s in %s: %s", w.Kind, w.Where, w.Text)))
	}
}

func (k *comparison) verify(texts bool) (int, error) {
	code := found
	if len(k.findings) > 0 {
		code = toFix
	}
	if k.json {
		return code, k.printJSON(struct {
			File     string         `json:"file"`
			Tools    int            `json:"tools"`
			Findings []lock.Finding `json:"findings"`
		}{k.lock.file, len(k.docs), append([]lock.Finding{}, k.findings...)})
	}
	for _, f := range k.findings {
		k.print(f, texts)
	}
	if len(k.findings) == 0 {
		fmt.Fprintf(k.out, "%s, as %s has them\n", plural(len(k.docs), "tool"), k.lock.file)
	}
	return code, nil
}

// write writes the lock file and reports the tools that cannot be in it.
func (k *comparison) write() (int, error) {
	if err := k.file.WriteFile(k.lock.file); err != nil {
		return failed, errors.New(strings.TrimPrefix(err.Error(), "lock: "))
	}
	code := found
	for _, f := range k.findings {
		if f.Kind == lock.Refused {
			fmt.Fprintln(k.stderr, f)
			code = toFix
		}
	}
	fmt.Fprintf(k.out, "%s: %s\n", k.lock.file, plural(len(k.file.Definitions()), "tool"))
	return code, nil
}

func (k *comparison) lockAll() (int, error) {
	if err := k.file.Approve(k.docs...); err != nil {
		return failed, errors.New(strings.TrimPrefix(err.Error(), "lock: "))
	}
	for _, d := range k.file.Definitions() {
		if len(k.warnings[d.ID]) > 0 {
			fmt.Fprintln(k.out, d.ID)
			k.warn(d.ID, "  ")
		}
	}
	// Another program may have written the file meanwhile.
	if _, err := os.Stat(k.lock.file); err == nil {
		return failed, fmt.Errorf("%s is there already; approve adds to it", k.lock.file)
	}
	return k.write()
}

func (k *comparison) approve(named []string) (int, error) {
	chosen := make(map[lock.ID]bool)
	for _, name := range named {
		id, err := k.find(name)
		if err != nil {
			return failed, err
		}
		chosen[id] = true
	}
	docs := slices.DeleteFunc(slices.Clone(k.docs), func(doc search.Document) bool { return !k.lock.all && !chosen[idOf(doc)] })
	if err := k.file.Approve(docs...); err != nil {
		return failed, errors.New(strings.TrimPrefix(err.Error(), "lock: "))
	}
	for _, f := range k.findings {
		switch {
		case f.Kind == lock.Missing && k.lock.prune:
			k.file.Remove(f.ID)
			fmt.Fprintf(k.out, "dropped %v\n", f.ID)
		case f.Kind != lock.Missing && f.Kind != lock.Refused && (k.lock.all || chosen[f.ID]):
			fmt.Fprint(k.out, "approved ")
			k.print(f, true)
		}
	}
	k.findings = slices.DeleteFunc(k.findings, func(f lock.Finding) bool { return !k.lock.all && !chosen[f.ID] })
	return k.write()
}

// find returns the tool that is called name or namespace:name.
func (k *comparison) find(name string) (lock.ID, error) {
	var ids []lock.ID
	var names []string
	add := func(id lock.ID) {
		names = append(names, id.Name)
		if (name == id.Name || name == id.Namespace+":"+id.Name) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, doc := range k.docs {
		add(idOf(doc))
	}
	for _, f := range k.findings {
		if f.Kind == lock.Refused {
			add(f.ID)
		}
	}
	switch len(ids) {
	case 1:
		return ids[0], nil
	case 0:
		text := "the catalog has no tool named " + oneLine(name, 100)
		if other := nearest(name, names); other != "" {
			text += "; did you mean " + oneLine(other, 100) + "?"
		}
		return lock.ID{}, errors.New(text)
	}
	var list []string
	for _, id := range ids {
		list = append(list, id.String())
	}
	return lock.ID{}, fmt.Errorf("%s is the name of several tools (%s); write namespace:%[1]s", oneLine(name, 100), strings.Join(list, ", "))
}
