// Package ui is the page that `toolsearch ui` shows: a search as somebody types, the score of
// each result taken apart, the tokens of a catalog, what to fix in it, what conversations cost, and
// the misses of an evaluation.
//
//	catalog, queries -> Page -> answers as JSON (answers.go) -> static/page.js -> text nodes
//
// The texts of a catalog come from outside, and some attack. Three walls keep them from being more than
// texts: the answers are JSON in which hidden characters are escapes, the script makes text nodes
// only, and the Content-Security-Policy runs nothing that is not in the binary (server.go).
package ui

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/catalog"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/inspect"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/searchers"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// A Page is what is shown. It must not change while it is served.
type Page struct {
	Title     string               // of the catalog
	Tools     []catalog.Definition // those that one catalog can hold are shown
	Searchers []searchers.Searcher // to choose among; at least one
	Chosen    []string             // names of one or two of Searchers that are shown first
	Queries   []eval.Query         // nil means that there is no evaluation

	// Findings says what to fix in the catalog. It is called when somebody opens the
	// findings. Nil means that the page has none.
	Findings func(ctx context.Context) (*inspect.Report, error)
}

// A site is a Page that is being served. Slow answers are made once, when they are first asked for.
type site struct {
	Page                    // its Tools are those of catalog
	ctx     context.Context // ends with the server
	catalog *eval.Catalog
	sizes   []inspect.ToolReport // of Tools
	ids     map[string]int       // name of a tool -> its place in Tools
	servers []string             // of Tools
	busy    chan struct{}        // holds a value for each search that runs

	flight singleflight.Group // slow answers that are being made, by what they are
	made   sync.Map           // and those that are there
}

// searching is how many searches run at a time. The rest wait their turn or are cancelled.
const searching = 8

func newSite(ctx context.Context, p Page) (*site, error) {
	s := &site{Page: p, ctx: ctx, ids: make(map[string]int), busy: make(chan struct{}, searching)}
	var err error
	s.catalog, s.Tools, err = catalog.Of(p.Tools)
	if err == nil && s.catalog == nil {
		err = errors.New("no tool has a name")
	}
	if err != nil {
		return nil, err
	}
	s.sizes = inspect.Sizes(s.Tools)
	for i, info := range s.catalog.Tools {
		s.ids[info.Name] = i
		s.servers = append(s.servers, s.catalog.Annotate(info).Namespace)
	}
	return s, nil
}

// warm builds what the first searches need, so that the first letter typed is as fast as the others.
func (s *site) warm() {
	for _, name := range s.Chosen {
		go func() {
			if catalog, err := s.index(s.ctx, s.Searchers[s.menuAt(name)]); err == nil {
				_, _ = catalog.Search(s.ctx, s.examples()[0], 1)
			}
		}()
	}
}

// menuAt returns the place of a searcher in the menu, or -1.
func (s *site) menuAt(name string) int {
	return slices.IndexFunc(s.Searchers, func(has searchers.Searcher) bool { return has.Name == name })
}

// index returns the catalog compiled for a searcher.
func (s *site) index(ctx context.Context, searcher searchers.Searcher) (*toolsearch.Catalog, error) {
	return get(ctx, s, "index "+searcher.Name, func() (*toolsearch.Catalog, error) {
		return s.catalog.Compile(s.ctx, searcher.Index)
	})
}

// errPending means that a value is still being made: the same question gets it later.
var errPending = errors.New("the answer is being made")

// get returns what f makes when it is first asked for, or errPending as soon as ctx is done. It is
// made all the same, and whoever asks meanwhile waits for it. A failure is not kept: the next
// question tries again.
func get[T any](ctx context.Context, s *site, what string, f func() (T, error)) (value T, err error) {
	making := s.flight.DoChan(what, func() (any, error) {
		if made, ok := s.made.Load(what); ok {
			return made, nil
		}
		value, err := foreign.Guard(f)
		if err == nil {
			s.made.Store(what, value)
		}
		return value, err
	})
	select {
	case m := <-making:
		value, _ = m.Val.(T)
		return value, m.Err
	case <-ctx.Done():
		return value, errPending
	}
}
