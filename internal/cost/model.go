package cost

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/tokens"
)

// The model of a replay. To call a tool that it does not see, it first searches for the tool in the
// way of the protocol in use.

// plannedModel is a chat model that goes through the steps.
type plannedModel struct {
	writer   writer
	protocol toolsearch.Protocol
	steps    []Step
	loaded   []string // Conversation.Loaded
	atOnce   bool     // Conversation.AtOnce

	requests []Request
	answers  map[string]string // of tools, by the id of the call
	at       time.Duration
	next     int   // the step to do
	begun    int   // the first step that has not begun; a step's time counts when it begins
	tried    []int // how often each step's tool was searched for
	searches int   // for the tools of all steps
	id       int   // of the last call
}

func (m *plannedModel) Generate(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	options := model.GetCommonOptions(nil, opts...)
	r := m.writer.request(input, options)
	if m.protocol == toolsearch.ProtocolAnchored {
		var err error
		if r, err = m.writer.anchored(ctx, r); err != nil {
			return nil, err
		}
	}
	answer := m.answer(input, options)
	r.At, r.Output = m.at, tokens.Of(answer.Content)
	for _, call := range answer.ToolCalls {
		r.Output += tokens.Of(call.Function.Name) + tokens.Of(call.Function.Arguments)
	}
	m.requests = append(m.requests, r)
	return answer, nil
}

func (m *plannedModel) Stream(
	ctx context.Context, input []*schema.Message, opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	answer, err := m.Generate(ctx, input, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{answer}), err
}

// answer makes the model's next message.
func (m *plannedModel) answer(input []*schema.Message, options *model.Options) *schema.Message {
	if m.next == len(m.steps) {
		return schema.AssistantMessage("Done.", nil)
	}
	step := &m.steps[m.next]
	if m.begun == m.next {
		m.at, m.begun = m.at+step.After, m.next+1
	}
	if step.Tool == "" {
		m.next++
		if options.ToolSearchTool == nil && !lists(options, "tool_search") && !lists(options, "search_tools") {
			return m.answer(input, options) // every tool is shown
		}
		return schema.AssistantMessage("", []schema.ToolCall{m.search(step, 0)})
	}
	end := m.next + 1
	for end < len(m.steps) && m.steps[end].Together {
		end++
	}
	for i := m.next; i < end; i++ {
		if m.tried[i] < 3 && !m.sees(m.steps[i].Tool, input, options) {
			m.tried[i]++
			return schema.AssistantMessage("", []schema.ToolCall{m.search(&m.steps[i], m.tried[i]-1)})
		}
	}
	var calls []schema.ToolCall
	for ; m.next < end; m.next++ {
		calls = append(calls, m.callOf(&m.steps[m.next], options))
	}
	m.begun = m.next
	return schema.AssistantMessage("", calls)
}

// callOf makes the call of a step's tool, and plans what the tool answers.
func (m *plannedModel) callOf(step *Step, options *model.Options) (call schema.ToolCall) {
	arguments := json.RawMessage(step.Arguments)
	if m.protocol == toolsearch.ProtocolDispatch && !lists(options, step.Tool) {
		call = m.call("call_tool", struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}{step.Tool, arguments})
	} else {
		call = m.call(step.Tool, arguments)
	}
	m.answers[call.ID] = filler(step.Result)
	return call
}

func lists(options *model.Options, name string) bool {
	return slices.ContainsFunc(options.Tools, func(t *schema.ToolInfo) bool { return t.Name == name })
}

// sees reports whether the model has seen a tool's definition: in its list, in the result of a
// native search, in an answer of ProtocolDispatch, or in the turns before.
func (m *plannedModel) sees(name string, input []*schema.Message, options *model.Options) bool {
	if lists(options, name) || slices.Contains(m.loaded, name) {
		return true
	}
	quoted := `"name":` + string(text(name))
	return slices.ContainsFunc(input, func(message *schema.Message) bool {
		return m.protocol == toolsearch.ProtocolDispatch && message.Role == schema.Tool && strings.Contains(message.Content, quoted) ||
			slices.ContainsFunc(foundBy(message), func(t *schema.ToolInfo) bool { return t.Name == name })
	})
}

// search makes the next call that leads to a step's tool: first a search by the step's
// words, then a selection by name. ProtocolSearchAdd then adds what its search found.
// before is the number of searches for this step so far.
func (m *plannedModel) search(step *Step, before int) schema.ToolCall {
	m.searches++
	words := step.Query
	if words == "" || before > 0 {
		words = selection + step.Tool
	}
	switch m.protocol {
	case toolsearch.ProtocolRegexp:
		return m.call("tool_search", map[string]string{"regex_pattern": pattern(words)})
	case toolsearch.ProtocolSearchAdd:
		if before > 0 {
			return m.call("add_tool", map[string][]string{"tool_names": {step.Tool}})
		}
		return m.call("search_tools", map[string]string{"query": pattern(words)})
	default:
		if queries := m.queries(); m.atOnce && m.searches == 1 && len(queries) > 1 {
			return m.call("tool_search", map[string][]string{"query": queries})
		}
		return m.call("tool_search", map[string]string{"query": words})
	}
}

// queries returns the queries for the tools of all remaining steps.
func (m *plannedModel) queries() (list []string) {
	for _, step := range m.steps[m.next:] {
		if words := cmp.Or(step.Query, selection+step.Tool); !slices.Contains(list, words) {
			list = append(list, words)
		}
	}
	return list
}

// selection is the beginning of a query that selects tools by their names.
const selection = "select:"

// pattern returns words as a model writes them to a search that takes patterns.
func pattern(words string) string {
	if names, ok := strings.CutPrefix(words, selection); ok {
		return "^(" + strings.ReplaceAll(regexp.QuoteMeta(names), ",", "|") + ")$"
	}
	return strings.Join(strings.Fields(words), ".*")
}

func (m *plannedModel) call(name string, arguments any) schema.ToolCall {
	m.id++
	return schema.ToolCall{
		ID: fmt.Sprintf("call_%03d", m.id), Type: "function",
		Function: schema.FunctionCall{Name: name, Arguments: string(text(arguments))},
	}
}
