package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// role is the variable that turns the test binary into a server. Its value is the kind.
const role = "MCP_TEST_ROLE"

// calls is the variable with the file that such a server writes its calls to.
const calls = "MCP_TEST_CALLS"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "silent":
		_, _ = os.Stderr.WriteString("I say nothing\n")
		time.Sleep(time.Hour)
	case "deaf": // it reads nothing after the first three messages
		input := bufio.NewReader(os.Stdin)
		for _, result := range []string{`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"d","version":"1"}}`, "", `{"tools":[{"name":"a"}]}`} {
			var m struct{ ID json.RawMessage }
			line, _ := input.ReadBytes('\n')
			if _ = json.Unmarshal(line, &m); result != "" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
			}
		}
		time.Sleep(time.Hour)
	case "dying": // it carries out a call and ends before it answers
		server := sdk.NewServer(&sdk.Implementation{Name: "dying", Version: "1"}, nil)
		sdk.AddTool(server, &sdk.Tool{Name: "pay"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			paid, err := os.OpenFile(os.Getenv(calls), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, nil, err
			}
			_, _ = paid.WriteString("paid\n")
			_, _ = os.Stderr.WriteString("out of money\n")
			os.Exit(1)
			return nil, nil, nil
		})
		_ = server.Run(context.Background(), &sdk.StdioTransport{})
	default:
		closeTime = 200 * time.Millisecond
		testtools.RunPatiently(m)
	}
}

// asServer is the test binary as a server.
func asServer(t *testing.T, kind string, env ...string) Server {
	program := testtools.Must(os.Executable())(t)
	s := Server{Command: program, Env: map[string]string{role: kind}}
	for i := 0; i < len(env); i += 2 {
		s.Env[env[i]] = env[i+1]
	}
	return s
}

// honest is a server of three tools, two a page.
func honest(options ...func(*sdk.ServerOptions)) *sdk.Server {
	all := &sdk.ServerOptions{PageSize: 2, Instructions: "Be kind."}
	for _, set := range options {
		set(all)
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "honest", Version: "3"}, all)
	for _, name := range []string{"alpha", "beta", "gamma"} {
		server.AddTool(&sdk.Tool{Name: name, Description: "Does " + name, InputSchema: map[string]any{"type": "object"}},
			func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name + " ran with " + string(r.Params.Arguments)}}}, nil
			})
	}
	return server
}

// counting makes a server count the listings that begin.
func counting(n *atomic.Int64) func(*sdk.ServerOptions) {
	return func(o *sdk.ServerOptions) {
		o.SetCacheable = func(_ context.Context, r sdk.Request, _ *sdk.Cacheable) {
			if list, ok := r.(*sdk.ListToolsRequest); ok && list.Params.Cursor == "" {
				n.Add(1)
			}
		}
	}
}

func listening(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// connect connects to a file's servers until the test ends.
func connect(t *testing.T, file *File) *Servers {
	t.Helper()
	servers := testtools.Must(Connect(t.Context(), file))(t)
	t.Cleanup(func() { assert.NoError(t, servers.Close()) })
	return servers
}

// one is a file of one server, named "one".
func one(s Server) *File { return &File{Servers: map[string]Server{"one": s}} }

// listOf asks the first server for its tools.
func listOf(t *testing.T, ctx context.Context, servers *Servers) (names []string, tools []tool.BaseTool) {
	t.Helper()
	tools = testtools.Must(servers.Groups()[0].Source(ctx))(t)
	for _, tool := range tools {
		info := testtools.Must(tool.Info(ctx))(t)
		names = append(names, info.Name)
	}
	return names, tools
}

// user is the key of who asks, in a context.
type user struct{}

func run(t *testing.T, ctx context.Context, of tool.BaseTool, arguments string) string {
	t.Helper()
	ctx, told := foreign.WithFailure(ctx)
	text := testtools.Must(of.(tool.InvokableTool).InvokableRun(ctx, arguments))(t)
	assert.Equal(t, strings.HasPrefix(text, "error: "), told.Load() != nil, "the tool tells that its result is a failure")
	return text
}

func handler(server *sdk.Server, options *sdk.StreamableHTTPOptions) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, options)
}

