package main

func Example() {
	main()
	// Output:
	// first process, user: Refund charge ch_17 and tell the customer of ticket 7.
	// model call 1
	//   sees   tool_search
	//   calls  tool_search {"query":"reply to customer","max_results":1}
	//   gets   {"matches":["mcp__zendesk__reply_to_customer"]}
	// model call 2
	//   sees   tool_search, mcp__zendesk__reply_to_customer
	//   calls  tool_search {"query":"refund charge","max_results":1}
	//   gets   {"matches":["mcp__stripe__refund_charge"]}
	// model call 3
	//   sees   tool_search, mcp__zendesk__reply_to_customer, mcp__stripe__refund_charge
	//   calls  mcp__stripe__refund_charge {"charge":"ch_17"}
	// interrupted: May it run with {"charge":"ch_17"}?
	//
	// second process, a human agrees
	//   gets   {"id":"re_b652d1dc","charge":"ch_17","amount":null,"reason":"requested_by_customer","status":"succeeded"}
	// model call 1
	//   sees   tool_search, mcp__zendesk__reply_to_customer, mcp__stripe__refund_charge
	//   calls  mcp__zendesk__reply_to_customer {"ticket_id":7,"message":"You have your money back."}
	//   gets   {"ticket_id":7,"reply_id":739,"public":true,"message":"You have your money back.","status":"pending"}
	// model call 2
	//   sees   tool_search, mcp__zendesk__reply_to_customer, mcp__stripe__refund_charge
	//   says   The charge is refunded, and the customer knows.
}
