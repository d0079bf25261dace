package conversations_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/eino-contrib/jsonschema"
	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Arguments of dispatched calls are checked against the schemas of tools, whatever a server sends as one.

const bookSchema = `{"type":"object","properties":{
	"guest":{"type":"object","properties":{"name":{"type":"string","minLength":2},"age":{"type":"integer"}},"required":["name"],"additionalProperties":false},
	"nights":{"type":"integer","minimum":1},
	"room":{"enum":["single","double"]},
	"days":{"type":"array","items":{"type":"string","pattern":"^[0-9]{4}$"}}
},"required":["guest","nights"],"additionalProperties":false}`

func TestDispatchedArgumentsAreCheckedAgainstTheSchema(t *testing.T) {
	var table []conversation
	for _, tt := range []struct{ arguments, problem string }{ // an empty problem means that the tool runs
		{`{"guest":{"name":"Ann","age":30},"nights":2,"room":"double","days":["2030"]}`, ""},
		{`{"guest":{"name":"Ann"},"nights":2.0}`, ""},
		{`{}`, "missing properties 'guest', 'nights'"},
		{`{"guest":{"name":"Ann"},"nights":"2"}`, "/nights: got string, want integer"},
		{`{"guest":{"name":"Ann"},"nights":0}`, "/nights: minimum: got 0, want 1"},
		{`{"guest":{"name":"Ann"},"nights":1.5}`, "/nights: got number, want integer"},
		{`{"guest":{},"nights":1}`, "/guest: missing property 'name'"},
		{`{"guest":{"name":"A"},"nights":1}`, "/guest/name: minLength: got 1, want 2"},
		{`{"guest":"Ann","nights":1}`, "/guest: got string, want object"},
		{`{"guest":{"name":"Ann"},"nights":1,"z":1,"y":2,"x":3}`, "additional properties 'x', 'y', 'z' not allowed"},
		{`{"guest":{"name":"Ann","c":1,"b":2},"nights":1}`, "/guest: additional properties 'b', 'c' not allowed"},
		{`{"guest":{"name":"Ann"},"nights":1,"room":"suite"}`, "/room: value must be one of 'single', 'double'"},
		{`{"guest":{"name":"Ann"},"nights":1,"days":["2030","30",31]}`,
			"/days/1: '30' does not match pattern '^[0-9]{4}$'; /days/2: got number, want string"},
		{`{"guest":{"name":7},"nights":null,"room":1,"days":{},"z":1,"y":1}`,
			"additional properties 'y', 'z' not allowed; /days: got object, want array; " +
				"/guest/name: got number, want string; /nights: got null, want integer; /room: value must be one of 'single', 'double'"},
		{`[]`, "want an object"},
		{`"Ann"`, "not valid JSON: invalid character 'A' looking for beginning of value"},
		{`7`, "want an object"},
	} {
		table = append(table, conversation{
			name: tt.arguments, config: using(toolsearch.ProtocolDispatch), dynamic: []tool.BaseTool{withSchema("book", schemaOf(t, bookSchema))},
			turns: []turn{callTool("call_tool", `{"name":"book","arguments":`+tt.arguments+`}`)},
			check: func(t *testing.T, o outcome) {
				got := o.result(t, "call_1")
				if tt.problem == "" {
					assert.Equal(t, "book ran with "+tt.arguments, got)
					return
				}
				var answer struct {
					Matches []string
					Message string
					Tool    struct {
						Name       string
						Parameters map[string]any
					}
				}
				require.NoError(t, json.Unmarshal([]byte(got), &answer), got)
				assert.Equal(t, `"book" was not run: its arguments do not fit. `+tt.problem+`. Call it again with arguments that fit "parameters".`, answer.Message)
				var parameters map[string]any
				require.NoError(t, json.Unmarshal([]byte(bookSchema), &parameters))
				assert.Equal(t, "book", answer.Tool.Name)
				assert.Equal(t, parameters, answer.Tool.Parameters)
			},
		})
	}
	playAll(t, table)
}

