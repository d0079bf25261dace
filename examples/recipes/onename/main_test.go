package main

func Example() {
	main()
	// Output:
	// the agent's own tool and a dynamic tool
	//   event: toolsearch: DynamicTools: "create_issue" is left out, since the agent has another tool of that name
	//   create_issue: the agent itself answers
	// two catalogs in one agent
	//   error: the agent's tool 0 already has the name "tool_search"; if it belongs to another tool search middleware, give one of the two another ToolName
	//   home_search: {"matches":["water_plants"]}
	//   water_plants: home answers
	// two servers in one catalog
	//   New refuses them, and says what to do
}
