package foreign

import (
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The cost of a regular expression is estimated before it is parsed and before it is compiled. A short
// pattern such as (.......){1000} can compile to a large program, and \pL is a class of 659 ranges.

// MaxPatternSize is the most instructions a compiled pattern may have. A pattern of a dozen words has about 100. One of
// 256 bytes without numbers in braces or Unicode classes has under 600.
const MaxPatternSize = 1000

// The cost of parsing is in units of 20 to 50 ns, as measured.
const (
	maxParsing = 1 << 18 // for one pattern that ignores case; about 10 ms

	byteParsing  = 16      // the cost of a byte
	classParsing = 4000    // the cost of \p{Lu} and the like, including the other case of each letter
	lastFold     = 0x1e943 // the last rune that has another case, in Unicode 15
)

// ParsingCost estimates the cost of parsing a pattern, from its text. In a pattern that ignores case, a range costs a
// unit for each rune in it, and [B-\x{1e942}] takes 2 ms.
func ParsingCost(text string) int {
	cost := byteParsing*len(text) + classParsing*(strings.Count(text, `\p`)+strings.Count(text, `\P`))
	for i := range len(text) {
		if text[i] != '-' {
			continue
		}
		var first, last rune
		if hex, isHex := strings.CutPrefix(text[i+1:], `\x{`); isHex {
			hex, _, _ = strings.Cut(hex, "}")
			n, _ := strconv.ParseUint(hex, 16, 64) // the largest number if there are too many digits
			last = rune(min(n, lastFold))
		} else {
			last, _ = utf8.DecodeRuneInString(text[i+1:])
		}
		if i > 0 && text[i-1] >= utf8.RuneSelf {
			first, _ = utf8.DecodeLastRuneInString(text[:i])
		}
		cost += int(max(0, min(last, lastFold)-first))
	}
	return cost
}

// ParsePattern parses a pattern that ignores case. It fails on a pattern that takes too long to parse.
func ParsePattern(text string) (*syntax.Regexp, error) {
	if ParsingCost(text) > maxParsing {
		return nil, &syntax.Error{Code: syntax.ErrLarge, Expr: text}
	}
	return syntax.Parse(text, syntax.Perl|syntax.FoldCase)
}

// PatternSize estimates the number of instructions that a parsed pattern compiles to. A{2,5} compiles to five copies of
// A, three of them after a branch. syntax.Parse bounds the product of nested repetitions by 1,000. A class counts once
// more for every 16 ranges, for their memory.
func PatternSize(re *syntax.Regexp) int {
	size := 0
	for _, sub := range re.Sub {
		size += PatternSize(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass: // two runes are a range
		return 1 + len(re.Rune)/32
	case syntax.OpCapture:
		return size + 2
	case syntax.OpConcat:
		return size
	case syntax.OpAlternate:
		return size + len(re.Sub) - 1
	case syntax.OpRepeat:
		return size*max(re.Min, re.Max, 1) + max(re.Max-re.Min, 1)
	}
	return size + 1
}
