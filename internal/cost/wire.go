package cost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/tokens"
)

// Requests as their providers get them: made from what an agent gives its model, or read from
// the body of an HTTP request. Each element of a list is on a line of its own, so that a list
// that grows at its end keeps its beginning.
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
	for i, m := range input {
		if m.Role == schema.System && len(r.Messages) == 0 {
			r.System = appendLine(r.System, w.system(m.Content))
			continue
		}
		for _, line := range w.message(input, i) {
			r.Messages = appendLine(r.Messages, line)
		}
	}
	if w.wire == WireMessages {
		for _, mark := range []int{len(r.Tools), len(r.Tools) + len(r.System), len(r.Tools) + len(r.System) + len(r.Messages)} {
			if mark > 0 && !slices.Contains(r.Marks, mark) {
				r.Marks = append(r.Marks, mark)
			}
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
	written, ok := w.definitions[t]
	if !ok {
		if w.definitions == nil {
			w.definitions = make(map[*schema.ToolInfo][]byte)
		}
		written = w.define(t)
		w.definitions[t] = written
	}
	return written
}

func (w *writer) define(t *schema.ToolInfo) []byte {
	parameters := json.RawMessage(schemacheck.JSON(t))
	if w.wire == WireMessages {
		return text(struct {
			Schema      json.RawMessage `json:"input_schema"`
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
		}{parameters, t.Name, t.Desc})
	}
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	return text(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{t.Name, t.Desc, parameters}})
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
func (w *writer) message(input []*schema.Message, i int) (lines [][]byte) {
	m := input[i]
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
	for i := range messages {
		for _, line := range w.message(messages, i) {
			sum += tokens.Of(line)
		}
	}
	return sum - tokens.Of(call.Function.Name) - tokens.Of(call.Function.Arguments)
}

// text writes a value as the adapters do.
func text(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		return nil // cannot happen: schemacheck writes definitions as JSON
	}
	return data
}

// ReadBody reads the body of an HTTP request of Anthropic's Messages, OpenAI's chat completions
// or OpenAI's Responses API, and takes the bytes of its elements as they are. Marks are where
// cache_control stands. Output and At are not in a body.
func ReadBody(body []byte) (Request, error) {
	var fields struct {
		Tools, Messages             []json.RawMessage
		System, Instructions, Input json.RawMessage
		CacheControl                json.RawMessage `json:"cache_control"`
	}
	if err := json.Unmarshal(body, &fields); err != nil {
		return Request{}, fmt.Errorf("cost: the body of a request: %w", err)
	}
	messages := fields.Messages
	if messages == nil {
		messages = elements(fields.Input)
	}
	if messages == nil {
		return Request{}, fmt.Errorf("cost: the body of a request has neither messages nor input")
	}
	b := bodyReader{system: -1}
	deferred := map[string]json.RawMessage{}
	for _, t := range fields.Tools {
		if name, isDeferred := deferredName(t); isDeferred {
			deferred[name] = t
			continue
		}
		b.add(t)
	}
	tools := b.at
	for _, part := range slices.Concat(elements(fields.System), elements(fields.Instructions)) {
		b.add(part)
	}
	isLeading := true
	for _, m := range messages {
		role := roleOf(m)
		if isLeading = isLeading && (role == "system" || role == "developer"); !isLeading && b.system < 0 {
			b.system = b.at
		}
		var found []json.RawMessage
		for _, name := range referencesIn(m) {
			if definition := deferred[name]; definition != nil {
				found = append(found, definition)
			}
		}
		b.add(m, found...)
	}
	if b.system < 0 {
		b.system = b.at
	}
	if isBreakpoint(fields.CacheControl) {
		b.marks = append(b.marks, b.at)
	}
	all := b.text.Bytes()
	return Request{Tools: all[:tools:tools], System: all[tools:b.system:b.system], Messages: all[b.system:], Marks: b.marks}, nil
}

// elements returns the elements of a list. A value that is not a list is its own element.
func elements(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if json.Unmarshal(raw, &list) != nil {
		return []json.RawMessage{raw}
	}
	return list
}

func roleOf(message json.RawMessage) string {
	var m struct{ Role string }
	_ = json.Unmarshal(message, &m) // a string has no role
	return m.Role
}

func deferredName(t json.RawMessage) (name string, isDeferred bool) {
	var tool struct {
		Name  string
		Defer bool `json:"defer_loading"`
	}
	if json.Unmarshal(t, &tool) != nil {
		return "", false
	}
	return tool.Name, tool.Defer
}

// referencesIn returns the names of the tools that a message of WireMessages refers to.
func referencesIn(message json.RawMessage) (names []string) {
	if !bytes.Contains(message, []byte(`"tool_reference"`)) {
		return nil
	}
	var m struct {
		Content []struct {
			Content []struct {
				Type string
				Name string `json:"tool_name"`
			}
		}
	}
	if json.Unmarshal(message, &m) != nil {
		return nil
	}
	for _, c := range m.Content {
		for _, reference := range c.Content {
			if reference.Type == "tool_reference" {
				names = append(names, reference.Name)
			}
		}
	}
	return names
}

// breakpoints returns where an element has breakpoints: the first byte of each and the byte after
// it, with a comma, ascending. A breakpoint stands in the element itself or in a block of its
// content. In a schema or in arguments, cache_control is a name like any other.
func breakpoints(element []byte) (places [][2]int) {
	decoder := json.NewDecoder(bytes.NewReader(element))
	var read func()
	read = func() {
		token, _ := decoder.Token() // what is read is JSON already
		switch token {
		case json.Delim('['):
			for decoder.More() {
				read()
			}
			_, _ = decoder.Token()
		case json.Delim('{'):
			isFirst := true // of the members that stay
			for decoder.More() {
				from := int(decoder.InputOffset())
				key, _ := decoder.Token()
				if key == "content" {
					isFirst = false
					read()
					continue
				}
				var value json.RawMessage
				_ = decoder.Decode(&value)
				if key != "cache_control" || !isBreakpoint(value) {
					isFirst = false
					continue
				}
				to := int(decoder.InputOffset())
				if isFirst && decoder.More() {
					to += bytes.IndexByte(element[to:], ',') + 1
				}
				places = append(places, [2]int{from, to})
			}
			_, _ = decoder.Token()
		}
	}
	read()
	return places
}

func isBreakpoint(cacheControl json.RawMessage) bool {
	var fields struct{ Type string }
	return json.Unmarshal(cacheControl, &fields) == nil && fields.Type == "ephemeral"
}

// A bodyReader puts elements together, without their breakpoints: a breakpoint moves from
// request to request, and the provider does not count that as a change.
type bodyReader struct {
	text       bytes.Buffer
	at, system int
	marks      []int
}

// add adds an element and the definitions it refers to, which are part of it.
func (b *bodyReader) add(element json.RawMessage, found ...json.RawMessage) {
	places := breakpoints(element)
	var unmarked []byte
	at := 0
	for _, place := range places {
		unmarked = append(unmarked, element[at:max(at, place[0])]...)
		at = place[1]
	}
	element = append(unmarked, element[at:]...)
	for _, line := range append([]json.RawMessage{element}, found...) {
		b.text.Write(line)
		b.text.WriteByte('\n')
		b.at += len(line) + 1
	}
	if len(places) > 0 {
		b.marks = append(b.marks, b.at)
	}
}
