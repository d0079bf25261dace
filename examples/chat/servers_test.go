package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The MCP server of these tests is the test binary, started with this variable.
const serverVariable = "CHAT_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) == "" {
		os.Exit(m.Run())
	}
	if err := house(os.Args[1]); err != nil {
		os.Exit(1)
	}
}

// house is an MCP server with a door that is locked.
func house(name string) error {
	server := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, &mcp.ServerOptions{Instructions: "Looks after a house."})
	mcp.AddTool(server, &mcp.Tool{Name: "open_door", Description: "Opens the front door"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("the door is locked")
		})
	return server.Run(context.Background(), &mcp.StdioTransport{})
}

// A real server's tools are found and called, and a tool's error does not end the answer.
func TestServer(t *testing.T) {
	t.Setenv(serverVariable, "1")
	e := serve(t, `tool_search {"query":"open door"}`, `open_door {}   `, "It is locked.")
	got := talk(t, e, "Open the door.", "--", os.Args[0], "The House")
	for _, want := range []string{
		"m with the tools of the-house to find.", `[searches "open door": finds open_door]` + "\n", "[gets ", "the door is locked", "It is locked.\n[loaded: open_door]\n",
	} {
		require.Contains(t, got, want, "in that place")
		_, got, _ = strings.Cut(got, want)
	}
	require.Len(t, e.seen, 3)
	assert.Contains(t, e.seen[0].first, "Looks after a house.")
}

// Two servers may have the same name, and tools of the same name.
func TestTwoServers(t *testing.T) {
	t.Setenv(serverVariable, "1")
	e := serve(t, `tool_search {"query":"open door"}`, `house-2__open_door {}   `, "It is locked.")
	got := talk(t, e, "Open the second door.", "--", os.Args[0], "house", "--", os.Args[0], "house")
	assert.Contains(t, got, "m with the tools of house, house-2 to find.")
	assert.Contains(t, got, "the door is locked")
	require.Len(t, e.seen, 3)
	assert.Equal(t, []string{"tool_search", "house__open_door", "house-2__open_door"}, e.seen[1].tools)
}

// A server of an npm package is started by npx, and reads a file. The lock file of examples/mcp gives
// the versions of its dependencies: the package itself names ranges.
func TestServerOfNPM(t *testing.T) {
	for _, program := range []string{"node", "npm", "npx"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the server needs Node.js 18 or later, npm and npx: %v", err)
		}
	}
	modules := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join("..", "mcp", "servers", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(modules, name), text, 0o600))
	}
	npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = modules
	out, err := npm.CombinedOutput()
	require.NoError(t, err, "npm ci: %s", out)
	folder, err := filepath.EvalSymlinks(t.TempDir()) // the server allows the real path only
	require.NoError(t, err)
	note := filepath.Join(folder, "note.txt")
	require.NoError(t, os.WriteFile(note, []byte("old words"), 0o600))
	path, err := json.Marshal(note)
	require.NoError(t, err)
	e := serve(t, `tool_search {"query":"read text file"}`, `read_text_file {"path":`+string(path)+`}`, "It has old words.")
	got := talk(t, e, "What is in the note?", "--", "npx", "--no-install", "--prefix", modules, "mcp-server-filesystem", folder)
	assert.Contains(t, got, "[loaded: read_text_file")
	require.Len(t, e.seen, 3)
	assert.NotContains(t, e.seen[0].tools, "read_text_file", "before the search")
	assert.Contains(t, e.seen[1].tools, "read_text_file", "after the search")
	assert.Contains(t, e.seen[2].last, "old words", "what the server answered")
}

func TestServerThatDoesNotStart(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--"}, "no command after --"},
		{[]string{"--", "no-such-program-here", "x"}, `MCP server "no-such-program-here x": `},
	} {
		var out bytes.Buffer
		args := append([]string{"-model", "m", "-base-url", "http://127.0.0.1:1/v1"}, tt.args...)
		err := run(t.Context(), args, noEnv, terminal{in: strings.NewReader("Hello?\n"), out: &out, err: &out})
		assert.ErrorContains(t, err, tt.want)
	}
}
