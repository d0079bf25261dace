package toolsearch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/anchor"
	"github.com/eino-toolsearch/toolsearch/internal/conversation"
	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/sources"
	"github.com/eino-toolsearch/toolsearch/internal/tokens"
	"github.com/eino-toolsearch/toolsearch/internal/wording"
)

// The engine makes the decisions of a middleware, for either message type. This file is the wiring; the files above it
// decide.

// engine has no state that changes but the current edition: a run's is in its notebook, its session and the agent.
type engine struct {
	config   *Config
	events   eventSink
	mode     mode
	editions *editions
	told     reportedTexts // what FailureEvents say once of ProtocolAnchored
	names    metaNames
	metas    map[wording.Form][]tool.BaseTool // the search tool comes first; the texts are for what the model sees of the hidden tools
}

// newEngine compiles the catalog and makes the meta-tools. agentic is about its messages.
func newEngine(ctx context.Context, config *Config, events eventSink, agentic bool) (*engine, error) {
	if agentic && config.Protocol == ProtocolNativeReferences {
		return nil, errors.New("toolsearch: ProtocolNativeReferences is for chat models of *schema.Message; " +
			"agentic adapters take ProtocolNativeDeferred")
	}
	e := &engine{config: config, events: events, mode: modeOf(config.Protocol, agentic), names: config.Protocol.names(config.ToolName),
		metas: make(map[wording.Form][]tool.BaseTool)}
	var err error
	if e.editions, err = newEditions(ctx, config, events, e.mode.defers()); err != nil {
		return nil, err
	}
	for _, form := range [...]wording.Form{wording.Names, wording.Groups, wording.Nothing} {
		h := &host{e.names, e.editions.last.catalog.prompt.For(form), e.run, bytesPerToken * config.Limits.MaxAnswerTokens}
		tools := h.metaTools(config.Protocol)
		if e.mode == deferredMode {
			tools[0] = &nativeSearchTool{tools[0].(*metaTool)}
		}
		e.metas[form] = tools
	}
	return e, nil
}

// runKey is the context key of a run. It names the engine, since agents can have several and run inside one another.
type runKey struct{ owner *engine }

// begin begins a run. tools are the agent's own tools.
func (e *engine) begin(ctx context.Context, tools []tool.BaseTool, searchTool *schema.ToolInfo) (context.Context, *run, error) {
	if e.mode.searches() && searchTool != nil {
		return ctx, nil, fmt.Errorf("toolsearch: the agent already has a native search tool, %q; it can have only one", searchTool.Name)
	}
	names := make([]string, len(tools))
	for i, t := range tools {
		info, err := sources.Definition(ctx, t)
		if err != nil {
			return ctx, nil, fmt.Errorf("toolsearch: the agent's tool %d: %w", i, err)
		}
		// A dynamic tool of another tool search middleware yields to the meta-tool.
		if e.names.has(info.Name) && !sources.IsWrapped(t) {
			return ctx, nil, fmt.Errorf("toolsearch: the agent's tool %d already has the name %q; "+
				"if it belongs to another tool search middleware, give one of the two another ToolName", i, info.Name)
		}
		names[i] = info.Name
	}
	r, err := e.newRun(ctx, names)
	if err != nil {
		return ctx, nil, err
	}
	return context.WithValue(ctx, runKey{e}, r), r, nil
}

// run returns the run ctx belongs to. A hook called outside a run gets a new run.
func (e *engine) run(ctx context.Context) (*run, error) {
	if r, ok := ctx.Value(runKey{e}).(*run); ok {
		return r, nil
	}
	return e.newRun(ctx, nil)
}

