// Package search finds tools by queries. It holds the searchers of package toolsearch and the
// contract for searchers of your own. It needs no agent:
//
//	searcher, err := search.BM25(ctx, docs)
//	hits, err := searcher.Search(ctx, search.ParseQuery("create an issue"))
//
// A [Narrower] adds required words and namespaces: "+word", "github: create issue".
//
// # Which searcher?
//
//   - [BM25] finds the right tool by words. Start with it.
//   - [Keyword] behaves as Eino's own tool_search does, bit for bit.
//   - [Fuzzy] forgives misspellings and makes a good fallback. [Similarity] compares texts
//     letter by letter.
//   - [Regexp] searches by patterns.
//   - [Embedding] finds tools that share no word with the query. [Hybrid] of BM25 and Embedding
//     finds the most. Without an embedder, Hybrid of BM25 and [LSA] finds more than BM25 for
//     long requests and for questions in a language other than the tools'.
//   - [Retriever] asks a search engine that holds the catalog; [StoreDocuments] fills it.
//
// To write a searcher of your own, write an [Indexer]: a function from documents to a
// [Searcher]. toolsearchtest.TestSearcher tests that it keeps the contract.
package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Bounds on the cost of one search, however long the model's text is. The part of a query beyond a bound is ignored.
const (
	MaxQueryBytes = 4 << 10 // of text
	maxKeywords   = 64
)

// A Query is the input of a Searcher. Required words, a namespace and the tools that the request may see are resolved
// into Allowed before a Searcher sees the query. A [Narrower] does that by the common rule:
//
//   - "+word" in the text: the tool's name or description contains the word, ignoring case, as
//     Keyword finds it. Or any field of the tool (name, description, parameters, namespace,
//     aliases, hint, tags) contains the stemmed word, as BM25 reads words. A stop word counts
//     only in the first way. Every required word must match.
//   - A namespace, as an argument or in front of the text ("github: create issue"): the tool
//     is of that namespace. Case is ignored, and "-" equals "_". In front of the text a
//     namespace counts only if the request may see a tool of it and no argument was given.
//   - A Filter: the request may see the tool. A [Restricter] meets this demand itself.
//
// A [QueryReader] reads the text by a rule of its own.
type Query struct {
	Text     string   // the text to rank by, cut to MaxQueryBytes, without "+" and namespace
	Keywords []string // the words of Text in the order typed, the required ones included
	Limit    int      // most hits wanted; zero means all

	// Allowed reports whether a document may be found, and is safe for concurrent use. Nil means all.
	Allowed func(doc int) bool

	// Both are already resolved into Allowed. They are for engines that filter by themselves.
	Required  []string // the keywords that a tool must have
	Namespace string   // only tools of this namespace; "" means all
}

// Allows reports whether the document may be found.
func (q *Query) Allows(doc int) bool { return q.Allowed == nil || q.Allowed(doc) }

// String returns the query as a user could have typed it: "namespace: word +required".
func (q Query) String() string {
	words := slices.Clone(q.Keywords)
	for i, word := range words {
		if slices.Contains(q.Required, word) {
			words[i] = "+" + word
		}
	}
	if q.Namespace != "" {
		words = slices.Insert(words, 0, q.Namespace+":")
	}
	return strings.Join(words, " ")
}

// text returns the text to rank by: Text, or the Keywords if Text is empty.
func (q *Query) text() string {
	return cmp.Or(q.Text, strings.Join(q.Keywords, " "))
}

// ParseQuery reads a keyword query: words separated by white space, with "+word" for a word that a tool must have. It
// never fails, reads at most 4 KiB and keeps 64 keywords. It does not resolve Required; a [Narrower] does.
func ParseQuery(text string) Query {
	text = cutQuery(text)
	q := Query{Text: strings.TrimPrefix(text, "+"), Keywords: make([]string, 0, 8)}
	hasPlus := strings.LastIndexByte(text, '+') > 0 // where trimming is not enough
	rest := text
	var bareText strings.Builder
	for word := range strings.FieldsSeq(text) {
		space := rest[:len(rest)-len(strings.TrimLeftFunc(rest, unicode.IsSpace))]
		rest = rest[len(space)+len(word):]
		bare, required := strings.CutPrefix(word, "+")
		if bare == "" {
			continue
		}
		if hasPlus {
			bareText.WriteString(space + bare)
		}
		if len(q.Keywords) < maxKeywords {
			q.Keywords = append(q.Keywords, bare)
			if required {
				q.Required = append(q.Required, bare)
			}
		}
	}
	if hasPlus {
		q.Text = bareText.String()
	}
	q.Text = strings.TrimSpace(q.Text)
	return q
}

func cutQuery(text string) string { return naming.CutWords(strings.TrimSpace(text), MaxQueryBytes) }

