package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
)

// Servers that are processes speak over standard input and output, a message a line.

const (
	maxErrorBytes = 4 << 10 // kept from the end of standard error
	maxLastLines  = 20      // of it in an error; Node.js prints a trace behind its errors
)

var closeTime = 2 * time.Second // for a server to end by itself, before it is killed

// inherited are the variables of this program's environment that a server gets: those that programs need to
// run, on Unix and on Windows.
var inherited = []string{
	"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER",
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES",
	"SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

// A process is a server that runs as one.
type process struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	stderr  tail
	exited  chan struct{} // closed after its end
}

// start starts a server, which is killed when ctx is done.
func (s *server) start(ctx context.Context, g *guard) (*process, sdk.Transport, error) {
	p := &process{command: exec.CommandContext(ctx, s.at.Command, s.at.Args...), exited: make(chan struct{})}
	inGroup(p.command)
	p.command.WaitDelay, p.command.Dir, p.command.Stderr = closeTime, s.at.Cwd, &p.stderr
	p.command.Env = []string{} // nil would mean this program's
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			p.command.Env = append(p.command.Env, name+"="+value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.at.Env)) {
		p.command.Env = append(p.command.Env, name+"="+s.at.Env[name])
	}
	stdin, err := p.command.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	p.stdin = pipeEnd{stdin, g}
	if err := p.command.Start(); err != nil {
		return nil, nil, err
	}
	// A child that left the server's group may hold the pipes after the kill. Closing this end ends
	// every read and write of ours.
	release := context.AfterFunc(ctx, func() {
		stdin.Close()
		stdout.Close()
	})
	output, read := &counted{ReadCloser: stdout, g: g}, make(chan struct{})
	lines := bufio.NewReader(output)
	next := func() ([]byte, error) {
		output.size = 0
		line, err := g.line(lines)
		if err != nil {
			close(read)
		}
		return line, err
	}
	go func() {
		select {
		case <-read:
		case <-ctx.Done(): // nobody may be reading
		}
		_ = p.command.Wait()   // the status does not matter
		_ = p.command.Cancel() // what it started and left
		release()
		close(p.exited)
	}()
	return p, &sdk.IOTransport{Reader: &pieces{Closer: io.NopCloser(nil), next: next}, Writer: p.stdin, MaxLineLength: -1}, nil
}

// leave gives a healthy server the time to exit, which it does when its input ends.
func (p *process) leave() {
	p.stdin.Close()
	select {
	case <-p.exited:
	case <-time.After(closeTime):
	}
}

// pipeEnd writes to a server. A closed pipe means that the server has ended, which it reports in the
// reader's words.
type pipeEnd struct {
	io.WriteCloser
	g *guard
}

func (p pipeEnd) Write(b []byte) (int, error) {
	p.g.sent(b)
	n, err := p.WriteCloser.Write(b)
	if err != nil {
		err = errEnded
	}
	return n, err
}

// line reads a line of a server's output and returns what the SDK is to read of it. Servers also print logs and greetings
// there; such lines are counted and dropped, since the SDK would give up over them.
func (g *guard) line(output *bufio.Reader) (kept []byte, err error) {
	line, err := output.ReadBytes('\n')
	switch line = bytes.TrimSpace(line); {
	case len(line) == 0:
	case !isMessage(line):
		g.stray.Add(1)
	default:
		kept, wrong := g.received(line)
		return append(kept, '\n'), wrong
	}
	if err == io.EOF {
		err = errEnded
	}
	return nil, err
}

// isMessage asks the SDK last, since the SDK is slow to refuse what is not JSON. A line that nests too deep for
// either is left to the guard.
func isMessage(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("{")) {
		return false
	}
	if toolfile.TooDeep(line) {
		return true
	}
	if !json.Valid(line) {
		return false
	}
	_, err := jsonrpc.DecodeMessage(line)
	return err == nil
}

// A tail keeps the last maxErrorBytes that a process wrote to its standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-maxErrorBytes):]...)
	t.text = append([]byte(nil), t.text[max(0, len(t.text)-maxErrorBytes):]...)
	return len(p), nil
}

// said returns the last lines for an error message, or "" if there are none.
func (t *tail) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	said := ""
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.text), "")), "\n")
	for _, line := range lines[max(0, len(lines)-maxLastLines):] {
		if line = strings.TrimSpace(naming.OneLine(line, 200)); line != "" {
			said += "\n\t" + line
		}
	}
	if said == "" {
		return ""
	}
	return "; its last output:" + said
}
