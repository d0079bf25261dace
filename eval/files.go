package eval

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
	"github.com/eino-toolsearch/toolsearch/search"
)

// The files. Both kinds are streams of JSON values, so lines of objects and one big object are
// read alike. Package toolfile finds the tools. A query is
//
//	{"id": ..., "query": ..., "gold": [...], "accept": [[...], ...], "kind": ..., "max_rank": ...}

// A Query is a text to search for and what it should find.
type Query struct {
	ID     string
	Text   string
	Groups [][]string // tool names; the tools of a group are interchangeable
	Kind   string     // a label to report by; "" means none

	// MaxRank is the rank, from 1, that each of the groups must reach, for toolsearch eval and
	// toolsearchtest.TestCatalog. 0 means that any rank will do.
	MaxRank int

	// What Run measured, in the queries of its Report.
	Found  []string  // names of the tools found, best first, at most Options.Depth
	Ranks  []int     // rank of each of Groups, from 1; 0 means not found
	Values []float64 // value of each of Report.Metrics

	file string // that it was read from; "" means none
	line int
}

// A Catalog is a set of tools and the servers they come from. A Catalog literal needs only
// Tools.
type Catalog struct {
	Tools   []*schema.ToolInfo
	servers map[string]string // tool name -> server, for the tools whose file names a server
}

// Annotate returns the tool's server in the catalog's file as its namespace. If the file
// names no server, Annotate returns what [search.Annotate] derives from the tool's name.
// It is for toolsearch.Config.Annotate.
func (c *Catalog) Annotate(info *schema.ToolInfo) search.Annotation {
	if server := c.servers[info.Name]; server != "" {
		return search.Annotation{Namespace: server}
	}
	return search.Annotate(info)
}

// Compile makes the catalog searchable with index. The documents have the annotations of
// [Catalog.Annotate]. A nil index means search.Keyword.
func (c *Catalog) Compile(ctx context.Context, index search.Indexer) (*toolsearch.Catalog, error) {
	return toolsearch.NewCatalogFromInfos(ctx, c.Tools, &toolsearch.CatalogOptions{Annotate: c.Annotate, Index: index})
}

// where names the query in an error.
func (q Query) where() string {
	if q.file == "" {
		return fmt.Sprintf("query %q", q.ID)
	}
	return fmt.Sprintf("%s:%d: query %q", q.file, q.line, q.ID)
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
		return *new(T), fmt.Errorf("eval: %w", err)
	}
	defer file.Close()
	return read(file, path)
}

// ReadCatalog reads tools in one of these forms:
//
//   - JSONL with one object {"name", "description", "parameters", "server"} a line
//   - the answer of an MCP server to tools/list: the whole JSON-RPC response, its result, or the
//     list alone; several answers in a row make one catalog
//   - the tools of a request to OpenAI or Anthropic: the list, or the whole request
//
// The parameters are a JSON schema. All keys but the name are optional, and other keys are
// ignored.
//
// A file may come from anywhere, so it is bounded: at most 64 MiB, 100,000 tools, and lists
// and objects that nest 64 deep. More is an error. file is the file's name in errors, which
// also name the line.
func ReadCatalog(r io.Reader, file string) (*Catalog, error) {
	s, err := readSource(r, file)
	if err != nil {
		return nil, err
	}
	catalog := &Catalog{servers: make(map[string]string)}
	firsts := make(map[string]int) // name -> offset where it was first seen
	err = toolfile.Tools(s.data, func(t toolfile.Tool) error {
		info, server, err := s.tool(t)
		if err != nil {
			return err
		}
		if first, taken := firsts[info.Name]; taken {
			return s.at(t.Offset, "two tools named %q, the other one on line %d", info.Name, s.line(first))
		}
		firsts[info.Name] = t.Offset
		if server != "" {
			catalog.servers[info.Name] = server
		}
		catalog.Tools = append(catalog.Tools, info)
		return nil
	})
	if err != nil {
		return nil, s.fault(err)
	}
	if len(catalog.Tools) == 0 {
		return nil, fmt.Errorf(`eval: %s: no tools; want a line {"name", "description", "parameters"} for each, or MCP's answer to tools/list`, file)
	}
	return catalog, nil
}

