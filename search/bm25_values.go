package search

import (
	"strings"
	"unicode/utf8"
)

// Values in a query. The query "create a file called 'minutes.txt'" asks for a tool that
// creates files. Text in quotes or angle brackets, file names, addresses and links are
// values: the tool will be called with them. A value may still say what the tool is about,
// so it counts, but less.

const maxQuoted = 256 // bytes between quotes; a longer quote is not a value

// quotes are the marks that enclose a value, opening -> closing.
var quotes = map[rune]string{'"': "\"", '\'': "'", '“': "”", '‘': "’", '「': "」", '『': "』", '《': "》", '<': ">", '`': "`"}

// nextValue returns where the next value at or after i begins and ends. Both are the end
// of the text if there is no value. Neither start nor end is inside a word.
func nextValue(text string, i int) (start, end int) {
	before := ' '
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
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

// quoteEnd returns where the quote that opened at start ends, or 0 if it is not a quote.
// An apostrophe inside or after a word is not a quote.
func quoteEnd(text string, start, inner int, closing string, before rune) int {
	if text[start] == '\'' && isOfWord(before) {
		return 0
	}
	for i := inner; i < min(len(text), inner+maxQuoted); {
		length := strings.Index(text[i:min(len(text), inner+maxQuoted)], closing)
		if length < 0 {
			return 0
		}
		end := i + length + len(closing)
		if next, _ := utf8.DecodeRuneInString(text[end:]); closing != "'" || !isOfWord(next) {
			return end
		}
		i = end
	}
	return 0
}

// isTokenRune reports whether r may stand in a file name or an address.
func isTokenRune(r rune) bool {
	return r < utf8.RuneSelf && r > ' ' && !strings.ContainsRune("\"'`<>()[]{},;", r) || isOfWord(r)
}

func tokenEnd(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !isTokenRune(r) {
			break
		}
		i += size
	}
	return i
}

// isValue reports whether a token is a link, an address, a version or a file name. All but
// links have a dot or an at sign between letters or digits.
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

func isWordByte(c byte) bool { return byteClasses[c] != noLetter }

func isOfWord(r rune) bool { return classOf(r) != noLetter && classOf(r) != ideograph }
