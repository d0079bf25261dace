package conversations_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// These tests use a Session as a value, over the runs of an agent, and among the agents of a run.

func TestSessionAsJSON(t *testing.T) {
	for _, tt := range []struct {
		names []string
		want  string
	}{
		{nil, `[]`},
		{[]string{"get_weather"}, `["get_weather"]`},
		{[]string{"b", "a", "日历", "\"<>\n"}, `["b","a","日历","\"<>\n"]`},
	} {
		text := testtools.Must(json.Marshal(toolsearch.NewSession(tt.names...)))(t)
		assert.JSONEq(t, tt.want, string(text))
		var s toolsearch.Session
		require.NoError(t, json.Unmarshal(text, &s))
		assert.ElementsMatch(t, tt.names, s.Loaded())
	}
	var zero toolsearch.Session
	text := testtools.Must(json.Marshal(&zero))(t)
	assert.Equal(t, `[]`, string(text))
	for text, want := range map[string][]string{
		`null`:                     nil,
		` [] `:                     nil,
		`["a","b"]`:                {"a", "b"},
		`["b","a","b","","a","c"]`: {"b", "a", "c"},
		`["a",null]`:               {"a"},
	} {
		s := toolsearch.NewSession("old")
		require.NoError(t, s.UnmarshalJSON([]byte(text)), text)
		assert.Equal(t, want, s.Loaded(), text)
	}
	for _, text := range []string{``, `{}`, `"a"`, `7`, `true`, `["a",7]`, `[["a"]]`, `["a",{"name":7}]`, `[{"name":"a","steps":{}}]`, `[{"steps":[{"at":{"user":"1"}}]}]`, `["a"`, `["a"]]`, `{"loaded":["a"]}`} {
		s := toolsearch.NewSession("old")
		err := s.UnmarshalJSON([]byte(text))
		assert.ErrorContains(t, err, "toolsearch: a session is a list of names", text)
		assert.Equal(t, []string{"old"}, s.Loaded(), "%s: what the session has after the failure", text)
	}
}

// A session forgets the names that were loaded first, whether they were given or read as JSON.
func TestSessionIsBounded(t *testing.T) {
	const most, many = 10_000, 20_000
	names := make([]string, many)
	for i := range names {
		names[i] = fmt.Sprintf("tool_%d", i)
	}
	text := testtools.Must(json.Marshal(names))(t)
	var read toolsearch.Session
	require.NoError(t, json.Unmarshal(text, &read))
	for name, s := range map[string]*toolsearch.Session{"given": toolsearch.NewSession(names...), "read": &read} {
		assert.True(t, slices.Equal(names[most:], s.Loaded()), name)
	}
	// A forgotten tool can be loaded again.
	c := conversation{dynamic: testtools.EchoTools("tool_0: Was forgotten", "tool_1: Too"), turns: []turn{selecting("tool_0")},
		ctx: toolsearch.WithSession(context.Background(), &read)}
	checkSaw(t, "the model", play(t, c, way{}), "tool_search", "tool_search tool_0")
	assert.True(t, slices.Equal(append(names[most+1:], "tool_0"), read.Loaded()))
}

