package toolsearch

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bytedance/sonic"

	"github.com/eino-toolsearch/toolsearch/internal/modeljson"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// What the JSON of tool calls says: the arguments of meta-tools, as models write them, and the results of meta-tools.

// searchRequest is the parsed arguments of a search.
type searchRequest struct {
	queries    []string
	namespace  string // "" means all
	limit      int    // 0 means the default
	unreadable bool
	stand      *standIn
}

// readRequest reads the arguments of a search leniently: JSON, fenced, in prose or in a JSON string, or a bare query;
// numbers as strings or floats; a query or a list of queries, and further queries beside it. The first key is the
// query's own; the others are accepted too.
func readRequest(arguments string, keys ...string) searchRequest {
	if request, ok := readAskedFor(arguments); ok {
		return request
	}
	value, ok := modeljson.Read(arguments)
	object, isObject := value.(map[string]any)
	if !isObject {
		queries, areTexts := modeljson.Texts(value, maxAsked)
		return searchRequest{queries: together(queries, nil), unreadable: !ok || !areTexts}
	}
	if s := standInOf(object); s != nil {
		return searchRequest{stand: s}
	}
	asked, further := modeljson.First(object, keys...), object["queries"]
	queries, ok := modeljson.Texts(asked, maxAsked)
	more, moreOK := modeljson.Texts(further, maxAsked)
	if _, given := object[keys[0]]; asked == nil && further == nil && len(object) > 0 && !given {
		ok = false // the arguments say something, but under no known key
	}
	namespace, _ := modeljson.First(object, "namespace", "server").(string)
	return searchRequest{
		queries:    together(queries, more),
		namespace:  naming.Cut(strings.TrimSpace(namespace), naming.MaxBytes),
		limit:      modeljson.Count(modeljson.First(object, "max_results", "limit", "maxResults")),
		unreadable: !ok || !moreOK && asked == nil,
	}
}

func readKeywords(arguments string) searchRequest {
	return readRequest(arguments, "query", "q", "keywords")
}

// together returns the queries and more, each once. If there are several, it drops empty ones.
func together(queries, more []string) (all []string) {
	if len(queries) < 2 && len(more) == 0 {
		return queries
	}
	for _, query := range slices.Concat(queries, more) {
		if query = strings.TrimSpace(query); query != "" && !slices.Contains(all, query) {
			all = append(all, query)
		}
	}
	return all
}

// readAskedFor reads only the form that most calls have: a query, and perhaps a limit.
func readAskedFor(arguments string) (request searchRequest, ok bool) {
	var object struct {
		Query      string `json:"query"`
		MaxResults int    `json:"max_results"`
	}
	if !modeljson.ReadExactly(arguments, &object) || object.Query == "" || strings.Contains(object.Query, "[") {
		return searchRequest{}, false
	}
	return searchRequest{queries: []string{object.Query}, limit: max(object.MaxResults, 0)}, true
}

// Bounds on a stand-in. The name of a dynamic tool may be longer than naming.MaxBytes.
const (
	maxProblemBytes = 1 << 10 // what schemacheck tells of a call
	maxToolName     = 4 * naming.MaxBytes
)

func standInOf(object map[string]any) *standIn {
	s := &standIn{}
	if object["query"] != nil || sonic.ConfigStd.UnmarshalFromString(toJSON(object), s) != nil ||
		s.UnknownTool == "" && s.UnloadedTool == "" && s.MisusedTool == "" {
		return nil
	}
	// A model can write a stand-in too, of any length.
	s.UnknownTool, s.UnloadedTool = naming.Cut(s.UnknownTool, naming.MaxBytes), naming.Cut(s.UnloadedTool, maxToolName)
	s.MisusedTool, s.Problem = naming.Cut(s.MisusedTool, maxToolName), naming.Cut(s.Problem, maxProblemBytes)
	s.Suggestions = s.Suggestions[:min(len(s.Suggestions), maxSuggestions)]
	for i, name := range s.Suggestions {
		s.Suggestions[i] = naming.Cut(name, naming.MaxBytes)
	}
	return s
}

// standIn is the arguments of the call that replaces a call that cannot be run: see intercept.go.
type standIn struct {
	UnknownTool  string   `json:"unknown_tool,omitempty"`
	UnloadedTool string   `json:"unloaded_tool,omitempty"`
	MisusedTool  string   `json:"misused_tool,omitempty"` // of a dispatched call
	Problem      string   `json:"problem,omitempty"`      // with its arguments
	Suggestions  []string `json:"suggestions,omitempty"`
}

