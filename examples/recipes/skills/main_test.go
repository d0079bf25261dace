package main

func Example() {
	main()
	// Output:
	// model call 1
	//   sees   tool_search, skill
	//   calls  skill {"skill":"refunding"}
	//   gets   Launching skill: refunding
	//          Base directory for this skill: /skills/refunding
	//
	//          1. Load the tools with tool_search:
	//             `select:mcp__stripe__refund_charge,mcp__zendesk__reply_to_customer`
	//          2. Refund the charge.
	//          3. Reply to the customer that the money is on its way.
	// model call 2
	//   sees   tool_search, skill
	//   calls  tool_search {"query":"select:mcp__stripe__refund_charge,mcp__zendesk__reply_to_customer"}
	//   gets   {"matches":["mcp__stripe__refund_charge","mcp__zendesk__reply_to_customer"]}
	// model call 3
	//   sees   tool_search, skill, mcp__stripe__refund_charge, mcp__zendesk__reply_to_customer
	//   calls  mcp__stripe__refund_charge {"charge":"ch_17"}
	//   gets   {"id":"re_b652d1dc","charge":"ch_17","amount":null,"reason":"requested_by_customer","status":"succeeded"}
	// model call 4
	//   sees   tool_search, skill, mcp__stripe__refund_charge, mcp__zendesk__reply_to_customer
	//   calls  mcp__zendesk__reply_to_customer {"ticket_id":7,"message":"You have your money back."}
	//   gets   {"ticket_id":7,"reply_id":739,"public":true,"message":"You have your money back.","status":"pending"}
	// model call 5
	//   sees   tool_search, skill, mcp__stripe__refund_charge, mcp__zendesk__reply_to_customer
	//   says   The charge is refunded, and the customer knows.
}
