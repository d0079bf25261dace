package toolsearch

import (
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/conversation"
	"github.com/eino-toolsearch/toolsearch/internal/docset"
)

// Who searches: the middleware or the model. A mode is a way to give a catalog to a model; docs/adapters.md says which
// adapter supports which. A native result is a search result in the provider's own form.
//
//	mode         tools go to the model as    search results are
//	text         ordinary, once loaded       texts
//	anchored     ordinary, once loaded       texts; a transport moves the tools behind them
//	deferred     deferred                    native, or texts that become native on the wire
//	references   ordinary, once loaded       texts that become native on the wire
//	server       deferred                    the provider's own
//
// A tool that a native result shows is callable as long as that result is in the history. When the result is gone, or
// cannot be native, the tool moves to the ordinary tool list and stays there. Adapters refuse a definition that comes
// twice: a tool is never in both places, and a search does not show tools of the ordinary list again.

// lists are the tools of a model call.
type lists struct {
	tools    []*schema.ToolInfo // the ordinary tool list
	deferred []*schema.ToolInfo // the tools that the model searches by itself
	search   *schema.ToolInfo   // the model's own search tool; nil if there is none, or it is not known yet
}

// mode is a way to give the catalog to a model.
type mode int

const (
	textMode         mode = iota // works with every model that calls tools
	anchoredMode                 // of ProtocolAnchored: a transport may move listed tools into the conversation
	dispatchMode                 // of ProtocolDispatch: the list never changes; results define the tools they show
	deferredMode                 // for agentic models: results are native in the history
	chatDeferredMode             // for chat models: native results in the history would make Eino's reduction end the run
	referencesMode               // for the Claude chat model: its adapter turns native results into references
	serverMode                   // for a search that we do not see
)

// searches reports whether tool_search is the model's own search tool, and not one of the ordinary tools.
func (m mode) searches() bool { return m == deferredMode || m == chatDeferredMode }

func (m mode) defers() bool { return m.searches() || m == serverMode }

// isNative reports whether native results may show tools to the model.
func (m mode) isNative() bool { return m >= deferredMode }

func (m mode) translates() bool { return m == chatDeferredMode || m == referencesMode }

// showsTools reports whether a result in the history shows its tools to the model. If tool_search answers
// natively, the provider demands the native results of this run and of marked calls.
func (r *run) showsTools(result *resultView, call *callView) bool {
	return r.mode.translates() ||
		r.mode == deferredMode && result.native && (call != nil && call.nativeSearch || r.notebook.HasCall(result.callID))
}

// converter finds the form in which a model reads the search results of a history, one after the other.
type converter struct {
	run         *run
	loaded      *conversation.LoadSet
	given       docset.Set // the tools whose definitions the model has
	otherSearch string     // the name of another middleware's native search tool
	shown       docset.Set // the tools that native results will show
}

// convertResults gives the results of loaders the form in which the model reads them, if that isFinal, and returns the
// catalog's tools that native results show then.
func (r *run) convertResults(t *transcript, given lists, loaded *conversation.LoadSet, isFinal bool) docset.Set {
	n := len(r.scope.docs)
	if r.hidesNone { // the ordinary list has all tools
		loaded = conversation.NewLoadSet(n)
	}
	isOther := func(t *schema.ToolInfo) bool { return !conversation.IsLoaded(t, r.names.search) }
	listed := r.docsNamed(toolNames(slices.DeleteFunc(slices.Clone(given.tools), isOther)))
	// The ordinary list has those of always, whatever results show.
	f := &converter{run: r, loaded: loaded, given: docset.New(n, append(listed, r.always...)...), shown: docset.New(n)}
	if given.search != nil && given.search.Name != r.names.search {
		f.otherSearch = given.search.Name
	}
	for i := range t.answers {
		a := &t.answers[i]
		result := t.result(a)
		name := result.name
		if name == "" && a.call != nil { // without a call, called is only a guess
			name = a.called
		}
		_, isOurs := r.catalog.byName[result.name] // then a search answered the call
		if !r.names.isLoaderName(name) && (!result.native || result.name != "" && !isOurs) {
			continue
		}
		if form, changed := f.formOf(name, *result, a.call); changed && isFinal {
			t.replace(a, form)
		}
	}
	return f.shown
}

// formOf returns the result of a search tool of that name in the form that the model reads, and whether it differs from
// the result. Results of the search tool of another middleware in the run stay.
func (f *converter) formOf(name string, result resultView, call *callView) (form resultView, changed bool) {
	r := f.run
	isAgents := slices.Contains(r.names.agents, name) && len(r.effectOf(&result).loads) == 0
	isOthers := result.native && name != "" && (name == f.otherSearch || isAgents)
	isLost := result.native && result.name == "" && !r.names.isLoaderName(name) // a store lost what it belongs to
	switch {
	case isOthers || !result.native && !r.mode.translates():
		return result, false
	case r.mode.translates() && !isLost:
		return f.fresh(result)
	}
	permitted := r.infos(r.effectOf(&result).loads)
	switch {
	case isLost || !r.showsTools(&result, call):
		return result.asText(permitted), true
	case len(permitted) == len(result.found):
		return result, false
	}
	result.found = permitted
	return result, true
}

// fresh returns a native result with those tools whose definitions the model does not have yet, or a text.
func (f *converter) fresh(result resultView) (resultView, bool) {
	docs := f.run.effectOf(&result).loads
	var fresh []int
	for _, doc := range docs {
		if f.run.scope.has(doc) && f.loaded.Has(doc) && f.given.Add(doc) {
			f.shown.Add(doc)
			fresh = append(fresh, doc)
		}
	}
	switch {
	case len(fresh) == 0 && result.native:
		return result.asText(f.run.infos(docs)), true
	case len(fresh) == 0 || result.native && len(fresh) == len(result.found):
		return result, false
	}
	result.native, result.found = true, f.run.infos(fresh)
	return result, true
}

