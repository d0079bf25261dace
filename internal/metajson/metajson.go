// Package metajson is the JSON of meta-tools: the arguments of their calls, as models write them, and
// their results.
package metajson

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/bytedance/sonic"

	"github.com/eino-toolsearch/toolsearch/internal/modeljson"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Bounds on what one call of a meta-tool asks for and says.
const (
	MaxQueries     = 10 // of a search
	MaxSuggestions = 5  // of names near those that were not found
)

// A Request is the parsed arguments of a search.
type Request struct {
	Queries    []string
	Namespace  string   // "" means all
	Limit      int      // 0 means the default
	Unreadable bool     // the arguments could not be read
	StandIn    *StandIn // the call is no search; nil means that it is
}

// ReadRequest reads the arguments of a search leniently: JSON, fenced JSON, JSON in prose or
// in a JSON string, or a bare query; numbers as strings or floats; a query or a list of
// queries, and further queries beside it. The first of the keys is the query's own; the rest are
// accepted too.
func ReadRequest(arguments string, keys ...string) Request {
	if request, ok := readAskedFor(arguments); ok {
		return request
	}
	value, ok := modeljson.Read(arguments)
	if !ok {
		return Request{Unreadable: true}
	}
	object, isObject := value.(map[string]any)
	if !isObject {
		queries, ok := modeljson.Texts(value, MaxQueries)
		return Request{Queries: queries, Unreadable: !ok}
	}
	if s := standInOf(object); s != nil {
		return Request{StandIn: s}
	}
	asked, further := modeljson.First(object, keys...), object["queries"]
	queries, ok := modeljson.Texts(asked, MaxQueries)
	more, moreOK := modeljson.Texts(further, MaxQueries)
	if _, given := object[keys[0]]; asked == nil && further == nil && len(object) > 0 && !given {
		ok = false // the arguments say something, but under no known key
	}
	namespace, _ := modeljson.First(object, "namespace", "server").(string)
	return Request{
		Queries:    together(queries, more),
		Namespace:  naming.Cut(strings.TrimSpace(namespace), naming.MaxBytes),
		Limit:      modeljson.Count(modeljson.First(object, "max_results", "limit", "maxResults")),
		Unreadable: !ok || !moreOK && asked == nil,
	}
}

// together returns the queries and more, each once. An empty query says nothing beside more.
func together(queries, more []string) []string {
	if len(more) == 0 {
		return queries
	}
	var all []string
	for _, query := range slices.Concat(queries, more) {
		if query != "" && !slices.Contains(all, query) {
			all = append(all, query)
		}
	}
	return all
}

// readAskedFor reads only the form that the tool's schema asks for.
func readAskedFor(arguments string) (request Request, ok bool) {
	var object struct {
		Query      *string  `json:"query"`
		Queries    []string `json:"queries"`
		MaxResults int      `json:"max_results"`
	}
	if !modeljson.ReadExactly(arguments, &object) || object.Query == nil {
		return Request{}, false
	}
	queries := modeljson.TextsIn(*object.Query, MaxQueries)
	more := object.Queries[:min(len(object.Queries), MaxQueries)]
	return Request{Queries: together(queries, more), Limit: max(object.MaxResults, 0)}, true
}

// Bounds on a stand-in. A dynamic tool of the program may have a name that is longer than others.
const (
	maxProblemBytes = 1 << 10 // what schemacheck tells of a call
	maxToolName     = 4 * naming.MaxBytes
)

func standInOf(object map[string]any) *StandIn {
	unknown, isUnknown := object["unknown_tool"].(string)
	unloaded, isUnloaded := object["unloaded_tool"].(string)
	misused, isMisused := object["misused_tool"].(string)
	if object["query"] != nil || !isUnknown && !isUnloaded && !isMisused {
		return nil
	}
	// A model can write a stand-in too, of any length.
	short := func(name string) string { return naming.Cut(name, naming.MaxBytes) }
	s := &StandIn{UnknownTool: short(unknown), UnloadedTool: naming.Cut(unloaded, maxToolName), MisusedTool: naming.Cut(misused, maxToolName)}
	problem, _ := object["problem"].(string)
	s.Problem = naming.Cut(problem, maxProblemBytes)
	if list, ok := object["suggestions"].([]any); ok {
		for _, element := range list[:min(len(list), MaxSuggestions)] {
			if name, ok := element.(string); ok {
				s.Suggestions = append(s.Suggestions, short(name))
			}
		}
	}
	return s
}

