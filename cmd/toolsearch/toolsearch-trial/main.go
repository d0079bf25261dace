// Command toolsearch-trial is the command trial of toolsearch with the adapters of eino-ext, which reach a model. It is a
// module of its own, since the adapters bring large dependencies.
package main

import (
	"context"
	"errors"
	"flag"
	"io"

	"github.com/cloudwego/eino-ext/components/model/agenticopenai"
	"github.com/cloudwego/eino-ext/components/model/claude"
	"github.com/cloudwego/eino-ext/components/model/openai"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/trial"
)

func main() { cli.Main(run) }

// run is main without global state.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return cli.Program("toolsearch-trial", stdin, stdout, stderr, func(call *cli.Call) (int, error) {
		call.Name = "trial"
		code, err := cli.Run(func() int { return trial.Trial(ctx, call, args, connect) })
		if errors.Is(err, flag.ErrHelp) {
			code = cli.Found
			_, err = io.WriteString(call.Out, trial.Help)
		}
		return code, err
	})
}

// connect makes the model of an address, with the adapter of its API.
func connect(ctx context.Context, a trial.Address) (any, error) {
	switch a.API {
	case "messages":
		config := &claude.Config{APIKey: a.Key, Model: a.Model, MaxTokens: a.MaxOutput, HTTPClient: a.Client, AutoCacheControl: &claude.CacheControl{}}
		if a.URL != "" {
			config.BaseURL = &a.URL
		}
		return claude.NewChatModel(ctx, config)
	case "responses":
		return agenticopenai.NewResponsesModel(ctx, &agenticopenai.ResponsesConfig{
			BaseURL: a.URL, APIKey: a.Key, Model: a.Model, MaxTokens: &a.MaxOutput, HTTPClient: a.Client,
		})
	}
	return openai.NewChatModel(ctx, &openai.ChatModelConfig{
		BaseURL: a.URL, APIKey: a.Key, Model: a.Model, MaxTokens: &a.MaxOutput, HTTPClient: a.Client,
	})
}
