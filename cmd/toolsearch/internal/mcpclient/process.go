package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
)

// Servers that are processes speak over standard input and output, a message a line.

// listFromProcess starts a server, asks it for its tools and stops it.
func listFromProcess(ctx context.Context, at Endpoint) ([]toolfile.Tool, *Info, error) {
	ctx, g := newGuard(ctx) // its end kills the process
	defer g.end(nil)
	process := exec.CommandContext(ctx, at.Command[0], at.Command[1:]...)
	inGroup(process)
	process.WaitDelay = closeTime
	process.Dir = at.Dir
	process.Env = append(process.Environ(), at.Env...)
	stderr := &tail{}
	process.Stderr = stderr
	stdin, err := process.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := process.Start(); err != nil {
		return nil, nil, fmt.Errorf("starting the server: %w", err)
	}
	// A child that left the server's group may hold the pipes after the kill. Closing this end
	// ends every read and write of ours.
	defer context.AfterFunc(ctx, func() {
		stdin.Close()
		stdout.Close()
	})()
	output := &messageLines{from: bufio.NewReader(counted{stdout, g}), g: g}
	transport := &mcp.IOTransport{Reader: io.NopCloser(output), Writer: pipeEnd{stdin}}
	tools, _, err := ask(ctx, transport, g, func() { stdin.Close() })
	// A healthy server exits when its input ends, and its output then ends. Whatever it still
	// writes is counted and dropped.
	if err == nil {
		within(ctx, func() { _, _ = io.Copy(io.Discard, output) })
	}
	g.end(nil)
	_ = process.Wait() // the exit status does not matter: the server has answered or was killed
	if err != nil {
		return nil, nil, fmt.Errorf("%w%s", err, stderr.said())
	}
	return tools, g.server(), nil
}

// pipeEnd writes to a server. A closed pipe means that the server has ended, which it
// reports in the reader's words.
type pipeEnd struct{ io.WriteCloser }

func (p pipeEnd) Write(b []byte) (int, error) {
	n, err := p.WriteCloser.Write(b)
	if err != nil {
		err = errEnded
	}
	return n, err
}

// messageLines reads the lines of a server's output that are messages. Servers also print logs
// and greetings there; such lines are counted and dropped, since the SDK would give up over them.
type messageLines struct {
	mu   sync.Mutex
	from *bufio.Reader
	g    *guard
	rest []byte // of the line that is being read
}

func (l *messageLines) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.rest) == 0 {
		line, err := l.from.ReadBytes('\n')
		line = bytes.TrimSpace(line)
		switch {
		case bytes.HasPrefix(line, []byte("{")) && l.g.nests(line) != nil:
			return 0, errEnded // the guard knows why
		case isMessage(line):
			l.rest = append(line, '\n')
		case len(line) > 0:
			l.g.stray.Add(1)
		}
		if len(l.rest) == 0 && err != nil {
			if err == io.EOF {
				err = errEnded
			}
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// isMessage asks the SDK last, since the SDK is slow to refuse what is not JSON.
func isMessage(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("{")) || !json.Valid(line) {
		return false
	}
	_, err := jsonrpc.DecodeMessage(line)
	return err == nil
}
