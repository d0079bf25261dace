package toolsearch

import (
	"context"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/marks"
)

// A run of an agent, and its notebook.

// A run is the state of the middleware for a run of an agent, from its start or resumption to
// its end: the edition that was current, the part of it that this request may see, a session
// and a notebook. A session is the only changing state that runs may share.
type run struct {
	*edition
	config *Config
	mode   mode
	teller *teller

	scope      scope
	tools      []tool.BaseTool // dynamic tools the agent can run
	reminder   reminder
	hidesNone  bool            // few tools: the model sees all of them and no meta-tool
	yielded    map[string]bool // names of the catalog that other tools of the agent have
	hasYielded bool            // also to the tools of later middlewares
	names      metaNames       // the edition's, and the names of loaders that other tools of the agent have

	session  *Session // nil means none
	notebook notebook
}

// owns returns the dynamic tool of that name, unless another tool of the agent has the name.
func (r *run) owns(name string) (doc int, ok bool) {
	doc, ok = r.scope.byName[name]
	return doc, ok && !r.yielded[name]
}

// noteForeign notes a tool of the agent that is not the middleware's and has the name of a loader.
func (r *run) noteForeign(name string) {
	_, dynamic := r.scope.byName[name]
	if slices.Contains(loaderNames, name) && !dynamic && !r.names.has(name) && !slices.Contains(r.names.foreign, name) {
		r.names.foreign = append(slices.Clip(r.names.foreign), name)
	}
}

// calledBy returns the dynamic tools that a message calls by their names.
func (r *run) calledBy(v *view) (docs []int) {
	for _, call := range v.calls {
		if doc, ok := r.scope.byName[call.name]; ok && r.scope.sees(doc) && !slices.Contains(docs, doc) {
			docs = append(docs, doc)
		}
	}
	return docs
}

// isAlways reports whether AlwaysLoaded has the document.
func (r *run) isAlways(doc int) bool { return !r.hideable.Has(doc) }

// notebook keeps the effects of a run's meta-tools until the next model call: another
// middleware may remove a search result from the history before this one reads it.
type notebook struct {
	mu       sync.Mutex
	deadline time.Time               // of the searches since then; zero before the first
	calls    []string                // ids of the calls of meta-tools since then, in the model's order
	effects  map[string][]nameEffect // call id -> effects of the call
	made     map[string]bool         // ids of all calls of meta-tools in this run
	loaded   docset.Set              // the tools loaded at the last model call; nil means no call yet
	shared   map[string]bool         // the names the session had then, as far as this run knows
	ordinary map[string]bool         // native protocols: the names in the ordinary tool list
	lastList []listedTool            // the tool list of the last model call, if somebody listens; nil means no call yet
}

// expect notes the calls of meta-tools.
func (n *notebook) expect(calls []callView, names *metaNames) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, call := range calls {
		if names.has(call.name) {
			n.calls = append(n.calls, call.id)
			if n.made == nil {
				n.made = make(map[string]bool)
			}
			n.made[call.id] = true
		}
	}
}

// nameEffect is the names of the tools that a call of a meta-tool loads and unloads.
type nameEffect struct{ loads, unloads []string }

// isKept reports whether the run has a notebook that is read. The tool of a Catalog has none,
// since no agent runs it.
func (r *run) isKept() bool { return r.edition != nil }

// note notes the effect of the meta-tool's call that is under way.
func (r *run) note(ctx context.Context, e nameEffect) {
	n, callID := &r.notebook, compose.GetToolCallID(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.effects == nil {
		n.effects = make(map[string][]nameEffect)
	}
	n.effects[callID] = append(n.effects[callID], e)
}

// take returns the effects since the last take, in the order of the calls.
func (n *notebook) take() (effects []nameEffect) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range n.calls {
		effects = append(effects, n.effects[id]...)
		delete(n.effects, id)
	}
	// A resumed run carries out calls that an earlier one made.
	for _, id := range slices.Sorted(maps.Keys(n.effects)) {
		effects = append(effects, n.effects[id]...)
	}
	n.calls, n.effects, n.deadline = nil, nil, time.Time{}
	return effects
}

