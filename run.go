package toolsearch

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// A run is what one run of an agent works with from its start, or its resumption, to its
// end: the edition that was current, the part of it that this request may see, and a
// notebook. Two runs share nothing that changes.
type run struct {
	*edition
	scope    scope
	tools    []tool.BaseTool // dynamic tools the agent can run
	reminder reminder
	plain    bool            // too few tools to hide any: the model sees all of them and no meta-tool
	others   map[string]bool // names of the catalog that are those of the agent's own tools in this run
	held     []string        // names of other protocols' tools that are those of the agent's own tools
	notebook notebook
}

// newRun asks Source and Filter. others are the names of the agent's own tools.
func (m *middleware[M]) newRun(ctx context.Context, others []string) (*run, error) {
	edition, tools, err := m.editions.current(ctx)
	if err != nil {
		return nil, err
	}
	c := edition.reader.catalog
	r := &run{edition: edition, tools: tools, scope: scope{Catalog: c, fair: m.config.fair()}}
	if m.config.Filter != nil {
		r.scope.allowed = allowedBy(ctx, c, m.config.Filter)
	}
	for i, name := range others {
		if slices.Contains(foreignNames, name) {
			r.held = append(r.held, name)
		}
		if err := m.yield(ctx, r, i, name); err != nil {
			return nil, err
		}
	}
	if r.scope.allowed != nil {
		r.tools = make([]tool.BaseTool, 0, len(tools))
		for i, t := range tools {
			if r.scope.sees(i) {
				r.tools = append(r.tools, t)
			}
		}
	}
	shown := len(r.tools)
	counted := shown // towards MaxLoaded
	for _, doc := range r.always {
		if r.scope.sees(doc) {
			counted--
		}
	}
	r.plain = shown == 0 || shown < m.config.DeferFrom && (m.config.MaxLoaded == 0 || counted <= m.config.MaxLoaded)
	if r.scope.allowed == nil {
		edition.announce.Do(func() { edition.announced = newReminder(r, m.config) })
		r.reminder = edition.announced
	} else {
		r.reminder = newReminder(r, m.config)
	}
	return r, nil
}

// yield leaves a name to the agent's tool i. It fails if a dynamic tool has it, but for one
// that the request may not see, and one of Source's: a server must not be able to stop an
// agent by the name of a tool.
func (m *middleware[M]) yield(ctx context.Context, r *run, i int, name string) error {
	doc, clash := r.scope.byName[name]
	if !clash {
		return nil
	}
	if r.scope.sees(doc) {
		err := fmt.Errorf("toolsearch: the agent's tool %d and dynamic tool %d are both named %q", i, doc, name)
		if doc < len(m.config.DynamicTools) {
			return err
		}
		if m.config.OnError != nil {
			m.config.OnError(ctx, fmt.Errorf("%w; the one of Source is left out", err))
		}
	}
	if r.scope.allowed == nil {
		r.scope.allowed = docset.New(len(r.scope.docs))
		for doc := range r.scope.docs {
			r.scope.allowed.Add(doc)
		}
	}
	r.scope.allowed.Remove(doc)
	if r.others == nil {
		r.others = make(map[string]bool)
	}
	r.others[name] = true
	return nil
}

// owns returns the dynamic tool of that name, unless the agent has a tool of its own by it.
func (r *run) owns(name string) (doc int, ok bool) {
	doc, ok = r.scope.byName[name]
	return doc, ok && !r.others[name]
}

// allowedBy asks a Filter about every tool. One that panics lets the tool not pass.
func allowedBy(ctx context.Context, c *Catalog, filter func(context.Context, *schema.ToolInfo) bool) docset.Set {
	ctx = context.WithValue(ctx, filteredKey{}, c)
	allowed := docset.New(len(c.docs))
	for i := range c.docs {
		passes, err := foreign.Guard(func() (bool, error) { return filter(ctx, c.docs[i].Info), nil })
		if passes && err == nil {
			allowed.Add(i)
		}
	}
	return allowed
}

// Eino keeps the events of a run in its checkpoint, by gob.
func init() { schema.Register[LoadEvent]() }

// runKey is the context key of a run. It names the middleware, since an agent can have
// several and agents can run inside one another.
type runKey struct{ owner any }

// run returns the run ctx belongs to. A hook that is called outside of one gets a run of
// its own.
func (m *middleware[M]) run(ctx context.Context) (*run, error) {
	if r, ok := ctx.Value(runKey{m}).(*run); ok {
		return r, nil
	}
	return m.newRun(ctx, nil)
}

// isAlways reports whether the document is one of AlwaysLoaded's.
func (r *run) isAlways(doc int) bool { return !r.listed.Has(doc) }

// restrict takes what the request may not see out of the loaded tools, and the least
// recently used beyond limit; 0 is no limit. What a native search showed to the model stays
// callable there, and so loaded.
func (r *run) restrict(loaded *loadedSet, limit int) {
	if r.scope.allowed != nil {
		loaded.keep(r.scope.sees)
	}
	if limit > 0 && !r.plain {
		loaded.evict(limit, func(doc int) bool { return r.isAlways(doc) || loaded.native.Has(doc) })
	}
}

// everything loads all tools of the scope, for a run that hides none.
func (r *run) everything(loaded *loadedSet) {
	for doc := range r.scope.docs {
		if r.scope.sees(doc) {
			loaded.add(doc)
		}
	}
}

// loadedNames returns the names of the loaded tools but for those that are always there.
func (r *run) loadedNames(loaded *loadedSet) []string {
	names := make([]string, 0, len(loaded.docs))
	for _, doc := range loaded.docs {
		if !r.isAlways(doc) {
			names = append(names, r.scope.docs[doc].Name)
		}
	}
	return slices.Clip(names)
}
