// Package show prints what goes on between an agent and its model, call by call, for the
// examples: the tools the model saw, what it called, and what it got.
package show

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// resultLimit is the most characters of a tool's result that are printed.
const resultLimit = 1600

// A Screen prints the runs of agents that have one model. It is for one goroutine.
type Screen[M adk.MessageType] struct {
	out   io.Writer
	model *toolsearchtest.Model[M]
	calls int // model calls printed so far
}

// New returns a screen for the runs of that model, from its first call on.
func New[M adk.MessageType](out io.Writer, model *toolsearchtest.Model[M]) *Screen[M] {
	return &Screen[M]{out: out, model: model}
}

// Run prints a run to its end and returns its messages, which make the history of the next
// run, and what it was interrupted by, or nil. Errors of the run are returned; what came
// before them is printed.
func (s *Screen[M]) Run(events *adk.AsyncIterator[*adk.TypedAgentEvent[M]]) (messages []M, interrupt *adk.InterruptInfo, err error) {
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		err = errors.Join(err, event.Err)
		if event.Action != nil && event.Action.Interrupted != nil {
			interrupt = event.Action.Interrupted
		}
		if event.Output == nil || event.Output.MessageOutput == nil {
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

// line prints a text behind its label; further lines of it are put below its first.
func (s *Screen[M]) line(label, text string) {
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n         ")
	fmt.Fprintf(s.out, "  %-6s %s\n", label, text)
}

// Result is what a tool's message says: its text, or the tools that a native search found.
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
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}
