package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudwego/eino-ext/components/tool/mcp/officialmcp"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/show"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// From a usual file of servers, {"mcpServers": {...}}, to Config.Groups: a group for each server,
// with the server's instructions as the description.

// startTimeout is how long a server of the file may take to start: npx downloads a package the
// first time. grace is how long a server may take to exit by itself before it is killed.
const (
	startTimeout = 3 * time.Minute
	grace        = 3 * time.Second
)

// serverEntry is a server of the file: a command to run, or the URL of a running server.
type serverEntry struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// readServers reads a file of servers, in the order of their names.
func readServers(file []byte) ([]*server, error) {
	var read struct {
		Servers map[string]serverEntry `json:"mcpServers"`
	}
	if err := json.Unmarshal(file, &read); err != nil {
		return nil, err
	}
	var servers []*server
	for _, name := range slices.Sorted(maps.Keys(read.Servers)) {
		entry := read.Servers[name]
		if (entry.Command == "") == (entry.URL == "") {
			return nil, fmt.Errorf("server %q: want a command or a url", name)
		}
		servers = append(servers, &server{name: name, entry: entry, patience: startTimeout})
	}
	return servers, nil
}

// showFile gives an agent the tools of a file's servers, and prints the list of them that its model
// sees.
func showFile(ctx context.Context, out io.Writer, path string) error {
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	servers, err := readServers(file)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, s := range servers {
		defer s.Close()
	}
	search, err := toolsearch.New(ctx, &toolsearch.Config{
		Groups: groupsOf(ctx, servers),
		Index:  toolsearch.BM25, // it reads "filesystem: find a note" and the servers' instructions
		OnEvent: func(_ context.Context, e toolsearch.Event) {
			if failure, ok := e.(*toolsearch.FailureEvent); ok { // the other servers still work
				fmt.Fprintln(out, failure.Err)
			}
		},
	})
	if err != nil {
		return err
	}
	// Replace this with a real chat model. This model plays a script and needs no key.
	model := toolsearchtest.NewModel[*schema.Message](toolsearchtest.Say("I have seen the list."))
	if err := show.Ask(ctx, io.Discard, model, "What can you do?", search); err != nil {
		return err
	}
	fmt.Fprintln(out, model.Requests()[0].Messages[0].Text)
	return nil
}

// groupsOf connects to all servers at once and makes a group of each. A server that cannot be
// reached now has no description, but its tools come as soon as it can be reached.
func groupsOf(ctx context.Context, servers []*server) []toolsearch.Group {
	groups := make([]toolsearch.Group, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		groups[i] = toolsearch.Group{
			Name:   s.name,
			Source: s.Tools,
			Prefix: true, // two servers may well have tools of the same name
		}
		all.Add(1)
		go func() {
			defer all.Done()
			if session, err := s.connect(ctx); err == nil {
				groups[i].Description = session.InitializeResult().Instructions
			}
		}()
	}
	all.Wait()
	return groups
}

// server is a server of the file. It is an officialmcp.ClientSession that survives a lost
// connection: the next listing or call connects anew.
type server struct {
	name     string
	entry    serverEntry
	patience time.Duration // how long the server may take to start

	mu      sync.Mutex // held while the server starts
	session *mcp.ClientSession
	kill    func() // ends the process of the session, if it has one
}

// Tools lists the server's tools. It is the Source of the server's group, which every run asks:
// a list that has not changed costs no new index.
func (s *server) Tools(ctx context.Context) ([]tool.BaseTool, error) {
	return officialmcp.GetTools(ctx, &officialmcp.Config{
		Cli:           s,
		ServerName:    s.name,
		ListToolsMode: officialmcp.ListToolsAllPages, // the default is the first page only
		MetadataMode:  officialmcp.MetadataFull,      // for the tag always-load
		// A tool's error is a result that the model reads. Otherwise it ends the agent's run.
		ResultPolicy: &officialmcp.ResultPolicy{ErrorAsError: new(bool)},
	})
}

