package provider

import "fmt"

// Answers of OpenAI's chat completions.

type completion struct {
	id, model, text string
	calls           []object
	usage           bool // a stream ends with the usage
}

func composeChat(req *request, turn Turn, number int) reply {
	options, _ := req.body["stream_options"].(object)
	c := &completion{id: fmt.Sprintf("chatcmpl-%02d", number), model: req.model, text: turn.Text, usage: flag(options, "include_usage")}
	for i, call := range turn.Calls {
		c.calls = append(c.calls, object{
			"id": fmt.Sprintf("call_%02d_%d", number, i), "type": "function",
			"function": object{"name": call.Name, "arguments": call.Arguments},
		})
	}
	return c
}

func (c *completion) finish() string {
	if len(c.calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

var chatUsage = object{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}

func (c *completion) whole() any {
	message := object{"role": "assistant", "content": c.text, "refusal": nil}
	if len(c.calls) > 0 {
		message["tool_calls"] = c.calls
		if c.text == "" {
			message["content"] = nil
		}
	}
	return object{
		"id": c.id, "object": "chat.completion", "created": 1700000000, "model": c.model, "usage": chatUsage,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": c.finish()}},
	}
}

func (c *completion) events() []event {
	var all []event
	chunk := func(delta object, finish any) {
		all = append(all, event{data: object{
			"id": c.id, "object": "chat.completion.chunk", "created": 1700000000, "model": c.model,
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}},
		}})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	if c.text != "" {
		for _, part := range halves(c.text) {
			chunk(object{"content": part}, nil)
		}
	}
	for i, call := range c.calls {
		function := call["function"].(object)
		chunk(object{"tool_calls": []any{object{
			"index": i, "id": call["id"], "type": "function", "function": object{"name": function["name"], "arguments": ""},
		}}}, nil)
		for _, part := range halves(function["arguments"].(string)) {
			chunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": part}}}}, nil)
		}
	}
	chunk(object{}, c.finish())
	if c.usage {
		all = append(all, event{data: object{
			"id": c.id, "object": "chat.completion.chunk", "created": 1700000000, "model": c.model, "choices": []any{}, "usage": chatUsage,
		}})
	}
	return append(all, event{data: "[DONE]"})
}
