package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// changing is a server in this process, which announces every change of its tools.
func changing(t *testing.T, names ...string) (*mcp.Server, *live) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "changing", Version: "0"}, nil)
	for _, name := range names {
		addTool(server, name)
	}
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), theirs, nil); err != nil {
		t.Fatal(err)
	}
	l, err := follow(t.Context(), ours, "changing")
	if err != nil {
		t.Fatal(err)
	}
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
		if tools, err := l.Tools(t.Context()); err != nil {
			t.Fatal(err)
		} else if len(tools) == n {
			return
		}
	}
	t.Fatalf("the server did not announce %d tools", n)
}

// TestListChanged: a tool that the server announces is found by the next run, one that it
// withdraws is not, and the index is built only when the list changed.
func TestListChanged(t *testing.T) {
	server, l := changing(t, "water_plants", "feed_cat")
	built := 0
	config := toolsearch.Config{Source: l.Tools, Index: func(ctx context.Context, docs []toolsearch.Document) (toolsearch.Searcher, error) {
		if len(docs) > 0 { // the catalog without the Source's tools is built by New
			built++
		}
		return toolsearch.BM25(ctx, docs)
	}}
	search, err := toolsearch.New(t.Context(), &config)
	if err != nil {
		t.Fatal(err)
	}
	find := toolsearchtest.CallTool("tool_search", `{"query":"mow lawn"}`)
	run := func(turns ...toolsearchtest.Turn) []toolsearchtest.Request {
		t.Helper()
		return converse(t, search, "Mow the lawn.", append(turns, toolsearchtest.Say("Done."))...)
	}

	for range 2 {
		if found := matches(t, run(find)[1]); len(found) != 0 {
			t.Errorf("found %q before there was such a tool", found)
		}
	}
	addTool(server, "mow_lawn")
	l.await(t, 3)
	shown := run(find, toolsearchtest.CallTool("mow_lawn", `{}`))
	if found := matches(t, shown[1]); !slices.Equal(found, []string{"mow_lawn"}) {
		t.Errorf("found %q, want mow_lawn", found)
	}
	if got := answer(shown); !strings.Contains(got, "mow_lawn ran") {
		t.Errorf("mow_lawn answered %s", got)
	}
	server.RemoveTools("mow_lawn")
	l.await(t, 2)
	if found := matches(t, run(find)[1]); len(found) != 0 {
		t.Errorf("found %q after it was withdrawn", found)
	}
	if built != 3 {
		t.Errorf("the index was built %d times, want 3: at first, and after each of two changes", built)
	}
}

// TestServerLost: a server that is gone when it should be asked leaves the last good catalog.
func TestServerLost(t *testing.T) {
	_, l := changing(t, "water_plants")
	var told []error
	search, err := toolsearch.New(t.Context(), &toolsearch.Config{
		Source:  l.Tools,
		OnError: func(_ context.Context, err error) { told = append(told, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	find := toolsearchtest.CallTool("tool_search", `{"query":"water"}`)
	for lost := range 2 {
		shown := converse(t, search, "Water the plants.", find, toolsearchtest.Say("Done."))
		if found := matches(t, shown[1]); !slices.Equal(found, []string{"water_plants"}) || len(told) != lost {
			t.Errorf("servers lost: %d; found %q, told %v", lost, found, told)
		}
		if err := l.session.Close(); err != nil {
			t.Fatal(err)
		}
		l.mu.Lock()
		l.changes++ // as if the last it said was that its tools changed
		l.mu.Unlock()
	}
}
