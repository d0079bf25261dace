// Package toolsearch lets an agent of CloudWeGo Eino's ADK have hundreds of tools without
// showing them all to its model.
//
// The middleware hides a catalog of tools behind one, tool_search. The model looks for
// what it needs by keywords, by exact names ("select:a,b") or with words that must match
// ("+github create issue"); what a search finds stands in its tool list from the next
// call on.
//
//	middleware, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: tools})
//	...
//	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
//		Model:    model,
//		Handlers: []adk.ChatModelAgentMiddleware{middleware},
//		...
//	})
//
// It is a drop-in for the package of the same name inside Eino: change the import path,
// nothing else.
//
// # Which of these do I want?
//
//   - [New] for agents of *schema.Message, [NewTyped] for either message type. That and
//     [Config] is all most programs need.
//   - Config.UseModelToolSearch if the model searches tools natively and its adapter
//     supports it; otherwise leave it false.
//   - [NewCatalog] for search without an agent: in a graph of your own ([Catalog.Tool]),
//     in a test, in a command line tool.
//   - [BM25] in Config.Index if finding the right tool matters more than behaving like
//     Eino's own search, and wherever tools or requests are in Chinese, Japanese or
//     Korean; [Keyword] is the default. [Fuzzy] and [Similarity] forgive misspellings and
//     make good fallbacks, [Regexp] takes patterns. An [Indexer] of your own ranks as you
//     like.
//   - [WithLoaded] and Config.OnLoaded to carry loaded tools from run to run if you do
//     not keep the messages of tools.
//
// # What holds
//
//   - A catalog never changes after it is built.
//   - What the model sees follows from the tool list, the history and the catalog, and is
//     worked out anew before every call.
//   - A tool once shown keeps its place, so that the prompt's prefix stays cacheable; the
//     same input gives the same bytes.
//   - A model's mistake is never a Go error: it gets a tool result that says what to do.
//   - Nothing in a tool's name or description can break out of the texts the model reads,
//     and everything a model sends is bounded.
//   - The middleware and every Searcher are safe for concurrent use; a search ends soon
//     after its context does.
package toolsearch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// New returns the middleware for agents of *schema.Message. See NewTyped.
func New(ctx context.Context, config *Config) (adk.ChatModelAgentMiddleware, error) {
	return NewTyped[*schema.Message](ctx, config)
}

// NewTyped returns the middleware for agents of either message type. It asks every
// dynamic tool for its Info and builds the index. It fails on a wrong config, naming the
// tool and its position: no tools, a nil tool, an Info that fails or returns nil, an
// empty or repeated name, the name of the search tool itself, or a tool that can be
// called in none of the four ways.
//
// The middleware is safe for concurrent runs and may serve several agents.
func NewTyped[M adk.MessageType](ctx context.Context, config *Config) (adk.TypedChatModelAgentMiddleware[M], error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(config.DynamicTools) == 0 {
		return nil, errors.New("toolsearch: no DynamicTools")
	}
	infos, err := toolInfos(ctx, config.DynamicTools)
	if err != nil {
		return nil, err
	}
	catalog, err := newCatalog(ctx, infos, config)
	if err != nil {
		return nil, err
	}
	if doc, clash := catalog.byName[config.ToolName]; clash {
		return nil, fmt.Errorf("toolsearch: tool %d is named %q like the search tool; rename it or set ToolName", doc, config.ToolName)
	}

	m := &middleware[M]{
		TypedBaseChatModelAgentMiddleware: &adk.TypedBaseChatModelAgentMiddleware[M]{},
		config:                            config,
		codec:                             codecOf[M](),
		reader:                            &reader{catalog: catalog, tool: config.ToolName, countCalls: config.Unloaded == UnloadedLoadAndRun},
		reminder:                          newReminder(catalog, config.ToolName, config.Reminder.Disabled),
	}
	m.addTools()
	return m, nil
}

// middleware holds nothing that changes: what a run learns is in its notebook and in
// what the agent keeps.
type middleware[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]

	config   *Config
	codec    codec[M]
	reader   *reader
	reminder reminder
	search   *searchTool
	tools    []tool.BaseTool // the search tool, then the dynamic ones
}

