package provider

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// The rules of Anthropic's Messages API for a request and its tools.

// serverSearch maps the types of the provider's search tools to their names.
var serverSearch = map[string]string{
	"tool_search_tool_bm25_20251119":  "tool_search_tool_bm25",
	"tool_search_tool_bm25":           "tool_search_tool_bm25",
	"tool_search_tool_regex_20251119": "tool_search_tool_regex",
	"tool_search_tool_regex":          "tool_search_tool_regex",
}

// Tying is a model that thinks, if it does not stream, and ties its thinking to what came before.
const Tying = "claude-opus-5-5"

var cacheMarks = regexp.MustCompile(`"cache_control":\{[^}]*\},?`)

// signature identifies the system message, the tools and the first messages.
func (r *request) signature(messages int) string {
	text, _ := json.Marshal([]any{r.body["system"], r.body["tools"], r.body["messages"].([]any)[:messages]})
	return fmt.Sprintf("%x", sha256.Sum256(cacheMarks.ReplaceAll(text, nil)))
}

func (r *request) readMessages() {
	limit, given := r.body["max_tokens"].(float64)
	must(r.model != "", "model: Field required")
	must(given, "max_tokens: Field required")
	must(limit >= 1, "max_tokens: must be greater than or equal to 1")
	tools := list(r.body, "tools", "tools: Input should be a valid list")
	for i, tool := range tools {
		r.readAnthropicTool(i, tool)
		name := text(tool, "name")
		must(r.tools[name] == nil, "tools: Tool names must be unique.")
		r.tools[name] = tool
	}
	r.mustShorten()
	isLoaded := func(t object) bool { return !flag(t, "defer_loading") }
	must(len(tools) == 0 || slices.ContainsFunc(tools, isLoaded),
		"At least one tool must have defer_loading=false. All tools cannot be deferred.")
	c := &conversation{request: r, ids: map[string]bool{}}
	c.read(list(r.body, "messages", "messages: Input should be a valid list"))
	for _, tool := range tools {
		isServer := serverSearch[text(tool, "type")] != ""
		name := text(tool, "name")
		if !isServer && !slices.Contains(c.added, name) && (isLoaded(tool) || slices.Contains(c.found, name)) {
			r.callable = append(r.callable, name)
		}
	}
	r.callable = append(r.callable, c.added...)
}

// mustShorten reads the cache marks, whose ttl may only get shorter.
func (r *request) mustShorten() {
	isShort := false
	var read func(part string, v any)
	read = func(part string, v any) {
		elements, _ := v.([]any)
		for _, e := range elements {
			read(part, e)
		}
		block, _ := v.(object)
		if block == nil {
			return
		}
		read(part, block["content"])
		if mark, ok := block["cache_control"].(object); ok {
			isHour := text(mark, "ttl") == "1h"
			must(!isHour || !isShort, "%s: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. "+
				"Note that blocks are processed in the following order: `tools`, `system`, `messages`.", part)
			isShort = isShort || !isHour
		}
	}
	for _, part := range []string{"tools", "system", "messages"} {
		read(part, r.body[part])
	}
}

func (r *request) readAnthropicTool(i int, tool object) {
	kind, tagged := tool["type"]
	if name := serverSearch[text(tool, "type")]; name != "" {
		must(text(tool, "name") == name, "tools.%d.%s.name: Input should be '%s'", i, kind, name)
		must(!flag(tool, "defer_loading"), "tools.%d: the tool search tool cannot have defer_loading=true", i)
		r.search = name
		return
	}
	must(!tagged || kind == "custom", "tools.%d: Input tag '%v' found using 'type' does not match any of the expected tags: 'custom', "+
		"'tool_search_tool_bm25_20251119', 'tool_search_tool_regex_20251119'", i, kind)
	// A tool without a type is a custom tool, whatever its name.
	mustHave := func(holds bool, format string, args ...any) {
		must(holds, "tools.%d.custom."+format, append([]any{i}, args...)...)
	}
	name := text(tool, "name")
	schema, isObject := tool["input_schema"].(object)
	_, why := schemaFault(schema, "")
	mustHave(name != "", "name: Field required")
	mustHave(wordPattern.MatchString(name) && len(name) <= 128, "name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
	mustHave(tool["input_schema"] != nil, "input_schema: Field required")
	mustHave(isObject, "input_schema: Input should be a valid dictionary")
	mustHave(schema["type"] != nil, "input_schema.type: Field required")
	mustHave(schema["type"] == "object", "input_schema.type: Input should be 'object'")
	mustHave(schema["oneOf"] == nil && schema["allOf"] == nil && schema["anyOf"] == nil,
		"input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level")
	mustHave(why == "", "input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12")
	mustHave(isTextIfGiven(tool, "description"), "description: Input should be a valid string")
	strange := unknown(tool, "type", "name", "description", "input_schema", "cache_control", "defer_loading", "strict",
		"allowed_callers", "input_examples", "eager_input_streaming")
	mustHave(strange == "", "%s: Extra inputs are not permitted", strange)
	must(!flag(tool, "defer_loading") || tool["cache_control"] == nil,
		"Tool '%s' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching.", name)
}
