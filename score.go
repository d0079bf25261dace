package toolsearch

import (
	"context"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/search"
)

// The menu of searchers, with their options, for Config.Index and Config.Fallback; and the three types
// that Config's fields need. Package search describes them. This file spares a program the second import.

// Keyword is Eino's own scorer, bit for bit, with an index. It is the default.
func Keyword(ctx context.Context, docs []Document) (search.Searcher, error) {
	return search.Keyword(ctx, docs)
}

// BM25 is the recommended searcher. It finds tools by the words of their names, descriptions,
// parameters and annotations, in English, Chinese and six more languages.
func BM25(ctx context.Context, docs []Document) (search.Searcher, error) {
	return search.BM25(ctx, docs)
}

// Regexp finds tools whose name matches a regular expression.
func Regexp(ctx context.Context, docs []Document) (search.Searcher, error) {
	return search.Regexp(ctx, docs)
}

// Fuzzy finds tools by words that are misspelled, cut short or run together: a good Config.Fallback.
func Fuzzy(ctx context.Context, docs []Document) (search.Searcher, error) {
	return search.Fuzzy(ctx, docs)
}

// Similarity ranks tools by how similar their text is to the query, letter by letter.
func Similarity(ctx context.Context, docs []Document) (search.Searcher, error) {
	return search.Similarity(ctx, docs)
}

// LSA ranks tools by the topics of the catalog. Use it in Hybrid where there is no embedder.
func LSA(ctx context.Context, docs []Document) (search.Searcher, error) { return search.LSA(ctx, docs) }

// Embedding ranks tools by how near their embedding is to the query's.
func Embedding(e embedding.Embedder) Indexer { return search.Embedding(e) }

// Hybrid combines searchers. Hybrid(BM25, Embedding(e)) finds the most. Hybrid(BM25, LSA) needs no embedder.
func Hybrid(parts ...Indexer) Indexer { return search.Hybrid(parts...) }

// Retriever asks a search engine that holds the catalog.
func Retriever(r retriever.Retriever) Indexer { return search.Retriever(r) }

// The options of searchers. Their method Index is an Indexer.
type (
	BM25Options       = search.BM25Options
	RegexpOptions     = search.RegexpOptions
	FuzzyOptions      = search.FuzzyOptions
	SimilarityOptions = search.SimilarityOptions
	LSAOptions        = search.LSAOptions
	EmbeddingOptions  = search.EmbeddingOptions
	HybridOptions     = search.HybridOptions
	RetrieverOptions  = search.RetrieverOptions
)

// The types that Config's fields need. The rest of the contract for a searcher of your own is in package search.
type (
	Document   = search.Document
	Annotation = search.Annotation
	Indexer    = search.Indexer
)

// Annotate derives an Annotation from a tool's definition: from what eino-ext's MCP adapter knows of a tool, or from a
// name such as mcp__server__tool. It is the default of Config.Annotate. See search.Annotate.
func Annotate(info *schema.ToolInfo) Annotation { return search.Annotate(info) }
