package foreign

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Parallel calls, and calls with a time limit.

// InParallel calls f(0) to f(n-1) in that many workers. The first error stops the calls that
// have not begun, and ends the context of the others. A panic becomes an error, because a panic
// in a goroutine would end the program.
func InParallel(outer context.Context, workers, n int, f func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancelCause(outer)
	defer stop(nil)
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(workers, n) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if _, err := Guard(func() (bool, error) { return true, f(ctx, i) }); err != nil {
					stop(err)
				}
			}
		})
	}
	wait.Wait()
	if outer.Err() != nil {
		return outer.Err()
	}
	return context.Cause(ctx)
}

// WithTimeout is context.WithTimeout, but 0 or less means no timeout.
func WithTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, timeout)
}
