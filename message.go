package toolsearch

import (
	"maps"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// The only file that knows that Eino has two message types, *schema.Message and
// *schema.AgenticMessage: what the library reads from one, the view, and the few ways it
// makes or changes one. What is changed is copied first.

// message is either type; it is adk.MessageType under a name of our own, so that files
// that work on messages need not know of the agent.
type message interface {
	*schema.Message | *schema.AgenticMessage
}

// Keys of the marks the library leaves in the Extra of messages and calls. Values are
// strings, since Extra goes through gob at a checkpoint and gob takes no unknown types.
const (
	reminderMark = "_toolsearch_reminder"       // on a reminder: the name of the search tool
	callNameMark = "_toolsearch_call_name"      // on a stand-in call: the name the model called
	callArgsMark = "_toolsearch_call_arguments" // on a stand-in call: its arguments
)

// What agenticopenai leaves in the Extra of a native search call. Such a call takes nothing
// but a native result, and an item of its id is no ordinary call: docs/adapters.md.
const (
	nativeCallMark = "openai-tool-search-tool-call"
	nativeCallItem = "openai-item-id"
)

// summaryMark is what Eino's summarization middleware leaves in the Extra of a summary.
const summaryMark = "_eino_summarization_content_type"

// view is what we read from one message.
type view struct {
	system    bool
	user      bool     // a user's text
	text      string   // of a user's or a system message that is nothing but one text
	texts     []string // of a user's message that has several parts
	extra     map[string]any
	reminder  string // reminderMark
	summary   bool
	assistant bool
	calls     []callView
	results   []resultView
}

// callView is a tool call of an assistant's message.
type callView struct {
	at              int // index into the message's calls or blocks
	id, name, args  string
	standIn         bool   // the middleware put it there in place of
	wanted, wantArg string // the model's own call
	nativeSearch    bool   // the adapter marked it as a search of the provider's own kind
}

// resultView is one part of a tool result: a text or the tools of a native search.
type resultView struct {
	at         int // index into the message's blocks
	callID     string
	name       string
	text       string
	native     bool
	foundTools []*schema.ToolInfo
}

// codec is how one of the message types is read and made.
type codec[M message] struct {
	// read fills v, whose slices it reuses.
	read func(msg M, v *view)
	// user makes a user's message.
	user func(text string, extra map[string]any) M
	// system makes a system message.
	system func(text string, extra map[string]any) M
	// setText returns a copy of a user's or system message that is one text, with another
	// text and Extra.
	setText func(msg M, text string, extra map[string]any) M
	// setCalls returns a copy with the calls at those indexes replaced.
	setCalls func(msg M, calls []callView) M
	// nameResults returns a copy with those tool results renamed.
	nameResults func(msg M, results []resultView) M
	// setResults returns a copy with the content of those results replaced: by the tools
	// found if the result is native, else by the text.
	setResults func(msg M, results []resultView) M
	// ordinaryCalls returns a copy in which the calls at those indexes are no native searches.
	ordinaryCalls func(msg M, calls []callView) M
	// wordless says that a native search call takes no answer but a search result, which so
	// has to stand in the history as one: the agentic adapters send a text as the result of
	// an ordinary call, which the provider refuses.
	wordless bool
}

func codecOf[M message]() codec[M] {
	var zero M
	switch any(zero).(type) {
	case *schema.AgenticMessage:
		return any(agenticCodec).(codec[M])
	default:
		return any(messageCodec).(codec[M])
	}
}

func (v *view) reset() {
	// Field by field: a whole view is copied with a write barrier, and every message of every
	// history comes by here.
	v.system, v.user, v.summary, v.assistant = false, false, false, false
	v.text, v.reminder, v.extra = "", "", nil
	v.texts, v.calls, v.results = v.texts[:0], v.calls[:0], v.results[:0]
}

func (v *view) readExtra(extra map[string]any) {
	v.extra = extra
	if len(extra) > 0 {
		v.reminder, _ = extra[reminderMark].(string)
		_, v.summary = extra[summaryMark]
	}
}

// unmasked tells a stand-in call from the model's own.
func (c callView) unmasked(extra map[string]any) callView {
	if len(extra) > 0 {
		if name, ok := extra[callNameMark].(string); ok {
			c.standIn = true
			c.wanted = name
			c.wantArg, _ = extra[callArgsMark].(string)
		}
	}
	return c
}

// marked returns the Extra of the call c is to become.
func (c callView) marked(extra map[string]any) map[string]any {
	extra = maps.Clone(extra)
	if c.standIn {
		if extra == nil {
			extra = make(map[string]any, 2)
		}
		extra[callNameMark], extra[callArgsMark] = c.wanted, c.wantArg
		return extra
	}
	delete(extra, callNameMark)
	delete(extra, callArgsMark)
	if len(extra) == 0 {
		return nil
	}
	return extra
}

var messageCodec = codec[*schema.Message]{
	read: func(m *schema.Message, v *view) {
		v.reset()
		if m == nil {
			return
		}
		switch m.Role {
		case schema.System:
			v.system = true
			v.readExtra(m.Extra)
			if len(m.UserInputMultiContent) == 0 && len(m.MultiContent) == 0 {
				v.text = m.Content
			}
		case schema.User:
			v.user = true
			v.readExtra(m.Extra)
			if len(m.UserInputMultiContent) == 0 && len(m.MultiContent) == 0 {
				v.text = m.Content
			}
			for _, part := range m.UserInputMultiContent {
				v.texts = append(v.texts, part.Text)
			}
			for _, part := range m.MultiContent {
				v.texts = append(v.texts, part.Text)
			}
		case schema.Assistant:
			v.assistant = true
			for i, call := range m.ToolCalls {
				v.calls = append(v.calls, callView{
					at: i, id: call.ID, name: call.Function.Name, args: call.Function.Arguments,
				}.unmasked(call.Extra))
			}
		case schema.Tool:
			result := resultView{callID: m.ToolCallID, name: m.ToolName}
			if len(m.UserInputMultiContent) == 0 {
				result.text = m.Content
				v.results = append(v.results, result)
			}
			for _, part := range m.UserInputMultiContent {
				result.text, result.foundTools, result.native = part.Text, nil, false
				if part.ToolSearchResult != nil {
					result.native = true
					result.foundTools = part.ToolSearchResult.Tools
				}
				v.results = append(v.results, result)
			}
		}
	},
	user: func(text string, extra map[string]any) *schema.Message {
		m := schema.UserMessage(text)
		m.Extra = extra
		return m
	},
	system: func(text string, extra map[string]any) *schema.Message {
		m := schema.SystemMessage(text)
		m.Extra = extra
		return m
	},
	setText: func(m *schema.Message, text string, extra map[string]any) *schema.Message {
		changed := *m
		changed.Content, changed.Extra = text, extra
		return &changed
	},
	setCalls: func(m *schema.Message, calls []callView) *schema.Message {
		changed := *m
		changed.ToolCalls = append([]schema.ToolCall(nil), m.ToolCalls...)
		for _, c := range calls {
			call := &changed.ToolCalls[c.at]
			call.Function.Name, call.Function.Arguments = c.name, c.args
			call.Extra = c.marked(call.Extra)
		}
		return &changed
	},
	nameResults: func(m *schema.Message, results []resultView) *schema.Message {
		changed := *m
		changed.ToolName = results[0].name
		return &changed
	},
	setResults: func(m *schema.Message, results []resultView) *schema.Message {
		changed := *m
		changed.Content, changed.UserInputMultiContent = "", nil
		for _, r := range results {
			if !r.native {
				changed.Content += r.text
				continue
			}
			changed.UserInputMultiContent = append(changed.UserInputMultiContent, schema.MessageInputPart{
				Type:             schema.ChatMessagePartTypeToolSearchResult,
				ToolSearchResult: &schema.ToolSearchResult{Tools: r.foundTools},
			})
		}
		return &changed
	},
	ordinaryCalls: func(m *schema.Message, _ []callView) *schema.Message { return m },
}

var agenticCodec = codec[*schema.AgenticMessage]{
	wordless: true,
	read: func(m *schema.AgenticMessage, v *view) {
		v.reset()
		if m == nil {
			return
		}
		switch m.Role {
		case schema.AgenticRoleTypeSystem:
			v.system = true
			v.readExtra(m.Extra)
		case schema.AgenticRoleTypeAssistant:
			v.assistant = true
		case schema.AgenticRoleTypeUser:
			v.user = true
			v.readExtra(m.Extra)
		}
		for i, block := range m.ContentBlocks {
			switch {
			case block == nil:
			case block.FunctionToolCall != nil:
				call := block.FunctionToolCall
				isNative, _ := block.Extra[nativeCallMark].(bool)
				v.calls = append(v.calls, callView{
					at: i, id: call.CallID, name: call.Name, args: call.Arguments, nativeSearch: isNative,
				}.unmasked(block.Extra))
			case block.FunctionToolResult != nil:
				result := resultView{at: i, callID: block.FunctionToolResult.CallID, name: block.FunctionToolResult.Name}
				for _, content := range block.FunctionToolResult.Content {
					if content != nil && content.Text != nil {
						result.text = content.Text.Text
						v.results = append(v.results, result)
					}
				}
			case block.ToolSearchFunctionToolResult != nil:
				found := block.ToolSearchFunctionToolResult
				result := resultView{at: i, callID: found.CallID, name: found.Name, native: true}
				if found.Result != nil {
					result.foundTools = found.Result.Tools
				}
				v.results = append(v.results, result)
			case (v.user || v.system) && block.UserInputText != nil && len(m.ContentBlocks) == 1:
				v.text = block.UserInputText.Text
			case v.user && block.UserInputText != nil:
				v.texts = append(v.texts, block.UserInputText.Text)
			}
		}
		v.user = v.user && len(v.results) == 0
	},
	user: func(text string, extra map[string]any) *schema.AgenticMessage {
		m := schema.UserAgenticMessage(text)
		m.Extra = extra
		return m
	},
	system: func(text string, extra map[string]any) *schema.AgenticMessage {
		m := schema.SystemAgenticMessage(text)
		m.Extra = extra
		return m
	},
	setText: func(m *schema.AgenticMessage, text string, extra map[string]any) *schema.AgenticMessage {
		changed := *m
		changed.Extra = extra
		block := *m.ContentBlocks[0]
		block.UserInputText = &schema.UserInputText{Text: text}
		changed.ContentBlocks = []*schema.ContentBlock{&block}
		return &changed
	},
	setCalls: func(m *schema.AgenticMessage, calls []callView) *schema.AgenticMessage {
		changed := *m
		changed.ContentBlocks = append([]*schema.ContentBlock(nil), m.ContentBlocks...)
		for _, c := range calls {
			block, call := *changed.ContentBlocks[c.at], *changed.ContentBlocks[c.at].FunctionToolCall
			call.Name, call.Arguments = c.name, c.args
			block.FunctionToolCall = &call
			block.Extra = c.marked(block.Extra)
			changed.ContentBlocks[c.at] = &block
		}
		return &changed
	},
	nameResults: func(m *schema.AgenticMessage, results []resultView) *schema.AgenticMessage {
		changed := *m
		changed.ContentBlocks = append([]*schema.ContentBlock(nil), m.ContentBlocks...)
		for _, r := range results {
			block := *changed.ContentBlocks[r.at]
			if block.FunctionToolResult == nil {
				continue // a native result belongs to a native search
			}
			result := *block.FunctionToolResult
			result.Name = r.name
			block.FunctionToolResult = &result
			changed.ContentBlocks[r.at] = &block
		}
		return &changed
	},
	setResults: func(m *schema.AgenticMessage, results []resultView) *schema.AgenticMessage {
		changed := *m
		changed.ContentBlocks = append([]*schema.ContentBlock(nil), m.ContentBlocks...)
		for _, r := range results {
			var block *schema.ContentBlock
			if r.native {
				block = schema.NewContentBlock(&schema.ToolSearchFunctionToolResult{
					CallID: r.callID, Name: r.name, Result: &schema.ToolSearchResult{Tools: r.foundTools},
				})
			} else {
				block = schema.NewContentBlock(&schema.FunctionToolResult{
					CallID: r.callID, Name: r.name,
					Content: []*schema.FunctionToolResultContentBlock{{
						Type: schema.FunctionToolResultContentBlockTypeText, Text: &schema.UserInputText{Text: r.text},
					}},
				})
			}
			block.Extra = m.ContentBlocks[r.at].Extra
			changed.ContentBlocks[r.at] = block
		}
		return &changed
	},
	ordinaryCalls: func(m *schema.AgenticMessage, calls []callView) *schema.AgenticMessage {
		changed := *m
		changed.ContentBlocks = append([]*schema.ContentBlock(nil), m.ContentBlocks...)
		for _, c := range calls {
			block := *changed.ContentBlocks[c.at]
			block.Extra = maps.Clone(block.Extra)
			delete(block.Extra, nativeCallMark)
			delete(block.Extra, nativeCallItem)
			changed.ContentBlocks[c.at] = &block
		}
		return &changed
	},
}

// textOnly reports whether the view's text is all a user said in a message.
func (v *view) textOnly() bool {
	return v.user && strings.TrimSpace(v.text) != ""
}

// said is everything a user's message says in words.
func (v *view) said() string {
	if v.text != "" || len(v.texts) == 0 {
		return v.text
	}
	return strings.Join(v.texts, "\n")
}
