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

// An answer is the tools that a Source returned to callers, and their definitions. It does not change.
type answer struct {
	of    *caller           // nil means several
	list  []listed          // by name: a server that lists its tools in another order counts as unchanged
	print schemacheck.Print // of all definitions; 0 means that there are none
}

// listed is a tool of an answer.
type listed struct {
	tool   tool.BaseTool
	number int               // its place in the list that the Source returned
	twins  int               // tools of its name before it
	print  schemacheck.Print // of the definition and twins
	definition
}

// definition is a definition as it was read. Later changes through its pointer are not noticed.
type definition struct {
	info       *schema.ToolInfo // nil means that there is none
	name, desc string
	parameters *schema.ParamsOneOf
	problem    string // why there is none
}

// read asks a Source for a caller. It returns the last answer if the Source returned the same tools with the same
// definitions; last may be nil. It fails if the Source fails, or has no tools.
func read(ctx context.Context, of *caller, ask Source, last *answer) (*answer, error) {
	tools, err := ask(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(tools) == 0:
		return nil, errors.New("it returned no tools")
	}
	list := make([]listed, len(tools))
	for i, t := range tools {
		list[i] = listed{tool: t, number: i}
		if info, err := usable(ctx, t); err != nil {
			list[i].problem = naming.Cut(err.Error(), maxProblemBytes)
		} else {
			list[i].definition = definition{info: info, name: info.Name, desc: info.Desc, parameters: info.ParamsOneOf}
		}
	}
	isOther := func(before listed) bool {
		now := &list[before.number]
		return before.definition != now.definition || !foreign.AreSame(before.tool, now.tool)
	}
	if last != nil && len(list) == len(last.list) && !slices.ContainsFunc(last.list, isOther) {
		return last, nil
	}
	twins := make(map[string]int)
	for i := range list {
		list[i].twins = twins[list[i].name]
		twins[list[i].name]++
	}
	// Most of the time is spent waiting for memory: a schema has 50 fields.
	err = foreign.InParallel(context.Background(), runtime.GOMAXPROCS(0), len(list), func(_ context.Context, i int) error {
		list[i].print = list[i].hash() + schemacheck.Print(list[i].twins)
		return nil
	})
	return answerOf(of, list), err
}

// answerOf returns the answer of tools with prints.
func answerOf(of *caller, list []listed) *answer {
	slices.SortStableFunc(list, func(a, b listed) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.twins, b.twins))
	})
	a := &answer{of: of, list: list}
	for _, l := range list {
		a.print = 31*a.print + l.print
	}
	return a
}

// merged returns the tools of several answers, each definition once. Those of each answer keep their order.
func merged(answers []*answer) *answer {
	var list []listed
	seen := make(map[schemacheck.Print]bool)
	for _, a := range answers {
		for _, l := range a.list {
			if !seen[l.print] {
				seen[l.print], list = true, append(list, l)
			}
		}
	}
	return answerOf(nil, list)
}

// sameAs reports whether two answers have the same definitions. Both may be nil, which is like no answer.
func (a *answer) sameAs(b *answer) bool { return a != nil && b != nil && a.print == b.print }

// hash hashes a definition as it was read.
func (d *definition) hash() schemacheck.Print {
	read := schema.ToolInfo{Name: d.name, Desc: cmp.Or(d.problem, d.desc), ParamsOneOf: d.parameters}
	if d.info != nil {
		read.Extra = d.info.Extra
	}
	return schemacheck.PrintOf(&read)
}
