package benchmarks

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cloudwego/eino/adk"
	oracle "github.com/cloudwego/eino/adk/middlewares/dynamictool/toolsearch"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/search"
)

// Eino is Eino's own package as an Indexer. The searcher's Tool is that package's tool_search.
// Search calls that tool. The tool returns no scores, so Search makes up scores that descend
// with the rank.
func Eino(ctx context.Context, docs []search.Document) (search.Searcher, error) {
	tools := make([]tool.BaseTool, len(docs))
	e := &einoSearcher{docs: make(map[string]int, len(docs))}
	for i, doc := range docs {
		tools[i] = infoOnly{doc.Info}
		e.docs[doc.Name] = i
	}
	middleware, err := oracle.New(ctx, &oracle.Config{DynamicTools: tools})
	if err != nil {
		return nil, err
	}
	_, run, err := middleware.BeforeAgent(ctx, &adk.ChatModelAgentContext{})
	if err != nil {
		return nil, err
	}
	var ok bool
	if e.tool, ok = run.Tools[0].(tool.InvokableTool); !ok {
		return nil, fmt.Errorf("the search tool is a %T, which cannot be invoked", run.Tools[0])
	}
	return e, nil
}

type infoOnly struct{ info *schema.ToolInfo }

func (t infoOnly) Info(context.Context) (*schema.ToolInfo, error) { return t.info, nil }

type einoSearcher struct {
	tool tool.InvokableTool
	docs map[string]int
}

func (e *einoSearcher) Tool() tool.InvokableTool { return e.tool }

func (e *einoSearcher) Search(ctx context.Context, q search.Query) (search.Hits, error) {
	if len(q.Keywords) == 0 {
		return search.Hits{}, nil
	}
	limit := q.Limit
	if limit == 0 {
		limit = len(e.docs)
	}
	names, err := ask(ctx, e.tool, arguments(q.String(), limit))
	if err != nil {
		return search.Hits{}, err
	}
	hits := make([]search.Hit, len(names))
	for i, name := range names {
		hits[i] = search.Hit{Doc: e.docs[name], Score: float64(len(names) - i)}
	}
	return search.Hits{Hits: hits}, nil
}

// arguments returns the arguments of a call to tool_search.
func arguments(query string, limit int) string {
	text, err := json.Marshal(map[string]any{"query": query, "max_results": limit})
	if err != nil {
		panic(err) // cannot happen for a string and a number
	}
	return string(text)
}

// ask calls a tool_search tool and returns the names it found.
func ask(ctx context.Context, t tool.InvokableTool, arguments string) ([]string, error) {
	text, err := t.InvokableRun(ctx, arguments)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Matches []string `json:"matches"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return answer.Matches, nil
}
