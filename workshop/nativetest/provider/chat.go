package provider

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The rules of OpenAI's chat completions.

func (r *request) readChat() {
	must(r.model != "", "you must provide a model parameter")
	must(r.body["stream_options"] == nil || r.stream,
		"The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	tools := list(r.body, "tools", "Invalid type for 'tools': expected an array of objects.")
	_, given := r.body["tools"]
	must(!given || len(tools) > 0, "Invalid 'tools': empty array. Expected an array with minimum length 1, "+
		"but got an empty array instead.")
	must(len(tools) <= 128, "Invalid 'tools': array too long. Expected an array with maximum length 128, "+
		"but got an array with length %d instead.", len(tools))
	r.defineChat(tools, "tools")
	const wrong = "Invalid 'messages': expected a list of at least one message."
	messages := list(r.body, "messages", wrong)
	must(len(messages) > 0, wrong)
	r.readChatMessages(messages)
}

// defineChat reads the definitions in the tool list, or in a system message of Kimi K3.
func (r *request) defineChat(tools []object, list string) {
	for i, tool := range tools {
		place := fmt.Sprintf("%s[%d]", list, i)
		function, isObject := tool["function"].(object)
		mustBeGiven(tool["type"] != nil, place+".type")
		must(tool["type"] == "function", "Invalid value: '%v'. Supported values are: 'function' and 'custom'.", tool["type"])
		mustBeGiven(isObject, place+".function")
		mustKnow(tool, place, "type", "function")
		mustKnow(function, place+".function", "name", "description", "parameters", "strict")
		r.define(function, place+".function")
		r.callable = append(r.callable, text(function, "name"))
	}
}

func mustBeGiven(holds bool, param string) { must(holds, "Missing required parameter: '%s'.", param) }

// mustKnow refuses an object with other keys.
func mustKnow(in object, place string, keys ...string) {
	param := place + "." + unknown(in, keys...)
	must(param == place+".", "Unknown parameter: '%s'.", param)
}

// define checks the definition of a function and records it. Names must be unique.
func (r *request) define(function object, place string) {
	name := text(function, "name")
	mustBeName(name, place+".name")
	must(isTextIfGiven(function, "description"), "Invalid type for '%s.description': expected a string.", place)
	if parameters := function["parameters"]; parameters != nil {
		schema, _ := parameters.(object)
		kind := cmp.Or(text(schema, "type"), "None")
		where, why := "()", fmt.Sprintf("schema must be a JSON Schema of 'type: \"object\"', got 'type: \"%s\"'", kind)
		if kind == "object" {
			where, why = schemaFault(schema, "")
		}
		must(why == "", "Invalid schema for function '%s': In context=%s, %s.", name, where, why)
	}
	must(r.tools[name] == nil,
		"Invalid '%s.name': '%s' is the name of another tool already. Tool names must be unique.", place, name)
	r.tools[name] = function
}

func mustBeName(name, place string) {
	mustBeGiven(name != "", place)
	must(wordPattern.MatchString(name), "Invalid '%s': string does not match pattern. "+
		"Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", place)
	must(len(name) <= 64, "Invalid '%s': string too long. Expected a string with maximum length 64, "+
		"but got a string with length %d instead.", place, len(name))
}

// readChatMessages checks that a message with calls is followed directly by the results of all
// its calls.
func (r *request) readChatMessages(messages []object) {
	var open []string // calls without a result
	mustBeAnswered := func() {
		must(len(open) == 0, "An assistant message with 'tool_calls' must be followed by tool messages "+
			"responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s",
			strings.Join(open, ", "))
	}
	for i, m := range messages {
		role, id := text(m, "role"), text(m, "tool_call_id")
		if role != "tool" {
			mustBeAnswered()
		}
		if m["tools"] != nil {
			r.readDeclaration(m, i, role)
			continue
		}
		checkContent(m, i, role)
		if role == "tool" {
			must(slices.Contains(open, id), "Invalid parameter: messages with role 'tool' must be a response "+
				"to a preceeding message with 'tool_calls'.")
			open = slices.DeleteFunc(open, func(other string) bool { return other == id })
			continue
		}
		const wrong = "Invalid 'messages[%d].tool_calls'."
		calls := list(m, "tool_calls", wrong, i)
		must(len(calls) == 0 || role == "assistant", wrong, i)
		for j, call := range calls {
			checkCall(call, fmt.Sprintf("messages[%d].tool_calls[%d]", i, j))
			open = append(open, text(call, "id"))
		}
	}
	mustBeAnswered()
}

// readDeclaration reads a message that defines tools, as Kimi K3 accepts it.
func (r *request) readDeclaration(m object, i int, role string) {
	place := fmt.Sprintf("messages[%d]", i)
	_, hasContent := m["content"]
	must(r.inline && role == "system", "Unknown parameter: '%s.tools'.", place)
	must(!hasContent, "Invalid '%s': a system message with tools must not have content.", place)
	const wrong = "Invalid '%s.tools': expected a list of at least one tool."
	tools := list(m, "tools", wrong, place)
	must(len(tools) > 0, wrong, place)
	r.defineChat(tools, place+".tools")
}

func checkContent(m object, i int, role string) {
	must(slices.Contains([]string{"system", "developer", "user", "assistant", "tool"}, role), "Invalid value: '%s'. "+
		"Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", role)
	switch content := m["content"].(type) {
	case string:
	case []any:
		kinds := []string{"text", "refusal"}
		if role == "user" {
			kinds = append(kinds, "image_url", "input_audio", "file")
		}
		for _, part := range content {
			inner, _ := part.(object)
			kind := text(inner, "type")
			must(slices.Contains(kinds, kind), "Invalid value: '%s'. Supported values are: 'text'.", kind)
		}
	case nil:
		must(role == "assistant" && m["tool_calls"] != nil, "Invalid value for 'content': expected a string, got null.")
	default:
		must(false, "Invalid type for 'messages[%d].content': %v", i, content)
	}
}

func checkCall(call object, place string) {
	function, _ := call["function"].(object)
	_, hasArguments := function["arguments"].(string)
	mustBeGiven(text(call, "id") != "", place+".id")
	mustBeGiven(text(call, "type") == "function", place+".type")
	mustBeGiven(hasArguments, place+".function.arguments")
	mustBeName(text(function, "name"), place+".function.name")
}
