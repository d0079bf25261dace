package toolsearch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/conversation"
	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/modeljson"
)

// What the model sees, worked out anew before every call:
//
//	tool list, session, history, notebook -> loaded -> visible (here) or deferred (native*.go)
//
// A dynamic tool is loaded when a search result in the history names it, when the history has a call to it, when the
// session has it, or when the tool list has our marked copy of its definition, which survives trimming, summarizing and
// a checkpoint even if the history does not (internal/conversation). Loading is cumulative.

// loaded returns the loaded tools before a model call or at the end of a run, in the order of their first loading:
// tools of the tool list come before tools that only the history loads.
func (r *run) loaded(ctx context.Context, t *transcript, given lists) (*conversation.LoadSet, error) {
	limit := r.config.Limits.MaxLoaded
	if r.moves.Load() { // the list does not grow
		limit = 0
	}
	s := conversation.NewLoadSet(len(r.scope.docs))
	s.Add(r.always...)
	s.Add(r.hidden...)
	r.addMarked(s, given)
	if r.session != nil {
		lost, names := r.shared, r.session.Loaded() // lost to another agent
		r.shared = make(map[string]bool, len(names))
		for _, name := range names {
			r.shared[name] = true
			delete(lost, name)
		}
		s.Drop(r.docsNamed(slices.Collect(maps.Keys(lost))))
		s.Add(r.docsNamed(names)...)
	}
	request, isAnswered := r.reminder.asked(t.views)
	r.request = cmp.Or(r.request, request)
	busy := r.replay(t, s, limit, slices.Clone(s.Members))
	r.recordCalled(ctx, s.Called)
	restore(t, &r.names) // a result that now has another tool's name shows nothing
	for _, e := range r.notebook.Take() {
		docs := r.docsNamed(e.Loads)
		s.InUse = append(s.InUse, docs...)
		s.Use(docs...)
		s.Drop(r.docsNamed(e.Unloads))
	}
	s.Add(r.always...) // no call unloads these
	docs, err := r.preselected(ctx, request, isAnswered)
	if err != nil {
		return nil, err
	}
	s.Use(docs...)
	if r.mode.translates() {
		s.ByResult = r.convertResults(t, given, s, false)
	}
	r.restrict(s, limit, busy)
	r.hidden = r.beyond(s, limit, busy)
	if r.excess = nil; r.moves.Load() {
		r.excess = r.beyond(s, r.config.Limits.MaxLoaded, busy)
	}
	return s, nil
}

// stillLoaded returns the loaded tools on the last word before a model call. It needs neither the session nor the
// notebook: the lists already have their tools. The history does not load an evicted tool again.
func (r *run) stillLoaded(t *transcript, given lists) *conversation.LoadSet {
	s := conversation.NewLoadSet(len(r.scope.docs))
	r.addMarked(s, given)
	listed := slices.Clone(s.Members)
	r.replay(t, s, 0, listed)
	if r.mode.translates() {
		s.ByResult = r.convertResults(t, given, s, true)
	}
	r.restrict(s, 0, nil)
	if r.config.Limits.MaxLoaded > 0 {
		s.Keep(func(doc int) bool { return listed.Has(doc) || s.ByResult.Has(doc) || r.isAlways(doc) })
	}
	return s
}

// replay applies the history to the loaded tools, round by round. It returns the dynamic tools whose calls have no
// results yet. The tool list and the session reflect the unloading in all rounds but a new last one, so only that may
// unload a tool that is in one of them.
func (r *run) replay(t *transcript, s *conversation.LoadSet, limit int, settled docset.Set) (busy []int) {
	for n, round := range t.rounds {
		if n == len(t.rounds)-1 {
			last := fmt.Sprint(n)
			for i := range round.calls {
				last += "\n" + round.calls[i].id
			}
			if last != r.replayed {
				settled, r.replayed = nil, last
			}
		}
		if limit > 0 && n > 0 {
			// The tools that the model saw when it made these calls. A call to a tool
			// evicted before was refused, or loads the tool again at the end of the list.
			r.restrict(s, limit, busy)
		}
		busy = nil
		for i := range round.calls {
			if doc, ok := r.calledDoc(&round.calls[i]); ok {
				s.Called = append(s.Called, doc)
				if r.countsCalls() || s.Has(doc) {
					s.Use(doc)
					if settled == nil { // the last round
						s.InUse = append(s.InUse, doc)
					}
				}
				if !round.calls[i].answered {
					busy = append(busy, doc)
				}
			}
		}
		for _, a := range t.answers[round.from:round.to] {
			for result := range t.loading(&a, &r.names) {
				r.replayResult(s, result, a.call, settled)
			}
		}
	}
	return busy
}

