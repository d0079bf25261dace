package toolsearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/cloudwego/eino/schema"
)

// The path from what the model typed to what it gets back:
//
//	text -> ParseQuery -> select by name | rank by keywords -> Result
//
// Everything a model can ask for goes through scope.find, whichever protocol or tool it
// came in by.

// Bounds on what one search may cost, however long the model's text is. A query is
// read up to the bound; the rest is ignored.
const (
	maxQueryBytes  = 4 << 10 // keywords
	maxKeywords    = 64      // in one query
	maxSelectBytes = 32 << 10
	maxSelect      = 200 // names in one select:
	maxQueries     = 10  // in one call of the meta-tool
	maxSuggestions = 5
)

// A Query is a keyword search, parsed.
type Query struct {
	Text      string   // what was typed, cut to the bound on its length
	Keywords  []string // every keyword in the order typed, the required ones included
	Required  []string // those of the keywords that a tool must match
	Namespace string   // only tools of this namespace; "": all
	Limit     int      // most hits wanted; 0: all

	// Allowed, if it is not nil, tells which documents may be found. The built-in searchers
	// ask it before they count or limit; of one that does not, hits are dropped afterwards.
	Allowed func(doc int) bool
}

func (q *Query) allows(doc int) bool { return q.Allowed == nil || q.Allowed(doc) }

// String returns the query in the form it could have been typed in: every keyword, the
// required ones behind a "+".
func (q Query) String() string {
	required := make(map[string]bool, len(q.Required))
	for _, word := range q.Required {
		required[word] = true
	}
	var b strings.Builder
	if q.Namespace != "" {
		b.WriteString(q.Namespace + ":")
	}
	for _, word := range q.Keywords {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		if required[word] {
			b.WriteByte('+')
		}
		b.WriteString(word)
	}
	return b.String()
}

// ParseQuery reads a keyword query: words split on white space, "+word" for a word that
// must match. It never fails; a text without a word gives a Query without keywords.
// Texts beyond 4 KiB or 64 words are cut.
func ParseQuery(text string) Query {
	q := Query{Text: cutWords(strings.TrimSpace(text), maxQueryBytes), Keywords: make([]string, 0, 8)}
	for word := range strings.FieldsSeq(q.Text) {
		if len(q.Keywords) == maxKeywords {
			break
		}
		bare, required := strings.CutPrefix(word, "+")
		if bare == "" {
			continue
		}
		q.Keywords = append(q.Keywords, bare)
		if required {
			q.Required = append(q.Required, bare)
		}
	}
	return q
}

// parseSelect reads the direct selection "select:a,b", in any case and with blanks or a
// full-width colon, and returns the list of names.
func parseSelect(text string) (list string, ok bool) {
	text = strings.TrimSpace(text)
	const prefix = "select"
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return "", false
	}
	list, ok = cutAny(strings.TrimLeftFunc(text[len(prefix):], unicode.IsSpace), ":", "：")
	if len(list) > maxSelectBytes {
		list = cut(list, maxSelectBytes)
		if i := strings.LastIndexFunc(list, nameSeparators[0]); i >= 0 {
			list = list[:i] // not a torn name
		}
	}
	return list, ok
}

func cutAny(s string, prefixes ...string) (rest string, found bool) {
	for _, prefix := range prefixes {
		if rest, found = strings.CutPrefix(s, prefix); found {
			return rest, true
		}
	}
	return s, false
}

// nameSeparators are what may stand between names, the likeliest first.
var nameSeparators = []func(rune) bool{
	func(r rune) bool { return strings.ContainsRune(",，", r) },
	func(r rune) bool { return strings.ContainsRune("、;；\n", r) },
	unicode.IsSpace,
}

func isNameSeparatorOrDecoration(r rune) bool {
	return isNameDecoration(r) || slices.ContainsFunc(nameSeparators, func(is func(rune) bool) bool { return is(r) })
}

func isNameDecoration(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("\"'`“”‘’[]", r)
}

// A Hit is one tool that a Searcher found.
type Hit struct {
	Doc   int     // index into the documents the Indexer was given
	Score float64 // higher is better; comparable within one search only
}

// A Searcher ranks one catalog. Search returns at most q.Limit hits (all, if it is 0),
// best first, each document once, the same ones in the same order every time; no match
// is no hits, not an error. It is safe for concurrent use and returns soon after ctx is
// done, with ctx's error.
type Searcher interface {
	Search(ctx context.Context, q Query) ([]Hit, error)
}

