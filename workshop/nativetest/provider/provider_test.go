package provider_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

// Each test breaks one rule of an API in an otherwise good request.

const goodMessages = `{
	"model": "claude", "max_tokens": 100, "stream": false,
	"tools": [
		{"name": "clock", "description": "The time", "input_schema": {"type": "object", "properties": {"zone": {"type": "string"}}}, "cache_control": {"type": "ephemeral"}},
		{"name": "mail", "input_schema": {"type": "object"}, "defer_loading": true},
		{"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
	],
	"messages": [
		{"role": "user", "content": "Hi"},
		{"role": "user", "content": [{"type": "text", "text": "What time is it?"}]},
		{"role": "assistant", "content": [
			{"type": "server_tool_use", "id": "srv_1", "name": "tool_search_tool_bm25", "input": {"query": "mail"}},
			{"type": "tool_search_tool_result", "tool_use_id": "srv_1", "content": {"type": "tool_search_tool_search_result", "tool_references": [{"type": "tool_reference", "tool_name": "mail"}]}},
			{"type": "tool_use", "id": "a", "name": "clock", "input": {}},
			{"type": "tool_use", "id": "b", "name": "clock", "input": {}}]},
		{"role": "user", "content": [
			{"type": "tool_result", "tool_use_id": "b", "content": "noon"},
			{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "tool_reference", "tool_name": "mail"}]},
			{"type": "text", "text": "And now?"}]},
		{"role": "system", "content": [
			{"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {"name": "fax", "input_schema": {"type": "object"}}}}]}
	]}`

const goodChat = `{
	"model": "gpt", "stream": false,
	"tools": [
		{"type": "function", "function": {"name": "clock", "description": "The time", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}}},
		{"type": "function", "function": {"name": "mail"}}
	],
	"messages": [
		{"role": "system", "content": "Be brief"},
		{"role": "user", "content": "What time is it?"},
		{"role": "assistant", "content": null, "tool_calls": [
			{"id": "a", "type": "function", "function": {"name": "clock", "arguments": "{}"}},
			{"id": "b", "type": "function", "function": {"name": "clock", "arguments": "not JSON"}}]},
		{"role": "tool", "tool_call_id": "b", "content": "noon"},
		{"role": "tool", "tool_call_id": "a", "content": "noon"},
		{"role": "system", "tools": [{"type": "function", "function": {"name": "fax"}}]}
	]}`

const goodResponses = `{
	"model": "gpt", "stream": false,
	"tools": [
		{"type": "function", "name": "clock", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}},
		{"type": "function", "name": "mail", "parameters": {"type": "object"}, "defer_loading": true},
		{"type": "tool_search", "execution": "client", "description": "Finds", "parameters": {"type": "object"}}
	],
	"input": [
		{"role": "user", "content": "What time is it?"},
		{"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Well"}]},
		{"type": "function_call", "id": "fc_1", "call_id": "a", "name": "clock", "arguments": "{}"},
		{"type": "tool_search_call", "id": "tsc_1", "call_id": "b", "execution": "client", "arguments": {"query": "mail"}},
		{"type": "function_call_output", "call_id": "a", "output": "noon"},
		{"type": "tool_search_output", "call_id": "b", "execution": "client", "tools": [{"type": "function", "name": "mail", "parameters": {"type": "object"}, "defer_loading": true}]},
		{"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "fax"}]}
	]}`

var good = map[provider.API]string{provider.Messages: goodMessages, provider.Chat: goodChat, provider.Responses: goodResponses}

