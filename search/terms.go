package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"github.com/kljensen/snowball/russian"

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
// Words are lower-cased, stripped of diacritics and stemmed as English; words in Cyrillic are
// stemmed as Russian. Runs of Chinese,
// Japanese and Korean characters become single characters and pairs, in simplified form. Stop
// words are left out. Words that were cut are kept aside, whole: "youtube" of "YouTube".
type termizer struct {
	terms   []string         // number -> term
	numbers map[string]int32 // term -> number
	words   map[string]int32 // word as written -> number of its term; noTerm for a stop word
	wholes  []whole          // of the texts that were appended
	spare   []int32
}

// A whole is a word that camel case or digits cut into several words, as one term. Makers of
// tools write "MongoDB" and "mongodb", "YouTube" and "youtube", "S3" and "s3".
type whole struct {
	term     int32
	from, to int // its words, in the terms that were appended
}

const noTerm = -1

func newTermizer() *termizer {
	return &termizer{numbers: make(map[string]int32), words: make(map[string]int32)}
}

// append adds the numbers of the terms of text to terms, and its wholes to z.wholes.
func (z *termizer) append(terms []int32, text string) []int32 {
	start, from, words := 0, 0, 0 // of the words before i without anything between them
	for i := 0; i < len(text); {
		class, end := wordAt(text, i)
		if class == noLetter || class == ideograph {
			if words > 1 {
				z.appendWhole(text[start:i], from, len(terms))
			}
			words = 0
		} else {
			if words == 0 {
				start, from = i, len(terms)
			}
			words++
		}
		switch class {
		case noLetter:
		case ideograph:
			terms = z.appendIdeographic(terms, text[i:end])
		default:
			if n := z.number(text[i:end], class); n != noTerm {
				terms = append(terms, n)
			}
		}
		i = end
	}
	if words > 1 {
		z.appendWhole(text[start:], from, len(terms))
	}
	return terms
}

// The lengths of the longest words that count whole. Longer words are names of functions, which
// nobody writes in another way, or with a digit, something and its number.
const (
	maxWholeBytes      = 16
	maxDigitWholeBytes = 3
)

// appendWhole adds a word to z.wholes, if it is not too long.
func (z *termizer) appendWhole(word string, from, to int) {
	if len(word) > maxWholeBytes || len(word) > maxDigitWholeBytes && strings.ContainsAny(word, "0123456789") {
		return
	}
	if n := z.number(word, lower); n != noTerm {
		z.wholes = append(z.wholes, whole{n, from, to})
	}
}

func (z *termizer) appendIdeographic(terms []int32, run string) []int32 {
	run = simplify(run)
	add := func(start, end int) {
		if n := z.number(run[start:end], ideograph); n != noTerm {
			terms = append(terms, n)
		}
	}
	for i, r := range run {
		add(i, i+utf8.RuneLen(r))
	}
	before := 0
	for i, r := range run {
		if i > 0 {
			add(before, i+utf8.RuneLen(r))
		}
		before = i
	}
	return terms
}

// number returns the number of a word's term.
func (z *termizer) number(word string, class charClass) int32 {
	n, known := z.words[word]
	if known {
		return n
	}
	n = noTerm
	if term := termOf(word, class); term != "" {
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
func termOf(word string, class charClass) string {
	if class == ideograph {
		if chineseStopWords[word] {
			return ""
		}
		return word
	}
	if len(word) > maxTermBytes {
		return ""
	}
	term := strings.ToLower(word)
	if r, _ := utf8.DecodeRuneInString(term); unicode.Is(unicode.Cyrillic, r) {
		return russian.Stem(strings.ReplaceAll(term, "ё", "е"), true) // й is a letter, not и with a mark
	}
	term = naming.StripDiacritics(term)
	switch {
	case stopWords[term]:
		return ""
	case len(term) > 2 && class != digit: // numbers are not stemmed
		return english.Stem(term, true)
	default:
		return term
	}
}

// wordAt returns where the run that begins at i ends: a word, a run of ideographs, or a
// character that is neither. class is that of the run's first character.
func wordAt(text string, i int) (class charClass, end int) {
	class, size := classAt(text, i)
	end = i + size
	if class == noLetter {
		return class, end
	}
	for before := class; end < len(text); end += size {
		here := byteClasses[text[end]]
		if here == before && here != upper { // in most places of most words
			size = 1
			continue
		}
		here, size = classAt(text, end)
		switch {
		case here == noLetter || before == lower && here == upper || here == upper && isCapitalized(text, end+size):
			return class, end
		case here != before && (here == digit || before == digit || here == ideograph || before == ideograph):
			return class, end
		}
		before = here
	}
	return class, end
}

// isCapitalized reports whether the capital before i begins a word. The last capital of
// HTTPServer begins Server. The L of URLs begins no word: one lower-case letter after a capital
// is a plural.
func isCapitalized(text string, i int) bool {
	for range 2 {
		if i >= len(text) {
			return false
		}
		class, size := classAt(text, i)
		if class != lower {
			return false
		}
		i += size
	}
	return true
}

// A charClass says which part a character has in words.
type charClass uint8

const (
	noLetter charClass = iota // none
	lower
	upper
	digit
	caseless  // a letter of a script without cases, or a mark on a letter
	ideograph // of a script without blanks between words
	wide      // of a byte: not ASCII
)

// classAt returns the class of the character at i, which is not the end, and its size.
func classAt(text string, i int) (class charClass, size int) {
	if class := byteClasses[text[i]]; class != wide {
		return class, 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	return unicodeClassOf(r), size
}

func classOf(r rune) charClass {
	if r < utf8.RuneSelf {
		return byteClasses[r]
	}
	return unicodeClassOf(r)
}

// byteClasses spare ASCII characters the look-ups of package unicode.
var byteClasses = func() (classes [256]charClass) {
	for c := range classes {
		if classes[c] = wide; c < utf8.RuneSelf {
			classes[c] = unicodeClassOf(rune(c))
		}
	}
	return classes
}()

func unicodeClassOf(r rune) charClass {
	switch {
	case isCommonHan(r):
		return ideograph
	case r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return ideograph
	case unicode.IsLower(r):
		return lower
	case unicode.IsUpper(r):
		return upper
	case unicode.IsDigit(r):
		return digit
	case unicode.IsLetter(r) || unicode.Is(unicode.Mn, r):
		return caseless
	default:
		return noLetter
	}
}

// hanEnd returns where the run of Chinese characters at i ends.
func hanEnd(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !isCommonHan(r) && !unicode.Is(unicode.Han, r) {
			break
		}
		i += size
	}
	return i
}

// isCommonHan reports whether r is in the block of nearly all Chinese characters in use, which
// has nothing else. It spares them the look-up.
func isCommonHan(r rune) bool { return 0x4e00 <= r && r <= 0x9fff }

// isOfLetters reports whether a term is neither a number nor ideographs.
func isOfLetters(term string) bool {
	class, _ := classAt(term, 0)
	return class != digit && class != ideograph
}

// letterSet returns the set of a text's letters, each by the lowest six bits of its code point.
// A text has all letters of the texts that it contains.
func letterSet(text string) (set uint64) {
	for _, r := range text {
		set |= 1 << (r & 63)
	}
	return set
}
