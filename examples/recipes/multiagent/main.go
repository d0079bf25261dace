// Multiagent runs four kinds of agents with sub-agents: a deep agent, a supervisor, a plan, and an
// agent as a tool. Watch what each model call sees: tools that one agent has found are loaded for
// the others, since they share a Session, though they do not share their messages.
//
// It needs no key: the models play scripts.
//
//	go run ./examples/recipes/multiagent
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/adk/prebuilt/planexecute"
	"github.com/cloudwego/eino/adk/prebuilt/supervisor"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/internal/workplace"
	"github.com/eino-toolsearch/toolsearch/planexecutor"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

func main() {
	log.SetFlags(0)
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	middleware, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: workplace.Tools("weather", "slack")})
	if err != nil {
		return err
	}
	for _, kind := range []struct {
		name string
		make func(ctx context.Context, middleware adk.ChatModelAgentMiddleware, chatModel model.BaseChatModel) (adk.Agent, error)
		play []step
	}{
		{"a deep agent and its tasks", deepAgent, []step{
			{"agent", toolsearchtest.CallTool("task", `{"subagent_type":"general-purpose","description":"Find the weather in Rome"}`)},
			{"task 1", find("current conditions")},
			{"task 1", weather},
			{"task 1", toolsearchtest.Say("Sunny.")},
			{"agent", toolsearchtest.CallTool("task", `{"subagent_type":"general-purpose","description":"And once more"}`)},
			{"task 2", weather},
			{"task 2", toolsearchtest.Say("Still sunny.")},
			{"agent", toolsearchtest.Say("It is sunny in Rome.")},
		}},
		{"a supervisor and its agents", supervised, []step{
			{"chief", toolsearchtest.CallTool("transfer_to_agent", `{"agent_name":"scout"}`)},
			{"scout", find("current conditions")},
			{"scout", weather},
			{"scout", toolsearchtest.Say("Sunny.")},
			{"chief", toolsearchtest.CallTool("transfer_to_agent", `{"agent_name":"clerk"}`)},
			{"clerk", weather},
			{"clerk", toolsearchtest.Say("Still sunny.")},
			{"chief", toolsearchtest.Say("It is sunny in Rome.")},
		}},
		{"a plan and its steps", planned, []step{
			{"step 1", find("current conditions")},
			{"step 1", weather},
			{"step 1", toolsearchtest.Say("Sunny.")},
			{"step 2", weather},
			{"step 2", toolsearchtest.Say("Still sunny.")},
		}},
		{"an agent as a tool", agentAsTool, []step{
			{"agent", toolsearchtest.CallTool("scout", `{"request":"Find the weather in Rome"}`)},
			{"scout", find("current conditions")},
			{"scout", weather},
			{"scout", toolsearchtest.Say("Sunny.")},
			{"agent", weather},
			{"agent", toolsearchtest.Say("It is sunny in Rome.")},
		}},
		{"an agent as a tool, for itself", agentForItself, []step{
			{"agent", toolsearchtest.CallTool("scout", `{"request":"Find the weather in Rome"}`)},
			{"scout", find("current conditions")},
			{"scout", weather},
			{"scout", toolsearchtest.Say("Sunny.")},
			{"agent", toolsearchtest.Say("It is sunny in Rome.")},
		}},
	} {
		var turns []toolsearchtest.Turn
		for _, s := range kind.play {
			turns = append(turns, s.turn)
		}
		chatModel := toolsearchtest.NewModel[*schema.Message](turns...)
		agent, err := kind.make(ctx, middleware, chatModel)
		if err != nil {
			return err
		}
		err = ask(ctx, agent, "How is the weather in Rome?")
		fmt.Fprintln(out, kind.name)
		for i, request := range chatModel.Requests() {
			fmt.Fprintf(out, "  %-7s sees %s\n", kind.play[i].who, strings.Join(request.ToolNames(), ", "))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ask runs an agent with sub-agents on one question of a conversation.
func ask(ctx context.Context, agent adk.Agent, question string) error {
	session := toolsearch.NewSession() // json.Marshal it for the next request
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(toolsearch.WithSession(ctx, session), question)
	var failure error
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		failure = errors.Join(failure, event.Err)
	}
	return failure
}

func deepAgent(ctx context.Context, middleware adk.ChatModelAgentMiddleware, chatModel model.BaseChatModel) (adk.Agent, error) {
	return deep.New(ctx, &deep.Config{
		Name: "deep", Description: "Thinks", ChatModel: chatModel,
		Handlers: []adk.ChatModelAgentMiddleware{middleware}, // of the agent and of its tasks
	})
}

func supervised(ctx context.Context, middleware adk.ChatModelAgentMiddleware, chatModel model.BaseChatModel) (adk.Agent, error) {
	chief, err := newAgent(ctx, "chief", chatModel, middleware)
	if err != nil {
		return nil, err
	}
	scout, err := newAgent(ctx, "scout", chatModel, middleware)
	if err != nil {
		return nil, err
	}
	clerk, err := newAgent(ctx, "clerk", chatModel, middleware)
	if err != nil {
		return nil, err
	}
	return supervisor.New(ctx, &supervisor.Config{Supervisor: chief, SubAgents: []adk.Agent{scout, clerk}})
}

func planned(ctx context.Context, middleware adk.ChatModelAgentMiddleware, chatModel model.BaseChatModel) (adk.Agent, error) {
	planner, replanner, err := planners(ctx)
	if err != nil {
		return nil, err
	}
	// planexecute.NewExecutor takes no handlers. This executor is the same, with handlers.
	executor, err := planexecutor.New(ctx, &planexecute.ExecutorConfig{Model: chatModel}, middleware)
	if err != nil {
		return nil, err
	}
	return planexecute.New(ctx, &planexecute.Config{Planner: planner, Executor: executor, Replanner: replanner})
}

func agentAsTool(ctx context.Context, middleware adk.ChatModelAgentMiddleware, chatModel model.BaseChatModel) (adk.Agent, error) {
	scout, err := newAgent(ctx, "scout", chatModel, middleware)
	if err != nil {
		return nil, err
	}
	return newAgent(ctx, "agent", chatModel, middleware, adk.NewAgentTool(ctx, scout))
}

// forItself is a handler that ends the sharing. It goes before the middleware.
type forItself struct {
	*adk.BaseChatModelAgentMiddleware
}

func (forItself) BeforeAgent(ctx context.Context, runCtx *adk.ChatModelAgentContext) (context.Context, *adk.ChatModelAgentContext, error) {
	return toolsearch.WithSession(ctx, nil), runCtx, nil
}

func agentForItself(ctx context.Context, middleware adk.ChatModelAgentMiddleware, chatModel model.BaseChatModel) (adk.Agent, error) {
	scout, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "scout", Description: "Scouts", Model: chatModel,
		Handlers: []adk.ChatModelAgentMiddleware{forItself{&adk.BaseChatModelAgentMiddleware{}}, middleware},
	})
	if err != nil {
		return nil, err
	}
	return newAgent(ctx, "agent", chatModel, middleware, adk.NewAgentTool(ctx, scout))
}

