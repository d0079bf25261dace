package cost

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/cost/agents"
	"github.com/eino-toolsearch/toolsearch/internal/tokens"
)

// Conversations, played by a real agent with a model that follows a plan (model.go).

// A Conversation describes what is said and called in one run of an agent.
type Conversation struct {
	System   int      // tokens of the system message; 0 means none
	History  int      // tokens of the turns before
	Loaded   []string // names of the tools that the turns before have loaded
	Question string   // what the user asks; "" means a question that names no tool
	Steps    []Step   // the calls of tools, without the last model call, which answers
	AtOnce   bool     // the model's first search looks for the tools of all steps, as a list of queries
	Said     int      // tokens that the model says and thinks besides its calls, in the whole run
}

// A Step is one call of a tool.
type Step struct {
	// Tool is the tool's name. A name that is not in the catalog stands for a tool of the agent's
	// own, which is always shown and has no parameters. "" means that the model only searches.
	Tool      string
	Arguments string        // JSON; "" means arguments made from the tool's schema
	Query     string        // the words to search for it by; "" means its name, as a selection
	Result    int           // tokens of what the tool answers
	After     time.Duration // since the previous model call
	Together  bool          // the model makes this call together with the previous step's
}

// called returns the tools that the conversation calls.
func (c *Conversation) called() map[string]bool {
	called := make(map[string]bool)
	for _, step := range c.Steps {
		if step.Tool != "" {
			called[step.Tool] = true
		}
	}
	return called
}

// A Replayed is a conversation that was played.
type Replayed struct {
	Earlier  []Request // the last request of the previous turn, for a warm cache; Preselect selected nothing for it
	Requests []Request // of the run, one for each model call

	Searches int // calls of the protocol's own tools, except call_tool
	Changes  int // how often the tools differ from those of the previous request
}

// Replay plays a conversation over tools, which replace config's DynamicTools and Groups. Every tool answers
// with a filler text. Requests are what the model got, byte for byte the same in every replay.
func Replay(ctx context.Context, tools []*schema.ToolInfo, config toolsearch.Config, wire string, c Conversation) (*Replayed, error) {
	m := &plannedModel{
		writer: writer{wire: wire}, protocol: config.Protocol, steps: slices.Clone(c.Steps), loaded: c.Loaded, atOnce: c.AtOnce,
		answers: make(map[string]string), tried: make([]int, len(c.Steps)),
	}
	config.DynamicTools, config.Groups, config.OnEvent = nil, nil, nil
	known := make(map[string]*schema.ToolInfo, len(tools))
	for _, info := range tools {
		config.DynamicTools = append(config.DynamicTools, &standIn{info, m.answers})
		known[info.Name] = info
	}
	middleware, err := toolsearch.New(ctx, &config)
	if err != nil {
		return nil, fmt.Errorf("cost: %w", err)
	}
	agentConfig := &adk.ChatModelAgentConfig{
		Name: "agent", Description: "Does what was planned", Model: m, MaxIterations: 5*len(c.Steps) + 5,
		Handlers: []adk.ChatModelAgentMiddleware{middleware},
	}
	for i := range m.steps {
		step := &m.steps[i]
		if step.Tool == "" {
			continue
		}
		if known[step.Tool] == nil {
			known[step.Tool] = &schema.ToolInfo{Name: step.Tool, Desc: "A tool of the agent's own."}
			agentConfig.ToolsConfig.Tools = append(agentConfig.ToolsConfig.Tools, &standIn{known[step.Tool], m.answers})
		}
		if step.Arguments == "" {
			step.Arguments = "{}"
			if made, ok := argumentsFor(known[step.Tool]); ok {
				step.Arguments = made
			}
		}
	}
	if c.System > 0 {
		agentConfig.Instruction = filler(c.System)
	}
	var input []adk.Message
	if c.History > 0 {
		input = append(input, schema.UserMessage("Go on."), schema.AssistantMessage(filler(c.History), nil))
	}
	if len(c.Loaded) > 0 {
		ctx = toolsearch.WithLoaded(ctx, c.Loaded...)
	}
	if anchored := toolsearch.ProtocolAnchored; m.protocol == anchored && len(input) > 0 && len(c.Loaded) > 0 {
		// The turns before have defined what they loaded, and the session knows where.
		steps := m.steps
		m.steps = nil
		if err := agents.Run(ctx, agentConfig, input[:1]); err != nil {
			return nil, fmt.Errorf("cost: the turn before: %w", err)
		}
		m.steps, m.requests = steps, nil
	}
	input = append(input, schema.UserMessage(cmp.Or(c.Question, defaultQuestion)))
	if err := agents.Run(ctx, agentConfig, input); err != nil {
		return nil, fmt.Errorf("cost: the conversation: %w", err)
	}
	if len(m.requests) == 0 {
		return nil, errors.New("cost: the model was never called")
	}
	m.requests[len(m.requests)-1].Output += c.Said
	played := m.replayed()
	if config.Preselect != 0 {
		// The previous turn was not shown what this question selects.
		config.Preselect = 0
		before, err := Replay(ctx, tools, config, wire, c)
		if err != nil {
			return nil, err
		}
		played.Earlier = before.Earlier
	}
	return played, nil
}

// Prices returns what the conversation costs without a cache, with a cold cache, and with a warm cache, which has the
// previous turn, in US dollars.
func (r *Replayed) Prices(p *Provider) [3]float64 {
	uncached := *p
	uncached.Cache = CacheNone
	return [3]float64{
		p.Price(Sum(uncached.Bill(nil, r.Requests))), p.Price(Sum(p.Bill(nil, r.Requests))), p.Price(Sum(p.Bill(r.Earlier, r.Requests))),
	}
}

const defaultQuestion = "Do what is next."

// replayed sums up what the model got.
func (m *plannedModel) replayed() *Replayed {
	r := &Replayed{Requests: m.requests, Searches: m.searches}
	for i := 1; i < len(m.requests); i++ {
		if string(m.requests[i].Tools) != string(m.requests[i-1].Tools) {
			r.Changes++
		}
	}
	// The previous turn ended where the question begins.
	before := m.requests[0]
	end := 1 + bytes.LastIndexByte(bytes.TrimSuffix(before.Messages, []byte("\n")), '\n')
	before.Messages = before.Messages[:end:end]
	if end := len(before.Prompt()); len(before.Marks) > 0 {
		before.Marks = append(slices.DeleteFunc(slices.Clone(before.Marks), func(mark int) bool { return mark >= end }), end)
	}
	r.Earlier = []Request{before}
	return r
}

// standIn is a tool that answers with the text that was planned for the call.
type standIn struct {
	info    *schema.ToolInfo
	answers map[string]string // planned, by the id of the call; only read while tools run
}

func (s *standIn) Info(context.Context) (*schema.ToolInfo, error) { return s.info, nil }

func (s *standIn) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	return s.answers[compose.GetToolCallID(ctx)], nil
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
