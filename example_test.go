package toolsearch_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
)

func demoInfos() []*schema.ToolInfo {
	return []*schema.ToolInfo{
		{Name: "mcp__github__create_issue", Desc: "Opens an issue in a repository"},
		{Name: "mcp__github__list_issues", Desc: "Lists the issues of a repository"},
		{Name: "mcp__slack__send_message", Desc: "Posts into a channel"},
	}
}

// demoTools are the same as tools that answer with their name.
func demoTools() []tool.BaseTool {
	var tools []tool.BaseTool
	for _, info := range demoInfos() {
		tools = append(tools, &plainTool{info})
	}
	return tools
}

// A catalog answers the queries of the model without an agent.
func ExampleCatalog_Search() {
	ctx := context.Background()
	catalog, err := toolsearch.NewCatalogFromInfos(ctx, demoInfos(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, query := range []string{"create issue", "+slack issue", "select:mcp__slack__send_massage"} {
		result, err := catalog.Search(ctx, query, 5)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(query)
		for _, m := range result.Matches {
			fmt.Printf("  %-28s %.0f\n", m.Info.Name, m.Score)
		}
		if len(result.Suggestions) > 0 {
			fmt.Println("  did you mean", strings.Join(result.Suggestions, ", "))
		}
	}
	// Output:
	// create issue
	//   mcp__github__create_issue    20
	//   mcp__github__list_issues     5
	// +slack issue
	//   mcp__slack__send_message     10
	// select:mcp__slack__send_massage
	//   did you mean mcp__slack__send_message
}

// In a graph of one's own, tool_search is a tool like any other.
func ExampleCatalog_Tool() {
	ctx := context.Background()
	catalog, err := toolsearch.NewCatalogFromInfos(ctx, demoInfos(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := catalog.Tool().InvokableRun(ctx, `{"query":"channel"}`)
	fmt.Println(text, err)
	// Output: {"matches":["mcp__slack__send_message"]} <nil>
}

func ExampleCatalog_Explain() {
	ctx := context.Background()
	catalog, err := toolsearch.NewCatalogFromInfos(ctx, demoInfos(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	explanation, err := catalog.Explain(ctx, "issue opens mail", "mcp__github__create_issue")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(explanation)
	// Output:
	// 12
	//   +10  "issue" in name: a part of the name equals it
	//   +2  "opens" in description: the description contains it
	//   +0  "mail": not found
}

func ExampleParseQuery() {
	q := toolsearch.ParseQuery("  +github create   issue ")
	fmt.Printf("%q must match %q: %s\n", q.Keywords, q.Required, q)
	// Output: ["github" "create" "issue"] must match ["github"]: +github create issue
}

// An Indexer of one's own: tools whose description holds the whole query.
func ExampleIndexer() {
	phrase := func(_ context.Context, docs []toolsearch.Document) (toolsearch.Searcher, error) {
		return phraseSearcher(docs), nil
	}
	ctx := context.Background()
	catalog, err := toolsearch.NewCatalogFromInfos(ctx, demoInfos(), phrase)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := catalog.Search(ctx, "issues of a repository", 5)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Matches[0].Info.Name)
	// Output: mcp__github__list_issues
}

type phraseSearcher []toolsearch.Document

func (s phraseSearcher) Search(_ context.Context, q toolsearch.Query) ([]toolsearch.Hit, error) {
	var hits []toolsearch.Hit
	for i, doc := range s {
		if strings.Contains(doc.Description, q.Text) && (q.Limit == 0 || len(hits) < q.Limit) {
			hits = append(hits, toolsearch.Hit{Doc: i, Score: 1})
		}
	}
	return hits, nil
}
