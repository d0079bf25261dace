package toolsearch

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/wording"
	"github.com/eino-toolsearch/toolsearch/search"
)

// The path from what the model typed to what it gets back:
//
//	text -> select by name                                               -> Result
//	     -> read, as the searcher asked does -> narrow -> rank -> spread -> Result
//
// Every search of every protocol goes through scope.find. What a query demands besides a ranking is resolved here and
// nowhere else: search.Narrower resolves required words and namespaces, and the scope is what the request may see.

// trace is what events tell of a search besides its result.
type trace struct {
	answered     string             // the last searcher that found anything, as in SearchEvent.Searcher
	failure      error              // a searcher's failure that the search recovered from
	wrong        *search.QueryError // of the first query that a searcher cannot search by
	first        string             // the searcher that found the best of the last query
	best         float64            // its score by the query alone
	alreadyShown []string           // names of matches whose definitions the model sees already
	copies       []string           // names of the matches' copies on other servers
	related      []string           // names of tools that may be needed together with the matches
	near         int                // matches of a fallback that were not returned, since others are nearer
	ranked       int                // how many queries ask for more than tools by name
	query        search.Query       // the last query, as it was read
	demands      bool               // a query has required words or a namespace
	isLong       bool               // an answer with all matches has no room for their texts
	foundBy      map[string]string  // of several queries, those that found a tool; nil for a single query
}

func (t *trace) found(matches []Match, queries []string, at int) {
	if t.foundBy == nil {
		t.foundBy = make(map[string]string)
	}
	labelOf := func(query string) string { return naming.CutWords(naming.OneLine(query, 2*maxFoundBy), maxFoundBy) }
	query, text := labelOf(queries[at]), queries[at]
	if slices.ContainsFunc(queries, func(other string) bool { return other != text && labelOf(other) == query }) {
		query = strconv.Itoa(at+1) + ". " + query
	}
	for _, m := range matches {
		t.foundBy[m.Info.Name] = strings.TrimPrefix(t.foundBy[m.Info.Name]+" | "+query, " | ")
	}
}

// A scope is the part of a catalog that one request may see. Other tools are not found, suggested or selected. Closures
// copy up to 128 bytes, which these are; a larger scope would cost every search an allocation.
type scope struct {
	*Catalog
	byName       map[string]int     // as the Catalog's; of several tools of one name, the first that is allowed
	allowed      docset.Set         // nil means all documents
	down         string             // names of the groups that do not answer, of those that the request may know
	prompt       *wording.Texts     // for what the model sees of the hidden tools
	isShown      func(doc int) bool // whether the model sees a tool's definition already, so that it needs no place; nil means that none is
	evidence     *evidence          // what speaks for a tool besides the query
	cutsOff      bool               // every match sends its definition, so matches far below the best of a query are left out
	fills        bool               // places that the queries leave are for what is relevant to the user's request
	showsNoNames bool               // the model has no list of the hidden tools' names
	best         float64            // the score of a query's best, if the model sees it already; 0 means the first match
	chosen       map[int]int        // by the first of some copies: the one in the answer; nil means that each copy gets a place
	only         string             // the searcher to ask, as in SearchEvent.Searcher; "" means whichever answers
	perNamespace int                // most places of a result for one namespace; 0 means all but one, negative means no limit
}

func (c *Catalog) all() scope {
	return scope{Catalog: c, byName: c.byName, prompt: c.prompt, perNamespace: -1, evidence: &c.evidence}
}

// strengths returns what co-use says of the documents of a scope, from what it says of names.
func (c scope) strengths(byName map[string]float64) map[int]float64 {
	related := make(map[int]float64, len(byName))
	for name, strength := range byName {
		if doc, ok := c.docNamed(name); ok && strength > 0 {
			related[doc] = min(strength, 1)
		}
	}
	return related
}

func (c scope) has(doc int) bool { return c.allowed == nil || c.allowed.Has(doc) }