// newRun asks Source and Filter and returns a run. own are the names of the agent's own tools.
func (e *engine) newRun(ctx context.Context, own []string) (*run, error) {
	edition, unfiltered, offer, err := e.editions.current(ctx)
	if err != nil {
		return nil, err
	}
	r := &run{
		edition: edition, config: e.config, mode: e.mode, events: e.events, told: &e.told,
		scope: unfiltered, yielded: make(map[string]bool),
	}
	r.session, _ = ctx.Value(sessionKey{}).(*Session)
	r.scope.perNamespace, r.scope.allowed = e.config.Limits.MaxPerNamespace, slices.Clone(unfiltered.allowed)
	if r.session == nil && (e.mode == dispatchMode || e.mode == anchoredMode) { // no list shows what is loaded, or where
		r.session, r.isAlone = NewSession(), true
	}
	if e.config.Usage != nil {
		if r.coUse, err = foreign.Guard(func() (CoUse, error) { return e.config.Usage(ctx), nil }); err != nil {
			e.events.fail(ctx, PartUsage, fmt.Errorf("toolsearch: Usage: %w", err))
		}
	}
	if e.mode == anchoredMode {
		definitions, _ := r.session.definitions()
		r.moves.Store(len(definitions) > 0)
	}
	if e.config.Filter != nil {
		r.scope.allowed = unfiltered.filtered(ctx, e.config.Filter, &edition.filters, e.events)
	}
	if r.scope.allowed != nil {
		r.scope.byName = edition.catalog.assignNames(r.scope.allowed)
	}
	r.names = e.names
	isFree := func(name string) bool { return !r.scope.hasTool(name) }
	r.names.taken = slices.DeleteFunc(slices.Clone(loaderNames), isFree)
	for _, name := range own {
		r.recordOwnTool(name)
		e.yield(ctx, r, name)
	}
	for doc, t := range offer.Tools {
		if r.scope.has(doc) {
			r.tools = append(r.tools, t)
		}
	}
	r.scope.down = strings.Join(e.editions.down(&r.scope, unfiltered, offer), ", ")
	counted := len(r.tools) - len(r.infos(r.always)) // tools that count towards MaxLoaded
	isWithin := e.config.Limits.MaxLoaded == 0 || counted <= e.config.Limits.MaxLoaded
	r.hidesNone = len(r.tools) == 0 || len(r.tools) < e.config.DeferFrom && isWithin
	e.announce(r)
	return r, nil
}

func (e *engine) announce(r *run) {
	switch {
	case r.hidesNone:
		r.reminder = newReminder(r.scope, r.scope.has, e.config)
	case r.scope.allowed == nil:
		r.reminder = r.edition.announcement()
	default:
		r.reminder = newReminder(r.scope, r.isAlways, e.config)
	}
	r.scope.prompt = r.edition.catalog.prompt.For(r.reminder.form)
}

// yield leaves a name to a tool of the agent or of another middleware: the dynamic tool of that name is hidden from the
// run. If the request may see it, an event says so.
func (e *engine) yield(ctx context.Context, r *run, name string) {
	doc, clash := r.scope.byName[name]
	if !clash || r.yielded[name] {
		return
	}
	if r.scope.has(doc) {
		problem := r.snapshot.Yields(doc)
		e.events.emit(ctx, (*FailureEvent)(&problem))
	}
	if r.scope.allowed == nil {
		r.scope.allowed = docset.New(len(r.scope.docs))
		for doc := range r.scope.docs {
			r.scope.allowed.Add(doc)
		}
	}
	r.scope.allowed.Remove(doc)
	r.yielded[name] = true
}

// yieldToLater yields to the tools that middlewares after this one added, which BeforeAgent could not see. all is every
// tool that the agent can run. Of two tools with the same name, the agent runs the later.
func (e *engine) yieldToLater(ctx context.Context, r *run, all []*schema.ToolInfo) {
	if r.hasYielded || len(all) == 0 {
		return
	}
	r.hasYielded = true
	given, isLater := docset.New(len(r.scope.docs)), false
	for _, name := range toolNames(all) {
		r.recordOwnTool(name)
		doc, dynamic := r.owns(name)
		if dynamic && (!r.scope.has(doc) || !given.Add(doc)) {
			e.yield(ctx, r, name)
			isLater = true
		}
	}
	if isLater {
		e.announce(r)
	}
	// The other protocols' reminders are stale if the agent has no such tool.
	for _, name := range [...]string{toolSearchName, searchToolsName} {
		if r.names.allProtocols && name != r.names.search && !containsName(all, name) {
			r.reminder.former = name
		}
	}
}

