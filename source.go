package toolsearch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bytedance/sonic"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
)

// A catalog that changes. An edition is the dynamic tools as they were at one time,
// compiled, with all that follows from them; it never changes. Config.Source is asked at
// the start of each run: the run works with the edition that is current then to its end,
// and a changed answer makes a new one for the runs to come.

type edition struct {
	reader *reader // has the catalog
	tools  []tool.BaseTool
	prints [][sha256.Size]byte // of the definitions of Source's tools
	always []int               // documents of Config.AlwaysLoaded, in their order
	listed docset.Set          // those that the reminder names: all but always

	announce  sync.Once
	announced reminder           // of a run without a Filter, once it is needed
	deferred  []*schema.ToolInfo // native mode: the definitions as they are deferred
}

// editions keeps the current edition.
type editions struct {
	config *Config
	fixed  []*schema.ToolInfo // of DynamicTools
	lock   chan struct{}      // held while current is read or replaced; a channel, to wait with a context
	last   *edition
	tools  []tool.BaseTool // the newest values for the tools of last: a source may have reconnected
}

func newEditions(ctx context.Context, config *Config) (*editions, error) {
	infos, err := toolInfos(ctx, config.DynamicTools)
	if err != nil {
		return nil, err
	}
	e := &editions{config: config, fixed: infos, lock: make(chan struct{}, 1)}
	if e.last, err = e.compile(ctx, config.DynamicTools, infos); err != nil {
		return nil, err
	}
	e.tools = e.last.tools
	return e, nil
}

func (e *editions) compile(ctx context.Context, tools []tool.BaseTool, infos []*schema.ToolInfo) (*edition, error) {
	catalog, err := newCatalog(ctx, infos, e.config)
	if err != nil {
		return nil, err
	}
	names := e.config.Protocol.names(e.config.ToolName)
	for _, name := range names.all() {
		if doc, clash := catalog.byName[name]; clash {
			return nil, fmt.Errorf("toolsearch: tool %d is named %q like the search tool; rename it or set ToolName", doc, name)
		}
	}
	patterns, err := parseToolPatterns(e.config.AlwaysLoaded)
	if err != nil {
		return nil, fmt.Errorf("toolsearch: AlwaysLoaded: %w", err)
	}
	ed := &edition{
		reader: newReader(catalog, names, e.config),
		tools:  wrapAll(tools, catalog),
		listed: docset.New(len(catalog.docs)),
	}
	if e.config.UseModelToolSearch {
		ed.deferred = deferredCopies(catalog, names.search)
	}
	for i := range catalog.docs {
		if d := &catalog.docs[i]; matchesAny(patterns, d.Name, &d.Annotation) {
			ed.always = append(ed.always, i)
		} else {
			ed.listed.Add(i)
		}
	}
	return ed, nil
}

func wrapAll(tools []tool.BaseTool, c *Catalog) []tool.BaseTool {
	wrapped := make([]tool.BaseTool, len(tools))
	for i, t := range tools {
		wrapped[i] = wrap(t, c.docs[i].Info)
	}
	return wrapped
}

// current returns the edition for a run that starts now, and its tools, which may be
// other values with the same definitions.
func (e *editions) current(ctx context.Context) (*edition, []tool.BaseTool, error) {
	if e.config.Source == nil {
		return e.last, e.last.tools, nil
	}
	answer, sourceErr := e.ask(ctx)
	select {
	case e.lock <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if sourceErr == nil {
		// guard, since Annotate and Index read what a stranger wrote.
		_, sourceErr = foreign.Guard(func() (any, error) { return nil, e.accept(ctx, answer) })
	}
	last, tools := e.last, e.tools
	<-e.lock
	if sourceErr == nil {
		return last, tools, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if e.config.OnError != nil { // which may do anything, so nothing is locked
		e.config.OnError(ctx, fmt.Errorf("toolsearch: Source: %w; the last good catalog of %d tools stays", sourceErr, len(tools)))
	}
	return last, tools, nil
}

// accept makes the answer the current edition, unless it is already.
func (e *editions) accept(ctx context.Context, a *answered) error {
	if slices.Equal(a.prints, e.last.prints) {
		e.tools = wrapAll(a.tools, e.last.reader.catalog)
		return nil
	}
	next, err := e.compile(ctx, a.tools, a.infos)
	if err != nil {
		return err
	}
	next.prints = a.prints
	e.last, e.tools = next, next.tools
	return nil
}

// answered is what DynamicTools and an answer of Source are together.
type answered struct {
	tools  []tool.BaseTool
	infos  []*schema.ToolInfo
	prints [][sha256.Size]byte // of Source's
}

// ask returns the tools of both, the fixed ones and Source's. Those of Source are sorted by
// name: a server that lists its tools in another order each time has not changed.
func (e *editions) ask(ctx context.Context) (*answered, error) {
	answer, err := foreign.Guard(func() ([]tool.BaseTool, error) { return e.config.Source(ctx) })
	if err != nil {
		return nil, err
	}
	if len(answer) == 0 {
		return nil, errors.New("it returned no tools")
	}
	infos, err := toolInfos(ctx, answer)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(infos))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(infos[a].Name, infos[b].Name) })
	a := &answered{
		tools:  slices.Clone(e.config.DynamicTools),
		infos:  slices.Clone(e.fixed),
		prints: make([][sha256.Size]byte, len(order)),
	}
	for i, at := range order {
		a.tools, a.infos = append(a.tools, answer[at]), append(a.infos, infos[at])
		a.prints[i] = fingerprint(infos[at])
	}
	return a, nil
}

// fingerprint is equal for equal definitions.
func fingerprint(info *schema.ToolInfo) [sha256.Size]byte {
	definition := struct {
		Name, Description string
		Parameters        any
		Extra             map[string]any
	}{Name: info.Name, Description: info.Desc, Extra: info.Extra}
	// One that cannot be written out is told apart by the rest alone.
	if schema, err := foreign.Guard(info.ToJSONSchema); err == nil && schemacheck.IsWritable(schema) {
		definition.Parameters = schema
	}
	text, err := sonic.ConfigStd.Marshal(definition) // ConfigStd sorts the keys of maps
	if err != nil {                                  // something in Extra is no JSON
		definition.Extra = nil
		text, err = sonic.ConfigStd.Marshal(definition)
	}
	if err != nil { // or in the parameters, which no model can be told then
		definition.Parameters = nil
		text, _ = sonic.ConfigStd.Marshal(definition)
	}
	return sha256.Sum256(text)
}
