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

// serverPackage is a tool in this module's go.mod, which pins its version and the versions of
// its dependencies.
const serverPackage = "github.com/github/github-mcp-server/cmd/github-mcp-server"

// grace is how long a program may take to exit by itself before it is killed.
const grace = 3 * time.Second

// connect builds GitHub's own MCP server, starts it and returns its tools.
// Listing the tools takes no network. Calling a tool fails: see serverEnv.
//
// ctx bounds the build, the start and the listing. After that the server runs until stop is
// called or this process ends.
func connect(ctx context.Context) (server *live, stop func() error, err error) {
	bin, remove, err := buildServer(ctx)
	if err != nil {
		return nil, nil, err
	}
	server, stopServer, err := start(ctx, serverEnv(), "github", bin, "stdio", "--toolsets", "all")
	// A running program no longer needs its file. With the file removed now, nothing is left
	// even if this process is killed. Windows refuses until the server has exited.
	remove()
	if err != nil {
		return nil, nil, err
	}
	return server, func() error {
		defer remove()
		return stopServer()
	}, nil
}

// serverEnv returns this process's environment with two changes:
//   - GITHUB_* is removed. The server reads options from it, so the user's own settings would
//     change the tools and give the server a real token.
//   - Nothing may leave this machine. GITHUB_HOST sends the server's requests to this machine,
//     always on port 80. At its start the server also asks for "raw.127.0.0.1", which is a name
//     to look up and not this machine. The proxy is a port where nothing listens; it catches
//     that request and any other.
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

// buildServer builds the server into a new folder, which remove deletes. With a warm build
// cache it only links. (`go tool -n` would name a cached program, but not every Go version
// has it there the first time.)
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
	cmd.Env = append(os.Environ(), "GOTMPDIR="+dir) // go leaves its files behind when ctx kills it
	cmd.WaitDelay = grace
	if out, err := cmd.CombinedOutput(); err != nil {
		remove()
		return "", nil, failure(ctx, "build "+serverPackage, err, string(out))
	}
	return bin, remove, nil
}

// sourceDir returns the folder of this file, whose go.mod names the server. It returns "",
// for the working directory, if the program was built with -trimpath or copied elsewhere.
func sourceDir() string {
	_, file, _, _ := runtime.Caller(0)
	dir := filepath.Dir(file)
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil || !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// start runs an MCP server that talks over stdin and stdout. It returns the server's tools,
// listed once, and a function that stops the server. If this process ends first, for any
// reason, the server's stdin is closed and the server exits too.
func start(ctx context.Context, env []string, server, bin string, args ...string) (*live, func() error, error) {
	alive, kill := context.WithCancel(context.Background())
	cmd := exec.CommandContext(alive, bin, args...)
	cmd.Env = env
	cmd.Dir = filepath.Dir(bin) // in the user's folder it would look for a configuration file
	cmd.WaitDelay = grace
	stderr := &tail{max: 16 << 10}
	cmd.Stderr = stderr
	what := "MCP server " + filepath.Base(bin)

	// The client also stops a server when ctx is done, but waits first.
	release := context.AfterFunc(ctx, kill)
	l, err := follow(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: grace}, server)
	if err != nil {
		kill()
		return nil, nil, failure(ctx, "connect to "+what, err, stderr.String())
	}
	stop := func() error {
		// Closing waits for running calls, which may never end.
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

// failure joins an error with the program's output. If ctx killed the program, the program's
// error does not say why, so failure takes the reason from ctx.
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
