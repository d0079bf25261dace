package figures

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// The tools of the quickstart, which the examples, the figures and many tests share. A long table hides mistakes, such
// as a placeholder that names no parameter, which appears in the result as a null that comes from no argument.
func TestEveryServiceToolRuns(t *testing.T) {
	for _, b := range services.Tools() {
		s, name := schemaOf(t, b), testtools.MustInfo(t, b).Name
		every, needed := map[string]any{}, map[string]any{}
		for param, p := range s.Properties {
			every[param] = sample(param, p)
			if slices.Contains(s.Required, param) {
				needed[param] = every[param]
			}
		}
		assert.NotRegexp(t, `\bnull\b`, objectOf(t, b, every), "%s has a null although it got all arguments", name)
		result := objectOf(t, b, needed)
		assert.NotRegexp(t, `[^:]null\b`, result, "%s splices an argument without a default into a text", name)
		if len(s.Required) > 0 {
			assert.Regexp(t, `sample|4711`, result, "%s echoes none of its arguments", name)
		}
		complaint := testtools.Must(b.(tool.InvokableTool).InvokableRun(t.Context(), "{}"))(t)
		for _, param := range s.Required {
			assert.Contains(t, complaint, `missing required parameter "`+param+`"`)
		}
	}
}

type jsonSchema struct {
	Type           string
	Enum, Required []string
	Items          *jsonSchema
	Properties     map[string]jsonSchema
}

// schemaOf reads the schema from its JSON, which is what a model sees.
func schemaOf(t *testing.T, b tool.BaseTool) (s jsonSchema) {
	t.Helper()
	text := testtools.Must(json.Marshal(testtools.Must(testtools.MustInfo(t, b).ToJSONSchema())(t)))(t)
	require.NoError(t, json.Unmarshal(text, &s))
	return s
}

func sample(name string, s jsonSchema) any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type == "integer" || s.Type == "number":
		return 4711
	case s.Type == "boolean":
		return true
	case s.Type == "array":
		return []any{sample(name, *s.Items)}
	case s.Type == "object":
		fields := map[string]any{}
		for field, f := range s.Properties {
			fields[field] = sample(field, f)
		}
		return fields
	}
	return "sample " + name
}

// objectOf calls a tool with complete arguments.
func objectOf(t *testing.T, b tool.BaseTool, arguments map[string]any) string {
	t.Helper()
	text := testtools.Must(json.Marshal(arguments))(t)
	result := testtools.Must(b.(tool.InvokableTool).InvokableRun(t.Context(), string(text)))(t)
	assert.True(t, strings.HasPrefix(result, "{") && json.Valid([]byte(result)), result)
	return result
}
