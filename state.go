package toolsearch

import (
	"cmp"
	"maps"
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

// loadedSet is the loaded tools, as documents of the catalog, in the order in which they
// were first loaded.
type loadedSet struct {
	docs   []int
	has    docSet
	native docSet // those of which the history holds a native search result
}

func newLoadedSet(c *Catalog) *loadedSet {
	return &loadedSet{has: newDocSet(len(c.docs)), native: newDocSet(len(c.docs))}
}

func (s *loadedSet) add(doc int) {
	if s.has.add(doc) {
		s.docs = append(s.docs, doc)
	}
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
		if isMarked(t, r.tool) {
			if doc, ok := r.catalog.byName[t.Name]; ok {
				s.add(doc)
			}
		}
	}
}

// reader is how a middleware reads a history.
type reader struct {
	catalog    *Catalog
	tool       string // the search tool's name
	countCalls bool   // a call to a hidden tool loads it
	matches    matchMemo
}

// matchMemo remembers which documents a search result names. The same results are read
// again before every model call of a conversation, by runs that share nothing else.
type matchMemo struct {
	mu   sync.RWMutex
	docs map[string][]int // text of a result -> documents
}

// Bounds on the memo, which is emptied when it is full.
const (
	maxMemoTexts = 4096
	maxMemoBytes = 2 << 10 // a longer text is not remembered
)

// matchesIn returns the documents that a search result names.
func (r *reader) matchesIn(text string) []int {
	r.matches.mu.RLock()
	docs, known := r.matches.docs[text]
	r.matches.mu.RUnlock()
	if known {
		return docs
	}
	readMatches(text, func(name string) {
		if doc, ok := r.catalog.byName[name]; ok {
			docs = append(docs, doc)
		}
	})
	if len(text) > maxMemoBytes {
		return docs
	}
	r.matches.mu.Lock()
	defer r.matches.mu.Unlock()
	if r.matches.docs == nil || len(r.matches.docs) >= maxMemoTexts {
		r.matches.docs = make(map[string][]int)
	}
	r.matches.docs[strings.Clone(text)] = docs
	return docs
}

// history is what one pass over the messages finds.
type history struct {
	reminder reminderFacts
	repair   bool // restore may have something to do
}

// read goes over the messages once: it loads what they show, in their order, and finds
// what is to be changed in them.
func read[M message](r *reader, codec codec[M], reminder *reminder, messages []M, loaded *loadedSet) history {
	var v view
	var open openCalls
	h := history{reminder: noReminder}
	for i, msg := range messages {
		codec.read(msg, &v)
		h.reminder.note(reminder, i, &v)
		open.begin(v.calls)
		for _, call := range v.calls {
			name := call.name
			if call.standIn {
				h.repair = true
				name = call.wanted // what restore makes of it
			}
			if doc, ok := r.catalog.byName[name]; ok && r.countCalls {
				loaded.add(doc)
			}
		}
		called := ""
		for j, result := range v.results {
			if j == 0 || result.at != v.results[j-1].at {
				if called = open.answer(result.callID); called == "" && result.name == "" {
					called = calledName(codec, messages[:i], result.callID)
				}
			}
			if cmp.Or(result.name, called) != r.tool {
				continue
			}
			if !result.native {
				h.repair = h.repair || called != "" && called != r.tool
				for _, doc := range r.matchesIn(result.text) {
					loaded.add(doc)
				}
				continue
			}
			for _, info := range result.foundTools {
				if info == nil {
					continue
				}
				if doc, ok := r.catalog.byName[info.Name]; ok {
					loaded.add(doc)
					loaded.native.add(doc)
				}
			}
		}
	}
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

// answer returns the name of the first call with that id that was not answered, or "".
func (o *openCalls) answer(id string) string {
	for i, call := range o.calls {
		if call.id != id || o.answered[i] {
			continue
		}
		o.answered[i] = true
		if call.standIn {
			return call.wanted
		}
		return call.name
	}
	return ""
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
	searchTools := 0
	seen := newDocSet(len(r.catalog.docs))
	for _, t := range tools {
		if t == nil || isMarked(t, r.tool) {
			continue
		}
		if t.Name == r.tool {
			searchTools++
		}
		if doc, dynamic := r.catalog.byName[t.Name]; dynamic && !seen.add(doc) || searchTools > 1 {
			return t.Name
		}
	}
	return ""
}

// visible is the tool list the model is to see: the tools that are not dynamic, then,
// each in the place it was first given, the loaded ones. It is idempotent.
func visible(r *reader, tools []*schema.ToolInfo, loaded *loadedSet) []*schema.ToolInfo {
	list := make([]*schema.ToolInfo, 0, 8)
	shown := newDocSet(len(r.catalog.docs))
	for _, t := range tools {
		if t == nil {
			continue
		}
		doc, dynamic := r.catalog.byName[t.Name]
		switch {
		case !dynamic:
			list = append(list, t)
		case isMarked(t, r.tool) && shown.add(doc):
			list = append(list, t)
		}
	}
	for _, doc := range loaded.docs {
		if !shown.has(doc) {
			list = append(list, marked(r.catalog.docs[doc].Info, r.tool))
		}
	}
	return list
}

// called returns the dynamic tools that the message calls.
func called[M message](r *reader, codec codec[M], msg M) *loadedSet {
	set := newLoadedSet(r.catalog)
	var v view
	codec.read(msg, &v)
	for _, call := range v.calls {
		if doc, ok := r.catalog.byName[call.name]; ok {
			set.add(doc)
		}
	}
	return set
}

func isMarked(t *schema.ToolInfo, tool string) bool {
	return t != nil && len(t.Extra) > 0 && t.Extra[loadedMark] == tool
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
