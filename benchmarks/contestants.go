package benchmarks

import (
	"context"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
)

// A Contestant is a searcher that is measured. Another one is a line in Contestants, and
// one in the colors of plot.go.
type Contestant struct {
	Name     string
	Index    toolsearch.Indexer
	Patterns bool // it is asked in regular expressions, and questions in words say nothing of it
}

// words are how the contestant is asked.
func (c Contestant) words(q Question) string {
	if c.Patterns {
		return q.Pattern
	}
	return q.Text
}

// Baseline is the contestant whose numbers the others' are divided by.
const Baseline = "Eino"

// Contestants are all that are measured for speed, the baseline first.
var Contestants = []Contestant{
	{Name: Baseline, Index: Eino},
	{Name: "Keyword", Index: toolsearch.Keyword},
	{Name: "BM25", Index: toolsearch.BM25},
	{Name: "Fuzzy", Index: toolsearch.Fuzzy},
	{Name: "Similarity", Index: toolsearch.Similarity},
	{Name: "Regexp", Index: toolsearch.Regexp, Patterns: true},
	{Name: "bleve", Index: Bleve},
	{Name: "bleve, fields", Index: BleveFields},
}

// A field of contestants prepares one catalog for all of them.
type field struct {
	infos     []*schema.ToolInfo
	docs      []toolsearch.Document
	questions []Question
}

// newField compiles a catalog of that size into documents, which is the same work for
// every Indexer and is not counted as any one's.
func newField(ctx context.Context, size int) (*field, error) {
	f := &field{}
	f.infos, f.questions = Tools(size)
	_, err := toolsearch.NewCatalogFromInfos(ctx, f.infos, func(_ context.Context, docs []toolsearch.Document) (toolsearch.Searcher, error) {
		f.docs = docs
		return nobody{}, nil
	})
	return f, err
}

// nobody finds nothing.
type nobody struct{}

func (nobody) Search(context.Context, toolsearch.Query) (toolsearch.Hits, error) {
	return toolsearch.Hits{}, nil
}

// door returns the tool_search tool over a searcher: what a model's call goes through,
// from arguments to result. A searcher that has a tool of its own is asked through that.
func (f *field) door(ctx context.Context, s toolsearch.Searcher) (tool.InvokableTool, error) {
	if own, ok := s.(interface{ Tool() tool.InvokableTool }); ok {
		return own.Tool(), nil
	}
	catalog, err := toolsearch.NewCatalogFromInfos(ctx, f.infos, func(context.Context, []toolsearch.Document) (toolsearch.Searcher, error) {
		return s, nil
	})
	if err != nil {
		return nil, err
	}
	return catalog.Tool(), nil
}
