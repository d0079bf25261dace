package toolsearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// The end of a call of a dynamic tool: an event, and its error as the result, which a model reads. Without the latter,
// Eino ends the run. The hooks surround the tool and its callbacks, so traces still have the error.

// watcher is who needs to know how a call ends.
type watcher struct {
	run  *run
	tool string
}

const maxToolError = 2 << 10 // bytes that the model reads of an error

// begin returns the context of a call, and what returns, at the call's end, the text for an error of the tool.
func (w *watcher) begin(ctx context.Context) (inner context.Context, end func(err error) (text string, isResult bool)) {
	start := time.Now()
	inner, told := foreign.WithFailure(ctx)
	return inner, func(err error) (string, bool) {
		if err != nil && (ctx.Err() != nil || isControl(err)) {
			return "", false
		}
		event := &CallEvent{Tool: w.tool, Duration: time.Since(start), Err: err}
		if of := told.Load(); of != nil {
			event.Err = cmp.Or(err, *of)
		}
		w.run.events.emit(ctx, event)
		if err == nil || w.run.config.ToolErrors != ToolErrorsExplain {
			return "", false
		}
		failure := fmt.Errorf("toolsearch: the tool %s failed: %w", naming.Quoted(w.tool), err)
		w.run.events.emit(ctx, &FailureEvent{Part: PartToolErrors, Tool: w.tool, Err: failure})
		problem := naming.OneLine(foreign.ErrorText(err), maxToolError)
		return w.run.scope.prompt.Text("tool-failed", "{name}", naming.Safe(w.tool), "{problem}", problem), true
	}
}

// isControl reports whether an error is not a failure: an interrupt, or the end of a cancelled run.
func isControl(err error) bool {
	_, isRerun := compose.IsInterruptRerunError(err)
	_, isInterrupt := compose.ExtractInterruptInfo(err)
	var cancelled *adk.CancelError
	return isRerun || isInterrupt || errors.As(err, &cancelled) || errors.Is(err, adk.ErrStreamCanceled) || errors.Is(err, context.Canceled)
}

// endpoint calls a tool.
type endpoint[A, R any] = func(ctx context.Context, argument A, opts ...tool.Option) (R, error)

// guarded calls a tool. A panic becomes an error if errors are explained; else it is Eino's, with its stack.
func guarded[A, R any](ctx context.Context, w *watcher, call endpoint[A, R], argument A, opts []tool.Option) (R, error) {
	if w.run.config.ToolErrors != ToolErrorsExplain {
		return call(ctx, argument, opts...)
	}
	return foreign.Guard(func() (R, error) { return call(ctx, argument, opts...) })
}

// watched returns an endpoint whose calls are watched. A nil watcher leaves the endpoint as it is.
func watched[A, R any](w *watcher, resultOf func(text string) R, call endpoint[A, R]) endpoint[A, R] {
	if w == nil {
		return call
	}
	return func(ctx context.Context, argument A, opts ...tool.Option) (R, error) {
		ctx, end := w.begin(ctx)
		result, err := guarded(ctx, w, call, argument, opts)
		if text, ok := end(err); ok {
			return resultOf(text), nil
		}
		return result, err
	}
}

// watchedStream is watched for streams. The text for an error in the middle is the last chunk, on a line of its own.
func watchedStream[A, R any](
	w *watcher, resultOf func(text string) R, call endpoint[A, *schema.StreamReader[R]],
) endpoint[A, *schema.StreamReader[R]] {
	if w == nil {
		return call
	}
	return func(ctx context.Context, argument A, opts ...tool.Option) (*schema.StreamReader[R], error) {
		ctx, end := w.begin(ctx)
		stream, err := guarded(ctx, w, call, argument, opts)
		if err != nil || stream == nil {
			if text, ok := end(err); ok {
				return schema.StreamReaderFromArray([]R{resultOf(text)}), nil
			}
			return stream, err
		}
		reader, writer := schema.Pipe[R](1)
		go func() {
			defer stream.Close()
			defer writer.Close()
			for before := ""; ; before = "\n" {
				chunk, err := foreign.Guard(stream.Recv)
				if err == io.EOF {
					break
				}
				if err != nil {
					if text, ok := end(err); ok {
						chunk, err = resultOf(before+text), nil
					}
					writer.Send(chunk, err)
					return
				}
				if writer.Send(chunk, nil) { // nobody reads on
					break
				}
			}
			_, _ = end(nil)
		}()
		return reader, nil
	}
}

func textResult(text string) string { return text }
