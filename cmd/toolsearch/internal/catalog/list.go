package catalog

import (
	"context"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
)

// The command list.

// ListHelp is the help text of the command list.
var ListHelp = HelpOf("list [flags] CATALOG", `
Writes the tools as JSONL, one {"name", "description", "parameters", "server"} a line.
Every command reads it, so servers need to be asked only once. Tools of several servers
with the same name are named server__tool. Tools that no catalog can hold, such as a tool
without a name, are left out, with a note on standard error.
`, "", FlagsHelp, `
	toolsearch list mcp.json > tools.jsonl
	toolsearch list -- npx -y @modelcontextprotocol/server-everything | toolsearch search - echo
`, "0 the tools were written, 2 a mistake or no answer")

// List writes the tools of a catalog as JSONL.
func List(ctx context.Context, call *cli.Call, args []string) int {
	c, flags := NewReader(call)
	cli.Must(c.Parse(flags, args, 0, 0, "CATALOG"))
	cli.Must(c.Out.Write(cli.Visible(c.lines(cli.Must(c.Load(ctx)).Tools))))
	return cli.Found
}
