package toolsearch_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/eino-toolsearch/toolsearch"
)

// The bounds on a query, as ParseQuery documents them.
const (
	queryBytes = 4 << 10
	queryWords = 64
)

func FuzzParseQuery(f *testing.F) {
	for _, text := range []string{
		"", " ", "+", "++", "+++a ++", "+a a", "a +a", "create issue", "+github create  issue", "select:a,b", "\u2003x\u0085y\u00a0z",
		"+\xff \xe2\x80", strings.Repeat("a ", 5000), strings.Repeat("+", 5000), strings.Repeat("+a ", 63) + strings.Repeat("b", 5000),
		strings.Repeat("\x80", 5000), strings.Repeat("日", 2000) + " x", "a" + strings.Repeat("\u2028", 3000) + "b", "ns:word", "A a Ä ä İ ı",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q := toolsearch.ParseQuery(text)
		if len(q.Text) > queryBytes || !strings.Contains(text, "+") && !strings.Contains(text, q.Text) {
			t.Errorf("Text has %d bytes and is not a piece of what was typed, or too long", len(q.Text))
		}
		if len(q.Keywords) > queryWords {
			t.Errorf("%d keywords", len(q.Keywords))
		}
		for _, word := range q.Keywords {
			if word == "" || strings.ContainsFunc(word, unicode.IsSpace) {
				t.Errorf("keyword %q", word)
			}
		}
		// Text is the keywords and what stands between them, up to the bound on their number.
		if words := strings.Fields(q.Text); !slices.Equal(words[:min(len(words), queryWords)], q.Keywords) {
			t.Errorf("Text has the words %q, want %q", words, q.Keywords)
		}
		// String writes the "+" before every occurrence of a required word, also where it
		// was typed once, and so can outgrow the bound; within the bound it is faithful.
		typed := q.String()
		if len(typed) > queryBytes {
			return
		}
		again := toolsearch.ParseQuery(typed)
		if !slices.Equal(again.Keywords, q.Keywords) || !slices.Equal(sortedSet(again.Required), sortedSet(q.Required)) {
			t.Errorf("%q parses to %q, %q; want %q, %q", typed, again.Keywords, again.Required, q.Keywords, q.Required)
		}
		for _, word := range q.Required {
			if !slices.Contains(q.Keywords, word) {
				t.Errorf("%q is required but no keyword", word)
			}
		}
	})
}

func sortedSet(words []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(words)))
}
