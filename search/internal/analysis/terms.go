// Package analysis turns text into index terms. It finds the words of a text, their stems by
// language, and the parts of a query that are not words.
package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"github.com/kljensen/snowball/russian"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// An Analyzer turns text into index terms, and numbers them in the order in which it meets them. It remembers every
// word, so a word costs only one look-up the second time. It is for one goroutine at a time.
//
//	"Re-run the HTTP2Server's workflows"  -> re run http 2 server workflow
//	"naïve café"                          -> naiv cafe
//	"创建日历事件"                          -> 创 建 日 历 事 件 创建 建日 日历 历事 事件
//
// A word is a run of letters and digits, cut at camel-case humps and between letters and digits. Words are
// lower-cased, stripped of diacritics and stemmed as English, or as Russian if they are in Cyrillic. Runs of Chinese,
// Japanese and Korean characters become single characters and pairs, in simplified form. Stop words are left out.
// Words that were cut are kept aside, whole: "youtube" of "YouTube".
type Analyzer struct {
	Terms   []string         // number -> term
	Numbers map[string]int32 // term -> number
	Wholes  []Whole          // of the appended texts, until the caller empties the list

	OmitsWholes bool // whether no whole is added to Wholes

	short shorts           // words as written, or with a small first letter -> numbers of their terms; NoTerm for a stop word
	long  map[string]int32 // likewise
}

// A Whole is a word that camel case, digits or the hyphen after a single letter cut into several words, as one term:
// makers of tools write "MongoDB" and "mongodb", "S3" and "s3", "e-mail" and "email".
type Whole struct {
	Term     int32
	From, To int // its words, in the terms that were appended

	IsHyphenated bool // by the hyphen
}

// NoTerm is the number where there is no term.
const NoTerm = -1

// New returns an Analyzer that has met no terms.
func New() *Analyzer {
	return &Analyzer{Numbers: make(map[string]int32), short: newShorts(), long: make(map[string]int32)}
}

