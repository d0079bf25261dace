package toolsearch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// The agent's hooks: from what the agent has to what the model sees, and from what the model
// calls to what is run. Wiring only; what is decided is decided elsewhere.

// middleware holds nothing that changes but the current edition: what a run learns is in
// its notebook and in what the agent keeps.
type middleware[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]

	config   *Config
	codec    codec[M]
	editions *editions
	names    metaNames
	metas    []tool.BaseTool // the one that searches first
	search   *schema.ToolInfo
}

func (m *middleware[M]) addMetaTools() {
	m.names = m.config.Protocol.names(m.config.ToolName)
	h := &host{
		names:  m.names,
		prompt: m.config.prompt(),
		event:  m.config.OnSearch,
		scope: func(ctx context.Context) (scope, error) {
			r, err := m.run(ctx)
			if err != nil {
				return scope{}, err
			}
			return r.scope, nil
		},
		note: func(ctx context.Context, e nameEffect) {
			if r, err := m.run(ctx); err == nil {
				r.notebook.note(compose.GetToolCallID(ctx), e)
			}
		},
		wasLoaded: func(ctx context.Context, name string) (loaded, known bool) {
			r, err := m.run(ctx)
			if err != nil {
				return false, false
			}
			return r.notebook.wasLoaded(name)
		},
		isPinned: func(ctx context.Context, name string) bool {
			r, err := m.run(ctx)
			return err == nil && r.isAlways(r.scope.byName[name])
		},
	}
	for _, t := range h.metaTools(m.config.Protocol) {
		m.metas = append(m.metas, t)
		m.search = cmp.Or(m.search, t.info)
	}
	if m.config.nativeForm() == deferredForm && m.codec.wordless {
		m.metas[0] = &nativeSearchTool{
			host: h, info: m.search,
			ordinary: func(ctx context.Context) map[string]bool {
				r, err := m.run(ctx)
				if err != nil {
					return nil
				}
				return r.notebook.ordinaryNames()
			},
		}
	}
}

// BeforeAgent gives the agent the meta-tools and the dynamic tools that this request may
// see. It fails if the agent has a tool of one of their names already.
func (m *middleware[M]) BeforeAgent(ctx context.Context, runCtx *adk.ChatModelAgentContext) (context.Context, *adk.ChatModelAgentContext, error) {
	if runCtx == nil {
		return ctx, runCtx, nil
	}
	names, err := m.namesOf(ctx, runCtx)
	if err != nil {
		return ctx, nil, err
	}
	r, err := m.newRun(ctx, names)
	if err != nil {
		return ctx, nil, err
	}
	next := *runCtx
	next.Tools = append(runCtx.Tools[:len(runCtx.Tools):len(runCtx.Tools)], m.metas...)
	next.Tools = append(next.Tools, r.tools...)
	if m.config.nativeForm() == deferredForm && !r.plain {
		next.ToolSearchTool = m.search
	}
	return context.WithValue(ctx, runKey{m}, r), &next, nil
}

// namesOf returns the names of the tools that the agent has already.
func (m *middleware[M]) namesOf(ctx context.Context, runCtx *adk.ChatModelAgentContext) ([]string, error) {
	names := make([]string, len(runCtx.Tools))
	for i, t := range runCtx.Tools {
		if foreign.IsNil(t) {
			return nil, fmt.Errorf("toolsearch: the agent's tool %d is nil (%T)", i, t)
		}
		info, err := infoOf(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("toolsearch: the agent's tool %d (%T): Info: %w", i, t, err)
		}
		if info == nil {
			return nil, fmt.Errorf("toolsearch: the agent's tool %d (%T): Info returned nil", i, t)
		}
		if m.names.has(info.Name) {
			return nil, fmt.Errorf("toolsearch: the agent's tool %d is named %q already; "+
				"if it is another tool search middleware's, give one of them another ToolName", i, info.Name)
		}
		names[i] = info.Name
	}
	if m.config.nativeForm() == deferredForm && runCtx.ToolSearchTool != nil {
		return nil, fmt.Errorf("toolsearch: the agent has a native search tool already, %q; it can have one", runCtx.ToolSearchTool.Name)
	}
	return names, nil
}