func (m *middleware[M]) addTools() {
	m.search = newSearchTool(m.reader.catalog, m.config.ToolName)
	m.search.event = m.config.OnSearch
	m.search.found = func(ctx context.Context, names []string) {
		m.notebook(ctx).note(compose.GetToolCallID(ctx), names)
	}
	m.tools = make([]tool.BaseTool, 0, 1+len(m.config.DynamicTools))
	if m.config.UseModelToolSearch {
		m.tools = append(m.tools, &nativeSearchTool{
			searchTool: m.search,
			wordless:   m.codec.wordless,
			ordinary:   func(ctx context.Context) map[string]bool { return m.notebook(ctx).ordinaryNames() },
		})
	} else {
		m.tools = append(m.tools, m.search)
	}
	for i, t := range m.config.DynamicTools {
		m.tools = append(m.tools, wrap(t, m.reader.catalog.docs[i].Info))
	}
}

// notebookKey is the context key of a run's notebook. It names the middleware, since an
// agent can have several and agents can run inside one another.
type notebookKey struct{ owner any }

// notebook returns the run's notebook; nil, which can be used, outside of a run.
func (m *middleware[M]) notebook(ctx context.Context) *notebook {
	n, _ := ctx.Value(notebookKey{m}).(*notebook)
	return n
}

// BeforeAgent gives the agent the search tool and the dynamic tools. It fails if the
// agent has a tool of one of their names already.
func (m *middleware[M]) BeforeAgent(ctx context.Context, runCtx *adk.ChatModelAgentContext) (context.Context, *adk.ChatModelAgentContext, error) {
	if runCtx == nil {
		return ctx, runCtx, nil
	}
	if err := m.checkClash(ctx, runCtx); err != nil {
		return ctx, nil, err
	}
	next := *runCtx
	next.Tools = append(runCtx.Tools[:len(runCtx.Tools):len(runCtx.Tools)], m.tools...)
	if m.config.UseModelToolSearch {
		next.ToolSearchTool = m.search.info
	}
	return context.WithValue(ctx, notebookKey{m}, &notebook{}), &next, nil
}

func (m *middleware[M]) checkClash(ctx context.Context, runCtx *adk.ChatModelAgentContext) error {
	for i, t := range runCtx.Tools {
		if isNil(t) {
			return fmt.Errorf("toolsearch: the agent's tool %d is nil (%T)", i, t)
		}
		info, err := infoOf(ctx, t)
		if err != nil {
			return fmt.Errorf("toolsearch: the agent's tool %d (%T): Info: %w", i, t, err)
		}
		if info == nil {
			return fmt.Errorf("toolsearch: the agent's tool %d (%T): Info returned nil", i, t)
		}
		if info.Name == m.config.ToolName {
			return fmt.Errorf("toolsearch: the agent's tool %d is named %q already; "+
				"if it is another tool search middleware's, give one of them another ToolName", i, info.Name)
		}
		if doc, clash := m.reader.catalog.byName[info.Name]; clash {
			return fmt.Errorf("toolsearch: the agent's tool %d and dynamic tool %d are both named %q", i, doc, info.Name)
		}
	}
	if m.config.UseModelToolSearch && runCtx.ToolSearchTool != nil {
		return fmt.Errorf("toolsearch: the agent has a native search tool already, %q; it can have one", runCtx.ToolSearchTool.Name)
	}
	return nil
}

// BeforeModelRewriteState works out what the model sees in this call. It fails if a
// middleware after this one gave the agent a tool named like one of ours, which
// BeforeAgent could not see.
func (m *middleware[M]) BeforeModelRewriteState(ctx context.Context, state *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M]) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	if state == nil {
		return ctx, state, nil
	}
	if name := doubled(m.reader, state.ToolInfos); name != "" {
		return ctx, nil, fmt.Errorf("toolsearch: two of the agent's tools are named %q: "+
			"a middleware after this one added a tool of that name", name)
	}
	next := *state
	loaded, seen := m.read(ctx, state)
	next.Messages = ensureReminder(m.codec, &m.reminder, state.Messages, seen.reminder)
	if seen.repair {
		next.Messages = restore(m.codec, m.config.ToolName, next.Messages)
	}
	if m.config.UseModelToolSearch {
		next.ToolInfos, next.DeferredToolInfos = deferred(m.reader, state.ToolInfos, state.DeferredToolInfos, loaded)
	} else {
		next.ToolInfos = visible(m.reader, state.ToolInfos, loaded)
		next.DeferredToolInfos = undeferred(m.reader, state.DeferredToolInfos)
	}
	return ctx, &next, nil
}

