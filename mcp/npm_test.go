package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/cost/agents"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// Four servers from npm packages and one with a URL, from a file to an agent.

// npmFile returns a file of the servers, which work in folder. The memory server is started through a link, which a test can
// remove.
func npmFile(t *testing.T, folder string) (file *File, memory string) {
	t.Helper()
	scripts := testtools.NPMServers(t, filepath.Join("testdata", "servers"))
	memory = filepath.Join(folder, "memory.js")
	if err := os.Symlink(scripts["memory"], memory); err != nil {
		t.Skipf("the test needs symbolic links: %v", err)
	}
	web := sdk.NewServer(&sdk.Implementation{Name: "web", Version: "0"}, &sdk.ServerOptions{Instructions: "Waters the plants of the house."})
	sdk.AddTool(web, &sdk.Tool{Name: "plants.water", Title: "Sprinkle the garden", Meta: sdk.Meta{"anthropic/alwaysLoad": true}},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "plants.water ran"}}}, nil, nil
		})
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]Server{
		"broken":              {Command: "no-such-program"},
		"everything":          {Command: "node", Args: []string{scripts["everything"], "stdio"}},
		"filesystem":          {Command: "node", Args: []string{scripts["filesystem"], folder}},
		"memory":              {Command: "node", Args: []string{memory}, Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(folder, "memory.json")}},
		"sequential-thinking": {Command: "node", Args: []string{scripts["sequential-thinking"]}},
		"web":                 {URL: listening(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return web }, nil))},
	}})
	require.NoError(t, err)
	path := filepath.Join(folder, "mcp.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return testtools.Must(ReadFile(path))(t), memory
}

// converse runs an agent whose model plays turns, and returns what the model was shown.
func converse[M adk.MessageType](
	ctx context.Context, t *testing.T, handlers []adk.TypedChatModelAgentMiddleware[M], turns ...toolsearchtest.Turn,
) []toolsearchtest.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	model := toolsearchtest.NewModel[M](append(turns, toolsearchtest.Say("Done."))...)
	config := &adk.TypedChatModelAgentConfig[M]{Name: "a", Description: "Helps", Model: model, Handlers: handlers}
	please := toolsearchtest.Encode[M](toolsearchtest.Message{Role: toolsearchtest.User, Text: "Please."})
	require.NoError(t, agents.Run(ctx, config, []M{please}))
	return model.Requests()
}

// answer returns the newest result that the model was shown.
func answer(requests []toolsearchtest.Request) string {
	messages := requests[len(requests)-1].Messages
	return messages[len(messages)-1].Text
}

// realFolder returns a folder by its real path: the filesystem server allows no other.
func realFolder(t *testing.T) string {
	return testtools.Must(filepath.EvalSymlinks(t.TempDir()))(t)
}

// The groups' names are namespaces, the servers get their own names of the tools, and no error ends the run.
func TestServersOfNPM(t *testing.T) {
	t.Parallel()
	file, _ := npmFile(t, realFolder(t))
	servers := connect(t, file)
	t.Run("Message", func(t *testing.T) { testServersOfNPM[*schema.Message](t, servers) })
	t.Run("AgenticMessage", func(t *testing.T) { testServersOfNPM[*schema.AgenticMessage](t, servers) })
}

