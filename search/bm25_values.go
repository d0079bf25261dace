package search

import (
	"strings"
	"unicode/utf8"
)

// Values in a query. Who writes "create a file called 'minutes.txt'" wants a tool that
// creates files: what stands in quotes, in angle brackets, and what is a file name, an
// address or a link, is what the tool will be called with. It may still say what the tool
// is about, so it counts, for less.

const maxQuoted = 256 // bytes between quotes: what is longer is more than a value

// quotes are the marks a value may stand between, opening -> closing.
var quotes = map[rune]string{'"': "\"", '\'': "'", '“': "”", '‘': "’", '「': "」", '『': "』", '《': "》", '<': ">", '`': "`"}

// nextValue returns where the next value of a text begins and ends, from i on; both are
// the end of the text if there is none. The first is at or behind i, and a word never
// stands across either of them.
func nextValue(text string, i int) (start, end int) {
	before := ' '
	for i < len(text) {
		r, size := runeAt(text, i)
		if closing, opens := quotes[r]; opens {
			if end := quoteEnd(text, i, i+size, closing, before); end > 0 {
				return i, end
			}
		}
		if !isTokenRune(before) && isTokenRune(r) {
			if end := tokenEnd(text, i); isValue(text[i:end]) {
				return i, end
			}
		}
		before = r
		i += size
	}
	return len(text), len(text)
}

// quoteEnd returns where the quote that opened at start ends, 0 if it is none. An
// apostrophe inside or behind a word is none.
func quoteEnd(text string, start, inner int, closing string, before rune) int {
	if text[start] == '\'' && kindOfRune(before) == wordRun {
		return 0
	}
	for i := inner; i < min(len(text), inner+maxQuoted); {
		length := strings.Index(text[i:min(len(text), inner+maxQuoted)], closing)
		if length < 0 {
			return 0
		}
		end := i + length + len(closing)
		if next, _ := utf8.DecodeRuneInString(text[end:]); closing != "'" || kindOfRune(next) != wordRun {
			return end
		}
		i = end
	}
	return 0
}

// isTokenRune reports whether r may stand in a file name or an address.
func isTokenRune(r rune) bool {
	return r < utf8.RuneSelf && r > ' ' && !strings.ContainsRune("\"'`<>()[]{},;", r) || kindOfRune(r) == wordRun
}

func tokenEnd(text string, i int) int {
	for i < len(text) {
		r, size := runeAt(text, i)
		if !isTokenRune(r) {
			break
		}
		i += size
	}
	return i
}

// isValue reports whether a token is a link, an address, a version, or a file name:
// whether a dot or an at sign stands between letters or digits.
func isValue(token string) bool {
	if strings.Contains(token, "://") {
		return true
	}
	for i := 1; i+1 < len(token); i++ {
		if (token[i] == '.' || token[i] == '@') && isWordByte(token[i-1]) && isWordByte(token[i+1]) {
			return true
		}
	}
	return false
}

func isWordByte(c byte) bool { return c >= utf8.RuneSelf || byteClasses[c] != noClass }
