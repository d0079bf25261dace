package docset_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
)

func equal(a, b int) bool { return a == b }

func TestValuesAreKept(t *testing.T) {
	recent := docset.NewRecent[int, string](8, equal)
	built := 0
	of := func(key int) string {
		value, err := recent.Of(context.Background(), key, func(context.Context) (string, error) { built++; return fmt.Sprint(key), nil })
		assert.NoError(t, err)
		return value
	}
	assert.Equal(t, "1", of(1))
	assert.Equal(t, "2", of(2))
	assert.Equal(t, "1", of(1))
	assert.Equal(t, 2, built)
	for key := range 7 {
		of(10 + key)
	}
	assert.Equal(t, "1", of(1))
	assert.Equal(t, 9, built, "eight values are kept")
	of(20)
	of(10)
	assert.Equal(t, 11, built, "the least recently used value is built again")
}

func TestErrorsAreNotKept(t *testing.T) {
	recent, down := docset.NewRecent[int, int](8, equal), errors.New("down")
	for _, want := range []error{down, nil} {
		_, err := recent.Of(context.Background(), 1, func(context.Context) (int, error) { return 1, want })
		assert.Equal(t, want, err)
	}
}

// The value of a key that is not equal to itself is not kept.
func TestOtherKeysAreNotKept(t *testing.T) {
	recent := docset.NewRecent[float64, int](8, func(a, b float64) bool { return a == b })
	built := 0
	for range 2 {
		_, err := recent.Of(context.Background(), math.NaN(), func(context.Context) (int, error) { built++; return 1, nil })
		assert.NoError(t, err)
	}
	assert.Equal(t, 2, built)
}

// Calls for the same key wait for the one that builds. If that one gives up, the next call builds.
func TestValuesAreBuiltOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recent, built := docset.NewRecent[int, int](8, equal), 0
		ctx, cancel := context.WithCancel(t.Context())
		ask := func(ctx context.Context) (int, error) {
			return recent.Of(ctx, 1, func(ctx context.Context) (int, error) {
				built++
				if built == 1 {
					<-ctx.Done()
				}
				return built, ctx.Err()
			})
		}
		go func() { _, _ = ask(ctx) }()
		synctest.Wait()
		var answers [2]int
		for i := range answers {
			go func() { answers[i], _ = ask(t.Context()) }()
		}
		synctest.Wait()
		assert.Equal(t, 1, built, "while the first builds")
		cancel()
		synctest.Wait()
		assert.Equal(t, [2]int{2, 2}, answers)
		assert.Equal(t, 2, built)
	})
}
