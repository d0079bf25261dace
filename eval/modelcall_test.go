package eval_test

import (
	"bytes"
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
	l.logger.InfoContext(ctx, "model", "event", eval.NewModelCall(l.protocol, answer))
	return ctx, state, nil
}

// A middleware logs what each answer of the model was billed. "toolsearch cost -log" reads the lines.
func ExampleNewModelCall() {
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
	dispatch := toolsearch.ProtocolDispatch
	want := eval.ModelCall{Protocol: dispatch, Prompt: 50, Cached: 20, Written: 10, Output: 7,
		Calls: []string{"tool_search", "a", "call_tool"}}
	assert.Equal(t, want, eval.NewModelCall(dispatch, message))
	assert.Equal(t, want, eval.NewModelCall(dispatch, agentic))
	assert.Equal(t, eval.ModelCall{}, eval.NewModelCall(0, &schema.Message{}), "no usage")
	assert.Equal(t, eval.ModelCall{}, eval.NewModelCall(0, &schema.AgenticMessage{}), "no usage")

	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("model", "event", eval.ModelCall{Protocol: dispatch, All: true})
	assert.Contains(t, out.String(), `"way":"all"`)
}
