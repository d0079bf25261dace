package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Servers with a URL speak streamable HTTP, or HTTP with SSE as in revision 2024-11-05 of the protocol.

// overHTTP returns a transport to a server with a URL. It works until the guard's context is done.
func (s *server) overHTTP(g *guard, kind string) sdk.Transport {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // the program has set another
		base = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	base = base.Clone()
	base.MaxResponseHeaderBytes = 1 << 20
	address, _ := url.Parse(s.at.URL) // it has been checked
	client := &http.Client{
		Transport: &web{base: base, g: g, of: s, address: address},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) < 10 {
				return nil
			}
			return g.fail(errors.New("its redirects have no end"))
		},
	}
	if kind == sse {
		return &sdk.SSEClientTransport{Endpoint: s.at.URL, HTTPClient: client, MaxEventSize: -1} // the guard bounds them
	}
	return &sdk.StreamableClientTransport{Endpoint: s.at.URL, HTTPClient: client, MaxEventSize: -1}
}

// A refusal is a status of HTTP that is an error.
type refusal int

func (r refusal) Error() string {
	return "it answered " + strings.TrimSpace(fmt.Sprint(int(r), " ", http.StatusText(int(r))))
}

// isOfKind reports whether another kind of connection may do after a refusal, as the protocol advises.
func (r refusal) isOfKind() bool {
	return r >= 400 && r <= 499 && r != http.StatusUnauthorized && r != http.StatusForbidden
}

// A web makes the requests to one server. It adds the headers only to requests to the server's own
// origin, so that no other origin learns a key. It bounds what comes back.
type web struct {
	base    http.RoundTripper
	g       *guard
	of      *server
	address *url.URL
}

func (w *web) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != w.address.Scheme || request.URL.Host != w.address.Host {
		origin := naming.OneLine(request.URL.Scheme+"://"+request.URL.Host, 100)
		return nil, w.g.fail(fmt.Errorf("it points to another origin, %s", origin))
	}
	if w.g.ctx.Err() != nil && request.Method == http.MethodGet { // over an error, the SDK would ask for its stream again
		return &http.Response{StatusCode: http.StatusMethodNotAllowed, Body: http.NoBody, Request: request}, nil
	}
	ctx, cancel := context.WithCancel(request.Context())
	release := context.AfterFunc(w.g.ctx, cancel) // some requests of the SDK know no context that ends
	end := func() {
		release()
		cancel()
	}
	request = request.Clone(ctx)
	for name, value := range w.of.at.Headers {
		if request.Header.Get(name) == "" {
			request.Header.Set(name, value)
		}
	}
	if w.of.file.Headers != nil {
		for name, values := range w.of.file.Headers(request.Context(), w.of.name) {
			request.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	method := ""
	if request.GetBody != nil {
		if body, err := request.GetBody(); err == nil {
			data, _ := io.ReadAll(body)
			method = w.g.sent(data)
		}
	}
	if method == "" { // a server can make the SDK send such requests, as answers and to resume a stream
		if err := w.g.count(0, 0, 1); err != nil {
			end()
			return nil, err
		}
	}
	response, err := w.base.RoundTrip(request)
	var fault error
	if err == nil {
		switch code := response.StatusCode; {
		case code == http.StatusNotFound && method != "" && request.Header.Get("Mcp-Session-Id") != "":
			fault = errForgotten
		case code >= 400:
			fault = refusal(code)
		}
		isListener := method == "subscriptions/listen" || request.Method == http.MethodGet
		response.Body, err = w.bounded(response, isListener, end)
	}
	w.g.hindered(fault)
	if err != nil {
		response, fault = nil, err
		w.g.hindered(errors.New(naming.OneLine(err.Error(), 300)))
		end()
	}
	if at, _ := request.Context().Value(faultKey{}).(*error); at != nil && method == "tools/call" {
		*at = fault
	}
	return response, err
}

// faultKey is the key of the place, in a call's context, for what went wrong with its request.
type faultKey struct{}

// bounded returns the body of a response within the guard's bounds. Its end comes when it is closed. Over the stream of a
// listener, the server can tell that its list changed. When such a stream ends, nobody knows whether it has.
func (w *web) bounded(response *http.Response, isListener bool, end func()) (io.ReadCloser, error) {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	isStream := response.StatusCode < 300 && kind == "text/event-stream"
	if isStream && isListener {
		w.g.streams.Add(1)
	}
	body := &counted{ReadCloser: response.Body, g: w.g, end: sync.OnceFunc(func() {
		end()
		if isStream && isListener {
			w.g.streams.Add(-1)
			w.g.changed.Store(true)
		}
	})}
	switch {
	case isStream:
		stream := bufio.NewReader(body)
		return &pieces{Closer: body, next: func() ([]byte, error) {
			body.size = 0
			return w.g.event(stream)
		}}, nil
	case response.StatusCode < 300 && kind == "application/json":
		defer body.Close()
		data, err := io.ReadAll(body)
		if err == nil {
			data, err = w.g.received(data)
		}
		response.ContentLength = int64(len(data))
		return io.NopCloser(bytes.NewReader(data)), err
	}
	return body, nil
}

// event returns the next server-sent event: lines up to an empty line, with the message as the guard leaves it.
func (g *guard) event(stream *bufio.Reader) ([]byte, error) {
	var event, data []byte
	for {
		line, err := stream.ReadBytes('\n')
		if text, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimRight(text, "\r\n")...)
			data = append(data, '\n')
		} else if len(bytes.TrimSpace(line)) > 0 {
			event = append(event, line...)
		}
		if err == nil && len(bytes.TrimSpace(line)) > 0 {
			continue
		}
		if err != nil && !json.Valid(data) { // it broke off
			return nil, err
		}
		if len(bytes.TrimSpace(data)) > 0 {
			kept, wrong := g.received(data)
			if wrong != nil {
				return nil, wrong
			}
			for line := range bytes.Lines(kept) {
				event = append(append(append(event, "data: "...), bytes.TrimSpace(line)...), '\n')
			}
		}
		return append(event, '\n'), err
	}
}
