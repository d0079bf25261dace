// Package wording keeps the texts that the model reads: the texts of a language, the list of the tools
// to search for, and blocks between tags in the texts of others.
package wording

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The texts themselves are in the folder prompt, a Markdown file for each language. A text is found by
// its heading, and names and numbers are filled in.

// A Source has the texts of one language for one search tool.
type Source struct {
	Markdown string            // a text under each heading; the part before the first heading is for authors
	Protocol string            // its own texts come before the common texts
	IsListed bool              // the model sees the names of the hidden tools; if not, a text gives way to its "-unlisted"
	Own      map[string]string // texts that replace others, by heading
	Values   []string          // pairs of a placeholder and its value
}

// Texts holds texts that are ready to be used. It is immutable.
type Texts struct {
	texts    map[string]string
	protocol string
}

// Read reads the texts. It fails on an own text whose heading does not exist.
func (s Source) Read() (*Texts, error) {
	fill := strings.NewReplacer(s.Values...)
	t := &Texts{texts: make(map[string]string), protocol: s.Protocol}
	_, markdown, _ := strings.Cut(s.Markdown, "\n# ")
	for section := range strings.SplitSeq(markdown, "\n# ") {
		key, text, _ := strings.Cut(section, "\n")
		text = strings.TrimSpace(text)
		if own, replaced := s.Own[key]; replaced {
			text = own
		}
		t.texts[key] = fill.Replace(text)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Own)) {
		if _, known := t.texts[key]; !known {
			return nil, fmt.Errorf("no text is named %q; prompt/en.md has their names as headings", key)
		}
	}
	for key, text := range t.texts {
		if base, isVariant := strings.CutSuffix(key, "-unlisted"); isVariant && !s.IsListed {
			t.texts[base] = text
		}
	}
	return t, nil
}

// Text returns the text of a key. The protocol's own text comes before the common text. Values are as in
// Source.
func (t *Texts) Text(key string, values ...string) string {
	text, own := t.texts[t.protocol+" "+key]
	if !own {
		text = t.texts[key]
	}
	return strings.NewReplacer(values...).Replace(text)
}
