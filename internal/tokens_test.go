package internal_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

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
		assert.Equal(t, tokens.Of(text[:at]), c.Tokens(), "tokens in the beginning of %q, %d bytes", text, at)
		beginning := c.Tokens()
		c.Add([]byte(text[at:]))
		assert.GreaterOrEqual(t, c.Tokens(), beginning, "tokens in %q and in its beginning", text)
		assert.Equal(t, tokens.Of(text), c.Tokens(), "tokens in %q in two pieces at %d", text, at)
	})
}
