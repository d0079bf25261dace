package services

// Parameters of several tools.
var (
	theProject = req("project", "Short name of the project")
	theErrorId = req("error_id", "Id of the error group")
)

// sentry has the tools of an error tracker.
var sentry = service("sentry",
	fn("list_errors", "List the application errors of a project, grouped by cause, most frequent first.", theProject,
		opt("status", "Which groups to include", oneOf("unresolved", "resolved", "ignored"), or("unresolved")),
		opt("environment", "Only errors from this environment", or("production")),
		opt("limit", "Most groups to return", integer, or(25)),
		returns(`"errors": [
			{"id": "ERR-204", "title": "TypeError: cart is undefined", "events": 1893, "users": 412},
			{"id": "ERR-198", "title": "context deadline exceeded", "events": 377, "users": 290}]`)),
	fn("get_error", "Show one error group: message, when it was first and last seen, affected users and releases.",
		theErrorId),
	fn("get_stack_trace", "Fetch the stack trace, tags and breadcrumbs of an error's latest crash.", theErrorId,
		opt("event", "Which occurrence to show", oneOf("latest", "oldest"), or("latest")),
		returns(`"frames": [
			{"function": "total", "file": "checkout/total.js", "line": 41}, {"function": "render", "file": "checkout/page.js", "line": 118}],
			"tags": {"browser": "Firefox", "os": "Linux"}`)),
	fn("search_events", "Search single error events by words, user, tag or release.", theProject,
		req("query", "Words and tags, such as \"timeout release:3.2.1\""),
		opt("period", "How far back to look", oneOf("1h", "24h", "7d", "30d"), or("24h")),
		returns(`"events": [
			{"id": "evt-90817", "error_id": "ERR-198", "message": "context deadline exceeded", "user": "u-1182"}]`)),
	fn("resolve_error", "Mark an error group as fixed, now or from a certain release on.", theErrorId,
		opt("in_release", "Release that contains the fix")),
	fn("ignore_error", "Silence an error group so that it no longer raises alerts, for some time or until it gets worse.",
		theErrorId, opt("for_hours", "Hours to keep it silent; leave out for good", integer),
		opt("until_users", "Speak up again once this many more users are affected", integer)),
	fn("assign_error", "Make a person or team responsible for looking into an error group.", theErrorId,
		req("owner", "Login of a person, or a team name with a leading #")),
	fn("list_releases", "List the releases of an app with their crash-free rate and how many new errors each brought.",
		theProject, opt("environment", "Environment to report on", or("production")),
		returns(`"releases": [
			{"version": "3.2.1", "crash_free": 99.4, "new_errors": 2}, {"version": "3.2.0", "crash_free": 97.8, "new_errors": 9}]`)),
	fn("create_alert_rule", "Set up an alert that notifies a team when errors exceed a rate.", theProject,
		req("name", "Name of the rule"), req("threshold", "Errors that set it off", integer),
		opt("window_minutes", "Period over which errors are counted", integer, or(60)),
		opt("notify", "Where the alert goes", oneOf("email", "slack", "pagerduty"), or("email"))),
)
