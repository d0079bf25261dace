package toolsearchtest

import (
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
)

// The roles of a Message.
const (
	System    = "system"
	User      = "user"
	Assistant = "assistant"
	Tool      = "tool"
)

// A Message is the plain form of either of Eino's message types. It has the parts that a
// conversation with tools needs.
type Message struct {
	Role  string
	Text  string // several texts are joined by line breaks
	Calls []Call // assistant messages only

	// Of tool messages only.
	CallID   string             // the call it answers
	ToolName string             // the tool that answers
	Found    []*schema.ToolInfo // the tools that a native search found
	Native   bool               // whether it is the result of a native search

	Extra map[string]any
}

// A Call is a call of a tool. A Model assigns an ID if it is empty.
type Call struct {
	ID        string
	Name      string
	Arguments string
}

// Decode turns an Eino message into its plain form.
func Decode[M adk.MessageType](msg M) Message {
	if m, agentic := any(msg).(*schema.AgenticMessage); agentic {
		return decodeAgentic(m)
	}
	return decodeMessage(any(msg).(*schema.Message))
}

// Encode turns the plain form into an Eino message.
func Encode[M adk.MessageType](message Message) M {
	if _, agentic := any(*new(M)).(*schema.AgenticMessage); agentic {
		return any(encodeAgentic(message)).(M)
	}
	return any(encodeMessage(message)).(M)
}

func decodeMessage(m *schema.Message) Message {
	message := Message{
		Role: string(m.Role), Text: m.Content,
		CallID: m.ToolCallID, ToolName: m.ToolName, Extra: m.Extra,
	}
	for _, call := range m.ToolCalls {
		message.Calls = append(message.Calls, Call{call.ID, call.Function.Name, call.Function.Arguments})
	}
	for _, part := range m.UserInputMultiContent {
		message.addText(part.Text)
		message.addFound(part.ToolSearchResult)
	}
	return message
}

func decodeAgentic(m *schema.AgenticMessage) Message {
	message := Message{Role: string(m.Role), Extra: m.Extra}
	for _, block := range m.ContentBlocks {
		switch {
		case block == nil:
		case block.UserInputText != nil:
			message.addText(block.UserInputText.Text)
		case block.AssistantGenText != nil:
			message.addText(block.AssistantGenText.Text)
		case block.FunctionToolCall != nil:
			call := block.FunctionToolCall
			message.Calls = append(message.Calls, Call{call.CallID, call.Name, call.Arguments})
		case block.FunctionToolResult != nil:
			result := block.FunctionToolResult
			message.Role, message.CallID, message.ToolName = Tool, result.CallID, result.Name
			for _, content := range result.Content {
				if content != nil && content.Text != nil {
					message.addText(content.Text.Text)
				}
			}
		case block.ToolSearchFunctionToolResult != nil:
			result := block.ToolSearchFunctionToolResult
			message.Role, message.CallID, message.ToolName = Tool, result.CallID, result.Name
			message.addFound(result.Result)
		}
	}
	return message
}

func (m *Message) addText(text string) {
	if text == "" {
		return
	}
	if m.Text != "" {
		m.Text += "\n"
	}
	m.Text += text
}

func (m *Message) addFound(result *schema.ToolSearchResult) {
	if result != nil {
		m.Native = true
		m.Found = append(m.Found, result.Tools...)
	}
}

func encodeMessage(message Message) *schema.Message {
	m := &schema.Message{
		Role: schema.RoleType(message.Role), Content: message.Text,
		ToolCallID: message.CallID, ToolName: message.ToolName, Extra: message.Extra,
	}
	if message.Native {
		m.UserInputMultiContent = []schema.MessageInputPart{{
			Type:             schema.ChatMessagePartTypeToolSearchResult,
			ToolSearchResult: &schema.ToolSearchResult{Tools: message.Found},
		}}
	}
	for i, call := range message.Calls {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{
			Index: &i, ID: call.ID, Type: "function", Function: schema.FunctionCall{Name: call.Name, Arguments: call.Arguments},
		})
	}
	return m
}

func encodeAgentic(message Message) *schema.AgenticMessage {
	m := &schema.AgenticMessage{Role: schema.AgenticRoleType(message.Role), Extra: message.Extra}
	add := func(block *schema.ContentBlock) { m.ContentBlocks = append(m.ContentBlocks, block) }
	switch {
	case message.Role == Tool && message.Native:
		m.Role = schema.AgenticRoleTypeUser
		add(schema.NewContentBlock(&schema.ToolSearchFunctionToolResult{
			CallID: message.CallID, Name: message.ToolName, Result: &schema.ToolSearchResult{Tools: message.Found},
		}))
	case message.Role == Tool:
		m.Role = schema.AgenticRoleTypeUser
		add(schema.NewContentBlock(&schema.FunctionToolResult{
			CallID: message.CallID, Name: message.ToolName,
			Content: []*schema.FunctionToolResultContentBlock{{
				Type: schema.FunctionToolResultContentBlockTypeText, Text: &schema.UserInputText{Text: message.Text},
			}},
		}))
	case message.Role == Assistant && message.Text != "":
		add(schema.NewContentBlock(&schema.AssistantGenText{Text: message.Text}))
	case message.Role != Assistant:
		add(schema.NewContentBlock(&schema.UserInputText{Text: message.Text}))
	}
	for _, call := range message.Calls {
		add(schema.NewContentBlock(&schema.FunctionToolCall{CallID: call.ID, Name: call.Name, Arguments: call.Arguments}))
	}
	return m
}

// chunks splits an assistant message as a provider streams it: the text in pieces, then each
// call with its arguments in pieces.
func chunks[M adk.MessageType](message Message) (list []M) {
	add := func(part Message, call int) {
		part.Role = Assistant
		chunk := Encode[M](part)
		switch m := any(chunk).(type) {
		case *schema.Message:
			for i := range m.ToolCalls {
				m.ToolCalls[i].Index = &call
			}
		case *schema.AgenticMessage:
			for _, block := range m.ContentBlocks {
				block.StreamingMeta = &schema.StreamingMeta{Index: call + 1}
			}
		}
		list = append(list, chunk)
	}
	for _, piece := range pieces(message.Text) {
		add(Message{Text: piece}, -1)
	}
	for i, call := range message.Calls {
		for _, piece := range pieces(call.Arguments) {
			add(Message{Calls: []Call{{call.ID, call.Name, piece}}}, i)
			call.ID, call.Name = "", "" // only the first chunk of a call has its ID and name
		}
	}
	return list
}

// pieces splits a text in two. A text of fewer than two characters stays whole.
func pieces(text string) []string {
	half := []rune(text)
	if len(half) < 2 {
		return []string{text}
	}
	return []string{string(half[:len(half)/2]), string(half[len(half)/2:])}
}
