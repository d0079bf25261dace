// Package figures compares the numbers in the documents with what is measured, and draws the picture of the README.
// With -update its tests write both.
package figures

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

const root = "../.."

var update = flag.Bool("update", false, "write the measured numbers into the pages, and what the examples print into their testdata")

var readmes = []string{"README.md", "README.zh.md"}

// documents are the Markdown pages for users and contributors.
func documents(t *testing.T) (names []string) {
	t.Helper()
	for _, folder := range []string{"docs/", "docs/recipes/"} {
		pages := testtools.Must(filepath.Glob(root + "/" + folder + "*.md"))(t)
		for _, page := range pages {
			names = append(names, folder+filepath.Base(page))
		}
	}
	for _, page := range translations(t) {
		names = append(names, "docs/zh/"+page)
	}
	return append(names, "README.md", "README.zh.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "BENCHMARKS.md",
		"cmd/toolsearch/README.md", "examples/README.md")
}

// translations are the pages in Chinese, by their names under docs/zh, which are the names of
// the English pages under docs.
func translations(t *testing.T) (names []string) {
	t.Helper()
	folder := filepath.Join(root, "docs", "zh")
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, names)
	return names
}

func readDocument(t *testing.T, name string) string {
	t.Helper()
	return string(testtools.Must(os.ReadFile(filepath.Join(root, filepath.FromSlash(name))))(t))
}

func TestREADMEIsShort(t *testing.T) {
	for _, name := range readmes {
		assert.LessOrEqual(t, strings.Count(readDocument(t, name), "\n"), 250, "%s: the rest has pages in docs/", name)
	}
}

// The numbers in the pages are the measured numbers. After an intended change:
//
//	go test ./workshop/figures -run '^TestNumbers$' -update
func TestNumbers(t *testing.T) {
	tables := measure(t)
	found := map[string][]string{}
	for _, name := range documents(t) {
		text, rows, err := fillTables(readDocument(t, name), tables)
		require.NoError(t, err, name)
		for table := range rows {
			found[table] = append(found[table], name)
		}
		if *update {
			require.NoError(t, os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o644))
		}
		assert.Equal(t, text, readDocument(t, name), "%s has numbers that differ from the measured ones", name)
	}
	protocols, settings := []string{"docs/protocols.md", "docs/zh/protocols.md"}, []string{"docs/settings.md"}
	for table, want := range map[string][]string{
		"bills": protocols, "advice": protocols, "protocols": protocols, "searchers": readmes,
		"settings": settings, "ideas": settings, "ideas-400": settings,
	} {
		assert.Equal(t, want, found[table], table)
	}
}
