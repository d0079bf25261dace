package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newREADMEModel makes a real chat model as the READMEs do.
func newREADMEModel(ctx context.Context) (*openai.ChatModel, error) {
	model, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{
		Model: "gpt-4o-mini", APIKey: os.Getenv("OPENAI_API_KEY"), // BaseURL: any compatible server
	})
	return model, err
}

// TestREADME checks that the READMEs make their real model as newREADMEModel, which is
// compiled, does.
func TestREADME(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "none")
	_, err := newREADMEModel(t.Context())
	require.NoError(t, err)
	source, err := os.ReadFile("readme_test.go")
	require.NoError(t, err)
	_, code, _ := strings.Cut(string(source), "*openai.ChatModel, error) {\n")
	code, _, _ = strings.Cut(code, "\treturn")
	code = "```go\n" + strings.ReplaceAll("\n"+code, "\n\t", "\n")[1:] + "```\n"
	for _, name := range []string{"README.md", "README.zh.md"} {
		readme, err := os.ReadFile("../../" + name)
		require.NoError(t, err)
		assert.True(t, strings.Contains(string(readme), code), "%s does not make a model as here:\n%s", name, code)
	}
}
