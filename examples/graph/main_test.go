package main

func Example() {
	main()
	// Output:
	// user: Is it going to rain in Hamburg?
	// model call 1
	//   got    Is it going to rain in Hamburg?
	//   sees   tool_search
	// model call 2
	//   got    {"matches":["mcp__weather__hourly_rain","mcp__weather__daily_forecast"]}
	//   sees   tool_search, mcp__weather__hourly_rain, mcp__weather__daily_forecast
	// model call 3
	//   got    {"location":"Hamburg","millimetres":[0,0,0.4,1.2,0.3,0],"summary":"Light rain in two hours."}
	//   sees   tool_search, mcp__weather__hourly_rain, mcp__weather__daily_forecast
	// answer: Light rain in two hours.
}
