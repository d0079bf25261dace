package nativetest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino-ext/components/tool/mcp/officialmcp"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// field is a member of a JSON object with its bytes on the wire. A list is split into its elements.
type field struct {
	key      string
	value    string
	elements []string
	list     bool
}

// streamed matches what adapters send differently after a streamed answer: openai gives its
// calls an index, and agenticopenai omits the empty annotations of a text.
var streamed = regexp.MustCompile(`"index":\d+,("id":"call_)|"annotations":\[\],`)

// fields reads the members of a body in order. It leaves out everything that depends only on
// streaming, so a conversation has the same golden file with and without streaming.
func fields(t *testing.T, body []byte) (all []field) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(body))
	testtools.Must(dec.Token())(t)
	for dec.More() {
		key := testtools.Must(dec.Token())(t)
		var value json.RawMessage
		require.NoError(t, dec.Decode(&value))
		f := field{key: key.(string), value: string(value)}
		if f.key == "stream" || f.key == "stream_options" {
			continue
		}
		var elements []json.RawMessage
		if json.Unmarshal(value, &elements) == nil && value[0] == '[' {
			f.list = true
			for _, e := range elements {
				element := streamed.ReplaceAllString(string(e), "$1")
				f.elements = append(f.elements, shortened(element))
			}
		}
		all = append(all, f)
	}
	return all
}

// elementsOf returns the elements of a list in a request's body.
func elementsOf(t *testing.T, r provider.Request, key string) []string {
	t.Helper()
	for _, f := range fields(t, r.Body) {
		if f.key == key {
			return f.elements
		}
	}
	return nil
}

// shortened replaces the search tool's long description by a few words, so the files do not
// change with every word of the prompt.
func shortened(element string) string {
	var tool struct {
		Type, Name, Description string
		Function                struct{ Name, Description string }
	}
	if json.Unmarshal([]byte(element), &tool) != nil {
		return element
	}
	description := tool.Description
	switch {
	case tool.Function.Name == searchTool:
		description = tool.Function.Description
	case tool.Name != searchTool && tool.Type != searchTool || description == "":
		return element
	}
	for _, escape := range []bool{true, false} {
		var form strings.Builder
		enc := json.NewEncoder(&form)
		enc.SetEscapeHTML(escape)
		if enc.Encode(description) == nil {
			element = strings.ReplaceAll(element, strings.TrimSpace(form.String()), `"(what tool_search does)"`)
		}
	}
	return element
}

// transcript writes requests for people to read: what each request adds to the previous
// request, with one line per element of a list.
func transcript(t *testing.T, requests []provider.Request) string {
	t.Helper()
	var b strings.Builder
	before := map[string]field{}
	for i, r := range requests {
		fmt.Fprintf(&b, "-- request %d --\n", i)
		now := map[string]field{}
		for _, f := range fields(t, r.Body) {
			now[f.key] = f
			was := before[f.key]
			if !f.list && f.value != was.value {
				fmt.Fprintf(&b, "%s: %s\n", f.key, f.value)
			}
			if f.list {
				same := commonPrefix(was.elements, f.elements)
				fmt.Fprintf(&b, "%s: %d", f.key, len(f.elements))
				if same > 0 {
					fmt.Fprintf(&b, ", the first %d as before", same)
				}
				b.WriteByte('\n')
				for _, e := range f.elements[same:] {
					fmt.Fprintf(&b, "  %s\n", e)
				}
			}
		}
		for _, key := range slices.Sorted(maps.Keys(before)) {
			if _, there := now[key]; !there {
				fmt.Fprintf(&b, "%s: gone\n", key)
			}
		}
		before = now
	}
	return b.String()
}

func commonPrefix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// checkGolden compares what went over the wire with a file. -update writes the file, but not from a stream.
func checkGolden(t *testing.T, name string, stream bool, requests []provider.Request) {
	t.Helper()
	got := transcript(t, requests)
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(goldenText(t, name, got, *update && !stream), "\n")
	n := commonPrefix(gotLines, wantLines) // the first line that differs is easier to read than both files
	assert.Equal(t, at(wantLines, n), at(gotLines, n), "%s, line %d", name, n+1)
}

// goldenText returns a file's text, which write makes got.
func goldenText(t *testing.T, name, got string, write bool) string {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name)+".golden")
	if write {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	return testtools.ReadFile(t, path)
}

// at returns the nth line, or nothing.
func at(lines []string, n int) []string { return append([]string{}, lines[n:min(n+1, len(lines))]...) }

