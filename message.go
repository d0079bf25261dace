package toolsearch

import (
	"maps"
	"strings"
	"sync"

	"github.com/cloudwego/eino/schema"
)

// A history as the library sees it: views, one for each message, read once for each hook.
// What is to change is changed in the views; apply makes messages of them again.
//
//	messages --codec.read--> views -> decisions -> edited views --codec.write--> messages
//
// Eino has two message types, *schema.Message and *schema.AgenticMessage. Only the files
// message*.go know that. A message that changes is copied first.

// message is either message type. It is adk.MessageType by a name of our own, so that files
// that work on messages need not know of the agent.
type message interface {
	*schema.Message | *schema.AgenticMessage
}

// codec reads and writes one of the message types.
type codec[M message] interface {
	// read fills v, whose slices it reuses.
	read(msg M, v *view)

	// write returns a copy of msg in which what is edited of the view is changed.
	write(msg M, v *view) M

	// make returns a new message of a user's or the system's text.
	make(v *view) M

	// wordless reports whether a native search call takes no answer but a search result,
	// which so has to stand in the history as one: the agentic adapters send a text as the
	// result of an ordinary call, which the provider refuses.
	wordless() bool
}

// codecOf returns the codec of a message type.
func codecOf[M message]() codec[M] {
	var zero M
	switch any(zero).(type) {
	case *schema.AgenticMessage:
		return any(agenticCodec{}).(codec[M])
	default:
		return any(chatCodec{}).(codec[M])
	}
}

// Keys of the marks the library leaves in the Extra of messages and calls. Values are
// strings, since Extra goes through gob at a checkpoint and gob takes no unknown types.
const (
	reminderMark = "_toolsearch_reminder"       // on a reminder: the name of the search tool
	callNameMark = "_toolsearch_call_name"      // on a stand-in call: the name the model called
	callArgsMark = "_toolsearch_call_arguments" // on a stand-in call: its arguments
)

// summaryMark is what Eino's summarization middleware leaves in the Extra of a summary.
const summaryMark = "_eino_summarization_content_type"

// view is what is read from one message.
type view struct {
	system    bool
	user      bool     // a user's text
	assistant bool     // a model's message
	summary   bool     // Eino's summarization made it
	text      string   // of a user's or system message that is nothing but one text
	texts     []string // of a user's message that has several parts
	reminder  string   // reminderMark
	extra     map[string]any
	calls     []callView
	results   []resultView

	dropped bool // the message goes
	edited  bool // the text, a call or a result says something else than the message
	retext  bool // of these: the text
}

// callView is a tool call of a model's message.
type callView struct {
	at             int32 // index into the message's calls or blocks
	id, name, args string

	standIn         bool   // the middleware put it there in place of
	wanted, wantArg string // the model's own call

	nativeSearch bool // the adapter marked it as a search of the provider's own kind
	answered     bool // a result was found for it
	dropMark     bool // the mark is to go
	edited       bool
}

// resultView is one part of a tool result: a text, or the tools of a native search.
type resultView struct {
	at     int32 // index into the message's blocks
	part   int32 // index among the parts of the same result
	callID string
	name   string
	text   string
	native bool
	found  []*schema.ToolInfo // of a native result

	renamed  bool // the name is to change
	replaced bool // the content is to change
}

// reset empties the view and keeps the space of its slices. Field by field, since a whole
// view is copied with a write barrier, and every message of every history comes by here.
func (v *view) reset() {
	v.system, v.user, v.assistant, v.summary = false, false, false, false
	v.dropped, v.edited, v.retext = false, false, false
	v.text, v.reminder, v.extra = "", "", nil
	v.texts, v.calls, v.results = v.texts[:0], v.calls[:0], v.results[:0]
}

func (v *view) readExtra(extra map[string]any) {
	v.extra = extra
	if len(extra) > 0 {
		v.reminder, _ = extra[reminderMark].(string)
		_, v.summary = extra[summaryMark]
	}
}

// setText gives the view another text.
func (v *view) setText(text string) { v.text, v.retext, v.edited = text, true, true }

// setCall gives a call another name and other arguments.
func (v *view) setCall(i int, name, args string) {
	v.calls[i].name, v.calls[i].args = name, args
	v.calls[i].edited, v.edited = true, true
}

// textOnly reports whether the view's text is all a user said in a message.
func (v *view) textOnly() bool {
	return v.user && strings.TrimSpace(v.text) != ""
}

// said is everything a user's message says in words.
func (v *view) said() string {
	if v.text != "" || len(v.texts) == 0 {
		return v.text
	}
	return strings.Join(v.texts, "\n")
}

// unmask tells a stand-in call from the model's own.
func (c *callView) unmask(extra map[string]any) {
	if len(extra) == 0 {
		return
	}
	if name, ok := extra[callNameMark].(string); ok {
		c.standIn = true
		c.wanted = name
		c.wantArg, _ = extra[callArgsMark].(string)
	}
}

// marked returns the Extra of the call that c is to become.
func (c *callView) marked(extra map[string]any) map[string]any {
	extra = maps.Clone(extra)
	if c.standIn {
		if extra == nil {
			extra = make(map[string]any, 2)
		}
		extra[callNameMark], extra[callArgsMark] = c.wanted, c.wantArg
		return extra
	}
	delete(extra, callNameMark)
	delete(extra, callArgsMark)
	if len(extra) == 0 {
		return nil
	}
	return extra
}

// transcript is the views of a history, and the message to be put in before one of them.
type transcript struct {
	views    []view
	inserted *view
	insertAt int

	// Once pair has told which result answers which call.
	rounds   []round
	answers  []answer
	misnamed bool // there are stand-ins, or results named otherwise than their calls
}

// transcripts keeps the space of views from one hook to the next: a long history has
// thousands of them, and they live no longer than the hook.
var transcripts = sync.Pool{New: func() any { return new(transcript) }}

// readTranscript reads messages. The transcript is to be released.
func readTranscript[M message](c codec[M], messages []M) *transcript {
	t := transcripts.Get().(*transcript)
	if cap(t.views) < len(messages) {
		t.views = append(t.views[:cap(t.views)], make([]view, len(messages)-cap(t.views))...)
	}
	t.views = t.views[:len(messages)]
	for i, msg := range messages {
		t.views[i].reset()
		c.read(msg, &t.views[i])
	}
	return t
}

// release gives the space back. Nothing of the transcript may be used after it.
func (t *transcript) release() {
	t.inserted, t.rounds, t.answers = nil, t.rounds[:0], t.answers[:0]
	transcripts.Put(t)
}

// insert puts a message before view i, or behind the last.
func (t *transcript) insert(i int, v *view) { t.inserted, t.insertAt = v, i }

// apply returns messages as the transcript has them by now; messages itself where nothing
// has changed.
func apply[M message](c codec[M], messages []M, t *transcript) []M {
	changed := t.inserted != nil
	for i := range t.views {
		changed = changed || t.views[i].dropped || t.views[i].edited
	}
	if !changed {
		return messages
	}
	applied := make([]M, 0, len(messages)+1)
	for i, msg := range messages {
		if t.inserted != nil && t.insertAt == i {
			applied = append(applied, c.make(t.inserted))
		}
		switch v := &t.views[i]; {
		case v.dropped:
		case v.edited:
			applied = append(applied, c.write(msg, v))
		default:
			applied = append(applied, msg)
		}
	}
	if t.inserted != nil && t.insertAt >= len(messages) {
		applied = append(applied, c.make(t.inserted))
	}
	return applied
}
