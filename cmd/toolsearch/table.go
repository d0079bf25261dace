package main

import (
	"io"
	"os"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// How things look to people: tables that line up, and color where there is a terminal to
// show it.

// A style is what color adds to a text; "" is none.
type style string

const (
	plain  style = ""
	strong style = "1"  // headers
	dim    style = "2"  // what matters less
	named  style = "36" // names of tools
	bad    style = "33" // what to look at
)

// paint is text in a style, for terminals; text itself for anything else.
func (c *command) paint(s style, text string) string {
	if !c.color || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// colored reports whether w is a terminal that shows color. NO_COLOR is the convention by
// which users refuse it everywhere.
func colored(w io.Writer, getenv func(string) string) bool {
	if getenv("NO_COLOR") != "" || getenv("TERM") == "dumb" || !isTerminal(w) {
		return false
	}
	// The old console of Windows shows the codes themselves.
	return runtime.GOOS != "windows" || getenv("WT_SESSION") != "" || getenv("TERM") != ""
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// A table aligns its columns; the first row is the header. A column whose cells, the
// header's aside, are all numbers or "-" stands at the right.
type table struct {
	rows   [][]string
	styles map[int]style // of a column
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

func (c *command) print(t *table) error {
	return c.printRows(t, true)
}

// printRows prints a table with or without a header.
func (c *command) printRows(t *table, header bool) error {
	widths, right := t.measure(header)
	var b strings.Builder
	for r, cells := range t.rows {
		for i, cell := range cells {
			if i > 0 {
				b.WriteString("  ")
			}
			s := t.styles[i]
			if header && r == 0 {
				s = strong
			}
			blanks := strings.Repeat(" ", widths[i]-columns(cell))
			switch {
			case right[i]:
				b.WriteString(blanks + c.paint(s, cell))
			case i == len(cells)-1: // nothing to line up behind it
				b.WriteString(c.paint(s, cell))
			default:
				b.WriteString(c.paint(s, cell) + blanks)
			}
		}
		line := strings.TrimRight(b.String(), " ")
		b.Reset()
		if _, err := io.WriteString(c.out, line+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) measure(header bool) (widths []int, right []bool) {
	for r, cells := range t.rows {
		for i, cell := range cells {
			if i == len(widths) {
				widths, right = append(widths, 0), append(right, true)
			}
			widths[i] = max(widths[i], columns(cell))
			right[i] = right[i] && (header && r == 0 || isNumber(cell))
		}
	}
	return widths, right
}

func isNumber(s string) bool {
	return s == "-" || s != "" && strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune("0123456789.,+-e%", r) }) < 0
}

// columns is how wide a terminal shows a text: ideographs take two columns, marks that
// combine with the character before them none.
func columns(s string) int {
	n := 0
	for _, r := range s {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// oneLine makes foreign text fit a cell: on one line, without what cannot be printed, and
// at most limit characters long.
func oneLine(s string, limit int) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:limit-1]), " ") + "…"
}