// BeforeModelRewriteState works out what the model sees in this call. It fails if a
// middleware after this one gave the agent a tool named like one of ours, which
// BeforeAgent could not see.
func (m *middleware[M]) BeforeModelRewriteState(ctx context.Context, state *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M]) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	if state == nil {
		return ctx, state, nil
	}
	r, err := m.run(ctx)
	if err != nil {
		return ctx, nil, err
	}
	if name := doubled(r, state.ToolInfos); name != "" {
		return ctx, nil, fmt.Errorf("toolsearch: two of the agent's tools are named %q: "+
			"a middleware after this one added a tool of that name", name)
	}
	next := *state
	loaded, seen, err := m.read(ctx, r, state)
	if err != nil {
		return ctx, nil, err
	}
	m.tellLoaded(ctx, r, loaded)
	next.Messages = ensureReminder(m.codec, &r.reminder, state.Messages, seen.reminder)
	if seen.repair {
		next.Messages = restore(m.codec, &m.names, next.Messages)
	}
	if m.config.UseModelToolSearch {
		next.ToolInfos, next.DeferredToolInfos = deferred(r, state.ToolInfos, state.DeferredToolInfos, m.shown(r, loaded))
	} else {
		next.ToolInfos = visible(r, state.ToolInfos, m.shown(r, loaded))
		next.DeferredToolInfos = undeferred(r, state.DeferredToolInfos)
	}
	if m.config.nativeForm() == referencesForm {
		next.ToolInfos = remember(r.reader, next.ToolInfos, loaded)
	}
	return ctx, &next, nil
}

// read gathers the loaded tools from everything that shows them. The order is that of
// their first loading: what the tool list holds was loaded before what is only now read.
func (m *middleware[M]) read(ctx context.Context, r *run, state *adk.TypedChatModelAgentState[M]) (*loadedSet, history, error) {
	loaded := newLoadedSet(r.scope.Catalog)
	if m.config.MaxLoaded > 0 {
		loaded.used = make(map[int]int)
	}
	for _, doc := range r.always {
		loaded.add(doc)
	}
	loaded.addMarked(r.reader, state.ToolInfos)
	loaded.addMarked(r.reader, state.DeferredToolInfos)
	loaded.addNames(r.scope.Catalog, carriedBy(ctx))
	if m.config.MaxLoaded > 0 {
		loaded.settle = func() { r.restrict(loaded, m.config.MaxLoaded) }
	}
	earlier, latest := r.notebook.take(m.config.Protocol == ProtocolDispatch)
	seen := read(r.reader, m.codec, &r.reminder, &r.notebook, state.Messages, loaded)
	for _, e := range earlier { // whose results may be gone from the history
		loaded.addNames(r.scope.Catalog, e.loads)
	}
	for _, e := range latest {
		loaded.apply(r.reader.docsOf(e))
	}
	for _, doc := range r.always { // which no call unloads
		loaded.add(doc)
	}
	if m.config.Preselect > 0 && seen.question != "" && !r.plain {
		docs, err := r.scope.preselect(ctx, seen.question, m.config.Preselect)
		if ctx.Err() != nil {
			return nil, seen, ctx.Err()
		}
		if err != nil && m.config.OnError != nil {
			m.config.OnError(ctx, fmt.Errorf("toolsearch: Preselect: %w", err))
		}
		loaded.use(docs...)
	}
	if m.config.nativeForm().isText(m.codec.wordless) {
		messages := state.Messages
		if seen.repair { // a text that is to be named after another tool shows nothing
			messages = restore(m.codec, &m.names, messages)
		}
		loaded.native = shownByTexts(m.codec, r, messages, state.ToolInfos, loaded)
	}
	r.restrict(loaded, m.config.MaxLoaded)
	return loaded, seen, nil
}

// tellLoaded notes what is loaded at this model call, and sends what changed since the last.
func (m *middleware[M]) tellLoaded(ctx context.Context, r *run, loaded *loadedSet) {
	names := make([]string, len(loaded.docs))
	for i, doc := range loaded.docs {
		names[i] = r.scope.docs[doc].Name
	}
	before := r.notebook.setLoaded(names)
	if before == nil || !m.config.SendEvents {
		return
	}
	var e LoadEvent
	for _, name := range names {
		if !before[name] {
			e.Loaded = append(e.Loaded, name)
		}
		delete(before, name)
	}
	e.Unloaded = slices.Sorted(maps.Keys(before))
	m.sendLoadEvent(ctx, e)
}

func (m *middleware[M]) sendLoadEvent(ctx context.Context, e LoadEvent) {
	if !m.config.SendEvents || len(e.Loaded)+len(e.Unloaded)+len(e.Refused) == 0 {
		return
	}
	// It fails outside of a run, where there is nobody to tell.
	_ = adk.TypedSendEvent(ctx, &adk.TypedAgentEvent[M]{Output: &adk.TypedAgentOutput[M]{CustomizedOutput: e}})
}

