package services

// Parameters of several tools.
var (
	theCustomer = opt("customer", "Id of the customer")
)

// stripe has the tools of a payment service.
var stripe = service("stripe",
	fn("create_customer", "Register a new paying customer so that invoices, subscriptions and charges can be tied to them.",
		req("email", "E-mail address for receipts"), opt("name", "Full name or company name"),
		opt("metadata", "Your own keys and values to store with the customer", object())),
	fn("find_customers", "Look up customers of the payment account by e-mail address or name.",
		opt("email", "Exact e-mail address"), opt("name", "Part of the name"),
		opt("limit", "Most customers to return", integer, or(10)),
		returns(`"customers": [
			{"id": "cus_41f0", "name": "Nordlys AB", "email": "pay@nordlys.example", "delinquent": false}]`)),
	fn("list_charges", "List card payments, successful and failed, newest first, optionally of one customer.",
		theCustomer, opt("status", "Only payments with this outcome", oneOf("succeeded", "pending", "failed")),
		opt("limit", "Most payments to return", integer, or(10)),
		returns(`"charges": [
			{"id": "ch_90a1", "amount": 4900, "currency": "eur", "card": "visa 4242"},
			{"id": "ch_8ff3", "amount": 1900, "currency": "eur", "card": "visa 0341"}]`)),
	fn("refund_charge", "Pay money back to a customer for an earlier charge, in full or in part.",
		req("charge", "Id of the charge"),
		opt("amount", "Amount in the smallest currency unit, such as cents; leave out for all of it", integer),
		opt("reason", "Why it is refunded", oneOf("duplicate", "fraudulent", "requested_by_customer"), or("requested_by_customer")),
		returns(`{"id": "re_{$id}", "charge": "{charge}", "amount": "{amount}", "reason": "{reason}", "status": "succeeded"}`)),
	fn("create_invoice", "Bill a customer for one or more items by drawing up an invoice.",
		req("customer", "Id of the customer"), req("items", "What is billed", list(object(
			req("description", "Text of the line"), req("amount", "Price in the smallest currency unit", integer),
			opt("quantity", "How many", integer, or(1))))),
		opt("currency", "Three-letter currency code in lower case", or("usd")),
		opt("due_days", "Days the customer has to pay", integer, or(30))),
	fn("send_invoice", "Finalize a draft invoice and mail it to the customer for payment.",
		req("invoice", "Id of the invoice")),
	fn("list_invoices", "List invoices and whether they are paid, open or overdue.", theCustomer,
		opt("status", "Only invoices in this state", oneOf("draft", "open", "paid", "overdue", "void")),
		opt("limit", "Most invoices to return", integer, or(10)),
		returns(`"invoices": [{"id": "in_7c21", "total": 98000, "currency": "usd", "due": "2025-07-01"}]`)),
	fn("create_subscription", "Put a customer on a recurring plan that bills them automatically.",
		req("customer", "Id of the customer"), req("price", "Id of the recurring price"),
		opt("quantity", "Number of seats or units", integer, or(1)),
		opt("trial_days", "Free days before the first payment", integer, or(0))),
	fn("cancel_subscription", "End a customer's recurring plan, at once or when the paid period is over.",
		req("subscription", "Id of the subscription"),
		opt("when", "When it ends", oneOf("now", "period_end"), or("period_end"))),
	fn("list_subscriptions", "List recurring plans with their status and next billing date.", theCustomer,
		opt("status", "Only plans in this state", oneOf("active", "trialing", "past_due", "canceled")),
		returns(`"subscriptions": [
			{"id": "sub_3b90", "price": "price_team_monthly", "quantity": 12, "renews": "2025-07-01"}]`)),
	fn("create_payment_link", "Make a web address where anyone can pay for a product, to be shared by mail or chat.",
		req("price", "Id of the price to charge"), opt("quantity", "Number of units", integer, or(1))),
	fn("create_coupon", "Define a discount code that customers can use at checkout.",
		req("code", "Code the customer types in"), req("percent_off", "Discount in percent", number),
		opt("duration", "How long it applies to a subscription", oneOf("once", "repeating", "forever"), or("once")),
		opt("max_uses", "How often it can be used in total", integer)),
	fn("get_balance", "Show the money in the payment account: what is available for payout and what is still pending.",
		opt("currency", "Three-letter currency code in lower case", or("usd"))),
	fn("list_disputes", "List chargebacks, that is payments which customers contest with their bank, and by when to answer them.",
		opt("status", "Only disputes in this state", oneOf("needs_response", "under_review", "won", "lost"), or("needs_response")),
		returns(`"disputes": [
			{"id": "dp_55e2", "charge": "ch_71b0", "amount": 4900, "reason": "product_not_received", "answer_by": "2025-06-20"}]`)),
)
