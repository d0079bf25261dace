//go:build !race

// The race detector allocates too.

package toolsearch_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// TestKeywordAllocatesLittle: a search through the tool, from JSON to JSON, takes no more
// than twenty allocations, however large the catalog.
func TestKeywordAllocatesLittle(t *testing.T) {
	ctx := context.Background()
	catalog, err := toolsearch.NewCatalogFromInfos(ctx, testtools.BenchCatalog(2_000), nil)
	require.NoError(t, err)
	searchTool := catalog.Tool()
	for _, arguments := range benchQueries {
		allocations := testing.AllocsPerRun(100, func() {
			if _, err := searchTool.InvokableRun(ctx, arguments); err != nil {
				t.Fatal(err)
			}
		})
		assert.LessOrEqual(t, allocations, 20.0, arguments)
	}
}