// Under ProtocolAnchored a session keeps what the conversation defines, in the same list, and the definitions are bounded too.
func TestSessionOfDefinitions(t *testing.T) {
	testtools.SkipWithoutGoroutines(t)
	step := func(text string) string { return fmt.Sprintf(`{"at":{"call":"c1"},"wire":"chat","json":%q}`, text) }
	tool := func(name string, steps ...string) string {
		return fmt.Sprintf(`{"name":%q,"hash":"h","steps":[%s]}`, name, strings.Join(steps, ","))
	}
	a, b := tool("a", step("{}"), step("")), tool("b", step("{}"))
	many := make([]string, 2_000)
	for i := range many {
		many[i] = tool(fmt.Sprint("tool_", i), step("{}"))
	}
	large := tool("large", step(strings.Repeat("x", 600_000)))
	const full = `{"name":"","hash":"","steps":null}` // there was no room for others
	for _, tt := range []struct {
		name       string
		given, has []string
	}{
		{"names come first", []string{a, `"y"`, b, `"x"`}, []string{`"y"`, `"x"`, a, b}},
		{"the last of a name counts, in the first place", []string{a, b, tool("a", step("{}"))}, []string{tool("a", step("{}")), b}},
		{"without steps", []string{tool("a"), b}, []string{b}},
		{"behind one without a name", []string{b, `{}`, a}, []string{b, full}},
		{"too many steps", []string{tool("a", slices.Repeat([]string{step("{}")}, 9)...), b}, []string{b}},
		{"too many tools", many, append(many[:1_000:1_000], full)},
		// What is not kept is defined anew, behind what is: nothing that came later may be kept.
		{"too many bytes", []string{large, strings.Replace(large, "large", "larger", 1), b}, []string{large, full}},
	} {
		var s toolsearch.Session
		require.NoError(t, s.UnmarshalJSON([]byte("["+strings.Join(tt.given, ",")+"]")), tt.name)
		text := testtools.Must(json.Marshal(&s))(t)
		assert.Equal(t, "["+strings.Join(tt.has, ",")+"]", string(text), tt.name)
	}
}

// A run changes its session in these ways.
func TestWhatIsInASession(t *testing.T) { everyWay(t, testWhatIsInASession) }

func testWhatIsInASession(t *testing.T, w way) {
	const four = "search_tools add_tool show_all_tools remove_tool"
	for _, tt := range []struct {
		name   string
		config toolsearch.Config
		had    []string
		turns  []turn
		saw    []string
		want   []string
	}{
		{"removed tools leave the session", using(toolsearch.ProtocolSearchAdd), nil,
			[]turn{adding("send_mail,get_weather"), removing("send_mail")},
			[]string{four, four + " send_mail get_weather", four + " get_weather"}, []string{"get_weather"}},
		{"removed tools of an earlier run leave the session", using(toolsearch.ProtocolSearchAdd), []string{"send_mail", "get_weather"},
			[]turn{removing("send_mail")}, []string{four + " send_mail get_weather", four + " get_weather"}, []string{"get_weather"}},
		{"tools that are added again come last", using(toolsearch.ProtocolSearchAdd), nil,
			[]turn{adding("send_mail,get_weather"), removing("send_mail"), adding("send_mail")},
			[]string{four, four + " send_mail get_weather", four + " get_weather", four + " get_weather send_mail"},
			[]string{"get_weather", "send_mail"}},
		{"evicted tools leave the session", maxLoaded(1), nil, []turn{selecting("send_mail"), selecting("get_weather")},
			[]string{"tool_search", "tool_search send_mail", "tool_search get_weather"}, []string{"get_weather"}},
		{"evicted tools of an earlier run leave the session", maxLoaded(1), []string{"send_mail"}, []turn{selecting("get_weather")},
			[]string{"tool_search send_mail", "tool_search get_weather"}, []string{"get_weather"}},
		{"tools that are always loaded are not in the session", toolsearch.Config{AlwaysLoaded: []string{"get_*"}}, nil,
			[]turn{selecting("get_weather,send_mail")},
			[]string{"tool_search get_weather get_forecast", "tool_search get_weather get_forecast send_mail"}, []string{"send_mail"}},
		{"unknown names stay", toolsearch.Config{}, []string{"no_such_tool", "get_weather", "tool_search"}, []turn{selecting("send_mail")},
			[]string{"tool_search get_weather", "tool_search get_weather send_mail"},
			[]string{"no_such_tool", "get_weather", "tool_search", "send_mail"}},
		{"tools that Filter drops are hidden and stay", toolsearch.Config{Filter: toolsearch.FilterTools(nil,
			[]string{"get_*", "list_*"})}, []string{"send_mail", "get_weather"},
			[]turn{calling("send_mail"), selecting("send_mail,list_stocks")},
			[]string{"tool_search get_weather", "tool_search get_weather", "tool_search get_weather list_stocks"},
			[]string{"send_mail", "get_weather", "list_stocks"}},
		{"preselected tools are in the session", toolsearch.Config{Preselect: 1, Index: testtools.Canned{Hits: []search.Hit{{Doc: 2, Score: 1}}}.Index}, nil, nil, []string{"tool_search send_mail"}, []string{"send_mail"}},
		{"refused calls load nothing", toolsearch.Config{Unloaded: toolsearch.UnloadedRefuse}, nil, []turn{calling("send_mail")},
			[]string{"tool_search", "tool_search"}, nil},
		{"a native protocol", toolsearch.Config{Protocol: toolsearch.ProtocolNativeDeferred, Unloaded: toolsearch.UnloadedRefuse},
			[]string{"send_mail"}, []turn{calling("send_mail"), selecting("get_weather")},
			[]string{"send_mail", "send_mail", "send_mail"}, []string{"send_mail", "get_weather"}},
		{"dispatched calls", dispatch(func(c *toolsearch.Config) { c.Unloaded = toolsearch.UnloadedRefuse }),
			[]string{"send_mail"}, []turn{dispatching("send_mail", "{}"), selecting("get_weather")},
			slices.Repeat([]string{"tool_search call_tool"}, 3), []string{"send_mail", "get_weather"}},
	} {
		session := toolsearch.NewSession(tt.had...)
		o := play(t, conversation{config: tt.config, ctx: toolsearch.WithSession(context.Background(), session), turns: tt.turns}, w)
		require.NoError(t, o.err, tt.name)
		assert.Equal(t, tt.saw, o.saw(), "%s: what the model saw", tt.name)
		assert.Equal(t, tt.want, session.Loaded(), "%s: what the session has", tt.name)
		if tt.config.Unloaded == toolsearch.UnloadedRefuse && tt.had != nil {
			assert.Equal(t, "send_mail ran with {}", o.result(t, "call_1"), "%s: a tool that the session has is not refused", tt.name)
		}
	}
}

