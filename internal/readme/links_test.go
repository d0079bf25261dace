package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	codeBlocks = regexp.MustCompile("(?ms)^```.*?^```$")
	headings   = regexp.MustCompile(`(?m)^(#+) (.*)$`)
	ids        = regexp.MustCompile(`<a id="([^"]+)">`)
	links      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// prose is a document without its code, in which "[a](b)" is no link and "# a" no heading.
func prose(text string) string { return codeBlocks.ReplaceAllString(text, "") }

// anchors are the fragments of a document: those it names itself, and those that a forge
// gives its headings.
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

// Links to other places are for a reader to follow; those within the repository resolve.
func TestLinksResolve(t *testing.T) {
	documents, err := filepath.Glob(root + "/docs/*.md")
	require.NoError(t, err)
	for _, name := range []string{"README.md", "README.zh.md", "CONTRIBUTING.md", "CHANGELOG.md", "BENCHMARKS.md"} {
		documents = append(documents, filepath.Join(root, name))
	}
	for _, document := range documents {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, m := range links.FindAllStringSubmatch(prose(string(text)), -1) {
			if !strings.Contains(m[1], "://") {
				assert.True(t, resolves(document, m[1]), "%s: %s leads nowhere", document, m[1])
			}
		}
	}
}

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

// Both READMEs say the same: the same sections, links and code, in the same order.
func TestREADMEsAgree(t *testing.T) {
	english, chinese := readREADME(t, "README.md"), readREADME(t, "README.zh.md")
	shapes := func(text string) (levels, targets, code []string) {
		for _, h := range headings.FindAllStringSubmatch(prose(text), -1) {
			levels = append(levels, h[1])
		}
		for _, m := range links.FindAllStringSubmatch(prose(text), -1) {
			// Anchors are named in each language; links from one README to the other differ.
			if target, _, _ := strings.Cut(m[1], "#"); target != "" && !strings.HasPrefix(target, "README") {
				targets = append(targets, m[1])
			}
		}
		return levels, targets, codeBlocks.FindAllString(text, -1)
	}
	levels, targets, code := shapes(english)
	zhLevels, zhTargets, zhCode := shapes(chinese)
	for _, c := range []struct {
		what      string
		want, got []string
	}{{"headings", levels, zhLevels}, {"links", targets, zhTargets}, {"code blocks", code, zhCode}} {
		assert.Equal(t, c.want, c.got, "%s of README.md and README.zh.md differ", c.what)
	}
}

func TestAnchors(t *testing.T) {
	got := anchors("# What is *it*, and why?\n```sh\n# no heading\n```\n## 默认模式\n<a id=\"one\"></a>")
	assert.Equal(t, []string{"one", "what-is-it-and-why", "默认模式"}, got)
}
