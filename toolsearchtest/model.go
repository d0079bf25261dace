// Package toolsearchtest helps to test agents that use toolsearch, and other agents of
// Eino's ADK. [Model] is a chat model that plays a script and remembers what it was shown.
// [Message] is a plain form of both of Eino's message types, so one test can serve both.
//
//	model := toolsearchtest.NewModel[*schema.Message](
//		toolsearchtest.CallTool("tool_search", `{"query":"weather"}`),
//		toolsearchtest.CallTool("get_weather", `{"city":"Berlin"}`),
//		toolsearchtest.Say("It is sunny."),
//	)
//	// ... run an agent with model ...
//	tools := model.Requests()[1].ToolNames() // the tools it saw after its search
//
// [TestSearcher] tests that your own search.Indexer keeps the contract. [TestCatalog] tests that
// queries find their tools.
package toolsearchtest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// A Turn is what the model does in one call: say something, call tools, or fail.
type Turn struct {
	Text  string
	Calls []Call
	Err   error // if not nil, the call fails with Err, and Text and Calls are ignored

	// Decide, if not nil, makes the turn from what the model is shown.
	Decide func(Request) Turn
}

// Say is a turn that says text and calls no tool, which ends a run.
func Say(text string) Turn { return Turn{Text: text} }

// CallTool is a turn with one tool call.
func CallTool(name, arguments string) Turn {
	return Turn{Calls: []Call{{Name: name, Arguments: arguments}}}
}

// CallTools is a turn with several tool calls at once.
func CallTools(calls ...Call) Turn { return Turn{Calls: calls} }

// Fail is a turn in which the model's provider fails.
func Fail(err error) Turn { return Turn{Err: err} }

// A Request is what the model was shown in one call.
type Request struct {
	Messages   []Message
	Tools      []*schema.ToolInfo // the ordinary tool list
	Deferred   []*schema.ToolInfo // tools for native search
	SearchTool *schema.ToolInfo   // the native search tool
	Streaming  bool
}

// ToolNames returns the names of the ordinary tool list, in its order.
func (r Request) ToolNames() []string { return names(r.Tools) }

// DeferredNames returns the names of the deferred tools, in their order.
func (r Request) DeferredNames() []string { return names(r.Deferred) }

func names(tools []*schema.ToolInfo) []string {
	list := make([]string, len(tools))
	for i, t := range tools {
		list[i] = t.Name
	}
	return list
}

// Model is a chat model that plays a script, one turn per call. It implements
// model.BaseModel[M]. It is safe for concurrent use, but concurrent runs share the script. A
// streamed turn comes in several chunks.
type Model[M adk.MessageType] struct {
	mu       sync.Mutex
	turns    []Turn
	next     int
	callID   int
	requests []Request
	inputs   [][]M
}

// NewModel returns a model that plays turns. A call after the last turn is an error.
func NewModel[M adk.MessageType](turns ...Turn) *Model[M] {
	return &Model[M]{turns: turns}
}

// Requests returns what the model was shown, call by call.
func (m *Model[M]) Requests() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Inputs returns the original messages the model was given, call by call.
func (m *Model[M]) Inputs() [][]M {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.inputs)
}

// Play adds turns to the script.
func (m *Model[M]) Play(turns ...Turn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns = append(m.turns, turns...)
}

// Generate implements model.BaseModel.
func (m *Model[M]) Generate(_ context.Context, input []M, opts ...model.Option) (M, error) {
	message, err := m.turn(input, false, opts)
	if err != nil {
		return *new(M), err
	}
	return Encode[M](message), nil
}

// Stream implements model.BaseModel.
func (m *Model[M]) Stream(_ context.Context, input []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	message, err := m.turn(input, true, opts)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray(chunks[M](message)), nil
}

func (m *Model[M]) turn(input []M, streaming bool, opts []model.Option) (Message, error) {
	options := model.GetCommonOptions(nil, opts...)
	request := Request{
		Tools:      slices.Clone(options.Tools),
		Deferred:   slices.Clone(options.DeferredTools),
		SearchTool: options.ToolSearchTool,
		Streaming:  streaming,
	}
	for _, msg := range input {
		request.Messages = append(request.Messages, Decode(msg))
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, request)
	m.inputs = append(m.inputs, slices.Clone(input))
	if m.next >= len(m.turns) {
		return Message{}, fmt.Errorf("toolsearchtest: the script has %d turns, this is call %d", len(m.turns), m.next+1)
	}
	turn := m.turns[m.next]
	m.next++
	if turn.Decide != nil {
		turn = turn.Decide(request)
	}
	if turn.Err != nil {
		return Message{}, turn.Err
	}
	message := Message{Role: Assistant, Text: turn.Text}
	for _, call := range turn.Calls {
		if call.ID == "" {
			m.callID++
			call.ID = "call_" + strconv.Itoa(m.callID)
		}
		message.Calls = append(message.Calls, call)
	}
	return message, nil
}
