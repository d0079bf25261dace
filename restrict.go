package toolsearch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Searchers for requests that may see a part of the catalog. What a request may not see must not
// count in its rankings either: the frequency of a word, a word that only a hidden tool has. So a
// Restricter is restricted to the part, when a request with this part first searches:
//
//	part -- the parts in memory, else Restrict --> searcher of the part
//
// Requests of the same rights share the searcher. No lock is held while it is built.

// maxRestrictions is the number of parts of a catalog whose searchers are kept. Beyond it, the
// part that was not asked for the longest time is built again when it is asked for.
const maxRestrictions = 8

// restrictions keeps restricted searchers. The zero value is ready.
type restrictions struct {
	mu    sync.Mutex
	parts []*restriction // least recently used first
}

// A restriction is a part of a catalog, and its searchers.
type restriction struct {
	docs      docset.Set
	searchers []*restricted // one for each Restricter of the catalog
}

// restricted is a searcher that is being restricted, or was.
type restricted struct {
	from search.Restricter
	docs docset.Set
	done chan struct{}

	// Set when done.
	searcher  search.Searcher
	err       error
	cancelled bool // the error may be that of the builder's context
}

// of returns s restricted to docs, or s itself if docs are all documents. It returns nil if s is
// not a Restricter.
func (r *restrictions) of(ctx context.Context, s search.Searcher, docs docset.Set, all int) (search.Searcher, error) {
	from, ok := s.(search.Restricter)
	if !ok {
		return nil, nil
	}
	if docs.Len() == all {
		return s, nil
	}
	for {
		x, isMine := r.get(from, docs)
		if isMine {
			x.build(ctx)
			if x.err != nil {
				r.forget(x)
			}
			close(x.done)
			return x.searcher, x.err
		}
		select {
		case <-x.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !x.cancelled {
			return x.searcher, x.err
		}
	}
}

// get returns the searcher of a part, and whether the caller has to build it.
func (r *restrictions) get(from search.Restricter, docs docset.Set) (x *restricted, isMine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.parts, func(part *restriction) bool { return slices.Equal(part.docs, docs) })
	part := &restriction{}
	if at >= 0 {
		part = r.parts[at]
		r.parts = slices.Delete(r.parts, at, at+1)
	} else {
		part.docs = slices.Clone(docs) // a run may take a document out of its set
	}
	r.parts = append(r.parts, part)
	r.parts = slices.Delete(r.parts, 0, max(0, len(r.parts)-maxRestrictions))
	for _, x := range part.searchers {
		if foreign.AreSame(x.from, from) {
			return x, false
		}
	}
	x = &restricted{from: from, docs: part.docs, done: make(chan struct{})}
	if foreign.AreSame(from, from) { // otherwise it could not be found again
		part.searchers = append(part.searchers, x)
	}
	return x, true
}

// forget drops a searcher that could not be built. The next search tries again.
func (r *restrictions) forget(x *restricted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, part := range r.parts {
		part.searchers = slices.DeleteFunc(part.searchers, func(other *restricted) bool { return other == x })
	}
}

func (x *restricted) build(ctx context.Context) {
	numbers := slices.Collect(x.docs.All())
	x.searcher, x.err = foreign.Guard(func() (search.Searcher, error) { return x.from.Restrict(ctx, numbers) })
	if x.err == nil && foreign.IsNil(x.searcher) {
		x.err = errors.New("there is no Searcher")
	}
	if x.err != nil {
		x.searcher, x.cancelled = nil, ctx.Err() != nil
		x.err = fmt.Errorf("toolsearch: restricting %T: %w", x.from, x.err)
	}
}
