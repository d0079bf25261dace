package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// Servers that are npm packages, of the versions in servers/package-lock.json.

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

// installServers puts the servers into a folder named after the lock file, unless they are
// there, and returns it. It is made under another name first, so that it is whole or not there.
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
		if _, other := os.Stat(installed); other == nil { // someone else was quicker
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
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	program := filepath.Join(folder, "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
	// Nothing of the user's environment: server-everything has a tool that tells it.
	env := []string{"PATH=" + os.Getenv("PATH"), "SystemRoot=" + os.Getenv("SystemRoot")}
	server, stop, err := start(ctx, env, name, node, append([]string{program}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// server-everything goes on when its stdin is closed, until it is killed.
		if err := stop(); err != nil && name != "everything" {
			t.Error(err)
		}
	})
	return server
}

// play runs an agent with the server's tools and returns what the model was shown.
func play(t *testing.T, config toolsearch.Config, turns ...toolsearchtest.Turn) []toolsearchtest.Request {
	t.Helper()
	search, err := toolsearch.New(t.Context(), &config)
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestServerEverything(t *testing.T) {
	server := startNPM(t, "everything", "stdio")
	shown := play(t, toolsearch.Config{Source: server.Tools},
		toolsearchtest.CallTool("tool_search", `{"query":"+sum numbers","max_results":1}`),
		toolsearchtest.CallTool("get-sum", `{"a":2,"b":40}`))
	if got, want := strings.Join(shown[1].ToolNames(), " "), "tool_search get-sum"; got != want {
		t.Errorf("after the search the model saw %q, want %q", got, want)
	}
	if got := answer(shown); !strings.Contains(got, "42") {
		t.Errorf("get-sum answered %s, want 42 in it", got)
	}
	if list := strings.Join(listed(t, shown[0]), "\n"); !strings.Contains(list, "\necho\n") || !strings.Contains(list, "\nget-sum\n") {
		t.Errorf("the reminder is\n%s\nwant echo and get-sum in it", list)
	}
}

func TestServerFilesystem(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir()) // the server allows the real path only
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "note.txt"), []byte("old words"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := startNPM(t, "filesystem", folder)
	path := quoted(t, filepath.Join(folder, "note.txt"))
	shown := play(t, toolsearch.Config{Source: server.Tools, Index: toolsearch.BM25},
		toolsearchtest.CallTool("tool_search", `{"query":"read the text of a file","max_results":3}`),
		toolsearchtest.CallTool("read_text_file", `{"path":`+path+`}`),
		toolsearchtest.CallTool("tool_search", `{"query":"select:write_file"}`),
		toolsearchtest.CallTool("write_file", `{"path":`+path+`,"content":"new words"}`))
	if found := matches(t, shown[1]); !strings.Contains(strings.Join(found, " "), "read_text_file") {
		t.Errorf("the search found %q, want read_text_file among them", found)
	}
	if got := answer(shown[:3]); !strings.Contains(got, "old words") {
		t.Errorf("read_text_file answered %s, want the file's text", got)
	}
	if data, err := os.ReadFile(filepath.Join(folder, "note.txt")); err != nil || !bytes.Equal(data, []byte("new words")) {
		t.Errorf("write_file left %q, %v", data, err)
	}
}
