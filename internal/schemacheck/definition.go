package schemacheck

import (
	"encoding/json"
	"errors"
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

// Writing a schema copies each part of it once for every level above the part.
const (
	maxWriting   = 6 << 20 // bytes copied
	partsWriting = 150     // bytes of an empty schema
)

// IsWritable reports whether a definition can be written in a reasonable time. Writing a
// definition that contains itself would never end.
func IsWritable(root *jsonschema.Schema) bool {
	w := writing(maxWriting)
	return w.allows(root, 1)
}

// writing is how many bytes may still be copied.
type writing int

func (w *writing) allows(s *jsonschema.Schema, depth int) bool {
	if s == nil {
		return true
	}
	size := partsWriting + len(s.Title) + len(s.Description) + len(s.Comments) + len(s.Pattern) + len(s.Ref) + len(s.Format) + 8*len(s.Required)
	for _, name := range s.Required {
		size += len(name)
	}
	for name, list := range s.DependentRequired {
		size += len(name)
		for _, name := range list {
			size += len(name) + 8
		}
	}
	*w -= writing(size * depth)
	if *w < 0 || depth > maxDepth ||
		!w.allowsValue(s.Const, depth) || !w.allowsValue(s.Default, depth) || !w.allowsValue(s.Enum, depth) ||
		!w.allowsValue(s.Examples, depth) || !w.allowsValue(s.Extras, depth) {
		return false
	}
	for _, inner := range [...]*jsonschema.Schema{
		s.Not, s.If, s.Then, s.Else, s.Items, s.Contains, s.AdditionalProperties, s.PropertyNames, s.ContentSchema,
	} {
		if !w.allows(inner, depth+1) {
			return false
		}
	}
	for _, list := range [...][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
		for _, inner := range list {
			if !w.allows(inner, depth+1) {
				return false
			}
		}
	}
	for _, named := range [...]map[string]*jsonschema.Schema{s.Definitions, s.DependentSchemas, s.PatternProperties} {
		for name, inner := range named {
			*w -= writing(len(name) * depth)
			if !w.allows(inner, depth+1) {
				return false
			}
		}
	}
	if s.Properties != nil {
		for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
			*w -= writing(len(pair.Key) * depth)
			if !w.allows(pair.Value, depth+1) {
				return false
			}
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