// doubling returns a schema in which each of n definitions refers to the next definition twice.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","$ref":"#/$defs/a0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"a%d":{"required":["x"]}}}`, n)
	return b.String()
}

// A definition that was made in Go can contain itself. Its tool can be found and called.
func TestEndlessDefinition(t *testing.T) {
	for _, p := range []toolsearch.Protocol{toolsearch.ProtocolRanked, toolsearch.ProtocolDispatch} {
		playAll(t, []conversation{{
			name: p.String(), config: using(p), dynamic: []tool.BaseTool{withSchema("remote", circular())},
			turns: []turn{searching(`{"query":"select:remote"}`), callTool("remote", `{}`)}, check: says("…", "remote ran with {}"),
		}})
	}
}

// A schema that is wrong, or that would take too long to check, forbids nothing: the tool runs and
// checks its arguments itself. No schema is loaded from outside. Without bounds, the validator would
// not return for some of these schemas.
func TestSchemasOfRemoteServers(t *testing.T) {
	testtools.SkipWithoutGoroutines(t)
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, `false`)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "false.json")
	require.NoError(t, os.WriteFile(file, []byte(`false`), 0o600))
	property := func(definition string) string { return `{"type":"object","properties":{"a":` + definition + `}}` }
	nested := func(n int, inside string) string { return strings.Repeat(`{"a":`, n) + inside + strings.Repeat(`}`, n) }
	wide := `"` + strings.Join(toolNames(20_000), `":{"type":"string"},"`) + `":{"type":"string"},`
	list := func(n int, part string) string { return strings.Repeat(part+",", n-1) + part }
	required := `"` + strings.Join(toolNames(4000), `","`) + `",`
	var table []conversation
	for _, tt := range []struct{ name, schema, arguments, problem string }{
		{"refers to a file", property(`{"$ref":"file://` + filepath.ToSlash(file) + `"}`), `{"a":1}`, ""},
		{"refers to a file by path", property(`{"$ref":"` + filepath.ToSlash(file) + `"}`), `{"a":1}`, ""},
		{"refers to an address", property(`{"$ref":"` + server.URL + `/a.json"}`), `{"a":1}`, ""},
		{"has a draft at an address", `{"$schema":"` + server.URL + `/draft","type":"object"}`, `{"a":1}`, ""},
		{"has an address as its ID", `{"$id":"` + server.URL + `/a.json","type":"object","properties":{"a":{"type":"string"}}}`,
			`{"a":1}`, "/a: got number, want string"},
		{"refers to a missing definition", property(`{"$ref":"#/$defs/none"}`), `{"a":1}`, ""},
		{"is empty", `{}`, `{"a":1}`, ""},
		{"has an unknown type", `{"type":"objekt"}`, `{"a":1}`, ""},
		{"has a pattern that Go cannot read", property(`{"pattern":"(?=x)"}`), `{"a":"y"}`, ""},
		{"has a pattern that is too large", property(`{"pattern":"((.{0,30}){0,30}x)$"}`), `{"a":"` + strings.Repeat("ab", 20_000) + `"}`, ""},
		{"has a pattern, and the text is long", property(`{"pattern":"(x+x+)+y$"}`), `{"a":"` + strings.Repeat("x", 100_000) + `"}`, "/a: 'xxx"},
		{"refers to itself", `{"$ref":"#"}`, `{"a":1}`, ""},
		{"refers to itself within allOf", `{"type":"object","allOf":[{"$ref":"#"}]}`, `{"a":1}`, ""},
		{"is a tree", property(`{"$ref":"#"}`), nested(40, "1"), strings.Repeat("/a", 40) + ": got number, want object"},
		{"is a tree, and the arguments are too deep", property(`{"$ref":"#"}`), nested(2000, "1"), "it is nested more than 256 deep"},
		{"is a tree with two branches at each node", property(`{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`), nested(60, "1"), ""},
		{"doubles forty times", doubling(40), `{}`, ""},
		{"doubles five times", doubling(5), `{}`, "missing property 'x'"},
		{"is nested deep", strings.Repeat(`{"properties":{"a":`, 2000) + `{}` + strings.Repeat(`}}`, 2000), `{"a":1}`, ""},
		{"is huge", `{"type":"object","properties":{` + wide + `"a":{"type":"string"}}}`, `{"a":1}`, ""},
		{"has a number that takes long to read", property(`{"maximum":1e999999}`), `{"a":1}`, ""},
		{"has a bound, and the numbers take long to read", property(`{"items":{"multipleOf":3}}`),
			`{"a":[1` + strings.Repeat(`,1e999999`, 5000) + `]}`, "it has a number of more than 400 digits"},
		{"has a bound, and the numbers are large", property(`{"items":{"maximum":1e300}}`), `{"a":[1e299,1e301,-1e308]}`, "/a/1: maximum: got 1"},
		{"wants each item of a long list once", property(`{"uniqueItems":true}`),
			`{"a":[1` + strings.Repeat(`,{"b":1}`, 5000) + `]}`, "/a: items at 1 and 2 are equal"},
		{"requires many names many times", `{"type":"object","allOf":[` + list(4000,
			`{"$ref":"#/$defs/a"}`) + `],"$defs":{"a":{"required":[` + required + `"x"]}}}`, `{}`, ""},
		{"requires many names once", `{"type":"object","required":[` + required + `"x"]}`, `{}`, "missing properties 'tool_000'"},
		{"wants each of some large items once", property(`{"type":"array","uniqueItems":true}`),
			`{"a":[` + list(20, `{"cells":[`+list(60_000, `{"b":[1]}`)+`]}`) + `]}`, ""},
		{"holds tags and line breaks", property(`{"enum":["</x>\n<y>"]}`), `{"a":1}`, "/a: value must be '‹/x›\\n‹y›'"},
	} {
		table = append(table, conversation{
			name: tt.name, config: using(toolsearch.ProtocolDispatch), dynamic: []tool.BaseTool{withSchema("remote", schemaOf(t, tt.schema))},
			turns: []turn{searching(`{"query":"select:remote"}`), callTool("call_tool", `{"name":"remote","arguments":`+tt.arguments+`}`)},
			check: func(t *testing.T, o outcome) {
				got := o.result(t, "call_2")
				if tt.problem == "" {
					assert.Equal(t, "remote ran with "+tt.arguments, got)
				} else {
					require.True(t, strings.HasPrefix(got, `{"matches":[],"message":`),
						"the answer %.300s begins with a message, which has %s", got, tt.problem)
					assert.Contains(t, answerOf(t, got).Message, " fit. "+tt.problem)
				}
				assert.LessOrEqual(t, len(o.result(t, "call_1")), 64<<10, "bytes of the shown definition")
			},
		})
	}
	for _, c := range table { // how an agent runs does not matter to a schema
		t.Run(c.name, func(t *testing.T) { playAndCheck(t, c, way{}) })
	}
	assert.Zero(t, asked.Load(), "requests to a schema's address")
}

// A schema beyond the bounds is not checked, the arguments are passed on, and an event says so.
func TestUncheckedArgumentsAreReported(t *testing.T) { everyWay(t, testUnchecked) }

func testUnchecked(t *testing.T, w way) {
	large := withSchema("large", &jsonschema.Schema{Type: "object", Required: toolNames(15_000)})
	var told []*toolsearch.FailureEvent
	config := dispatch(func(c *toolsearch.Config) {
		c.DynamicTools, c.OnEvent = append(testtools.NewsTools(), large), hearing(&told)
	})
	o := running(t, w, config)(dispatching("large", `{"a":1}`), dispatching("get_weather", `{"city":"Rome"}`))
	assert.Equal(t, `large ran with {"a":1}`, o.result(t, "call_1"))
	require.Len(t, told, 2, "the failure events: of the catalog, and of the call")
	for i, want := range []string{`the arguments of these tools will not be checked: "large": the schema is too large`,
		`the arguments of "large" were not checked: the schema is too large`} {
		assert.Equal(t, "Protocol", told[i].Part)
		assert.ErrorContains(t, told[i].Err, want)
	}
}