// beforeModel works out the tool lists of a model call, and edits the history.
func (e *engine) beforeModel(ctx context.Context, r *run, t *transcript, given lists) (lists, error) {
	for i, t := range given.tools {
		if t != nil && r.names.has(t.Name) && containsName(given.tools[:i], t.Name) {
			return lists{}, fmt.Errorf("toolsearch: two of the agent's tools are named %q: "+
				"a middleware after this one added the second; if it is another tool search middleware, give one of the two another ToolName", t.Name)
		}
	}
	r.checkTransport(ctx)
	loaded, err := r.loaded(ctx, t, given)
	if err != nil {
		return lists{}, err
	}
	change := e.recordLoaded(r, loaded)
	r.reminder.ensure(t)
	given = r.lists(given, loaded)
	r.notebook.SetDefined(r.definedBy(t, given.tools))
	e.report(ctx, r, change, &given)
	return given, nil
}

// report reports what has changed since the last model call. next is what the model sees now, nil at the end.
func (e *engine) report(ctx context.Context, r *run, change LoadEvent, next *lists) {
	if !e.events.listens() {
		return
	}
	if next != nil { // only now it is known whether the transport moved the tools of the list before
		areSame := func(a, b *schema.ToolInfo) bool {
			return a.Name == b.Name && a.Desc == b.Desc && a.ParamsOneOf == b.ParamsOneOf
		}
		change.ToolsChanged = r.listed != nil && !slices.EqualFunc(r.onWire(r.listed), r.onWire(next.tools), areSame)
		r.listed = slices.Clone(next.tools) // a later middleware may delete from its own
	}
	if len(change.Loaded)+len(change.Unloaded) == 0 && !change.ToolsChanged {
		return
	}
	for _, name := range change.Loaded {
		change.LoadedTokens += r.scope.tokensOf(r.scope.byName[name])
	}
	if next != nil {
		for _, info := range next.tools {
			if doc, ok := r.scope.byName[info.Name]; ok && conversation.IsLoaded(info, r.names.search) {
				change.ToolTokens += r.scope.tokensOf(doc)
			} else {
				change.ToolTokens += tokensOf(info)
			}
		}
		change.ListTokens = tokens.Of(r.reminder.text)
	}
	e.events.emit(ctx, &change)
}

// recordLoaded records the loaded tools, and returns what has changed since the last model call.
func (e *engine) recordLoaded(r *run, loaded *conversation.LoadSet) (change LoadEvent) {
	before := r.notebook.SetLoaded(slices.Clone(loaded.Members))
	var added, gone []string
	for _, doc := range loaded.Docs {
		if !before.Has(doc) && !r.isAlways(doc) {
			added = append(added, r.scope.docs[doc].Name)
		}
	}
	for doc := range before.All() {
		if !loaded.Has(doc) {
			gone = append(gone, r.scope.docs[doc].Name)
		}
	}
	if r.session != nil {
		for name := range r.shared { // hidden by MaxLoaded before the model saw it
			doc, known := r.scope.docNamed(name)
			if known && !loaded.Has(doc) && !before.Has(doc) {
				gone = append(gone, name)
			}
		}
		fresh := slices.Clone(added)
		for _, doc := range loaded.InUse { // another agent may have hidden them meanwhile
			if loaded.Has(doc) && !r.isAlways(doc) {
				fresh = append(fresh, r.scope.docs[doc].Name)
			}
		}
		// What the session had, another agent may have unloaded since, so it is not put back.
		fresh = slices.DeleteFunc(fresh, func(name string) bool { return r.shared[name] })
		for _, name := range fresh {
			r.shared[name] = true
		}
		for _, name := range gone {
			delete(r.shared, name)
		}
		r.session.update(fresh, gone)
	}
	slices.Sort(gone)
	if before != nil {
		change.Loaded, change.Unloaded = added, gone
	}
	return change
}

