package toolsearch

import (
	"math"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/wording"
)

// The <available-deferred-tools> reminder: a user's message that tells the model the names of the
// tools it can load. By default it appears once, before the first message that is not a system
// message. It keeps its place, so the messages before and after it can be cached.
//
// A reminder is recognized by its mark in Extra. If a store dropped Extra, it is recognized by its
// text: a user's message that is nothing but the block. A middleware with the default tool name
// writes the tag of Eino's own package, and takes over the reminders that Eino's package left in a
// history. A middleware with another tool name writes that name into the tag, so two middlewares in
// an agent recognize their own.

type reminder struct {
	tool     string // the search tool's name
	former   string // the search tool's name under another protocol; "" means that no such reminder is removed
	block    wording.Block
	text     string // "" means no reminder
	position ReminderPosition
}

// newReminder returns the reminder that announces the tools. Without tools its text is "".
func newReminder(c *Catalog, announced []int, config *Config) reminder {
	block := wording.Block{Open: "<available-deferred-tools>", Close: "</available-deferred-tools>"}
	rem := reminder{tool: config.ToolName, block: block, position: config.Reminder.Position}
	if config.ToolName != config.Protocol.defaultToolName() {
		rem.block.Open = `<available-deferred-tools tool="` + config.ToolName + `">`
	}
	if config.Reminder.Disabled || len(announced) == 0 {
		return rem
	}
	rem.text = rem.block.Wrap(listOfTools(c, announced, config, rem.block.Frame()))
	return rem
}

// bytesPerToken is the assumed length of a token. It is about right for English prose and for
// names in most tokenizers. A token of Chinese has more bytes.
const bytesPerToken = 4

// listOfTools writes the list of the tools that are announced. frame is the length of the rest of
// the reminder, in bytes.
func listOfTools(c *Catalog, announced []int, config *Config, frame int) string {
	list := wording.List{
		Tools:          make([]wording.Tool, len(announced)),
		Groups:         make(map[string]bool, len(config.Groups)),
		Descriptions:   config.Reminder.Namespaces,
		OnlyNamespaces: config.Protocol == ProtocolSearchAdd, // searching is separate from loading
		Describe:       config.Reminder.Describe,
		Budget:         wording.Unlimited,
		Phrase:         c.prompt.Text,
	}
	for i, doc := range announced {
		d := &c.docs[doc]
		list.Tools[i] = wording.Tool{
			Name: d.Name, Description: d.Description, Namespace: d.Namespace, NamespaceDescription: d.NamespaceDescription,
		}
	}
	for i := range config.Groups {
		if name := config.Groups[i].Name; name != "" {
			list.Groups[name] = true
		}
	}
	if most := config.Reminder.MaxTokens; most > 0 {
		list.Budget = min(most, math.MaxInt/bytesPerToken)*bytesPerToken - frame
	}
	return list.String()
}

// is reports whether the message is a reminder of this middleware, current or stale.
func (r *reminder) is(v *view) bool {
	if v.reminder != "" {
		return v.reminder == r.tool || v.reminder == r.former
	}
	return v.user && r.block.Is(v.text)
}

// quoted reports whether a summary quotes the reminder: the summarization middleware keeps the
// users' messages and takes the reminder for such a message.
func (r *reminder) quoted(v *view) bool {
	if !v.summary && !strings.Contains(v.text, "<all_user_messages>") {
		return false
	}
	return r.block.In(v.text)
}

// record records what message i is to the reminder.
func (m *landmarks) record(r *reminder, i int, v *view) {
	if v.system {
		m.recordSystem(r, i, v)
		return
	}
	if m.first < 0 {
		m.first = i
	}
	switch {
	case v.assistant:
		m.assistant = i
	case !v.user:
	case r.is(v):
		m.stale = m.stale || m.reminder >= 0 || v.text != r.text || r.position == ReminderInstruction
		if m.reminder < 0 {
			m.reminder = i
		}
	default:
		m.newest = i
		if r.quoted(v) {
			m.stale = true
		} else if !v.summary {
			m.question = i
		}
	}
}

// recordSystem looks only at the text: a message may have the reminders of several middlewares, and a
// store may have dropped its Extra.
func (m *landmarks) recordSystem(r *reminder, i int, v *view) {
	_, end := r.block.Split(v.text)
	if end == "" {
		return
	}
	m.stale = m.stale || m.system >= 0 || end != r.text || r.position != ReminderInstruction
	if m.system < 0 {
		m.system = i
	}
}

// inPlace reports whether the history needs no edit.
func (r *reminder) inPlace(m *landmarks) bool {
	switch {
	case m.stale:
		return false
	case r.text == "":
		return m.reminder < 0 && m.system < 0
	case r.position == ReminderInstruction:
		return m.system >= 0
	case r.position == ReminderLast && m.newest >= 0:
		return m.reminder >= 0 && m.reminder == m.newest-1
	default:
		return m.reminder >= 0
	}
}

// place returns the message that the reminder goes before, or end for the end of the history. With
// ReminderInstruction the reminder goes there only if no system message before that has a text.
func (r *reminder) place(m *landmarks, end int) int {
	at := m.first
	switch {
	case r.position == ReminderInstruction:
	case r.position == ReminderLast && m.newest >= 0:
		at = m.newest
	case m.reminder >= 0:
		at = m.reminder
	}
	if at < 0 {
		return end
	}
	return at
}

// ensure edits the history to have a single current reminder in its place.
func (r *reminder) ensure(t *transcript) {
	if r.inPlace(&t.landmarks) {
		return
	}
	inSystem := r.position == ReminderInstruction
	at := r.place(&t.landmarks, len(t.views))
	placed := r.text == ""
	for i := range t.views {
		switch v := &t.views[i]; {
		case v.system:
			own, end := r.block.Split(v.text)
			switch {
			case inSystem && !placed && i < at && v.text != "":
				placed = true
				if own != "" {
					own += "\n\n"
				}
				v.setText(own + r.text)
			case end == "":
			case own == "":
				v.dropped = true
			default:
				v.setText(own)
			}
		case !v.user:
		case r.is(v):
			if !inSystem && !placed && i == at && v.text == r.text {
				placed = true
			} else { // stale or repeated
				v.dropped = true
			}
		case r.quoted(v):
			v.setText(r.block.Without(v.text))
		}
	}
	if !placed {
		t.insert(at, r.view())
	}
}

// view returns the reminder as a message of its own.
func (r *reminder) view() *view {
	if r.position == ReminderInstruction {
		return &view{system: true, text: r.text}
	}
	return &view{user: true, text: r.text, extra: map[string]any{reminderMark: r.tool}}
}
