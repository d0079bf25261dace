package toolsearch_test

import (
	"testing"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// TestSearchersKeepTheContract: the contract any searcher is to keep, kept by our own.
func TestSearchersKeepTheContract(t *testing.T) {
	for name, index := range map[string]toolsearch.Indexer{
		"Keyword":         toolsearch.Keyword,
		"BM25":            toolsearch.BM25,
		"Fuzzy":           toolsearch.Fuzzy,
		"Regexp":          toolsearch.Regexp,
		"Similarity":      toolsearch.Similarity,
		"Embedding":       toolsearch.Embedding(&wordEmbedder{}),
		"Hybrid":          toolsearch.Hybrid(toolsearch.BM25, toolsearch.Embedding(&wordEmbedder{})),
		"Hybrid of a few": toolsearch.HybridOptions{Parts: []toolsearch.Indexer{toolsearch.Keyword, toolsearch.BM25}, Depth: 20}.Index,
		"Retriever":       inEngine,
	} {
		t.Run(name, func(t *testing.T) { toolsearchtest.TestSearcher(t, index) })
	}
}
