package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// Connections: how one is made in a revision that the server knows, what is asked and called over it, and how it ends.

// Bounds on one list of tools, beside maxBytes.
const (
	maxTools = 10_000
	maxPages = 1_000
)

// A conn is a connection to a server.
type conn struct {
	guard      *guard
	session    *sdk.ClientSession
	process    *process    // nil over HTTP
	isOver     atomic.Bool // it has ended, or is about to
	isUnwanted atomic.Bool // its end is no loss
}

// connect connects to the server. The connection outlives ctx, whose values its requests have. If the kind of connection is
// not known, connect tries streamable HTTP, and SSE where the server refuses that, as the protocol advises.
func (s *server) connect(ctx context.Context) (*conn, error) {
	if s.at.URL == "" {
		// Servers that know no request before "initialize" may not answer it at all, so it comes first.
		c, err := s.dial(ctx, stdio, "2025-11-25")
		if answer := (*jsonrpc.Error)(nil); !errors.As(err, &answer) {
			return c, err
		}
		if c, second := s.dial(ctx, stdio, ""); second == nil {
			return c, nil
		}
		return nil, err
	}
	if s.at.Type == sse {
		return s.dial(ctx, sse, "2024-11-05")
	}
	c, err := s.dial(ctx, streamable, "")
	if errors.Is(err, errEnded) { // over its answer to a first request that older servers do not know
		c, err = s.dial(ctx, streamable, "2025-11-25")
	}
	status := refusal(0)
	if s.at.Type != "" || !errors.As(err, &status) || !status.isOfKind() {
		return c, err
	}
	c, second := s.dial(ctx, sse, "2024-11-05")
	if second != nil {
		second = fmt.Errorf("%w; and by SSE: %w", err, second)
	}
	return c, second
}

// dial makes a connection of a kind and greets the server in a version of the protocol, "" for the newest.
func (s *server) dial(ctx context.Context, kind, version string) (c *conn, err error) {
	living, end := context.WithCancelCause(context.WithoutCancel(ctx))
	c = &conn{guard: &guard{ctx: living, end: end}}
	greeting, stop := context.WithCancelCause(ctx) // ends with either
	defer stop(nil)
	defer context.AfterFunc(living, func() { stop(context.Cause(living)) })()
	// What begins here goes on in living, which ends too if the greeting is not over in time.
	defer context.AfterFunc(greeting, func() { end(context.Cause(greeting)) })()
	transport := sdk.Transport(nil)
	if kind == stdio {
		if c.process, transport, err = s.start(living, c.guard); err != nil {
			end(err)
			return nil, fmt.Errorf("starting the server: %w", err)
		}
	} else {
		transport = s.overHTTP(c.guard, kind)
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "toolsearch", Version: "1"}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, // the server may ask for nothing
		// The guard hears of changes. With a handler, the SDK asks newer servers to tell.
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {},
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true}, // it calls again
	})
	c.session, err = client.Connect(living, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		err = c.guard.explain(greeting, "initialize", err)
		c.close()
		return nil, c.withLastWords(err)
	}
	go s.watch(living, c)
	return c, nil
}

// watch waits for the end of a connection, and tells of one that was lost.
func (s *server) watch(ctx context.Context, c *conn) {
	err := cmp.Or(c.session.Wait(), errEnded)
	c.isOver.Store(true)
	if c.isUnwanted.Load() {
		return
	}
	err = fmt.Errorf("the connection was lost: %w", c.guard.explain(ctx, "session", err))
	c.close()
	s.tell(ctx, c.withLastWords(err))
}

// close ends the connection, and the server's process.
func (c *conn) close() {
	c.isOver.Store(true)
	if c.process != nil {
		c.process.leave()
	} else if c.session != nil {
		within(closeTime, func() { _ = c.session.Close() })
	}
	c.guard.end(nil)
	if c.process != nil {
		<-c.process.exited
	}
	if c.session != nil {
		within(closeTime, func() { _ = c.session.Close() })
	}
}

// within waits until f has ended, but not for long.
func within(limit time.Duration, f func()) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, _ = await(ctx, func() (any, error) { f(); return nil, nil })
}

