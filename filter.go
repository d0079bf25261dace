package toolsearch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/toolpattern"
	"github.com/eino-toolsearch/toolsearch/internal/toolsource"
)

// Who may see which tool: filters made of lists, what a Filter lets a run have, and searchers of that
// part of the catalog.

// FilterTools returns a Config.Filter that passes the tools of the servers and the listed
// tools: a tool passes if it is in either list. A server is a namespace, such as "github" or
// "github:*". A tool is a pattern as in Config.AlwaysLoaded, such as "github:create_issue",
// "get_weather" or "tag:read". Tools of the tags pass in any case: with "human", a user may ask a
// human whatever else the user may do. Empty lists and no tags pass nothing: a user without
// permissions has no tools. For no filter at all leave Config.Filter nil.
//
// Config.Annotate sets namespaces and tags. A malformed pattern matches nothing. If an entry is
// malformed, or no tool of the whole catalog matches it, a FailureEvent says so, once for each
// catalog. A Filter of your own that calls this one has to pass its context on for that.
func FilterTools(servers, tools []string, tags ...string) func(ctx context.Context, doc Document) bool {
	filter := toolpattern.NewFilter(servers, tags, tools)
	return func(ctx context.Context, doc Document) bool {
		return filter.Passes(ctx, patternTool(&doc))
	}
}

// patternTool returns what patterns match of a document.
func patternTool(doc *Document) *toolpattern.Tool {
	return &toolpattern.Tool{Name: doc.Name, Namespace: doc.Namespace, Tags: doc.Tags}
}

// hasMatch reports whether the catalog has a tool that a pattern matches.
func (c *Catalog) hasMatch(p *toolpattern.Pattern) bool {
	return slices.ContainsFunc(c.docs, func(doc Document) bool { return p.Matches(patternTool(&doc)) })
}

// allowed asks a Filter which tools a run may have, and tells what matches nothing. told is what it
// told before of this catalog.
func (c *Catalog) allowed(ctx context.Context, filter func(context.Context, Document) bool, told *seenTexts, teller *teller) docset.Set {
	if !teller.listens() {
		allowed, _ := c.allowedBy(ctx, filter)
		return allowed
	}
	watched, watch := toolpattern.NewWatch(ctx)
	allowed, passed := c.allowedBy(watched, filter)
	if count := len(c.docs); count > 0 && passed == 0 {
		teller.fail(ctx, "Filter", fmt.Errorf("toolsearch: Filter lets none of %d tools pass", count))
	}
	if !told.isNew(watch.Texts()) {
		return allowed
	}
	if idle := watch.Idle(c.hasMatch); len(idle) > 0 {
		if err := toolsource.Problems("Filter: no tool matches", idle); told.isNew(err.Error()) {
			teller.fail(ctx, "Filter", err)
		}
	}
	return allowed
}

// allowedBy asks a Filter about every tool, and counts those that pass. A tool on which the
// Filter panics does not pass.
func (c *Catalog) allowedBy(ctx context.Context, filter func(context.Context, Document) bool) (allowed docset.Set, passed int) {
	allowed = docset.New(len(c.docs))
	for i := range c.docs {
		passes, err := foreign.Guard(func() (bool, error) { return filter(ctx, c.docs[i]), nil })
		if passes && err == nil {
			allowed.Add(i)
			passed++
		}
	}
	return allowed, passed
}

// seenTexts remembers texts. It may be used by several runs at once. The zero value is ready.
type seenTexts struct {
	mu  sync.Mutex
	has map[string]bool
}

// maxSeenTexts bounds what seenTexts remembers: each user may have another Filter.
const maxSeenTexts = 1000

// isNew reports whether a text was not seen before.
func (s *seenTexts) isNew(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has[text] {
		return false
	}
	if s.has == nil || len(s.has) == maxSeenTexts {
		s.has = make(map[string]bool)
	}
	s.has[text] = true
	return true
}

// restricted returns a searcher of the documents alone, or s itself if they are all documents. It
// returns nil if s is not a Restricter. What a request may not see must not count in its rankings
// either: the frequency of a word, a word that only a hidden tool has.
func (c *Catalog) restricted(ctx context.Context, s Searcher, docs docset.Set) (Searcher, error) {
	from, ok := s.(Restricter)
	switch {
	case !ok:
		return nil, nil
	case docs.Len() == len(c.docs):
		return s, nil
	}
	return c.restrictions.Of(ctx, from, docs, restrict)
}

func restrict(ctx context.Context, from Restricter, docs []int) (Searcher, error) {
	s, err := foreign.Guard(func() (Searcher, error) { return from.Restrict(ctx, docs) })
	if err == nil && foreign.IsNil(s) {
		err = errors.New("there is no Searcher")
	}
	if err != nil {
		return nil, fmt.Errorf("toolsearch: restricting %T: %w", from, err)
	}
	return s, nil
}
