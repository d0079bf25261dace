package sources

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
)

// A listing is the tools that a Source returned to a caller, and their definitions. It does not change.
type listing struct {
	caller *caller
	tools  []listed          // by name: a server that lists its tools in another order counts as unchanged
	print  schemacheck.Print // of all definitions; 0 means that there are none
}

// listed is a tool of a listing.
type listed struct {
	tool   tool.BaseTool
	number int               // its place in what the Source returned
	twins  int               // tools before it with the same name
	print  schemacheck.Print // of the definition and twins
	definition
}

// definition is a definition as it was read, to be compared with ==. Changes through its pointer are not noticed.
type definition struct {
	info       *schema.ToolInfo // nil means that there is none
	name, desc string
	parameters *schema.ParamsOneOf
	problem    string // why there is none
}

// read asks a Source for a caller. It returns last, which may be nil, if the Source returned the same tools with the
// same definitions. It fails if the Source fails, or returns no tools.
func read(ctx context.Context, c *caller, ask Source, last *listing) (*listing, error) {
	returned, err := ask(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(returned) == 0:
		return nil, errors.New("it returned no tools")
	}
	tools := make([]listed, len(returned))
	for i, t := range returned {
		tools[i] = listed{tool: t, number: i}
		if info, err := usable(ctx, t); err != nil {
			tools[i].problem = naming.Cut(err.Error(), maxProblemBytes)
		} else {
			tools[i].definition = definition{info: info, name: info.Name, desc: info.Desc, parameters: info.ParamsOneOf}
		}
	}
	isOther := func(before listed) bool {
		now := &tools[before.number]
		return before.definition != now.definition || !foreign.AreSame(before.tool, now.tool)
	}
	if last != nil && len(tools) == len(last.tools) && !slices.ContainsFunc(last.tools, isOther) {
		return last, nil
	}
	twins := make(map[string]int)
	for i := range tools {
		tools[i].twins = twins[tools[i].name]
		twins[tools[i].name]++
	}
	// Most of the time is spent waiting for memory: a schema has 50 fields.
	err = foreign.InParallel(context.Background(), runtime.GOMAXPROCS(0), len(tools), func(_ context.Context, i int) error {
		t := &tools[i]
		t.print = schemacheck.PrintOf(cmp.Or(t.info, &schema.ToolInfo{Desc: t.problem})) + schemacheck.Print(t.twins)
		return nil
	})
	return &listing{c, tools, sorted(tools)}, err
}

// sorted sorts tools by name, those of one name in the order of the listings, and returns the print of all definitions.
func sorted(tools []listed) (print schemacheck.Print) {
	slices.SortStableFunc(tools, func(a, b listed) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.twins, b.twins))
	})
	for _, t := range tools {
		print = 31*print + t.print
	}
	return print
}

// sameAs reports whether two listings have the same definitions. A nil listing is like no other.
func (l *listing) sameAs(other *listing) bool {
	return l != nil && other != nil && l.print == other.print
}
