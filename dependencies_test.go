package toolsearch_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// modulesOf lists the modules of the packages that the given ones are built from.
func modulesOf(t *testing.T, packages ...string) map[string]bool {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}, packages...)...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	direct, rest, found := strings.Cut(string(text), "\n## Through Eino\n")
	if !found {
		t.Fatal("docs/dependencies.md has no section on what comes through Eino")
	}
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
		got, want := listedModules(c.section), slices.Sorted(maps.Keys(c.want))
		if !slices.Equal(got, want) {
			t.Errorf("docs/dependencies.md lists\n%s\nbut built in are\n%s", fmt.Sprint(got), fmt.Sprint(want))
		}
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
