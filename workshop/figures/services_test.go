package figures

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// The tools of the quickstart, which the examples, the figures and many tests share.

// checkProperties looks into nested objects and arrays too.
func checkProperties(t *testing.T, at string, s jsonSchema) {
	t.Helper()
	if s.Items != nil {
		checkProperties(t, at+"[]", *s.Items)
	}
	for name, p := range s.Properties {
		assert.NotEmpty(t, p.Type, "%s.%s", at, name)
		assert.NotEmpty(t, p.Description, "%s.%s", at, name)
		checkProperties(t, at+"."+name, p)
	}
}

// A long table hides mistakes, such as a placeholder that names no parameter. Such a
// placeholder appears in the result as a null that comes from no argument.
func TestEveryServiceToolRuns(t *testing.T) {
	null := regexp.MustCompile(`\bnull\b`)
	for _, b := range services.Tools() {
		s, info := schemaOf(t, b), testtools.MustInfo(t, b)
		name := info.Name
		assert.Regexp(t, `^[a-zA-Z0-9_-]{1,64}$`, name)
		assert.GreaterOrEqual(t, len(info.Desc), 30, "%s: description %q is too short", name, info.Desc)
		checkProperties(t, name, s)
		every := map[string]any{}
		for param, p := range s.Properties {
			every[param] = sample(param, p)
		}
		assert.NotRegexp(t, null, objectOf(t, b, every), "%s has a null although it got all arguments", name)

		needed := map[string]any{}
		for _, param := range s.Required {
			needed[param] = every[param]
		}
		result := objectOf(t, b, needed)
		assert.NotRegexp(t, null, strings.ReplaceAll(result, `:null`, ""), "%s splices an argument without a default into a text", name)
		assert.Equal(t, result, objectOf(t, b, needed), name)
		if len(s.Required) > 0 {
			assert.Regexp(t, `sample|4711`, result, "%s echoes none of its arguments", name)
		}

		// Models do send values of the wrong type, and arbitrary text.
		for _, odd := range []any{`a "quoted" \ text`, 1.5, true, []any{"x"}, map[string]any{"k": "v"}} {
			all := map[string]any{}
			for param := range s.Properties {
				all[param] = odd
			}
			objectOf(t, b, all)
		}

		for _, missing := range s.Required {
			fewer := map[string]any{}
			for param, value := range needed {
				if param != missing {
					fewer[param] = value
				}
			}
			wantComplaint(t, answerOf(t, b, encode(t, fewer)), missing)
			fewer[missing] = nil
			wantComplaint(t, answerOf(t, b, encode(t, fewer)), missing)
		}
		for _, arguments := range []string{"", "{}", "null", "[]", `"text"`, `{"open":`} {
			wantComplaint(t, answerOf(t, b, arguments), s.Required...)
		}
	}
}

func wantComplaint(t *testing.T, result string, missing ...string) {
	t.Helper()
	for _, param := range missing {
		assert.Contains(t, result, `missing required parameter "`+param+`"`)
	}
}

type jsonSchema struct {
	Type        string                `json:"type"`
	Description string                `json:"description"`
	Enum        []string              `json:"enum"`
	Items       *jsonSchema           `json:"items"`
	Properties  map[string]jsonSchema `json:"properties"`
	Required    []string              `json:"required"`
}

// schemaOf reads the schema from its JSON, which is what a model sees.
func schemaOf(t *testing.T, b tool.BaseTool) (s jsonSchema) {
	t.Helper()
	text := encode(t, testtools.Must(testtools.MustInfo(t, b).ToJSONSchema())(t))
	require.NoError(t, json.Unmarshal([]byte(text), &s), text)
	require.Equal(t, "object", s.Type, text)
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

// answerOf calls a tool.
func answerOf(t *testing.T, b tool.BaseTool, arguments string) string {
	t.Helper()
	return testtools.Must(b.(tool.InvokableTool).InvokableRun(t.Context(), arguments))(t, arguments)
}

// objectOf calls a tool with complete arguments.
func objectOf(t *testing.T, b tool.BaseTool, arguments map[string]any) string {
	t.Helper()
	result := answerOf(t, b, encode(t, arguments))
	var object map[string]any
	assert.NoError(t, json.Unmarshal([]byte(result), &object), "%s: %s", testtools.MustInfo(t, b).Name, result)
	return result
}

func encode(t *testing.T, v any) string {
	t.Helper()
	return string(testtools.Must(json.Marshal(v))(t))
}
