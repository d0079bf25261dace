package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
)

// A Definition is a tool as a file or a server gives it, problems included. Package eval
// refuses the problems that inspect reports, so inspect has its own reader.
type Definition struct {
	Name        string
	Description string
	Server      string
	Schema      json.RawMessage // nil means none
	Wrong       []string        // keys whose values are of the wrong kind
}

// readDefinitions reads every form of catalog that eval.ReadCatalog reads.
func readDefinitions(data []byte, file string) ([]Definition, error) {
	tools, err := appendDefinitions(nil, data)
	if wrong := (*toolfile.Error)(nil); errors.As(err, &wrong) {
		return nil, fmt.Errorf("%s:%d: %w", file, 1+bytes.Count(data[:wrong.Offset], []byte("\n")), err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(tools) == 0 {
		return nil, fmt.Errorf("%s: no tools", file)
	}
	return tools, nil
}

// appendDefinitions adds the tools in data.
func appendDefinitions(tools []Definition, data []byte) ([]Definition, error) {
	err := toolfile.Tools(data, func(t toolfile.Tool) error {
		tools = append(tools, newDefinition(t))
		return nil
	})
	return tools, err
}

func newDefinition(t toolfile.Tool) Definition {
	d := Definition{Schema: t.Schema()}
	for _, field := range []struct {
		key  string
		into *string
	}{{"name", &d.Name}, {"description", &d.Description}, {"server", &d.Server}} {
		if raw, ok := t.Keys[field.key]; ok && json.Unmarshal(raw, field.into) != nil {
			d.Wrong = append(d.Wrong, field.key)
		}
	}
	return d
}

// Bytes returns the size of the tool's definition for a model, as compact JSON.
func (d *Definition) Bytes() int {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	// Most providers use these keys. The encoder compacts the schema.
	err := encoder.Encode(struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}{d.Name, d.Description, d.Schema})
	if err != nil {
		return 0 // cannot happen: Schema was read from valid JSON
	}
	return b.Len() - len("\n")
}

// SchemaProblem says why a provider would refuse the schema. "" means that it would not.
func (d *Definition) SchemaProblem() string {
	if d.Schema == nil {
		return ""
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(d.Schema, &object) != nil {
		return "the schema is not a JSON object"
	}
	var kind any
	_ = json.Unmarshal(object["type"], &kind) // kind stays nil if there is no type
	switch {
	case kind == nil:
		return `the schema has no "type": "object"`
	case kind != "object":
		return fmt.Sprintf("the schema's type is %s, not object", cli.OneLine(string(object["type"]), 40))
	}
	if _, err := schemacheck.Read(d.Schema); err != nil {
		return "a part of the schema is of the wrong kind"
	}
	return ""
}

// Refusal says what the library finds wrong with a schema that has no SchemaProblem. "" means nothing.
func (d *Definition) Refusal() string {
	parameters, err := schemacheck.Read(d.Schema)
	if d.Schema == nil || err != nil {
		return ""
	}
	err = schemacheck.Refusal(&schema.ToolInfo{Name: "tool", ParamsOneOf: schema.NewParamsOneOfByJSONSchema(parameters)})
	if err == nil {
		return ""
	}
	return cli.OneLine(err.Error(), 200)
}

// Bounds on how much of a schema is read. The library's own reader has the same bounds.
const (
	maxSchemaDepth = 16
	maxParameters  = 512
)

// Parameters counts the properties of the schema, including nested properties. It returns the
// paths of those without a description, and of the arrays that do not say what they hold.
func (d *Definition) Parameters() (count int, silent, bare []string) {
	var walk func(raw json.RawMessage, path string, depth int)
	walk = func(raw json.RawMessage, path string, depth int) {
		var s struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Items      json.RawMessage            `json:"items"`
			Prefix     json.RawMessage            `json:"prefixItems"`
			Type       any                        `json:"type"`
		}
		if depth > maxSchemaDepth || len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
			return
		}
		if s.Type == "array" && s.Items == nil && s.Prefix == nil {
			bare = append(bare, strings.TrimSuffix(path, "."))
		}
		for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
			if count == maxParameters {
				return
			}
			count++
			var property struct {
				Description string `json:"description"`
				Ref         string `json:"$ref"`
			}
			// A property with a reference may have its description at the target.
			if json.Unmarshal(s.Properties[key], &property) != nil || property.Description == "" && property.Ref == "" {
				silent = append(silent, path+key)
			}
			walk(s.Properties[key], path+key+".", depth+1)
		}
		walk(s.Items, path+"[].", depth+1)
	}
	walk(d.Schema, "", 0)
	return count, silent, bare
}

// Of makes a catalog of tools, and maps each name to its index in tools. It leaves out
// tools without a name, and all but the first tool of a name.
func Of(tools []Definition) (*eval.Catalog, map[string]int, error) {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	first := make(map[string]int)
	for i := range tools {
		d := &tools[i]
		if _, taken := first[d.Name]; taken || d.Name == "" {
			continue
		}
		first[d.Name] = i
		line := map[string]any{"name": d.Name, "description": d.Description, "server": d.Server}
		if d.Schema != nil {
			if _, err := schemacheck.Read(d.Schema); err == nil {
				line["parameters"] = d.Schema
			}
		}
		if err := encoder.Encode(line); err != nil {
			return nil, nil, err
		}
	}
	if len(first) == 0 {
		return nil, first, nil
	}
	catalog, err := eval.ReadCatalog(&lines, "the catalog")
	return catalog, first, err
}

// ProviderName matches the tool names that the large providers accept.
const ProviderName = `^[a-zA-Z0-9_-]{1,64}$`

// TakenName is ProviderName, compiled.
var TakenName = regexp.MustCompile(ProviderName)

// Label names a tool in a report. A tool without a name is named by its number.
func Label(tools []Definition, i int) string {
	if tools[i].Name == "" {
		return fmt.Sprintf("(tool %d)", i+1)
	}
	return tools[i].Name
}
