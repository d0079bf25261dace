package sources

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// The definitions of tools, and errors about several of them.

// Definitions asks every tool for its definition, once. It fails on the first that is not usable, and begins the
// error's description of it with where.
func Definitions(ctx context.Context, where string, tools []tool.BaseTool) (infos []*schema.ToolInfo, err error) {
	infos = make([]*schema.ToolInfo, len(tools))
	for i, t := range tools {
		if infos[i], err = usable(ctx, t); err != nil {
			return nil, fmt.Errorf("toolsearch: %stool %d: %w", where, i, err)
		}
	}
	return infos, nil
}

// usable asks a tool for its definition. It fails on a tool that cannot be in a catalog: it is nil, its Info fails, its
// name is empty or too long, or it cannot be called.
func usable(ctx context.Context, t tool.BaseTool) (*schema.ToolInfo, error) {
	info, err := Definition(ctx, t)
	switch {
	case err != nil:
		return nil, err
	case info.Name == "":
		return nil, fmt.Errorf("%T: empty name", t)
	case len(info.Name) > naming.MaxBytes:
		return nil, fmt.Errorf("%T: a name of %d bytes; no provider takes more than %d", t, len(info.Name), naming.MaxBytes)
	}
	switch t.(type) {
	case invokable[string, string], streamable[string, string], invokable[input, output], streamable[input, output]:
		return info, nil
	}
	return nil, fmt.Errorf("%q (%T): it can be called in none of the four ways: "+
		"invokable, streamable, enhanced invokable, enhanced streamable", info.Name, t)
}

// Definition asks a tool for its definition. It fails if the tool or the definition is nil, or if Info fails or panics.
func Definition(ctx context.Context, t tool.BaseTool) (*schema.ToolInfo, error) {
	if foreign.IsNil(t) {
		return nil, fmt.Errorf("it is nil (%T)", t)
	}
	info, err := foreign.Guard(func() (*schema.ToolInfo, error) { return t.Info(ctx) })
	switch {
	case err != nil:
		return nil, fmt.Errorf("%T: Info: %w", t, err)
	case info == nil:
		return nil, fmt.Errorf("%T: Info returned nil", t)
	}
	return info, nil
}

// Bounds on an error about tools.
const (
	maxProblems     = 10  // tools that it names
	maxProblemBytes = 500 // of the reason why a tool has no usable definition
)

// Problems returns an error that says what is wrong, with the first of the lines, or nil if there are none.
func Problems(what string, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	if more := len(lines) - maxProblems; more > 0 {
		lines = append(lines[:maxProblems:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("toolsearch: %s %s", what, strings.Join(lines, "; "))
}

// Tools as an agent gets them. Eino asks every tool for its Info at the start of a run and again in every round of tool
// calls. A remote tool may answer slowly, or differently from when the catalog was compiled. So each is wrapped in a
// type that answers from the catalog and can be called in exactly the ways the tool itself can.

// The four ways to call a tool: invokable and streamable, each with texts or with enhanced arguments and results. The
// two forms of a way have the same method name, so a tool has at most one of them.
type (
	invokable[A, R any] interface {
		InvokableRun(ctx context.Context, argument A, opts ...tool.Option) (R, error)
	}
	streamable[A, R any] interface {
		StreamableRun(ctx context.Context, argument A, opts ...tool.Option) (*schema.StreamReader[R], error)
	}
	input  = *schema.ToolArgument // of the enhanced forms
	output = *schema.ToolResult
)

// described answers everything Eino asks a tool, except running it.
type described struct {
	info      *schema.ToolInfo
	typeName  string // in callbacks, as Eino finds it: the tool's own answer, or its Go type
	callbacks bool
}

func (d *described) Info(context.Context) (*schema.ToolInfo, error) { return d.info, nil }

func (*described) isWrapped() {}

func (d *described) GetType() string          { return d.typeName }
func (d *described) IsCallbacksEnabled() bool { return d.callbacks }

// IsWrapped reports whether a tool is of a Snapshot.
func IsWrapped(t tool.BaseTool) bool {
	_, is := t.(interface{ isWrapped() })
	return is
}

// Tools that can be called in one way or both.
type (
	invoked[A, R any] struct {
		*described
		invokable[A, R]
	}
	streamed[A, R any] struct {
		*described
		streamable[A, R]
	}
	both[A, R, B, S any] struct {
		*described
		invokable[A, R]
		streamable[B, S]
	}
)

// wrapped returns a tool with a fixed Info. The tool can be called.
func wrapped(t tool.BaseTool, info *schema.ToolInfo) tool.BaseTool {
	name, isOwn := components.GetType(t)
	if !isOwn {
		name = reflect.Indirect(reflect.ValueOf(t)).Type().Name()
	}
	d := &described{info: info, typeName: name, callbacks: components.IsCallbacksEnabled(t)}
	switch w := t.(type) {
	case invokable[string, string]:
		return withStream(d, t, w)
	case invokable[input, output]:
		return withStream(d, t, w)
	case streamable[string, string]:
		return streamed[string, string]{d, w}
	}
	return streamed[input, output]{d, t.(streamable[input, output])}
}

func withStream[A, R any](d *described, t tool.BaseTool, way invokable[A, R]) tool.BaseTool {
	switch s := t.(type) {
	case streamable[string, string]:
		return both[A, R, string, string]{d, way, s}
	case streamable[input, output]:
		return both[A, R, input, output]{d, way, s}
	}
	return invoked[A, R]{d, way}
}
