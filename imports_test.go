package toolsearch_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
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
	".":                        "search leaves",
	"search":                   "search/internal/... leaves",
	"search/internal/...":      "search/internal/... leaves",
	"internal/...":             "leaves",
	"internal/testtools":       ". search leaves",                   // for tests
	"internal/cost/...":        ". search leaves internal/cost/...", // for programs
	"internal/testtools/goals": ". search leaves eval",              // likewise
	"workshop/...":             "...",                               // nobody imports it
	"lock":                     "search leaves",
	"otel/...":                 ". otel/...",
	"toolsearchtest":           ". search eval internal/testtools/goals",
	"eval":                     ". search leaves",
	"mcp":                      ". leaves",
	"usage":                    ".",
	"cmd/...":                  ". search lock leaves eval usage mcp internal/cost/... internal/testtools/goals cmd/...",
	"examples/...":             ". search lock eval mcp internal/cost/... toolsearchtest examples/...",
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
// users and for the docs import those. Only programs, toolsearchtest and testtools/goals import package eval, and no
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
