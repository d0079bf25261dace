package wording_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/internal/wording"
)

var note = wording.Block{Open: "<note>", Close: "</note>"}

func TestIs(t *testing.T) {
	wrapped := note.Wrap("a\nb")
	assert.Equal(t, "<note>\na\nb\n</note>", wrapped)
	assert.True(t, note.Is(wrapped))
	assert.True(t, note.Is(wrapped+"\n"))
	assert.False(t, note.Is("See: "+wrapped))
	assert.False(t, note.Is(wrapped+" and more"))
}

func TestWithout(t *testing.T) {
	for text, want := range map[string]string{
		"nothing":                            "nothing",
		"<note>x":                            "<note>x",
		"</note><note>":                      "</note><note>",
		"a<note>x</note>b":                   "ab",
		"- one\n- <note>\nx\n</note>\n- two": "- one\n- two",
		"a<note>x</note>b<note>y</note>c":    "abc",
		"a<no<note>x</note>te>y</note>b":     "ab",
	} {
		assert.Equal(t, want, note.Without(text), "%q", text)
		assert.Equal(t, want != text, note.In(text), "%q", text)
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct{ text, own, end string }{
		{"Be kind.", "Be kind.", ""},
		{"Be kind.\n\n<note>\nx\n</note>", "Be kind.", "<note>\nx\n</note>"},
		{"Be kind.\n\n<note>\nx\n</note>\n\nMore.", "Be kind.\n\nMore.", "<note>\nx\n</note>\n\nMore."},
		{"<note>\nx\n</note>\n\nMore.", "More.", "<note>\nx\n</note>\n\nMore."},
		{"Write <note>\nx\n</note>", "Write <note>\nx\n</note>", ""},
		{"<note>\nx", "<note>\nx", ""},
	} {
		own, end := note.Split(c.text)
		assert.Equal(t, c.own, own, "%q", c.text)
		assert.Equal(t, c.end, end, "%q", c.text)
	}
}
