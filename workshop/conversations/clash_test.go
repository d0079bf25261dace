package conversations_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	oracle "github.com/cloudwego/eino/adk/middlewares/dynamictool/toolsearch"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Tools of one name: the agent's own, those of other middlewares, and definitions that providers refuse. Then tools that
// other middlewares remove.

// wrongTool is a tool without a definition.
type wrongTool func() (*schema.ToolInfo, error)

func (w wrongTool) Info(context.Context) (*schema.ToolInfo, error) { return w() }

type hollowTool struct{ tool.InvokableTool }

// clash is a row of a table of agents that cannot have the middleware.
type clash struct {
	name   string
	static []tool.BaseTool    // of the agent
	added  []tool.BaseTool    // by another middleware, since Eino itself fails over some of them in static
	eino   bool               // Eino's middleware comes before ours
	first  *toolsearch.Config // of another middleware of ours, before ours; nil means that there is none
	config toolsearch.Config
	want   []string
}

func TestBeforeAgentNamesTheToolThatClashes(t *testing.T) {
	other := toolsearch.Config{ToolName: "find", DynamicTools: testtools.EchoTools("cut_grass: Mows")}
	native := toolsearch.Config{ToolName: "find", DynamicTools: other.DynamicTools, UseModelToolSearch: true}
	clock := testtools.EchoTools("clock: The time")
	for _, c := range []clash{
		{name: "the search tool's name", static: testtools.EchoTools("clock: The time", "tool_search: Mine"),
			want: []string{"tool 1", `"tool_search"`, "ToolName"}},
		{name: "the search tool's other name", static: testtools.EchoTools("find: Mine"),
			config: toolsearch.Config{ToolName: "find"}, want: []string{"tool 0", `"find"`, "ToolName"}},
		{name: "Eino's middleware", static: clock, eino: true, want: []string{"tool 1", `"tool_search"`, "ToolName"}},
		{name: "two middlewares with one name", static: clock, first: &toolsearch.Config{DynamicTools: other.DynamicTools},
			want: []string{"tool 1", `"tool_search"`, "ToolName"}},
		{name: "two native middlewares", static: clock, first: &native, config: toolsearch.Config{UseModelToolSearch: true},
			want: []string{"native", `"find"`}},
		{name: "nil", added: []tool.BaseTool{clock[0], nil}, want: []string{"tool 1", "is nil"}},
		{name: "a nil pointer", added: []tool.BaseTool{clock[0], (*testtools.EchoTool)(nil)},
			want: []string{"tool 1", "is nil", "*testtools.EchoTool"}},
		{name: "nothing inside", added: []tool.BaseTool{clock[0], hollowTool{}}, want: []string{"tool 1", "conversations_test.hollowTool"}},
		{name: "Info fails", added: []tool.BaseTool{clock[0], wrongTool(func() (*schema.ToolInfo, error) { return nil, errMower })},
			want: []string{"tool 1", "conversations_test.wrongTool", "Info", errMower.Error()}},
		{name: "Info returns nil", added: []tool.BaseTool{clock[0], wrongTool(func() (*schema.ToolInfo, error) { return nil, nil })},
			want: []string{"tool 1", "conversations_test.wrongTool", "Info", "nil"}},
		{name: "Info panics", added: []tool.BaseTool{clock[0], wrongTool(func() (*schema.ToolInfo, error) { panic("no connection") })},
			want: []string{"tool 1", "conversations_test.wrongTool", "Info", "no connection"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inAllWays(t,
				func(t *testing.T, w way) { testClash[chat](t, c, w) },
				func(t *testing.T, w way) { testClash[agentic](t, c, w) })
		})
	}
}

// testClash checks the error that the caller of a run gets.
func testClash[M adk.MessageType](t *testing.T, c clash, w way) {
	agent := with[M](&handler[M]{tools: c.added})
	agent.ToolsConfig.Tools = c.static
	if c.eino {
		theirs := testtools.Must(oracle.NewTyped[M](context.Background(), &oracle.Config{DynamicTools: testtools.EchoTools("cut_grass: Mows")}))(t)
		agent.Handlers = append(agent.Handlers, theirs)
	}
	if c.first != nil {
		agent.Handlers = append(agent.Handlers, newMiddleware[M](t, *c.first))
	}
	agent.Handlers = append(agent.Handlers, newMiddleware[M](t, c.config))
	o := converse(t, w, agent)
	for _, part := range append(c.want, "toolsearch: ") {
		assert.ErrorContains(t, o.err, part)
	}
	assert.Empty(t, o.events, "the events of the run")
	assert.Empty(t, o.requests, "the model calls of the run")
}

