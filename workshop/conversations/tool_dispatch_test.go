package conversations_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/eino-contrib/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// Under ProtocolDispatch the tool list never changes, and call_tool runs the tool that it names.

// dispatching is a turn that calls a tool by call_tool.
func dispatching(name, arguments string) turn {
	return callTool("call_tool", dispatched(name, arguments))
}

func dispatched(name, arguments string) string {
	return `{"name":"` + name + `","arguments":` + arguments + `}`
}

// definitionOf returns the definition that tool_search shows of a tool of testtools.EchoTools.
func definitionOf(name, description string) string {
	return `{"name":"` + name + `","description":"` + description + `","parameters":{"properties":{"city":{"description":"Where","type":"string"}},"type":"object"}}`
}

// foundBy returns the definition as the answer to several queries shows it.
func foundBy(query, definition string) string {
	return strings.Replace(definition, `","description"`, `","found_by":"`+query+`","description"`, 1)
}

func dispatch(change func(*toolsearch.Config)) toolsearch.Config {
	config := using(toolsearch.ProtocolDispatch)
	change(&config)
	return config
}

func TestProtocolDispatch(t *testing.T) {
	const metas = "tool_search call_tool"
	refuse := dispatch(func(c *toolsearch.Config) { c.Unloaded = toolsearch.UnloadedRefuse })
	const unloaded = `{"matches":[],"message":"\"get_weather\" has not been looked up yet, so nothing was run. …`
	playAll(t, []conversation{
		{
			name:   "tool_search shows definitions, call_tool runs a tool, and the model sees its own call",
			config: using(toolsearch.ProtocolDispatch),
			turns:  []turn{searching(`{"query":"weather","max_results":1}`), dispatching("get_weather", `{"city":"Rome"}`)},
			saw:    slices.Repeat([]string{metas}, 3),
			check: func(t *testing.T, o outcome) {
				made := called("call_2", "call_tool", dispatched("get_weather", `{"city":"Rome"}`))
				says(`{"matches":[`+definitionOf("get_weather", "Current weather of a city")+`]}`, `get_weather ran with {"city":"Rome"}`)(t, o)
				checkCallAsMade(t, o, made)
				require.Greater(t, len(o.events), 3)
				assert.Equal(t, []call{made}, o.events[2].Calls, "the calls of the caller's event")
				result := o.events[3]
				result.Extra = nil
				assert.Equal(t, toolSays("call_2", "get_weather", `get_weather ran with {"city":"Rome"}`), result)
			},
		},
		{
			name: "the tool list is the same in every round, whatever the model calls",
			config: dispatch(func(c *toolsearch.Config) {
				c.AlwaysLoaded, c.Limits.MaxLoaded = []string{"send_*"}, 1
			}),
			static: testtools.EchoTools("clock: The time"),
			turns: []turn{searching(`{"query":"select:get_weather,list_stocks"}`), dispatching("get_weather", `{}`),
				calling("get_forecast"), calling("send_mail"), dispatching("nothing", `{}`),
				dispatching("list_stocks", `{"city":7}`), calling("nothing"), dispatching("clock", `{}`), calling("clock")},
			saw: slices.Repeat([]string{"clock " + metas + " send_mail"}, 10),
			check: func(t *testing.T, o outcome) {
				first := testtools.Must(json.Marshal(o.requests[0].Tools))(t)
				for i, r := range o.requests {
					text := testtools.Must(json.Marshal(r.Tools))(t, "call %d", i)
					assert.Equal(t, string(first), string(text), "the tool list of call %d", i)
					assert.Equal(t, o.requests[0].Messages[0].Text, r.Messages[0].Text, "the reminder of call %d", i)
				}
				says("…", "get_weather ran with {}", "get_forecast ran with {}", "send_mail ran with {}", "…", "…", "…", "clock ran with {}", "…")(t, o)
				checkCallAsMade(t, o, called("call_8", "call_tool", dispatched("clock", `{}`)))
			},
		},
		{
			name: "a list of queries", config: using(toolsearch.ProtocolDispatch),
			turns: []turn{searching(`{"query":["weather","select:send_mail","+stocks prices"],"max_results":1}`)},
			check: says(`{"matches":[` + foundBy("weather", definitionOf("get_weather", "Current weather of a city")) + `,` +
				definitionOf("send_mail", "Sends an e-mail") + `,` + foundBy("+stocks prices", definitionOf("list_stocks", "Prices of shares")) + `]}`),
		},
		{
			name: "more queries than one call takes", config: using(toolsearch.ProtocolDispatch),
			turns: []turn{searching(`{"query":"select:send_mail","queries":["1","1"," ","2","3","4","5","6","7","8","9","mail","<b>"]}`)},
			check: says(`{"matches":[` + definitionOf("send_mail", "Sends an e-mail") + `],"message":"No tool matches these: 1; 2; 3; 4; 5; 6; 7; 8; 9. Try other words for them. ` +
				`Not searched, since one call takes 10 queries: mail; ‹b›. …`),
		},
		{
			name: "searches without a match, and a mistake", config: using(toolsearch.ProtocolDispatch),
			turns: []turn{searching(`{"query":"zzz"}`), searching(`{}`), searching(`{"query":"select:get_wether"}`)},
			saw:   slices.Repeat([]string{metas}, 4),
			check: says(`{"matches":[],"message":"No tool matches.…`, `{"matches":[],"message":"The query is empty.…`,
				`{"matches":[],"not_found":["get_wether"],"suggestions":["get_weather"]…`),
		},
		{
			name: "call_tool does not run meta-tools", config: using(toolsearch.ProtocolDispatch),
			turns: []turn{dispatching("tool_search", `{"query":"mail"}`), dispatching("call_tool", dispatched("get_weather", `{}`))},
			check: func(t *testing.T, o outcome) {
				const want = `{"matches":[],"message":"Nothing was run: call_tool does not run tool_search or itself. Call them directly."}`
				says(want, want)(t, o)
				checkCallAsMade(t, o, called("call_1", "call_tool", dispatched("tool_search", `{"query":"mail"}`)))
			},
		},
		{
			name: "an unknown name", config: using(toolsearch.ProtocolDispatch),
			turns: []turn{dispatching("get_wether", `{}`), dispatching("utterly_different", `{}`)},
			check: func(t *testing.T, o outcome) {
				says(`{"matches":[],"not_found":["get_wether"],"suggestions":["get_weather"…`,
					`{"matches":[],"not_found":["utterly_different"]…`)(t, o)
				assert.Contains(t, o.result(t, "call_1"), `run it with call_tool`)
				assert.Contains(t, o.result(t, "call_2"), `Find one with tool_search.`)
				checkCallAsMade(t, o, called("call_1", "call_tool", dispatched("get_wether", `{}`)))
				require.Greater(t, len(o.events), 1)
				assert.Equal(t, "call_1", o.events[1].CallID)
				assert.Contains(t, o.events[1].Text, "get_wether", "the caller's event")
			},
		},
		{
			name: "a tool that was not searched for, under UnloadedRefuse", config: refuse,
			turns: []turn{dispatching("get_weather", `{}`), calling("get_weather"), searching(`{"query":"select:get_weather"}`),
				dispatching("get_weather", `{}`), dispatching("GET-WEATHER", `{}`)},
			saw: slices.Repeat([]string{metas}, 6),
			check: func(t *testing.T, o outcome) {
				says(unloaded, unloaded, "…", "get_weather ran with {}", "get_weather ran with {}")(t, o)
				assert.Contains(t, o.result(t, "call_1"), `{\"query\":\"select:get_weather\"}`)
			},
		},
		{
			name: "a tool that the same message searches for, under UnloadedRefuse", config: refuse,
			turns: []turn{callTools(call{Name: "tool_search", Arguments: `{"query":"select:get_weather"}`},
				call{Name: "call_tool", Arguments: dispatched("get_weather", `{}`)})},
			check: says("…", unloaded),
		},
		{
			name: "calls of several tools in one message, two of the same tool", config: using(toolsearch.ProtocolDispatch),
			turns: []turn{callTools(
				call{Name: "call_tool", Arguments: dispatched("get_weather", `{"city":"Rome"}`)},
				call{Name: "call_tool", Arguments: dispatched("get_weather", `{"city":"Oslo"}`)},
				call{Name: "call_tool", Arguments: dispatched("get_wether", `{}`)},
				call{Name: "tool_search", Arguments: `{"query":"select:list_stocks"}`},
				call{Name: "call_tool", Arguments: dispatched("send_mail", `{}`)},
				call{Name: "get_forecast", Arguments: `{}`})},
			check: func(t *testing.T, o outcome) {
				says(`get_weather ran with {"city":"Rome"}`, `get_weather ran with {"city":"Oslo"}`, "…", "…",
					"send_mail ran with {}", "get_forecast ran with {}")(t, o)
				assert.Equal(t, []string{"call_tool", "call_tool", "call_tool", "tool_search", "call_tool", "get_forecast"}, namesOfResults(o))
			},
		},
		{
			name:   "under MaxLoaded a dispatched call counts as a use",
			config: dispatch(func(c *toolsearch.Config) { c.Limits.MaxLoaded, c.Unloaded = 2, toolsearch.UnloadedRefuse }),
			turns: []turn{selecting("get_weather"), selecting("send_mail"), dispatching("get_weather", "{}"), selecting("list_stocks"),
				dispatching("get_weather", "{}"), dispatching("send_mail", "{}")},
			check: says("…", "…", "get_weather ran with {}", "…", "get_weather ran with {}", `{"matches":[],"message":"\"send_mail\" has not …`),
		},
		{
			name:   "a static tool comes before a dynamic tool with another spelling of its name",
			config: using(toolsearch.ProtocolDispatch), static: testtools.EchoTools("Get-Weather: Static"),
			turns: []turn{dispatching("Get-Weather", `{}`), dispatching("GET_WEATHER", `{}`)},
			check: says("Get-Weather ran with {}", "get_weather ran with {}"),
		},
		{
			name: "a result without a text gets the name of the call that it answers", config: using(toolsearch.ProtocolDispatch),
			dynamic: []tool.BaseTool{fixed("get_nothing", "", "")},
			turns:   []turn{dispatching("get_nothing", "{}")},
			check:   func(t *testing.T, o outcome) { assert.Equal(t, []string{"call_tool"}, namesOfResults(o)) },
		},
		{
			name: "a dynamic tool with another spelling of call_tool", config: using(toolsearch.ProtocolDispatch),
			dynamic: testtools.EchoTools("Call-Tool: Telephones"),
			turns:   []turn{dispatching("Call-Tool", `{}`), callTool("call_tool", `{}`)},
			check:   says("Call-Tool ran with {}", `{"matches":[],"message":"Nothing was run: call_tool takes the name of a tool…`),
		},
	})
}

