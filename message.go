package toolsearch

import (
	"maps"
	"slices"
	"sync"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
)

// A history as the library sees it: a view of each message, read once for each hook. Changes are made in the views;
// apply turns them into messages again.
//
//	messages --codec.read--> views -> decisions -> edited views --codec.write--> messages
//
// Eino has two message types, *schema.Message and *schema.AgenticMessage. Only the files message*.go know that. A
// message is copied before it is changed.

// codec reads and writes one of the message types.
type codec[M adk.MessageType] interface {
	// read fills v, which is empty.
	read(msg M, v *view)

	// write returns a copy of msg with the edits of the view.
	write(msg M, v *view) M

	// make returns a new user's or system message with the text of the view.
	make(v *view) M
}

// isAgentic reports whether only a native search result can answer a native search call. The history then has to hold
// native results: the agentic adapters send a text as the result of an ordinary call, which the provider refuses.
func isAgentic[M adk.MessageType]() bool {
	var zero M
	_, agentic := any(zero).(*schema.AgenticMessage)
	return agentic
}

func codecOf[M adk.MessageType]() codec[M] {
	if isAgentic[M]() {
		return any(agenticCodec{}).(codec[M])
	}
	return any(chatCodec{}).(codec[M])
}

// Keys of the marks in the Extra of messages and calls. Their values are strings: see internal/conversation.
const (
	reminderMark = "_toolsearch_reminder"       // on a reminder: the name of the search tool
	systemMark   = reminderMark + ":"           // before the search tool's name, on a system message that the reminder is part of
	callNameMark = "_toolsearch_call_name"      // on a stand-in call: the name the model called
	callArgsMark = "_toolsearch_call_arguments" // on a stand-in call: its arguments
)

// summaryMark is what Eino's summarization middleware leaves in the Extra of a summary.
const summaryMark = "_eino_summarization_content_type"

// view is the content of a message, and its changes.
type view struct {
	system    bool
	user      bool     // a user's text
	assistant bool     // a model's message
	asks      bool     // what a user said behind results, in one message
	inputs    int      // texts, pictures and the like of the user's; in Chat Completions, a message of them counts as one
	summary   bool     // Eino's summarization made it
	text      string   // of a user's or system message that is a single text
	texts     []string // of such a message with several parts
	reminder  string   // the value of reminderMark
	extra     map[string]any
	calls     []callView
	results   []resultView

	dropped bool // the message is to be removed
	edited  bool // the text, a call or a result differs from the message
	retext  bool // the text differs from the message
}

// callView is a tool call of a model's message.
type callView struct {
	at             int32 // index into the message's calls or blocks
	id, name, args string

	standIn         bool   // the middleware replaced the model's own call by this
	wanted, wantArg string // name and arguments of the model's own call

	nativeSearch bool // the adapter marked it as a native search call
	answered     bool // it has a result
	dropMark     bool // the adapter's mark is to be removed
	edited       bool
}

// resultView is one part of a tool result: a text, or the tools of a native search.
type resultView struct {
	at     int32 // index into the message's blocks
	part   int32 // index among the parts of a result
	callID string
	name   string
	text   string
	native bool
	found  []*schema.ToolInfo // of a native result

	renamed  bool // the name differs from the message
	replaced bool // the content differs from the message
}

func (v *view) readExtra(extra map[string]any) {
	v.extra = extra
	v.reminder, _ = extra[reminderMark].(string)
	_, v.summary = extra[summaryMark]
}

func (v *view) setText(text string) { v.text, v.retext, v.edited = text, true, true }

func (v *view) setCall(i int, name, args string) {
	v.calls[i].name, v.calls[i].args = name, args
	v.calls[i].edited, v.edited = true, true
}

// unmask recognizes a stand-in by the Extra of the call.
func (c *callView) unmask(extra map[string]any) {
	c.wanted, c.standIn = extra[callNameMark].(string)
	c.wantArg, _ = extra[callArgsMark].(string)
}

// marked returns the Extra of the call that c becomes.
func (c *callView) marked(extra map[string]any) map[string]any {
	marked := make(map[string]any, len(extra)+2)
	maps.Copy(marked, extra)
	delete(marked, callNameMark)
	delete(marked, callArgsMark)
	if c.standIn {
		marked[callNameMark], marked[callArgsMark] = c.wanted, c.wantArg
	}
	if len(marked) == 0 {
		return nil
	}
	return marked
}

// transcript is the views of a history, and at most one message to insert.
type transcript struct {
	views    []view
	inserted *view // nil means none
	insertAt int   // the view that it goes before

	rounds  []round
	answers []answer

	allCalls   []callView   // of the views, where there is room
	allResults []resultView // likewise
}

// transcripts keeps memory from one hook to the next, since a history has thousands of messages.
var transcripts = sync.Pool{New: func() any { return new(transcript) }}

// read reads messages: their views and their rounds. Release the transcript afterwards.
func read[M adk.MessageType](c codec[M], messages []M, names *metaNames) *transcript {
	t, n := transcripts.Get().(*transcript), len(messages)
	t.views = slices.Grow(t.views, n)[:n]
	t.allCalls, t.allResults = slices.Grow(t.allCalls, n/2), slices.Grow(t.allResults, n/2) // half call, half answer
	for i, msg := range messages {
		v, calls, results := &t.views[i], len(t.allCalls), len(t.allResults)
		v.calls, v.results = t.allCalls[calls:], t.allResults[results:]
		c.read(msg, v)
		v.calls, v.results = slices.Clip(v.calls), slices.Clip(v.results)
		t.allCalls = t.allCalls[:min(calls+len(v.calls), cap(t.allCalls))]
		t.allResults = t.allResults[:min(results+len(v.results), cap(t.allResults))]
	}
	t.pair(names)
	return t
}

// release returns the memory. No part of the transcript may be used afterwards.
func (t *transcript) release() {
	clear(t.views)
	clear(t.rounds)
	clear(t.answers)
	clear(t.allCalls)
	clear(t.allResults)
	*t = transcript{views: t.views[:0], rounds: t.rounds[:0], answers: t.answers[:0], allCalls: t.allCalls[:0], allResults: t.allResults[:0]}
	transcripts.Put(t)
}

// apply returns the messages with the changes of the transcript, or messages itself if nothing has changed.
func apply[M adk.MessageType](c codec[M], messages []M, t *transcript) []M {
	changed := t.inserted != nil
	for i := range t.views {
		changed = changed || t.views[i].dropped || t.views[i].edited
	}
	if !changed {
		return messages
	}
	applied := make([]M, 0, len(messages)+1)
	for i := range len(messages) + 1 {
		if t.inserted != nil && t.insertAt == i {
			applied = append(applied, c.make(t.inserted))
		}
		switch {
		case i == len(messages) || t.views[i].dropped:
		case t.views[i].edited:
			applied = append(applied, c.write(messages[i], &t.views[i]))
		default:
			applied = append(applied, messages[i])
		}
	}
	return applied
}
