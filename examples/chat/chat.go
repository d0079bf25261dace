package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
)

// lineLimit is the longest question, in bytes. resultLimit is how many characters of a tool's
// result are printed.
const (
	lineLimit   = 1 << 20
	resultLimit = 160
)

// pasteGap is how close together the lines of a paste come. A terminal hands them over at once,
// and nobody types that fast.
var pasteGap = 50 * time.Millisecond

// A chat is the conversation and its output. The agent's goroutines call its callbacks. The
// other methods are for one goroutine.
type chat struct {
	terminal
	runner  *adk.Runner
	history []*schema.Message
	shown   []string // loaded tools, as last printed

	session *toolsearch.Session // what the conversation has loaded

	mu       sync.Mutex
	searches []*toolsearch.SearchEvent // not printed yet
}

// onEvent is the middleware's OnEvent. It keeps a search until its result is printed, so
// that the output does not interrupt the model's text.
func (c *chat) onEvent(_ context.Context, e toolsearch.Event) {
	search, ok := e.(*toolsearch.SearchEvent)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.searches = append(c.searches, search)
}

// talk answers one question after another until an empty line, Ctrl-C at the prompt, the end
// of the input or the end of ctx.
func (c *chat) talk(ctx context.Context) error {
	lines, failure := make(chan string), make(chan error, 1)
	go func() { // a read from a terminal cannot be cancelled
		defer close(lines)
		scanner := bufio.NewScanner(c.in)
		scanner.Buffer(nil, lineLimit)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
		failure <- scanner.Err()
	}()
	for {
		fmt.Fprint(c.out, "\n> ")
		select {
		case <-ctx.Done():
			return nil
		case <-c.interrupts:
			fmt.Fprintln(c.out)
			return nil
		case question, more := <-lines:
			if !more {
				fmt.Fprintln(c.out)
				return <-failure
			}
			if c.isTyped {
				question += pasted(lines)
			}
			if strings.TrimSpace(question) == "" {
				return nil
			}
			c.answer(ctx, question)
		}
	}
}

// pasted returns the lines that come together with the line just read.
func pasted(lines <-chan string) string {
	var rest strings.Builder
	for {
		select {
		case line, more := <-lines:
			if !more { // talk sees the end too
				return rest.String()
			}
			rest.WriteString("\n" + line)
		case <-time.After(pasteGap):
			return rest.String()
		}
	}
}

// untilInterrupt returns a context that the next Ctrl-C ends. Until ctx ends, no Ctrl-C
// reaches the prompt.
func (c *chat) untilInterrupt(ctx context.Context) context.Context {
	interrupted, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-c.interrupts:
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	}()
	return interrupted
}

var errInterrupted = errors.New("stopped by Ctrl-C")

// answer runs the agent until it ends, or Ctrl-C ends it. Such a run and a failed run leave the
// history and the session as they were before the question, so the user can ask again.
func (c *chat) answer(ctx context.Context, question string) {
	listening, stopListening := context.WithCancel(ctx)
	defer stopListening()
	ctx = c.untilInterrupt(listening)
	before, loaded := c.history, c.session.Loaded()
	c.history = append(slices.Clip(c.history), schema.UserMessage(question))
	events := c.runner.Run(toolsearch.WithSession(ctx, c.session), slices.Clip(c.history))
	var failure error
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		err := event.Err
		if err == nil && event.Output != nil && event.Output.MessageOutput != nil {
			var message *schema.Message
			if message, err = c.show(event.Output.MessageOutput); err == nil {
				c.history = append(c.history, message)
			}
		}
		failure = errors.Join(failure, err)
	}
	if failure != nil {
		c.history, c.session = before, toolsearch.NewSession(loaded...)
		if errors.Is(context.Cause(ctx), errInterrupted) {
			fmt.Fprintln(c.out, "\n[stopped; the question is forgotten]")
		} else {
			fmt.Fprintf(c.out, "[failed: %s]\n", printable(failure.Error()))
		}
		return
	}
	names := c.session.Loaded()
	if !slices.Equal(names, c.shown) {
		c.shown = names
		fmt.Fprintf(c.out, "[loaded: %s]\n", printable(strings.Join(names, ", ")))
	}
}

// show prints a message as it streams and returns the whole message.
func (c *chat) show(output *adk.MessageVariant) (*schema.Message, error) {
	message := output.Message
	said := ""
	say := func(text string) {
		text = printable(text)
		said += text
		fmt.Fprint(c.out, text)
	}
	assistant := output.Role == schema.Assistant
	if output.IsStreaming {
		var chunks []*schema.Message
		defer output.MessageStream.Close()
		for {
			chunk, err := output.MessageStream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			if assistant {
				say(chunk.Content)
			}
			chunks = append(chunks, chunk)
		}
		var err error
		if message, err = schema.ConcatMessages(chunks); err != nil {
			return nil, err
		}
	} else if assistant {
		say(message.Content)
	}
	if said != "" && !strings.HasSuffix(said, "\n") {
		fmt.Fprintln(c.out)
	}
	c.showCalls(message)
	return message, nil
}

// showCalls prints the tool calls of a message, or the result of a call.
func (c *chat) showCalls(message *schema.Message) {
	for _, call := range message.ToolCalls {
		if call.Function.Name != toolsearch.DefaultToolName {
			fmt.Fprintf(c.out, "[calls %s %s]\n", printable(call.Function.Name), printable(call.Function.Arguments))
		}
	}
	if message.Role != schema.Tool {
		return
	}
	c.mu.Lock()
	searches := c.searches
	c.searches = nil
	c.mu.Unlock()
	for _, e := range searches {
		fmt.Fprintf(c.out, "[searches %q: finds %s]\n", printable(e.Query), found(e))
		if e.Err != nil {
			fmt.Fprintf(c.out, "[the search failed, so another searcher answered: %s]\n", printable(e.Err.Error()))
		}
	}
	if len(searches) == 0 || message.ToolName != toolsearch.DefaultToolName { // the search tool also answers calls of unknown tools
		result := []rune(printable(message.Content))
		if len(result) > resultLimit {
			result = append(result[:resultLimit], '…')
		}
		fmt.Fprintf(c.out, "[gets %s]\n", string(result))
	}
}

// found describes what a search found.
func found(e *toolsearch.SearchEvent) string {
	names := printable(strings.Join(e.Matches, ", "))
	switch {
	case len(e.Matches) == 0:
		return "nothing"
	case e.Total > len(e.Matches):
		return fmt.Sprintf("%d tools, gets %s", e.Total, names)
	}
	return names
}

// printable drops characters that could control the terminal or disguise text.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return -1
		}
		return r
	}, text)
}