func TestRules(t *testing.T) {
	const messages, chat, responses = provider.Messages, provider.Chat, provider.Responses
	const addition = `{"role": "system", "content": [
			{"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {"name": "fax", "input_schema": {"type": "object"}}}}]}`
	tests := []struct {
		api      provider.API
		old, new string // the change to the good request
		want     string // text in the refusal
	}{
		{messages, `"model": "claude", `, ``, "model: Field required"},
		{messages, `"max_tokens": 100, `, ``, "max_tokens: Field required"},
		{messages, `"max_tokens": 100`, `"max_tokens": 0`, "max_tokens: must be greater"},
		{messages, `"name": "clock", "description"`, `"description"`, "tools.0.custom.name: Field required"},
		{messages, `"name": "clock", "description"`, `"name": "the clock", "description"`, "tools.0.custom.name: String should match pattern"},
		{messages, `"description": "The time"`, `"description": 7`, "tools.0.custom.description"},
		{messages, `"description": "The time"`, `"desc": "The time"`, "tools.0.custom.desc: Extra inputs are not permitted"},
		{messages, `"name": "mail", "input_schema": {"type": "object"}`, `"name": "mail"`, "tools.1.custom.input_schema: Field required"},
		{messages, `"name": "mail", "input_schema": {"type": "object"}`, `"name": "mail", "input_schema": {}`, "tools.1.custom.input_schema.type: Field required"},
		{messages, `"name": "mail", "input_schema": {"type": "object"}`, `"name": "mail", "input_schema": {"type": "string"}`, "Input should be 'object'"},
		{messages, `"name": "mail", "input_schema": {"type": "object"}`, `"name": "mail", "input_schema": {"type": "object", "anyOf": []}`, "does not support oneOf"},
		{messages, `{"zone": {"type": "string"}}`, `{"zone": {"type": "text"}}`, "JSON schema is invalid"},
		{messages, `"name": "mail", "input`, `"name": "clock", "input`, "Tool names must be unique"},
		{messages, `"type": "tool_search_tool_bm25_20251119", `, ``, "tools.2.custom.input_schema: Field required"},
		{messages, `"type": "tool_search_tool_bm25_20251119", `, `"type": "tool_search", `, "tools.2: Input tag 'tool_search'"},
		{messages, `"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"`, `"type": "tool_search_tool_bm25_20251119", "name": "search"`, "name: Input should be 'tool_search_tool_bm25'"},
		{messages, `"cache_control": {"type": "ephemeral"}`, `"cache_control": {"type": "ephemeral"}, "defer_loading": true`, "cannot have both defer_loading=true and cache_control"},
		{messages, `"text": "And now?"`, `"text": "And now?", "cache_control": {"type": "ephemeral", "ttl": "1h"}`, "must not come after a ttl='5m'"},
		{messages, `"cache_control": {"type": "ephemeral"}`, `"cache_control": {"type": "ephemeral", "ttl": "1h"}`, ""},
		{messages, `{"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}`, `{"name": "extra", "input_schema": {"type": "object"}, "defer_loading": true}`, ""},
		{messages, `{"role": "user", "content": "Hi"},`, ``, ""},
		{messages, `{"role": "user", "content": "Hi"},`, `{"role": "assistant", "content": "Hi"},`, "first message must use"},
		{messages, `{"role": "user", "content": "Hi"}`, `{"role": "user", "content": ""}`, "text content blocks must be non-empty"},
		{messages, `{"role": "user", "content": "Hi"}`, `{"role": "user", "content": " "}`, "non-whitespace"},
		{messages, `{"role": "user", "content": "Hi"}`, `{"role": "user", "content": []}`, "non-empty content"},
		{messages, `{"role": "user", "content": [{"type": "text", "text": "What`, `{"role": "developer", "content": [{"type": "text", "text": "What`, "messages.1.role"},
		{messages, `"id": "b"`, `"id": "a"`, "ids must be unique"},
		{messages, `"id": "b"`, `"id": "b b"`, "id: String should match pattern"},
		{messages, `"id": "b", "name": "clock", "input": {}`, `"id": "b", "name": "clock", "input": null`, "Input should be a valid dictionary"},
		{messages, `{"type": "tool_result", "tool_use_id": "b", "content": "noon"},`, ``, "without `tool_result` blocks immediately after: b"},
		{messages, `"tool_use_id": "a"`, `"tool_use_id": "c"`, "unexpected `tool_use_id` found in `tool_result` blocks: c"},
		{messages, `"tool_use_id": "a"`, `"tool_use_id": "b"`, "must have a single result"},
		{messages, `{"type": "tool_result", "tool_use_id": "b"`, `{"type": "text", "text": "Look:"}, {"type": "tool_result", "tool_use_id": "b"`, "without `tool_result` blocks immediately after: a, b"},
		{messages, `"content": [{"type": "tool_reference", "tool_name": "mail"}]`, `"content": [{"type": "tool_reference", "tool_name": "fax"}]`, "Tool reference 'fax' has no corresponding tool definition"},
		{messages, `"tool_references": [{"type": "tool_reference", "tool_name": "mail"}]`, `"tool_references": [{"type": "tool_reference", "tool_name": "fax"}]`, "Tool reference 'fax'"},
		{messages, `"tool_use_id": "srv_1"`, `"tool_use_id": "srv_2"`, "unexpected `tool_use_id`"},
		{messages, goodMessages, `{"model": "claude", "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}],
			"tools": [{"name": "mail", "input_schema": {"type": "object"}, "defer_loading": true}]}`, "All tools cannot be deferred"},
		{messages, `"text": "And now?"}]},
		` + addition, `"text": "And now?"}]}, ` + addition + `, {"role": "user", "content": "Go on"}`, "messages.4: role 'system' must precede an 'assistant' message"},
		{messages, `{"role": "assistant", "content": [
			{"type": "server`, addition + `, {"role": "assistant", "content": [
			{"type": "server`, ""},
		{messages, `{"role": "user", "content": [
			{"type": "tool_result"`, addition + `, {"role": "user", "content": [
			{"type": "tool_result"`, "messages.3: role 'system' must follow a 'user' message"},
		{messages, `"model": "claude"`, `"model": "outdated"`, "messages.4: role 'system' is not supported on this model"},
		{messages, `"type": "tool_addition"`, `"type": "tool_removal"`, "Input tag 'tool_removal'"},
		{messages, `{"name": "fax", "input_schema": {"type": "object"}}`, `{"name": "fax"}`, "input_schema: Field required"},
		{messages, `{"name": "fax"`, `{"name": "tool_search_tool_bm25"`, "the name of a tool of another type"},
		{messages, `{"name": "fax"`, `{"name": "clock"`, ""},
		{messages, `"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {`, `"type": "tool_addition", "cache_control": {}, "tool": {"type": "tool_definition", "definition": {"cache_control": {}, `, "not both"},
		{messages, `{"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {"name": "fax", "input_schema": {"type": "object"}}}}`,
			`{"type": "tool_removal", "tool": {"type": "tool_reference", "name": "fax"}}`, "Tool reference 'fax' not found"},

		{chat, `{"role": "system", "tools"`, `{"role": "system", "content": null, "tools"`, "must not have content"},
		{chat, `{"role": "system", "tools"`, `{"role": "user", "tools"`, "Unknown parameter: 'messages[5].tools'"},
		{chat, `"model": "gpt"`, `"model": "outdated"`, "Unknown parameter: 'messages[5].tools'"},
		{chat, `[{"type": "function", "function": {"name": "fax"}}]`, `[]`, "expected a list of at least one tool"},
		{chat, `{"name": "fax"}`, `{"name": "mail"}`, "Invalid 'messages[5].tools[0].function.name': 'mail' is the name of another tool"},
		{chat, `{"role": "tool", "tool_call_id": "a", "content": "noon"},`, ``, "did not have response messages: a"},
		{chat, `"model": "gpt", `, ``, "model"},
		{chat, `"tools": [`, `"tools": [` + strings.Repeat(`{"type": "function", "function": {"name": "x"}},`, 127), "maximum length 128"},
		{chat, `"stream": false`, `"stream_options": {}`, "only allowed when 'stream' is enabled"},
		{chat, `"type": "function", "function": {"name": "mail"}`, `"function": {"name": "mail"}`, "Missing required parameter: 'tools[1].type'"},
		{chat, `{"name": "mail"}`, `{"description": "mail"}`, "Missing required parameter: 'tools[1].function.name'"},
		{chat, `{"name": "mail"}`, `{"name": "e-mail!"}`, "string does not match pattern"},
		{chat, `{"name": "mail"}`, `{"name": "` + strings.Repeat("m", 65) + `"}`, "string too long"},
		{chat, `{"name": "mail"}`, `{"name": "clock"}`, "Tool names must be unique"},
		{chat, `{"name": "mail"}`, `{"name": "mail", "defer_loading": true}`, "Unknown parameter: 'tools[1].function.defer_loading'"},
		{chat, `{"name": "mail"}`, `{"name": "mail", "parameters": {}}`, `got 'type: \"None\"'`},
		{chat, `{"type": "string"}`, `{"type": "array"}`, "array schema missing items"},
		{chat, `{"role": "system", "content": "Be brief"}`, `{"role": "system", "content": null}`, "expected a string, got null"},
		{chat, `{"role": "system", "content": "Be brief"}`, `{"role": "bot", "content": "Be brief"}`, "Invalid value: 'bot'"},
		{chat, `"content": "What time is it?"`, `"content": [{"type": "tool_search_result"}]`, "Invalid value: 'tool_search_result'"},
		{chat, `{"role": "tool", "tool_call_id": "b", "content": "noon"},`, ``, "did not have response messages: b"},
		{chat, `{"role": "tool", "tool_call_id": "b", "content": "noon"}`, `{"role": "user", "content": "noon"}`, "did not have response messages: a, b"},
		{chat, `"tool_call_id": "b"`, `"tool_call_id": "a"`, "must be a response to a preceeding message"},
		{chat, `"arguments": "{}"`, `"arguments": {}`, "Missing required parameter: 'messages[2].tool_calls[0].function.arguments'"},

		{responses, `"role": "developer"`, `"role": "system"`, "Supported values are: 'developer'"},
		{responses, `"model": "gpt"`, `"model": "outdated"`, "Invalid value: 'additional_tools'"},
		{responses, `[{"type": "function", "name": "fax"}]`, `[]`, "Missing required parameter: 'input[6].tools'"},
		{responses, `"name": "fax"`, `"name": "clock"`, "Invalid 'input[6].tools[0].name': 'clock' is the name of another tool"},
		{responses, `"model": "gpt", `, ``, "Missing required parameter: 'model'"},
		{responses, `{"type": "function", "name": "clock"`, `{"name": "clock"`, "Missing required parameter: 'tools[0].type'"},
		{responses, `{"type": "function", "name": "clock"`, `{"type": "function", "name": "mail"`, "Tool names must be unique"},
		{responses, `"name": "clock", "parameters"`, `"name": "cl ock", "parameters"`, "string does not match pattern"},
		{responses, `"name": "clock", "parameters"`, `"name": "clock", "cache": 1, "parameters"`, "Unknown parameter: 'tools[0].cache'"},
		{responses, `,
		{"type": "tool_search", "execution": "client", "description": "Finds", "parameters": {"type": "object"}}`, ``, "Deferred tools require tools.tool_search"},
		{responses, `"description": "Finds", "parameters": {"type": "object"}`, `"description": "Finds"`, "Invalid schema for tool_search"},
		{responses, `{"type": "function_call_output", "call_id": "a", "output": "noon"},`, ``, "No tool output found for function call a"},
		{responses, `{"type": "function_call_output", "call_id": "a", "output": "noon"}`, `{"type": "function_call_output", "call_id": "a"}`, "Missing required parameter: 'input[4].output'"},
		{responses, `{"type": "function_call_output", "call_id": "a"`, `{"type": "function_call_output", "call_id": "b"`, "No tool call found for function call output with call_id b"},
		{responses, `{"type": "tool_search_output", "call_id": "b"`, `{"type": "tool_search_output", "call_id": "a"`, "No tool call found for tool search output with call_id a"},
		{responses, `"execution": "client", "tools": [{"type": "function", "name": "mail", "parameters": {"type": "object"}, "defer_loading": true}]`, `"execution": "client"`, "Missing required parameter: 'input[5].tools'"},
		{responses, `"id": "fc_1"`, `"id": "call_1"`, "Expected an ID that begins with 'fc'"},
		{responses, `"id": "msg_1"`, `"id": ""`, "letters, numbers, underscores, or dashes"},
		{responses, `"call_id": "b", "execution": "client", "arguments": {"query": "mail"}`, `"call_id": "b", "execution": "client"`, "Missing required parameter: 'input[3].arguments'"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			require.Contains(t, good[tt.api], tt.old, "the good request")
			status, answer := post(t, tt.api, strings.Replace(good[tt.api], tt.old, tt.new, 1))
			if tt.want == "" {
				assert.Equal(t, http.StatusOK, status, "refused: %s", answer)
				return
			}
			assert.Equal(t, http.StatusBadRequest, status)
			assert.Contains(t, answer, tt.want)
		})
	}
}

