// Package wrapped gives an agent its dynamic tools. Eino asks every tool for its Info at the
// start of a run and again in every round of tool calls. A tool from a remote server may answer
// slowly, or differently from when the catalog was compiled. So each tool is wrapped in a type
// that answers from the catalog and can be called in exactly the ways the tool itself can.
package wrapped

import (
	"context"
	"reflect"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
)

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

// kind is the set of ways a tool can be called. The enhanced form of a way has the same method
// name as the plain form, so a tool has at most one of the two.
type kind uint8

const (
	kindInvokable kind = 1 << iota
	kindStreamable
	kindEnhancedInvokable
	kindEnhancedStreamable
)

func kindOf(t tool.BaseTool) kind {
	var k kind
	if _, ok := t.(invokable); ok {
		k |= kindInvokable
	}
	if _, ok := t.(streamable); ok {
		k |= kindStreamable
	}
	if _, ok := t.(enhancedInvokable); ok {
		k |= kindEnhancedInvokable
	}
	if _, ok := t.(enhancedStreamable); ok {
		k |= kindEnhancedStreamable
	}
	return k
}

// described answers everything Eino asks a tool, except running it.
type described struct {
	info      *schema.ToolInfo
	typeName  string
	callbacks bool
}

func (d *described) Info(context.Context) (*schema.ToolInfo, error) { return d.info, nil }

func (*described) isWrapped() {}

// Is reports whether Tool made the tool.
func Is(t tool.BaseTool) bool {
	_, is := t.(interface{ isWrapped() })
	return is
}

// GetType implements components.Typer.
func (d *described) GetType() string { return d.typeName }

// IsCallbacksEnabled implements components.Checker.
func (d *described) IsCallbacksEnabled() bool { return d.callbacks }

// IsCallable reports whether the tool can be called in any of the four ways.
func IsCallable(t tool.BaseTool) bool { return kindOf(t) != 0 }

// Tool returns t with a fixed Info. t is callable.
func Tool(t tool.BaseTool, info *schema.ToolInfo) tool.BaseTool {
	d := &described{info: info, typeName: typeName(t), callbacks: components.IsCallbacksEnabled(t)}
	switch kindOf(t) {
	case kindInvokable:
		return struct {
			*described
			invokable
		}{d, t.(invokable)}
	case kindStreamable:
		return struct {
			*described
			streamable
		}{d, t.(streamable)}
	case kindEnhancedInvokable:
		return struct {
			*described
			enhancedInvokable
		}{d, t.(enhancedInvokable)}
	case kindEnhancedStreamable:
		return struct {
			*described
			enhancedStreamable
		}{d, t.(enhancedStreamable)}
	case kindInvokable | kindStreamable:
		return struct {
			*described
			invokable
			streamable
		}{d, t.(invokable), t.(streamable)}
	case kindEnhancedInvokable | kindEnhancedStreamable:
		return struct {
			*described
			enhancedInvokable
			enhancedStreamable
		}{d, t.(enhancedInvokable), t.(enhancedStreamable)}
	case kindInvokable | kindEnhancedStreamable:
		return struct {
			*described
			invokable
			enhancedStreamable
		}{d, t.(invokable), t.(enhancedStreamable)}
	case kindEnhancedInvokable | kindStreamable:
		return struct {
			*described
			enhancedInvokable
			streamable
		}{d, t.(enhancedInvokable), t.(streamable)}
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
