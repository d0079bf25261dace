package schemacheck

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/bytedance/sonic"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// The definitions of tools as JSON.

const anyObject = `{"type":"object","properties":{}}`

var errReading = errors.New("a type of a JSON schema is null")

// Read reads a schema. The schema's own reader panics on a type of null.
func Read(text []byte) (*jsonschema.Schema, error) {
	s, wrong := &jsonschema.Schema{}, errReading
	_, _ = foreign.Guard(func() (any, error) { wrong = json.Unmarshal(text, s); return nil, nil })
	return s, wrong
}

// JSON is the JSON schema of a tool's parameters. If the schema is wrong, or too large to be
// written in a reasonable time, the result allows any object.
func JSON(info *schema.ToolInfo) string {
	text, err := written(info)
	if err != nil {
		return anyObject
	}
	return text
}

func written(info *schema.ToolInfo) (string, error) {
	definition, err := foreign.Guard(info.ToJSONSchema)
	switch {
	case err != nil:
		return "", errWrongSchema
	case definition == nil:
		return anyObject, nil
	case !IsWritable(definition):
		return "", errLargeSchema
	}
	text, err := sonic.ConfigStd.MarshalToString(definition)
	switch {
	case err != nil:
		return "", errWrongSchema
	case !strings.HasPrefix(text, "{"): // {} is written as true
		return anyObject, nil
	}
	return text, nil
}

// single, lists and named are the places of a schema that hold other schemas, besides its properties.

func single(s *jsonschema.Schema) [9]**jsonschema.Schema {
	return [...]**jsonschema.Schema{
		&s.Items, &s.Contains, &s.AdditionalProperties, &s.PropertyNames, &s.ContentSchema, &s.Not, &s.If, &s.Then, &s.Else,
	}
}

func lists(s *jsonschema.Schema) [4]*[]*jsonschema.Schema {
	return [...]*[]*jsonschema.Schema{&s.AllOf, &s.AnyOf, &s.OneOf, &s.PrefixItems}
}

func named(s *jsonschema.Schema) [3]*map[string]*jsonschema.Schema {
	return [...]*map[string]*jsonschema.Schema{(*map[string]*jsonschema.Schema)(&s.Definitions), &s.PatternProperties, &s.DependentSchemas}
}

// replaceParts replaces the schemas directly inside a schema. It copies the lists and maps that hold them.
func replaceParts(s *jsonschema.Schema, replace func(*jsonschema.Schema) *jsonschema.Schema) {
	for _, inner := range single(s) {
		*inner = replace(*inner)
	}
	for _, list := range lists(s) {
		*list = slices.Clone(*list)
		for i, inner := range *list {
			(*list)[i] = replace(inner)
		}
	}
	for _, group := range named(s) {
		*group = maps.Clone(*group)
		for _, name := range slices.Sorted(maps.Keys(*group)) {
			(*group)[name] = replace((*group)[name])
		}
	}
	if s.Properties == nil {
		return
	}
	properties := jsonschema.NewProperties()
	for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
		properties.Set(pair.Key, replace(pair.Value))
	}
	s.Properties = properties
}
