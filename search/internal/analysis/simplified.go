package analysis

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
)

// Traditional Chinese characters are indexed and searched as their simplified forms. The table lists the common
// characters. Those that Japanese writes in the traditional form change as well, in tools and queries alike.

// simplifiedPairs lists traditional characters, each before its simplified form.
//
//go:embed simplified.txt
var simplifiedPairs string

// simplifiedForms are the simplified forms of the characters that change. They have as many bytes.
var simplifiedForms = func() map[rune]rune {
	forms := make(map[rune]rune)
	for pair := range slices.Chunk([]rune(strings.Join(strings.Fields(simplifiedPairs), "")), 2) {
		forms[pair[0]] = pair[1]
	}
	return forms
}()

// Simplify writes a text in simplified characters.
func Simplify(text string) string {
	return strings.Map(func(r rune) rune { return cmp.Or(simplifiedForms[r], r) }, text)
}
