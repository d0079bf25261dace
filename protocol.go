package toolsearch

import (
	"fmt"
	"slices"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/search"
)

// The protocols between model and middleware, and the names of their tools.

// Protocol says which meta-tools the model sees and what their results look like, or how the model searches by itself.
// A conversation may go on under another protocol: each understands what was loaded under any other.
type Protocol int

const (
	// ProtocolToolSearch is the protocol of Eino v0.9. tool_search(query, max_results) loads the tools it finds and
	// answers with {"matches":[...]}.
	ProtocolToolSearch Protocol = iota

	// ProtocolRegexp is the protocol of Eino v0.8. tool_search(regex_pattern) searches names, loads the tools it finds and
	// answers with {"selectedTools":[...]}, in the order of the catalog. As in v0.8 there is no reminder, unless
	// Config.Reminder.Position asks for one.
	ProtocolRegexp

	// ProtocolSearchAdd separates searching from loading: search_tools(query) answers with {"found","tools","message"},
	// add_tool(tool_names) loads, remove_tool(tool_names) unloads, show_all_tools() lists everything. A query is a regular
	// expression over names and descriptions. If it matches nothing, Fuzzy answers.
	ProtocolSearchAdd

	// ProtocolRanked is tool_search(query, limit), which loads the tools it finds. It answers with a ranked text of
	// scores, what each does and when to use it, and with the names as JSON. The limit is 5 by default and at most 10.
	ProtocolRanked

	// ProtocolDispatch never changes the tool list, which keeps a cached prompt valid: tool_search answers with
	// definitions, and call_tool(name, arguments) runs a tool.
	ProtocolDispatch

	// ProtocolNativeDeferred is for a model that searches by itself. It gets the catalog as deferred tools and tool_search
	// as its search tool, which answers with whole definitions. This is Eino's own way, for the agentic adapters of Claude
	// and of OpenAI's Responses API. In the history of a chat model (*schema.Message) results are texts, which other
	// middlewares can read; only the model gets them in native form.
	ProtocolNativeDeferred

	// ProtocolNativeReferences is for the Claude chat model. tool_search is an ordinary tool. The adapter, not the
	// middleware, defers tools and turns results into references. In the history results are texts.
	ProtocolNativeReferences

	// ProtocolNativeServer gives the catalog to the model as deferred tools and leaves the search to its provider. The
	// middleware does not see what the provider finds, so no policy for tools that are not loaded applies.
	ProtocolNativeServer

	// ProtocolAnchored is ProtocolToolSearch with a tool list that never changes on the wire: AnchoredTransport moves the
	// definitions of loaded tools into the conversation, behind the results that found them, and the model calls the tools
	// by their names. It has to be the transport of the HTTP client that the model's adapter uses, and the model has to
	// take added definitions: docs/anchored.md names those that do. Otherwise the protocol works as ProtocolToolSearch,
	// and a FailureEvent says so. Use it with a Session that lasts as long as the conversation.
	ProtocolAnchored
)

// ProtocolFor returns the native protocol of a chat model whose adapter is known to support it, by its
// components.GetType: a wrapper of another name is not recognized. For other models it returns ProtocolToolSearch,
// which works with every model that calls tools.
//
// Under a prompt cache a native protocol costs as little as ProtocolDispatch. ProtocolFor cannot know whether the provider
// caches: if it returns ProtocolToolSearch, and the provider does, consider ProtocolDispatch.
//
//	config := toolsearch.Config{DynamicTools: tools, Protocol: toolsearch.ProtocolFor(model)}
func ProtocolFor(chatModel any) Protocol {
	if foreign.IsNil(chatModel) {
		return ProtocolToolSearch
	}
	switch name, _ := components.GetType(chatModel); name {
	case "Claude":
		return ProtocolNativeReferences
	case "AgenticClaude", "AgenticOpenAI/Responses":
		return ProtocolNativeDeferred
	}
	return ProtocolToolSearch
}

