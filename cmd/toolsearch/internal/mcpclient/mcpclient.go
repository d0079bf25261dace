// Package mcpclient asks a server of the Model Context Protocol for its tools. The official SDK
// speaks the protocol. What the SDK leaves to its user is here: a server is not trusted, so a guard
// (guard.go) bounds what it sends over a process's output (process.go) or over HTTP (http.go).
package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
)

// Bounds on what a server may send.
const (
	maxServerBytes  = 32 << 20 // of its output, or of all its HTTP bodies, unpacked
	maxTools        = 10_000
	maxPages        = 1_000
	maxErrorBytes   = 4 << 10 // kept from the end of standard error
	maxReplies      = 1_000   // to the server's own requests
	maxInstructions = 2 << 10 // bytes of the server's instructions that are kept
	closeTime       = 2 * time.Second
)

// An Endpoint is how to reach one server: a command to start, or a URL.
type Endpoint struct {
	Namespace string // of its tools; "" means none
	Command   []string
	Env       []string // "NAME=value", in addition to this program's environment
	Dir       string
	URL       string
	Headers   http.Header
	Kind      string // over HTTP: Streamable, SSE, or "" to try both in turn
}

const (
	Streamable = "http"
	SSE        = "sse"
)

// An Info is what a server says about itself.
type Info struct {
	Namespace    string `json:"namespace,omitempty"` // what its user calls it
	Name         string `json:"name"`
	Version      string `json:"version"`
	Protocol     string `json:"protocol"`
	Instructions string `json:"instructions,omitempty"` // up to 2 KiB
	StrayLines   int    `json:"stray_lines,omitempty"`  // output lines that are not messages
}

// List asks a server for its tools. A process is started for it and stopped after it. When
// ctx is done first, the error is ctx's cause.
func List(ctx context.Context, at Endpoint) ([]toolfile.Tool, *Info, error) {
	var tools []toolfile.Tool
	var info *Info
	var err error
	if at.URL != "" {
		tools, info, err = listOverHTTP(ctx, at)
	} else {
		tools, info, err = listFromProcess(ctx, at)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the server %s: %w", at, err)
	}
	info.Namespace = at.Namespace
	return tools, info, nil
}

// String names the server in an error. A URL's user and query may hold a secret.
func (at Endpoint) String() string {
	switch {
	case at.Namespace != "":
		return cli.OneLine(at.Namespace, 100)
	case at.URL != "":
		return cli.OneLine(bareURL(at.URL), 200)
	}
	return cli.OneLine(at.Command[0], 100)
}

// bareURL returns a URL without the parts that may be secret.
func bareURL(text string) string {
	address, err := url.Parse(text)
	if err != nil || address.Host == "" { // nobody knows where its secrets end
		return "(unreadable URL)"
	}
	address.User, address.RawQuery, address.ForceQuery = nil, "", false
	address.Fragment, address.RawFragment = "", ""
	return address.String()
}

// ask lists the tools over a transport. hangUp is called after the last request. It ends
// whatever may keep the session from closing.
func ask(ctx context.Context, transport mcp.Transport, g *guard, hangUp func()) ([]toolfile.Tool, *Info, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "toolsearch", Version: "1"},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}) // the server may ask for nothing
	session, err := client.Connect(ctx, guarded{transport, g}, nil)
	if err != nil {
		hangUp()
		return nil, nil, g.explain(ctx, "initialize", err)
	}
	tools, err := pages(ctx, session, g)
	if err != nil {
		err = g.explain(ctx, "tools/list", err)
	}
	hangUp()
	within(ctx, func() { _ = session.Close() })
	if err != nil {
		return nil, nil, err
	}
	return tools, g.server(), nil
}

// within waits until f has ended, but not for long.
func within(ctx context.Context, f func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	select {
	case <-ended:
	case <-time.After(closeTime):
	case <-ctx.Done():
	}
}

// pages asks for one page of tools after another.
func pages(ctx context.Context, session *mcp.ClientSession, g *guard) (tools []toolfile.Tool, err error) {
	cursor := ""
	for n := 1; ; n++ {
		page, err := session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		err = toolfile.Tools(g.tools(), func(t toolfile.Tool) error {
			tools = append(tools, t)
			return nil
		})
		if err != nil {
			return nil, g.fail(fmt.Errorf("its list of tools: %w", err))
		}
		switch {
		case len(tools) > maxTools:
			return nil, g.fail(fmt.Errorf("it has more than %d tools", maxTools))
		case page.NextCursor == "":
			return tools, nil
		case page.NextCursor == cursor || n == maxPages:
			return nil, g.fail(fmt.Errorf("its list of tools has no end: page %d is not the last", n))
		}
		cursor = page.NextCursor
	}
}

var errEnded = errors.New("it ended without an answer")

// explain describes an error of the SDK in terms of the server.
func (g *guard) explain(ctx context.Context, method string, err error) error {
	g.mu.Lock()
	trouble := g.trouble
	g.mu.Unlock()
	wire := (*jsonrpc.Error)(nil)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case trouble != nil:
		return fmt.Errorf("%s: %w", method, trouble)
	case errors.Is(err, errEnded), errors.Is(err, io.EOF), errors.Is(err, mcp.ErrConnectionClosed):
		return fmt.Errorf("%s: %w", method, errEnded)
	case errors.As(err, &wire):
		return fmt.Errorf("%s: error %d: %s", method, wire.Code, cli.OneLine(wire.Message, 300))
	}
	return fmt.Errorf("%s: %s", method, cli.OneLine(err.Error(), 300))
}
