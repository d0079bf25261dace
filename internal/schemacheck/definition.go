package schemacheck

import (
	"maps"
	"slices"
	"strings"

	"github.com/bytedance/sonic"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// The definitions of tools, written out.

// JSON is the JSON schema of a tool's parameters. One that is none, or too large to be
// written in a reasonable time, allows any.
func JSON(info *schema.ToolInfo) string {
	const any = `{"type":"object","properties":{}}`
	definition, err := foreign.Guard(info.ToJSONSchema)
	if err != nil || definition == nil || !IsWritable(definition) {
		return any
	}
	text, err := sonic.ConfigStd.MarshalToString(definition)
	if err != nil || !strings.HasPrefix(text, "{") { // {} is written as true
		return any
	}
	return text
}

// IsWritable reports whether a definition is small enough to be written out. That takes the
// square of its depth: at 2,000 it is more than a second, and a definition that is part of
// itself has no end.
func IsWritable(root *jsonschema.Schema) bool {
	parts := 0
	var walk func(s *jsonschema.Schema, depth int) bool
	walk = func(s *jsonschema.Schema, depth int) bool {
		if s == nil {
			return true
		}
		if parts++; parts > maxSchemaParts || depth > maxEffortDepth {
			return false
		}
		inner := []*jsonschema.Schema{
			s.Not, s.If, s.Then, s.Else, s.Items, s.Contains, s.AdditionalProperties, s.PropertyNames, s.ContentSchema,
		}
		inner = slices.Concat(inner, s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems)
		for _, named := range [...]map[string]*jsonschema.Schema{s.Definitions, s.DependentSchemas, s.PatternProperties} {
			inner = slices.AppendSeq(inner, maps.Values(named))
		}
		if s.Properties != nil {
			for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
				inner = append(inner, pair.Value)
			}
		}
		return !slices.ContainsFunc(inner, func(s *jsonschema.Schema) bool { return !walk(s, depth+1) })
	}
	return walk(root, 0)
}
