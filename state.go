package toolsearch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
)

// What the model sees, worked out before every call from what is always there:
//
//	tool list, session, history, notebook -> loaded -> visible (here) or deferred (native*.go)
//
// A dynamic tool is loaded when a search result in the history names it, when the history
// shows a call to it, when the session has it, or when the tool list holds our copy of its
// definition: the copy's mark in Extra survives trimming, summarising and a checkpoint where
// the history does not. Loading is cumulative.

// derive works out the loaded tools from everything that shows them. The order is that of
// their first loading: what a tool list holds was loaded before what is only now read. Two
// kinds of calls are told apart: before a model call the run's notebook and session take
// part too; on the last word, when another middleware may have changed the history once more,
// the lists hold what these said.
func (r *run) derive(ctx context.Context, t *transcript, given lists, isLastWord bool) (*loadedSet, error) {
	s := newLoadedSet(r.scope.Catalog)
	limit := 0
	if !isLastWord {
		limit = r.config.MaxLoaded
		s.add(r.always...)
	}
	if limit > 0 {
		s.used = make(map[int]int)
	}
	s.add(r.markedIn(given.tools)...)
	s.add(r.markedIn(given.deferred)...)
	listed := slices.Clone(s.has)
	var busy []int
	if isLastWord {
		r.replay(t, s, 0)
	} else {
		if r.session != nil {
			shared := r.session.Loaded()
			s.drop(r.docsNamed(r.notebook.missing(shared))) // another agent has unloaded them
			s.add(r.docsNamed(shared)...)
		}
		busy = r.replay(t, s, limit)
		restore(t, &r.names)                  // a text that is now named after another tool shows nothing
		for _, e := range r.notebook.take() { // whose results may be gone from the history
			s.apply(effect{r.docsNamed(e.loads), r.docsNamed(e.unloads)})
		}
		s.add(r.always...) // which no call unloads
	}
	if question := r.question(t); question != "" && !isLastWord {
		docs, err := r.scope.preselect(ctx, question, r.config.Preselect)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			r.teller.fail(ctx, "Preselect", fmt.Errorf("toolsearch: Preselect: %w", err))
		}
		s.use(docs...)
	}
	if r.mode.facts().onWire {
		s.shown = shownOnWire(r, t, given.tools, s)
	}
	r.restrict(s, limit, busy)
	if isLastWord && r.config.MaxLoaded > 0 { // what was evicted is loaded no more
		s.keep(func(doc int) bool { return listed.Has(doc) || s.shown.Has(doc) })
	}
	return s, nil
}

// replay loads, round by round, what the history shows. It returns the dynamic tools whose
// calls are not answered.
func (r *run) replay(t *transcript, s *loadedSet, limit int) (busy []int) {
	r.reader.mu.RLock()
	defer r.reader.mu.RUnlock()
	for _, round := range t.rounds {
		if round.caller >= 0 {
			if limit > 0 {
				// What the model saw when it made these calls: one to a tool hidden again by
				// then was refused, or brings the tool back at the end of the list.
				r.restrict(s, limit, busy)
			}
			for i := range t.views[round.caller].calls {
				call := &t.views[round.caller].calls[i]
				if doc, ok := r.calledDoc(call); ok && (r.reader.countCalls || s.has.Has(doc)) {
					s.use(doc)
				}
			}
		}
		for i := round.from; i < round.to; i++ {
			a := &t.answers[i]
			v := &t.views[a.view]
			for j := a.result; j < len(v.results) && (j == a.result || v.results[j].part > 0); j++ {
				if result := &v.results[j]; r.names.isLoader(cmp.Or(result.name, a.called)) {
					r.replayResult(s, result, a.call)
				}
			}
		}
		busy = r.busyIn(t, round)
	}
	return busy
}

func (r *run) replayResult(s *loadedSet, result *resultView, call *callView) {
	var e effect
	if result.native {
		for _, info := range result.found {
			if info == nil {
				continue
			}
			if doc, ok := r.scope.byName[info.Name]; ok {
				e.loads = append(e.loads, doc)
				s.use(doc) // one after the other
			}
		}
	} else {
		e = r.reader.effectOfLocked(result.text)
		s.apply(e)
	}
	if len(e.loads) > 0 && r.mode.keeps(r, result, call) {
		for _, doc := range e.loads {
			s.shown.Add(doc)
		}
	}
}

// question is what the user said last, while the model has not answered and a tool is to be
// loaded for it; "" otherwise.
func (r *run) question(t *transcript) string {
	if r.config.Preselect == 0 || r.hidesNone {
		return ""
	}
	for i := len(t.views) - 1; i >= 0; i-- {
		switch v := &t.views[i]; {
		case v.assistant:
			return ""
		case v.user && !r.reminder.is(v):
			return v.said()
		}
	}
	return ""
}

// busyIn returns the dynamic tools whose calls in a round have no result.
func (r *run) busyIn(t *transcript, round round) (docs []int) {
	if round.caller < 0 {
		return nil
	}
	for i := range t.views[round.caller].calls {
		call := &t.views[round.caller].calls[i]
		if call.answered {
			continue
		}
		if doc, ok := r.calledDoc(call); ok {
			docs = append(docs, doc)
		}
	}
	return docs
}

