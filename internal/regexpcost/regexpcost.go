// Package regexpcost estimates the cost of a regular expression before it is compiled. A
// short pattern such as (.......){1000} can compile to a large program.
package regexpcost

import "regexp/syntax"

// Max is the most instructions a compiled pattern may have. A pattern of a dozen words
// has about 100. A pattern of 256 bytes without numbers in braces has under 600.
const Max = 1000

// Parse parses a pattern that ignores case.
func Parse(text string) (*syntax.Regexp, error) {
	return syntax.Parse(text, syntax.Perl|syntax.FoldCase)
}

// Size estimates the number of instructions that a parsed pattern compiles to. A{2,5}
// compiles to five copies of A, three of them behind a branch. syntax.Parse bounds the
// product of nested repetitions by 1,000.
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
