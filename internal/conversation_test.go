package internal_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/internal/conversation"
)

func TestNoResultShowsADroppedDocument(t *testing.T) {
	s := conversation.NewLoadSet(5)
	s.Add(1)
	s.ByResult.Add(1)
	s.Drop([]int{1})
	assert.False(t, s.ByResult.Has(1))
}
