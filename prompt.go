package toolsearch

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/search"
)

// The texts that the model reads. They are in prompt/, a Markdown file for each language. This
// file finds a text by its heading and fills in the names.

// Language is the language of what the middleware tells the model.
type Language int

const (
	English Language = iota
	Chinese
)

//go:embed prompt/en.md
var englishTexts string

//go:embed prompt/zh.md
var chineseTexts string

// prompt is the texts of one language for one search tool.
type prompt struct {
	texts    map[string]string
	protocol string // its own texts come before the common texts
	listed   bool   // the model is shown the names of the hidden tools
}

// newPrompt returns the texts of a language. own replaces texts by heading. values are pairs of
// a placeholder and its value. newPrompt fails on an own text whose heading does not exist.
func newPrompt(language Language, protocol string, listed bool, own map[string]string, values ...string) (*prompt, error) {
	source := englishTexts
	if language == Chinese {
		source = chineseTexts
	}
	fill := strings.NewReplacer(values...)
	p := &prompt{texts: make(map[string]string), protocol: protocol, listed: listed}
	_, source, _ = strings.Cut(source, "\n# ") // the text before the first heading is for authors
	for section := range strings.SplitSeq(source, "\n# ") {
		key, text, _ := strings.Cut(section, "\n")
		if text, replaced := own[key]; replaced {
			p.texts[key] = fill.Replace(text)
			continue
		}
		p.texts[key] = fill.Replace(strings.TrimSpace(text))
	}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if _, known := p.texts[key]; !known {
			return nil, fmt.Errorf("toolsearch: Texts: no text is named %q; prompt/en.md has their names as headings", key)
		}
	}
	return p, nil
}

// text returns the text of a key. The protocol's own text comes before the common text, and
// where the model sees no list of names, a variant for that comes first. The values are as in
// newPrompt.
func (p *prompt) text(key string, values ...string) string {
	text := p.texts[key]
	for _, prefix := range [...]string{p.protocol + " ", ""} {
		own, found := p.texts[prefix+key]
		if variant, ok := p.texts[prefix+key+"-unlisted"]; ok && !p.listed {
			own, found = variant, true
		}
		if found {
			text = own
			break
		}
	}
	return strings.NewReplacer(values...).Replace(text)
}

// of returns the message of a QueryError, in the language of the prompt if the prompt has a
// text for it.
func (p *prompt) of(wrong *search.QueryError) string {
	if wrong.Key == "" {
		return wrong.Message
	}
	return p.text(wrong.Key, wrong.Values...)
}