// call_tool reads its arguments as leniently as tool_search does. It passes on the model's own text
// where that is possible.
func TestDispatchArguments(t *testing.T) {
	const help = "Nothing was run: call_tool takes the name of a tool"
	var table []conversation
	for _, tt := range []struct{ arguments, want string }{
		{`{"name":"get_weather","arguments":{"city":"Rome"}}`, `get_weather ran with {"city":"Rome"}`},
		{`{"name":"get_weather","arguments":{ "city" : "R\u00f6m",  "n":12345678901234567890.10 }}`,
			`get_weather ran with { "city" : "R\u00f6m",  "n":12345678901234567890.10 }`},
		{`{"arguments":{"city":"Rome"},"name":" get_weather "}`, `get_weather ran with {"city":"Rome"}`},
		{`{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}`, `get_weather ran with {"city":"Rome"}`},
		{`{"name":"get_weather","arguments":"` + "```json\\n{\\\"city\\\":\\\"Rome\\\"}\\n```" + `"}`, `get_weather ran with {"city":"Rome"}`},
		{`{"tool_name":"get_weather","args":{"n":12345678901234567890}}`, `get_weather ran with {"n":12345678901234567890}`},
		{`{"tool":"get_weather","parameters":{"city":"<Rome>"}}`, `get_weather ran with {"city":"\u003cRome\u003e"}`},
		{`{"name":"get_weather","input":{}}`, `get_weather ran with {}`},
		{`{"name":"get_weather"}`, `get_weather ran with {}`},
		{`{"name":"get_weather","arguments":null}`, `get_weather ran with {}`},
		{`{"name":"get_weather","arguments":""}`, `get_weather ran with {}`},
		{`{"name":"get_weather","arguments":" "}`, `get_weather ran with {}`},
		{"```json\n{\"name\":\"get_weather\",\"arguments\":{}}\n```", `get_weather ran with {}`},
		{`"{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Rome\"}}"`, `get_weather ran with {"city":"Rome"}`},
		{`Sure: {"name":"get_weather","arguments":{}}.`, `get_weather ran with {}`},
		{`{"name":"get_weather","arguments":{"city":"` + strings.Repeat("x", 200_000) + `"}}`,
			`get_weather ran with {"city":"` + strings.Repeat("x", 200_000) + `"}`},
		{`{"name":"get_weather","arguments":"{\"city\":"}`, `arguments do not fit. not valid JSON: unexpected EOF`},
		{`{"name":"get_weather","arguments":"{} {}"}`, `arguments do not fit. not valid JSON: invalid character`},
		{`{"name":"get_weather","arguments":["Rome"]}`, `arguments do not fit. want an object`},
		{`{"name":"get_weather","arguments":7}`, `arguments do not fit. want an object`},
		{`{"name":"get_weather","arguments":{"city":{}}}`, `arguments do not fit. /city: got object, want string`},
		{``, help}, {`{}`, help}, {`null`, help}, {`[]`, help}, {`get_weather`, help}, {`{"name":""}`, help},
		{`{"name":" ","arguments":{}}`, help},
		{`{"name":7,"arguments":{}}`, help}, {`{"name":["get_weather"]}`, help}, {`{"arguments":{"city":"Rome"}}`, help},
		{`{"name":"get_weather"`, help}, {strings.Repeat("[", 1<<20), help},
	} {
		table = append(table, conversation{
			name: tt.arguments[:min(len(tt.arguments), 60)], config: using(toolsearch.ProtocolDispatch),
			turns: []turn{callTool("call_tool", tt.arguments)},
			check: func(t *testing.T, o outcome) {
				got := o.result(t, "call_1")
				if strings.Contains(tt.want, " ran with ") {
					assert.Equal(t, tt.want, got)
				} else {
					assert.Contains(t, got, tt.want)
				}
				checkCallAsMade(t, o, called("call_1", "call_tool", tt.arguments))
			},
		})
	}
	playAll(t, table)
}

