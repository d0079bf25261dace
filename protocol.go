package toolsearch

import (
	"context"
	"fmt"
	"slices"

	"github.com/eino-toolsearch/toolsearch/search"
)

// Protocol is the meta-tools the model sees and the shape of their results. What was loaded
// under one protocol is understood under all: a conversation may go on under another.
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
)

// metaNames are the names of a middleware's meta-tools; "" where the protocol has none.
type metaNames struct {
	search               string
	add, showAll, remove string   // of ProtocolSearchAdd
	call                 string   // of ProtocolDispatch
	others               bool     // results of the other protocols' tools are its own as well
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
	n := metaNames{search: toolName, others: own}
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
	return DefaultToolName
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

// reads reports whether results of the tool of that name may load tools or unload them.
func (n *metaNames) reads(name string) bool {
	switch name {
	case "":
		return false
	case n.search, n.add, n.remove:
		return true
	}
	return n.others && slices.Contains(foreignNames, name) && !slices.Contains(n.taken, name)
}

// foreignNames are the tools of all protocols that load or unload.
var foreignNames = []string{DefaultToolName, "search_tools", "add_tool", "remove_tool"}

// dispatches reports whether calls of that name may have run the tool they name.
func (n *metaNames) dispatches(name string) bool {
	return name != "" && (name == n.call || n.others && name == "call_tool")
}

// answers reports whether results of the tool of that name may answer calls of other tools,
// which a stand-in replaced.
func (n *metaNames) answers(name string) bool {
	return name != "" && (name == n.search || n.others && (name == DefaultToolName || name == "search_tools"))
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

// resultsCap is the default of Config.MaxResultsCap.
func (p Protocol) resultsCap() int {
	if p == ProtocolRanked {
		return 10
	}
	return DefaultMaxResultsCap
}

// String returns the protocol's name.
func (p Protocol) String() string {
	names := [...]string{"tool_search", "regexp", "search_add", "ranked", "dispatch"}
	if p < 0 || int(p) >= len(names) {
		return fmt.Sprintf("Protocol(%d)", int(p))
	}
	return names[p]
}

// host is where a meta-tool works: the run that its call belongs to, or a catalog alone.
type host struct {
	names  metaNames
	prompt *prompt
	scope  func(ctx context.Context) (scope, error)
	note   func(ctx context.Context, e nameEffect)  // told what a call loads; nil: nobody
	event  func(ctx context.Context, e SearchEvent) // Config.OnSearch; nil: nobody

	// Of a run; only ProtocolSearchAdd asks.
	wasLoaded func(ctx context.Context, name string) (loaded, known bool) // at the last model call
	isPinned  func(ctx context.Context, name string) bool                 // always loaded
}

// nameEffect is effect by names.
type nameEffect struct{ loads, unloads []string }
