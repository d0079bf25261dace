package internal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// toolWith returns a tool with a JSON schema.
func toolWith(t testing.TB, definition string) *schema.ToolInfo {
	t.Helper()
	parameters := new(jsonschema.Schema)
	require.NoError(t, json.Unmarshal([]byte(definition), parameters), "%.200s", definition)
	var all map[string]any
	reader := json.NewDecoder(strings.NewReader(definition))
	reader.UseNumber()
	require.NoError(t, reader.Decode(&all))
	for _, keyword := range []string{"definitions", "unevaluatedProperties"} { // the Go type has neither
		if value, ok := all[keyword]; ok {
			parameters.Extras = map[string]any{keyword: value}
		}
	}
	if strings.Contains(definition, `"unevaluatedItems"`) { // nor has it this, inside either
		parameters = &jsonschema.Schema{Extras: all}
	}
	return &schema.ToolInfo{Name: "remote", ParamsOneOf: schema.NewParamsOneOfByJSONSchema(parameters)}
}

func list(n int, part func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = part(i)
	}
	return strings.Join(parts, ",")
}

func names(n int) string { return list(n, func(i int) string { return fmt.Sprintf(`"p%d"`, i) }) }

// referred returns a schema that refers n times to a definition.
func referred(n int, definition string) string {
	return `{"type":"object","allOf":[` + list(n, func(int) string { return `{"$ref":"#/$defs/a"}` }) + `],"$defs":{"a":` + definition + `}}`
}

func property(definition string) string {
	return `{"type":"object","properties":{"q":` + definition + `}}`
}

func rows(n, values int) string {
	return `{"q":[` + list(n, func(i int) string {
		return fmt.Sprintf(`{"cells":[%s],"row":%d}`, list(values, func(int) string { return `{"b":[1,"x"]}` }), i)
	}) + `]}`
}

func nested(n int, inside string) string {
	return strings.Repeat(`{"a":`, n) + inside + strings.Repeat(`}`, n)
}

// maxMemory bounds a check. A successful attack would take all memory, or minutes and the test's time limit.
const maxMemory = 64 << 20

// attack is a schema and arguments that are costly to check.
type attack struct{ name, schema, arguments, want string }

const unchecked = "unchecked" // attack.want if nothing is checked; "" means that the arguments match

