// Package ui is the page that `toolsearch ui` shows: a search as somebody types, the score of
// each result taken apart, the tokens of a catalog, what to fix in it, what conversations cost, and
// the misses of an evaluation.
//
//	catalog, queries -> Page -> answers as JSON (answers.go) -> static/page.js -> text nodes
//
// The texts of a catalog are foreign, and some attack. Three walls keep them from being more than
// texts: the answers are JSON in which hidden characters are escapes, the script makes text nodes
// only, and the Content-Security-Policy runs nothing that is not in the binary (server.go).
package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/search"
)

// A Page is what is shown. It must not change while it is served.
type Page struct {
	Title     string        // of the catalog
	Catalog   *eval.Catalog // what is searched
	Tools     []Tool        // the tools of Catalog, in its order
	Searchers []Searcher    // to choose among; at least one
	Chosen    []string      // names of one or two searchers that are shown first
	Queries   []eval.Query  // nil means that there is no evaluation

	// Findings returns what to fix in the catalog. It is called when somebody opens the
	// findings. Nil means that the page has none.
	Findings func(ctx context.Context) ([]Finding, error)

	// Providers are the providers whose prices Costs knows, the default first. Nil means that the
	// page has no costs.
	Providers []string
	// Costs returns what conversations over the catalog cost with one of Providers, as
	// `toolsearch cost -json` prints it. It is called when somebody opens the costs.
	Costs func(ctx context.Context, provider string) (any, error)
}

// A Tool is what the page shows of a tool beyond its name and description.
type Tool struct {
	Tokens     int    // of the definition, which every model call pays for
	Parameters int    // how many the tool has
	Schema     []byte // of the parameters, as JSON; nil means none
	Refused    bool   // by large providers
}

// A Searcher is an entry of the menu.
type Searcher struct {
	Name  string
	Label string // what people read in place of Name; "" means Name
	About string // one line
	Index search.Indexer
}

// A Finding is one thing to fix in a catalog.
type Finding struct {
	Heading string   // of all findings of its kind
	Tools   []string // their names
	Detail  string
}

// A site is a Page that is being served. Slow answers are made once, when they are first asked for.
type site struct {
	Page
	ctx      context.Context // ends with the server
	ids      map[string]int  // name of a tool -> its place in Tools
	servers  []string        // of the tools, in their order
	indexes  map[string]*once[*toolsearch.Catalog]
	reports  map[string]*once[*eval.Report]
	findings once[[]Finding]
	costs    map[string]*once[any]
	busy     chan struct{} // holds a value for each search that runs
}

// searching is how many searches run at a time. The rest wait their turn or are cancelled.
const searching = 8

func newSite(ctx context.Context, p Page) (*site, error) {
	if len(p.Tools) != len(p.Catalog.Tools) {
		return nil, fmt.Errorf("ui: %d tools of a catalog of %d", len(p.Tools), len(p.Catalog.Tools))
	}
	s := &site{
		Page: p, ctx: ctx, ids: make(map[string]int, len(p.Tools)), busy: make(chan struct{}, searching),
		indexes: make(map[string]*once[*toolsearch.Catalog]), reports: make(map[string]*once[*eval.Report]),
		costs: make(map[string]*once[any]),
	}
	for _, provider := range p.Providers {
		s.costs[provider] = &once[any]{}
	}
	for i, info := range p.Catalog.Tools {
		s.ids[info.Name] = i
		s.servers = append(s.servers, p.Catalog.Annotate(info).Namespace)
	}
	for _, searcher := range p.Searchers {
		s.indexes[searcher.Name] = &once[*toolsearch.Catalog]{}
		s.reports[searcher.Name] = &once[*eval.Report]{}
	}
	for _, name := range p.Chosen {
		if s.indexes[name] == nil {
			return nil, fmt.Errorf("ui: no searcher %q", name)
		}
	}
	return s, nil
}

// warm builds what the first searches need, so that the first letter typed is as fast as the others.
func (s *site) warm() {
	for _, name := range s.Chosen {
		go func() {
			if catalog, err := s.index(s.ctx, name); err == nil {
				_, _ = catalog.Search(s.ctx, s.examples()[0], 1)
			}
		}()
	}
}

// indexer returns the indexer of a searcher that the menu has.
func (s *site) indexer(name string) search.Indexer {
	return s.Searchers[slices.IndexFunc(s.Searchers, func(has Searcher) bool { return has.Name == name })].Index
}

// index returns the catalog compiled for a searcher that the menu has.
func (s *site) index(ctx context.Context, name string) (*toolsearch.Catalog, error) {
	return s.indexes[name].get(ctx, func() (*toolsearch.Catalog, error) {
		return s.Catalog.Compile(s.ctx, s.indexer(name))
	})
}

// report returns the evaluation of a searcher that the menu has.
func (s *site) report(ctx context.Context, name string) (*eval.Report, error) {
	return s.reports[name].get(ctx, func() (*eval.Report, error) {
		return eval.Run(s.ctx, s.Catalog, s.Queries, eval.Options{Index: s.indexer(name)})
	})
}

// A once is a value that is made when it is first asked for. Whoever asks meanwhile waits for the
// same value. A failure is not kept: the next question tries again.
type once[T any] struct {
	mu     sync.Mutex
	making *making[T] // nil means that nobody has asked yet, or that it failed
}

type making[T any] struct {
	done  chan struct{} // closed when value and err are set
	value T
	err   error
}

// errPending means that a value is still being made: the same question gets it later.
var errPending = errors.New("the answer is being made")

// get returns the value, or errPending as soon as ctx is done. The value is made all the same.
func (o *once[T]) get(ctx context.Context, f func() (T, error)) (T, error) {
	o.mu.Lock()
	m := o.making
	if m == nil {
		m = &making[T]{done: make(chan struct{})}
		o.making = m
		go func() {
			m.value, m.err = foreign.Guard(f)
			if m.err != nil {
				o.mu.Lock()
				o.making = nil
				o.mu.Unlock()
			}
			close(m.done)
		}()
	}
	o.mu.Unlock()
	select {
	case <-m.done:
		return m.value, m.err
	case <-ctx.Done():
		var none T
		return none, errPending
	}
}