func (c scope) size() int {
	if c.allowed == nil {
		return len(c.docs)
	}
	return c.allowed.Len()
}

// find answers queries with one result: the best tool of each query, then the second best of each, and so on, every
// tool once. The limit holds for each query; 0 means the default.
//
// When the time of limited is up, the result is what was found by then, and the trace's failure says so. The error is a
// failure that find could not recover from, or that of ctx.
func (c scope) find(ctx, limited context.Context, queries []string, namespace string, limit int) (*Result, trace, error) {
	lists, ranked, selected := make([][]Match, 0, 1), make([][]Match, 0, 1), [][]Match(nil)
	var missed []string // queries that found nothing
	var trace trace
	result := &Result{}
	blank, places := true, 0
	var ended error
	for i, text := range queries[:min(len(queries), maxQueries)] {
		if ended = limited.Err(); ended != nil {
			break
		}
		if list, ok := c.namesIn(text); ok {
			matches, missing := c.selectNames(list)
			blank = blank && len(matches)+len(missing) == 0
			lists, selected = append(lists, matches), append(selected, matches)
			result.Total += len(matches)
			result.NotFound = append(result.NotFound, missing...)
			continue
		}
		isOfWord := func(r rune) bool { return r != '+' && !unicode.IsSpace(r) }
		if !strings.ContainsFunc(text, isOfWord) && !strings.Contains(text, "++") { // ParseQuery finds no keyword
			continue
		}
		blank = false
		trace.ranked++
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
		if len(matches) == 0 {
			missed = append(missed, text)
		}
		matches = c.placed(limited, matches, text, namespace, c.limit(limit), &trace)
		if lists, ranked = append(lists, matches), append(ranked, matches); len(queries) > 1 {
			trace.found(matches, queries, i)
		}
		most := len(matches)
		if most > 0 && trace.best < docset.Named { // a query that names a tool asks for no others
			most = c.limit(limit)
		}
		result.Total, places = result.Total+total-len(matches), places+most
	}
	for _, m := range slices.Concat(selected...) { // asked for by name, whatever else finds it
		delete(trace.foundBy, m.Info.Name)
	}
	result.Matches = interleaved(lists)
	distinct := len(interleaved(ranked))
	if result.Total += distinct; c.fills && !trace.demands {
		more := c.requested(result.Matches, min(places-distinct, c.maxResults))
		result.Matches, trace.copies = append(result.Matches, more...), append(trace.copies, c.otherCopies(more)...)
	}
	trace.alreadyShown = withoutMatches(trace.alreadyShown, result.Matches) // a tool asked for by name keeps its place
	trace.copies, trace.related = withoutMatches(trace.copies, result.Matches), withoutMatches(trace.related, result.Matches)
	trace.copies = slices.DeleteFunc(trace.copies, func(name string) bool { return slices.Contains(trace.alreadyShown, name) })
	trace.related = trace.related[:min(len(trace.related), maxRelated)]
	c.explain(result, &trace, missed, blank, queries)
	if ended != nil && ctx.Err() == nil {
		trace.failure, ended = cmp.Or(trace.failure, ended), nil
		result.Message = c.prompt.Text("search-timeout")
	}
	if ended != nil {
		return nil, trace, ended
	}
	return result, trace, nil
}

