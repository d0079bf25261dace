package toolsearch_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	godoc "go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var updateAPI = flag.Bool("update-api", false, "rewrite api.txt")

// publicPackages are the folders of the root module that others may import.
var publicPackages = []string{".", "search", "toolsearchtest", "eval"}

// readPackage parses the files of a folder that are not tests.
func readPackage(t *testing.T, dir string) (*token.FileSet, *godoc.Package) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	fset, files := token.NewFileSet(), []*ast.File(nil)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		require.NoError(t, err)
		files = append(files, file)
	}
	pkg, err := godoc.NewFromFiles(fset, files, "github.com/eino-toolsearch/toolsearch/"+dir)
	require.NoError(t, err)
	return fset, pkg
}

// Whatever can be used is described where it is declared: packages, types, functions and
// methods; fields and constants by themselves or by the comment over their group.
func TestEveryExportedNameIsDocumented(t *testing.T) {
	for _, dir := range publicPackages {
		fset, pkg := readPackage(t, dir)
		var undocumented []string
		missing := func(node ast.Node, name string) {
			undocumented = append(undocumented, fmt.Sprintf("%s: %s", fset.Position(node.Pos()), name))
		}
		assert.NotEmpty(t, pkg.Doc, "the doc comment of package %s", pkg.Name)
		values, funcs := slices.Concat(pkg.Consts, pkg.Vars), slices.Clone(pkg.Funcs)
		for _, typ := range pkg.Types {
			values = slices.Concat(values, typ.Consts, typ.Vars)
			funcs = slices.Concat(funcs, typ.Funcs, typ.Methods)
			if typ.Doc == "" {
				missing(typ.Decl, typ.Name)
			}
			for _, field := range undocumentedFields(fset, typ) {
				missing(field, typ.Name+"."+field.Name)
			}
		}
		for _, f := range funcs {
			if f.Doc == "" {
				missing(f.Decl, f.Name)
			}
		}
		for _, v := range values {
			for _, spec := range v.Decl.Specs {
				if s := spec.(*ast.ValueSpec); v.Doc == "" && s.Doc == nil && s.Comment == nil && !selfEvident[v.Names[0]] {
					missing(s, s.Names[0].Name)
				}
			}
		}
		assert.Empty(t, undocumented, "package %s: names without a doc comment", pkg.Name)
	}
}

// selfEvident are first constants of groups whose names say it all.
var selfEvident = map[string]bool{"English": true}

// selfEvidentFields are fields whose name and type, with the doc of the struct, say it all.
var selfEvidentFields = map[string]bool{
	"Document.Name": true, "Document.Description": true, "Parameter.Description": true,
	"Call.Name": true, "Call.Arguments": true, "Call.ID": true,
	"Message.Role": true, "Message.Extra": true, "Request.Messages": true, "Request.Streaming": true,
	"Turn.Text": true, "Turn.Calls": true,
	"Catalog.Tools": true, "Estimate.Value": true, "Estimate.Low": true, "Estimate.High": true,
	"Query.ID": true, "Query.Text": true, "Query.Line": true, "Options.Seed": true, "QueryResult.Query": true,
}

// undocumentedFields are the exported fields with neither a comment of their own nor one
// over the block of lines that they stand in.
func undocumentedFields(fset *token.FileSet, typ *godoc.Type) (names []*ast.Ident) {
	body, ok := typ.Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType)
	if !ok {
		return nil
	}
	covered, last := false, 0
	for _, field := range body.Fields.List {
		covered = field.Doc != nil || covered && fset.Position(field.Pos()).Line == last+1
		last = fset.Position(field.End()).Line
		for _, name := range field.Names {
			if name.IsExported() && !covered && field.Comment == nil && !selfEvidentFields[typ.Name+"."+name.Name] {
				names = append(names, name)
			}
		}
	}
	return names
}

// alignment is what gofmt puts between the columns of a struct, which depends on the
// longest name and would show a new one as a change of all.
var alignment = regexp.MustCompile(`(\S)[\t ]+`)

// api writes what a package exports, a declaration after the other, without comments.
func api(t *testing.T, dir string) string {
	fset, pkg := readPackage(t, dir)
	var list []string
	add := func(decl ast.Decl) {
		var text bytes.Buffer
		require.NoError(t, printer.Fprint(&text, fset, decl))
		list = append(list, alignment.ReplaceAllString(text.String(), "$1 "))
	}
	addAll := func(values []*godoc.Value, funcs []*godoc.Func) {
		for _, v := range values {
			v.Decl.Doc = nil
			add(withoutComments(v.Decl))
		}
		for _, f := range funcs {
			f.Decl.Doc, f.Decl.Body = nil, nil
			add(f.Decl)
		}
	}
	addAll(slices.Concat(pkg.Consts, pkg.Vars), pkg.Funcs)
	for _, typ := range pkg.Types {
		add(withoutComments(typ.Decl))
		addAll(slices.Concat(typ.Consts, typ.Vars), slices.Concat(typ.Funcs, typ.Methods))
	}
	return "package " + pkg.Name + "\n\n" + strings.Join(list, "\n")
}

