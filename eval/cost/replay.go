package cost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/tokens"
)

// A conversation is played by a real agent and a model that follows a plan: to call a tool it
// does not see, it searches for it first, in the way of the protocol it finds itself in.

// A Conversation is what is said and called in one run of an agent.
type Conversation struct {
	System  int    // tokens of the system message; 0 means none
	History int    // tokens of the turns before
	Steps   []Step // the calls of tools, one for each model call but the last, which answers
}

// A Step is one call of a tool.
type Step struct {
	Tool      string        // its name
	Arguments string        // JSON
	Query     string        // the words to search for it by; "" means its name, as a selection
	Result    int           // tokens of what the tool answers
	After     time.Duration // since the model call before
}

// A Replayed is a conversation that was played.
type Replayed struct {
	Earlier  []Request // the last request of the turn before, for a cache that is warm
	Requests []Request // of the run, one for each model call

	Searches int // calls of the protocol's own tools, but for call_tool
	Changes  int // how often the tools differ from those of the request before
}

// Replay plays a conversation over tools with a configuration, whose DynamicTools and Source are
// replaced. wire is WireMessages or WireChat. A configuration whose DeferFrom is above the number
// of tools shows them all. Every tool answers with a filler text. Requests are those that the
// model got, byte for byte the same in every replay.
func Replay(ctx context.Context, tools []*schema.ToolInfo, config toolsearch.Config, wire string, c Conversation) (*Replayed, error) {
	config.DynamicTools, config.Source, config.OnEvent = nil, nil, nil
	answers := make(map[string]int, len(c.Steps))
	for _, s := range c.Steps {
		answers[s.Tool] = s.Result
	}
	for _, info := range tools {
		config.DynamicTools = append(config.DynamicTools, &standIn{info, filler(answers[info.Name])})
	}
	middleware, err := toolsearch.New(ctx, &config)
	if err != nil {
		return nil, fmt.Errorf("cost: %w", err)
	}
	m := &plannedModel{writer: writer{wire: wire}, protocol: config.Protocol, steps: c.Steps}
	agentConfig := &adk.ChatModelAgentConfig{
		Name: "agent", Description: "Does what was planned", Model: m, MaxIterations: 5*len(c.Steps) + 5,
		Handlers: []adk.ChatModelAgentMiddleware{middleware},
	}
	if c.System > 0 {
		agentConfig.Instruction = filler(c.System)
	}
	agent, err := adk.NewChatModelAgent(ctx, agentConfig)
	if err != nil {
		return nil, fmt.Errorf("cost: %w", err)
	}
	var input []adk.Message
	if c.History > 0 {
		input = append(input, schema.UserMessage("Go on."), schema.AssistantMessage(filler(c.History), nil))
	}
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Run(ctx, append(input, schema.UserMessage(question)))
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			return nil, fmt.Errorf("cost: the conversation: %w", event.Err)
		}
	}
	if len(m.requests) == 0 {
		return nil, errors.New("cost: the model was never called")
	}
	return m.replayed(), nil
}

const question = "Do what is next."

// replayed sums up what the model got.
func (m *plannedModel) replayed() *Replayed {
	r := &Replayed{Requests: m.requests, Searches: m.searches}
	for i := 1; i < len(m.requests); i++ {
		if string(m.requests[i].Tools) != string(m.requests[i-1].Tools) {
			r.Changes++
		}
	}
	// The turn before ended where the question begins.
	before := m.requests[0]
	if at := strings.LastIndex(strings.TrimSuffix(string(before.Messages), "\n"), "\n"); at >= 0 {
		before.Messages = before.Messages[: at+1 : at+1]
	} else {
		before.Messages = nil
	}
	if end := len(before.Prompt()); len(before.Marks) > 0 {
		before.Marks = append(slices.DeleteFunc(slices.Clone(before.Marks), func(mark int) bool { return mark >= end }), end)
	}
	r.Earlier = []Request{before}
	return r
}

// standIn is a tool of the catalog. It answers with a text of its own length.
type standIn struct {
	info   *schema.ToolInfo
	answer string
}

func (s *standIn) Info(context.Context) (*schema.ToolInfo, error) { return s.info, nil }

func (s *standIn) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	return s.answer, nil
}

