package sources

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// Asking. A Source is asked once at a time: runs that start meanwhile wait for the same call. A run that can
// do with an earlier answer waits no longer than the grace, and any other run no longer than the timeout. A
// late answer is for the next run.

// Grace is the longest that a run waits for a Source that has already given a good answer, or for the
// index of new tools. People hardly notice it at the start of a run, and most servers on a network answer
// within it. Most tests raise it, since the machine may be busy.
var Grace = 200 * time.Millisecond

// maxCalls is how many calls can pile up at a Source that hangs, whatever their contexts say. After the
// timeout, another call may begin.
const maxCalls = 8

// call is a call of a Source.
type call struct {
	number int           // later calls have greater numbers
	done   chan struct{} // closed at its end: an answer, an error, or the timeout
	err    error         // set at its end
	isLate bool          // a run has stopped waiting for it; guarded by Sources.mu
}

// Ask asks the Sources of all groups at once, and waits for their answers. The errors are by group. An
// answer that does not come in time is for a later Ask.
func (s *Sources) Ask(ctx context.Context) []error {
	graced, cancel := context.WithTimeout(ctx, min(Grace, s.rules.Timeout))
	defer cancel()
	calls, errs := make([]*call, len(s.groups)), make([]error, len(s.groups))
	for i, g := range s.groups {
		if g.Source != nil {
			calls[i] = s.begin(ctx, i)
		}
	}
	for i, g := range s.groups {
		if g.Source != nil {
			errs[i] = s.await(ctx, graced, i, calls[i])
		}
	}
	return errs
}

// begin returns the call of a group's Source that is under way, or begins one. It returns nil if the Source
// rests.
func (s *Sources) begin(ctx context.Context, of int) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[of]
	if g.call == nil && !time.Now().Before(g.resting) {
		g.asked++
		g.call = &call{number: g.asked, done: make(chan struct{})}
		go s.ask(context.WithoutCancel(ctx), of, g.call, s.current.answers[of])
	}
	return g.call
}

// ask asks a Source. current is the group's answer in the current snapshot; nil means none. An answer
// counts even if it comes after the timeout.
func (s *Sources) ask(ctx context.Context, of int, c *call, current *answer) {
	limited, cancel := context.WithTimeout(ctx, s.rules.Timeout)
	defer cancel()
	g := s.groups[of]
	_, err := foreign.Through(limited, g.calls, func(ctx context.Context) (*answer, error) {
		a, err := read(ctx, g.Source, current)
		if err == nil {
			s.take(of, c.number, a)
		}
		return a, err
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case errors.Is(err, context.DeadlineExceeded) && limited.Err() != nil:
		err = noAnswer(s.rules.Timeout)
		g.resting, g.refused = time.Now().Add(s.rules.Timeout), nil
	case err != nil && c.isLate:
		g.failed, g.isSlow = err, false
	case err == nil:
		g.isSlow = c.isLate
	}
	c.err, g.call, g.isDown = err, nil, g.isDown || err != nil
	close(c.done)
}

func noAnswer(within time.Duration) error { return fmt.Errorf("no answer within %v", within) }

// take takes the answer to a call, unless that to a later call was faster. An answer with the definitions of
// an earlier answer gets its version.
func (s *Sources) take(of, number int, a *answer) {
	g := s.groups[of]
	if a.version == 0 { // else it is the current answer again
		s.mu.Lock()
		known := [...]*answer{s.current.answers[of], g.pending}
		s.mu.Unlock()
		a.version = number
		for _, before := range known {
			if before != nil && a.equals(before) {
				a.version = before.version
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if number < g.answered {
		return
	}
	g.answered, g.failed, g.isDown, g.resting = number, nil, false, time.Time{}
	if g.pending = a; a.sameAs(s.current.answers[of]) {
		s.current, g.pending = s.current.with(of, a), nil
	}
}

// await waits for a call, which is nil if the Source rests. It returns the call's error, or that of an
// earlier call that nobody waited for.
func (s *Sources) await(ctx, graced context.Context, of int, c *call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[of]
	isNeeded := s.current.answers[of] == nil && g.pending == nil
	failed := g.failed
	g.failed = nil
	switch {
	case c == nil && g.refused != nil:
		return g.refused
	case c == nil && isNeeded:
		return noAnswer(s.rules.Timeout)
	case c == nil || c.isLate && !isNeeded:
		return failed
	case isNeeded:
		graced = ctx
	}
	s.mu.Unlock()
	select {
	case <-c.done:
	case <-graced.Done():
	}
	s.mu.Lock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case g.call != c: // it is done
		g.failed = nil
		return c.err
	}
	isReported := c.isLate || g.isSlow
	c.isLate, g.isSlow, g.isDown = true, false, true
	if failed == nil && !isReported {
		failed = fmt.Errorf("%w; a later run takes it", noAnswer(min(Grace, s.rules.Timeout)))
	}
	return failed
}