// checkPrefix checks that in every request a list begins with the previous request's list, byte
// for byte. Then a provider's prompt cache stays valid. Deferred tools do not count, since they
// are not part of the prompt. Responses' own search tool does not count either: agenticopenai
// puts it last, after a hidden tool that was called without a search.
func checkPrefix(t *testing.T, requests []provider.Request, key string) {
	t.Helper()
	var before []string
	for i, r := range requests {
		now := slices.DeleteFunc(elementsOf(t, r, key), func(e string) bool {
			return key == "tools" && (strings.Contains(e, `"defer_loading":true`) || strings.Contains(e, `"type":"tool_search"`))
		})
		if n := commonPrefix(before, now); n < len(before) {
			assert.Equal(t, at(before, n), at(now, n), "request %d: %s[%d] before and now", i, key, n)
		}
		before = now
	}
}

// TestDispatchKeepsTheBytesOfTools: under ProtocolDispatch, all requests have the same tools, byte for byte,
// on every adapter. With references, this holds for the tools that are part of the prompt. So a
// provider's cache of the tools stays valid, however much is found and called.
func TestDispatchKeepsTheBytesOfTools(t *testing.T) {
	through := func(name, arguments string) provider.Call {
		return provider.Call{Name: "call_tool", Arguments: `{"name":"` + name + `","arguments":` + arguments + `}`}
	}
	dispatch := setup{config: toolsearch.Config{Protocol: toolsearch.ProtocolDispatch}, static: true}
	turns := []turn{
		calls(search(`{"query":"weather"}`)), calls(through("get_weather", `{"city":"Rome"}`), selecting("send_mail")),
		calls(through("send_mail", `{"city":7}`), through("send_male", `{}`)), calls(through("send_mail", `{}`)), provider.Say("Done."),
	}
	onEvery(t, func(t *testing.T, a adapter[*schema.Message]) {
		testBytesOfTools(t, a, dispatch, turns, "send_mail ran with")
	},
		func(t *testing.T, a adapter[*schema.AgenticMessage]) {
			testBytesOfTools(t, a, dispatch, turns, "send_mail ran with")
		})
	references := setup{config: toolsearch.Config{Protocol: toolsearch.ProtocolNativeReferences}, static: true}
	t.Run("claude/references", func(t *testing.T) {
		testBytesOfTools(t, messageAdapters[0], references, []turn{
			calls(selecting("get_weather,send_mail")), calls(calling("get_weather"), selecting("list_stocks")), calls(calling("send_mail")), provider.Say("Done."),
		}, "send_mail ran with")
	})
}

func testBytesOfTools[M adk.MessageType](t *testing.T, a adapter[M], s setup, turns []turn, says string) {
	t.Helper()
	server := provider.New(t, a.api, turns...)
	testtools.Must(run(t, a.model(t, server), s))(t)
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

// TestSameBytesWhateverTheOrderOfASchema: ten replicas, whose Source is eino-ext's adapter of MCP, send the same bytes, and ten runs of one make one
// catalog. The adapter gives the keys of a schema another order each time.
func TestSameBytesWhateverTheOrderOfASchema(t *testing.T) {
	onEvery(t, testOrderOfASchema[*schema.Message], testOrderOfASchema[*schema.AgenticMessage])
}

func testOrderOfASchema[M adk.MessageType](t *testing.T, a adapter[M]) {
	client, server := mcp.NewInMemoryTransports()
	served := mcp.NewServer(&mcp.Implementation{Name: "planner"}, nil)
	served.AddTool(&mcp.Tool{Name: "plan", Description: "Plans", InputSchema: json.RawMessage(`{"type":"object","required":["b","a"],"properties":{
		"c":{"type":"string"},"a":{"type":"object","properties":{"y":{},"x":{"type":"number"},"z":{}}},
		"b":{"type":"object","default":{"q":1,"p":2,"r":3}},"d":{"enum":["y","x"]}}}`)}, nil)
	testtools.Must(served.Connect(t.Context(), server, nil))(t)
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
		testtools.Must(run(t, a.model(t, server), setup{config: config}))(t)
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

// promptTools returns the tools of a request that are part of the prompt, which are those not deferred.
func promptTools(t *testing.T, r provider.Request) []string {
	t.Helper()
	return slices.DeleteFunc(elementsOf(t, r, "tools"), func(e string) bool { return strings.Contains(e, `"defer_loading":true`) })
}
