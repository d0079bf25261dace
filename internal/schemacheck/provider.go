package schemacheck

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// What providers refuse in the definition of a tool, and the whole request with it.

// MaxSchemaBytes is the longest schema of a tool that a remote server may send, as JSON: more than most models read.
const MaxSchemaBytes = 512 << 10

// validParameter matches the names of parameters at the top of a schema that Anthropic accepts, as all others do.
var validParameter = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

const anyValue = "any value"

// types are the values of "type" in JSON Schema.
var types = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

var (
	errInvalidName = errors.New("providers take 1 to 64 letters, digits, underscores and hyphens for a name")
	errNotObject   = errors.New("the schema of its parameters is not that of an object")
	errComposed    = errors.New("the schema of its parameters has anyOf, oneOf, allOf or not at its top")
	errNoItems     = errors.New("the schema of its parameters has an array without items")
	errNoType      = errors.New("the schema of its parameters has a type that JSON Schema does not have")
	errTooLong     = fmt.Errorf("the schema of its parameters is longer than %d bytes", MaxSchemaBytes)
	errUnwritable  = fmt.Errorf("the schema of its parameters is wrong, too large, or nested more than %d deep", maxDepth)
)

// Refusal returns why providers refuse a definition, or nil.
func Refusal(info *schema.ToolInfo) error {
	if !naming.IsValid(info.Name) {
		return errInvalidName
	}
	_, refusal, odd := Mended(info)
	if refusal != nil && odd != nil {
		return fmt.Errorf("%w; %w", refusal, odd)
	}
	return cmp.Or(refusal, odd)
}

// Mended returns a definition that providers do not refuse for its schema, and what was wrong with the schema. It
// returns info and nil if nothing is wrong, and nil if the schema cannot be mended. An array without items gets items
// of any kind, and a type that JSON Schema does not have is left out. A schema of anything but an object becomes the
// schema of an object, as the arguments of a call are. A choice at the top of a schema, which Anthropic and OpenAI do
// not accept, becomes the properties of all its branches. A property that only some branches require is not required.
//
// odd is why Anthropic refuses the name of one of the parameters, or nil. The name cannot be mended: the tool knows its
// parameter by no other name. The other providers accept it.
func Mended(info *schema.ToolInfo) (mended *schema.ToolInfo, refusal, odd error) {
	given, isPlain, _ := SchemaOf(info)
	definition := given
	if !isPlain { // mostly it is, and writing takes ten times as long
		switch text, err := written(info); {
		case err != nil:
			return nil, errUnwritable, nil
		case len(text) > MaxSchemaBytes:
			return nil, errTooLong, nil
		}
		definition, refusal = mendedParts(given)
	} else if given == nil {
		return info, nil, nil
	}
	switch {
	case definition.Type == "object":
	case definition.Type == "" && (definition.Properties != nil || definition.Ref != "" || len(branches(definition)) > 0):
		copied := *definition
		copied.Type, copied.TypeEnhanced = "object", nil
		definition, refusal = &copied, errNotObject
	default:
		definition = &jsonschema.Schema{Type: "object", Description: given.Description, Definitions: definition.Definitions}
		refusal = errNotObject
	}
	if definition.Not != nil || len(branches(definition)) > 0 {
		definition, refusal = withoutChoice(definition), cmp.Or(refusal, errComposed)
	}
	for pair := definition.Properties.Oldest(); pair != nil && odd == nil; pair = pair.Next() {
		if !validParameter.MatchString(pair.Key) {
			odd = fmt.Errorf("a parameter has the name %s, which Anthropic refuses: it takes 1 to 64 letters, digits, underscores, "+
				"dots and hyphens", naming.Quoted(pair.Key))
		}
	}
	if refusal == nil {
		return info, nil, odd
	}
	copied := *info
	copied.ParamsOneOf = schema.NewParamsOneOfByJSONSchema(definition)
	return &copied, refusal, odd
}

func branches(s *jsonschema.Schema) []*jsonschema.Schema {
	return slices.Concat(s.AllOf, s.AnyOf, s.OneOf)
}

// withoutChoice returns the schema of an object without anyOf, oneOf, allOf and not. It has the properties of all
// branches, where the first of a name counts, and requires what the schema and the branches of allOf require.
func withoutChoice(s *jsonschema.Schema) *jsonschema.Schema {
	copied := *s
	copied.AnyOf, copied.OneOf, copied.AllOf, copied.Not = nil, nil, nil, nil
	copied.Properties, copied.Required = jsonschema.NewProperties(), nil
	read, required := make(map[*jsonschema.Schema]bool), make(map[string]bool)
	for i, branch := range append([]*jsonschema.Schema{s}, branches(s)...) {
		if branch != nil && i > 0 {
			if name, isLocal := strings.CutPrefix(branch.Ref, "#/$defs/"); isLocal {
				branch = s.Definitions[name]
			}
		}
		if branch == nil || read[branch] { // many references may have the same target
			continue
		}
		read[branch] = true
		for pair := branch.Properties.Oldest(); pair != nil; pair = pair.Next() {
			if _, taken := copied.Properties.Get(pair.Key); !taken {
				copied.Properties.Set(pair.Key, pair.Value)
			}
		}
		for _, name := range branch.Required {
			if i <= len(s.AllOf) && !required[name] {
				required[name] = true
				copied.Required = append(copied.Required, name)
			}
		}
	}
	return &copied
}

// mendedParts returns a schema in which every array has items and every type is one of JSON Schema, and what was wrong;
// nil means that s is unchanged. It copies the schemas that it changes.
func mendedParts(s *jsonschema.Schema) (mended *jsonschema.Schema, refusal error) {
	if s == nil {
		return nil, nil
	}
	copied := *s
	if hasOddType(s) {
		copied.Type, copied.TypeEnhanced, copied.Extras, refusal = "", nil, maps.Clone(s.Extras), errNoType
		delete(copied.Extras, "type")
		if reflect.ValueOf(copied).IsZero() {
			copied.Description = anyValue // an empty schema is written as true, which some providers refuse
		}
	}
	if lacksItems(s) {
		// OpenAI requires items even beside prefixItems.
		copied.Items, refusal = &jsonschema.Schema{Description: anyValue}, cmp.Or(refusal, errNoItems)
	}
	replaceParts(&copied, func(inner *jsonschema.Schema) *jsonschema.Schema {
		mended, wrong := mendedParts(inner)
		refusal = cmp.Or(refusal, wrong)
		return mended
	})
	if refusal == nil {
		return s, nil
	}
	return &copied, refusal
}

func hasOddType(s *jsonschema.Schema) bool {
	isOdd := func(name string) bool { return !slices.Contains(types, name) }
	_, isOther := s.Extras["type"] // such as a number, which Type cannot hold
	return isOther || s.Type != "" && isOdd(s.Type) || slices.ContainsFunc(s.TypeEnhanced, isOdd)
}

func lacksItems(s *jsonschema.Schema) bool {
	return s.Items == nil && (s.Type == "array" || slices.Contains(s.TypeEnhanced, "array"))
}