// WithSession(ctx, nil) ends the session of an outer context. Another session replaces it.
func TestWithSessionNil(t *testing.T) { everyWay(t, testWithSessionNil) }

func testWithSessionNil(t *testing.T, w way) {
	var session toolsearch.Session
	shared := toolsearch.WithSession(context.Background(), &session)
	for _, tt := range []struct {
		name string
		ctx  context.Context
		saw  string
	}{
		{"the session", shared, " send_mail"},
		{"nil within the session", toolsearch.WithSession(shared, nil), ""},
		{"the session within nil", toolsearch.WithSession(toolsearch.WithSession(shared, nil), &session), " send_mail"},
		{"another session within the session", toolsearch.WithSession(shared, toolsearch.NewSession("get_forecast")), " get_forecast"},
		{"WithLoaded", toolsearch.WithLoaded(context.Background(), "list_stocks", "", "no_such_tool", "get_forecast"),
			" list_stocks get_forecast"},
		{"WithLoaded within the session", toolsearch.WithLoaded(shared, "list_stocks"), " list_stocks"},
		{"WithLoaded without names within the session", toolsearch.WithLoaded(shared), ""},
	} {
		require.NoError(t, session.UnmarshalJSON([]byte(`["send_mail"]`)))
		o := play(t, conversation{ctx: tt.ctx, turns: []turn{selecting("get_weather")}}, w)
		checkSaw(t, tt.name, o, "tool_search"+tt.saw, "tool_search"+tt.saw+" get_weather")
		want := []string{"send_mail"}
		if tt.saw == " send_mail" {
			want = append(want, "get_weather")
		}
		assert.Equal(t, want, session.Loaded(), "%s: what the outer session has", tt.name)
	}
}

// Agents of two middlewares share a session at the same time, while it is marshalled. Run this test
// with -race.
func TestSessionOfConcurrentRuns(t *testing.T) {
	inAllWays(t, testSessionOfConcurrentRuns[chat], testSessionOfConcurrentRuns[agentic])
}