// UnknownFail leaves the unknown names of dispatched calls to Eino.
func TestDispatchUnknownFail(t *testing.T) { everyWay(t, testDispatchUnknownFail) }

func testDispatchUnknownFail(t *testing.T, w way) {
	c := conversation{config: dispatch(func(c *toolsearch.Config) { c.Unknown = toolsearch.UnknownFail }),
		turns: []turn{dispatching("nothing", `{"a":1}`), dispatching("get-weather", `{}`)}}
	assert.ErrorContains(t, play(t, c, w).err, "nothing", "Eino's error has the name")
	c.tools.UnknownToolsHandler = func(_ context.Context, name, input string) (string, error) { return "handled " + name + input, nil }
	o := play(t, c, w)
	require.NoError(t, o.err)
	says(`handled nothing{"a":1}`, "get_weather ran with {}")(t, o)
	checkCallAsMade(t, o, called("call_1", "call_tool", dispatched("nothing", `{"a":1}`)))
}

// The run goes on, whatever a model writes for the arguments of call_tool. The model sees its own
// call with one answer, and a tool that ran got a JSON object.
func FuzzDispatch(f *testing.F) {
	for _, arguments := range []string{
		``, `{}`, `null`, `[]`, `7`, `"get_weather"`, `get_weather`, `{"name":"get_weather","arguments":{"city":"Rome"}}`,
		`{"name":"get_weather","arguments":"{\"city\":1}"}`,
		`{"name":"book","arguments":{"guest":{"name":"Ann"},"nights":1}}`,
		`{"name":"book","arguments":{"guest":{"name":1},"nights":"x","days":["a",{}],"z":1e999999}}`,
		`{"name":"tree","arguments":{"a":{"a":{"a":[]}}}}`,
		`{"name":"tree","arguments":` + strings.Repeat(`{"a":`, 300) + `1` + strings.Repeat(`}`, 300) + `}`,
		`{"name":"call_tool","arguments":{}}`, `{"name":"tool_search","arguments":{"query":"x"}}`,
		`{"name":"get_wether","args":[]}`, `{"tool":"GET-WEATHER","input":null}`,
		"```json\n{\"name\":\"get_weather\"}\n```", `{"name":"get_weather","arguments":{"city":"\ud800"}}`,
		"{\"name\":\"get_weather\",\"arguments\":{\"city\":\"\xff\"}}",
		`{"name":"b\u0001d\u202e","arguments":{}}`, `{"name":"</a>","arguments":{}}`, `{"misused_tool":"book","problem":"x"}`,
		`{"name":"get_weather","name":"book","arguments":{},"arguments":[]}`,
		`{"NAME":"get_weather","Arguments":{}}`, `{"name":"get_weather","arguments":{}}{"name":"book"}`,
		`{"name":"get_weather","arguments":{"city":"Rome",}}`,
	} {
		f.Add(arguments)
	}
	tree := schemaOf(f, `{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}}`)
	tools := append(testtools.NewsTools(), withSchema("tree", tree), withSchema("book", schemaOf(f, bookSchema)))
	tools = append(tools, testtools.EchoTools("b\x01d\u202e: Bad", "</a>: Tag")...)
	f.Fuzz(func(t *testing.T, arguments string) {
		first := fuzzDispatch[chat](t, tools, arguments)
		if second := fuzzDispatch[agentic](t, tools, arguments); first != second {
			t.Errorf("the same call was answered %q, then %q", first, second)
		}
	})
}

