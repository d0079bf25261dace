package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
)

// A guard bounds what one server sends, and keeps its answers as they were sent: the SDK's own
// reading refuses a whole page for one wrong value, and sorts the keys of schemas. It is safe for
// concurrent use.
type guard struct {
	mu      sync.Mutex
	bytes   int64 // received
	passed  error // the first bound that was exceeded
	trouble error // the last fault of HTTP
	asked   int   // requests of the server's own
	stray   int   // lines that are not messages
	hello   jsonrpc.ID
	listing jsonrpc.ID
	info    Info
	page    json.RawMessage
}

// fail keeps the first error it is given, which says more than the SDK's own error.
func (g *guard) fail(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.passed == nil {
		g.passed = err
	}
	return err
}

// hindered keeps what went wrong with a request over HTTP.
func (g *guard) hindered(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trouble = err
}

func (g *guard) failure() (passed, trouble error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.passed, g.trouble
}

// server returns what the server said about itself.
func (g *guard) server() *Info {
	g.mu.Lock()
	defer g.mu.Unlock()
	info := g.info
	info.StrayLines = g.stray
	return &info
}

// tools returns the list of the last page.
func (g *guard) tools() json.RawMessage {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.page
}

func (g *guard) strayLine() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stray++
}

var errTooDeep = fmt.Errorf("it sent lists and objects that nest more than %d deep", toolfile.MaxDepth)

// nests refuses JSON that nests too deep: only the stack bounds the SDK's parser.
func (g *guard) nests(message []byte) error {
	if toolfile.TooDeep(message) {
		return g.fail(errTooDeep)
	}
	return nil
}

// counted reads what a server sends, up to maxServerBytes over all readers of the guard.
type counted struct {
	from io.Reader
	g    *guard
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.g.mu.Lock()
	c.g.bytes += int64(n)
	over := c.g.bytes > maxServerBytes
	c.g.mu.Unlock()
	if over {
		return 0, c.g.fail(fmt.Errorf("it sent more than %d MiB", maxServerBytes>>20))
	}
	return n, err
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
	if request, ok := m.(*jsonrpc.Request); ok {
		c.g.mu.Lock()
		switch request.Method {
		case "initialize":
			c.g.hello = request.ID
		case "tools/list":
			c.g.listing = request.ID
		}
		c.g.mu.Unlock()
	}
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
			c.g.mu.Lock()
			c.g.asked++
			over := c.g.asked > maxReplies
			c.g.mu.Unlock()
			if over {
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
		ProtocolVersion string `json:"protocolVersion"`
		ServerInfo      struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"serverInfo"`
		Instructions string `json:"instructions"`
	}
	if json.Unmarshal(raw, &hello) != nil {
		return nil, errors.New("initialize: unreadable answer")
	}
	text := hello.Instructions
	if len(text) > maxInstructions {
		text = text[:maxInstructions]
	}
	g.info = Info{
		Name: hello.ServerInfo.Name, Version: hello.ServerInfo.Version, Protocol: hello.ProtocolVersion,
		Instructions: strings.ToValidUTF8(text, ""),
	}
	hello.Instructions = ""
	return json.Marshal(struct {
		Capabilities struct{} `json:"capabilities"`
		Version      string   `json:"protocolVersion"`
		Info         any      `json:"serverInfo"`
	}{struct{}{}, hello.ProtocolVersion, hello.ServerInfo})
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
