package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// The cost of a conversation whose prompts are cached, compared with showing every tool.
//
// A request is the JSON of the tools and then of the messages, in the order in which
// providers cache them. Its longest common prefix with an earlier request is billed at
// cachedRate and the rest at writtenRate, as Anthropic bills them. Without a cache every
// byte is billed at 1.

const (
	cachedRate  = 0.1
	writtenRate = 1.25
)

// A shape is a conversation to be billed.
type shape struct {
	history int // tokens of the earlier turns, four bytes each
	calls   int // model calls when every tool is shown; each search adds a call
	loads   int // searches, spread evenly over the calls
}

// A bill is the extra cost over showing all tools, in percent.
type bill struct {
	uncached int // nothing is cached
	cold     int // this run's own requests are cached
	warm     int // the previous turn's request is cached too
}

func (b bill) String() string { return fmt.Sprintf("%+d / %+d / %+d %%", b.uncached, b.cold, b.warm) }

// steps are the searches and tool calls of the conversation, in order.
var steps = []struct{ query, tool, arguments string }{
	{"create github issue", "mcp__github__create_issue", issueArguments},
	{"slack send message", "mcp__slack__send_message", `{"channel":"#incidents","text":"Checkout fails."}`},
	{"sentry list errors", "mcp__sentry__list_errors", `{"project":"checkout"}`},
}

// billOf plays the conversation under the protocol and with all tools shown.
func billOf(ctx context.Context, protocol toolsearch.Protocol, s shape) (b bill, err error) {
	all, err := play(ctx, toolsearch.Config{DeferFrom: len(services.Tools()) + 1}, s)
	if err != nil {
		return b, err
	}
	ours, err := play(ctx, toolsearch.Config{Protocol: protocol}, s)
	if err != nil {
		return b, err
	}
	more := func(price func(requests []string) float64) int {
		return int(100*price(ours)/price(all)+0.5) - 100
	}
	return bill{
		uncached: more(func(requests []string) float64 { return float64(len(strings.Join(requests, ""))) }),
		cold:     more(func(requests []string) float64 { return cached(nil, requests) }),
		warm: more(func(requests []string) float64 {
			before, _, _ := strings.Cut(requests[0], question) // the previous turn ended where the question begins
			return cached([]string{before}, requests)
		}),
	}, nil
}

// cached is the price of requests. Each may share a prefix with any request before it,
// those of earlier included.
func cached(earlier, requests []string) (price float64) {
	for _, r := range requests {
		common := 0
		for _, e := range earlier {
			common = max(common, commonPrefix(e, r))
		}
		price += cachedRate*float64(common) + writtenRate*float64(len(r)-common)
		earlier = append(earlier, r)
	}
	return price
}

func commonPrefix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// play returns the text of each request of the conversation.
func play(ctx context.Context, config toolsearch.Config, s shape) (texts []string, err error) {
	shown := config.DeferFrom > 0
	var turns []toolsearchtest.Turn
	for call := range s.calls - 1 {
		step := steps[call*s.loads/(s.calls-1)]
		if starts := call == 0 || call*s.loads/(s.calls-1) != (call-1)*s.loads/(s.calls-1); starts && !shown {
			turns = append(turns, toolsearchtest.CallTool("tool_search", fmt.Sprintf(`{"query":%q}`, step.query)))
		}
		if config.Protocol == toolsearch.ProtocolDispatch {
			turns = append(turns, toolsearchtest.CallTool("call_tool", fmt.Sprintf(`{"name":%q,"arguments":%s}`, step.tool, step.arguments)))
		} else {
			turns = append(turns, toolsearchtest.CallTool(step.tool, step.arguments))
		}
	}
	model := toolsearchtest.NewModel[*schema.Message](append(turns, toolsearchtest.Say("Done."))...)
	config.DynamicTools = services.Tools()
	middleware, err := toolsearch.New(ctx, &config)
	if err != nil {
		return nil, err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "helper", Description: "Helps", Model: model, MaxIterations: len(turns) + 1,
		Handlers: []adk.ChatModelAgentMiddleware{middleware},
	})
	if err != nil {
		return nil, err
	}
	const words = "and so on "
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Run(ctx, []*schema.Message{
		schema.UserMessage("Earlier."),
		schema.AssistantMessage(strings.Repeat(words, 4*s.history/len(words)), nil),
		schema.UserMessage(question),
	})
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			return nil, event.Err
		}
	}
	for _, r := range model.Requests() {
		text, err := requestText(r)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func requestText(r toolsearchtest.Request) (string, error) {
	var b strings.Builder
	write := func(value any) error {
		text, err := json.Marshal(value)
		b.Write(text)
		return err
	}
	for _, info := range r.Tools {
		parameters, err := info.ToJSONSchema()
		if err != nil {
			return "", err
		}
		if err := write(map[string]any{"name": info.Name, "description": info.Desc, "parameters": parameters}); err != nil {
			return "", err
		}
	}
	for _, m := range r.Messages {
		if err := write([]any{m.Role, m.Text, m.Calls}); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}
