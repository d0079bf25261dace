package catalog

import (
	"bytes"
	"context"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
)

// The command list.

// ListHelp is the help text of the command list.
const ListHelp = `toolsearch list [flags] CATALOG

Writes the tools as JSONL, one {"name", "description", "parameters", "server"} a line.
Every command reads it, so servers need to be asked only once. Tools of several servers
with the same name are named server__tool. Tools that no catalog can hold, such as a tool
without a name, are left out, with a note on standard error.

` + Help + `
Flags:

` + FlagsHelp + `
Examples:

	toolsearch list mcp.json > tools.jsonl
	toolsearch list -- npx -y @modelcontextprotocol/server-everything | toolsearch search - echo

Exit status: 0 the tools were written, 2 a mistake or no answer.
`

// List writes the tools of a catalog as JSONL.
func List(ctx context.Context, call *cli.Call, args []string) (int, error) {
	c := &Reader{Call: call}
	flags := c.Flags()
	c.Register(flags)
	operands, err := c.Parse(flags, args)
	if err != nil {
		return cli.Failed, err
	}
	from, rest, ok := c.Origin(operands)
	if !ok || len(rest) > 0 {
		return cli.Failed, cli.WrongUsage("list: want CATALOG")
	}
	read, err := c.Load(ctx, from)
	if err != nil {
		return cli.Failed, err
	}
	var lines bytes.Buffer
	if err := writeTools(&lines, c.usable(read.Tools)); err != nil {
		return cli.Failed, err
	}
	_, err = c.Out.Write(cli.Visible(lines.Bytes()))
	return cli.Found, err
}
