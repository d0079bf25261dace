package toolsearch

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cloudwego/eino/schema"
)

// What the model sees, worked out before every call from what is always there:
//
//	history, tool list, notebook -> loaded -> visible (here) or deferred (native.go)
//
// A dynamic tool is loaded when a search result in the history names it, when the
// history shows a call to it, when the caller carried it over, or when the tool list
// holds our copy of its definition: the copy's mark in Extra survives trimming,
// summarising and a checkpoint where the history does not. Loading is cumulative.

// loadedMark is the key, in the Extra of our copy of a tool's definition, of the name of
// the search tool that loaded it. The value is a string: gob takes no unknown types.
const loadedMark = "_toolsearch_loaded"

// rememberedMark is the key, in the Extra of our copy of the search tool's definition, of
// the names of the loaded tools, a line each: where these are not in the tool list, it is
// what survives.
const rememberedMark = "_toolsearch_remembered"

// loadedSet is the loaded tools, as documents of the catalog, in the order in which they
// were first loaded.
type loadedSet struct {
	docs   []int
	has    docSet
	native docSet // those of which the history holds a native search result

	// When each was last used: found or called. Later is more; what is only known to be
	// loaded has none. Nil: not kept, since nothing will be evicted.
	used  map[int]int
	clock int
	busy  []int // called, and the call is not answered yet

	settle func() // evicts what is too much; nil: nothing is
}

func newLoadedSet(c *Catalog) *loadedSet {
	return &loadedSet{has: newDocSet(len(c.docs)), native: newDocSet(len(c.docs))}
}

func (s *loadedSet) add(doc int) {
	if s.has.add(doc) {
		s.docs = append(s.docs, doc)
	}
}

// use loads documents that were found or called at once, the best of them first: it is
// the last to be evicted.
func (s *loadedSet) use(docs ...int) {
	s.clock += len(docs)
	for i, doc := range docs {
		s.add(doc)
		if s.used != nil {
			s.used[doc] = s.clock - i
		}
	}
}

// noteNative notes that the history shows the documents' definitions to the model.
func (s *loadedSet) noteNative(docs ...int) {
	for _, doc := range docs {
		s.native.add(doc)
	}
}

func (s *loadedSet) remove(doc int) {
	if s.has.has(doc) {
		s.keep(func(other int) bool { return other != doc })
	}
}

// keep removes the documents of which it is not true.
func (s *loadedSet) keep(isKept func(doc int) bool) {
	s.docs = slices.DeleteFunc(s.docs, func(doc int) bool {
		if isKept(doc) {
			return false
		}
		s.has.remove(doc)
		s.native.remove(doc)
		return true
	})
}

// evict removes the least recently used documents beyond limit. Exempt ones do not count;
// those with a call under way count but stay.
func (s *loadedSet) evict(limit int, isExempt func(doc int) bool) {
	counted := slices.DeleteFunc(slices.Clone(s.docs), isExempt)
	if len(counted) <= limit {
		return
	}
	isBusy := func(doc int) bool { return slices.Contains(s.busy, doc) }
	excess := len(counted) - limit
	counted = slices.DeleteFunc(counted, isBusy)
	slices.SortStableFunc(counted, func(a, b int) int { return cmp.Compare(s.used[a], s.used[b]) })
	evicted := counted[:min(excess, len(counted))]
	s.keep(func(doc int) bool { return !slices.Contains(evicted, doc) })
}

// addNames loads the named tools; names the catalog does not have are passed over.
func (s *loadedSet) addNames(c *Catalog, names []string) {
	for _, name := range names {
		if doc, ok := c.byName[name]; ok {
			s.add(doc)
		}
	}
}

// addMarked loads the tools whose definitions in the list are our copies.
func (s *loadedSet) addMarked(r *reader, tools []*schema.ToolInfo) {
	for _, t := range tools {
		if isMarked(t, r.names.search) {
			s.addNames(r.catalog, []string{t.Name})
		}
		if t != nil && t.Name == r.names.search && len(t.Extra) > 0 {
			remembered, _ := t.Extra[rememberedMark].(string)
			s.addNames(r.catalog, strings.Split(remembered, "\n"))
		}
	}
}

