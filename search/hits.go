package search

import (
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/top"
)

// Helpers that turn the scores of a searcher into its hits.

// hitsOf returns the items of a heap as hits, best first. The heap is used up. docOf turns
// numbers into documents; nil means that the numbers are documents.
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

// docsByName returns the documents in the order of their names.
func docsByName(docs []Document) []int32 {
	docOf := make([]int32, len(docs))
	for i := range docOf {
		docOf[i] = int32(i)
	}
	slices.SortStableFunc(docOf, func(a, b int32) int { return strings.Compare(docs[a].Name, docs[b].Name) })
	return docOf
}

// atMost returns the lower of two limits. Zero means no limit.
func atMost(a, b int) int {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}
