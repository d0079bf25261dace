package toolsearch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
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
		tools = append(tools, &testtools.PlainTool{Of: info})
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

func (s phraseSearcher) Search(ctx context.Context, q toolsearch.Query) (toolsearch.Hits, error) {
	var found toolsearch.Hits
	for i, doc := range s {
		if q.Text == "" || !strings.Contains(doc.Description, q.Text) || !q.Allows(i) {
			continue
		}
		if found.Total++; q.Limit == 0 || len(found.Hits) < q.Limit {
			found.Hits = append(found.Hits, toolsearch.Hit{Doc: i, Score: 1})
		}
	}
	return found, ctx.Err()
}

type userKey struct{}

// What a user may not have is, for their run, not in the catalog.
func ExampleConfig_filter() {
	config := toolsearch.Config{
		DynamicTools: demoTools(),
		Filter: func(ctx context.Context, doc toolsearch.Document) bool {
			return ctx.Value(userKey{}) == "admin" || !strings.Contains(doc.Name, "create")
		},
	}
	for _, user := range []string{"guest", "admin"} {
		fmt.Println(user)
		showRun(context.WithValue(context.Background(), userKey{}, user), config, "Open an issue",
			toolsearchtest.CallTool("tool_search", `{"query":"create issue"}`))
	}
	// Output:
	// guest
	// + tool_search
	// {"matches":["mcp__github__list_issues"]}
	// + mcp__github__list_issues
	// admin
	// + tool_search
	// {"matches":["mcp__github__create_issue","mcp__github__list_issues"]}
	// + mcp__github__create_issue
	// + mcp__github__list_issues
}

// A filter made of two lists: whole servers, and tools besides.
func ExampleFilterTools() {
	allowed := toolsearch.FilterTools([]string{"slack"}, []string{"github:list_*"})
	for _, info := range demoInfos() {
		doc := toolsearch.Document{Name: info.Name, Annotation: toolsearch.Annotate(info)}
		fmt.Println(doc.Name, allowed(context.Background(), doc))
	}
	// Output:
	// mcp__github__create_issue false
	// mcp__github__list_issues true
	// mcp__slack__send_message true
}

// A source is asked at each run, so that a server's new tools are found without a restart.
func ExampleConfig_source() {
	served := demoTools()[:2]
	source := func(context.Context) ([]tool.BaseTool, error) { return served, nil }
	config := toolsearch.Config{Source: source}
	find := toolsearchtest.CallTool("tool_search", `{"query":"slack"}`)
	showRun(context.Background(), config, "Tell the team", find)
	served = demoTools()
	showRun(context.Background(), config, "Tell the team", find)
	// Output:
	// + tool_search
	// {"matches":[],"message":"No tool matches. Try a synonym, fewer words, or no \"+\". If no search finds a tool, tell the user."}
	// + tool_search
	// {"matches":["mcp__slack__send_message"]}
	// + mcp__slack__send_message
}

// The best tools for the user's words are there before the model's first call.
func ExampleConfig_preselect() {
	showRun(context.Background(), toolsearch.Config{DynamicTools: demoTools(), Preselect: 1}, "Post a message into the team's channel")
	// Output:
	// + tool_search
	// + mcp__slack__send_message
}

// Some tools are never hidden.
func ExampleConfig_alwaysLoaded() {
	showRun(context.Background(), toolsearch.Config{DynamicTools: demoTools(), AlwaysLoaded: []string{"slack:*"}}, "Hello")
	// Output:
	// + tool_search
	// + mcp__slack__send_message
}

// A session carries what was loaded to a run that does not have the history of the last one.
func ExampleWithSession() {
	config := toolsearch.Config{DynamicTools: demoTools()}
	session := toolsearch.NewSession()
	showRun(toolsearch.WithSession(context.Background(), session), config, "Tell the team", toolsearchtest.CallTool("tool_search", `{"query":"slack"}`))
	stored, err := json.Marshal(session) // until the next request
	fmt.Println(string(stored), err)
	fmt.Println(json.Unmarshal(stored, &session))
	showRun(toolsearch.WithSession(context.Background(), session), config, "Tell them again")
	// Output:
	// + tool_search
	// {"matches":["mcp__slack__send_message"]}
	// + mcp__slack__send_message
	// ["mcp__slack__send_message"] <nil>
	// <nil>
	// + tool_search
	// + mcp__slack__send_message
}

// OnEvent watches what models look for.
func ExampleConfig_onEvent() {
	config := toolsearch.Config{
		DynamicTools: demoTools(),
		OnEvent: func(_ context.Context, e toolsearch.Event) {
			if e, ok := e.(toolsearch.SearchEvent); ok {
				fmt.Printf("searched for %q: %v of %d, by the %s\n", e.Query, e.Matches, e.Total, e.Searcher)
			}
		},
	}
	showRun(context.Background(), config, "Open an issue", toolsearchtest.CallTool("tool_search", `{"query":"issue","max_results":1}`))
	// Output:
	// searched for "issue": [mcp__github__create_issue] of 2, by the index
	// + tool_search
	// {"matches":["mcp__github__create_issue"]}
	// + mcp__github__create_issue
}
