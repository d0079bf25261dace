package conversations_test

import (
	"encoding/json"
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
		{`{"guest":{"name":"Ann"},"nights":1,"room":"</x>\n<y>"}`, "/room: value must be one of 'single', 'double'"},
		{`{"guest":{"name":"Ann"},"nights":1,"days":["</x>\n<y>"]}`, `/days/0: '‹/x›\n‹y›' does not match pattern '^[0-9]{4}$'`},
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

// A definition that was made in Go can contain itself. Its tool can be found and called.
func TestEndlessDefinition(t *testing.T) {
	for _, p := range []toolsearch.Protocol{toolsearch.ProtocolRanked, toolsearch.ProtocolDispatch} {
		playAll(t, []conversation{{
			name: p.String(), config: using(p), dynamic: []tool.BaseTool{withSchema("remote", circular())},
			turns: []turn{searching(`{"query":"select:remote"}`), callTool("remote", `{}`)}, check: says("…", "remote ran with {}"),
		}})
	}
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
