package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// Four servers from npm packages and a server with a URL, from a file of servers to an agent. No
// Annotate says what belongs to which server.

// npmFile returns a file of the servers, which work in folder. The memory server is started through
// a link, which a test can remove.
func npmFile(t *testing.T, folder string) (file []byte, memory string) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the servers need Node.js 18 or later and npm: %v", err)
		}
	}
	installed, err := npmServers()
	require.NoError(t, err)
	program := func(name string) string {
		return filepath.Join(installed, "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
	}
	memory = filepath.Join(folder, "memory.js")
	if err := os.Symlink(program("memory"), memory); err != nil {
		t.Skipf("the test needs symbolic links: %v", err)
	}
	web := mcp.NewServer(&mcp.Implementation{Name: "web", Version: "0"}, &mcp.ServerOptions{Instructions: "Waters the plants of the house."})
	mcp.AddTool(web, &mcp.Tool{Name: "water_plants", Description: "Waters plants", Meta: mcp.Meta{"anthropic/alwaysLoad": true}},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "water_plants ran"}}}, nil, nil
		})
	listener := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		if r.Header.Get("Authorization") != "Bearer secret" {
			return nil
		}
		return web
	}, nil))
	t.Cleanup(listener.Close)
	file, err = json.Marshal(map[string]any{"mcpServers": map[string]any{
		"everything":          map[string]any{"command": "node", "args": []string{program("everything"), "stdio"}},
		"filesystem":          map[string]any{"command": "node", "args": []string{program("filesystem"), folder}},
		"memory":              map[string]any{"command": "node", "args": []string{memory}, "env": map[string]string{"MEMORY_FILE_PATH": filepath.Join(folder, "memory.json")}},
		"sequential-thinking": map[string]any{"command": "node", "args": []string{program("sequential-thinking")}},
		"web":                 map[string]any{"url": listener.URL, "headers": map[string]string{"Authorization": "Bearer secret"}},
	}})
	require.NoError(t, err)
	return file, memory
}

// npmGroups starts the servers until the test ends.
func npmGroups(t *testing.T) (groups []toolsearch.Group, byName map[string]*server, folder, memory string) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir()) // the filesystem server allows the real path only
	require.NoError(t, err)
	file, memory := npmFile(t, folder)
	servers, err := readServers(file)
	require.NoError(t, err)
	byName = make(map[string]*server)
	for _, s := range servers {
		byName[s.name] = s
		t.Cleanup(s.Close)
	}
	return groupsOf(t.Context(), servers), byName, folder, memory
}

// TestServersOfFile: the groups' names are namespaces, the servers get their own names of the tools,
// and a tool's error does not end the run.
func TestServersOfFile(t *testing.T) {
	groups, _, _, _ := npmGroups(t)
	t.Run("Message", func(t *testing.T) { testServersOfFile[*schema.Message](t, groups) })
	t.Run("AgenticMessage", func(t *testing.T) { testServersOfFile[*schema.AgenticMessage](t, groups) })
}

func testServersOfFile[M adk.MessageType](t *testing.T, groups []toolsearch.Group) {
	ask := func(config toolsearch.Config, turns ...toolsearchtest.Turn) []toolsearchtest.Request {
		t.Helper()
		config.Groups, config.Index = groups, toolsearch.BM25
		search, err := toolsearch.NewTyped[M](t.Context(), &config)
		require.NoError(t, err)
		return converse(t, []adk.TypedChatModelAgentMiddleware[M]{search}, append(turns, toolsearchtest.Say("Done."))...)
	}
	shown := ask(toolsearch.Config{},
		toolsearchtest.CallTool("tool_search", `{"query":"filesystem: search","max_results":20}`),
		toolsearchtest.CallTool("everything__get-sum", `{"a":2,"b":40}`),
		toolsearchtest.CallTool("filesystem__read_text_file", `{"path":"/not/allowed"}`),
		toolsearchtest.CallTool("web__water_plants", `{}`))
	list := shown[0].Messages[0].Text
	for _, line := range []string{
		"filesystem__*: create_directory, ", "memory__*: ", "sequential-thinking__*: sequentialthinking",
		"web (1): Waters the plants of the house.\nweb__*: water_plants",
	} {
		assert.Contains(t, list, line)
	}
	assert.Regexp(t, `\neverything \(\d+\): .+\neverything__\*: `, list, "the server has instructions")
	assert.Contains(t, answer(shown[:2]), "filesystem__search_files")
	assert.NotContains(t, answer(shown[:2]), "memory__")
	assert.Contains(t, answer(shown[:3]), "42")
	assert.Contains(t, answer(shown[:4]), "Access denied")
	assert.Contains(t, answer(shown), "water_plants ran")

	marked := ask(toolsearch.Config{AlwaysLoaded: []string{"tag:always-load"}})
	assert.Equal(t, []string{"tool_search", "web__water_plants"}, marked[0].ToolNames(), "what its server marks")

	always := ask(toolsearch.Config{AlwaysLoaded: []string{"*"}, Filter: toolsearch.FilterTools([]string{"memory"}, nil)})
	for _, name := range always[0].ToolNames()[1:] {
		assert.True(t, strings.HasPrefix(name, "memory__"), "%s passes the filter", name)
	}
}

