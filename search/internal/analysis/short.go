package analysis

import (
	"math/bits"
	"math/rand/v2"
)

// A short is a word of at most shortBytes bytes, and zeros behind it: nearly every word of a tool is one. It is compared
// as two integers.
type short struct{ low, high uint64 }

const shortBytes = 16

// shortOf makes a short of a word that is not longer.
func shortOf(word string) short {
	var padded [shortBytes]byte
	copy(padded[:], word)
	return short{eight(padded[:]), eight(padded[8:])}
}

// shorts are short words and the numbers of their terms: a hash table in which a word whose slot is taken is in the next
// one. Building a large index is mostly looking up words, which takes a map about twice as long.
type shorts struct {
	slots []numbered // a power of two; at least half of them are empty
	words int
}

// A numbered is a slot of the table: a word and the number of its term.
type numbered struct {
	short
	number  int32
	isKnown bool // false for an empty slot
}

func newShorts() shorts { return shorts{slots: make([]numbered, 1<<8)} }

// seeds differ from process to process, so that nobody can write tools whose words share slots.
var seeds = [2]uint64{rand.Uint64(), rand.Uint64()}

// slot returns the slot of a word, or the empty one where it belongs.
func (s *shorts) slot(word short) *numbered {
	high, low := bits.Mul64(word.low^seeds[0], word.high^seeds[1])
	hash := high ^ low
	last := uint64(len(s.slots) - 1)
	for at := hash >> bits.LeadingZeros64(last); ; at++ {
		if slot := &s.slots[at&last]; slot.short == word || !slot.isKnown {
			return slot
		}
	}
}

// add adds a word that the table does not have.
func (s *shorts) add(word short, number int32) {
	*s.slot(word) = numbered{word, number, true}
	if s.words++; s.words > len(s.slots)/2 {
		old := s.slots
		s.slots = make([]numbered, 2*len(old))
		for _, n := range old {
			if n.isKnown {
				*s.slot(n.short) = n
			}
		}
	}
}

// plainAt returns the word of one to shortBytes English letters at the start of a text, in small letters, and its length.
// The length is 0 if there is no such word, something other than a blank or a sign follows, or a hyphen may join the word
// to the next. Its first letter may be a capital. plainAt reads shortBytes and one more, eight letters at a time.
func plainAt[T string | []byte](text T) (word short, length int) {
	text = text[:shortBytes+1]
	start := eight(text)
	word.low = start | ('a' - 'A')
	if length = smallLetters(word.low); length < 8 {
		word.low &= 1<<(8*length) - 1
	} else {
		word.high = eight(text[8:])
		more := smallLetters(word.high)
		word.high &= 1<<(8*more) - 1
		length += more
	}
	if byteClasses[text[length]] != NoLetter || length == 1 && byte(start>>8) == '-' {
		return word, 0
	}
	return word, length
}

// smallLetters returns how many of the eight characters in an integer, from the lowest on, are from a to z. It compares
// all at once: adding 128-c sets the highest bit of those characters that are c or more.
func smallLetters(text uint64) int {
	const each, highest = 0x0101010101010101, 0x8080808080808080
	ascii := text &^ highest
	others := ^(ascii + (128-'a')*each) | (ascii + (128-'z'-1)*each) | text
	return bits.TrailingZeros64(others&highest) / 8
}

// eight returns the first eight bytes as an integer. The compiler makes one load of that.
func eight[T string | []byte](text T) uint64 {
	_ = text[7]
	return uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 |
		uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
}
