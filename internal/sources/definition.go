package sources

import (
	"context"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// The definitions of tools, and errors about several of them.

// Definitions asks every tool for its definition, once. It fails on the first tool that usable fails
// on. where begins the error's description of the tool.
func Definitions(ctx context.Context, where string, tools []tool.BaseTool) ([]*schema.ToolInfo, error) {
	infos := make([]*schema.ToolInfo, len(tools))
	for i, t := range tools {
		info, err := usable(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("toolsearch: %stool %d: %w", where, i, err)
		}
		infos[i] = info
	}
	return infos, nil
}

// usable asks a tool for its definition. It fails on a tool that cannot be in a catalog: it is nil,
// its Info fails, its name is empty or too long, or it cannot be called.
func usable(ctx context.Context, t tool.BaseTool) (*schema.ToolInfo, error) {
	if foreign.IsNil(t) {
		return nil, fmt.Errorf("it is nil (%T)", t)
	}
	info, err := Definition(ctx, t)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%T: Info: %w", t, err)
	case info == nil:
		return nil, fmt.Errorf("%T: Info returned nil", t)
	case info.Name == "":
		return nil, fmt.Errorf("%T: empty name", t)
	case len(info.Name) > naming.MaxBytes:
		return nil, fmt.Errorf("%T: a name of %d bytes; no provider takes more than %d", t, len(info.Name), naming.MaxBytes)
	case !isCallable(t):
		return nil, fmt.Errorf("%q (%T): it can be called in none of the four ways: "+
			"invokable, streamable, enhanced invokable, enhanced streamable", info.Name, t)
	}
	return info, nil
}

// Definition asks a tool for its definition, which may be nil. A wrapper without a tool inside
// panics. The guard makes that an error, which can name the wrapper.
func Definition(ctx context.Context, t tool.BaseTool) (*schema.ToolInfo, error) {
	return foreign.Guard(func() (*schema.ToolInfo, error) { return t.Info(ctx) })
}

// Bounds on an error about tools.
const (
	maxProblems     = 10  // tools that it names
	maxProblemBytes = 500 // of the reason why a tool has no usable definition
)

// Problems returns an error that says what is wrong, with a line for each of the first tools, or nil if
// there are no lines.
func Problems(what string, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	count := ""
	if len(lines) > maxProblems {
		count = fmt.Sprintf("; and %d more", len(lines)-maxProblems)
	}
	return fmt.Errorf("toolsearch: %s %s%s", what, strings.Join(lines[:min(len(lines), maxProblems)], "; "), count)
}
