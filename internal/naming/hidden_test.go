package naming

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "",
		"get_weather":         "get_weather",
		"查询天气 é ☺ <b>":        "查询天气 é ☺ <b>",
		"a\nb\tc\rd":          `a\nb\tc\rd`,
		"\x1b[2J\u009b\x7f":   `\u001b[2J\u009b\u007f`,
		"\u200b\u202e\u00ad":  `\u200b\u202e\u00ad`,
		"\U000e0041\ufe0f":    `\U000e0041\ufe0f`,
		"\u3164\u2800\u034f":  `\u3164\u2800\u034f`,
		"a\xffb":              `a\xffb`,
		"0123456789abcdef":    "0123456789abcdef",
		"0123456789abcdef+":   "0123456789abcdef…",
		"\u2028\u3000\u00a0x": `\u2028\u3000\u00a0x`,
	} {
		assert.Equal(t, want, Visible(text, 16), "%q", text)
	}
}
