package docset_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
)

func part(docs ...int) docset.Set {
	set := docset.New(64)
	for _, doc := range docs {
		set.Add(doc)
	}
	return set
}

func TestValuesAreKept(t *testing.T) {
	var cache docset.PartCache[*string, string]
	built := 0
	of := func(from *string, docs docset.Set) string {
		value, err := cache.Of(context.Background(), from, docs, func(_ context.Context, from *string, docs []int) (string, error) {
			built++
			return fmt.Sprint(*from, docs), nil
		})
		assert.NoError(t, err)
		return value
	}
	one, other := "one", "other"
	assert.Equal(t, "one[1 2]", of(&one, part(1, 2)))
	assert.Equal(t, "other[1 2]", of(&other, part(2, 1)))
	assert.Equal(t, "one[1 2]", of(&one, part(1, 2)))
	assert.Equal(t, 2, built)
	for doc := range 7 {
		of(&one, part(10+doc))
	}
	assert.Equal(t, "one[1 2]", of(&one, part(1, 2)))
	assert.Equal(t, 9, built, "eight parts are kept")
	of(&one, part(20))
	of(&one, part(10))
	assert.Equal(t, 11, built, "the least recently used part is built again")
}

func TestErrorsAreNotKept(t *testing.T) {
	var cache docset.PartCache[*int, int]
	source, down := new(int), errors.New("down")
	for _, want := range []error{down, nil} {
		_, err := cache.Of(context.Background(), source, part(1), func(context.Context, *int, []int) (int, error) { return 1, want })
		assert.Equal(t, want, err)
	}
}

// A value is not kept for a source that is not a pointer, even if a later source is equal.
func TestOtherSourcesAreNotKept(t *testing.T) {
	var cache docset.PartCache[any, int]
	built := 0
	for range 2 {
		_, err := cache.Of(context.Background(), []int{1}, part(1), func(context.Context, any, []int) (int, error) { built++; return 1, nil })
		assert.NoError(t, err)
	}
	assert.Equal(t, 2, built)
}
