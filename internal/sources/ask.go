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

// Asking. A Source is asked once at a time: runs that start meanwhile wait for the same attempt, no longer than the
// grace if they can do with an earlier listing, and else no longer than the timeout. A late listing is for the next
// run.

// Grace is the longest that a run waits for a Source that has already given a good listing, or for the index of new
// tools. People hardly notice it, and most servers on a network answer within it. Most tests raise it.
var Grace = 200 * time.Millisecond

// How many attempts can pile up at a Source that hangs, one after each timeout.
const (
	maxAttempts      = 8    // of a caller
	maxGroupAttempts = 1024 // of all callers
)

// A Source without PerCaller probably depends on who asks if one of its last listings comes back that often.
const (
	maxReplaced = 4
	minReturns  = 5
)

// An attempt is one call of a Source.
type attempt struct {
	began  time.Time
	done   chan struct{} // closed at its end: a listing, an error, or the timeout
	err    error         // set at its end
	isLate bool          // a run has given up waiting for it; guarded by Sources.mu
}

// Ask asks the Sources of all groups at once, and waits for their listings. It returns the run's callers, and what
// failed, by group.
func (s *Sources) Ask(ctx context.Context) (Callers, []error) {
	graced, cancel := context.WithTimeout(ctx, min(Grace, s.rules.Timeout))
	defer cancel()
	mine, attempts, failures := Callers(nil), []*attempt(nil), make([]error, len(s.groups))
	for i, g := range s.groups {
		key := ""
		if g.PerCaller != nil { // if it panics, nobody knows which tools the run may have, so it gets none
			key, failures[i] = foreign.Guard(func() (string, error) { return g.PerCaller(ctx), nil })
		}
		if failures[i] != nil {
			failures[i] = fmt.Errorf("PerCaller: %w", failures[i])
		} else if g.Source != nil {
			s.mu.Lock()
			c := s.caller(i, key)
			if now := time.Now(); c.attempt == nil && !now.Before(c.restsUntil) {
				c.attempt = &attempt{began: now, done: make(chan struct{})}
				go s.ask(context.WithoutCancel(ctx), c, c.attempt, c.current)
			}
			mine, attempts = append(mine, c), append(attempts, c.attempt) // nil if the Source rests
			s.mu.Unlock()
		}
	}
	for i, c := range mine {
		failures[c.group] = s.await(ctx, graced, c, attempts[i])
	}
	return mine, failures
}

// ask makes an attempt. current is the listing in the snapshot, or nil. A listing counts after the timeout too.
func (s *Sources) ask(ctx context.Context, c *caller, a *attempt, current *listing) {
	limited, cancel := context.WithTimeout(ctx, s.rules.Timeout)
	defer cancel()
	g := s.groups[c.group]
	_, err := foreign.Through(limited, c.gate, func(ctx context.Context) (*listing, error) {
		select {
		case g.gate <- struct{}{}:
			defer func() { <-g.gate }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		l, err := read(ctx, c, g.Source, current)
		if err == nil {
			s.take(c, a, l)
		}
		return l, err
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case errors.Is(err, context.DeadlineExceeded) && limited.Err() != nil:
		err = noAnswer(s.rules.Timeout)
		c.restsUntil, c.restingWhy = time.Now().Add(s.rules.Timeout), nil
	case err != nil && a.isLate:
		c.unreported, c.isSlow = err, false
	case err == nil:
		c.isSlow = a.isLate
	}
	a.err, c.attempt, c.isDown = err, nil, c.isDown || err != nil
	close(a.done)
}

func noAnswer(within time.Duration) error { return fmt.Errorf("no answer within %v", within) }

// take makes the listing of an attempt the newest. It drops the listing if an attempt that began later was faster.
func (s *Sources) take(c *caller, a *attempt, l *listing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.began.Before(c.answered) {
		return
	}
	newest := cmp.Or(c.pending, c.current)
	if newest != nil && !l.sameAs(newest) && s.groups[c.group].PerCaller == nil {
		if slices.ContainsFunc(c.replaced, l.sameAs) {
			c.returns++
		}
		c.replaced = append(c.replaced[max(0, len(c.replaced)+1-maxReplaced):], newest)
	}
	c.answered, c.pending, c.trouble = a.began, l, trouble{isSlow: c.isSlow, refusal: c.refusal}
	s.settle(c)
}

// await waits for an attempt; nil means that the Source rests. It returns what the run reports: why this attempt
// failed, or an earlier one that no run waited for.
func (s *Sources) await(ctx, graced context.Context, c *caller, a *attempt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	unreported, hasNone := c.unreported, c.current == nil && c.pending == nil
	c.unreported = nil
	switch {
	case a == nil && c.restingWhy != nil:
		return c.restingWhy
	case a == nil && hasNone:
		return noAnswer(s.rules.Timeout)
	case a == nil || a.isLate && !hasNone:
		return unreported
	case hasNone:
		graced = ctx
	}
	s.mu.Unlock()
	select {
	case <-a.done:
	case <-graced.Done():
	}
	s.mu.Lock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case c.attempt != a: // it is done
		c.unreported = nil
		return a.err
	}
	isReported := a.isLate || c.isSlow
	a.isLate, c.isSlow, c.isDown = true, false, true
	if unreported == nil && !isReported {
		unreported = fmt.Errorf("%w; a later run takes it", noAnswer(min(Grace, s.rules.Timeout)))
	}
	return unreported
}