func TestServersOverHTTP(t *testing.T) {
	old := sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return honest() }, nil)
	for _, test := range []struct {
		name    string
		handler http.Handler
		kind    string
		speaks  string
	}{
		{"streamable", handler(honest(), nil), streamable, "2025-11-25"},
		{"streamable, as JSON", handler(honest(), &sdk.StreamableHTTPOptions{JSONResponse: true}), "", "2025-11-25"},
		{"streamable, without sessions", handler(honest(), &sdk.StreamableHTTPOptions{Stateless: true}), "", "2026-07-28"},
		{"SSE", old, sse, "2024-11-05"},
		{"SSE, found out", old, "", "2024-11-05"},
	} {
		t.Run(test.name, func(t *testing.T) {
			locked := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Key") != "secret" {
					http.Error(w, "no", http.StatusUnauthorized)
					return
				}
				test.handler.ServeHTTP(w, r)
			})
			url := listening(t, locked) + "/mcp"
			servers := connect(t, one(Server{URL: url, Type: test.kind, Headers: map[string]string{"x-key": "secret"}}))
			names, tools := listOf(t, t.Context(), servers)
			assert.Equal(t, []string{"alpha", "beta", "gamma"}, names)
			assert.Equal(t, []Info{{Namespace: "one", Name: "honest", Version: "3", Protocol: test.speaks, Instructions: "Be kind."}}, servers.Infos())
			group := servers.Groups()[0]
			assert.Equal(t, "one: Be kind., true", fmt.Sprintf("%s: %s, %v", group.Name, group.Description, group.Prefix))
			assert.Equal(t, `beta ran with {"a":1}`, run(t, t.Context(), tools[1], `{"a":1}`))
			assert.Equal(t, "error: the arguments are not JSON", run(t, t.Context(), tools[1], `{"a"`))
			_, err := connect(t, one(Server{URL: url + "?token=secret"})).Groups()[0].Source(t.Context())
			assert.EqualError(t, err, "the server one: initialize: it answered 401 Unauthorized")
		})
	}
}

// A list is kept for as long as the server says, and for as long as it would tell of a change.
func TestListsAreKept(t *testing.T) {
	ttl := func(scope string, milliseconds int) func(*sdk.ServerOptions) {
		return func(o *sdk.ServerOptions) {
			count := o.SetCacheable
			o.SetCacheable = func(ctx context.Context, r sdk.Request, c *sdk.Cacheable) {
				count(ctx, r, c)
				c.TTLMs, c.CacheScope = milliseconds, scope
			}
		}
	}
	mute := func(o *sdk.ServerOptions) { o.Capabilities = &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}} }
	stateless := &sdk.StreamableHTTPOptions{Stateless: true}
	none := func(*sdk.ServerOptions) {}
	for _, test := range []struct {
		name    string
		mute    bool
		ttl     func(*sdk.ServerOptions)
		http    *sdk.StreamableHTTPOptions
		headers bool // that depend on the context
		want    int64
	}{
		{"it tells of changes", false, none, nil, false, 1},
		{"it tells of changes, newer protocol", false, none, stateless, false, 1},
		{"it does not", true, none, nil, false, 5},
		{"it says how long", true, ttl("public", 3_600_000), stateless, false, 1},
		{"it says how long, and tells of changes", false, ttl("public", 3_600_000), stateless, false, 1},
		{"for its user alone", true, ttl("private", 3_600_000), stateless, false, 1},
		{"for one of several users", true, ttl("private", 3_600_000), stateless, true, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			var listings atomic.Int64
			options := []func(*sdk.ServerOptions){counting(&listings), test.ttl}
			if test.mute {
				options = append(options, mute)
			}
			server := honest(options...)
			file := one(Server{URL: listening(t, handler(server, test.http))})
			if test.headers {
				file.Headers = func(context.Context, string) http.Header { return nil }
			}
			servers := connect(t, file)
			_, first := listOf(t, t.Context(), servers)
			for range 4 {
				_, again := listOf(t, t.Context(), servers)
				assert.Equal(t, first, again, "the same tools for the same list")
			}
			assert.Equal(t, test.want, listings.Load(), "listings")
			if !test.mute {
				server.AddTool(&sdk.Tool{Name: "delta", InputSchema: map[string]any{"type": "object"}}, nil)
				assert.EventuallyWithT(t, func(c *assert.CollectT) {
					names, _ := listOf(t, t.Context(), servers)
					assert.Equal(c, []string{"alpha", "beta", "delta", "gamma"}, names)
				}, time.Minute, 10*time.Millisecond)
			}
		})
	}
}

