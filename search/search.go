// Package search finds tools by queries. It has the searchers of package toolsearch and the
// contract that one of your own keeps, and needs no agent:
//
//	searcher, err := search.BM25(ctx, docs)
//	hits, err := searcher.Search(ctx, search.ParseQuery("create an issue"))
//
// A [Narrower] adds what a query may demand: "+word", "github: create issue".
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
	"strings"
	"unicode"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// The contract between a catalog and a searcher.

// Bounds on what one search may cost, however long the model's text is. A query is
// read up to the bound; the rest is ignored.
const (
	MaxQueryBytes = 4 << 10 // keywords
	maxKeywords   = 64      // in one query
)

// A Query is what a Searcher is asked.
//
// What a query demands besides a ranking is resolved before a Searcher sees it, once and for
// all searchers alike, into Allowed: required words, a namespace, and what a request may see.
// A [Narrower] does that by the common rule:
//
//   - "+word" in the text: the word stands in the tool's name or description, whatever the
//     case, as Keyword finds it; or it is, stemmed, as BM25 reads words, a word of any field
//     of the tool (name, description, parameters, namespace, aliases, hint, tags). A stop word
//     has to stand there literally. Of several required words each has to hold.
//   - A namespace, as an argument or in front of the text ("github: create issue"): the tool
//     is of that namespace, whatever its case and whether "-" or "_" stands in it. In front of
//     the text it counts only if the catalog has the namespace and none was given.
//   - A Filter: the request may see the tool.
//
// A searcher that reads the text in a way of its own is a [QueryReader].
type Query struct {
	Text     string   // what to rank by, within the bound on its length: no "+" and no namespace
	Keywords []string // the words of Text in the order typed, the required ones included
	Limit    int      // most hits wanted; zero: all

	// Allowed tells which documents may be found. Nil: all of them. It is safe for concurrent
	// use.
	Allowed func(doc int) bool

	// Required and Namespace are resolved into Allowed already. They say what was asked for,
	// for engines that can filter by themselves; no searcher has to look at them.
	Required  []string // those of the keywords that a tool must have
	Namespace string   // only tools of this namespace; "": all
}

// Allows reports whether the document may be found.
func (q *Query) Allows(doc int) bool { return q.Allowed == nil || q.Allowed(doc) }

// String returns the query in the form it could have been typed in: every keyword, the
// required ones behind a "+", and the namespace in front.
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

// text returns what to rank by: the Text, or the Keywords of a query that was made without
// one.
func (q *Query) text() string {
	if q.Text == "" {
		return strings.Join(q.Keywords, " ")
	}
	return q.Text
}

// ParseQuery reads a keyword query: words split on white space, "+word" for a word that a
// tool must have. Text keeps the words without the "+". ParseQuery never fails; a text without
// a word gives a Query without keywords. Texts beyond 4 KiB or 64 words are cut.
//
// Required is left to be resolved: see [Narrower].
func ParseQuery(text string) Query {
	text = cutQuery(text)
	q := Query{Text: text, Keywords: make([]string, 0, 8)}
	if last := strings.LastIndexByte(text, '+'); last == 0 {
		q.Text = strings.TrimSpace(text[1:])
	} else if last > 0 {
		q.Text = withoutPlus(text)
	}
	for word := range strings.FieldsSeq(text) {
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

// cutQuery returns what is read of a text.
func cutQuery(text string) string { return naming.CutWords(strings.TrimSpace(text), MaxQueryBytes) }

// withoutPlus takes away the "+" in front of words, and what is nothing else.
func withoutPlus(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for text != "" {
		start := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
		end := start + strings.IndexFunc(text[start:], unicode.IsSpace)
		if end < start {
			end = len(text)
		}
		if word := strings.TrimPrefix(text[start:end], "+"); word != "" {
			b.WriteString(text[:start])
			b.WriteString(word)
		}
		text = text[end:]
	}
	return strings.TrimSpace(b.String())
}

// A Hit is one tool that a Searcher found.
type Hit struct {
	Doc   int     // index into the documents the Indexer was given
	Score float64 // higher is better; comparable within one search only
}

// Hits is what a Searcher found.
type Hits struct {
	// Hits are at most as many as the query's limit (all, if it is 0), best first, each document
	// once. Nil: nothing matches.
	Hits []Hit

	// Total is how many documents matched before the limit. Zero, or less than the number of
	// Hits, means as many as there are Hits.
	Total int

	// Partial is what went wrong although there is an answer: a part of what the searcher asks
	// has failed. A catalog uses the hits and reports it as SearchEvent.Err. Nil: nothing.
	Partial error
}

// A Searcher ranks one catalog. That is its one duty: Search returns only documents that
// q.Allowed allows, and counts no others; which ones these are is not its concern. The same
// query gets the same answer, in the same order, every time; no match is no hits, not an
// error. It is safe for concurrent use and returns soon after ctx is done, with ctx's error.
// A query without Text and Keywords finds nothing.
type Searcher interface {
	Search(ctx context.Context, q Query) (Hits, error)
}

// A QueryReader is a Searcher that reads a text in a way of its own, and not by the common
// rule that Query tells: Keyword, whose "+word" is Eino's, and Regexp, to which the text is a
// pattern and "+" and ":" are the pattern's own.
//
// What the searcher demands by its own rule it resolves into Allowed. Required and Namespace
// of the Query it returns are resolved by the common rule. Namespace arguments and filters
// hold for every searcher.
type QueryReader interface {
	Searcher
	// ReadQuery returns the query for a text of any length, without a limit. It returns no
	// Keywords for a text with words if the text is no language in which a user speaks, such
	// as a pattern.
	ReadQuery(text string) Query
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

// An Indexer prepares a catalog once for many searches. It may keep docs and must not
// change them; the Searcher it returns is safe for concurrent use.
type Indexer func(ctx context.Context, docs []Document) (Searcher, error)
