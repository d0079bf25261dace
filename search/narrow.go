package search

import (
	"context"
	"strings"
	"sync"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// What a query demands besides a ranking, resolved once for every searcher:
//
//	text -- Read --> Text to rank by, Required words, Namespace -- Narrow --> Allowed

// A Narrower knows which of its documents have a word and which are of a namespace. It is
// safe for concurrent use. What it needs for an answer it builds when it is first asked, so
// that a Narrower nobody asks costs nothing.
type Narrower struct {
	docs       []Document
	namespaces func() map[string][]int32 // folded -> documents
	keyword    func() *keywordIndex
	words      func() *bm25
}

// NewNarrower returns the Narrower of docs, which it keeps and does not change. They are the
// ones the Searcher was built of, in the same order.
func NewNarrower(docs []Document) *Narrower {
	return &Narrower{
		docs: docs,
		namespaces: sync.OnceValue(func() map[string][]int32 {
			namespaces := make(map[string][]int32)
			for i := range docs {
				if docs[i].Namespace != "" {
					folded := naming.Fold(docs[i].Namespace)
					namespaces[folded] = append(namespaces[folded], int32(i))
				}
			}
			return namespaces
		}),
		// Only a context fails these two.
		keyword: sync.OnceValue(func() *keywordIndex {
			x, _ := newKeywordIndex(context.Background(), docs)
			return x
		}),
		words: sync.OnceValue(func() *bm25 {
			x, _ := BM25Options{}.index(context.Background(), docs)
			return x
		}),
	}
}

// Keyword returns the searcher Keyword of the documents, which the Narrower has a use for
// too. It is built when it is first needed.
func (n *Narrower) Keyword() Searcher { return n.keyword() }

// Read reads a text as s does if it is a QueryReader, and by the common rule if it is another
// searcher or nil. namespace is an argument beside the text; "": none was given. Nothing is
// resolved yet: that is for Narrow.
func (n *Narrower) Read(s Searcher, text, namespace string) Query {
	if reader, ok := s.(QueryReader); ok {
		q := reader.ReadQuery(text)
		if namespace != "" {
			q.Namespace = namespace
		}
		return q
	}
	if namespace == "" {
		namespace, text = n.cutNamespace(text)
	}
	q := ParseQuery(text)
	q.Namespace = namespace
	return q
}

// cutNamespace takes the namespace off a text that begins with one.
func (n *Narrower) cutNamespace(text string) (namespace, rest string) {
	text = cutQuery(text)
	prefix, rest, found := strings.Cut(text, ":")
	if !found {
		return "", text
	}
	prefix = strings.TrimSpace(prefix)
	if _, known := n.namespaces()[naming.Fold(prefix)]; !known {
		return "", text
	}
	return prefix, rest
}

// Narrow resolves what a query demands: its Allowed becomes those documents of its Allowed
// and of filter that are of its Namespace and have every Required word. A nil filter lets all
// documents pass.
func (n *Narrower) Narrow(q Query, filter func(doc int) bool) Query {
	q.Allowed = both(q.Allowed, filter)
	if q.Namespace != "" {
		of := docset.New(len(n.docs))
		for _, doc := range n.namespaces()[naming.Fold(q.Namespace)] {
			of.Add(int(doc))
		}
		q.Allowed = both(of.Has, q.Allowed)
	}
	if len(q.Required) > 0 {
		q.Allowed = both(allHolding(q.Required, n.holding).Has, q.Allowed)
	}
	return q
}

// holding returns the documents that have a word, by the common rule. The cost is in
// proportion to their number.
func (n *Narrower) holding(word string) docset.Set {
	set := n.keyword().holding(word)
	if inflected := n.words().holding(word); inflected != nil {
		set.Union(inflected)
	}
	return set
}

// allHolding returns the documents that have each of the words, of which there is one at
// least.
func allHolding(words []string, holding func(word string) docset.Set) docset.Set {
	set := holding(words[0])
	for _, word := range words[1:] {
		set.Intersect(holding(word))
	}
	return set
}

func both(a, b func(doc int) bool) func(doc int) bool {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	default:
		return func(doc int) bool { return a(doc) && b(doc) }
	}
}
