package nativetest

import (
	"context"
	"testing"

	"github.com/cloudwego/eino-ext/components/model/agenticopenai"
	"github.com/cloudwego/eino-ext/components/model/claude"
	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

// adapter is an adapter of eino-ext, in the version of go.mod.
type adapter[M adk.MessageType] struct {
	name string
	api  provider.API
	new  func(ctx context.Context, url string) (model.BaseModel[M], error)
}

const key = "no key, the server is a script"

var messageAdapters = []adapter[*schema.Message]{
	{"claude", provider.Messages, func(ctx context.Context, url string) (model.BaseModel[*schema.Message], error) {
		return claude.NewChatModel(ctx, &claude.Config{BaseURL: &url, APIKey: key, Model: "claude", MaxTokens: 1000})
	}},
	{"openai", provider.Chat, func(ctx context.Context, url string) (model.BaseModel[*schema.Message], error) {
		return openai.NewChatModel(ctx, &openai.ChatModelConfig{BaseURL: url, APIKey: key, Model: "gpt"})
	}},
}

// agenticopenai's chat completions model has a type of its own, different from the Responses
// model's.
var agenticAdapters = []adapter[*schema.AgenticMessage]{
	{"agenticopenai", provider.Responses, func(ctx context.Context, url string) (model.BaseModel[*schema.AgenticMessage], error) {
		return agenticopenai.NewResponsesModel(ctx, &agenticopenai.ResponsesConfig{BaseURL: url, APIKey: key, Model: "gpt"})
	}},
	{"agenticopenai-chat", provider.Chat, func(ctx context.Context, url string) (model.BaseModel[*schema.AgenticMessage], error) {
		return agenticopenai.NewChatModel(ctx, &agenticopenai.ChatConfig{BaseURL: url, APIKey: key, Model: "gpt"})
	}},
}

// raceDetector says that the tests run with -race.
var raceDetector bool

// skipRace skips a test that an adapter fails under the race detector: claude's Stream writes
// its result err from two goroutines (docs/adapters.md).
func (a adapter[M]) skipRace(t *testing.T, stream bool) {
	t.Helper()
	if raceDetector && stream && a.api == provider.Messages {
		t.Skip("the claude adapter's Stream has a data race of its own")
	}
}

func (a adapter[M]) model(t *testing.T, server *provider.Server) model.BaseModel[M] {
	t.Helper()
	return testtools.Must(a.new(context.Background(), server.URL))(t)
}
