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
	IsListed bool              // the model is shown the names of the hidden tools
	Own      map[string]string // texts that replace others, by heading
	Values   []string          // pairs of a placeholder and its value
}

// Texts holds texts that are ready to be used. It is immutable.
type Texts struct {
	texts    map[string]string
	protocol string
	isListed bool
}

// Read reads the texts. It fails on an own text whose heading does not exist.
func (s Source) Read() (*Texts, error) {
	fill := strings.NewReplacer(s.Values...)
	t := &Texts{texts: make(map[string]string), protocol: s.Protocol, isListed: s.IsListed}
	_, markdown, _ := strings.Cut(s.Markdown, "\n# ")
	for section := range strings.SplitSeq(markdown, "\n# ") {
		key, text, _ := strings.Cut(section, "\n")
		if own, replaced := s.Own[key]; replaced {
			t.texts[key] = fill.Replace(own)
			continue
		}
		t.texts[key] = fill.Replace(strings.TrimSpace(text))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Own)) {
		if _, known := t.texts[key]; !known {
			return nil, fmt.Errorf("no text is named %q; prompt/en.md has their names as headings", key)
		}
	}
	return t, nil
}

// Text returns the text of a key. The protocol's own text comes before the common text, and if
// the model sees no list of names, a variant for that case comes first. Values are as in Source.
func (t *Texts) Text(key string, values ...string) string {
	text := t.texts[key]
	for _, prefix := range [...]string{t.protocol + " ", ""} {
		own, found := t.texts[prefix+key]
		if variant, ok := t.texts[prefix+key+"-unlisted"]; ok && !t.isListed {
			own, found = variant, true
		}
		if found {
			text = own
			break
		}
	}
	return strings.NewReplacer(values...).Replace(text)
}
