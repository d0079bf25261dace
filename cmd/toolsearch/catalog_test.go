package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
)

// call runs a command line.
func call(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// myself is the entry of an mcpServers file for a server of the tests.
func myself(t *testing.T, kind string) map[string]any {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return map[string]any{"command": self, "env": map[string]string{fakeServer: kind}}
}

func serverFile(t *testing.T, servers map[string]any) string {
	t.Helper()
	return written(t, "mcp.json", asJSON(t, map[string]any{"mcpServers": servers}))
}

// honest is a server of three tools.
func honest() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "honest", Version: "3"}, nil)
	for _, name := range []string{"alpha", "beta", "gamma"} {
		server.AddTool(&mcp.Tool{Name: name, Description: "Does " + name, InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
	}
	return server
}

// withKey is an honest server that wants a key.
func withKey(t *testing.T) string {
	t.Helper()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return honest() }, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "secret" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// Every command takes every CATALOG, and the output of list for it.
func TestEveryCommandTakesEveryCatalog(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv("TOOLSEARCH_TEST_KEY", "secret")
	address := withKey(t)
	header := []string{"-header", "X-Key: ${TOOLSEARCH_TEST_KEY}"}
	greek := `{"name": "alpha", "description": "Does alpha"}` + "\n" + `{"name": "beta", "inputSchema": {"type": "object"}}`
	openai := `{"tools": [{"type": "function", "function": {"name": "alpha", "description": "Does alpha"}}]}`
	for _, test := range []struct {
		name                   string
		flags, catalog, server []string
		query, tool, listed    string
		inspected              int
	}{
		{name: "JSONL", catalog: []string{written(t, "greek.jsonl", greek)}, query: "alpha", tool: "alpha", listed: "alpha beta", inspected: cli.ToFix},
		{name: "MCP's tools/list", catalog: []string{answer}, query: "rows", tool: "db__select_rows", listed: "db__select_rows db__describe_table db__ping", inspected: cli.ToFix},
		{name: "a request to OpenAI", catalog: []string{written(t, "request.json", openai)}, query: "alpha", tool: "alpha", listed: "alpha"},
		{name: "servers", catalog: []string{serverFile(t, map[string]any{
			"there": map[string]any{"type": "http", "url": address, "headers": map[string]string{"X-Key": "${env:TOOLSEARCH_TEST_KEY}"}},
			"here":  myself(t, "good"),
			"off":   map[string]any{"command": "/nothing/such", "disabled": true},
		})}, query: "alpha", tool: "alpha", listed: "here/first_tool here/second_tool here/third_tool there/alpha there/beta there/gamma", inspected: cli.ToFix},
		{name: "a URL", flags: header, catalog: []string{address}, query: "alpha", tool: "alpha", listed: "alpha beta gamma"},
		{name: "a command", server: []string{"--", self}, query: "first", tool: "first_tool", listed: "first_tool second_tool third_tool", inspected: cli.ToFix},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.server != nil {
				t.Setenv(fakeServer, "good")
			}
			queries := written(t, "queries.jsonl", asJSON(t, map[string]any{"query": test.query, "gold": []string{test.tool}}))
			do := func(want int, stdin string, flags, catalog, server []string, command string, rest ...string) string {
				t.Helper()
				args := append(append(append(append([]string{command}, flags...), catalog...), rest...), server...)
				code, stdout, stderr := call(t, stdin, args...)
				require.Equal(t, want, code, "%v: %s", args, stderr)
				assert.Empty(t, stderr, "%v", args)
				return stdout
			}
			list := do(cli.Found, "", test.flags, test.catalog, test.server, "list")
			var names []string
			for line := range strings.Lines(list) {
				var tool struct{ Name, Server string }
				require.NoError(t, json.Unmarshal([]byte(line), &tool), "%s", line)
				names = append(names, strings.TrimPrefix(tool.Server+"/"+tool.Name, "/"))
			}
			assert.Equal(t, test.listed, strings.Join(names, " "))
			for _, from := range []struct {
				stdin                  string
				flags, catalog, server []string
			}{{"", test.flags, test.catalog, test.server}, {list, nil, []string{"-"}, nil}} {
				assert.Contains(t, do(cli.Found, from.stdin, from.flags, from.catalog, from.server, "search", test.query), test.tool)
				assert.Contains(t, do(cli.Found, from.stdin, from.flags, from.catalog, from.server, "explain", test.query, test.tool), "in all")
				assert.Contains(t, do(cli.Found, from.stdin, from.flags, from.catalog, from.server, "eval", queries), "R@1")
				assert.Contains(t, do(test.inspected, from.stdin, from.flags, from.catalog, from.server, "inspect"), test.tool)
				assert.Equal(t, list, do(cli.Found, from.stdin, from.flags, from.catalog, from.server, "list"))
			}
			lockFile := []string{"-file", filepath.Join(t.TempDir(), "lock.json")}
			flags := append(lockFile, test.flags...)
			do(cli.Found, "", flags, test.catalog, test.server, "lock")
			do(cli.Found, "", flags, test.catalog, test.server, "verify")
			do(cli.Found, "", flags, test.catalog, test.server, "approve", test.tool)
			do(cli.Found, list, lockFile, []string{"-"}, nil, "diff")
		})
	}
}

