package main

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// Stored histories: what a conversation begins with, and what happens to its messages between
// two runs, in stores that trim, summarise, reorder and lose messages.

// pastNames are the kinds of messages of a stored history.
var pastNames = strings.Fields("question search native call unknown dispatched added removed reminder stale summary orphan unanswered stand-in idless system")

// past makes the stored history of a plan. It names any tool, including tools the user may not see.
func past[M adk.MessageType](p *plan) (messages []M) {
	random, names := p.source("past"), p.names()
	put := func(list ...toolsearchtest.Message) {
		for _, m := range list {
			messages = append(messages, toolsearchtest.Encode[M](m))
		}
	}
	user := func(text string) toolsearchtest.Message {
		return toolsearchtest.Message{Role: toolsearchtest.User, Text: text}
	}
	calls := func(id, name, arguments string) toolsearchtest.Message {
		return toolsearchtest.Message{Role: toolsearchtest.Assistant, Calls: []toolsearchtest.Call{{ID: id, Name: name, Arguments: arguments}}}
	}
	answers := func(id, name, text string) toolsearchtest.Message {
		return toolsearchtest.Message{Role: toolsearchtest.Tool, CallID: id, ToolName: name, Text: text}
	}
	for i, kind := range p.past {
		id := "h" + string(rune('a'+i))
		one, two := pick(random, names), pick(random, names)
		list := `["` + plainly([]string{one}) + `","` + plainly([]string{two}) + `","no_such_tool"]`
		switch kind {
		case "question":
			put(user(sentence(random, 8)))
		case "search":
			put(calls(id, "tool_search", `{"query":"x"}`), answers(id, "tool_search", `{"matches":`+list+`}`))
		case "native":
			native := answers(id, "tool_search", "")
			native.Native, native.Found = true, []*schema.ToolInfo{{Name: one, Desc: "Old"}, {Name: two}}
			put(calls(id, "tool_search", `{"query":"x"}`), native)
		case "call":
			put(calls(id, one, `{}`), answers(id, one, "ran"))
		case "unknown":
			put(calls(id, one+"x", `{}`), answers(id, "tool_search", `{"matches":[],"message":"No such tool."}`))
		case "dispatched":
			put(calls(id, "call_tool", `{"name":`+quoted(one)+`,"arguments":{}}`), answers(id, one, "ran"))
		case "added":
			put(calls(id, "add_tool", `{"tool_names":`+list+`}`), answers(id, "add_tool", `{"added":`+list+`,"already_loaded":[],"not_found":[],"message":"."}`))
		case "removed":
			put(calls(id, "remove_tool", `{"tool_names":`+list+`}`), answers(id, "remove_tool", `{"removed":`+list+`,"not_found":[],"message":"."}`))
		case "reminder":
			put(user("<available-deferred-tools>\n" + one + "\n" + two + "\n</available-deferred-tools>"))
		case "stale":
			stale := user("<available-deferred-tools>\nGone\n</available-deferred-tools>")
			stale.Extra = map[string]any{"_toolsearch_reminder": "tool_search"}
			put(stale, stale)
		case "summary":
			put(user("<all_user_messages>\n - <available-deferred-tools>\nx\n</available-deferred-tools>\n - Hello\n</all_user_messages>"))
		case "orphan":
			put(answers(id, pick(random, []string{"", "tool_search", one}), `{"matches":`+list+`}`))
		case "unanswered":
			put(calls(id, pick(random, []string{"tool_search", one, "", "call_tool"}), arguments(random)))
		case "stand-in":
			put(calls(id, "tool_search", `{"unknown_tool":"x"}`), answers(id, "tool_search", `{"matches":[]}`))
		case "idless":
			both := calls("", "tool_search", `{}`)
			both.Calls = append(both.Calls, toolsearchtest.Call{Name: one, Arguments: `{}`})
			put(both, answers("", "tool_search", `{"matches":`+list+`}`), answers("", one, "ran"))
		case "system":
			put(toolsearchtest.Message{Role: toolsearchtest.System, Text: "Be brief.\n\n<available-deferred-tools>\nGone\n</available-deferred-tools>"})
		}
	}
	return messages
}

// rewriteNames are the changes that a store may make to a history between two runs.
var rewriteNames = []string{"trim", "drop", "swap", "summarise", "no extra", "no names", "no ids", "json", "repeat", "shuffle"}

