package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino-ext/components/tool/mcp/officialmcp"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// What holds for every catalog of several real servers, whether Groups or only the adapter's
// ServerName assigns tools to servers.

// serversCatalog has the tools of several servers, among them filesystem and memory.
type serversCatalog struct {
	config   toolsearch.Config   // with the tools
	names    map[string][]string // by server, as the model sees them
	server   map[string]string   // by name
	readOnly []string            // the names of the tools that claim to be read-only
}

func newCatalog() *serversCatalog {
	return &serversCatalog{names: make(map[string][]string), server: make(map[string]string)}
}

// add records the tools of a server. The model sees their names with the prefix.
func (c *serversCatalog) add(t *testing.T, server, prefix string, tools []tool.BaseTool) {
	t.Helper()
	for _, tl := range tools {
		info, err := tl.Info(t.Context())
		require.NoError(t, err)
		name := prefix + info.Name
		require.Empty(t, c.server[name], "two servers have a tool %s", name)
		c.server[name] = server
		c.names[server] = append(c.names[server], name)
		if hints, ok := info.Extra[officialmcp.ExtraMCPAnnotations].(map[string]any); ok && hints["readOnlyHint"] == true {
			c.readOnly = append(c.readOnly, name)
		}
	}
}

// askServers runs an agent with the catalog's tools and BM25, and returns what the model was shown.
func askServers[M adk.MessageType](t *testing.T, catalog *serversCatalog, config toolsearch.Config, turns ...toolsearchtest.Turn) []toolsearchtest.Request {
	t.Helper()
	config.Groups, config.DynamicTools, config.Index = catalog.config.Groups, catalog.config.DynamicTools, toolsearch.BM25
	config.OnEvent = func(_ context.Context, e toolsearch.Event) {
		if failure, ok := e.(toolsearch.FailureEvent); ok {
			assert.Empty(t, failure.Err.Error())
		}
	}
	search, err := toolsearch.NewTyped[M](t.Context(), &config)
	require.NoError(t, err)
	return converse(t, search, "Please.", append(turns, toolsearchtest.Say("Done."))...)
}

// loaded returns the names of the catalog's tools that the model is shown at first.
func loaded(shown []toolsearchtest.Request) []string {
	return without(shown[0].ToolNames(), []string{"tool_search"})
}

func testServers[M adk.MessageType](t *testing.T, catalog *serversCatalog) {
	filtered := askServers[M](t, catalog, toolsearch.Config{Filter: toolsearch.FilterTools([]string{"filesystem"}, nil), AlwaysLoaded: []string{"*"}})
	assert.ElementsMatch(t, catalog.names["filesystem"], loaded(filtered), "what the filter leaves")

	always := askServers[M](t, catalog, toolsearch.Config{AlwaysLoaded: []string{"memory:*"}})
	assert.ElementsMatch(t, catalog.names["memory"], loaded(always), "memory:*")

	assert.NotEmpty(t, catalog.readOnly)
	reading := askServers[M](t, catalog, toolsearch.Config{AlwaysLoaded: []string{"tag:read-only"}})
	assert.ElementsMatch(t, catalog.readOnly, loaded(reading), "tag:read-only")

	restricted := askServers[M](t, catalog, toolsearch.Config{}, toolsearchtest.CallTool("tool_search", `{"query":"filesystem: search","max_results":20}`))
	found := matches(t, restricted[1])
	assert.NotEmpty(t, found)
	assert.Subset(t, catalog.names["filesystem"], found, "what is found in filesystem")

	// read_graph, read_file and more: no server may take more than its share of a result.
	const most = 2
	fair := askServers[M](t, catalog, toolsearch.Config{MaxPerNamespace: most}, toolsearchtest.CallTool("tool_search", `{"query":"read search get","max_results":6}`))
	found = matches(t, fair[1])
	assert.Len(t, found, 6)
	of := make(map[string]int)
	for _, name := range found {
		of[catalog.server[name]]++
	}
	for server, count := range of {
		assert.LessOrEqual(t, count, most, "places of %s among %v", server, found)
	}
}

// TestServersInOneList: neither Groups nor Annotate says what belongs to which server.
func TestServersInOneList(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	catalog := newCatalog()
	add := func(server string, tools []tool.BaseTool) {
		t.Helper()
		catalog.config.DynamicTools = append(catalog.config.DynamicTools, tools...)
		catalog.add(t, server, "", tools)
	}
	for _, server := range []*live{
		startNPM(t, "everything", "stdio"), startNPM(t, "filesystem", folder), startNPM(t, "memory"),
	} {
		tools, err := server.Tools(t.Context())
		require.NoError(t, err)
		add(server.server, tools)
	}
	add("github", serverTools(t))
	t.Run("Message", func(t *testing.T) { testServersInOneList[*schema.Message](t, catalog) })
	t.Run("AgenticMessage", func(t *testing.T) { testServersInOneList[*schema.AgenticMessage](t, catalog) })
}

func testServersInOneList[M adk.MessageType](t *testing.T, catalog *serversCatalog) {
	testServers[M](t, catalog)

	// A description of one server is enough for the reminder to list the tools by server.
	shown := askServers[M](t, catalog, toolsearch.Config{Reminder: toolsearch.ReminderConfig{Namespaces: map[string]string{"memory": "Remembers people."}}})
	lines := listed(t, shown[0])
	for server, names := range catalog.names {
		assert.Contains(t, lines, strings.Join(names, ", "), "the line of %s", server)
	}
	assert.Contains(t, lines, fmt.Sprintf("memory (%d): Remembers people.", len(catalog.names["memory"])))
}
