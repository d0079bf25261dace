package search

import (
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/top"
)

// From what a searcher counted to its hits.

// hitsOf empties a heap, best first, with docOf turning numbers into documents; nil if
// they are documents.
func hitsOf(t *top.Heap, docOf []int32) []Hit {
	slices.SortFunc(t.Items, top.Compare)
	hits := make([]Hit, len(t.Items))
	for i, s := range t.Items {
		doc := s.Number
		if docOf != nil {
			doc = docOf[doc]
		}
		hits[i] = Hit{Doc: int(doc), Score: s.Score}
	}
	return hits
}

// docsByName numbers documents in the order of their names.
func docsByName(docs []Document) []int32 {
	docOf := make([]int32, len(docs))
	for i := range docOf {
		docOf[i] = int32(i)
	}
	slices.SortStableFunc(docOf, func(a, b int32) int { return strings.Compare(docs[a].Name, docs[b].Name) })
	return docOf
}

// atMost is the tighter of two limits, of which 0 is none.
func atMost(a, b int) int {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}
