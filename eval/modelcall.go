package eval

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strconv"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
)

// The line that a program logs after each call of its model, for "toolsearch cost -log".

// ModelCall returns what one call of a model was billed and which tools the model called, as its answer
// says. way is which tools were shown: the String of a Protocol, or "all". A program logs it under the
// key "event" beside the middleware's events, for the command toolsearch cost:
//
//	config.OnEvent = func(ctx context.Context, e toolsearch.Event) {
//		logger.InfoContext(ctx, "toolsearch", "event", e)
//	}
//	... // after each call of the model:
//	logger.InfoContext(ctx, "model", "event", eval.ModelCall(config.Protocol.String(), answer))
//
// Without usage in the answer the tokens are 0, which toolsearch cost refuses. A call of call_tool
// counts as a call of the tool in its arguments.
func ModelCall[M adk.MessageType](way string, answer M) slog.Value {
	usage := new(schema.TokenUsage)
	var calls []string
	switch m := any(answer).(type) {
	case *schema.Message:
		if m.ResponseMeta != nil {
			usage = cmp.Or(m.ResponseMeta.Usage, usage)
		}
		for _, c := range m.ToolCalls {
			calls = append(calls, calledName(c.Function.Name, c.Function.Arguments))
		}
	case *schema.AgenticMessage:
		if m.ResponseMeta != nil {
			usage = cmp.Or(m.ResponseMeta.TokenUsage, usage)
		}
		for _, b := range m.ContentBlocks {
			if b != nil && b.FunctionToolCall != nil {
				calls = append(calls, calledName(b.FunctionToolCall.Name, b.FunctionToolCall.Arguments))
			}
		}
	}
	return slog.GroupValue(
		slog.String("event", "model"),
		slog.String("way", way),
		slog.Int("prompt_tokens", usage.PromptTokens), // cached or not
		slog.Int("cached_tokens", usage.PromptTokenDetails.CachedTokens),
		slog.Int("written_tokens", usage.PromptTokenDetails.CacheWriteTokens), // into the cache; 0 if the provider does not say
		slog.Int("output_tokens", usage.CompletionTokens),
		slog.Any("calls", calls),
	)
}

// calledName returns the name of the tool that a call means.
func calledName(name, arguments string) string {
	var dispatched struct{ Name string }
	if name == "call_tool" && json.Unmarshal([]byte(arguments), &dispatched) == nil {
		return cmp.Or(dispatched.Name, name)
	}
	return name
}

// ReadCalls reads a recording, and tells observe of each call of a dynamic tool that ended, with the number of its
// conversation: what [usage.Store.Observe] learns from. A recording is a log as ModelCall describes it, or what toolsearch
// trial writes. A conversation ends with an answer that calls no tool. Lines of other programs are skipped.
func ReadCalls(r io.Reader, observe func(conversation string, e toolsearch.Event)) error {
	conversation := 0
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20) // bytes of a line
	for in.Scan() {
		var line struct {
			Event struct {
				Event, Tool string
				Type        string            `json:"error_type"`
				Calls       []json.RawMessage // of an answer
			}
		}
		if json.Unmarshal(in.Bytes(), &line) != nil {
			continue
		}
		switch e := line.Event; {
		case e.Event == "call":
			event := &toolsearch.CallEvent{Tool: e.Tool}
			if e.Type != "" {
				event.Err = errors.New(e.Type)
			}
			observe(strconv.Itoa(conversation), event)
		case e.Event == "run" || e.Event == "model" && len(e.Calls) == 0:
			conversation++
		}
	}
	return in.Err()
}
