// Package toolfile finds the tools in JSON that may come from anywhere: a person's file, a
// server's answer, the body of a request to a model. Package eval and the command line tool
// read their catalogs with it.
//
// The JSON is a stream of values, so lines of objects and one big object are read alike. The
// keys tell what a value is:
//
//	{"name": ..., "description": ..., "parameters": ..., "server": ...}   a tool
//	{"name": ..., "inputSchema": ...}                                     a tool as MCP lists it
//	{"name": ..., "input_schema": ...}                                    a tool as Anthropic takes it
//	{"type": "function", "function": {"name": ...}}                       a tool as OpenAI takes it
//	[tool, ...]   {"tools": [tool, ...]}   {"result": {"tools": ...}}     several
//
// Reading costs a small multiple of the bytes, however deep they nest: a value is looked at
// once for each list and answer around it, of which there are at most maxAround, and nothing
// is copied until a tool is found.
package toolfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Bounds on what is read. The catalogs of the largest gateways have some ten thousand tools
// and 20 MB. Schemas that people write nest up to about 30 deep.
const (
	MaxBytes  = 64 << 20
	MaxTools  = 100_000
	MaxDepth  = 64
	maxAround = 8
)

// An Error is a fault of the JSON and where it is.
type Error struct {
	Offset int    // in bytes from the beginning of the data
	Text   string // what is wrong
	At     int    // where the parser stopped, if that is beyond Offset
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

func wrong(offset int, format string, args ...any) error {
	return &Error{Offset: offset, Text: fmt.Sprintf(format, args...)}
}

// Read reads all of r. It fails if there are more than MaxBytes.
func Read(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err == nil && len(data) > MaxBytes {
		err = fmt.Errorf("more than %d MiB", MaxBytes>>20)
	}
	return data, err
}

// A Tool is one definition as it was found. Its values are valid JSON of any kind, and any of
// them may be absent. Keys that mean nothing to this project are left out.
type Tool struct {
	Keys   map[string]json.RawMessage
	Offset int // where the object begins
}

// Schema returns the parameters, whichever key has them. Nil means that the tool has none.
func (t Tool) Schema() json.RawMessage {
	for _, key := range []string{"parameters", "inputSchema", "input_schema"} {
		if raw := t.Keys[key]; raw != nil && string(raw) != "null" {
			return raw
		}
	}
	return nil
}

// Tools calls f with every tool in data, in order, and ends with f's first error. Faults of the
// JSON are of type [*Error].
func Tools(data []byte, f func(Tool) error) error {
	w := walker{data: data, found: f}
	return Values(data, func(from, to int) error { return w.value(from, to, 0, false) })
}

// Values calls f with the place of every value of a stream of JSON, in order, and ends with f's
// first error. The values are valid JSON and nest at most MaxDepth deep. Faults of the JSON are
// of type [*Error].
func Values(data []byte, f func(from, to int) error) error {
	i := 0
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		i = len("\ufeff")
	}
	for i = skipBlanks(data, i); i < len(data); i = skipBlanks(data, i) {
		to, deep := end(data, i)
		if deep {
			return wrong(i, "lists and objects nest more than %d deep", MaxDepth)
		}
		if !json.Valid(data[i:to]) {
			return syntaxError(data, i, to)
		}
		if err := f(i, to); err != nil {
			return err
		}
		i = to
	}
	return nil
}

// TooDeep reports whether lists and objects nest more than MaxDepth deep in data, which may be
// JSON. It looks only at brackets and quotes, and keeps nothing.
func TooDeep(data []byte) bool {
	for i := skipBlanks(data, 0); i < len(data); i = skipBlanks(data, i) {
		to, deep := end(data, i)
		if deep {
			return true
		}
		i = to
	}
	return false
}

// syntaxError says what is wrong with a value that is not JSON.
func syntaxError(data []byte, from, to int) error {
	syntax := (*json.SyntaxError)(nil)
	if !errors.As(json.Unmarshal(data[from:to], new(any)), &syntax) {
		return wrong(from, "not JSON")
	}
	at := from + int(syntax.Offset) - 1
	if at >= len(data)-1 && to == len(data) && syntax.Error() == "unexpected end of JSON input" {
		return &Error{from, "not JSON: the file ends within a value", len(data)}
	}
	return &Error{from, "not JSON: " + syntax.Error(), at}
}

