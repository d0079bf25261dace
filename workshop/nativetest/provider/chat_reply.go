package provider

import "fmt"

// Answers of OpenAI's chat completions.

func composeChat(req *request, turn Turn, number int) reply {
	message, finish := object{"role": "assistant", "content": turn.Text, "refusal": nil}, "stop"
	var calls []object
	for i, call := range turn.Calls {
		calls = append(calls, object{
			"id": fmt.Sprintf("call_%02d_%d", number, i), "type": "function",
			"function": object{"name": call.Name, "arguments": call.Arguments},
		})
	}
	if len(calls) > 0 {
		finish, message["tool_calls"] = "tool_calls", calls
		if turn.Text == "" {
			message["content"] = nil
		}
	}
	answer := func(kind string, more object) object {
		return with(more, object{"id": fmt.Sprintf("chatcmpl-%02d", number), "object": kind, "created": 1700000000, "model": req.model})
	}
	usage := object{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	var events []event
	chunk := func(delta object, finish any) {
		events = append(events, event{data: answer("chat.completion.chunk", object{
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}},
		})})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	if turn.Text != "" {
		for _, part := range halves(turn.Text) {
			chunk(object{"content": part}, nil)
		}
	}
	for i, call := range turn.Calls {
		chunk(object{"tool_calls": []any{object{
			"index": i, "id": calls[i]["id"], "type": "function", "function": object{"name": call.Name, "arguments": ""},
		}}}, nil)
		for _, part := range halves(call.Arguments) {
			chunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": part}}}}, nil)
		}
	}
	chunk(object{}, finish)
	if options, _ := req.body["stream_options"].(object); flag(options, "include_usage") {
		events = append(events, event{data: answer("chat.completion.chunk", object{"choices": []any{}, "usage": usage})})
	}
	return reply{answer("chat.completion", object{
		"usage": usage, "choices": []any{object{"index": 0, "message": message, "finish_reason": finish}},
	}), append(events, event{data: "[DONE]"})}
}