// filler returns a text of about n tokens.
func filler(n int) string {
	const sentence = "This is what was said of it before, and so it goes on. "
	if n <= 0 {
		return "done"
	}
	each := tokens.Of(sentence)
	return strings.TrimSpace(strings.Repeat(sentence, max(1, (n+each/2)/each)))
}

// plannedModel is a chat model that goes through the steps.
type plannedModel struct {
	writer   writer
	protocol toolsearch.Protocol
	steps    []Step

	requests []Request
	at       time.Duration
	next     int // the step to do
	tried    int // searches for its tool
	searches int // of all steps
	id       int // of the last call
}

// Generate implements model.BaseModel.
func (m *plannedModel) Generate(_ context.Context, input []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	options := model.GetCommonOptions(nil, opts...)
	r := m.writer.request(input, options)
	answer := m.answer(input, options)
	r.At, r.Output = m.at, tokens.Of(answer.Content)
	for _, call := range answer.ToolCalls {
		r.Output += tokens.Of(call.Function.Name) + tokens.Of(call.Function.Arguments)
	}
	m.requests = append(m.requests, r)
	return answer, nil
}

// Stream implements model.BaseModel.
func (m *plannedModel) Stream(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	answer, err := m.Generate(ctx, input, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{answer}), nil
}

// answer makes the model's next message.
func (m *plannedModel) answer(input []*schema.Message, options *model.Options) *schema.Message {
	if m.next == len(m.steps) {
		return schema.AssistantMessage("Done.", nil)
	}
	step := &m.steps[m.next]
	if m.tried == 0 {
		m.at += step.After
	}
	if !m.sees(step.Tool, input, options) && m.tried < 3 {
		m.tried++
		m.searches++
		return m.search(step)
	}
	m.next, m.tried = m.next+1, 0
	if m.protocol == toolsearch.ProtocolDispatch && !lists(options, step.Tool) {
		return m.call("call_tool", dispatched{step.Tool, json.RawMessage(step.Arguments)})
	}
	return m.call(step.Tool, json.RawMessage(step.Arguments))
}

type dispatched struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func lists(options *model.Options, name string) bool {
	return slices.ContainsFunc(options.Tools, func(t *schema.ToolInfo) bool { return t.Name == name })
}

// sees reports whether the model has a tool's definition before it: in its list, in the result of
// a native search, or in an answer of ProtocolDispatch.
func (m *plannedModel) sees(name string, input []*schema.Message, options *model.Options) bool {
	if lists(options, name) {
		return true
	}
	quoted := `"name":` + string(text(name))
	return slices.ContainsFunc(input, func(message *schema.Message) bool {
		return m.protocol == toolsearch.ProtocolDispatch && message.Role == schema.Tool && strings.Contains(message.Content, quoted) ||
			slices.ContainsFunc(foundBy(message), func(t *schema.ToolInfo) bool { return t.Name == name })
	})
}

// search makes the call that leads to a step's tool: a search by the step's words, then a
// selection by name. ProtocolSearchAdd adds what its search found.
func (m *plannedModel) search(step *Step) *schema.Message {
	selection := "select:" + step.Tool
	words := step.Query
	if words == "" || m.tried > 1 {
		words = selection
	}
	switch m.protocol {
	case toolsearch.ProtocolRegexp:
		if words == selection {
			words = "^" + step.Tool + "$"
		}
		return m.call("tool_search", map[string]string{"regex_pattern": pattern(words)})
	case toolsearch.ProtocolSearchAdd:
		if m.tried > 1 {
			return m.call("add_tool", map[string][]string{"tool_names": {step.Tool}})
		}
		return m.call("search_tools", map[string]string{"query": pattern(words)})
	default:
		return m.call("tool_search", map[string]string{"query": words})
	}
}

// pattern returns words as a model writes them to a search that takes patterns.
func pattern(words string) string { return strings.Join(strings.Fields(words), ".*") }

func (m *plannedModel) call(name string, arguments any) *schema.Message {
	m.id++
	return schema.AssistantMessage("", []schema.ToolCall{{
		ID: fmt.Sprintf("call_%03d", m.id), Type: "function",
		Function: schema.FunctionCall{Name: name, Arguments: string(text(arguments))},
	}})
}