// placed returns the matches of one query that get places: not those whose definitions the model sees already, nor further
// copies, for which it asks for others. Tools that a match mentions come behind it.
func (c scope) placed(ctx context.Context, matches []Match, text, namespace string, limit int, t *trace) []Match {
	found, hasCopy := matches, c.chooseCopies(matches, t.query)
	if shown := c.alreadyShown(matches); len(shown) > 0 || hasCopy {
		t.alreadyShown = append(t.alreadyShown, shown...)
		again := c
		again.only, again.best = t.first, t.best
		for pass := 0; pass < maxPasses && (pass == 0 || hasCopy); pass++ {
			others, _, err := again.rank(ctx, text, namespace, limit, t)
			if err != nil {
				t.failure = cmp.Or(t.failure, err)
				break
			}
			matches, hasCopy = others, c.chooseCopies(others, t.query) // in the free places may be further copies
		}
		needsNone := func(m Match) bool { return slices.Contains(shown, m.Info.Name) || c.isCopy(c.byName[m.Info.Name]) }
		matches = slices.DeleteFunc(slices.Clone(matches), needsNone)
		rest := slices.DeleteFunc(slices.Clone(found), func(m Match) bool { return needsNone(m) || isAmong(matches, m.Info.Name) })
		matches = append(matches[:min(len(matches), limit-len(rest))], rest...) // of the fallback
	}
	if len(t.query.Required) == 0 {
		matches = c.withMentioned(matches, limit)
	}
	t.copies = append(t.copies, c.otherCopies(slices.Concat(matches, found))...)
	if c.isShown != nil && len(found) > 0 {
		t.related = append(t.related, c.relatedTo(slices.Concat(matches, found))...)
	}
	return matches
}

// explain says in the result why queries found nothing, or less than they ask for. missed are those that found nothing.
func (c scope) explain(result *Result, t *trace, missed []string, isBlank bool, queries []string) {
	switch isFound := len(result.Matches)+len(t.alreadyShown) > 0 && len(result.NotFound) == 0; {
	case isFound && len(missed) > 0:
		result.Message = c.prompt.Text("missed-queries", "{queries}", naming.OneLine(strings.Join(missed, "; "), maxLeftBytes))
	case isFound:
	case isBlank:
		result.Message = c.prompt.Text("empty-query")
	case len(result.NotFound) > 0:
		result.Suggestions, result.Message = c.instead(result)
	default:
		result.Suggestions, result.Message = c.near(search.ParseQuery(strings.Join(missed, " ")).Keywords, nil), c.missed("no-match")
	}
	if wrong := t.wrong; wrong != nil { // probably the reason for no match
		result.Message = cmp.Or(c.prompt.Text(wrong.Key, wrong.Values...), wrong.Message)
	}
	if more := queries[min(len(queries), maxQueries):]; len(more) > 0 {
		left := naming.CutWords(naming.OneLine(strings.Join(more, "; "), 2*maxLeftBytes), maxLeftBytes)
		result.Message = strings.TrimSpace(result.Message + " " + c.prompt.Text("left-queries", "{limit}", strconv.Itoa(maxQueries), "{queries}", left))
	}
}

// namesIn reads the list of a query that asks for tools by their names: after "select:", or nothing but the exact names of
// several tools, as models write them that see a list of names.
func (c scope) namesIn(text string) (list string, ok bool) {
	if list, ok = parseSelect(text); ok || c.isShown == nil {
		return list, ok
	}
	names := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",，、", r) || unicode.IsSpace(r) })
	isOther := func(name string) bool { return !c.hasTool(name) || !strings.Contains(name, "_") }
	return strings.Join(names, ","), len(names) > 1 && !slices.ContainsFunc(names, isOther)
}

// unlimited asks for as many tools as MaxResultsCap allows.
const unlimited = math.MaxInt

func (c scope) limit(asked int) int {
	if asked <= 0 {
		return c.maxResults
	}
	return min(asked, c.maxResultsCap)
}

func queryError(err error) *search.QueryError {
	if err == nil { // the usual case, without the allocation of errors.As
		return nil
	}
	wrong := (*search.QueryError)(nil)
	errors.As(err, &wrong)
	return wrong
}