// withLastWords adds what a process that has ended wrote to its standard error.
func (c *conn) withLastWords(err error) error {
	if c.process == nil {
		return err
	}
	return fmt.Errorf("%w%s", err, c.process.stderr.said())
}

// info returns what the server says about itself.
func (c *conn) info() Info {
	hello := c.session.InitializeResult()
	info := Info{Protocol: hello.ProtocolVersion, Instructions: hello.Instructions, StrayLines: int(c.guard.stray.Load())}
	if hello.ServerInfo != nil {
		info.Name, info.Version = hello.ServerInfo.Name, hello.ServerInfo.Version
	}
	return info
}

// A list is a server's tools at a time.
type list struct {
	from      *conn
	tools     []json.RawMessage // as the server sent them
	at        time.Time
	ttl       time.Duration
	isPrivate bool // only the user who asked may have it again
}

// list asks for the tools, one page after another.
func (c *conn) list(ctx context.Context) (*list, error) {
	c.guard.changed.Store(false)
	got := &list{from: c, at: time.Now(), ttl: maxAge}
	cursor, size := "", 0
	for pages := 1; ; pages++ {
		answer, err := await(ctx, func() (*sdk.ListToolsResult, error) {
			return c.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		})
		if err != nil {
			return nil, c.guard.explain(ctx, "tools/list", err)
		}
		p := c.guard.takePage()
		got.tools = append(got.tools, p.tools...)
		for _, t := range p.tools {
			size += len(t)
		}
		got.ttl = min(got.ttl, time.Duration(max(0, min(p.TTL, maxAge.Seconds()*1000)))*time.Millisecond)
		got.isPrivate = got.isPrivate || p.Scope == "private"
		switch {
		case len(got.tools) > maxTools:
			err = fmt.Errorf("it has more than %d tools", maxTools)
		case size > maxBytes:
			err = fmt.Errorf("it sent more than %d MiB", maxBytes>>20)
		case answer.NextCursor == "":
			return got, nil
		case answer.NextCursor == cursor || pages == maxPages:
			err = fmt.Errorf("its list of tools has no end: page %d is not the last", pages)
		}
		if err != nil {
			return nil, c.guard.fail(err)
		}
		cursor = answer.NextCursor
	}
}

// tells reports whether the server says when its list changes.
func (c *conn) tells() bool {
	able := c.session.InitializeResult().Capabilities
	return able != nil && able.Tools != nil && able.Tools.ListChanged && (c.process != nil || c.guard.streams.Load() > 0)
}

// call calls a tool. An error that may mean that the server got the call, and did not answer, is errUnknown.
func (c *conn) call(ctx context.Context, params *sdk.CallToolParams) (*sdk.CallToolResult, error) {
	var fault error // of the request over HTTP that has the call
	requesting, end := context.WithCancel(context.WithValue(ctx, faultKey{}, &fault))
	defer func() { time.AfterFunc(closeTime, end) }() // an answered call's stream might go on
	result, err := await(ctx, func() (*sdk.CallToolResult, error) { return c.session.CallTool(requesting, params) })
	if err == nil || ctx.Err() != nil {
		return result, err
	}
	var op *net.OpError
	var status refusal
	_, isAnswer := errors.Unwrap(err).(*jsonrpc.Error) // deeper, it is about another request
	told := c.guard.explain(ctx, "tools/call", err)
	switch {
	case fault == nil && isAnswer:
		return nil, told
	case errors.Is(fault, errForgotten), errors.As(fault, &status) && status < 500, errors.As(fault, &op) && op.Op == "dial":
		return nil, fmt.Errorf("tools/call: %w", fault)
	}
	return nil, fmt.Errorf("the connection was lost, and %w: %w", errUnknown, told)
}

// await returns what f returns, unless ctx ends before. The SDK writes to a server that reads nothing without regard to ctx.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	value, err := foreign.Through(ctx, make(foreign.Gate, 1), func(context.Context) (T, error) { return f() })
	if err != nil && err == ctx.Err() {
		err = context.Cause(ctx)
	}
	return value, err
}

var errUnknown = errors.New("whether the call took effect is unknown")