func fuzzDispatch[M adk.MessageType](t *testing.T, tools []tool.BaseTool, arguments string) string {
	middleware := newMiddleware[M](t, dispatch(func(c *toolsearch.Config) { c.DynamicTools = tools }))
	o := converse(t, way{}, with(middleware), callTools(called("c", "call_tool", arguments)))
	if o.err != nil {
		t.Fatal(o.err)
	}
	checkRequest(t, 1, o.last())
	checkCallAsMade(t, o, called("c", "call_tool", arguments))
	text := o.result(t, "c")
	if name, given, ran := strings.Cut(text, " ran with "); ran && !strings.HasPrefix(text, "{") {
		var object map[string]any
		if err := json.Unmarshal([]byte(given), &object); err != nil || object == nil {
			t.Errorf("%s got %q, want a JSON object: %v", name, given, err)
		}
		return text
	}
	if answer := answerOf(t, text); answer.Message == "" || len(answer.Matches) > 0 || len(text) > 64<<10 {
		t.Errorf("the answer is %.300s", text)
	}
	return text
}

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

// An enumeration that ten tools have stands once in their answer, which is valid for the same arguments as the tools, in
// short too.
func TestDefinitionsOfAnAnswerShareTheirParts(t *testing.T) {
	testtools.SkipWithoutGoroutines(t)
	var codes []string
	for i := range 200 {
		codes = append(codes, fmt.Sprintf("%03d", i))
	}
	currencies := string(testtools.Must(json.Marshal(codes))(t))
	const account = `{"type":"object","description":"The account that is billed for the whole exchange","properties":{"id":{"type":"integer"}}}`
	var tools []tool.BaseTool
	own := make(map[string]string)
	for i := range 10 {
		name := fmt.Sprintf("exchange_%d", i)
		own[name] = fmt.Sprintf(`{"type":"object","required":["from"],"$defs":{"rate":{"type":"number","minimum":%d},"plan":{"pattern":"^one"}},"properties":{
			"from":{"type":"string","description":"Source %d","enum":%s},
			"to":{"type":"array","items":{"type":"string","enum":%s}},
			"account":%s,
			"plan":{"$ref":"#/$defs/plan","enum":["one plan that has a long name indeed","two plans that have a long name"]},
			"rate":{"$ref":"#/$defs/rate","description":"The rate that the exchange has to have at the very least"}}}`,
			i, i, currencies, currencies, account)
		tools = append(tools, withSchema(name, schemaOf(t, own[name])))
	}
	valid := func(document, arguments string) bool {
		c := validator.NewCompiler()
		require.NoError(t, c.AddResource("tool:///", testtools.Must(validator.UnmarshalJSON(strings.NewReader(document)))(t)))
		return testtools.Must(c.Compile("tool:///"))(t).Validate(
			testtools.Must(validator.UnmarshalJSON(strings.NewReader(arguments)))(t)) == nil
	}
	config := toolsearch.Config{DynamicTools: tools, Protocol: toolsearch.ProtocolDispatch, MaxResults: 10,
		Limits: toolsearch.Limits{MaxAnswerTokens: 3000}} // without what is shared, seven would fit
	// Of several queries, the texts of the best match of each stay, and those of a tool asked for by name.
	for query, whole := range map[string]int{`"exchange"`: 10, `["exchange","exchange 1"]`: 2, `["exchange","exchange 1","select:exchange_9"]`: 3} {
		text := running(t, way{}, config)(searching(`{"query":`+query+`}`)).result(t, "call_1")
		for _, once := range []string{`"150"`, "The account that is billed"} {
			assert.Equal(t, 1, strings.Count(text, once), "%s in an answer of %d bytes", once, len(text))
		}
		assert.Equal(t, whole, strings.Count(text, "at the very least"), "%s: a parameter with a reference of its own", query)
		assert.Equal(t, whole < 10, strings.Contains(text, "definitions are shortened"), query)
		var answer struct {
			Shared  json.RawMessage
			Matches []struct {
				Name       string
				Parameters map[string]any
			}
		}
		require.NoError(t, json.Unmarshal([]byte(text), &answer))
		require.Len(t, answer.Matches, 10)
		for _, m := range answer.Matches {
			m.Parameters["shared"] = answer.Shared // a reference of an answer begins at the answer
			shown := string(testtools.Must(json.Marshal(m.Parameters))(t))
			for arguments, want := range map[string]bool{
				`{"from":"007","to":["000","199"],"account":{"id":1},"rate":10}`: true, `{}`: false, `{"from":"200"}`: false,
				`{"from":"007","to":["EUR"]}`: false, `{"from":"007","account":{"id":"1"}}`: false, `{"from":"007","rate":-1}`: false, `{"from":"007","plan":"two plans that have a long name"}`: false,
				`{"from":"007","to":"007"}`: false, `{"from":7}`: false,
			} {
				assert.Equal(t, want, valid(own[m.Name], arguments), "the tool: %s", arguments)
				assert.Equal(t, want, valid(shown, arguments), "the answer: %s, by %s", arguments, shown)
			}
		}
	}
}

// Of parameters that take more than their half of an answer, texts are cut; a call can still be written by what is left.
func TestLongTextsOfParametersAreCut(t *testing.T) {
	long := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties()}
	for i := range 20 {
		long.Properties.Set(fmt.Sprint("title_", i), &jsonschema.Schema{Type: "string", Description: fmt.Sprint(i, strings.Repeat(" words", 400))})
	}
	config := toolsearch.Config{DynamicTools: []tool.BaseTool{withSchema("remote", long)}, Protocol: toolsearch.ProtocolDispatch}
	text := running(t, way{}, config)(searching(`{"query":"remote"}`)).result(t, "call_1")
	assert.Contains(t, text, `"title_19":{"description":"19 words words words`)
	assert.Contains(t, text, "definitions are shortened")
	assert.Less(t, len(text), 5_000)
	config.Limits.MaxAnswerTokens = 250 // 1,000 bytes; the parameters without texts have 570
	text = running(t, way{}, config)(searching(`{"query":"remote"}`)).result(t, "call_1")
	assert.Contains(t, text, `"title_19":{"type":"string"}`)
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
