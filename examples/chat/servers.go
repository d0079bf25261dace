package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino-ext/components/tool/mcp/officialmcp"
	"github.com/cloudwego/eino/components/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/eino-toolsearch/toolsearch"
)

// MCP servers, given as "-- command arguments" at the end of the command line.

// startTimeout is how long a server may take to start: npx downloads a package the first time.
// grace is how long it may take to end.
const (
	startTimeout = 3 * time.Minute
	grace        = 3 * time.Second
)

// commands splits arguments into those of the chat and the commands of servers, each of which
// comes after a "--".
func commands(args []string) (own []string, servers [][]string) {
	for i := slices.Index(args, "--"); i >= 0; i = slices.Index(args, "--") {
		rest := args[i+1:]
		end := slices.Index(rest, "--")
		if end < 0 {
			end = len(rest)
		}
		servers = append(servers, rest[:end])
		args = slices.Concat(args[:i], rest[end:])
	}
	return args, servers
}

// connect starts servers and returns a group of tools for each. What the servers write to
// standard error goes to complaints. stop ends the servers.
func connect(ctx context.Context, servers [][]string, complaints io.Writer) (groups []toolsearch.Group, stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, stop := range stops {
			stop()
		}
	}
	for _, command := range servers {
		group, stopServer, err := connectOne(ctx, command, complaints)
		if err != nil {
			stop()
			return nil, nil, fmt.Errorf("MCP server %q: %w", strings.Join(command, " "), err)
		}
		stops = append(stops, stopServer)
		group.Name = unlike(group.Name, groups)
		group.Prefix = len(servers) > 1 // tools of two servers may have one name
		groups = append(groups, group)
	}
	return groups, stop, nil
}

func connectOne(ctx context.Context, command []string, complaints io.Writer) (group toolsearch.Group, stop func(), err error) {
	if len(command) == 0 {
		return group, nil, errors.New("no command after --")
	}
	alive, kill := context.WithCancel(context.Background())
	process := exec.CommandContext(alive, command[0], command[1:]...)
	process.Stderr, process.WaitDelay = plain{complaints}, grace
	inGroup(process)
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	release := context.AfterFunc(ctx, kill) // the client would wait for a server that does not end
	client := mcp.NewClient(&mcp.Implementation{Name: "toolsearch-chat", Version: "0"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: process, TerminateDuration: grace}, nil)
	release()
	if err != nil {
		kill()
		return group, nil, err
	}
	config := &officialmcp.Config{
		Cli:           session,
		ListToolsMode: officialmcp.ListToolsAllPages,
		// A tool's error is a result that the model reads. Without the policy it ends the run.
		ResultPolicy: &officialmcp.ResultPolicy{ErrorAsError: new(bool)},
	}
	hello := session.InitializeResult()
	group.Description = hello.Instructions
	if hello.ServerInfo != nil {
		group.Name = named(hello.ServerInfo.Name)
	}
	// Every question asks the server for its tools, since they may change.
	group.Source = func(ctx context.Context) ([]tool.BaseTool, error) { return officialmcp.GetTools(ctx, config) }
	return group, func() {
		defer kill()
		defer time.AfterFunc(grace, kill).Stop() // closing waits for calls that may never end
		_ = session.Close()
	}, nil
}

// named returns a server's name as a Group takes it. A server may call itself anything.
func named(name string) string {
	name = strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}), "-")
	return strings.TrimRight(name[:min(len(name), 24)], "-")
}

// unlike makes a name that no group has yet.
func unlike(name string, groups []toolsearch.Group) string {
	if name == "" {
		name = "server"
	}
	unique := name
	for n := 2; slices.ContainsFunc(groups, func(g toolsearch.Group) bool { return g.Name == unique }); n++ {
		unique = fmt.Sprintf("%s-%d", name, n)
	}
	return unique
}

// plain writes text without characters that could control the terminal.
type plain struct{ io.Writer }

// Write implements io.Writer.
func (p plain) Write(text []byte) (int, error) {
	_, err := io.WriteString(p.Writer, printable(string(text)))
	return len(text), err
}
