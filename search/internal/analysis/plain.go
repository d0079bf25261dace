package analysis

import "math/bits"

// plain is a word of one to plainBytes English letters, in small letters, and zeros behind them. Most words of tools are
// such, and a blank or a sign follows them. They are found eight letters at a time, and compared as two integers.
type plain struct{ low, high uint64 }

// numbered is a plain word and the number of its term.
type numbered struct {
	plain
	number int32
}

const (
	plainBytes = 16
	plainBits  = 12 // of a hash; more were not faster over 100,000 tools
)

// hash multiplies by odd numbers: 2^64 divided by the golden ratio, as Knuth does, and one of MurmurHash3's.
func (p plain) hash() uint64 {
	return (p.low ^ p.high*0xff51afd7ed558ccd) * 0x9e3779b97f4a7c15 >> (64 - plainBits)
}

// plainAt returns the plain word at the start of a text, with its length, or length 0 if there is none or a hyphen may
// join it to the next. Its first letter may be a capital. It reads plainBytes and one more.
func plainAt[T string | []byte](text T) (word plain, length int) {
	text = text[:plainBytes+1]
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
