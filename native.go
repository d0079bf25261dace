package toolsearch

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// Native mode: the model searches the catalog by means of its own, of which there are three
// dialects. docs/adapters.md tells which model adapter takes which.
//
// A tool whose definition a native search result shows to the model is callable for as long
// as the result stands there. Where the result is gone, or never was one that can be shown
// natively, the tool moves to the ordinary tool list and stays there; so a tool is never in
// both, and a search does not show one from the ordinary list again: adapters refuse a
// definition that comes twice.

// NativeDialect is how a model's adapter takes tools that are searched natively.
type NativeDialect int

const (
	// NativeDeferred gives the catalog to the model as deferred tools and tool_search as its
	// native search tool, whose results are whole definitions: Eino's own way, for the
	// agentic adapters of Claude and of OpenAI's Responses API. In the history of a chat
	// model, of *schema.Message, they are plain text, and only the model gets them in native
	// form, so that other middlewares can read them.
	NativeDeferred NativeDialect = iota

	// NativeReferences is for the Claude chat model: tool_search is an ordinary tool, and no
	// tool is deferred but by the adapter itself, which makes references of the results. In
	// the history they are plain text too.
	NativeReferences

	// NativeServer gives the catalog to the model as deferred tools and leaves the search to
	// its provider. Nothing is known here of what it finds, so no policy for tools that are
	// not loaded applies.
	NativeServer
)

// String returns the dialect's name.
func (d NativeDialect) String() string {
	names := [...]string{"deferred", "references", "server"}
	if d < 0 || int(d) >= len(names) {
		return fmt.Sprintf("NativeDialect(%d)", int(d))
	}
	return names[d]
}

// NativeSupport tells the dialect for a chat model that it knows by its components.GetType,
// or false: then stay in default mode, which works with every model that calls tools. It
// knows the adapters of eino-ext; a model wrapped in a type of another name is unknown.
//
//	dialect, ok := toolsearch.NativeSupport(model)
//	config := toolsearch.Config{UseModelToolSearch: ok, Native: dialect}
func NativeSupport(chatModel any) (NativeDialect, bool) {
	if foreign.IsNil(chatModel) {
		return NativeDeferred, false
	}
	name, _ := components.GetType(chatModel)
	switch name {
	case "Claude":
		return NativeReferences, true
	case "AgenticClaude", "AgenticOpenAI/Responses":
		return NativeDeferred, true
	}
	return NativeDeferred, false
}

// nativeForm is what search results are to the model: texts, or one of the dialects.
type nativeForm int

const (
	textForm nativeForm = iota
	deferredForm
	referencesForm
	serverForm
)

// isText reports whether search results are texts in the history, and native only in what the
// model gets. So they are for chat models, since Eino's reduction ends a run over a
// *schema.Message with a native result; an agentic message has it as one block among others.
func (f nativeForm) isText(wordless bool) bool {
	return f == referencesForm || f == deferredForm && !wordless
}

// deferred splits the tools for a native model call: the ordinary list, without the
// search tool, and the deferred one. Deferred tools that are loaded bear the mark. Like
// visible it is idempotent, and it passes over deferred tools of others.
func deferred(r *run, tools, others []*schema.ToolInfo, loaded *loadedSet) (ordinary, hidden []*schema.ToolInfo) {
	catalog, searchTool := r.reader.catalog, r.reader.names.search
	references := r.reader.native == referencesForm
	moved := newLoadedSet(catalog)
	for _, doc := range loaded.docs {
		// What stands in the ordinary list already, or always does, stays there.
		if !loaded.native.Has(doc) || r.plain || r.isAlways(doc) || containsMarked(tools, catalog.docs[doc].Name, searchTool) {
			moved.add(doc)
		}
	}
	ordinary = make([]*schema.ToolInfo, 0, 8)
	for _, t := range visible(r, tools, moved) {
		if t.Name != searchTool || references {
			ordinary = append(ordinary, t)
		}
	}
	if references {
		return ordinary, undeferred(r, others)
	}

	hidden = make([]*schema.ToolInfo, 0, len(catalog.docs))
	for _, t := range others {
		if t == nil {
			continue
		}
		if _, own := r.owns(t.Name); !own && !isOurs(t, searchTool) {
			hidden = append(hidden, t)
		}
	}
	for doc := range catalog.docs {
		switch info := catalog.docs[doc].Info; {
		case moved.has.Has(doc) || !r.scope.sees(doc):
		case loaded.has.Has(doc):
			hidden = append(hidden, marked(info, searchTool))
		default:
			hidden = append(hidden, r.deferred[doc])
		}
	}
	return ordinary, hidden
}