// A QueryError is how a Searcher tells the model that it cannot search by a query, such as a
// pattern that does not compile. It is the model's mistake and no failure of the
// searcher: a catalog's searcher that returns one has its Message passed on as
// Result.Message, and no other searcher is asked. From a fallback, which the model may know
// nothing of, it counts as no match.
type QueryError struct {
	Message string // for the model: what is wrong, where, and what to do

	// Of the library's own errors, what to make Message of in another language.
	key    string
	values []string
}

// Error returns the message.
func (e *QueryError) Error() string { return e.Message }

// newQueryError takes the message from the texts of the prompt.
func newQueryError(key string, values ...string) *QueryError {
	return &QueryError{Message: promptIn(English, ProtocolToolSearch, true).text(key, values...), key: key, values: values}
}

// in returns the message in the language of a prompt, where there is one in it.
func (e *QueryError) in(p *prompt) string {
	if e.key == "" {
		return e.Message
	}
	return p.text(e.key, e.values...)
}

// A PartialError is returned by a Searcher together with the hits it has, when only a part
// of what it asks has failed. A catalog uses the hits and reports the error as
// SearchEvent.Err.
type PartialError struct {
	Err error // what failed
}

// Error returns the message of Err, and that it is not all.
func (e *PartialError) Error() string { return fmt.Sprintf("toolsearch: failed in part: %v", e.Err) }

// Unwrap returns Err.
func (e *PartialError) Unwrap() error { return e.Err }

func isPartial(err error) bool {
	partial := (*PartialError)(nil)
	return errors.As(err, &partial)
}

// A Counter is a Searcher that also knows how many documents matched before the limit.
// All built-in searchers are Counters; for others Result.Total is the number of hits.
type Counter interface {
	Searcher
	SearchCount(ctx context.Context, q Query) (hits []Hit, total int, err error)
}

// An Indexer prepares a catalog once for many searches. It may keep docs and must not
// change them; the Searcher it returns is safe for concurrent use.
type Indexer func(ctx context.Context, docs []Document) (Searcher, error)

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

// SearchEvent tells Config.OnSearch about one search.
type SearchEvent struct {
	Tool     string        // name of the meta-tool
	Query    string        // what the model asked for, cut to the bound on its length
	Matches  []string      // names found, in the order returned
	NotFound []string      // names asked for that no tool has
	Scores   []float64     // of Matches, in their order; 0 for a tool selected by name
	Total    int           // number of tools that matched before the limit
	Searcher string        // what answered: "index", "fallback", "keyword" when both failed; "" for a selection or no match
	Duration time.Duration // of the search alone
	Err      error         // a searcher's failure the search recovered from, or the one it ended with
}

// trace is what is to be told of a search besides its result.
type trace struct {
	searcher string
	failure  error       // a searcher's, which the search recovered from
	wrong    *QueryError // of the first query that a searcher cannot search by
}

// A scope is a catalog as far as one request may see it. What is outside is not found, not
// suggested and not selected, as if it were not there.
type scope struct {
	*Catalog
	allowed docSet // nil: all of it
	fair    bool   // no namespace takes every place of a result while others match
}

func (c *Catalog) all() scope { return scope{Catalog: c} }

// sees reports whether the document is in the scope.
func (c scope) sees(doc int) bool { return c.allowed == nil || c.allowed.has(doc) }

