package provider

import (
	"slices"
	"strings"
)

// The rules of Anthropic's Messages API for a request and its tools.

// serverSearch maps the types of the provider's search tools to their names.
var serverSearch = map[string]string{
	"tool_search_tool_bm25_20251119":  "tool_search_tool_bm25",
	"tool_search_tool_bm25":           "tool_search_tool_bm25",
	"tool_search_tool_regex_20251119": "tool_search_tool_regex",
	"tool_search_tool_regex":          "tool_search_tool_regex",
}

func (r *request) readMessages() *fault {
	if r.model == "" {
		return faultf("model: Field required")
	}
	switch limit, given := r.body["max_tokens"].(float64); {
	case !given:
		return faultf("max_tokens: Field required")
	case limit < 1:
		return faultf("max_tokens: must be greater than or equal to 1")
	}
	if n := breakpoints(r.body); n > 4 {
		return faultf("A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
	}
	tools, ok := list(r.body, "tools")
	if !ok {
		return faultf("tools: Input should be a valid list")
	}
	deferred := map[string]bool{}
	for i, tool := range tools {
		if f := r.readAnthropicTool(i, tool); f != nil {
			return f
		}
		name := text(tool, "name")
		if r.tools[name] != nil {
			return faultf("tools: Tool names must be unique.")
		}
		r.tools[name] = tool
		deferred[name] = flag(tool, "defer_loading")
	}
	if len(tools) > 0 && !slices.ContainsFunc(tools, func(t object) bool { return !flag(t, "defer_loading") }) {
		return faultf("At least one tool must have defer_loading=false. All tools cannot be deferred.")
	}
	messages, ok := list(r.body, "messages")
	if !ok {
		return faultf("messages: Input should be a valid list")
	}
	c := &conversation{request: r, ids: map[string]bool{}}
	if f := c.read(messages); f != nil {
		return f
	}
	for _, tool := range tools {
		name := text(tool, "name")
		if isServer := serverSearch[text(tool, "type")] != ""; !isServer && (!deferred[name] || slices.Contains(c.found, name)) {
			r.callable = append(r.callable, name)
		}
	}
	return nil
}

func (r *request) readAnthropicTool(i int, tool object) *fault {
	kind, tagged := tool["type"]
	if name := serverSearch[text(tool, "type")]; name != "" {
		switch {
		case text(tool, "name") != name:
			return faultf("tools.%d.%s.name: Input should be '%s'", i, kind, name)
		case flag(tool, "defer_loading"):
			return faultf("tools.%d: the tool search tool cannot have defer_loading=true", i)
		}
		r.search = name
		return nil
	}
	if tagged && kind != "custom" {
		return faultf("tools.%d: Input tag '%v' found using 'type' does not match any of the expected tags: 'custom', "+
			"'tool_search_tool_bm25_20251119', 'tool_search_tool_regex_20251119'", i, kind)
	}
	// A tool without a type is a custom tool, whatever its name.
	name := text(tool, "name")
	schema, isObject := tool["input_schema"].(object)
	switch {
	case name == "":
		return faultf("tools.%d.custom.name: Field required", i)
	case !namePattern.MatchString(name) || len(name) > 128:
		return faultf("tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
	case tool["input_schema"] == nil:
		return faultf("tools.%d.custom.input_schema: Field required", i)
	case !isObject:
		return faultf("tools.%d.custom.input_schema: Input should be a valid dictionary", i)
	case schema["type"] == nil:
		return faultf("tools.%d.custom.input_schema.type: Field required", i)
	case schema["type"] != "object":
		return faultf("tools.%d.custom.input_schema.type: Input should be 'object'", i)
	case schema["oneOf"] != nil || schema["allOf"] != nil || schema["anyOf"] != nil:
		return faultf("tools.%d.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level", i)
	}
	if _, why := schemaFault(schema, ""); why != "" {
		return faultf("tools.%d.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12", i)
	}
	if description, given := tool["description"]; given {
		if _, isText := description.(string); !isText {
			return faultf("tools.%d.custom.description: Input should be a valid string", i)
		}
	}
	if key := unknown(tool, "type", "name", "description", "input_schema", "cache_control", "defer_loading", "strict",
		"allowed_callers", "input_examples", "eager_input_streaming"); key != "" {
		return faultf("tools.%d.custom.%s: Extra inputs are not permitted", i, key)
	}
	if flag(tool, "defer_loading") && tool["cache_control"] != nil {
		return faultf("Tool '%s' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching.", name)
	}
	return nil
}

// breakpoints counts the cache breakpoints anywhere in a request.
func breakpoints(value any) (n int) {
	switch value := value.(type) {
	case object:
		for key, inner := range value {
			if key == "cache_control" && inner != nil {
				n++
			} else if key != "input" && key != "input_schema" {
				n += breakpoints(inner)
			}
		}
	case []any:
		for _, inner := range value {
			n += breakpoints(inner)
		}
	}
	return n
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
