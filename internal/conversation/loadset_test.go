package conversation_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/conversation"
)

// Evict removes the documents that come first in a list of all documents sorted by their last use.
func TestEvict(t *testing.T) {
	const docs = 12
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		s := conversation.NewLoadSet(docs)
		last, clock := make([]int, docs), 0
		for range 1 + r.IntN(10) {
			if r.IntN(4) == 0 {
				s.Add(r.IntN(docs))
				continue
			}
			found := r.Perm(docs)[:1+r.IntN(3)]
			s.Use(found...)
			clock += len(found)
			for i, doc := range found { // the best is used last
				last[doc] = clock - i
			}
		}
		busy, exempt, limit := []int{r.IntN(docs)}, r.IntN(docs), 1+r.IntN(5)
		before := slices.Clone(s.Docs)
		countedDocs := slices.DeleteFunc(slices.Clone(before), func(doc int) bool { return doc == exempt })
		gone := slices.DeleteFunc(slices.Clone(countedDocs), func(doc int) bool { return slices.Contains(busy, doc) })
		slices.SortStableFunc(gone, func(a, b int) int { return cmp.Compare(last[a], last[b]) })
		gone = gone[:min(len(gone), max(0, len(countedDocs)-limit))]

		s.Evict(limit, busy, func(doc int) bool { return doc == exempt })

		want := slices.DeleteFunc(before, func(doc int) bool { return slices.Contains(gone, doc) })
		require.Equal(t, want, s.Docs)
	}
}

func TestSetKeepsTheOrderOfFirstLoading(t *testing.T) {
	s := conversation.NewLoadSet(5)
	s.Use(3, 1)
	s.Add(1, 4)
	s.Use(3)
	s.ByResult.Add(1)
	s.Drop([]int{1})
	assert.Equal(t, []int{3, 4}, s.Docs)
	assert.False(t, s.Has(1))
	assert.False(t, s.ByResult.Has(1), "a dropped document is not shown")

	s.Keep(func(doc int) bool { return doc == 4 })
	assert.Equal(t, []int{4}, s.Docs)
	assert.False(t, s.Has(3))
}
