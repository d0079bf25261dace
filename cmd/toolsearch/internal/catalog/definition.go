package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/tokens"
	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
	"github.com/eino-toolsearch/toolsearch/search"
)

// A Definition is a tool as a file or a server gives it, problems included. Package eval
// refuses the problems that inspect reports, so inspect has its own reader.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"parameters,omitempty"` // nil means none
	Output      json.RawMessage `json:"-"`                    // its output schema; nil means none
	Server      string          `json:"server,omitempty"`
	Wrong       []string        `json:"-"` // keys whose values are of the wrong kind
}

// readDefinitions reads every form of catalog that eval.ReadCatalog reads.
func readDefinitions(data []byte, file string) (tools []Definition, err error) {
	err = toolfile.Tools(data, func(t toolfile.Tool) error {
		tools = append(tools, newDefinition(t))
		return nil
	})
	if wrong := (*toolfile.Error)(nil); errors.As(err, &wrong) {
		return nil, fmt.Errorf("%s:%d: %w", file, 1+bytes.Count(data[:wrong.Offset], []byte("\n")), err)
	}
	if len(tools) == 0 {
		return nil, fmt.Errorf("%s: no tools", file)
	}
	return tools, nil
}

func newDefinition(t toolfile.Tool) Definition {
	d := Definition{Schema: t.Schema(), Output: t.Keys["outputSchema"]}
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
	return len(cli.Line(struct { // most providers use these keys
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}{d.Name, d.Description, d.Schema})) - len("\n")
}

// Tokens estimates the tokens of the tool's definition, as cost does. A schema that cannot be read counts as no
// parameters.
func (d *Definition) Tokens() int {
	info, _ := d.info()
	return tokens.OfTool(info.Name, info.Desc, schemacheck.JSON(info))
}

// info returns the tool as the library has it, without parameters if they cannot be read.
func (d *Definition) info() (*schema.ToolInfo, error) {
	info := &schema.ToolInfo{Name: d.Name, Desc: d.Description}
	if d.Schema == nil {
		return info, nil
	}
	parameters, err := schemacheck.Read(d.Schema)
	if err == nil {
		info.ParamsOneOf = schema.NewParamsOneOfByJSONSchema(parameters)
	}
	return info, err
}

// Problem says why a provider would refuse the schema, some of whose arrays are bare. "" means that it would not.
func (d *Definition) Problem(bare []string) string {
	var object map[string]json.RawMessage
	var kind any
	if d.Schema == nil {
		return ""
	}
	if json.Unmarshal(d.Schema, &object) != nil {
		return "the schema is not a JSON object"
	}
	_ = json.Unmarshal(object["type"], &kind) // kind stays nil if there is no type
	info, err := d.info()
	switch {
	case kind == nil:
		return `the schema has no "type": "object"`
	case kind != "object":
		return fmt.Sprintf("the schema's type is %s, not object", cli.OneLine(string(object["type"]), 40))
	case err != nil:
		return "a part of the schema is of the wrong kind"
	case len(bare) > 0:
		return "an array without items: " + cli.OneLine(strings.Join(bare, ", "), 100)
	}
	info.Name = "tool" // a name is another matter
	return cli.OneLine(foreign.ErrorText(schemacheck.Refusal(info)), 200)
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

// usable returns the tools that one catalog can hold, also as lines of JSON, and what it left out.
func usable(tools []Definition) (kept []Definition, lines []byte, left []string) {
	taken := make(map[string]bool)
	for i, d := range tools {
		switch {
		case d.Name == "":
			left = append(left, Label(tools, i)+", which has no name")
			continue
		case taken[d.Name]:
			left = append(left, "a second "+d.Name)
			continue
		}
		taken[d.Name] = true
		kept = append(kept, d)
		if _, err := d.info(); err != nil {
			left = append(left, "the parameters of "+d.Name+", which are not a JSON schema")
			d.Schema = nil
		}
		lines = append(lines, cli.Line(d)...)
	}
	return kept, lines, left
}

// Of makes a catalog of tools, and returns the tools in it. It leaves out tools without a name, all
// but the first tool of a name, and unreadable schemas. A catalog of no tools is nil.
func Of(tools []Definition) (*eval.Catalog, []Definition, error) {
	kept, lines, _ := usable(tools)
	if len(kept) == 0 {
		return nil, nil, nil
	}
	catalog, err := eval.ReadCatalog(bytes.NewReader(lines), "the catalog")
	return catalog, kept, err
}

// Documents makes a document of each definition, in the namespace that a catalog of the same
// file gives it. A schema that cannot be read is left out. wrong has the faults, by document.
func Documents(tools []Definition) (docs []search.Document, wrong map[int]error) {
	docs, wrong = make([]search.Document, len(tools)), make(map[int]error)
	for i := range tools {
		d := &tools[i]
		info, err := d.info()
		if err != nil {
			wrong[i] = errors.New("its schema cannot be read")
		}
		docs[i] = search.DocumentOf(info, func(info *schema.ToolInfo) search.Annotation {
			if d.Server != "" {
				return search.Annotation{Namespace: d.Server}
			}
			return search.Annotate(info)
		})
		if len(d.Wrong) > 0 {
			wrong[i] = errors.New("one of its values is of the wrong kind")
		}
	}
	return docs, wrong
}

// Label names a tool in a report. A tool without a name is named by its number.
func Label(tools []Definition, i int) string {
	return cmp.Or(tools[i].Name, fmt.Sprintf("(tool %d)", i+1))
}
