// Package catalog reads what every command is about: the CATALOG of its command line, which is a
// file of tools or servers that are asked for theirs.
package catalog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cloudwego/eino/components/tool"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
	"github.com/eino-toolsearch/toolsearch/mcp"
)

// Help describes CATALOG.
const Help = `CATALOG is one of these:

	tools.jsonl   a file of tools: JSONL, one {"name", "description", "parameters",
	              "server"} a line; an MCP server's answer to tools/list; the tools
	              of a request to OpenAI or Anthropic; "-" is standard input
	mcp.json      a file of MCP servers, {"mcpServers": {...}}; all of them are asked,
	              and their names are the namespaces of their tools
	https://...   an MCP server with a URL, over streamable HTTP or SSE
	-- COMMAND    an MCP server that COMMAND starts, after all other arguments
`

// FlagsHelp describes the flags of a Reader.
const FlagsHelp = "\t-header \"K: V\"   a header for a URL, any number of them; ${NAME} is a variable\n" +
	"\t-timeout D       total time to read the catalog, such as 90s or 2m (1m)\n"

// HelpOf is the help text of a command with a CATALOG, of which more says more.
func HelpOf(usage, about, more, flags, examples, exit string) string {
	return "toolsearch " + usage + "\n" + about + "\n" + Help + more + "\nFlags:\n\n" + flags + "\nExamples:\n" + examples +
		"\nExit status: " + exit + ".\n"
}

// A Reader reads the catalog of a call. It is embedded in the commands.
type Reader struct {
	*cli.Call
	Operand string   // CATALOG: a file or a URL, unless it is a server
	server  []string // the command behind "--", if there is one
	headers []string // of -header
	timeout time.Duration
}

// NewReader returns the Reader of a call and its flags, to which a command adds its own.
func NewReader(call *cli.Call) (*Reader, *flag.FlagSet) {
	c, flags := &Reader{Call: call}, call.Flags()
	flags.DurationVar(&c.timeout, "timeout", time.Minute, "")
	flags.Func("header", "", func(text string) error {
		c.headers = append(c.headers, text)
		return nil
	})
	return c, flags
}

// Parse parses a command line of CATALOG and at least that many other operands, at most most.
func (c *Reader) Parse(flags *flag.FlagSet, args []string, least, most int, want string) (rest []string) {
	rest, c.server = c.Call.Parse(flags, args)
	if len(c.server) == 0 && len(rest) > 0 {
		c.Operand, rest = rest[0], rest[1:]
	}
	if !c.Has() && least >= 0 || len(rest) < least || len(rest) > most {
		c.WrongUsage("want %s", want)
	}
	return rest
}

// Has reports whether the command line has a CATALOG.
func (c *Reader) Has() bool { return c.Operand != "" || len(c.server) > 0 }

// Title names the catalog in a progress line and on the page, without the secrets of a URL.
func (c *Reader) Title() string {
	switch {
	case len(c.server) > 0:
		return c.server[0]
	case c.IsURL():
		return mcp.Server{URL: c.Operand}.String()
	}
	return filepath.Base(c.Operand)
}

// IsURL reports whether the catalog is a server with a URL.
func (c *Reader) IsURL() bool {
	lower := strings.ToLower(c.Operand)
	return strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
}

// Contents is what a CATALOG holds.
type Contents struct {
	Tools   []Definition
	Servers []mcp.Info // that were asked
	Asked   *mcp.File  // their file; nil for a file of tools
	file    string     // the file of tools, if it is one
	data    []byte     // its text
}