// Servers may have tools of one name; the catalog holds all of them.
func TestServersThatShareNames(t *testing.T) {
	file := serverFile(t, map[string]any{"a": myself(t, "good"), "b": myself(t, "good"), "c": myself(t, "wrong-values")})
	code, stdout, stderr := call(t, "", "search", file, "first")
	assert.Equal(t, cli.Found, code, "exit status")
	assert.Contains(t, stdout, "a__first_tool")
	assert.Contains(t, stdout, "b__first_tool")
	assert.Equal(t, "Named with their servers, since several servers have a tool of that name: first_tool, second_tool, third_tool\n"+
		"Left out: (tool 9), which has no name. toolsearch inspect says more.\n", stderr)
	code, stdout, stderr = call(t, "", "inspect", file)
	assert.Equal(t, cli.ToFix, code, "exit status; stderr %s", stderr)
	assert.Contains(t, stdout, "server: a fake 1.2, MCP 2025-06-18\n")
	assert.Contains(t, stdout, "several servers have a tool of this name; a Prefix keeps such tools apart")
}

func TestServerFilesThatAreWrong(t *testing.T) {
	for _, test := range []struct {
		name, file, want string
	}{
		{"no servers", `{"mcpServers": {}}`, "no servers"},
		{"null", `{"mcpServers": null}`, "no servers"},
		{"a list", `{"mcpServers": []}`, "want a tool"},
		{"neither", `{"mcpServers": {"a": {}}}`, "server a: want a command or a url"},
		{"both", `{"mcpServers": {"a": {"command": "x", "url": "http://127.0.0.1:1"}}}`, "server a: want a command or a url"},
		{"a kind", `{"mcpServers": {"a": {"args": 5}}}`, "server a: a value is of the wrong kind"},
		{"a type", `{"mcpServers": {"a": {"type": "carrier pigeon", "url": "x"}}}`, `server a: type "carrier pigeon": want stdio, http or sse`},
		{"a variable", `{"mcpServers": {"a": {"command": "x", "env": {"K": "${TOOLSEARCH_TEST_NONE}"}}}}`, "server a: not set in the environment: TOOLSEARCH_TEST_NONE"},
		{"no program", `{"mcpServers": {"a": {"command": "${TOOLSEARCH_TEST_NONE:-/nothing/such}"}}}`, "the server a: starting the server: fork/exec /nothing/such"},
		{"no address", `{"mcpServers": {"a": {"url": "a.example"}}}`, "the server a: want a URL that begins with http:// or https://"},
		{"two that fail", `{"mcpServers": {"a": {"command": "/nothing/such"}, "b": {"command": "/nothing/such"}}}`, "such: no such file or directory\nthe server b: "},
	} {
		code, stdout, stderr := call(t, "", "list", written(t, "mcp.json", test.file))
		assert.Equal(t, cli.Failed, code, "%s: exit status", test.name)
		assert.Empty(t, stdout, test.name)
		assert.Contains(t, stderr, test.want, test.name)
	}
	entries := make(map[string]any)
	for i := range 101 {
		entries[strings.Repeat("a", i)] = map[string]any{"command": "/nothing/such"}
	}
	_, _, stderr := call(t, "", "list", serverFile(t, entries))
	assert.Contains(t, stderr, "more than 100 servers")
}

// A server's answer that was saved to a file cannot name commands to run.
func TestAnswersNameNoCommands(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	servers := `"mcpServers": {"a": {"command": "touch", "args": [` + asJSON(t, mark) + `]}}`
	for _, text := range []string{
		`{"tools": [{"name": "a"}], ` + servers + `}`,
		`{"jsonrpc": "2.0", "id": 1, "result": {"tools": []}, ` + servers + `}`,
		`{"name": "a", ` + servers + `}`,
		`{"result": {` + servers + `}}`,
		`[{` + servers + `}]`,
		"{\"name\": \"a\"}\n{" + servers + "}",
	} {
		call(t, text, "list", "-")
		_, err := os.Stat(mark)
		require.ErrorIs(t, err, os.ErrNotExist, "a command ran for %s", text)
	}
}

// A signal or -timeout ends a command that reads a file without end, or a pipe that nobody
// writes to.
func TestFilesThatDoNotEnd(t *testing.T) {
	never, _ := io.Pipe()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	for _, args := range [][]string{{"search", "-", "book"}, {"eval", tools, "-"}, {"inspect", "-"}, {"list", "-"}, {"lock", "-"}} {
		var stderr bytes.Buffer
		code := run(ctx, args, never, io.Discard, &stderr)
		assert.Equal(t, cli.Failed, code, "%v: exit status", args)
		assert.Contains(t, stderr.String(), "interrupted", "%v", args)
	}
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"list", "-timeout", "50ms", "-"}, never, io.Discard, &stderr)
	assert.Equal(t, cli.Failed, code, "exit status")
	assert.Contains(t, stderr.String(), "no answer within 50ms")
}
