package lock

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Lint: what a definition may try on a model. It reads names, descriptions and every text of the
// schemas. Its rules are lists, so it finds usual attacks and not all possible attacks: see
// phrases.go for the instructions, and docs/security.md for how often each rule warns of
// harmless tools.

// The kinds of a Finding of Lint, which are its rules.
const (
	// Hidden characters carry text that a model reads and a person does not see, or show text in
	// an order that differs from what a model reads.
	Hidden = "hidden"
	// Instructions speak to the model about its task and its other tools, and not about the tool.
	Instructions = "instructions"
	// ForeignNames are names of tools of other namespaces.
	ForeignNames = "foreign-names"
)

// Bounds on Lint.
const (
	maxLintBytes    = 128 << 10 // of a tool's texts; the rest is not read
	maxToolWarnings = 10
	hiddenShown     = 60 // characters
)

// Lint returns the suspicious places in definitions, in their order. A Reason is the place, a colon and
// the suspicious words: "description: always use this tool". A place within the parameters is written as
// Diff writes it. A Reason of Lint is safe to print. Lint finds hints, not proofs: a warning may be
// harmless, and a definition without warnings may still mean harm.
func Lint(docs []search.Document) []Finding {
	definitions := make([]definition, len(docs))
	for i := range docs {
		definitions[i], _ = define(&docs[i]) // a definition that cannot be locked may still reach a model
	}
	owners := ownersOf(definitions)
	var warnings []Finding
	for _, d := range definitions {
		l := &linter{id: d.ID, left: maxLintBytes, owners: owners}
		l.hidden("name", d.Name)
		l.text("description", d.description)
		if value, err := readJSON([]byte(d.parameters)); err == nil {
			l.value("parameters", value)
		}
		warnings = append(warnings, l.warnings...)
	}
	return warnings
}

// A linter reads one tool.
type linter struct {
	id       ID
	left     int                 // bytes that are still read
	owners   map[string][]string // of ownersOf
	warnings []Finding
}

// value reads the keys and texts of a schema.
func (l *linter) value(path string, value any) {
	switch v := value.(type) {
	case string:
		l.text(path, v)
	case []any:
		for i, inner := range v {
			l.value(fmt.Sprintf("%s[%d]", path, i), inner)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			inner := naming.Cut(path+"."+key, 4*maxShownPath)
			l.hidden(inner, key)
			l.value(inner, v[key])
		}
	}
}

func (l *linter) warn(kind, where, text string) {
	if len(l.warnings) < maxToolWarnings {
		reason := naming.Visible(where, maxShownPath) + ": " + naming.Visible(text, 2*hiddenShown)
		l.warnings = append(l.warnings, Finding{Kind: kind, ID: l.id, Reason: reason})
	}
}

// text applies every rule.
func (l *linter) text(where, s string) {
	if l.left <= 0 {
		return
	}
	s = naming.Cut(s, l.left)
	l.left -= len(s) + 1
	l.hidden(where, s)
	if phrase := phraseIn(fold(s)); phrase != "" {
		l.warn(Instructions, where, phrase)
	}
	seen := make(map[string]bool)
	for _, name := range nameLike.FindAllString(s, -1) {
		owners := l.owners[name]
		if len(owners) > 0 && !slices.Contains(owners, l.id.Namespace) && !seen[name] {
			seen[name] = true
			l.warn(ForeignNames, where, name)
		}
	}
}

// hidden warns of the first hidden character that writing does not need, and shows what follows.
func (l *linter) hidden(where, s string) {
	before := rune(0)
	for i, r := range s {
		if naming.IsHidden(r) && !isTypography(before, r, s[i+utf8.RuneLen(r):]) {
			l.warn(Hidden, where, naming.CutRunes(s[i:], hiddenShown))
			return
		}
		before = r
	}
}

// isTypography reports whether a hidden character is one that writing needs: a variation
// selector or joiner after a symbol, a selector after an ideograph, and joiners between letters
// of scripts other than Latin, Greek and Cyrillic.
func isTypography(before, r rune, rest string) bool {
	after, _ := utf8.DecodeRuneInString(rest)
	symbol := unicode.In(before, unicode.So, unicode.Sk, unicode.Sm, unicode.Po, unicode.Nd) || before == 0xfe0f
	switch {
	case r == 0xfe0e || r == 0xfe0f:
		return symbol
	case r == 0x200d && symbol && unicode.Is(unicode.So, after):
		return true
	case r == 0x200c || r == 0x200d:
		return unicode.In(before, unicode.L, unicode.M) && !unicode.In(before, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Han)
	case 0xe0100 <= r && r <= 0xe01ef:
		return unicode.Is(unicode.Han, before)
	}
	return false
}

// fold writes a text in the form of the phrases: in lower case, with compatible characters
// alike, without hidden characters, typographic apostrophes and emphasis, and with one blank
// between words.
func fold(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case naming.IsHidden(r), r == '*', r == '`':
			return -1
		case r == '’', r == '‘':
			return '\''
		}
		return unicode.ToLower(r)
	}, norm.NFKC.String(s))
	return strings.Join(strings.Fields(s), " ")
}

// ownersOf returns the names that look like tools', with the namespaces that have a tool of the name,
// up to two: whole names of tools and their names within their namespaces.
func ownersOf(definitions []definition) map[string][]string {
	all := make(map[string][]string)
	for _, d := range definitions {
		// Some servers spell the namespace differently within the name.
		rest := strings.TrimLeft(d.Name[max(0, strings.LastIndex(d.Name, "__")):], "_")
		for _, name := range []string{d.Name, naming.Bare(d.Name, d.Namespace), rest} {
			owners := all[name]
			if looksLikeTool(name) && len(owners) < 2 && !slices.Contains(owners, d.Namespace) {
				all[name] = append(owners, d.Namespace)
			}
		}
	}
	return all
}

// looksLikeTool tells a name of several words, such as create_issue or get-page-text, from a word
// of the language: "search" and "auto-complete" in a description are not tools.
func looksLikeTool(name string) bool {
	return len(name) <= maxNameBytes && (len(naming.Parts(name)) > 1 || strings.Count(name, "-") > 1)
}

var nameLike = regexp.MustCompile(`[\pL\pN_.-]*[\pL\pN_]`)
