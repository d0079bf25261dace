package toolsearch

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/wording"
)

// The <available-deferred-tools> reminder: a user's message that tells the model the names of the tools it can load. By
// default it appears once, before the first message that is not a system message, and keeps its place, so the messages
// before and after it can be cached.
//
// A reminder is recognized by its mark in Extra. If a store dropped Extra, it is recognized by its text: a user's
// message that is nothing but the block or, with ReminderInstruction, the current block in a system message. What else
// a system message quotes is its own. A middleware with the default tool name writes the tag of Eino's own package, and
// takes over its reminders. Any other writes its tool name into the tag, so two middlewares in an agent recognize their
// own.

type reminder struct {
	tool     string // the search tool's name
	former   string // the search tool's name under another protocol; "" means that no such reminder is removed
	block    wording.Block
	text     string                      // "" means no reminder
	listFor  func(request string) string // writes the list for a request; nil if it is the same for all
	request  string                      // that the text is for
	form     wording.Form
	position ReminderPosition
}

// newReminder returns the reminder of the tools of a scope that are not shown anyway; its text is "" without any.
func newReminder(s scope, isShown func(doc int) bool, config *Config) reminder {
	rem := reminder{tool: config.ToolName, position: config.Reminder.Position, form: wording.Nothing}
	rem.block = wording.Block{Open: "<available-deferred-tools>", Close: "</available-deferred-tools>"}
	if config.ToolName != config.Protocol.defaultToolName() {
		rem.block.Open = `<available-deferred-tools tool="` + config.ToolName + `">`
	}
	if config.Reminder.Disabled {
		return rem
	}
	list := wording.List{
		Groups:         make(map[string]bool, len(config.Groups)),
		Descriptions:   config.Reminder.Namespaces,
		OnlyNamespaces: config.Protocol == ProtocolSearchAdd, // searching is separate from loading
		Describe:       config.Reminder.Describe,
		Budget:         wording.Unlimited,
		Phrase:         s.Catalog.prompt.Text,
	}
	for doc := range s.docs {
		if !s.has(doc) || isShown(doc) {
			continue
		}
		d := &s.docs[doc]
		list.Tools = append(list.Tools, wording.Tool{
			Name: d.Name, Description: d.Description, Namespace: d.Namespace, NamespaceDescription: d.NamespaceDescription,
		})
		if s.grouped.Has(doc) {
			list.Groups[d.Namespace] = true
		}
	}
	if len(list.Tools) == 0 {
		return rem
	}
	if most := config.Reminder.MaxTokens; most > 0 {
		list.Budget = min(most, math.MaxInt/bytesPerToken)*bytesPerToken - len(rem.block.Wrap(""))
	}
	rem.text, rem.form, rem.listFor = list.Text()
	rem.text = rem.block.Wrap(rem.text)
	return rem
}

// bytesPerToken is the assumed length of a token, about right for English prose and for names in most tokenizers.
const bytesPerToken = 4

func (r *reminder) is(v *view) bool {
	if v.reminder != "" {
		return v.reminder == r.tool || v.reminder == r.former
	}
	return v.user && r.block.Is(v.text)
}

// split splits a system message into its own text and the rest, from this middleware's reminder on.
func (r *reminder) split(v *view) (own, end string) {
	_, marked := v.extra[systemMark+r.tool]
	_, former := v.extra[systemMark+r.former]
	own, end = r.block.Split(v.text)
	isCurrent := r.position == ReminderInstruction && r.text != "" && strings.HasPrefix(end, r.text)
	if !marked && !former && !isCurrent {
		return v.text, ""
	}
	return own, end
}

// setSystem changes the text of a system message, and marks it if this middleware's reminder is part of it.
func (r *reminder) setSystem(v *view, text string, marked bool) {
	v.setText(text)
	extra := make(map[string]any, len(v.extra)+1)
	maps.Copy(extra, v.extra)
	delete(extra, systemMark+r.tool)
	delete(extra, systemMark+r.former)
	if marked {
		extra[systemMark+r.tool] = r.tool
	}
	v.extra = extra
}

