// Chat is an interactive chat in the terminal with a model behind any OpenAI-compatible
// endpoint. The model has 166 tools behind tool_search, or the tools of a file.
//
// Watch the searches and their results in brackets, and the list of loaded tools after each
// answer: they stay loaded for the next question. Ask it, for example, to find the most
// frequent error of checkout and to tell #incidents. Those 166 tools are make-believe, so nothing
// is harmed. Ctrl-C ends an answer, and the chat while it waits for a question.
//
//	OPENAI_API_KEY=... go -C examples/chat run . -model gpt-4o-mini
//	go -C examples/chat run . -base-url http://localhost:11434/v1 -model qwen3
//	go -C examples/chat run . -model gpt-4o-mini -catalog /path/to/tools.jsonl
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
)

const instruction = "You help with the work of a software company. Look for tools with tool_search before you say that you cannot " +
	"do something. Be brief."

// resultLimit is how many characters of a tool's result are printed.
const resultLimit = 160

func main() {
	log.SetFlags(0)
	config := &openai.ChatModelConfig{APIKey: os.Getenv("OPENAI_API_KEY"), Timeout: 5 * time.Minute}
	flag.StringVar(&config.Model, "model", os.Getenv("OPENAI_MODEL"), "name of the model")
	flag.StringVar(&config.BaseURL, "base-url", os.Getenv("OPENAI_BASE_URL"), "address of the API, with /v1; else OpenAI's own")
	catalog := flag.String("catalog", "", "file of tools, JSONL or an MCP server's answer to tools/list; else the quickstart's")
	flag.Parse()
	if config.Model == "" || config.APIKey == "" && config.BaseURL == "" {
		log.Fatal("give -model, and set OPENAI_API_KEY or give the -base-url of a server that needs no key")
	}
	if err := run(context.Background(), os.Stdin, os.Stdout, config, *catalog); err != nil {
		log.Fatal(err)
	}
}

// run answers one question after another until an empty line or the end of the input.
func run(ctx context.Context, in io.Reader, out io.Writer, model *openai.ChatModelConfig, catalog string) error {
	c := &chat{out: out, session: toolsearch.NewSession()}
	config := &toolsearch.Config{
		DynamicTools: services.Tools(), OnEvent: c.onEvent, Index: toolsearch.BM25, Fallback: toolsearch.Fuzzy,
		Reminder: toolsearch.ReminderConfig{MaxTokens: 2000}, // a file may have thousands of tools
	}
	if catalog != "" {
		file, err := eval.LoadCatalog(catalog)
		if err != nil {
			return err
		}
		config.DynamicTools, config.Annotate = nil, file.Annotate
		for _, info := range file.Tools {
			config.DynamicTools = append(config.DynamicTools, definition{info})
		}
	}
	var err error
	if c.runner, err = newRunner(ctx, model, config); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s with %d tools to find. An empty line ends the chat.\n\n> ", model.Model, len(config.DynamicTools))
	lines := bufio.NewScanner(in)
	for lines.Scan() && strings.TrimSpace(lines.Text()) != "" {
		c.answer(ctx, lines.Text())
		fmt.Fprint(out, "\n> ")
	}
	fmt.Fprintln(out)
	return lines.Err()
}

// A definition is a tool that cannot run, since a file has only its definition. Its result
// says so.
type definition struct{ info *schema.ToolInfo }

func (d definition) Info(context.Context) (*schema.ToolInfo, error) { return d.info, nil }

func (d definition) InvokableRun(_ context.Context, arguments string, _ ...tool.Option) (string, error) {
	return "Not run: only the definition of " + d.info.Name + " is known here. Tell the user that it would be called with " + arguments, nil
}

// newRunner makes the agent with the tools of config.
func newRunner(ctx context.Context, modelConfig *openai.ChatModelConfig, config *toolsearch.Config) (*adk.Runner, error) {
	model, err := openai.NewChatModel(ctx, modelConfig)
	if err != nil {
		return nil, err
	}
	middleware, err := toolsearch.New(ctx, config)
	if err != nil {
		return nil, err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "chat", Description: "Chats", Instruction: instruction, Model: model,
		Handlers: []adk.ChatModelAgentMiddleware{middleware},
	})
	if err != nil {
		return nil, err
	}
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: true}), nil
}

// A chat is the conversation and its output.
type chat struct {
	out     io.Writer
	runner  *adk.Runner
	history []*schema.Message
	session *toolsearch.Session // what the conversation has loaded

	mu       sync.Mutex // a model may search twice at once
	searches []*toolsearch.SearchEvent
}

// onEvent is the middleware's OnEvent. It keeps a search until its result is printed, so
// that the output does not interrupt the model's text.
func (c *chat) onEvent(_ context.Context, e toolsearch.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if search, ok := e.(*toolsearch.SearchEvent); ok {
		c.searches = append(c.searches, search)
	}
}

// answer runs the agent until it ends, or Ctrl-C ends it. Such a run and a failed run leave the
// history and the session as they were before the question, so the user can ask again.
func (c *chat) answer(ctx context.Context, question string) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
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
		fmt.Fprintf(c.out, "[failed, and the question is forgotten: %s]\n", printable(failure.Error()))
	} else if names := c.session.Loaded(); !slices.Equal(names, loaded) {
		fmt.Fprintf(c.out, "[loaded: %s]\n", printable(strings.Join(names, ", ")))
	}
}

// show prints a message, the model's text as it streams, and returns the whole message.
func (c *chat) show(output *adk.MessageVariant) (*schema.Message, error) {
	if !output.IsStreaming {
		c.showResult(output.Message)
		return output.Message, nil
	}
	defer output.MessageStream.Close()
	var chunks []*schema.Message
	for {
		chunk, err := output.MessageStream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if output.Role == schema.Assistant {
			fmt.Fprint(c.out, printable(chunk.Content))
		}
		chunks = append(chunks, chunk)
	}
	message, err := schema.ConcatMessages(chunks)
	if err != nil {
		return nil, err
	}
	if message.Role == schema.Tool {
		c.showResult(message)
	} else if message.Content != "" {
		fmt.Fprintln(c.out)
	}
	for _, call := range message.ToolCalls {
		if call.Function.Name != toolsearch.DefaultToolName {
			fmt.Fprintf(c.out, "[calls %s %s]\n", printable(call.Function.Name), printable(call.Function.Arguments))
		}
	}
	return message, nil
}

// showResult prints the result of a tool. The search tool also answers calls of unknown tools, without
// an event.
func (c *chat) showResult(message *schema.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, search := range c.searches {
		names := cmp.Or(strings.Join(search.Matches, ", "), "nothing")
		fmt.Fprintf(c.out, "[searches %q: gets %s of %d tools that match]\n", printable(search.Query), printable(names), search.Total)
		if search.Err != nil {
			fmt.Fprintf(c.out, "[the search failed, so another searcher answered: %s]\n", printable(search.Err.Error()))
		}
	}
	if len(c.searches) == 0 || message.ToolName != toolsearch.DefaultToolName {
		result := []rune(printable(message.Content))
		if len(result) > resultLimit {
			result = append(result[:resultLimit], '…')
		}
		fmt.Fprintf(c.out, "[gets %s]\n", string(result))
	}
	c.searches = nil
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
