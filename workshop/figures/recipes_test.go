package figures

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// marked matches a block of a page and the file that it comes from. commands matches the lines
// that a page tells its reader to run.
var (
	marked   = regexp.MustCompile("(?ms)^<!-- (\\S+); a test keeps the two alike -->\n```\\w+\n(.*?)^```$")
	blocks   = regexp.MustCompile("(?m)^```(?:go|text)$")
	printed  = regexp.MustCompile(`\t// Output:\n(\t// .*\n)*`)
	commands = regexp.MustCompile(`(?m)^go (?:-C (\S+) )?run (\S+)`)
)

func recipes(t *testing.T) (names []string) {
	t.Helper()
	for _, name := range documents(t) {
		if strings.HasPrefix(name, "docs/recipes/") && name != "docs/recipes/README.md" {
			names = append(names, name)
		}
	}
	require.NotEmpty(t, names)
	return names
}

// plain returns a text without the additions of an example's expected output: comment marks,
// and the space around lines.
func plain(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "//")))
	}
	return "\n" + strings.Join(lines, "\n") + "\n"
}

// The code and the output on a page come from its program, which is tested. Each page has a command
// that runs its program from the root of the repository, and the list has every page.
func TestRecipes(t *testing.T) {
	targets := linksOf(readDocument(t, "docs/recipes/README.md"))
	for _, name := range append(recipes(t), "README.md") {
		assert.True(t, name == "README.md" || slices.Contains(targets, filepath.Base(name)), "docs/recipes/README.md has no link to %s", name)
		text := readDocument(t, name)
		found := marked.FindAllStringSubmatch(text, -1)
		assert.NotEmpty(t, found, "%s shows nothing of a program", name)
		assert.Len(t, blocks.FindAllString(text, -1), len(found), "%s: each block of code or output says which file it is from", name)
		for _, block := range found {
			program := readDocument(t, block[1])
			if block[1] == "example_new_test.go" { // which is a program but for its name and what it says that it prints
				program = printed.ReplaceAllString(strings.Replace(program, "package toolsearch_test", "package main", 1), "")
				program = strings.Replace(program, "func ExampleNew", "func main", 1)
			}
			assert.True(t, strings.Contains(plain(program), plain(block[2])), "%s: %s has no such lines:\n%s", name, block[1], block[2])
		}
		runs := commands.FindAllStringSubmatch(text, -1)
		assert.NotEmpty(t, runs, "%s says how to run its program", name)
		for _, command := range runs {
			assert.FileExists(t, filepath.Join(root, filepath.FromSlash(command[1]), filepath.FromSlash(command[2]), "main.go"), "%s: %s", name, command[0])
		}
	}
}
