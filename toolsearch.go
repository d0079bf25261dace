// Package toolsearch lets an agent of CloudWeGo Eino's ADK have hundreds of tools without
// showing them all to its model.
//
// The middleware hides a catalog of tools behind a single tool, tool_search. The model searches by keywords, by exact
// names ("select:a,b") or with words that must match ("+github create issue"). The tools it finds are in its tool list
// from the next call on.
//
//	middleware, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: tools})
//	...
//	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
//		Model:    model,
//		Handlers: []adk.ChatModelAgentMiddleware{middleware},
//		...
//	})
//
// It is a drop-in for the package of the same name inside Eino: change only the import path.
//
// # Which of these do I want?
//
//   - [New] for agents of *schema.Message, [NewTyped] for either message type. Most need only that and [Config].
//   - [NewCatalog] for search without an agent: in a graph of your own ([Catalog.Tool]), in a test, in a command.
//   - [BM25] in Config.Index if finding the right tool matters more than behaving like Eino's own search, which is the
//     default, and wherever tools or requests are in Chinese, Japanese or Korean. Package search describes the others.
//   - Choose Config.Protocol by what conversations cost. If your provider caches prompts, take [ProtocolAnchored] for a
//     model that takes definitions inside the conversation, [ProtocolFor] for one that searches by itself, and
//     [ProtocolDispatch] for any other. Without a cache the default is as cheap: "toolsearch cost" computes it.
//   - Config.Groups for the tools of several servers, Group.Source for tools that change, Group.PerCaller for those
//     that depend on who asks, Config.Filter for who may see which tool, Config.AlwaysLoaded, Preselect and
//     Limits.MaxLoaded for which tools are visible when.
//   - A [Session] to share loaded tools between the agents of a run, and to carry them from run to run if you do not
//     keep the messages of tools.
//   - Config.OnEvent to watch and log what happens.
//
// # What holds
//
//   - What the model sees is worked out anew before every call, from the tool list, the history, the session and the
//     part of the catalog that the run may see. What the run's own meta-tools did since the last call counts even if
//     another middleware has removed their results from the history.
//   - A visible tool keeps its place. The same input gives the same bytes. So a provider's prompt cache holds until a
//     tool is loaded, and with [ProtocolDispatch], [ProtocolAnchored] and the native protocols also then.
//   - A model's mistake is never a Go error: the model gets a tool result that says what to do.
//   - Everything a model sends is bounded, and nothing in a tool's name or description can break out of the texts that
//     it reads.
//   - The middleware, catalogs and searchers are safe for concurrent use; a search ends soon after its context does.
//
// https://github.com/eino-toolsearch/toolsearch/blob/main/README.md leads to pages about searchers, costs, recipes and security.
package toolsearch

import (
	"context"
	"errors"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
)

// New returns the middleware for agents of *schema.Message. See NewTyped.
func New(ctx context.Context, config *Config) (adk.ChatModelAgentMiddleware, error) {
	return NewTyped[*schema.Message](ctx, config)
}

// NewTyped returns the middleware for agents of either message type. It asks every dynamic tool for its Info and builds
// the index. It fails on a wrong config, and names the tool and its position if that is nil or has no Info, an empty or
// repeated name, the name of a meta-tool, or none of Eino's four interfaces for a call.
//
// The middleware is safe for concurrent runs and may serve several agents.
func NewTyped[M adk.MessageType](ctx context.Context, config *Config) (adk.TypedChatModelAgentMiddleware[M], error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(config.DynamicTools) == 0 && len(config.Groups) == 0 {
		return nil, errors.New("toolsearch: no DynamicTools and no Groups")
	}
	var events eventSink
	if config.OnEvent != nil {
		events = append(events, config.OnEvent)
	}
	if config.SendEvents {
		// Sending fails outside of a run, where there is nobody to tell.
		events = append(events, func(ctx context.Context, e Event) {
			_ = adk.TypedSendEvent(ctx, &adk.TypedAgentEvent[M]{Output: &adk.TypedAgentOutput[M]{CustomizedOutput: e}})
		})
	}
	engine, err := newEngine(ctx, config, events, isAgentic[M]())
	if err != nil {
		return nil, err
	}
	return &middleware[M]{&adk.TypedBaseChatModelAgentMiddleware[M]{}, codecOf[M](), engine}, nil
}
