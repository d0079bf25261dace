package cost_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// A usageLog is a middleware that logs each call of the model. It comes before the tool search in
// Handlers, so that it sees the model's own calls.
type usageLog struct {
	*adk.BaseChatModelAgentMiddleware
	logger *slog.Logger
	way    cost.Way
}

func (l *usageLog) AfterModelRewriteState(ctx context.Context, state *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	answer := state.Messages[len(state.Messages)-1]
	l.logger.InfoContext(ctx, "model", "event", cost.NewModelCall(l.way, answer))
	return ctx, state, nil
}

// A program logs what a conversation was billed. The log is read, and played with every protocol.
func ExampleReadLog() {
	ctx := context.Background()
	var file bytes.Buffer // a file of JSON lines, in your program
	logger := slog.New(slog.NewJSONHandler(&file, nil))

	config := toolsearch.Config{
		OnEvent: func(ctx context.Context, e toolsearch.Event) {
			logger.InfoContext(ctx, "toolsearch", "event", e)
		},
	}
	var infos []*schema.ToolInfo
	for _, name := range []string{"get_weather", "send_mail", "list_stocks"} {
		t, err := utils.InferTool(name, "Does what its name says", func(context.Context, struct{}) (string, error) { return "It is done.", nil })
		if err != nil {
			log.Fatal(err)
		}
		info, err := t.Info(ctx)
		if err != nil {
			log.Fatal(err)
		}
		config.DynamicTools, infos = append(config.DynamicTools, tool.BaseTool(t)), append(infos, info)
	}
	search, err := toolsearch.New(ctx, &config)
	if err != nil {
		log.Fatal(err)
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "helper", Description: "Helps", Model: &billed{prompt: 1000, BaseModel: toolsearchtest.NewModel[*schema.Message](
			toolsearchtest.CallTool("tool_search", `{"query":"weather"}`),
			toolsearchtest.CallTool("get_weather", `{}`),
			toolsearchtest.Say("Sunny."),
		)},
		Handlers: []adk.ChatModelAgentMiddleware{
			&usageLog{logger: logger, way: cost.Way{Protocol: config.Protocol}},
			search,
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "How is the weather?")
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			log.Fatal(event.Err)
		}
	}

	runs, err := cost.ReadLog(io.Reader(&file))
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range runs[0].Conversation.Steps {
		fmt.Printf("%s, found by %q\n", step.Tool, step.Query)
	}
	provider, _ := cost.Named(cost.Providers(), "deepseek")
	report, err := cost.CompareLog(ctx, infos, provider, runs)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("tokens of input, as billed:", report.Checks[0].Billed.Input())
	fmt.Println(report.Advice)
	// Output:
	// get_weather, found by "select:get_weather"
	// tokens of input, as billed: 3300
	// With deepseek-flash and these 3 tools: show them all; hiding does not pay in these conversations.
}

// billed is a model that reports its usage, as your provider's does.
type billed struct {
	model.BaseModel[*schema.Message]
	prompt int
}

func (b *billed) Generate(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	answer, err := b.BaseModel.Generate(ctx, input, opts...)
	if err != nil {
		return nil, err
	}
	answer.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: b.prompt, CompletionTokens: 20}}
	b.prompt += 100
	return answer, nil
}
