package provider

import (
	"fmt"
	"slices"
	"strings"
)

// The rules of Anthropic's Messages API for a conversation: the order of roles, and the results
// that calls must have.

// conversation is the state while the messages of a request are read in order.
type conversation struct {
	request *request
	ids     map[string]bool // of all calls so far
	open    []string        // calls of the last assistant message
	at      int             // the number of that message
	found   []string        // tools that a result refers to
}

func (c *conversation) read(messages []object) *fault {
	if len(messages) == 0 {
		return faultf("messages: at least one message is required")
	}
	if text(messages[0], "role") != "user" {
		return faultf("messages: first message must use the \"user\" role")
	}
	for i, m := range messages {
		blocks, f := blocksOf(m, i, len(messages))
		switch role := text(m, "role"); {
		case f != nil:
		case role == "assistant":
			f = c.readAssistant(i, blocks)
		case role == "user":
			f = c.readUser(i, blocks)
		default:
			f = faultf("messages.%d.role: Input should be 'user' or 'assistant'", i)
		}
		if f != nil {
			return f
		}
	}
	if len(c.open) > 0 {
		return c.unanswered()
	}
	if len(c.ids) > 0 && len(c.request.tools) == 0 {
		return faultf("Requests which have `tool_use` or `tool_result` blocks in messages must define tools.")
	}
	return nil
}

// blocksOf returns the content of a message as a list.
func blocksOf(m object, i, total int) ([]object, *fault) {
	if content, isText := m["content"].(string); isText {
		m = object{"content": []any{object{"type": "text", "text": content}}}
	}
	blocks, ok := list(m, "content")
	if !ok {
		return nil, faultf("messages.%d.content: Input should be a valid list", i)
	}
	if len(blocks) == 0 && i < total-1 {
		return nil, faultf("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
	}
	for j, b := range blocks {
		switch content := text(b, "text"); {
		case text(b, "type") == "":
			return nil, faultf("messages.%d.content.%d.type: Field required", i, j)
		case text(b, "type") != "text":
		case content == "":
			return nil, faultf("messages: text content blocks must be non-empty")
		case blank(content):
			return nil, faultf("messages: text content blocks must contain non-whitespace text")
		}
	}
	return blocks, nil
}

func (c *conversation) readAssistant(i int, blocks []object) *fault {
	if len(c.open) > 0 {
		return c.unanswered()
	}
	c.at = i
	searching := ""
	for j, b := range blocks {
		place := fmt.Sprintf("messages.%d.content.%d", i, j)
		switch kind := text(b, "type"); kind {
		case "text", "thinking", "redacted_thinking":
		case "tool_use", "server_tool_use":
			id, name := text(b, "id"), text(b, "name")
			_, isObject := b["input"].(object)
			switch {
			case !idPattern.MatchString(id):
				return faultf("%s.%s.id: String should match pattern '^[a-zA-Z0-9_-]+$'", place, kind)
			case !namePattern.MatchString(name) || len(name) > 200:
				return faultf("%s.%s.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'", place, kind)
			case !isObject:
				return faultf("%s.%s.input: Input should be a valid dictionary", place, kind)
			case c.ids[id]:
				return faultf("messages.%d.content.%d: `tool_use` ids must be unique", i, j)
			}
			c.ids[id] = true
			if kind == "server_tool_use" {
				searching = id
			} else {
				c.open = append(c.open, id)
			}
		case "tool_search_tool_result":
			if id := text(b, "tool_use_id"); id == "" || id != searching {
				return faultf("%s: unexpected `tool_use_id` found in `tool_search_tool_result` blocks: %s.", place, id)
			}
			content, _ := b["content"].(object)
			references, ok := list(content, "tool_references")
			if content == nil || !ok {
				return faultf("%s.tool_search_tool_result.content: Field required", place)
			}
			if f := c.refer(references); f != nil {
				return f
			}
			searching = ""
		default:
			return faultf("%s: Input tag '%s' found using 'type' does not match any of the expected tags", place, kind)
		}
	}
	if searching != "" {
		return faultf("messages.%d: `server_tool_use` block %s has no result block after it", i, searching)
	}
	return nil
}

// readUser reads a user message. After an assistant message it must begin with the results of
// all calls. Several user messages in a row are allowed and are read as one turn.
func (c *conversation) readUser(i int, blocks []object) *fault {
	answered := map[string]bool{}
	for j, b := range blocks {
		switch kind := text(b, "type"); kind {
		case "tool_result":
			id := text(b, "tool_use_id")
			switch {
			case answered[id]:
				return faultf("messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", i, j, id)
			case !slices.Contains(c.open, id):
				return faultf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
					"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, id)
			}
			answered[id] = true
			c.open = slices.DeleteFunc(c.open, func(open string) bool { return open == id })
			if f := c.readResult(i, j, b); f != nil {
				return f
			}
		case "text", "image", "document":
			if len(c.open) > 0 {
				return c.unanswered()
			}
		default:
			return faultf("messages.%d.content.%d: Input tag '%s' found using 'type' does not match any of the expected tags", i, j, kind)
		}
	}
	if len(c.open) > 0 {
		return c.unanswered()
	}
	return nil
}

func (c *conversation) readResult(i, j int, result object) *fault {
	if _, isText := result["content"].(string); isText {
		return nil
	}
	content, ok := list(result, "content")
	if !ok {
		return faultf("messages.%d.content.%d.tool_result.content: Input should be a valid list", i, j)
	}
	var references []object
	for k, b := range content {
		switch kind := text(b, "type"); kind {
		case "text", "image", "document", "search_result":
		case "tool_reference":
			references = append(references, b)
		default:
			return faultf("messages.%d.content.%d.tool_result.content.%d: Input tag '%s' found using 'type' does not match any of the expected tags", i, j, k, kind)
		}
	}
	return c.refer(references)
}

// refer records found tools. Each needs a definition.
func (c *conversation) refer(references []object) *fault {
	for _, b := range references {
		name := text(b, "tool_name")
		if c.request.tools[name] == nil {
			return faultf("Tool reference '%s' has no corresponding tool definition", name)
		}
		c.found = append(c.found, name)
	}
	return nil
}

func (c *conversation) unanswered() *fault {
	return faultf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
		"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", c.at, strings.Join(c.open, ", "))
}
