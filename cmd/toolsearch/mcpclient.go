package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync/atomic"
	"time"
)

// A client of the Model Context Protocol that only lists a server's tools:
//
//	-> initialize              <- its result
//	-> notifications/initialized
//	-> tools/list              <- tools, and a cursor if there are more
//
// A message is one line of JSON.
//
// The official SDK is not used for two reasons. It would become a dependency of every user of
// the library, unless this command were a module of its own; that module would need a replace
// directive, and "go install ...@latest" refuses a program with such a directive. Also, the
// SDK's transport does not bound what a server sends.

// Bounds on what a server may send.
const (
	maxServerBytes = 32 << 20 // of standard output
	maxTools       = 10_000
	maxPages       = 1_000
	maxErrorBytes  = 4 << 10 // kept from the end of standard error
	maxReplies     = 1_000   // to the server's own requests
	closeTime      = 2 * time.Second
)

// protocolVersion is the revision asked for. tools/list is the same in all revisions.
const protocolVersion = "2025-06-18"

// A serverInfo is what a server says about itself.
type serverInfo struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	Protocol   string `json:"protocol"`
	StrayLines int    `json:"stray_lines,omitempty"` // output lines that are not messages
}

// listTools starts a server, asks it for its tools and stops it. When ctx is done first, the
// error is ctx's cause.
func listTools(ctx context.Context, command []string) ([]definition, *serverInfo, error) {
	// Cancelling running kills the process. ctx stays separate, to tell a timeout from an
	// ordinary end.
	running, end := context.WithCancel(ctx)
	defer end()
	process := exec.CommandContext(running, command[0], command[1:]...)
	inGroup(process)
	process.WaitDelay = closeTime
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
	s := &session{to: stdin, from: make(chan message)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.read(running, stdout)
	}()
	tools, info, err := s.list(ctx)

	// A healthy server exits when its input ends, and the reader then sees the end of its
	// output. Its remaining messages are dropped.
	stdin.Close()
	if err == nil {
		go func() {
			for range s.from {
			}
		}()
		select {
		case <-read:
		case <-time.After(closeTime):
		case <-ctx.Done():
		}
	}
	end()
	_ = process.Wait() // the exit status does not matter: the server has answered or was killed
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, nil, fmt.Errorf("the server %s: %w%s", oneLine(command[0], 100), err, stderr.said())
	}
	info.StrayLines = int(s.stray.Load())
	return tools, info, nil
}

// A message is a JSON-RPC message. A request has an id and a method, a notification only a
// method, a response only an id.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string {
	return fmt.Sprintf("error %d: %s", e.Code, oneLine(e.Message, 300))
}

var errEnded = errors.New("it ended without an answer")

// A session is one conversation with a server.
type session struct {
	to      io.Writer
	from    chan message
	ended   error        // why from was closed
	stray   atomic.Int64 // lines that are not messages
	lastID  int
	replies int
}

// read passes on messages until the server's output ends.
func (s *session) read(ctx context.Context, r io.Reader) {
	defer close(s.from)
	limited := &io.LimitedReader{R: r, N: maxServerBytes}
	lines := bufio.NewReader(limited)
	for {
		line, err := lines.ReadBytes('\n')
		line = bytes.TrimSpace(line)
		var m message
		if len(line) > 0 && line[0] == '{' && json.Unmarshal(line, &m) == nil {
			select {
			case s.from <- m:
			case <-ctx.Done():
				return
			}
		} else if len(line) > 0 {
			s.stray.Add(1)
		}
		if err != nil {
			s.ended = errEnded
			if limited.N <= 0 {
				s.ended = fmt.Errorf("it sent more than %d MiB", maxServerBytes>>20)
			}
			return
		}
	}
}

func (s *session) list(ctx context.Context) ([]definition, *serverInfo, error) {
	var hello struct {
		ProtocolVersion string     `json:"protocolVersion"`
		ServerInfo      serverInfo `json:"serverInfo"`
	}
	err := s.call(ctx, &hello, "initialize", map[string]any{
		"protocolVersion": protocolVersion,
		"capabilities":    map[string]any{},
		"clientInfo":      map[string]any{"name": "toolsearch", "version": "1"},
	})
	if err != nil {
		return nil, nil, err
	}
	if err := s.send(map[string]any{"method": "notifications/initialized"}); err != nil {
		return nil, nil, err
	}
	var tools []definition
	cursor := ""
	for n := 1; ; n++ {
		var next string
		if tools, next, err = s.page(ctx, tools, cursor); err != nil {
			return nil, nil, err
		}
		if next == "" {
			break
		}
		if next == cursor || n == maxPages {
			return nil, nil, fmt.Errorf("its list of tools has no end: page %d is not the last", n)
		}
		cursor = next
	}
	info := hello.ServerInfo
	info.Protocol = hello.ProtocolVersion
	return tools, &info, nil
}

// page adds the tools of one page to tools, and returns the cursor of the next page.
func (s *session) page(ctx context.Context, tools []definition, cursor string) (_ []definition, next string, err error) {
	params := map[string]any{}
	if cursor != "" {
		params["cursor"] = cursor
	}
	var page struct {
		Tools      json.RawMessage `json:"tools"`
		NextCursor string          `json:"nextCursor"`
	}
	if err := s.call(ctx, &page, "tools/list", params); err != nil {
		return nil, "", err
	}
	if len(page.Tools) == 0 || page.Tools[0] != '[' {
		return nil, "", errors.New("its answer to tools/list has no list of tools")
	}
	if tools, err = appendDefinitions(tools, page.Tools); err != nil {
		return nil, "", fmt.Errorf("its list of tools: %w", err)
	}
	if len(tools) > maxTools {
		return nil, "", fmt.Errorf("it has more than %d tools", maxTools)
	}
	return tools, page.NextCursor, nil
}

// call makes a request and waits for its response. Meanwhile it answers the server's
// requests: a ping with success, everything else with "not supported".
func (s *session) call(ctx context.Context, result any, method string, params any) error {
	s.lastID++
	id := fmt.Sprint(s.lastID)
	if err := s.send(map[string]any{"id": s.lastID, "method": method, "params": params}); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m, ok := <-s.from:
			switch {
			case !ok:
				return fmt.Errorf("%s: %w", method, s.ended)
			case m.Method != "" && m.ID != nil:
				if err := s.reply(m); err != nil {
					return err
				}
			case m.Method != "" || string(m.ID) != id:
			case m.Error != nil:
				return fmt.Errorf("%s: %w", method, m.Error)
			default:
				if err := json.Unmarshal(m.Result, result); err != nil {
					return fmt.Errorf("%s: unreadable answer: %w", method, err)
				}
				return nil
			}
		}
	}
}

func (s *session) reply(m message) error {
	if s.replies++; s.replies > maxReplies {
		return fmt.Errorf("it made more than %d requests", maxReplies)
	}
	if m.Method == "ping" {
		return s.send(map[string]any{"id": m.ID, "result": map[string]any{}})
	}
	return s.send(map[string]any{"id": m.ID, "error": rpcError{-32601, "not supported"}})
}

func (s *session) send(m map[string]any) error {
	m["jsonrpc"] = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if _, err = s.to.Write(append(line, '\n')); err != nil {
		return errEnded // the pipe is closed; the reader reports a server's end in the same words
	}
	return nil
}