// rank asks the catalog's searcher, its fallback if that finds nothing, or nothing but tools of one namespace, and if
// both fail Keyword, which cannot fail. A QueryError of the catalog's searcher is returned as the error.
func (c scope) rank(ctx context.Context, text, namespace string, limit int, t *trace) (matches []Match, total int, err error) {
	answered, isOther, places := false, (func(doc int) bool)(nil), limit
	if c.only != "" {
		c := c // the function keeps it: without a copy, every search would
		isOther = func(doc int) bool { return (c.isShown == nil || !c.isShown(doc)) && !c.isCopy(doc) }
	}
	for _, name := range [...]string{"index", "fallback", "keyword"} {
		s, reader := c.searcher, c.searcher
		switch name {
		case "fallback":
			s, reader = c.fallback, c.fallback
		case "keyword":
			if answered {
				return matches, total, nil
			}
			// The failed searchers may read texts by a rule of their own, which Keyword cannot follow.
			s, reader = c.narrower.Keyword(), nil
		}
		if s == nil || c.only != "" && name != c.only {
			continue
		}
		q, err := c.read(reader, text, namespace, places, isOther)
		if c.only == "" {
			t.query, t.demands = q, t.demands || q.Namespace != "" || len(q.Required) > 0
		}
		var a ranking
		if err == nil {
			a, err = c.ask(ctx, s, q)
		}
		switch wrong := queryError(err); {
		case ctx.Err() != nil:
			return nil, 0, ctx.Err()
		case wrong != nil && name == "index", err != nil && name == "keyword":
			return nil, 0, err
		case wrong == nil && err != nil:
			t.failure = cmp.Or(t.failure, err)
			continue
		}
		answered, t.failure = true, cmp.Or(t.failure, a.partial)
		if len(a.matches) > 0 {
			if t.answered = name; len(matches) == 0 && c.only == "" {
				t.first, t.best = name, a.best
			}
			if name == "fallback" && c.only == "" {
				t.near += a.total - len(a.matches)
			}
			a.matches, total = c.spread(ctx, s, a), total+a.total
			isOther, places = c.others(a)
			if len(a.far) > 0 {
				a.matches = slices.DeleteFunc(slices.Clone(a.matches), func(m Match) bool { return isAmong(a.far, m.Info.Name) })
			}
			if len(matches) > 0 { // of one namespace
				a.matches = append(matches[:min(len(matches), limit-len(a.matches))], a.matches...)
			}
			if matches = a.matches; name != "index" || places == 0 {
				break
			}
			c.perNamespace = cmp.Or(c.perNamespace, limit-1)
		}
	}
	return matches, total, nil
}

// others returns which tools the fallback may add to a ranking, and to how many places. It adds tools of other namespaces,
// if all matches are of one namespace, or if only tools of one contain some word of the query: otherwise one tool that
// lists misspelled words would be their only answer.
func (c scope) others(a ranking) (isOther func(doc int) bool, places int) {
	if c.fallback == nil || !c.isMixed || c.only != "" || a.query.Namespace != "" || len(a.query.Keywords) == 0 {
		return nil, 0
	}
	docs, matches, kept := c.docs, a.matches, min(a.total, a.query.Limit) // those far below the best included
	found := make([]*Document, len(matches))
	for i, m := range matches {
		found[i] = &docs[c.byName[m.Info.Name]]
	}
	var alone []string
	if one := oneOf(found); one != "" {
		if alone = []string{one}; c.perNamespace >= 0 {
			kept = min(kept, max(1, cmp.Or(c.perNamespace, a.query.Limit-1)))
		}
	} else if kept < a.query.Limit {
		for _, word := range a.query.Keywords[:min(len(a.query.Keywords), maxLoneWords)] {
			one := oneOf(slices.DeleteFunc(slices.Clone(found), func(d *Document) bool {
				return !strings.Contains(strings.ToLower(strings.Join(textsOf(d), "\n")), strings.ToLower(word))
			}))
			if len(word) >= minLoneWord && one != "" && !slices.Contains(a.query.Required, word) {
				alone = append(alone, one)
			}
		}
	}
	if len(alone) == 0 {
		return nil, 0
	}
	return func(doc int) bool {
		return !slices.Contains(alone, docs[doc].Namespace) && !isAmong(matches, docs[doc].Name)
	}, a.query.Limit - kept
}

