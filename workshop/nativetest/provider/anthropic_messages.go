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
	added   []string        // tools that system messages define
}

func (c *conversation) read(messages []object) {
	must(len(messages) > 0, "messages: at least one message is required")
	must(text(messages[0], "role") == "user", "messages: first message must use the \"user\" role")
	for i, m := range messages {
		role, blocks := text(m, "role"), blocksOf(m, i, len(messages))
		switch {
		case role == "assistant":
			c.readAssistant(i, blocks)
		case role == "user":
			c.readUser(i, blocks)
		default:
			must(role == "system", "messages.%d.role: Input should be 'user', 'assistant' or 'system'", i)
			must(c.request.model != Outdated, "messages.%d: role 'system' is not supported on this model", i)
			c.readSystem(i, blocks, messages)
		}
	}
	c.mustBeAnswered()
	must(len(c.ids) == 0 || len(c.request.tools) > 0,
		"Requests which have `tool_use` or `tool_result` blocks in messages must define tools.")
}

// blocksOf returns the content of a message as a list.
func blocksOf(m object, i, total int) []object {
	if content, isText := m["content"].(string); isText {
		m = object{"content": []any{object{"type": "text", "text": content}}}
	}
	blocks := list(m, "content", "messages.%d.content: Input should be a valid list", i)
	must(len(blocks) > 0 || i == total-1,
		"messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
	for j, b := range blocks {
		kind, content := text(b, "type"), text(b, "text")
		must(kind != "", "messages.%d.content.%d.type: Field required", i, j)
		must(kind != "text" || content != "", "messages: text content blocks must be non-empty")
		must(kind != "text" || strings.TrimSpace(content) != "", "messages: text content blocks must contain non-whitespace text")
	}
	return blocks
}

func (c *conversation) readAssistant(i int, blocks []object) {
	c.mustBeAnswered()
	c.at = i
	searching := ""
	for j, b := range blocks {
		place := fmt.Sprintf("messages.%d.content.%d", i, j)
		switch kind := text(b, "type"); kind {
		case "thinking":
			must(c.request.drops || c.request.model != Tying || text(b, "signature") == c.request.signature(i),
				"%s: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set "+
					"`thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".", place)
		case "text", "redacted_thinking":
		case "tool_use", "server_tool_use":
			id, name := text(b, "id"), text(b, "name")
			_, isObject := b["input"].(object)
			must(wordPattern.MatchString(id), "%s.%s.id: String should match pattern '^[a-zA-Z0-9_-]+$'", place, kind)
			must(wordPattern.MatchString(name) && len(name) <= 200,
				"%s.%s.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'", place, kind)
			must(isObject, "%s.%s.input: Input should be a valid dictionary", place, kind)
			must(!c.ids[id], "%s: `tool_use` ids must be unique", place)
			c.ids[id] = true
			if kind == "server_tool_use" {
				searching = id
			} else {
				c.open = append(c.open, id)
			}
		case "tool_search_tool_result":
			id := text(b, "tool_use_id")
			must(id != "" && id == searching, "%s: unexpected `tool_use_id` found in `tool_search_tool_result` blocks: %s.", place, id)
			const required = "%s.tool_search_tool_result.content: Field required"
			content, isObject := b["content"].(object)
			must(isObject, required, place)
			c.refer(list(content, "tool_references", required, place))
			searching = ""
		default:
			refuseKind(place, kind)
		}
	}
	must(searching == "", "messages.%d: `server_tool_use` block %s has no result block after it", i, searching)
}

// readSystem reads a system message. It follows a user's message and precedes one of the model, or is the last.
func (c *conversation) readSystem(i int, blocks, messages []object) {
	after := i + 1
	for after < len(messages) && text(messages[after], "role") == "system" {
		after++
	}
	must(len(c.open) == 0 && text(messages[i-1], "role") != "assistant",
		"messages.%d: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result", i)
	must(after == len(messages) || text(messages[after], "role") == "assistant",
		"messages.%d: role 'system' must precede an 'assistant' message or end the array", i)
	for j, b := range blocks {
		place, kind := fmt.Sprintf("messages.%d.content.%d", i, j), text(b, "type")
		if kind == "text" {
			continue
		}
		tool, _ := b["tool"].(object)
		must(c.request.inline && (kind == "tool_addition" && text(tool, "type") == "tool_definition" ||
			kind == "tool_removal" && text(tool, "type") == "tool_reference"),
			"%s: Input tag '%s' found using 'type' does not match any of the expected tags: 'text'", place, kind)
		name := text(tool, "name")
		if kind == "tool_removal" {
			must(c.request.tools[name] != nil, "%s.tool: Tool reference '%s' not found in available tools", place, name)
		} else {
			definition, _ := tool["definition"].(object)
			c.request.readAnthropicTool(j, definition)
			name = text(definition, "name")
			must(c.request.tools[name] == nil || serverSearch[text(c.request.tools[name], "type")] == "",
				"%s.tool: '%s' is the name of a tool of another type", place, name)
			must(b["cache_control"] == nil || definition["cache_control"] == nil,
				"%s: cache_control goes on the block or in the definition, not both", place)
			c.request.tools[name] = definition
		}
		c.added = slices.DeleteFunc(c.added, func(added string) bool { return added == name })
		if kind == "tool_addition" {
			c.added = append(c.added, name)
		}
	}
}

// readUser reads a user message. After an assistant message it must begin with the results of
// all calls. Several user messages in a row are allowed and are read as one turn.
func (c *conversation) readUser(i int, blocks []object) {
	answered := map[string]bool{}
	for j, b := range blocks {
		place := fmt.Sprintf("messages.%d.content.%d", i, j)
		switch kind := text(b, "type"); kind {
		case "tool_result":
			id := text(b, "tool_use_id")
			must(!answered[id], "%s: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", place, id)
			must(slices.Contains(c.open, id), "%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
				"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", place, id)
			answered[id] = true
			c.open = slices.DeleteFunc(c.open, func(open string) bool { return open == id })
			c.readResult(place+".tool_result.content", b)
		case "text", "image", "document":
			c.mustBeAnswered()
		default:
			refuseKind(place, kind)
		}
	}
	c.mustBeAnswered()
}

func (c *conversation) readResult(place string, result object) {
	if _, isText := result["content"].(string); isText {
		return
	}
	var references []object
	for k, b := range list(result, "content", "%s: Input should be a valid list", place) {
		switch kind := text(b, "type"); kind {
		case "text", "image", "document", "search_result":
		case "tool_reference":
			references = append(references, b)
		default:
			refuseKind(fmt.Sprintf("%s.%d", place, k), kind)
		}
	}
	c.refer(references)
}

func refuseKind(place, kind string) {
	must(false, "%s: Input tag '%s' found using 'type' does not match any of the expected tags", place, kind)
}

// refer records found tools. Each needs a definition.
func (c *conversation) refer(references []object) {
	for _, b := range references {
		name := text(b, "tool_name")
		must(c.request.tools[name] != nil, "Tool reference '%s' has no corresponding tool definition", name)
		c.found = append(c.found, name)
	}
}

func (c *conversation) mustBeAnswered() {
	must(len(c.open) == 0, "messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
		"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", c.at, strings.Join(c.open, ", "))
}
