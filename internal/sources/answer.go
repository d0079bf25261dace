package sources

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
)

// An answer is the tools that a Source returned, and their definitions. It does not change once it has a
// version.
type answer struct {
	version int             // answers to one caller with the same definitions have the same version
	list    []listed        // by name: a server that lists its tools in another order counts as unchanged
	hashed  func() []listed // list, with prints
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

func definitionOf(info *schema.ToolInfo) definition {
	return definition{info: info, name: info.Name, desc: info.Desc, parameters: info.ParamsOneOf}
}

// read asks a Source. It returns the last answer if the Source has the same tools with the same
// definitions; last may be nil. It fails if the Source fails, or has no tools.
func read(ctx context.Context, ask Source, last *answer) (*answer, error) {
	tools, err := ask(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(tools) == 0:
		return nil, errors.New("it returned no tools")
	case last.isOf(ctx, tools):
		return last, nil
	}
	a := &answer{list: make([]listed, len(tools))}
	a.hashed = sync.OnceValue(a.hash)
	for i, t := range tools {
		a.list[i] = listed{tool: t, number: i}
		if info, err := usable(ctx, t); err != nil {
			a.list[i].problem = naming.Cut(err.Error(), maxProblemBytes)
		} else {
			a.list[i].definition = definitionOf(info)
		}
	}
	slices.SortFunc(a.list, func(a, b listed) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.number, b.number))
	})
	return a, nil
}

// merged returns the tools of several answers, each definition once. Those of each answer keep their order.
func merged(answers []*answer) *answer {
	m, seen := &answer{}, make(map[schemacheck.Print]bool)
	for _, a := range answers {
		for _, l := range a.hashed() {
			if !seen[l.print] {
				seen[l.print], m.list = true, append(m.list, l)
			}
		}
	}
	slices.SortStableFunc(m.list, func(a, b listed) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.twins, b.twins))
	})
	m.hashed = func() []listed { return m.list }
	return m
}

// isOf reports whether the answer has the same tools, with the same definitions.
func (a *answer) isOf(ctx context.Context, tools []tool.BaseTool) bool {
	if a == nil || len(a.list) != len(tools) {
		return false
	}
	for i := range a.list {
		l := &a.list[i]
		t := tools[l.number]
		if l.info == nil || !foreign.AreSame(t, l.tool) {
			return false
		}
		if info, err := Definition(ctx, t); err != nil || info != l.info || definitionOf(info) != l.definition {
			return false
		}
	}
	return true
}

// sameAs reports whether two answers of a Source have the same definitions. Both may be nil, which is
// like no answer.
func (a *answer) sameAs(b *answer) bool { return a != nil && b != nil && a.version == b.version }

// equals compares the definitions of two answers. Definitions with the same pointer are not compared
// further.
func (a *answer) equals(b *answer) bool {
	if len(a.list) != len(b.list) {
		return false
	}
	if slices.EqualFunc(a.list, b.list, func(a, b listed) bool { return a.definition == b.definition }) {
		return true
	}
	return slices.EqualFunc(a.hashed(), b.hashed(), func(a, b listed) bool { return a.print == b.print })
}

// follow makes an answer one more of those with the definitions of another, prints included.
func (a *answer) follow(before *answer) {
	for i, l := range before.hashed() {
		a.list[i].print, a.list[i].twins = l.print, l.twins
	}
	a.version, a.hashed = before.version, func() []listed { return a.list }
}

// hash hashes the definitions. Most of the time is spent waiting for memory: a schema has 50 fields. Definitions
// that cannot be hashed are like no others.
func (a *answer) hash() []listed {
	for i := range a.list {
		l := &a.list[i]
		if l.print = schemacheck.Print(rand.Uint64()); i > 0 && l.name == a.list[i-1].name {
			l.twins = a.list[i-1].twins + 1
		}
	}
	_ = foreign.InParallel(context.Background(), runtime.GOMAXPROCS(0), len(a.list), func(_ context.Context, i int) error {
		l := &a.list[i]
		l.print = l.hash() + schemacheck.Print(l.twins)
		return nil
	})
	return a.list
}

// hash hashes a definition as it was read.
func (d *definition) hash() schemacheck.Print {
	read := schema.ToolInfo{Name: d.name, Desc: cmp.Or(d.problem, d.desc), ParamsOneOf: d.parameters}
	if d.info != nil {
		read.Extra = d.info.Extra
	}
	return schemacheck.PrintOf(&read)
}
