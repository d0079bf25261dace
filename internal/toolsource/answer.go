package toolsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// An Answer has the tools that a source returned, and their definitions. It does not change once it
// has been read.
type Answer struct {
	Number int // answers asked for later have greater numbers

	tools []tool.BaseTool
	infos []*schema.ToolInfo // nil for a tool without a definition
	seen  []definitionSeen

	once   sync.Once
	order  []int               // the tools by name: a server that lists them in another order counts as unchanged
	prints []schemacheck.Print // in that order
}

// definitionSeen is a definition as it was read. Later changes through its pointer are not noticed.
type definitionSeen struct {
	info       *schema.ToolInfo
	name, desc string
	parameters *schema.ParamsOneOf
	problem    string // why there is no definition; "" if there is one
}

// read asks a source and reads its answer. last is the previous answer; nil means none. It fails if
// the source fails, or has no tools.
func (a *Answer) read(ctx context.Context, source func(context.Context) ([]tool.BaseTool, error), last *Answer) error {
	tools, err := source(ctx)
	switch {
	case err != nil:
		return err
	case len(tools) == 0:
		return errors.New("it returned no tools")
	}
	if !a.repeats(ctx, tools, last) {
		a.readTools(ctx, tools)
	}
	return nil
}

// repeats reports whether an answer has the same tools as the last answer, with the same
// definitions. If so, it takes over what was read for the last answer.
func (a *Answer) repeats(ctx context.Context, tools []tool.BaseTool, last *Answer) bool {
	if last == nil || len(tools) != len(last.tools) {
		return false
	}
	for i, t := range tools {
		seen := &last.seen[i]
		if seen.info == nil || !foreign.AreSame(t, last.tools[i]) {
			return false
		}
		info, err := Definition(ctx, t)
		if err != nil || info != seen.info || info.Name != seen.name || info.Desc != seen.desc || info.ParamsOneOf != seen.parameters {
			return false
		}
	}
	a.tools, a.infos, a.seen = last.tools, last.infos, last.seen
	return true
}

// readTools asks the tools for their definitions.
func (a *Answer) readTools(ctx context.Context, tools []tool.BaseTool) {
	a.tools = slices.Clone(tools)
	a.infos, a.seen = make([]*schema.ToolInfo, len(tools)), make([]definitionSeen, len(tools))
	for i, t := range a.tools {
		info, err := usable(ctx, t)
		if err != nil {
			a.seen[i].problem = naming.Cut(err.Error(), maxProblemBytes)
			continue
		}
		a.infos[i], a.seen[i] = info, definitionSeen{info: info, name: info.Name, desc: info.Desc, parameters: info.ParamsOneOf}
	}
}

// Admit returns the tools that can be in a catalog, ordered by name: the tools, their definitions
// as providers take them, and their places in the answer. left has a line for each tool that was left
// out or mended. One bad tool does not cost the others. taken gets the names of the tools. named
// returns a definition with the name that the model sees. refuse returns why a catalog cannot have a
// definition, or nil.
func (a *Answer) Admit(taken map[string]bool, named func(*schema.ToolInfo) *schema.ToolInfo, refuse func(*schema.ToolInfo) error) (
	tools []tool.BaseTool, infos []*schema.ToolInfo, places []int, left []string,
) {
	a.Print()
	for _, at := range a.order {
		var name string
		var notes []string
		info := a.infos[at]
		if info == nil {
			notes = []string{a.seen[at].problem}
		} else {
			info = named(info)
			name = info.Name
			info, notes = admitted(info, refuse)
		}
		for _, note := range notes {
			left = append(left, fmt.Sprintf("tool %d, %s: %s", at, naming.Quoted(name), note))
		}
		if info == nil {
			continue
		}
		taken[name] = true
		tools, infos, places = append(tools, a.tools[at]), append(infos, info), append(places, at)
	}
	return tools, infos, places, left
}

