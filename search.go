package toolsearch

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/search"
)

// The path from what the model typed to what it gets back:
//
//	text -> ParseQuery -> select by name | rank by keywords -> Result
//
// Everything a model can ask for goes through scope.find, whichever protocol or tool it
// came in by: which part of the catalog, which searcher, and what is said when nothing is
// found.

// trace is what is to be told of a search besides its result.
type trace struct {
	searcher string
	failure  error              // a searcher's, which the search recovered from
	wrong    *search.QueryError // of the first query that a searcher cannot search by
}

// A scope is a catalog as far as one request may see it. What is outside is not found, not
// suggested and not selected, as if it were not there.
type scope struct {
	*Catalog
	allowed docset.Set // nil: all of it
	fair    bool       // no namespace takes every place of a result while others match
}

func (c *Catalog) all() scope { return scope{Catalog: c} }

// sees reports whether the document is in the scope.
func (c scope) sees(doc int) bool { return c.allowed == nil || c.allowed.Has(doc) }

// find answers one or more queries as one result: the best of each, then the second
// best of each, and so on, every tool once. limit counts for each query; 0 is the
// default.
//
// The error is what it could not recover from, a cancelled context included.
func (c scope) find(ctx context.Context, queries []string, namespace string, limit int) (*Result, trace, error) {
	lists := make([][]Match, 0, 1)
	var missed []string // keywords of the queries that found nothing
	var trace trace
	result := &Result{}
	blank := true
	if err := ctx.Err(); err != nil {
		return nil, trace, err
	}
	for _, text := range queries[:min(len(queries), maxQueries)] {
		if list, ok := parseSelect(text); ok {
			matches, missing := c.selectNames(list)
			blank = blank && len(matches)+len(missing) == 0
			lists = append(lists, matches)
			result.Total += len(matches)
			result.NotFound = append(result.NotFound, missing...)
			continue
		}
		q := search.ParseQuery(text)
		if len(q.Keywords) == 0 {
			continue
		}
		blank = false
		q.Limit, q.Namespace = c.limit(limit), namespace
		matches, total, err := c.rank(ctx, q, &trace)
		if mistake := search.AsQueryError(err); mistake != nil {
			trace.wrong = cmp.Or(trace.wrong, mistake)
			continue
		}
		if err != nil {
			return nil, trace, err
		}
		lists = append(lists, matches)
		result.Total += total
		if len(matches) == 0 {
			missed = append(missed, q.Keywords...)
		}
	}
	result.Matches = interleave(lists)
	c.help(result, blank, missed)
	if trace.wrong != nil { // which may well be why there is no match
		result.Message = c.prompt.of(trace.wrong)
	}
	return result, trace, nil
}

// unlimited asks for as many tools as the ceiling allows.
const unlimited = math.MaxInt

// limit applies the default and the ceiling to what was asked for.
func (c scope) limit(asked int) int {
	if asked <= 0 {
		return c.maxResults
	}
	return min(asked, c.maxResultsCap)
}

// rank answers a keyword query. A QueryError of the catalog's searcher is its error.
func (c scope) rank(ctx context.Context, q search.Query, t *trace) (matches []Match, total int, err error) {
	if c.allowed != nil {
		q.Allowed = c.allowed.Has
	}
	matches, total, err = c.ask(ctx, q, t)
	if err == nil && c.fair {
		searcher := c.searcher
		switch t.searcher {
		case "fallback":
			searcher = c.fallback
		case "keyword":
			searcher, _ = c.keyword() // it has answered
		}
		matches = c.share(ctx, searcher, q, matches, total)
	}
	return matches, total, err
}

// ask asks the catalog's searcher, then its fallback if that found nothing. When all that
// answered was a failure, it asks the keyword scorer, which cannot fail.
func (c scope) ask(ctx context.Context, q search.Query, t *trace) (matches []Match, total int, err error) {
	answered := false
	for i, searcher := range []search.Searcher{c.searcher, c.fallback} {
		if searcher == nil {
			continue
		}
		matches, total, err := c.count(ctx, searcher, q)
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		if search.IsPartial(err) {
			t.failure = cmp.Or(t.failure, err)
		} else if wrong := search.AsQueryError(err); wrong != nil {
			if i == 0 {
				return nil, 0, wrong
			}
		} else if err != nil {
			t.failure = cmp.Or(t.failure, err)
			continue
		}
		answered = true
		if len(matches) > 0 {
			t.searcher = [...]string{"index", "fallback"}[i]
			return matches, total, nil
		}
	}
	if answered {
		return nil, 0, nil
	}
	keyword, err := c.keyword()
	if err != nil {
		return nil, 0, err
	}
	if matches, total, err = c.count(ctx, keyword, q); len(matches) > 0 {
		t.searcher = "keyword"
	}
	return matches, total, err
}

// preselect returns the best documents for what a user said. No word in it is required. If
// the searcher fails there are none: a guess is no reason to ask a worse one.
func (c scope) preselect(ctx context.Context, text string, limit int) ([]int, error) {
	q := search.ParseQuery(text)
	q.Required, q.Limit = nil, limit
	if c.allowed != nil {
		q.Allowed = c.allowed.Has
	}
	matches, total, err := c.count(ctx, c.preselector, q)
	if c.fair {
		matches = c.share(ctx, c.preselector, q, matches, total)
	}
	docs := make([]int, len(matches))
	for i, m := range matches {
		docs[i] = c.byName[m.Info.Name]
	}
	return docs, err
}

