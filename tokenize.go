package toolsearch

import (
	"slices"
	"strings"
	"unicode"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// select:a,b finds tools by name, however a model writes a list of names.

// parseSelect returns the list of names of "select:a,b", in any case, with blanks before the colon or a full-width
// colon.
func parseSelect(text string) (list string, ok bool) {
	text = strings.TrimSpace(text)
	const prefix = "select"
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return "", false
	}
	text = strings.TrimLeftFunc(text[len(prefix):], unicode.IsSpace)
	if list, ok = strings.CutPrefix(text, ":"); !ok {
		list, ok = strings.CutPrefix(text, "：")
	}
	if len(list) > maxSelectBytes {
		list = naming.Cut(list, maxSelectBytes)
		if i := strings.LastIndexFunc(list, nameSeparators[0]); i >= 0 {
			list = list[:i] // without the name that was cut
		}
	}
	return list, ok
}

// nameSeparators are the separators of names, the likeliest first.
var nameSeparators = []func(rune) bool{
	func(r rune) bool { return strings.ContainsRune(",，", r) },
	func(r rune) bool { return strings.ContainsRune("、;；\n", r) },
	unicode.IsSpace,
}

func isNameDecoration(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("\"'`“”‘’[]", r)
}

// selection collects the answer to a select:.
type selection struct {
	scope   scope
	lookups int // names looked up
	matches []Match
	missing []string
}

// selectNames looks up names in their order, each tool once. A text may be a list of names.
func (c scope) selectNames(texts ...string) (matches []Match, missing []string) {
	s := selection{scope: c}
	for _, text := range texts {
		s.add(naming.Cut(text, maxSelectBytes), nameSeparators)
	}
	return s.matches, s.missing
}

// add selects the tools that text names: a name, perhaps in quotes or brackets, or several names. A name may contain a
// separator, so the whole text is looked up before its parts.
func (s *selection) add(text string, separators []func(rune) bool) {
	if s.lookups >= maxSelect {
		return
	}
	for _, name := range [...]string{strings.TrimSpace(text), strings.TrimFunc(text, isNameDecoration)} {
		if doc, ok := s.scope.lookup(name); ok {
			s.lookups++
			if info := s.scope.docs[doc].Info; !isAmong(s.matches, info.Name) { // two spellings are one tool
				s.matches = append(s.matches, Match{Info: info})
			}
			return
		}
	}
	for i, separator := range separators {
		parts := strings.FieldsFunc(text, separator)
		if len(parts) < 2 {
			continue
		}
		rest := separators[i+1:]
		// Blanks separate names only if a tool has one of the names: "get wether" is a single misspelled name.
		if len(rest) == 0 && !slices.ContainsFunc(parts, func(part string) bool { _, ok := s.scope.lookup(part); return ok }) {
			break
		}
		for _, part := range parts {
			s.add(part, rest)
		}
		return
	}
	isBeside := func(r rune) bool { return isNameDecoration(r) || strings.ContainsRune(",，、;；", r) }
	if name := naming.Cut(strings.TrimFunc(text, isBeside), naming.MaxBytes); name != "" {
		s.lookups++
		if !slices.Contains(s.missing, name) {
			s.missing = append(s.missing, name)
		}
	}
}