// remember returns tools with the loaded ones noted on the search tool's definition.
func remember(r *reader, tools []*schema.ToolInfo, loaded *loadedSet) []*schema.ToolInfo {
	names := make([]string, len(loaded.docs))
	for i, doc := range loaded.docs {
		names[i] = r.catalog.docs[doc].Name
	}
	remembered := strings.Join(names, "\n")
	for i, t := range tools {
		if t == nil || t.Name != r.names.search {
			continue
		}
		if noted, _ := t.Extra[rememberedMark].(string); noted != remembered {
			copied := *t
			copied.Extra = maps.Clone(t.Extra)
			if copied.Extra == nil {
				copied.Extra = make(map[string]any, 1)
			}
			copied.Extra[rememberedMark] = remembered
			tools = slices.Clone(tools)
			tools[i] = &copied
		}
		break
	}
	return tools
}

// apply does what the result of a meta-tool says.
func (s *loadedSet) apply(e effect) {
	s.use(e.loads...)
	for _, doc := range e.unloads {
		s.remove(doc)
	}
}

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
			if doc, ok := r.calledDoc(name, arguments); ok && (r.countCalls || loaded.has.has(doc)) {
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
				if r.native == referencesForm {
					loaded.noteNative(e.loads...)
				}
				continue
			}
			h.native = true
			kept := r.native == referencesForm || r.native == deferredForm && (!codec.wordless || isMarkedSearch(call) || notebook.made(result.callID))
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

// doubled returns a name of ours that a tool list holds twice, or "". What is in the list
// for being loaded does not count beside the tool itself.
func doubled(r *reader, tools []*schema.ToolInfo) string {
	var metas []string
	seen := newDocSet(len(r.catalog.docs))
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
		if doc, dynamic := r.catalog.byName[t.Name]; dynamic && !seen.add(doc) {
			return t.Name
		}
	}
	return ""
}

// visible is the tool list the model is to see: the tools that are not dynamic, then,
// each in the place it was first given, the loaded ones. It is idempotent.
func visible(r *run, tools []*schema.ToolInfo, loaded *loadedSet) []*schema.ToolInfo {
	catalog, names := r.reader.catalog, &r.reader.names
	list := make([]*schema.ToolInfo, 0, 8)
	shown := newDocSet(len(catalog.docs))
	for _, t := range tools {
		if t == nil {
			continue
		}
		doc, dynamic := catalog.byName[t.Name]
		switch {
		case dynamic && isMarked(t, names.search) && loaded.has.has(doc) && shown.add(doc):
			if info := catalog.docs[doc].Info; !sameDefinition(t, info) {
				t = marked(info, names.search) // the catalog changed
			}
			list = append(list, t)
		case dynamic || isMarked(t, names.search): // hidden, or gone from the catalog
		case r.plain && names.has(t.Name):
		default:
			list = append(list, t)
		}
	}
	for _, doc := range loaded.docs {
		if !shown.has(doc) {
			list = append(list, marked(catalog.docs[doc].Info, names.search))
		}
	}
	return list
}

// withLoaded is the tool list with more tools loaded; tools itself if they all were.
func withLoaded(r *reader, tools []*schema.ToolInfo, loaded *loadedSet) []*schema.ToolInfo {
	list := slices.Clip(tools)
	for _, doc := range loaded.docs {
		if info := r.catalog.docs[doc].Info; !containsName(tools, info.Name) {
			list = append(list, marked(info, r.names.search))
		}
	}
	return list
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

func isMarked(t *schema.ToolInfo, tool string) bool {
	return t != nil && len(t.Extra) > 0 && t.Extra[loadedMark] == tool
}

// sameDefinition reports whether a marked copy is still one of info. After a checkpoint
// it is equal at most, and made anew.
func sameDefinition(copied, info *schema.ToolInfo) bool {
	return copied.Desc == info.Desc && copied.ParamsOneOf == info.ParamsOneOf
}

// marked is our copy of a definition: it says that the tool was loaded, and by which
// search tool.
func marked(info *schema.ToolInfo, tool string) *schema.ToolInfo {
	copied := *info
	copied.Extra = maps.Clone(info.Extra)
	if copied.Extra == nil {
		copied.Extra = make(map[string]any, 1)
	}
	copied.Extra[loadedMark] = tool
	return &copied
}
