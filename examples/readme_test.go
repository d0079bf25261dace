package examples_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// README.md lists every example with the line that runs it from the repository's root.

// line is a row's command: "go run ./examples/NAME", or for an example that is a module of its own
// "go -C examples/NAME run .", with arguments after it.
var line = regexp.MustCompile("(?m)^\\| .*`(go run \\./examples/([\\w/-]+)|go -C examples/([\\w/-]+) run \\.)(?: [^`]*)?` \\|$")

// listed returns the folder of each row, under examples, and the command that runs it.
func listed(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	commands := map[string]string{}
	for _, found := range line.FindAllStringSubmatch(string(text), -1) {
		folder := found[2] + found[3]
		assert.NotContains(t, commands, folder, "listed twice")
		commands[folder] = found[1]
	}
	return commands
}

// programs returns the folders with a main.go, and whether each belongs to a module of its own.
func programs(t *testing.T) map[string]bool {
	t.Helper()
	nested := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "main.go" {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(file))
		for within := folder; within != "."; within = path.Dir(within) {
			if _, err := os.Stat(filepath.Join(within, "go.mod")); err == nil {
				nested[folder] = true
				return nil
			}
		}
		nested[folder] = false
		return nil
	})
	require.NoError(t, err)
	return nested
}

func TestEveryExampleIsListed(t *testing.T) {
	commands := listed(t)
	all := programs(t)
	require.Greater(t, len(all), 15)
	for folder, isNested := range all {
		want := "go run ./examples/" + folder
		if isNested {
			want = "go -C examples/" + folder + " run ."
		}
		assert.Equal(t, want, commands[folder], "README.md lists %s with the line that runs it", folder)
	}
	for folder := range commands {
		assert.Contains(t, all, folder, "README.md lists a folder that is not an example")
	}
}

// Each line names a program, as the go command sees it from the root. Nothing is built.
func TestEveryLineNamesAProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	for _, command := range listed(t) {
		args := strings.Fields(command)[1:]
		args = slices.Insert(args, slices.Index(args, "run")+1, "-find", "-f", "{{.Name}}")
		args[slices.Index(args, "run")] = "list" // the same package that run takes
		cmd := exec.Command("go", args...)
		cmd.Dir = ".."
		var complaints strings.Builder // and which modules are downloaded
		cmd.Stderr = &complaints
		out, err := cmd.Output()
		assert.NoError(t, err, "%s: %s", command, complaints.String())
		assert.Equal(t, "main", strings.TrimSpace(string(out)), command)
	}
}