func attacks() []attack {
	draft7 := `{"$schema":"http://json-schema.org/draft-07/schema#",`
	patterns := func(n, size int) string {
		return `"properties":{` + list(n, func(i int) string { return fmt.Sprintf(`"p%d":{"pattern":"^[a-z%d]{%d}$"}`, i, i, size) }) + `}}`
	}
	classes := func(n, size int, class string) string {
		return `{"type":"object","patternProperties":{` + list(n,
			func(i int) string { return fmt.Sprintf(`"^%d%s$":{"type":"string"}`, i, strings.Repeat(class, size)) }) + `}}`
	}
	formats := func(n int, format string) string {
		return draft7 + `"properties":{"q":{"allOf":[` + list(n, func(int) string { return `{"format":"` + format + `"}` }) + `]}}}`
	}
	objectOf := func(n int) string {
		return `{` + list(n, func(i int) string { return fmt.Sprintf(`"q%d":1`, i) }) + `}`
	}
	itemsOf := func(n int, item string) string {
		return `{"q":[` + list(n, func(int) string { return item }) + `]}`
	}
	long := func(text string) string { return `{"q":"` + strings.Repeat(text, 1_000_000/len(text)) + `"}` }
	return []attack{
		{"names by reference", referred(4000, `{"required":[`+names(20_000)+`]}`), `{}`, unchecked},
		{"fewer names by fewer references", referred(400, `{"required":[`+names(5000)+`]}`), `{}`, unchecked},
		{"names by references that double", `{"type":"object","$ref":"#/$defs/a0","$defs":{` + list(20, func(i int) string {
			return fmt.Sprintf(`"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i+1, i+1)
		}) + `,"a20":{"required":["x"]}}}`, `{}`, unchecked},
		{"names of many items", property(`{"items":{"required":[` + names(5000) + `]}}`),
			`{"q":[` + list(10_000, func(int) string { return `{}` }) + `]}`, unchecked},
		{"names of a few items", property(`{"items":{"required":[` + names(500) + `]}}`), `{"q":[{}]}`, "/q/0: missing properties 'p0', 'p1'"},
		{"dependent names", referred(400, `{"dependentRequired":{"q":[`+names(5000)+`]}}`), `{"q":1}`, unchecked},
		{"a few dependent names", referred(4, `{"dependentRequired":{"q":[`+names(50)+`]}}`), `{"q":1}`, "properties 'p0', 'p1'"},
		{"dependencies of old", draft7 + `"allOf":[` + list(400, func(int) string { return `{"$ref":"#/definitions/a"}` }) +
			`],"definitions":{"a":{"dependencies":{"q":[` + names(5000) + `]}}}}`, `{"q":1}`, unchecked},
		{"a constant by reference", referred(400, property(`{"const":[`+names(5000)+`]}`)), `{"q":[` + names(5000) + `]}`, unchecked},
		{"a constant for many items", property(`{"items":{"const":[` + names(5000) + `]}}`),
			`{"q":[` + list(200, func(int) string { return `[` + names(140) + `]` }) + `]}`, unchecked},
		{"a list to choose from by reference", referred(400, property(`{"enum":[`+names(5000)+`]}`)), `{"q":"x"}`, unchecked},
		{"a list to choose from", property(`{"enum":[` + names(3000) + `]}`), `{"q":"x"}`, "/q: value must be one of 'p0'"},
		{"numbers to choose from", property(`{"items":{"enum":[` + list(1000, func(i int) string { return fmt.Sprint(i) + "e290" }) + `]}}`),
			`{"q":[` + list(1000, func(i int) string { return fmt.Sprint(i) }) + `]}`, unchecked},
		{"unique large rows", property(`{"type":"array","uniqueItems":true,"items":{"type":"object"}}`), rows(20, 6000), unchecked},
		{"unique rows", property(`{"type":"array","uniqueItems":true,"items":{"type":"object"}}`), rows(20, 400), unchecked},
		{"unique small rows", property(`{"type":"array","uniqueItems":true,"items":{"type":"object"}}`), rows(20, 10), ""},
		{"unique in unique", `{"type":"object","properties":{"a":{"$ref":"#"}},"additionalProperties":{"type":"array","uniqueItems":true}}`,
			nested(100, rows(20, 400)), unchecked},
		{"unique long numbers", property(`{"uniqueItems":true}`),
			`{"q":[` + list(20_000, func(i int) string { return fmt.Sprint(i, "e300")[:len(fmt.Sprint(i))] + "e300" }) + `]}`, unchecked},
		{"thousands of patterns", `{"type":"object",` + patterns(3000, 20), `{"p1":"x"}`, unchecked},
		{"large patterns", `{"type":"object",` + patterns(90, 900), `{"p1":"x"}`, unchecked},
		{"some patterns", `{"type":"object",` + patterns(50, 20), `{"p1":"x"}`, "/p1: 'x' does not match pattern"},
		{"a pattern by reference", referred(400, property(`{"pattern":"(x+x+)+y"}`)), `{"q":"` + strings.Repeat("x", 30_000) + `"}`, unchecked},
		{"patterns of names", `{"type":"object","patternProperties":{` + list(90,
			func(i int) string { return fmt.Sprintf(`"x{%d}y":{}`, i%20) }) + `}}`,
			`{` + list(5000, func(i int) string { return fmt.Sprintf(`"xxxxxxxxxxxxxx%d":1`, i) }) + `}`, unchecked},
		{"a long text by reference", referred(400, property(`{"type":"string"}`)), `{"q":"` + strings.Repeat("x", 1_000_000) + `"}`, unchecked},
		{"a long text", property(`{"type":"string"}`), `{"q":"` + strings.Repeat("x", 1_000_000) + `"}`, ""},
		{"a text longer than that", property(`{"type":"number"}`), `{"q":"` + strings.Repeat("x", 2_000_000) + `"}`, unchecked},
		{"a long text as a pattern", draft7 + `"properties":{"q":{"format":"regex"}}}`, `{"q":"` + strings.Repeat("(?=x)", 100_000) + `"}`, ""},
		{"many wrong values", property(`{"items":{"type":"string"}}`), `{"q":[` + list(20_000, func(int) string { return "1" }) + `]}`,
			"/q/0: got number, want string; /q/1: got number, want string; /q/2: got number, want string; /q/3: got number, want string; /q/4: " +
				"got number, want string"},
		{"many wrong values, deep", `{"type":"object","additionalProperties":{"$ref":"#"},"items":{"type":"integer"}}`,
			nested(250, `[`+list(20_000, func(int) string { return `"x"` })+`]`), unchecked},
		{"many names that are wrong", `{"type":"object","propertyNames":{"enum":[` + names(1000) + `]}}`,
			`{` + list(10_000, func(i int) string { return fmt.Sprintf(`"q%d":1`, i) }) + `}`, unchecked},
		{"a name that is wrong", `{"type":"object","propertyNames":{"enum":["a"]}}`, `{"b":1}`, "invalid propertyName 'b': value must be 'a'"},
		{"what no schema has looked at", `{"type":"object","allOf":[` + list(200,
			func(i int) string { return fmt.Sprintf(`{"properties":{"p%d":true}}`, i) }) + `],"unevaluatedProperties":false}`,
			`{` + list(10_000, func(i int) string { return fmt.Sprintf(`"p%d":1`, i) }) + `}`, unchecked},
		{"what few schemas have looked at", `{"type":"object","allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`,
			`{"a":1,"b":2}`, "/b: false schema"},
		{"many names against a pattern", `{"type":"object","propertyNames":{"pattern":"^x"}}`, objectOf(32_000), unchecked},
		{"names against a pattern", `{"type":"object","propertyNames":{"pattern":"^x"}}`, objectOf(5000), "invalid propertyName 'q0'"},
		{"many names against two schemas", `{"type":"object","allOf":[{"propertyNames":{"maxLength":1}},{"propertyNames":{"enum":["a"]}}]}`,
			objectOf(10_000), unchecked},
		{"many names that are not allowed", `{"type":"object","allOf":[` + list(5,
			func(int) string { return `{"additionalProperties":false}` }) + `]}`, objectOf(32_000),
			"additional properties 'q0', 'q1', 'q10', 'q100', 'q1000'"},
		{"items that no schema has looked at",
			property(`{"unevaluatedItems":{"type":"integer"},"allOf":[` + list(900, func(int) string { return `{"title":"x"}` }) + `]}`),
			itemsOf(16_000, "1"), unchecked},
		{"items that few schemas have looked at", property(`{"unevaluatedItems":{"type":"integer"},"allOf":[{"title":"x"}]}`),
			itemsOf(100, `"x"`), "/q/0: got string, want integer"},
		{"many short texts of a format", draft7 + `"properties":{"q":{"items":{"format":"duration"}}}}`, itemsOf(32_000, `"P1Y2M3DT4H5M6S"`),
			unchecked},
		{"short texts of a format", draft7 + `"properties":{"q":{"items":{"format":"duration"}}}}`, itemsOf(3000, `"P1Y2M3DT4H5M6S"`), ""},
		{"thousands of properties", `{"type":"object","properties":{` + list(4000,
			func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) + `}}`, `{"p1":1}`, unchecked},
		{"thousands of properties of any type",
			`{"type":"object","properties":{` + list(5000, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}`, `{}`, unchecked},
		{"hundreds of properties", `{"type":"object","properties":{` + list(500,
			func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) + `}}`, `{"p1":1}`, "/p1: got number, want string"},
		{"properties below long names", property(`{"properties":{"` + strings.Repeat("x", 50_000) + `":{"properties":{` + list(300,
			func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) + `}}}}`), `{}`, unchecked},
		{"references to what is no definition",
			`{"type":"object","allOf":[` + list(200, func(i int) string { return fmt.Sprintf(`{"$ref":"#/default/a%d"}`, i) }) +
				`],"default":{` + list(200, func(i int) string { return fmt.Sprintf(`"a%d":{}`, i) }) + `}}`, `{}`, unchecked},
		{"nested deep", strings.Repeat(`{"properties":{"a":`, 200) + `{}` + strings.Repeat(`}}`, 200), `{}`, unchecked},
		{"a long description, nested", strings.Repeat(`{"properties":{"a":`, 200) + `{"description":"` + strings.Repeat("x", 1<<15) + `"}` +
			strings.Repeat(`}}`, 200), `{}`, unchecked},
		{"branches that share names", `{"type":"object","allOf":[` + list(90, func(int) string {
			return `{"properties":{` + list(9, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"object"}`, i) }) +
				`},"additionalProperties":{"$ref":"#"}}`
		}) + `]}`, `{"p1":{}}`, unchecked},
		{"states without end", `{"type":"object","allOf":[{"$ref":"#/$defs/t0"}],"$defs":{` + list(60, func(i int) string {
			return fmt.Sprintf(`"t%d":{"properties":{"a":{"$ref":"#/$defs/t%d"},"b":{"allOf":[{"$ref":"#/$defs/t%d"},{"$ref":"#/$defs/t0"}]}}}`,
				i, (i+1)%60, (i+1)%60)
		}) + `}}`, strings.Repeat(`{"b":`, 20) + `{}` + strings.Repeat(`}`, 20), unchecked},
		{"many visits by reference", `{"type":"object","$ref":"#/$defs/a0","$defs":{` + list(13, func(i int) string {
			return fmt.Sprintf(`"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i+1, i+1)
		}) + `,"a13":{"type":"object"}}}`, `{}`, ""},
		{"many visits that go wrong", `{"type":"object","$ref":"#/$defs/a0","$defs":{` + list(13, func(i int) string {
			return fmt.Sprintf(`"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i+1, i+1)
		}) + `,"a13":{"required":["x"]}}}`, `{}`, "missing property 'x'"},
		{"properties that share a schema", `{"type":"object","allOf":[{"properties":{` + list(450,
			func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) +
			`}},{"additionalProperties":{"properties":{` + list(450,
			func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) + `}}}]}`, `{"p1":1}`, "/p1: got number, want string"},
		{"150 patterns", `{"type":"object",` + patterns(150, 5), `{"p1":"x"}`, "/p1: 'x' does not match pattern"},
		{"a pattern that Go has no syntax for", property(`{"pattern":"(?=x)y"}`), `{"q":"y"}`, unchecked},
		{"patterns of classes of letters", classes(20, 380, `[\\pL\\pS]`), `{}`, unchecked},
		{"a few patterns of classes of letters", classes(20, 2, `[\\pL\\pS]`), `{"1éx":1}`, "/1éx: got number, want string"},
		{"many patterns of a class of letters", classes(110, 1, `\\PL`), `{}`, ""},
		{"classes of letters in branches that become one class", property(`{"pattern":"` + strings.Repeat(`\\pL|`, 120) + `x"}`), `{"q":"y"}`,
			""},
		{"more of such branches", property(`{"pattern":"` + strings.Repeat(`\\pL|`, 20_000) + `x"}`), `{"q":"y"}`, unchecked},
		{"a long pattern of classes", property(`{"pattern":"` + strings.Repeat(`\\PL`, 24_000) + `"}`), `{"q":"x"}`, unchecked},
		{"a long pattern of ranges of any case", property(`{"pattern":"(?i)` + strings.Repeat(`[B-\\x{1e942}]`, 8000) + `"}`), `{"q":"x"}`,
			unchecked},
		{"ranges of any case", property(`{"pattern":"(?i)^` + strings.Repeat(`[B-\\x{1e942}]`, 4) + `$"}`), `{"q":"x"}`,
			"/q: 'x' does not match pattern"},
		{"a pattern of short repetitions", property(`{"pattern":"` + strings.Repeat(`a{2}`, 8000) + `"}`), `{"q":"x"}`, unchecked},
		{"ranges of Han", property(`{"pattern":"^[一-龥\\p{Han}]+$"}`), `{"q":"中文x"}`, "/q: '中文x' does not match pattern"},
		{"a format of pointers by branches", formats(24, "json-pointer"), long("/~0"), unchecked},
		{"a format of templates by branches", formats(24, "uri-template"), long("é"), unchecked},
		{"a format of references by branches", formats(24, "uri-reference"), long("é"), unchecked},
		{"a format of a long text", formats(1, "uri-reference"), long("é"), ""},
		{"a format of long pointers", formats(1, "json-pointer"), long("/~0"), ""},
		{"formats of a short text", formats(24, "email"), `{"q":"x"}`, "/q: 'x' is not valid email"},
		{"an address that is not there", property(`{"$ref":"https://example.com/schema"}`), `{"q":"y"}`, unchecked},
		{"values below a long name and an address",
			`{"$id":"https://a.example","type":"object","properties":{"` + strings.Repeat("x", 50_000) + `":{"$ref":"#/$defs/a","enum":[` +
				list(5000, func(i int) string { return fmt.Sprint(i) }) + `]}},"$defs":{"a":{}}}`, `{}`, ""},
		{"lists below a long name and an address",
			`{"$id":"https://a.example","type":"object","properties":{"` + strings.Repeat("x", 50_000) + `":{"$ref":"#/$defs/a","enum":[` +
				list(5000, func(int) string { return "[]" }) + `]}},"$defs":{"a":{}}}`, `{}`, unchecked},
		{"a tree that branches", property(`{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`),
			strings.Repeat(`{"q":`, 30) + `1` + strings.Repeat(`}`, 30), unchecked},
		{"a tree that branches a few times", property(`{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`), `{"q":{"q":1}}`, "/q/q: got number, want object"},
		{"branches that share names, deep", `{"type":"object","allOf":[` + list(30,
			func(int) string { return `{"additionalProperties":{"$ref":"#"}}` }) + `]}`, nested(5, `{}`), unchecked},
		{"an unknown type", `{"type":"objekt"}`, `{"a":1}`, unchecked},
		{"a definition that is missing", property(`{"$ref":"#/$defs/none"}`), `{"q":1}`, unchecked},
		{"nothing", `{}`, `{"a":1}`, ""},
		{"a reference to itself", `{"$ref":"#"}`, `{"a":1}`, unchecked},
		{"a long text against a pattern", property(`{"pattern":"(x+x+)+y$"}`), `{"q":"` + strings.Repeat("x", 100_000) + `"}`, "/q: 'xxx"},
		{"a tree", `{"type":"object","properties":{"a":{"$ref":"#"}}}`, nested(40, "1"), strings.Repeat("/a", 40) + ": got number, want object"},
		{"a tree, and the arguments are too deep", `{"type":"object","properties":{"a":{"$ref":"#"}}}`, nested(2000, "1"),
			"it is nested more than 256 deep"},
		{"a number that takes long to read", property(`{"maximum":1e999999}`), `{"q":1}`, unchecked},
		{"a bound, and numbers that take long to read", property(`{"items":{"multipleOf":3}}`), itemsOf(5000, "1e999999"),
			"it has a number of more than 400 digits"},
		{"a bound, and large numbers", property(`{"items":{"maximum":1e300}}`), `{"q":[1e299,1e301,-1e308]}`, "/q/1: maximum: got 1"},
		{"items that are equal", property(`{"uniqueItems":true}`), itemsOf(5000, `{"b":1}`), "/q: items at 0 and 1 are equal"},
		{"an address that refers to itself", `{"$id":"https://a.example","type":"object","allOf":[{"$ref":"https://a.example"}]}`, `{}`,
			unchecked},
		{"a tree whose branches have names", `{"type":"object","anyOf":[{"required":["and"],"properties":{"and":{"items":{"$ref":"#"}}}},{"required":["or"],"properties":{"or":{"items":{"$ref":"#"}}}},{"required":["field"]}]}`,
			`{"and":[{"or":[{"field":1},{"and":[{"field":2}]}]},{"or":[{"field":3},{"and":[]}]}]}`, ""},
	}
}

// TestAttacks: a check is cheap for any schema from a server and any arguments from a model.
// A check that was not made is reported.
func TestAttacks(t *testing.T) {
	testtools.SkipWithoutGoroutines(t)
	for _, tt := range attacks() {
		t.Run(tt.name, func(t *testing.T) {
			info := toolWith(t, tt.schema)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			problem, err := new(schemacheck.Checker).Problem(t.Context(), 0, info, tt.arguments)
			runtime.ReadMemStats(&after)
			if tt.want == unchecked {
				assert.Error(t, err)
				assert.Empty(t, problem)
				if err != nil {
					assert.LessOrEqual(t, len(err.Error()), 100, "bytes of the reason")
					if text := err.Error(); !strings.Contains(text, "arguments") && text != "the schema is wrong" {
						assert.Equal(t, err, schemacheck.Bound(info), "the error when the catalog is built")
					}
				}
			} else {
				assert.NoError(t, err)
				assert.True(t, strings.HasPrefix(problem, tt.want), "the problem is %.300q", problem)
				assert.Equal(t, tt.want == "", problem == "", "the problem is %.300q", problem)
			}
			assert.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(maxMemory), "bytes allocated")
		})
	}
}

// No schema is loaded from outside.
func TestNothingIsLoaded(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, `false`)
	}))
	defer server.Close()
	file := filepath.ToSlash(filepath.Join(t.TempDir(), "false.json"))
	require.NoError(t, os.WriteFile(file, []byte(`false`), 0o600))
	for definition, want := range map[string]string{
		property(`{"$ref":"file://` + file + `"}`):                   unchecked,
		property(`{"$ref":"` + file + `"}`):                          unchecked,
		property(`{"$ref":"` + server.URL + `/a.json"}`):             unchecked,
		`{"$schema":"` + server.URL + `/draft","type":"object"}`:     unchecked,
		`{"$id":"` + server.URL + `/a.json","required":["missing"]}`: "missing property 'missing'",
	} {
		problem, err := new(schemacheck.Checker).Problem(t.Context(), 0, toolWith(t, definition), `{"q":1}`)
		assert.Equal(t, want == unchecked, err != nil, definition)
		assert.Equal(t, strings.TrimPrefix(want, unchecked), problem, definition)
	}
	assert.Zero(t, asked.Load(), "requests to a schema's address")
}