// readDispatch reads the arguments of call_tool as leniently: the name of a tool, "" if they could not be read, and its
// arguments as JSON, "{}" if there are none. Arguments that follow the schema are passed on as the model wrote them.
func readDispatch(text string) (tool, arguments string) {
	var exact struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if sonic.ConfigStd.UnmarshalFromString(text, &exact) == nil && exact.Name != "" && bytes.HasPrefix(exact.Arguments, []byte("{")) {
		return strings.TrimSpace(exact.Name), string(exact.Arguments)
	}
	value, _ := modeljson.Read(text)
	object, _ := value.(map[string]any) // nil has no keys
	tool, _ = modeljson.First(object, "name", "tool_name", "tool").(string)
	arguments = "{}"
	switch given := modeljson.First(object, "arguments", "args", "parameters", "params", "input").(type) {
	case nil:
	case string:
		if strings.TrimSpace(given) != "" {
			arguments = modeljson.Unfence(given)
		}
	default:
		arguments = toJSON(given)
	}
	return strings.TrimSpace(tool), arguments
}

// toJSON writes a value that always marshals. It escapes <, > and & as encoding/json does.
func toJSON(v any) string {
	text, err := sonic.ConfigStd.MarshalToString(v)
	if err != nil {
		return "{}"
	}
	return text
}

// readResult returns the names that the result of a meta-tool, of any protocol, loads, unloads and defines.
func readResult(text string) (loads, unloads, defines []string) {
	// The last line of a ranked result is JSON; the rest is text.
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		text = strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	}
	var result struct {
		Matches       []namedMatch `json:"matches"`
		SelectedTools []string     `json:"selectedTools"`
		Added         []string     `json:"added"`
		AlreadyLoaded []string     `json:"already_loaded"`
		Removed       []string     `json:"removed"`
		Tool          namedMatch   `json:"tool"` // called with wrong arguments; "" means none
	}
	if !strings.HasPrefix(text, "{") || sonic.ConfigStd.UnmarshalFromString(text, &result) != nil {
		return nil, nil, nil
	}
	for _, m := range append(result.Matches, result.Tool) {
		if loads = append(loads, m.Name); m.Parameters != nil {
			defines = append(defines, m.Name)
		}
	}
	return slices.Concat(loads, result.SelectedTools, result.Added, result.AlreadyLoaded), result.Removed, defines
}

// namedMatch is a match: a name, or an object with a name.
type namedMatch struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
}

// UnmarshalJSON implements json.Unmarshaler. It reads anything else as "".
func (m *namedMatch) UnmarshalJSON(text []byte) error {
	type plain namedMatch
	if sonic.ConfigStd.Unmarshal(text, &m.Name) != nil && sonic.ConfigStd.Unmarshal(text, (*plain)(m)) != nil {
		*m = namedMatch{}
	}
	return nil
}

func answerOf(r *Result, t trace) searchAnswer {
	return searchAnswer{matchNames(r.Matches), helpOf(r, t)}
}

// help is the part that any answer may add: matches that the model sees already, copies of its tools, tools that may be
// needed together with them, names that were not found, similar names, and what to do.
type help struct {
	Already     []string `json:"already_loaded,omitempty"`
	Copies      []string `json:"same_tool_on_other_servers,omitempty"`
	Related     []string `json:"related_not_loaded,omitempty"`
	NotFound    []string `json:"not_found,omitempty"`
	Suggestions []string `json:"suggestions,omitempty"`
	Message     string   `json:"message,omitempty"`
}

func helpOf(r *Result, t trace) help {
	return help{t.alreadyShown, t.copies, t.related, r.NotFound, r.Suggestions, r.Message}
}

// searchAnswer is the answer of tool_search by default.
type searchAnswer struct {
	Matches []string `json:"matches"` // not nil
	help
}

func matchNames(matches []Match) []string {
	names := make([]string, len(matches))
	for i, m := range matches {
		names[i] = m.Info.Name
	}
	return names
}

// definition is the part of a tool's definition that a model needs to call the tool.
type definition struct {
	Name        string          `json:"name"`
	FoundBy     string          `json:"found_by,omitempty"` // the queries that found it, of several
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	isCut       bool            // texts are shorter than the tool's own
}
