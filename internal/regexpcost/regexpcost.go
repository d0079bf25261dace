// Package regexpcost tells what a regular expression may cost before it is compiled: the
// size of (.......){1000} is not that of what was typed.
package regexpcost

import "regexp/syntax"

// Max is the most instructions a compiled pattern may have. A pattern of a dozen
// words has about 100; without numbers in braces, 256 bytes come to under 600.
const Max = 1000

// Parse parses a pattern, in which case does not count.
func Parse(text string) (*syntax.Regexp, error) {
	return syntax.Parse(text, syntax.Perl|syntax.FoldCase)
}

// Size is about the number of instructions that a parsed pattern compiles to: what
// is repeated 2 to 5 times is written out five times, three of them behind a branch.
// syntax.Parse bounds the product of nested repetitions by 1,000.
func Size(re *syntax.Regexp) int {
	size := 0
	for _, sub := range re.Sub {
		size += Size(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCapture:
		return size + 2
	case syntax.OpConcat:
		return size
	case syntax.OpAlternate:
		return size + len(re.Sub) - 1
	case syntax.OpRepeat:
		return size*max(re.Min, re.Max, 1) + max(re.Max-re.Min, 1)
	default:
		return size + 1
	}
}
