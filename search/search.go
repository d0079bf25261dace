// Package search finds tools by queries. It has the searchers of package toolsearch and the
// contract that one of your own keeps, and needs no agent:
//
//	searcher, err := search.BM25(ctx, docs)
//	hits, err := searcher.Search(ctx, search.ParseQuery("create an issue"))
//
// # Which searcher?
//
//   - [BM25] finds the right tool by words; it is the one to recommend.
//   - [Keyword] behaves as Eino's own tool_search does, bit for bit.
//   - [Fuzzy] forgives misspellings and makes a good fallback. [Similarity] compares texts
//     letter by letter.
//   - [Regexp] takes patterns.
//   - [Embedding] finds what shares no word with the query. [Hybrid] of BM25 and Embedding
//     finds most.
//   - [Retriever] asks a search engine that holds the catalog; [StoreDocuments] fills it.
//
// A searcher of your own is an [Indexer]: a function from documents to a [Searcher].
// toolsearchtest.TestSearcher tests that it keeps the contract.
package search

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// The contract between a catalog and a searcher.

// Bounds on what one search may cost, however long the model's text is. A query is
// read up to the bound; the rest is ignored.
const (
	MaxQueryBytes = 4 << 10 // keywords
	maxKeywords   = 64      // in one query
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

// Allows reports whether the document may be found.
func (q *Query) Allows(doc int) bool { return q.Allowed == nil || q.Allowed(doc) }

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
	q := Query{Text: naming.CutWords(strings.TrimSpace(text), MaxQueryBytes), Keywords: make([]string, 0, 8)}
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

// IsPartial reports whether err came with hits: whether it is a PartialError.
func IsPartial(err error) bool {
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

// AsQueryError returns the QueryError that err is, or nil.
func AsQueryError(err error) *QueryError {
	if err == nil {
		return nil
	}
	wrong := (*QueryError)(nil)
	errors.As(err, &wrong)
	return wrong
}
