package figures

import (
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

var (
	codeBlocks = regexp.MustCompile("(?ms)^```.*?^```$")
	headings   = regexp.MustCompile(`(?m)^(#+) (.*)$`)
	ids        = regexp.MustCompile(`<a id="([^"]+)">`)
	codeSpans  = regexp.MustCompile("`[^`]+`")
	links      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// prose is a document without its code blocks, where "[a](b)" is not a link and "# a" is not
// a heading.
func prose(text string) string { return codeBlocks.ReplaceAllString(text, "") }

// anchors are the fragments of a document: its explicit ids, and the ids that a forge gives
// its headings.
func anchors(text string) (list []string) {
	for _, id := range ids.FindAllStringSubmatch(prose(text), -1) {
		list = append(list, id[1])
	}
	for _, h := range headings.FindAllStringSubmatch(prose(text), -1) {
		list = append(list, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, h[2]))
	}
	return list
}

// Links within the repository resolve. Other links are not followed.
func TestLinksResolve(t *testing.T) {
	for _, name := range documents(t) {
		for _, link := range linksOf(readDocument(t, name)) {
			if !strings.Contains(link, "://") {
				assert.True(t, resolves(filepath.Join(root, filepath.FromSlash(name)), link), "%s: %s leads nowhere", name, link)
			}
		}
	}
}

func linksOf(text string) (targets []string) {
	for _, m := range links.FindAllStringSubmatch(prose(text), -1) {
		targets = append(targets, m[1])
	}
	return targets
}

// Every page of docs/ is linked from the README, and the pages that the package's documentation names exist.
func TestEveryPageIsLinked(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), root+"/toolsearch.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	require.NoError(t, err)
	packageDoc := file.Doc.Text()
	targets := linksOf(readDocument(t, "README.md"))
	pages := testtools.Must(filepath.Glob(root + "/docs/*.md"))(t)
	require.NotEmpty(t, pages)
	names := []string{"docs/recipes/README.md"} // it lists its own pages
	for _, page := range pages {
		names = append(names, "docs/"+filepath.Base(page))
	}
	for _, name := range names {
		assert.Contains(t, targets, name, "README.md has no link to it")
	}
	named := repositoryPaths.FindAllStringSubmatch(packageDoc, -1)
	require.NotEmpty(t, named)
	for _, name := range named {
		assert.FileExists(t, filepath.Join(root, filepath.FromSlash(name[1])), "the package's documentation names it")
	}
}

var repositoryPaths = regexp.MustCompile(`/eino-toolsearch/toolsearch/blob/main/(\S+)`)

func resolves(document, link string) bool {
	path, fragment, _ := strings.Cut(link, "#")
	target := document
	if path != "" {
		target = filepath.Join(filepath.Dir(document), filepath.FromSlash(path))
	}
	if _, err := os.Stat(target); err != nil || fragment == "" {
		return err == nil
	}
	text, err := os.ReadFile(target)
	return err == nil && slices.Contains(anchors(string(text)), fragment)
}

// A page and its translation have the same sections, links, code and tables, in the same order.
// TestNumbers checks the numbers in the tables.
func TestTranslationsAgree(t *testing.T) {
	pairs := [][2]string{{"README.md", "README.zh.md"}}
	for _, page := range translations(t) {
		pairs = append(pairs, [2]string{"docs/" + page, "docs/zh/" + page})
	}
	for _, pair := range pairs {
		english, chinese := outlineOf(t, pair[0]), outlineOf(t, pair[1])
		assert.Equal(t, english.headings, chinese.headings, "headings of %s", pair[1])
		assert.Equal(t, english.links, chinese.links, "links of %s", pair[1])
		assert.Equal(t, english.code, chinese.code, "code blocks of %s", pair[1])
		assert.Equal(t, english.cells, chinese.cells, "numbers of cells of the tables' rows of %s", pair[1])
		assert.Equal(t, english.names, chinese.names, "names in the tables of %s", pair[1])
	}
}

// An outline has what all translations of a document share.
type outline struct {
	headings []string // their levels
	links    []string
	code     []string
	cells    []int    // of each row of a table
	names    []string // code within the tables
}

func outlineOf(t *testing.T, name string) (s outline) {
	t.Helper()
	text := readDocument(t, name)
	for _, h := range headings.FindAllStringSubmatch(prose(text), -1) {
		s.headings = append(s.headings, h[1])
	}
	for _, target := range linksOf(text) {
		if link := linked(name, target); link != linked(name, path.Base(name)) { // each links to the other
			s.links = append(s.links, link)
		}
	}
	s.code = codeBlocks.FindAllString(text, -1)
	for line := range strings.Lines(prose(text)) {
		if strings.HasPrefix(line, "|") {
			s.cells = append(s.cells, strings.Count(line, " | "))
			s.names = append(s.names, codeSpans.FindAllString(line, -1)...)
		}
	}
	return s
}

// linked returns where a link of a document leads, by a path from the root. A translation counts
// as the page it translates.
func linked(name, target string) string {
	if strings.Contains(target, "://") {
		return target
	}
	file, fragment, _ := strings.Cut(target, "#")
	if file == "" {
		file = path.Base(name)
	}
	file = path.Join(path.Dir(name), file)
	file = strings.Replace(strings.Replace(file, "docs/zh/", "docs/", 1), ".zh.md", ".md", 1)
	return file + "#" + fragment
}