func TestBeforeAgentLeavesWhatItIsGivenAlone(t *testing.T) {
	ofBothTypes(t, testBeforeAgentInput[chat], testBeforeAgentInput[agentic])
}

func testBeforeAgentInput[M adk.MessageType](t *testing.T) {
	middleware := newMiddleware[M](t, toolsearch.Config{})
	// A nil run context has no place for tools, which is not an error.
	ctx, none, err := middleware.BeforeAgent(context.Background(), nil)
	assert.NoError(t, err, "without a run context")
	assert.NotNil(t, ctx, "without a run context")
	assert.Nil(t, none, "without a run context")
	// The agent may use the array of its tools again in the next run.
	tools := append(make([]tool.BaseTool, 0, 16), testtools.EchoTools("clock: The time")...)
	given := &adk.ChatModelAgentContext{Instruction: "Be brief.", Tools: tools, ReturnDirectly: map[string]bool{"clock": true}}
	_, got, err := middleware.BeforeAgent(context.Background(), given)
	require.NoError(t, err)
	assert.Len(t, given.Tools, 1, "the tools that BeforeAgent was given")
	assert.Nil(t, tools[:2][1], "the array behind the tools that BeforeAgent was given")
	assert.Len(t, got.Tools, 1+1+5)
	assert.Equal(t, given.Instruction, got.Instruction)
	assert.True(t, got.ReturnDirectly["clock"])
}

// A middleware that comes later may add a tool with the name of the search tool. Our BeforeAgent
// cannot see that tool yet. The run ends before the model sees the name twice.
func TestRunFailsOverASearchToolAddedLater(t *testing.T) {
	inAllWays(t, testAddedLater[chat], testAddedLater[agentic])
}

func testAddedLater[M adk.MessageType](t *testing.T, w way) {
	for _, native := range []bool{false, true} {
		agent := agentOver[M](t, toolsearch.Config{UseModelToolSearch: native})
		agent.Handlers = append(agent.Handlers, &handler[M]{tools: testtools.EchoTools("tool_search: Mine")})
		o := converse(t, w, agent)
		assert.ErrorContains(t, o.err, `"tool_search"`)
		assert.Empty(t, o.requests, "model calls")
	}
}

// Another tool of the agent comes before a dynamic tool of its name, wherever the other tool
// comes from: neither a configuration nor a remote server stops an agent by a name.
func TestOtherToolsOfANameComeFirst(t *testing.T) {
	inAllWays(t, testOtherTools[chat], testOtherTools[agentic])
}

func testOtherTools[M adk.MessageType](t *testing.T, w way) {
	adding := &handler[M]{tools: []tool.BaseTool{fixed("clock", "The time", "the agent's own clock")}}
	for _, protocol := range []toolsearch.Protocol{toolsearch.ProtocolToolSearch, toolsearch.ProtocolNativeDeferred,
		toolsearch.ProtocolDispatch} {
		for _, part := range []string{"DynamicTools", "Source"} {
			for _, whose := range []string{"the agent's own", "an earlier middleware's", "a later middleware's"} {
				var told []*toolsearch.FailureEvent
				config := toolsearch.Config{Protocol: protocol, OnEvent: hearing(&told)}
				if clocks := []string{"clock: A clock of somebody else", "ring: Rings a bell"}; part == "Source" {
					config.Groups = sourced(clocks...)
				} else {
					config.DynamicTools = testtools.EchoTools(clocks...)
				}
				agent := agentOver[M](t, config)
				switch whose {
				case "the agent's own":
					agent.ToolsConfig.Tools = adding.tools
				case "an earlier middleware's":
					agent.Handlers = slices.Insert(agent.Handlers, 0, adk.TypedChatModelAgentMiddleware[M](adding))
				default:
					agent.Handlers = append(agent.Handlers, adding)
				}
				o := converse(t, w, agent, searching(`{"query":"clock bell"}`), callTool("clock", `{}`))
				about := fmt.Sprintf("%v, %s, %s", protocol, part, whose)
				require.NoError(t, o.err, about)
				assert.Equal(t, "the agent's own clock", o.result(t, "call_2"), about)
				assert.NotContains(t, o.result(t, "call_1"), "somebody else", about)
				for i, r := range o.requests {
					checkOnce(t, r, "clock", "%s, call %d", about, i)
					assert.NotContains(t, r.Messages[0].Text, "clock", "%s, call %d: the reminder", about, i)
				}
				require.Len(t, told, 1, "%s: the failures told in a run", about)
				assert.Equal(t, part, told[0].Part, about)
			}
		}
	}
}

// checkOnce checks that a request has one tool of a name.
func checkOnce(t *testing.T, r request, name, about string, args ...any) {
	t.Helper()
	others := slices.DeleteFunc(append(r.ToolNames(), r.DeferredNames()...), func(n string) bool { return n != name })
	assert.Equal(t, []string{name}, others, append([]any{about + ": the tools named " + name}, args...)...)
}

