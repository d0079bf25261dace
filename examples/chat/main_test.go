package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An endpoint speaks OpenAI's chat completions on loopback. Each request gets the next answer
// as a stream: a text, or a call written "name {arguments}".
type endpoint struct {
	*httptest.Server
	mu      sync.Mutex
	answers []string
	seen    []seen
}

// seen is what a request contained.
type seen struct {
	key, model, first string // the first message is the instruction, the second the list of names
	tools             []string
	messages          int
}

func serve(t *testing.T, answers ...string) *endpoint {
	t.Helper()
	e := &endpoint{answers: answers}
	e.Server = httptest.NewServer(http.HandlerFunc(e.answer))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) answer(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Model    string
		Stream   bool
		Messages []struct{ Content string }
		Tools    []struct{ Function struct{ Name string } }
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || !body.Stream || len(body.Messages) < 2 {
		http.Error(w, "not a request to stream", http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s := seen{key: r.Header.Get("Authorization"), model: body.Model, first: body.Messages[1].Content, messages: len(body.Messages)}
	for _, t := range body.Tools {
		s.tools = append(s.tools, t.Function.Name)
	}
	e.seen = append(e.seen, s)
	if len(e.answers) == 0 || e.answers[0] == "" {
		e.answers = e.answers[min(1, len(e.answers)):]
		http.Error(w, `{"error":{"message":"out of \u001b[31morder"}}`, http.StatusUnauthorized)
		return
	}
	answer := e.answers[0]
	e.answers = e.answers[1:]
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta any, finish any) {
		data, _ := json.Marshal(map[string]any{
			"id": "1", "object": "chat.completion.chunk", "model": body.Model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		})
		fmt.Fprintf(w, "data: %s\n\n", data)
		w.(http.Flusher).Flush()
	}
	if name, arguments, isCall := strings.Cut(answer, " {"); isCall {
		arguments = "{" + arguments
		call := func(id, name, arguments string) any {
			return map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
				"index": 0, "id": id, "type": "function", "function": map[string]any{"name": name, "arguments": arguments}}}}
		}
		send(call(fmt.Sprintf("call_%d", len(e.seen)), name, arguments[:5]), nil)
		send(call("", "", arguments[5:]), nil)
		send(map[string]any{}, "tool_calls")
	} else {
		for _, word := range strings.SplitAfter(answer, " ") {
			send(map[string]any{"role": "assistant", "content": word}, nil)
		}
		send(map[string]any{}, "stop")
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func talk(t *testing.T, e *endpoint, input, catalog string) string {
	t.Helper()
	var out bytes.Buffer
	config := &openai.ChatModelConfig{Model: "m", BaseURL: e.URL + "/v1", APIKey: "secret"}
	require.NoError(t, run(t.Context(), strings.NewReader(input), &out, config, catalog))
	return out.String()
}

func TestChat(t *testing.T) {
	e := serve(t,
		`tool_search {"query":"+sentry list errors","max_results":1}`,
		`mcp__sentry__list_errors {"project":"checkout"}`,
		"A cart \x1b[2Jthat is undefined.",
		"", // the provider fails
		`mcp__sentry__lst_errors {"project":"shop"}`,
		`mcp__sentry__list_errors {"project":"shop"}`,
		"The same there.",
	)
	got := talk(t, e, "What fails in checkout?\nAnd in shop?\nAnd in shop?\n\nnever read", "")
	for _, want := range []string{
		"m with 166 tools to find. An empty line ends the chat.\n\n> ",
		`[searches "+sentry list errors": gets mcp__sentry__list_errors of `, " tools that match]\n",
		`[calls mcp__sentry__list_errors {"project":"checkout"}]` + "\n",
		`[gets {"project":"checkout",`, "…]\n",
		"A cart [2Jthat is undefined.\n[loaded: mcp__sentry__list_errors]\n\n> ",
		"[failed, and the question is forgotten: ", "out of [31morder", "]\n\n> ",
		`[calls mcp__sentry__lst_errors {"project":"shop"}]`, "\n[gets ", `"suggestions":["mcp__sentry__list_errors",`,
		`[calls mcp__sentry__list_errors {"project":"shop"}]` + "\n[gets ", "The same there.\n\n> \n",
	} {
		require.Contains(t, got, want, "in that place")
		_, got, _ = strings.Cut(got, want)
	}
	assert.Empty(t, got, "after an empty line")

	loaded := []string{"tool_search", "mcp__sentry__list_errors"}
	wantTools := [][]string{loaded[:1], loaded, loaded, loaded, loaded, loaded, loaded}
	wantMessages := []int{3, 5, 7, 9, 9, 11, 13} // the failed question is not in the history
	require.Len(t, e.seen, len(wantTools), "calls of the model")
	for i, s := range e.seen {
		assert.Equal(t, "Bearer secret", s.key, "request %d", i)
		assert.Equal(t, "m", s.model, "request %d", i)
		assert.True(t, strings.HasPrefix(s.first, "<available-deferred-tools>"), "request %d: %s", i, s.first)
		assert.Equal(t, wantTools[i], s.tools, "request %d", i)
		assert.Equal(t, wantMessages[i], s.messages, "messages of request %d", i)
	}
}

func TestCatalogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tools.jsonl")
	lines := `{"name":"open_door","description":"Opens a door","server":"house"}` + "\n" +
		`{"name":"buy_milk","description":"Buys milk","server":"shop"}` + "\n"
	require.NoError(t, os.WriteFile(path, []byte(lines), 0o600))
	e := serve(t, `tool_search {"query":"+house door"}`, `open_door {"which":"front"}`, "It would be opened.")
	got := talk(t, e, "Open the door.", path)
	const want = `m with 2 tools to find. An empty line ends the chat.

> [searches "+house door": gets open_door of 1 tools that match]
[calls open_door {"which":"front"}]
[gets Not run: only the definition of open_door is known here. Tell the user that it would be called with {"which":"front"}]
It would be opened.
[loaded: open_door]

> 
`
	assert.Equal(t, want, got)
}
