package provider

import (
	"encoding/json"
	"fmt"
	"maps"
)

// Answers of OpenAI's Responses API.

type response struct {
	id, model string
	items     []object
}

func composeResponse(req *request, turn Turn, number int) reply {
	r := &response{id: fmt.Sprintf("resp_%02d", number), model: req.model}
	if turn.Text != "" {
		r.items = append(r.items, object{
			"id": fmt.Sprintf("msg_%02d", number), "type": "message", "role": "assistant", "status": "completed",
			"content": []any{object{"type": "output_text", "text": turn.Text, "annotations": []any{}}},
		})
	}
	for i, call := range turn.Calls {
		id := fmt.Sprintf("%02d_%d", number, i)
		native := call.Name == "tool_search" && req.search == "client" && req.tools[call.Name] == nil
		must(!call.Server || req.search == "server", faultf("the script searches with the provider's tool, which the request does not have"))
		switch {
		case call.Server:
			r.addServerSearch(id, call, req)
		case native:
			r.items = append(r.items, object{
				"id": "tsc_" + id, "type": "tool_search_call", "execution": "client", "call_id": "call_" + id,
				"arguments": anyJSON(call.Arguments), "status": "completed",
			})
		default:
			r.items = append(r.items, object{
				"id": "fc_" + id, "type": "function_call", "call_id": "call_" + id, "name": call.Name,
				"arguments": call.Arguments, "status": "completed",
			})
		}
	}
	return r
}

// anyJSON returns the value of a JSON text, or the text itself if it is not JSON.
func anyJSON(arguments string) (value any) {
	if json.Unmarshal([]byte(arguments), &value) != nil {
		return arguments
	}
	return value
}

func (r *response) addServerSearch(id string, call Call, req *request) {
	tools := []any{}
	for _, name := range call.Found {
		tools = append(tools, req.tools[name])
	}
	r.items = append(r.items, object{
		"id": "tsc_" + id, "type": "tool_search_call", "execution": "server", "call_id": nil,
		"arguments": anyJSON(call.Arguments), "status": "completed",
	}, object{
		"id": "tso_" + id, "type": "tool_search_output", "execution": "server", "call_id": nil,
		"tools": tools, "status": "completed",
	})
}

func (r *response) object(status string, items []object) object {
	if items == nil {
		items = []object{}
	}
	return object{
		"id": r.id, "object": "response", "created_at": 1700000000, "status": status, "model": r.model, "output": items,
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{}, "parallel_tool_calls": true,
		"temperature": 1.0, "top_p": 1.0, "tool_choice": "auto", "tools": []any{},
		"usage": object{
			"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
			"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0},
		},
	}
}

func (r *response) whole() any { return r.object("completed", r.items) }

func (r *response) events() []event {
	var all []event
	add := func(name string, data object) {
		data["type"], data["sequence_number"] = name, len(all)
		all = append(all, event{name, data})
	}
	add("response.created", object{"response": r.object("in_progress", nil)})
	add("response.in_progress", object{"response": r.object("in_progress", nil)})
	for i, item := range r.items {
		switch item["type"] {
		case "message":
			r.streamText(add, i, item)
		case "function_call":
			r.streamCall(add, i, item)
		default:
			add("response.output_item.added", object{"output_index": i, "item": with(item, object{"status": "in_progress"})})
			add("response.output_item.done", object{"output_index": i, "item": item})
		}
	}
	add("response.completed", object{"response": r.object("completed", r.items)})
	return all
}

func (r *response) streamText(add func(string, object), i int, item object) {
	id, part := item["id"], item["content"].([]any)[0].(object)
	at := func(more object) object {
		return with(object{"item_id": id, "output_index": i, "content_index": 0}, more)
	}
	add("response.output_item.added", object{"output_index": i, "item": with(item, object{"status": "in_progress", "content": []any{}})})
	add("response.content_part.added", at(object{"part": with(part, object{"text": ""})}))
	for _, half := range halves(text(part, "text")) {
		add("response.output_text.delta", at(object{"delta": half, "logprobs": []any{}}))
	}
	add("response.output_text.done", at(object{"text": part["text"], "logprobs": []any{}}))
	add("response.content_part.done", at(object{"part": part}))
	add("response.output_item.done", object{"output_index": i, "item": item})
}

func (r *response) streamCall(add func(string, object), i int, item object) {
	at := func(more object) object { return with(object{"item_id": item["id"], "output_index": i}, more) }
	add("response.output_item.added", object{"output_index": i, "item": with(item, object{"status": "in_progress", "arguments": ""})})
	for _, half := range halves(text(item, "arguments")) {
		add("response.function_call_arguments.delta", at(object{"delta": half}))
	}
	add("response.function_call_arguments.done", at(object{"arguments": item["arguments"], "name": item["name"]}))
	add("response.output_item.done", object{"output_index": i, "item": item})
}

// with returns a copy of an object with some keys changed.
func with(base, changed object) object {
	merged := maps.Clone(base)
	maps.Copy(merged, changed)
	return merged
}
