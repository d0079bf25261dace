package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

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
	if at.Kind == SSE {
		return listByKind(ctx, at, SSE)
	}
	tools, info, err := listByKind(ctx, at, Streamable)
	status := refusal(0)
	if !errors.As(err, &status) || at.Kind != "" || status > 499 ||
		status == http.StatusUnauthorized || status == http.StatusForbidden {
		return tools, info, err
	}
	tools, info, second := listByKind(ctx, at, SSE)
	if second != nil {
		second = fmt.Errorf("%w; and by SSE: %w", err, second)
	}
	return tools, info, second
}

func listByKind(ctx context.Context, at Endpoint, kind string) ([]toolfile.Tool, *Info, error) {
	address, err := url.Parse(at.URL)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, nil, errors.New("want a URL that begins with http:// or https://")
	}
	ctx, g := newGuard(ctx)
	defer g.end(nil)
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxResponseHeaderBytes = 1 << 20
	dial := base.DialContext
	base.DialContext = func(dialing context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(dialing, network, address)
		if err == nil { // some requests of the SDK know no context that ends
			context.AfterFunc(ctx, func() { conn.Close() })
		}
		return conn, err
	}
	w := &web{base: base, g: g, address: address, headers: at.Headers}
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
	return ask(ctx, transport, g, func() {})
}

// A refusal is a status of HTTP that is an error.
type refusal int

// Error implements error.
func (r refusal) Error() string {
	return "it answered " + strings.TrimSpace(fmt.Sprint(int(r), " ", http.StatusText(int(r))))
}

// A web makes the requests to one server. It adds the headers only to requests to the
// server's own origin, so that no other origin learns a key. It bounds what comes back.
type web struct {
	base     http.RoundTripper
	g        *guard
	address  *url.URL
	headers  http.Header
	requests atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (w *web) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != w.address.Scheme || request.URL.Host != w.address.Host {
		origin := cli.OneLine(request.URL.Scheme+"://"+request.URL.Host, 100)
		return nil, w.g.fail(fmt.Errorf("it points to another origin, %s", origin))
	}
	if w.requests.Add(1) > maxRequests {
		return nil, w.g.fail(fmt.Errorf("it made the client send more than %d requests", maxRequests))
	}
	request = request.Clone(request.Context())
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
	if err == nil {
		if response.StatusCode >= 400 {
			w.g.hindered(refusal(response.StatusCode))
		}
		response.Body, err = w.bounded(response)
	}
	if err != nil {
		w.g.hindered(err)
		return nil, err
	}
	return response, nil
}

// bounded returns the body of a response within the guard's bounds. A message is looked at before
// the SDK reads it.
func (w *web) bounded(response *http.Response) (io.ReadCloser, error) {
	body := counted{response.Body, w.g}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case response.StatusCode >= 300:
	case kind == "application/json":
		defer body.Close()
		data, err := io.ReadAll(body)
		if err == nil {
			err = w.g.nests(data)
		}
		return io.NopCloser(bytes.NewReader(data)), err
	case kind == "text/event-stream":
		stream := bufio.NewReader(body)
		return &pieces{Closer: body, next: func() ([]byte, error) { return w.g.event(stream) }}, nil
	}
	return body, nil
}

// event returns the next server-sent event: lines up to an empty line. The lines are unchanged; the
// message in their data has been checked.
func (g *guard) event(stream *bufio.Reader) ([]byte, error) {
	var event, data []byte
	for {
		line, err := stream.ReadBytes('\n')
		event = append(event, line...)
		if text, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, text...)
		}
		if err == nil && len(bytes.TrimSpace(line)) > 0 {
			continue
		}
		if deep := g.nests(data); deep != nil {
			return nil, deep
		}
		return event, err
	}
}
