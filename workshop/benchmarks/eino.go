package main

import (
	"cmp"
	"context"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Eino is Eino's own package as an Indexer. The searcher's Tool is that package's tool_search.
// Search calls that tool. The tool returns no scores, so Search makes up scores that descend
// with the rank.
func Eino(ctx context.Context, docs []search.Document) (search.Searcher, error) {
	infos := make([]*schema.ToolInfo, len(docs))
	e := &einoSearcher{docs: make(map[string]int, len(docs))}
	for i, doc := range docs {
		infos[i] = doc.Info
		e.docs[doc.Name] = i
	}
	var err error
	e.oracle, err = testtools.NewOracle(ctx, infos)
	return e, err
}

type einoSearcher struct {
	oracle testtools.Oracle
	docs   map[string]int
}

func (e *einoSearcher) Tool() tool.InvokableTool { return e.oracle.InvokableTool }

func (e *einoSearcher) Search(ctx context.Context, q search.Query) (search.Hits, error) {
	if len(q.Keywords) == 0 {
		return search.Hits{}, nil
	}
	names, err := e.oracle.Search(ctx, q.String(), cmp.Or(q.Limit, len(e.docs)))
	if err != nil {
		return search.Hits{}, err
	}
	hits := make([]search.Hit, len(names))
	for i, name := range names {
		hits[i] = search.Hit{Doc: e.docs[name], Score: float64(len(names) - i)}
	}
	return search.Hits{Hits: hits}, nil
}
