package naming

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsHidden reports whether a character is invisible, or changes how its neighbours look:
// formats and directions, tags, variation selectors, fillers and control characters. A tab, a
// line feed and a carriage return are not hidden.
func IsHidden(r rune) bool {
	switch {
	case r < 0x7f:
		return r < ' ' && r != '\t' && r != '\n' && r != '\r'
	case r == 0x2800: // a braille pattern without dots
		return true
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // format characters that are drawn
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// Visible writes text from outside on one line for a terminal. A character that is hidden or cannot
// be printed becomes its escape, such as \u200b, so that two texts that differ look different.
// A text of more than limit characters is cut there, and ends with an ellipsis.
func Visible(s string, limit int) string {
	var b strings.Builder
	count := 0
	for len(s) > 0 {
		if count == limit {
			b.WriteString("…")
			break
		}
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case !IsHidden(r) && unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[size:]
		count++
	}
	return b.String()
}
