package inspect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"mcp__git-hub__getHTTPStatus2": "mcp git hub get http status2",
		"天气预报API":                      "天气 气预 预报 api",
		"+select:a,b github:x":         "select a b github x",
		"été_ÉTÉ":                      "été été",
		"":                             "",
	} {
		assert.Equal(t, want, strings.Join(words(text), " "), "words(%q)", text)
	}
}
