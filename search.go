package toolsearch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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
	maxQueryBytes = 4 << 10 // keywords
	maxKeywords   = 64      // in one query
)

// Bounds on what one call of a meta-tool asks for.
const (
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

	// Key is the heading in prompt/ under which a catalog finds the message in its own
	// language, and Values are what to fill in there: pairs of a placeholder and a text. "":
	// Message is all there is.
	Key    string
	Values []string
}

// Error returns the message.
func (e *QueryError) Error() string { return e.Message }

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
	if err == nil { // not worth the pointer that errors.As takes
		return false
	}
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

// asQueryError returns the QueryError that err is, or nil.
func asQueryError(err error) *QueryError {
	if err == nil {
		return nil
	}
	wrong := (*QueryError)(nil)
	errors.As(err, &wrong)
	return wrong
}
