package toolsearch

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bytedance/sonic"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// The arguments of tool calls, as models write them, and the results of meta-tools.

// isObject reports whether a text is a JSON object that every adapter can read.
func isObject(text string) bool {
	if text == "{}" {
		return true
	}
	if !strings.HasPrefix(strings.TrimSpace(text), "{") || !utf8.ValidString(text) || !json.Valid([]byte(text)) { // sonic takes control characters in strings
		return false
	}
	// Some adapters read numbers as float64, which fails on 1e999.
	if !mayOverflow(text) {
		return true
	}
	var object map[string]any
	return sonic.ConfigStd.UnmarshalFromString(text, &object) == nil
}

// mayOverflow reports whether a text has a digit followed by an exponent, or very many digits.
func mayOverflow(text string) bool {
	digits := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			if digits++; digits > 300 {
				return true
			}
		case digits > 0 && (c == 'e' || c == 'E'):
			return true
		default:
			digits = 0
		}
	}
	return false
}

// searchRequest is the parsed arguments of a search.
type searchRequest struct {
	queries    []string
	namespace  string // "" means all
	limit      int    // 0 means the default
	unreadable bool
	stand      *standIn
}

const (
	maxArgumentBytes = 64 << 10 // of one call; the rest is not read
	maxWrappings     = 3        // JSON in a JSON string in a JSON string
)

// readRequest reads the arguments of a search leniently: JSON, fenced JSON, JSON in prose or
// in a JSON string, or a bare query; numbers as strings or floats; a query or a list of
// queries. The first of the keys is the query's own; the rest are accepted too.
func readRequest(arguments string, keys ...string) searchRequest {
	if request, ok := readAskedFor(arguments); ok {
		return request
	}
	value, ok := readValue(arguments)
	if !ok {
		return searchRequest{unreadable: true}
	}
	object, isObject := value.(map[string]any)
	if !isObject {
		queries, ok := queriesOf(value)
		return searchRequest{queries: queries, unreadable: !ok}
	}
	if s := standInOf(object); s != nil {
		return searchRequest{stand: s}
	}
	asked := firstOf(object, keys...)
	queries, ok := queriesOf(asked)
	if _, given := object[keys[0]]; asked == nil && len(object) > 0 && !given {
		ok = false // the arguments say something, but under no known key
	}
	namespace, _ := firstOf(object, "namespace", "server").(string)
	return searchRequest{
		queries:    queries,
		namespace:  naming.Cut(strings.TrimSpace(namespace), naming.MaxBytes),
		limit:      limitOf(firstOf(object, "max_results", "limit", "maxResults")),
		unreadable: !ok,
	}
}

// readValue finds the JSON value in arguments, even inside JSON strings.
func readValue(arguments string) (any, bool) {
	arguments, whole := naming.Cut(arguments, maxArgumentBytes), len(arguments) <= maxArgumentBytes
	value, ok := decodeLoosely(arguments, whole)
	if !ok {
		return nil, false
	}
	for range maxWrappings {
		text, isText := value.(string)
		if !isText {
			break
		}
		inner, ok := decode(unfence(text))
		if !ok {
			break
		}
		value = inner
	}
	return value, true
}

// readAskedFor reads only the form that the tool's schema asks for.
func readAskedFor(arguments string) (request searchRequest, ok bool) {
	var object struct {
		Query      *string `json:"query"`
		MaxResults int     `json:"max_results"`
	}
	if len(arguments) > maxArgumentBytes || strict.UnmarshalFromString(arguments, &object) != nil || object.Query == nil {
		return searchRequest{}, false
	}
	return searchRequest{queries: queriesIn(*object.Query), limit: max(object.MaxResults, 0)}, true
}

