package cli

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"
	"golang.org/x/text/width"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Output for people: aligned tables, and color on a terminal.

// A Style is an ANSI color or weight. "" means none.
type Style string

const (
	Plain  Style = ""   // anything else
	Strong Style = "1"  // headers
	Dim    Style = "2"  // less important text
	Named  Style = "36" // tool names
	Bad    Style = "33" // problems
)

// Paint returns text in a style, or text itself if the output is not a terminal.
func (c *Call) Paint(s Style, text string) string {
	if !c.Color || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Colored reports whether w is a terminal that shows color. By convention, users set NO_COLOR
// to turn color off in all programs.
func Colored(w io.Writer, getenv func(string) string) bool {
	if getenv("NO_COLOR") != "" || getenv("TERM") == "dumb" || !IsTerminal(w) {
		return false
	}
	// The old Windows console prints the color codes as text.
	return runtime.GOOS != "windows" || getenv("WT_SESSION") != "" || getenv("TERM") != ""
}

// IsTerminal reports whether somebody reads w at once.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// WidthOf returns the columns of a terminal, or 0 if w is not a terminal or has no width. By
// convention, COLUMNS overrides what the terminal says.
func WidthOf(w io.Writer, getenv func(string) string) int {
	if !IsTerminal(w) {
		return 0
	}
	if columns, err := strconv.Atoi(getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	width, _, _ := term.GetSize(int(w.(*os.File).Fd())) // 0 with an error
	return width
}

// A Table aligns its columns. A column is aligned to the right if all its cells below the header
// are numbers or "-". On a terminal the other columns are cut so that rows fit its width.
type Table struct {
	Styles     map[int]Style // column -> style
	Headerless bool          // otherwise the first row is the header
	rows       [][]string
}

// Row adds a row.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Print prints a table. Like all that is printed to Out, it leaves errors to Out's Flush.
func (c *Call) Print(t *Table) {
	widths, right := t.measure()
	t.shrink(c.Width, widths, right)
	for r, cells := range t.rows {
		var line strings.Builder
		for i, cell := range cells {
			if i > 0 {
				line.WriteString("  ")
			}
			s := t.Styles[i]
			if r == 0 && !t.Headerless {
				s = Strong
			}
			blanks := strings.Repeat(" ", widths[i]-Columns(cell))
			if right[i] {
				line.WriteString(blanks + c.Paint(s, cell))
			} else {
				line.WriteString(c.Paint(s, cell) + blanks)
			}
		}
		fmt.Fprintln(c.Out, strings.TrimRight(line.String(), " "))
	}
}

func (t *Table) measure() (widths []int, right []bool) {
	for r, cells := range t.rows {
		for i, cell := range cells {
			if i == len(widths) {
				widths, right = append(widths, 0), append(right, true)
			}
			widths[i] = max(widths[i], Columns(cell))
			right[i] = right[i] && (r == 0 && !t.Headerless || isNumber(cell))
		}
	}
	return widths, right
}

// leastColumn is how far columns of text are cut to fit a terminal.
const leastColumn = 10

// Fits reports whether a table need not be cut.
func (c *Call) Fits(t *Table) bool {
	widths, _ := t.measure()
	return c.Width == 0 || total(widths) <= c.Width
}

// total is the width of a row.
func total(widths []int) int {
	sum := 0
	for i, w := range widths {
		sum += w + min(i, 1)*len("  ")
	}
	return sum
}

// shrink cuts columns so that rows are at most width wide; 0 means any width. The widest is cut, of which the last counts
// thrice: it describes, and names matter more. Numbers are never cut.
func (t *Table) shrink(width int, widths []int, right []bool) {
	over, last := total(widths)-width, len(widths)-1
	if width == 0 {
		return
	}
	weight := func(i int) int {
		if i == last {
			return 3 * widths[i]
		}
		return widths[i]
	}
	for ; over > 0; over-- {
		widest := -1
		for i, w := range widths {
			if !right[i] && w > leastColumn && (widest < 0 || weight(i) > weight(widest)) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	for _, cells := range t.rows {
		for i := range cells {
			cells[i] = cutColumns(cells[i], widths[i])
		}
	}
}

// cutColumns cuts a text to a width on a terminal.
func cutColumns(s string, width int) string {
	if Columns(s) <= width {
		return s
	}
	n := 1 // for the ellipsis
	for i, r := range s {
		if n += Columns(string(r)); n > width {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}

// ScoreTexts writes the scores of a column with the same number of decimals, so that they are
// aligned: none if all are whole, otherwise as many as tell them apart. Scores that a searcher
// lifts above all others are in the millions, so digits come in groups.
func ScoreTexts(scores ...float64) []string {
	whole, largest := true, 0.0
	for _, s := range scores {
		whole = whole && s == math.Trunc(s)
		if s := math.Abs(s); s < 10_000 {
			largest = max(largest, s)
		}
	}
	decimals := 3
	switch {
	case whole:
		decimals = 0
	case largest >= 100:
		decimals = 1
	case largest >= 1:
		decimals = 2
	}
	return Each(scores, func(s float64) string { return grouped(strconv.FormatFloat(s, 'f', decimals, 64)) })
}

// Ranks writes ranks, with "-" for what was not found.
func Ranks(ranks ...int) string {
	texts := Each(ranks, func(rank int) string { return cmp.Or(strings.TrimPrefix(strconv.Itoa(rank), "0"), "-") })
	return strings.Join(texts, " ")
}

// grouped puts commas between the thousands of a number: 1,000,012.5.
func grouped(number string) string {
	whole, _, _ := strings.Cut(number, ".")
	for at := len(whole) - 3; at > 0 && number[at-1] != '-'; at -= 3 {
		number = number[:at] + "," + number[at:]
	}
	return number
}

func isNumber(s string) bool {
	return s == "-" || s != "" && strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune("0123456789.,+-e%", r) }) < 0
}

// Columns returns the width of a text on a terminal. Ideographs take two columns. Marks that
// combine with the character before them take none.
func Columns(s string) int {
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

// OneLine makes text from outside fit a cell. It puts the text on one line, drops characters that
// cannot be printed, and cuts it to limit characters.
func OneLine(s string, limit int) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:limit-1]), " ") + "…"
}

// UpTo returns a limit on what a terminal shows. Piped output is whole.
func (c *Call) UpTo(limit int) int {
	if c.Width == 0 {
		return math.MaxInt
	}
	return limit
}

// Visible escapes characters of JSON that cannot be seen or that reorder others. They may come
// from anywhere, and the JSON goes to a terminal.
func Visible(data []byte) []byte {
	text := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		isPlain := !naming.IsHidden(r) && r != utf8.RuneError && (unicode.IsPrint(r) || unicode.Is(unicode.Zs, r))
		if r < utf8.RuneSelf && r != 0x7f || isPlain {
			text = append(text, data[i:i+size]...)
		} else {
			for _, unit := range utf16.AppendRune(nil, r) {
				text = fmt.Appendf(text, "\\u%04x", unit)
			}
		}
		i += size
	}
	return text
}