// ReadQueries reads queries: JSONL with one object {"id", "query", "gold", "accept", "kind",
// "max_rank"} a line. gold is a list of tool names, each a group of its own. accept is a list of
// groups of interchangeable tools, and replaces gold. id defaults to the line number. kind and
// max_rank are optional. The bounds are the same as for [ReadCatalog].
//
// file is the file's name in errors, which also name the line.
func ReadQueries(r io.Reader, file string) ([]Query, error) {
	s, err := readSource(r, file)
	if err != nil {
		return nil, err
	}
	var queries []Query
	lineOf := make(map[string]int)
	line, counted := 1, 0
	err = toolfile.Values(s.data, func(offset, to int) error {
		line += bytes.Count(s.data[counted:offset], []byte("\n"))
		counted = offset
		query, err := s.query(offset, to, line)
		if err != nil {
			return err
		}
		if first, taken := lineOf[query.ID]; taken {
			return s.at(offset, "two queries with the id %q, the other one on line %d", query.ID, first)
		}
		lineOf[query.ID] = line
		queries = append(queries, query)
		return nil
	})
	if err != nil {
		return nil, s.fault(err)
	}
	if len(queries) == 0 {
		return nil, fmt.Errorf(`eval: %s: no queries; want a line {"id", "query", "gold"} for each`, file)
	}
	return queries, nil
}

// A source is a file's content. It turns offsets into line numbers.
type source struct {
	file string
	data []byte
}

func readSource(r io.Reader, file string) (source, error) {
	data, err := toolfile.Read(r)
	if err != nil {
		err = fmt.Errorf("eval: %s: %w", file, err)
	}
	return source{file, data}, err
}

// at returns an error at an offset.
func (s source) at(offset int, format string, args ...any) error {
	return fmt.Errorf("eval: %s:%d: %w", s.file, s.line(offset), fmt.Errorf(format, args...))
}

func (s source) line(offset int) int {
	return 1 + bytes.Count(s.data[:min(offset, len(s.data))], []byte("\n"))
}

// fault describes an error of package toolfile by its line. Other errors stay as they are.
func (s source) fault(err error) error {
	wrong := (*toolfile.Error)(nil)
	if !errors.As(err, &wrong) {
		return err
	}
	// A brace left open on one line may cause an error on a later line.
	if begins, stops := s.line(wrong.Offset), s.line(wrong.At); stops > begins {
		return s.at(wrong.Offset, "%s (on line %d)", wrong.Text, stops)
	}
	return s.at(wrong.Offset, "%s", wrong.Text)
}

// tool reads a tool and the server it comes from.
func (s source) tool(t toolfile.Tool) (info *schema.ToolInfo, server string, err error) {
	info = &schema.ToolInfo{}
	for _, field := range []struct {
		key  string
		into *string
	}{{"name", &info.Name}, {"description", &info.Desc}, {"server", &server}} {
		if raw, ok := t.Keys[field.key]; ok {
			if err := inJSON(json.Unmarshal(raw, field.into), field.key); err != nil {
				return nil, "", s.at(t.Offset, "%w", err)
			}
		}
	}
	if info.Name == "" {
		return nil, "", s.at(t.Offset, "a tool without a name")
	}
	if parameters := t.Schema(); parameters != nil {
		read, err := schemacheck.Read(parameters)
		if err != nil {
			return nil, "", s.at(t.Offset, "tool %q: parameters: %w", info.Name, inJSON(err, "schema"))
		}
		info.ParamsOneOf = schema.NewParamsOneOfByJSONSchema(read)
	}
	return info, server, nil
}

// inJSON describes an error of a key's value in terms of JSON, not of Go.
func inJSON(err error, key string) error {
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("%q: a JSON %s does not belong there", cmp.Or(wrong.Field, key), wrong.Value)
	}
	return err
}

// query reads the query between two offsets.
func (s source) query(offset, to, line int) (Query, error) {
	raw := s.data[offset:to]
	if raw[0] != '{' {
		return Query{}, s.at(offset, `want an object with "query" and "gold"`)
	}
	var row struct {
		ID     string     `json:"id"`
		Query  string     `json:"query"`
		Gold   []string   `json:"gold"`
		Accept [][]string `json:"accept"`
		Kind   string     `json:"kind"`
		Max    int        `json:"max_rank"`
	}
	err := inJSON(json.Unmarshal(raw, &row), "query")
	q := Query{
		ID: cmp.Or(row.ID, strconv.Itoa(line)), Text: row.Query, Groups: row.Accept, Kind: row.Kind, MaxRank: row.Max, file: s.file, line: line,
	}
	if len(q.Groups) == 0 {
		for i, name := range row.Gold {
			if !slices.Contains(row.Gold[:i], name) {
				q.Groups = append(q.Groups, []string{name})
			}
		}
	}
	switch {
	case err != nil:
		return q, s.at(offset, "%w", err)
	case strings.TrimSpace(q.Text) == "":
		return q, s.at(offset, `no "query"`)
	case q.MaxRank < 0:
		return q, s.at(offset, `"max_rank": want a rank from 1`)
	case len(q.Groups) == 0:
		return q, s.at(offset, `no "gold" and no "accept"`)
	case slices.ContainsFunc(q.Groups, func(group []string) bool { return len(group) == 0 }):
		return q, s.at(offset, `an empty group in "accept"`)
	}
	return q, nil
}
