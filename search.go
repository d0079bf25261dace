package toolsearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/search"
)

// The path from what the model typed to what it gets back:
//
//	text -> select by name                                               -> Result
//	     -> read, as the searcher asked does -> narrow -> rank -> share  -> Result
//
// Every search of every protocol goes through scope.find. It decides which part of the catalog
// is searched, which searcher answers, and what the model reads when nothing is found. What a
// query demands besides a ranking is resolved here and nowhere else: search.Narrower resolves
// required words and namespaces, and the scope is what the request may see.

// trace is what events tell of a search besides its result.
type trace struct {
	answered string             // the last searcher that found anything, as in SearchEvent.Searcher
	failure  error              // a searcher's failure that the search recovered from
	wrong    *search.QueryError // of the first query that a searcher cannot search by
	near     int                // matches of a fallback that were not returned, since others are nearer
}

// A scope is the part of a catalog that one request may see. Other tools are not found, not
// suggested and not selected.
type scope struct {
	*Catalog
	allowed      docset.Set // nil means all documents
	perNamespace int        // most places of a result for one namespace; 0 means all but one, negative means no limit
}

func (c *Catalog) all() scope { return scope{Catalog: c, perNamespace: -1} }

// sees reports whether the document is in the scope.
func (c scope) sees(doc int) bool { return c.allowed == nil || c.allowed.Has(doc) }

// size returns the number of tools in the scope.
func (c scope) size() int {
	if c.allowed == nil {
		return len(c.docs)
	}
	return c.allowed.Len()
}

// filter returns sees as a Query has it: nil means all documents.
func (c scope) filter() func(doc int) bool {
	if c.allowed == nil {
		return nil
	}
	return c.allowed.Has
}

// find answers queries with one result: the best tool of each query, then the second best of
// each, and so on, every tool once. The limit holds for each query; 0 means the default.
//
// When the time of limited is up, the result is what was found by then, and the trace's failure says
// so. The error is a failure that find could not recover from, or that of ctx.
func (c scope) find(ctx, limited context.Context, queries []string, namespace string, limit int) (*Result, trace, error) {
	lists := make([][]Match, 0, 1)
	var missed []string // keywords of the queries that found nothing
	var trace trace
	result := &Result{}
	blank := true
	var ended error
	for _, text := range queries[:min(len(queries), maxQueries)] {
		if ended = limited.Err(); ended != nil {
			break
		}
		if list, ok := parseSelect(text); ok {
			matches, missing := c.selectNames(list)
			blank = blank && len(matches)+len(missing) == 0
			lists = append(lists, matches)
			result.Total += len(matches)
			result.NotFound = append(result.NotFound, missing...)
			continue
		}
		if !hasWord(text) {
			continue
		}
		blank = false
		matches, total, err := c.rank(limited, text, namespace, c.limit(limit), &trace)
		if mistake := queryError(err); mistake != nil {
			trace.wrong = cmp.Or(trace.wrong, mistake)
			continue
		}
		if ended = limited.Err(); ended != nil {
			break
		}
		if err != nil {
			return nil, trace, err
		}
		lists = append(lists, matches)
		result.Total += total
		if len(matches) == 0 {
			missed = append(missed, search.ParseQuery(text).Keywords...)
		}
	}
	result.Matches = docset.Interleave(lists, func(m Match) *schema.ToolInfo { return m.Info })
	c.help(result, blank, missed)
	if wrong := trace.wrong; wrong != nil { // probably the reason for no match
		if result.Message = wrong.Message; wrong.Key != "" {
			result.Message = c.prompt.Text(wrong.Key, wrong.Values...)
		}
	}
	if ended != nil && ctx.Err() == nil {
		trace.failure, ended = cmp.Or(trace.failure, ended), nil
		result.Message = c.prompt.Text("search-timeout")
	}
	return result, trace, ended
}

// hasWord reports whether ParseQuery finds a keyword in the text.
func hasWord(text string) bool {
	for word := range strings.FieldsSeq(text) {
		if word != "+" {
			return true
		}
	}
	return false
}

// unlimited asks for as many tools as MaxResultsCap allows.
const unlimited = math.MaxInt

// limit returns the number of results for the number that the model asked for.
func (c scope) limit(asked int) int {
	if asked <= 0 {
		return c.maxResults
	}
	return min(asked, c.maxResultsCap)
}

