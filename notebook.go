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
	calls    []string            // ids of the search calls, in the order the model made them
	found    map[string][]string // call id -> what the search found
	ordinary map[string]bool     // native mode: the names in the ordinary tool list
}

// expect notes the calls of the search tool in the last message.
func expect[M message](n *notebook, codec codec[M], tool string, messages []M) {
	if n == nil || len(messages) == 0 {
		return
	}
	var v view
	codec.read(messages[len(messages)-1], &v)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, call := range v.calls {
		if call.name == tool {
			n.calls = append(n.calls, call.id)
		}
	}
}

func (n *notebook) note(callID string, names []string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.found == nil {
		n.found = make(map[string][]string)
	}
	n.found[callID] = names
}

func (n *notebook) setOrdinary(tools []*schema.ToolInfo) {
	if n == nil {
		return
	}
	names := make(map[string]bool, len(tools))
	for _, t := range tools {
		names[t.Name] = true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ordinary = names
}

func (n *notebook) ordinaryNames() map[string]bool {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ordinary
}

// take returns the names found since the last take, in the order of the calls.
func (n *notebook) take() []string {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var names []string
	for _, id := range n.calls {
		names = append(names, n.found[id]...)
		delete(n.found, id)
	}
	// A resumed run carries out calls that an earlier one made.
	for _, id := range slices.Sorted(maps.Keys(n.found)) {
		names = append(names, n.found[id]...)
	}
	n.calls, n.found = nil, nil
	return names
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
