package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMeasureSpeed(t *testing.T) {
	const size = 100
	speeds := MeasureSpeed(t.Context(), size)
	require.Len(t, speeds, len(Contestants))
	for i, s := range speeds {
		assert.Equal(t, Contestants[i].Name, s.Searcher)
		assert.Equal(t, size, s.Tools, s.Searcher)
		assert.Positive(t, min(float64(s.Query), float64(s.Build), s.Allocs), s.Searcher)
		assert.GreaterOrEqual(t, s.Slowest, s.Query, s.Searcher)
		assert.GreaterOrEqual(t, s.Bytes, 0.0, s.Searcher)
	}
}

func TestMeasureQuality(t *testing.T) {
	list := MeasureQuality(t.Context(), filepath.Join(t.TempDir(), "none"))
	require.Len(t, list, len(finders))
	of := make(map[string]Quality)
	for _, q := range list {
		of[q.Searcher] = q
		assert.Equal(t, ownSet, q.Set, q.Searcher)
		assert.GreaterOrEqual(t, q.Tools, 150, q.Searcher)
		assert.GreaterOrEqual(t, q.Queries, 200, q.Searcher)
		assert.Positive(t, q.Recall1, q.Searcher)
		assert.GreaterOrEqual(t, q.MRR, q.Recall1, q.Searcher)
		assert.LessOrEqual(t, q.MRR, 1.0, q.Searcher)
		assert.GreaterOrEqual(t, q.Recall5, q.Recall1, q.Searcher)
		assert.LessOrEqual(t, q.Recall5, 1.0, q.Searcher)
	}
	// Keyword is Eino's scorer, so it must find the same tools.
	eino, keyword := of[Baseline], of["Keyword"]
	keyword.Searcher = eino.Searcher
	assert.Equal(t, eino, keyword)
}
