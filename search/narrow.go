package search

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search/internal/bm25f"
)

// The demands of a query besides its ranking, resolved once for every searcher:
//
//	text -- Read --> Text to rank by, Required words, Namespace -- Narrow --> Allowed

// A Narrower knows which of its documents have a word and which are of a namespace. It is safe for concurrent use. It
// borrows its indexes from searchers, or builds them when they are first needed.
type Narrower struct {
	docs       []Document
	namespaces func() map[string][]int // folded namespace -> documents
	pieces     func() *keywordIndex
	words      func() *bm25
}

// NewNarrower returns the Narrower of docs, which it keeps and does not change. It borrows the indexes of searchers
// that were built from the same documents.
func NewNarrower(docs []Document, searchers ...Searcher) *Narrower {
	n := &Narrower{docs: docs}
	n.namespaces = sync.OnceValue(func() map[string][]int {
		namespaces := make(map[string][]int)
		for i := range docs {
			if docs[i].Namespace != "" {
				folded := naming.Fold(docs[i].Namespace)
				namespaces[folded] = append(namespaces[folded], i)
			}
		}
		return namespaces
	})
	// Building an index fails only if its context is done.
	n.pieces = sync.OnceValue(func() *keywordIndex {
		isSame := func(x *keywordIndex) bool { return reflect.DeepEqual(x.docs, docs) }
		x, _ := borrow(searchers, isSame, func() (*keywordIndex, error) { return newKeywordIndex(context.Background(), docs) })
		return x
	})
	n.words = sync.OnceValue(func() *bm25 {
		isWhole := func(x *bm25) bool {
			return !slices.ContainsFunc(x.Fields, func(f bm25f.Field) bool { return f.Weight == 0 }) && reflect.DeepEqual(x.docs, docs)
		}
		x, _ := borrow(searchers, isWhole, func() (*bm25, error) { return BM25Options{}.index(context.Background(), docs) })
		return x
	})
	return n
}

// Keyword returns a Keyword searcher of the documents, which is built when it is first needed.
func (n *Narrower) Keyword() Searcher { return n.pieces() }

// Read reads a text as s does if s is a QueryReader, and by the common rule otherwise; s may be nil. namespace is an
// argument beside the text, or "". A namespace in front of the text counts only if filter allows a document of it; a
// nil filter allows all documents. Narrow resolves the demands of the query.
func (n *Narrower) Read(s Searcher, text, namespace string, filter func(doc int) bool) Query {
	if reader, ok := s.(QueryReader); ok {
		q := reader.ReadQuery(text)
		q.Namespace = cmp.Or(namespace, q.Namespace)
		return q
	}
	if namespace == "" {
		text = cutQuery(text)
		prefix, rest, found := strings.Cut(strings.Replace(text, "：", ":", 1), ":")
		prefix = strings.TrimSpace(prefix)
		isSeen := func(doc int) bool { return filter == nil || filter(doc) }
		if found && slices.ContainsFunc(n.namespaces()[naming.Fold(prefix)], isSeen) {
			namespace, text = prefix, rest
		}
	}
	q := ParseQuery(text)
	q.Namespace = namespace
	return q
}

// Narrow resolves the demands of a query. Its new Allowed allows a document if the old Allowed and filter do, and the
// document is of the Namespace and contains every Required word. A nil filter allows all documents.
func (n *Narrower) Narrow(q Query, filter func(doc int) bool) Query {
	q.Allowed = both(q.Allowed, filter)
	if q.Namespace != "" {
		of := docset.New(len(n.docs), n.namespaces()[naming.Fold(q.Namespace)]...)
		q.Allowed = both(of.Has, q.Allowed)
	}
	if len(q.Required) > 0 {
		q.Allowed = both(allHolding(q.Required, n.holding).Has, q.Allowed)
	}
	return q
}

// holding returns the documents that have a word, by the common rule.
func (n *Narrower) holding(word string) docset.Set {
	set := n.pieces().holdingPiece(word)
	set.Union(n.words().holdingWord(word)) // nil for a stop word
	return set
}

func both(a, b func(doc int) bool) func(doc int) bool {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(doc int) bool { return a(doc) && b(doc) }
}