// TestEqualAnswers: the adapter gives the properties of a schema another order at each listing. The model
// sees the same bytes in every run, and nothing is indexed again.
func TestEqualAnswers(t *testing.T) {
	groups, _, _, _ := npmGroups(t)
	changes, seen := 0, make(map[string]bool)
	search, err := toolsearch.New(t.Context(), &toolsearch.Config{
		Groups: groups, AlwaysLoaded: []string{"*"},
		OnEvent: func(_ context.Context, e toolsearch.Event) {
			if _, ok := e.(*toolsearch.CatalogEvent); ok {
				changes++
			}
		},
	})
	require.NoError(t, err)
	for range 10 {
		shown := converse(t, []adk.ChatModelAgentMiddleware{search}, toolsearchtest.Say("Done."))
		var list strings.Builder
		for _, info := range shown[0].Tools {
			definition, err := info.ToJSONSchema()
			require.NoError(t, err)
			require.NoError(t, json.NewEncoder(&list).Encode([]any{info.Name, info.Desc, definition}))
		}
		seen[list.String()] = true
	}
	assert.Equal(t, 1, changes, "new catalogs")
	assert.Len(t, seen, 1, "lists of tools")
}

// TestServerRestarts: a server that is killed in the middle of a run costs the others nothing, and
// comes back.
func TestServerRestarts(t *testing.T) {
	groups, servers, folder, memory := npmGroups(t)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "note.txt"), []byte("old words"), 0o600))
	var failures []string
	search, err := toolsearch.New(t.Context(), &toolsearch.Config{Groups: groups, OnEvent: func(_ context.Context, e toolsearch.Event) {
		if e, failed := e.(*toolsearch.FailureEvent); failed {
			failures = append(failures, e.Group)
		}
	}})
	require.NoError(t, err)
	readGraph := toolsearchtest.CallTool("memory__read_graph", `{}`)
	// The second call loses its connection, and the third starts the server anew.
	readNote := toolsearchtest.CallTool("filesystem__read_text_file", fmt.Sprintf(`{"path":%s}`, quoted(t, filepath.Join(folder, "note.txt"))))
	run := func(during ...func()) []toolsearchtest.Request {
		t.Helper()
		played := 0
		watch := &between{do: func() {
			if played < len(during) {
				during[played]()
			}
			played++
		}}
		return converse(t, []adk.ChatModelAgentMiddleware{search, watch}, readGraph, readGraph, readGraph, readNote, toolsearchtest.Say("Done."))
	}
	nothing := func() {}
	kill := func() {
		session := servers["memory"].session
		servers["memory"].kill()
		_ = session.Wait() // with how it ended
	}
	killForGood := func() {
		kill()
		assert.NoError(t, os.Remove(memory)) // it cannot be started again
	}
	const graph, note = `entities`, "old words"
	const unknown, why = "server memory: the connection was lost, and whether read_graph took effect is unknown", "Cannot find module"

	shown := run(nothing, killForGood)
	assert.Contains(t, answer(shown[:2]), graph)
	assert.NotContains(t, answer(shown[:3]), graph, "after it was killed")
	assert.Contains(t, answer(shown[:3]), unknown, "after it was killed")
	assert.Contains(t, answer(shown[:4]), "server memory: start: ", "it cannot be started")
	assert.Contains(t, answer(shown[:4]), why, "from its standard error")
	assert.Contains(t, answer(shown), note, "of another server")
	assert.Empty(t, failures)

	shown = run()
	assert.Contains(t, answer(shown[:2]), "server memory: ", "in the next run")
	assert.Contains(t, answer(shown), note, "of another server")
	assert.Equal(t, []string{"memory"}, failures)
	assert.Contains(t, shown[0].Messages[0].Text, "memory__*: ", "its last good answer")

	installed, err := npmServers()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(filepath.Join(installed, "node_modules", "@modelcontextprotocol", "server-memory", "dist", "index.js"), memory))
	failures = nil
	shown = run(nothing, kill) // this time it can be started again at once
	assert.Contains(t, answer(shown[:2]), graph)
	assert.Contains(t, answer(shown[:3]), unknown, "after it was killed")
	assert.Contains(t, answer(shown[:4]), graph, "started anew by the next call")
	assert.Contains(t, answer(shown), note)
	assert.Subset(t, []string{"memory"}, failures, "the server may start too slowly for the list of this run")
}

