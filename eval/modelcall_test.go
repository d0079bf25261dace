package eval_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
)

// A usageLog is a middleware that logs each call of the model. It comes before the tool search in
// Handlers, so that it sees the model's own calls.
type usageLog struct {
	*adk.BaseChatModelAgentMiddleware
	logger   *slog.Logger
	protocol toolsearch.Protocol
}

func (l *usageLog) AfterModelRewriteState(ctx context.Context, state *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	answer := state.Messages[len(state.Messages)-1]
	l.logger.InfoContext(ctx, "model", "event", eval.ModelCall(l.protocol.String(), answer))
	return ctx, state, nil
}

// A middleware logs what each answer of the model was billed. "toolsearch cost -log" reads the lines.
func ExampleModelCall() {
	logger := slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	log := &usageLog{logger: logger, protocol: toolsearch.ProtocolToolSearch}
	answer := schema.AssistantMessage("", []schema.ToolCall{{Function: schema.FunctionCall{Name: "get_weather", Arguments: "{}"}}})
	answer.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: 1000, CompletionTokens: 20}}
	_, _, err := log.AfterModelRewriteState(context.Background(), &adk.ChatModelAgentState{Messages: []*schema.Message{answer}}, nil)
	fmt.Println(err)
	// Output:
	// {"level":"INFO","msg":"model","event":{"event":"model","way":"tool_search","prompt_tokens":1000,"cached_tokens":0,"written_tokens":0,"output_tokens":20,"calls":["get_weather"]}}
	// <nil>
}

// Both types of messages tell the same.
func TestModelCall(t *testing.T) {
	usage := &schema.TokenUsage{PromptTokens: 50, CompletionTokens: 7,
		PromptTokenDetails: schema.PromptTokenDetails{CachedTokens: 20, CacheWriteTokens: 10}}
	calls := []schema.FunctionCall{
		{Name: "tool_search", Arguments: `{}`}, {Name: "call_tool", Arguments: `{"name":"a","arguments":{}}`}, {Name: "call_tool", Arguments: `{`},
	}
	message := &schema.Message{Role: schema.Assistant, ResponseMeta: &schema.ResponseMeta{Usage: usage}}
	agentic := &schema.AgenticMessage{
		ResponseMeta: &schema.AgenticResponseMeta{TokenUsage: usage}, ContentBlocks: []*schema.ContentBlock{nil, {}},
	}
	for _, call := range calls {
		message.ToolCalls = append(message.ToolCalls, schema.ToolCall{Function: call})
		agentic.ContentBlocks = append(agentic.ContentBlocks,
			&schema.ContentBlock{FunctionToolCall: &schema.FunctionToolCall{Name: call.Name, Arguments: call.Arguments}})
	}
	want := slog.GroupValue(slog.String("event", "model"), slog.String("way", "all"), slog.Int("prompt_tokens", 50),
		slog.Int("cached_tokens", 20), slog.Int("written_tokens", 10), slog.Int("output_tokens", 7),
		slog.Any("calls", []string{"tool_search", "a", "call_tool"}))
	assert.Equal(t, want, eval.ModelCall("all", message))
	assert.Equal(t, want, eval.ModelCall("all", agentic))
	noUsage := eval.ModelCall("all", &schema.Message{})
	assert.Equal(t, int64(0), noUsage.Group()[2].Value.Int64(), "no usage")
	assert.Equal(t, noUsage, eval.ModelCall("all", &schema.AgenticMessage{}), "no usage")
}
