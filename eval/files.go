package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
)

// The files. Both kinds are read as a stream of JSON values, so lines of objects and one big
// object are read alike. The keys tell what a value is:
//
//	{"name": ..., "description": ..., "parameters": ..., "server": ...}   a tool
//	{"name": ..., "description": ..., "inputSchema": ...}                 a tool as MCP lists it
//	[tool, ...]   {"tools": [tool, ...]}   {"result": {"tools": ...}}     several
//
//	{"id": ..., "query": ..., "gold": [...], "accept": [[...], ...], "kind": ...}   a query

// A Query is a text to search for and what it should find.
type Query struct {
	ID     string
	Text   string
	Groups [][]string // tool names; the tools of a group are interchangeable
	Kind   string     // a label to report by; "" means none
	File   string     // the file it was read from, for errors; "" means none
	Line   int
}

// where names the query in an error.
func (q Query) where() string {
	if q.File == "" {
		return fmt.Sprintf("query %q", q.ID)
	}
	return fmt.Sprintf("%s:%d: query %q", q.File, q.Line, q.ID)
}

// LoadCatalog reads tools from a file, as ReadCatalog does.
func LoadCatalog(path string) (*Catalog, error) {
	return load(path, ReadCatalog)
}

// LoadQueries reads queries from a file, as ReadQueries does.
func LoadQueries(path string) ([]Query, error) {
	return load(path, ReadQueries)
}

func load[T any](path string, read func(io.Reader, string) (T, error)) (T, error) {
	file, err := os.Open(path)
	if err != nil {
		var none T
		return none, fmt.Errorf("eval: %w", err)
	}
	defer file.Close()
	return read(file, path)
}

// ReadCatalog reads tools in one of two forms. The first is JSONL with one object {"name",
// "description", "parameters", "server"} a line. The second is the answer of an MCP server
// to tools/list: the whole JSON-RPC response, its result, or the list alone. Several answers
// in a row make one catalog. The parameters are a JSON schema. All keys but the name are
// optional, and other keys are ignored.
//
// Errors name the line, and the file as the argument file does.
func ReadCatalog(r io.Reader, file string) (*Catalog, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("eval: %s: %w", file, err)
	}
	return parseCatalog(file, data)
}

// ReadQueries reads queries: JSONL with one object {"id", "query", "gold", "accept",
// "kind"} a line. gold is a list of tool names, each a group of its own. accept is a list of
// groups of interchangeable tools, and replaces gold. id defaults to the line number. kind is
// optional.
//
// Errors name the line, and the file as the argument file does.
func ReadQueries(r io.Reader, file string) ([]Query, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("eval: %s: %w", file, err)
	}
	return parseQueries(file, data)
}

// A source is a file's content. It turns offsets into line numbers.
type source struct {
	file string
	data []byte
}

// at returns an error at an offset.
func (s source) at(offset int, format string, args ...any) error {
	return fmt.Errorf("eval: %s:%d: %w", s.file, s.line(offset), fmt.Errorf(format, args...))
}

func (s source) line(offset int) int {
	return 1 + bytes.Count(s.data[:min(offset, len(s.data))], []byte("\n"))
}

// values calls f with every JSON value of the stream and its offset.
func (s source) values(f func(raw json.RawMessage, offset int) error) error {
	data := bytes.TrimPrefix(s.data, []byte("\ufeff"))
	bom := len(s.data) - len(data)
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var raw json.RawMessage
		before := int(decoder.InputOffset())
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			begins := bom + before
			for begins < len(s.data) && strings.ContainsRune(" \t\r\n", rune(s.data[begins])) {
				begins++
			}
			// A brace left open on one line may cause an error on a later line.
			offset, text := len(s.data), "the file ends within a value"
			if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
				offset, text = bom+int(syntax.Offset)-1, syntax.Error()
			}
			if s.line(offset) == s.line(begins) {
				return s.at(begins, "not JSON: %s", text)
			}
			return s.at(begins, "not JSON: %s (on line %d)", text, s.line(offset))
		}
		if err := f(raw, bom+int(decoder.InputOffset())-len(raw)); err != nil {
			return err
		}
	}
}

// elements calls f with every element of an array, or every key and value of an object, and
// its offset.
func elements(raw json.RawMessage, offset int, f func(key string, raw json.RawMessage, offset int) error) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	open, err := decoder.Token()
	if err != nil {
		return err
	}
	for decoder.More() {
		key := ""
		if open == json.Delim('{') {
			token, err := decoder.Token()
			if err != nil {
				return err
			}
			key = token.(string)
		}
		var element json.RawMessage
		if err := decoder.Decode(&element); err != nil {
			return err
		}
		if err := f(key, element, offset+int(decoder.InputOffset())-len(element)); err != nil {
			return err
		}
	}
	return nil
}

