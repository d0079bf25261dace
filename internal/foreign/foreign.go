// Package foreign calls code from outside the library, which may panic, hang, or be nil, and bounds patterns from
// outside, which may take long to parse or to compile.
package foreign

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"
)

// Guard calls f and turns a panic into an error.
func Guard[T any](f func() (T, error)) (result T, err error) {
	defer Recover(&err)
	return f()
}

// Recover, deferred, turns a panic into an error. A caller of Guard makes a closure, which may cost an allocation.
func Recover(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v", p)
	}
}

// ErrorText returns the text of an error: "" for nil, and the error's type if its Error panics.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	text, failed := Guard(func() (string, error) { return err.Error(), nil })
	if failed != nil {
		return fmt.Sprintf("%T", err)
	}
	return text
}

// IsNil reports whether a value is nil, or a nil pointer inside a non-nil interface.
func IsNil(value any) bool {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Slice, reflect.Chan:
		return v.IsNil()
	}
	return false
}

// AreSame reports whether two values are the same pointer. To compare others could panic.
func AreSame[T any](a, b T) bool {
	return reflect.ValueOf(a).Kind() == reflect.Pointer && any(a) == any(b)
}

// failureKey is the context key of where a tool tells that its result is a failure.
type failureKey struct{}

// WithFailure returns a context for a call of a tool, and where the failure is that the tool has told by TellFailure.
func WithFailure(ctx context.Context) (context.Context, *atomic.Pointer[error]) {
	failure := new(atomic.Pointer[error])
	return context.WithValue(ctx, failureKey{}, failure), failure
}

// TellFailure tells whoever called a tool that its result is a failure, although the call returns no error.
func TellFailure(ctx context.Context, err error) {
	if failure, ok := ctx.Value(failureKey{}).(*atomic.Pointer[error]); ok {
		failure.Store(&err)
	}
}

// A Gate limits how many calls run at once in code that may hang, and may ignore its context.
type Gate chan struct{}

// Through calls f in a new goroutine once the gate has room, and stops waiting when ctx is done. A panic becomes an
// error.
func Through[T any](ctx context.Context, g Gate, f func(ctx context.Context) (T, error)) (result T, err error) {
	if err := ctx.Err(); err != nil {
		return result, err
	}
	select {
	case g <- struct{}{}:
	case <-ctx.Done():
		return result, ctx.Err()
	}
	var answer T
	var failure error
	done := make(chan struct{}) // closed when both are set
	go func() {
		defer func() { <-g }()
		answer, failure = Guard(func() (T, error) { return f(ctx) })
		close(done)
	}()
	select {
	case <-done:
		return answer, failure
	case <-ctx.Done():
		return result, ctx.Err()
	}
}

// Parallel calls, and calls with a time limit.

// InParallel calls f(0) to f(n-1) in that many workers. The first error stops the calls that have not begun, and ends
// the context of the others. A panic becomes an error, because in a goroutine it would end the program.
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
	return cmp.Or(outer.Err(), context.Cause(ctx))
}

// WithTimeout is context.WithTimeout, but 0 or less means no timeout.
func WithTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, timeout)
}
