package toolsearch

import (
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/conversation"
	"github.com/eino-toolsearch/toolsearch/internal/docset"
)

// Who searches: the middleware or the model. A mode is a way to give a catalog to a model;
// docs/adapters.md says which adapter supports which mode. A native result is a search result
// in the provider's own form.
//
//	mode         tools go to the model as    search results are
//	text         ordinary, once loaded       texts
//	deferred     deferred                    native, or texts that become native on the wire
//	references   ordinary, once loaded       texts that become native on the wire
//	server       deferred                    the provider's own
//
// A tool that a native result shows is callable as long as that result is in the history.
// When the result is gone, or cannot be native, the tool moves to the ordinary tool list and
// stays there. Adapters refuse a definition that comes twice: a tool is never in both places,
// and a search does not show tools of the ordinary list again.

// lists are the tools of a model call.
type lists struct {
	tools    []*schema.ToolInfo // the ordinary tool list
	deferred []*schema.ToolInfo // the tools that the model searches by itself
	search   *schema.ToolInfo   // the model's own search tool; nil if there is none, or it is not known yet
}

// mode is a way to give the catalog to the model: it decides where the wiring would have to know
// which protocol it serves. textMode decides for every mode what the mode does not decide itself.
type mode interface {
	// modelSearchTool returns the definition of the model's own search tool, or nil if the search
	// tool is one of the ordinary tools.
	modelSearchTool(info *schema.ToolInfo) *schema.ToolInfo

	// defers reports whether tools that are not loaded are deferred.
	defers() bool

	// seesSearches reports whether the middleware learns what the model finds.
	seesSearches() bool

	// session returns the session of a run. shared is the session in the context; nil means none.
	session(shared *Session) *Session

	// show sets the loaded tools that native results show to the model.
	show(r *run, t *transcript, given lists, loaded *conversation.LoadSet)

	// lists returns the tool lists of a model call, in which the loaded tools are callable.
	lists(r *run, given lists, loaded *conversation.LoadSet) lists

	// lastWord returns the tool lists after the history has changed once more, and what is still
	// loaded; nil means that the given lists stay.
	lastWord(r *run, t *transcript, given lists) (next lists, loaded *conversation.LoadSet)

	// called marks the tools in the lists that a model's message calls.
	called(r *run, given lists, docs []int) lists

	// keeps reports whether a result in the history shows its tools to the model.
	keeps(r *run, result *resultView, call *callView) bool

	// convert returns a search result in the form that the model reads, and whether the form
	// has changed.
	convert(c *converter, result resultView, call *callView) (converted resultView, changed bool)
}

// converter puts search results into the form that a model reads.
type converter struct {
	run         *run
	loaded      *conversation.LoadSet
	given       docset.Set // the tools whose definitions the model has
	otherSearch string     // the name of another middleware's native search tool
	shown       docset.Set // the tools that native results will show
}

// convertResults works out the form in which the model reads the results of loaders, and returns the
// catalog's tools that native results show in that form. The results themselves change with
// transcript.takeConverted.
func convertResults(r *run, t *transcript, given lists, loaded *conversation.LoadSet) docset.Set {
	n := len(r.scope.docs)
	t.isConverted = true
	if r.hidesNone { // the ordinary list has all tools
		loaded = conversation.NewLoadSet(n)
	}
	f := &converter{run: r, loaded: loaded, given: docset.New(n), shown: docset.New(n)}
	for _, doc := range r.always { // in the ordinary list, whatever results show
		f.given.Add(doc)
	}
	for _, t := range given.tools {
		if !conversation.IsLoaded(t, r.names.search) {
			continue
		}
		if doc, ok := r.scope.byName[t.Name]; ok {
			f.given.Add(doc)
		}
	}
	if given.search != nil && given.search.Name != r.names.search {
		f.otherSearch = given.search.Name
	}
	t.convert(r.names.isLoaderName, f.convert)
	return f.shown
}

// convert returns a result in the form the model reads. Results of other middlewares stay.
func (f *converter) convert(result resultView, call *callView) (resultView, bool) {
	switch {
	case f.isOthers(result, call):
		return result, false
	case result.native && result.name == "" && (call == nil || !f.run.names.isLoaderName(call.name)): // a store lost what it belongs to
		return result.asText(f.permitted(result.found)), true
	}
	return f.run.mode.convert(f, result, call)
}

// isOthers reports whether a result belongs to the search tool of another middleware in the
// same run.
func (f *converter) isOthers(result resultView, call *callView) bool {
	name := result.name
	if name == "" && call != nil {
		name = call.name
	}
	if !result.native || name == "" {
		return false
	}
	isOurs := func(t *schema.ToolInfo) bool {
		if t == nil {
			return false
		}
		_, dynamic := f.run.scope.byName[t.Name]
		return dynamic
	}
	return name == f.otherSearch || slices.Contains(f.run.names.agents, name) && !slices.ContainsFunc(result.found, isOurs)
}