// A server may tell of whatever it likes, without a loss of its connection.
func TestNotifications(t *testing.T) {
	server := honest()
	chatty := &sdk.Tool{Name: "chatty", InputSchema: map[string]any{"type": "object"}}
	server.AddTool(chatty, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: 1, Message: "half"})
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, err
	})
	for kind, handler := range map[string]http.Handler{
		sse:        sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return server }, nil),
		streamable: handler(server, nil),
	} {
		servers := connect(t, one(Server{URL: listening(t, handler), Type: kind}))
		_, tools := listOf(t, t.Context(), servers)
		assert.Equal(t, "done", run(t, t.Context(), tools[2], `{}`), kind)
	}
}

// Each caller has their own connection and headers, and a bound on them.
func TestCallersOfOneServer(t *testing.T) {
	as := func(name string) context.Context { return context.WithValue(context.Background(), user{}, name) }
	url := listening(t, sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		server := honest()
		name := r.Header.Get("Authorization")
		server.AddTool(&sdk.Tool{Name: "of_" + name, InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "for " + name}}}, nil
			})
		return server
	}, nil))
	file := one(Server{URL: url})
	file.PerCaller = func(ctx context.Context) string { name, _ := ctx.Value(user{}).(string); return name }
	file.Headers = func(ctx context.Context, _ string) http.Header {
		return http.Header{"authorization": {file.PerCaller(ctx)}}
	}
	servers := connect(t, file)
	for i := range maxCallers + 5 {
		name := fmt.Sprintf("user%d", i%(maxCallers+2))
		names, tools := listOf(t, as(name), servers)
		assert.Equal(t, []string{"alpha", "beta", "gamma", "of_" + name}, names)
		assert.Equal(t, "for "+name, run(t, as(name), tools[3], ""))
	}
	assert.Len(t, servers.servers[0].callers, maxCallers)

	search := testtools.Must(toolsearch.New(t.Context(), &toolsearch.Config{Groups: servers.Groups(), AlwaysLoaded: []string{"*"}}))(t)
	for _, name := range []string{"ann", "bob"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				shown := converse(as(name), t, []adk.ChatModelAgentMiddleware{search}, toolsearchtest.CallTool("one__of_"+name, "{}"))
				assert.Equal(t, []string{"tool_search", "one__alpha", "one__beta", "one__gamma", "one__of_" + name}, shown[0].ToolNames())
				assert.Equal(t, "for "+name, answer(shown))
			}
		})
	}
}

// A server that has forgotten the session did not look at the call, so it is called once more.
func TestForgottenSession(t *testing.T) {
	var current atomic.Pointer[http.Handler]
	restart := func() {
		next := handler(honest(), nil)
		current.Store(&next)
	}
	restart()
	url := listening(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*current.Load()).ServeHTTP(w, r) }))
	servers := connect(t, one(Server{URL: url}))
	_, tools := listOf(t, t.Context(), servers)
	restart()
	assert.Equal(t, "alpha ran with {}", run(t, t.Context(), tools[0], ""))
	restart()
	names, _ := listOf(t, t.Context(), servers)
	assert.Len(t, names, 3)
}