// Load reads the catalog. It ends with ctx, and after -timeout.
func (c *Reader) Load(ctx context.Context) *Contents {
	if c.timeout <= 0 {
		c.WrongUsage("-timeout %v: want more than 0", c.timeout)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %v; -timeout allows more time", c.timeout))
	defer cancel()
	switch {
	case len(c.headers) > 0 && !c.IsURL():
		c.WrongUsage("-header is for a URL; a file of servers has headers of its own")
	case len(c.server) > 0:
		return c.askServers(ctx, &mcp.File{Servers: map[string]mcp.Server{"": {Command: c.server[0], Args: c.server[1:]}}})
	case c.IsURL():
		return c.askServers(ctx, &mcp.File{Servers: map[string]mcp.Server{"": {URL: c.Operand, Headers: c.header()}}})
	}
	file, data := c.ReadFile(ctx, c.Operand)
	var top map[string]json.RawMessage // of a file that is one object
	if !toolfile.TooDeep(data) {
		_ = json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &top) // any other file has no keys
	}
	if top["searcher"] != nil && top["problems"] != nil {
		cli.Check(fmt.Errorf("%s: this is a report of inspect; toolsearch list writes tools that every command reads", file))
	}
	if listsServers(top) {
		servers := new(mcp.File)
		if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), servers); err != nil {
			cli.Check(fmt.Errorf("%s: %w", file, err))
		}
		return c.askServers(ctx, servers)
	}
	return cli.Await(ctx, c.Call, "reading "+file, func() (*Contents, error) {
		tools, err := readDefinitions(data, file)
		return &Contents{Tools: tools, file: file, data: data}, err
	})
}

// Recording tells observe of the calls of tools in a recording, which must have some.
func (c *Reader) Recording(ctx context.Context, path string, observe func(conversation string, e toolsearch.Event)) {
	file, data := c.ReadFile(ctx, path)
	calls := 0
	cli.Check(eval.ReadCalls(bytes.NewReader(data), func(conversation string, e toolsearch.Event) {
		calls++
		observe(conversation, e)
	}))
	if calls == 0 {
		cli.Check(fmt.Errorf("%s: no call of a tool; a recording is what trial writes, or a log of events", file))
	}
}

// Catalog reads the catalog as searchers take it. A fault in a file is an error, since its author
// can mend it. Servers are taken as they are: a tool that cannot be searched is left out, and
// stderr says which.
func (c *Reader) Catalog(ctx context.Context) *eval.Catalog {
	read := c.Load(ctx)
	text, file := read.data, read.file
	if file == "" {
		text, file = c.lines(read.Tools), "the servers' tools"
	}
	return cli.Await(ctx, c.Call, "reading "+file, func() (*eval.Catalog, error) { return eval.ReadCatalog(bytes.NewReader(text), file) })
}

// lines returns as JSONL the tools that one catalog can hold, and writes on stderr what it renamed
// or left out.
func (c *Reader) lines(tools []Definition) []byte {
	tools, clashes := Apart(tools)
	_, lines, left := usable(tools)
	if len(clashes) > 0 {
		fmt.Fprintf(c.Stderr, "Named with their servers, since several servers have a tool of that name: %s\n",
			cli.OneLine(strings.Join(clashes, ", "), 300))
	}
	if len(left) > 0 {
		fmt.Fprintf(c.Stderr, "Left out: %s. toolsearch inspect says more.\n", cli.OneLine(strings.Join(left, "; "), 300))
	}
	return lines
}

// Apart puts the server's name before each tool name that several servers use. clashes are
// these names.
func Apart(tools []Definition) (_ []Definition, clashes []string) {
	servers, isClash := make(map[string]string), make(map[string]bool)
	for _, d := range tools {
		if other, taken := servers[d.Name]; taken && other != d.Server && d.Name != "" {
			isClash[d.Name] = true
		}
		servers[d.Name] = d.Server
	}
	tools = slices.Clone(tools)
	for i, d := range tools {
		if isClash[d.Name] && d.Server != "" {
			tools[i].Name = d.Server + "__" + d.Name
		}
	}
	return tools, slices.Sorted(maps.Keys(isClash))
}