// A Hit is one tool that a Searcher found.
type Hit struct {
	Doc   int     // index into the documents the Indexer was given
	Score float64 // higher is better; comparable within one search only
}

// Hits is the answer of a Searcher.
type Hits struct {
	// Hits are at most as many as the query's limit (all, if it is 0), best first, each document
	// once. Nil means that nothing matches.
	Hits []Hit

	// Total is how many documents matched before the limit. Less than len(Hits) means len(Hits).
	Total int

	// Partial is the error of a part of the searcher that failed while the rest answered. A
	// catalog uses the hits and reports Partial as SearchEvent.Err. Nil means no error.
	Partial error
}

// A Searcher ranks one catalog. Search returns only documents that q.Allowed allows, and counts no others; it does not
// decide which documents are allowed. The same query gets the same answer, in the same order, every time; no match is
// no hits, not an error. It is safe for concurrent use and returns soon after ctx is done, with ctx's error. A query
// without Text and Keywords finds nothing.
type Searcher interface {
	Search(ctx context.Context, q Query) (Hits, error)
}

// A QueryReader is a Searcher that reads a text by a rule of its own instead of the common rule (see Query): Keyword
// reads "+word" as Eino does, and Regexp reads a pattern, to which "+" and ":" belong. It resolves the demands of its
// rule into Allowed. Required and Namespace of the Query it returns are resolved by the common rule. Namespace arguments
// and filters hold for every searcher.
type QueryReader interface {
	Searcher
	// ReadQuery returns the query for a text of any length, without a limit, and without Keywords if the text is not
	// natural language.
	ReadQuery(text string) Query
}

// A Restricter is a Searcher in which a document's rank depends on the other documents, such as on how many of them
// have a word. For a request that may not see every tool, a catalog asks a restricted searcher, and keeps it for
// later requests with the same tools. A Restricter that is a QueryReader reads the text itself.
//
// Restrict returns a searcher of the documents with these numbers, which are ascending, each once. The documents keep
// their numbers, and the searcher answers as if it were built from them alone. Restrict does not change the Restricter,
// is safe for concurrent use and returns soon after ctx is done. It must not keep docs.
type Restricter interface {
	Searcher
	Restrict(ctx context.Context, docs []int) (Searcher, error)
}

// A Rebuilder is a Searcher that saves work when its catalog changes, such as embedding texts that have not changed.
// A catalog with a Source then calls Rebuild instead of the Indexer. Rebuild returns a searcher of other documents, which
// answers as if the Rebuilder's Indexer had built it. What holds for an Indexer holds for Rebuild. The Rebuilder stays as
// it is and may be searched meanwhile.
type Rebuilder interface {
	Searcher
	Rebuild(ctx context.Context, docs []Document) (Searcher, error)
}

// A QueryError tells the model that a Searcher cannot search by a query, such as a pattern that does not compile. If
// a catalog's searcher returns a QueryError, the catalog passes its Message on as Result.Message and asks no other
// searcher. A QueryError of a fallback counts as no match, since the model may not know of the fallback.
type QueryError struct {
	Message string // for the model: what is wrong, where, and what to do

	// Key is the heading in prompt/ under which a catalog finds the message in its own language; "" means none.
	// Values fill it in: pairs of a placeholder and a text.
	Key    string
	Values []string
}

// Error returns the message.
func (e *QueryError) Error() string { return e.Message }

// An Indexer prepares a catalog once for many searches. It may keep docs and must not
// change them; the Searcher it returns is safe for concurrent use.
type Indexer func(ctx context.Context, docs []Document) (Searcher, error)

// An Explainer is a Searcher that can explain its scores. All built-in searchers are Explainers.
type Explainer interface {
	Searcher
	// Explain explains the score of one document for a query, whose limit does not count. Allowed does not count
	// either. A document that does not match has the score 0.
	Explain(ctx context.Context, q Query, doc int) (Explanation, error)
}

// An Explanation says what a score consists of.
type Explanation struct {
	Score float64        // as in the Hit; zero means no match
	Parts []Contribution // the parts of the score, in the order of the query's terms
}

// A Contribution is what one term of the query adds to a score in one field.
type Contribution struct {
	Term   string  // as the searcher looked for it
	Field  string  // where it was found, such as "name" or "description"; "" means the whole document
	Score  float64 // what it adds
	Detail string  // how Score was computed
}

// String returns a line for the score and a line for each part.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.4g", e.Score)
	for _, p := range e.Parts {
		fmt.Fprintf(&b, "\n  %+.4g  %q", p.Score, p.Term)
		if p.Field != "" {
			fmt.Fprintf(&b, " in %s", p.Field)
		}
		if p.Detail != "" {
			fmt.Fprintf(&b, ": %s", p.Detail)
		}
	}
	return b.String()
}

func (e *Explanation) add(part Contribution) {
	e.Score += part.Score
	e.Parts = append(e.Parts, part)
}
