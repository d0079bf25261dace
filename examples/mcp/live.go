package main

import (
	"context"
	"sync"

	"github.com/cloudwego/eino-ext/components/tool/mcp/officialmcp"
	"github.com/cloudwego/eino/components/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// live holds a server's tools, which may change. Tools is a Config.Source: every run calls
// it, but it asks the server only after the server announced a change.
type live struct {
	session *mcp.ClientSession
	server  string

	mu      sync.Mutex
	changes int // changes announced so far
	listed  int // changes at the time of the last listing; -1 means never listed
	tools   []tool.BaseTool
}

// follow connects to a server. It does not list the tools yet.
func follow(ctx context.Context, transport mcp.Transport, server string) (*live, error) {
	l := &live{server: server, listed: -1}
	client := mcp.NewClient(&mcp.Implementation{Name: "toolsearch-example", Version: "0"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.changes++
		},
	})
	var err error
	l.session, err = client.Connect(ctx, transport, nil)
	return l, err
}

// Tools returns the server's current tools. It fails if the server cannot be asked; the
// middleware then keeps the last good catalog. It is safe for concurrent use.
func (l *live) Tools(ctx context.Context) ([]tool.BaseTool, error) {
	l.mu.Lock()
	before, tools := l.changes, l.tools
	fresh := l.listed == before
	l.mu.Unlock()
	if fresh {
		return tools, nil
	}
	// The lock is not held here, so other runs do not wait for a slow server.
	tools, err := officialmcp.GetTools(ctx, &officialmcp.Config{
		Cli:           l.session,
		ServerName:    l.server,
		ListToolsMode: officialmcp.ListToolsAllPages, // the default is the first page only
		// A tool's error is a result that the model reads. Otherwise it ends the agent's run.
		ResultPolicy: &officialmcp.ResultPolicy{ErrorAsError: new(bool)},
	})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if before > l.listed { // otherwise another run has a newer list
		l.listed, l.tools = before, tools
	}
	return l.tools, nil
}
