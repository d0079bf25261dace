package provider

import (
	"encoding/json"
	"fmt"
)

// Answers of Anthropic's Messages API.

// message is an answer: its content blocks, and for streaming the JSON of each call's input.
type message struct {
	id, model, stop string
	blocks          []object
	inputs          []string // by block; "" means no input
}

func composeMessage(req *request, turn Turn, number int) reply {
	m := &message{id: fmt.Sprintf("msg_%02d", number), model: req.model, stop: "end_turn"}
	if turn.Text != "" {
		m.add(object{"type": "text", "text": turn.Text}, "")
	}
	for i, call := range turn.Calls {
		id := fmt.Sprintf("%02d_%d", number, i)
		var input object
		err := json.Unmarshal([]byte(call.Arguments), &input)
		must(err == nil && input != nil || req.stream,
			faultf("the script has arguments that are not an object, which only a stream can have: %s", call.Arguments))
		if call.Server {
			must(req.search != "", faultf("the script searches with the provider's tool, which the request does not have"))
			m.addServerSearch("srvtoolu_"+id, req.search, call, input)
			continue
		}
		m.stop = "tool_use"
		m.add(object{"type": "tool_use", "id": "toolu_" + id, "name": call.Name, "input": input}, call.Arguments)
	}
	return m
}

func (m *message) add(block object, input string) {
	m.blocks = append(m.blocks, block)
	m.inputs = append(m.inputs, input)
}

func (m *message) addServerSearch(id, tool string, call Call, input object) {
	m.add(object{"type": "server_tool_use", "id": id, "name": tool, "input": input}, call.Arguments)
	references := []any{}
	for _, name := range call.Found {
		references = append(references, object{"type": "tool_reference", "tool_name": name})
	}
	m.add(object{"type": "tool_search_tool_result", "tool_use_id": id, "content": object{
		"type": "tool_search_tool_search_result", "tool_references": references,
	}}, "")
}

func (m *message) whole() any {
	blocks := m.blocks
	if blocks == nil {
		blocks = []object{}
	}
	return object{
		"id": m.id, "type": "message", "role": "assistant", "model": m.model, "content": blocks,
		"stop_reason": m.stop, "stop_sequence": nil, "usage": object{"input_tokens": 10, "output_tokens": 5},
	}
}

func (m *message) events() []event {
	named := func(name string, data object) event {
		data["type"] = name
		return event{name, data}
	}
	all := []event{named("message_start", object{"message": object{
		"id": m.id, "type": "message", "role": "assistant", "model": m.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": 10, "output_tokens": 1},
	}}), named("ping", object{})}
	for i, block := range m.blocks {
		start, deltas := block, []object{}
		switch block["type"] {
		case "text":
			start = object{"type": "text", "text": ""}
			for _, part := range halves(text(block, "text")) {
				deltas = append(deltas, object{"type": "text_delta", "text": part})
			}
		case "tool_use", "server_tool_use":
			start = object{"type": block["type"], "id": block["id"], "name": block["name"], "input": object{}}
			for _, part := range append([]string{""}, halves(m.inputs[i])...) {
				deltas = append(deltas, object{"type": "input_json_delta", "partial_json": part})
			}
		}
		all = append(all, named("content_block_start", object{"index": i, "content_block": start}))
		for _, delta := range deltas {
			all = append(all, named("content_block_delta", object{"index": i, "delta": delta}))
		}
		all = append(all, named("content_block_stop", object{"index": i}))
	}
	return append(all,
		named("message_delta", object{"delta": object{"stop_reason": m.stop, "stop_sequence": nil}, "usage": object{"output_tokens": 5}}),
		named("message_stop", object{}))
}
