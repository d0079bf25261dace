package provider

import (
	"fmt"
	"strings"
)

// The rules of OpenAI's chat completions.

func (r *request) readChat() *fault {
	if r.model == "" {
		return faultf("you must provide a model parameter")
	}
	if r.body["stream_options"] != nil && !r.stream {
		return faultf("The 'stream_options' parameter is only allowed when 'stream' is enabled.").at("stream_options")
	}
	if f := r.readChatTools(); f != nil {
		return f
	}
	messages, ok := list(r.body, "messages")
	if !ok || len(messages) == 0 {
		return faultf("Invalid 'messages': expected a list of at least one message.").at("messages")
	}
	return readChatMessages(messages)
}

func (r *request) readChatTools() *fault {
	tools, ok := list(r.body, "tools")
	_, given := r.body["tools"]
	switch {
	case !ok:
		return faultf("Invalid type for 'tools': expected an array of objects.").at("tools")
	case given && len(tools) == 0:
		f := faultf("Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.").at("tools")
		f.code = "empty_array"
		return f
	case len(tools) > 128:
		f := faultf("Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length %d instead.", len(tools)).at("tools")
		f.code = "array_above_max_length"
		return f
	}
	for i, tool := range tools {
		place := fmt.Sprintf("tools[%d]", i)
		if tool["type"] == nil {
			return missing(place + ".type")
		}
		if tool["type"] != "function" {
			return faultf("Invalid value: '%v'. Supported values are: 'function' and 'custom'.", tool["type"]).at("%s.type", place)
		}
		function, ok := tool["function"].(object)
		if !ok {
			return missing(place + ".function")
		}
		if key := unknown(tool, "type", "function"); key != "" {
			return strange(place + "." + key)
		}
		if key := unknown(function, "name", "description", "parameters", "strict"); key != "" {
			return strange(place + ".function." + key)
		}
		if f := r.define(function, place+".function"); f != nil {
			return f
		}
		r.callable = append(r.callable, text(function, "name"))
	}
	return nil
}

func missing(param string) *fault {
	f := faultf("Missing required parameter: '%s'.", param).at("%s", param)
	f.code = "missing_required_parameter"
	return f
}

func strange(param string) *fault {
	f := faultf("Unknown parameter: '%s'.", param).at("%s", param)
	f.code = "unknown_parameter"
	return f
}

// define checks the definition of a function and records it. Names must be unique.
func (r *request) define(function object, place string) *fault {
	name := text(function, "name")
	if f := functionName(name, place+".name"); f != nil {
		return f
	}
	if description, given := function["description"]; given {
		if _, isText := description.(string); !isText {
			return faultf("Invalid type for '%s.description': expected a string.", place).at("%s.description", place)
		}
	}
	if parameters, given := function["parameters"]; given && parameters != nil {
		schema, _ := parameters.(object)
		kind := text(schema, "type")
		if kind == "" {
			kind = "None"
		}
		where, why := "()", fmt.Sprintf("schema must be a JSON Schema of 'type: \"object\"', got 'type: \"%s\"'", kind)
		if schema["type"] == "object" {
			where, why = schemaFault(schema, "")
		}
		if why != "" {
			f := faultf("Invalid schema for function '%s': In context=%s, %s.", name, where, why).at("%s.parameters", place)
			f.code = "invalid_function_parameters"
			return f
		}
	}
	if r.tools[name] != nil {
		return faultf("Invalid '%s.name': '%s' is the name of another tool already. Tool names must be unique.", place, name).at("%s.name", place)
	}
	r.tools[name] = function
	return nil
}

func functionName(name, place string) *fault {
	switch {
	case name == "":
		return missing(place)
	case !namePattern.MatchString(name):
		f := faultf("Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", place).at("%s", place)
		f.code = "invalid_value"
		return f
	case len(name) > 64:
		f := faultf("Invalid '%s': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", place, len(name)).at("%s", place)
		f.code = "string_above_max_length"
		return f
	}
	return nil
}

// readChatMessages checks that a message with calls is followed directly by the results of all
// its calls.
func readChatMessages(messages []object) *fault {
	open, from := map[string]bool{}, 0
	var order []string
	unanswered := func() *fault {
		var ids []string
		for _, id := range order {
			if open[id] {
				ids = append(ids, id)
			}
		}
		return faultf("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
			"The following tool_call_ids did not have response messages: %s", strings.Join(ids, ", ")).at("messages.[%d].role", from)
	}
	for i, m := range messages {
		role := text(m, "role")
		if role != "tool" && len(open) > 0 {
			return unanswered()
		}
		if f := chatContent(m, i, role); f != nil {
			return f
		}
		if role == "tool" {
			id := text(m, "tool_call_id")
			if !open[id] {
				return faultf("Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.").at("messages.[%d].role", i)
			}
			delete(open, id)
			continue
		}
		calls, ok := list(m, "tool_calls")
		if !ok || len(calls) > 0 && role != "assistant" {
			return faultf("Invalid 'messages[%d].tool_calls'.", i).at("messages[%d].tool_calls", i)
		}
		order, from = nil, i
		for j, call := range calls {
			if f := chatCall(call, fmt.Sprintf("messages[%d].tool_calls[%d]", i, j)); f != nil {
				return f
			}
			open[text(call, "id")] = true
			order = append(order, text(call, "id"))
		}
	}
	if len(open) > 0 {
		return unanswered()
	}
	return nil
}

func chatContent(m object, i int, role string) *fault {
	switch role {
	case "system", "developer", "user", "assistant", "tool":
	default:
		return faultf("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", role).at("messages[%d].role", i)
	}
	switch content := m["content"].(type) {
	case string:
	case []any:
		parts, _ := list(m, "content")
		for j, part := range parts {
			switch kind := text(part, "type"); {
			case kind == "text" || kind == "refusal" || role == "user" && (kind == "image_url" || kind == "input_audio" || kind == "file"):
			default:
				return faultf("Invalid value: '%s'. Supported values are: 'text'.", kind).at("messages[%d].content[%d].type", i, j)
			}
		}
	case nil:
		if role != "assistant" || m["tool_calls"] == nil {
			return faultf("Invalid value for 'content': expected a string, got null.").at("messages.[%d].content", i)
		}
	default:
		return faultf("Invalid type for 'messages[%d].content': %v", i, content).at("messages[%d].content", i)
	}
	return nil
}

func chatCall(call object, place string) *fault {
	function, _ := call["function"].(object)
	_, hasArguments := function["arguments"].(string)
	switch {
	case text(call, "id") == "":
		return missing(place + ".id")
	case text(call, "type") != "function":
		return missing(place + ".type")
	case !hasArguments:
		return missing(place + ".function.arguments")
	}
	return functionName(text(function, "name"), place+".function.name")
}
