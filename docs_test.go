package toolsearch_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	godoc "go/doc"
	"go/importer"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"io"
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

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

var updateAPI = flag.Bool("update-api", false, "rewrite api.txt")

// publicPackages are the folders of the root module that others may import.
var publicPackages = []string{".", "search", "lock", "toolsearchtest", "eval", "mcp"}

// nestedPackages are the folders of nested modules that others may import.
var nestedPackages = []string{"otel"}

// parseFiles parses the files of a folder that are not tests.
func parseFiles(t *testing.T, dir string, mode parser.Mode) (*token.FileSet, []*ast.File) {
	t.Helper()
	paths := testtools.Must(filepath.Glob(filepath.Join(dir, "*.go")))(t)
	fset, files := token.NewFileSet(), []*ast.File(nil)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file := testtools.Must(parser.ParseFile(fset, path, nil, mode))(t)
		files = append(files, file)
	}
	return fset, files
}

// readPackage reads the docs of a folder.
func readPackage(t *testing.T, dir string, mode parser.Mode) (*token.FileSet, *godoc.Package) {
	t.Helper()
	fset, files := parseFiles(t, dir, mode)
	pkg := testtools.Must(godoc.NewFromFiles(fset, files, "github.com/eino-toolsearch/toolsearch/"+dir))(t)
	return fset, pkg
}

// Every exported name has a doc comment: packages, types, functions and methods. Fields and
// constants have a comment of their own or a comment over their group.
func TestEveryExportedNameIsDocumented(t *testing.T) {
	for _, dir := range slices.Concat(publicPackages, nestedPackages) {
		fset, pkg := readPackage(t, dir, parser.ParseComments)
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

// selfEvident are first constants of groups that need no comment.
var selfEvident = map[string]bool{"English": true}

// selfEvidentFields are fields that need no comment beside the doc of their struct.
var selfEvidentFields = map[string]bool{
	"Document.Name": true, "Document.Description": true, "Parameter.Description": true,
	"Call.Name": true, "Call.Arguments": true, "Call.ID": true,
	"Message.Role": true, "Message.Extra": true, "Request.Messages": true, "Request.Streaming": true,
	"Turn.Text": true, "Turn.Calls": true,
	"Catalog.Tools": true, "Estimate.Value": true, "Estimate.Low": true, "Estimate.High": true,
	"Query.ID": true, "Query.Text": true, "Options.Seed": true,
}

// undocumentedFields returns the exported fields that have neither a comment of their own nor a
// comment over their block of lines.
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

// alignment matches the space that gofmt puts between the columns of a struct. The space depends
// on the longest name, so a new field could change every line.
var alignment = regexp.MustCompile(`(\S)[\t ]+`)

// api returns the exported declarations of a package, without comments.
func api(t *testing.T, dir string) string {
	fset, pkg := readPackage(t, dir, 0)
	var list []string
	add := func(decl ast.Decl) {
		var text bytes.Buffer
		require.NoError(t, printer.Fprint(&text, fset, decl))
		list = append(list, alignment.ReplaceAllString(strings.ReplaceAll(text.String(), "\n\n", "\n"), "$1 "))
	}
	addAll := func(values []*godoc.Value, funcs []*godoc.Func) {
		for _, v := range values {
			add(v.Decl)
		}
		for _, f := range funcs {
			f.Decl.Body = nil
			add(f.Decl)
		}
	}
	addAll(slices.Concat(pkg.Consts, pkg.Vars), pkg.Funcs)
	for _, typ := range pkg.Types {
		add(typ.Decl)
		addAll(slices.Concat(typ.Consts, typ.Vars), slices.Concat(typ.Funcs, typ.Methods))
	}
	return "package " + pkg.Name + "\n\n" + strings.Join(list, "\n")
}

// In review, a change of the API shows as a change of api.txt.
func TestAPI(t *testing.T) {
	var all []string
	for _, dir := range slices.Concat(publicPackages, nestedPackages) {
		all = append(all, api(t, dir))
	}
	got := "// What can be imported. Written by: go test -run '^TestAPI$' -update-api .\n\n" + strings.Join(all, "\n\n") + "\n"
	if *updateAPI {
		require.NoError(t, os.WriteFile("api.txt", []byte(got), 0o644))
	}
	want := testtools.Must(os.ReadFile("api.txt"))(t)
	is, was := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	assert.Empty(t, linesBeyond(is, was), "new lines")
	assert.Empty(t, linesBeyond(was, is), "missing lines")
	// assert.Equal prints both texts in full.
	assert.True(t, got == string(want), "api.txt is the API; to change the API, see the first line of api.txt and CONTRIBUTING.md")
}

// linesBeyond returns the lines that are not known.
func linesBeyond(lines, known []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(known, line) })
}

