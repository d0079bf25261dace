package figures

import (
	"fmt"
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

const examples = root + "/examples/"

// The example programs of the root module are built once and played. Each file of examples/testdata is what a
// program prints: PROGRAM.txt, or PROGRAM-ARGUMENT.txt. Nested modules have tests of their own.
//
// The flags of the build are those of go test, which has compiled the programs by then.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	goldens := testtools.Must(filepath.Glob(examples + "testdata/*.txt"))(t)
	require.NotEmpty(t, goldens)
	bin := t.TempDir()
	build := []string{"build", "-o", bin + "/"}
	for _, golden := range goldens {
		command, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(golden), ".txt"), "-")
		if path := examples + command; !slices.Contains(build, path) {
			build = append(build, path)
		}
	}
	out, err := exec.Command("go", build...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, golden := range goldens {
		name := strings.TrimSuffix(filepath.Base(golden), ".txt")
		command, argument, _ := strings.Cut(name, "-")
		t.Run(name, func(t *testing.T) {
			arguments := strings.Fields(argument)
			if command == "mcp" {
				arguments = []string{memoryFile(t)}
			}
			cmd := exec.Command(filepath.Join(bin, command), arguments...)
			cmd.Dir, cmd.Stderr = examples, os.Stderr
			testtools.Golden(t, golden, string(testtools.Must(cmd.Output())(t)), *update)
		})
	}
}

// memoryFile writes an mcp.json of one server, which keeps a graph of what it was told.
func memoryFile(t *testing.T) string {
	t.Helper()
	script := testtools.NPMServers(t, root+"/mcp/testdata/servers")["memory"]
	path := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `{"mcpServers":{"memory":{"command":"node","args":[%q]}}}`, script), 0o600))
	return path
}

// What the quickstart's conversation costs is in docs/protocols.md.
func TestCosts(t *testing.T) {
	_, costs, found := strings.Cut(readDocument(t, "examples/testdata/quickstart.txt"), "\nWhat this conversation costs")
	require.True(t, found)
	assert.Contains(t, readDocument(t, "docs/protocols.md"), "What this conversation costs"+costs)
}

// exampleLine is a row's command in examples/README.md: "go run ./examples/NAME", or for an example that is
// a module of its own "go -C examples/NAME run .", with arguments after it.
var exampleLine = regexp.MustCompile("(?m)^\\| .*`(go run \\./examples/(\\w+)|go -C examples/(\\w+) run \\.)(?: [^`]*)?` \\|$")

// examples/README.md lists every example with the line that runs it from the repository's root.
func TestEveryExampleIsListed(t *testing.T) {
	var listed, want []string
	for _, found := range exampleLine.FindAllStringSubmatch(readDocument(t, "examples/README.md"), -1) {
		listed = append(listed, found[1])
	}
	for _, program := range testtools.Must(filepath.Glob(examples + "*/main.go"))(t) {
		name := filepath.Base(filepath.Dir(program))
		if _, err := os.Stat(examples + name + "/go.mod"); err == nil {
			want = append(want, "go -C examples/"+name+" run .")
		} else {
			want = append(want, "go run ./examples/"+name)
		}
	}
	assert.ElementsMatch(t, want, slices.Compact(listed))
}
