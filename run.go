package toolsearch

import (
	"maps"
	"slices"
	"sync"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
)

// A run is what one run of an agent works with from its start, or its resumption, to its
// end: the edition that was current, the part of it that this request may see, a session and
// a notebook. Two runs share nothing that changes but a session they were given.
type run struct {
	*edition
	config *Config
	mode   mode
	teller *teller

	scope         scope
	tools         []tool.BaseTool // dynamic tools the agent can run
	reminder      reminder
	hidesNone     bool            // too few tools to hide any: the model sees all of them and no meta-tool
	yielded       map[string]bool // names of the catalog that are those of the agent's own tools in this run
	agentsLoaders []string        // names of other protocols' tools that are those of the agent's own tools

	session  *Session // nil: the run has none
	notebook notebook
}

// owns returns the dynamic tool of that name, unless the agent has a tool of its own by it.
func (r *run) owns(name string) (doc int, ok bool) {
	doc, ok = r.scope.byName[name]
	return doc, ok && !r.yielded[name]
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

// isAlways reports whether the document is one of AlwaysLoaded's.
func (r *run) isAlways(doc int) bool { return !r.hideable.Has(doc) }

// notebook is what one run has learnt that may be gone from the history before the next
// model call: another middleware may remove a search result before this one reads it. It
// takes part in what the model sees of the very next call.
type notebook struct {
	mu       sync.Mutex
	calls    []string                // ids of the calls of meta-tools, in the order the model made them
	effects  map[string][]nameEffect // call id -> what the call loads and unloads
	searches map[string]bool         // ids of all calls of the search tool in this run
	loaded   docset.Set              // loaded at the last model call; nil: there was none
	shared   []string                // what the session had then
	ordinary map[string]bool         // native mode: the names in the ordinary tool list
}

// expect notes the calls of the meta-tools among these.
func (n *notebook) expect(calls []callView, names *metaNames) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, call := range calls {
		if names.has(call.name) {
			n.calls = append(n.calls, call.id)
			if n.searches == nil {
				n.searches = make(map[string]bool)
			}
			n.searches[call.id] = true
		}
	}
}

func (n *notebook) note(callID string, e nameEffect) {
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
	n.calls, n.effects = nil, nil
	return effects
}

// setLoaded notes the tools loaded at a model call, and returns those noted at the call before;
// nil at the first.
func (n *notebook) setLoaded(loaded docset.Set) (before docset.Set) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before, n.loaded = n.loaded, loaded
	return before
}

// wasLoaded reports whether the tool was loaded at the last model call, and whether there was
// such a call: a resumed run may begin with the tools. The calls of one round may run at the
// same time, so none goes by what another does.
func (r *run) wasLoaded(doc int) (loaded, known bool) {
	r.notebook.mu.Lock()
	defer r.notebook.mu.Unlock()
	seen := r.notebook.loaded
	return seen != nil && seen.Has(doc), seen != nil
}

// setShared notes what the session has.
func (n *notebook) setShared(names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.shared = names
}

// missing returns what the session had at the last model call and has no more.
func (n *notebook) missing(names []string) (missing []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := nameSet(names)
	for _, name := range n.shared {
		if !now[name] {
			missing = append(missing, name)
		}
	}
	return missing
}

func (n *notebook) setOrdinary(tools []*schema.ToolInfo) {
	names := make(map[string]bool, len(tools))
	for _, t := range tools {
		names[t.Name] = true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ordinary = names
}

func (n *notebook) ordinaryNames() map[string]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ordinary
}

// made reports whether a call of a meta-tool with that id was made in this run.
func (n *notebook) made(callID string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.searches[callID]
}

func nameSet(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