// find answers one or more queries as one result: the best of each, then the second
// best of each, and so on, every tool once. limit counts for each query; 0 is the
// default.
//
// The error is what it could not recover from, a cancelled context included.
func (c scope) find(ctx context.Context, queries []string, limit int) (*Result, trace, error) {
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
		q := ParseQuery(text)
		if len(q.Keywords) == 0 {
			continue
		}
		blank = false
		q.Limit = c.limit(limit)
		matches, total, err := c.rank(ctx, q, &trace)
		if mistake := (*QueryError)(nil); errors.As(err, &mistake) {
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
		result.Message = trace.wrong.in(c.prompt)
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

// selection is the answer to a select:, as it is put together.
type selection struct {
	scope   scope
	asked   int // names looked up
	seen    docSet
	matches []Match
	missing []string
}

// selectNames looks up the names of a list in the order asked, each tool once.
func (c scope) selectNames(list string) (matches []Match, missing []string) {
	s := selection{scope: c, seen: newDocSet(len(c.docs))}
	s.add(list, nameSeparators)
	return s.matches, s.missing
}

// add selects what text names. It may be a name, one in quotes or brackets, or several;
// a name may itself hold a separator, so the whole is tried before its parts.
func (s *selection) add(text string, separators []func(rune) bool) {
	if s.asked >= maxSelect || s.addName(text) {
		return
	}
	for i, separator := range separators {
		parts := strings.FieldsFunc(text, separator)
		if len(parts) < 2 {
			continue
		}
		rest := separators[i+1:]
		// Blanks separate names only if that finds one: "get wether" is one name misspelled.
		if len(rest) == 0 && !slices.ContainsFunc(parts, func(part string) bool { _, ok := s.scope.lookup(part); return ok }) {
			break
		}
		for _, part := range parts {
			s.add(part, rest)
		}
		return
	}
	if name := strings.TrimFunc(text, isNameSeparatorOrDecoration); name != "" {
		s.asked++
		if !slices.Contains(s.missing, name) {
			s.missing = append(s.missing, name)
		}
	}
}

// addName selects the tool of that name, bare or decorated, and reports whether there is
// one.
func (s *selection) addName(text string) bool {
	for _, name := range []string{strings.TrimSpace(text), strings.TrimFunc(text, isNameDecoration)} {
		if doc, ok := s.scope.lookup(name); ok {
			s.asked++
			if s.seen.add(doc) { // two spellings are one tool
				s.matches = append(s.matches, Match{Info: s.scope.docs[doc].Info})
			}
			return true
		}
	}
	return false
}

// rank answers a keyword query. A QueryError of the catalog's searcher is its error.
func (c scope) rank(ctx context.Context, q Query, t *trace) (matches []Match, total int, err error) {
	if c.allowed != nil {
		q.Allowed = c.allowed.has
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
func (c scope) ask(ctx context.Context, q Query, t *trace) (matches []Match, total int, err error) {
	answered := false
	for i, searcher := range []Searcher{c.searcher, c.fallback} {
		if searcher == nil {
			continue
		}
		matches, total, err := c.count(ctx, searcher, q)
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		if isPartial(err) {
			t.failure = cmp.Or(t.failure, err)
		} else if wrong := (*QueryError)(nil); errors.As(err, &wrong) {
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

// preselect returns the best documents for what a user said. No word in it is required.
func (c scope) preselect(ctx context.Context, text string, limit int) ([]int, error) {
	q := ParseQuery(text)
	q.Required, q.Limit = nil, limit
	if c.allowed != nil {
		q.Allowed = c.allowed.has
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
func (c scope) share(ctx context.Context, searcher Searcher, q Query, matches []Match, total int) []Match {
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
	if err != nil && !isPartial(err) || len(others) == 0 {
		return matches
	}
	return append(matches[:len(matches)-1:len(matches)-1], others[0])
}

// count asks one searcher. Where it may not know q.Allowed and what it found is not
// allowed, it is asked again for all it has. A PartialError comes with matches.
func (c scope) count(ctx context.Context, s Searcher, q Query) ([]Match, int, error) {
	hits, total, err := countHits(ctx, s, q)
	if err != nil && !isPartial(err) {
		return nil, 0, err
	}
	dropped := q.Allowed != nil && slices.ContainsFunc(hits, func(h Hit) bool {
		return h.Doc >= 0 && h.Doc < len(c.docs) && !q.Allowed(h.Doc)
	})
	if dropped && q.Limit > 0 {
		unlimited := q
		unlimited.Limit = 0
		if hits, total, err = countHits(ctx, s, unlimited); err != nil && !isPartial(err) {
			return nil, 0, err
		}
	}
	matches, distinct := c.matches(hits, q)
	if _, counts := s.(Counter); !counts || dropped {
		total = distinct
	}
	return matches, min(max(total, distinct), len(c.docs)), err
}

func countHits(ctx context.Context, s Searcher, q Query) (hits []Hit, total int, err error) {
	defer func() {
		if p := recover(); p != nil { // a searcher that fails is not the end of the search
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if counter, ok := s.(Counter); ok {
		return counter.SearchCount(ctx, q)
	}
	hits, err = s.Search(ctx, q)
	return hits, len(hits), err
}

// matches trusts no searcher: hits outside the catalog, ones not allowed, repeated ones and
// those beyond the limit are dropped. distinct counts what the limit alone would drop too.
func (c scope) matches(hits []Hit, q Query) (matches []Match, distinct int) {
	var seen docSet
	isNew := func(i int, hit Hit) bool {
		if len(hits) <= 64 {
			return !slices.ContainsFunc(hits[:i], func(h Hit) bool { return h.Doc == hit.Doc })
		}
		if seen == nil {
			seen = newDocSet(len(c.docs))
		}
		return seen.add(hit.Doc)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = len(hits)
	}
	matches = make([]Match, 0, min(len(hits), limit))
	for i, hit := range hits {
		if hit.Doc < 0 || hit.Doc >= len(c.docs) || !q.allows(hit.Doc) || !isNew(i, hit) {
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
