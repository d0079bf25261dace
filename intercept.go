package toolsearch

import (
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/top"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Calls that cannot be run.
//
// Eino ends a run over a call to a name no tool has. So, between the model's message and
// the tools, such a call is replaced by a stand-in: a call of the search tool, under the
// same call id, whose arguments ask for the words of help. The search tool's answer goes
// the way of every tool result, to the model, to the caller's events and into a
// checkpoint. Before the next model call the model's own call is put back, and the result
// named after it.

// Dispatched calls go the same way: call_tool is replaced by a call of the tool it names, so
// that callbacks, events, wrappers and ReturnDirectly see that tool and nothing else.

// callable tells what the model may call.
type callable struct {
	run     *run
	all     []*schema.ToolInfo // every tool the agent can run
	visible []*schema.ToolInfo // those the model saw
	native  []*schema.ToolInfo // those it could search natively
	explain bool               // UnknownExplain
	refuse  bool               // UnloadedRefuse
}

// replacement returns the call to be run in the place of one that cannot be run as it is.
func (k *callable) replacement(call callView) (name, arguments string, replaced bool) {
	names := &k.run.reader.names
	if call.name != "" && call.name == names.call {
		d := readDispatch(call.args)
		if s := k.dispatchProblem(d); s != nil {
			return names.search, s.String(), true
		}
		return k.dispatchedName(d.Name), d.Arguments, true
	}
	if s := k.standInFor(call.name); s != nil {
		return names.search, s.String(), true
	}
	return "", "", false
}

// standInFor returns the stand-in for a call, or nil if the call can be run.
func (k *callable) standInFor(name string) *standIn {
	if doc, dynamic := k.run.scope.byName[name]; dynamic && k.run.scope.sees(doc) {
		if k.refuse && !k.isLoaded(doc) {
			return &standIn{UnloadedTool: name}
		}
		return nil
	}
	if !k.explain || len(k.all) == 0 || k.run.reader.names.has(name) || containsName(k.all, name) {
		return nil
	}
	return &standIn{UnknownTool: naming.Cut(name, naming.MaxBytes), Suggestions: k.near(name)}
}

// asked is the name of the tool that a call means.
func (k *callable) asked(call callView) string {
	if d := readDispatch(call.args); call.name != "" && call.name == k.run.reader.names.call && d.Name != "" {
		return naming.Cut(d.Name, naming.MaxBytes)
	}
	return naming.Cut(call.name, naming.MaxBytes)
}

func (k *callable) isLoaded(doc int) bool {
	name := k.run.scope.docs[doc].Name
	loaded, _ := k.run.notebook.wasLoaded(name)
	return loaded || k.run.plain || containsName(k.visible, name) || k.foundNatively(doc)
}

func (k *callable) foundNatively(doc int) bool {
	name := k.run.scope.docs[doc].Name
	return slices.ContainsFunc(k.native, func(t *schema.ToolInfo) bool {
		return t != nil && t.Name == name && isMarked(t, k.run.reader.names.search)
	})
}

func containsName(tools []*schema.ToolInfo, name string) bool {
	return slices.ContainsFunc(tools, func(t *schema.ToolInfo) bool { return t != nil && t.Name == name })
}

// maxOtherTools is how many tools besides the dynamic ones a name is compared with.
const maxOtherTools = 256

// near returns names like the given one among all the tools the agent can run.
func (k *callable) near(name string) []string {
	c := k.run.scope
	var others []search.Document
	for _, t := range k.all {
		if t == nil || len(others) == maxOtherTools {
			continue
		}
		if _, dynamic := c.byName[t.Name]; !dynamic {
			others = append(others, search.Document{Name: t.Name})
		}
	}
	names := newNameIndex(others).near(name, maxSuggestions, nil)
	names = append(names, c.names().near(name, maxSuggestions, c.allowed)...)
	wanted := naming.JoinParts(name)
	slices.SortStableFunc(names, func(a, b string) int {
		return top.Compare(top.Scored{Score: likeness(wanted, naming.JoinParts(a))}, top.Scored{Score: likeness(wanted, naming.JoinParts(b))})
	})
	return names[:min(len(names), maxSuggestions)]
}

// intercept returns messages with other calls in the place of those of the last one that
// cannot be run as they are, messages itself if there are none, and the names of the tools
// that are not run at all.
func intercept[M message](codec codec[M], k *callable, messages []M) (rewritten []M, refused []string) {
	if len(messages) == 0 {
		return messages, nil
	}
	var v view
	last := messages[len(messages)-1]
	codec.read(last, &v)
	var replaced []callView
	for _, call := range v.calls {
		if name, arguments, ok := k.replacement(call); ok {
			replaced = append(replaced, callView{
				at: call.at, name: name, args: arguments,
				standIn: true, wanted: call.name, wantArg: call.args,
			})
			if name == k.run.reader.names.search {
				refused = append(refused, k.asked(call))
			}
		}
	}
	if len(replaced) == 0 {
		return messages, nil
	}
	rewritten = slices.Clone(messages)
	rewritten[len(messages)-1] = codec.setCalls(last, replaced)
	return rewritten, refused
}

// restore puts the model's own calls back in the place of those that were run instead, and
// names the results after the tool the model called. It returns messages itself where there
// is nothing to do.
func restore[M message](codec codec[M], names *metaNames, messages []M) []M {
	restored := messages
	change := func(i int, msg M) {
		if &restored[0] == &messages[0] {
			restored = slices.Clone(messages)
		}
		restored[i] = msg
	}
	var v view
	var round answeredRound
	finish := func() {
		for _, r := range round.misnamed(names) {
			change(r.message, codec.nameResults(restored[r.message], []resultView{r.resultView}))
		}
		round = answeredRound{}
	}
	for i, msg := range messages {
		codec.read(msg, &v)
		if len(v.calls) > 0 {
			finish()
		}
		var standIns []callView
		for _, call := range v.calls {
			if call.standIn && (call.name == names.search || names.call != "" && call.wanted == names.call) {
				call = callView{at: call.at, id: call.id, name: call.wanted, args: call.wantArg}
				standIns = append(standIns, call)
			}
			round.calls = append(round.calls, call)
		}
		if standIns != nil {
			change(i, codec.setCalls(msg, standIns))
		}
		for j, result := range v.results {
			if j == 0 || result.at != v.results[j-1].at { // one of several texts of a result
				round.results = append(round.results, answeringResult{result, i})
			}
		}
	}
	finish()
	return restored
}

// mendCalls gives calls of the meta-tools whose arguments are no JSON, as when a stream broke
// off, empty ones: the claude adapter makes a request of them that is no JSON either. They
// were answered already. It returns messages itself where there is nothing to do.
func mendCalls[M message](codec codec[M], names *metaNames, messages []M) []M {
	mended := messages
	var v view
	for i, msg := range messages {
		codec.read(msg, &v)
		var calls []callView
		for _, call := range v.calls {
			if names.has(call.name) && !call.standIn && !isJSON(call.args) {
				call.args = "{}"
				calls = append(calls, call)
			}
		}
		if calls == nil {
			continue
		}
		if &mended[0] == &messages[0] {
			mended = slices.Clone(messages)
		}
		mended[i] = codec.setCalls(msg, calls)
	}
	return mended
}

// answeredRound is the calls of one message and the results that answer them.
type answeredRound struct {
	calls   []callView
	results []answeringResult
}

type answeringResult struct {
	resultView
	message int
}

// misnamed returns the results of the search tool that answer a call of another name, and
// those of any tool that answer a dispatching call, with the name that was called. Calls are
// told apart by id or, where several share one or have none, by their order; where that does
// not fit the names either, nothing is said.
func (r *answeredRound) misnamed(names *metaNames) []answeringResult {
	var list []answeringResult
	for i, result := range r.results {
		if result.native || !names.answers(result.name) && names.call == "" && !names.others {
			continue
		}
		name := r.calledName(i, names)
		if name != "" && name != result.name && (names.answers(result.name) || names.dispatches(name)) {
			result.name = name
			list = append(list, result)
		}
	}
	return list
}

func (r *answeredRound) calledName(i int, meta *metaNames) string {
	id := r.results[i].callID
	var names []string
	for _, call := range r.calls {
		if call.id == id {
			names = append(names, call.name)
		}
	}
	if len(names) == 1 && id != "" {
		return names[0]
	}
	name, place := "", 0
	for j, result := range r.results {
		if result.callID != id {
			continue
		}
		if place >= len(names) || result.name != names[place] && !meta.answers(result.name) && !meta.dispatches(names[place]) {
			return ""
		}
		if j == i {
			name = names[place]
		}
		place++
	}
	return name
}
