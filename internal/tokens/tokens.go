// Package tokens estimates how many tokens a model reads in a text, without a vocabulary.
//
// A tokenizer of the GPT kind cuts a text into words, numbers and runs of punctuation, and these into pieces that it
// knows. So the number of tokens is close to a sum over the characters. The weights below were fitted by least squares
// to OpenAI's o200k_base, for tool definitions, queries, prose and code in English and Chinese; those for other scripts
// are guesses. A test in workshop/benchmarks holds the errors: mostly under 5 % for a catalog's definitions.
//
// Other providers' counts differ by more, but by much the same factor for every request of a conversation, so a
// comparison of two conversations hardly changes.
package tokens

import (
	"unicode"
	"unicode/utf8"
)

// Weights, in thousandths of a token.
const (
	afterBlank  = 1011 // the first letter of a word after a blank, which is part of the token
	afterOther  = 1516 // the first letter of any other word: without the blank, few words are whole in a vocabulary
	camel       = 1457 // the first letter of a word within a camelCase word
	longLetter  = 93   // each letter of a word from the 6th on, since long words are rarer
	longestMore = 104  // each letter from the 10th on, in addition
	upper       = 194  // each capital after a capital
	threeDigits = 1691 // the first, fourth, ... digit of a number, with the punctuation it keeps apart
	punctuation = 255  // the first sign of a run
	moreSigns   = 17   // each sign after a sign: the runs of JSON are one token each
	blank       = 247  // each blank after a blank, in indented text
	lineBreak   = 648  // and tabs
	ideograph   = 631  // Chinese; the same for kana, of which the texts have none
	hangul      = 766
	otherLetter = 807  // Cyrillic, Arabic, Devanagari, ...
	otherSymbol = 1003 // emoji, arrows, ...
)

// OfTool estimates the tokens of a tool's definition: name, description and JSON schema as JSON.
func OfTool(name, description, parameters string) int {
	return Of(`{"name":"` + name + `","description":"` + description + `","parameters":` + parameters + "}")
}

// A Counter counts a text that comes in pieces. A beginning of a text never counts more than the text.
type Counter struct {
	thousandths int
	class       class // of the previous character
	run         int   // the number of characters of that class in a row so far
	isUpper     bool  // whether the previous character is a capital
}

// class is the kind of character that a tokenizer distinguishes.
type class uint8

const (
	other class = iota
	letter
	digit
	sign
	space
)

// Add counts a piece of text. A character must not be split between pieces.
func (c *Counter) Add(text []byte) {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		c.add(r)
		text = text[size:]
	}
}

// Tokens returns the estimate for what was added, rounded to the nearest.
func (c Counter) Tokens() int { return (c.thousandths + 500) / 1000 }

// Of estimates the tokens of a text.
func Of[T string | []byte](text T) int {
	var c Counter
	c.Add([]byte(text))
	return c.Tokens()
}

func (c *Counter) add(r rune) {
	kind, cost, isUpper := other, 0, false
	switch {
	case 'a' <= r && r <= 'z', r >= utf8.RuneSelf && r <= unicode.MaxLatin1 && unicode.IsLower(r):
		kind = letter
	case 'A' <= r && r <= 'Z', r >= utf8.RuneSelf && r <= unicode.MaxLatin1 && unicode.IsUpper(r):
		kind, isUpper = letter, true
	case '0' <= r && r <= '9':
		kind = digit
	case r == ' ':
		kind = space
	case r < ' ':
		cost = lineBreak
	case r < utf8.RuneSelf:
		kind = sign
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
		cost = ideograph
	case unicode.Is(unicode.Hangul, r):
		cost = hangul
	case unicode.IsLetter(r), unicode.IsMark(r):
		cost = otherLetter
	default:
		cost = otherSymbol
	}
	run := 1
	if kind == c.class {
		run += c.run
	}
	switch isFirst := run == 1; {
	case kind == letter && isFirst && c.class == space:
		cost = afterBlank
	case kind == letter && isFirst:
		cost = afterOther
	case kind == letter && isUpper && !c.isUpper:
		cost, run = camel, 1
	case kind == letter && isUpper:
		cost = upper
	case kind == digit && run%3 == 1:
		cost = threeDigits
	case kind == sign && isFirst:
		cost = punctuation
	case kind == sign:
		cost = moreSigns
	case kind == space && !isFirst:
		cost = blank
	}
	if kind == letter && run > 5 {
		cost += longLetter
	}
	if kind == letter && run > 9 {
		cost += longestMore
	}
	c.thousandths += cost
	c.class, c.run, c.isUpper = kind, run, isUpper
}
