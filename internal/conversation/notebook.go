package conversation

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
)

// A Notebook keeps what a run of an agent did and saw since its last model call: another middleware may remove the
// result of a search from the history before it is read there, and the tool calls of one message may run at the same
// time. It is safe for concurrent use. The zero value is empty.
type Notebook struct {
	mu       sync.Mutex          // of what follows, up to effects
	deadline time.Time           // of the searches since the last model call; zero before the first
	calls    []string            // ids of all calls of meta-tools in this run, in the model's order
	taken    int                 // how many of calls were made before the last Take
	effects  map[string][]Effect // call id -> effects of the call

	answers atomic.Int64 // that the last message asks for
	loaded  atomic.Value // a docset.Set: the tools loaded at the last model call; nil means no call yet
	defined atomic.Value // a docset.Set: the tools whose definitions that call had
}

// An Effect names the tools that a call of a meta-tool loads and unloads.
type Effect struct{ Loads, Unloads []string }

// Expect records the ids of a message's calls of meta-tools, and how many of them get an answer, which share one budget.
func (b *Notebook) Expect(ids []string, answers int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, ids...)
	b.answers.Store(int64(answers))
}

// Answers returns how many answers of meta-tools the last message of the model asks for, at least 1.
func (b *Notebook) Answers() int { return max(int(b.answers.Load()), 1) }

// HasCall reports whether this run made a call of a meta-tool with an id.
func (b *Notebook) HasCall(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.calls, id)
}

// RecordEffect records the effect of the call with an id.
func (b *Notebook) RecordEffect(id string, e Effect) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.effects == nil {
		b.effects = make(map[string][]Effect)
	}
	b.effects[id] = append(b.effects[id], e)
}

// Take returns the effects since the last Take, in the order of the calls, and ends their deadline.
func (b *Notebook) Take() (effects []Effect) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// A resumed run carries out calls that an earlier run made, which come last.
	for _, id := range slices.Concat(b.calls[b.taken:], slices.Sorted(maps.Keys(b.effects))) {
		effects = append(effects, b.effects[id]...)
		delete(b.effects, id)
	}
	b.taken, b.effects, b.deadline = len(b.calls), nil, time.Time{}
	return effects
}

// Deadline returns the common deadline of the searches since the last Take, counted from the first of them.
func (b *Notebook) Deadline(timeout time.Duration) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.deadline.IsZero() {
		b.deadline = time.Now().Add(timeout)
	}
	return b.deadline
}

// SetLoaded records the tools loaded at a model call. It returns those of the previous call, or nil at the first.
func (b *Notebook) SetLoaded(loaded docset.Set) (before docset.Set) {
	before, _ = b.loaded.Swap(loaded).(docset.Set)
	return before
}

// Loaded returns the tools loaded at the last model call, or nil before the first. So a call does not depend on what the
// other calls of its round have loaded.
func (b *Notebook) Loaded() docset.Set {
	loaded, _ := b.loaded.Load().(docset.Set)
	return loaded
}

// SetDefined records the tools whose definitions a model call shows.
func (b *Notebook) SetDefined(defined docset.Set) { b.defined.Store(defined) }

// Defined returns the tools whose definitions the last model call had.
func (b *Notebook) Defined() docset.Set {
	defined, _ := b.defined.Load().(docset.Set)
	return defined
}
