package docset_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
)

// ruleOf returns the rule for documents that are numbered in the order of their scores.
func ruleOf(namespaces []string, most int) *docset.PlaceRule[int] {
	return &docset.PlaceRule[int]{
		Most:      most,
		Doc:       func(doc int) int { return doc },
		Namespace: func(doc int) string { return namespaces[doc] },
	}
}

// open returns the results of a searcher that ranks documents by their numbers.
func open(docs, limit int) func(isOpen func(doc int) bool) []int {
	return func(isOpen func(doc int) bool) (found []int) {
		for doc := 0; doc < docs && len(found) < limit; doc++ {
			if isOpen(doc) {
				found = append(found, doc)
			}
		}
		return found
	}
}

func TestInterleave(t *testing.T) {
	same := func(item string) string { return item }
	assert.Equal(t, []string{"a", "x", "b", "c"}, docset.Interleave([][]string{{"a", "b", "c"}, nil, {"x", "a"}}, same))
	assert.Equal(t, []string{"a", "a"}, docset.Interleave([][]string{{"a", "a"}}, same), "a list alone stays")
	assert.Empty(t, docset.Interleave(nil, same))
}

func TestShare(t *testing.T) {
	namespaces := []string{"flood", "flood", "flood", "flood", "a", "flood", "b", ""}
	rule := ruleOf(namespaces, 2)
	assert.Equal(t, []int{0, 1, 4, 6}, rule.Share([]int{0, 1, 2, 3}, open(len(namespaces), 4)))

	few := []string{"flood", "flood", "flood", "a"} // places that no other document takes stay with their namespace
	assert.Equal(t, []int{0, 1, 3}, ruleOf(few, 1).Share([]int{0, 1, 2}, open(len(few), 3)))
}

// A result has as many places as before, each document once, and no namespace exceeds its share
// while a document is left out whose namespace does not.
func TestShareIsFair(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		namespaces := make([]string, 2+r.IntN(20))
		for doc := range namespaces {
			namespaces[doc] = []string{"", "a", "b", "c", "c", "c"}[r.IntN(6)]
		}
		places, most := 1+r.IntN(len(namespaces)), 1+r.IntN(3)
		items := make([]int, places)
		for i := range items {
			items[i] = i
		}
		shared := ruleOf(namespaces, most).Share(items, open(len(namespaces), places))
		require.Len(t, shared, places)
		of := make(map[string]int)
		for i, doc := range shared {
			require.NotContains(t, shared[:i], doc)
			of[namespaces[doc]]++
		}
		for doc, namespace := range namespaces {
			if namespace != "" && of[namespace] >= most || slices.Contains(shared, doc) {
				continue
			}
			for other, places := range of {
				if other != "" {
					require.LessOrEqual(t, places, most, "%q has too many places while document %d is left out: %v of %q", other, doc, shared, namespaces)
				}
			}
		}
	}
}