// The next program takes its first answers from the manifest while a server hangs.
func TestManifest(t *testing.T) {
	var isHanging atomic.Bool
	good := handler(honest(), nil)
	url := listening(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isHanging.Load() {
			_, _ = io.Copy(io.Discard, r.Body) // or nobody notices the end of the connection
			<-r.Context().Done()
			return
		}
		good.ServeHTTP(w, r)
	}))
	file := one(Server{URL: url})
	file.Manifest = filepath.Join(t.TempDir(), "manifest.json")
	require.NoError(t, connect(t, file).Close())
	isHanging.Store(true)
	servers := connect(t, file)
	for range 2 {
		names, _ := listOf(t, t.Context(), servers)
		assert.Equal(t, []string{"alpha", "beta", "gamma"}, names)
	}
	assert.Equal(t, "Be kind.", servers.Groups()[0].Description)

	isHanging.Store(false)
	other := one(Server{URL: url, Headers: map[string]string{"X-Other": "entry"}})
	other.Manifest = file.Manifest
	assert.Nil(t, connect(t, other).servers[0].first.stored, "the list of another entry")
	filled := one(Server{URL: "${MCP_TEST_URL}"})
	filled.Manifest = file.Manifest
	t.Setenv("MCP_TEST_URL", url)
	require.NoError(t, connect(t, filled).Close())
	t.Setenv("MCP_TEST_URL", url+"/other")
	assert.Nil(t, connect(t, filled).servers[0].first.stored, "the list of an entry that was another with its variables filled in")
	require.NoError(t, os.WriteFile(file.Manifest, []byte(`{"one": {"tools": [5]}}`), 0o600))
	names, _ := listOf(t, t.Context(), connect(t, file))
	assert.Len(t, names, 3, "from the server, since the file is of no use")
}

// A call that took effect is not sent again after its connection was lost, and the loss is told with the server's last words.
func TestCallRunsOnce(t *testing.T) {
	paid := filepath.Join(t.TempDir(), "paid.txt")
	told := make(chan toolsearch.Event, 10)
	file := one(asServer(t, "dying", calls, paid))
	file.OnEvent = func(ctx context.Context, e toolsearch.Event) {
		assert.NoError(t, ctx.Err())
		told <- e
	}
	servers := connect(t, file)
	_, tools := listOf(t, t.Context(), servers)
	for range 2 { // the second call has a new server
		text := run(t, t.Context(), tools[0], `{}`)
		assert.Contains(t, text, "error: server one: the connection was lost, and whether the call took effect is unknown: ")
		failure := (<-told).(*toolsearch.FailureEvent)
		assert.Equal(t, "one", failure.Group)
		assert.ErrorContains(t, failure.Err, "its last output:\n\tout of money")
	}
	data := testtools.Must(os.ReadFile(paid))(t)
	assert.Equal(t, "paid\npaid\n", string(data), "once for each call")
}

// A server that starts and never answers is given up in time.
func TestSilentServer(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, fmt.Errorf("too late"))
	defer cancel()
	_, err := Connect(ctx, one(asServer(t, "silent")))
	assert.EqualError(t, err, "the server one: too late")
	assert.Empty(t, stacksWith("exec.(*Cmd).Wait"), "its process has ended")
}

// A call ends with its context, also when the server reads nothing.
func TestDeafServer(t *testing.T) {
	t.Parallel()
	servers := connect(t, one(asServer(t, "deaf")))
	_, tools := listOf(t, t.Context(), servers)
	for range 2 { // the second waits for the first
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := tools[0].(tool.InvokableTool).InvokableRun(ctx, `{"a":"`+strings.Repeat("x", 1<<20)+`"}`)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	}
}