// BenchmarkAttacks measures what each schema costs when a catalog is built, and what each attack costs, its
// schema compiled for the first call.
func BenchmarkAttacks(b *testing.B) {
	for _, a := range attacks() {
		info := toolWith(b, a.schema)
		b.Run("build "+a.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = schemacheck.Bound(info)
			}
		})
		b.Run("call "+a.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = new(schemacheck.Checker).Problem(b.Context(), 0, info, a.arguments)
			}
		})
	}
}

// The report is the same each time, even of very many problems.
func TestProblemsAreInOrder(t *testing.T) {
	info := toolWith(t, `{"type":"object","properties":{"a":{"type":"integer","minimum":3,"multipleOf":2},"b":{"required":["x"]},"c":{"anyOf":[{"type":"string"},{"type":"array"}]},"d":{"allOf":[{"minLength":3},{"pattern":"^x"},{"enum":["y"]}]}},
		"required":["z"],"additionalProperties":false,"propertyNames":{"maxLength":1}}`)
	var c schemacheck.Checker
	first := testtools.Must(c.Problem(t.Context(), 0, info, `{"a":1,"b":{},"c":1,"d":"q","ee":1,"ff":2}`))(t)
	require.Equal(t, 4, strings.Count(first, "; "), first)
	for range 50 {
		require.Equal(t, first, testtools.Must(c.Problem(t.Context(), 0, info, `{"ff":2,"ee":1,"d":"q","c":1,"b":{},"a":1}`))(t))
	}
}

