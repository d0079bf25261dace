package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serverPackage is a tool of this module's go.mod, which fixes its version and
// those of all it needs.
const serverPackage = "github.com/github/github-mcp-server/cmd/github-mcp-server"

// grace is how long a program may take to end by itself before it is made to.
const grace = 3 * time.Second

// connect builds GitHub's own MCP server, starts it and returns its tools.
// Listing them takes no network, and calling one fails: see serverEnv.
//
// ctx bounds the build, the start and the listing, not what comes after: the
// server runs until stop is called or this process ends.
func connect(ctx context.Context) (server *live, stop func() error, err error) {
	bin, remove, err := buildServer(ctx)
	if err != nil {
		return nil, nil, err
	}
	server, stopServer, err := start(ctx, serverEnv(), "github", bin, "stdio", "--toolsets", "all")
	// A running program no longer needs its file: with it removed now, nothing is
	// left even if this process is killed. Windows refuses until the server ended.
	remove()
	if err != nil {
		return nil, nil, err
	}
	return server, func() error {
		defer remove()
		return stopServer()
	}, nil
}

// serverEnv is this process's environment, but for two things:
//   - the server looks for options in GITHUB_*: the user's own would change the
//     tools, and hand it their real token;
//   - nothing may leave this machine. GITHUB_HOST sends the server's requests to
//     this machine, on port 80, since it ignores the port given. When it starts it
//     also asks for "raw.127.0.0.1", which isn't this machine but a name to look
//     up: the proxy, a port where nobody listens, catches that and anything else.
func serverEnv() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(strings.ToUpper(kv), "GITHUB_")
	})
	return append(env,
		"GITHUB_PERSONAL_ACCESS_TOKEN=dummy",
		"GITHUB_HOST=http://127.0.0.1:9",
		"HTTP_PROXY=http://127.0.0.1:9",
		"HTTPS_PROXY=http://127.0.0.1:9",
		"NO_PROXY=", "no_proxy=")
}

// buildServer builds the server into a new folder, which remove removes. With a
// warm build cache that is only the linking. (`go tool -n` would name a cached
// program, but not every Go version has it there the first time.)
func buildServer(ctx context.Context) (bin string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "mcp-server-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	bin = filepath.Join(dir, "github-mcp-server")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}

	cmd := exec.CommandContext(ctx, "go", "build", "-o", bin, serverPackage)
	cmd.Dir = sourceDir()
	cmd.Env = append(os.Environ(), "GOTMPDIR="+dir) // go leaves its files behind when ctx ends it
	cmd.WaitDelay = grace
	if out, err := cmd.CombinedOutput(); err != nil {
		remove()
		return "", nil, failure(ctx, "build "+serverPackage, err, string(out))
	}
	return bin, remove, nil
}

// sourceDir returns the folder of this file, whose go.mod names the server. It
// returns "", for the working directory, if the program doesn't know or is no
// longer near its source: built with -trimpath, or copied elsewhere.
func sourceDir() string {
	_, file, _, _ := runtime.Caller(0)
	dir := filepath.Dir(file)
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil || !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// start runs an MCP server that talks over its stdin and stdout, and returns
// its tools, listed once, and a function that ends it. If this process ends first, however
// that happens, the server's stdin is closed and it ends as well.
func start(ctx context.Context, env []string, server, bin string, args ...string) (*live, func() error, error) {
	alive, kill := context.WithCancel(context.Background())
	cmd := exec.CommandContext(alive, bin, args...)
	cmd.Env = env
	cmd.Dir = filepath.Dir(bin) // not the user's, where it would look for a configuration file
	cmd.WaitDelay = grace
	stderr := &tail{max: 16 << 10}
	cmd.Stderr = stderr
	what := "MCP server " + filepath.Base(bin)

	// The client, too, ends a server when ctx is done, but gives it time first.
	release := context.AfterFunc(ctx, kill)
	l, err := follow(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: grace}, server)
	if err != nil {
		kill()
		return nil, nil, failure(ctx, "connect to "+what, err, stderr.String())
	}
	stop := func() error {
		// Closing waits for calls under way, which may never end.
		defer kill()
		defer time.AfterFunc(grace, kill).Stop()
		if err := l.session.Close(); err != nil {
			return failure(context.Background(), "stop "+what, err, stderr.String())
		}
		return nil
	}

	_, err = l.Tools(ctx)
	if err == nil && !release() {
		err = ctx.Err() // ctx ended just now, and the server with it
	}
	if err != nil {
		_ = stop()
		return nil, nil, failure(ctx, "list the tools of "+what, err, stderr.String())
	}
	return l, stop, nil
}

// failure joins what happened with what the program said about it. A program
// that ctx ended reports only that it was ended: the reason comes from ctx.
func failure(ctx context.Context, what string, err error, output string) error {
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w (%w)", ctx.Err(), err)
	}
	if output = strings.TrimSpace(output); output != "" {
		output = "\n" + output
	}
	return fmt.Errorf("%s: %w%s", what, err, output)
}

// tail keeps the last bytes written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
	max int
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	t.buf = t.buf[max(0, len(t.buf)-t.max):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
