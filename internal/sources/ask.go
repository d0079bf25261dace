package sources

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// Asking. No caller waits longer than the timeout, and a caller that can do with an earlier answer waits
// no longer than the grace. A late answer is kept for the next caller.

// Grace is the longest that a run waits for a Source that has already given a good answer. People
// hardly notice it at the start of a run, and most servers on a network answer within it. Most
// tests raise it, since the machine may be busy.
var Grace = 200 * time.Millisecond

// maxCalls bounds the concurrent calls of a Source, and so how many calls can pile up at a Source that
// hangs.
const maxCalls = 64

// call is a call of a Source.
type call struct {
	group    *group
	of       int             // the group's place
	number   int             // later calls have greater numbers
	wait     time.Duration   // how long the caller waits
	isNeeded bool            // the group has no good answer yet
	waiting  context.Context // of the caller; nil means that the Source rests
	stop     context.CancelFunc
	done     chan struct{} // closed at the end

	// guarded by Sources.mu
	isDone bool
	err    error // of a call that is done
	inTime bool  // the call was done while the caller waited
	isLate bool  // the caller has stopped waiting
}

// Ask asks the Sources of all groups at once, and waits for their answers. The errors are by group. An
// answer that does not come in time is for a later Ask.
func (s *Sources) Ask(ctx context.Context) []error {
	var calls []*call
	for i, g := range s.groups {
		if g.Source != nil {
			calls = append(calls, s.begin(ctx, i))
		}
	}
	errs := make([]error, len(s.groups))
	for _, c := range calls {
		errs[c.of] = s.await(ctx, c)
	}
	return errs
}

// begin begins to ask the Source of a group, unless it rests.
func (s *Sources) begin(ctx context.Context, of int) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, current := s.groups[of], s.current.answers[of]
	g.asked++
	c := &call{group: g, of: of, number: g.asked, wait: s.rules.Timeout, isNeeded: current == nil && g.pending == nil}
	if !c.isNeeded {
		c.wait = min(c.wait, Grace)
	}
	if !time.Now().Before(g.resting) {
		c.done = make(chan struct{})
		c.waiting, c.stop = context.WithTimeout(ctx, c.wait)
		go s.call(ctx, c, current)
	}
	return c
}

// call asks a Source. current is the group's answer in the current snapshot; nil means none.
func (s *Sources) call(ctx context.Context, c *call, current *answer) {
	defer close(c.done)
	select {
	case c.group.calls <- struct{}{}:
		defer func() { <-c.group.calls }()
	case <-c.waiting.Done():
		return
	}
	// The answer counts even if the run has ended by then.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.rules.Timeout)
	defer cancel()
	a, err := foreign.Guard(func() (*answer, error) { return read(limited, c.group.Source, current) })
	if err == nil {
		c.group.comparing.Lock()
		defer c.group.comparing.Unlock()
		s.number(c, a)
	}
	s.settle(c, a, err)
}

// number gives an answer the version of an earlier answer with the same definitions, or a new one.
func (s *Sources) number(c *call, a *answer) {
	if a.version > 0 { // the current answer again
		return
	}
	s.mu.Lock()
	known := [...]*answer{s.current.answers[c.of], c.group.pending}
	s.mu.Unlock()
	a.version = c.number
	for _, before := range known {
		if before != nil && a.equals(before) {
			a.version = before.version
		}
	}
}

// settle records the outcome of a call.
func (s *Sources) settle(c *call, a *answer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := c.group
	c.isDone, c.err, c.inTime = true, err, c.waiting.Err() == nil
	if err == nil {
		g.resting = time.Time{}
	}
	switch {
	case c.number < g.answered: // a newer answer was faster
	case err == nil:
		g.answered, g.failed, g.slow = c.number, nil, c.isLate
		if g.pending = a; a.sameAs(s.current.answers[c.of]) {
			s.current, g.pending = s.current.with(c.of, a), nil
		}
	case c.isLate:
		g.failed, g.slow = err, false
	}
}

// await waits for a call. It returns the call's error, or that of an earlier call that came late.
func (s *Sources) await(ctx context.Context, c *call) error {
	if c.waiting != nil {
		select {
		case <-c.done:
		case <-c.waiting.Done():
		}
		defer c.stop()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g, tooLong := c.group, fmt.Errorf("no answer within %v", c.wait)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case c.isDone && (c.err == nil || c.inTime):
		g.failed, g.slow = nil, false
		return c.err
	case c.waiting == nil && g.refused != nil:
		return g.refused
	}
	isReported := g.slow || time.Now().Before(g.resting) // by an earlier run, or a concurrent one
	if c.waiting != nil {
		c.isLate = true
		g.resting, g.refused = time.Now().Add(s.rules.Timeout), nil
	}
	if c.isNeeded {
		return tooLong
	}
	err := cmp.Or(g.failed, c.err)
	if err == nil && !isReported {
		err = fmt.Errorf("%w; a later run takes it", tooLong)
	}
	g.failed, g.slow = nil, g.slow && c.waiting == nil
	return err
}
