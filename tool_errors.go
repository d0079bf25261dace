package toolsearch

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Errors of dynamic tools as results, for Config.ToolErrors. Eino ends a run over a tool's error.
// The hooks around a tool's call, in middleware.go, make the error a result instead. They are
// around the tool and its callbacks, so traces still have the error.

// maxToolError bounds what the model reads of an error, in bytes.
const maxToolError = 2 << 10

// An explainer returns what the model reads instead of an error. It returns false for nil and for
// errors that are not the tool's failure.
type explainer func(ctx context.Context, err error) (text string, ok bool)

// explainer returns the explainer of a tool's call, or nil if its errors are left to Eino.
func (e *engine) explainer(ctx context.Context, call *adk.ToolContext) explainer {
	if e.config.ToolErrors != ToolErrorsExplain || call == nil {
		return nil
	}
	r, err := e.run(ctx)
	if err != nil {
		return nil
	}
	if doc, dynamic := r.scope.byName[call.Name]; !dynamic || !r.scope.sees(doc) {
		return nil
	}
	return func(ctx context.Context, err error) (string, bool) {
		if err == nil || ctx.Err() != nil || isControl(err) {
			return "", false
		}
		e.teller.fail(ctx, "ToolErrors", fmt.Errorf("toolsearch: the tool %s failed: %w", naming.Quoted(call.Name), err))
		problem := naming.OneLine(errorText(err), maxToolError)
		return r.scope.prompt.text("tool-failed", "{name}", naming.Shown(call.Name), "{problem}", problem), true
	}
}

// isControl reports whether an error is not a failure: an interrupt, which asks somebody and is
// resumed, or the end of a run that was cancelled.
func isControl(err error) bool {
	if _, interrupted := compose.IsInterruptRerunError(err); interrupted {
		return true
	}
	if _, interrupted := compose.ExtractInterruptInfo(err); interrupted {
		return true
	}
	var cancelled *adk.CancelError
	return errors.As(err, &cancelled) || errors.Is(err, adk.ErrStreamCanceled) || errors.Is(err, context.Canceled)
}

// explained calls a tool. resultOf makes a result of the text for an error.
func explained[T any](ctx context.Context, explain explainer, resultOf func(text string) T, call func() (T, error)) (T, error) {
	result, err := foreign.Guard(call)
	if text, ok := explain(ctx, err); ok {
		return resultOf(text), nil
	}
	return result, err
}

// explainedStream is explained for a tool whose result is a stream. The text for an error in the
// middle of the stream is the last chunk, in a line of its own.
func explainedStream[T any](ctx context.Context, explain explainer, resultOf func(text string) T, call func() (*schema.StreamReader[T], error)) (*schema.StreamReader[T], error) {
	alone := func(text string) *schema.StreamReader[T] { return schema.StreamReaderFromArray([]T{resultOf(text)}) }
	stream, err := explained(ctx, explain, alone, call)
	if err != nil || stream == nil {
		return stream, err
	}
	reader, writer := schema.Pipe[T](1)
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
			if text, ok := explain(ctx, err); ok {
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

func plainResult(text string) string { return text }

func enhancedResult(text string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
}
