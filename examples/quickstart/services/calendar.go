package services

// Parameters of several tools.
var (
	theEventId = req("event_id", "Id of the event")
)

// calendar has the tools of a calendar.
var calendar = service("calendar",
	fn("list_calendars", "List the calendars you can see: your own, shared ones, and those of rooms.",
		returns(`{"calendars": [{"id": "primary", "name": "Work"}, {"id": "team", "name": "Platform team"},
			{"id": "room-4", "name": "Room Fjord"}]}`)),
	fn("list_events", "List the meetings and other events of a calendar between two times.",
		req("start", "Beginning of the period, as an RFC 3339 time"),
		req("end", "End of the period, as an RFC 3339 time"), opt("calendar_id", "Calendar to read", or("primary")),
		opt("query", "Only events that contain these words"),
		returns(`{"calendar_id": "{calendar_id}", "start": "{start}", "end": "{end}", "query": "{query}", "events": [
			{"id": "ev-31", "title": "Planning", "at": "09:30"}, {"id": "ev-32", "title": "Interview with Sam", "at": "14:00"}]}`)),
	fn("get_event", "Show one event in full, with its place, description, guests and their answers.", theEventId,
		opt("calendar_id", "Calendar the event is in", or("primary")),
		returns(`"title": "Planning", "location": "Room Fjord",
			"guests": [{"email": "mira@acme.example", "answer": "accepted"}, {"email": "jonas@acme.example", "answer": "tentative"}]`)),
	fn("create_event", "Schedule a meeting or other event, and invite people to it.",
		req("title", "What the event is called"), req("start", "When it begins, as an RFC 3339 time"),
		req("end", "When it is over, as an RFC 3339 time"),
		opt("attendees", "E-mail addresses of the people to invite", list()),
		opt("location", "Room, address or video link"), opt("description", "Agenda or notes"),
		opt("repeat", "How often it comes back", oneOf("never", "daily", "weekly", "monthly"), or("never")),
		opt("calendar_id", "Calendar to put it in", or("primary"))),
	fn("update_event", "Move, rename or otherwise change an event that is already in the calendar.", theEventId,
		opt("title", "New title"), opt("start", "New beginning, as an RFC 3339 time"),
		opt("end", "New end, as an RFC 3339 time"), opt("location", "New place"),
		opt("notify", "Tell the guests about the change", boolean, or(true))),
	fn("delete_event", "Cancel an event and take it off everyone's calendar.", theEventId,
		opt("message", "Note to the guests about why it was cancelled")),
	fn("respond_to_invitation", "Accept or decline an invitation you received, or answer that you may come.", theEventId,
		req("answer", "Your answer", oneOf("accept", "decline", "tentative")), opt("comment", "Note to the organizer")),
	fn("find_free_time", "Suggest times at which all the given people are free for a meeting.",
		req("attendees", "E-mail addresses of the people who should be there", list()),
		req("duration_minutes", "Length of the meeting in minutes", integer),
		opt("earliest", "Do not suggest times before this, as an RFC 3339 time"),
		opt("latest", "Do not suggest times after this, as an RFC 3339 time"),
		returns(`"slots": ["Tuesday 10:00", "Tuesday 15:30", "Thursday 09:00"]`)),
	fn("book_room", "Reserve a meeting room that has enough seats for a period of time.",
		req("start", "When the room is needed, as an RFC 3339 time"), req("end", "Until when, as an RFC 3339 time"),
		opt("seats", "How many people must fit", integer, or(4)),
		opt("equipment", "What the room must have", list(oneOf("screen", "whiteboard", "video", "phone")))),
)