// askServers lists the tools of all servers, by the servers' names. If a server fails, so does the catalog: a
// part of it would look like the whole.
func (c *Reader) askServers(ctx context.Context, file *mcp.File) *Contents {
	defer c.Waiting("reading " + c.Title())()
	for name, s := range file.Servers {
		file.Servers[name] = withEnvironment(s)
	}
	servers := cli.Must(mcp.Connect(ctx, file))
	defer servers.Close()
	groups := servers.Groups()
	tools, errs := make([][]Definition, len(groups)), make([]error, len(groups))
	var answered atomic.Int32
	late := foreign.InParallel(ctx, len(groups), len(groups), func(ctx context.Context, i int) error {
		var listed []tool.BaseTool
		listed, errs[i] = groups[i].Source(ctx)
		for _, t := range listed {
			raw := t.(interface{ Definition() json.RawMessage }).Definition()
			_ = toolfile.Tools(slices.Concat([]byte("["), raw, []byte("]")), func(t toolfile.Tool) error { // in a list, it needs no name
				d := newDefinition(t)
				d.Server = groups[i].Name // a server cannot choose it
				tools[i] = append(tools[i], d)
				return nil
			})
		}
		c.Step("asking the servers", int(answered.Add(1)), len(groups))
		return nil // all servers' errors are reported
	})
	_ = servers.Close() // what they still write counts
	if err := errors.Join(errs...); err != nil || late != nil {
		cli.Check(cmp.Or(err, context.Cause(ctx), late))
	}
	read := &Contents{Servers: servers.Infos(), Asked: file, Tools: slices.Concat(tools...)}
	switch {
	case len(read.Tools) > 0:
	case len(groups) == 1:
		cli.Check(errors.New("the server has no tools"))
	default:
		cli.Check(errors.New("the servers have no tools"))
	}
	return read
}

// header makes the headers of -header, each "Name: value". Its errors do not quote them.
func (c *Reader) header() map[string]string {
	header := make(map[string]string)
	for _, text := range c.headers {
		name, value, ok := strings.Cut(text, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			c.WrongUsage(`-header: want "Name: value"`)
		}
		if value = strings.TrimSpace(value); header[name] != "" {
			value = header[name] + ", " + value
		}
		header[name] = value
	}
	return header
}

// listsServers reports whether a file is one of MCP servers. A file that looks like a server's answer is not: a
// server must not be able to name a command to run.
func listsServers(file map[string]json.RawMessage) bool {
	keys := []string{"jsonrpc", "id", "result", "tools", "name", "nextCursor", "_meta"} // of answers
	var servers map[string]json.RawMessage
	return json.Unmarshal(file["mcpServers"], &servers) == nil &&
		!slices.ContainsFunc(keys, func(key string) bool { return file[key] != nil })
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// withEnvironment gives a server the whole environment: who types a command means it to run as in the shell.
func withEnvironment(s mcp.Server) mcp.Server {
	env := make(map[string]string)
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); variableName.MatchString(name) {
			env[name] = "${" + name + "}"
		}
	}
	maps.Copy(env, s.Env)
	s.Env = env
	return s
}

// ListHelp is the help text of the command list.
var ListHelp = HelpOf("list [flags] CATALOG", `
Writes the tools as JSONL, one {"name", "description", "parameters", "server"} a line.
Every command reads it, so servers need to be asked only once. Tools of several servers
with the same name are named server__tool. Tools that no catalog can hold, such as a tool
without a name, are left out; standard error says which.
`, "", FlagsHelp, `
	toolsearch list mcp.json > tools.jsonl
	toolsearch list -- npx -y @modelcontextprotocol/server-everything | toolsearch search - echo
`, "0 the tools were written, 2 a mistake or no answer")

// List writes the tools of a catalog as JSONL.
func List(ctx context.Context, call *cli.Call, args []string) int {
	c, flags := NewReader(call)
	c.Parse(flags, args, 0, 0, "CATALOG")
	cli.Must(c.Out.Write(cli.Visible(c.lines(c.Load(ctx).Tools))))
	return cli.Found
}
