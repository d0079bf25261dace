package services

// Parameters of several tools.
var (
	theTicketId = req("ticket_id", "Number of the request", integer)
)

// zendesk has the tools of a help desk.
var zendesk = service("zendesk",
	fn("search_tickets", "Find customer support requests by words, requester, status or tag.",
		req("query", "Words and filters, such as \"refund status:open\""),
		opt("sort", "Order of the results", oneOf("relevance", "newest", "oldest", "priority"), or("relevance")),
		opt("limit", "Most requests to return", integer, or(25)),
		returns(`"tickets": [
			{"id": 5521, "subject": "Charged twice", "status": "open", "priority": "high"},
			{"id": 5498, "subject": "Cannot log in", "status": "pending", "priority": "normal"}]`)),
	fn("get_ticket", "Read a support request with the whole conversation between customer and agents.", theTicketId,
		returns(`"subject": "Charged twice", "status": "open", "requester": "lena@customer.example",
			"conversation": [{"from": "customer", "text": "My card was charged twice for one order."},
			{"from": "agent", "text": "Thanks, we are checking."}]`)),
	fn("create_ticket", "Open a support request on behalf of a customer, for example after a phone call.",
		req("requester_email", "E-mail address of the customer"), req("subject", "Short summary of the problem"),
		req("description", "What the customer reports"),
		opt("priority", "How urgent it is", oneOf("low", "normal", "high", "urgent"), or("normal")),
		opt("tags", "Tags to file it under", list()),
		returns(`{"ticket_id": "{$number}", "requester": "{requester_email}", "subject": "{subject}", "priority": "{priority}", "tags": "{tags}",
			"status": "new", "url": "https://zendesk.example/tickets/{$number}"}`)),
	fn("reply_to_customer", "Answer a support request with a public message that is mailed to the customer.", theTicketId,
		req("message", "Text for the customer"),
		opt("new_status", "Status of the request afterwards", oneOf("open", "pending", "solved"), or("pending")),
		returns(`{"ticket_id": "{ticket_id}", "reply_id": "{$number}", "public": true, "message": "{message}", "status": "{new_status}"}`)),
	fn("add_internal_note", "Leave a note on a support request that only agents can see.", theTicketId,
		req("note", "Text of the note")),
	fn("update_ticket", "Change a support request's status, priority, tags or responsible agent.", theTicketId,
		opt("status", "New status", oneOf("open", "pending", "on_hold", "solved", "closed")),
		opt("priority", "New priority", oneOf("low", "normal", "high", "urgent")),
		opt("assignee", "E-mail address of the agent who takes over"),
		opt("tags", "Tags that replace the present ones", list())),
	fn("escalate_ticket", "Pass a support request up to a specialist group, with the reason.", theTicketId,
		req("group", "Group that should take it", oneOf("billing", "engineering", "security", "management")),
		req("reason", "Why it is passed on"),
		returns(`"priority": "urgent"`)),
	fn("merge_tickets", "Combine duplicate support requests of the same customer into one.",
		req("target_id", "Number of the request to keep", integer),
		req("source_ids", "Numbers of the requests to fold into it", list(integer))),
	fn("search_help_articles", "Search the public help center for articles that answer a customer's question.",
		req("query", "Question or words to look for"), opt("locale", "Language of the articles", or("en")),
		returns(`"articles": [
			{"id": 118, "title": "How refunds work", "url": "https://help.zendesk.example/{locale}/118"},
			{"id": 94, "title": "Reset your password", "url": "https://help.zendesk.example/{locale}/94"}]`)),
	fn("satisfaction_report", "Summarize how customers rated the support they got over a period.",
		req("from", "First day, as YYYY-MM-DD"), req("to", "Last day, as YYYY-MM-DD"),
		opt("group", "Only requests handled by this group")),
)