// fresh returns a native result with the loaded tools of the result whose definitions the
// model does not have yet. If there are none, fresh returns a text.
func (f *converter) fresh(result resultView) (resultView, bool) {
	c := f.run.scope
	found := result.found
	if !result.native {
		found = nil
		for _, doc := range f.run.reader.effectOf(result.text).loads {
			found = append(found, c.docs[doc].Info)
		}
	}
	permitted := f.permitted(found)
	var fresh []*schema.ToolInfo
	for _, t := range permitted {
		if doc := c.byName[t.Name]; f.loaded.Has(doc) && f.given.Add(doc) {
			f.shown.Add(doc)
			fresh = append(fresh, t)
		}
	}
	switch {
	case len(fresh) == 0 && !result.native:
		return result, false
	case len(fresh) == 0:
		return result.asText(permitted), true
	case result.native && len(fresh) == len(result.found):
		return result, false
	}
	result.native, result.found = true, fresh
	return result, true
}

// permitted returns the tools that the request may see, as the catalog defines them now.
func (f *converter) permitted(tools []*schema.ToolInfo) []*schema.ToolInfo {
	list := make([]*schema.ToolInfo, 0, len(tools))
	for _, t := range tools {
		if t == nil {
			continue
		}
		if doc, ok := f.run.scope.byName[t.Name]; ok && f.run.scope.sees(doc) {
			list = append(list, f.run.scope.docs[doc].Info)
		}
	}
	return list
}

// asText returns the result as tool_search's textual answer with these tools.
func (r resultView) asText(tools []*schema.ToolInfo) resultView {
	r.native, r.found = false, nil
	r.text = searchAnswer{Matches: toolNames(tools)}.String()
	return r
}

// textMode is the mode in which the middleware searches. It works with every model that calls tools.
type textMode struct{}

func (textMode) modelSearchTool(*schema.ToolInfo) *schema.ToolInfo { return nil }

func (textMode) defers() bool { return false }

func (textMode) seesSearches() bool { return true }

func (textMode) session(shared *Session) *Session { return shared }

func (textMode) show(*run, *transcript, lists, *conversation.LoadSet) {}

func (textMode) lists(r *run, given lists, loaded *conversation.LoadSet) lists {
	return lists{tools: visible(r, given.tools, loaded), deferred: othersDeferred(r, given.deferred)}
}

func (textMode) lastWord(_ *run, _ *transcript, given lists) (lists, *conversation.LoadSet) {
	return given, nil
}

// called adds the tools to the list, since the call may be gone from the history before the
// next model call.
func (textMode) called(r *run, given lists, docs []int) lists {
	given.tools = withLoaded(r, given.tools, docs)
	return given
}

func (textMode) keeps(*run, *resultView, *callView) bool { return false }

// convert turns native results, which a run in another mode left, into texts.
func (textMode) convert(f *converter, result resultView, _ *callView) (resultView, bool) {
	if !result.native {
		return result, false
	}
	return result.asText(f.permitted(result.found)), true
}

// dispatchMode is the mode of ProtocolDispatch. The tool list never changes, so it does not show
// what is loaded: every run needs a session.
type dispatchMode struct{ textMode }

func (dispatchMode) session(shared *Session) *Session {
	if shared == nil {
		return NewSession()
	}
	return shared
}

func (m dispatchMode) lists(r *run, given lists, loaded *conversation.LoadSet) lists {
	if !r.hidesNone {
		loaded = conversation.NewLoadSet(len(r.scope.docs))
		loaded.Add(r.always...)
		loaded.Keep(r.scope.sees)
	}
	return m.textMode.lists(r, given, loaded)
}

func (dispatchMode) called(_ *run, given lists, _ []int) lists { return given }

// othersDeferred returns the deferred tools of other middlewares. A resumed run may have
// deferred tools of ours, from a native protocol.
func othersDeferred(r *run, tools []*schema.ToolInfo) (kept []*schema.ToolInfo) {
	for _, t := range tools {
		if t == nil {
			continue
		}
		if _, own := r.owns(t.Name); !own && !conversation.IsOurs(t, r.names.search) {
			kept = append(kept, t)
		}
	}
	return kept
}

// visible returns the tool list for the model: the tools that are not dynamic, and the loaded
// tools. Each loaded tool keeps its first place; new ones go to the end. It is idempotent.
func visible(r *run, tools []*schema.ToolInfo, loaded *conversation.LoadSet) []*schema.ToolInfo {
	docs := r.scope.docs
	list := make([]*schema.ToolInfo, 0, 8)
	placed := docset.New(len(docs))
	for _, t := range tools {
		if t == nil {
			continue
		}
		doc, dynamic := r.owns(t.Name)
		switch {
		case dynamic && conversation.IsLoaded(t, r.names.search) && loaded.Has(doc) && placed.Add(doc):
			if info := docs[doc].Info; !isCopyOf(t, info) {
				t = conversation.MarkLoaded(info, r.names.search) // the catalog changed
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

// withLoaded returns the tool list with more tools, or tools itself if it has them all.
func withLoaded(r *run, tools []*schema.ToolInfo, docs []int) []*schema.ToolInfo {
	list := slices.Clip(tools)
	for _, doc := range docs {
		if info := r.scope.docs[doc].Info; !containsName(list, info.Name) {
			list = append(list, conversation.MarkLoaded(info, r.names.search))
		}
	}
	return list
}

// isCopyOf reports whether a marked copy is still a copy of info. After a checkpoint the parameters
// are another pointer, and the copy is made anew.
func isCopyOf(copied, info *schema.ToolInfo) bool {
	return copied.Desc == info.Desc && copied.ParamsOneOf == info.ParamsOneOf
}
