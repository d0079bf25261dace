package docset

import (
	"context"
	"slices"
	"sync"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// Values that were built for parts of a set of documents, such as searchers
// for requests that may see only a part of a catalog:
//
//	part -- the parts in memory, or build --> the value for the part
//
// Requests for the same part share the value, and wait for whoever builds it. No lock is held
// meanwhile.

// maxParts is the number of parts that are kept. Beyond that number, the least recently used
// part is dropped, and built again when it is asked for.
const maxParts = 8

// A PartCache keeps values that were built from sources, for parts of them. A source is a pointer; a value
// from any other source is not kept. A PartCache is safe for concurrent use. Its zero value is empty.
type PartCache[Source, Value any] struct {
	mu    sync.Mutex
	parts []*part[Source, Value] // least recently used first
}

// part is a part and the values that were built for it.
type part[Source, Value any] struct {
	docs   Set
	values []*entry[Source, Value] // one for each source
}

// entry is a value that was built or is being built.
type entry[Source, Value any] struct {
	from Source
	done chan struct{}

	// Set when done.
	value     Value
	err       error
	cancelled bool // the error may come from the builder's context
}

// Of returns the value that build makes from a source for a part. An error is not kept: the next
// call builds again. build must not panic.
func (c *PartCache[Source, Value]) Of(ctx context.Context, from Source, docs Set, build func(ctx context.Context, from Source, docs []int) (Value, error)) (value Value, err error) {
	for {
		x, isMine := c.get(from, docs)
		if isMine {
			x.value, x.err = build(ctx, from, slices.Collect(docs.All()))
			if x.err != nil {
				x.cancelled = ctx.Err() != nil
				c.forget(x)
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

// get returns the entry of a part, and whether the caller has to build its value.
func (c *PartCache[Source, Value]) get(from Source, docs Set) (x *entry[Source, Value], isMine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.parts, func(p *part[Source, Value]) bool { return slices.Equal(p.docs, docs) })
	p := &part[Source, Value]{}
	if at >= 0 {
		p = c.parts[at]
		c.parts = slices.Delete(c.parts, at, at+1)
	} else {
		p.docs = slices.Clone(docs) // the caller may take a document out of its set
	}
	c.parts = append(c.parts, p)
	c.parts = slices.Delete(c.parts, 0, max(0, len(c.parts)-maxParts))
	for _, x := range p.values {
		if foreign.AreSame(x.from, from) {
			return x, false
		}
	}
	x = &entry[Source, Value]{from: from, done: make(chan struct{})}
	if foreign.AreSame(from, from) { // otherwise it could not be found again
		p.values = append(p.values, x)
	}
	return x, true
}

// forget drops a value that could not be built.
func (c *PartCache[Source, Value]) forget(x *entry[Source, Value]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.parts {
		p.values = slices.DeleteFunc(p.values, func(other *entry[Source, Value]) bool { return other == x })
	}
}