// slow is a value in a schema. Writing it ends only when its channel is closed.
type slow chan struct{}

func (s slow) MarshalJSON() ([]byte, error) {
	<-s
	return []byte(`"slow"`), nil
}

// A schema that takes forever to read does not delay calls of other tools. Its own calls pass unchecked
// after a while, or with their context, and occupy no more than one goroutine.
func TestSlowSchemaHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(slow)
		stuck := &schema.ToolInfo{Name: "slow",
			ParamsOneOf: schema.NewParamsOneOfByJSONSchema(&jsonschema.Schema{Type: "object", Const: release})}
		var c schemacheck.Checker
		goroutines := runtime.NumGoroutine()
		for range 5 {
			problem, err := c.Problem(t.Context(), 0, stuck, `{}`)
			assert.ErrorContains(t, err, "the arguments take too long to check")
			assert.Empty(t, problem)
		}
		assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines+1, "goroutines that hang")
		start := time.Now()
		problem := testtools.Must(c.Problem(t.Context(), 1, toolWith(t, `{"required":["a"]}`), `{}`))(t)
		assert.Equal(t, "missing property 'a'", problem)
		done, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.Problem(done, 0, stuck, `{}`)
		assert.ErrorIs(t, err, context.Canceled)
		assert.Zero(t, time.Since(start), "time that these two calls wait")
		close(release)
		problem = testtools.Must(c.Problem(t.Context(), 0, stuck, `{}`))(t)
		assert.Equal(t, "value must be 'slow'", problem)
	})
}