// metaNames are the names of a middleware's meta-tools. "" means that the protocol has no such tool.
type metaNames struct {
	search               string
	add, showAll, remove string   // of ProtocolSearchAdd
	call                 string   // of ProtocolDispatch
	all                  []string // the names above that the protocol has
	allProtocols         bool     // results of the other protocols' tools count as its own
	taken                []string // default names of loaders that belong to dynamic tools
	agents               []string // default names of loaders that belong to the agent's own tools
}

// names returns the names of the meta-tools for a Config.ToolName, which is their prefix unless it is the default.
func (p Protocol) names(toolName string) metaNames {
	n := metaNames{search: toolName, all: []string{toolName}, allProtocols: toolName == p.defaultToolName()}
	prefix := toolName + "_"
	if n.allProtocols {
		prefix = ""
	}
	switch p {
	case ProtocolSearchAdd:
		n.add, n.showAll, n.remove = prefix+"add_tool", prefix+"show_all_tools", prefix+"remove_tool"
		n.all = append(n.all, n.add, n.showAll, n.remove)
	case ProtocolDispatch:
		n.call = prefix + "call_tool"
		n.all = append(n.all, n.call)
	}
	return n
}

func (p Protocol) defaultToolName() string {
	if p == ProtocolSearchAdd {
		return searchToolsName
	}
	return toolSearchName
}

func (n *metaNames) has(name string) bool { return slices.Contains(n.all, name) }

// isLoader reports whether texts of the tool of that name may load or unload tools.
func (n *metaNames) isLoader(name string) bool {
	return n.isLoaderName(name) && !slices.Contains(n.agents, name)
}

// isLoaderName is isLoader for native results, which the agent's other tools do not return.
func (n *metaNames) isLoaderName(name string) bool {
	switch name {
	case "":
		return false
	case n.search, n.add, n.remove:
		return true
	}
	return n.allProtocols && slices.Contains(loaderNames, name) && !slices.Contains(n.taken, name)
}

const (
	toolSearchName  = "tool_search"  // of all protocols but ProtocolSearchAdd
	searchToolsName = "search_tools" // of ProtocolSearchAdd
)

// loaderNames are the default names, in all protocols, of the tools that load or unload.
var loaderNames = []string{toolSearchName, searchToolsName, "add_tool", "remove_tool"}

// dispatches reports whether calls of that name may have run another tool, which they name.
func (n *metaNames) dispatches(name string) bool {
	return name != "" && (name == n.call || n.allProtocols && name == "call_tool")
}

// answers reports whether results of the tool of that name may answer calls that a stand-in replaced.
func (n *metaNames) answers(name string) bool {
	return name != "" && (name == n.search || n.allProtocols && (name == toolSearchName || name == searchToolsName))
}

// indexers build the searchers of protocols, for when Config.Index is nil. That of the others is Keyword.
var indexers = map[Protocol]search.Indexer{
	ProtocolRegexp:    search.RegexpOptions{CatalogOrder: true}.Index,
	ProtocolSearchAdd: search.RegexpOptions{Descriptions: true}.Index,
	ProtocolRanked:    search.Similarity,
	ProtocolDispatch:  search.BM25,
}

// String returns the protocol's name, such as "tool_search".
func (p Protocol) String() string {
	names := [...]string{"tool_search", "regexp", "search_add", "ranked", "dispatch",
		"native_deferred", "native_references", "native_server", "anchored"}
	if p < 0 || int(p) >= len(names) {
		return fmt.Sprintf("Protocol(%d)", int(p))
	}
	return names[p]
}

func toolNames(tools []*schema.ToolInfo) []string {
	names := make([]string, 0, len(tools))
	for _, t := range tools {
		if t != nil {
			names = append(names, t.Name)
		}
	}
	return names
}

func containsName(tools []*schema.ToolInfo, name string) bool {
	return slices.ContainsFunc(tools, func(t *schema.ToolInfo) bool { return t != nil && t.Name == name })
}