// oneOf returns the only namespace of a list, or "" if there are several or none, or a tool has none.
func oneOf(docs []*Document) string {
	if len(docs) == 0 || slices.ContainsFunc(docs, func(d *Document) bool { return d.Namespace != docs[0].Namespace }) {
		return ""
	}
	return docs[0].Namespace
}

// Of the matches of a query, those after a gap are left out where the model pays for each: the score is below gapRatio
// of the one before, and below farRatio of the best. Tools that the query names stay, and so do those that have a place
// since one namespace may not have all. docs/searchers.md says what that saves and costs.
const (
	gapRatio = 0.8
	farRatio = 0.3
)

// beforeGap returns how many of the matches, the best first, are not far below the best.
func (c scope) beforeGap(matches []Match) int {
	best, before := math.Mod(c.best, docset.Named), math.Inf(1) // what words score of a tool that the query names
	for i, m := range matches {
		score := math.Mod(m.Score, docset.Named)
		if best = cmp.Or(best, score); c.cutsOff && m.Score < docset.Named && score < farRatio*best && best > 0 && score < gapRatio*before {
			return i
		}
		before = score
	}
	return len(matches)
}

// alreadyShown returns the names of the matches that the model sees already, or of their copies.
func (c scope) alreadyShown(matches []Match) (names []string) {
	for _, m := range matches {
		doc := c.byName[m.Info.Name]
		if c.isCopy(doc) && !c.isShown(doc) {
			doc = c.chosen[c.copies()[doc][0]]
		}
		if c.isShown != nil && c.isShown(doc) {
			names = append(names, c.docs[doc].Name)
		}
	}
	return names
}

// withoutMatches returns each name once, without those of the matches.
func withoutMatches(names []string, matches []Match) (rest []string) {
	for _, name := range names {
		if !isAmong(matches, name) && !slices.Contains(rest, name) {
			rest = append(rest, name)
		}
	}
	return rest
}

func isAmong(matches []Match, name string) bool {
	return slices.ContainsFunc(matches, func(m Match) bool { return m.Info.Name == name })
}

// A ranking is a query and what a searcher found by it.
type ranking struct {
	query   search.Query
	matches []Match
	far     []Match // those far below the best
	best    float64 // the best score by the query alone
	total   int
	partial error // what failed although the searcher answered
}

// read reads a text as a searcher does, or by the common rule for nil. allowed may be nil. A panic is a failure.
func (c scope) read(s search.Searcher, text, namespace string, limit int, allowed func(doc int) bool) (q search.Query, err error) {
	defer foreign.Recover(&err)
	q = c.narrower.Narrow(c.narrower.Read(s, text, namespace, c.has), allowed)
	q.Limit = limit
	return q, nil
}

// ask asks one searcher. The scope applies in addition to q.Allowed: a Restricter is asked as if the scope were the
// catalog, any other searcher through q.Allowed, and once more without a limit if it does not keep to that. A panic is
// a failure.
func (c scope) ask(ctx context.Context, s search.Searcher, q search.Query) (a ranking, err error) {
	defer foreign.Recover(&err)
	a.query = q
	places := q.Limit
	if c.evidence.orders() && places > 0 {
		q.Limit = max(places, evidencePool)
	}
	asked := q
	if c.allowed != nil {
		restricted, err := c.restricted(ctx, s, c.allowed)
		if err != nil {
			return a, err
		}
		demanded := q.Allowed
		if q.Allowed = c.allowed.Has; demanded != nil {
			q.Allowed = func(doc int) bool { return c.allowed.Has(doc) && demanded(doc) }
		}
		if restricted != nil {
			s = restricted
		} else {
			asked = q
		}
	}
	hits, err := s.Search(ctx, asked)
	if err != nil {
		return a, err
	}
	matches, distinct, dropped := c.matches(hits.Hits, q)
	if dropped && q.Limit > 0 {
		asked.Limit = 0
		if hits, err = s.Search(ctx, asked); err != nil {
			return a, err
		}
		matches, distinct, _ = c.matches(hits.Hits, q)
	}
	total := hits.Total
	if total < len(hits.Hits) || dropped {
		total = distinct
	}
	far := slices.Clone(matches[c.beforeGap(matches):])
	if len(matches) > 0 {
		a.best = matches[0].Score
	}
	a.matches, a.total, a.partial = c.byEvidence(matches, places), min(max(total, distinct), len(c.docs)), hits.Partial
	a.far = slices.DeleteFunc(far, func(m Match) bool { return !isAmong(a.matches, m.Info.Name) })
	return a, nil
}

