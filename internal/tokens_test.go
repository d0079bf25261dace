package internal_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/tokens"
)

// A beginning of a text never counts more than the text, and a text in pieces counts as much as
// in one piece.
func FuzzCounter(f *testing.F) {
	f.Add("createIssue 12345 天气", 7)
	f.Add("날씨 жук → {}", 9)
	f.Add(strings.Repeat("aB", 20)+"\xff", 11)
	f.Fuzz(func(t *testing.T, text string, at int) {
		if !utf8.ValidString(text) || at < 0 || at > len(text) || !utf8.ValidString(text[:at]) {
			return
		}
		var c tokens.Counter
		c.Add([]byte(text[:at]))
		if got, want := c.Tokens(), tokens.Of(text[:at]); got != want {
			t.Errorf("%d tokens in the beginning of %q, want %d", got, text, want)
		}
		beginning := c.Tokens()
		c.Add([]byte(text[at:]))
		if c.Tokens() < beginning {
			t.Errorf("%q has fewer tokens than its beginning", text)
		}
		if got, want := c.Tokens(), tokens.Of(text); got != want {
			t.Errorf("%d tokens in %q in two pieces at %d, want %d", got, text, at, want)
		}
	})
}