func (r *run) replayResult(s *conversation.LoadSet, result *resultView, call *callView, settled docset.Set) {
	e := r.effectOf(result)
	if result.native {
		for _, doc := range e.loads {
			s.Use(doc) // one at a time: the last counts as used last
		}
	} else {
		s.Use(e.loads...)
	}
	for _, doc := range e.unloads {
		if !settled.Has(doc) && !r.isAlways(doc) {
			s.Drop([]int{doc})
		}
	}
	if r.showsTools(result, call) {
		s.ByResult.Union(docset.New(len(r.scope.docs), e.loads...))
	}
}

// definedBy returns the tools that a request defines in its list and, for call_tool, in its results.
func (r *run) definedBy(t *transcript, list []*schema.ToolInfo) docset.Set {
	docs := r.docsNamed(toolNames(list))
	for i := 0; i < len(t.answers) && r.mode == dispatchMode; i++ {
		for result := range t.loading(&t.answers[i], &r.names) {
			docs = append(docs, r.effectOf(result).defines...)
		}
	}
	return docset.New(len(r.scope.docs), docs...)
}

// preselected returns the best tools for the user's last message, if Preselect is set and the model has not answered
// it. It reads the message by the common rule, and no word is required. There is no fallback, since preselecting is a
// guess already. The error is that of the context.
func (r *run) preselected(ctx context.Context, question string, isAnswered bool) ([]int, error) {
	if r.config.Preselect == 0 || r.hidesNone || question == "" || isAnswered {
		return nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, r.config.Limits.SearchTimeout)
	defer cancel()
	c := r.scope
	use, _ := r.related.Load().(map[int]float64)
	c.evidence = &evidence{use: use}
	found, err := c.askFor(limited, c.preselector, question, r.config.Preselect)
	if err = cmp.Or(err, found.partial); err != nil && ctx.Err() == nil {
		r.events.fail(ctx, PartPreselect, fmt.Errorf("toolsearch: Preselect: %w", err))
	}
	return r.docsNamed(matchNames(c.spread(limited, c.preselector, found))), ctx.Err()
}

// restrict removes the tools that the request may not see, and the least recently used beyond limit; 0 means no limit.
// A tool shown by a native result stays callable by that result, and so stays loaded.
func (r *run) restrict(s *conversation.LoadSet, limit int, busy []int) {
	s.Keep(r.scope.has)
	isDefined := func(doc int) bool { return r.defined(doc) != nil } // then it stays callable
	s.Drop(slices.DeleteFunc(r.beyond(s, limit, busy), isDefined))
}

// beyond returns the least recently used of the loaded tools that count, beyond limit.
func (r *run) beyond(s *conversation.LoadSet, limit int, busy []int) []int {
	if limit == 0 || r.hidesNone {
		return nil
	}
	return s.Excess(limit, busy, func(doc int) bool { return r.isAlways(doc) || s.ByResult.Has(doc) })
}

// calledDoc returns the dynamic tool that a call, or the call that a stand-in replaced, runs or dispatches to.
func (r *run) calledDoc(call *callView) (doc int, ok bool) {
	name, args := call.name, call.args
	if call.standIn {
		name, args = call.wanted, call.wantArg
	}
	if name == r.names.search { // most calls, and never a dynamic tool's name
		return 0, false
	}
	if doc, ok = r.scope.byName[name]; !ok && r.names.dispatches(name) {
		dispatched, _ := readDispatch(args)
		doc, ok = r.scope.byName[dispatched]
	}
	return doc, ok
}

// addMarked adds the tools that the marks in the lists name.
func (r *run) addMarked(s *conversation.LoadSet, given lists) {
	for _, t := range slices.Concat(given.tools, given.deferred) {
		switch {
		case t == nil:
		case t.Name == r.names.search:
			s.Add(r.docsNamed(modeljson.List(conversation.Remembered(t)))...)
		case conversation.IsLoaded(t, r.names.search):
			s.Add(r.docsNamed([]string{t.Name})...)
		}
	}
}
