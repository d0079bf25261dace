package inspect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/mcp"
)

// Instructions are text from outside: they are shown on one line, without characters that a terminal
// would obey.
func TestInstructions(t *testing.T) {
	var out strings.Builder
	r := &Report{Servers: []mcp.Info{
		{Name: "rude", Instructions: "Be\x1b[31m \u202eloud\r\nserver: kind " + strings.Repeat("a", 300)},
		{Name: "silent", Instructions: " \n\u200b"},
	}}
	r.print(&cli.Call{Out: &out})
	lines := strings.Split(out.String(), "\n")
	assert.Equal(t, "instructions: Be [31m loud server: kind "+strings.Repeat("a", 200-len("Be [31m loud server: kind ")-1)+"…", lines[1])
	assert.Equal(t, 1, strings.Count(out.String(), "instructions:"), "lines of instructions")
}

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