// A walk tells which schemas need no mending and are never written: the schemas in all places, and all values, count.
func TestOddParts(t *testing.T) {
	list := &jsonschema.Schema{Type: "array"}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[jsonschema.Schema]()) {
		for _, part := range []any{list, []*jsonschema.Schema{list}, map[string]*jsonschema.Schema{"a": list}, jsonschema.Definitions{"a": list}} {
			if s := (&jsonschema.Schema{Type: "object"}); field.Type == reflect.TypeOf(part) {
				reflect.ValueOf(s).Elem().FieldByIndex(field.Index).Set(reflect.ValueOf(part))
				mended, refusal, _ := schemacheck.Mended(&schema.ToolInfo{Name: "a", ParamsOneOf: schema.NewParamsOneOfByJSONSchema(s)})
				require.Error(t, refusal, "an array without items in %s", field.Name)
				assert.NoError(t, schemacheck.Refusal(mended), "what is left of %s", field.Name)
			}
		}
	}
	for _, value := range []any{math.NaN(), json.Number("x"), json.RawMessage("{"), map[any]any{1: 2}, func() {}, []any{math.Inf(1)}} {
		s := &jsonschema.Schema{Type: "object", Default: value}
		refusal := schemacheck.Refusal(&schema.ToolInfo{Name: "a", ParamsOneOf: schema.NewParamsOneOfByJSONSchema(s)})
		assert.ErrorContains(t, refusal, "is wrong", "%T", value)
	}
	nulls := &jsonschema.Schema{Type: "object", Enum: make([]any, 200_000)}
	assert.ErrorContains(t, schemacheck.Refusal(&schema.ToolInfo{Name: "a", ParamsOneOf: schema.NewParamsOneOfByJSONSchema(nulls)}), "longer")
	for part, shared := range map[string]int{`"type":"integer"`: 1, `"$ref":"#/properties/a/properties/b"`: 0} { // it leads into a part
		text := json.RawMessage(`{"properties":{"a":{"properties":{"b":{"type":"string"}},"description":"as long as what is shared is"},"c":{` + part + `}},"type":"object"}`)
		assert.Len(t, schemacheck.Share([]json.RawMessage{text, text}), shared, part)
	}
	for draft, shared := range map[string]int{"http://json-schema.org/draft-07/schema#": 0, "https://json-schema.org/draft/2020-12/schema": 1} {
		text := `{"$schema":"` + draft + `","properties":{"a":{"enum":["a value as long as","what is worth a reference of its own is"],"description":"one"}},"type":"object"}`
		other := strings.Replace(text, "one", "two", 1) // so the enumeration alone is the same, and a reference would stand beside a text
		assert.Len(t, schemacheck.Share([]json.RawMessage{json.RawMessage(text), json.RawMessage(other)}), shared, draft)
	}
}