// deferredMark is the key, in the Extra of a deferred definition, of the name of the search
// tool it is deferred for. After a checkpoint it tells a tool that is gone from the catalog
// from one that another middleware defers.
const deferredMark = "_toolsearch_deferred"

// deferredCopies are the definitions of a catalog with that mark.
func deferredCopies(c *Catalog, searchTool string) []*schema.ToolInfo {
	copies := make([]*schema.ToolInfo, len(c.docs))
	for i := range c.docs {
		copied := *c.docs[i].Info
		copied.Extra = maps.Clone(copied.Extra)
		if copied.Extra == nil {
			copied.Extra = make(map[string]any, 1)
		}
		copied.Extra[deferredMark] = searchTool
		copies[i] = &copied
	}
	return copies
}

// isOurs reports whether the middleware of that search tool put t into a list.
func isOurs(t *schema.ToolInfo, searchTool string) bool {
	return isMarked(t, searchTool) || len(t.Extra) > 0 && t.Extra[deferredMark] == searchTool
}

func containsMarked(tools []*schema.ToolInfo, name, searchTool string) bool {
	return slices.ContainsFunc(tools, func(t *schema.ToolInfo) bool { return t != nil && t.Name == name && isMarked(t, searchTool) })
}

// markDeferred returns tools with the given ones marked as loaded; tools
// itself if there are none.
func markDeferred(r *reader, tools []*schema.ToolInfo, loaded *loadedSet) []*schema.ToolInfo {
	list := tools
	for i, t := range tools {
		if t == nil || isMarked(t, r.names.search) {
			continue
		}
		if doc, ok := r.catalog.byName[t.Name]; ok && loaded.has.Has(doc) {
			if &list[0] == &tools[0] {
				list = slices.Clone(tools)
			}
			list[i] = marked(t, r.names.search)
		}
	}
	return list
}

// nativeSearchTool is tool_search for agentic models in native mode: an enhanced tool whose
// result holds the definitions of what it found. A mistake or a miss is an empty one.
type nativeSearchTool struct {
	*host
	info     *schema.ToolInfo
	ordinary func(ctx context.Context) map[string]bool // names in the ordinary tool list; may be nil
}

// Info implements tool.BaseTool.
func (t *nativeSearchTool) Info(context.Context) (*schema.ToolInfo, error) { return t.info, nil }

// InvokableRun implements tool.EnhancedInvokableTool.
func (t *nativeSearchTool) InvokableRun(ctx context.Context, argument *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
	text := ""
	if argument != nil {
		text = argument.Text
	}
	answer, matches, err := t.search(ctx, text)
	if err != nil {
		return nil, err
	}
	known := t.ordinary(ctx)
	found := &schema.ToolSearchResult{Tools: make([]*schema.ToolInfo, 0, len(matches))}
	for _, m := range matches {
		if !known[m.Info.Name] {
			found.Tools = append(found.Tools, m.Info)
		}
	}
	if len(found.Tools) == 0 && readRequest(text, "query").stand != nil {
		return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: answer.String()}}}, nil
	}
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{
		Type: schema.ToolPartTypeToolSearchResult, ToolSearchResult: found,
	}}}, nil
}

// undeferred returns the deferred tools of others: a run that is resumed may have been
// native before.
func undeferred(r *run, tools []*schema.ToolInfo) (others []*schema.ToolInfo) {
	for _, t := range tools {
		if t == nil {
			continue
		}
		if _, own := r.owns(t.Name); !own && !isOurs(t, r.reader.names.search) {
			others = append(others, t)
		}
	}
	return others
}