// quoted reports whether a summary quotes the reminder, which the summarization middleware takes for a user's message.
func (r *reminder) quoted(v *view) bool {
	return (v.summary || strings.Contains(v.text, "<all_user_messages>")) && r.block.Without(v.text) != v.text
}

// place returns the message that has the reminder or that the reminder goes before; len(views) is the end of the
// history. With ReminderInstruction it is the system message with the current reminder, or else the first with a text,
// if there is one.
func (r *reminder) place(views []view) int {
	current, spoken := -1, -1                // system messages: with the current reminder, with a text
	first, own, newest := len(views), -1, -1 // others: the first, the first reminder, the newest that is the user's own
	for i := range views {
		v := &views[i]
		if v.system {
			if _, end := r.split(v); current < 0 && end != "" && end == r.text {
				current = i
			}
			if spoken < 0 && first == len(views) && v.text != "" {
				spoken = i
			}
			continue
		}
		first = min(first, i)
		if v.user && !r.is(v) {
			newest = i
		} else if v.user && own < 0 {
			own = i
		}
	}
	order := [...]int{own, first, -1}
	switch {
	case r.position == ReminderInstruction:
		order = [...]int{current, spoken, first}
	case r.position == ReminderLast && own != newest-1:
		order = [...]int{newest, own, first}
	}
	return order[slices.IndexFunc(order[:], func(i int) bool { return i >= 0 })]
}

// requestOf returns the request that the list is for: the first, so that the list stays, or with ReminderLast the last.
func (r *reminder) requestOf(views []view) (request string) {
	for i := range views {
		if v := &views[i]; v.user && !r.is(v) && (request == "" || r.position == ReminderLast) {
			request = r.block.Without(cmp.Or(v.text, strings.Join(v.texts, "\n")))
		}
	}
	return request
}

// ensure edits the history to have a single current reminder in its place.
func (r *reminder) ensure(t *transcript) {
	if r.listFor != nil && (r.request == "" || r.position == ReminderLast) { // a summary of the first request changes nothing
		if request := r.requestOf(t.views); request != r.request {
			r.request, r.text = request, r.block.Wrap(r.listFor(request))
		}
	}
	at := r.place(t.views)
	placed := r.text == ""
	for i := range t.views {
		v := &t.views[i]
		isHere := i == at && !placed
		switch {
		case v.system:
			own, end := r.split(v)
			switch {
			case isHere && r.position == ReminderInstruction:
				placed = true
				if own != "" {
					own += "\n\n"
				}
				if end != r.text {
					r.setSystem(v, own+r.text, true)
				}
			case end == "":
			case own == "":
				v.dropped = true
			default:
				r.setSystem(v, own, false)
			}
		case !v.user:
		case r.is(v):
			v.dropped = !isHere || v.text != r.text || r.position == ReminderInstruction // stale or repeated
			placed = placed || !v.dropped
		case r.quoted(v):
			v.setText(r.block.Without(v.text))
		}
	}
	if placed {
		return
	}
	t.insertAt, t.inserted = at, &view{user: true, inputs: 1, text: r.text, extra: map[string]any{reminderMark: r.tool}}
	if r.position == ReminderInstruction {
		t.inserted = &view{system: true, text: r.text, extra: map[string]any{systemMark + r.tool: r.tool}}
	}
}

// asked returns the user's last message, and whether the model has said something since.
func (r *reminder) asked(views []view) (request string, isAnswered bool) {
	for i := range slices.Backward(views) {
		v := &views[i]
		if v.user && !v.summary && !r.is(v) && !r.quoted(v) {
			return cmp.Or(v.text, strings.Join(v.texts, "\n")), isAnswered
		}
		isAnswered = isAnswered || v.assistant
	}
	return "", isAnswered
}
