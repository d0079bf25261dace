package toolsource

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cloudwego/eino/components/tool"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// The newest good answer of a source that may fail, hang, or ignore its context. Each call runs on a
// goroutine of its own. No caller waits longer than the timeout, and a caller that can use an earlier
// answer waits no longer than the grace. A late answer is kept for the next caller.

// Grace is the longest that a run waits for a source that has already given a good answer. People
// hardly notice it at the start of a run, and most servers on a network answer within it. Most
// tests raise it, since the machine may be busy.
var Grace = 200 * time.Millisecond

// maxAsking bounds the concurrent calls of a source, and so how many calls can pile up at a
// source that hangs.
const maxAsking = 64

// A Source is a source of tools. It is safe for concurrent use.
type Source struct {
	ask            func(ctx context.Context) ([]tool.BaseTool, error)
	timeout, grace time.Duration
	calls          foreign.Gate

	mu       sync.Mutex // guards the fields below and the fields of calls; held briefly
	asked    int        // number of answers asked for
	accepted int        // the number of the newest answer that was accepted; 0 means none
	came     *Answer    // the newest good answer that has not been used; nil means none
	failed   error      // why a call failed after its caller stopped waiting; nil once it was reported
	slow     bool       // the last good answer came late, which was reported
	resting  time.Time  // the source took too long, and is not asked before this time
}

// New returns a source that asks ask. timeout bounds a call and how long a caller waits for the first
// good answer. grace bounds how long a caller with a good answer waits for a newer one.
func New(ask func(ctx context.Context) ([]tool.BaseTool, error), timeout, grace time.Duration) *Source {
	return &Source{ask: ask, timeout: timeout, grace: grace, calls: make(foreign.Gate, maxAsking)}
}

// call is a call of a source.
type call struct {
	isDone bool
	err    error // of a call that is done
	isLate bool  // its caller has stopped waiting
}

// Newest asks the source. It returns the newest good answer that was not accepted or used before:
// from this call, or from a call whose caller did not wait. current is the answer that was accepted
// last; nil means none. An error may come with an answer.
func (s *Source) Newest(ctx context.Context, current *Answer) (*Answer, error) {
	s.mu.Lock()
	s.asked++
	a := &Answer{Number: s.asked}
	hasAnswer, isResting := s.accepted > 0 || s.fresh() != nil, time.Now().Before(s.resting)
	s.mu.Unlock()
	wait := s.timeout
	if hasAnswer {
		wait = min(wait, s.grace)
	}
	c, isExpired := &call{}, false
	if !isResting {
		waiting, cancel := context.WithTimeout(ctx, wait)
		_, _ = foreign.Through(waiting, s.calls, func(context.Context) (any, error) {
			// The answer counts even if the run has ended by then.
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
			defer cancel()
			_, err := foreign.Guard(func() (any, error) { return nil, a.read(limited, s.ask, current) })
			s.note(c, a, err)
			return nil, nil
		})
		isExpired = waiting.Err() != nil
		cancel()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case isResting && !hasAnswer:
		return nil, fmt.Errorf("no answer within %v", wait)
	case isResting:
	case c.isDone && (c.err == nil || !isExpired):
		s.failed, s.slow = nil, false
		return s.fresh(), c.err
	default:
		c.isLate = true
		isReported := s.slow || time.Now().Before(s.resting) // by a concurrent run
		s.resting = time.Now().Add(s.timeout)
		if !hasAnswer {
			return s.fresh(), fmt.Errorf("no answer within %v", wait)
		}
		s.failed = cmp.Or(s.failed, c.err)
		if s.failed == nil && !isReported {
			s.failed = fmt.Errorf("no answer within %v; a later run takes it", wait)
		}
		s.slow = false
	}
	err := s.failed
	s.failed = nil
	return s.fresh(), err
}

// note records the outcome of a call.
func (s *Source) note(c *call, a *Answer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.isDone, c.err = true, err
	newest := s.accepted
	if came := s.fresh(); came != nil {
		newest = came.Number
	}
	if err == nil {
		s.resting = time.Time{}
	}
	switch {
	case a.Number < newest: // a newer answer was faster
	case err == nil:
		s.came, s.failed, s.slow = a, nil, c.isLate
	case c.isLate:
		s.failed, s.slow = err, false
	}
}

// fresh returns the unused answer, if no newer answer was accepted meanwhile. The caller holds mu.
func (s *Source) fresh() *Answer {
	if s.came != nil && s.came.Number <= s.accepted {
		s.came = nil
	}
	return s.came
}

// Accept records the number of the newest answer that the program uses. Answers with lower numbers
// are no longer returned.
func (s *Source) Accept(number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted = number
}

// Accepted returns the number that was accepted last, or 0.
func (s *Source) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Drop marks an answer as of no further use. It is no longer returned.
func (s *Source) Drop(a *Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.came == a {
		s.came = nil
	}
}
