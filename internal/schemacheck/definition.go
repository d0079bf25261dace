package schemacheck

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/bytedance/sonic"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

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
	text, err := foreign.Guard(func() (string, error) { return sonic.ConfigStd.MarshalToString(definition) })
	switch {
	case err != nil:
		return "", errWrongSchema
	case !strings.HasPrefix(text, "{"): // {} is written as true
		return anyObject, nil
	}
	return text, nil
}

// Frozen returns a copy of a definition that nobody else can change, with all properties in the order of their
// names: it is written the same however its server orders them. The order of other lists stays. A schema that
// cannot be written stays as it is.
func Frozen(info *schema.ToolInfo) *schema.ToolInfo {
	text, err := written(info)
	if err != nil || info.ParamsOneOf == nil {
		return info
	}
	value, _ := validator.UnmarshalJSON(strings.NewReader(text)) // it is JSON
	inOrder, _ := sonic.ConfigStd.Marshal(value)
	s, err := Read(inOrder)
	if err != nil {
		return info
	}
	copied := *info
	copied.ParamsOneOf = schema.NewParamsOneOfByJSONSchema(s)
	return &copied
}

// replaceParts replaces the schemas directly inside a schema. It copies the lists and maps that hold them.
func replaceParts(s *jsonschema.Schema, replace func(*jsonschema.Schema) *jsonschema.Schema) {
	ofNames := func(named map[string]*jsonschema.Schema) map[string]*jsonschema.Schema {
		named = maps.Clone(named)
		for _, name := range slices.Sorted(maps.Keys(named)) {
			named[name] = replace(named[name])
		}
		return named
	}
	fields := reflect.ValueOf(s).Elem()
	for i := range fields.NumField() {
		if field := fields.Field(i); !field.IsZero() && field.CanInterface() {
			switch part := field.Addr().Interface().(type) {
			case **jsonschema.Schema:
				*part = replace(*part)
			case *[]*jsonschema.Schema:
				*part = slices.Clone(*part)
				for i, inner := range *part {
					(*part)[i] = replace(inner)
				}
			case *map[string]*jsonschema.Schema:
				*part = ofNames(*part)
			case *jsonschema.Definitions:
				*part = ofNames(*part)
			}
		}
	}
	if s.Properties != nil {
		properties := jsonschema.NewProperties()
		for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
			properties.Set(pair.Key, replace(pair.Value))
		}
		s.Properties = properties
	}
}
