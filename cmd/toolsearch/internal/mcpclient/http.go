package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
)

// Servers with a URL speak streamable HTTP, or HTTP with SSE as in revision 2024-11-05 of the
// protocol.

// maxRequests bounds the requests to one server. It is more than maxPages takes. Only a
// server that breaks off and promises more can cause so many.
const maxRequests = 2 * maxPages

// listOverHTTP asks a server with a URL for its tools. If the kind is not known, it tries
// streamable HTTP, and SSE where the server refuses that, as the protocol advises.
func listOverHTTP(ctx context.Context, at Endpoint) ([]toolfile.Tool, *Info, error) {
	if at.Kind != SSE {
		tools, info, w, err := listByKind(ctx, at, Streamable)
		status := int(w.refused.Load())
		if err == nil || at.Kind != "" || status < 400 || status > 499 ||
			status == http.StatusUnauthorized || status == http.StatusForbidden {
			return tools, info, err
		}
		tools, info, _, second := listByKind(ctx, at, SSE)
		if second != nil {
			second = fmt.Errorf("%w; and by SSE: %w", err, second)
		}
		return tools, info, second
	}
	tools, info, _, err := listByKind(ctx, at, SSE)
	return tools, info, err
}

func listByKind(ctx context.Context, at Endpoint, kind string) ([]toolfile.Tool, *Info, *web, error) {
	address, err := url.Parse(at.URL)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, nil, &web{}, errors.New("want a URL that begins with http:// or https://")
	}
	// Ending asking ends the requests that the SDK makes apart from any context.
	asking, end := context.WithCancel(ctx)
	defer end()
	g := &guard{}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxResponseHeaderBytes = 1 << 20
	defer base.CloseIdleConnections()
	w := &web{ctx: asking, base: base, g: g, address: address, headers: at.Headers}
	client := &http.Client{Transport: w, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) < 10 {
			return nil
		}
		return g.fail(errors.New("its redirects have no end"))
	}}
	var transport mcp.Transport = &mcp.StreamableClientTransport{
		Endpoint: at.URL, HTTPClient: client,
		DisableStandaloneSSE: true, // the server has nothing to say unasked
	}
	if kind == SSE {
		transport = &mcp.SSEClientTransport{Endpoint: at.URL, HTTPClient: client}
	}
	tools, info, err := ask(ctx, transport, g, func() {})
	return tools, info, w, err
}

// A web makes the requests to one server. It adds the headers only to requests to the
// server's own origin, so that no other origin learns a key. It bounds what comes back.
type web struct {
	ctx      context.Context
	base     http.RoundTripper
	g        *guard
	address  *url.URL
	headers  http.Header
	requests atomic.Int64
	refused  atomic.Int64 // the last status that is an error
}

func (w *web) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.roundTrip(request)
	if err != nil {
		w.g.hindered(err)
	}
	return response, err
}

func (w *web) roundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != w.address.Scheme || request.URL.Host != w.address.Host {
		return nil, w.g.fail(fmt.Errorf("it points to another origin, %s", cli.OneLine(request.URL.Scheme+"://"+request.URL.Host, 100)))
	}
	if w.requests.Add(1) > maxRequests {
		return nil, w.g.fail(fmt.Errorf("it made the client send more than %d requests", maxRequests))
	}
	ctx, cancel := context.WithCancel(request.Context())
	if request.Method == http.MethodDelete { // the goodbye; the SDK waits for it without a limit
		goodbye := time.AfterFunc(closeTime, cancel)
		defer goodbye.Stop()
	}
	stop := context.AfterFunc(w.ctx, cancel)
	release := func() {
		stop()
		cancel()
	}
	request = request.Clone(ctx)
	for name, values := range w.headers {
		if request.Header.Get(name) == "" {
			request.Header[name] = values
		}
	}
	// The SDK adds this header only to a connection that is not watched.
	if version := w.g.server().Protocol; version != "" {
		request.Header.Set("Mcp-Protocol-Version", version)
	}
	response, err := w.base.RoundTrip(request)
	if err != nil {
		release()
		return nil, err
	}
	if response.StatusCode >= 400 {
		w.refused.Store(int64(response.StatusCode))
		w.g.hindered(fmt.Errorf("it answered %s", strings.TrimSpace(fmt.Sprint(response.StatusCode, " ", http.StatusText(response.StatusCode)))))
	}
	if response.Body, err = w.bounded(response, release); err != nil {
		return nil, err
	}
	return response, nil
}

// bounded returns the body of a response within the guard's bounds. A message is looked at before
// the SDK reads it.
func (w *web) bounded(response *http.Response, release func()) (io.ReadCloser, error) {
	body := &releasing{counted{response.Body, w.g}, response.Body, release}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case response.StatusCode >= 300:
	case kind == "application/json":
		data, err := io.ReadAll(body)
		body.Close()
		if err == nil {
			err = w.g.nests(data)
		}
		return io.NopCloser(bytes.NewReader(data)), err
	case kind == "text/event-stream":
		body.Reader = &events{from: bufio.NewReader(body.Reader), g: w.g}
	}
	return body, nil
}

// A releasing body frees what its request holds when the body is closed.
type releasing struct {
	io.Reader
	body    io.Closer
	release func()
}

func (r *releasing) Close() error {
	r.release()
	return r.body.Close()
}

// events reads a stream of server-sent events, an event at a time: lines up to an empty line. It
// passes on the lines unchanged, after it has checked the message in their data.
type events struct {
	from *bufio.Reader
	g    *guard
	rest []byte
	err  error
}

func (e *events) Read(p []byte) (int, error) {
	if len(e.rest) == 0 && e.err == nil {
		e.rest, e.err = e.next()
	}
	if len(e.rest) == 0 {
		return 0, e.err
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func (e *events) next() ([]byte, error) {
	var event, data []byte
	for {
		line, err := e.from.ReadBytes('\n')
		event = append(event, line...)
		if text, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, text...)
		}
		if err == nil && len(bytes.TrimSpace(line)) > 0 {
			continue
		}
		if deep := e.g.nests(data); deep != nil {
			return nil, deep
		}
		return event, err
	}
}