// A server gets no secret of this program's environment, even where there is nothing else.
func TestEnvironment(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("the test needs a shell")
	}
	t.Setenv("MCP_TEST_SECRET", "secret")
	for _, name := range inherited {
		t.Setenv(name, "") // restored after the test
		require.NoError(t, os.Unsetenv(name))
	}
	shell := Server{Command: "/bin/sh", Args: []string{"-c", "echo It has: $MCP_TEST_SECRET >&2"}}
	_, err := connect(t, one(shell)).Groups()[0].Source(t.Context())
	assert.ErrorContains(t, err, "It has:")
	assert.NotContains(t, err.Error(), "secret")
}

// A program may have a transport of its own for all its requests.
func TestOtherDefaultTransport(t *testing.T) {
	url := listening(t, handler(honest(), nil))
	last := http.DefaultTransport
	http.DefaultTransport = struct{ http.RoundTripper }{last}
	defer func() { http.DefaultTransport = last }()
	names, _ := listOf(t, t.Context(), connect(t, one(Server{URL: url})))
	assert.Len(t, names, 3)
}

// stacksWith returns the stacks of goroutines that are in one of some functions.
func stacksWith(functions ...string) (stacks []string) {
	all := make([]byte, 1<<20)
	for _, stack := range strings.Split(string(all[:runtime.Stack(all, true)]), "\n\n") {
		if slices.ContainsFunc(functions, func(f string) bool { return strings.Contains(stack, f) }) {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

// Nothing goes on after Close, also where a connection was about to be made.
func TestNothingGoesOn(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		good := handler(honest(), &sdk.StreamableHTTPOptions{Stateless: stateless})
		var greeted atomic.Int64
		file := one(Server{URL: listening(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			good.ServeHTTP(w, r)
			greeted.Add(1)
		}))})
		file.PerCaller = func(ctx context.Context) string { return fmt.Sprint(ctx.Value(user{})) }
		servers := testtools.Must(Connect(t.Context(), file))(t)
		for n := range int64(8) { // Close comes after one answer more each time
			before := greeted.Load()
			ctx, cancel := context.WithCancel(context.WithValue(t.Context(), user{}, n))
			go func() { _, _ = servers.Groups()[0].Source(ctx) }()
			for greeted.Load() < before+n/2 {
				time.Sleep(time.Millisecond)
			}
			assert.NoError(t, servers.Close())
			cancel()
			assert.EventuallyWithT(t, func(c *assert.CollectT) {
				assert.Empty(c, stacksWith("mcp.(*server)", "mcp.(*caller)", "mcp.(*conn)", "mcp.(*ClientSession)", "mcp.callSubscriptionsListen"))
			}, time.Minute, 10*time.Millisecond)
			servers = testtools.Must(Connect(t.Context(), file))(t)
		}
		assert.NoError(t, servers.Close())
	}
}

func TestToolsAsTheyAreDefined(t *testing.T) {
	const definition = `{"name": "shop.sell", "title": "Sell it", "inputSchema": {"type":"object"}, "annotations": {"destructiveHint": true,
		"readOnlyHint": 5}, "_meta": {"anthropic/alwaysLoad": true}}`
	made := (&server{}).toolOf(json.RawMessage(definition))
	info := testtools.Must(made.Info(t.Context()))(t)
	assert.Equal(t, search.Annotation{Aliases: []string{"Sell it"}, Tags: []string{"destructive", "always-load"}}, search.Annotate(info))
	assert.Equal(t, definition, string(made.Definition()))
	for wrong, want := range map[string]string{
		`{"name": 5}`: "without a name", `{"name": "a", "inputSchema": {"type": 5}}`: `the schema of "a" cannot be read`,
		`{"name": "b", "inputSchema": {"properties": {"x": {"type": null}}}}`: `the schema of "b" cannot be read`,
	} {
		_, err := (&server{}).toolOf(json.RawMessage(wrong)).Info(t.Context())
		assert.ErrorContains(t, err, want)
	}
}

