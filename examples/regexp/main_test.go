package main

func Example() {
	main()
	// Output:
	// user: Is the checkout deployment healthy?
	// model call 1
	//   sees   tool_search
	//   calls  tool_search {"regex_pattern":"kubernetes.*(pods"}
	//   gets   {"selectedTools":[],"message":"The pattern is not a valid regular expression: missing closing ), in `kubernetes.*(pods`. The syntax is RE2, without look-around or backreferences. Write `.*` for any text, and a backslash before a special character to match it literally."}
	// model call 2
	//   sees   tool_search
	//   calls  tool_search {"regex_pattern":"kubernetes__(list|describe)_pod"}
	//   gets   {"selectedTools":["mcp__kubernetes__list_pods","mcp__kubernetes__describe_pod"]}
	// model call 3
	//   sees   tool_search, mcp__kubernetes__list_pods, mcp__kubernetes__describe_pod
	//   calls  mcp__kubernetes__list_pods {"namespace":"checkout"}
	//   gets   {"namespace":"checkout","selector":null,"pods":[{"name":"web-7d9f-abc12","status":"Running","restarts":0},{"name":"worker-55c8-xk9p2","status":"CrashLoopBackOff","restarts":14}]}
	// model call 4
	//   sees   tool_search, mcp__kubernetes__list_pods, mcp__kubernetes__describe_pod
	//   says   Not quite: the worker restarts again and again.
}
