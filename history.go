package toolsearch

import (
	"cmp"
	"strings"
	"sync"
)

// What a history shows: which tools its searches loaded and its calls used, and what has to
// be changed in it.

// effect is what the result of a meta-tool does to the loaded tools, as documents.
type effect struct{ loads, unloads []int }

// reader is how a middleware reads a history.
type reader struct {
	catalog    *Catalog
	names      metaNames
	countCalls bool // a call to a hidden tool loads it
	native     nativeForm
	memo       effectMemo
}

func newReader(c *Catalog, names metaNames, config *Config) *reader {
	for _, name := range foreignNames {
		if _, dynamic := c.byName[name]; dynamic {
			names.taken = append(names.taken, name)
		}
	}
	return &reader{catalog: c, names: names, countCalls: config.Unloaded == UnloadedLoadAndRun && config.nativeForm() != serverForm, native: config.nativeForm()}
}

// effectMemo remembers what results do. The same results are read again before every
// model call of a conversation, by runs that share nothing else.
type effectMemo struct {
	mu      sync.RWMutex
	effects map[string]effect // by the text of the result
}

// Bounds on the memo, which is emptied when it is full.
const (
	maxMemoTexts = 4096
	maxMemoBytes = 2 << 10 // a longer text is not remembered
)

// effectOf returns what the result of a meta-tool does.
func (r *reader) effectOf(text string) effect {
	r.memo.mu.RLock()
	e, known := r.memo.effects[text]
	r.memo.mu.RUnlock()
	if known {
		return e
	}
	readResult(text, func(name string, unloads bool) {
		doc, ok := r.catalog.byName[name]
		switch {
		case !ok:
		case unloads:
			e.unloads = append(e.unloads, doc)
		default:
			e.loads = append(e.loads, doc)
		}
	})
	if len(text) > maxMemoBytes {
		return e
	}
	r.memo.mu.Lock()
	defer r.memo.mu.Unlock()
	if r.memo.effects == nil || len(r.memo.effects) >= maxMemoTexts {
		r.memo.effects = make(map[string]effect)
	}
	r.memo.effects[strings.Clone(text)] = e
	return e
}

// docsOf turns the names of an effect into documents.
func (r *reader) docsOf(e nameEffect) effect {
	docs := func(names []string) (docs []int) {
		for _, name := range names {
			if doc, ok := r.catalog.byName[name]; ok {
				docs = append(docs, doc)
			}
		}
		return docs
	}
	return effect{docs(e.loads), docs(e.unloads)}
}

// calledDoc returns the dynamic tool that a call runs: the one of its name, or the one it
// dispatches to.
func (r *reader) calledDoc(name, arguments string) (doc int, ok bool) {
	if name == r.names.search { // by far the most, and no dynamic tool's
		return 0, false
	}
	if doc, ok = r.catalog.byName[name]; !ok && r.names.dispatches(name) {
		doc, ok = r.catalog.byName[readDispatch(arguments).Name]
	}
	return doc, ok
}

// history is what one pass over the messages finds.
type history struct {
	reminder reminderFacts
	repair   bool   // restore may have something to do
	native   bool   // it holds native search results
	question string // what the user said last, while the model has not answered
}

// read goes over the messages once: it loads what they show, in their order, and finds
// what is to be changed in them.
func read[M message](r *reader, codec codec[M], reminder *reminder, notebook *notebook, messages []M, loaded *loadedSet) history {
	var v view
	var open openCalls
	h := history{reminder: noReminder}
	for i, msg := range messages {
		codec.read(msg, &v)
		h.reminder.note(reminder, i, &v)
		switch {
		case v.assistant:
			h.question = ""
		case v.user && !reminder.is(&v):
			h.question = v.said()
		}
		if len(v.calls) > 0 && loaded.settle != nil {
			// What the model saw when it made these calls: one to a tool hidden again by
			// then was refused, or brings the tool back at the end of the list.
			loaded.busy = open.busy(r)
			loaded.settle()
		}
		open.begin(v.calls)
		for _, call := range v.calls {
			name, arguments := call.name, call.args
			if call.standIn {
				h.repair = true
				name, arguments = call.wanted, call.wantArg // what restore makes of it
			}
			if doc, ok := r.calledDoc(name, arguments); ok && (r.countCalls || loaded.has.Has(doc)) {
				loaded.use(doc)
			}
		}
		var call *callView
		called := ""
		for j, result := range v.results {
			if j == 0 || result.at != v.results[j-1].at {
				call, called = open.answer(result.callID), ""
				switch {
				case call != nil && call.standIn:
					called = call.wanted
				case call != nil:
					called = call.name
				case result.name == "":
					called = calledName(codec, messages[:i], result.callID)
				}
			}
			h.repair = h.repair || r.names.dispatches(called) && result.name != called
			if !r.names.reads(cmp.Or(result.name, called)) {
				continue
			}
			if !result.native {
				h.repair = h.repair || called != "" && result.name != "" && called != result.name
				e := r.effectOf(result.text)
				loaded.apply(e)
				if r.native.isText(codec.wordless) {
					loaded.noteNative(e.loads...)
				}
				continue
			}
			h.native = true
			kept := r.native.isText(codec.wordless) || r.native == deferredForm && (isMarkedSearch(call) || notebook.made(result.callID))
			for _, info := range result.foundTools {
				if info == nil {
					continue
				}
				if doc, ok := r.catalog.byName[info.Name]; ok {
					loaded.use(doc)
					if kept {
						loaded.noteNative(doc)
					}
				}
			}
		}
	}
	loaded.busy = open.busy(r)
	return h
}

// openCalls are the calls of the latest message that has any, and which were answered.
type openCalls struct {
	calls    []callView
	answered []bool
}

func (o *openCalls) begin(calls []callView) {
	if len(calls) == 0 {
		return
	}
	o.calls = append(o.calls[:0], calls...)
	o.answered = append(o.answered[:0], make([]bool, len(calls))...)
}

// busy returns the dynamic tools whose calls were not answered.
func (o *openCalls) busy(r *reader) (docs []int) {
	for i, call := range o.calls {
		if o.answered[i] {
			continue
		}
		if call.standIn {
			call.name, call.args = call.wanted, call.wantArg
		}
		if doc, ok := r.calledDoc(call.name, call.args); ok {
			docs = append(docs, doc)
		}
	}
	return docs
}

// answer returns the first call with that id that was not answered, or nil.
func (o *openCalls) answer(id string) *callView {
	for i := range o.calls {
		if o.calls[i].id == id && !o.answered[i] {
			o.answered[i] = true
			return &o.calls[i]
		}
	}
	return nil
}

// calledName returns the name of the tool that was called with that id, in the nearest
// message that calls tools and, since stores may reorder results, a few before it.
func calledName[M message](codec codec[M], before []M, id string) string {
	var v view
	for i, rounds := len(before)-1, 0; i >= 0 && rounds < 8; i-- {
		codec.read(before[i], &v)
		for _, call := range v.calls {
			if call.id == id {
				if call.standIn {
					return call.wanted
				}
				return call.name
			}
		}
		if len(v.calls) > 0 {
			rounds++
		}
	}
	return ""
}

// called returns the dynamic tools that the message calls.
func called[M message](r *run, codec codec[M], msg M) *loadedSet {
	set := newLoadedSet(r.scope.Catalog)
	var v view
	codec.read(msg, &v)
	for _, call := range v.calls {
		if doc, ok := r.scope.byName[call.name]; ok && r.scope.sees(doc) {
			set.add(doc)
		}
	}
	return set
}
