package main

import (
	"context"
	"sync"

	"github.com/cloudwego/eino-ext/components/tool/mcp/officialmcp"
	"github.com/cloudwego/eino/components/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// live is the tools of a server that may change. Its Tools is a Config.Source: every run asks
// it, and the server is asked only after it announced a change.
type live struct {
	session *mcp.ClientSession
	server  string

	mu      sync.Mutex
	changes int // announced so far
	listed  int // announced when tools were listed; -1: never listed
	tools   []tool.BaseTool
}

// follow connects to a server. Its tools are not listed yet.
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

// Tools returns the tools as the server has them now. When it cannot be asked, that is an
// error, and the middleware goes on with the last good catalog. It is safe for concurrent use.
func (l *live) Tools(ctx context.Context) ([]tool.BaseTool, error) {
	l.mu.Lock()
	before, tools := l.changes, l.tools
	fresh := l.listed == before
	l.mu.Unlock()
	if fresh {
		return tools, nil
	}
	// Not under the lock: the server may be slow, and other runs need not wait for it.
	tools, err := officialmcp.GetTools(ctx, &officialmcp.Config{
		Cli:           l.session,
		ServerName:    l.server,
		ListToolsMode: officialmcp.ListToolsAllPages, // the default is the first page only
	})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if before > l.listed { // else another run listed them after a later change
		l.listed, l.tools = before, tools
	}
	return l.tools, nil
}
