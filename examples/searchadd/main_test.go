package main

func Example() {
	main()
	// Output:
	// user: Will it rain in Hamburg today?
	// model call 1
	//   sees   search_tools, add_tool, show_all_tools, remove_tool
	//   calls  search_tools {"query":"wheather"}
	//   gets   {"found":5,"tools":[{"name":"mcp__weather__air_quality","description":"Report air pollution and pollen at a place, with an index and health advice."},{"name":"mcp__weather__current_conditions","description":"Tell the weather at a place right now: temperature, wind, humidity and sky."},{"name":"mcp__weather__daily_forecast","description":"Forecast the weather of the coming days: sun or rain, highest and lowest temperature."},{"name":"mcp__weather__historical_weather","description":"Look up what the weather was like at a place on a day in the past."},{"name":"mcp__weather__hourly_rain","description":"Tell whether it is going to rain or snow in the next six hours, and how much in each."}],"message":"5 found. Load what you need with add_tool."}
	// model call 2
	//   sees   search_tools, add_tool, show_all_tools, remove_tool
	//   calls  search_tools {"query":"weather.*(rain|forecast)"}
	//   gets   {"found":2,"tools":[{"name":"mcp__weather__daily_forecast","description":"Forecast the weather of the coming days: sun or rain, highest and lowest temperature."},{"name":"mcp__weather__hourly_rain","description":"Tell whether it is going to rain or snow in the next six hours, and how much in each."}],"message":"2 found. Load what you need with add_tool."}
	// model call 3
	//   sees   search_tools, add_tool, show_all_tools, remove_tool
	//   calls  add_tool {"tool_names":["mcp__weather__hourly_rain"]}
	//   gets   {"added":["mcp__weather__hourly_rain"],"already_loaded":[],"not_found":[],"message":"Loaded: you can call them from your next turn on."}
	// model call 4
	//   sees   search_tools, add_tool, show_all_tools, remove_tool, mcp__weather__hourly_rain
	//   calls  mcp__weather__hourly_rain {"location":"Hamburg"}
	//   gets   {"location":"Hamburg","millimetres":[0,0,0.4,1.2,0.3,0],"summary":"Light rain in two hours."}
	// model call 5
	//   sees   search_tools, add_tool, show_all_tools, remove_tool, mcp__weather__hourly_rain
	//   calls  remove_tool {"tool_names":["mcp__weather__hourly_rain"]}
	//   gets   {"removed":["mcp__weather__hourly_rain"],"not_found":[],"message":"Removed from your tool list."}
	// model call 6
	//   sees   search_tools, add_tool, show_all_tools, remove_tool
	//   says   Light rain in two hours.
}