// modulesOf returns the modules from which packages are built.
func modulesOf(t *testing.T, packages ...string) map[string]bool {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}, packages...)...)
	command.Stderr = os.Stderr
	out := testtools.Must(command.Output())(t, "%v", command)
	modules := map[string]bool{}
	for _, module := range strings.Fields(string(out)) {
		modules[module] = true
	}
	return modules
}

// docs/dependencies.md lists the modules that a program builds with this package: those that come
// with Eino's ADK, and those that come in addition.
func TestDependencies(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the go command")
	}
	ours, einos := modulesOf(t, "."), modulesOf(t, "github.com/cloudwego/eino/adk")
	delete(ours, "github.com/eino-toolsearch/toolsearch")
	text := testtools.Must(os.ReadFile("docs/dependencies.md"))(t)
	direct, rest, found := strings.Cut(string(text), "\n## Through Eino\n")
	require.True(t, found, "docs/dependencies.md has a section on the modules that come through Eino")
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
		assert.Equal(t, slices.Sorted(maps.Keys(c.want)), listedModules(c.section),
			"the modules that are built, and the modules that docs/dependencies.md lists")
	}
}

// Only the command line tool speaks MCP: whoever imports a package of this module compiles nothing of
// the SDK. Who does not import the module otel builds nothing of OpenTelemetry.
func TestWhatIsBuiltWithoutBeingAsked(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the go command")
	}
	const sdk = "github.com/modelcontextprotocol/go-sdk"
	packages := []string{"./internal/..."}
	for _, dir := range publicPackages {
		if dir != "mcp" { // it is there for the SDK
			packages = append(packages, "./"+dir)
		}
	}
	library, everything := modulesOf(t, packages...), modulesOf(t, "./...")
	assert.True(t, everything[sdk], "the command is built from the SDK")
	for _, module := range []string{
		sdk, "github.com/segmentio/encoding", "github.com/google/jsonschema-go", "golang.org/x/oauth2", "golang.org/x/term",
	} {
		assert.False(t, library[module], "the library is built from %s", module)
	}
	for module := range everything {
		assert.NotContains(t, module, "opentelemetry")
	}
	text := testtools.Must(os.ReadFile("go.mod"))(t)
	assert.NotContains(t, string(text), "opentelemetry")
}

// A nested module that others import requires the version of the root module that is next: a
// replace directive does not count for them.
func TestNestedModulesRequireTheNextVersion(t *testing.T) {
	changelog := testtools.Must(os.ReadFile("CHANGELOG.md"))(t)
	heading := regexp.MustCompile(`(?m)^## v(\d+\.\d+\.\d+)`).FindSubmatch(changelog)
	if heading == nil {
		t.Skip("CHANGELOG.md has no version yet")
	}
	for _, dir := range nestedPackages {
		text := testtools.Must(os.ReadFile(filepath.Join(dir, "go.mod")))(t)
		assert.Contains(t, string(text), "\tgithub.com/eino-toolsearch/toolsearch v"+string(heading[1])+"\n", "docs/releasing.md says how")
	}
}

// listedModules returns the modules of a table whose rows begin with a name in backquotes.
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

// importRules say which folders of this project the packages of a folder may import. Tests are
// excluded. "..." means the folder and the folders in it. "leaves" means the packages of internal
// that are built into programs. The rule of the longest folder counts.
var importRules = map[string]string{
	".":                   "search leaves",
	"search":              "search/internal/... leaves",
	"search/internal/...": "search/internal/... leaves",
	"internal/...":        "leaves",
	"internal/testtools":  ". search leaves",                   // for tests
	"internal/cost/...":   ". search leaves internal/cost/...", // for programs
	"internal/goals":      ". search leaves eval",              // likewise
	"workshop/...":        "...",                               // nobody imports it
	"lock":                "search leaves",
	"otel/...":            ". otel/...",
	"toolsearchtest":      ". search eval internal/goals",
	"eval":                ". search leaves",
	"mcp":                 ". leaves",
	"cmd/...":             ". search lock leaves eval mcp internal/cost/... internal/goals cmd/...",
	"examples/...":        ". search lock eval mcp internal/cost toolsearchtest examples/...",
}

