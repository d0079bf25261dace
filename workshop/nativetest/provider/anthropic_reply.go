package provider

import (
	"encoding/json"
	"fmt"
)

// Answers of Anthropic's Messages API.

func composeMessage(req *request, turn Turn, number int) reply {
	blocks, inputs := []object{}, []string{} // inputs are the JSON of each block's input; "" means none
	add := func(block object, input string) { blocks, inputs = append(blocks, block), append(inputs, input) }
	stop := "end_turn"
	if req.model == Tying && !req.stream {
		add(object{"type": "thinking", "thinking": "Hm.", "signature": req.signature(len(req.body["messages"].([]any)))}, "")
	}
	if turn.Text != "" {
		add(object{"type": "text", "text": turn.Text}, "")
	}
	for i, call := range turn.Calls {
		id := fmt.Sprintf("%02d_%d", number, i)
		var input object
		err := json.Unmarshal([]byte(call.Arguments), &input)
		must(err == nil && input != nil || req.stream,
			"the script has arguments that are not an object, which only a stream can have: %s", call.Arguments)
		if !call.Server {
			stop = "tool_use"
			add(object{"type": "tool_use", "id": "toolu_" + id, "name": call.Name, "input": input}, call.Arguments)
			continue
		}
		must(req.search != "", "the script searches with the provider's tool, which the request does not have")
		add(object{"type": "server_tool_use", "id": "srvtoolu_" + id, "name": req.search, "input": input}, call.Arguments)
		references := []any{}
		for _, name := range call.Found {
			references = append(references, object{"type": "tool_reference", "tool_name": name})
		}
		add(object{"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_" + id, "content": object{
			"type": "tool_search_tool_search_result", "tool_references": references,
		}}, "")
	}
	message := func(content []object, stop any, output int) object {
		return object{
			"id": fmt.Sprintf("msg_%02d", number), "type": "message", "role": "assistant", "model": req.model, "content": content,
			"stop_reason": stop, "stop_sequence": nil, "usage": object{"input_tokens": 10, "output_tokens": output},
		}
	}
	var events []event
	emit := func(name string, data object) { events = append(events, event{name, with(data, object{"type": name})}) }
	emit("message_start", object{"message": message([]object{}, nil, 1)})
	emit("ping", nil)
	for i, block := range blocks {
		start, deltas := block, []object{}
		switch block["type"] {
		case "text":
			start = object{"type": "text", "text": ""}
			for _, part := range halves(text(block, "text")) {
				deltas = append(deltas, object{"type": "text_delta", "text": part})
			}
		case "tool_use", "server_tool_use":
			start = with(block, object{"input": object{}})
			for _, part := range append([]string{""}, halves(inputs[i])...) {
				deltas = append(deltas, object{"type": "input_json_delta", "partial_json": part})
			}
		}
		emit("content_block_start", object{"index": i, "content_block": start})
		for _, delta := range deltas {
			emit("content_block_delta", object{"index": i, "delta": delta})
		}
		emit("content_block_stop", object{"index": i})
	}
	emit("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 5}})
	emit("message_stop", nil)
	return reply{message(blocks, stop, 5), events}
}
