package toolsearch

import (
	"context"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/conversation"
)

// The agent's hooks: a generic shell around the engine, which does not know message types. Every hook reads the
// messages once, asks the engine, and applies its decisions. The last part is WithoutNative, a shell around a model.

// middleware is the agent's handler.
type middleware[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]

	codec  codec[M]
	engine *engine
}

// BeforeAgent gives the agent the meta-tools and the dynamic tools that this request may see. It fails if the agent
// already has a tool with the name of a meta-tool.
func (m *middleware[M]) BeforeAgent(
	ctx context.Context, runCtx *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	if runCtx == nil {
		return ctx, runCtx, nil
	}
	ctx, r, err := m.engine.begin(ctx, runCtx.Tools, runCtx.ToolSearchTool)
	if err != nil {
		return ctx, nil, err
	}
	next := *runCtx
	next.Tools = slices.Concat(runCtx.Tools, m.engine.metas[r.reminder.form], r.tools)
	if m.engine.mode.searches() && !r.hidesNone {
		next.ToolSearchTool, _ = m.engine.metas[r.reminder.form][0].Info(ctx) // which cannot fail
	}
	return ctx, &next, nil
}

// BeforeModelRewriteState works out what the model sees in this call. It fails if a later middleware gave the agent a
// tool with the name of a meta-tool, which BeforeAgent could not see.
func (m *middleware[M]) BeforeModelRewriteState(
	ctx context.Context, state *adk.TypedChatModelAgentState[M], mc *adk.TypedModelContext[M],
) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	r, err := m.engine.run(ctx)
	if err != nil {
		return ctx, nil, err
	}
	m.engine.yieldToLater(ctx, r, everyTool(mc))
	t := read(m.codec, state.Messages, &r.names)
	defer t.release()
	given, err := m.engine.beforeModel(ctx, r, t, lists{tools: state.ToolInfos, deferred: state.DeferredToolInfos})
	if err != nil {
		return ctx, nil, err
	}
	next := *state
	next.Messages = apply(m.codec, state.Messages, t)
	next.ToolInfos, next.DeferredToolInfos = given.tools, given.deferred
	return ctx, &next, nil
}

// AfterModelRewriteState replaces the model's calls that cannot be run as they are, before any tool runs.
func (m *middleware[M]) AfterModelRewriteState(
	ctx context.Context, state *adk.TypedChatModelAgentState[M], mc *adk.TypedModelContext[M],
) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	if len(state.Messages) == 0 {
		return ctx, state, nil
	}
	r, err := m.engine.run(ctx)
	if err != nil {
		return ctx, nil, err
	}
	last := len(state.Messages) - 1
	t := read(m.codec, state.Messages[last:], &r.names)
	defer t.release()
	given := m.engine.afterModel(ctx, r, &t.views[0], lists{tools: state.ToolInfos, deferred: state.DeferredToolInfos}, everyTool(mc))
	next := *state
	next.ToolInfos, next.DeferredToolInfos = given.tools, given.deferred
	if t.views[0].edited {
		next.Messages = append(state.Messages[:last:last], m.codec.write(state.Messages[last], &t.views[0]))
	}
	return ctx, &next, nil
}

func everyTool[M adk.MessageType](mc *adk.TypedModelContext[M]) []*schema.ToolInfo {
	if mc == nil {
		return nil
	}
	//lint:ignore SA1019 There is no other list of every tool; state.ToolInfos has the visible tools.
	return mc.Tools
}

// AfterAgent records the run's loaded tools in the session.
func (m *middleware[M]) AfterAgent(ctx context.Context, state *adk.TypedChatModelAgentState[M]) (context.Context, error) {
	r, err := m.engine.run(ctx)
	if err != nil {
		return ctx, err
	}
	t := read(m.codec, state.Messages, &r.names)
	defer t.release()
	return ctx, m.engine.end(ctx, r, t, lists{tools: state.ToolInfos, deferred: state.DeferredToolInfos})
}

// WrapModel has the last word on the model's input: a later middleware, such as summarization, may have rewritten it.
func (m *middleware[M]) WrapModel(_ context.Context, inner model.BaseModel[M], _ *adk.TypedModelContext[M]) (model.BaseModel[M], error) {
	return &rewritten[M]{inner, m.lastWord}, nil
}

func (m *middleware[M]) lastWord(ctx context.Context, messages []M, opts []model.Option) (context.Context, []M, []model.Option) {
	r, err := m.engine.run(ctx)
	if err != nil {
		return ctx, messages, opts
	}
	t := read(m.codec, messages, &r.names)
	defer t.release()
	ctx, opts = m.engine.lastWord(ctx, r, t, opts)
	return ctx, apply(m.codec, messages, t), opts
}