// read gathers the loaded tools from everything that shows them. The order is that of
// their first loading: what the tool list holds was loaded before what is only now read.
func (m *middleware[M]) read(ctx context.Context, state *adk.TypedChatModelAgentState[M]) (*loadedSet, history) {
	loaded := newLoadedSet(m.reader.catalog)
	loaded.addMarked(m.reader, state.ToolInfos)
	loaded.addMarked(m.reader, state.DeferredToolInfos)
	loaded.addNames(m.reader.catalog, carriedBy(ctx))
	seen := read(m.reader, m.codec, &m.reminder, state.Messages, loaded)
	loaded.addNames(m.reader.catalog, m.notebook(ctx).take())
	return loaded, seen
}

// WrapModel has the last word on what the model gets: a middleware after this one, such
// as summarization, may have rewritten the messages since BeforeModelRewriteState.
func (m *middleware[M]) WrapModel(_ context.Context, inner model.BaseModel[M], _ *adk.TypedModelContext[M]) (model.BaseModel[M], error) {
	return &lastWord[M]{inner: inner, m: m}, nil
}

type lastWord[M adk.MessageType] struct {
	inner model.BaseModel[M]
	m     *middleware[M]
}

func (l *lastWord[M]) Generate(ctx context.Context, input []M, opts ...model.Option) (M, error) {
	input, opts = l.m.lastWord(ctx, input, opts)
	return l.inner.Generate(ctx, input, opts...)
}

func (l *lastWord[M]) Stream(ctx context.Context, input []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	input, opts = l.m.lastWord(ctx, input, opts)
	return l.inner.Stream(ctx, input, opts...)
}

func (m *middleware[M]) lastWord(ctx context.Context, messages []M, opts []model.Option) ([]M, []model.Option) {
	if !m.config.UseModelToolSearch {
		facts := findReminder(m.codec, &m.reminder, messages)
		return ensureReminder(m.codec, &m.reminder, messages, facts), opts
	}
	// A deferred tool whose search result was removed would be out of the model's reach.
	loaded := newLoadedSet(m.reader.catalog)
	seen := read(m.reader, m.codec, &m.reminder, messages, loaded)
	given := model.GetCommonOptions(nil, opts...)
	loaded.addMarked(m.reader, given.DeferredTools)
	ordinary, hidden := deferred(m.reader, given.Tools, given.DeferredTools, loaded)
	m.notebook(ctx).setOrdinary(ordinary)
	return ensureReminder(m.codec, &m.reminder, messages, seen.reminder),
		append(slices.Clip(opts), model.WithTools(ordinary), model.WithDeferredTools(hidden))
}

// AfterModelRewriteState sees the model's calls before the tools do, and replaces those
// that cannot be run.
func (m *middleware[M]) AfterModelRewriteState(ctx context.Context, state *adk.TypedChatModelAgentState[M], mc *adk.TypedModelContext[M]) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	if state == nil {
		return ctx, state, nil
	}
	expect(m.notebook(ctx), m.codec, m.config.ToolName, state.Messages)
	k := &callable{
		reader:  m.reader,
		visible: state.ToolInfos,
		native:  state.DeferredToolInfos,
		explain: m.config.Unknown == UnknownExplain,
		refuse:  m.config.Unloaded == UnloadedRefuse,
	}
	if mc != nil {
		//lint:ignore SA1019 It is the one list of every tool the agent can run; state.ToolInfos has what is visible.
		k.all = mc.Tools
	}
	next := *state
	next.Messages = intercept(m.codec, k, state.Messages)
	if m.reader.countCalls && len(state.Messages) > 0 {
		// The call itself may be gone from the history before the next model call.
		ran := called(m.reader, m.codec, state.Messages[len(state.Messages)-1])
		switch {
		case len(ran.docs) == 0:
		case m.config.UseModelToolSearch:
			next.DeferredToolInfos = markDeferred(m.reader, state.DeferredToolInfos, ran)
		default:
			next.ToolInfos = visible(m.reader, state.ToolInfos, ran)
		}
	}
	return ctx, &next, nil
}

// AfterAgent reports what the run has loaded.
func (m *middleware[M]) AfterAgent(ctx context.Context, state *adk.TypedChatModelAgentState[M]) (context.Context, error) {
	if m.config.OnLoaded == nil || state == nil {
		return ctx, nil
	}
	loaded, _ := m.read(ctx, state)
	names := make([]string, len(loaded.docs))
	for i, doc := range loaded.docs {
		names[i] = m.reader.catalog.docs[doc].Name
	}
	m.config.OnLoaded(ctx, names)
	return ctx, nil
}