func testSessionOfConcurrentRuns[M adk.MessageType](t *testing.T, w way) {
	names := toolNames(24)
	session := toolsearch.NewSession("before")
	ctx := toolsearch.WithSession(context.Background(), session)
	middlewares := []adk.TypedChatModelAgentMiddleware[M]{over[M](t, numberedTools(24)...), over[M](t, numberedTools(24)...)}
	var group sync.WaitGroup
	for i, name := range names {
		run := conversing(ctx, t, w, with(middlewares[i%2]), question, selecting(name), calling(name))
		group.Go(func() {
			o := run()
			assert.NoError(t, o.err, "run %d", i)
			for call, r := range o.requests {
				assert.Equal(t, call > 0, slices.Contains(r.ToolNames(), name), "run %d, call %d", i, call)
			}
		})
		group.Go(func() {
			text, err := json.Marshal(session)
			assert.NoError(t, err)
			assert.Contains(t, string(text), `"before"`)
		})
	}
	group.Wait()
	assert.ElementsMatch(t, append(names, "before"), session.Loaded())
	assert.Equal(t, "before", session.Loaded()[0])
}

// A tool that one agent of a session removes is hidden from the other agents, and comes back into the session when
// another agent finds, adds or calls it.
func TestSessionUnloads(t *testing.T) {
	inAllWays(t, testSessionUnloads[chat], testSessionUnloads[agentic])
}

func testSessionUnloads[M adk.MessageType](t *testing.T, w way) {
	add := adding("send_mail")
	const metas = "search_tools add_tool show_all_tools remove_tool"
	for name, tt := range map[string]struct {
		protocol    toolsearch.Protocol
		had         string
		first, then turn // before and after the agent that removes send_mail
		want        string
	}{
		"hidden": {toolsearch.ProtocolSearchAdd, " send_mail get_weather", calling("show_all_tools"), calling("show_all_tools"), " get_weather"},
		"found":  {toolsearch.ProtocolToolSearch, "", selecting("send_mail"), selecting("send_mail"), " send_mail"},
		"added":  {toolsearch.ProtocolSearchAdd, "", add, add, " send_mail"},
		"called": {toolsearch.ProtocolToolSearch, "", selecting("send_mail"), calling("send_mail"), " send_mail"},
	} {
		session := toolsearch.NewSession(strings.Fields(tt.had)...)
		ctx := toolsearch.WithSession(context.Background(), session)
		insider := toolsearchtest.NewModel[M](removing("send_mail"), say("Removed."))
		inner := agentOver[M](t, using(toolsearch.ProtocolSearchAdd))
		inner.Name, inner.Description, inner.Model = "insider", "Knows", insider
		agent := agentOver[M](t, using(tt.protocol))
		agent.ToolsConfig.Tools = []tool.BaseTool{adk.NewTypedAgentTool(ctx, adk.TypedAgent[M](newAgent(t, inner)))}
		ask := turn{Decide: func(request) turn {
			assert.Contains(t, session.Loaded(), "send_mail", name)
			return callTool("insider", `{"request":"Tidy up"}`)
		}}
		o := converseOn(ctx, t, w, agent, question, tt.first, ask, tt.then)
		require.NoError(t, o.err, name)
		assert.True(t, strings.HasSuffix(o.saw()[3], tt.want), "%s: the model saw %s", name, o.saw()[3])
		assert.Equal(t, strings.Fields(tt.want), session.Loaded(), "%s: what the session has", name)
		if tt.had != "" {
			assert.Equal(t, []string{"insider " + metas + tt.had, "insider " + metas + tt.had, "insider " + metas + tt.want}, o.saw()[:3])
			assert.Equal(t, []string{metas + tt.had, metas + tt.want}, sawOf(insider))
		}
	}
}

// A session with more names than MaxLoaded shows the same tools at each call.
func TestSessionBeyondMaxLoaded(t *testing.T) {
	c := conversation{config: maxLoaded(2), turns: slices.Repeat([]turn{searching(`{"query":"zzz"}`)}, 3)}
	c.ctx = toolsearch.WithLoaded(context.Background(), "get_weather", "get_forecast", "send_mail", "list_stocks")
	o := play(t, c, way{})
	require.NoError(t, o.err)
	assert.Equal(t, slices.Repeat(o.saw()[:1], 4), o.saw())
}
