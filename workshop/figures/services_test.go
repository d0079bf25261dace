package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// The tools of the quickstart, which the examples, the figures and many tests share.

func TestServicesAreDescribed(t *testing.T) {
	assert.GreaterOrEqual(t, len(services.Tools()), 130)
	legal := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	seen := map[string]bool{}
	for _, b := range services.Tools() {
		info := testtools.MustInfo(t, b)
		assert.Regexp(t, legal, info.Name)
		assert.False(t, seen[info.Name], "%s is there twice", info.Name)
		seen[info.Name] = true
		assert.GreaterOrEqual(t, len(info.Desc), 30, "%s: description %q is too short", info.Name, info.Desc)
		checkProperties(t, info.Name, schemaOf(t, b))
	}
}

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
		s, name := schemaOf(t, b), testtools.MustInfo(t, b).Name

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

func TestServiceAnswers(t *testing.T) {
	for _, tc := range []struct{ name, arguments, want string }{
		{
			"mcp__slack__send_direct_message", `{"users": ["U017"], "text": "say \"hi\" to <all> {users}"}`,
			`{"ok":true,"id":"4468c041","users":["U017"],"text":"say \"hi\" to <all> {users}"}`,
		},
		{
			"mcp__gmail__modify_labels", `{"thread_id": "t-1", "add": ["Receipts", "Travel"]}`,
			`{"ok":true,"id":"e0d3e163","thread_id":"t-1","add":["Receipts","Travel"],"remove":null}`,
		},
		{
			"mcp__kubernetes__scale_deployment", `{"name": "web", "replicas": 5}`,
			`{"ok":true,"id":"e89e12d0","name":"web","replicas":5,"namespace":"default"}`,
		},
		{
			"mcp__zendesk__merge_tickets", `{"target_id": 12345678901234567890, "source_ids": [1, 2]}`,
			`{"ok":true,"id":"92c008c9","target_id":12345678901234567890,"source_ids":[1,2]}`,
		},
		{
			"mcp__weather__daily_forecast", `{"location": "Oslo", "days": 1}`,
			`{"location":"Oslo","units":"metric","days":[{"sky":"light rain","high":19,"low":11}]}`,
		},
		{
			"mcp__github__create_issue", `{"owner": "acme", "repo": "gateway"}`,
			`mcp__github__create_issue: missing required parameter "title"`,
		},
		{
			"mcp__postgres__terminate_connection", `4182`,
			`mcp__postgres__terminate_connection: the arguments must be a JSON object; missing required parameter "pid"`,
		},
		{
			"mcp__s3__list_buckets", `[]`,
			`mcp__s3__list_buckets: the arguments must be a JSON object`,
		},
	} {
		assert.Equal(t, tc.want, answerOf(t, find(t, tc.name), tc.arguments), "%s(%s)", tc.name, tc.arguments)
	}
}

func TestCreatedThingsDiffer(t *testing.T) {
	create := find(t, "mcp__github__create_issue")
	first := answerOf(t, create, `{"owner": "acme", "repo": "gateway", "title": "One"}`)
	second := answerOf(t, create, `{"owner": "acme", "repo": "gateway", "title": "Two"}`)
	reordered := answerOf(t, create, `{ "title": "One", "repo": "gateway", "owner": "acme" }`)
	assert.NotEqual(t, first, second)
	assert.Equal(t, first, reordered)
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

func find(t *testing.T, name string) tool.BaseTool {
	t.Helper()
	i := slices.IndexFunc(services.Infos(), func(info *schema.ToolInfo) bool { return info.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return services.Tools()[i]
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
