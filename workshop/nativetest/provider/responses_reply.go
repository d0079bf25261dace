package provider

import (
	"encoding/json"
	"fmt"
	"maps"
)

// Answers of OpenAI's Responses API.

func composeResponse(req *request, turn Turn, number int) reply {
	items := []object{}
	add := func(item object) { items = append(items, with(item, object{"status": "completed"})) }
	if turn.Text != "" {
		add(object{
			"id": fmt.Sprintf("msg_%02d", number), "type": "message", "role": "assistant",
			"content": []any{object{"type": "output_text", "text": turn.Text, "annotations": []any{}}},
		})
	}
	for i, call := range turn.Calls {
		id := fmt.Sprintf("%02d_%d", number, i)
		must(!call.Server || req.search == "server", "the script searches with the provider's tool, which the request does not have")
		var arguments any = call.Arguments
		_ = json.Unmarshal([]byte(call.Arguments), &arguments) // else it stays a text
		search := object{"id": "tsc_" + id, "type": "tool_search_call", "arguments": arguments}
		switch {
		case call.Server:
			tools := []any{}
			for _, name := range call.Found {
				tools = append(tools, req.tools[name])
			}
			add(with(search, object{"execution": "server", "call_id": nil}))
			add(object{"id": "tso_" + id, "type": "tool_search_output", "execution": "server", "call_id": nil, "tools": tools})
		case call.Name == "tool_search" && req.search == "client" && req.tools[call.Name] == nil:
			add(with(search, object{"execution": "client", "call_id": "call_" + id}))
		default:
			add(object{"id": "fc_" + id, "type": "function_call", "call_id": "call_" + id, "name": call.Name, "arguments": call.Arguments})
		}
	}
	response := func(status string, items []object) object {
		return object{
			"id": fmt.Sprintf("resp_%02d", number), "object": "response", "created_at": 1700000000, "status": status, "model": req.model,
			"output": items, "error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{}, "parallel_tool_calls": true,
			"temperature": 1.0, "top_p": 1.0, "tool_choice": "auto", "tools": []any{},
			"usage": object{
				"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
				"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0},
			},
		}
	}
	var events []event
	emit := func(name string, data object) {
		events = append(events, event{name, with(data, object{"type": name, "sequence_number": len(events)})})
	}
	emit("response.created", object{"response": response("in_progress", []object{})})
	emit("response.in_progress", object{"response": response("in_progress", []object{})})
	for i, item := range items {
		streamItem(emit, i, item)
	}
	whole := response("completed", items)
	emit("response.completed", object{"response": whole})
	return reply{whole, events}
}

func streamItem(emit func(string, object), i int, item object) {
	started := with(item, object{"status": "in_progress"})
	at := func(more object) object { return with(object{"item_id": item["id"], "output_index": i}, more) }
	switch item["type"] {
	case "message":
		part := item["content"].([]any)[0].(object)
		in := func(more object) object { return at(with(object{"content_index": 0}, more)) }
		emit("response.output_item.added", object{"output_index": i, "item": with(started, object{"content": []any{}})})
		emit("response.content_part.added", in(object{"part": with(part, object{"text": ""})}))
		for _, half := range halves(text(part, "text")) {
			emit("response.output_text.delta", in(object{"delta": half, "logprobs": []any{}}))
		}
		emit("response.output_text.done", in(object{"text": part["text"], "logprobs": []any{}}))
		emit("response.content_part.done", in(object{"part": part}))
	case "function_call":
		emit("response.output_item.added", object{"output_index": i, "item": with(started, object{"arguments": ""})})
		for _, half := range halves(text(item, "arguments")) {
			emit("response.function_call_arguments.delta", at(object{"delta": half}))
		}
		emit("response.function_call_arguments.done", at(object{"arguments": item["arguments"], "name": item["name"]}))
	default:
		emit("response.output_item.added", object{"output_index": i, "item": started})
	}
	emit("response.output_item.done", object{"output_index": i, "item": item})
}

// with returns a copy of an object with some keys changed.
func with(base, changed object) object {
	merged := object{}
	maps.Copy(merged, base)
	maps.Copy(merged, changed)
	return merged
}
