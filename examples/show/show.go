// Package show prints for the examples what an agent and its model exchange, call by call:
// the tools that the model saw, its calls, and their results.
package show

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/cost/agents"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// resultLimit is how many characters of a tool's result are printed.
const resultLimit = 1600

// A Screen prints the runs of agents that share a model. It is not safe for concurrent use.
type Screen[M adk.MessageType] struct {
	out   io.Writer
	model *toolsearchtest.Model[M]
	calls int // model calls printed so far
}

// New returns a screen for the runs of a model, from its first call on.
func New[M adk.MessageType](out io.Writer, model *toolsearchtest.Model[M]) *Screen[M] {
	return &Screen[M]{out: out, model: model}
}

// Ask prints what an agent with these handlers makes of a question.
func Ask[M adk.MessageType](
	ctx context.Context, out io.Writer, model *toolsearchtest.Model[M], question string, handlers ...adk.TypedChatModelAgentMiddleware[M],
) error {
	agent, err := agents.New(ctx, &adk.TypedChatModelAgentConfig[M]{
		Name: "helper", Description: "Helps", Model: model, Handlers: handlers,
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "user:", question)
	_, _, err = New(out, model).Run(adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent}).Query(ctx, question))
	return err
}

// Run prints a run and returns its messages, which extend the history for the next run.
// interrupt is nil unless the run was interrupted. If the run fails, Run returns the error
// after printing what came before it.
func (s *Screen[M]) Run(events *adk.AsyncIterator[*adk.TypedAgentEvent[M]]) (messages []M, interrupt *adk.InterruptInfo, err error) {
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		err = errors.Join(err, event.Err)
		if event.Action != nil && event.Action.Interrupted != nil {
			interrupt = event.Action.Interrupted
		}
		if event.Output == nil {
			continue
		}
		// With Config.SendEvents they come in their place.
		if search, ok := event.Output.CustomizedOutput.(*toolsearch.SearchEvent); ok && search.Err != nil {
			s.line("from", fmt.Sprintf("%s, %.60s...", search.Searcher, search.Err))
		}
		if event.Output.MessageOutput == nil {
			continue
		}
		message, readErr := event.Output.MessageOutput.GetMessage()
		if readErr != nil {
			err = errors.Join(err, readErr)
			continue
		}
		messages = append(messages, message)
		s.print(toolsearchtest.Decode(message))
	}
	return messages, interrupt, err
}

func (s *Screen[M]) print(m toolsearchtest.Message) {
	switch m.Role {
	case toolsearchtest.Tool:
		s.line("gets", Result(m))
	case toolsearchtest.Assistant:
		s.saw(s.model.Requests()[s.calls])
		for _, call := range m.Calls {
			s.line("calls", call.Name+" "+call.Arguments)
		}
		if m.Text != "" {
			s.line("says", m.Text)
		}
	}
}

func (s *Screen[M]) saw(r toolsearchtest.Request) {
	s.calls++
	fmt.Fprintf(s.out, "model call %d\n", s.calls)
	s.line("sees", Names(r.Tools))
	if len(r.Deferred) > 0 {
		s.line("may find", fmt.Sprintf("%d deferred tools", len(r.Deferred)))
	}
	if r.SearchTool != nil {
		s.line("by means of", r.SearchTool.Name)
	}
}

// line prints a text after its label. Its further lines are indented like the first.
func (s *Screen[M]) line(label, text string) {
	const indent = "         "
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+indent)
	text = strings.ReplaceAll(text, indent+"\n", "\n")
	fmt.Fprintf(s.out, "  %-6s %s\n", label, text)
}

// Result returns the content of a tool message: its text, or the names of the tools that a
// native search found.
func Result(m toolsearchtest.Message) string {
	if m.Native {
		return "the definitions of " + Names(m.Found)
	}
	if runes := []rune(m.Text); len(runes) > resultLimit {
		return string(runes[:resultLimit]) + "…"
	}
	return m.Text
}

// Names joins the names of tools.
func Names(tools []*schema.ToolInfo) string {
	if len(tools) == 0 {
		return "no tool"
	}
	return strings.Join(toolsearchtest.Request{Tools: tools}.ToolNames(), ", ")
}

// Tokens estimates how many tokens definitions take in a request, at four bytes a token: the name,
// the description and the schema of the parameters as JSON. An invalid schema does not count.
func Tokens(infos ...*schema.ToolInfo) (tokens int) {
	for _, info := range infos {
		parameters, _ := info.ToJSONSchema()
		definition, _ := json.Marshal(map[string]any{"name": info.Name, "description": info.Desc, "parameters": parameters})
		tokens += len(definition) / 4
	}
	return tokens
}
