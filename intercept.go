package toolsearch

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/modeljson"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Calls that cannot be run.
//
// Eino ends a run over a call to a name that no tool has. So after the model's message and before the tools run, such a
// call is replaced by a stand-in: a call of the search tool with the same call id, whose arguments ask for help. Like
// every tool result, the answer reaches the model, the program's events and the checkpoint. Before the next model call
// the model's own call is restored, and the result gets its name.

// Dispatched calls go the same way: call_tool is replaced by a call of the tool it names, and callbacks, events,
// wrappers and ReturnDirectly see only that tool.

// callable knows what the model may call.
type callable struct {
	run   *run
	all   []*schema.ToolInfo // every tool the agent can run
	given lists              // of the model call
}

// replacement returns the call to run instead of a call that cannot be run as it is; without a name there is none. If
// it is a stand-in, refused is the name of the tool that the model's call means.
func (k *callable) replacement(ctx context.Context, call *callView) (name, arguments, refused string) {
	c, names := k.run.scope, &k.run.names
	var s *standIn
	if call.name == "" || call.name != names.call {
		refused = call.name
		s = k.standInFor(call.name)
		if doc, dynamic := c.docNamed(call.name); s == nil && dynamic {
			if d := k.run.defined(doc); d != nil && d.Hash != hashOfTool(c.docs[doc].Info) { // the call has to be valid for the catalog's
				s = k.misuse(ctx, doc, call.args)
			}
		}
	} else {
		name, arguments = readDispatch(call.args)
		refused = cmp.Or(name, call.name)
		misuse := func(key string) *standIn { return &standIn{MisusedTool: names.call, Problem: c.prompt.Text(key)} }
		doc, dynamic := c.lookup(name)
		isOwn := containsName(k.all, name) && (!dynamic || c.docs[doc].Name != name) // the agent's, of exactly that name
		switch {
		case name == "":
			s = misuse("bad-dispatch")
		case names.has(name):
			s = misuse("dispatch-meta")
		case dynamic && !isOwn: // perhaps in another spelling
			name = c.docs[doc].Name
			if s = k.standInFor(name); s == nil {
				s = k.misuse(ctx, doc, arguments)
			}
		case k.run.config.Unknown == UnknownExplain && !isOwn:
			s = k.unknown(name)
		} // else Eino handles it, or it is a visible tool called by way of call_tool
	}
	if s != nil {
		return names.search, toJSON(s), naming.Cut(refused, naming.MaxBytes)
	}
	return name, arguments, ""
}

// standInFor returns the stand-in for a call of a name, or nil if the call can be run.
func (k *callable) standInFor(name string) *standIn {
	config := k.run.config
	doc, dynamic := k.run.scope.docNamed(name)
	switch {
	case dynamic:
		// A tool that the conversation defines and remove_tool has unloaded is visible where providers cannot take it back.
		isRemoved := k.run.moves.Load() && k.run.defined(doc) != nil
		if (config.Unloaded == UnloadedRefuse || isRemoved) && k.run.mode != serverMode && !k.run.hidesNone &&
			!k.run.notebook.Loaded().Has(doc) && !containsName(k.given.tools, name) && !hasLoaded(k.run, k.given.deferred, name) {
			return &standIn{UnloadedTool: name}
		}
	case config.Unknown == UnknownExplain && len(k.all) > 0 && !k.run.names.has(name) && !containsName(k.all, name):
		return k.unknown(name)
	}
	return nil
}

func (k *callable) unknown(name string) *standIn {
	return &standIn{UnknownTool: naming.Cut(name, naming.MaxBytes), Suggestions: k.near(name)}
}

// misuse returns the stand-in for a dispatched call with wrong arguments, or nil. An event tells if they were not checked.
func (k *callable) misuse(ctx context.Context, doc int, arguments string) *standIn {
	d := &k.run.scope.docs[doc]
	problem, unchecked := k.run.scope.schemas.Problem(ctx, doc, d.Info, arguments)
	if unchecked != nil {
		unchecked = fmt.Errorf("toolsearch: the arguments of %s were not checked: %w", naming.Quoted(d.Name), unchecked)
		k.run.events.fail(ctx, PartProtocol, unchecked)
	}
	if problem == "" {
		return nil
	}
	return &standIn{MisusedTool: d.Name, Problem: problem}
}

const maxAgentTools = 256 // tools of the agent's own that a name is compared with

func (k *callable) near(name string) []string {
	c := k.run.scope
	agentTools := slices.DeleteFunc(toolNames(k.all), c.hasTool)
	agentTools = withoutMatches(agentTools[:min(len(agentTools), maxAgentTools)], nil)
	names := naming.NewNearIndex(agentTools).Near(name, maxSuggestions, nil)
	names = append(names, c.names().Near(name, maxSuggestions, c.allowed)...)
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(naming.Likeness(name, b), naming.Likeness(name, a))
	})
	return names[:min(len(names), maxSuggestions)]
}

// intercept replaces the calls that cannot be run as they are, and returns the names of the tools that do not run.
func intercept(ctx context.Context, k *callable, v *view) (refused []string) {
	for i := range v.calls {
		call := &v.calls[i]
		if name, arguments, meant := k.replacement(ctx, call); name != "" {
			if name == k.run.names.search {
				refused = append(refused, meant)
			}
			call.standIn, call.wanted, call.wantArg = true, call.name, call.args
			v.setCall(i, name, arguments)
		}
	}
	return refused
}

// restore undoes intercept in a history, and names the results after the tool the model called.
func restore(t *transcript, names *metaNames) {
	for i := range t.answers {
		a := &t.answers[i]
		result := t.result(a)
		ofOthers := names.answers(result.name) || names.dispatches(a.called)
		if a.call != nil && !result.native && ofOthers && a.called != "" && a.called != result.name {
			t.rename(a, a.called)
		}
	}
	for i := range t.views {
		v := &t.views[i]
		for j := range v.calls {
			if call := &v.calls[j]; names.stoodIn(call) {
				call.standIn = false
				v.setCall(j, call.wanted, call.wantArg)
			}
		}
	}
}

func (t *transcript) rename(a *answer, name string) {
	v := &t.views[a.view]
	v.results[a.result].name, v.results[a.result].renamed, v.edited = name, true, true
	for i := a.result + 1; i < len(v.results) && v.results[i].part > 0; i++ {
		v.results[i].name = name
	}
}

// mendCalls makes the calls of a history such that every provider takes them, in the model's input alone. If providers
// do not take the name or the arguments of a call, they refuse this request and every later one. isTool reports whether
// a tool has a name; such a name is left as it is.
func mendCalls(t *transcript, isTool func(name string) bool) {
	for _, round := range t.rounds[1:] { // the first has no calls
		v := &t.views[round.callAt]
		mended := false
		for i := range v.calls {
			call := &v.calls[i]
			name, args := call.name, call.args
			if !naming.IsValid(name) && !isTool(name) {
				name, mended = naming.Valid(name), true
			}
			if !modeljson.IsObject(args) {
				args = "{}"
			}
			if name != call.name || args != call.args {
				v.setCall(i, name, args)
			}
		}
		for i := round.from; mended && i < round.to; i++ { // some providers pair results by name
			if a := &t.answers[i]; a.call != nil && !t.result(a).native {
				t.rename(a, a.call.name)
			}
		}
	}
}
