package main

func Example() {
	main()
	// Output:
	// Ann: Refund charge ch_17.
	// model call 1
	//   sees   tool_search
	//   calls  tool_search {"query":"refund charge","max_results":1}
	//   gets   {"matches":["mcp__stripe__refund_charge"]}
	// model call 2
	//   sees   tool_search, mcp__stripe__refund_charge
	//   calls  mcp__stripe__refund_charge {"charge":"ch_17"}
	//   gets   {"id":"re_b652d1dc","charge":"ch_17","amount":null,"reason":"requested_by_customer","status":"succeeded"}
	// model call 3
	//   sees   tool_search, mcp__stripe__refund_charge
	//   says   The charge is refunded.
	// the names Ann's model was told of:
	//   mcp__stripe__create_customer
	//   mcp__stripe__find_customers
	//   mcp__stripe__list_charges
	//   mcp__stripe__refund_charge
	//   mcp__stripe__create_invoice
	//   mcp__stripe__send_invoice
	//   mcp__stripe__list_invoices
	//   mcp__stripe__create_subscription
	//   mcp__stripe__cancel_subscription
	//   mcp__stripe__list_subscriptions
	//   mcp__stripe__create_payment_link
	//   mcp__stripe__create_coupon
	//   mcp__stripe__get_balance
	//   mcp__stripe__list_disputes
	//   mcp__zendesk__get_ticket
	//
	// Ben: And ch_18, please.
	// model call 1
	//   sees   tool_search
	//   calls  mcp__stripe__refund_charge {"charge":"ch_18"}
	//   gets   {"matches":[],"not_found":["mcp__stripe__refund_charge"],"message":"There is no tool named \"mcp__stripe__refund_charge\", so nothing was run. Call a tool from your list by its exact name, or find one with tool_search."}
	// model call 2
	//   sees   tool_search
	//   calls  tool_search {"query":"refund charge"}
	//   gets   {"matches":[],"message":"No tool matches. Try a synonym, fewer words, or no \"+\"; or take an exact name from the available-deferred-tools list with \"select:\". If no tool can do it, tell the user."}
	// model call 3
	//   sees   tool_search
	//   calls  tool_search {"query":"select:mcp__stripe__refund_charge"}
	//   gets   {"matches":[],"not_found":["mcp__stripe__refund_charge"],"message":"No tool has the names in \"not_found\". Take exact names from the available-deferred-tools list, or search by keywords."}
	// model call 4
	//   sees   tool_search
	//   calls  tool_search {"query":"escalate ticket","max_results":1}
	//   gets   {"matches":["mcp__zendesk__escalate_ticket"]}
	// model call 5
	//   sees   tool_search, mcp__zendesk__escalate_ticket
	//   calls  mcp__zendesk__escalate_ticket {"ticket_id":7,"group":"billing","reason":"Wants ch_18 refunded"}
	//   gets   {"ticket_id":7,"group":"billing","reason":"Wants ch_18 refunded","priority":"urgent"}
	// model call 6
	//   sees   tool_search, mcp__zendesk__escalate_ticket
	//   says   I may not refund, so I passed it on to billing.
	// the names Ben's model was told of:
	//   mcp__zendesk__get_ticket
	//   mcp__zendesk__create_ticket
	//   mcp__zendesk__update_ticket
	//   mcp__zendesk__escalate_ticket
	//   mcp__weather__current_conditions
	//   mcp__weather__daily_forecast
	//   mcp__weather__hourly_rain
	//   mcp__weather__weather_alerts
	//   mcp__weather__air_quality
	//   mcp__weather__historical_weather
	//   mcp__weather__sun_times
}
