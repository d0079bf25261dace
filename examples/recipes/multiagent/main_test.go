package main

func Example() {
	main()
	// Output:
	// a deep agent and its tasks
	//   agent   sees write_todos, task, tool_search
	//   task 1  sees write_todos, tool_search
	//   task 1  sees write_todos, tool_search, mcp__weather__current_conditions
	//   task 1  sees write_todos, tool_search, mcp__weather__current_conditions
	//   agent   sees write_todos, task, tool_search, mcp__weather__current_conditions
	//   task 2  sees write_todos, tool_search, mcp__weather__current_conditions
	//   task 2  sees write_todos, tool_search, mcp__weather__current_conditions
	//   agent   sees write_todos, task, tool_search, mcp__weather__current_conditions
	// a supervisor and its agents
	//   chief   sees transfer_to_agent, tool_search
	//   scout   sees tool_search
	//   scout   sees tool_search, mcp__weather__current_conditions
	//   scout   sees tool_search, mcp__weather__current_conditions
	//   chief   sees transfer_to_agent, tool_search, mcp__weather__current_conditions
	//   clerk   sees tool_search, mcp__weather__current_conditions
	//   clerk   sees tool_search, mcp__weather__current_conditions
	//   chief   sees transfer_to_agent, tool_search, mcp__weather__current_conditions
	// a plan and its steps
	//   step 1  sees tool_search
	//   step 1  sees tool_search, mcp__weather__current_conditions
	//   step 1  sees tool_search, mcp__weather__current_conditions
	//   step 2  sees tool_search, mcp__weather__current_conditions
	//   step 2  sees tool_search, mcp__weather__current_conditions
	// an agent as a tool
	//   agent   sees scout, tool_search
	//   scout   sees tool_search
	//   scout   sees tool_search, mcp__weather__current_conditions
	//   scout   sees tool_search, mcp__weather__current_conditions
	//   agent   sees scout, tool_search, mcp__weather__current_conditions
	//   agent   sees scout, tool_search, mcp__weather__current_conditions
	// an agent as a tool, for itself
	//   agent   sees scout, tool_search
	//   scout   sees tool_search
	//   scout   sees tool_search, mcp__weather__current_conditions
	//   scout   sees tool_search, mcp__weather__current_conditions
	//   agent   sees scout, tool_search
}
