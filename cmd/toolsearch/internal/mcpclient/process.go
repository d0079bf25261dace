package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
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
	var stderr tail // complete once the process has been waited for
	process.Stderr = &stderr
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
	lines := bufio.NewReader(counted{stdout, g})
	output := &pieces{Closer: io.NopCloser(nil), next: func() ([]byte, error) { return g.message(lines) }}
	transport := &mcp.IOTransport{Reader: output, Writer: pipeEnd{stdin}}
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

// message returns the next line of a server's output that is a message. Servers also print logs and
// greetings there; such lines are counted and dropped, since the SDK would give up over them.
func (g *guard) message(output *bufio.Reader) ([]byte, error) {
	for {
		line, err := output.ReadBytes('\n')
		line = bytes.TrimSpace(line)
		switch {
		case bytes.HasPrefix(line, []byte("{")) && g.nests(line) != nil:
			return nil, errEnded // the guard knows why
		case isMessage(line):
			return append(line, '\n'), nil
		case len(line) > 0:
			g.stray.Add(1)
		}
		if err == io.EOF {
			err = errEnded
		}
		if err != nil {
			return nil, err
		}
	}
}

// isMessage asks the SDK last, since the SDK is slow to refuse what is not JSON.
func isMessage(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("{")) || !json.Valid(line) {
		return false
	}
	_, err := jsonrpc.DecodeMessage(line)
	return err == nil
}

// A tail keeps the last maxErrorBytes that a process wrote to its standard error.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	text := append(*t, p[max(0, len(p)-maxErrorBytes):]...)
	*t = append(tail(nil), text[max(0, len(text)-maxErrorBytes):]...)
	return len(p), nil
}

// said returns the last lines for an error message, or "" if there are none.
func (t tail) said() string {
	said := ""
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t), "")), "\n")
	for _, line := range lines[max(0, len(lines)-5):] {
		if line = cli.OneLine(line, 200); line != "" {
			said += "\n\t" + line
		}
	}
	if said == "" {
		return ""
	}
	return "; its last output:" + said
}
