package search

import (
	"context"
	"strings"
	"sync"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// For the searchers that know no words: what a query leaves out whatever the ranking.

// sieve knows the namespaces and the words of a catalog. It is safe for concurrent use.
type sieve struct {
	docs       []Document
	namespaces map[string]int32 // folded -> number
	namespace  []int32          // by document; -1: none
	words      func() *bm25     // reads words as BM25 does; built when first a word is required
}

func newSieve(docs []Document) *sieve {
	s := &sieve{docs: docs, namespaces: make(map[string]int32), namespace: make([]int32, len(docs))}
	for i := range docs {
		s.namespace[i] = -1
		if docs[i].Namespace == "" {
			continue
		}
		folded := naming.Fold(docs[i].Namespace)
		number, known := s.namespaces[folded]
		if !known {
			number = int32(len(s.namespaces))
			s.namespaces[folded] = number
		}
		s.namespace[i] = number
	}
	s.words = sync.OnceValue(func() *bm25 {
		index, err := BM25(context.Background(), docs)
		if err != nil { // only a context can fail it
			return nil
		}
		return index.(*bm25)
	})
	return s
}

// read makes the namespace that a text begins with, "github: create issue", the query's
// own, if the catalog has one of that name and the query none.
func (s *sieve) read(q Query) Query {
	if q.Namespace != "" || len(s.namespaces) == 0 {
		return q
	}
	prefix, rest, found := strings.Cut(q.Text, ":")
	prefix = strings.TrimSpace(prefix)
	if _, known := s.namespaces[naming.Fold(prefix)]; !found || !known {
		return q
	}
	narrow := ParseQuery(rest)
	narrow.Namespace, narrow.Limit, narrow.Allowed = prefix, q.Limit, q.Allowed
	return narrow
}

// filter returns the test that a document must pass, whatever its score. A required word
// must stand in the tool as Keyword or as BM25 reads it: within the name or description,
// or as a word, stemmed, of any field.
func (s *sieve) filter(q Query) func(doc int) bool {
	var namespace int32
	if q.Namespace != "" {
		number, known := s.namespaces[naming.Fold(q.Namespace)]
		if !known {
			return func(int) bool { return false }
		}
		namespace = number
	}
	having := make([]func(doc int) bool, len(q.Required))
	for i, word := range q.Required {
		having[i] = s.words().having(word)
	}
	return func(doc int) bool {
		if q.Namespace != "" && s.namespace[doc] != namespace || !q.Allows(doc) {
			return false
		}
		for i, word := range q.Required {
			if !having[i](doc) && !s.holds(doc, strings.ToLower(word)) {
				return false
			}
		}
		return true
	}
}

// misses says why a document does not pass the filter, ok if it does not.
func (s *sieve) misses(q Query, doc int) (why Contribution, ok bool) {
	switch {
	case s.filter(q)(doc):
		return Contribution{}, false
	case !q.Allows(doc):
		return Contribution{Detail: "the request may not see the tool"}, true
	case q.Namespace != "" && !inNamespace(&s.docs[doc], q.Namespace):
		return otherNamespace(q).Parts[0], true
	default:
		return Contribution{Detail: "a required word is missing"}, true
	}
}

// holds reports whether a lower-cased word stands in the name, in its parts or in the
// description.
func (s *sieve) holds(doc int, word string) bool {
	d := &s.docs[doc]
	return strings.Contains(strings.ToLower(d.Name), word) ||
		strings.Contains(strings.ToLower(naming.Cut(d.Description, MaxDescriptionBytes)), word)
}

// plainText is a query's text as it is to be understood: without the "+" of required
// words, and within the bound on its length.
func plainText(q Query) string {
	text := q.Text
	if text == "" || len(q.Required) > 0 {
		text = strings.Join(q.Keywords, " ")
	}
	return strings.TrimSpace(naming.Cut(text, MaxQueryBytes))
}
