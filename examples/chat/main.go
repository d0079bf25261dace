// Chat is an interactive chat in the terminal with a model behind any OpenAI-compatible
// endpoint. The model has 166 tools behind tool_search, or the tools of a file.
//
// Ctrl-C ends an answer, and the chat while it waits for a question. Lines that are pasted
// together are one question.
//
// Watch the searches and their results in brackets, and the list of loaded tools after each
// answer: they stay loaded for the next question. Ask it, for example, to find the most
// frequent error of checkout and to tell #incidents. Those 166 tools are make-believe, so nothing
// is harmed.
//
//	OPENAI_API_KEY=... go -C examples/chat run . -model gpt-4o-mini
//	go -C examples/chat run . -base-url http://localhost:11434/v1 -model qwen3
//	go -C examples/chat run . -model gpt-4o-mini -catalog /path/to/tools.jsonl
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
)

const instruction = "You help with the work of a software company. Look for tools with tool_search before you say that you cannot do something. Be brief."

// answerTimeout is how long one model call may take, including its streamed answer.
const answerTimeout = 5 * time.Minute

// options come from the flags, or from the environment if a flag is not set.
type options struct {
	model, baseURL, key, catalog string
}

// A terminal is where the user is.
type terminal struct {
	in         io.Reader
	out, err   io.Writer
	interrupts <-chan os.Signal // Ctrl-C
	isTyped    bool             // a person types or pastes the input
}

func main() {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	here := terminal{in: os.Stdin, out: os.Stdout, err: os.Stderr, interrupts: interrupts}
	if info, err := os.Stdin.Stat(); err == nil {
		here.isTyped = info.Mode()&os.ModeCharDevice != 0
	}
	err := run(context.Background(), os.Args[1:], os.Getenv, here)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "chat:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, getenv func(string) string, here terminal) error {
	o, err := parse(args, getenv, here.err)
	if err != nil {
		return err
	}
	c := &chat{terminal: here, session: toolsearch.NewSession()}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	config := &toolsearch.Config{DynamicTools: services.Tools(), OnEvent: c.onEvent}
	if o.catalog != "" {
		if config.DynamicTools, config.Annotate, err = load(o.catalog); err != nil {
			return err
		}
	}
	if c.runner, err = newRunner(ctx, o, config); err != nil {
		return err
	}
	fmt.Fprintf(here.out, "%s with %d tools to find. An empty line ends the chat.\n", o.model, len(config.DynamicTools))
	return c.talk(ctx)
}

func parse(args []string, getenv func(string) string, help io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("chat", flag.ContinueOnError)
	flags.SetOutput(help)
	flags.StringVar(&o.model, "model", "", "name of the model; else $OPENAI_MODEL")
	flags.StringVar(&o.baseURL, "base-url", "", "address of the API, with /v1; else $OPENAI_BASE_URL, else OpenAI's own")
	flags.StringVar(&o.key, "key", "", "API key, seen by whoever lists processes; better $OPENAI_API_KEY")
	flags.StringVar(&o.catalog, "catalog", "", "file of tools, JSONL or an MCP server's answer to tools/list; else the quickstart's")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o.model = cmp.Or(o.model, getenv("OPENAI_MODEL"))
	o.baseURL = cmp.Or(o.baseURL, getenv("OPENAI_BASE_URL"))
	o.key = cmp.Or(o.key, getenv("OPENAI_API_KEY"))
	switch {
	case o.model == "":
		return o, errors.New("no model: give -model or set OPENAI_MODEL")
	case o.key == "" && o.baseURL == "":
		return o, errors.New("no key: set OPENAI_API_KEY, or give the -base-url of a server that needs none")
	}
	return o, nil
}

// newRunner makes the agent with the tools of config.
func newRunner(ctx context.Context, o options, config *toolsearch.Config) (*adk.Runner, error) {
	model, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{
		Model: o.model, BaseURL: o.baseURL, APIKey: o.key, Timeout: answerTimeout,
	})
	if err != nil {
		return nil, err
	}
	config.Index, config.Fallback = toolsearch.BM25, toolsearch.Fuzzy
	config.Reminder.MaxTokens = 2000 // a file may have thousands of tools
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
