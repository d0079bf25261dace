package schemacheck_test

import (
	"encoding/json"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
)

// Definitions that differ in one keyword have different prints, and new values of a definition have its
// print.
func TestPrintOf(t *testing.T) {
	printOf := func(keyword string) schemacheck.Print {
		var parameters jsonschema.Schema
		require.NoError(t, json.Unmarshal([]byte(`{"type":"object",`+keyword+`}`), &parameters), keyword)
		return schemacheck.PrintOf(&schema.ToolInfo{Name: "tool", ParamsOneOf: schema.NewParamsOneOfByJSONSchema(&parameters)})
	}
	seen := make(map[schemacheck.Print]string)
	for _, keyword := range []string{
		`"title":"t"`, `"description":"t"`, `"$ref":"#/a"`, `"format":"f"`, `"pattern":"p"`, `"$id":"https://a.example"`, `"$anchor":"a"`,
		`"$comment":"c"`,
		`"minimum":1`, `"minimum":2`, `"maximum":1`, `"maxLength":0`, `"maxLength":3`, `"uniqueItems":true`, `"readOnly":true`,
		`"required":["a"]`, `"required":["b"]`,
		`"items":{"type":"string"}`, `"items":true`, `"items":false`, `"additionalProperties":false`, `"additionalProperties":true`,
		`"additionalProperties":{"type":"string"}`,
		`"properties":{}`, `"properties":{"a":{"type":"string"}}`, `"properties":{"a":{"type":"number"}}`, `"properties":{"a":true}`,
		`"properties":{"a":false}`,
		`"properties":{"a":{"type":"string"},"b":{"type":"string"}}`,
		`"allOf":[{"type":"string"}]`, `"anyOf":[{"type":"string"}]`, `"oneOf":[{"type":"string"}]`, `"not":{"type":"string"}`, `"not":false`,
		`"if":{"type":"string"}`, `"then":{"type":"string"}`,
		`"else":{"type":"string"}`, `"contains":{"type":"string"}`, `"propertyNames":{"type":"string"}`, `"prefixItems":[{"type":"string"}]`,
		`"$defs":{"a":{"type":"string"}}`,
		`"patternProperties":{"a":{"type":"string"}}`, `"dependentSchemas":{"a":{"type":"string"}}`, `"dependentRequired":{"a":["b"]}`,
		`"enum":["a",1,true,null,[2],{"b":3}]`, `"enum":["a",1,true,null,[2],{"b":4}]`, `"const":1`, `"default":{"a":[1]}`,
		`"default":{"a":[2]}`, `"examples":["a"]`,
	} {
		p := printOf(keyword)
		assert.Equal(t, p, printOf(keyword), "new values of %s", keyword)
		assert.Empty(t, seen[p], "another keyword with the print of %s", keyword)
		seen[p] = keyword
	}
	assert.Equal(t, printOf(`"properties":{"a":{"const":1},"b":{}}`), printOf(`"properties":{"b":{},"a":{"const":1}}`), "another order")
}

func BenchmarkPrintOf(b *testing.B) {
	info := toolWith(b, `{"type":"object","properties":{"owner":{"type":"string","description":"Owner of the `+
		`repository"},"repo":{"type":"string"},`+
		`"labels":{"type":"array","items":{"type":"string"}},"state":{"type":"string","enum":["open","closed"]}},"required":["owner","repo"],"additionalProperties":false}`)
	b.ReportAllocs()
	for b.Loop() {
		schemacheck.PrintOf(info)
	}
}
