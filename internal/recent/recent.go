// Package recent remembers recently used values, and texts that were seen before.
package recent

import (
	"slices"
	"sync"
)

// A Cache keeps the most recently used values, up to Size. It is safe for concurrent use. It
// walks along all entries, which is cheap: they are few, and a search costs far more.
type Cache[T any] struct {
	Size int // 0 or less means that no value is kept

	mu      sync.Mutex
	entries []entry[T] // least recently used first
}

type entry[T any] struct {
	key   string
	value T
}

// Get returns the value under a key, if it is kept.
func (c *Cache[T]) Get(key string) (value T, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.entries, func(e entry[T]) bool { return e.key == key })
	if i < 0 {
		return value, false
	}
	found := c.entries[i]
	c.entries = append(slices.Delete(c.entries, i, i+1), found)
	return found.value, true
}

// Put keeps a value under a key. It replaces any earlier value.
func (c *Cache[T]) Put(key string, value T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = slices.DeleteFunc(c.entries, func(e entry[T]) bool { return e.key == key })
	c.entries = append(c.entries, entry[T]{key, value})
	c.entries = slices.Delete(c.entries, 0, max(0, len(c.entries)-max(0, c.Size)))
}
