package nativetest

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

// What a provider's prompt cache finds in the requests of real adapters, byte for byte. The files
// testdata/cost/*.golden have the numbers.

var cachingClaude = adapter[*schema.Message]{"claude", provider.Messages, chatAdapters[2].new}

// billed is the conversation that is billed: two tools of the quickstart, each searched for and
// called twice, after some 2,000 tokens of history.
func billed() (tools []tool.BaseTool, infos []*schema.ToolInfo, c cost.Conversation, history []message) {
	infos = services.Infos()
	for _, info := range infos {
		tools = append(tools, &testtools.EchoTool{PlainTool: testtools.PlainTool{Of: info}})
	}
	c = cost.Script(infos, cost.Shape{History: 2000, Calls: 5, Loads: 2, Result: 20})
	c.System = 3 // "Be brief."
	history = []message{{Role: toolsearchtest.User, Text: "Go on."},
		{Role: toolsearchtest.Assistant, Text: strings.TrimSpace(strings.Repeat("This is what was said of it before, and so it goes on. ", 143))}}
	return tools, infos, c, history
}

var (
	breakpoints = regexp.MustCompile(`,"cache_control":\{[^}]*\}|"cache_control":\{[^}]*\},?`)
	references  = regexp.MustCompile(`"tool_name":"([^"]+)"`)
)

// requestOf returns what the provider's cache sees of a body: its elements without their breakpoints,
// which move from request to request, and deferred definitions behind the results that found them.
func requestOf(t *testing.T, body []byte) (r cost.Request) {
	t.Helper()
	var sent struct{ Tools, System, Messages, Input []json.RawMessage }
	require.NoError(t, json.Unmarshal(body, &sent))
	at := 0
	add := func(part *[]byte, element []byte) {
		unmarked := append(breakpoints.ReplaceAll(element, nil), '\n')
		*part = append(*part, unmarked...)
		if at += len(unmarked); breakpoints.Match(element) {
			r.Marks = append(r.Marks, at)
		}
	}
	deferred := map[string]json.RawMessage{}
	for _, definition := range sent.Tools {
		var d struct {
			Name  string
			Defer bool `json:"defer_loading"`
		}
		require.NoError(t, json.Unmarshal(definition, &d))
		if d.Defer {
			deferred[d.Name] = definition
		} else {
			add(&r.Tools, definition)
		}
	}
	for _, text := range sent.System {
		add(&r.System, text)
	}
	for _, m := range slices.Concat(sent.Messages, sent.Input) {
		var of struct{ Role string }
		require.NoError(t, json.Unmarshal(m, &of))
		part := &r.Messages
		if of.Role == "system" && len(r.Messages) == 0 {
			part = &r.System
		}
		with := []byte(m)
		for _, name := range references.FindAllSubmatch(m, -1) {
			with = append(append(slices.Clip(with), '\n'), deferred[string(name[1])]...)
		}
		add(part, with)
	}
	return r
}

// shared returns the length of the longest beginning that a request has in common with an earlier one.
func shared(r cost.Request, earlier []cost.Request) (longest int) {
	prompt := r.Prompt()
	for _, e := range earlier {
		n, other := 0, e.Prompt()
		for n < min(len(prompt), len(other)) && prompt[n] == other[n] {
			n++
		}
		longest = max(longest, n)
	}
	return longest
}

func TestCost(t *testing.T) {
	ordinary := []toolsearch.Protocol{toolsearch.ProtocolToolSearch, toolsearch.ProtocolDispatch, toolsearch.ProtocolAnchored}
	for _, protocol := range append(ordinary, toolsearch.ProtocolNativeReferences) {
		t.Run(fmt.Sprintf("claude/%v", protocol), func(t *testing.T) { testCost(t, cachingClaude, protocol, "anthropic") })
	}
	for _, protocol := range ordinary {
		t.Run(fmt.Sprintf("openai/%v", protocol), func(t *testing.T) { testCost(t, messageAdapters[1], protocol, "openai") })
	}
	for _, protocol := range append(ordinary, toolsearch.ProtocolNativeDeferred) {
		t.Run(fmt.Sprintf("agenticopenai/%v", protocol), func(t *testing.T) { testCost(t, agenticAdapters[0], protocol, "openai") })
	}
}