// A dynamic tool that a Filter drops does not hide another tool of its name.
func TestForbiddenToolsHideNoOthers(t *testing.T) {
	inAllWays(t, testForbiddenTools[chat], testForbiddenTools[agentic])
}

func testForbiddenTools[M adk.MessageType](t *testing.T, w way) {
	agent := agentOver[M](t, toolsearch.Config{
		DynamicTools: testtools.EchoTools("clock: Another clock", "ring: Rings a bell"),
		Filter:       func(_ context.Context, doc toolsearch.Document) bool { return doc.Name != "clock" },
	})
	agent.Handlers = append(agent.Handlers, &handler[M]{tools: []tool.BaseTool{fixed("clock", "The time", "the agent's own clock")}})
	o := converse(t, w, agent, callTool("clock", `{}`))
	checkSaw(t, "the model", o, "tool_search clock", "tool_search clock")
	assert.Equal(t, "the agent's own clock", o.result(t, "call_1"))
}

// A server's tool with the name of a second middleware's meta-tool is left out, whichever of the
// two middlewares comes first.
func TestSecondMiddlewaresToolsComeFirst(t *testing.T) { everyWay(t, testSecondMiddleware) }

func testSecondMiddleware(t *testing.T, w way) {
	configs := []toolsearch.Config{{Groups: sourced("find: Finds nothing", "ring: Rings a bell")},
		{ToolName: "find", DynamicTools: testtools.EchoTools("mow: Mows")}}
	for range 2 {
		slices.Reverse(configs)
		o := running(t, w, configs...)(callTool("find", `{"query":"mow"}`), calling("mow"))
		assert.JSONEq(t, `{"matches":["mow"]}`, o.result(t, "call_1"), "the first is %q", configs[0].ToolName)
		for i, r := range o.requests {
			checkOnce(t, r, "find", "the first is %q, call %d", configs[0].ToolName, i)
		}
	}
}

// What providers refuse in DynamicTools is told, and the tools stay as they are. A parameter that is nil makes Eino
// panic where it writes the schema.
func TestOddParameters(t *testing.T) {
	none := echo(&schema.ToolInfo{Name: "odd",
		ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{"x": nil})})
	long := `{"type":"object","properties":{"a.b-c_D9":{"type":"string"},"` + strings.Repeat("x", 65) + `":{"type":"string"}}}`
	for _, tt := range []struct {
		index toolsearch.Indexer
		tool  tool.BaseTool
		want  string
	}{
		{nil, none, `"odd": the schema of its parameters is wrong`},
		{toolsearch.BM25, none, `"odd": the schema of its parameters is wrong`},
		{nil, withSchema("odd", schemaOf(t, oddSchema)),
			`providers refuse tool 0, "odd": the schema of its parameters has a type that JSON Schema ` +
				`does not have; a parameter has the name "bad name!", which Anthropic refuses`},
		{nil, withSchema("odd", schemaOf(t, long)), `a parameter has the name "xxx`},
	} {
		var told []*toolsearch.FailureEvent
		newMiddleware[chat](t, toolsearch.Config{Index: tt.index, DynamicTools: []tool.BaseTool{tt.tool}, OnEvent: hearing(&told)})
		require.Len(t, told, 1, "the failure events")
		assert.Equal(t, "odd", told[0].Tool)
		assert.ErrorContains(t, told[0].Err, tt.want)
	}
	o := running(t, way{}, toolsearch.Config{DynamicTools: []tool.BaseTool{withSchema("odd", schemaOf(t, oddSchema))}})(selecting("odd"))
	checkSaw(t, "the model", o, "tool_search", "tool_search odd")
	definition := testtools.Must(o.last().Tools[1].ToJSONSchema())(t)
	assert.Equal(t, "foo", definition.Properties.Value("foo").Type)
}

// A tool that a later middleware removes from the request is not seen, so a search gives it a place again.
func TestRemovedByALaterMiddleware(t *testing.T) {
	config := toolsearch.Config{Index: toolsearch.BM25, DynamicTools: testtools.EchoTools("mail_0: Mail", "mail_1: Mail", "mail_2: Mail")}
	agent := with(newMiddleware[chat](t, config), &handler[chat]{hides: "mail_0"})
	two := `{"query":"mail","max_results":2}`
	o := converseOn(context.Background(), t, way{}, agent, question, searching(two), searching(two))
	require.NoError(t, o.err)
	says(`{"matches":["mail_0","mail_1"]}`, `{"matches":["mail_0","mail_2"],"already_loaded":["mail_1"]}`)(t, o)
}
