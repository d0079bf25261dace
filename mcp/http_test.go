package mcp

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
)

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
			still := strings.Repeat(": "+strings.Repeat("still here ", 50)+"\n\n", 1<<10)
			for _, err := io.WriteString(w, ":\n"); err == nil; _, err = io.WriteString(w, still) {
			}
		case "deep":
			_, _ = io.WriteString(w, deep)
		case "deep-event":
			stream()
			event(w, strings.ReplaceAll(deep, "[[[[", "\ndata:[[[["))
		case "other-session":
			w.Header().Set("Mcp-Session-Id", fmt.Sprint(calls.Load()))
			_, _ = io.WriteString(w, hello)
		case "garbage":
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				_, _ = io.WriteString(conn, strings.Repeat("garbage", 10_000)+"\n")
				_ = conn.Close()
			}
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
	t.Parallel()
	var reached atomic.Int64
	t.Cleanup(func() { assert.Zero(t, reached.Load(), "requests to another origin") })
	elsewhere := listening(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	for _, test := range []struct {
		kind, by, want string
		timeout        time.Duration
	}{
		{"silent", streamable, "too late", 300 * time.Millisecond},
		{"silent", sse, "too late", 300 * time.Millisecond},
		{"comments", streamable, "it sent more than 32 MiB", time.Minute},
		{"comments", sse, "it sent more than 32 MiB", time.Minute},
		{"moved", "", "it points to another origin, http://127.0.0.1:", time.Minute},
		{"elsewhere", sse, "it points to another origin, http://127.0.0.1:", time.Minute},
		{"circle", "", "its redirects have no end", time.Minute},
		{"page", "", `unsupported content type "text/html"`, time.Minute},
		{"teapot", "", "initialize: it answered 418 I'm a teapot; and by SSE: initialize: it answered 418 I'm a teapot", time.Minute},
		{"endless", "", "it sent more than 32 MiB", time.Minute},
		{"bomb", "", "it sent more than 32 MiB", time.Minute},
		{"deep", "", "nest more than 64 deep", time.Minute},
		{"deep-event", streamable, "nest more than 64 deep", time.Minute},
		{"deep-event", sse, "nest more than 64 deep", time.Minute},
		{"garbage", streamable, "malformed HTTP response", time.Minute},
		{"again", "", "too late", 500 * time.Millisecond},
		{"other-session", "", "mismatching session IDs", time.Minute},
	} {
		t.Run(test.kind+test.by, func(t *testing.T) {
			t.Parallel()
			address := strings.Replace(listening(t, hostile(test.kind, elsewhere)), "://", "://user:secret@", 1) + "?token=secret"
			ctx, cancel := context.WithTimeoutCause(t.Context(), test.timeout, errors.New("too late"))
			defer cancel()
			servers, err := Connect(ctx, one(Server{URL: address, Type: test.by, Headers: map[string]string{"X-Key": "secret"}}))
			if err == nil {
				_, err = servers.Groups()[0].Source(ctx)
				require.NoError(t, servers.Close())
			}
			assert.ErrorContains(t, err, test.want)
			assert.NotContains(t, err.Error(), "secret")
			assert.Less(t, len(err.Error()), 1000)
		})
	}
}

// The tools of a server that does not let the client go are kept.
func TestServerThatHoldsOn(t *testing.T) {
	t.Parallel()
	names, _ := listOf(t, t.Context(), connect(t, one(Server{URL: listening(t, hostile("no-goodbye", ""))})))
	assert.Equal(t, []string{"a"}, names)
}