// limited returns a context that ends when the searches since the last model call have taken
// Config.SearchTimeout together. Calls of one message may run at the same time.
func (r *run) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	switch {
	case !r.isKept():
		return r.scope.limited(ctx)
	case r.scope.isQuick:
		return ctx, func() {}
	}
	n := &r.notebook
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.deadline.IsZero() {
		n.deadline = time.Now().Add(r.config.SearchTimeout)
	}
	return context.WithDeadline(ctx, n.deadline)
}

// setLoaded notes the tools loaded at a model call, and returns those noted at the call before;
// nil at the first.
func (n *notebook) setLoaded(loaded docset.Set) (before docset.Set) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before, n.loaded = n.loaded, loaded
	return before
}

// wasLoaded reports whether the tool was loaded at the last model call, and whether there was such
// a call: a resumed run may begin with the tools. The calls of one round may run at the same time,
// so a call does not depend on what the others have loaded.
func (r *run) wasLoaded(doc int) (loaded, known bool) {
	r.notebook.mu.Lock()
	defer r.notebook.mu.Unlock()
	seen := r.notebook.loaded
	return seen != nil && seen.Has(doc), seen != nil
}

// share notes what the session has, and returns the names that it has lost since the last model
// call: another agent has unloaded them.
func (n *notebook) share(names []string) (unloaded []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := nameSet(names)
	for name := range n.shared {
		if !now[name] {
			unloaded = append(unloaded, name)
		}
	}
	n.shared = now
	return unloaded
}

// sharedNames returns the names that the session had at the last model call.
func (n *notebook) sharedNames() map[string]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.shared)
}

// shareChanges records the names to add to the session and to remove from it. It returns the
// additions that the session does not have: a name that another agent unloads meanwhile is not put
// back.
func (n *notebook) shareChanges(added, gone []string) (fresh []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.shared == nil {
		n.shared = make(map[string]bool)
	}
	for _, name := range added {
		if !n.shared[name] {
			n.shared[name] = true
			fresh = append(fresh, name)
		}
	}
	for _, name := range gone {
		delete(n.shared, name)
	}
	return fresh
}

// listedTool tells a definition in a tool list from others.
type listedTool struct {
	name, desc string
	parameters *schema.ParamsOneOf
}

// noteList notes the tool list of a model call, and reports whether it differs from that of the call
// before. What came before the first call of a run is known if there is a session.
func (r *run) noteList(tools []*schema.ToolInfo) (changed bool) {
	changed, isFirst := r.notebook.noteList(tools)
	if r.session != nil && (changed || isFirst) {
		changed = r.session.noteList(r.hashes(tools)) || changed
	}
	return changed
}

// hashes returns what a session keeps of a tool list. Agents that share a session are told apart
// by the names of the tools that are not of the catalog.
func (r *run) hashes(tools []*schema.ToolInfo) listHash {
	agent, list := crc32.NewIEEE(), crc32.NewIEEE()
	for _, t := range tools {
		if t == nil {
			continue
		}
		if _, dynamic := r.owns(t.Name); !dynamic {
			fmt.Fprintf(agent, "%q", t.Name)
		}
		_, hash := r.measure(t)
		fmt.Fprintf(list, "%q %08x", t.Name, hash)
	}
	return listHash{agent.Sum32(), list.Sum32()}
}

// measure estimates the tokens of a definition in a list, and hashes it.
func (r *run) measure(info *schema.ToolInfo) (size int, hash uint32) {
	if doc, ok := r.scope.byName[info.Name]; ok && marks.IsLoaded(info, r.names.search) {
		return r.scope.measure(doc)
	}
	return measure(info)
}

// noteList notes the tool list of a model call, and reports whether it differs from that of the call
// before, or has none before it.
func (n *notebook) noteList(tools []*schema.ToolInfo) (changed, isFirst bool) {
	now := make([]listedTool, 0, len(tools))
	for _, t := range tools {
		if t != nil {
			now = append(now, listedTool{t.Name, t.Desc, t.ParamsOneOf})
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.lastList
	n.lastList = now
	return before != nil && !slices.Equal(before, now), before == nil
}

func (n *notebook) setOrdinary(tools []*schema.ToolInfo) {
	names := nameSet(toolNames(tools))
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ordinary = names
}

func (n *notebook) ordinaryNames() map[string]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ordinary
}

// hasCall reports whether this run made a call of a meta-tool with that id.
func (n *notebook) hasCall(callID string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.made[callID]
}

func nameSet(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
