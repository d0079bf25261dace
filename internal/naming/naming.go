// Package naming handles names, and text from outside. It splits a tool's name into parts, folds the spellings of a
// name, finds the names like a name, matches tools by patterns, and makes text from outside short and safe to show.
package naming

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
	"golang.org/x/text/unicode/norm"
)

// MaxBytes is how much of a tool's name is shown or compared. Providers refuse more than 64 or 128 characters.
const MaxBytes = 128

// Parts splits a tool name at underscores and then at camel-case boundaries.
//
//	mcp__slack__send_message -> mcp slack send message
//	NotebookEdit             -> Notebook Edit
//	HTTPServer               -> HTTP Server
func Parts(name string) []string {
	parts := make([]string, 0, 4)
	for segment := range strings.SplitSeq(name, "_") {
		if segment != "" {
			parts = appendCamelParts(parts, segment)
		}
	}
	return parts
}

// appendCamelParts cuts before an upper-case letter that follows a lower-case letter, and before the last capital of a
// run that a lower-case letter follows. Each invalid byte becomes a U+FFFD, as in encoding/json.
func appendCamelParts(parts []string, segment string) []string {
	if utf8.ValidString(segment) && !strings.ContainsFunc(segment[1:], unicode.IsUpper) { // needs no runes
		return append(parts, segment)
	}
	runes := []rune(segment)
	start := 0
	for i := 1; i < len(runes); i++ {
		if unicode.IsUpper(runes[i]) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			parts = append(parts, string(runes[start:i]))
			start = i
		}
	}
	return append(parts, string(runes[start:]))
}

// StopWords are left out of indexes, of queries, and of the words that say what a group is for: function words, and words
// that people wrap a request in. "use", "need", "get" and "want" are in nearly every request and description.
var StopWords = WordSet(`a about again all also am an and any are as at be been being both but by can could did
do does doing done down each every few for from get getting had has have having he hello help here hey hi his
how i id if ii ill im in into is it its ive just let like ll may me might more most must my need no nor not now
of off on only or other our out over own please re s same shall she should so some such t than thank thanks that
the their them then there these they this those to too under up us use using ve very want was we were what when
where which who whom why will with would you your don`)

// WordSet returns the set of the words in a text.
func WordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// StripDiacritics writes é as e, ﬁ as fi, and full-width letters as ASCII.
func StripDiacritics(word string) string {
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(word)))
}

// FoldSeparators replaces the hyphens and spaces that models put between the words of a name by "_".
func FoldSeparators(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, name)
}

// Fold maps spellings of a name that differ in case or separators, which models mix up, to the same string.
func Fold(name string) string {
	return strings.ToLower(FoldSeparators(name))
}

// Namespace returns the server of a name built by an MCP client, mcp__server__tool or server__tool, or "".
func Namespace(name string) string {
	server, tool, _ := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
	if tool == "" {
		return ""
	}
	return server
}

// Cut shortens s to at most limit bytes without splitting a character.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// CutWords is Cut, but drops the last word if the limit would split it.
func CutWords(s string, limit int) string {
	cut := Cut(s, limit)
	if next, _ := utf8.DecodeRuneInString(s[len(cut):]); len(cut) < len(s) && !unicode.IsSpace(next) {
		if i := strings.LastIndexFunc(cut, unicode.IsSpace); i > 0 {
			return cut[:i]
		}
	}
	return cut
}

// OneLine makes text from outside safe inside the library's own texts: at most limit bytes on one line, without control
// and invisible formatting characters and the angle brackets of tags. Ordinary names come back unchanged.
func OneLine(s string, limit int) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '<':
			return '‹'
		case r == '>':
			return '›'
		case unicode.IsControl(r) || IsHidden(r):
			return ' '
		}
		return r
	}, Cut(s, limit))
}

// sentences finds the ends of sentences, but not of abbreviations.
var sentences = regexp.MustCompile(`[^\s.]{4}(\.)(?: [^a-z]|$)`)

// ShortLine returns the beginning of a description as one line of at most limit bytes. It ends with a sentence if one ends
// behind the first third, or else with a word.
func ShortLine(text string, limit int) string {
	if limit <= 0 {
		return ""
	}
	line := strings.TrimSpace(OneLine(text, 4*limit))
	if len(line) <= limit {
		return line
	}
	line = CutWords(line, limit-len("…"))
	ends := sentences.FindAllStringSubmatchIndex(line, -1)
	if last := len(ends) - 1; last >= 0 && 3*ends[last][2] >= limit {
		line = line[:ends[last][2]]
	}
	return strings.TrimRight(line, " ,.") + "…"
}

// Safe returns a tool's name as a text may show it.
func Safe(name string) string { return strings.TrimSpace(OneLine(name, MaxBytes)) }

// Quoted returns a tool's name as errors show it.
func Quoted(name string) string { return strconv.Quote(Cut(name, MaxBytes)) }