func newAgent(ctx context.Context, name string, chatModel model.BaseChatModel, middleware adk.ChatModelAgentMiddleware, tools ...tool.BaseTool) (adk.Agent, error) {
	config := &adk.ChatModelAgentConfig{
		Name: name, Description: "Helps", Model: chatModel,
		Handlers: []adk.ChatModelAgentMiddleware{middleware},
	}
	config.ToolsConfig.Tools = tools
	return adk.NewChatModelAgent(ctx, config)
}

// step is a model call of a script, and the agent that makes it.
type step struct {
	who  string
	turn toolsearchtest.Turn
}

var weather = toolsearchtest.CallTool("mcp__weather__current_conditions", `{"location":"Rome"}`)

func find(query string) toolsearchtest.Turn {
	return toolsearchtest.CallTool("tool_search", fmt.Sprintf(`{"query":%q,"max_results":1}`, query))
}

// planners returns the planner and the replanner of a plan of two steps.
func planners(ctx context.Context) (planner, replanner adk.Agent, err error) {
	planner, err = planexecute.NewPlanner(ctx, &planexecute.PlannerConfig{ToolCallingChatModel: binding{toolsearchtest.NewModel[*schema.Message](
		toolsearchtest.CallTool("plan", `{"steps":["Find the weather in Rome","Check it"]}`),
	)}})
	if err != nil {
		return nil, nil, err
	}
	replanner, err = planexecute.NewReplanner(ctx, &planexecute.ReplannerConfig{ChatModel: binding{toolsearchtest.NewModel[*schema.Message](
		toolsearchtest.CallTool("plan", `{"steps":["Check it"]}`),
		toolsearchtest.CallTool("respond", `{"response":"It is sunny in Rome."}`),
	)}})
	return planner, replanner, err
}

// binding is a scripted model that tools can be bound to.
type binding struct {
	*toolsearchtest.Model[*schema.Message]
}

func (b binding) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return b, nil }
