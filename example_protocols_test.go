package toolsearch_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// showRun plays a script to an agent and prints what the model saw before each turn and
// what it was answered. "+" stands before a tool that it had not seen before.
func showRun(ctx context.Context, config toolsearch.Config, question string, turns ...toolsearchtest.Turn) {
	config.Reminder.Disabled = true
	middleware, err := toolsearch.New(ctx, &config)
	if err != nil {
		fmt.Println(err)
		return
	}
	model := toolsearchtest.NewModel[*schema.Message](append(turns, toolsearchtest.Say("Done."))...)
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "helper", Description: "Helps", Model: model, Handlers: []adk.ChatModelAgentMiddleware{middleware},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, question)
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			fmt.Println(event.Err)
			return
		}
	}
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

// The default: what a search finds is loaded.
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

// Eino v0.8's: names are looked for by a regular expression.
func ExampleProtocol_regexp() {
	showRun(context.Background(), toolsearch.Config{DynamicTools: demoTools(), Protocol: toolsearch.ProtocolRegexp}, "Tell the team",
		toolsearchtest.CallTool("tool_search", `{"regex_pattern":"slack.*message"}`))
	// Output:
	// + tool_search
	// {"selectedTools":["mcp__slack__send_message"]}
	// + mcp__slack__send_message
}

// Searching and loading apart: the model loads what it has chosen.
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

// A ranked list to weigh candidates by.
func ExampleProtocol_ranked() {
	showRun(context.Background(), toolsearch.Config{DynamicTools: demoTools(), Protocol: toolsearch.ProtocolRanked}, "Tell the team",
		toolsearchtest.CallTool("tool_search", `{"query":"send message","limit":1}`))
	// Output:
	// + tool_search
	// Loaded the best 1 of 3 candidates, with scores:
	// 1. mcp__slack__send_message (0.626)
	//    Posts into a channel
	//    mcp__slack__send_message()
	// {"query":"send message","limit":1,"total":3,"matches":[{"rank":1,"name":"mcp__slack__send_message","score":0.626,"description":"Posts into a channel","usage":"mcp__slack__send_message()"}]}
	// + mcp__slack__send_message
}

// The tool list never changes: tools are run by call_tool.
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
