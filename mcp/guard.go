package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
)

// What a server sends is bounded and looked at here, before the SDK reads it.

// Bounds on what a server may send. Bytes and requests are counted from this program's last request, or for a
// minute if it is older.
const (
	maxBytes    = 32 << 20 // of its output, or of all its HTTP bodies, unpacked; and of one list of tools
	maxRequests = 1_000    // of its own
)

// A guard bounds what one connection's server sends, and looks at its messages before the SDK does. It keeps
// pages of tools as they were sent: the SDK's own reading refuses a whole page for one wrong value, and sorts
// the keys of schemas. It is safe for concurrent use.
type guard struct {
	ctx     context.Context         // for all that concerns the connection
	end     context.CancelCauseFunc // of ctx
	stray   atomic.Int64            // lines of output that are not messages
	changed atomic.Bool             // the server has told that its list changed
	streams atomic.Int64            // open streams over which a server with a URL can tell so

	mu              sync.Mutex
	since           time.Time // when the counts began
	bytes, requests int64
	trouble         error           // the last fault of HTTP, unless a request went well since
	asked           json.RawMessage // ID of the last request for tools
	page            page            // the answer to it
}

// A page is a page of a server's list of tools.
type page struct {
	TTL   float64           `json:"ttlMs"`      // in milliseconds
	Scope string            `json:"cacheScope"` // "private" if only the user who asked may keep the page
	tools []json.RawMessage // objects, as the server sent them
}

func (g *guard) fail(err error) error {
	g.end(err)
	return err
}

// count counts what a server sends, as part of a message of a size.
func (g *guard) count(bytes, size, requests int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); now.Sub(g.since) > time.Minute {
		g.since, g.bytes, g.requests = now, 0, 0
	}
	g.bytes += bytes
	g.requests += requests
	switch {
	case max(g.bytes, size) > maxBytes:
		return g.fail(fmt.Errorf("it sent more than %d MiB", maxBytes>>20))
	case g.requests > maxRequests:
		return g.fail(fmt.Errorf("it made more than %d requests", maxRequests))
	}
	return nil
}

// hindered keeps what went wrong with a request over HTTP. Nil means that nothing did.
func (g *guard) hindered(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trouble = err
}

// takePage returns the last page.
func (g *guard) takePage() page {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.page
	g.page = page{}
	return p
}

// A message is as much of a message of JSON-RPC as the guard reads.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
}

// sent looks at a message of this program. It returns the method of a request.
func (g *guard) sent(data []byte) (method string) {
	var m message
	if json.Unmarshal(data, &m) != nil || m.Method == "" || m.ID == nil {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.since, g.bytes, g.requests = time.Now(), 0, 0
	if m.Method == "tools/list" {
		g.asked = m.ID
	}
	return m.Method
}

// received looks at a message of the server and returns what the SDK is to read of it. Nobody needs notifications, which
// the SDK queues without a bound: each becomes an answer that nobody waits for. What is not a message is returned as it is.
func (g *guard) received(data []byte) ([]byte, error) {
	if toolfile.TooDeep(data) { // only the stack bounds the SDK's parser
		return nil, g.fail(fmt.Errorf("it sent lists and objects that nest more than %d deep", toolfile.MaxDepth))
	}
	var m message
	var result map[string]json.RawMessage
	switch {
	case json.Unmarshal(data, &m) != nil:
		return data, nil
	case m.Method != "" && m.ID == nil:
		if m.Method == "notifications/tools/list_changed" {
			g.changed.Store(true)
		}
		return []byte(`{"jsonrpc":"2.0","id":"none","result":{}}`), nil
	case m.Method != "":
		return data, g.count(0, 0, 1)
	case m.Result == nil: // an error
		return data, nil
	}
	g.mu.Lock()
	isPage := g.asked != nil && bytes.Equal(m.ID, g.asked)
	g.mu.Unlock()
	switch err := json.Unmarshal(m.Result, &result); {
	case isPage && err != nil:
		return nil, g.fail(errors.New("tools/list: unreadable answer"))
	case isPage:
		if err := g.takeIn(m.Result, result); err != nil {
			return nil, g.fail(err)
		}
	case result["protocolVersion"] != nil || result["supportedVersions"] != nil:
		var capable sdk.ServerCapabilities // a wrong value among them shall not cost the server
		if json.Unmarshal(result["capabilities"], &capable) == nil {
			return data, nil
		}
		result["capabilities"] = json.RawMessage(`{"tools":{}}`)
	default:
		return data, nil
	}
	return json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
}

// takeIn keeps a page and leaves in result what the SDK can read. The SDK keeps no page: this package does.
func (g *guard) takeIn(raw json.RawMessage, result map[string]json.RawMessage) error {
	var p page
	if json.Unmarshal(raw, &p) != nil {
		p = page{}
	}
	if json.Unmarshal(result["tools"], &p.tools) != nil || p.tools == nil {
		return errors.New("its answer to tools/list has no list of tools")
	}
	readable := []json.RawMessage{}
	for _, t := range p.tools {
		if !isObject(t) {
			return errors.New("its list of tools: want a tool, an object with a name")
		}
		if json.Unmarshal(t, new(sdk.Tool)) == nil {
			readable = append(readable, t)
		}
	}
	g.mu.Lock()
	g.page = p
	g.mu.Unlock()
	delete(result, "ttlMs")
	data, err := json.Marshal(readable)
	result["tools"] = data
	return err
}

// counted reads what a server sends.
type counted struct {
	io.ReadCloser
	g    *guard
	size int64  // of the message so far
	end  func() // called when it is closed
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.size += int64(n)
	if wrong := c.g.count(int64(n), c.size, 0); wrong != nil {
		return 0, wrong
	}
	return n, err
}

func (c *counted) Close() error {
	defer c.end()
	return c.ReadCloser.Close()
}

// pieces reads what next returns, piece by piece, up to next's first error.
type pieces struct {
	io.Closer
	next func() ([]byte, error)
	rest []byte // of the piece that is being read
	err  error
}

func (s *pieces) Read(p []byte) (int, error) {
	for len(s.rest) == 0 && s.err == nil {
		s.rest, s.err = s.next()
	}
	if len(s.rest) == 0 {
		return 0, s.err
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

var (
	errEnded     = errors.New("it ended without an answer")
	errForgotten = errors.New("it knows the session no longer") // and did not look at the request
)

// explain describes an error of the SDK in terms of the server.
func (g *guard) explain(ctx context.Context, method string, err error) error {
	g.mu.Lock()
	trouble := g.trouble
	g.mu.Unlock()
	wire := (*jsonrpc.Error)(nil)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case g.ctx.Err() != nil && !errors.Is(context.Cause(g.ctx), context.Canceled):
		return context.Cause(g.ctx)
	case errors.Is(err, sdk.ErrSessionMissing):
		return fmt.Errorf("%s: %w", method, errForgotten)
	case trouble != nil:
		return fmt.Errorf("%s: %w", method, trouble)
	case errors.Is(err, errEnded), errors.Is(err, io.EOF), errors.Is(err, sdk.ErrConnectionClosed):
		return fmt.Errorf("%s: %w", method, errEnded)
	case errors.As(err, &wire):
		return fmt.Errorf("%s: error %d: %s", method, wire.Code, naming.OneLine(wire.Message, 300))
	}
	return fmt.Errorf("%s: %s", method, naming.OneLine(err.Error(), 300))
}
