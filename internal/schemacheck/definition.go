package schemacheck

import (
	"encoding/json"
	"errors"
	"iter"
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

// parts yields the schemas directly inside a schema, with their names.
func parts(s *jsonschema.Schema) iter.Seq2[string, *jsonschema.Schema] {
	return func(yield func(string, *jsonschema.Schema) bool) {
		for _, inner := range single(s) {
			if *inner != nil && !yield("", *inner) {
				return
			}
		}
		for _, list := range lists(s) {
			for _, inner := range *list {
				if inner != nil && !yield("", inner) {
					return
				}
			}
		}
		for _, group := range named(s) {
			for name, inner := range *group {
				if inner != nil && !yield(name, inner) {
					return
				}
			}
		}
		if s.Properties == nil {
			return
		}
		for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
			if pair.Value != nil && !yield(pair.Key, pair.Value) {
				return
			}
		}
	}
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

// Writing a schema copies each part of it once for every level above the part.
const (
	maxWriting   = 6 << 20 // bytes copied
	partsWriting = 150     // bytes of an empty schema
)

// IsWritable reports whether a definition can be written in a reasonable time. Writing a
// definition that contains itself would never end.
func IsWritable(root *jsonschema.Schema) bool {
	w := writing(maxWriting)
	return root == nil || w.allows(root, 1)
}

// writing is how many bytes may still be copied.
type writing int

func (w *writing) allows(s *jsonschema.Schema, depth int) bool {
	size := partsWriting + len(s.Title) + len(s.Description) + len(s.Comments) + len(s.Pattern) + len(s.Ref) + len(s.Format)
	for _, name := range s.Required {
		size += len(name) + 8
	}
	for name, list := range s.DependentRequired {
		size += len(name)
		for _, name := range list {
			size += len(name) + 8
		}
	}
	if *w -= writing(size * depth); *w < 0 || depth > maxDepth {
		return false
	}
	for _, value := range [...]any{s.Const, s.Default, s.Enum, s.Examples, s.Extras} {
		if !w.allowsValue(value, depth) {
			return false
		}
	}
	for name, inner := range parts(s) {
		*w -= writing(len(name) * depth)
		if !w.allows(inner, depth+1) {
			return false
		}
	}
	return *w >= 0
}

// allowsValue counts a value in a schema. It knows the types that JSON is read into. Values
// of other types come from the program itself, which must bound them.
func (w *writing) allowsValue(value any, depth int) bool {
	size := 8
	switch v := value.(type) {
	case nil:
		return true
	case string:
		size += len(v)
	case json.Number:
		size += len(v)
	case []any:
		for _, inner := range v {
			if !w.allowsValue(inner, depth) {
				return false
			}
		}
	case map[string]any:
		for name, inner := range v {
			size += len(name)
			if !w.allowsValue(inner, depth) {
				return false
			}
		}
	}
	*w -= writing(size * depth)
	return *w >= 0
}
