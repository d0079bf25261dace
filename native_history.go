package toolsearch

import (
	"slices"

	"github.com/cloudwego/eino/schema"
)

// Search results on their way to the model. A history travels: what one dialect left in it
// may be read by an adapter that knows nothing of native results, or refuses them. So they
// are put into the form that this one takes, in what the model gets and not in the history.

// isMarkedSearch reports whether the adapter itself marked the call as a native search.
func isMarkedSearch(call *callView) bool { return call != nil && call.nativeSearch }

// fitter goes over a history once.
type fitter[M message] struct {
	codec codec[M]
	run   *run
	given map[string]bool // names the model has a definition of
}

// fitResults returns messages with the results of the search tool in the form that the
// model takes; messages itself where they have it. ordinary is its tool list.
func fitResults[M message](codec codec[M], r *run, messages []M, ordinary []*schema.ToolInfo) []M {
	f := fitter[M]{codec: codec, run: r, given: make(map[string]bool, len(ordinary))}
	for _, t := range ordinary {
		f.given[t.Name] = true
	}
	fitted := messages
	change := func(i int, msg M) {
		if &fitted[0] == &messages[0] {
			fitted = slices.Clone(messages)
		}
		fitted[i] = msg
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
		var refitted []resultView
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
			if !r.reader.names.reads(name) {
				continue
			}
			if fit, changed := f.fit(result, call); changed {
				refitted = append(refitted, fit)
				if isMarkedSearch(call) && !fit.native {
					turned = append(turned, *call)
				}
			}
		}
		if refitted != nil {
			change(i, codec.setResults(msg, refitted))
		}
		if turned != nil {
			change(calling, codec.ordinaryCalls(fitted[calling], turned))
		}
	}
	return fitted
}

// fit returns a result in the form the model takes, and whether that is another one.
func (f *fitter[M]) fit(result resultView, call *callView) (resultView, bool) {
	form := f.run.reader.native
	if form == referencesForm {
		return f.reference(result)
	}
	if !result.native {
		return result, false
	}
	seen := f.seen(result.foundTools)
	if form == deferredForm && (!f.codec.wordless || isMarkedSearch(call) || f.run.notebook.made(result.callID)) {
		if len(seen) == len(result.foundTools) {
			return result, false
		}
		result.foundTools = seen
		return result, true
	}
	return textOf(result, seen), true
}

// reference makes a native result of what no earlier one held and the model has no
// definition of, or a text where nothing is left.
func (f *fitter[M]) reference(result resultView) (resultView, bool) {
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
		if !f.given[t.Name] {
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
func (f *fitter[M]) seen(tools []*schema.ToolInfo) []*schema.ToolInfo {
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
