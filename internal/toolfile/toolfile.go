// Package toolfile finds the tools in JSON that may come from anywhere: a person's file, a server's answer, the body of
// a request to a model.
//
// The JSON is a stream of values, so lines of objects and one big object are read alike. The
// keys tell what a value is:
//
//	{"name": ..., "description": ..., "parameters": ..., "server": ...}   a tool
//	{"name": ..., "inputSchema": ...}                                     a tool as MCP lists it
//	{"name": ..., "input_schema": ...}                                    a tool as Anthropic reads it
//	{"type": "function", "function": {"name": ...}}                       a tool as OpenAI reads it
//	[tool, ...]   {"tools": [tool, ...]}   {"result": {"tools": ...}}     several
package toolfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Bounds on what is read. The catalogs of the largest gateways have some ten thousand tools and 20 MB. Schemas that
// people write nest up to about 30 deep.
const (
	MaxBytes  = 64 << 20
	MaxTools  = 100_000
	MaxDepth  = 64
	maxAround = 8
	maxLinks  = 40 // as many as Linux follows
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

// Target returns where symbolic links lead to, even if nothing is there yet.
func Target(path string) string {
	for range maxLinks {
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return path
}

// Replace replaces a file as a whole: a concurrent reader, and a reader after a crash, finds the old file or the new
// one. A file that is replaced keeps its mode; a new one gets mode. A symbolic link stays, and its Target is replaced.
func Replace(path string, data []byte, mode os.FileMode) error {
	path = Target(path)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it is gone if everything went well
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// A Tool is one definition as it was found. Its values are valid JSON of any kind, and any of them may be absent. Keys
// that mean nothing to this project are left out.
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

// Tools calls f with every tool in data, in order, and ends with f's first error. Faults of the JSON are of type
// [*Error].
func Tools(data []byte, f func(Tool) error) error {
	tools := 0
	found := func(offset int, members map[string]part) error {
		if tools++; tools > MaxTools {
			return wrong(offset, "more than %d tools", MaxTools)
		}
		t := Tool{make(map[string]json.RawMessage, len(members)), offset}
		for key, p := range members {
			t.Keys[key] = p.raw
		}
		return f(t)
	}
	return Values(data, func(from, to int) error { return part{data[from:to], from}.tools(0, false, found) })
}

// Values calls f with the place of every value of a stream of JSON, in order, and ends with f's first error. The values
// are valid JSON and nest at most MaxDepth deep. Faults of the JSON are of type [*Error].
func Values(data []byte, f func(from, to int) error) error {
	text := bytes.TrimPrefix(data, []byte("\ufeff"))
	in, base := json.NewDecoder(bytes.NewReader(text)), len(data)-len(text)
	for {
		var raw json.RawMessage
		var syntax *json.SyntaxError
		before := base + int(in.InputOffset())
		from := len(data) - len(bytes.TrimLeft(data[before:], " \t\r\n"))
		switch err := in.Decode(&raw); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && TooDeep(data[from:]) || TooDeep(raw):
			return wrong(from, "lists and objects nest more than %d deep", MaxDepth)
		case errors.As(err, &syntax):
			return &Error{from, "not JSON: " + syntax.Error(), base + int(syntax.Offset) - 1}
		case err != nil:
			return &Error{from, "not JSON: the file ends within a value", len(data)}
		}
		if err := f(from, from+len(raw)); err != nil {
			return err
		}
	}
}

// TooDeep reports whether lists and objects nest more than MaxDepth deep in data, which may be JSON. It looks only at
// brackets and quotes.
func TooDeep(data []byte) bool {
	depth, isText := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case isText && c == '\\':
			i++
		case c == '"':
			isText = !isText
		case isText:
		case c == '[' || c == '{':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == ']' || c == '}':
			depth = max(depth-1, 0)
		}
	}
	return false
}

// A part is a value and its offset in the data. The zero part means that there is none.
type part struct {
	raw    json.RawMessage
	offset int
}

func (p part) opens(brackets string) bool {
	return len(p.raw) > 0 && strings.IndexByte(brackets, p.raw[0]) >= 0
}

// tools finds the tools of a value. around is the number of lists and answers around it. An
// object that is listed is a tool even without a name: a server's broken tool does not hide the others.
func (p part) tools(around int, listed bool, found func(offset int, members map[string]part) error) error {
	switch {
	case around > maxAround:
		return wrong(p.offset, "more than %d lists and answers around a tool", maxAround)
	case p.opens("["):
		in := json.NewDecoder(bytes.NewReader(p.raw))
		for _, _ = in.Token(); in.More(); {
			if err := next(in, p.offset).tools(around+1, true, found); err != nil {
				return err
			}
		}
		return nil
	case !p.opens("{"):
		return wrong(p.offset, "want a tool, an object with a name")
	}
	members := membersOf(p)
	function := members["function"]
	_, hasName := members["name"]
	_, hasDescription := members["description"]
	switch {
	case hasName: // whatever other keys it has
		return found(p.offset, members)
	case string(members["type"].raw) == `"function"` && function.opens("{"):
		inner := membersOf(function)
		if server, ok := members["server"]; ok {
			inner["server"] = server
		}
		return found(p.offset, inner)
	case members["result"].opens("{["):
		return members["result"].tools(around+1, false, found)
	case members["tools"].opens("{["):
		return members["tools"].tools(around+1, false, found)
	case members["mcpServers"].opens("{"):
		return wrong(p.offset, "this lists MCP servers, not tools; the command toolsearch can ask them")
	case listed, hasDescription:
		return found(p.offset, members)
	}
	return wrong(p.offset, `want a tool, an object with a "name", or an MCP answer with "tools" or a "result"`)
}

// known are the keys that mean something for tools. An object may have millions of others.
var known = map[string]bool{
	"name": true, "description": true, "server": true,
	"parameters": true, "inputSchema": true, "input_schema": true, "outputSchema": true,
	"type": true, "function": true, "result": true, "tools": true, "mcpServers": true,
}

// membersOf returns the values of the known keys of an object. The last value of a key counts.
func membersOf(object part) map[string]part {
	members := make(map[string]part)
	in := json.NewDecoder(bytes.NewReader(object.raw))
	for _, _ = in.Token(); in.More(); {
		key, _ := in.Token()
		value := next(in, object.offset)
		if name, _ := key.(string); known[name] {
			members[name] = value
		}
	}
	return members
}

// next returns the next value of a list or object that is JSON and begins at an offset.
func next(in *json.Decoder, offset int) part {
	var raw json.RawMessage
	_ = in.Decode(&raw) // it is JSON
	return part{raw, offset + int(in.InputOffset()) - len(raw)}
}
