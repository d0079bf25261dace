package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// changing is a server in this process. It announces every change of its tools.
func changing(t *testing.T, names ...string) (*mcp.Server, *live) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "changing", Version: "0"}, nil)
	for _, name := range names {
		addTool(server, name)
	}
	ours, theirs := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	l, err := follow(t.Context(), ours, "changing")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.session.Close() }) // a test may have closed it
	return server, l
}

func addTool(server *mcp.Server, name string) {
	mcp.AddTool(server, &mcp.Tool{Name: name, Description: "Does " + strings.ReplaceAll(name, "_", " ")},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + " ran"}}}, nil, nil
		})
}

// await waits until the server has announced that it has n tools.
func (l *live) await(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		tools, err := l.Tools(t.Context())
		require.NoError(t, err)
		if len(tools) == n {
			return
		}
	}
	require.FailNow(t, "the server did not announce its tools", "want %d", n)
}

// TestListChanged: the next run finds an added tool and does not find a removed tool. The
// index is built only when the list changed.
func TestListChanged(t *testing.T) {
	server, l := changing(t, "water_plants", "feed_cat")
	built := 0
	config := toolsearch.Config{Source: l.Tools, Index: func(ctx context.Context, docs []toolsearch.Document) (toolsearch.Searcher, error) {
		if len(docs) > 0 { // New first builds an index without the Source's tools
			built++
		}
		return toolsearch.BM25(ctx, docs)
	}}
	search, err := toolsearch.New(t.Context(), &config)
	require.NoError(t, err)
	find := toolsearchtest.CallTool("tool_search", `{"query":"mow lawn"}`)
	run := func(turns ...toolsearchtest.Turn) []toolsearchtest.Request {
		t.Helper()
		return converse(t, search, "Mow the lawn.", append(turns, toolsearchtest.Say("Done."))...)
	}

	for range 2 {
		assert.Empty(t, matches(t, run(find)[1]), "found before there was such a tool")
	}
	addTool(server, "mow_lawn")
	l.await(t, 3)
	shown := run(find, toolsearchtest.CallTool("mow_lawn", `{}`))
	assert.Equal(t, []string{"mow_lawn"}, matches(t, shown[1]))
	assert.Contains(t, answer(shown), "mow_lawn ran")
	server.RemoveTools("mow_lawn")
	l.await(t, 2)
	assert.Empty(t, matches(t, run(find)[1]), "found after it was withdrawn")
	assert.Equal(t, 3, built, "the index is built at first, and after each of two changes")
}

// TestServerLost: if the server is gone when it is asked, the last good catalog stays.
func TestServerLost(t *testing.T) {
	_, l := changing(t, "water_plants")
	var told []error
	search, err := toolsearch.New(t.Context(), &toolsearch.Config{
		Source: l.Tools,
		OnEvent: func(_ context.Context, e toolsearch.Event) {
			if e, failed := e.(toolsearch.FailureEvent); failed {
				told = append(told, e.Err)
			}
		},
	})
	require.NoError(t, err)
	find := toolsearchtest.CallTool("tool_search", `{"query":"water"}`)
	for lost := range 2 {
		shown := converse(t, search, "Water the plants.", find, toolsearchtest.Say("Done."))
		assert.Equal(t, []string{"water_plants"}, matches(t, shown[1]), "servers lost: %d", lost)
		assert.Len(t, told, lost, "servers lost: %d", lost)
		require.NoError(t, l.session.Close())
		l.mu.Lock()
		l.changes++ // as if the server had announced a change before it went
		l.mu.Unlock()
	}
}
