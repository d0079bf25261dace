package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/examples/show"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// A run that goes on in another process.

const refund = "mcp__stripe__refund_charge"

// approved is a tool that a human must agree to.
type approved struct{ tool.InvokableTool }

func (a approved) InvokableRun(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
	asked, _, agreedTo := tool.GetInterruptState[string](ctx)
	if !asked {
		// The checkpoint keeps the arguments, so exactly what the human saw will run.
		return "", tool.StatefulInterrupt(ctx, "May it run with "+arguments+"?", arguments)
	}
	if _, answered, agreed := tool.GetResumeContext[bool](ctx); !answered || !agreed {
		return "Refused by a human.", nil
	}
	return a.InvokableTool.InvokableRun(ctx, agreedTo, opts...)
}

// resume interrupts a run until a human agrees to a refund, and resumes it in a second process. Of
// the first process, only the checkpoint is left. Watch the tool list of the first model call after
// that: the tools that the first process found are still loaded, in the same order, and the model
// does not search again.
func resume(ctx context.Context, out io.Writer) error {
	folder, err := os.MkdirTemp("", "toolsearch-resume-")
	if err != nil {
		return err
	}
	return errors.Join(interruptAndResume(ctx, out, folder), os.RemoveAll(folder))
}

func interruptAndResume(ctx context.Context, out io.Writer, folder string) error {
	const question = "Refund charge ch_17 and tell the customer of ticket 7."
	fmt.Fprintln(out, "first process, user:", question)
	runner, screen, err := process(ctx, out, folder,
		toolsearchtest.CallTool("tool_search", `{"query":"reply to customer","max_results":1}`),
		toolsearchtest.CallTool("tool_search", `{"query":"refund charge","max_results":1}`),
		toolsearchtest.CallTool(refund, `{"charge":"ch_17"}`))
	if err != nil {
		return err
	}
	_, interrupt, err := screen.Run(runner.Query(ctx, question, adk.WithCheckPointID("conversation-1")))
	if err != nil {
		return err
	}
	if interrupt == nil {
		return errors.New("the run was not interrupted")
	}
	cause := interrupt.InterruptContexts[0]
	fmt.Fprintf(out, "interrupted: %v\n\nsecond process, a human agrees\n", cause.Info)

	runner, screen, err = process(ctx, out, folder,
		toolsearchtest.CallTool("mcp__zendesk__reply_to_customer", `{"ticket_id":7,"message":"You have your money back."}`),
		toolsearchtest.Say("The charge is refunded, and the customer knows."))
	if err != nil {
		return err
	}
	events, err := runner.ResumeWithParams(ctx, "conversation-1", &adk.ResumeParams{Targets: map[string]any{cause.ID: true}})
	if err != nil {
		return err
	}
	_, _, err = screen.Run(events)
	return err
}

// process sets up everything a process needs. Two processes share only the folder.
func process(
	ctx context.Context, out io.Writer, folder string, script ...toolsearchtest.Turn,
) (*adk.Runner, *show.Screen[*schema.Message], error) {
	tools := services.Tools()
	for i, t := range tools {
		if info, err := t.Info(ctx); err == nil && info.Name == refund {
			tools[i] = approved{t.(tool.InvokableTool)}
		}
	}
	middleware, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: tools})
	if err != nil {
		return nil, nil, err
	}
	model := toolsearchtest.NewModel[*schema.Message](script...)
	agent, err := newAgent(ctx, "helper", model, []handler{middleware})
	if err != nil {
		return nil, nil, err
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: checkpoints(folder)})
	return runner, show.New(out, model), nil
}

// checkpoints is a checkpoint store: a folder with one file per checkpoint.
type checkpoints string

func (f checkpoints) Get(_ context.Context, id string) ([]byte, bool, error) {
	data, err := os.ReadFile(filepath.Join(string(f), id))
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	return data, err == nil, err
}

func (f checkpoints) Set(_ context.Context, id string, data []byte) error {
	return os.WriteFile(filepath.Join(string(f), id), data, 0o600)
}