// ListTools implements officialmcp.ClientSession. A listing changes nothing: if the connection was
// lost, ListTools asks once more.
func (s *server) ListTools(ctx context.Context, params *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	for again := false; ; again = true {
		session, err := s.connect(ctx)
		if err != nil {
			return nil, err
		}
		result, err := session.ListTools(ctx, params)
		if !isLost(ctx, err) {
			return result, err
		}
		s.lose(session)
		if again {
			return nil, err
		}
	}
}

// CallTool implements officialmcp.ClientSession. A server that cannot be reached is an error of
// the tool, for the model to read, unless the run is over. A call is sent once: if the connection
// was lost, the call may have taken effect all the same.
func (s *server) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	var result *mcp.CallToolResult
	session, err := s.connect(ctx)
	if err == nil {
		result, err = session.CallTool(ctx, params)
		if isLost(ctx, err) {
			s.lose(session)
			err = fmt.Errorf("the connection was lost, and whether %s took effect is unknown: %w", params.Name, err)
		}
	}
	if err != nil && ctx.Err() == nil {
		text := fmt.Sprintf("server %s: %v", s.name, err)
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	}
	return result, err
}

// isLost reports whether the connection ended before an answer came. IsConnectionError knows a
// connection that ended before the request. Any other error that is not JSON-RPC's, such as
// io.EOF, ended the connection now.
func isLost(ctx context.Context, err error) bool {
	var answer *jsonrpc.Error
	return err != nil && ctx.Err() == nil && (officialmcp.IsConnectionError(err) || !errors.As(err, &answer))
}

// connect returns the server's session, and starts the server if there is none. The error of a
// server that does not start ends with the last lines of the server's standard error.
func (s *server) connect(ctx context.Context) (*mcp.ClientSession, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session != nil {
		return s.session, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	stderr := &tail{}
	transport, kill := s.transport(stderr)
	release := context.AfterFunc(ctx, kill) // the client would wait for a server that does not end
	client := mcp.NewClient(&mcp.Implementation{Name: "toolsearch-example", Version: "0"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	release()
	if err != nil {
		kill()
		if ctx.Err() != nil { // the error of a killed server does not say why
			err = fmt.Errorf("%w (%w)", ctx.Err(), err)
		}
		return nil, fmt.Errorf("start: %w\n%s", err, stderr)
	}
	s.session, s.kill = session, kill
	return session, nil
}

// lose ends a session whose connection was lost. The next listing or call connects anew.
func (s *server) lose(session *mcp.ClientSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == session { // nobody else was quicker
		s.close()
	}
}

// transport returns a new transport to the server, and a function that ends the server's
// process. The standard error of the process goes to stderr.
func (s *server) transport(stderr io.Writer) (mcp.Transport, func()) {
	if s.entry.URL != "" {
		client := &http.Client{Transport: withHeaders(s.entry.Headers)}
		return &mcp.StreamableClientTransport{Endpoint: s.entry.URL, HTTPClient: client}, func() {}
	}
	alive, kill := context.WithCancel(context.Background())
	cmd := exec.CommandContext(alive, s.entry.Command, s.entry.Args...)
	// Only the file's variables: a server has no use for the secrets in this program's environment.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "SystemRoot=" + os.Getenv("SystemRoot")}
	for key, value := range s.entry.Env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	cmd.Stderr, cmd.WaitDelay = stderr, grace
	return &mcp.CommandTransport{Command: cmd, TerminateDuration: grace}, kill
}

// Close ends the connection, and the server's process.
func (s *server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close()
}

func (s *server) close() {
	if s.session != nil {
		// Closing waits for running calls, which may never end.
		defer time.AfterFunc(grace, s.kill).Stop()
		_ = s.session.Close()
		s.kill()
	}
	s.session = nil
}

// withHeaders are headers that every request gets.
type withHeaders map[string]string

// RoundTrip implements http.RoundTripper.
func (h withHeaders) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	for key, value := range h {
		request.Header.Set(key, value)
	}
	return http.DefaultTransport.RoundTrip(request)
}

// tail keeps the last bytes written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	t.buf = t.buf[max(0, len(t.buf)-1<<10):]
	return len(p), nil
}

// String implements fmt.Stringer.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}