// TestErrorForm: an error has the provider's form, which SDKs read.
func TestErrorForm(t *testing.T) {
	for api, want := range map[provider.API]string{
		provider.Messages:  `{"error":{"message":"model: Field required","type":"invalid_request_error"},"request_id":"req_1","type":"error"}`,
		provider.Responses: `{"error":{"code":null,"message":"Missing required parameter: 'model'.","param":null,"type":"invalid_request_error"}}`,
	} {
		_, got := post(t, api, `{}`)
		assert.Equal(t, want, strings.TrimSpace(got), api)
	}
}

// TestCallable: the model can call tools that are not deferred, and deferred tools once found.
func TestCallable(t *testing.T) {
	for api, body := range good {
		server := provider.New(t, api, provider.Say("noon"))
		send(t, server, api, body)
		assert.ElementsMatch(t, []string{"clock", "mail", "fax"}, server.Requests()[0].Callable, api)
	}
	server := provider.New(t, provider.Responses, provider.Say("noon"))
	send(t, server, provider.Responses, `{"model": "gpt", "input": "Hi", "tools": [{"type": "tool_search"}, {"type": "function", "name": "mail", "parameters": {"type": "object"}, "defer_loading": true}]}`)
	got := server.Requests()[0]
	assert.Empty(t, got.Callable, "callable before it was found")
	assert.Empty(t, got.Refused)
}

