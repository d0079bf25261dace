package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// A termizer turns text into index terms. It numbers the terms in the order in which it meets
// them. It remembers every word, so a word costs only one look-up the second time. It is for
// one goroutine at a time.
//
//	"Re-run the HTTP2Server's workflows"  -> re run http 2 server workflow
//	"naïve café"                          -> naiv cafe
//	"创建日历事件"                          -> 创 建 日 历 事 件 创建 建日 日历 历事 事件
//
// A word is a run of letters and digits, cut at camel-case humps and between letters and digits.
// Words are lower-cased, stripped of diacritics and stemmed as English. Runs of Chinese,
// Japanese and Korean characters become single characters and pairs. Stop words are left out.
type termizer struct {
	terms   []string         // number -> term
	numbers map[string]int32 // term -> number
	words   map[string]int32 // word as written -> number of its term; noTerm for a stop word
	ends    []int            // where the characters of the current run end
	spare   []int32
}

const noTerm = -1

func newTermizer() *termizer {
	return &termizer{numbers: make(map[string]int32), words: make(map[string]int32)}
}

// append adds the numbers of the terms of text to terms.
func (z *termizer) append(terms []int32, text string) []int32 {
	for i := 0; i < len(text); {
		kind, end := wordAt(text, i)
		switch kind {
		case wordRun:
			if n := z.number(text[i:end], kind); n != noTerm {
				terms = append(terms, n)
			}
		case ideographicRun:
			terms = z.appendIdeographic(terms, text[i:end])
		}
		i = end
	}
	return terms
}

func (z *termizer) appendIdeographic(terms []int32, run string) []int32 {
	z.ends = z.ends[:0]
	add := func(start, end int) {
		if n := z.number(run[start:end], ideographicRun); n != noTerm {
			terms = append(terms, n)
		}
	}
	for i := 0; i < len(run); {
		_, size := utf8.DecodeRuneInString(run[i:])
		add(i, i+size)
		i += size
		z.ends = append(z.ends, i)
	}
	start := 0
	for i := 1; i < len(z.ends); i++ {
		add(start, z.ends[i])
		start = z.ends[i-1]
	}
	return terms
}

// number returns the number of a word's term.
func (z *termizer) number(word string, kind runKind) int32 {
	n, known := z.words[word]
	if known {
		return n
	}
	n = noTerm
	if term := termOf(word, kind); term != "" {
		if n, known = z.numbers[term]; !known {
			term = strings.Clone(term) // else the term keeps its whole text in memory
			n = int32(len(z.terms))
			z.terms = append(z.terms, term)
			z.numbers[term] = n
		}
	}
	z.words[strings.Clone(word)] = n
	return n
}

// maxTermBytes is the length of the longest word that becomes a term. A longer word is data.
const maxTermBytes = 64

// termOf returns the term of a word, or "" if it has none, such as a stop word.
func termOf(word string, kind runKind) string {
	if kind == ideographicRun {
		if chineseStopWords[word] {
			return ""
		}
		return word
	}
	if len(word) > maxTermBytes {
		return ""
	}
	term := naming.StripDiacritics(strings.ToLower(word))
	switch {
	case stopWords[term]:
		return ""
	case len(term) > 2 && !isDigit(rune(term[0])): // numbers are not stemmed
		return english.Stem(term, true)
	default:
		return term
	}
}

// A runKind classifies a run of text.
type runKind uint8

const (
	noRun runKind = iota // not part of a word
	wordRun
	ideographicRun // of a script without blanks between words
)

// wordAt returns the kind of the run that begins at i, and where the run ends.
func wordAt(text string, i int) (kind runKind, end int) {
	if class := classOf(text, i); class == noClass {
		return noRun, i + 1
	} else if class != notASCII {
		if end, ok := asciiWordAt(text, i, class); ok {
			return wordRun, end
		}
	}
	before, size := runeAt(text, i)
	kind, end, start := kindOfRune(before), i+size, i
	for kind != noRun && end < len(text) {
		r, size := runeAt(text, end)
		if kindOfRune(r) != kind || kind == wordRun && isWordStart(text, start, end, before, r) {
			break
		}
		before, end = r, end+size
	}
	return kind, end
}

// asciiWordAt is wordAt for a word whose byte at i is of a class. It is faster, and nearly all
// words are ASCII. It is not ok if this word is not ASCII.
func asciiWordAt(text string, i int, class byteClass) (end int, ok bool) {
	for end = i + 1; end < len(text); end++ {
		here := classOf(text, end)
		switch {
		case here == notASCII:
			return 0, false
		case here == noClass || (here == digitClass) != (class == digitClass):
			return end, true
		case here == upperClass && class == lowerClass:
			return end, true
		case here == upperClass:
			next, last := classOf(text, end+1), classOf(text, end+2)
			if next == notASCII || next == lowerClass && last == notASCII {
				return 0, false
			}
			if next == lowerClass && last == lowerClass {
				return end, true
			}
		}
		class = here
	}
	return end, true
}

// A byteClass classifies a byte of text.
type byteClass uint8

const (
	noClass byteClass = iota
	lowerClass
	upperClass
	digitClass
	notASCII
)

var byteClasses = func() (classes [256]byteClass) {
	for c := range classes {
		switch r := rune(c); {
		case c >= utf8.RuneSelf:
			classes[c] = notASCII
		case isLower(r):
			classes[c] = lowerClass
		case isUpper(r):
			classes[c] = upperClass
		case isDigit(r):
			classes[c] = digitClass
		}
	}
	return classes
}()

// classOf returns the class of the byte at i, or noClass behind the end of the text.
func classOf(text string, i int) byteClass {
	if i >= len(text) {
		return noClass
	}
	return byteClasses[text[i]]
}

// runeAt decodes the rune at i. It saves the call of utf8 for ASCII, which most texts are.
func runeAt(text string, i int) (rune, int) {
	if c := text[i]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(text[i:])
}

func kindOfRune(r rune) runKind {
	switch {
	case r < utf8.RuneSelf:
		if isLower(r) || isUpper(r) || isDigit(r) {
			return wordRun
		}
		return noRun
	case isIdeographic(r):
		return ideographicRun
	case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r):
		return wordRun
	default:
		return noRun
	}
}

func isIdeographic(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

func isLower(r rune) bool {
	return 'a' <= r && r <= 'z' || r >= utf8.RuneSelf && unicode.IsLower(r)
}

func isUpper(r rune) bool {
	return 'A' <= r && r <= 'Z' || r >= utf8.RuneSelf && unicode.IsUpper(r)
}

func isDigit(r rune) bool {
	return '0' <= r && r <= '9' || r >= utf8.RuneSelf && unicode.IsDigit(r)
}

// isWordStart reports whether a new word starts at i. The word before it began at start, in the
// same run of letters and digits. before and here are the runes before i and at i.
func isWordStart(text string, start, i int, before, here rune) bool {
	switch {
	case isDigit(before) != isDigit(here):
		return true
	case !isUpper(here):
		return false
	case isLower(before):
		return true
	}
	// The last capital of HTTPServer begins Server. The L of URLs begins no word: one lower-case
	// letter after a capital is a plural.
	_, size := runeAt(text, i)
	for range 2 {
		if i += size; i >= len(text) {
			return false
		}
		var r rune
		if r, size = runeAt(text, i); !isLower(r) {
			return false
		}
	}
	return true
}

// letterSet returns the set of a text's letters, each by the lowest six bits of its code point.
// A text has all letters of the texts that it contains.
func letterSet(text string) (set uint64) {
	for _, r := range text {
		set |= 1 << (r & 63)
	}
	return set
}
