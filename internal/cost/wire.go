package cost

import (
	"encoding/json"
	"slices"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/tokens"
)

// Requests as their providers get them, made from what an agent gives its model. Each element of a
// list is on a line of its own, so that a list that grows at its end keeps its beginning.
//
// Deferred definitions are left out, since a provider shows them to the model only once they are
// found. They then follow the search's result, as a part of it.

// request writes what a model is given.
func (w *writer) request(input []*schema.Message, options *model.Options) Request {
	tools := options.Tools
	if options.ToolSearchTool != nil {
		tools = append(slices.Clip(tools), options.ToolSearchTool)
	}
	var r Request
	for _, t := range tools {
		r.Tools = appendLine(r.Tools, w.definition(t))
	}
	for _, m := range input {
		if m.Role == schema.System && len(r.Messages) == 0 {
			r.System = appendLine(r.System, w.system(m.Content))
			continue
		}
		for _, line := range w.message(m) {
			r.Messages = appendLine(r.Messages, line)
		}
	}
	end := 0
	for _, part := range [][]byte{r.Tools, r.System, r.Messages} {
		if end += len(part); len(part) > 0 && w.wire == WireMessages {
			r.Marks = append(r.Marks, end)
		}
	}
	return r
}

func appendLine(b, line []byte) []byte { return append(append(b, line...), '\n') }

// A writer writes requests in one form.
type writer struct {
	wire        string
	definitions map[*schema.ToolInfo][]byte // already written
}

// definition writes a tool.
func (w *writer) definition(t *schema.ToolInfo) []byte {
	if written, ok := w.definitions[t]; ok {
		return written
	}
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	parameters := json.RawMessage(schemacheck.JSON(t))
	var written []byte
	if w.wire == WireMessages {
		written = text(struct {
			Schema      json.RawMessage `json:"input_schema"`
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
		}{parameters, t.Name, t.Desc})
	} else {
		written = text(struct {
			Type     string   `json:"type"`
			Function function `json:"function"`
		}{"function", function{t.Name, t.Desc, parameters}})
	}
	if w.definitions == nil {
		w.definitions = make(map[*schema.ToolInfo][]byte)
	}
	w.definitions[t] = written
	return written
}

// block is a part of a message of WireMessages.
type block struct {
	ID        string          `json:"id,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Name      string          `json:"name,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	ToolName  string          `json:"tool_name,omitempty"`
	IsError   *bool           `json:"is_error,omitempty"`
	Text      string          `json:"text,omitempty"`
	Content   []block         `json:"content,omitempty"`
	Type      string          `json:"type"`
}

func (w *writer) system(content string) []byte {
	if w.wire == WireMessages {
		return text(block{Text: content, Type: "text"})
	}
	return text(chatMessage{Role: "system", Content: &content})
}

// chatMessage is a message of WireChat.
type chatMessage struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content,omitempty"`
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	ID       string              `json:"id"`
	Type     string              `json:"type"`
	Function schema.FunctionCall `json:"function"`
}

// message writes a message and, if it is the result of a native search, what it found.
func (w *writer) message(m *schema.Message) (lines [][]byte) {
	found := foundBy(m)
	content := m.Content
	for _, part := range m.UserInputMultiContent {
		content += part.Text
	}
	if w.wire == WireMessages {
		lines = append(lines, w.blocks(m, content, found))
	} else {
		message := chatMessage{Role: string(m.Role), Content: &content, ToolCallID: m.ToolCallID}
		for _, call := range m.ToolCalls {
			message.ToolCalls = append(message.ToolCalls, chatCall{call.ID, "function", call.Function})
		}
		lines = append(lines, text(message))
	}
	for _, t := range found {
		lines = append(lines, w.definition(t))
	}
	return lines
}

func foundBy(m *schema.Message) (found []*schema.ToolInfo) {
	for _, part := range m.UserInputMultiContent {
		if part.ToolSearchResult != nil {
			found = append(found, part.ToolSearchResult.Tools...)
		}
	}
	return found
}

// blocks writes a message as Anthropic gets it.
func (w *writer) blocks(m *schema.Message, content string, found []*schema.ToolInfo) []byte {
	message := struct {
		Content []block `json:"content"`
		Role    string  `json:"role"`
	}{Role: string(m.Role)}
	switch {
	case m.Role == schema.Tool:
		message.Role = string(schema.User)
		result := block{ToolUseID: m.ToolCallID, Type: "tool_result"}
		for _, t := range found {
			result.Content = append(result.Content, block{ToolName: t.Name, Type: "tool_reference"})
		}
		if content != "" || len(found) == 0 {
			result.IsError = new(bool)
			result.Content = append(result.Content, block{Text: content, Type: "text"})
		}
		message.Content = append(message.Content, result)
	case content != "":
		message.Content = append(message.Content, block{Text: content, Type: "text"})
	}
	for _, call := range m.ToolCalls {
		arguments := json.RawMessage(call.Function.Arguments)
		if !json.Valid(arguments) {
			arguments = json.RawMessage("{}")
		}
		message.Content = append(message.Content, block{ID: call.ID, Input: arguments, Name: call.Function.Name, Type: "tool_use"})
	}
	return text(message)
}

// framing returns the tokens that a call and its result take beyond the model's answer and the
// tool's text.
func framing(wire string) (sum int) {
	call := schema.ToolCall{ID: "call_001", Type: "function", Function: schema.FunctionCall{Name: "x", Arguments: "{}"}}
	messages := []*schema.Message{schema.AssistantMessage("", []schema.ToolCall{call}), schema.ToolMessage("", call.ID)}
	w := writer{wire: wire}
	for _, m := range messages {
		for _, line := range w.message(m) {
			sum += tokens.Of(line)
		}
	}
	return sum - tokens.Of(call.Function.Name) - tokens.Of(call.Function.Arguments)
}

// text writes a value as the adapters do.
func text(value any) []byte {
	data, _ := json.Marshal(value) // it cannot fail: schemacheck writes definitions as JSON
	return data
}
