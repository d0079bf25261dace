// The programs of the root module are built once and played: what they print is compared with
// testdata. Nested modules have tests of their own.
package examples_test

import (
	"flag"
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

var update = flag.Bool("update", false, "write what the programs print into testdata")

// Each file of testdata is what a program prints: PROGRAM.txt, or PROGRAM-ARGUMENT.txt.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	goldens, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, goldens)
	bin := t.TempDir()
	build := []string{"build", "-ldflags=-s -w", "-o", bin + "/"}
	for _, golden := range goldens {
		command, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(golden), ".txt"), "-")
		if path := "./" + command; !slices.Contains(build, path) {
			build = append(build, path)
		}
	}
	out, err := exec.Command("go", build...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, golden := range goldens {
		name := strings.TrimSuffix(filepath.Base(golden), ".txt")
		command, argument, _ := strings.Cut(name, "-")
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(filepath.Join(bin, command), strings.Fields(argument)...)
			cmd.Stderr = os.Stderr
			got, err := cmd.Output()
			require.NoError(t, err)
			if *update {
				require.NoError(t, os.WriteFile(golden, got, 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), string(got))
		})
	}
}

// The program in README.md is the one that was played.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	program, err := os.ReadFile("minimal/main.go")
	require.NoError(t, err)
	_, code, _ := strings.Cut(string(program), "package main\n")
	assert.Contains(t, string(readme), "```go\npackage main\n"+code+"```\n")
}

// What the quickstart's conversation costs is in docs/protocols.md.
func TestCosts(t *testing.T) {
	printed, err := os.ReadFile("testdata/quickstart.txt")
	require.NoError(t, err)
	_, costs, found := strings.Cut(string(printed), "\nWhat this conversation costs")
	require.True(t, found)
	page, err := os.ReadFile("../docs/protocols.md")
	require.NoError(t, err)
	assert.Contains(t, string(page), "What this conversation costs"+costs)
}

// line is a row's command in README.md: "go run ./examples/NAME", or for an example that is a module
// of its own "go -C examples/NAME run .", with arguments after it.
var line = regexp.MustCompile("(?m)^\\| .*`(go run \\./examples/(\\w+)|go -C examples/(\\w+) run \\.)(?: [^`]*)?` \\|$")

// README.md lists every example with the line that runs it from the repository's root.
func TestEveryExampleIsListed(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	var listed []string
	for _, found := range line.FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, found[1])
	}
	var want []string
	programs, err := filepath.Glob("*/main.go")
	require.NoError(t, err)
	for _, program := range programs {
		folder := filepath.Dir(program)
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			want = append(want, "go -C examples/"+folder+" run .")
		} else {
			want = append(want, "go run ./examples/"+folder)
		}
	}
	assert.ElementsMatch(t, want, slices.Compact(listed))
}
