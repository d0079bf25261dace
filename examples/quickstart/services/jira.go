package services

// Parameters of several tools.
var (
	theKey = req("key", "Key of the ticket")
)

// jira has the tools of an issue tracker.
var jira = service("jira",
	fn("create_ticket", "Add a ticket (bug, story, task or epic) to a project's backlog.",
		req("project", "Key of the project, such as OPS"), req("summary", "One-line summary"),
		opt("type", "Kind of ticket", oneOf("bug", "story", "task", "epic"), or("task")),
		opt("description", "Details and acceptance criteria"),
		opt("priority", "How urgent it is", oneOf("lowest", "low", "medium", "high", "highest"), or("medium")),
		opt("parent", "Key of the epic or ticket it belongs under"),
		returns(`{"key": "{project}-{$number}", "summary": "{summary}", "type": "{type}", "priority": "{priority}", "parent": "{parent}",
			"status": "To do", "url": "https://jira.example/browse/{project}-{$number}"}`)),
	fn("get_ticket", "Show one ticket with its status, assignee, priority, estimate and description.",
		req("key", "Key of the ticket, such as OPS-17")),
	fn("search_tickets", "Find tickets with a JQL query, for example all unresolved bugs of a project.",
		req("jql", "Query, such as \"project = OPS AND status != Done\""),
		opt("limit", "Most tickets to return", integer, or(50)),
		returns(`"total": 2, "tickets": [
			{"key": "OPS-17", "summary": "Rotate the signing keys", "status": "In progress"},
			{"key": "OPS-12", "summary": "Alert on full disks", "status": "To do"}]`)),
	fn("edit_ticket", "Change fields of a ticket, such as its summary, description, priority or labels.", theKey,
		req("fields", "New values by field name", object())),
	fn("transition_ticket", "Move a ticket to another column of its workflow, for instance from review to done.", theKey,
		req("status", "Status to move it to, such as \"In review\""),
		opt("resolution", "Why it is closed, when it is", oneOf("done", "wont_do", "duplicate", "cannot_reproduce"))),
	fn("assign_ticket", "Hand a ticket to somebody, or leave it without an assignee.", theKey,
		opt("assignee", "Account name of the person; leave out to unassign")),
	fn("comment_on_ticket", "Add a comment to a ticket, for all who follow it or only for one team.", theKey,
		req("text", "Text of the comment"), opt("visible_to", "Role that alone may read it, such as Developers")),
	fn("link_tickets", "Record how two tickets relate, for example that one blocks the other.",
		req("from", "Key of the first ticket"), req("to", "Key of the second ticket"),
		req("relation", "How the first stands to the second", oneOf("blocks", "duplicates", "relates_to", "causes"))),
	fn("log_work", "Book time spent on a ticket to its work log.", theKey, req("minutes", "Minutes worked", integer),
		opt("date", "Day of the work, as YYYY-MM-DD"), opt("note", "What was done")),
	fn("list_sprints", "List the sprints of a scrum board with their dates and goals.",
		req("board_id", "Id of the board", integer),
		opt("state", "Which sprints to include", oneOf("active", "future", "closed"), or("active")),
		returns(`"sprints": [{"id": 58, "name": "Sprint 24", "goal": "Ship the new login"}]`)),
	fn("move_to_sprint", "Plan tickets into a sprint, taking them from the backlog or from another sprint.",
		req("sprint_id", "Id of the sprint", integer), req("keys", "Keys of the tickets to move", list())),
	fn("sprint_report", "Report on the progress of a sprint: finished and open tickets, points, and scope added on the way.",
		req("sprint_id", "Id of the sprint", integer)),
)