// rewritten is a model whose input and options are rewritten before each call. To callbacks it is the inner model.
type rewritten[M adk.MessageType] struct {
	inner   model.BaseModel[M]
	rewrite func(ctx context.Context, input []M, opts []model.Option) (context.Context, []M, []model.Option)
}

func (w *rewritten[M]) Generate(ctx context.Context, input []M, opts ...model.Option) (M, error) {
	ctx, input, opts = w.rewrite(ctx, input, opts)
	return w.inner.Generate(ctx, input, opts...)
}

func (w *rewritten[M]) Stream(ctx context.Context, input []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	ctx, input, opts = w.rewrite(ctx, input, opts)
	return w.inner.Stream(ctx, input, opts...)
}

func (w *rewritten[M]) GetType() string {
	name, _ := components.GetType(w.inner)
	return name
}

func (w *rewritten[M]) IsCallbacksEnabled() bool { return components.IsCallbacksEnabled(w.inner) }

// The four ways to call a tool: an event tells how a call of a dynamic tool ends, and its error becomes a result, if
// Config.ToolErrors says so.

func (m *middleware[M]) WrapInvokableToolCall(
	ctx context.Context, endpoint adk.InvokableToolCallEndpoint, call *adk.ToolContext,
) (adk.InvokableToolCallEndpoint, error) {
	return watched(m.engine.watcher(ctx, call), textResult, endpoint), nil
}

func (m *middleware[M]) WrapStreamableToolCall(
	ctx context.Context, endpoint adk.StreamableToolCallEndpoint, call *adk.ToolContext,
) (adk.StreamableToolCallEndpoint, error) {
	return watchedStream(m.engine.watcher(ctx, call), textResult, endpoint), nil
}

func (m *middleware[M]) WrapEnhancedInvokableToolCall(
	ctx context.Context, endpoint adk.EnhancedInvokableToolCallEndpoint, call *adk.ToolContext,
) (adk.EnhancedInvokableToolCallEndpoint, error) {
	return watched(m.engine.watcher(ctx, call), enhancedResult, endpoint), nil
}

func (m *middleware[M]) WrapEnhancedStreamableToolCall(
	ctx context.Context, endpoint adk.EnhancedStreamableToolCallEndpoint, call *adk.ToolContext,
) (adk.EnhancedStreamableToolCallEndpoint, error) {
	return watchedStream(m.engine.watcher(ctx, call), enhancedResult, endpoint), nil
}

// WithoutNative returns a chat model that takes native requests although chatModel's adapter does not. It is for
// failover, in the middle of a run, from a model that searches by itself to a model that cannot. The search tool and
// the tools found so far become ordinary tools, and native results texts. Deferred tools that were not found stay
// hidden. Requests of other protocols pass unchanged.
//
//	GetFailoverModel: func(...) (model.BaseModel[M], []M, error) {
//		return toolsearch.WithoutNative(backup), nil, nil
//	}
//
// The search tool works as under the native protocol. Under [ProtocolNativeServer] there is none, and the model has
// only the tools found before.
func WithoutNative[M adk.MessageType](chatModel model.BaseModel[M]) model.BaseModel[M] {
	return &rewritten[M]{chatModel, withoutNative[M]}
}

func withoutNative[M adk.MessageType](
	ctx context.Context, messages []M, opts []model.Option,
) (context.Context, []M, []model.Option) {
	codec, given := codecOf[M](), model.GetCommonOptions(nil, opts...)
	var found []*schema.ToolInfo
	t := read(codec, messages, &metaNames{})
	defer t.release()
	for i := range t.answers {
		if r := t.result(&t.answers[i]); r.native {
			found = append(found, r.found...)
			t.replace(&t.answers[i], r.asText(r.found))
		}
	}
	messages = apply(codec, messages, t)
	if given.ToolSearchTool == nil && len(given.DeferredTools) == 0 && len(found) == 0 {
		return ctx, messages, opts
	}
	isHidden := func(t *schema.ToolInfo) bool { return !conversation.IsLoadedByAny(t) }
	loaded := slices.DeleteFunc(slices.Clone(given.DeferredTools), isHidden)
	var tools []*schema.ToolInfo
	for _, t := range slices.Concat(given.Tools, []*schema.ToolInfo{given.ToolSearchTool}, found, loaded) {
		if t != nil && !containsName(tools, t.Name) {
			tools = append(tools, t)
		}
	}
	return ctx, messages, append(opts[:len(opts):len(opts)],
		model.WithTools(tools), model.WithDeferredTools(nil), model.WithToolSearchTool(nil))
}