// asText returns the result as tool_search's textual answer with these tools.
func (r resultView) asText(tools []*schema.ToolInfo) resultView {
	r.native, r.found = false, nil
	r.text = toJSON(searchAnswer{Matches: toolNames(tools)})
	return r
}

// lists returns the tool lists of a model call, in which the loaded tools are callable. It is idempotent.
func (r *run) lists(given lists, loaded *conversation.LoadSet) lists {
	if r.hidesNone || r.mode == dispatchMode {
		loaded = conversation.NewLoadSet(len(r.scope.docs))
		for doc := range r.scope.docs {
			if r.scope.has(doc) && (r.hidesNone || r.isAlways(doc)) {
				loaded.Add(doc)
			}
		}
	}
	ordinary := loaded
	if r.mode.isNative() {
		ordinary = conversation.NewLoadSet(len(r.scope.docs))
		for _, doc := range loaded.Docs { // those that no native result shows, that are there already, or that are always
			if !loaded.ByResult.Has(doc) || r.hidesNone || r.isAlways(doc) || hasLoaded(r, given.tools, r.scope.docs[doc].Name) {
				ordinary.Add(doc)
			}
		}
	}
	isOurs := func(t *schema.ToolInfo) bool { // a resumed run may have such tools, from a native protocol
		if t == nil || conversation.IsOurs(t, r.names.search) {
			return true
		}
		_, own := r.owns(t.Name)
		return own
	}
	others := slices.DeleteFunc(slices.Clone(given.deferred), isOurs)
	next := lists{tools: visible(r, given.tools, ordinary), deferred: others}
	isSearch := func(t *schema.ToolInfo) bool { return t.Name == r.names.search }
	if at := slices.IndexFunc(next.tools, isSearch); at >= 0 && r.mode == referencesMode { // no list has the loaded tools
		next.tools[at] = conversation.MarkRemembered(next.tools[at], toJSON(toolNames(r.infos(loaded.Docs))))
	}
	if !r.mode.defers() {
		return next
	}
	next.tools = slices.DeleteFunc(next.tools, isSearch)
	next.deferred = slices.Grow(next.deferred, len(r.scope.docs))
	for doc := range r.scope.docs {
		switch {
		case ordinary.Has(doc) || !r.scope.has(doc):
		case loaded.Has(doc):
			next.deferred = append(next.deferred, conversation.MarkLoaded(r.scope.docs[doc].Info, r.names.search))
		default:
			next.deferred = append(next.deferred, r.deferred[doc])
		}
	}
	return next
}

// markCalled marks the tools that a model's message calls as loaded: the call may be gone before the next model call.
func (r *run) markCalled(given lists, docs []int) lists {
	switch {
	case r.mode == textMode || r.mode == anchoredMode:
		given.tools = slices.Clip(given.tools)
		for _, doc := range docs {
			if info := r.scope.docs[doc].Info; !containsName(given.tools, info.Name) {
				given.tools = append(given.tools, conversation.MarkLoaded(info, r.names.search))
			}
		}
	case r.mode.searches():
		given.deferred = slices.Clone(given.deferred)
		for i, t := range given.deferred {
			isCalled := func(doc int) bool { return r.scope.docs[doc].Name == t.Name }
			if t != nil && !conversation.IsLoaded(t, r.names.search) && slices.ContainsFunc(docs, isCalled) {
				given.deferred[i] = conversation.MarkLoaded(t, r.names.search)
			}
		}
	}
	return given
}

// visible returns the tool list for the model: the tools that are not dynamic, and the loaded tools. Each loaded tool
// keeps its first place; new ones go to the end. It is idempotent.
func visible(r *run, tools []*schema.ToolInfo, loaded *conversation.LoadSet) []*schema.ToolInfo {
	docs := r.scope.docs
	list := make([]*schema.ToolInfo, 0, 8)
	placed := docset.New(len(docs), r.hidden...)
	for _, t := range tools {
		if t == nil {
			continue
		}
		doc, dynamic := r.owns(t.Name)
		switch {
		case dynamic && conversation.IsLoaded(t, r.names.search) && loaded.Has(doc) && placed.Add(doc):
			if info := docs[doc].Info; t.Desc != info.Desc || t.ParamsOneOf != info.ParamsOneOf {
				t = conversation.MarkLoaded(info, r.names.search) // the catalog changed, or a checkpoint copied the parameters
			}
			list = append(list, t)
		case dynamic || conversation.IsLoaded(t, r.names.search): // not loaded, or gone from the catalog
		case r.yielded[t.Name] && t == r.snapshot.Infos[r.scope.byName[t.Name]]: // the agent has another tool of that name
		case r.hidesNone && r.names.has(t.Name):
		default:
			list = append(list, t)
		}
	}
	for _, doc := range loaded.Docs {
		if !placed.Has(doc) {
			list = append(list, conversation.MarkLoaded(docs[doc].Info, r.names.search))
		}
	}
	return list
}

// hasLoaded reports whether a list has our copy of the definition of that name.
func hasLoaded(r *run, tools []*schema.ToolInfo, name string) bool {
	return slices.ContainsFunc(tools, func(t *schema.ToolInfo) bool {
		return conversation.IsLoaded(t, r.names.search) && t.Name == name
	})
}