// Bound leaves to the calls what depends on the arguments, and what only the compiler knows.
func TestBound(t *testing.T) {
	assert.EqualError(t, schemacheck.Bound(toolWith(t, property(strings.Repeat(`{"items":`, 70)+`{}`+strings.Repeat(`}`, 70)))),
		"the schema is nested too deep")
	for _, definition := range []string{
		`{"type":"object","allOf":[{"$ref":"#"}]}`, property(`{"$ref":"#/properties/r"}`),
		property(`{"default":{"$ref":"#/nowhere","pattern":"(?=x)"},"enum":[{"allOf":[{"$ref":"#"}]}]}`),
		`{"type":"object","properties":{"pattern":{"type":"string"},"$ref":{"type":"string"},"default":{"pattern":"^a"}}}`,
	} {
		assert.NoError(t, schemacheck.Bound(toolWith(t, definition)), definition)
	}
}

// The memory for schemas is bounded, however many tools there are and however large the classes of their
// patterns.
func TestMemoryOfSchemas(t *testing.T) {
	testtools.SkipWithoutGoroutines(t)
	heap := func() int64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	for name, tt := range map[string]struct {
		docs, patterns int
		format         string // of a property's number and a document's
		most           int64  // bytes kept
	}{
		"250 schemas of 50 patterns": {250, 50, `"p%d":{"pattern":"^[a-z%[1]d]{40}%d$"}`, 96 << 20},
		"100 schemas of 120 classes": {100, 10, `"p%d":{"pattern":"^%d_%[1]d` + strings.Repeat(`\\PL`, 12) + `$"}`, 80 << 20},
	} {
		before := heap()
		var c schemacheck.Checker
		for doc := range tt.docs {
			problem := testtools.Must(c.Problem(t.Context(), doc, toolWith(t, `{"type":"object","properties":{`+
				list(tt.patterns, func(i int) string { return fmt.Sprintf(tt.format, i, doc) })+`}}`), `{"p1":"x"}`))(t)
			require.NotEmpty(t, problem)
		}
		assert.Less(t, heap()-before, tt.most, name)
		runtime.KeepAlive(&c)
	}
}

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
