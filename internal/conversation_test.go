package internal_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/internal/conversation"
)

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
