package search

import (
	"slices"
	"sync"
)

// recent keeps the most recently used values, up to size. It is safe for concurrent use. A walk
// along all of them is cheap: they are few, and a search costs far more.
type recent[T any] struct {
	size int

	mu      sync.Mutex
	entries []recentEntry[T] // least recently used first
}

type recentEntry[T any] struct {
	key   string
	value T
}

func (r *recent[T]) get(key string) (value T, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.entries, func(e recentEntry[T]) bool { return e.key == key })
	if i < 0 {
		return value, false
	}
	entry := r.entries[i]
	r.entries = append(slices.Delete(r.entries, i, i+1), entry)
	return entry.value, true
}

func (r *recent[T]) put(key string, value T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = slices.DeleteFunc(r.entries, func(e recentEntry[T]) bool { return e.key == key })
	r.entries = append(r.entries, recentEntry[T]{key, value})
	r.entries = slices.Delete(r.entries, 0, max(0, len(r.entries)-max(0, r.size)))
}
