package main

func Example() {
	main()
	// Output:
	// Claude                   native_references
	// AgenticClaude            native_deferred
	// AgenticOpenAI/Responses  native_deferred
	// OpenAI                   tool_search
	//
	// native_deferred, as for AgenticOpenAI/Responses
	// model call 1
	//   sees   no tool
	//   may find 166 deferred tools
	//   by means of tool_search
	//   calls  tool_search {"query":"weather conditions","max_results":2}
	//   gets   the definitions of mcp__weather__current_conditions, mcp__weather__air_quality
	// model call 2
	//   sees   no tool
	//   may find 166 deferred tools
	//   by means of tool_search
	//   calls  mcp__weather__current_conditions {"location":"Rome"}
	//   gets   {"humidity_percent":76,"location":"Rome","sky":"partly cloudy","temperature":18,"units":"metric"}
	// model call 3
	//   sees   no tool
	//   may find 166 deferred tools
	//   by means of tool_search
	//   says   Partly cloudy, 18 degrees.
	// the model was given the search's result as the definitions of mcp__weather__current_conditions, mcp__weather__air_quality
	//
	// native_references, as for Claude
	// model call 1
	//   sees   tool_search
	//   calls  tool_search {"query":"weather conditions","max_results":2}
	//   gets   {"matches":["mcp__weather__current_conditions","mcp__weather__air_quality"]}
	// model call 2
	//   sees   tool_search
	//   calls  mcp__weather__current_conditions {"location":"Rome"}
	//   gets   {"humidity_percent":76,"location":"Rome","sky":"partly cloudy","temperature":18,"units":"metric"}
	// model call 3
	//   sees   tool_search
	//   says   Partly cloudy, 18 degrees.
	// the model was given the search's result as the definitions of mcp__weather__current_conditions, mcp__weather__air_quality
	//
	// native_server, as for AgenticOpenAI/Responses
	// model call 1
	//   sees   no tool
	//   may find 166 deferred tools
	//   calls  mcp__weather__current_conditions {"location":"Rome"}
	//   gets   {"humidity_percent":76,"location":"Rome","sky":"partly cloudy","temperature":18,"units":"metric"}
	// model call 2
	//   sees   no tool
	//   may find 166 deferred tools
	//   says   Partly cloudy, 18 degrees.
}
