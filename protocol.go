package toolsearch

import (
	"fmt"
	"slices"

	"github.com/cloudwego/eino/components"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Protocol is the meta-tools the model sees and the shape of their results, or the native way
// in which the model searches. What was loaded under one protocol is understood under all: a
// conversation may go on under another.
type Protocol int

const (
	// ProtocolToolSearch is that of Eino v0.9: tool_search(query, max_results) answers with
	// {"matches":[...]}, and what it finds is loaded.
	ProtocolToolSearch Protocol = iota

	// ProtocolRegexp is that of Eino v0.8: tool_search(regex_pattern) looks for names and
	// answers with {"selectedTools":[...]}; what it finds is loaded.
	ProtocolRegexp

	// ProtocolSearchAdd keeps searching and loading apart: search_tools(query) answers with
	// {"found","tools","message"}, add_tool(tool_names) loads, remove_tool(tool_names)
	// unloads, show_all_tools() lists everything. A query is a regular expression over names
	// and descriptions; where it matches nothing, Fuzzy answers.
	ProtocolSearchAdd

	// ProtocolRanked is tool_search(query, limit) with a ranked text of scores and usage
	// hints, and the same as a structured list; what it finds is loaded. Limit is 5 unless
	// given and at most 10.
	ProtocolRanked

	// ProtocolDispatch never changes the tool list, so that a cached prompt stays valid:
	// tool_search answers with definitions, and call_tool(name, arguments) runs a tool.
	ProtocolDispatch

	// ProtocolNativeDeferred hands the catalog to a model that searches by itself. The tools
	// go to it as deferred tools and tool_search as its search tool, whose results are whole
	// definitions: Eino's own way, for the agentic adapters of Claude and of OpenAI's Responses
	// API. In the history of a chat model, of *schema.Message, results are plain text, and only
	// the model gets them in native form, so that other middlewares can read them.
	ProtocolNativeDeferred

	// ProtocolNativeReferences is for the Claude chat model: tool_search is an ordinary tool,
	// and no tool is deferred but by the adapter itself, which makes references of the results.
	// In the history they are plain text too.
	ProtocolNativeReferences

	// ProtocolNativeServer gives the catalog to the model as deferred tools and leaves the
	// search to its provider. Nothing is known here of what the provider finds, so that no
	// policy for tools that are not loaded applies.
	ProtocolNativeServer
)

// ProtocolFor returns the native protocol for a chat model whose adapter is known to take it,
// and otherwise ProtocolToolSearch, which works with every model that calls tools. It knows
// the adapters of eino-ext by their components.GetType; it does not know a model that is
// wrapped in a type of another name.
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
	default:
		return ProtocolToolSearch
	}
}

// metaNames are the names of a middleware's meta-tools; "" where the protocol has none.
type metaNames struct {
	search               string
	add, showAll, remove string   // of ProtocolSearchAdd
	call                 string   // of ProtocolDispatch
	allProtocols         bool     // results of the other protocols' tools are its own as well
	taken                []string // of those tools' names, the ones that dynamic tools have
}

// names returns the names of the meta-tools for a Config.ToolName. A middleware with a
// name of its own prefixes the other tools with it, so that two can be in one agent.
func (p Protocol) names(toolName string) metaNames {
	prefix := ""
	own := toolName == p.defaultToolName()
	if !own {
		prefix = toolName + "_"
	}
	n := metaNames{search: toolName, allProtocols: own}
	switch p {
	case ProtocolSearchAdd:
		n.add, n.showAll, n.remove = prefix+"add_tool", prefix+"show_all_tools", prefix+"remove_tool"
	case ProtocolDispatch:
		n.call = prefix + "call_tool"
	}
	return n
}

func (p Protocol) defaultToolName() string {
	if p == ProtocolSearchAdd {
		return "search_tools"
	}
	return toolSearchName
}

// all returns the names there are.
func (n *metaNames) all() []string {
	names := []string{n.search}
	for _, name := range [...]string{n.add, n.showAll, n.remove, n.call} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// has reports whether one of the meta-tools has that name.
func (n *metaNames) has(name string) bool {
	return name != "" && (name == n.search || name == n.add || name == n.showAll || name == n.remove || name == n.call)
}

// isLoader reports whether results of the tool of that name may load tools or unload them.
func (n *metaNames) isLoader(name string) bool {
	switch name {
	case "":
		return false
	case n.search, n.add, n.remove:
		return true
	}
	return n.allProtocols && slices.Contains(loaderNames, name) && !slices.Contains(n.taken, name)
}

// toolSearchName is the name of the search tool of all protocols but ProtocolSearchAdd.
const toolSearchName = "tool_search"

// loaderNames are the tools of all protocols that load or unload.
var loaderNames = []string{toolSearchName, "search_tools", "add_tool", "remove_tool"}

// dispatches reports whether calls of that name may have run the tool they name.
func (n *metaNames) dispatches(name string) bool {
	return name != "" && (name == n.call || n.allProtocols && name == "call_tool")
}

// answers reports whether results of the tool of that name may answer calls of other tools,
// which a stand-in replaced.
func (n *metaNames) answers(name string) bool {
	return name != "" && (name == n.search || n.allProtocols && (name == toolSearchName || name == "search_tools"))
}

// index is the searcher of the protocol when Config.Index is nil.
func (p Protocol) index() search.Indexer {
	switch p {
	case ProtocolRegexp:
		return search.Regexp
	case ProtocolSearchAdd:
		return search.RegexpOptions{Descriptions: true}.Index
	case ProtocolRanked:
		return search.Similarity
	case ProtocolDispatch:
		return search.BM25
	default:
		return nil // Keyword
	}
}

// fallback is the searcher asked next when Config.Fallback is nil.
func (p Protocol) fallback() search.Indexer {
	if p == ProtocolSearchAdd {
		return search.Fuzzy
	}
	return nil
}

// String returns the protocol's name.
func (p Protocol) String() string {
	names := [...]string{"tool_search", "regexp", "search_add", "ranked", "dispatch",
		"native_deferred", "native_references", "native_server"}
	if p < 0 || int(p) >= len(names) {
		return fmt.Sprintf("Protocol(%d)", int(p))
	}
	return names[p]
}