// admitted returns a definition as providers take it, and what is wrong with it. It returns no
// definition if the tool has to be left out.
func admitted(info *schema.ToolInfo, refuse func(*schema.ToolInfo) error) (mended *schema.ToolInfo, notes []string) {
	if !schemacheck.IsValidName(info.Name) {
		return nil, []string{schemacheck.Refusal(info).Error()}
	}
	if err := refuse(info); err != nil {
		return nil, []string{err.Error()}
	}
	mended, wrong := schemacheck.Mended(info)
	switch {
	case mended == nil:
		return nil, []string{wrong.Error()}
	case wrong != nil:
		notes = append(notes, "mended: "+wrong.Error())
	}
	if odd := schemacheck.OddParameter(mended); odd != nil {
		notes = append(notes, "kept: "+odd.Error())
	}
	return mended, notes
}

// Repeats reports whether one of two answers took over the tools of the other.
func (a *Answer) Repeats(b *Answer) bool { return &a.tools[0] == &b.tools[0] }

// SameAs reports whether two answers have the same definitions. Definitions with the same
// pointer are not compared further.
func (a *Answer) SameAs(b *Answer) bool {
	if len(a.tools) != len(b.tools) {
		return false
	}
	if len(a.seen) > 0 && &a.seen[0] == &b.seen[0] || slices.Equal(a.seen, b.seen) {
		return true
	}
	a.Print()
	b.Print()
	return a.prints != nil && slices.Equal(a.prints, b.prints)
}

// Print sorts the tools by name and hashes their definitions when it is first called. Methods that
// need this call Print themselves; calling it ahead of time keeps the work outside of locks.
func (a *Answer) Print() { a.once.Do(a.print) }

func (a *Answer) print() {
	a.order, a.prints = make([]int, len(a.tools)), make([]schemacheck.Print, len(a.tools))
	for i := range a.order {
		a.order[i] = i
	}
	slices.SortStableFunc(a.order, func(i, j int) int { return strings.Compare(a.seen[i].name, a.seen[j].name) })
	// Most of the time is spent waiting for memory: a schema has 50 fields.
	blocks := (len(a.tools) + blockSize - 1) / blockSize
	err := foreign.InParallel(context.Background(), runtime.GOMAXPROCS(0), blocks, func(_ context.Context, block int) error {
		for i := block * blockSize; i < min((block+1)*blockSize, len(a.order)); i++ {
			a.prints[i] = a.printOf(a.order[i])
		}
		return nil
	})
	if err != nil {
		a.prints = nil // equal to no other answer's
	}
}

// blockSize is how many definitions a worker hashes at a time.
const blockSize = 256

// printOf hashes the definition of a tool as it was read.
func (a *Answer) printOf(at int) schemacheck.Print {
	seen := &a.seen[at]
	definition := schema.ToolInfo{Name: seen.name, Desc: cmp.Or(seen.problem, seen.desc), ParamsOneOf: seen.parameters}
	if a.infos[at] != nil {
		definition.Extra = a.infos[at].Extra
	}
	return schemacheck.PrintOf(&definition)
}

// SameTools reports whether two answers with the same definitions have the same tools in the same
// order.
func (a *Answer) SameTools(b *Answer) bool {
	return slices.EqualFunc(a.tools, b.tools, foreign.AreSame)
}

// Refreshed returns the tools that correspond to the kept tools of another answer with the same
// definitions.
func (a *Answer) Refreshed(b *Answer, keptOfB []int) (tools []tool.BaseTool, kept []int) {
	a.Print()
	b.Print()
	at := make([]int, len(a.order))
	for i := range a.order {
		at[b.order[i]] = a.order[i]
	}
	for _, before := range keptOfB {
		kept = append(kept, at[before])
		tools = append(tools, a.tools[at[before]])
	}
	return tools, kept
}

// Size returns about how many bytes the definitions of an answer take.
func (a *Answer) Size() (size int) {
	for _, info := range a.infos {
		if info != nil {
			size += len(info.Name) + len(info.Desc) + len(schemacheck.JSON(info))
		}
	}
	return size
}