func testCost[M adk.MessageType](t *testing.T, a adapter[M], protocol toolsearch.Protocol, prices string) {
	tools, infos, c, history := billed()
	config := toolsearch.Config{Protocol: protocol}
	p, ok := cost.Named(cost.Providers(), prices)
	require.True(t, ok)
	var turns []turn
	searched := map[string]bool{}
	for _, step := range c.Steps {
		if !searched[step.Tool] {
			searched[step.Tool] = true
			turns = append(turns, calls(search(fmt.Sprintf(`{"query":%q}`, step.Query))))
		}
		if protocol == toolsearch.ProtocolDispatch {
			turns = append(turns, calls(provider.Call{Name: "call_tool", Arguments: fmt.Sprintf(`{"name":%q,"arguments":%s}`, step.Tool, step.Arguments)}))
		} else {
			turns = append(turns, calls(provider.Call{Name: step.Tool, Arguments: step.Arguments}))
		}
	}
	server := provider.New(t, a.api, append(turns, provider.Say("Done."))...)
	testtools.Must(run(t, a.model(t, server), setup{config: config, dynamic: tools, history: history}))(t)

	var requests []cost.Request
	for i, r := range server.Requests() {
		assert.Empty(t, r.Refused, "request %d was refused", i)
		requests = append(requests, requestOf(t, r.Body))
	}
	usages := p.Bill(nil, requests)
	checkCost(t, a.name+"-"+protocol.String(), requests, usages)

	// A replay by internal/cost without the adapter costs the same.
	played := testtools.Must(cost.Replay(context.Background(), infos, config, p.Wire, c))(t)
	require.Len(t, played.Requests, len(requests))
	for i := range played.Requests {
		played.Requests[i].Output = 0 // a body has no answer
	}
	want, got := cost.Sum(usages), cost.Sum(p.Bill(nil, played.Requests))
	assert.InEpsilon(t, want.Input(), got.Input(), agreement, "tokens of all requests")
	assert.InEpsilon(t, p.Price(want), p.Price(got), agreement, "the price; billed %+v, replayed %+v", want, got)
}

// AutoCacheControl ends the ordinary tools, the system message and the last message with a
// breakpoint. No breakpoint is on a deferred definition, since Anthropic refuses that:
// "cannot have both defer_loading=true and cache_control set".
func TestBreakpointsAndReferences(t *testing.T) {
	server := provider.New(t, provider.Messages, calls(selecting("get_weather")), calls(calling("get_weather")), provider.Say("Sunny."))
	testtools.Must(run(t, cachingClaude.model(t, server), setup{config: toolsearch.Config{Protocol: toolsearch.ProtocolNativeReferences}, static: true}))(t)
	deferred := 0
	for i, r := range server.Requests() {
		assert.Len(t, requestOf(t, r.Body).Marks, 3, "breakpoints of request %d", i)
		for _, element := range elementsOf(t, r, "tools") {
			if strings.Contains(element, `"defer_loading":true`) {
				deferred++
				assert.NotContains(t, element, `"cache_control"`, "request %d", i)
			}
		}
	}
	assert.Equal(t, 2, deferred, "deferred definitions")
}

// Without AutoCacheControl or breakpoints of your own, nothing is cached.
func TestNoBreakpoints(t *testing.T) {
	server := provider.New(t, provider.Messages, calls(selecting("get_weather")), provider.Say("Sunny."))
	testtools.Must(run(t, messageAdapters[0].model(t, server), setup{}))(t)
	for _, r := range server.Requests() {
		assert.Empty(t, requestOf(t, r.Body).Marks)
	}
}

// agreement is how far internal/cost's own form of a request may be from an adapter's.
const agreement = 0.04

// checkCost compares with a file the sizes of requests, and of the longest beginning that each
// shares with an earlier request.
func checkCost(t *testing.T, name string, requests []cost.Request, usages []cost.Usage) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%7s %7s %7s %9s %7s | %7s %7s %7s\n", "bytes:", "tools", "system", "messages", "shared", "cached", "written", "plain")
	for i, r := range requests {
		fmt.Fprintf(&b, "%7d %7d %7d %9d %7d | %7d %7d %7d\n", i, len(r.Tools), len(r.System), len(r.Messages), shared(r, requests[:i]),
			usages[i].Cached, usages[i].Written, usages[i].Plain)
	}
	assert.Equal(t, goldenText(t, "cost/"+name, b.String(), *update), b.String(), name)
}
