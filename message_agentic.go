package toolsearch

import (
	"maps"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// The codec of *schema.AgenticMessage: texts, calls and results are blocks.

// The marks that agenticopenai leaves in the Extra of a native search call. Only a native result can answer such a
// call, and the item with its id is not an ordinary call: see docs/adapters.md.
const (
	nativeCallMark = "openai-tool-search-tool-call"
	nativeCallItem = "openai-item-id"
)

type agenticCodec struct{}

func (agenticCodec) read(m *schema.AgenticMessage, v *view) {
	if m == nil {
		return
	}
	v.readExtra(m.Extra)
	v.system = m.Role == schema.AgenticRoleTypeSystem
	v.assistant = m.Role == schema.AgenticRoleTypeAssistant
	v.user = m.Role == schema.AgenticRoleTypeUser
	for i, block := range m.ContentBlocks {
		if v.user && block != nil && (block.UserInputText != nil || strings.HasPrefix(string(block.Type), "user_input_")) {
			v.inputs++
		}
		switch {
		case block == nil:
		case block.FunctionToolCall != nil:
			call := block.FunctionToolCall
			isNative, _ := block.Extra[nativeCallMark].(bool)
			v.calls = append(v.calls, callView{at: int32(i), id: call.CallID, name: call.Name, args: call.Arguments, nativeSearch: isNative})
			v.calls[len(v.calls)-1].unmask(block.Extra)
		case block.FunctionToolResult != nil:
			result := resultView{at: int32(i), callID: block.FunctionToolResult.CallID, name: block.FunctionToolResult.Name}
			for _, content := range block.FunctionToolResult.Content {
				if content != nil && content.Text != nil {
					result.text = content.Text.Text
					v.results = append(v.results, result)
					result.part++
				}
			}
			if result.part == 0 { // an answer all the same
				v.results = append(v.results, result)
			}
		case block.ToolSearchFunctionToolResult != nil:
			found := block.ToolSearchFunctionToolResult
			result := resultView{at: int32(i), callID: found.CallID, name: found.Name, native: true}
			if found.Result != nil {
				result.found = found.Result.Tools
			}
			v.results = append(v.results, result)
		case (v.user || v.system) && block.UserInputText != nil && len(m.ContentBlocks) == 1:
			v.text = block.UserInputText.Text
		case v.user && block.UserInputText != nil:
			v.texts = append(v.texts, block.UserInputText.Text)
		}
	}
	v.asks = v.user && len(v.results) > 0 && v.inputs > 0
	v.user = v.user && len(v.results) == 0
}

func (agenticCodec) make(v *view) *schema.AgenticMessage {
	m := schema.UserAgenticMessage(v.text)
	if v.system {
		m = schema.SystemAgenticMessage(v.text)
	}
	m.Extra = v.extra
	return m
}

func (agenticCodec) write(m *schema.AgenticMessage, v *view) *schema.AgenticMessage {
	changed := *m
	changed.ContentBlocks = slices.Clone(m.ContentBlocks)
	if v.retext {
		changed.Extra = v.extra
		block := *m.ContentBlocks[0]
		block.UserInputText = &schema.UserInputText{Text: v.text}
		changed.ContentBlocks = []*schema.ContentBlock{&block}
	}
	for i := range v.calls {
		if c := &v.calls[i]; c.edited || c.dropMark {
			changed.ContentBlocks[c.at] = c.block(changed.ContentBlocks[c.at])
		}
	}
	for i := range v.results {
		if r := &v.results[i]; r.renamed || r.replaced {
			changed.ContentBlocks[r.at] = r.block(changed.ContentBlocks[r.at])
		}
	}
	return &changed
}

func (c *callView) block(before *schema.ContentBlock) *schema.ContentBlock {
	block := *before
	if c.edited {
		call := *block.FunctionToolCall
		call.Name, call.Arguments = c.name, c.args
		block.FunctionToolCall = &call
		block.Extra = c.marked(block.Extra)
	}
	if c.dropMark {
		block.Extra = maps.Clone(block.Extra)
		delete(block.Extra, nativeCallMark)
		delete(block.Extra, nativeCallItem)
	}
	return &block
}

// block returns the block that the result becomes. A native result keeps its name, that of a native search.
func (r *resultView) block(before *schema.ContentBlock) *schema.ContentBlock {
	block := *before
	switch {
	case r.replaced && r.native:
		block = *schema.NewContentBlock(&schema.ToolSearchFunctionToolResult{
			CallID: r.callID, Name: r.name, Result: &schema.ToolSearchResult{Tools: r.found},
		})
	case r.replaced:
		block = *schema.NewContentBlock(&schema.FunctionToolResult{
			CallID: r.callID, Name: r.name,
			Content: []*schema.FunctionToolResultContentBlock{{
				Type: schema.FunctionToolResultContentBlockTypeText, Text: &schema.UserInputText{Text: r.text},
			}},
		})
	case before.FunctionToolResult != nil:
		result := *before.FunctionToolResult
		result.Name = r.name
		block.FunctionToolResult = &result
	}
	block.Extra = before.Extra
	return &block
}