// queryError returns the QueryError that err is, or nil.
func queryError(err error) *search.QueryError {
	if err == nil { // the usual case, without the allocation of errors.As
		return nil
	}
	wrong := (*search.QueryError)(nil)
	errors.As(err, &wrong)
	return wrong
}

// rank asks the catalog's searcher, and its fallback if the searcher finds nothing. If both
// fail, rank asks Keyword, which cannot fail. A QueryError of the catalog's searcher is
// returned as the error.
func (c scope) rank(ctx context.Context, text, namespace string, limit int, t *trace) (matches []Match, total int, err error) {
	answered := false
	for i, s := range [...]search.Searcher{c.searcher, c.fallback} {
		if s == nil {
			continue
		}
		q, err := c.read(s, text, namespace, limit)
		var a ranking
		if err == nil {
			a, err = c.ask(ctx, s, q)
		}
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		t.failure = cmp.Or(t.failure, a.partial)
		if wrong := queryError(err); wrong != nil {
			if i == 0 {
				return nil, 0, wrong
			}
		} else if err != nil {
			t.failure = cmp.Or(t.failure, err)
			continue
		}
		answered = true
		if len(a.matches) > 0 {
			t.answered = "index"
			if i > 0 {
				t.answered = "fallback"
				t.near += a.total - len(a.matches)
			}
			return c.share(ctx, s, a), a.total, nil
		}
	}
	if answered {
		return nil, 0, nil
	}
	// The failed searchers may read texts by a rule of their own, which Keyword cannot follow.
	keyword := c.narrower.Keyword()
	q, err := c.read(nil, text, namespace, limit)
	if err != nil {
		return nil, 0, err
	}
	a, err := c.ask(ctx, keyword, q)
	if err == nil && len(a.matches) > 0 {
		t.answered = "keyword"
		a.matches = c.share(ctx, keyword, a)
	}
	return a.matches, a.total, err
}

// A ranking is a query and what a searcher found by it.
type ranking struct {
	query   search.Query
	matches []Match
	total   int
	partial error // what failed although the searcher answered
}

// read reads a text as a searcher does; nil means by the common rule. A panic is a failure.
func (c scope) read(s search.Searcher, text, namespace string, limit int) (q search.Query, err error) {
	defer failed(&err)
	q = c.narrower.Narrow(c.narrower.Read(s, text, namespace, c.filter()), nil)
	q.Limit = limit
	return q, nil
}

// failed turns a panic of foreign code into an error. It is a function to defer, since a deferred
// closure would cost every search an allocation.
func failed(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v", p)
	}
}

// preselect returns the best documents for a user's words. It reads them by the common rule, and no
// word is required. If the searcher fails, nothing is preselected. There is no fallback, since
// preselecting is a guess already.
func (c scope) preselect(ctx context.Context, text string, limit int) (docs []int, err error) {
	q := c.narrower.Read(nil, text, "", c.filter())
	q.Required, q.Limit = nil, limit
	a, err := c.ask(ctx, c.preselector, c.narrower.Narrow(q, nil))
	if err == nil {
		err = a.partial
	}
	matches := c.share(ctx, c.preselector, a)
	docs = make([]int, len(matches))
	for i, m := range matches {
		docs[i] = c.byName[m.Info.Name]
	}
	return docs, err
}

// share takes places of a result from namespaces that have more than their share.
func (c scope) share(ctx context.Context, s search.Searcher, a ranking) []Match {
	places, most := len(a.matches), c.perNamespace
	if most == 0 {
		most = places - 1
	}
	if most < 1 || most >= places || a.total <= places {
		return a.matches
	}
	rule := docset.PlaceRule[Match]{
		Most: most, Docs: len(c.docs),
		Doc:       func(m Match) int { return c.byName[m.Info.Name] },
		Namespace: func(doc int) string { return c.docs[doc].Namespace },
	}
	if !rule.IsCrowded(a.matches) {
		return a.matches
	}
	return rule.Share(a.matches, c.askOpen(ctx, s, a))
}

// askOpen returns a function that repeats the search among open documents. If the search fails, it
// returns nothing.
func (c scope) askOpen(ctx context.Context, s search.Searcher, a ranking) func(isOpen func(doc int) bool) []Match {
	return func(isOpen func(doc int) bool) []Match {
		q := a.query
		q.Limit = len(a.matches)
		q.Allowed = func(doc int) bool { return a.query.Allows(doc) && isOpen(doc) }
		more, err := c.ask(ctx, s, q)
		if err != nil {
			return nil
		}
		return more.matches
	}
}

