package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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
	hangs   chan struct{} // gets a value for each answer that hangs
}

// hang stands for an answer that never comes.
const hang = "(hang)"

// seen is what a request contained.
type seen struct {
	key, model, first string // the first message is the instruction, the second the list of names
	last              string // the newest message
	tools             []string
	messages          int
}

func serve(t *testing.T, answers ...string) *endpoint {
	t.Helper()
	e := &endpoint{answers: answers, hangs: make(chan struct{}, 1)}
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
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || !body.Stream || len(body.Messages) < 2 || r.URL.Path != "/v1/chat/completions" {
		http.Error(w, "not a request to stream", http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.answers) > 0 && e.answers[0] == hang {
		e.answers = e.answers[1:]
		e.hangs <- struct{}{}
		<-r.Context().Done()
		return
	}
	s := seen{key: r.Header.Get("Authorization"), model: body.Model, first: body.Messages[1].Content, last: body.Messages[len(body.Messages)-1].Content, messages: len(body.Messages)}
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

func noEnv(string) string { return "" }

func talk(t *testing.T, e *endpoint, input string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	args = append([]string{"-model", "m", "-base-url", e.URL + "/v1"}, args...)
	require.NoError(t, run(t.Context(), args, noEnv, terminal{in: strings.NewReader(input), out: &out, err: io.Discard}))
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
	got := talk(t, e, "What fails in checkout?\nAnd in shop?\nAnd in shop?\n\nnever read", "-key", "secret")
	for _, want := range []string{
		"m with 166 tools to find. An empty line ends the chat.\n\n> ",
		`[searches "+sentry list errors": finds `, " tools, gets mcp__sentry__list_errors]\n",
		`[calls mcp__sentry__list_errors {"project":"checkout"}]` + "\n",
		`[gets {"project":"checkout",`, "…]\n",
		"A cart [2Jthat is undefined.\n[loaded: mcp__sentry__list_errors]\n\n> ",
		"[failed: ", "out of [31morder", "]\n\n> ",
		`[calls mcp__sentry__lst_errors {"project":"shop"}]`, "\n[gets ", `"suggestions":["mcp__sentry__list_errors",`,
		`[calls mcp__sentry__list_errors {"project":"shop"}]` + "\n[gets ", "The same there.\n\n> ",
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
	lines := `{"name":"open_door","description":"Opens a door","server":"house"}` + "\n" + `{"name":"buy_milk","description":"Buys milk","server":"shop"}` + "\n"
	require.NoError(t, os.WriteFile(path, []byte(lines), 0o600))
	e := serve(t, `tool_search {"query":"+house door"}`, `open_door {"which":"front"}`, "It would be opened.")
	got := talk(t, e, "Open the door.", "-catalog", path)
	const want = `m with 2 tools to find. An empty line ends the chat.

> [searches "+house door": finds open_door]
[calls open_door {"which":"front"}]
[gets Not run: only the definition of open_door is known here. Tell the user that it would be called with {"which":"front"}]
It would be opened.
[loaded: open_door]

> 
`
	assert.Equal(t, want, got)
}

func TestOptions(t *testing.T) {
	env := map[string]string{"OPENAI_MODEL": "a", "OPENAI_BASE_URL": "http://b/v1", "OPENAI_API_KEY": "c"}
	for _, c := range []struct {
		args string
		env  map[string]string
		want options
		err  string
	}{
		{"", env, options{"a", "http://b/v1", "c", ""}, ""},
		{"-model x -base-url y -key z -catalog f", env, options{"x", "y", "z", "f"}, ""},
		{"-base-url y", nil, options{}, "no model"},
		{"-model x", nil, options{}, "no key"},
		{"-model x -base-url y", nil, options{"x", "y", "", ""}, ""},
		{"-model x more", env, options{}, `unexpected argument "more"`},
		{"-wrong", env, options{}, "not defined"},
	} {
		got, err := parse(strings.Fields(c.args), func(name string) string { return c.env[name] }, io.Discard)
		if c.err != "" {
			assert.ErrorContains(t, err, c.err, "%q", c.args)
			continue
		}
		assert.NoError(t, err, "%q", c.args)
		assert.Equal(t, c.want, got, "%q", c.args)
	}
}

// A keyboard is a chat's terminal in a test.
type keyboard struct {
	t          *testing.T
	keys       *io.PipeWriter
	screen     *bufio.Reader
	interrupts chan os.Signal
	ended      chan error
}

// sit starts a chat over an endpoint.
func sit(ctx context.Context, t *testing.T, url string) *keyboard {
	t.Helper()
	in, keys := io.Pipe()
	screen, out := io.Pipe()
	k := &keyboard{t, keys, bufio.NewReader(screen), make(chan os.Signal, 1), make(chan error, 1)}
	t.Cleanup(func() { keys.Close() })
	go func() {
		here := terminal{in: in, out: out, err: io.Discard, interrupts: k.interrupts, isTyped: true}
		k.ended <- run(ctx, []string{"-model", "m", "-base-url", url}, noEnv, here)
		out.Close()
	}()
	return k
}

func (k *keyboard) types(text string) {
	k.t.Helper()
	_, err := io.WriteString(k.keys, text)
	require.NoError(k.t, err)
}

// reads reads the screen up to a text and returns it.
func (k *keyboard) reads(until string) string {
	k.t.Helper()
	var text strings.Builder
	for !strings.HasSuffix(text.String(), until) {
		b, err := k.screen.ReadByte()
		require.NoError(k.t, err, "after %q, waiting for %q", text.String(), until)
		text.WriteByte(b)
	}
	return text.String()
}

// ends reads the rest of the screen and returns the chat's error.
func (k *keyboard) ends() error {
	_, err := io.Copy(io.Discard, k.screen)
	require.NoError(k.t, err)
	return <-k.ended
}

// A chat that waits for the user ends when its context does, and at Ctrl-C.
func TestEndsAtThePrompt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	k := sit(ctx, t, "http://127.0.0.1:1/v1")
	k.reads("> ")
	cancel()
	assert.NoError(t, k.ends())

	k = sit(t.Context(), t, "http://127.0.0.1:1/v1")
	k.reads("> ")
	k.interrupts <- os.Interrupt
	assert.NoError(t, k.ends())
}

// Ctrl-C ends the answer, and the chat goes on as if the question had not been asked.
func TestInterrupt(t *testing.T) {
	e := serve(t, hang, "Four.")
	k := sit(t.Context(), t, e.URL+"/v1")
	k.reads("> ")
	k.types("What is the meaning of life?\n")
	<-e.hangs
	k.interrupts <- os.Interrupt
	assert.Equal(t, "\n[stopped; the question is forgotten]\n\n> ", k.reads("> "))
	k.types("What is two and two?\n")
	assert.Equal(t, "Four.\n\n> ", k.reads("> "))
	require.Len(t, e.seen, 1)
	assert.Equal(t, 3, e.seen[0].messages)
	k.types("\n")
	assert.NoError(t, k.ends())
}

// Lines that are pasted together are one question, even with empty lines among them.
func TestPaste(t *testing.T) {
	defer func(gap time.Duration) { pasteGap = gap }(pasteGap)
	pasteGap = time.Second // longer than any pause of this test's goroutines
	e := serve(t, "A stack trace.")
	k := sit(t.Context(), t, e.URL+"/v1")
	k.reads("> ")
	k.types("What is this?\n\npanic: nil map\n\tmain.go:7\n")
	assert.Equal(t, "A stack trace.\n\n> ", k.reads("> "))
	require.Len(t, e.seen, 1)
	assert.Equal(t, "What is this?\n\npanic: nil map\n\tmain.go:7", e.seen[0].last)
	k.types("\n")
	assert.NoError(t, k.ends())
}

func TestSearchWithoutAMatch(t *testing.T) {
	e := serve(t, `tool_search {"query":"zzzzzzzz"}`, "There is no such tool.")
	assert.Contains(t, talk(t, e, "Do zzzzzzzz."), "[searches \"zzzzzzzz\": finds nothing]\nThere is no such tool.\n")
}
