package provider

import (
	"fmt"
	"slices"
	"strings"
)

// The rules of OpenAI's chat completions.

func (r *request) readChat() {
	must(r.model != "", faultf("you must provide a model parameter"))
	must(r.body["stream_options"] == nil || r.stream,
		faultf("The 'stream_options' parameter is only allowed when 'stream' is enabled.").at("stream_options"))
	r.readChatTools()
	wrong := faultf("Invalid 'messages': expected a list of at least one message.").at("messages")
	messages := list(r.body, "messages", wrong)
	must(len(messages) > 0, wrong)
	readChatMessages(messages)
}

func (r *request) readChatTools() {
	tools := list(r.body, "tools", faultf("Invalid type for 'tools': expected an array of objects.").at("tools"))
	_, given := r.body["tools"]
	must(!given || len(tools) > 0, faultf("Invalid 'tools': empty array. Expected an array with minimum length 1, "+
		"but got an empty array instead.").at("tools").as("empty_array"))
	must(len(tools) <= 128, faultf("Invalid 'tools': array too long. Expected an array with maximum length 128, "+
		"but got an array with length %d instead.", len(tools)).at("tools").as("array_above_max_length"))
	for i, tool := range tools {
		place := fmt.Sprintf("tools[%d]", i)
		function, isObject := tool["function"].(object)
		must(tool["type"] != nil, missing(place+".type"))
		must(tool["type"] == "function",
			faultf("Invalid value: '%v'. Supported values are: 'function' and 'custom'.", tool["type"]).at("%s.type", place))
		must(isObject, missing(place+".function"))
		mustKnow(tool, place, "type", "function")
		mustKnow(function, place+".function", "name", "description", "parameters", "strict")
		r.define(function, place+".function")
		r.callable = append(r.callable, text(function, "name"))
	}
}

func missing(param string) *fault {
	return faultf("Missing required parameter: '%s'.", param).at("%s", param).as("missing_required_parameter")
}

// mustKnow refuses an object with other keys.
func mustKnow(in object, place string, keys ...string) {
	param := place + "." + unknown(in, keys...)
	must(param == place+".", faultf("Unknown parameter: '%s'.", param).at("%s", param).as("unknown_parameter"))
}

// define checks the definition of a function and records it. Names must be unique.
func (r *request) define(function object, place string) {
	name := text(function, "name")
	mustBeName(name, place+".name")
	must(isTextIfGiven(function, "description"),
		faultf("Invalid type for '%s.description': expected a string.", place).at("%s.description", place))
	if parameters := function["parameters"]; parameters != nil {
		schema, _ := parameters.(object)
		kind := text(schema, "type")
		if kind == "" {
			kind = "None"
		}
		where, why := "()", fmt.Sprintf("schema must be a JSON Schema of 'type: \"object\"', got 'type: \"%s\"'", kind)
		if kind == "object" {
			where, why = schemaFault(schema, "")
		}
		must(why == "", faultf("Invalid schema for function '%s': In context=%s, %s.", name, where, why).
			at("%s.parameters", place).as("invalid_function_parameters"))
	}
	must(r.tools[name] == nil,
		faultf("Invalid '%s.name': '%s' is the name of another tool already. Tool names must be unique.", place, name).at("%s.name", place))
	r.tools[name] = function
}

func mustBeName(name, place string) {
	must(name != "", missing(place))
	must(wordPattern.MatchString(name), faultf("Invalid '%s': string does not match pattern. "+
		"Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", place).at("%s", place).as("invalid_value"))
	must(len(name) <= 64, faultf("Invalid '%s': string too long. Expected a string with maximum length 64, "+
		"but got a string with length %d instead.", place, len(name)).at("%s", place).as("string_above_max_length"))
}

// readChatMessages checks that a message with calls is followed directly by the results of all
// its calls.
func readChatMessages(messages []object) {
	var open []string // calls without a result
	from := 0         // the message that made them
	mustBeAnswered := func() {
		must(len(open) == 0, faultf("An assistant message with 'tool_calls' must be followed by tool messages "+
			"responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s",
			strings.Join(open, ", ")).at("messages.[%d].role", from))
	}
	for i, m := range messages {
		role, id := text(m, "role"), text(m, "tool_call_id")
		if role != "tool" {
			mustBeAnswered()
		}
		checkContent(m, i, role)
		if role == "tool" {
			must(slices.Contains(open, id), faultf("Invalid parameter: messages with role 'tool' must be a response "+
				"to a preceeding message with 'tool_calls'.").at("messages.[%d].role", i))
			open = slices.DeleteFunc(open, func(other string) bool { return other == id })
			continue
		}
		wrong := faultf("Invalid 'messages[%d].tool_calls'.", i).at("messages[%d].tool_calls", i)
		calls := list(m, "tool_calls", wrong)
		must(len(calls) == 0 || role == "assistant", wrong)
		from = i
		for j, call := range calls {
			checkCall(call, fmt.Sprintf("messages[%d].tool_calls[%d]", i, j))
			open = append(open, text(call, "id"))
		}
	}
	mustBeAnswered()
}

func checkContent(m object, i int, role string) {
	must(slices.Contains([]string{"system", "developer", "user", "assistant", "tool"}, role), faultf("Invalid value: '%s'. "+
		"Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", role).at("messages[%d].role", i))
	switch content := m["content"].(type) {
	case string:
	case []any:
		kinds := []string{"text", "refusal"}
		if role == "user" {
			kinds = append(kinds, "image_url", "input_audio", "file")
		}
		for j, part := range content {
			inner, _ := part.(object)
			kind := text(inner, "type")
			must(slices.Contains(kinds, kind),
				faultf("Invalid value: '%s'. Supported values are: 'text'.", kind).at("messages[%d].content[%d].type", i, j))
		}
	case nil:
		must(role == "assistant" && m["tool_calls"] != nil,
			faultf("Invalid value for 'content': expected a string, got null.").at("messages.[%d].content", i))
	default:
		must(false, faultf("Invalid type for 'messages[%d].content': %v", i, content).at("messages[%d].content", i))
	}
}

func checkCall(call object, place string) {
	function, _ := call["function"].(object)
	_, hasArguments := function["arguments"].(string)
	must(text(call, "id") != "", missing(place+".id"))
	must(text(call, "type") == "function", missing(place+".type"))
	must(hasArguments, missing(place+".function.arguments"))
	mustBeName(text(function, "name"), place+".function.name")
}