// ask asks one searcher. The scope applies in addition to q.Allowed: a Restricter is asked as if
// the scope were the catalog, any other searcher through q.Allowed. If the searcher does not keep
// to q.Allowed, ask repeats the search without a limit. A panic is a failure.
func (c scope) ask(ctx context.Context, s search.Searcher, q search.Query) (a ranking, err error) {
	defer failed(&err)
	a.query = q
	asked := q
	if c.allowed != nil {
		restricted, err := c.restricted(ctx, s, c.allowed)
		if err != nil {
			return a, err
		}
		if q = c.scoped(q); restricted != nil {
			s = restricted
		} else {
			asked = q
		}
	}
	hits, err := s.Search(ctx, asked)
	if err != nil {
		return a, err
	}
	found := c.matches(hits.Hits, q)
	if found.dropped && q.Limit > 0 {
		asked.Limit = 0
		if hits, err = s.Search(ctx, asked); err != nil {
			return a, err
		}
		found = c.matches(hits.Hits, q)
		found.dropped = true
	}
	total := hits.Total
	if total < len(hits.Hits) || found.dropped {
		total = found.distinct
	}
	a.matches, a.total, a.partial = found.matches, min(max(total, found.distinct), len(c.docs)), hits.Partial
	return a, nil
}

// scoped returns the query, limited to the scope.
func (c scope) scoped(q search.Query) search.Query {
	demanded := q.Allowed
	if q.Allowed = c.allowed.Has; demanded != nil {
		q.Allowed = func(doc int) bool { return c.allowed.Has(doc) && demanded(doc) }
	}
	return q
}

// checked is what is right about the hits of a searcher.
type checked struct {
	matches  []Match
	distinct int  // number of hits that are right, also beyond the limit
	dropped  bool // some were not allowed
}

// matches does not trust the searcher. It drops hits outside the catalog, hits that are not
// allowed, repeated hits and hits beyond the limit.
func (c scope) matches(hits []search.Hit, q search.Query) (found checked) {
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
	found.matches = make([]Match, 0, min(len(hits), limit))
	for i, hit := range hits {
		switch {
		case hit.Doc < 0 || hit.Doc >= len(c.docs):
		case !q.Allows(hit.Doc):
			found.dropped = true
		case isNew(i, hit):
			found.distinct++
			if len(found.matches) < limit {
				found.matches = append(found.matches, Match{Info: c.docs[hit.Doc].Info, Score: hit.Score})
			}
		}
	}
	return found
}

// help adds near names and a message to a result without a match or with names not found.
func (c scope) help(result *Result, blank bool, missed []string) {
	switch {
	case blank:
		result.Message = c.prompt.Text("empty-query")
	case len(result.NotFound) > 0:
		result.Suggestions, result.Message = c.instead(result)
	case len(result.Matches) == 0:
		result.Suggestions = c.near(missed, nil)
		result.Message = c.prompt.Text("no-match")
	}
}

// instead returns names near those that were not found, and what the model reads about them.
func (c scope) instead(result *Result) (suggestions []string, message string) {
	if suggestions = c.near(result.NotFound, result.Matches); len(suggestions) > 0 {
		return suggestions, c.prompt.Text("not-found-near")
	}
	return nil, c.prompt.Text("not-found")
}

// near returns names like the given texts, without the names of the matches.
func (c scope) near(texts []string, matched []Match) []string {
	var names []string
	for _, text := range texts[:min(len(texts), maxNearQueries)] {
		for _, name := range c.names().Near(text, maxSuggestions, c.allowed) {
			isMatched := slices.ContainsFunc(matched, func(m Match) bool { return m.Info.Name == name })
			if !isMatched && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names[:min(len(names), maxSuggestions)]
}

// Bounds on what one call of a meta-tool asks for.
const (
	maxSelectBytes = 32 << 10
	maxSelect      = 200 // names in one select:
	maxQueries     = 10  // in one call of the meta-tool
	maxNearQueries = 8   // texts for which one search looks for near names
	maxSuggestions = 5
)

// A Result is the answer to a search.
type Result struct {
	Matches     []Match  // best first, or in the order asked for by a selection
	NotFound    []string // names of a selection that no tool has
	Suggestions []string // names near those that were not found
	Total       int      // number of tools that matched before the limit, summed over the queries
	Message     string   // help for the model; "" means none
}

// A Match is a tool that was found.
type Match struct {
	Info  *schema.ToolInfo // shared; must not be changed
	Score float64          // 0 for a tool selected by name
}
