package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudwego/eino/components/tool"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/singleflight"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Servers and who asks them: when a list is still good, when a connection is made anew, and what is never sent twice.

// A server is one of a file's.
type server struct {
	name  string
	at    Server // filled in
	file  File
	ctx   context.Context // done after Close
	kept  *manifest
	first *caller        // who connected
	work  sync.WaitGroup // that has begun before Close

	mu      sync.Mutex
	callers map[string]*caller // at most maxCallers
}

// A caller is a server as one caller knows it.
type caller struct {
	of     *server
	key    string
	used   time.Time       // guarded by of.mu
	stored []tool.BaseTool // for answers until the server has answered or failed
	flight singleflight.Group

	mu       sync.Mutex
	conn     *conn // nil: none yet
	list     *list // the last; nil: none yet
	tools    []tool.BaseTool
	failed   error // why the list could not be had the last time
	isUnread bool  // nobody has waited for list or failed
}

// caller returns the server as the caller of ctx knows it.
func (s *server) caller(ctx context.Context) *caller {
	key := ""
	if s.isPerCaller() {
		key = s.file.PerCaller(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.callers[key]
	if c == nil {
		if len(s.callers) == maxCallers {
			s.forgetOne()
		}
		c = &caller{of: s, key: key}
		if !s.isPerCaller() {
			c.stored = s.toolsOf(s.kept.of(s.name).Tools)
		}
		s.callers[key] = c
	}
	c.used = time.Now()
	return c
}

// isPerCaller reports whether each caller has a connection of their own.
func (s *server) isPerCaller() bool { return s.file.PerCaller != nil && s.at.URL != "" }

// forgetOne forgets the caller that was idle longest.
func (s *server) forgetOne() {
	byUse := func(a, b *caller) int { return a.used.Compare(b.used) }
	oldest := slices.MinFunc(slices.Collect(maps.Values(s.callers)), byUse)
	go oldest.close()
	delete(s.callers, oldest.key)
}

// tools is the Source of the server's group.
func (s *server) tools(ctx context.Context) ([]tool.BaseTool, error) {
	c := s.caller(ctx)
	if tools, err, ok := c.answer(true); ok {
		return tools, err
	}
	asked := c.ask(ctx)
	c.mu.Lock()
	stored := c.stored
	c.mu.Unlock()
	if stored != nil {
		return stored, nil
	}
	select {
	case <-asked:
		tools, err, _ := c.answer(false)
		return tools, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// answer returns the last answer. If it must be good, ok says whether it is still: an answer that nobody has waited for is.
func (c *caller) answer(mustBeGood bool) (tools []tool.BaseTool, err error, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if mustBeGood && !c.isUnread && !c.isFresh() {
		return nil, nil, false
	}
	c.isUnread = false
	if c.failed != nil {
		return nil, c.failed, true
	}
	return c.tools, nil, true
}

// isFresh reports whether the last list is still good.
func (c *caller) isFresh() bool {
	switch {
	case c.failed != nil || c.list == nil || c.list.from != c.conn || c.isOneTime(c.list):
		return false
	case c.conn.isOver.Load() || c.conn.guard.changed.Load():
		return false
	}
	age := time.Since(c.list.at)
	return age < c.list.ttl || age < maxAge && c.conn.tells()
}

// isOneTime reports whether a list is for the user who asked alone, and it is not known who that is.
func (c *caller) isOneTime(l *list) bool {
	return l.isPrivate && c.of.file.Headers != nil && !c.of.isPerCaller()
}

// ask begins to ask for the list, or joins those who have. It goes on when ctx is done: a later run takes the answer.
func (c *caller) ask(ctx context.Context) <-chan singleflight.Result {
	return c.flight.DoChan("list", func() (any, error) {
		ctx, cancel := c.of.patient(ctx)
		defer cancel()
		err := c.refresh(ctx)
		if err != nil {
			err = fmt.Errorf("the server %s: %w", c.of.label(), err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.failed, c.stored, c.isUnread = err, nil, true
		return nil, nil
	})
}

// patient returns the context of work that goes on when ctx is done, for as long as a server may take to start. Close waits
// for its end.
func (s *server) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := func() {}
	if s.ctx.Err() == nil {
		s.work.Add(1)
		done = s.work.Done
	}
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	release := context.AfterFunc(s.ctx, func() { end(context.Cause(s.ctx)) })
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("no answer within %v", startTime))
	return ctx, func() {
		release()
		cancel()
		end(nil)
		done()
	}
}

// refresh asks for the list, and once more if the connection turns out to be lost.
func (c *caller) refresh(ctx context.Context) error {
	for {
		conn, isNew, err := c.connected(ctx)
		if err != nil {
			return err
		}
		got, err := conn.list(ctx)
		if err == nil {
			c.take(ctx, got)
			return nil
		}
		if isEnd(err) {
			conn.close()
		}
		if !isEnd(err) || isNew {
			return conn.withLastWords(err)
		}
	}
}

// isEnd reports whether a connection is of no use any more.
func isEnd(err error) bool { return errors.Is(err, errEnded) || errors.Is(err, errForgotten) }

// take keeps a list and makes its tools, which are those of the last list if it is the same.
func (c *caller) take(ctx context.Context, got *list) {
	c.mu.Lock()
	last, tools := c.list, c.tools
	c.mu.Unlock()
	if last == nil || !slices.EqualFunc(last.tools, got.tools, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		if tools = c.of.toolsOf(got.tools); !c.of.isPerCaller() && !c.isOneTime(got) {
			if err := c.of.kept.keep(c.of.name, c.info().Instructions, got.tools); err != nil {
				c.of.tell(ctx, fmt.Errorf("manifest: %w", err))
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list, c.tools = got, tools
}

// connected returns the connection, and makes one if there is none or it was lost.
func (c *caller) connected(ctx context.Context) (_ *conn, isNew bool, err error) {
	c.mu.Lock()
	last := c.conn
	c.mu.Unlock()
	switch {
	case last != nil && !last.isOver.Load():
		return last, false, nil
	case c.of.ctx.Err() != nil:
		return nil, false, context.Cause(c.of.ctx)
	}
	asked := c.flight.DoChan("connect", func() (any, error) {
		ctx, cancel := c.of.patient(ctx)
		defer cancel()
		made, err := c.of.connect(ctx)
		if err != nil {
			return nil, err
		}
		c.mu.Lock()
		c.conn = made
		c.mu.Unlock()
		c.of.mu.Lock()
		isForgotten := c.of.callers[c.key] != c
		c.of.mu.Unlock()
		switch {
		case c.of.ctx.Err() != nil:
			err = context.Cause(c.of.ctx)
		case isForgotten:
			err = fmt.Errorf("more than %d callers at a time", maxCallers)
		default:
			return made, nil
		}
		c.close()
		return nil, err
	})
	select {
	case made := <-asked:
		conn, _ := made.Val.(*conn)
		return conn, true, made.Err
	case <-ctx.Done():
		return nil, true, context.Cause(ctx)
	}
}

// call calls a tool. An error is a result, unless ctx is done. If the server has forgotten the session, and so did not look at
// the call, it is called once more.
func (c *caller) call(ctx context.Context, name, arguments string) (string, error) {
	params := &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)}
	switch {
	case strings.TrimSpace(arguments) == "":
		params.Arguments = nil
	case !json.Valid([]byte(arguments)):
		return failed + "the arguments are not JSON", nil
	}
	for {
		conn, isNew, err := c.connected(ctx)
		var result *sdk.CallToolResult
		if err == nil {
			result, err = conn.call(ctx, params)
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err == nil {
			return textOf(result), nil
		}
		if conn != nil && isEnd(err) {
			conn.close()
			if errors.Is(err, errForgotten) && !errors.Is(err, errUnknown) && !isNew {
				continue
			}
		}
		return fmt.Sprintf("%sserver %s: %v", failed, c.of.label(), err), nil
	}
}

// info returns what the server has said about itself, or said to an earlier program.
func (c *caller) info() Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	info := Info{Instructions: c.of.kept.of(c.of.name).Instructions}
	if c.conn != nil {
		info = c.conn.info()
	}
	info.Namespace, info.Instructions = c.of.name, strings.ToValidUTF8(info.Instructions[:min(len(info.Instructions), maxGreeting)], "")
	return info
}

func (c *caller) close() {
	c.mu.Lock()
	last := c.conn
	c.mu.Unlock()
	if last != nil {
		last.isUnwanted.Store(true)
		last.close()
	}
}

func (s *server) close() {
	s.mu.Lock()
	callers := maps.Clone(s.callers)
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, c := range callers {
		all.Go(c.close)
	}
	all.Wait()
	within(3*closeTime, s.work.Wait)
}

// label names the server in an error.
func (s *server) label() string {
	if s.name != "" {
		return naming.OneLine(s.name, 100)
	}
	return naming.OneLine(s.at.String(), 200)
}

// tell reports a failure that nobody waits for.
func (s *server) tell(ctx context.Context, err error) {
	if s.file.OnEvent != nil {
		s.file.OnEvent(context.WithoutCancel(ctx), &toolsearch.FailureEvent{Part: toolsearch.PartSource, Group: s.name, Err: err})
	}
}
