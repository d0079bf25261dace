package toolsearch

import "strings"

// The <available-deferred-tools> reminder: a user's message that tells the model the
// names it can load. It stands before the first message that is not a system one, once,
// and stays where it stands, so that what comes before and after it can be cached.
//
// It is known by its mark in Extra or, where a store dropped Extra, by its text: a user's
// message that is the block and nothing else. A middleware with the default tool name
// writes the tag that Eino's own package writes, and so also takes over what that package
// left in a history; one with another name writes its name into the tag, so that two
// middlewares in one agent know theirs.

const reminderClose = "</available-deferred-tools>"

type reminder struct {
	tool string // the search tool's name
	open string // the tag it begins with
	text string // "": there is to be none
}

func newReminder(c *Catalog, tool string, disabled bool) reminder {
	r := reminder{tool: tool, open: "<available-deferred-tools>"}
	if tool != DefaultToolName {
		r.open = `<available-deferred-tools tool="` + tool + `">`
	}
	if disabled {
		return r
	}
	var b strings.Builder
	b.WriteString(r.open + "\n" + c.prompt.text("reminder") + "\n")
	for i := range c.docs {
		b.WriteString(shownName(c.docs[i].Name) + "\n")
	}
	b.WriteString(reminderClose)
	r.text = b.String()
	return r
}

// is reports whether the message is a reminder of this middleware, current or not.
func (r *reminder) is(v *view) bool {
	if v.reminder != "" {
		return v.reminder == r.tool
	}
	if !v.textOnly() || !strings.HasPrefix(v.text, r.open) {
		return false
	}
	return strings.HasSuffix(strings.TrimSpace(v.text), reminderClose)
}

// quoted reports whether a summary quotes the reminder: the summarization middleware
// keeps what users said, and takes the reminder for one of them.
func (r *reminder) quoted(v *view) bool {
	if !v.summary && !strings.Contains(v.text, "<all_user_messages>") {
		return false
	}
	_, after, found := strings.Cut(v.text, r.open)
	return found && strings.Contains(after, reminderClose)
}

// unquote takes quoted reminders out of a summary. What is left on the two sides of one
// may make a tag of its own, so it looks again, a few times.
func (r *reminder) unquote(text string) string {
	for range 4 {
		var kept strings.Builder
		for {
			before, quoted, found := strings.Cut(text, r.open)
			_, after, closed := strings.Cut(quoted, reminderClose)
			if !found || !closed {
				break
			}
			kept.WriteString(strings.TrimRight(before, " -")) // its bullet in a list goes with it
			text = strings.TrimPrefix(after, "\n")
		}
		if kept.Len() == 0 {
			return text
		}
		text = kept.String() + text
	}
	return text
}

// reminderFacts is what is known of the reminder in a history.
type reminderFacts struct {
	first int  // the first message that is not a system one; -1: there is none
	kept  int  // the first reminder; -1: there is none
	stale bool // something has to be changed or removed
}

var noReminder = reminderFacts{first: -1, kept: -1}

func (f *reminderFacts) note(r *reminder, i int, v *view) {
	if f.first < 0 && !v.system {
		f.first = i
	}
	switch {
	case !v.user:
	case r.is(v):
		f.stale = f.stale || f.kept >= 0 || v.text != r.text
		if f.kept < 0 {
			f.kept = i
		}
	case r.quoted(v):
		f.stale = true
	}
}

func findReminder[M message](codec codec[M], r *reminder, messages []M) reminderFacts {
	facts := noReminder
	var v view
	for i, msg := range messages {
		codec.read(msg, &v)
		facts.note(r, i, &v)
	}
	return facts
}

// ensureReminder returns messages with the reminder in its place, once and current. It
// returns messages itself where nothing is to be done, and never writes to it.
func ensureReminder[M message](codec codec[M], r *reminder, messages []M, facts reminderFacts) []M {
	if !facts.stale && (facts.kept >= 0) == (r.text != "") {
		return messages
	}
	at := facts.kept
	if at < 0 {
		at = facts.first
	}
	rewritten := make([]M, 0, len(messages)+1)
	var v view
	for i, msg := range messages {
		codec.read(msg, &v)
		isReminder := v.user && r.is(&v)
		if i == at && r.text != "" && !(isReminder && v.text == r.text) {
			rewritten = append(rewritten, codec.user(r.text, r.extra()))
		}
		switch {
		case isReminder && (i != at || v.text != r.text): // one too many, or stale
		case v.user && r.quoted(&v):
			rewritten = append(rewritten, codec.setText(msg, r.unquote(v.text)))
		default:
			rewritten = append(rewritten, msg)
		}
	}
	if at < 0 && r.text != "" {
		rewritten = append(rewritten, codec.user(r.text, r.extra()))
	}
	return rewritten
}

func (r *reminder) extra() map[string]any { return map[string]any{reminderMark: r.tool} }
