package toolsearch

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/cloudwego/eino/schema"
)

// notebook is what one run has learnt that may be gone from the history before the next
// model call: another middleware may remove a search result before this one reads it.
type notebook struct {
	mu       sync.Mutex
	calls    []string                // ids of the calls of meta-tools, in the order the model made them
	effects  map[string][]nameEffect // call id -> what the call loads and unloads
	kept     []nameEffect            // earlier effects, under ProtocolDispatch
	searches map[string]bool         // ids of all calls of the search tool in this run
	shown    map[string]bool         // loaded at the last model call; nil: there was none
	ordinary map[string]bool         // native mode: the names in the ordinary tool list
}

// expect notes the calls of the meta-tools in the last message.
func expect[M message](n *notebook, codec codec[M], names *metaNames, messages []M) {
	if len(messages) == 0 {
		return
	}
	var v view
	codec.read(messages[len(messages)-1], &v)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, call := range v.calls {
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

// setLoaded notes the tools loaded at a model call, and returns what was noted at the one
// before; nil at the first.
func (n *notebook) setLoaded(names []string) (before map[string]bool) {
	now := make(map[string]bool, len(names))
	for _, name := range names {
		now[name] = true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	before, n.shown = n.shown, now
	return before
}

// wasLoaded reports whether the tool was loaded at the last model call, and whether there was
// one: a resumed run may begin with the tools. The calls of one round may run at the same
// time, so none goes by what another does.
func (n *notebook) wasLoaded(name string) (loaded, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.shown[name], n.shown != nil
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

// take returns the effects since the last take, in the order of the calls. If they are
// kept, the next take returns them too, as earlier ones: what is loaded is in no tool list
// then.
func (n *notebook) take(keep bool) (earlier, effects []nameEffect) {
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
	earlier = slices.Clip(n.kept)
	if keep {
		n.kept = append(n.kept, effects...)
	}
	return earlier, effects
}

// carriedKey is the context key of WithLoaded.
type carriedKey struct{}

// WithLoaded makes the named dynamic tools visible from the first model call of a run
// with the returned context: what OnLoaded reported of an earlier run, for callers that
// do not keep the messages that show it. Names no catalog has are ignored. Agents called
// as tools within the run see the same names.
func WithLoaded(ctx context.Context, names ...string) context.Context {
	return context.WithValue(ctx, carriedKey{}, slices.Clone(names))
}

func carriedBy(ctx context.Context) []string {
	names, _ := ctx.Value(carriedKey{}).([]string)
	return names
}