// TestGroupOfSilentServer: a server that starts and never answers is given up in time.
func TestGroupOfSilentServer(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	servers, err := readServers([]byte(fmt.Sprintf(`{"mcpServers":{"silent":{"command":%s,"env":{%q:"1"}}}}`, quoted(t, program), silentServer)))
	require.NoError(t, err)
	servers[0].patience = time.Millisecond
	defer servers[0].Close()
	groups := groupsOf(t.Context(), servers)
	servers[0].patience = speechTime
	require.Len(t, groups, 1)
	assert.Empty(t, groups[0].Description)
	_, err = groups[0].Source(t.Context())
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorContains(t, err, "I say nothing", "what it wrote to standard error")
}

// dyingServer is the variable that turns the test binary into a server that carries out a call and
// ends before it answers. Its value is the file that the calls are written to.
const dyingServer = "MCP_TEST_DYING_SERVER"

func serveDying(file string) {
	server := mcp.NewServer(&mcp.Implementation{Name: "dying", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pay"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		paid, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = paid.WriteString("paid\n")
		}
		if err != nil {
			return nil, nil, err
		}
		os.Exit(1)
		return nil, nil, nil
	})
	_ = server.Run(context.Background(), &mcp.StdioTransport{})
}

// TestCallRunsOnce: a call that took effect is not sent again after its connection was lost.
func TestCallRunsOnce(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "paid.txt")
	dying := &server{name: "dying", entry: serverEntry{Command: program, Env: map[string]string{dyingServer: file}}, patience: startTimeout}
	t.Cleanup(dying.Close)
	search, err := toolsearch.New(t.Context(), &toolsearch.Config{Groups: groupsOf(t.Context(), []*server{dying}), AlwaysLoaded: []string{"*"}})
	require.NoError(t, err)
	pay := toolsearchtest.CallTool("dying__pay", `{}`)
	shown := converse(t, []adk.ChatModelAgentMiddleware{search}, pay, pay, toolsearchtest.Say("Done."))
	for call := 1; call <= 2; call++ { // the second call has a new server
		assert.Contains(t, answer(shown[:call+1]), `"isError":true`)
		assert.Contains(t, answer(shown[:call+1]), "whether pay took effect is unknown")
	}
	paid, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "paid\npaid\n", string(paid), "once for each call")
}

// between does something before each call of the model.
type between struct {
	*adk.BaseChatModelAgentMiddleware
	do func()
}

func (b *between) BeforeModelRewriteState(ctx context.Context, state *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	b.do()
	return ctx, state, nil
}

func TestShowFile(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	file, _ := npmFile(t, folder)
	path := filepath.Join(folder, "mcp.json")
	broken := strings.Replace(string(file), `{"mcpServers":{`, `{"mcpServers":{"broken":{"command":"no-such-program"},`, 1)
	require.NoError(t, os.WriteFile(path, []byte(broken), 0o600))
	var out strings.Builder
	require.NoError(t, showFile(t.Context(), &out, path))
	assert.Contains(t, out.String(), `toolsearch: Source of group "broken": `)
	assert.Contains(t, out.String(), "\nweb (1): Waters the plants of the house.\nweb__*: water_plants\n")
}

func TestReadServersSaysWhatIsWrong(t *testing.T) {
	for file, want := range map[string]string{
		`{"mcpServers":{"a":{}}}`:                              `server "a": want a command or a url`,
		`{"mcpServers":{"a":{"command":"x","url":"http://"}}}`: `server "a": want a command or a url`,
		`{"mcpServers":`:                                       "unexpected end",
	} {
		_, err := readServers([]byte(file))
		assert.ErrorContains(t, err, want, file)
	}
}
