package toolsearch

import (
	"slices"

	"github.com/cloudwego/eino/schema"
)

// The codec of *schema.Message: a model's message has the calls, and each result is a message.

type chatCodec struct{}

func (chatCodec) read(m *schema.Message, v *view) {
	if m == nil {
		return
	}
	v.readExtra(m.Extra)
	switch m.Role {
	case schema.System, schema.User:
		v.system, v.user, v.inputs = m.Role == schema.System, m.Role == schema.User, 1
		if len(m.UserInputMultiContent) == 0 && len(m.MultiContent) == 0 {
			v.text = m.Content
		}
		for i := range m.UserInputMultiContent {
			v.texts = append(v.texts, m.UserInputMultiContent[i].Text)
		}
		for i := range m.MultiContent {
			v.texts = append(v.texts, m.MultiContent[i].Text)
		}
	case schema.Assistant:
		v.assistant = true
		for i := range m.ToolCalls {
			call := &m.ToolCalls[i]
			v.calls = append(v.calls, callView{at: int32(i), id: call.ID, name: call.Function.Name, args: call.Function.Arguments})
			v.calls[i].unmask(call.Extra)
		}
	case schema.Tool:
		if len(m.UserInputMultiContent) == 0 {
			v.results = append(v.results, resultView{callID: m.ToolCallID, name: m.ToolName, text: m.Content})
		}
		for i := range m.UserInputMultiContent {
			part := &m.UserInputMultiContent[i]
			result := resultView{part: int32(i), callID: m.ToolCallID, name: m.ToolName, text: part.Text}
			if part.ToolSearchResult != nil {
				result.native = true
				result.found = part.ToolSearchResult.Tools
			}
			v.results = append(v.results, result)
		}
	}
}

func (chatCodec) make(v *view) *schema.Message {
	m := schema.UserMessage(v.text)
	if v.system {
		m = schema.SystemMessage(v.text)
	}
	m.Extra = v.extra
	return m
}

func (chatCodec) write(m *schema.Message, v *view) *schema.Message {
	changed := *m
	if v.retext {
		changed.Content, changed.Extra = v.text, v.extra
	}
	changed.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range v.calls {
		if c := &v.calls[i]; c.edited {
			call := &changed.ToolCalls[c.at]
			call.Function.Name, call.Function.Arguments = c.name, c.args
			call.Extra = c.marked(call.Extra)
		}
	}
	for i := range v.results {
		r := &v.results[i]
		if r.renamed {
			changed.ToolName = r.name
		}
		switch {
		case r.replaced && r.native:
			changed.Content, changed.UserInputMultiContent = "", []schema.MessageInputPart{{
				Type:             schema.ChatMessagePartTypeToolSearchResult,
				ToolSearchResult: &schema.ToolSearchResult{Tools: r.found},
			}}
		case r.replaced:
			changed.Content, changed.UserInputMultiContent = r.text, nil
		}
	}
	return &changed
}
