package main

func Example() {
	main()
	// Output:
	// user: Pay the customer of charge ch_17 their money back.
	// model call 1
	//   sees   tool_search
	//   calls  tool_search {"query":"refund a charge","limit":3}
	//   gets   Loaded the best 3 of 166 candidates, with scores:
	//          1. mcp__stripe__refund_charge (0.6255)
	//             Pay money back to a customer for an earlier charge, in full or in part.
	//             mcp__stripe__refund_charge(charge, amount?, reason?)
	//          2. mcp__stripe__create_customer (0.4127)
	//             Register a new paying customer so that invoices, subscriptions and charges can be tied to them.
	//             mcp__stripe__create_customer(email, metadata?, name?)
	//          3. mcp__salesforce__create_account (0.3672)
	//             Add a company as a new account in the CRM.
	//             mcp__salesforce__create_account(name, employees?, industry?, website?)
	//          {"query":"refund a charge","limit":3,"total_candidates":166,"matches":[{"rank":1,"name":"mcp__stripe__refund_charge","score":0.6255,"description":"Pay money back to a customer for an earlier charge, in full or in part.","usage":"mcp__stripe__refund_charge(charge, amount?, reason?)"},{"rank":2,"name":"mcp__stripe__create_customer","score":0.4127,"description":"Register a new paying customer so that invoices, subscriptions and charges can be tied to them.","usage":"mcp__stripe__create_customer(email, metadata?, name?)"},{"rank":3,"name":"mcp__salesforce__create_account","score":0.3672,"description":"Add a company as a new account in the CRM.","usage":"mcp__salesforce__create_account(name, employees?, industry?, website?)"}]}
	// model call 2
	//   sees   tool_search, mcp__stripe__refund_charge, mcp__stripe__create_customer, mcp__salesforce__create_account
	//   calls  mcp__stripe__refund_charge {"charge":"ch_17"}
	//   gets   {"id":"re_b652d1dc","charge":"ch_17","amount":null,"reason":"requested_by_customer","status":"succeeded"}
	// model call 3
	//   sees   tool_search, mcp__stripe__refund_charge, mcp__stripe__create_customer, mcp__salesforce__create_account
	//   says   The charge is refunded.
}
