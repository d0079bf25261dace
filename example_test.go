// Examples of the middleware: a catalog, a setting, a protocol each.
package toolsearch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

func demoInfos() []*schema.ToolInfo {
	return []*schema.ToolInfo{
		{Name: "mcp__github__create_issue", Desc: "Opens an issue in a repository"},
		{Name: "mcp__github__list_issues", Desc: "Lists the issues of a repository"},
		{Name: "mcp__slack__send_message", Desc: "Posts into a channel"},
	}
}

// demoTools are tools with the definitions of demoInfos. They answer with their names.
func demoTools() []tool.BaseTool {
	var tools []tool.BaseTool
	for _, info := range demoInfos() {
		tools = append(tools, &testtools.PlainTool{Of: info})
	}
	return tools
}

// A catalog can be searched without an agent.
func ExampleCatalog_Search() {
	ctx := context.Background()
	catalog := must(toolsearch.NewCatalogFromInfos(ctx, demoInfos(), nil))
	for _, query := range []string{"create issue", "+slack issue", "select:mcp__slack__send_massage"} {
		result := must(catalog.Search(ctx, query, 5))
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

// In a graph without an agent, tool_search is an ordinary tool.
func ExampleCatalog_Tool() {
	ctx := context.Background()
	catalog := must(toolsearch.NewCatalogFromInfos(ctx, demoInfos(), nil))
	fmt.Println(must(catalog.Tool().InvokableRun(ctx, `{"query":"channel"}`)))
	// Output: {"matches":["mcp__slack__send_message"]}
}

func ExampleCatalog_Explain() {
	ctx := context.Background()
	catalog := must(toolsearch.NewCatalogFromInfos(ctx, demoInfos(), nil))
	fmt.Println(must(catalog.Explain(ctx, "issue opens mail", "mcp__github__create_issue")))
	// Output:
	// 12
	//   +10  "issue" in name: a part of the name equals it
	//   +2  "opens" in description: the description contains it
	//   +0  "mail": not found
}

func ExampleParseQuery() {
	q := search.ParseQuery("  +github create   issue ")
	fmt.Printf("%q must match %q: %s\n", q.Keywords, q.Required, q)
	// Output: ["github" "create" "issue"] must match ["github"]: +github create issue
}

// This Indexer makes a searcher for tools whose description has the whole query.
func ExampleIndexer() {
	phrase := func(_ context.Context, docs []toolsearch.Document) (search.Searcher, error) {
		return phraseSearcher(docs), nil
	}
	ctx := context.Background()
	catalog := must(toolsearch.NewCatalogFromInfos(ctx, demoInfos(), &toolsearch.CatalogOptions{Index: phrase}))
	result := must(catalog.Search(ctx, "issues of a repository", 5))
	fmt.Println(result.Matches[0].Info.Name)
	// Output: mcp__github__list_issues
}

type phraseSearcher []toolsearch.Document

func (s phraseSearcher) Search(ctx context.Context, q search.Query) (search.Hits, error) {
	var found search.Hits
	for i, doc := range s {
		if q.Text == "" || !strings.Contains(doc.Description, q.Text) || !q.Allows(i) {
			continue
		}
		if found.Total++; q.Limit == 0 || len(found.Hits) < q.Limit {
			found.Hits = append(found.Hits, search.Hit{Doc: i, Score: 1})
		}
	}
	return found, ctx.Err()
}

type userKey struct{}

// For a user's run, the catalog does not have the tools that Filter drops.
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

// FilterTools makes a filter of two lists: whole servers, and single tools.
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

// Each run asks the source, so a server's new tools are found without a restart.
func ExampleConfig_source() {
	served := demoTools()[:2]
	source := func(context.Context) ([]tool.BaseTool, error) { return served, nil }
	config := toolsearch.Config{Groups: []toolsearch.Group{{Source: source}}}
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

// Two servers have a tool of the same name. With Prefix the model can tell the tools apart, and each
// server gets its own name of the tool. A server that is down costs the other nothing.
func ExampleGroup() {
	search := func(what string) tool.BaseTool {
		return &testtools.PlainTool{Of: &schema.ToolInfo{Name: "search", Desc: "Searches " + what}}
	}
	config := toolsearch.Config{
		Groups: []toolsearch.Group{
			{Name: "github", Description: "Code and issues.", Tools: []tool.BaseTool{search("code")}, Prefix: true},
			{Name: "slack", Description: "Messages of the team.", Prefix: true,
				Source: func(context.Context) ([]tool.BaseTool, error) { return []tool.BaseTool{search("messages")}, nil }},
			{Name: "jira", Prefix: true,
				Source: func(context.Context) ([]tool.BaseTool, error) { return nil, errors.New("connection refused") }},
		},
		Index: toolsearch.BM25,
		OnEvent: func(_ context.Context, e toolsearch.Event) {
			if failure, ok := e.(*toolsearch.FailureEvent); ok {
				fmt.Println(failure.Group, "failed:", failure.Err)
			}
		},
	}
	showRun(context.Background(), config, "What does the team say?",
		toolsearchtest.CallTool("tool_search", `{"query":"slack: search"}`), toolsearchtest.CallTool("slack__search", `{}`))
	// Output:
	// jira failed: toolsearch: Source of group "jira": connection refused; none of its tools is used
	// + tool_search
	// {"matches":["slack__search"]}
	// + slack__search
	// search
}

// The first model call shows the best tools for the user's words.
func ExampleConfig_preselect() {
	showRun(context.Background(), toolsearch.Config{DynamicTools: demoTools(), Preselect: 1}, "Post a message into the team's channel")
	// Output:
	// + tool_search
	// + mcp__slack__send_message
}

// Tools of AlwaysLoaded are never hidden.
func ExampleConfig_alwaysLoaded() {
	showRun(context.Background(), toolsearch.Config{DynamicTools: demoTools(), AlwaysLoaded: []string{"slack:*"}}, "Hello")
	// Output:
	// + tool_search
	// + mcp__slack__send_message
}

// A session carries the loaded tools over to a run without the history of the last run.
func ExampleWithSession() {
	config := toolsearch.Config{DynamicTools: demoTools()}
	session := toolsearch.NewSession()
	showRun(toolsearch.WithSession(context.Background(), session), config, "Tell the team",
		toolsearchtest.CallTool("tool_search", `{"query":"slack"}`))
	stored, err := json.Marshal(session) // the program stores it until the next request
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

// OnEvent gets an event for each search.
func ExampleConfig_onEvent() {
	config := toolsearch.Config{
		DynamicTools: demoTools(),
		OnEvent: func(_ context.Context, e toolsearch.Event) {
			if e, ok := e.(*toolsearch.SearchEvent); ok {
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

// NewTyped is New for agents of either message type.
func ExampleNewTyped() {
	ctx := context.Background()
	middleware := must(toolsearch.NewTyped[*schema.AgenticMessage](ctx, &toolsearch.Config{DynamicTools: demoTools()}))
	model := toolsearchtest.NewModel[*schema.AgenticMessage](
		toolsearchtest.CallTool("tool_search", `{"query":"channel"}`),
		toolsearchtest.Say("Slack can do that."),
	)
	agent := must(adk.NewTypedChatModelAgent(ctx, &adk.TypedChatModelAgentConfig[*schema.AgenticMessage]{
		Name: "helper", Description: "Helps", Model: model,
		Handlers: []adk.TypedChatModelAgentMiddleware[*schema.AgenticMessage]{middleware},
	}))
	events := agent.Run(ctx, &adk.TypedAgentInput[*schema.AgenticMessage]{
		Messages: []*schema.AgenticMessage{schema.UserAgenticMessage("Who can write to a channel?")},
	})
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		must(event, event.Err)
	}
	for i, request := range model.Requests() {
		fmt.Println("call", i+1, "saw", request.ToolNames())
	}
	// Output:
	// call 1 saw [tool_search]
	// call 2 saw [tool_search mcp__slack__send_message]
}

// showRun runs an agent whose model plays a script. It prints the answers to the model's calls, and
// each tool when the model sees it for the first time, after a "+".
func showRun(ctx context.Context, config toolsearch.Config, question string, turns ...toolsearchtest.Turn) {
	config.Reminder.Disabled = true
	middleware := must(toolsearch.New(ctx, &config))
	model := toolsearchtest.NewModel[*schema.Message](append(turns, toolsearchtest.Say("Done."))...)
	play(ctx, question, must(adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "helper", Description: "Helps", Model: model, Handlers: []adk.ChatModelAgentMiddleware{middleware},
	})))
	var seen []string
	for _, request := range model.Requests() {
		if last := request.Messages[len(request.Messages)-1]; last.Role == toolsearchtest.Tool {
			fmt.Println(last.Text)
		}
		for _, name := range request.ToolNames() {
			if !slices.Contains(seen, name) {
				seen = append(seen, name)
				fmt.Println("+", name)
			}
		}
	}
}

// play runs an agent to its end.
func play(ctx context.Context, question string, agent adk.Agent) {
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, question)
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		must(event, event.Err)
	}
}

// By default, a search loads the tools that it finds.
func ExampleProtocol_toolSearch() {
	showRun(context.Background(), toolsearch.Config{DynamicTools: demoTools()}, "Open an issue",
		toolsearchtest.CallTool("tool_search", `{"query":"create issue","max_results":1}`),
		toolsearchtest.CallTool("mcp__github__create_issue", `{}`))
	// Output:
	// + tool_search
	// {"matches":["mcp__github__create_issue"]}
	// + mcp__github__create_issue
	// mcp__github__create_issue
}

// The model searches names by a regular expression, as in Eino v0.8.
func ExampleProtocol_regexp() {
	showRun(context.Background(), toolsearch.Config{DynamicTools: demoTools(), Protocol: toolsearch.ProtocolRegexp}, "Tell the team",
		toolsearchtest.CallTool("tool_search", `{"regex_pattern":"slack.*message"}`))
	// Output:
	// + tool_search
	// {"selectedTools":["mcp__slack__send_message"]}
	// + mcp__slack__send_message
}

// A search finds tools, and the model loads those that it chooses.
func ExampleProtocol_searchAdd() {
	showRun(context.Background(), toolsearch.Config{DynamicTools: demoTools(), Protocol: toolsearch.ProtocolSearchAdd}, "Tell the team",
		toolsearchtest.CallTool("search_tools", `{"query":"channel"}`),
		toolsearchtest.CallTool("add_tool", `{"tool_names":["mcp__slack__send_message"]}`))
	// Output:
	// + search_tools
	// + add_tool
	// + show_all_tools
	// + remove_tool
	// {"found":1,"tools":[{"name":"mcp__slack__send_message","description":"Posts into a channel"}],"message":"1 found. Load what you need with add_tool."}
	// {"added":["mcp__slack__send_message"],"already_loaded":[],"not_found":[],"message":"Loaded: you can call them from your next turn on."}
	// + mcp__slack__send_message
}

// A search returns a ranked list with scores.
func ExampleProtocol_ranked() {
	showRun(context.Background(), toolsearch.Config{DynamicTools: demoTools(), Protocol: toolsearch.ProtocolRanked}, "Tell the team",
		toolsearchtest.CallTool("tool_search", `{"query":"send message","limit":1}`))
	// Output:
	// + tool_search
	// Loaded, with scores:
	// 1. mcp__slack__send_message (0.626)
	//    Posts into a channel
	// {"total_candidates":3,"matches":[{"name":"mcp__slack__send_message"}]}
	// + mcp__slack__send_message
}

// The tool list never changes, and call_tool runs the tools.
func ExampleProtocol_dispatch() {
	showRun(context.Background(), toolsearch.Config{DynamicTools: demoTools(), Protocol: toolsearch.ProtocolDispatch}, "Tell the team",
		toolsearchtest.CallTool("tool_search", `{"query":"send message"}`),
		toolsearchtest.CallTool("call_tool", `{"name":"mcp__slack__send_message","arguments":{}}`))
	// Output:
	// + tool_search
	// + call_tool
	// {"matches":[{"name":"mcp__slack__send_message","description":"Posts into a channel","parameters":{"properties":{},"type":"object"}}]}
	// mcp__slack__send_message
}
