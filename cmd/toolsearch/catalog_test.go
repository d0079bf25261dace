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
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// call runs a command line.
func call(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// prints runs a command line that must end with a status.
func prints(t *testing.T, want int, stdin string, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := call(t, stdin, args...)
	require.Equal(t, want, code, "exit status of %v: %s%s", args, stdout, stderr)
	return stdout, stderr
}

func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	return string(testtools.Must(json.Marshal(v))(t))
}

// myself is the entry of an mcpServers file for a server of the tests.
func myself(kind string) map[string]any {
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
	t.Setenv("TOOLSEARCH_TEST_KEY", "secret")
	address := withKey(t)
	greek := `{"name": "alpha", "description": "Does alpha"}` + "\n" + `{"name": "beta", "inputSchema": {"type": "object"}}`
	openai := `{"tools": [{"type": "function", "function": {"name": "alpha", "description": "Does alpha"}}]}`
	there := map[string]any{"type": "http", "url": address, "headers": map[string]string{"X-Key": "${env:TOOLSEARCH_TEST_KEY}"}}
	servers := serverFile(t, map[string]any{
		"there": there, "here": myself("good"), "off": map[string]any{"command": "/nothing/such", "disabled": true},
	})
	for _, test := range []struct {
		name, catalog, query, tool, listed string
		inspected                          int
	}{
		{"JSONL", written(t, "greek.jsonl", greek), "alpha", "alpha", "alpha beta", cli.Nothing},
		{"MCP's tools/list", answer, "rows", "db__select_rows", "db__select_rows db__describe_table db__ping", cli.Nothing},
		{"a request to OpenAI", written(t, "request.json", openai), "alpha", "alpha", "alpha", cli.Found},
		{"servers", servers, "alpha", "alpha",
			"here/first_tool here/second_tool here/third_tool there/alpha there/beta there/gamma", cli.Nothing},
		{"a URL", "-header 'X-Key: ${TOOLSEARCH_TEST_KEY}' " + address, "alpha", "alpha", "alpha beta gamma", cli.Found},
		{"a command", "-- " + self, "first", "first_tool", "first_tool second_tool third_tool", cli.Nothing},
	} {
		t.Run(test.name, func(t *testing.T) {
			if strings.HasPrefix(test.catalog, "--") {
				t.Setenv(fakeServer, "good")
			}
			queries := written(t, "queries.jsonl", asJSON(t, map[string]any{"query": test.query, "gold": []string{test.tool}}))
			do := func(want int, stdin, catalog, command, rest string) string {
				t.Helper()
				line := command + " " + catalog + " " + rest
				if strings.HasPrefix(catalog, "--") {
					line = command + " " + rest + " " + catalog
				}
				stdout, stderr := prints(t, want, stdin, arguments(line)...)
				assert.Empty(t, stderr, line)
				return stdout
			}
			list := do(cli.Found, "", test.catalog, "list", "")
			var names []string
			for line := range strings.Lines(list) {
				var tool struct{ Name, Server string }
				require.NoError(t, json.Unmarshal([]byte(line), &tool), "%s", line)
				names = append(names, strings.TrimPrefix(tool.Server+"/"+tool.Name, "/"))
			}
			assert.Equal(t, test.listed, strings.Join(names, " "))
			for catalog, stdin := range map[string]string{test.catalog: "", "-": list} {
				assert.Contains(t, do(cli.Found, stdin, catalog, "search", test.query), test.tool)
				assert.Contains(t, do(cli.Found, stdin, catalog, "explain", test.query+" "+test.tool), "in all")
				assert.Contains(t, do(cli.Found, stdin, catalog, "eval", queries), "R@1")
				assert.Contains(t, do(cli.Found, stdin, catalog, "cost", "-shape 500,3,1"), "in each of these conversations")
				assert.Contains(t, do(test.inspected, stdin, catalog, "inspect", ""), test.tool)
				assert.Equal(t, list, do(cli.Found, stdin, catalog, "list", ""))
			}
			lockFile := "-file " + filepath.Join(t.TempDir(), "lock.json")
			do(cli.Found, "", test.catalog, "lock", lockFile)
			do(cli.Found, "", test.catalog, "verify", lockFile)
			do(cli.Found, "", test.catalog, "approve", lockFile+" "+test.tool)
			do(cli.Found, list, "-", "diff", lockFile)
		})
	}
}

// Servers may have tools of one name; the catalog holds all of them.
func TestServersThatShareNames(t *testing.T) {
	file := serverFile(t, map[string]any{"a": myself("good"), "b": myself("good"), "c": myself("wrong-values")})
	stdout, stderr := prints(t, cli.Found, "", "search", file, "first")
	assert.Contains(t, stdout, "a__first_tool")
	assert.Contains(t, stdout, "b__first_tool")
	assert.Equal(t, "Named with their servers, since several servers have a tool of that name: first_tool, second_tool, third_tool\n"+
		"Left out: (tool 9), which has no name. toolsearch inspect says more.\n", stderr)
	stdout, _ = prints(t, cli.Nothing, "", "inspect", file)
	assert.Contains(t, stdout, "server: a fake 1.2, MCP 2025-06-18\n")
	assert.Contains(t, stdout, "several servers have a tool of this name; a Prefix keeps such tools apart")
}

// What package mcp finds wrong in a file, its own tests know.
func TestServerFilesThatAreWrong(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"null", `{"mcpServers": null}`, "no servers"},
		{"a list", `{"mcpServers": []}`, "want a tool"},
		{"a variable", `{"mcpServers": {"a": {"command": "x", "env": {"K": "${TOOLSEARCH_TEST_NONE}"}}}}`,
			"server a: not set in the environment: TOOLSEARCH_TEST_NONE"},
		{"no program", `{"mcpServers": {"a": {"command": "${TOOLSEARCH_TEST_NONE:-/nothing/such}"}}}`,
			"the server a: starting the server: fork/exec /nothing/such"},
		{"two that fail", `{"mcpServers": {"a": {"command": "/nothing/such"}, "b": {"command": "/nothing/such"}}}`,
			"such: no such file or directory\nthe server b: "},
	} {
		stdout, stderr := prints(t, cli.Failed, "", "list", written(t, "mcp.json", test.file))
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
