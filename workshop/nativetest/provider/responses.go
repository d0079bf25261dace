package provider

import (
	"fmt"
	"slices"
	"strings"
)

// The rules of OpenAI's Responses API.

func (r *request) readResponses() *fault {
	if r.model == "" {
		return missing("model")
	}
	if f := r.readResponseTools(); f != nil {
		return f
	}
	switch input := r.body["input"].(type) {
	case string:
		return nil
	case nil:
		return missing("input")
	case []any:
		items, ok := list(r.body, "input")
		if !ok {
			return faultf("Invalid type for 'input': expected an array of objects.").at("input")
		}
		found, f := r.readItems(items)
		for _, name := range found {
			if !slices.Contains(r.callable, name) {
				r.callable = append(r.callable, name)
			}
		}
		return f
	default:
		return faultf("Invalid type for 'input': %T.", input).at("input")
	}
}

func (r *request) readResponseTools() *fault {
	tools, ok := list(r.body, "tools")
	if !ok {
		return faultf("Invalid type for 'tools': expected an array of objects.").at("tools")
	}
	deferred := false
	for i, tool := range tools {
		place := fmt.Sprintf("tools[%d]", i)
		switch kind := text(tool, "type"); kind {
		case "":
			return missing(place + ".type")
		case "function":
			if f := r.readResponseFunction(tool, place, r); f != nil {
				return f
			}
			if flag(tool, "defer_loading") {
				deferred = true
			} else {
				r.callable = append(r.callable, text(tool, "name"))
			}
		case "tool_search":
			if f := r.readSearchTool(tool, place); f != nil {
				return f
			}
		default:
			return faultf("Invalid value: '%s'. Supported values are: 'function' and 'tool_search'.", kind).at("%s.type", place)
		}
	}
	if deferred && r.search == "" {
		return faultf("Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search.").at("tools.defer_loading")
	}
	return nil
}

// readResponseFunction checks a definition and records it in into, where names must be unique.
func (r *request) readResponseFunction(tool object, place string, into *request) *fault {
	if key := unknown(tool, "type", "name", "description", "parameters", "strict", "defer_loading"); key != "" {
		return strange(place + "." + key)
	}
	return into.define(tool, place)
}

func (r *request) readSearchTool(tool object, place string) *fault {
	if r.search != "" {
		return faultf("Invalid '%s': only one tool_search tool is allowed.", place).at("%s", place)
	}
	if key := unknown(tool, "type", "execution", "description", "parameters"); key != "" {
		return strange(place + "." + key)
	}
	switch r.search = text(tool, "execution"); r.search {
	case "", "server":
		r.search = "server"
	case "client":
		schema, _ := tool["parameters"].(object)
		if schema["type"] != "object" {
			return faultf("Invalid schema for tool_search: schema must be a JSON Schema of 'type: \"object\"', got 'type: \"%v\"'.", schema["type"]).at("%s.parameters", place)
		}
	default:
		return faultf("Invalid value: '%s'. Supported values are: 'server' and 'client'.", r.search).at("%s.execution", place)
	}
	return nil
}

// itemPrefix maps the type of an item to the prefix of its id.
var itemPrefix = map[string]string{"message": "msg", "function_call": "fc", "tool_search_call": "tsc", "tool_search_output": "tso"}

// callOf maps the type of an output to the type of call that it answers.
var callOf = map[string]string{"function_call_output": "function_call", "tool_search_output": "tool_search_call"}

// readItems checks the input. Every call must have one later output of its own kind. readItems
// returns the tools that searches found.
func (r *request) readItems(items []object) (found []string, f *fault) {
	open := map[string]string{} // call id -> kind of the call
	var order []string
	for i, item := range items {
		place := fmt.Sprintf("input[%d]", i)
		kind := text(item, "type")
		if id, given := item["id"].(string); given {
			if f := itemID(id, itemPrefix[kind], place+".id"); f != nil {
				return nil, f
			}
		}
		call := text(item, "call_id")
		switch kind {
		case "", "message":
			f = inputMessage(item, place)
		case "function_call", "tool_search_call":
			if text(item, "execution") == "server" {
				break // the provider's own search; its output has no call id either
			}
			if f = callItem(item, kind, place); f == nil && open[call] != "" {
				f = faultf("Duplicate call_id '%s'.", call).at("%s.call_id", place)
			}
			open[call] = kind
			order = append(order, call)
		case "function_call_output", "tool_search_output":
			if kind == "tool_search_output" {
				var names []string
				names, f = r.searchOutput(item, place)
				found = append(found, names...)
			} else if item["output"] == nil {
				f = missing(place + ".output")
			}
			if f == nil && text(item, "execution") != "server" && open[call] != callOf[kind] {
				f = faultf("No tool call found for %s with call_id %s.", strings.ReplaceAll(kind, "_", " "), call).at("input")
			}
			delete(open, call)
		case "reasoning":
		default:
			f = faultf("Invalid value: '%s'.", kind).at("%s", place)
		}
		if f != nil {
			return nil, f
		}
	}
	for _, call := range order {
		if kind := open[call]; kind != "" {
			return nil, faultf("No tool output found for %s %s.", strings.ReplaceAll(kind, "_", " "), call).at("input")
		}
	}
	return found, nil
}

func itemID(id, prefix, place string) *fault {
	switch {
	case !idPattern.MatchString(id):
		f := faultf("Invalid '%s': '%s'. Expected an ID that contains letters, numbers, underscores, or dashes, "+
			"but this value contained additional characters.", place, id).at("%s", place)
		f.code = "invalid_value"
		return f
	case !strings.HasPrefix(id, prefix):
		f := faultf("Invalid '%s': '%s'. Expected an ID that begins with '%s'.", place, id, prefix).at("%s", place)
		f.code = "invalid_value"
		return f
	}
	return nil
}

func inputMessage(item object, place string) *fault {
	switch role := text(item, "role"); role {
	case "user", "assistant", "system", "developer":
	default:
		return faultf("Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", role).at("%s", place)
	}
	if item["content"] == nil {
		return missing(place + ".content")
	}
	return nil
}

func callItem(item object, kind, place string) *fault {
	if text(item, "call_id") == "" {
		return missing(place + ".call_id")
	}
	if kind == "tool_search_call" {
		if item["arguments"] == nil {
			return missing(place + ".arguments")
		}
		return nil
	}
	if _, given := item["arguments"].(string); !given {
		return missing(place + ".arguments")
	}
	return functionName(text(item, "name"), place+".name")
}

// searchOutput checks the definitions that a search returned. Names must be unique within one
// output.
func (r *request) searchOutput(item object, place string) (names []string, f *fault) {
	tools, ok := list(item, "tools")
	if _, given := item["tools"]; !given || !ok {
		return nil, missing(place + ".tools")
	}
	own := &request{tools: map[string]object{}}
	for i, tool := range tools {
		if f := r.readResponseFunction(tool, fmt.Sprintf("%s.tools[%d]", place, i), own); f != nil {
			return nil, f
		}
		names = append(names, text(tool, "name"))
	}
	return names, nil
}