// decodeLoosely finds the JSON value in arguments. Text that does not look like JSON is the
// query itself.
func decodeLoosely(arguments string, whole bool) (any, bool) {
	text := unfence(arguments)
	if value, ok := decode(text); ok {
		return value, true
	}
	if !whole {
		// The cut most likely fell into the query: nothing else is this long.
		for _, end := range []string{`"}`, `"]}`, `"`} {
			if value, ok := decode(strings.TrimRight(text, `\`) + end); ok {
				return value, true
			}
		}
	}
	open, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if open >= 0 && end > open {
		return decode(text[open : end+1])
	}
	if strings.ContainsAny(text, "{}[]") {
		return nil, false
	}
	return strings.Trim(text, `"`), true
}

// unfence removes a Markdown code fence around the text.
func unfence(text string) string {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	inner, fenced := strings.CutPrefix(text, "```")
	if !fenced {
		return text
	}
	if language, rest, ok := strings.Cut(inner, "\n"); ok && !strings.ContainsAny(language, "{[\"") {
		inner = rest
	}
	inner, _, _ = strings.Cut(inner, "```")
	return strings.TrimSpace(inner)
}

var strict = sonic.Config{DisallowUnknownFields: true, ValidateString: true, CopyString: true}.Froze()

// decoder keeps numbers as text: a number too large for any Go type is still a number.
var decoder = sonic.Config{UseNumber: true, ValidateString: true, CopyString: true}.Froze()

func decode(text string) (value any, ok bool) {
	if decoder.UnmarshalFromString(text, &value) != nil {
		return nil, false
	}
	return value, true
}

func firstOf(object map[string]any, keys ...string) any {
	for _, key := range keys {
		if value, ok := object[key]; ok && value != nil {
			return value
		}
	}
	return nil
}

// queriesIn reads a query that is written as text. The schema asks for text, so a model that has
// several queries writes the list into it.
func queriesIn(text string) []string {
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		if list := listOf(text); len(list) > 0 {
			return list[:min(len(list), maxQueries)]
		}
	}
	return []string{text}
}

// queriesOf reads a query or a list of queries. Null means no query.
func queriesOf(value any) (queries []string, ok bool) {
	switch v := value.(type) {
	case nil:
		return nil, true
	case string:
		return queriesIn(v), true
	case json.Number:
		return []string{v.String()}, true
	case bool:
		return []string{strconv.FormatBool(v)}, true
	case []any:
		for _, element := range v[:min(len(v), maxQueries)] {
			if _, isList := element.([]any); isList {
				continue
			}
			inner, _ := queriesOf(element)
			queries = append(queries, inner...)
		}
		return queries, len(queries) > 0 || len(v) == 0
	default:
		return nil, false
	}
}

// limitOf reads a number of results. It returns 0, the default, for anything else.
func limitOf(value any) int {
	var text string
	switch v := value.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = strings.TrimSpace(v)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 1) || math.IsNaN(f) || f < 1 {
		return 0
	}
	return int(min(f, math.MaxInt32))
}

func standInOf(object map[string]any) *standIn {
	unknown, isUnknown := object["unknown_tool"].(string)
	unloaded, isUnloaded := object["unloaded_tool"].(string)
	misused, isMisused := object["misused_tool"].(string)
	if object["query"] != nil || !isUnknown && !isUnloaded && !isMisused {
		return nil
	}
	s := &standIn{UnknownTool: naming.Cut(unknown, naming.MaxBytes), UnloadedTool: unloaded, MisusedTool: misused}
	s.Problem, _ = object["problem"].(string)
	if list, ok := object["suggestions"].([]any); ok {
		for _, element := range list[:min(len(list), maxSuggestions)] {
			if name, ok := element.(string); ok {
				s.Suggestions = append(s.Suggestions, name)
			}
		}
	}
	return s
}

// standIn is the arguments of the call that replaces a call that cannot be run. It gives the
// model a tool result: see intercept.go.
type standIn struct {
	UnknownTool  string   `json:"unknown_tool,omitempty"`
	UnloadedTool string   `json:"unloaded_tool,omitempty"`
	MisusedTool  string   `json:"misused_tool,omitempty"` // of a dispatched call
	Problem      string   `json:"problem,omitempty"`      // with its arguments
	Suggestions  []string `json:"suggestions,omitempty"`
}

func (s *standIn) String() string { return toJSON(s) }

// dispatch is the parsed arguments of a call of call_tool.
type dispatch struct {
	Name      string
	Arguments string // JSON; "{}" if there are none
	ok        bool   // the arguments could be read
}

// readDispatch reads the arguments of call_tool as leniently as those of a search. Arguments
// that follow the schema are passed on as the model wrote them.
func readDispatch(arguments string) dispatch {
	var exact struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if sonic.ConfigStd.UnmarshalFromString(arguments, &exact) == nil && exact.Name != "" && len(exact.Arguments) > 0 && exact.Arguments[0] == '{' {
		return dispatch{strings.TrimSpace(exact.Name), string(exact.Arguments), strings.TrimSpace(exact.Name) != ""}
	}
	value, ok := readValue(arguments)
	object, isObject := value.(map[string]any)
	if !ok || !isObject {
		return dispatch{}
	}
	name, _ := firstOf(object, "name", "tool_name", "tool").(string)
	d := dispatch{Name: strings.TrimSpace(name), Arguments: "{}", ok: strings.TrimSpace(name) != ""}
	switch given := firstOf(object, "arguments", "args", "parameters", "params", "input").(type) {
	case nil:
	case string:
		if strings.TrimSpace(given) != "" {
			d.Arguments = unfence(given)
		}
	default:
		d.Arguments = toJSON(given)
	}
	return d
}

// toJSON writes a value that always marshals. It escapes <, > and & as encoding/json does.
func toJSON(v any) string {
	text, err := sonic.ConfigStd.MarshalToString(v)
	if err != nil {
		return "{}"
	}
	return text
}

// listOf reads a list of texts. It returns nil for anything else.
func listOf(text string) (list []string) {
	if sonic.ConfigStd.UnmarshalFromString(text, &list) != nil {
		return nil
	}
	return list
}

// readResult calls yield with each name that the result of a meta-tool loads or unloads. It
// understands the results of every protocol.
func readResult(text string, yield func(name string, unloads bool)) {
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
