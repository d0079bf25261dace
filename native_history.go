package toolsearch

import (
	"slices"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
)

// Search results on their way to the model. A history travels: what one dialect left in it
// may be read by an adapter that knows nothing of native results, or refuses them. So they
// are put into the form that this one takes, in what the model gets and not in the history.

// isMarkedSearch reports whether the adapter itself marked the call as a native search.
func isMarkedSearch(call *callView) bool { return call != nil && call.nativeSearch }

// rewriteResults returns messages with results of tools whose names reads tells replaced by
// what fit makes of them, if it says that this is another one; messages itself where nothing
// is. A call marked as a native search whose result is none any more loses its mark.
func rewriteResults[M message](codec codec[M], messages []M, reads func(name string) bool, fit func(result resultView, call *callView) (resultView, bool)) []M {
	rewritten := messages
	change := func(i int, msg M) {
		if &rewritten[0] == &messages[0] {
			rewritten = slices.Clone(messages)
		}
		rewritten[i] = msg
	}
	var v view
	var open openCalls
	calling := -1 // the message that made the open calls
	for i, msg := range messages {
		codec.read(msg, &v)
		open.begin(v.calls)
		if len(v.calls) > 0 {
			calling = i
		}
		var results []resultView
		var turned []callView // calls whose native results became texts
		for j, result := range v.results {
			if j > 0 && result.at == v.results[j-1].at {
				continue // another part of it
			}
			call := open.answer(result.callID)
			name := result.name
			if name == "" && call != nil {
				name = call.name
			}
			if !reads(name) {
				continue
			}
			if fitted, changed := fit(result, call); changed {
				results = append(results, fitted)
				if isMarkedSearch(call) && !fitted.native {
					turned = append(turned, *call)
				}
			}
		}
		if results != nil {
			change(i, codec.setResults(msg, results))
		}
		if turned != nil {
			change(calling, codec.ordinaryCalls(rewritten[calling], turned))
		}
	}
	return rewritten
}

// fitter puts results into the form that a model takes.
type fitter struct {
	run      *run
	wordless bool            // codec.wordless
	given    map[string]bool // names the model has a definition of
	loaded   *loadedSet      // where texts become native results
	other    string          // the name of another middleware's native search tool
}

// fitResults returns messages with the results of the search tool in the form that the
// model takes; messages itself where they have it. given is what else the model gets.
func fitResults[M message](codec codec[M], r *run, messages []M, given *model.Options, loaded *loadedSet) []M {
	f := fitter{run: r, wordless: codec.wordless, given: make(map[string]bool, len(given.Tools)), loaded: loaded}
	for _, t := range given.Tools {
		if t != nil {
			f.given[t.Name] = true
		}
	}
	if search := given.ToolSearchTool; search != nil && search.Name != r.reader.names.search {
		f.other = search.Name
	}
	return rewriteResults(codec, messages, r.reader.names.reads, f.fit)
}

// shownByTexts returns the loaded tools whose definitions fitResults shows to a model for
// which texts become native results, beside the loaded ones in its tool list.
func shownByTexts[M message](codec codec[M], r *run, messages []M, tools []*schema.ToolInfo, loaded *loadedSet) docset.Set {
	shown := docset.New(len(r.scope.docs))
	f := fitter{run: r, wordless: codec.wordless, given: make(map[string]bool), loaded: loaded}
	for _, t := range tools {
		if isMarked(t, r.reader.names.search) {
			f.given[t.Name] = true
		}
	}
	rewriteResults(codec, messages, r.reader.names.reads, func(result resultView, call *callView) (resultView, bool) {
		if fitted, _ := f.fit(result, call); fitted.native {
			for _, t := range fitted.foundTools {
				if doc, ok := r.scope.byName[t.Name]; ok {
					shown.Add(doc)
				}
			}
		}
		return result, false
	})
	return shown
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
	return name == f.other || slices.Contains(f.run.held, name) && !slices.ContainsFunc(result.foundTools, func(t *schema.ToolInfo) bool {
		if t == nil {
			return false
		}
		_, ours := f.run.scope.byName[t.Name]
		return ours
	})
}

// fit returns a result in the form the model takes, and whether that is another one.
func (f *fitter) fit(result resultView, call *callView) (resultView, bool) {
	if f.isOthers(result, call) {
		return result, false
	}
	form := f.run.reader.native
	if form.isText(f.wordless) {
		return f.fresh(result)
	}
	if !result.native {
		return result, false
	}
	seen := f.seen(result.foundTools)
	if form == deferredForm && (isMarkedSearch(call) || f.run.notebook.made(result.callID)) {
		if len(seen) == len(result.foundTools) {
			return result, false
		}
		result.foundTools = seen
		return result, true
	}
	return textOf(result, seen), true
}

// fresh makes a native result of the loaded tools that no earlier one held and the model has
// no definition of, or a text where nothing is left.
func (f *fitter) fresh(result resultView) (resultView, bool) {
	c := f.run.scope
	found := result.foundTools
	if !result.native {
		found = nil
		for _, doc := range f.run.reader.effectOf(result.text).loads {
			found = append(found, c.docs[doc].Info)
		}
	}
	seen := f.seen(found)
	var fresh []*schema.ToolInfo
	for _, t := range seen {
		if !f.given[t.Name] && f.loaded.has.Has(c.byName[t.Name]) {
			f.given[t.Name] = true
			fresh = append(fresh, t)
		}
	}
	switch {
	case len(fresh) == 0 && !result.native:
		return result, false
	case len(fresh) == 0:
		return textOf(result, seen), true
	case result.native && len(fresh) == len(result.foundTools):
		return result, false
	}
	result.native, result.foundTools = true, fresh
	return result, true
}

// seen returns the tools that the request may see, as the catalog defines them now.
func (f *fitter) seen(tools []*schema.ToolInfo) []*schema.ToolInfo {
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

func textOf(result resultView, tools []*schema.ToolInfo) resultView {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	result.native, result.foundTools = false, nil
	result.text = searchAnswer{Matches: names}.String()
	return result
}
