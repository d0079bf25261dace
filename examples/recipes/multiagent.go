package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/adk/prebuilt/supervisor"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// Agents of agents.

// multiagent runs three kinds of agents with sub-agents: a deep agent, a supervisor, and an
// agent as a tool. Watch what each model call sees: tools that one agent has found are loaded for
// the others, since they share a Session, though they do not share their messages.
func multiagent(ctx context.Context, out io.Writer) error {
	middleware, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: services.Tools()})
	if err != nil {
		return err
	}
	for _, kind := range []struct {
		name string
		make func(ctx context.Context, middleware handler, chatModel model.BaseChatModel) (adk.Agent, error)
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

func deepAgent(ctx context.Context, middleware handler, chatModel model.BaseChatModel) (adk.Agent, error) {
	return deep.New(ctx, &deep.Config{
		Name: "deep", Description: "Thinks", ChatModel: chatModel,
		Handlers: []adk.ChatModelAgentMiddleware{middleware}, // of the agent and of its tasks
	})
}

func supervised(ctx context.Context, middleware handler, chatModel model.BaseChatModel) (adk.Agent, error) {
	var agents []adk.Agent
	for _, name := range []string{"chief", "scout", "clerk"} {
		agent, err := newAgent(ctx, name, chatModel, []handler{middleware})
		if err != nil {
			return nil, err
		}
		agents = append(agents, agent)
	}
	return supervisor.New(ctx, &supervisor.Config{Supervisor: agents[0], SubAgents: agents[1:]})
}

func agentAsTool(ctx context.Context, middleware handler, chatModel model.BaseChatModel) (adk.Agent, error) {
	return withScout(ctx, middleware, chatModel, middleware)
}

// forItself is a handler that ends the sharing. It goes before the middleware.
type forItself struct {
	*adk.BaseChatModelAgentMiddleware
}

func (forItself) BeforeAgent(ctx context.Context, runCtx *adk.ChatModelAgentContext) (context.Context, *adk.ChatModelAgentContext, error) {
	return toolsearch.WithSession(ctx, nil), runCtx, nil
}

func agentForItself(ctx context.Context, middleware handler, chatModel model.BaseChatModel) (adk.Agent, error) {
	return withScout(ctx, middleware, chatModel, forItself{&adk.BaseChatModelAgentMiddleware{}}, middleware)
}

// withScout returns an agent that has another agent, with these handlers, as a tool.
func withScout(ctx context.Context, middleware handler, chatModel model.BaseChatModel, handlers ...handler) (adk.Agent, error) {
	scout, err := newAgent(ctx, "scout", chatModel, handlers)
	if err != nil {
		return nil, err
	}
	return newAgent(ctx, "agent", chatModel, []handler{middleware}, adk.NewAgentTool(ctx, scout))
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
