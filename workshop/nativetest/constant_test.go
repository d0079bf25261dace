package nativetest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino-ext/components/tool/mcp/officialmcp"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

// TestConstantTools: under ProtocolDispatch, all requests have the same tools, byte for byte,
// on every adapter. With references, this holds for the tools that are part of the prompt. So a
// provider's cache of the tools stays valid, however much is found and called.
func TestConstantTools(t *testing.T) {
	through := func(name, arguments string) provider.Call {
		return provider.Call{Name: "call_tool", Arguments: `{"name":"` + name + `","arguments":` + arguments + `}`}
	}
	dispatch := setup{config: toolsearch.Config{Protocol: toolsearch.ProtocolDispatch}, static: true}
	turns := []turn{
		calls(search(`{"query":"weather"}`)), calls(through("get_weather", `{"city":"Rome"}`), selecting("send_mail")),
		calls(through("send_mail", `{"city":7}`), through("send_male", `{}`)), calls(through("send_mail", `{}`)), provider.Say("Done."),
	}
	for _, a := range messageAdapters {
		t.Run(a.name+"/dispatch", func(t *testing.T) { testConstantTools(t, a, dispatch, turns, "send_mail ran with") })
	}
	for _, a := range agenticAdapters {
		t.Run(a.name+"/dispatch", func(t *testing.T) { testConstantTools(t, a, dispatch, turns, "send_mail ran with") })
	}
	references := setup{config: toolsearch.Config{Protocol: toolsearch.ProtocolNativeReferences}, static: true}
	t.Run("claude/references", func(t *testing.T) {
		testConstantTools(t, messageAdapters[0], references, []turn{
			calls(selecting("get_weather,send_mail")), calls(calling("get_weather"), selecting("list_stocks")), calls(calling("send_mail")), provider.Say("Done."),
		}, "send_mail ran with")
	})
}

func testConstantTools[M adk.MessageType](t *testing.T, a adapter[M], s setup, turns []turn, says string) {
	t.Helper()
	server := provider.New(t, a.api, turns...)
	_, err := run(t, a.model(t, server), s)
	require.NoError(t, err)
	requests := server.Requests()
	checkCached(t, requests, a.api)
	var first []string
	for i, r := range requests {
		assert.Empty(t, r.Refused, "request %d was refused", i)
		tools := promptTools(t, r)
		if i == 0 {
			first = tools
		}
		assert.Equal(t, first, tools, "the tools of the first request, and of request %d", i)
		assert.GreaterOrEqual(t, len(tools), 2, "tools of request %d", i)
	}
	assert.Len(t, requests, len(turns))
	assert.Contains(t, lastBody(requests), says)
}

// TestAnySchemaOrder: ten replicas, whose Source is eino-ext's adapter of MCP, send the same bytes, and ten runs of one make one
// catalog. The adapter gives the keys of a schema another order each time.
func TestAnySchemaOrder(t *testing.T) {
	for _, a := range messageAdapters {
		t.Run(a.name, func(t *testing.T) { testAnySchemaOrder(t, a) })
	}
	for _, a := range agenticAdapters {
		t.Run(a.name, func(t *testing.T) { testAnySchemaOrder(t, a) })
	}
}

func testAnySchemaOrder[M adk.MessageType](t *testing.T, a adapter[M]) {
	client, server := mcp.NewInMemoryTransports()
	served := mcp.NewServer(&mcp.Implementation{Name: "planner"}, nil)
	served.AddTool(&mcp.Tool{Name: "plan", Description: "Plans", InputSchema: json.RawMessage(`{"type":"object","required":["b","a"],"properties":{
		"c":{"type":"string"},"a":{"type":"object","properties":{"y":{},"x":{"type":"number"},"z":{}}},
		"b":{"type":"object","default":{"q":1,"p":2,"r":3}},"d":{"enum":["y","x"]}}}`)}, nil)
	_, err := served.Connect(t.Context(), server, nil)
	require.NoError(t, err)
	session := testtools.Must(mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), client, nil))(t)
	defer session.Close()
	catalogs := 0
	config := toolsearch.Config{
		Groups: []toolsearch.Group{{Source: func(ctx context.Context) ([]tool.BaseTool, error) {
			return officialmcp.GetTools(ctx, &officialmcp.Config{Cli: session})
		}}},
		AlwaysLoaded: []string{"plan"},
		OnEvent: func(_ context.Context, e toolsearch.Event) {
			if _, ok := e.(*toolsearch.CatalogEvent); ok {
				catalogs++
			}
		},
	}
	bodies := make(map[string]bool)
	for range 10 {
		server := provider.New(t, a.api, provider.Say("Done."))
		_, err := run(t, a.model(t, server), setup{config: config})
		require.NoError(t, err)
		bodies[lastBody(server.Requests())] = true
	}
	assert.Len(t, bodies, 1)
	assert.Equal(t, 10, catalogs, "one a replica")
	search := testtools.Must(toolsearch.NewTyped[M](t.Context(), &config))(t)
	for range 10 {
		_, _, err := search.BeforeAgent(t.Context(), &adk.ChatModelAgentContext{})
		require.NoError(t, err)
	}
	assert.Equal(t, 11, catalogs, "ten runs of one")
}

// promptTools returns the tools of a request that are part of the prompt, which are those not
// deferred.
func promptTools(t *testing.T, r provider.Request) (tools []string) {
	t.Helper()
	for _, f := range fields(t, r.Body) {
		if f.key == "tools" {
			tools = slices.DeleteFunc(slices.Clone(f.elements), func(e string) bool { return strings.Contains(e, `"defer_loading":true`) })
		}
	}
	return tools
}
