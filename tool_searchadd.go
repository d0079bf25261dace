package toolsearch

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/conversation"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/modeljson"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// The four tools of ProtocolSearchAdd: search, add, list everything, remove.

const maxBriefDescription = 200 // bytes

// foundTools is the answer of search_tools.
type foundTools struct {
	Found int         `json:"found"` // number of tools that match, even beyond the limit; or of the nearest tools, which are all shown
	Tools []toolBrief `json:"tools"`
	help              // which always has a message
}

type toolBrief struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	FoundBy     string `json:"found_by,omitempty"` // of several queries
	Required    string `json:"required,omitempty"` // parameters
}

func briefOf(info *schema.ToolInfo, t trace) toolBrief {
	description := naming.ShortLine(strings.Join(strings.Fields(info.Desc), " "), maxBriefDescription)
	brief := toolBrief{Name: info.Name, Description: description, FoundBy: t.foundBy[info.Name]}
	if parameters, err := foreign.Guard(info.ToJSONSchema); err == nil && parameters != nil {
		brief.Required = naming.ShortLine(strings.Join(parameters.Required, ", "), maxBriefDescription)
	}
	return brief
}

func (h *host) searchOnlyTool() *metaTool {
	read := func(arguments string) searchRequest {
		request := readRequest(arguments, "query", "pattern", "regex_pattern", "q")
		request.limit = cmp.Or(request.limit, unlimited)
		return request
	}
	return h.searchTool(h.queryParameter("query"), read, func(_ *run, _ searchRequest, result *Result, trace trace) string {
		if trace.wrong != nil && len(result.Matches) == 0 {
			return toJSON(map[string]string{"error": "invalid regex pattern: " + result.Message})
		}
		answer := foundTools{Found: result.Total - trace.near, Tools: make([]toolBrief, len(result.Matches)), help: helpOf(result, trace)}
		for i, m := range result.Matches {
			answer.Tools[i] = briefOf(m.Info, trace)
		}
		if answer.Message == "" {
			key := "found"
			if n := len(result.Matches); n > 0 && answer.Found > n+len(answer.Already) {
				key = "found-more"
			} else if trace.first == "fallback" && trace.foundBy == nil {
				key = "found-near"
			}
			answer.Message = h.prompt.Text(key, "{count}", strconv.Itoa(answer.Found), "{shown}", strconv.Itoa(len(result.Matches)))
		}
		return toJSON(answer)
	})
}

func (h *host) showAllTool() *metaTool {
	// Nil would make Eino leave out the schema, which some providers require.
	none := map[string]*schema.ParameterInfo{}
	show := func(_ context.Context, r *run, _ string) (string, error) {
		answer := struct {
			Total   int      `json:"total"`
			Tools   []string `json:"tools"` // names
			Message string   `json:"message,omitempty"`
		}{Total: r.scope.size(), Tools: []string{}}
		size := 0
		for doc := range r.scope.docs {
			if !r.scope.has(doc) {
				continue
			}
			name := r.scope.docs[doc].Name
			if size += len(toJSON(name)) + 1; size > h.room(r) {
				break
			}
			answer.Tools = append(answer.Tools, name)
		}
		if len(answer.Tools) < answer.Total {
			answer.Message = h.prompt.Text("show-all-more", "{shown}", strconv.Itoa(len(answer.Tools)))
		}
		return toJSON(answer), nil
	}
	return h.metaTool("ShowAllTools", h.names.showAll, "show-all-description", none, show)
}

// changedTools is the answer of add_tool and of remove_tool. Each leaves out the lists that it does not make.
type changedTools struct {
	Added         []string `json:"added,omitzero"`
	AlreadyLoaded []string `json:"already_loaded,omitzero"`
	Removed       []string `json:"removed,omitzero"`
	NotFound      []string `json:"not_found"`
	Suggestions   []string `json:"suggestions,omitempty"`
	Message       string   `json:"message"`
}

func (h *host) addTool() *metaTool {
	return h.listTool("AddTool", h.names.add, "add-description", func(r *run, selected *Result) changedTools {
		answer := changedTools{
			Added: []string{}, AlreadyLoaded: []string{}, NotFound: selected.NotFound, Message: h.prompt.Text("added"),
		}
		for _, name := range matchNames(selected.Matches) {
			if r.seen().Has(r.scope.byName[name]) {
				answer.AlreadyLoaded = append(answer.AlreadyLoaded, name)
			} else {
				answer.Added = append(answer.Added, name)
			}
		}
		if len(answer.NotFound) > 0 {
			answer.Suggestions, answer.Message = r.scope.instead(selected)
		}
		return answer
	})
}

func (h *host) removeTool() *metaTool {
	return h.listTool("RemoveTool", h.names.remove, "remove-description", func(r *run, selected *Result) changedTools {
		answer := changedTools{Removed: []string{}, NotFound: selected.NotFound, Message: h.prompt.Text("removed")}
		for _, name := range matchNames(selected.Matches) {
			if doc := r.scope.byName[name]; r.seen().Has(doc) && !r.isAlways(doc) {
				answer.Removed = append(answer.Removed, name)
			} else {
				answer.NotFound = append(answer.NotFound, name)
			}
		}
		if len(answer.NotFound) > 0 {
			answer.Message = h.prompt.Text("not-removed")
		}
		return answer
	})
}

// listTool returns a meta-tool of a list of tool names. change gets the tools of these that fit an answer.
func (h *host) listTool(typeName, name, description string, change func(r *run, selected *Result) changedTools) *metaTool {
	parameters := map[string]*schema.ParameterInfo{
		"tool_names": {Type: schema.Array, Desc: h.prompt.Text("tool-names"), Required: true, ElemInfo: &schema.ParameterInfo{Type: schema.String}},
	}
	return h.metaTool(typeName, name, description, parameters, func(ctx context.Context, r *run, arguments string) (string, error) {
		names, ok := readNames(arguments)
		if !ok {
			return toJSON(map[string]string{"error": h.prompt.Text("bad-names")}), nil
		}
		matches, missing := r.scope.selectNames(names...)
		selected := &Result{Matches: matches, NotFound: append([]string{}, missing...)}
		h.fit(r, selected, trace{}, func(fitting *Result, _ trace) string { return toJSON(matchNames(fitting.Matches)) })
		answer := change(r, selected)
		if len(matches)+len(missing) == 0 {
			answer.Message = h.prompt.Text("no-names")
		}
		answer.Message = strings.TrimSpace(answer.Message + " " + selected.Message)
		// In the order in which readResult reads the answer: eviction depends on the order.
		loads := slices.Concat(answer.Added, answer.AlreadyLoaded)
		r.recordEffect(ctx, conversation.Effect{Loads: loads, Unloads: answer.Removed})
		return toJSON(answer), nil
	})
}

// readNames reads a list of tool names as leniently as the arguments of a search. It accepts a single name instead of a
// list, and an object of search_tools' answer instead of a name.
func readNames(arguments string) (names []string, ok bool) {
	value, ok := modeljson.Read(arguments)
	if object, isObject := value.(map[string]any); isObject {
		_, asked := object["tool_names"]
		value = modeljson.First(object, "tool_names", "tool_name", "names", "name", "tools", "tool")
		ok = asked || value != nil || len(object) == 0
	}
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	for _, element := range list {
		if object, isObject := element.(map[string]any); isObject {
			element = modeljson.First(object, "name")
		}
		one, _ := modeljson.Texts(element, maxQueries)
		names = append(names, one...)
	}
	return names, ok && (len(names) > 0 || len(list) == 0 || value == nil)
}
