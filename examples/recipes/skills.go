package main

import (
	"context"
	_ "embed"
	"io"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/filesystem"
	"github.com/cloudwego/eino/adk/middlewares/skill"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/examples/show"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// Eino's skills beside tool search.

//go:embed SKILL.md
var refunding string

// skills runs an agent with Eino's skills beside tool search. Watch the order: the model reads the
// skill, the skill names tools, and tool_search makes exactly these callable.
func skills(ctx context.Context, out io.Writer) error {
	// A real agent reads its skills from disk, with the local backend of eino-ext.
	files := filesystem.NewInMemoryBackend()
	if err := files.Write(ctx, &filesystem.WriteRequest{FilePath: "/skills/refunding/SKILL.md", Content: refunding}); err != nil {
		return err
	}
	backend, err := skill.NewBackendFromFilesystem(ctx, &skill.BackendFromFilesystemConfig{Backend: files, BaseDir: "/skills"})
	if err != nil {
		return err
	}
	skills, err := skill.NewMiddleware(ctx, &skill.Config{Backend: backend})
	if err != nil {
		return err
	}
	search, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: services.Tools()})
	if err != nil {
		return err
	}
	model := toolsearchtest.NewModel[*schema.Message](
		toolsearchtest.CallTool("skill", `{"skill":"refunding"}`),
		toolsearchtest.CallTool("tool_search", `{"query":"select:mcp__stripe__refund_charge,mcp__zendesk__reply_to_customer"}`),
		toolsearchtest.CallTool("mcp__stripe__refund_charge", `{"charge":"ch_17"}`),
		toolsearchtest.CallTool("mcp__zendesk__reply_to_customer", `{"ticket_id":7,"message":"You have your money back."}`),
		toolsearchtest.Say("The charge is refunded, and the customer knows."))
	agent, err := newAgent(ctx, "helper", model, []adk.ChatModelAgentMiddleware{search, skills}) // search first
	if err != nil {
		return err
	}
	_, _, err = show.New(out, model).Run(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Refund charge ch_17 of ticket 7."))
	return err
}
