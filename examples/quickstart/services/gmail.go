package services

// Parameters of several tools.
var (
	theThreadId = req("thread_id", "Id of the thread")
)

// gmail has the tools of a mailbox.
var gmail = service("gmail",
	fn("search_mail", "Search the mailbox by sender, subject, words, label or date, and list the matching threads.",
		req("query", "What to look for, such as \"from:billing invoice\""),
		opt("limit", "Most threads to return", integer, or(20)),
		returns(`"threads": [
			{"id": "t-8841", "from": "billing@acme.example", "subject": "Invoice 2231", "unread": true},
			{"id": "t-8790", "from": "mira@acme.example", "subject": "Notes from Monday", "unread": false}]`)),
	fn("read_thread", "Read all messages of one e-mail conversation, oldest first.", theThreadId,
		opt("format", "How the bodies are returned", oneOf("text", "html", "headers_only"), or("text")),
		returns(`"subject": "Invoice 2231", "messages": [
			{"id": "e-1", "from": "billing@acme.example", "body": "Please find the invoice attached.", "attachments": ["invoice-2231.pdf"]}]`)),
	fn("send_email", "Send a new e-mail message to one or more recipients straight away.",
		req("to", "Addresses of the recipients", list()), req("subject", "Subject line"), req("body", "Message text"),
		opt("cc", "Addresses that get a copy", list()),
		opt("bcc", "Addresses that get a copy without the others seeing it", list()),
		opt("html", "Treat the body as HTML", boolean, or(false))),
	fn("create_draft", "Save an e-mail as a draft for a person to check and send later. Nothing is sent.",
		opt("to", "Addresses of the recipients", list()), opt("subject", "Subject line"), req("body", "Message text")),
	fn("reply_to_thread", "Answer an e-mail conversation, to the last sender alone or to everyone on it.", theThreadId,
		req("body", "Text of the reply"),
		opt("reply_all", "Write to all recipients of the last message", boolean, or(false))),
	fn("forward_message", "Pass a received e-mail on to other people, with its attachments and an optional note.",
		req("message_id", "Id of the message"), req("to", "Addresses to forward to", list()),
		opt("note", "Text placed above the forwarded message")),
	fn("list_labels", "List the labels of the mailbox together with how many unread threads each holds.",
		returns(`{"labels": [{"name": "Inbox", "unread": 12}, {"name": "Receipts", "unread": 0}, {"name": "Travel", "unread": 1}]}`)),
	fn("modify_labels", "Put labels on a mail thread or take them off, which also serves to mark it read or star it.",
		theThreadId, opt("add", "Labels to put on", list()), opt("remove", "Labels to take off", list())),
	fn("archive_thread", "Move a conversation out of the inbox without deleting it.", theThreadId),
	fn("trash_thread", "Move a conversation to the bin, from which it is removed for good after 30 days.", theThreadId),
	fn("download_attachment", "Save a file attached to an e-mail and return where it was stored.",
		req("message_id", "Id of the message"), req("filename", "Name of the attached file")),
	fn("set_vacation_reply", "Switch on the out-of-office answer for a period of absence.",
		req("message", "Text sent automatically to people who write"),
		req("start", "First day of the absence, as YYYY-MM-DD"), req("end", "Last day of the absence, as YYYY-MM-DD"),
		opt("contacts_only", "Answer only people in the address book", boolean, or(false))),
)
