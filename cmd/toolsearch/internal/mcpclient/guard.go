package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
)

// A guard bounds what one server sends, and keeps its answers as they were sent: the SDK's own
// reading refuses a whole page for one wrong value, and sorts the keys of schemas. It is safe for
// concurrent use.
type guard struct {
	end   context.CancelCauseFunc // of the context for all that concerns the server
	bytes atomic.Int64            // received
	asked atomic.Int64            // requests of the server's own
	stray atomic.Int64            // lines that are not messages

	mu             sync.Mutex
	trouble        error // the last fault of HTTP
	hello, listing jsonrpc.ID
	info           Info
	page           json.RawMessage // the list of the last page
}

// newGuard returns a guard and the context that ends with the first bound that is exceeded. That
// bound, which says more than the SDK's own error, is the cause.
func newGuard(ctx context.Context) (context.Context, *guard) {
	ctx, end := context.WithCancelCause(ctx)
	return ctx, &guard{end: end}
}

func (g *guard) fail(err error) error {
	g.end(err)
	return err
}

// hindered keeps what went wrong with a request over HTTP.
func (g *guard) hindered(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trouble = err
}

// server returns what the server said about itself.
func (g *guard) server() *Info {
	g.mu.Lock()
	defer g.mu.Unlock()
	info := g.info
	info.StrayLines = int(g.stray.Load())
	return &info
}

// tools returns the list of the last page.
func (g *guard) tools() json.RawMessage {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.page
}

// nests refuses JSON that nests too deep: only the stack bounds the SDK's parser.
func (g *guard) nests(message []byte) error {
	if toolfile.TooDeep(message) {
		return g.fail(fmt.Errorf("it sent lists and objects that nest more than %d deep", toolfile.MaxDepth))
	}
	return nil
}

// counted reads what a server sends, up to maxServerBytes over all readers of the guard.
type counted struct {
	io.ReadCloser
	g *guard
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.g.bytes.Add(int64(n)) > maxServerBytes {
		return 0, c.g.fail(fmt.Errorf("it sent more than %d MiB", maxServerBytes>>20))
	}
	return n, err
}

// pieces reads what next returns, piece by piece, up to next's first error.
type pieces struct {
	io.Closer
	next func() ([]byte, error)

	mu   sync.Mutex
	rest []byte // of the piece that is being read
	err  error
}

func (s *pieces) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rest) == 0 && s.err == nil {
		s.rest, s.err = s.next()
	}
	if len(s.rest) == 0 {
		return 0, s.err
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// guarded is a transport whose messages a guard sees.
type guarded struct {
	mcp.Transport
	g *guard
}

func (t guarded) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &watched{conn, t.g}, nil
}

type watched struct {
	mcp.Connection
	g *guard
}

func (c *watched) Write(ctx context.Context, m jsonrpc.Message) error {
	c.g.mu.Lock()
	switch request, _ := m.(*jsonrpc.Request); {
	case request == nil:
	case request.Method == "initialize":
		c.g.hello = request.ID
	case request.Method == "tools/list":
		c.g.listing = request.ID
	}
	c.g.mu.Unlock()
	return c.Connection.Write(ctx, m)
}

// Read drops notifications, since nothing here needs them and the SDK queues them without a
// bound.
func (c *watched) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Connection.Read(ctx)
		if err != nil {
			return nil, err
		}
		switch m := m.(type) {
		case *jsonrpc.Request:
			if !m.IsCall() {
				continue
			}
			if c.g.asked.Add(1) > maxReplies {
				return nil, c.g.fail(fmt.Errorf("it made more than %d requests", maxReplies))
			}
		case *jsonrpc.Response:
			if err := c.g.take(m); err != nil {
				return nil, c.g.fail(err)
			}
		}
		return m, nil
	}
}

// take keeps an answer and leaves to the SDK only the part that the SDK needs.
func (g *guard) take(m *jsonrpc.Response) (err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case m.Error != nil:
	case m.ID == g.hello:
		m.Result, err = g.greeting(m.Result)
	case m.ID == g.listing:
		m.Result, err = g.list(m.Result)
	}
	return err
}

func (g *guard) greeting(raw json.RawMessage) (json.RawMessage, error) {
	var hello struct {
		Version string `json:"protocolVersion"`
		Server  struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"serverInfo"`
		Instructions string `json:"instructions"`
	}
	if json.Unmarshal(raw, &hello) != nil {
		return nil, errors.New("initialize: unreadable answer")
	}
	text := hello.Instructions[:min(len(hello.Instructions), maxInstructions)]
	g.info = Info{
		Name: hello.Server.Name, Version: hello.Server.Version, Protocol: hello.Version, Instructions: strings.ToValidUTF8(text, ""),
	}
	return json.Marshal(map[string]any{"capabilities": struct{}{}, "protocolVersion": hello.Version, "serverInfo": hello.Server})
}

func (g *guard) list(raw json.RawMessage) (json.RawMessage, error) {
	var page struct {
		Tools      json.RawMessage `json:"tools"`
		NextCursor string          `json:"nextCursor"`
	}
	if json.Unmarshal(raw, &page) != nil {
		return nil, errors.New("tools/list: unreadable answer")
	}
	if len(page.Tools) == 0 || page.Tools[0] != '[' {
		return nil, errors.New("its answer to tools/list has no list of tools")
	}
	g.page = page.Tools
	return json.Marshal(mcp.ListToolsResult{Tools: []*mcp.Tool{}, NextCursor: page.NextCursor})
}
