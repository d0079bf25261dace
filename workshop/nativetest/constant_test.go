package nativetest

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
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

// TestAnySchemaOrder: ten replicas, whose Source gives the keys of a schema another order each time, send the
// same bytes.
func TestAnySchemaOrder(t *testing.T) {
	for _, a := range messageAdapters {
		t.Run(a.name, func(t *testing.T) { testAnySchemaOrder(t, a) })
	}
	for _, a := range agenticAdapters {
		t.Run(a.name, func(t *testing.T) { testAnySchemaOrder(t, a) })
	}
}

func testAnySchemaOrder[M adk.MessageType](t *testing.T, a adapter[M]) {
	object := func(parts ...string) string {
		rand.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		return "{" + strings.Join(parts, ",") + "}"
	}
	source := func(context.Context) ([]tool.BaseTool, error) {
		parameters, inner := new(jsonschema.Schema), `"type":"object"`
		properties := object(`"c":{"type":"string"}`, `"a":`+object(inner, `"properties":`+object(`"y":{}`, `"x":{"type":"number"}`, `"z":{}`)),
			`"b":`+object(inner, `"default":`+object(`"q":1`, `"p":2`, `"r":3`)), `"d":{"enum":["y","x"]}`)
		text := object(inner, `"properties":`+properties, `"required":["b","a"]`)
		if err := json.Unmarshal([]byte(text), parameters); err != nil {
			return nil, err
		}
		return []tool.BaseTool{echo{&schema.ToolInfo{Name: "plan", Desc: "Plans", ParamsOneOf: schema.NewParamsOneOfByJSONSchema(parameters)}}}, nil
	}
	bodies := make(map[string]bool)
	for range 10 {
		server := provider.New(t, a.api, provider.Say("Done."))
		_, err := run(t, a.model(t, server), setup{config: toolsearch.Config{
			Groups: []toolsearch.Group{{Source: source}}, AlwaysLoaded: []string{"plan"},
		}})
		require.NoError(t, err)
		bodies[lastBody(server.Requests())] = true
	}
	assert.Len(t, bodies, 1)
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
