package mcpclient

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// honest is a server of three tools, two a page.
func honest() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "honest", Version: "3"}, &mcp.ServerOptions{PageSize: 2, Instructions: "Be kind."})
	for _, name := range []string{"alpha", "beta", "gamma"} {
		server.AddTool(&mcp.Tool{Name: name, Description: "Does " + name, InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
	}
	return server
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

func TestListOverHTTP(t *testing.T) {
	get := func(*http.Request) *mcp.Server { return honest() }
	streamable := mcp.NewStreamableHTTPHandler(get, nil)
	sse := mcp.NewSSEHandler(get, nil)
	asked := make(chan string, 100) // for which versions
	locked := func(handler http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked <- r.Header.Get("Mcp-Protocol-Version")
			if r.Header.Get("X-Key") != "secret" {
				http.Error(w, "no", http.StatusUnauthorized)
				return
			}
			handler.ServeHTTP(w, r)
		})
	}
	key := http.Header{"X-Key": {"secret"}}
	for _, test := range []struct {
		name    string
		handler http.Handler
		kind    string
	}{
		{"streamable", streamable, Streamable},
		{"streamable, as JSON", mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{JSONResponse: true}), ""},
		{"streamable, without sessions", mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true}), ""},
		{"SSE", sse, SSE},
		{"SSE, found out", sse, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			at := Endpoint{URL: listening(t, locked(test.handler)) + "/mcp", Headers: key, Kind: test.kind, Namespace: "mine"}
			tools, info, err := List(t.Context(), at)
			require.NoError(t, err)
			var names []string
			for _, tool := range tools {
				names = append(names, string(tool.Keys["name"]))
			}
			assert.Equal(t, []string{`"alpha"`, `"beta"`, `"gamma"`}, names)
			assert.Equal(t, "Be kind.", info.Instructions)
			assert.Equal(t, "honest", info.Name)
			named := ""
			for len(asked) > 0 {
				named = max(named, <-asked)
			}
			assert.Equal(t, info.Protocol, named, "the version that the last requests name")
			assert.Equal(t, `{"type":"object"}`, string(tools[0].Schema()))
		})
	}
	at := Endpoint{URL: listening(t, locked(streamable)) + "/mcp?token=secret"}
	_, _, err := List(t.Context(), at)
	require.Error(t, err)
	assert.Equal(t, "the server "+strings.TrimSuffix(at.URL, "?token=secret")+": initialize: it answered 401 Unauthorized", err.Error())
}

// hostile is a server over HTTP that is broken in one of many ways.
func hostile(kind, elsewhere string) http.HandlerFunc {
	event := func(w io.Writer, text string) { fmt.Fprintf(w, "event: message\ndata: %s\n\n", text) }
	var calls atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m)
		hello := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"h","version":"1"}}}`, m.ID)
		deep := `{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", 8<<20)
		stream := func() { w.Header().Set("Content-Type", "text/event-stream") }
		w.Header().Set("Content-Type", "application/json")
		switch kind {
		case "silent":
			<-r.Context().Done()
		case "moved":
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		case "circle":
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		case "page":
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<h1>Welcome</h1>")
		case "teapot":
			http.Error(w, "short and stout", http.StatusTeapot)
		case "endless":
			for _, err := io.WriteString(w, "["); err == nil; _, err = io.WriteString(w, strings.Repeat(" ", 1<<20)) {
			}
		case "bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for _, err := io.WriteString(z, "["); err == nil; _, err = io.WriteString(z, strings.Repeat(" ", 1<<20)) {
			}
		case "comments":
			stream()
			for _, err := io.WriteString(w, ":\n"); err == nil; _, err = io.WriteString(w, strings.Repeat(": still here\n\n", 1<<16)) {
			}
		case "deep":
			_, _ = io.WriteString(w, deep)
		case "deep-event":
			stream()
			event(w, strings.ReplaceAll(deep, "[[[[", "\ndata:[[[["))
		case "other-session":
			w.Header().Set("Mcp-Session-Id", fmt.Sprint(calls.Load()))
			_, _ = io.WriteString(w, hello)
		case "again": // the stream breaks off and promises more, again and again
			stream()
			fmt.Fprintf(w, "id: %d\nretry: 1\ndata:\n\n", calls.Load())
		case "elsewhere": // SSE whose messages go to another origin
			stream()
			fmt.Fprintf(w, "event: endpoint\ndata: %s/messages\n\n", elsewhere)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "no-goodbye":
			switch {
			case r.Method == http.MethodDelete:
				<-r.Context().Done()
			case m.Method == "initialize":
				w.Header().Set("Mcp-Session-Id", "s")
				_, _ = io.WriteString(w, hello)
			case m.Method == "tools/list":
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a"}]}}`, m.ID)
			}
		}
	}
}

