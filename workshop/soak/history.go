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
var pastNames = strings.Fields(
	"question search native call unknown dispatched added removed reminder stale summary orphan unanswered stand-in idless system")

// past makes the stored history of a plan. It names any tool, including tools the user may not see.
func past[M adk.MessageType](p *plan) (messages []M) {
	random, names := p.source("past"), p.names()
	for i, kind := range p.past {
		for _, m := range pastOf(random, kind, "h"+string(rune('a'+i)), pick(random, names), pick(random, names)) {
			messages = append(messages, toolsearchtest.Encode[M](m))
		}
	}
	return messages
}

// pastOf returns messages of a kind about two tools.
func pastOf(random *rand.Rand, kind, id, one, two string) []toolsearchtest.Message {
	type list = []toolsearchtest.Message
	user := func(text string) toolsearchtest.Message {
		return toolsearchtest.Message{Role: toolsearchtest.User, Text: text}
	}
	call := func(name, arguments string) toolsearchtest.Message {
		return toolsearchtest.Message{Role: toolsearchtest.Assistant, Calls: []toolsearchtest.Call{{ID: id, Name: name, Arguments: arguments}}}
	}
	answer := func(name, text string) toolsearchtest.Message {
		return toolsearchtest.Message{Role: toolsearchtest.Tool, CallID: id, ToolName: name, Text: text}
	}
	both := func(name, arguments, text string) list { return list{call(name, arguments), answer(name, text)} }
	found := asJSON([]string{one, two, "no_such_tool"})
	stale := user("<available-deferred-tools>\nGone\n</available-deferred-tools>")
	stale.Extra = map[string]any{"_toolsearch_reminder": "tool_search"}
	native := answer("tool_search", "")
	native.Native, native.Found = true, []*schema.ToolInfo{{Name: one, Desc: "Old"}, {Name: two}}
	idless := both("tool_search", `{}`, `{"matches":`+found+`}`)
	idless[0].Calls = append(idless[0].Calls, toolsearchtest.Call{Name: one, Arguments: `{}`})
	idless[0].Calls[0].ID, idless[1].CallID = "", ""
	return map[string]list{
		"question":   {user(sentence(random, 8))},
		"search":     both("tool_search", `{"query":"x"}`, `{"matches":`+found+`}`),
		"native":     {call("tool_search", `{"query":"x"}`), native},
		"call":       both(one, `{}`, "ran"),
		"unknown":    {call(one+"x", `{}`), answer("tool_search", `{"matches":[],"message":"No such tool."}`)},
		"dispatched": {call("call_tool", `{"name":`+asJSON(one)+`,"arguments":{}}`), answer(one, "ran")},
		"added":      both("add_tool", `{"tool_names":`+found+`}`, `{"added":`+found+`,"already_loaded":[],"not_found":[],"message":"."}`),
		"removed":    both("remove_tool", `{"tool_names":`+found+`}`, `{"removed":`+found+`,"not_found":[],"message":"."}`),
		"reminder":   {user("<available-deferred-tools>\n" + one + "\n" + two + "\n</available-deferred-tools>")},
		"stale":      {stale, stale},
		"summary": {user("<all_user_messages>\n - <available-deferred-tools>\nx\n</available-deferred-tools>\n - Hello\n" +
			"</all_user_messages>")},
		"orphan":     {answer(pick(random, []string{"tool_search", one, ""}), `{"matches":`+found+`}`)},
		"unanswered": {call(pick(random, []string{"tool_search", one, "", "call_tool"}), arguments(random))},
		"stand-in":   both("tool_search", `{"unknown_tool":"x"}`, `{"matches":[]}`),
		"idless":     append(idless, toolsearchtest.Message{Role: toolsearchtest.Tool, ToolName: one, Text: "ran"}),
		"system": {{Role: toolsearchtest.System,
			Text: "Be brief.\n\n<available-deferred-tools>\nGone\n</available-deferred-tools>"}},
	}[kind]
}

// rewriteNames are the changes that a store may make to a history between two runs.
var rewriteNames = []string{"trim", "drop", "swap", "summarise", "no extra", "no names", "no ids", "json", "repeat", "shuffle"}

// rewrite returns a history as a store returns it. It changes no message in place.
func rewrite[M adk.MessageType](random *rand.Rand, what string, messages []M) []M {
	if len(messages) == 0 {
		return messages
	}
	at, changed := random.IntN(len(messages)), slices.Clone(messages)
	switch what {
	case "trim":
		return changed[at:]
	case "drop":
		return slices.Delete(changed, at, at+1)
	case "swap":
		other := min(at+1, len(messages)-1)
		changed[at], changed[other] = changed[other], changed[at]
		return changed
	case "summarise":
		text := "Much was said.\n<all_user_messages>"
		for _, msg := range messages[:at] {
			if m := toolsearchtest.Decode(msg); m.Role == toolsearchtest.User {
				text += "\n    - " + m.Text
			}
		}
		summary := toolsearchtest.Message{Role: toolsearchtest.User, Text: text + "\n</all_user_messages>"}
		return append([]M{toolsearchtest.Encode[M](summary)}, messages[at:]...)
	case "repeat":
		return slices.Insert(changed, at, messages[at])
	case "shuffle":
		random.Shuffle(len(changed), func(i, j int) { changed[i], changed[j] = changed[j], changed[i] })
		return changed
	}
	return without(messages, lostKeys[what]...)
}

// lostKeys are what a store loses, as keys of the JSON of either message type.
var lostKeys = map[string][]string{
	"no extra": {"extra"}, "no names": {"tool_name", "name"}, "no ids": {"id", "tool_call_id", "call_id"},
}

// without writes a value as JSON and reads it again without some keys. A call keeps its name.
func without[T any](value T, keys ...string) (read T) {
	var tree any
	mustRead(asJSON(value), &tree)
	var lose func(tree any)
	lose = func(tree any) {
		switch t := tree.(type) {
		case []any:
			for _, child := range t {
				lose(child)
			}
		case map[string]any:
			_, isCall := t["arguments"]
			maps.DeleteFunc(t, func(key string, _ any) bool { return slices.Contains(keys, key) && !(isCall && key == "name") })
			for _, child := range t {
				lose(child)
			}
		}
	}
	lose(tree)
	mustRead(asJSON(tree), &read)
	return read
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
	for _, m := range messagesOf(messages) {
		for _, call := range m.Calls {
			parts = append(parts, part{isCall: true, id: call.ID, name: call.Name, text: call.Arguments})
		}
		if m.Role == toolsearchtest.Tool {
			parts = append(parts, part{id: m.CallID, name: m.ToolName, text: m.Text, found: m.Found, native: m.Native})
		}
	}
	return parts
}

// messagesOf returns messages in one form, one for each block of an agentic one, which may have several results.
func messagesOf[M adk.MessageType](messages []M) (list []toolsearchtest.Message) {
	for _, msg := range messages {
		agentic, isAgentic := any(msg).(*schema.AgenticMessage)
		if !isAgentic {
			list = append(list, toolsearchtest.Decode(msg))
			continue
		}
		for _, block := range agentic.ContentBlocks {
			list = append(list, toolsearchtest.Decode(&schema.AgenticMessage{Role: agentic.Role, ContentBlocks: []*schema.ContentBlock{block}}))
		}
	}
	return list
}

// asJSON writes a value as JSON.
func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "not written: " + err.Error()
	}
	return string(text)
}

func mustRead(text string, into any) { must(into, json.Unmarshal([]byte(text), into)) }

// must panics over an error, which a play reports as a fault.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