// restrict takes what the request may not see out of the loaded tools, and the least
// recently used beyond limit; 0 is no limit. What a native search showed to the model stays
// callable there, and so loaded.
func (r *run) restrict(s *loadedSet, limit int, busy []int) {
	if r.scope.allowed != nil {
		s.keep(r.scope.sees)
	}
	if limit > 0 && !r.hidesNone {
		s.evict(limit, busy, func(doc int) bool { return r.isAlways(doc) || s.shown.Has(doc) })
	}
}

// calledDoc returns the dynamic tool that a call runs: the one of its name, or the one it
// dispatches to. A stand-in runs what it stands in for.
func (r *run) calledDoc(call *callView) (doc int, ok bool) {
	name, args := call.name, call.args
	if call.standIn {
		name, args = call.wanted, call.wantArg
	}
	if name == r.names.search { // by far the most, and no dynamic tool's
		return 0, false
	}
	if doc, ok = r.scope.byName[name]; !ok && r.names.dispatches(name) {
		doc, ok = r.scope.byName[readDispatch(args).Name]
	}
	return doc, ok
}

// markedIn returns the tools whose definitions in the list are our copies.
func (r *run) markedIn(tools []*schema.ToolInfo) (docs []int) {
	for _, t := range tools {
		if isMarked(t, r.names.search) {
			if doc, ok := r.scope.byName[t.Name]; ok {
				docs = append(docs, doc)
			}
		}
		if t != nil && t.Name == r.names.search && len(t.Extra) > 0 {
			remembered, _ := t.Extra[rememberedMark].(string)
			docs = append(docs, r.docsNamed(strings.Split(remembered, "\n"))...)
		}
	}
	return docs
}

// docsNamed turns names into documents; names the catalog does not have are passed over.
func (r *run) docsNamed(names []string) (docs []int) {
	for _, name := range names {
		if doc, ok := r.scope.byName[name]; ok {
			docs = append(docs, doc)
		}
	}
	return docs
}

// namesOf returns the names of documents.
func (r *run) namesOf(docs []int) []string {
	names := make([]string, len(docs))
	for i, doc := range docs {
		names[i] = r.scope.docs[doc].Name
	}
	return names
}

// inList returns the loaded tools that are to be in the tool list: all of them, unless the
// run hides none or the protocol never changes the list.
func (r *run) inList(s *loadedSet) *loadedSet {
	if !r.hidesNone && r.config.Protocol != ProtocolDispatch {
		return s
	}
	constant := newLoadedSet(r.scope.Catalog)
	if r.hidesNone {
		for doc := range r.scope.docs {
			if r.scope.sees(doc) {
				constant.add(doc)
			}
		}
		return constant
	}
	for _, doc := range r.always {
		if r.scope.sees(doc) {
			constant.add(doc)
		}
	}
	return constant
}

// doubled returns a name of ours that a tool list holds twice, or "". What is in the list
// for being loaded does not count beside the tool itself.
func doubled(r *run, tools []*schema.ToolInfo) string {
	var metas []string
	seen := docset.New(len(r.scope.docs))
	for _, t := range tools {
		if t == nil || isMarked(t, r.names.search) {
			continue
		}
		if r.names.has(t.Name) {
			if slices.Contains(metas, t.Name) {
				return t.Name
			}
			metas = append(metas, t.Name)
		}
		if doc, dynamic := r.owns(t.Name); dynamic && !seen.Add(doc) {
			return t.Name
		}
	}
	return ""
}

// visible is the tool list the model is to see: the tools that are not dynamic, then,
// each in the place it was first given, the loaded ones. It is idempotent.
func visible(r *run, tools []*schema.ToolInfo, loaded *loadedSet) []*schema.ToolInfo {
	docs := r.scope.docs
	list := make([]*schema.ToolInfo, 0, 8)
	placed := docset.New(len(docs))
	for _, t := range tools {
		if t == nil {
			continue
		}
		doc, dynamic := r.owns(t.Name)
		switch {
		case dynamic && isMarked(t, r.names.search) && loaded.has.Has(doc) && placed.Add(doc):
			if info := docs[doc].Info; !sameDefinition(t, info) {
				t = marked(info, r.names.search) // the catalog changed
			}
			list = append(list, t)
		case dynamic || isMarked(t, r.names.search): // hidden, or gone from the catalog
		case r.hidesNone && r.names.has(t.Name):
		default:
			list = append(list, t)
		}
	}
	for _, doc := range loaded.docs {
		if !placed.Has(doc) {
			list = append(list, marked(docs[doc].Info, r.names.search))
		}
	}
	return list
}

// withLoaded is the tool list with more tools loaded; tools itself if they all were.
func withLoaded(r *run, tools []*schema.ToolInfo, docs []int) []*schema.ToolInfo {
	list := slices.Clip(tools)
	for _, doc := range docs {
		if info := r.scope.docs[doc].Info; !containsName(list, info.Name) {
			list = append(list, marked(info, r.names.search))
		}
	}
	return list
}