// withoutComments drops comments, which are free to change. Unexported fields and values
// are dropped already, by package doc.
func withoutComments(decl *ast.GenDecl) *ast.GenDecl {
	ast.Inspect(decl, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.GenDecl:
			n.Doc = nil
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		case *ast.ValueSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		}
		return true
	})
	return decl
}

// A change of what others can compile against shows in review as a change of api.txt.
func TestAPI(t *testing.T) {
	var all []string
	for _, dir := range publicPackages {
		all = append(all, api(t, dir))
	}
	got := "// What can be imported. Written by: go test -run '^TestAPI$' -update-api .\n\n" + strings.Join(all, "\n\n") + "\n"
	if *updateAPI {
		require.NoError(t, os.WriteFile("api.txt", []byte(got), 0o644))
	}
	want, err := os.ReadFile("api.txt")
	require.NoError(t, err)
	is, was := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	assert.Empty(t, linesBeyond(is, was), "new lines")
	assert.Empty(t, linesBeyond(was, is), "lines that are gone")
	// Equal would print both texts from beginning to end.
	assert.True(t, got == string(want), "the API is not what api.txt says; if that is meant, see its first line and CONTRIBUTING.md")
}

// linesBeyond returns the lines that do not stand among the known ones.
func linesBeyond(lines, known []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(known, line) })
}

// modulesOf lists the modules of the packages that the given ones are built from.
func modulesOf(t *testing.T, packages ...string) map[string]bool {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}, packages...)...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	require.NoError(t, err, "%v", command)
	modules := map[string]bool{}
	for _, module := range strings.Fields(string(out)) {
		modules[module] = true
	}
	return modules
}

// Importing this package costs a program three modules beyond what Eino's ADK costs it,
// and docs/dependencies.md names each with its licence.
func TestDependencies(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	ours, einos := modulesOf(t, "."), modulesOf(t, "github.com/cloudwego/eino/adk")
	delete(ours, "github.com/eino-toolsearch/toolsearch")
	text, err := os.ReadFile("docs/dependencies.md")
	require.NoError(t, err)
	direct, rest, found := strings.Cut(string(text), "\n## Through Eino\n")
	require.True(t, found, "docs/dependencies.md has no section on what comes through Eino")
	beyond := map[string]bool{}
	for module := range ours {
		if !einos[module] {
			beyond[module] = true
		}
	}
	for _, c := range []struct {
		section string
		want    map[string]bool
	}{{direct, beyond}, {rest, einos}} {
		assert.Equal(t, slices.Sorted(maps.Keys(c.want)), listedModules(c.section), "the modules that are built in, and those that docs/dependencies.md lists")
	}
}

// listedModules reads the modules of a table whose rows begin with a name in backquotes.
func listedModules(section string) (modules []string) {
	for line := range strings.Lines(section) {
		if name, found := strings.CutPrefix(line, "| `"); found {
			name, _, _ = strings.Cut(name, "`")
			modules = append(modules, name)
		}
	}
	slices.Sort(modules)
	return modules
}

// importRules say what of this project the packages in a folder may import, tests excluded. A
// "..." stands for the folder and those in it, "leaves" for the packages of internal that are
// built into programs. The rule of the longest folder counts.
var importRules = map[string]string{
	".":                  "search leaves",
	"search":             "leaves",
	"internal/...":       "leaves",
	"internal/testtools": ". search leaves",                             // for tests
	"internal/readme":    ". search leaves toolsearchtest examples/...", // for docs
	"toolsearchtest":     ". search",
	"eval/...":           ". search eval/...",
	"cmd/...":            ". search eval/...",
	"benchmarks/...":     ". search eval/... examples/... benchmarks/...",
	"nativetest/...":     "nativetest/...",
	"examples/...":       ". search eval/... toolsearchtest examples/...",
}

// covers reports whether a word of a rule stands for a folder.
func covers(word, folder string) bool {
	if word == "leaves" {
		return strings.HasPrefix(folder, "internal/") && folder != "internal/testtools" && folder != "internal/readme"
	}
	within, all := strings.CutSuffix(word, "/...")
	return folder == within || all && strings.HasPrefix(folder, within+"/")
}

// Arrows point one way: root, search, leaves. What is for users of the library, or for its
// docs, imports those; only programs import package eval, and nothing imports a program.
func TestDirectionOfImports(t *testing.T) {
	const module = "github.com/eino-toolsearch/toolsearch"
	arrows := 0
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder, rule := filepath.ToSlash(filepath.Dir(path)), ""
		for word := range importRules {
			if covers(word, folder) && len(word) > len(rule) {
				rule = word
			}
		}
		if !assert.NotEmpty(t, rule, "importRules has nothing for %s, which is in a new folder", path) {
			return nil
		}
		for _, spec := range file.Imports {
			imported := strings.Trim(spec.Path.Value, `"`)
			if imported != module && !strings.HasPrefix(imported, module+"/") {
				continue
			}
			arrows++
			target := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
			if target == "" {
				target = "."
			}
			allowed := slices.ContainsFunc(strings.Fields(importRules[rule]), func(word string) bool { return covers(word, target) })
			assert.True(t, allowed, "%s imports %s; packages of %s may import: %s", path, target, rule, importRules[rule])
		}
		return nil
	})
	require.NoError(t, err)
	assert.Greater(t, arrows, 100, "the imports that were looked at")
}
