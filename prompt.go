package toolsearch

import (
	_ "embed"
	"strings"

	"github.com/eino-toolsearch/toolsearch/search"
)

// The prose the model reads lives in prompt/, one Markdown file per language; this file
// finds a text by its heading and fills in the names.

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
	protocol Protocol
	listed   bool // the model is shown the names of the hidden tools
}

// promptIn returns the texts in a language, with values, pairs of a placeholder and what
// to put there, filled in.
func promptIn(language Language, protocol Protocol, listed bool, values ...string) *prompt {
	source := englishTexts
	if language == Chinese {
		source = chineseTexts
	}
	fill := strings.NewReplacer(values...)
	p := &prompt{texts: make(map[string]string), protocol: protocol, listed: listed}
	for section := range strings.SplitSeq(source, "\n# ") {
		key, text, _ := strings.Cut(section, "\n")
		p.texts[key] = fill.Replace(strings.TrimSpace(text))
	}
	return p
}

// text returns the text under a heading: the protocol's own, where it has one, in the
// variant for a model that sees no list of names, where there is one. The values are filled
// in as in promptIn.
func (p *prompt) text(key string, values ...string) string {
	text := p.texts[key]
	for _, prefix := range [...]string{p.protocol.String() + " ", ""} {
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

// of returns what a searcher has to say of a query, in the language of the prompt where
// there is a text of it.
func (p *prompt) of(wrong *search.QueryError) string {
	if wrong.Key == "" {
		return wrong.Message
	}
	return p.text(wrong.Key, wrong.Values...)
}
