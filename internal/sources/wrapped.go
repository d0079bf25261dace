package sources

import (
	"context"
	"reflect"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
)

// Tools as an agent gets them. Eino asks every tool for its Info at the start of a run and again in
// every round of tool calls. A tool from a remote server may answer slowly, or differently from when the
// catalog was compiled. So each tool is wrapped in a type that answers from the catalog and can be called
// in exactly the ways the tool itself can.

// The four ways to call a tool. The enhanced form of a way has the same method name as the plain form, so
// a tool has at most one of the two.
type (
	invokable interface {
		InvokableRun(ctx context.Context, argumentsInJSON string, opts ...tool.Option) (string, error)
	}
	streamable interface {
		StreamableRun(ctx context.Context, argumentsInJSON string, opts ...tool.Option) (*schema.StreamReader[string], error)
	}
	enhancedInvokable interface {
		InvokableRun(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.ToolResult, error)
	}
	enhancedStreamable interface {
		StreamableRun(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.StreamReader[*schema.ToolResult], error)
	}
)

// isCallable reports whether a tool can be called in any of the four ways.
func isCallable(t tool.BaseTool) bool {
	switch t.(type) {
	case invokable, streamable, enhancedInvokable, enhancedStreamable:
		return true
	default:
		return false
	}
}

// described answers everything Eino asks a tool, except running it.
type described struct {
	info      *schema.ToolInfo
	typeName  string
	callbacks bool
}

func (d *described) Info(context.Context) (*schema.ToolInfo, error) { return d.info, nil }

func (*described) isWrapped() {}

// GetType implements components.Typer.
func (d *described) GetType() string { return d.typeName }

// IsCallbacksEnabled implements components.Checker.
func (d *described) IsCallbacksEnabled() bool { return d.callbacks }

// IsWrapped reports whether a tool is of a Snapshot.
func IsWrapped(t tool.BaseTool) bool {
	_, is := t.(interface{ isWrapped() })
	return is
}

// wrapped returns a tool with a fixed Info. The tool can be called.
func wrapped(t tool.BaseTool, info *schema.ToolInfo) tool.BaseTool {
	d := &described{info: info, typeName: typeName(t), callbacks: components.IsCallbacksEnabled(t)}
	plain, isPlain := t.(invokable)
	stream, isStream := t.(streamable)
	enhanced, isEnhanced := t.(enhancedInvokable)
	enhancedStream, isEnhancedStream := t.(enhancedStreamable)
	switch {
	case isPlain && isStream:
		return struct {
			*described
			invokable
			streamable
		}{d, plain, stream}
	case isPlain && isEnhancedStream:
		return struct {
			*described
			invokable
			enhancedStreamable
		}{d, plain, enhancedStream}
	case isEnhanced && isStream:
		return struct {
			*described
			enhancedInvokable
			streamable
		}{d, enhanced, stream}
	case isEnhanced && isEnhancedStream:
		return struct {
			*described
			enhancedInvokable
			enhancedStreamable
		}{d, enhanced, enhancedStream}
	case isPlain:
		return struct {
			*described
			invokable
		}{d, plain}
	case isStream:
		return struct {
			*described
			streamable
		}{d, stream}
	case isEnhanced:
		return struct {
			*described
			enhancedInvokable
		}{d, enhanced}
	case isEnhancedStream:
		return struct {
			*described
			enhancedStreamable
		}{d, enhancedStream}
	default:
		return t
	}
}

// typeName returns the tool's type in callbacks: the tool's own answer, or the name of
// its Go type. Without the wrapper, Eino would use the same.
func typeName(t tool.BaseTool) string {
	if name, ok := components.GetType(t); ok {
		return name
	}
	typ := reflect.TypeOf(t)
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	return typ.Name()
}
