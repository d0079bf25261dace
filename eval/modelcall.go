package eval

import (
	"cmp"
	"encoding/json"
	"log/slog"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
)

// The line that a program logs after each call of its model, for "toolsearch cost -log".

// A ModelCall says what one call of a model was billed, and which tools the model called. It logs
// itself as a line that the command toolsearch cost reads beside the middleware's events:
//
//	config.OnEvent = func(ctx context.Context, e toolsearch.Event) {
//		logger.InfoContext(ctx, "toolsearch", "event", e)
//	}
//	... // after each call of the model:
//	logger.InfoContext(ctx, "model", "event", eval.NewModelCall(config.Protocol, answer))
type ModelCall struct {
	Protocol toolsearch.Protocol // which tools were shown
	All      bool                // every tool was shown, and Protocol says nothing
	Prompt   int                 // tokens of the prompt, cached or not
	Cached   int                 // tokens of Prompt read from the cache
	Written  int                 // tokens of Prompt written into the cache; 0 if the provider does not say
	Output   int                 // tokens of the answer
	Calls    []string            // names of the tools that the model called; for call_tool, the name in its arguments
}

// NewModelCall returns what a model's answer says about its call. Without usage in the answer the
// tokens are 0, which toolsearch cost refuses.
func NewModelCall[M adk.MessageType](protocol toolsearch.Protocol, answer M) ModelCall {
	call := ModelCall{Protocol: protocol}
	var usage *schema.TokenUsage
	switch m := any(answer).(type) {
	case *schema.Message:
		if m.ResponseMeta != nil {
			usage = m.ResponseMeta.Usage
		}
		for _, c := range m.ToolCalls {
			call.Calls = append(call.Calls, calledName(c.Function.Name, c.Function.Arguments))
		}
	case *schema.AgenticMessage:
		if m.ResponseMeta != nil {
			usage = m.ResponseMeta.TokenUsage
		}
		for _, b := range m.ContentBlocks {
			if b != nil && b.FunctionToolCall != nil {
				call.Calls = append(call.Calls, calledName(b.FunctionToolCall.Name, b.FunctionToolCall.Arguments))
			}
		}
	}
	if usage != nil {
		call.Prompt, call.Output = usage.PromptTokens, usage.CompletionTokens
		call.Cached, call.Written = usage.PromptTokenDetails.CachedTokens, usage.PromptTokenDetails.CacheWriteTokens
	}
	return call
}

// calledName returns the name of the tool that a call means.
func calledName(name, arguments string) string {
	var dispatched struct{ Name string }
	if name == "call_tool" && json.Unmarshal([]byte(arguments), &dispatched) == nil {
		return cmp.Or(dispatched.Name, name)
	}
	return name
}

// LogValue implements slog.LogValuer.
func (c ModelCall) LogValue() slog.Value {
	way := c.Protocol.String()
	if c.All {
		way = "all"
	}
	return slog.GroupValue(
		slog.String("event", "model"),
		slog.String("way", way),
		slog.Int("prompt_tokens", c.Prompt),
		slog.Int("cached_tokens", c.Cached),
		slog.Int("written_tokens", c.Written),
		slog.Int("output_tokens", c.Output),
		slog.Any("calls", c.Calls),
	)
}