// shown returns the loaded tools that are to be in the tool list.
func (m *middleware[M]) shown(r *run, loaded *loadedSet) *loadedSet {
	switch {
	case r.plain:
		all := newLoadedSet(r.scope.Catalog)
		r.everything(all)
		return all
	case m.config.Protocol == ProtocolDispatch:
		constant := newLoadedSet(r.scope.Catalog)
		for _, doc := range r.always {
			if r.scope.sees(doc) {
				constant.add(doc)
			}
		}
		return constant
	default:
		return loaded
	}
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
	r, err := m.run(ctx)
	if err != nil {
		return messages, opts
	}
	if !m.config.UseModelToolSearch {
		facts := findReminder(m.codec, &r.reminder, messages)
		messages = ensureReminder(m.codec, &r.reminder, messages, facts)
		if facts.native {
			messages = fitResults(m.codec, r, messages, model.GetCommonOptions(nil, opts...), nil)
		}
		return messages, opts
	}
	// A deferred tool whose search result was removed would be out of the model's reach.
	loaded := newLoadedSet(r.scope.Catalog)
	seen := read(r.reader, m.codec, &r.reminder, &r.notebook, messages, loaded)
	given := model.GetCommonOptions(nil, opts...)
	kept := newLoadedSet(r.scope.Catalog)
	kept.addMarked(r.reader, given.Tools)
	kept.addMarked(r.reader, given.DeferredTools)
	for _, doc := range kept.docs {
		loaded.add(doc)
	}
	if m.config.nativeForm().isText(m.codec.wordless) {
		loaded.native = shownByTexts(m.codec, r, messages, given.Tools, loaded)
	}
	r.restrict(loaded, 0)
	if m.config.MaxLoaded > 0 { // what was evicted is loaded no more
		loaded.keep(func(doc int) bool { return kept.has.Has(doc) || loaded.native.Has(doc) })
	}
	given.Tools, given.DeferredTools = deferred(r, given.Tools, given.DeferredTools, m.shown(r, loaded))
	r.notebook.setOrdinary(given.Tools)
	messages = ensureReminder(m.codec, &r.reminder, messages, seen.reminder)
	if m.config.nativeForm() == referencesForm {
		messages = mendCalls(m.codec, &m.names, messages)
	}
	return fitResults(m.codec, r, messages, given, loaded),
		append(slices.Clip(opts), model.WithTools(given.Tools), model.WithDeferredTools(given.DeferredTools))
}

// AfterModelRewriteState sees the model's calls before the tools do, and replaces those
// that cannot be run as they are.
func (m *middleware[M]) AfterModelRewriteState(ctx context.Context, state *adk.TypedChatModelAgentState[M], mc *adk.TypedModelContext[M]) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	if state == nil {
		return ctx, state, nil
	}
	r, err := m.run(ctx)
	if err != nil {
		return ctx, nil, err
	}
	expect(&r.notebook, m.codec, &m.names, state.Messages)
	k := &callable{
		run:     r,
		visible: state.ToolInfos,
		native:  state.DeferredToolInfos,
		explain: m.config.Unknown == UnknownExplain,
		refuse:  m.config.Unloaded == UnloadedRefuse && m.config.nativeForm() != serverForm,
	}
	if mc != nil {
		//lint:ignore SA1019 It is the one list of every tool the agent can run; state.ToolInfos has what is visible.
		k.all = mc.Tools
	}
	next := *state
	var refused []string
	next.Messages, refused = intercept(m.codec, k, state.Messages)
	m.sendLoadEvent(ctx, LoadEvent{Refused: refused})
	inList := m.config.Protocol != ProtocolDispatch && m.config.nativeForm() != referencesForm
	if r.reader.countCalls && len(state.Messages) > 0 && inList {
		// The call itself may be gone from the history before the next model call.
		ran := called(r, m.codec, state.Messages[len(state.Messages)-1])
		switch {
		case len(ran.docs) == 0:
		case m.config.nativeForm() == deferredForm:
			next.DeferredToolInfos = markDeferred(r.reader, state.DeferredToolInfos, ran)
		default:
			next.ToolInfos = withLoaded(r.reader, state.ToolInfos, ran)
		}
	}
	return ctx, &next, nil
}

// AfterAgent reports what the run has loaded.
func (m *middleware[M]) AfterAgent(ctx context.Context, state *adk.TypedChatModelAgentState[M]) (context.Context, error) {
	if m.config.OnLoaded == nil || state == nil {
		return ctx, nil
	}
	r, err := m.run(ctx)
	if err != nil {
		return ctx, err
	}
	loaded, _, err := m.read(ctx, r, state)
	if err != nil {
		return ctx, err
	}
	m.config.OnLoaded(ctx, r.loadedNames(loaded))
	return ctx, nil
}
