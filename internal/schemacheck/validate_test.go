package schemacheck_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// counted is a context that counts how often it is asked, and ends after a number of times.
type counted struct {
	context.Context
	asked, last int
}

func (c *counted) Err() error {
	if c.asked++; c.last > 0 && c.asked >= c.last {
		return context.Canceled
	}
	return nil
}

// A check of 10,000 wrong values ends at the fifth problem or with its context, whatever keyword
// leads to the values.
func TestValidationStops(t *testing.T) {
	items := `{"q":[` + list(10_000, func(int) string { return "1" }) + `]}`
	members := `{"q":{` + list(10_000, func(i int) string { return fmt.Sprintf(`"p%05d":1`, i) }) + `}}`
	for _, tt := range []struct {
		name, schema, arguments string
		asked                   int // how often a value is checked against a schema until the fifth problem
	}{
		{"items", property(`{"items":{"type":"string"}}`), items, 2 + 5},
		{"items by reference", `{"type":"object","properties":{"q":{"items":{"$ref":"#/$defs/s"}}},"$defs":{"s":{"type":"string"}}}`, items, 2 + 2*5},
		{"items below allOf", `{"type":"object","allOf":[{"properties":{"q":{"allOf":[{"items":{"type":"string"}}]}}}]}`, items, 4 + 5},
		{"other properties", property(`{"additionalProperties":{"type":"string"}}`), members, 2 + 5},
		{"all of one value", `{"type":"object","allOf":[` + list(500, func(i int) string { return fmt.Sprintf(`{"required":["r%d"]}`, i) }) + `]}`, `{}`, 1 + 5},
	} {
		info := toolWith(t, tt.schema)
		ctx := &counted{Context: t.Context()}
		problem, err := new(schemacheck.Checker).Problem(ctx, 0, info, tt.arguments)
		require.NoError(t, err, tt.name)
		assert.Equal(t, 4, strings.Count(problem, "; "), "%s: separators of problems in %q", tt.name, problem)
		assert.Equal(t, tt.asked, ctx.asked, tt.name)

		ctx = &counted{Context: t.Context(), last: 4}
		problem, err = new(schemacheck.Checker).Problem(ctx, 0, info, tt.arguments)
		assert.ErrorIs(t, err, context.Canceled, tt.name)
		assert.Empty(t, problem, tt.name)
		assert.Equal(t, 4, ctx.asked, "%s: schemas before the context ended", tt.name)
	}
}

// The walk over the values finds a problem if and only if the validator finds one in the whole
// value.
func TestValidationAgreesWithTheWhole(t *testing.T) {
	testtools.SkipWithoutGoroutines(t)
	r := rand.New(rand.NewPCG(1, 2))
	var value func(depth int) string
	value = func(depth int) string {
		switch n := r.IntN(6); {
		case n == 0 || depth > 3:
			return fmt.Sprint(r.IntN(3))
		case n == 1:
			return `"s"`
		case n <= 3:
			return `[` + list(r.IntN(4), func(int) string { return value(depth + 1) }) + `]`
		default:
			return `{` + list(r.IntN(4), func(i int) string { return fmt.Sprintf(`"%c":%s`, 'a'+i, value(depth+1)) }) + `}`
		}
	}
	var definition func(depth int) string
	definition = func(depth int) string {
		if depth > 3 {
			return [...]string{`true`, `false`, `{"type":"string"}`, `{"minimum":1}`}[r.IntN(4)]
		}
		keywords := []string{ // X is a schema
			`"type":"object"`, `"type":["object","array","string"]`, `"required":["a"]`, `"uniqueItems":true`, `"maxItems":2`,
			`"properties":{"a":X,"b":X}`, `"items":X`, `"additionalProperties":X`, `"prefixItems":[X]`, `"contains":X`,
			`"unevaluatedProperties":X`, `"unevaluatedItems":X`, `"allOf":[X,X]`, `"anyOf":[X,X]`, `"not":X`, `"if":X,"then":X`,
			`"patternProperties":{"^[ab]":X}`, `"$ref":"#/$defs/d"`, `"dependentSchemas":{"a":X}`, `"enum":[1,"s",{"a":1}]`,
		}
		parts := make(map[string]string) // by keyword
		for range r.IntN(5) {
			k := keywords[r.IntN(len(keywords))]
			name, _, _ := strings.Cut(k, ":")
			for strings.Contains(k, "X") {
				k = strings.Replace(k, "X", definition(depth+1), 1)
			}
			parts[name] = k
		}
		return `{` + strings.Join(slices.Sorted(maps.Values(parts)), ",") + `}`
	}
	fits, wrong := 0, 0
	for i := range 400 {
		dialect := [...]string{"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"}[i%2]
		text := fmt.Sprintf(`{"$schema":%q,"$defs":{"d":{"type":"object","properties":{"a":{"minimum":1}}}},"allOf":[true],"properties":{"a":%s,"b":%s},"additionalProperties":%s}`,
			dialect, definition(0), definition(0), definition(0))
		arguments := fmt.Sprintf(`{"a":%s,"b":%s,"c":%s}`, value(0), value(0), value(0))
		info := toolWith(t, text)
		problem, err := new(schemacheck.Checker).Problem(t.Context(), 0, info, arguments)
		require.NoError(t, err, text)

		asSent, err := info.ToJSONSchema()
		require.NoError(t, err)
		sent, err := json.Marshal(asSent)
		require.NoError(t, err)
		whole, err := validator.UnmarshalJSON(strings.NewReader(string(sent)))
		require.NoError(t, err)
		c := validator.NewCompiler()
		require.NoError(t, c.AddResource("tool:///parameters", whole))
		compiled, err := c.Compile("tool:///parameters")
		require.NoError(t, err, text)
		parsed, err := validator.UnmarshalJSON(strings.NewReader(arguments))
		require.NoError(t, err)
		valid := compiled.Validate(parsed) == nil
		require.Equal(t, valid, problem == "", "schema %s\narguments %s\nproblem %q", sent, arguments, problem)
		if valid {
			fits++
		} else {
			wrong++
		}
	}
	assert.Greater(t, fits, 90, "arguments that fit")
	assert.Greater(t, wrong, 100, "arguments that do not fit")
}
