package toolsearch

import (
	"slices"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
)

// Who searches: the middleware, or the model by means of its own. A mode is one of the ways
// to give a catalog to a model; docs/adapters.md tells which adapter takes which.
//
//	mode         tools go to the model as    search results are
//	text         ordinary, once loaded       texts
//	deferred     deferred                    native, or texts that become native on the wire
//	references   ordinary, once loaded       texts that become native on the wire
//	server       deferred                    the provider's own
//
// A tool whose definition a native search result shows to the model is callable for as long
// as the result stands there. Where the result is gone, or never was one that can be shown
// natively, the tool moves to the ordinary tool list and stays there; so a tool is never in
// both, and a search does not show one from the ordinary list again: adapters refuse a
// definition that comes twice.

// mode is a way to give the catalog to the model.
type mode interface {
	facts() modeFacts

	// lists are the tool lists of a model call, by which those loaded are callable.
	lists(r *run, given lists, loaded *loadedSet) lists

	// called notes in the lists, after a model call, the tools that it calls.
	called(r *run, given lists, docs []int) lists

	// keeps reports whether a result in the history shows the model what it found.
	keeps(r *run, result *resultView, call *callView) bool

	// fit returns a search result in the form that the model takes, and whether that is
	// another form than it has.
	fit(f *fitter, result resultView, call *callView) (fitted resultView, changed bool)
}

// modeFacts are what the wiring has to know of a mode.
type modeFacts struct {
	modelSearches bool // the model searches
	searchTool    bool // the search tool is the model's native one
	defers        bool // tools that are not loaded are deferred
	onWire        bool // results are texts in the history, and native in what the model gets
	server        bool // the provider searches, and nothing is known of what it finds
	mendsCalls    bool // the adapter cannot take calls whose arguments are no JSON
}

// isMarkedSearch reports whether the adapter itself marked the call as a native search.
func isMarkedSearch(call *callView) bool { return call != nil && call.nativeSearch }

// fitter puts search results into the form that a model takes.
type fitter struct {
	run         *run
	loaded      *loadedSet
	given       map[string]bool // names the model has a definition of
	otherSearch string          // the name of another middleware's native search tool
}

// newFitter returns a fitter for a model that is given these tools.
func newFitter(r *run, given []*schema.ToolInfo, loaded *loadedSet) *fitter {
	f := &fitter{run: r, loaded: loaded, given: make(map[string]bool, len(given))}
	for _, t := range given {
		if t != nil {
			f.given[t.Name] = true
		}
	}
	return f
}

// fitResults puts the results of the search tool into the form that the model takes. given is
// what the model gets besides.
func fitResults(r *run, t *transcript, given *model.Options, loaded *loadedSet) {
	f := newFitter(r, given.Tools, loaded)
	if search := given.ToolSearchTool; search != nil && search.Name != r.names.search {
		f.otherSearch = search.Name
	}
	t.rewriteResults(r.names.isLoader, f.fit)
}

// shownOnWire returns the loaded tools whose definitions fitResults will show to the model,
// beside those in its tool list.
func shownOnWire(r *run, t *transcript, tools []*schema.ToolInfo, loaded *loadedSet) docset.Set {
	shown := docset.New(len(r.scope.docs))
	f := newFitter(r, nil, loaded)
	for _, t := range tools {
		if isMarked(t, r.names.search) {
			f.given[t.Name] = true
		}
	}
	t.eachResult(r.names.isLoader, func(result *resultView, a *answer) {
		fitted, _ := f.fit(*result, a.call)
		for _, t := range fitted.found {
			if doc, ok := r.scope.byName[t.Name]; ok && fitted.native {
				shown.Add(doc)
			}
		}
	})
	return shown
}

// eachResult calls yield for the first part of every result of a tool whose name reads tells.
func (t *transcript) eachResult(isLoader func(name string) bool, yield func(result *resultView, a *answer)) {
	for i := range t.answers {
		a := &t.answers[i]
		result := t.result(a)
		name := result.name
		if name == "" && a.call != nil { // one of another round would not be taken for its answer
			name = a.called
		}
		if isLoader(name) {
			yield(result, a)
		}
	}
}

// rewriteResults replaces results by what fit makes of them, if it says that this is another
// one. A call marked as a native search whose result is none any more loses its mark.
func (t *transcript) rewriteResults(isLoader func(name string) bool, fit func(result resultView, call *callView) (resultView, bool)) {
	t.eachResult(isLoader, func(result *resultView, a *answer) {
		fitted, changed := fit(*result, a.call)
		if !changed {
			return
		}
		fitted.replaced = true
		*result = fitted
		t.views[a.view].edited = true
		if isMarkedSearch(a.call) && !fitted.native {
			a.call.dropMark = true
			t.views[a.caller].edited = true
		}
	})
}

// fit returns a result in the form the model takes. Those of another middleware stay.
func (f *fitter) fit(result resultView, call *callView) (resultView, bool) {
	if f.isOthers(result, call) {
		return result, false
	}
	return f.run.mode.fit(f, result, call)
}

// isOthers reports whether a result is one of another middleware that is at work in the same
// run, and has a search tool of that name.
func (f *fitter) isOthers(result resultView, call *callView) bool {
	name := result.name
	if name == "" && call != nil {
		name = call.name
	}
	if !result.native || name == "" {
		return false
	}
	return name == f.otherSearch || slices.Contains(f.run.agentsLoaders, name) && !slices.ContainsFunc(result.found, func(t *schema.ToolInfo) bool {
		if t == nil {
			return false
		}
		_, ours := f.run.scope.byName[t.Name]
		return ours
	})
}

// fresh makes a native result of the loaded tools that no earlier one held and the model has
// no definition of, or a text where nothing is left.
func (f *fitter) fresh(result resultView) (resultView, bool) {
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
		if !f.given[t.Name] && f.loaded.has.Has(c.byName[t.Name]) {
			f.given[t.Name] = true
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
func (f *fitter) permitted(tools []*schema.ToolInfo) []*schema.ToolInfo {
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

// asText returns the result as the text in which tool_search answers with these tools.
func (r resultView) asText(tools []*schema.ToolInfo) resultView {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	r.native, r.found = false, nil
	r.text = searchAnswer{Matches: names}.String()
	return r
}