// end returns where the value that begins at data[i] ends. It looks only at brackets and quotes, so
// the value need not be JSON. It gives up where brackets nest more than MaxDepth deep.
func end(data []byte, i int) (to int, deep bool) {
	depth := 0
	for ; i < len(data); i++ {
		switch data[i] {
		case '"':
			if i = endOfString(data, i) - 1; depth == 0 {
				return i + 1, false
			}
		case '[', '{':
			if depth++; depth > MaxDepth {
				return i, true
			}
		case ']', '}':
			if depth--; depth <= 0 {
				return i + 1, false
			}
		default:
			if depth == 0 { // a number, a word or rubbish
				for i++; i < len(data) && !bytes.ContainsRune([]byte(" \t\r\n,:[]{}\""), rune(data[i])); i++ {
				}
				return i, false
			}
		}
	}
	return len(data), false
}

// endOfString returns the offset after the string that begins at data[i].
func endOfString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

func skipBlanks(data []byte, i int) int {
	return len(data) - len(bytes.TrimLeft(data[i:], " \t\r\n"))
}

type walker struct {
	data  []byte
	found func(Tool) error
	tools int
}

// value finds the tools of the value data[from:to], which is JSON. around is the number of
// lists and answers around the value. An object that is listed is a tool even without a name:
// a server's broken tool does not hide the others.
func (w *walker) value(from, to, around int, listed bool) error {
	if around > maxAround {
		return wrong(from, "more than %d lists and answers around a tool", maxAround)
	}
	switch w.data[from] {
	case '[':
		return w.elements(from, func(from, to int) error { return w.value(from, to, around+1, true) })
	case '{':
	default:
		return wrong(from, "want a tool, an object with a name")
	}
	places := w.members(from)
	kind := w.data[places["type"].from:places["type"].to]
	function := places["function"]
	switch {
	case places["name"].to > 0: // whatever other keys it has
		return w.tool(from, places)
	case string(kind) == `"function"` && w.opens(function, "{"):
		inner := w.members(function.from)
		if server, ok := places["server"]; ok {
			inner["server"] = server
		}
		return w.tool(from, inner)
	case w.opens(places["result"], "{["):
		return w.value(places["result"].from, places["result"].to, around+1, false)
	case w.opens(places["tools"], "{["):
		return w.value(places["tools"].from, places["tools"].to, around+1, false)
	case w.opens(places["mcpServers"], "{"):
		return wrong(from, "this lists MCP servers, not tools; the command toolsearch can ask them")
	case listed, places["description"].to > 0:
		return w.tool(from, places)
	}
	return wrong(from, `want a tool, an object with a "name", or an MCP answer with "tools" or a "result"`)
}

// A place is a part of the data. The zero place means that there is none.
type place struct{ from, to int }

func (w *walker) opens(p place, brackets string) bool {
	return p.to > 0 && bytes.IndexByte([]byte(brackets), w.data[p.from]) >= 0
}

func (w *walker) tool(from int, places map[string]place) error {
	if w.tools++; w.tools > MaxTools {
		return wrong(from, "more than %d tools", MaxTools)
	}
	t := Tool{make(map[string]json.RawMessage, len(places)), from}
	for key, p := range places {
		t.Keys[key] = json.RawMessage(w.data[p.from:p.to:p.to])
	}
	return w.found(t)
}

// elements calls f with the place of every element of the list that begins at from.
func (w *walker) elements(from int, f func(from, to int) error) error {
	for i := skipBlanks(w.data, from+1); w.data[i] != ']'; {
		to, _ := end(w.data, i)
		if err := f(i, to); err != nil {
			return err
		}
		if i = skipBlanks(w.data, to); w.data[i] == ',' {
			i = skipBlanks(w.data, i+1)
		}
	}
	return nil
}

// known are the keys that mean something for tools. An object may have millions of others.
var known = map[string]bool{
	"name": true, "description": true, "server": true,
	"parameters": true, "inputSchema": true, "input_schema": true,
	"type": true, "function": true, "result": true, "tools": true, "mcpServers": true,
}

// members returns the values of the known keys of the object that begins at from. The last
// value of a key counts.
func (w *walker) members(from int) map[string]place {
	places := make(map[string]place)
	for i := skipBlanks(w.data, from+1); w.data[i] != '}'; {
		to := endOfString(w.data, i)
		key := w.data[i+1 : to-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			var plain string
			_ = json.Unmarshal(w.data[i:to], &plain) // it is a string, since the data is JSON
			key = []byte(plain)
		}
		i = skipBlanks(w.data, to)
		i = skipBlanks(w.data, i+1)
		to, _ = end(w.data, i)
		if known[string(key)] {
			places[string(key)] = place{i, to}
		}
		if i = skipBlanks(w.data, to); w.data[i] == ',' {
			i = skipBlanks(w.data, i+1)
		}
	}
	return places
}