// share gives the last place of a result that is all of one namespace to the best tool
// outside of it, if one matches: a server whose tools repeat every word a user may say
// cannot keep all others from being found.
func (c scope) share(ctx context.Context, searcher search.Searcher, q search.Query, matches []Match, total int) []Match {
	if len(matches) < 2 || total <= len(matches) {
		return matches
	}
	namespaceOf := func(doc int) string { return c.docs[doc].Namespace }
	crowd := namespaceOf(c.byName[matches[0].Info.Name])
	for _, m := range matches {
		if crowd == "" || namespaceOf(c.byName[m.Info.Name]) != crowd {
			return matches
		}
	}
	q.Limit = 1
	q.Allowed = func(doc int) bool { return c.sees(doc) && namespaceOf(doc) != crowd }
	others, _, err := c.count(ctx, searcher, q)
	if err != nil && !search.IsPartial(err) || len(others) == 0 {
		return matches
	}
	return append(matches[:len(matches)-1:len(matches)-1], others[0])
}

// count asks one searcher. Where it may not know q.Allowed and what it found is not
// allowed, it is asked again for all it has. A PartialError comes with matches.
func (c scope) count(ctx context.Context, s search.Searcher, q search.Query) ([]Match, int, error) {
	hits, total, err := countHits(ctx, s, q)
	if err != nil && !search.IsPartial(err) {
		return nil, 0, err
	}
	dropped := q.Allowed != nil && slices.ContainsFunc(hits, func(h search.Hit) bool {
		return h.Doc >= 0 && h.Doc < len(c.docs) && !q.Allowed(h.Doc)
	})
	if dropped && q.Limit > 0 {
		unlimited := q
		unlimited.Limit = 0
		if hits, total, err = countHits(ctx, s, unlimited); err != nil && !search.IsPartial(err) {
			return nil, 0, err
		}
	}
	matches, distinct := c.matches(hits, q)
	if _, counts := s.(search.Counter); !counts || dropped {
		total = distinct
	}
	return matches, min(max(total, distinct), len(c.docs)), err
}

func countHits(ctx context.Context, s search.Searcher, q search.Query) (hits []search.Hit, total int, err error) {
	defer func() {
		if p := recover(); p != nil { // a searcher that fails is not the end of the search
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if counter, ok := s.(search.Counter); ok {
		return counter.SearchCount(ctx, q)
	}
	hits, err = s.Search(ctx, q)
	return hits, len(hits), err
}

// matches trusts no searcher: hits outside the catalog, ones not allowed, repeated ones and
// those beyond the limit are dropped. distinct counts what the limit alone would drop too.
func (c scope) matches(hits []search.Hit, q search.Query) (matches []Match, distinct int) {
	var seen docset.Set
	isNew := func(i int, hit search.Hit) bool {
		if len(hits) <= 64 {
			return !slices.ContainsFunc(hits[:i], func(h search.Hit) bool { return h.Doc == hit.Doc })
		}
		if seen == nil {
			seen = docset.New(len(c.docs))
		}
		return seen.Add(hit.Doc)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = len(hits)
	}
	matches = make([]Match, 0, min(len(hits), limit))
	for i, hit := range hits {
		if hit.Doc < 0 || hit.Doc >= len(c.docs) || !q.Allows(hit.Doc) || !isNew(i, hit) {
			continue
		}
		distinct++
		if len(matches) < limit {
			matches = append(matches, Match{Info: c.docs[hit.Doc].Info, Score: hit.Score})
		}
	}
	return matches, distinct
}

// interleave merges lists rank by rank and drops repeated tools.
func interleave(lists [][]Match) []Match {
	if len(lists) == 1 {
		return lists[0]
	}
	var merged []Match
	seen := make(map[*schema.ToolInfo]bool)
	for rank, more := 0, true; more; rank++ {
		more = false
		for _, list := range lists {
			if rank >= len(list) {
				continue
			}
			more = true
			if info := list[rank].Info; !seen[info] {
				seen[info] = true
				merged = append(merged, list[rank])
			}
		}
	}
	return merged
}

// help adds near names and words to a result that found less than it was asked for.
func (c scope) help(result *Result, blank bool, missed []string) {
	switch {
	case blank:
		result.Message = c.prompt.text("empty-query")
	case len(result.NotFound) > 0:
		result.Suggestions = c.near(result.NotFound, result.Matches)
		if len(result.Suggestions) > 0 {
			result.Message = c.prompt.text("not-found-near")
		} else {
			result.Message = c.prompt.text("not-found")
		}
	case len(result.Matches) == 0:
		result.Suggestions = c.near(missed, nil)
		result.Message = c.prompt.text("no-match")
	}
}

// Bounds on what one call of a meta-tool asks for.
const (
	maxSelectBytes = 32 << 10
	maxSelect      = 200 // names in one select:
	maxQueries     = 10  // in one call of the meta-tool
	maxSuggestions = 5
)

// A Result is the answer to a search.
type Result struct {
	Matches     []Match  // best first, or in the order asked for by a selection
	NotFound    []string // names a selection asked for that no tool has
	Suggestions []string // near names, where something was not found
	Total       int      // number of tools that matched before the limit; of several queries, the sum
	Message     string   // words of help for the model; "" if there is nothing to say
}

// A Match is one tool found.
type Match struct {
	Info  *schema.ToolInfo // shared: not to be changed
	Score float64          // 0 for a tool selected by name
}