// decode describes errors in terms of the file, not of Go.
func (s source) decode(raw json.RawMessage, offset int, into any) error {
	err := json.Unmarshal(raw, into)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		want := map[string]string{"string": "a string", "slice": "a list"}[wrong.Type.Kind().String()]
		if want != "" && wrong.Field != "" {
			return s.at(offset, "%q: want %s, not a JSON %s", wrong.Field, want, wrong.Value)
		}
	}
	if err != nil {
		return s.at(offset, "%w", err)
	}
	return nil
}

type catalogReader struct {
	source
	catalog *Catalog
	lineOf  map[string]int // name -> line where it was first seen
}

func parseCatalog(file string, data []byte) (*Catalog, error) {
	r := &catalogReader{source{file, data}, &Catalog{servers: make(map[string]string)}, make(map[string]int)}
	if err := r.values(r.value); err != nil {
		return nil, err
	}
	if len(r.catalog.Tools) == 0 {
		return nil, fmt.Errorf(`eval: %s: no tools; want a line {"name", "description", "parameters"} for each, or MCP's answer to tools/list`, file)
	}
	return r.catalog, nil
}

// value adds the tool that raw is, or the tools that it contains.
func (r *catalogReader) value(raw json.RawMessage, offset int) error {
	switch raw[0] {
	case '[':
		return elements(raw, offset, func(_ string, raw json.RawMessage, offset int) error { return r.value(raw, offset) })
	case '{':
	default:
		return r.at(offset, "want a tool, an object with a name")
	}
	found := false
	err := elements(raw, offset, func(key string, raw json.RawMessage, offset int) error {
		switch {
		case key == "name":
			found = true
		case key == "tools" && raw[0] == '[', key == "result" && raw[0] == '{':
			found = true
			return r.value(raw, offset)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !found {
		return r.at(offset, `want a tool, an object with a "name", or an MCP answer with "tools" or a "result"`)
	}
	return r.tool(raw, offset)
}

func (r *catalogReader) tool(raw json.RawMessage, offset int) error {
	var tool struct {
		Name        *string         `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Server      string          `json:"server"`
	}
	if err := r.decode(raw, offset, &tool); err != nil {
		return err
	}
	if tool.Name == nil { // an object that contained tools
		return nil
	}
	name := *tool.Name
	if name == "" {
		return r.at(offset, "a tool without a name")
	}
	if first, taken := r.lineOf[name]; taken {
		return r.at(offset, "two tools named %q, the other one on line %d", name, first)
	}
	r.lineOf[name] = r.line(offset)
	info := &schema.ToolInfo{Name: name, Desc: tool.Description}
	parameters := tool.Parameters
	if parameters == nil {
		parameters = tool.InputSchema
	}
	if parameters != nil && string(parameters) != "null" {
		var s jsonschema.Schema
		if err := json.Unmarshal(parameters, &s); err != nil {
			return r.at(offset, "tool %q: parameters: %w", name, err)
		}
		info.ParamsOneOf = schema.NewParamsOneOfByJSONSchema(&s)
	}
	if tool.Server != "" {
		r.catalog.servers[name] = tool.Server
	}
	r.catalog.Tools = append(r.catalog.Tools, info)
	return nil
}

func parseQueries(file string, data []byte) ([]Query, error) {
	s := source{file, data}
	var queries []Query
	lineOf := make(map[string]int)
	err := s.values(func(raw json.RawMessage, offset int) error {
		if raw[0] != '{' {
			return s.at(offset, `want an object with "query" and "gold"`)
		}
		var row struct {
			ID     string     `json:"id"`
			Query  string     `json:"query"`
			Gold   []string   `json:"gold"`
			Accept [][]string `json:"accept"`
			Kind   string     `json:"kind"`
		}
		if err := s.decode(raw, offset, &row); err != nil {
			return err
		}
		query := Query{ID: row.ID, Text: row.Query, Groups: row.Accept, Kind: row.Kind, File: file, Line: s.line(offset)}
		if query.ID == "" {
			query.ID = strconv.Itoa(query.Line)
		}
		if first, taken := lineOf[query.ID]; taken {
			return s.at(offset, "two queries with the id %q, the other one on line %d", query.ID, first)
		}
		lineOf[query.ID] = query.Line
		if strings.TrimSpace(query.Text) == "" {
			return s.at(offset, `no "query"`)
		}
		if len(query.Groups) == 0 {
			for i, name := range row.Gold {
				if !slices.Contains(row.Gold[:i], name) {
					query.Groups = append(query.Groups, []string{name})
				}
			}
		}
		if len(query.Groups) == 0 {
			return s.at(offset, `no "gold" and no "accept"`)
		}
		if slices.ContainsFunc(query.Groups, func(group []string) bool { return len(group) == 0 }) {
			return s.at(offset, `an empty group in "accept"`)
		}
		queries = append(queries, query)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(queries) == 0 {
		return nil, fmt.Errorf(`eval: %s: no queries; want a line {"id", "query", "gold"} for each`, file)
	}
	return queries, nil
}
