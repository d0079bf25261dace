package docset

import (
	"context"
	"slices"
	"sync"
)

// A Recent keeps the values of the keys that were asked for last, such as searchers for requests that may see only a
// part of a catalog. Calls for the same key share the value, and wait for whoever builds it. No lock is held meanwhile.
// A Recent is safe for concurrent use.
type Recent[Key, Value any] struct {
	most   int
	areOne func(a, b Key) bool

	mu      sync.Mutex
	entries []*entry[Key, Value] // least recently used first
}

// entry is a value that was built or is being built.
type entry[Key, Value any] struct {
	key  Key
	done chan struct{}

	// Set when done.
	value     Value
	err       error
	cancelled bool // the error may come from the builder's context
}

// NewRecent returns a Recent that keeps most values; 0 or less means none. areOne compares keys. The value of a
// key that is not equal to itself is not kept.
func NewRecent[Key, Value any](most int, areOne func(a, b Key) bool) *Recent[Key, Value] {
	return &Recent[Key, Value]{most: most, areOne: areOne}
}

// Of returns the value that build makes for a key, which must not change later. An error is not kept: the next
// call builds again. build must not panic.
func (r *Recent[Key, Value]) Of(ctx context.Context, key Key, build func(ctx context.Context) (Value, error)) (value Value, err error) {
	for {
		x, isMine := r.get(key)
		if isMine {
			x.value, x.err = build(ctx)
			if x.err != nil {
				x.cancelled = ctx.Err() != nil
				r.mu.Lock()
				r.entries = slices.DeleteFunc(r.entries, func(other *entry[Key, Value]) bool { return other == x })
				r.mu.Unlock()
			}
			close(x.done)
			return x.value, x.err
		}
		select {
		case <-x.done:
		case <-ctx.Done():
			return value, ctx.Err()
		}
		if !x.cancelled {
			return x.value, x.err
		}
	}
}

// get returns the entry of a key, and whether the caller must build its value.
func (r *Recent[Key, Value]) get(key Key) (x *entry[Key, Value], isMine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.entries, func(x *entry[Key, Value]) bool { return r.areOne(x.key, key) })
	if isMine = at < 0; isMine {
		x = &entry[Key, Value]{key: key, done: make(chan struct{})}
	} else {
		x = r.entries[at]
		r.entries = slices.Delete(r.entries, at, at+1)
	}
	if r.areOne(key, key) { // otherwise it could not be found again
		r.entries = append(r.entries, x)
	}
	r.entries = slices.Delete(r.entries, 0, max(0, len(r.entries)-max(0, r.most)))
	return x, isMine
}
