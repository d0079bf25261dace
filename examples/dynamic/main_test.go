package main

import (
	"testing"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

func TestMain(m *testing.M) { testtools.RunPatiently(m) }

func Example() {
	main()
	// Output:
	// run 1: the server has Slack
	// an index of 13 tools is built
	// model call 1
	//   sees   tool_search
	//   calls  tool_search {"query":"+ticket create","max_results":1}
	//   gets   {"matches":[],"suggestions":["mcp__slack__create_channel"],"message":"No tool matches. Try a synonym, fewer words, or no \"+\"; or take an exact name from the available-deferred-tools list with \"select:\". If no tool can do it, tell the user."}
	// model call 2
	//   sees   tool_search
	//   says   I find nothing to file tickets with.
	// run 2: nothing has changed
	// model call 3
	//   sees   tool_search
	//   says   Still nothing.
	// run 3: it has got Jira
	// an index of 25 tools is built
	// model call 4
	//   sees   tool_search
	//   calls  tool_search {"query":"+ticket create","max_results":1}
	//   gets   {"matches":["mcp__jira__create_ticket"]}
	// model call 5
	//   sees   tool_search, mcp__jira__create_ticket
	//   calls  mcp__jira__create_ticket {"project":"SHOP","type":"bug","summary":"Cart is empty"}
	//   gets   {"key":"SHOP-283","summary":"Cart is empty","type":"bug","priority":"medium","parent":null,"status":"To do","url":"https://jira.example/browse/SHOP-283"}
	// model call 6
	//   sees   tool_search, mcp__jira__create_ticket
	//   says   The ticket is filed.
	// run 4: it cannot be reached
	// a failure: toolsearch: Source: connection refused; the last good catalog of 25 tools stays
	// model call 7
	//   sees   tool_search, mcp__jira__create_ticket
	//   calls  mcp__jira__create_ticket {"project":"SHOP","type":"bug","summary":"Cart is empty"}
	//   gets   {"key":"SHOP-283","summary":"Cart is empty","type":"bug","priority":"medium","parent":null,"status":"To do","url":"https://jira.example/browse/SHOP-283"}
	// model call 8
	//   sees   tool_search, mcp__jira__create_ticket
	//   says   Another ticket is filed.
	// run 5: Jira is gone
	// an index of 13 tools is built
	// model call 9
	//   sees   tool_search
	//   calls  mcp__jira__create_ticket {"project":"SHOP","type":"bug","summary":"Cart is empty"}
	//   gets   {"matches":[],"not_found":["mcp__jira__create_ticket"],"message":"There is no tool named \"mcp__jira__create_ticket\", so nothing was run. Call a tool from your list by its exact name, or find one with tool_search."}
	// model call 10
	//   sees   tool_search
	//   says   I cannot file tickets any more.
}
