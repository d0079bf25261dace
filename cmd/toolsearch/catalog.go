package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
)

// CATALOG, which every command takes, is one of these:
//
//	tools.jsonl, -        a file of tools, or standard input
//	mcp.json              a file of MCP servers under "mcpServers"; all are asked
//	https://host/mcp      an MCP server with a URL
//	-- COMMAND [ARG...]   an MCP server that COMMAND starts, after all other arguments

// maxServers bounds the servers of one file, askedAtOnce those that run at a time.
const (
	maxServers  = 100
	askedAtOnce = 8
)

// An origin is where a catalog comes from. Exactly one field is set.
type origin struct {
	operand string   // a file or a URL
	command []string // of a server
}

// origin takes CATALOG off the operands.
func (c *command) origin(operands []string) (from origin, rest []string, ok bool) {
	switch {
	case len(c.server) > 0:
		return origin{command: c.server}, operands, true
	case len(operands) > 0:
		return origin{operand: operands[0]}, operands[1:], true
	}
	return origin{}, nil, false
}

// String names the catalog in a progress line and on the page, without the secrets of a URL.
func (o origin) String() string {
	switch {
	case len(o.command) > 0:
		return o.command[0]
	case o.isURL():
		return endpoint{url: o.operand}.String()
	}
	return o.operand
}

func (o origin) isURL() bool {
	lower := strings.ToLower(o.operand)
	return strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
}

// contents is what an origin holds.
type contents struct {
	tools   []definition
	servers []*serverInfo // that were asked
	file    string        // the file of tools, if it is one
	data    []byte        // its text
}