// rewrite returns a history as a store returns it. It changes no message in place.
func rewrite[M adk.MessageType](random *rand.Rand, what string, messages []M) []M {
	if len(messages) == 0 {
		return messages
	}
	at := random.IntN(len(messages))
	switch what {
	case "trim":
		return slices.Clone(messages[at:])
	case "drop":
		return slices.Delete(slices.Clone(messages), at, at+1)
	case "swap":
		swapped, other := slices.Clone(messages), min(at+1, len(messages)-1)
		swapped[at], swapped[other] = swapped[other], swapped[at]
		return swapped
	case "summarise":
		text := "Much was said.\n<all_user_messages>"
		for _, msg := range messages[:at] {
			if m := toolsearchtest.Decode(msg); m.Role == toolsearchtest.User {
				text += "\n    - " + m.Text
			}
		}
		summary := toolsearchtest.Encode[M](toolsearchtest.Message{Role: toolsearchtest.User, Text: text + "\n</all_user_messages>"})
		return append([]M{summary}, messages[at:]...)
	case "repeat":
		return slices.Insert(slices.Clone(messages), at, messages[at])
	case "shuffle":
		shuffled := slices.Clone(messages)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		return shuffled
	case "json":
		return through(messages)
	}
	changed := make([]M, len(messages))
	for i, msg := range through(messages) { // a copy of each message
		changed[i] = lose(msg, what)
	}
	return changed
}

// through encodes messages and decodes them again.
func through[M adk.MessageType](messages []M) (read []M) {
	text, err := json.Marshal(messages)
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(text, &read); err != nil {
		panic(err)
	}
	return read
}

// lose removes a field from a message.
func lose[M adk.MessageType](msg M, what string) M {
	switch m := any(msg).(type) {
	case *schema.Message:
		loseOfMessage(m, what)
	case *schema.AgenticMessage:
		loseOfAgentic(m, what)
	}
	return msg
}

func loseOfMessage(m *schema.Message, what string) {
	switch what {
	case "no extra":
		m.Extra = nil
	case "no names":
		m.ToolName = ""
	case "no ids":
		m.ToolCallID = ""
	}
	for i := range m.ToolCalls {
		switch what {
		case "no extra":
			m.ToolCalls[i].Extra = nil
		case "no ids":
			m.ToolCalls[i].ID = ""
		}
	}
}

func loseOfAgentic(m *schema.AgenticMessage, what string) {
	if what == "no extra" {
		m.Extra = nil
	}
	for _, block := range m.ContentBlocks {
		switch {
		case block == nil:
			continue
		case what == "no extra":
			block.Extra = nil
		case what == "no names" && block.FunctionToolResult != nil:
			block.FunctionToolResult.Name = ""
		case what == "no names" && block.ToolSearchFunctionToolResult != nil:
			block.ToolSearchFunctionToolResult.Name = ""
		case what == "no ids" && block.FunctionToolCall != nil:
			block.FunctionToolCall.CallID = ""
		case what == "no ids" && block.FunctionToolResult != nil:
			block.FunctionToolResult.CallID = ""
		case what == "no ids" && block.ToolSearchFunctionToolResult != nil:
			block.ToolSearchFunctionToolResult.CallID = ""
		}
	}
}

// part is a call or a result in a message.
type part struct {
	isCall bool
	id     string
	name   string
	text   string             // the arguments, or the text of the result
	found  []*schema.ToolInfo // of a native result
	native bool
}

// partsOf returns the calls and results of messages, in their order.
func partsOf[M adk.MessageType](messages []M) (parts []part) {
	for _, msg := range messages {
		switch m := any(msg).(type) {
		case *schema.Message:
			parts = append(parts, partsOfMessage(m)...)
		case *schema.AgenticMessage:
			parts = append(parts, partsOfAgentic(m)...)
		}
	}
	return parts
}

func partsOfMessage(m *schema.Message) (parts []part) {
	if m == nil {
		return nil
	}
	for _, call := range m.ToolCalls {
		parts = append(parts, part{isCall: true, id: call.ID, name: call.Function.Name, text: call.Function.Arguments})
	}
	if m.Role == schema.Tool {
		plain := toolsearchtest.Decode(m)
		parts = append(parts, part{id: plain.CallID, name: plain.ToolName, text: plain.Text, found: plain.Found, native: plain.Native})
	}
	return parts
}

func partsOfAgentic(m *schema.AgenticMessage) (parts []part) {
	if m == nil {
		return nil
	}
	for _, block := range m.ContentBlocks {
		if block == nil {
			continue
		}
		if call := block.FunctionToolCall; call != nil {
			parts = append(parts, part{isCall: true, id: call.CallID, name: call.Name, text: call.Arguments})
		}
		if block.FunctionToolResult != nil || block.ToolSearchFunctionToolResult != nil {
			plain := toolsearchtest.Decode(&schema.AgenticMessage{Role: m.Role, ContentBlocks: []*schema.ContentBlock{block}})
			parts = append(parts, part{id: plain.CallID, name: plain.ToolName, text: plain.Text, found: plain.Found, native: plain.Native})
		}
	}
	return parts
}

// quoted returns a text as JSON.
func quoted(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text is always JSON
	}
	return string(encoded)
}

// stored returns a text as a store of JSON returns it: all of it is UTF-8.
func stored(text string) (read string) {
	if err := json.Unmarshal([]byte(quoted(text)), &read); err != nil {
		panic(err)
	}
	return read
}

// copied returns a definition whose Extra is a copy.
func copied(info *schema.ToolInfo) schema.ToolInfo {
	c := *info
	c.Extra = maps.Clone(c.Extra)
	return c
}
