// Package wording keeps the texts that the model reads: the texts of a language, the list of the tools to search for,
// and blocks between tags in the texts of others.
package wording

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The texts themselves are in the folder prompt, a Markdown file for each language, each under a heading.

// Texts holds texts that are ready to be used. It is immutable.
type Texts struct {
	texts    map[string]string
	protocol string
	form     Form
}

// A Form is what a model sees of the hidden tools, and the end of the headings of texts for it alone. Without such a
// text, Groups has that of Nothing: neither knows names.
type Form string

const (
	Names   Form = ""          // names, by group or not
	Groups  Form = "-groups"   // what groups they are in, without names
	Nothing Form = "-unlisted" // or their number
)

// For returns the texts for a form.
func (t *Texts) For(form Form) *Texts { return &Texts{t.texts, t.protocol, form} }

// Read reads the texts of one language, for the form Names: each is under a heading of the Markdown, behind a part for
// authors. A text of own replaces that of its heading, for every form that has no own text; Read fails if there is no such
// heading. values are pairs of a placeholder and its value.
func Read(markdown, protocol string, own map[string]string, values ...string) (*Texts, error) {
	fill := strings.NewReplacer(values...)
	t := &Texts{texts: make(map[string]string), protocol: protocol}
	_, markdown, _ = strings.Cut(markdown, "\n# ")
	for section := range strings.SplitSeq(markdown, "\n# ") {
		key, text, _ := strings.Cut(section, "\n")
		text = strings.TrimSpace(text)
		if replacement, replaced := own[key]; replaced {
			text = replacement
		}
		t.texts[key] = fill.Replace(text)
	}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if _, known := t.texts[key]; !known {
			return nil, fmt.Errorf("no text is named %q; prompt/en.md has their names as headings", key)
		}
		for _, form := range [...]Form{Groups, Nothing} {
			if _, replaced := own[key+string(form)]; !replaced {
				delete(t.texts, key+string(form))
			}
		}
	}
	return t, nil
}

// Text returns the text of a key, the protocol's own before the common one. Values are as in Read.
func (t *Texts) Text(key string, values ...string) string {
	form, own := string(t.form), t.protocol+" "+key
	// For Names, key + form is the key itself, which every text of Nothing has too.
	for _, key := range [...]string{own + form, own, key + form, key + string(Nothing), key} {
		if text, known := t.texts[key]; known {
			return strings.NewReplacer(values...).Replace(text)
		}
	}
	return ""
}

// A Block is a pair of tags. It finds what is between them in a text that others also write, such as a summary.
type Block struct{ Open, Close string }

// Wrap returns the block with a text, each tag on a line of its own.
func (b Block) Wrap(text string) string { return b.Open + "\n" + text + "\n" + b.Close }

// Is reports whether a text is nothing but the block.
func (b Block) Is(text string) bool {
	return strings.HasPrefix(text, b.Open) && strings.HasSuffix(strings.TrimSpace(text), b.Close)
}

// Without removes the blocks that a text quotes, with their bullets if they are in a list. The texts on the two sides
// of a removed block may form a new tag, so Without looks again a few times.
func (b Block) Without(text string) string {
	for range 4 {
		var kept strings.Builder
		for {
			before, quoted, found := strings.Cut(text, b.Open)
			_, after, closed := strings.Cut(quoted, b.Close)
			if !found || !closed {
				break
			}
			kept.WriteString(strings.TrimRight(before, " -"))
			text = strings.TrimPrefix(after, "\n")
		}
		if kept.Len() == 0 {
			return text
		}
		text = kept.String() + text
	}
	return text
}

// Split splits a text that ends in the block, perhaps with later additions, into the text before the block and the
// rest; "" without a block. Only a block that Wrap made, at the beginning of a line, counts.
func (b Block) Split(text string) (own, end string) {
	at := strings.LastIndex(text, b.Open+"\n")
	_, behind, closed := strings.Cut(text[max(at, 0):], b.Close)
	if at < 0 || at > 0 && text[at-1] != '\n' || !closed {
		return text, ""
	}
	before := strings.TrimSuffix(text[:at], "\n\n")
	if before == "" {
		behind = strings.TrimPrefix(behind, "\n\n")
	}
	return before + behind, text[at:]
}