func TestHostileServersOverHTTP(t *testing.T) {
	var reached atomic.Int64
	elsewhere := listening(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	for _, test := range []struct {
		kind, by, want string
		timeout        time.Duration
	}{
		{"silent", Streamable, "too late", 300 * time.Millisecond},
		{"silent", SSE, "too late", 300 * time.Millisecond},
		{"comments", Streamable, "it sent more than 32 MiB", time.Minute},
		{"comments", SSE, "it sent more than 32 MiB", time.Minute},
		{"moved", "", "it points to another origin, http://127.0.0.1:", time.Minute},
		{"elsewhere", SSE, "it points to another origin, http://127.0.0.1:", time.Minute},
		{"circle", "", "its redirects have no end", time.Minute},
		{"page", "", `unsupported content type "text/html"`, time.Minute},
		{"teapot", "", "initialize: it answered 418 I'm a teapot; and by SSE: initialize: it answered 418 I'm a teapot", time.Minute},
		{"endless", "", "it sent more than 32 MiB", time.Minute},
		{"bomb", "", "it sent more than 32 MiB", time.Minute},
		{"deep", "", "nest more than 64 deep", time.Minute},
		{"deep-event", Streamable, "nest more than 64 deep", time.Minute},
		{"deep-event", SSE, "nest more than 64 deep", time.Minute},
		{"again", "", "too late", 500 * time.Millisecond},
		{"other-session", "", "mismatching session IDs", time.Minute},
	} {
		t.Run(test.kind+test.by, func(t *testing.T) {
			address := strings.Replace(listening(t, hostile(test.kind, elsewhere)), "://", "://user:secret@", 1) + "?token=secret"
			at := Endpoint{URL: address, Kind: test.by, Headers: http.Header{"X-Key": {"secret"}}}
			ctx, cancel := context.WithTimeoutCause(t.Context(), test.timeout, fmt.Errorf("too late"))
			defer cancel()
			_, _, err := List(ctx, at)
			assert.ErrorContains(t, err, test.want)
			assert.NotContains(t, err.Error(), "secret")
		})
	}
	assert.Zero(t, reached.Load(), "requests to another origin")
}

// The tools of a server that does not let the client go are kept.
func TestServerThatHoldsOn(t *testing.T) {
	tools, _, err := List(t.Context(), Endpoint{URL: listening(t, hostile("no-goodbye", ""))})
	require.NoError(t, err)
	assert.Len(t, tools, 1)
}

func TestURLsThatAreNone(t *testing.T) {
	for _, address := range []string{"http://", "ftp://a.example/mcp", "http://[", "https://:80"} {
		_, _, err := List(t.Context(), Endpoint{URL: address})
		assert.Error(t, err, address)
	}
	for _, test := range []struct{ address, shown string }{
		{"http://127.0.0.1:1/mcp?key=secret", "http://127.0.0.1:1/mcp"},
		{"http://127.0.0.1:1/mcp?", "http://127.0.0.1:1/mcp"},
		{"http://127.0.0.1:1/mcp#secret", "http://127.0.0.1:1/mcp"},
		{"http://user:secret@127.0.0.1:1/mcp?key=secret#secret", "http://127.0.0.1:1/mcp"},
		{"http://secret@127.0.0.1:1/mcp", "http://127.0.0.1:1/mcp"},
		{"http://user:sec/ret@127.0.0.1:1/mcp", "(unreadable URL)"},
		{"http://user:sec%ret@127.0.0.1:1/mcp", "(unreadable URL)"},
		{"user:secret@127.0.0.1", "(unreadable URL)"},
		{"HTTP://user:sec ret@127.0.0.1:1/mcp", "(unreadable URL)"},
	} {
		assert.Equal(t, test.shown, Endpoint{URL: test.address}.String(), "the page's title, and the line of progress")
		_, _, err := List(t.Context(), Endpoint{URL: test.address})
		require.Error(t, err, test.address)
		assert.Contains(t, err.Error(), "the server "+test.shown+": ")
		assert.NotRegexp(t, "user|sec|ret\\b|key", err.Error(), test.address)
	}
}