func TestTextsOfResults(t *testing.T) {
	for want, result := range map[string]*sdk.CallToolResult{
		"one\ntwo": {Content: []sdk.Content{&sdk.TextContent{Text: "one"}, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{Text: "two"}}},
			StructuredContent: "again"},
		`{"a":1}`:   {StructuredContent: map[string]int{"a": 1}},
		"error: no": {IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "no"}}},
		"[image, image/png: 3 bytes that are not text]\n[audio, unknown: 2 bytes that are not text]\n[file:///a, unknown: 1 bytes that are not text]\n[Report: file:///r]": {
			Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: []byte("abc")}, &sdk.AudioContent{Data: []byte("ab")},
				&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a", Blob: []byte("a")}}, &sdk.ResourceLink{Name: "Report", URI: "file:///r"}},
		},
		"": {},
	} {
		assert.Equal(t, want, textOf(result))
	}
}

func TestFiles(t *testing.T) {
	t.Setenv("MCP_TEST_KEY", "k1")
	path := filepath.Join(t.TempDir(), "mcp.json")
	read := func(text string) (*File, error) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return ReadFile(path)
	}
	file, err := read(`{"mcpServers": {"a": {"command": "${MCP_TEST_KEY}", "args": ["${MCP_TEST_NONE:-x}"], "env": {"K": "<${env:MCP_TEST_KEY}>"}},
		"b": {"url": "http://h/${MCP_TEST_KEY}", "type": "streamable-http"}, "c": {"disabled": true}}}`)
	require.NoError(t, err)
	names, filled, err := file.servers()
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, names)
	none := map[string]string{}
	assert.Equal(t, Server{Command: "k1", Args: []string{"x"}, Env: map[string]string{"K": "<k1>"}, Headers: none}, filled["a"])
	assert.Equal(t, Server{URL: "http://h/k1", Type: streamable, Env: none, Headers: none}, filled["b"])
	for text, want := range map[string]string{
		`{"mcpServers":`:                        "unexpected end",
		`{"mcpServers": {"a": {"command": 5}}}`: "server a: a value is of the wrong kind",
		`{}`:                                    "no servers",
		`{"mcpServers": {"a": {}}}`:             "server a: want either a command or a url",
		`{"mcpServers": {"a": {"command": "x", "url": "y"}}}`:    "server a: want either a command or a url",
		`{"mcpServers": {"a": {"command": "${MCP_TEST_NONE}"}}}`: "server a: not set in the environment: MCP_TEST_NONE",
		`{"mcpServers": {"a": {"url": "ftp://h"}}}`:              "server a: want a URL that begins with http",
		`{"mcpServers": {"a": {"command": "x", "type": "y"}}}`:   `server a: type "y": want stdio, http or sse`,
	} {
		file, err := read(text)
		if err == nil {
			_, err = Connect(t.Context(), file)
		}
		assert.ErrorContains(t, err, want, text)
	}
	for address, shown := range map[string]string{
		"http://user:secret@127.0.0.1:1/mcp?key=secret#secret": "http://127.0.0.1:1/mcp",
		"http://user:sec/ret@127.0.0.1:1/mcp":                  "(unreadable URL)",
		"http://user:sec%ret@127.0.0.1:1/mcp":                  "(unreadable URL)",
		"user:secret@127.0.0.1":                                "(unreadable URL)",
	} {
		assert.Equal(t, shown, Server{URL: address}.String())
		servers, err := Connect(t.Context(), &File{Servers: map[string]Server{"": {URL: address}}})
		if err == nil {
			_, err = servers.Groups()[0].Source(t.Context())
			servers.Close()
		}
		require.Error(t, err)
		assert.True(t, strings.Contains(err.Error(), "server "+shown) && !strings.Contains(err.Error(), "sec"), err)
	}
}
