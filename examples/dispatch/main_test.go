package main

func Example() {
	main()
	// Output:
	// user: Tell #incidents that checkout is up again.
	// model call 1
	//   sees   tool_search, call_tool
	//   calls  tool_search {"query":"slack send message channel","max_results":1}
	//   gets   {"matches":[{"name":"mcp__slack__send_message","description":"Post a message to a channel, where every member of the channel sees it.","parameters":{"properties":{"channel":{"description":"Channel name without the #, or channel id","type":"string"},"text":{"description":"Message to post; simple formatting such as *bold* works","type":"string"},"unfurl_links":{"description":"Show previews of the links in the message (default: true)","type":"boolean"}},"required":["channel","text"],"type":"object"}}]}
	// model call 2
	//   sees   tool_search, call_tool
	//   calls  call_tool {"name":"mcp__slack__send_message","arguments":{"channel":"#incidents"}}
	//   gets   {"matches":[],"message":"\"mcp__slack__send_message\" was not run: its arguments do not fit. missing property 'text'. Call it again with arguments that fit \"parameters\".","tool":{"name":"mcp__slack__send_message","description":"Post a message to a channel, where every member of the channel sees it.","parameters":{"properties":{"channel":{"description":"Channel name without the #, or channel id","type":"string"},"text":{"description":"Message to post; simple formatting such as *bold* works","type":"string"},"unfurl_links":{"description":"Show previews of the links in the message (default: true)","type":"boolean"}},"required":["channel","text"],"type":"object"}}}
	// model call 3
	//   sees   tool_search, call_tool
	//   calls  call_tool {"name":"mcp__slack__send_message","arguments":{"channel":"#incidents","text":"Checkout is up again."}}
	//   gets   {"ok":true,"channel":"#incidents","message_id":"2597cdda","text":"Checkout is up again.","unfurl_links":true}
	// model call 4
	//   sees   tool_search, call_tool
	//   says   I told #incidents.
	// calls that began with the same bytes: 4 of 4
}
