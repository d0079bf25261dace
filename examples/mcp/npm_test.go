package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// Servers from npm packages, in the versions of servers/package-lock.json.

//go:embed servers/package.json servers/package-lock.json
var npmFiles embed.FS

var npmServers = sync.OnceValues(func() (string, error) {
	folder, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	return installServers(ctx, filepath.Join(folder, "toolsearch-mcp"))
})

// installServers installs the servers into a folder named after a hash of the lock file, unless
// the folder exists, and returns the folder. It installs under another name and renames, so the
// folder is always complete.
func installServers(ctx context.Context, folder string) (string, error) {
	hash := sha256.New()
	files := map[string][]byte{}
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := npmFiles.ReadFile("servers/" + name)
		if err != nil {
			return "", err
		}
		files[name] = data
		fmt.Fprintf(hash, "%d %s", len(data), data)
	}
	installed := filepath.Join(folder, hex.EncodeToString(hash.Sum(nil)[:8]))
	if _, err := os.Stat(installed); err == nil {
		return installed, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(folder, "install-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(fresh, name), data, 0o600); err != nil {
			return "", err
		}
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = fresh
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	if err := os.Rename(fresh, installed); err != nil {
		if _, other := os.Stat(installed); other == nil { // another process was quicker
			return installed, nil
		}
		return "", err
	}
	return installed, nil
}

// startNPM runs a server of an npm package until the test ends.
func startNPM(t *testing.T, name string, args ...string) *live {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the server needs Node.js 18 or later and npm: %v", err)
		}
	}
	folder, err := npmServers()
	require.NoError(t, err)
	node, err := exec.LookPath("node")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	program := filepath.Join(folder, "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
	// The server does not get the user's environment: server-everything has a tool that shows
	// it.
	env := []string{"PATH=" + os.Getenv("PATH"), "SystemRoot=" + os.Getenv("SystemRoot")}
	server, stop, err := start(ctx, env, name, node, append([]string{program}, args...)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		// server-everything does not exit when its stdin is closed. It must be killed.
		if err := stop(); name != "everything" {
			assert.NoError(t, err)
		}
	})
	return server
}

// play runs an agent with the server's tools and returns what the model was shown.
func play(t *testing.T, config toolsearch.Config, turns ...toolsearchtest.Turn) []toolsearchtest.Request {
	t.Helper()
	search, err := toolsearch.New(t.Context(), &config)
	require.NoError(t, err)
	return converse[*schema.Message](t, search, "Please.", append(turns, toolsearchtest.Say("Done."))...)
}

// answer returns the newest result that the model was shown.
func answer(requests []toolsearchtest.Request) string {
	messages := requests[len(requests)-1].Messages
	return messages[len(messages)-1].Text
}

func quoted(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

func TestServerEverything(t *testing.T) {
	server := startNPM(t, "everything", "stdio")
	shown := play(t, toolsearch.Config{Source: server.Tools},
		toolsearchtest.CallTool("tool_search", `{"query":"+sum numbers","max_results":1}`),
		toolsearchtest.CallTool("get-sum", `{"a":2,"b":40}`))
	assert.Equal(t, []string{"tool_search", "get-sum"}, shown[1].ToolNames(), "after the search")
	assert.Contains(t, answer(shown), "42", "what get-sum answered")
	assert.Subset(t, listed(t, shown[0]), []string{"echo", "get-sum"}, "the reminder's lines")
}

func TestServerFilesystem(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir()) // the server allows the real path only
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "note.txt"), []byte("old words"), 0o600))
	server := startNPM(t, "filesystem", folder)
	path := quoted(t, filepath.Join(folder, "note.txt"))
	shown := play(t, toolsearch.Config{Source: server.Tools, Index: toolsearch.BM25},
		toolsearchtest.CallTool("tool_search", `{"query":"read the text of a file","max_results":3}`),
		toolsearchtest.CallTool("read_text_file", `{"path":`+path+`}`),
		toolsearchtest.CallTool("tool_search", `{"query":"select:write_file"}`),
		toolsearchtest.CallTool("write_file", `{"path":`+path+`,"content":"new words"}`))
	assert.Contains(t, matches(t, shown[1]), "read_text_file")
	assert.Contains(t, answer(shown[:3]), "old words", "what read_text_file answered")
	data, err := os.ReadFile(filepath.Join(folder, "note.txt"))
	assert.NoError(t, err)
	assert.Equal(t, "new words", string(data), "what write_file left")
}
