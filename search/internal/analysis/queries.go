package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Where a query is cut: values, identifiers, and the ends of sentences.
//
// Values: the query "create a file called 'minutes.txt'" asks for a tool that creates files. Text in quotes or angle
// brackets, file names, addresses and links are values. A value may still say what the tool is about, so it counts,
// but for less.

const maxQuoted = 256 // bytes between quotes; a longer quote is not a value

// quotes are the marks that enclose a value, opening -> closing.
var quotes = map[rune]string{'"': "\"", '\'': "'", '“': "”", '‘': "’", '「': "」", '『': "』", '《': "》", '<': ">", '`': "`"}

// NextValue returns where the next value at or after i begins and ends, or the text's end twice if there is
// none. Neither is inside a word.
func NextValue(text string, i int) (start, end int) {
	before := ' '
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if ClassOf(r) == NoLetter && quotes[r] != "" && (r != '\'' || !isOfWord(before)) { // no apostrophe
			if end := quoteEnd(text, i+size, quotes[r]); end > 0 {
				return i, end
			}
		}
		if !isTokenRune(before) && isTokenRune(r) {
			if end := len(text) - len(strings.TrimLeftFunc(text[i:], isTokenRune)); isValue(text[i:end]) {
				return i, end
			}
		}
		before = r
		i += size
	}
	return len(text), len(text)
}

// quoteEnd returns where the quote whose text begins at start ends, or 0 if it does not end.
func quoteEnd(text string, start int, closing string) int {
	for end := start; ; {
		length := strings.Index(text[end:min(len(text), start+maxQuoted)], closing)
		if length < 0 {
			return 0
		}
		end += length + len(closing)
		if next, _ := utf8.DecodeRuneInString(text[end:]); closing != "'" || !isOfWord(next) {
			return end
		}
	}
}

// isTokenRune reports whether r may be part of a file name or an address.
func isTokenRune(r rune) bool {
	return r < utf8.RuneSelf && r > ' ' && !strings.ContainsRune("\"'`<>()[]{},;", r) || isOfWord(r)
}

// isValue reports whether a token is a link, or has a dot or an at sign between letters or digits, as addresses,
// versions and file names do.
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

func isWordByte(c byte) bool { return byteClasses[c] != NoLetter }

func isOfWord(r rune) bool { return ClassOf(r) != NoLetter && ClassOf(r) != Ideograph }

// Identifiers. Cut into words, 9123a4b056c7d890e1f2a3f4 becomes some letters and numbers, which match every tool that
// shows a UUID as an example. So an identifier in a query gives no words:
//
//	a run of letters and digits that changes between the two 4 times    9x8y7z
//	8 hexadecimal digits or more, both letters and decimal digits       c03f2a1b
//	a UUID, whatever its first digits are                               deadbeef-a4b0-56c7-d890-e1f2a3f4b5c6
//	what follows these after hyphens                                    -a4b0-56c7d890e1f2
//
// A single letter from A to Z is not a word either, but joins its neighbour ("e mail" ~
// "email"). A query that has only these keeps them as words: "v21", "C".

const (
	minSwitches  = 4
	minHexDigits = 8
)

// NextIdentifier returns where the next identifier at or after i begins and ends, or twice the end of the text if
// there is none. i is not inside a word.
func NextIdentifier(text string, i int) (start, end int) {
	for ; i < len(text); i = end {
		end = max(asciiRunEnd(text, i), i+1) // of a run, or of another character's first byte
		if isIdentifier(text[i:end]) || beginsWithUUID(text[i:]) {
			for end+1 < len(text) && text[end] == '-' && isASCIIWord(text[end+1]) {
				end = asciiRunEnd(text, end+1)
			}
			return i, end
		}
	}
	return len(text), len(text)
}

func asciiRunEnd(text string, i int) int {
	for i < len(text) && isASCIIWord(text[i]) {
		i++
	}
	return i
}

func isASCIIWord(c byte) bool { return c < 0x80 && byteClasses[c] != NoLetter }

func isIdentifier(run string) bool {
	if len(run) <= minSwitches || !strings.ContainsAny(run, "0123456789") {
		return false
	}
	switches, isHex := 0, true
	for i := range len(run) {
		isDigit := byteClasses[run[i]] == Digit
		isHex = isHex && strings.IndexByte("0123456789abcdefABCDEF", run[i]) >= 0
		if i > 0 && isDigit != (byteClasses[run[i-1]] == Digit) {
			switches++
		}
	}
	return switches >= minSwitches || isHex && switches > 0 && len(run) >= minHexDigits
}

// beginsWithUUID reports whether a text begins with a UUID, written with hyphens.
func beginsWithUUID(text string) bool {
	const size = len("00000000-0000-0000-0000-000000000000")
	return len(text) >= size && text[8] == '-' && asciiRunEnd(text, size) == size && uuid.Validate(text[:size]) == nil
}

// IsSingleLetter reports whether a term is a letter from A to Z.
func IsSingleLetter(term string) bool { return len(term) == 1 && byteClasses[term[0]] == Lower }

// SentenceEnd returns where the sentence at i ends.
func SentenceEnd(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch r {
		case '\n', '。', '！', '？', '；':
			return i
		case '.', '!', '?', ';':
			if next, _ := utf8.DecodeRuneInString(text[i:]); unicode.IsSpace(next) {
				return i
			}
		}
	}
	return i
}
