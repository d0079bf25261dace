package provider

import (
	"fmt"
	"slices"
	"strings"
)

// The rules of OpenAI's Responses API.

func (r *request) readResponses() {
	mustBeGiven(r.model != "", "model")
	r.readResponseTools()
	if _, isText := r.body["input"].(string); isText {
		return
	}
	mustBeGiven(r.body["input"] != nil, "input")
	for _, name := range r.readItems(list(r.body, "input", "Invalid type for 'input': expected an array of objects.")) {
		if !slices.Contains(r.callable, name) {
			r.callable = append(r.callable, name)
		}
	}
}

func (r *request) readResponseTools() {
	deferred := false
	for i, tool := range list(r.body, "tools", "Invalid type for 'tools': expected an array of objects.") {
		place := fmt.Sprintf("tools[%d]", i)
		switch kind := text(tool, "type"); kind {
		case "function":
			r.defineResponse(tool, place)
			if flag(tool, "defer_loading") {
				deferred = true
			} else {
				r.callable = append(r.callable, text(tool, "name"))
			}
		case "tool_search":
			r.readSearchTool(tool, place)
		default:
			mustBeGiven(kind != "", place+".type")
			must(false, "Invalid value: '%s'. Supported values are: 'function' and 'tool_search'.", kind)
		}
	}
	must(!deferred || r.search != "",
		"Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search.")
}

func (r *request) defineResponse(tool object, place string) {
	mustKnow(tool, place, "type", "name", "description", "parameters", "strict", "defer_loading")
	r.define(tool, place)
}

func (r *request) readSearchTool(tool object, place string) {
	must(r.search == "", "Invalid '%s': only one tool_search tool is allowed.", place)
	mustKnow(tool, place, "type", "execution", "description", "parameters")
	schema, _ := tool["parameters"].(object)
	switch r.search = text(tool, "execution"); r.search {
	case "", "server":
		r.search = "server"
	case "client":
		must(schema["type"] == "object", "Invalid schema for tool_search: schema must be a JSON Schema of 'type: \"object\"', "+
			"got 'type: \"%v\"'.", schema["type"])
	default:
		must(false, "Invalid value: '%s'. Supported values are: 'server' and 'client'.", r.search)
	}
}

// itemPrefix maps the type of an item to the prefix of its id.
var itemPrefix = map[string]string{"message": "msg", "function_call": "fc", "tool_search_call": "tsc", "tool_search_output": "tso"}

// callOf maps the type of an output to the type of call that it answers.
var callOf = map[string]string{"function_call_output": "function_call", "tool_search_output": "tool_search_call"}

// readItems checks the input. Every call must have one later output of its own kind. readItems
// returns the tools that searches found.
func (r *request) readItems(items []object) (found []string) {
	open := map[string]string{} // call id -> kind of the call
	var order []string
	for i, item := range items {
		place := fmt.Sprintf("input[%d]", i)
		kind, call, role := text(item, "type"), text(item, "call_id"), text(item, "role")
		isServer := text(item, "execution") == "server" // the provider's own search has no call ids
		words := strings.ReplaceAll(kind, "_", " ")
		if id, given := item["id"].(string); given {
			mustBeID(id, itemPrefix[kind], place+".id")
		}
		switch kind {
		case "", "message":
			must(slices.Contains([]string{"user", "assistant", "system", "developer"}, role),
				"Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", role)
			mustBeGiven(item["content"] != nil, place+".content")
		case "function_call", "tool_search_call":
			if isServer {
				break
			}
			mustBeGiven(call != "", place+".call_id")
			_, isText := item["arguments"].(string)
			mustBeGiven(isText || kind == "tool_search_call" && item["arguments"] != nil, place+".arguments")
			if kind == "function_call" {
				mustBeName(text(item, "name"), place+".name")
			}
			must(open[call] == "", "Duplicate call_id '%s'.", call)
			open[call] = kind
			order = append(order, call)
		case "function_call_output", "tool_search_output":
			if kind == "tool_search_output" {
				found = append(found, searchOutput(item, place)...)
			} else {
				mustBeGiven(item["output"] != nil, place+".output")
			}
			must(isServer || open[call] == callOf[kind], "No tool call found for %s with call_id %s.", words, call)
			delete(open, call)
		case "additional_tools":
			r.readAdditional(item, place)
		case "reasoning":
		default:
			must(false, "Invalid value: '%s'.", kind)
		}
	}
	for _, call := range order {
		must(open[call] == "", "No tool output found for %s %s.", strings.ReplaceAll(open[call], "_", " "), call)
	}
	return found
}

// readAdditional reads an item that defines tools.
func (r *request) readAdditional(item object, place string) {
	must(r.inline, "Invalid value: 'additional_tools'.")
	must(text(item, "role") == "developer", "Invalid value: '%s'. Supported values are: 'developer'.", text(item, "role"))
	tools := list(item, "tools", "Missing required parameter: '%s.tools'.", place)
	mustBeGiven(len(tools) > 0, place+".tools")
	for i, tool := range tools {
		r.defineResponse(tool, fmt.Sprintf("%s.tools[%d]", place, i))
		r.callable = append(r.callable, text(tool, "name"))
	}
}

func mustBeID(id, prefix, place string) {
	must(wordPattern.MatchString(id), "Invalid '%s': '%s'. Expected an ID that contains letters, numbers, underscores, or dashes, "+
		"but this value contained additional characters.", place, id)
	must(strings.HasPrefix(id, prefix),
		"Invalid '%s': '%s'. Expected an ID that begins with '%s'.", place, id, prefix)
}

// searchOutput checks the definitions that a search returned. Names must be unique within one
// output.
func searchOutput(item object, place string) (names []string) {
	mustBeGiven(item["tools"] != nil, place+".tools")
	own := &request{tools: map[string]object{}}
	for i, tool := range list(item, "tools", "Missing required parameter: '%s.tools'.", place) {
		own.defineResponse(tool, fmt.Sprintf("%s.tools[%d]", place, i))
		names = append(names, text(tool, "name"))
	}
	return names
}
