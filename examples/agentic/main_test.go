package main

func Example() {
	main()
	// Output:
	// user: What fails most in checkout?
	// model call 1
	//   sees   tool_search
	//   calls  tool_search {"query":"+sentry errors stack","max_results":2}
	//   gets   {"matches":["mcp__sentry__get_stack_trace","mcp__sentry__list_errors"]}
	// model call 2
	//   sees   tool_search, mcp__sentry__get_stack_trace, mcp__sentry__list_errors
	//   calls  mcp__sentry__list_errors {"project":"checkout"}
	//   gets   {"project":"checkout","status":"unresolved","environment":"production","limit":25,"errors":[{"id":"ERR-204","title":"TypeError: cart is undefined","events":1893,"users":412},{"id":"ERR-198","title":"context deadline exceeded","events":377,"users":290}]}
	// model call 3
	//   sees   tool_search, mcp__sentry__get_stack_trace, mcp__sentry__list_errors
	//   says   A cart that is undefined.
	// user: Where in the code?
	// model call 4
	//   sees   tool_search, mcp__sentry__get_stack_trace, mcp__sentry__list_errors
	//   calls  mcp__sentry__get_stack_trace {"error_id":"ERR-204"}
	//   gets   {"error_id":"ERR-204","event":"latest","frames":[{"function":"total","file":"checkout/total.js","line":41},{"function":"render","file":"checkout/page.js","line":118}],"tags":{"browser":"Firefox","os":"Linux"}}
	// model call 5
	//   sees   tool_search, mcp__sentry__get_stack_trace, mcp__sentry__list_errors
	//   says   In the function that adds up the cart.
	// history:
	//   user       user_input_text
	//   assistant  function_tool_call
	//   user       function_tool_result
	//   assistant  function_tool_call
	//   user       function_tool_result
	//   assistant  assistant_gen_text
	//   user       user_input_text
	//   assistant  function_tool_call
	//   user       function_tool_result
	//   assistant  assistant_gen_text
}