// covers reports whether a word of a rule stands for a folder.
func covers(word, folder string) bool {
	switch word {
	case "...":
		return true
	case "leaves":
		return strings.HasPrefix(folder, "internal/") && importRules[folder] == ""
	}
	within, all := strings.CutSuffix(word, "/...")
	return folder == within || all && strings.HasPrefix(folder, within+"/")
}

// Imports go one way, from the root package to search and from search to the leaves. Packages for
// users and for the docs import those. Only programs, toolsearchtest and goals import package eval, and no
// package imports a program.
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
		if !assert.NotEmpty(t, rule, "importRules has a rule for the folder of %s", path) {
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
	assert.Greater(t, arrows, 100, "the imports that were checked")
}

// In each table of docs/architecture.md, a file uses only files above it and files of its own line.
func TestFilesUseFilesAbove(t *testing.T) {
	t.Parallel()
	architecture := testtools.Must(os.ReadFile("docs/architecture.md"))(t)
	for dir, heading := range map[string]string{".": "\n## The root package", "search": "\n## Package search"} {
		_, section, found := strings.Cut(string(architecture), heading)
		require.True(t, found, heading)
		section, _, _ = strings.Cut(section, "\n## ")
		lines := firstColumn(section, regexp.MustCompile("`([a-z0-9_]+[.]go)`"))
		uses := usesOfFiles(t, dir)
		assert.ElementsMatch(t, slices.Collect(maps.Keys(uses)), slices.Collect(maps.Keys(lines)), "the files of %s and those of the table", dir)
		for file, used := range uses {
			for name, other := range used {
				assert.LessOrEqual(t, lines[other], lines[file], "%s of %s uses %s of %s", file, dir, name, other)
			}
		}
	}
}

// The tables in internal/README.md name every package of internal and of search/internal.
func TestLeavesAreListed(t *testing.T) {
	page := testtools.Must(os.ReadFile("internal/README.md"))(t)
	var packages []string
	for _, folder := range []string{"internal", "search/internal"} {
		entries := testtools.Must(os.ReadDir(folder))(t)
		for _, entry := range entries {
			if entry.IsDir() {
				packages = append(packages, entry.Name())
			}
		}
	}
	listed := firstColumn(string(page), regexp.MustCompile("`([a-z0-9]+)`"))
	assert.ElementsMatch(t, packages, slices.Collect(maps.Keys(listed)))
}

// firstColumn returns what the pattern's group matches in the first column of the tables of a text,
// and the line of each match.
func firstColumn(text string, pattern *regexp.Regexp) map[string]int {
	lines := make(map[string]int)
	for i, line := range strings.Split(text, "\n") {
		cells, isRow := strings.CutPrefix(line, "|")
		if !isRow {
			continue
		}
		cell, _, _ := strings.Cut(cells, "|")
		for _, match := range pattern.FindAllStringSubmatch(cell, -1) {
			lines[match[1]] = i
		}
	}
	return lines
}

// usesOfFiles returns what each file of a package uses of its other files: names, and their files.
func usesOfFiles(t *testing.T, dir string) map[string]map[string]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", ".")
	cmd.Dir = dir
	list := testtools.Must(cmd.Output())(t)
	exports := make(map[string]string)
	for line := range strings.Lines(string(list)) {
		path, export, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = export
	}
	fset, files := parseFiles(t, dir, 0)
	uses := make(map[string]map[string]string)
	for _, file := range files {
		uses[filepath.Base(fset.Position(file.Package).Filename)] = make(map[string]string)
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	pkg := testtools.Must((&types.Config{Importer: importer.ForCompiler(fset, "gc", open)}).Check(dir, fset, files, info))(t)
	for ident, object := range info.Uses {
		variable, isVariable := object.(*types.Var)
		isField := isVariable && variable.IsField()
		isMethod := object.Parent() == nil && !isVariable
		if object.Pkg() != pkg || object.Parent() != pkg.Scope() && !isField && !isMethod {
			continue
		}
		user, used := fset.Position(ident.Pos()).Filename, fset.Position(object.Pos()).Filename
		if user != used {
			uses[filepath.Base(user)][ident.Name] = filepath.Base(used)
		}
	}
	return uses
}