// session is a server over HTTP with sessions. It answers calls by answer, and the first requests for streams of a session by stream.
func session(calls *atomic.Int64, answer, stream http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m)
		w.Header().Set("Content-Type", "application/json")
		reply := func(result string) { fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result) }
		switch {
		case r.Method == http.MethodGet:
			stream(w, r)
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s")
			reply(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"h","version":"1"}}`)
		case m.Method == "tools/list":
			reply(`{"tools":[{"name":"pay"}]}`)
		case m.Method == "tools/call":
			calls.Add(1)
			r.Header.Set("X-Id", string(m.ID))
			answer(w, r)
		case m.ID != nil:
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}
}

// A call that may have been looked at is not sent again, whatever other requests are answered.
func TestCallRunsOnceOverHTTP(t *testing.T) {
	const forgotten = `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`
	const unknown = "whether the call took effect is unknown"
	breakOff := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: 1\nretry: 1\ndata:\n\n")
	}
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, test := range []struct {
		name         string
		call, resume http.HandlerFunc
		calls        int64
		want         string
	}{
		{"its stream is forgotten", breakOff, status(404, ""), 1, unknown},
		{"its stream is forgotten, in words", breakOff, status(404, strings.Replace(forgotten, "null", "1", 1)), 1, unknown},
		{"its stream is unavailable", breakOff, status(503, ""), 1, unknown},
		{"the server breaks", status(503, ""), nil, 1, unknown},
		{"the connection breaks", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil, 1, unknown},
		{"the server refuses", status(403, ""), nil, 1, "error: server one: tools/call: it answered 403 Forbidden"},
		{"the session is forgotten", status(404, ""), nil, 2, "error: server one: tools/call: it knows the session no longer"},
		{"the session is forgotten, in words", status(404, forgotten), nil, 2, "error: server one: tools/call: it knows the session no longer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var calls atomic.Int64
			stream := func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Last-Event-ID") == "" {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
				test.resume(w, r)
			}
			servers := connect(t, one(Server{URL: listening(t, session(&calls, test.call, stream)), Type: streamable}))
			_, tools := listOf(t, t.Context(), servers)
			assert.Contains(t, run(t, t.Context(), tools[0], `{}`), test.want)
			assert.Equal(t, test.calls, calls.Load(), "calls")
		})
	}
}

// A server that wants input, or wants the call again, does not get the call again.
func TestServerThatWantsInput(t *testing.T) {
	for _, wants := range []string{`{}`, `{"a": {"method": "roots/list", "params": {}}}`, `{"a": {"method": "elicitation/create", "params": {"message": "Sure?"}}}`} {
		var calls atomic.Int64
		answer := func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":%s}}`, r.Header.Get("X-Id"), wants)
		}
		servers := connect(t, one(Server{URL: listening(t, session(&calls, answer, http.NotFound)), Type: streamable}))
		_, tools := listOf(t, t.Context(), servers)
		assert.Equal(t, "error: the tool asks its user for input, which this program cannot give", run(t, t.Context(), tools[0], `{}`))
		assert.Equal(t, int64(1), calls.Load(), "calls")
	}
}

// A message has its bound, however many requests of this program come meanwhile.
func TestEndlessMessage(t *testing.T) {
	t.Parallel()
	asked := make(chan bool)
	half := "data: " + strings.Repeat("x", maxBytes*3/4)
	stream := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, half)
		w.(http.Flusher).Flush()
		asked <- true
		<-asked
		_, _ = io.WriteString(w, half)
		w.(http.Flusher).Flush()
		<-asked
	}
	told := make(chan toolsearch.Event, 10)
	file := one(Server{URL: listening(t, session(new(atomic.Int64), nil, stream)), Type: streamable})
	file.OnEvent = func(_ context.Context, e toolsearch.Event) { told <- e }
	servers := connect(t, file)
	<-asked
	_, _ = listOf(t, t.Context(), servers)
	_, _ = listOf(t, t.Context(), servers)
	asked <- true
	defer close(asked)
	assert.ErrorContains(t, (<-told).(*toolsearch.FailureEvent).Err, "it sent more than 32 MiB")
}

// The stream of an answered call ends before the run.
func TestStreamThatGoesOn(t *testing.T) {
	t.Parallel()
	gone := make(chan bool)
	answer := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"paid\"}]}}\n\n", r.Header.Get("X-Id"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	}
	servers := connect(t, one(Server{URL: listening(t, session(new(atomic.Int64), answer, http.NotFound)), Type: streamable}))
	_, tools := listOf(t, t.Context(), servers)
	assert.Equal(t, "paid", run(t, t.Context(), tools[0], `{}`))
	<-gone
}