// A StandIn is the arguments of the call that replaces a call that cannot be run. It gives the
// model a tool result: what to do instead.
type StandIn struct {
	UnknownTool  string   `json:"unknown_tool,omitempty"`
	UnloadedTool string   `json:"unloaded_tool,omitempty"`
	MisusedTool  string   `json:"misused_tool,omitempty"` // of a dispatched call
	Problem      string   `json:"problem,omitempty"`      // with its arguments
	Suggestions  []string `json:"suggestions,omitempty"`
}

func (s *StandIn) String() string { return Write(s) }

// A Dispatch is the parsed arguments of a call of call_tool.
type Dispatch struct {
	Name      string // "" means that the arguments could not be read
	Arguments string // JSON; "{}" if there are none
}

// ReadDispatch reads the arguments of call_tool as leniently as those of a search. Arguments
// that follow the schema are passed on as the model wrote them.
func ReadDispatch(arguments string) Dispatch {
	var exact struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if sonic.ConfigStd.UnmarshalFromString(arguments, &exact) == nil && exact.Name != "" && len(exact.Arguments) > 0 && exact.Arguments[0] == '{' {
		return Dispatch{strings.TrimSpace(exact.Name), string(exact.Arguments)}
	}
	value, ok := modeljson.Read(arguments)
	object, isObject := value.(map[string]any)
	if !ok || !isObject {
		return Dispatch{}
	}
	name, _ := modeljson.First(object, "name", "tool_name", "tool").(string)
	d := Dispatch{Name: strings.TrimSpace(name), Arguments: "{}"}
	switch given := modeljson.First(object, "arguments", "args", "parameters", "params", "input").(type) {
	case nil:
	case string:
		if strings.TrimSpace(given) != "" {
			d.Arguments = modeljson.Unfence(given)
		}
	default:
		d.Arguments = Write(given)
	}
	return d
}

// ReadNames reads a list of tool names as leniently as the arguments of a search. It accepts a
// single name instead of a list, and an object of search_tools' answer instead of a name.
func ReadNames(arguments string) (names []string, ok bool) {
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
		if _, nested := element.([]any); nested {
			continue
		}
		one, _ := modeljson.Texts(element, MaxQueries)
		names = append(names, one...)
	}
	return names, ok && (len(names) > 0 || len(list) == 0 || value == nil)
}

// Write writes a value that always marshals. It escapes <, > and & as encoding/json does.
func Write(v any) string {
	text, err := sonic.ConfigStd.MarshalToString(v)
	if err != nil {
		return "{}"
	}
	return text
}

// ReadResult calls yield with each name that the result of a meta-tool loads or unloads. It
// understands the results of every protocol.
func ReadResult(text string, yield func(name string, unloads bool)) {
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
	}
	if !strings.HasPrefix(text, "{") || sonic.ConfigStd.UnmarshalFromString(text, &result) != nil {
		return
	}
	for _, m := range result.Matches {
		yield(string(m), false)
	}
	for _, names := range [...][]string{result.SelectedTools, result.Added, result.AlreadyLoaded} {
		for _, name := range names {
			yield(name, false)
		}
	}
	for _, name := range result.Removed {
		yield(name, true)
	}
}

// namedMatch is a match: a name, or an object with a name.
type namedMatch string

// UnmarshalJSON implements json.Unmarshaler. It reads anything else as "".
func (m *namedMatch) UnmarshalJSON(text []byte) error {
	var name string
	if sonic.ConfigStd.Unmarshal(text, &name) == nil {
		*m = namedMatch(name)
		return nil
	}
	var object struct {
		Name string `json:"name"`
	}
	_ = sonic.ConfigStd.Unmarshal(text, &object)
	*m = namedMatch(object.Name)
	return nil
}

// Saying returns an answer with only a message.
func Saying(message string) Answer { return Answer{Help: Help{Message: message}} }

// Help is the part that any answer may add: names that were not found, similar names, and what
// to do. Empty keys are left out.
type Help struct {
	NotFound    []string `json:"not_found,omitempty"`
	Suggestions []string `json:"suggestions,omitempty"`
	Message     string   `json:"message,omitempty"`
}

// An Answer is the answer of tool_search by default.
type Answer struct {
	Matches []string `json:"matches"`
	Help

	Tool *Definition `json:"tool,omitempty"` // of ProtocolDispatch: the tool called with wrong arguments
}

func (a Answer) String() string {
	if a.Matches == nil {
		a.Matches = []string{}
	}
	return Write(a)
}

// A Definition is the part of a tool's definition that a model needs to call the tool.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}
