// Anchored plays a conversation of two runs under ProtocolAnchored, with Kimi K3 through eino-ext's openai and
// with Claude through its claude. It prints what each request adds to the one before it. Watch three things: the
// tool list is tool_search alone, a definition comes behind the results that found it, and every request repeats
// the one before it, also in the second run. A prompt cache needs the last.
//
// No key is needed: without one, a script answers in the place of the provider. With a key the provider does.
//
//	go -C examples/anchored run .
//	MOONSHOT_API_KEY=... go -C examples/anchored run . -api kimi
//	ANTHROPIC_API_KEY=... go -C examples/anchored run . -api claude
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/cloudwego/eino-ext/components/model/claude"
	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
)

// An api is a provider and its adapter.
type api struct {
	name, key string // key is the environment variable of the key
	adapter   func(ctx context.Context, key string, client *http.Client) (model.BaseChatModel, error)
	answer    func(number int, t turn) any // a turn of the script as the provider's JSON
}

var apis = []api{
	{"kimi", "MOONSHOT_API_KEY", func(ctx context.Context, key string, client *http.Client) (model.BaseChatModel, error) {
		return openai.NewChatModel(ctx, &openai.ChatModelConfig{
			Model: "kimi-k3", BaseURL: "https://api.moonshot.ai/v1", APIKey: key, HTTPClient: client,
		})
	}, chatCompletion},
	{"claude", "ANTHROPIC_API_KEY", func(ctx context.Context, key string, client *http.Client) (model.BaseChatModel, error) {
		return claude.NewChatModel(ctx, &claude.Config{Model: "claude-opus-5-5", MaxTokens: 1000, APIKey: key, HTTPClient: client})
	}, message},
}

var questions = []string{"Give the customer of charge ch_17 their money back.", "Tell #billing about it."}

// A turn of the script is a call, or a text without one.
type turn struct{ text, tool, arguments string }

var script = []turn{
	{tool: "tool_search", arguments: `{"query":"refund charge","max_results":1}`},
	{tool: "mcp__stripe__refund_charge", arguments: `{"charge":"ch_17"}`},
	{text: "The charge is refunded."},
	{tool: "tool_search", arguments: `{"query":"slack send message","max_results":1}`},
	{tool: "mcp__slack__send_message", arguments: `{"channel":"#billing","text":"ch_17 is refunded."}`},
	{text: "I told #billing."},
}

func main() {
	names := flag.String("api", "kimi,claude", "what to play")
	flag.Parse()
	for _, a := range apis {
		if strings.Contains(*names, a.name) {
			play(context.Background(), os.Stdout, a)
		}
	}
}

// play asks the questions, each in a run of its own.
func play(ctx context.Context, out io.Writer, a api) {
	fmt.Fprintln(out, a.name)
	p := &provider{out: out, answer: a.answer}
	key := os.Getenv(a.key)
	if key == "" {
		key, p.script = "no key", script
	}
	chatModel := must(a.adapter(ctx, key, &http.Client{Transport: toolsearch.AnchoredTransport(p)}))
	middleware := must(toolsearch.New(ctx, &toolsearch.Config{
		DynamicTools: services.Tools(), Index: toolsearch.BM25, Protocol: toolsearch.ProtocolAnchored,
		OnEvent: func(_ context.Context, e toolsearch.Event) {
			if failure, ok := e.(*toolsearch.FailureEvent); ok { // such as a model that refuses added definitions
				fmt.Fprintln(out, "  failure:", failure.Err)
			}
		},
	}))
	agent := must(adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "helper", Description: "Helps", Model: chatModel, Handlers: []adk.ChatModelAgentMiddleware{middleware},
	}))
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	var history []*schema.Message
	stored := []byte("[]") // the session, as a program keeps it beside the history
	for _, question := range questions {
		fmt.Fprintln(out, "  user:", question)
		history = append(history, schema.UserMessage(question))
		session := toolsearch.NewSession()
		must(session, json.Unmarshal(stored, session))
		events := runner.Run(toolsearch.WithSession(ctx, session), history)
		for event, ok := events.Next(); ok; event, ok = events.Next() {
			said, _, err := adk.GetMessage(event)
			if must(said, errors.Join(event.Err, err)) != nil {
				history = append(history, said)
			}
		}
		fmt.Fprintln(out, "  model:", history[len(history)-1].Content)
		stored = must(json.Marshal(session))
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// provider prints what requests add. If it has a script it answers them, else the real provider does.
type provider struct {
	out      io.Writer
	script   []turn
	answer   func(number int, t turn) any
	requests int
	messages []json.RawMessage // of the last request
}

var schemas = regexp.MustCompile(`"(input_schema|parameters)":\{.*?"type":"object"\}`)

// RoundTrip implements http.RoundTripper.
func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	var now struct {
		Tools    []definition
		Messages []json.RawMessage
	}
	if err = errors.Join(err, json.Unmarshal(body, &now)); err != nil {
		return nil, err
	}
	repeated := 0
	for repeated < min(len(now.Messages), len(p.messages)) && bytes.Equal(now.Messages[repeated], p.messages[repeated]) {
		repeated++
	}
	p.requests++
	fmt.Fprintf(p.out, "  request %d: tools %v; repeats %d of %d messages, and adds\n", p.requests, now.Tools, repeated, len(p.messages))
	for _, raw := range now.Messages[repeated:] {
		fmt.Fprintf(p.out, "    %.160s\n", schemas.ReplaceAll(raw, []byte(`"$1":{…}`)))
	}
	p.messages = now.Messages
	if p.script == nil {
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
		return http.DefaultTransport.RoundTrip(r)
	}
	text, err := json.Marshal(p.answer(p.requests, p.script[p.requests-1]))
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(text)), Request: r,
	}, err
}

// A definition is that of a tool, in either form.
type definition struct {
	Name     string
	Function struct{ Name string }
}

func (d definition) String() string { return cmp.Or(d.Name, d.Function.Name) }

type object map[string]any

// chatCompletion is an answer of Chat Completions.
func chatCompletion(number int, t turn) any {
	said, reason := object{"role": "assistant", "content": t.text}, "stop"
	if t.tool != "" {
		reason, said["tool_calls"] = "tool_calls", []object{{
			"id": fmt.Sprint("call_", number), "type": "function", "function": object{"name": t.tool, "arguments": t.arguments},
		}}
	}
	return object{"object": "chat.completion", "choices": []object{{"index": 0, "message": said, "finish_reason": reason}}}
}

// message is an answer of Anthropic's Messages.
func message(number int, t turn) any {
	block, reason := object{"type": "text", "text": t.text}, "end_turn"
	if t.tool != "" {
		reason = "tool_use"
		block = object{"type": reason, "id": fmt.Sprint("toolu_", number), "name": t.tool, "input": json.RawMessage(t.arguments)}
	}
	return object{"type": "message", "role": "assistant", "content": []object{block}, "stop_reason": reason, "usage": object{}}
}