// askFor ranks the tools by a user's message.
func (c scope) askFor(ctx context.Context, s search.Searcher, message string, limit int) (ranking, error) {
	q := c.narrower.Read(nil, message, "", c.has)
	q.Required, q.Limit = nil, limit
	return c.ask(ctx, s, c.narrower.Narrow(q, nil))
}

// matches drops hits outside the catalog, not allowed, repeated, or beyond the limit. distinct is the number of hits
// that are right, also beyond the limit. dropped reports that some were not allowed.
func (c scope) matches(hits []search.Hit, q search.Query) (matches []Match, distinct int, dropped bool) {
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
	limit := cmp.Or(max(q.Limit, 0), len(hits))
	matches = make([]Match, 0, min(len(hits), limit))
	for i, hit := range hits {
		switch {
		case hit.Doc < 0 || hit.Doc >= len(c.docs):
		case !q.Allows(hit.Doc):
			dropped = true
		case isNew(i, hit):
			distinct++
			if len(matches) < limit {
				matches = append(matches, Match{Info: c.docs[hit.Doc].Info, Score: hit.Score})
			}
		}
	}
	return matches, distinct, dropped
}

// missed returns the text of a miss, and names the groups that do not answer, which may have what is missing.
func (c scope) missed(key string, values ...string) string {
	text := c.prompt.Text(key, values...)
	if c.down == "" {
		return text
	}
	return text + " " + c.prompt.Text("groups-down", "{groups}", c.down)
}

// instead returns names near those that were not found, and what the model reads about them.
func (c scope) instead(result *Result) (suggestions []string, message string) {
	if suggestions = c.near(result.NotFound, result.Matches); len(suggestions) > 0 {
		return suggestions, c.missed("not-found-near")
	}
	return nil, c.missed("not-found")
}

// near returns names like the given texts, without the names of the matches.
func (c scope) near(texts []string, matched []Match) []string {
	var names []string
	for _, text := range texts[:min(len(texts), maxNearQueries)] {
		names = append(names, c.names().Near(text, maxSuggestions, c.allowed)...)
	}
	names = withoutMatches(names, matched)
	return names[:min(len(names), maxSuggestions)]
}

// Bounds on what one call of a meta-tool asks for.
const (
	maxSelectBytes = 32 << 10
	maxSelect      = 200 // names in one select:
	maxQueries     = 10  // in one call of the meta-tool; the answer names others
	maxAsked       = 20  // that are read in each argument of a call
	maxNearQueries = 8   // texts for which one search looks for near names
	maxSuggestions = 5
	maxCopies      = 20  // names of copies of a query's matches
	maxPasses      = 3   // searches for what takes the places of tools that need none
	maxSpreads     = 10  // searches for what takes the places that one namespace may not have; each fills another's share
	maxLoneWords   = 16  // words of a query for which the fallback is asked, since only one namespace has them
	minLoneWord    = 4   // bytes of such a word
	maxLeftBytes   = 500 // of the queries that were not searched, in an answer
	maxFoundBy     = 40  // bytes of a query that found a tool, whose first words say which it is
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
