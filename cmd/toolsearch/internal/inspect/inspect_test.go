package inspect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/mcpclient"
)

// Instructions are foreign text: they are shown on one line, without characters that a terminal
// would obey.
func TestInstructions(t *testing.T) {
	var out strings.Builder
	r := &Report{Servers: []*mcpclient.Info{
		{Name: "rude", Instructions: "Be\x1b[31m \u202eloud\r\nserver: kind " + strings.Repeat("a", 300)},
		{Name: "silent", Instructions: " \n\u200b"},
	}}
	r.print(&cli.Call{Out: &out})
	lines := strings.Split(out.String(), "\n")
	assert.Equal(t, "instructions: Be [31m loud server: kind "+strings.Repeat("a", 200-len("Be [31m loud server: kind ")-1)+"…", lines[1])
	assert.Equal(t, 1, strings.Count(out.String(), "instructions:"), "lines of instructions")
}