// Edits returns how many insertions, deletions, substitutions and swaps of neighbours (optimal string alignment) turn a
// into b, or most+1 for more than most. https://en.wikipedia.org/wiki/Damerau-Levenshtein_distance
func Edits[E byte | rune](a, b []E, most int) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	switch shorter, longer := min(len(a), len(b)), max(len(a), len(b)); {
	case longer-shorter > most || most == 0 && longer > 0:
		return most + 1
	case shorter == 0:
		return longer
	}
	width := len(b) + 1
	cells := make([]int, 3*width)
	// row is filled now; above is the row before it, and before is two rows up.
	before, above, row := cells[:width], cells[width:2*width], cells[2*width:3*width]
	for j := range above {
		above[j] = j
	}
	leastAbove := 0
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			edits := above[j-1]
			if a[i-1] != b[j-1] {
				edits++
			}
			edits = min(edits, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				edits = min(edits, before[j-2]+1)
			}
			row[j] = edits
			least = min(least, edits)
		}
		if least > most && leastAbove >= most { // a swap builds on the row above
			return most + 1
		}
		leastAbove = least
		before, above, row = above, row, before
	}
	return min(above[len(b)], most+1)
}

// Bare is a tool's name within its namespace: create_issue for mcp__github__create_issue and github__create_issue.
func Bare(name, namespace string) string {
	return strings.TrimPrefix(name, Prefix(name, namespace))
}

// Prefix returns the part of a name that is its namespace's, or "" if there is none.
func Prefix(name, namespace string) string {
	for _, prefix := range [...]string{"mcp__" + namespace + "__", namespace + "__"} {
		if namespace != "" && len(name) > len(prefix) && strings.HasPrefix(name, prefix) {
			return prefix
		}
	}
	return ""
}

// CutRunes shortens s to at most limit code points.
func CutRunes(s string, limit int) string {
	for i := range s {
		if limit == 0 {
			return s[:i]
		}
		limit--
	}
	return s
}

// JoinParts writes a name in lower case with "_" between its parts.
func JoinParts(name string) string {
	name = FoldSeparators(Cut(name, MaxBytes))
	return strings.ToLower(strings.Join(Parts(name), "_"))
}

// SimilarityAbove is one minus the edits over the longer length: 1 for equal texts and 0 for texts that share nothing.
// A result below floor means only that the similarity is below floor too.
func SimilarityAbove(a, b []rune, floor float64) float64 {
	longer := max(len(a), len(b))
	if longer == 0 {
		return 1
	}
	most := min(longer, int((1-floor)*float64(longer))+1) // +1 since the product is rounded
	return 1 - float64(Edits(a, b, max(most, 0)))/float64(longer)
}

// LetterSet returns the set of a text's letters, each by the lowest six bits of its code point.
func LetterSet(text string) (set uint64) {
	for _, r := range text {
		set |= 1 << (r & 63)
	}
	return set
}

// Names of tools as providers accept them, with the prefix of a namespace.

const (
	maxShown    = 64 // letters of a tool's name that every provider accepts
	hashLetters = 8
)

// letters returns a name with "_" for the characters that providers refuse.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-':
			return r
		}
		return '_'
	}, name)
}

// IsValid reports whether every provider accepts the name of a tool.
func IsValid(name string) bool { return name == Valid(name) }

// Valid turns a name into a name that every provider accepts.
func Valid(name string) string {
	name = letters(name)
	return cmp.Or(name[:min(len(name), maxShown)], "unknown")
}

// PrefixOf writes a namespace so that it can precede the names of its tools, with "_" for characters that providers
// refuse. The prefix has no "__", and no "_" at either end. So the first "__" of a prefixed name ends its prefix, and
// names of two namespaces differ.
func PrefixOf(namespace string) string {
	return strings.Join(strings.FieldsFunc(letters(StripDiacritics(namespace)), func(r rune) bool { return r == '_' }), "_")
}

// Shown returns the name under which a model sees a tool: prefix__name, or the name if there is no prefix.
// A name that providers refuse, for its characters or for more than 64 of them, is altered, cut, and ends
// in a hash of the whole name. So names that differ are shown differently, whatever else is listed.
func Shown(prefix, name string) string {
	if prefix != "" {
		name = prefix + "__" + name
	}
	if IsValid(name) {
		return name
	}
	shown, hash := letters(name), sha256.Sum256([]byte(name))
	return shown[:min(len(shown), maxShown-1-hashLetters)] + "_" + hex.EncodeToString(hash[:])[:hashLetters]
}

// IsHidden reports whether a character is invisible, or changes how its neighbours look: formats and directions, tags,
// variation selectors, fillers and control characters, but no tab, line feed or carriage return.
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

// Visible writes text from outside on one line for a terminal. A character that is hidden or cannot be printed becomes
// its escape, such as \u200b, so that two texts that differ look different. An ellipsis follows limit characters.
func Visible(s string, limit int) string {
	var b strings.Builder
	count := 0
	for i, r := range s {
		if count++; count > limit {
			b.WriteString("…")
			break
		}
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"): // an invalid byte
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n', r == '\t', r == '\r':
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		case !IsHidden(r) && unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// CheckDistinct fails on a nil info and on an empty or repeated name.
func CheckDistinct(infos []*schema.ToolInfo) error {
	positions := make(map[string]int, len(infos))
	for i, info := range infos {
		if info == nil {
			return fmt.Errorf("toolsearch: tool %d: no tool info", i)
		}
		if info.Name == "" {
			return fmt.Errorf("toolsearch: tool %d: empty name", i)
		}
		if first, taken := positions[info.Name]; taken {
			return fmt.Errorf("toolsearch: tool %d: duplicate name %q, tool %d has it too", i, info.Name, first)
		}
		positions[info.Name] = i
	}
	return nil
}
