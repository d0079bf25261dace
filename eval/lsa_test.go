package eval

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/search"
)

// Topics help where words fall short: in long tasks over MCP servers, and where tools and questions
// are in different languages. Where the words suffice, they cost next to nothing.
func TestLSAOnPublicSets(t *testing.T) {
	dir := publicSets(t)
	for _, test := range []struct {
		set, metric string
		gain        float64 // at least, in points
	}{
		{"mcpbench", "R@10", 2},
		{"ultratool_zh_en", "R@5", 1},
		{"azure_mcp", "R@5", -0.5},
		{"tooleyes", "R@5", -0.5},
	} {
		words := measure(t, dir, test.set, Options{Index: search.BM25, Resamples: -1})
		both := measure(t, dir, test.set, Options{Index: search.Hybrid(search.BM25, search.LSA), Resamples: -1})
		before, _ := words.Mean(test.metric)
		after, _ := both.Mean(test.metric)
		assert.GreaterOrEqual(t, 100*(after.Value-before.Value), test.gain, "%s: %s", test.set, test.metric)
	}
}
