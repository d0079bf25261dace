package toolsearch

import (
	"context"
	"errors"
	"io"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// A tool's error as the result of its call, which a model reads. Without this, Eino ends the run. The hooks surround
// the tool and its callbacks, so traces still have the error.

// explainer returns what the model reads instead of an error that is the tool's failure.
type explainer func(ctx context.Context, err error) string

// text returns the text for an error, and false for nil or an error that is not the tool's failure.
func (explain explainer) text(ctx context.Context, err error) (text string, ok bool) {
	if err == nil || ctx.Err() != nil || isControl(err) {
		return "", false
	}
	return explain(ctx, err), true
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

// explained returns an endpoint whose errors and panics are results. A nil explainer leaves the endpoint as it is.
func explained[A, R any](explain explainer, resultOf func(text string) R, call endpoint[A, R]) endpoint[A, R] {
	if explain == nil {
		return call
	}
	return func(ctx context.Context, argument A, opts ...tool.Option) (R, error) {
		result, err := foreign.Guard(func() (R, error) { return call(ctx, argument, opts...) })
		if text, ok := explain.text(ctx, err); ok {
			return resultOf(text), nil
		}
		return result, err
	}
}

// explainedStream is explained for streams. The text for an error in the middle is the last chunk, on a line of its
// own.
func explainedStream[A, R any](
	explain explainer, resultOf func(text string) R, call endpoint[A, *schema.StreamReader[R]],
) endpoint[A, *schema.StreamReader[R]] {
	if explain == nil {
		return call
	}
	alone := func(text string) *schema.StreamReader[R] { return schema.StreamReaderFromArray([]R{resultOf(text)}) }
	call = explained(explain, alone, call)
	return func(ctx context.Context, argument A, opts ...tool.Option) (*schema.StreamReader[R], error) {
		stream, err := call(ctx, argument, opts...)
		if err != nil || stream == nil {
			return stream, err
		}
		reader, writer := schema.Pipe[R](1)
		go func() {
			defer stream.Close()
			defer writer.Close()
			before := ""
			for {
				chunk, err := foreign.Guard(stream.Recv)
				if err == io.EOF {
					return
				}
				ended := err != nil
				if text, ok := explain.text(ctx, err); ok {
					chunk, err = resultOf(before+text), nil
				}
				if writer.Send(chunk, err) || ended {
					return
				}
				before = "\n"
			}
		}()
		return reader, nil
	}
}

// textResult makes a result of a text.
func textResult(text string) string { return text }
