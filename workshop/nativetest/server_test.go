package nativetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

// NativeServer: the provider searches by itself while it answers. agenticopenai can do this.
// claude can do it without streaming, if a transport adds the type that the adapter omits.

var serverConfig = toolsearch.Config{Protocol: toolsearch.ProtocolNativeServer}

func TestServerSearch(t *testing.T) {
	for _, static := range []bool{false, true} {
		for _, stream := range []bool{false, true} {
			t.Run("agenticopenai/"+title(static, stream), func(t *testing.T) { testServerSearch(t, agenticAdapters[0], static, stream) })
		}
		t.Run("claude/"+title(static, false), func(t *testing.T) { testServerSearch(t, patched[0], static, false) })
	}
}

func testServerSearch[M adk.MessageType](t *testing.T, a adapter[M], static, stream bool) {
	found := func(names ...string) provider.Call {
		return provider.Call{Server: true, Arguments: `{"query":"news"}`, Found: names}
	}
	server := provider.New(t, a.api,
		calls(found("get_weather", "send_mail"), calling("get_weather")),
		calls(found(), found("send_mail", "list_stocks"), calling("list_stocks"), calling("send_male")),
		calls(calling("send_mail"), calling("get_weather")), provider.Say("Done."),
		calls(calling("send_mail")), provider.Say("Sent."))
	m := a.model(t, server)
	runTwice(t, setup{config: serverConfig, static: static, stream: stream}, m, m, func(*setup) {})
	one, two := "get_weather send_mail", "get_weather send_mail list_stocks"
	requests := server.Requests()
	checkRequests(t, requests, dialect{name: "server", hidden: true}, static, []string{"", one, two, two, two, two})
	// Tools that the provider found stay deferred. As ordinary tools they would be paid for
	// twice, and every call of a tool would invalidate the prompt cache.
	checkPrefix(t, requests, "tools")
	for i, r := range requests {
		ordinary := slices.DeleteFunc(promptTools(t, r), func(e string) bool { return strings.Contains(e, `"type":"tool_search`) })
		assert.Len(t, ordinary, map[bool]int{true: 1}[static], "tools of request %d that are not deferred: %s", i, r.Body)
		assert.NotContains(t, string(r.Body), `"name":"tool_search"`, "request %d offers the middleware's own search", i)
		assert.NotContains(t, string(r.Body), `"execution":"client"`, "request %d offers the middleware's own search", i)
	}
	checkCached(t, requests, a.api)
	checkGolden(t, golden(a.name, dialect{name: "server"}, static, "search by the provider"), stream, requests)
}