// Append adds the numbers of the terms of text to terms, and its whole words to z.Wholes unless z.OmitsWholes.
func (z *Analyzer) Append(terms []int32, text string) []int32 {
	near := max(0, len(text)-shortBytes) // from here on, plainAt would read beyond the end
	var padded [2 * shortBytes]byte
	copy(padded[:], text[near:])
	start, from, words := 0, 0, 0 // of the run of adjacent words before i
	for i := 0; i < len(text); {
		var word short
		var length int
		switch class := byteClasses[text[i]]; {
		case class == NoLetter && words == 0: // a blank or a sign
			i++
			continue
		case class != Lower && class != Upper:
		case i < near:
			word, length = plainAt(text[i:])
		default:
			word, length = plainAt(padded[i-near:])
		}
		if length > 0 && words == 0 {
			slot := z.short.slot(word)
			n := slot.number
			if !slot.isKnown {
				n = z.numberShort(word, text[i:i+length], Lower)
			}
			terms = append(terms, n)[:len(terms)+int(min(n+1, 1))] // no branch: stop words come at random
			i += length + 1
			continue
		}
		class, end := WordAt(text, i)
		if words == 1 && text[i] == '-' && joinsLetter(text, start, i) {
			i = end
			continue
		}
		if class == NoLetter || class == Ideograph {
			if words > 1 {
				z.appendWhole(text[start:i], from, len(terms))
			}
			if words = 0; class == Ideograph {
				terms = z.AppendIdeographs(terms, text[i:end])
			}
		} else {
			if words == 0 {
				start, from = i, len(terms)
			}
			words++
			if n := z.Number(text[i:end], class); n != NoTerm {
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

// joinsLetter reports whether the hyphen at i is between a single letter, at start, and a word: "e-mail".
func joinsLetter(text string, start, i int) bool {
	isLetter := func(class Class) bool { return class == Lower || class == Upper }
	if i != start+1 || !isLetter(byteClasses[text[start]]) || i+1 == len(text) {
		return false
	}
	class, _ := ClassAt(text, i+1)
	return isLetter(class)
}

// The longest words that count whole. A longer word is the name of a function, or a name and its number.
const (
	maxWholeBytes      = 16
	maxDigitWholeBytes = 3
)

func (z *Analyzer) appendWhole(word string, from, to int) {
	if z.OmitsWholes || len(word) > maxWholeBytes || len(word) > maxDigitWholeBytes && strings.ContainsAny(word, "0123456789") {
		return
	}
	isHyphenated := len(word) > 1 && word[1] == '-'
	if isHyphenated {
		word = word[:1] + word[2:]
	}
	if n := z.Number(word, Lower); n != NoTerm {
		z.Wholes = append(z.Wholes, Whole{n, from, to, isHyphenated})
	}
}

// AppendIdeographs adds the numbers of the terms of a run of ideographs to terms.
func (z *Analyzer) AppendIdeographs(terms []int32, run string) []int32 {
	run = Simplify(run)
	add := func(term string) {
		if n := z.Number(term, Ideograph); n != NoTerm {
			terms = append(terms, n)
		}
	}
	for i, r := range run {
		add(run[i : i+utf8.RuneLen(r)])
	}
	before := 0
	for i, r := range run {
		if i > 0 {
			add(run[before : i+utf8.RuneLen(r)])
		}
		before = i
	}
	return terms
}

// Term returns the term of a word of a lexicon. A word in camel case counts whole. A stop word is stemmed too, since
// its forms are terms: "gets" is not a stop word.
func (z *Analyzer) Term(word string) string {
	class, _ := ClassAt(word, 0)
	if class != Ideograph {
		class = Lower
	}
	if n := z.Number(Simplify(word), class); n != NoTerm {
		return z.Terms[n]
	}
	return englishStem(word)
}

// TermsOf returns the Terms of the words of a line.
func (z *Analyzer) TermsOf(line string) []string {
	words := strings.Fields(line)
	for i := range words {
		words[i] = z.Term(words[i])
	}
	return words
}

// Stems returns the terms of a text, with blanks between them.
func (z *Analyzer) Stems(text string) (stems string) {
	for _, n := range z.Append(nil, text) {
		stems += " " + z.Terms[n]
	}
	return strings.TrimPrefix(stems, " ")
}

// Remembered returns how many words the Analyzer remembers.
func (z *Analyzer) Remembered() int { return z.short.words + len(z.long) }

// Number returns the number of a word's term, or NoTerm if it has none, such as a stop word.
func (z *Analyzer) Number(word string, class Class) int32 {
	if len(word) <= shortBytes && !strings.HasSuffix(word, "\x00") { // a short has zeros behind the word
		return z.numberShort(shortOf(word), word, class)
	}
	n, known := z.long[word]
	if !known {
		n = z.addTerm(word, class)
		z.long[strings.Clone(word)] = n
	}
	return n
}

// numberShort is Number for a word that is in the table as key, perhaps with a small first letter for a capital.
func (z *Analyzer) numberShort(key short, word string, class Class) int32 {
	slot := z.short.slot(key)
	if slot.isKnown {
		return slot.number
	}
	n := z.addTerm(word, class)
	z.short.add(key, n)
	return n
}

// addTerm returns the number of the term of a word that the Analyzer does not remember.
func (z *Analyzer) addTerm(word string, class Class) int32 {
	term := termOf(word, class)
	if term == "" {
		return NoTerm
	}
	n, known := z.Numbers[term]
	if !known {
		term = strings.Clone(term) // otherwise the term keeps the whole text in memory
		n = int32(len(z.Terms))
		z.Terms = append(z.Terms, term)
		z.Numbers[term] = n
	}
	return n
}

// maxTermBytes is the length of the longest word that becomes a term. A longer word is data.
const maxTermBytes = 64

// termOf returns the term of a word, or "" if it has none, such as a stop word.
func termOf(word string, class Class) string {
	switch {
	case class == Ideograph && !chineseStopWords[word]:
		return word
	case class == Ideograph || len(word) > maxTermBytes:
		return ""
	}
	term := strings.ToLower(word)
	if r, _ := utf8.DecodeRuneInString(term); unicode.Is(unicode.Cyrillic, r) {
		return russian.Stem(strings.ReplaceAll(term, "ё", "е"), true) // й is a letter, not и with a mark
	}
	term = naming.StripDiacritics(term)
	switch {
	case naming.StopWords[term]:
		return ""
	case len(term) > 2 && class != Digit: // numbers are not stemmed
		return englishStem(term)
	}
	return term
}

// englishStem returns the stem of an English word, or the singular of one of ownTerms.
func englishStem(word string) string {
	if singular := strings.TrimSuffix(word, "s"); ownTerms[singular] {
		return singular
	}
	return english.Stem(word, true)
}

// WordAt returns where the word, the ideographs or the other character at i ends, and the class of its first character.
func WordAt(text string, i int) (class Class, end int) {
	class, size := ClassAt(text, i)
	end = i + size
	if class == NoLetter {
		return class, end
	}
	for before := class; end < len(text); end += size {
		var here Class
		here, size = ClassAt(text, end)
		switch {
		case here == NoLetter || before == Lower && here == Upper || here == Upper && isCapitalized(text, end+size):
			return class, end
		case here != before && (here == Digit || before == Digit || here == Ideograph || before == Ideograph):
			return class, end
		}
		before = here
	}
	return class, end
}

// isCapitalized reports whether the capital before i begins a word, as the S of HTTPServer does. The L of URLs does
// not: a single lower-case letter at the end is a plural.
func isCapitalized(text string, i int) bool {
	for range 2 {
		if i >= len(text) {
			return false
		}
		class, size := ClassAt(text, i)
		if class != Lower {
			return false
		}
		i += size
	}
	return true
}

// A Class says what part a character plays in words.
type Class uint8

const (
	NoLetter  Class = iota // none: a blank, a sign
	Lower                  // a small letter
	Upper                  // a capital
	Digit                  // a decimal digit of any script
	Caseless               // a letter of a script without cases, or a mark on a letter
	Ideograph              // of a script without blanks between words
	wide                   // of a byte: not ASCII
)

// ClassAt returns the class of the character at i, which is not the end, and its size.
func ClassAt(text string, i int) (class Class, size int) {
	if class := byteClasses[text[i]]; class != wide {
		return class, 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	return lookedUpClassOf(r), size
}

// ClassOf returns the class of a character.
func ClassOf(r rune) Class {
	if r < utf8.RuneSelf {
		return byteClasses[r]
	}
	return lookedUpClassOf(r)
}

// byteClasses spares ASCII characters the look-ups of package unicode.
var byteClasses = func() (classes [256]Class) {
	for c := range classes {
		if classes[c] = wide; c < utf8.RuneSelf {
			classes[c] = lookedUpClassOf(rune(c))
		}
	}
	return classes
}()

func lookedUpClassOf(r rune) Class {
	switch {
	case isCommonHan(r):
		return Ideograph
	case '、' <= r && r <= '〃' || '！' <= r && r <= '／' || '：' <= r && r <= '＠': // spares common signs the look-ups
		return NoLetter
	case r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return Ideograph
	case unicode.IsLower(r):
		return Lower
	case unicode.IsUpper(r):
		return Upper
	case unicode.IsDigit(r):
		return Digit
	case unicode.IsLetter(r) || unicode.Is(unicode.Mn, r):
		return Caseless
	}
	return NoLetter
}

// IsNotHan reports whether a character is not Chinese.
func IsNotHan(r rune) bool { return !isCommonHan(r) && (r < 0x2e80 || !unicode.Is(unicode.Han, r)) }

// isCommonHan spares nearly all Chinese characters in use the look-up.
func isCommonHan(r rune) bool { return 0x4e00 <= r && r <= 0x9fff }

// IsOfLetters reports whether a term is neither a number nor ideographs.
func IsOfLetters(term string) bool {
	class, _ := ClassAt(term, 0)
	return class != Digit && class != Ideograph
}