// TestHeader: Anthropic's messages define tools by a header alone.
func TestHeader(t *testing.T) {
	_, answer := send(t, provider.New(t, provider.Messages, provider.Say("noon")), provider.Messages, goodMessages, "")
	assert.Contains(t, answer, "messages.4.content.0: Input tag 'tool_addition'")
}

// TestScriptOver: a request after the last turn of the script fails visibly.
func TestScriptOver(t *testing.T) {
	server := provider.New(t, provider.Chat)
	status, answer := send(t, server, provider.Chat, goodChat)
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, answer, "the script has 0 turns")
}

func post(t *testing.T, api provider.API, body string) (status int, answer string) {
	t.Helper()
	return send(t, provider.New(t, api, provider.Say("noon")), api, body)
}

func send(t *testing.T, server *provider.Server, api provider.API, body string, betas ...string) (status int, answer string) {
	t.Helper()
	require.True(t, json.Valid([]byte(body)), "not JSON: %s", body)
	base := strings.TrimSuffix(server.URL, "/v1")
	r := testtools.Must(http.NewRequest(http.MethodPost, base+string(api), strings.NewReader(body)))(t)
	r.Header["Anthropic-Beta"] = append(betas, "inline-tools-2026-09-15")[:1]
	resp := testtools.Must(http.DefaultClient.Do(r))(t)
	defer resp.Body.Close()
	return resp.StatusCode, string(testtools.Must(io.ReadAll(resp.Body))(t))
}