// load reads the catalog. It ends with ctx, and after -timeout.
func (c *command) load(ctx context.Context, from origin) (*contents, error) {
	if c.timeout <= 0 {
		return nil, wrongUsage(c.name+": -timeout %v: want more than 0", c.timeout)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %v; -timeout allows more time", c.timeout))
	defer cancel()
	defer c.waiting("reading %s", from)()
	switch {
	case len(c.headers) > 0 && !from.isURL():
		return nil, wrongUsage(c.name+": %s", "-header is for a URL; a file of servers has headers of its own")
	case len(from.command) > 0:
		return c.askServers(ctx, []endpoint{{command: from.command}})
	case from.isURL():
		header, err := c.header()
		if err != nil {
			return nil, err
		}
		return c.askServers(ctx, []endpoint{{url: from.operand, headers: header}})
	}
	file, data, err := c.readFile(ctx, from.operand)
	if err != nil {
		return nil, err
	}
	top := topLevel(data)
	if top["searcher"] != nil && top["problems"] != nil {
		return nil, fmt.Errorf("%s: this is a report of inspect; toolsearch list writes tools that every command reads", file)
	}
	if entries := serversOf(top); entries != nil {
		endpoints, err := endpointsOf(entries)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return c.askServers(ctx, endpoints)
	}
	return await(ctx, func() (*contents, error) {
		tools, err := readDefinitions(data, file)
		return &contents{tools: tools, file: file, data: data}, err
	})
}

// await returns what f returns, or ctx's cause as soon as ctx is done. f may run until the
// program ends: it may read from a terminal, or work on hostile input.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// readFile returns a file's name for messages and its text. "-" is standard input.
func (c *command) readFile(ctx context.Context, path string) (file string, data []byte, err error) {
	file = path
	if path == "-" {
		file = "standard input"
	}
	data, err = await(ctx, func() ([]byte, error) {
		if path == "-" {
			return toolfile.Read(c.stdin)
		}
		opened, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		return toolfile.Read(opened)
	})
	if wrong := (*os.PathError)(nil); err != nil && !errors.As(err, &wrong) {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return file, data, err
}

// compiled reads the catalog and compiles it for the searcher of -searcher.
func (c *command) compiled(ctx context.Context, from origin) (*eval.Catalog, *toolsearch.Catalog, error) {
	indexes, err := c.indexers(ctx, c.searcher)
	if err != nil {
		return nil, nil, err
	}
	tools, err := c.catalog(ctx, from)
	if err != nil {
		return nil, nil, err
	}
	defer c.waiting("indexing %s", plural(len(tools.Tools), "tool"))()
	compiled, err := tools.Compile(ctx, indexes[0])
	return tools, compiled, err
}

// catalog reads the catalog as searchers take it. A fault in a file is an error, since its author
// can mend it. Servers are taken as they are: a tool that cannot be searched is left out, with a
// note on stderr.
func (c *command) catalog(ctx context.Context, from origin) (*eval.Catalog, error) {
	read, err := c.load(ctx, from)
	if err != nil {
		return nil, err
	}
	text, file := read.data, read.file
	if file == "" {
		var lines bytes.Buffer
		if err := writeTools(&lines, c.usable(read.tools)); err != nil {
			return nil, err
		}
		text, file = lines.Bytes(), "the servers' tools"
	}
	return await(ctx, func() (*eval.Catalog, error) { return eval.ReadCatalog(bytes.NewReader(text), file) })
}

// usable returns the tools that one catalog can hold, and notes on stderr what it renamed or
// left out.
func (c *command) usable(tools []definition) []definition {
	tools, clashes := apart(tools)
	kept, left := tools[:0:0], []string(nil)
	taken := make(map[string]bool)
	for i, d := range tools {
		switch {
		case d.Name == "":
			left = append(left, label(tools, i)+", which has no name")
			continue
		case taken[d.Name]:
			left = append(left, "a second "+d.Name)
			continue
		}
		if _, err := schemacheck.Read(d.Schema); d.Schema != nil && err != nil {
			left = append(left, "the parameters of "+d.Name+", which are not a JSON schema")
			d.Schema = nil
		}
		taken[d.Name] = true
		kept = append(kept, d)
	}
	if len(clashes) > 0 {
		fmt.Fprintf(c.stderr, "Named with their servers, since several servers have a tool of that name: %s\n", oneLine(strings.Join(clashes, ", "), 300))
	}
	if len(left) > 0 {
		fmt.Fprintf(c.stderr, "Left out: %s. toolsearch inspect says more.\n", oneLine(strings.Join(left, "; "), 300))
	}
	return kept
}

// apart puts the server's name before each tool name that several servers use. clashes are
// these names.
func apart(tools []definition) (_ []definition, clashes []string) {
	servers := make(map[string]map[string]bool)
	for _, d := range tools {
		if servers[d.Name] == nil {
			servers[d.Name] = make(map[string]bool)
		}
		servers[d.Name][d.Server] = true
	}
	tools = slices.Clone(tools)
	for i, d := range tools {
		if d.Name != "" && d.Server != "" && len(servers[d.Name]) > 1 {
			tools[i].Name = d.Server + "__" + d.Name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if name != "" && len(servers[name]) > 1 {
			clashes = append(clashes, name)
		}
	}
	return tools, clashes
}

// writeTools writes tools as JSONL, which every command reads.
func writeTools(w io.Writer, tools []definition) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, d := range tools {
		line := struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters,omitempty"`
			Server      string          `json:"server,omitempty"`
		}{d.Name, d.Description, d.Schema, d.Server}
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// askServers lists the tools of all servers, in the servers' order. If a server fails, so does
// the catalog: a part of it would look like the whole.
func (c *command) askServers(ctx context.Context, endpoints []endpoint) (*contents, error) {
	type answer struct {
		tools []definition
		info  *serverInfo
		err   error
	}
	answers := make([]answer, len(endpoints))
	var all sync.WaitGroup
	var answered atomic.Int32
	places := make(chan struct{}, askedAtOnce)
	for i, at := range endpoints {
		all.Add(1)
		places <- struct{}{}
		go func() {
			defer all.Done()
			answers[i].tools, answers[i].info, answers[i].err = listTools(ctx, at)
			c.step("asking the servers", int(answered.Add(1)), len(endpoints))
			<-places
		}()
	}
	all.Wait()
	read, errs := &contents{}, []error(nil)
	for _, a := range answers {
		if a.err != nil {
			errs = append(errs, a.err)
			continue
		}
		read.tools = append(read.tools, a.tools...)
		read.servers = append(read.servers, a.info)
	}
	switch {
	case len(errs) > 0:
		return nil, errors.Join(errs...)
	case len(read.tools) > 0:
		return read, nil
	case len(endpoints) == 1:
		return nil, errors.New("the server has no tools")
	}
	return nil, errors.New("the servers have no tools")
}

// A serverEntry is one server of an mcpServers file.
type serverEntry struct {
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
	Cwd      string            `json:"cwd"`
	URL      string            `json:"url"`
	Type     string            `json:"type"`
	Headers  map[string]string `json:"headers"`
	Disabled bool              `json:"disabled"`
}

// topLevel returns the keys of a file that is one object, or nil.
func topLevel(data []byte) (keys map[string]json.RawMessage) {
	if toolfile.TooDeep(data) || json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &keys) != nil {
		return nil
	}
	return keys
}

// serversOf returns the servers of an mcpServers file, or nil for any other file. A file that looks
// like a server's answer does not count: a server must not be able to name a command to run.
func serversOf(file map[string]json.RawMessage) map[string]json.RawMessage {
	for _, key := range []string{"jsonrpc", "id", "result", "tools", "name", "nextCursor", "_meta"} {
		if file[key] != nil {
			return nil
		}
	}
	var entries map[string]json.RawMessage
	if file["mcpServers"] == nil || json.Unmarshal(file["mcpServers"], &entries) != nil {
		return nil
	}
	if entries == nil {
		entries = map[string]json.RawMessage{}
	}
	return entries
}

// endpointsOf reads the servers of an mcpServers file, in the order of their names.
func endpointsOf(entries map[string]json.RawMessage) (endpoints []endpoint, err error) {
	if len(entries) > maxServers {
		return nil, fmt.Errorf("more than %d servers", maxServers)
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		var entry serverEntry
		if err := json.Unmarshal(entries[name], &entry); err != nil {
			return nil, fmt.Errorf("server %s: a value is of the wrong kind; want command, args and env, or url and headers", oneLine(name, 100))
		}
		if entry.Disabled {
			continue
		}
		at, err := entry.endpoint(name)
		if err != nil {
			return nil, fmt.Errorf("server %s: %w", oneLine(name, 100), err)
		}
		endpoints = append(endpoints, at)
	}
	if len(endpoints) == 0 {
		return nil, errors.New("no servers")
	}
	return endpoints, nil
}

func (e *serverEntry) endpoint(name string) (endpoint, error) {
	var x expansion
	at := endpoint{namespace: name, dir: x.expand(e.Cwd), url: x.expand(e.URL)}
	for _, key := range slices.Sorted(maps.Keys(e.Headers)) {
		if at.headers == nil {
			at.headers = make(http.Header)
		}
		at.headers.Set(key, x.expand(e.Headers[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(e.Env)) {
		at.env = append(at.env, key+"="+x.expand(e.Env[key]))
	}
	if e.Command != "" {
		at.command = []string{x.expand(e.Command)}
		for _, arg := range e.Args {
			at.command = append(at.command, x.expand(arg))
		}
	}
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(e.Type)) {
	case "", "stdio":
	case "http", "streamablehttp":
		at.kind = kindStreamable
	case "sse":
		at.kind = kindSSE
	default:
		return at, fmt.Errorf("type %q: want stdio, http or sse", oneLine(e.Type, 40))
	}
	if (at.url == "") == (len(at.command) == 0) {
		return at, errors.New("want a command or a url")
	}
	return at, x.err()
}

// An expansion puts environment variables into texts: ${NAME}, ${env:NAME}, and ${NAME:-text} for a
// variable that may be missing. It keeps secrets out of files and arguments.
type expansion struct{ missing []string }

var variable = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

func (x *expansion) expand(text string) string {
	return variable.ReplaceAllStringFunc(text, func(match string) string {
		parts := variable.FindStringSubmatch(match)
		value, ok := os.LookupEnv(parts[1])
		switch {
		case ok && (value != "" || parts[2] == ""):
			return value
		case parts[2] != "":
			return strings.TrimPrefix(parts[2], ":-")
		}
		x.missing = append(x.missing, parts[1])
		return ""
	})
}

func (x *expansion) err() error {
	if len(x.missing) == 0 {
		return nil
	}
	return fmt.Errorf("not set in the environment: %s", strings.Join(x.missing, ", "))
}

// header makes the headers of -header, each "Name: value". Its errors do not quote them.
func (c *command) header() (http.Header, error) {
	var x expansion
	header := make(http.Header)
	for _, text := range c.headers {
		name, value, ok := strings.Cut(text, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, wrongUsage(c.name+": %s", `-header: want "Name: value"`)
		}
		header.Add(name, strings.TrimSpace(x.expand(value)))
	}
	if err := x.err(); err != nil {
		return nil, wrongUsage(c.name+": -header: %v", err)
	}
	return header, nil
}

// list writes the tools of a catalog as JSONL.
func (c *command) list(ctx context.Context, operands []string) (int, error) {
	from, rest, ok := c.origin(operands)
	if !ok || len(rest) > 0 {
		return failed, wrongUsage("list: want CATALOG")
	}
	read, err := c.load(ctx, from)
	if err != nil {
		return failed, err
	}
	var lines bytes.Buffer
	if err := writeTools(&lines, c.usable(read.tools)); err != nil {
		return failed, err
	}
	_, err = c.out.Write(visible(lines.Bytes()))
	return found, err
}