func testServersOfNPM[M adk.MessageType](t *testing.T, servers *Servers) {
	ask := func(config toolsearch.Config, turns ...toolsearchtest.Turn) []toolsearchtest.Request {
		t.Helper()
		config.Groups, config.Index = servers.Groups(), toolsearch.BM25
		search := testtools.Must(toolsearch.NewTyped[M](t.Context(), &config))(t)
		return converse(t.Context(), t, []adk.TypedChatModelAgentMiddleware[M]{search}, turns...)
	}
	marked := ask(toolsearch.Config{AlwaysLoaded: []string{"tag:always-load"}})[0].ToolNames()
	require.Len(t, marked, 2, "what its server marks")
	require.Regexp(t, "^web__plants_water_[0-9a-f]+$", marked[1], "a name that providers take")

	var failed []string
	shown := ask(toolsearch.Config{OnEvent: func(_ context.Context, e toolsearch.Event) {
		if e, ok := e.(*toolsearch.FailureEvent); ok && e.Part == toolsearch.PartSource && strings.Contains(e.Err.Error(), "no-such-program") {
			failed = append(failed, e.Group)
		}
	}},
		toolsearchtest.CallTool("tool_search", `{"query":"filesystem: search","max_results":20}`),
		toolsearchtest.CallTool("tool_search", `{"query":"sprinkle garden"}`),
		toolsearchtest.CallTool("everything__get-sum", `{"a":2,"b":40}`),
		toolsearchtest.CallTool("filesystem__read_text_file", `{"path":"/not/allowed"}`),
		toolsearchtest.CallTool(marked[1], `{}`))
	list := shown[0].Messages[0].Text
	for _, line := range []string{
		"filesystem__*: create_directory, ", "memory__*: ", "sequential-thinking__*: sequentialthinking",
		"web (1): Waters the plants of the house.\n",
	} {
		assert.Contains(t, list, line)
	}
	assert.Regexp(t, `\neverything \(\d+\): .+\neverything__\*: `, list, "the server has instructions")
	assert.Contains(t, answer(shown[:2]), "filesystem__search_files")
	assert.NotContains(t, answer(shown[:2]), "memory__")
	assert.Contains(t, answer(shown[:3]), marked[1], "found by its title")
	assert.Contains(t, answer(shown[:4]), "42")
	assert.Regexp(t, "^error: .*Access denied", answer(shown[:5]))
	assert.Equal(t, "plants.water ran", answer(shown))
	assert.Contains(t, failed, "broken")

	always := ask(toolsearch.Config{AlwaysLoaded: []string{"*"}, Filter: toolsearch.FilterTools([]string{"memory"}, nil)})
	for _, name := range always[0].ToolNames()[1:] {
		assert.True(t, strings.HasPrefix(name, "memory__"), "%s passes the filter", name)
	}
}

// A server that is killed in the middle of a run costs the others nothing, and comes back.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	folder := realFolder(t)
	file, memory := npmFile(t, folder)
	delete(file.Servers, "broken")
	delete(file.Servers, "web")
	servers := connect(t, file)
	of := servers.servers[2].first
	require.Equal(t, "memory", of.of.name)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "note.txt"), []byte("old words"), 0o600))
	var failures []string
	search, err := toolsearch.New(t.Context(), &toolsearch.Config{Groups: servers.Groups(), OnEvent: func(_ context.Context, e toolsearch.Event) {
		if e, failed := e.(*toolsearch.FailureEvent); failed {
			failures = append(failures, e.Group)
		}
	}})
	require.NoError(t, err)
	path := testtools.Must(json.Marshal(map[string]string{"path": filepath.Join(folder, "note.txt")}))(t)
	run := func(second func()) []toolsearchtest.Request {
		t.Helper()
		played := 0
		watch := &between{do: func() {
			if played++; played == 2 {
				second()
			}
		}}
		readGraph := toolsearchtest.CallTool("memory__read_graph", `{}`)
		return converse(t.Context(), t, []adk.ChatModelAgentMiddleware{search, watch}, readGraph, readGraph, toolsearchtest.CallTool("filesystem__read_text_file", string(path)))
	}
	kill := func() {
		of.mu.Lock()
		conn := of.conn
		of.mu.Unlock()
		assert.NoError(t, conn.process.command.Process.Kill())
		assert.Eventually(t, conn.isOver.Load, time.Minute, time.Millisecond)
	}
	const graph, note = "entities", "old words"

	shown := run(func() {
		assert.NoError(t, os.Remove(memory)) // it cannot be started again
		kill()
	})
	assert.Contains(t, answer(shown[:2]), graph)
	assert.Regexp(t, "(?s)^error: server memory: initialize: .*Cannot find module", answer(shown[:3]), "with its last words")
	assert.Equal(t, note, answer(shown), "of another server")
	assert.Empty(t, failures)

	shown = run(func() {})
	assert.Contains(t, answer(shown[:2]), "server memory: ", "in the next run")
	assert.Equal(t, note, answer(shown), "of another server")
	assert.Equal(t, []string{"memory"}, failures)
	assert.Contains(t, shown[0].Messages[0].Text, "memory__*: ", "its last good answer")

	require.NoError(t, os.Symlink(testtools.NPMServers(t, filepath.Join("testdata", "servers"))["memory"], memory))
	shown = run(kill) // this time it can be started again at once
	assert.Contains(t, answer(shown[:2]), graph)
	assert.Contains(t, answer(shown[:3]), graph, "started anew by the next call")
	assert.Equal(t, note, answer(shown))
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
