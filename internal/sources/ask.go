package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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

// How many calls can pile up at a Source that hangs, whatever their contexts say. After the timeout, another
// call may begin.
const (
	maxCalls      = 8    // of a caller
	maxGroupCalls = 1024 // of all callers
)

// A Source without PerCaller whose answers come back, of the last few, so often probably depends on who asks.
const (
	maxFormer  = 4
	minReturns = 5
)

// call is a call of a Source.
type call struct {
	number int           // later calls have greater numbers
	done   chan struct{} // closed at its end: an answer, an error, or the timeout
	err    error         // set at its end
	isLate bool          // a run has stopped waiting for it; guarded by Sources.mu
}

// Ask asks the Sources of all groups at once, and waits for their answers. It returns the callers that ctx is
// of, and errors by group. An answer that does not come in time is for a later Ask.
func (s *Sources) Ask(ctx context.Context) (Callers, []error) {
	graced, cancel := context.WithTimeout(ctx, min(Grace, s.rules.Timeout))
	defer cancel()
	mine, calls, errs := Callers(nil), []*call(nil), make([]error, len(s.groups))
	for i, g := range s.groups {
		id := callerID{group: i}
		if g.PerCaller != nil { // of a run that it panics for, nobody knows which tools it may have
			id.key, errs[i] = foreign.Guard(func() (string, error) { return g.PerCaller(ctx), nil })
		}
		if errs[i] != nil {
			errs[i] = fmt.Errorf("PerCaller: %w", errs[i])
		} else if g.Source != nil {
			s.mu.Lock()
			of := s.caller(id)
			mine, calls = append(mine, of), append(calls, s.begin(ctx, of))
			s.mu.Unlock()
		}
	}
	for i, of := range mine {
		errs[of.group] = s.await(ctx, graced, of, calls[i])
	}
	return mine, errs
}

// begin returns the call of a Source that is under way for a caller, or begins one, while Sources.mu is held. It
// returns nil if the Source rests.
func (s *Sources) begin(ctx context.Context, of *caller) *call {
	if of.call == nil && !time.Now().Before(of.resting) {
		of.asked++
		of.call = &call{number: of.asked, done: make(chan struct{})}
		go s.ask(context.WithoutCancel(ctx), of, of.call, of.current)
	}
	return of.call
}

// ask asks a Source. current is the caller's answer in the current snapshot; nil means none. An answer
// counts even if it comes after the timeout.
func (s *Sources) ask(ctx context.Context, of *caller, c *call, current *answer) {
	limited, cancel := context.WithTimeout(ctx, s.rules.Timeout)
	defer cancel()
	g := s.groups[of.group]
	_, err := foreign.Through(limited, of.calls, func(ctx context.Context) (*answer, error) {
		select {
		case g.calls <- struct{}{}:
			defer func() { <-g.calls }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		a, err := read(ctx, of, g.Source, current)
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
		of.resting, of.refused = time.Now().Add(s.rules.Timeout), nil
	case err != nil && c.isLate:
		of.failed, of.isSlow = err, false
	case err == nil:
		of.isSlow = c.isLate
	}
	c.err, of.call, of.isDown = err, nil, of.isDown || err != nil
	close(c.done)
}

func noAnswer(within time.Duration) error { return fmt.Errorf("no answer within %v", within) }

// take takes the answer to a call, unless that to a later call was faster.
func (s *Sources) take(of *caller, number int, a *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number < of.answered {
		return
	}
	newest := cmp.Or(of.pending, of.current)
	of.answered, of.failed, of.isDown, of.resting = number, nil, false, time.Time{}
	if newest != nil && !a.sameAs(newest) && s.groups[of.group].PerCaller == nil {
		if slices.ContainsFunc(of.former, a.sameAs) {
			of.returns++
		}
		of.former = append(of.former[max(0, len(of.former)+1-maxFormer):], newest)
	}
	of.pending, of.tools = a, len(a.list)
	s.settle(of)
}

// await waits for a call, which is nil if the Source rests. It returns the call's error, or that of an
// earlier call that nobody waited for.
func (s *Sources) await(ctx, graced context.Context, of *caller, c *call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	isNeeded := of.current == nil && of.pending == nil
	failed := of.failed
	of.failed = nil
	switch {
	case c == nil && of.refused != nil:
		return of.refused
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
	case of.call != c: // it is done
		of.failed = nil
		return c.err
	}
	isReported := c.isLate || of.isSlow
	c.isLate, of.isSlow, of.isDown = true, false, true
	if failed == nil && !isReported {
		failed = fmt.Errorf("%w; a later run takes it", noAnswer(min(Grace, s.rules.Timeout)))
	}
	return failed
}