// lastWord edits the history once more, and returns the context and the options of the model call.
func (e *engine) lastWord(ctx context.Context, r *run, t *transcript, opts []model.Option) (context.Context, []model.Option) {
	options := model.GetCommonOptions(nil, opts...)
	given := lists{options.Tools, options.DeferredTools, options.ToolSearchTool}
	var loaded *conversation.LoadSet
	if r.mode.isNative() { // the model could not reach a deferred tool whose search result was removed
		loaded = r.stillLoaded(t, given)
		given = r.lists(given, loaded)
		opts = append(slices.Clip(opts), model.WithTools(given.tools), model.WithDeferredTools(given.deferred))
	}
	if !r.mode.translates() { // stillLoaded does it
		r.convertResults(t, given, loaded, true)
	}
	r.reminder.ensure(t)
	mendCalls(t, func(name string) bool {
		return r.scope.hasTool(name) || containsName(given.tools, name) || containsName(given.deferred, name)
	})
	r.notebook.SetDefined(r.definedBy(t, given.tools))
	if plan := r.plan(ctx, t, given.tools); plan != nil {
		ctx = anchor.With(ctx, plan)
	}
	return ctx, opts
}

// afterModel replaces the calls of the model's message that cannot be run as they are, and marks the called tools in
// the lists. all is every tool that the agent can run.
func (e *engine) afterModel(ctx context.Context, r *run, v *view, given lists, all []*schema.ToolInfo) lists {
	var ids, calls []string // of calls of meta-tools, of all
	var called []int        // dynamic tools
	answers := 0
	for _, call := range v.calls {
		calls = append(calls, call.id)
		if doc, dynamic := r.scope.docNamed(call.name); dynamic {
			called = append(called, doc)
		}
		if r.names.has(call.name) {
			ids = append(ids, call.id)
			if call.name != r.names.call { // the tool that it names answers
				answers++
			}
		}
	}
	if r.notebook.Expect(ids, answers); len(ids) > 0 {
		r.remember(ctx, calls)
	}
	k := &callable{run: r, all: all, given: given}
	if refused := intercept(ctx, k, v); len(refused) > 0 && e.events.listens() {
		e.events.emit(ctx, &LoadEvent{Refused: refused})
	}
	if r.countsCalls() && len(called) > 0 {
		given = r.markCalled(given, called)
	}
	return given
}

func (e *engine) end(ctx context.Context, r *run, t *transcript, given lists) error {
	loaded, err := r.loaded(ctx, t, given)
	if err != nil {
		return err
	}
	e.report(ctx, r, e.recordLoaded(r, loaded), nil)
	r.checkTransport(ctx)
	return nil
}

// watcher returns who needs to know how a tool's call ends: nil if nobody does, or the tool is not dynamic.
func (e *engine) watcher(ctx context.Context, call *adk.ToolContext) *watcher {
	if call == nil || e.config.ToolErrors != ToolErrorsExplain && !e.events.listens() {
		return nil
	}
	if r, err := e.run(ctx); err == nil && r.scope.hasTool(call.Name) {
		return &watcher{r, call.Name}
	}
	return nil
}

func modeOf(p Protocol, agentic bool) mode {
	if p == ProtocolNativeDeferred && !agentic {
		return chatDeferredMode
	}
	return map[Protocol]mode{
		ProtocolNativeDeferred:   deferredMode,
		ProtocolNativeReferences: referencesMode,
		ProtocolNativeServer:     serverMode,
		ProtocolDispatch:         dispatchMode,
		ProtocolAnchored:         anchoredMode,
	}[p] // or textMode
}

// metaTools returns the meta-tools of a protocol. The search tool comes first.
func (h *host) metaTools(p Protocol) []tool.BaseTool {
	switch p {
	case ProtocolRegexp:
		return []tool.BaseTool{h.regexpTool()}
	case ProtocolSearchAdd:
		return []tool.BaseTool{h.searchOnlyTool(), h.addTool(), h.showAllTool(), h.removeTool()}
	case ProtocolRanked:
		return []tool.BaseTool{h.rankedTool()}
	case ProtocolDispatch:
		return []tool.BaseTool{h.definitionsTool(), h.dispatchTool()}
	}
	return []tool.BaseTool{h.namesTool()}
}
