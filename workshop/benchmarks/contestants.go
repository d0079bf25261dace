package main

import (
	"context"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// A Contestant is a searcher that is measured. A new contestant is a new line in Contestants.
type Contestant struct {
	Name  string
	Index search.Indexer
}

// Baseline is the contestant that the others are compared with.
const Baseline = "Eino"

// Contestants are the searchers measured for speed, the baseline first.
var Contestants = []Contestant{
	{Name: Baseline, Index: Eino},
	{Name: "Keyword", Index: search.Keyword},
	{Name: "BM25", Index: search.BM25},
	{Name: "Fuzzy", Index: search.Fuzzy},
	{Name: "Similarity", Index: search.Similarity},
	{Name: "bleve", Index: Bleve},
}

// A field is a catalog prepared for all contestants.
type field struct {
	infos     []*schema.ToolInfo
	docs      []search.Document
	questions []Question
	arguments []string // of a call of tool_search, by question
}

// newField compiles a catalog of size tools into documents. This work is the same for every
// Indexer, so it is measured apart.
func newField(size int) *field {
	f := &field{}
	f.infos, f.questions = Tools(size)
	for _, q := range f.questions {
		f.arguments = append(f.arguments, testtools.SearchArguments(q.Text, toolsearch.DefaultMaxResults))
	}
	f.docs = must(search.Documents(f.infos, nil))
	return f
}

// door returns the tool_search tool over a searcher, so that a call is measured from arguments
// to result. For a searcher with its own tool, it returns that tool.
func (f *field) door(ctx context.Context, s search.Searcher) tool.InvokableTool {
	if own, ok := s.(interface{ Tool() tool.InvokableTool }); ok {
		return own.Tool()
	}
	ready := func(context.Context, []search.Document) (search.Searcher, error) { return s, nil }
	return must(toolsearch.NewCatalogFromInfos(ctx, f.infos, &toolsearch.CatalogOptions{Index: ready})).Tool()
}
