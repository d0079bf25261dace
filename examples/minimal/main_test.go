package main

import (
	"os"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// TestREADME checks that the program in the README is this one, which is compiled.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	_, code, _ := strings.Cut(string(program), "package main\n")
	assert.True(t, strings.Contains(string(readme), "```go\npackage main\n"+code+"```\n"), "the README's program differs from main.go")
}

func Example() {
	main()
	// Output:
	// calls tool_search {"query":"weather"}
	// tool says {"matches":["get_weather"]}
	// calls get_weather {"city":"Rome"}
	// tool says Sunny in Rome
	// assistant says It is sunny in Rome.
}

// The README promises that the program's loop survives streams and events without a message.
func TestShowSurvives(t *testing.T) {
	for _, streaming := range []bool{true, false} {
		weather, err := utils.InferTool("get_weather", "Current weather of a city", getWeather)
		require.NoError(t, err)
		middleware, err := toolsearch.New(t.Context(), &toolsearch.Config{DynamicTools: []tool.BaseTool{weather}, SendEvents: true})
		require.NoError(t, err)
		model := toolsearchtest.NewModel[*schema.Message](toolsearchtest.CallTool("tool_search", `{"query":"weather"}`), toolsearchtest.Say("Done."))
		agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
			Name: "helper", Description: "Helps", Model: model,
			Handlers: []adk.ChatModelAgentMiddleware{middleware},
		})
		require.NoError(t, err)
		runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: streaming})
		require.NoError(t, show(runner.Query(t.Context(), "How is the weather?")))
		require.Len(t, model.Requests(), 2)
		assert.Equal(t, streaming, model.Requests()[1].Streaming)
	}
}
