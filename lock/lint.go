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

// A WarningKind is a rule of Lint.
type WarningKind string

const (
	// Hidden characters carry text that a model reads and a person does not see, or show text in
	// an order that differs from what a model reads.
	Hidden WarningKind = "hidden"
	// Instructions speak to the model about its task and its other tools, and not about the tool.
	Instructions WarningKind = "instructions"
	// ForeignNames are names of tools of other namespaces.
	ForeignNames WarningKind = "foreign-names"
)

// A Warning is a place in a definition that a person should read.
type Warning struct {
	Doc   int         // the document's index
	Kind  WarningKind // the rule
	Where string      // "name", "description", or within "parameters", as Change.Path; safe to print
	Text  string      // the suspicious words; safe to print
}

// Bounds on Lint.
const (
	maxLintBytes    = 128 << 10 // of a tool's texts; the rest is not read
	maxToolWarnings = 10
	hiddenShown     = 60 // characters
)

// Lint returns the suspicious places in definitions, in their order. It finds hints, not
// proofs: a warning may be harmless, and a definition without warnings may still mean harm.
func Lint(docs []search.Document) []Warning {
	servers := newServers(docs)
	var warnings []Warning
	for i := range docs {
		l := &linter{doc: i, left: maxLintBytes, servers: servers, namespace: docs[i].Namespace}
		l.document(&docs[i])
		warnings = append(warnings, l.warnings...)
	}
	return warnings
}

// A linter reads one tool.
type linter struct {
	doc       int
	left      int // bytes that are still read
	namespace string
	servers   *servers
	warnings  []Warning
}

func (l *linter) document(doc *search.Document) {
	id, description := idOf(doc), doc.Description
	if doc.Info != nil {
		description = doc.Info.Desc
	}
	l.hidden("name", id.Name)
	l.text("description", description)
	if doc.Info == nil || doc.Info.ParamsOneOf == nil {
		return
	}
	parameters, err := parametersOf(doc.Info)
	if err != nil {
		return // such a definition cannot be approved anyway
	}
	if value, err := readJSON([]byte(parameters)); err == nil {
		l.value("parameters", value)
	}
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

func (l *linter) warn(kind WarningKind, where, text string) {
	if len(l.warnings) < maxToolWarnings {
		l.warnings = append(l.warnings, Warning{l.doc, kind, naming.Visible(where, maxShownPath), naming.Visible(text, 2*hiddenShown)})
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
	for _, name := range namesIn(s) {
		if l.servers.isForeign(name, l.namespace) {
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

// servers knows which namespaces have which names.
type servers struct {
	owners map[string][]string // a name that looks like a tool's -> the namespaces that have it, up to two
}

// newServers collects the whole names of tools and their names within their namespaces.
func newServers(docs []search.Document) *servers {
	s := &servers{owners: make(map[string][]string)}
	for i := range docs {
		id := idOf(&docs[i])
		// Some servers spell the namespace differently within the name.
		rest := id.Name[max(0, strings.LastIndex(id.Name, "__")):]
		rest = strings.TrimLeft(rest, "_")
		for _, name := range []string{id.Name, naming.Bare(id.Name, id.Namespace), rest} {
			owners := s.owners[name]
			if looksLikeTool(name) && len(owners) < 2 && !slices.Contains(owners, id.Namespace) {
				s.owners[name] = append(owners, id.Namespace)
			}
		}
	}
	return s
}

// isForeign reports whether only tools of other namespaces have the name.
func (s *servers) isForeign(name, namespace string) bool {
	owners := s.owners[name]
	return len(owners) > 0 && !slices.Contains(owners, namespace)
}

// looksLikeTool tells a name of several words, such as create_issue or get-page-text, from a word
// of the language: "search" and "auto-complete" in a description are not tools.
func looksLikeTool(name string) bool {
	return len(name) <= maxNameBytes && (len(naming.Parts(name)) > 1 || strings.Count(name, "-") > 1)
}

var nameLike = regexp.MustCompile(`[\pL\pN_.-]*[\pL\pN_]`)

// namesIn returns the words of a text that look like names of tools, each once.
func namesIn(s string) (names []string) {
	seen := make(map[string]bool)
	for _, word := range nameLike.FindAllString(s, -1) {
		if !seen[word] && looksLikeTool(word) {
			names = append(names, word)
		}
		seen[word] = true
	}
	return names
}
