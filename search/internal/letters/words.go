// Package letters compares letter by letter: words with words (words.go) and with the terms of an index (terms.go),
// queries with names (names.go) and with texts (blocks.go).
package letters

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// The likeness of a word to a part of a name, from 0 to 1, is the first of these that applies:
//
//	1                              the word equals the part
//	0.7 + 0.3 * its share of it    the word abbreviates the part: it begins the part
//	                               ("repo" ~ repository) or leaves out its vowels
//	                               ("msg" ~ message); three letters at least
//	1 - edits / longer length      "wether" ~ weather is 1 - 1/7; likeness under 0.7
//	                               counts as 0
//
// With 0.7, a slip in a word of four letters passes (file, fiel: 0.75). A slip in a word of three letters does not
// (get, set: 0.67), since that is mostly a different word.

// DefaultLikeness is the usual floor of a likeness.
const DefaultLikeness = 0.7

const (
	minAbbreviation = 3 // letters
	vowels          = "aeiou"
)

// A Word is a word of a query or a part of a name.
type Word struct {
	Text    string // lower-cased
	Folded  string // by naming.Fold
	runes   []rune // nil means that the word is too long to be like anything
	letters uint64 // naming.LetterSet of Folded
}

// NewWord reads a word.
func NewWord(text string) Word {
	w := Word{Text: strings.ToLower(text), Folded: naming.Fold(text)}
	w.letters = naming.LetterSet(w.Folded)
	if len(w.Folded) <= 4*naming.MaxBytes { // no part of a name is like a longer word
		w.runes = []rune(w.Folded)
	}
	return w
}

// Like returns the likeness of a word to a part, or 0 if it is less than floor.
func (w *Word) Like(part *Word, floor float64) float64 {
	if len(w.runes) == 0 || len(part.runes) == 0 {
		return 0
	}
	likeness, longer := 1.0, float64(max(len(w.runes), len(part.runes)))
	// An edit removes at most one letter from either difference of the sets, and changes the
	// difference of the lengths by at most one.
	switch edits := max(bits.OnesCount64(w.letters&^part.letters), bits.OnesCount64(part.letters&^w.letters),
		len(w.runes)-len(part.runes), len(part.runes)-len(w.runes)); {
	case w.Folded == part.Folded:
	case abbreviates(w.runes, part.runes):
		share := float64(len(w.runes)) / float64(len(part.runes))
		likeness = DefaultLikeness + (1-DefaultLikeness)*share
	case 1-float64(edits)/longer < floor:
		return 0
	default:
		likeness = naming.SimilarityAbove(w.runes, part.runes, floor)
	}
	if likeness < floor {
		return 0
	}
	return likeness
}

// abbreviates reports whether word begins part, or leaves letters of it out and has no vowel after the first.
func abbreviates(word, part []rune) bool {
	if len(word) < minAbbreviation || len(word) >= len(part) || word[0] != part[0] {
		return false
	}
	if slices.Equal(word, part[:len(word)]) {
		return true
	}
	next := 1
	for _, char := range word[1:] {
		i := slices.Index(part[next:], char)
		if i < 0 || strings.ContainsRune(vowels, char) {
			return false
		}
		next += i + 1
	}
	return true
}
