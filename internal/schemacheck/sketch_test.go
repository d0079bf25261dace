package schemacheck_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// Schemas beyond the bounds are reported when a catalog is built: the sketch of a schema is beyond
// them if and only if the compiled schema is.
func TestSketchAgreesWithTheCompiler(t *testing.T) {
	testtools.SkipWithoutGoroutines(t)
	r := rand.New(rand.NewPCG(3, 13))
	reference := func() string {
		n := r.IntN(6)
		return [...]string{
			fmt.Sprintf("#/$defs/d%d", n), fmt.Sprintf("#/$defs/d%d", n), fmt.Sprintf("#/$defs/d%d", n), "#", fmt.Sprintf("#/$defs/d%d/properties/a", n), "#/properties/a", "#/$defs/a~1b", "#/$defs/c%20d", "part1", "part1#inner",
			fmt.Sprintf("#a%d", n), "https://example.com/x",
		}[max(0, r.IntN(500)-489)]
	}
	var definition func(depth int) string
	definition = func(depth int) string {
		if depth > 2 {
			return [...]string{`true`, `{"type":"string"}`, `{"minimum":1,"enum":[1,2]}`, `{"$ref":"` + reference() + `"}`}[r.IntN(4)]
		}
		keywords := []string{ // X is a schema, R a reference
			`"required":["a","b"]`, `"properties":{"a":X,"b":X,"c/d":X}`, `"items":X`, `"additionalProperties":X`, `"prefixItems":[X]`, `"contains":X`,
			`"unevaluatedProperties":X`, `"unevaluatedItems":X`, `"allOf":[X,X]`, `"allOf":[` + strings.TrimSuffix(strings.Repeat(`{"$ref":"R"},`, 1+r.IntN(12)), ",") + `]`,
			`"anyOf":[X,X]`, `"not":X`, `"if":X,"then":X,"else":X`, `"patternProperties":{"^[ab]":X,"c":X}`, `"$ref":"R"`, `"dependentSchemas":{"a":X}`,
			`"dependentRequired":{"a":["b"]}`, `"propertyNames":X`, `"pattern":"^a"`, `"uniqueItems":true`, `"oneOf":[X,X,X]`, `"const":{"$ref":"x"}`,
		}
		parts := make(map[string]string) // by keyword
		for range 1 + r.IntN(3) {
			k := keywords[r.IntN(len(keywords))]
			name, _, _ := strings.Cut(k, ":")
			for strings.Contains(k, "X") {
				k = strings.Replace(k, "X", definition(depth+1), 1)
			}
			for strings.Contains(k, `"R"`) {
				k = strings.Replace(k, `"R"`, `"`+reference()+`"`, 1)
			}
			parts[name] = k
		}
		return `{` + strings.Join(slices.Sorted(maps.Values(parts)), ",") + `}`
	}
	verdicts := make(map[string]int)
	for i := range 600 {
		dialect := [...]string{"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema"}[i%3]
		text := fmt.Sprintf(`{"$schema":%q,"$defs":{%s,"a/b":%s,"c d":{},"e":{"$id":"part1","$defs":{"f":{"$anchor":"inner","type":"string"}},"properties":{"g":{"$ref":"#inner"}}},"h":{"$anchor":"a1"}},"allOf":[true],"properties":{"a":%s,"b":%s}}`,
			dialect, list(6, func(i int) string { return fmt.Sprintf(`"d%d":%s`, i, definition(0)) }), definition(2), definition(0), definition(0))
		sketched, compiled, wrong := schemacheck.Bounds(text)
		if wrong { // a sketch sees only wrong references and patterns
			verdicts["wrong"]++
			continue
		}
		require.Equal(t, compiled, sketched, "the schema %s", text)
		verdicts[fmt.Sprint(compiled)]++
	}
	assert.Greater(t, verdicts["<nil>"], 50, "schemas within the bounds: %v", verdicts)
	assert.Greater(t, verdicts["the schema multiplies too much by its references"], 50, "schemas beyond: %v", verdicts)
	assert.Greater(t, verdicts["the schema refers to itself"], 50, "schemas that refer to themselves: %v", verdicts)
	assert.Less(t, verdicts["wrong"], 300, "schemas that cannot be compiled: %v", verdicts)
}
