package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/inspect"
	"github.com/eino-toolsearch/toolsearch/internal/tokens"
	"github.com/eino-toolsearch/toolsearch/mcp"
)

// inspectFake runs inspect on a server of the tests.
func inspectFake(t *testing.T, want int, kind string, flags ...string) (stdout, stderr string) {
	t.Helper()
	return prints(t, want, "", slices.Concat([]string{"inspect"}, flags, []string{"--", self, fakeServer + "=" + kind})...)
}

// reportOf reads what inspect -json printed.
func reportOf(t *testing.T, stdout string) (r inspect.Report) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(stdout), &r), "%s", stdout)
	return r
}

func TestInspectLiveServer(t *testing.T) {
	stdout, stderr := inspectFake(t, cli.Nothing, "good", "-json")
	require.Empty(t, stderr)
	r := reportOf(t, stdout)
	assert.Equal(t, []mcp.Info{
		{Name: "fake", Version: "1.2", Protocol: "2025-06-18", Instructions: "Ask\x1b[31m politely.\r\nserver: kind", StrayLines: 3},
	}, r.Servers)
	var names []string
	for _, tool := range r.Tools {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"first_tool", "second_tool", "third_tool"}, names, "tools of both pages")
	definition := `{"name":"first_tool","description":"Does <what> is first","parameters":{"type":"object"}}`
	assert.Equal(t, len(definition), r.Tools[0].Bytes, "bytes of %s", definition)
	assert.Equal(t, tokens.Of(definition), r.Tools[0].Tokens, "tokens of %s", definition)
	stdout, _ = inspectFake(t, cli.Nothing, "good")
	assert.Contains(t, stdout, "server: fake 1.2, MCP 2025-06-18\ninstructions: Ask [31m politely. server: kind\nThe server wrote 3 lines ")
}

// A broken server gives an error that says what is wrong, within -timeout.
func TestInspectBadServers(t *testing.T) {
	for _, test := range []struct{ kind, timeout, want string }{
		{"deaf", "300ms", "no answer within 300ms"},
		{"chatty", "300ms", "no answer within 300ms"},
		{"unread", "300ms", "no answer within 300ms"},
		{"crash", "1m", "initialize: it ended without an answer; its last output:\n\tno database\n"},
		{"refuse", "1m", "initialize: error -32602: wrong [31m version"},
		{"no-list", "1m", "its answer to tools/list has no list of tools"},
		{"not-a-page", "1m", "tools/list: unreadable answer"},
		{"not-tools", "1m", "want a tool, an object with a name"},
		{"nested", "1m", "it sent lists and objects that nest more than 64 deep"},
		{"same-page", "1m", "its list of tools has no end: page 2 is not the last"},
		{"endless", "1m", "its list of tools has no end: page 1000 is not the last"},
		{"many", "1m", "it has more than 10000 tools"},
		{"no-tools", "1m", "the server has no tools"},
		{"huge", "1m", "it sent more than 32 MiB"},
		{"garbage", "1m", "it sent more than 32 MiB"},
		{"asking", "1m", "it made more than 1000 requests"},
	} {
		t.Run(test.kind, func(t *testing.T) {
			t.Parallel()
			stdout, stderr := inspectFake(t, cli.Failed, test.kind, "-timeout", test.timeout)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, test.want)
		})
	}
	_, stderr := prints(t, cli.Failed, "", "inspect", "--", filepath.Join(t.TempDir(), "server"))
	assert.Contains(t, stderr, "starting the server")
}

// A server that does not end with its input, and ignores SIGTERM, is killed.
func TestInspectStubbornServer(t *testing.T) {
	t.Parallel()
	stdout, _ := inspectFake(t, cli.Found, "stubborn")
	assert.Contains(t, stdout, "tools: 1")
}
