package toolsearch

import (
	"context"
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
	h := history{reminder: noReminder}
	for i, msg := range messages {
		codec.read(msg, &v)
		h.reminder.note(reminder, i, &v)
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
		for _, result := range v.results {
			name := result.name
			if name == "" {
				name = calledName(codec, messages[:i], result.callID)
			}
			if name != r.tool {
				continue
			}
			if !result.native {
				h.repair = h.repair || isEmptyAnswer(result.text)
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

// Calls that cannot be run.
//
// Eino ends a run over a call to a name no tool has. So, between the model's message and
// the tools, such a call is replaced by a stand-in: a call of the search tool, under the
// same call id, whose arguments ask for the words of help. The search tool's answer goes
// the way of every tool result, to the model, to the caller's events and into a
// checkpoint. Before the next model call the model's own call is put back, and the result
// named after it.

// callable tells what the model may call.
type callable struct {
	reader  *reader
	all     []*schema.ToolInfo // every tool the agent can run
	visible []*schema.ToolInfo // those the model saw
	native  []*schema.ToolInfo // those it could search natively
	explain bool               // UnknownExplain
	refuse  bool               // UnloadedRefuse
}

// standInFor returns the stand-in for a call, or nil if the call can be run.
func (k *callable) standInFor(name string) *standIn {
	c := k.reader.catalog
	if doc, dynamic := c.byName[name]; dynamic {
		if k.refuse && !containsName(k.visible, name) && !k.foundNatively(doc) {
			return &standIn{UnloadedTool: name}
		}
		return nil
	}
	if !k.explain || len(k.all) == 0 || name == k.reader.tool || containsName(k.all, name) {
		return nil
	}
	return &standIn{UnknownTool: cut(name, maxNameBytes), Suggestions: k.near(name)}
}

func (k *callable) foundNatively(doc int) bool {
	name := k.reader.catalog.docs[doc].Name
	return slices.ContainsFunc(k.native, func(t *schema.ToolInfo) bool {
		return t != nil && t.Name == name && isMarked(t, k.reader.tool)
	})
}

func containsName(tools []*schema.ToolInfo, name string) bool {
	return slices.ContainsFunc(tools, func(t *schema.ToolInfo) bool { return t != nil && t.Name == name })
}

// maxOtherTools is how many tools besides the dynamic ones a name is compared with.
const maxOtherTools = 256

// near returns names like the given one among all the tools the agent can run.
func (k *callable) near(name string) []string {
	c := k.reader.catalog
	var others []Document
	for _, t := range k.all {
		if t == nil || len(others) == maxOtherTools {
			continue
		}
		if _, dynamic := c.byName[t.Name]; !dynamic {
			others = append(others, Document{Name: t.Name})
		}
	}
	names := newNameIndex(others).near(name, maxSuggestions)
	names = append(names, c.names().near(name, maxSuggestions)...)
	wanted := joinParts(name)
	slices.SortStableFunc(names, func(a, b string) int {
		return compareScored(scored{score: likeness(wanted, joinParts(a))}, scored{score: likeness(wanted, joinParts(b))})
	})
	return names[:min(len(names), maxSuggestions)]
}

// intercept returns messages with stand-ins for the calls of the last one that cannot be
// run; messages itself if there are none.
func intercept[M message](codec codec[M], k *callable, messages []M) []M {
	if len(messages) == 0 {
		return messages
	}
	var v view
	last := messages[len(messages)-1]
	codec.read(last, &v)
	var replaced []callView
	for _, call := range v.calls {
		if s := k.standInFor(call.name); s != nil {
			replaced = append(replaced, callView{
				at: call.at, name: k.reader.tool, args: s.String(),
				standIn: true, wanted: call.name, wantArg: call.args,
			})
		}
	}
	if len(replaced) == 0 {
		return messages
	}
	messages = slices.Clone(messages)
	messages[len(messages)-1] = codec.setCalls(last, replaced)
	return messages
}

// restore puts the model's own calls back in the place of stand-ins, and names the
// results of the search tool that answer another tool's call after that tool. It returns
// messages itself where there is nothing to do.
func restore[M message](codec codec[M], tool string, messages []M) []M {
	var v view
	restored := messages
	change := func(i int, msg M) {
		if &restored[0] == &messages[0] {
			restored = slices.Clone(messages)
		}
		restored[i] = msg
	}
	for i, msg := range messages {
		codec.read(msg, &v)
		var calls []callView
		for _, call := range v.calls {
			if call.standIn && call.name == tool {
				calls = append(calls, callView{at: call.at, name: call.wanted, args: call.wantArg})
			}
		}
		if calls != nil {
			change(i, codec.setCalls(msg, calls))
		}
		var results []resultView
		for _, result := range v.results {
			// Only an answer without matches can be that of a stand-in.
			if result.name != tool || result.native || !isEmptyAnswer(result.text) {
				continue
			}
			if name := calledName(codec, messages[:i], result.callID); name != "" && name != tool {
				result.name = name
				results = append(results, result)
			}
		}
		if results != nil {
			change(i, codec.nameResults(msg, results))
		}
	}
	return restored
}

// notebook is what one run has learnt that may be gone from the history before the next
// model call: another middleware may remove a search result before this one reads it.
type notebook struct {
	mu       sync.Mutex
	calls    []string            // ids of the search calls, in the order the model made them
	found    map[string][]string // call id -> what the search found
	ordinary map[string]bool     // native mode: the names in the ordinary tool list
}

// expect notes the calls of the search tool in the last message.
func expect[M message](n *notebook, codec codec[M], tool string, messages []M) {
	if n == nil || len(messages) == 0 {
		return
	}
	var v view
	codec.read(messages[len(messages)-1], &v)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, call := range v.calls {
		if call.name == tool {
			n.calls = append(n.calls, call.id)
		}
	}
}

func (n *notebook) note(callID string, names []string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.found == nil {
		n.found = make(map[string][]string)
	}
	n.found[callID] = names
}

func (n *notebook) setOrdinary(tools []*schema.ToolInfo) {
	if n == nil {
		return
	}
	names := make(map[string]bool, len(tools))
	for _, t := range tools {
		names[t.Name] = true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ordinary = names
}

func (n *notebook) ordinaryNames() map[string]bool {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ordinary
}

// take returns the names found since the last take, in the order of the calls.
func (n *notebook) take() []string {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var names []string
	for _, id := range n.calls {
		names = append(names, n.found[id]...)
		delete(n.found, id)
	}
	// A resumed run carries out calls that an earlier one made.
	for _, id := range slices.Sorted(maps.Keys(n.found)) {
		names = append(names, n.found[id]...)
	}
	n.calls, n.found = nil, nil
	return names
}

// carriedKey is the context key of WithLoaded.
type carriedKey struct{}

// WithLoaded makes the named dynamic tools visible from the first model call of a run
// with the returned context: what OnLoaded reported of an earlier run, for callers that
// do not keep the messages that show it. Names no catalog has are ignored. Agents called
// as tools within the run see the same names.
func WithLoaded(ctx context.Context, names ...string) context.Context {
	return context.WithValue(ctx, carriedKey{}, slices.Clone(names))
}

func carriedBy(ctx context.Context) []string {
	names, _ := ctx.Value(carriedKey{}).([]string)
	return names
}
