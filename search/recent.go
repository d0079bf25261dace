package search

import (
	"slices"
	"sync"
)

// A cache of recent values.

// recent keeps the most recently used values, up to size keys. It is safe for concurrent use.
type recent[T any] struct {
	size int

	mu     sync.Mutex
	keys   []string // least recently used first
	values map[string]T
}

func (r *recent[T]) get(key string) (value T, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if value, ok = r.values[key]; ok {
		r.use(key)
	}
	return value, ok
}

func (r *recent[T]) put(key string, value T) {
	if r.size <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.values == nil {
		r.values = make(map[string]T)
	}
	if _, known := r.values[key]; !known {
		if len(r.keys) == r.size {
			delete(r.values, r.keys[0])
			r.keys = slices.Delete(r.keys, 0, 1)
		}
		r.keys = append(r.keys, key)
	}
	r.values[key] = value
	r.use(key)
}

// use moves a key to the end. A walk along the list is cheap, since the list is short and a
// search costs far more.
func (r *recent[T]) use(key string) {
	i := slices.Index(r.keys, key)
	copy(r.keys[i:], r.keys[i+1:])
	r.keys[len(r.keys)-1] = key
}
