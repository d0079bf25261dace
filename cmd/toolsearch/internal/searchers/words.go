package searchers

import (
	"strings"
	"unicode"
)

// The words of names and descriptions, for the queries by a tool's own words.

// Words returns the words of a name or a text in lower case and in order. A word is a run of
// letters and digits, cut at camel-case humps. Scripts without blanks between words are cut
// into pairs of neighboring characters.
func Words(text string) []string {
	var list []string
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }) {
		runes := []rune(run)
		from := 0
		for i := 1; i <= len(runes); i++ {
			if i < len(runes) && !isBoundary(runes, i) {
				continue
			}
			list = append(list, pairs(runes[from:i])...)
			from = i
		}
	}
	return list
}

// isBoundary reports whether a word begins at runes[i]: fooBar, HTTPServer, 图book.
func isBoundary(runes []rune, i int) bool {
	before, here := runes[i-1], runes[i]
	switch {
	case isBlankless(before) != isBlankless(here):
		return true
	case unicode.IsUpper(here) && !unicode.IsUpper(before):
		return true
	default:
		return unicode.IsUpper(before) && unicode.IsUpper(here) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
	}
}

func isBlankless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

func pairs(runes []rune) []string {
	if len(runes) < 3 || !isBlankless(runes[0]) {
		return []string{strings.ToLower(string(runes))}
	}
	list := make([]string, 0, len(runes)-1)
	for i := range len(runes) - 1 {
		list = append(list, string(runes[i:i+2]))
	}
	return list
}

// fillers are words that say nothing about what is wanted.
var fillers = map[string]bool{}

func init() {
	for _, w := range strings.Fields("a an and are as at be by for from in into is it its of on or that the this to with") {
		fillers[w] = true
	}
}
