package conversations_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// These tests look at the events that OnEvent and the caller get, and at Preselect.

// Events tell how large requests are, and how often the list of tools changes: each time a tool
// is loaded by default, and never if loaded tools are not in the list.
func TestEventsTellWhatRequestsCost(t *testing.T) { everyWay(t, testEventsTellWhatRequestsCost) }

func testEventsTellWhatRequestsCost(t *testing.T, w way) {
	weather, mail := selecting("get_weather"), selecting("send_mail")
	for _, tt := range []struct {
		config  toolsearch.Config
		turns   []turn
		changes int
		loads   int
	}{
		{toolsearch.Config{}, []turn{weather, calling("get_weather"), weather, mail, calling("send_mail")}, 2, 2},
		{toolsearch.Config{Preselect: 5}, []turn{weather, calling("get_weather")}, 1, 1},
		{toolsearch.Config{AlwaysLoaded: []string{"*"}}, []turn{weather, calling("get_weather"), mail}, 0, 0},
		{using(toolsearch.ProtocolDispatch), []turn{weather, dispatching("get_weather", "{}"), mail, dispatching("send_mail", "{}")}, 0, 2},
		{using(toolsearch.ProtocolNativeDeferred), []turn{weather, calling("get_weather"), mail}, 0, 2},
	} {
		name := tt.config.Protocol
		var loads []*toolsearch.LoadEvent
		loaded := hearing(&loads)
		tt.config.OnEvent = func(ctx context.Context, e toolsearch.Event) {
			if e, ok := e.(*toolsearch.SearchEvent); ok {
				assert.Equal(t, len(e.Matches) > 0, e.Tokens > 0, "%v: %+v", name, e)
			}
			loaded(ctx, e)
		}
		o := running(t, w, tt.config)(tt.turns...)
		changes, seen, told := 0, 0, 0
		for i := 1; i < len(o.requests); i++ {
			if !slices.Equal(o.requests[i].ToolNames(), o.requests[i-1].ToolNames()) {
				changes++
			}
		}
		for _, e := range loads {
			seen += len(e.Loaded)
			assert.Equal(t, len(e.Loaded) > 0, e.LoadedTokens > 0, "%v: %+v", name, e)
			hasList := name != toolsearch.ProtocolNativeDeferred // of ordinary tools
			assert.Equal(t, hasList, e.ToolTokens > 0, "%v: %+v", name, e)
			assert.Positive(t, e.ListTokens, "%v: %+v", name, e)
			if e.ToolsChanged {
				told++
			}
		}
		assert.Equal(t, tt.changes, changes, "%v: changes of the requests' tools", name)
		assert.Equal(t, tt.changes, told, "%v: changes told", name)
		assert.Equal(t, tt.loads, seen, "%v: loaded tools", name)
		if len(loads) > 0 && loads[len(loads)-1].ToolTokens > 0 {
			size := 0
			for _, info := range o.last().Tools {
				size += len(info.Name) + len(info.Desc) + len(parametersOf(t, info))
			}
			assert.InEpsilon(t, float64(size)/4, loads[len(loads)-1].ToolTokens, 0.3, "%v: tokens of the tools, by four bytes each", name)
		}
	}
}

// The first model call shows the best tools for what the user said last. No model call is spent on them.
func TestPreselect(t *testing.T) {
	var table []conversation
	for _, tt := range []struct {
		name    string
		config  toolsearch.Config
		history []message
		asks    string
		turns   []turn
		saw     []string
	}{
		{"one tool", toolsearch.Config{Preselect: 1}, nil, "Please list the issues of my project", nil, []string{"mcp__github__list_issues"}},
		{"two tools, the best first", toolsearch.Config{Preselect: 2}, nil, "list issues, one issue", nil,
			[]string{"mcp__github__list_issues mcp__github__create_issue"}},
		{"no tool matches", toolsearch.Config{Preselect: 3}, nil, "zzz", nil, []string{""}},
		{"a plus does not make a word required", toolsearch.Config{Preselect: 1}, nil, "1 +1 weather?", nil, []string{"get_weather"}},
		{"the Config's searcher is used", toolsearch.Config{Preselect: 1, Index: toolsearch.Keyword}, nil, "weather", nil,
			[]string{"get_weather"}},
		{"the preselected tool stays, and searches add tools", toolsearch.Config{Preselect: 1}, nil, "weather",
			[]turn{selecting("ask_human"), calling("get_weather")},
			[]string{"get_weather", "get_weather ask_human", "get_weather ask_human"}},
		{"the newest question counts", toolsearch.Config{Preselect: 1}, []message{userSays("weather"), modelSays("Sunny.")},
			"ask the person in charge", nil, []string{"ask_human"}},
		{"only tools that pass Filter", toolsearch.Config{Preselect: 1, Filter: toolsearch.FilterTools([]string{"github"}, nil)},
			nil, "weather, or open an issue", nil, []string{"mcp__github__create_issue"}},
		{"the best MaxLoaded tools", toolsearch.Config{Preselect: 3, Limits: toolsearch.Limits{MaxLoaded: 1}},
			nil, "issues issue open opens", nil, []string{"mcp__github__create_issue"}},
		{"as many as are good", toolsearch.Config{Preselect: toolsearch.PreselectAuto}, nil, "weather, and issues of my project", nil,
			[]string{"get_weather mcp__github__list_issues mcp__github__create_issue"}},
		{"no more than are visible at once", toolsearch.Config{Preselect: toolsearch.PreselectAuto,
			Limits: toolsearch.Limits{MaxLoaded: 1}}, nil, "issues issue open opens", nil, []string{"mcp__github__create_issue"}},
		{"words are used, although searches take patterns", toolsearch.Config{Preselect: 1, Index: toolsearch.Regexp},
			nil, "how is the weather", nil, []string{"get_weather"}},
		// Not a summary and the reminder that it quotes.
		{"what the user said counts", toolsearch.Config{Preselect: 2}, nil,
			"<all_user_messages>\n    - " + newsReminder + "\n</all_user_messages>", nil, []string{""}},
		{"tools of WithLoaded come first", toolsearch.Config{Preselect: 1}, nil, "weather", nil, []string{"ask_human get_weather"}},
	} {
		c := conversation{name: tt.name, config: tt.config, dynamic: officeTools(), history: tt.history, asks: tt.asks, turns: tt.turns}
		if strings.Contains(tt.name, "WithLoaded") {
			c.ctx = toolsearch.WithLoaded(context.Background(), "ask_human")
		}
		for _, loaded := range tt.saw {
			c.saw = append(c.saw, strings.TrimSpace("tool_search "+loaded))
		}
		c.check = func(t *testing.T, o outcome) { checkReminded(t, "the model", o, "<available-deferred-tools>") }
		table = append(table, c)
	}
	playAll(t, table)

	agent := agentOver[chat](t, toolsearch.Config{Preselect: 1})
	o := converseOn(t.Context(), t, way{}, agent, []message{userSays("weather"), modelSays("Wait.")})
	checkSaw(t, "a model that spoke last", o, "tool_search")
}

// Events log neither queries nor the texts of errors, because a query may quote a user and an
// error may quote a query. The keys of an event are always the same.
func TestEventsLogThemselves(t *testing.T) {
	secret := errors.New("secret")
	for _, tt := range []struct {
		event toolsearch.Event
		want  string
	}{
		{&toolsearch.SearchEvent{Tool: "tool_search", Query: "secret", Matches: []string{"get_weather"}, Scores: []float64{1},
			Total: 7, Searcher: "index", Tokens: 50, Duration: time.Second, Err: secret},
			`{"event":"search","tool":"tool_search","matches":1,"total":7,"not_found":0,"searcher":"index","tokens":50,"duration":1000000000,"error_type":"*errors.errorString"}`},
		{&toolsearch.SearchEvent{NotFound: []string{"secret"}},
			`{"event":"search","tool":"","matches":0,"total":0,"not_found":1,"searcher":"","tokens":0,"duration":0,"error_type":""}`},
		{&toolsearch.LoadEvent{Loaded: []string{"get_weather"}, Refused: []string{"secret"}, ToolsChanged: true, LoadedTokens: 1,
			ToolTokens: 2, ListTokens: 3},
			`{"event":"load","loaded":["get_weather"],"unloaded":null,"refused":1,"tools_changed":true,"loaded_tokens":1,"tool_tokens":2,"list_tokens":3}`},
		{&toolsearch.CatalogEvent{Tools: 3, Added: 2, Removed: 1, Groups: []string{"mail"}, Duration: time.Second, Tokens: 4, ListTokens: 5},
			`{"event":"catalog","tools":3,"added":2,"removed":1,"groups":["mail"],"tokens":4,"list_tokens":5,"duration":1000000000}`},
		{&toolsearch.FailureEvent{Part: "Source", Group: "mail", Err: secret},
			`{"event":"failure","part":"Source","group":"mail","tool":"","error_type":"*errors.errorString"}`},
	} {
		checkDocumentedKeys(t, tt.want)
		var out bytes.Buffer
		slog.New(slog.NewJSONHandler(&out, nil)).Info("told", "e", tt.event)
		var line struct{ E json.RawMessage }
		require.NoError(t, json.Unmarshal(out.Bytes(), &line))
		assert.JSONEq(t, tt.want, string(line.E))
	}
}

// checkDocumentedKeys checks the keys of a logged event, as JSON, against the table of docs/operating.md.
func checkDocumentedKeys(t *testing.T, event string) {
	t.Helper()
	var values map[string]any
	require.NoError(t, json.Unmarshal([]byte(event), &values))
	page := testtools.Must(os.ReadFile("../../docs/operating.md"))(t)
	_, row, found := strings.Cut(string(page), fmt.Sprintf("\n| `%s` | ", values["event"]))
	require.True(t, found, "../../docs/operating.md has the keys of the event %q", values["event"])
	row, _, _ = strings.Cut(row, " |\n")
	delete(values, "event")
	assert.ElementsMatch(t, slices.Collect(maps.Keys(values)), strings.Split(strings.ReplaceAll(row, "`", ""), ", "))
}

// Events survive encoding/gob, by which Eino keeps them in a checkpoint.
func TestEventsSurviveGob(t *testing.T) {
	for _, event := range []toolsearch.Event{
		&toolsearch.SearchEvent{Tool: "tool_search", Query: "mail", Matches: []string{"send_mail"}, Scores: []float64{2}, Total: 1,
			Searcher: "index", Duration: 5, Err: errors.New("down")},
		&toolsearch.SearchEvent{},
		&toolsearch.LoadEvent{Loaded: []string{"a"}, Unloaded: []string{"b"}, Refused: []string{"c"}, ToolsChanged: true, ToolTokens: 1},
		&toolsearch.CatalogEvent{Tools: 1, Added: 2, Removed: 3, Duration: 4},
		&toolsearch.CallEvent{Tool: "a", Duration: 6, Err: errors.New("down")},
		&toolsearch.FailureEvent{Part: "Source", Err: errors.New("down")},
		&toolsearch.FailureEvent{Part: "Source"},
	} {
		var b bytes.Buffer
		require.NoError(t, gob.NewEncoder(&b).Encode(&event))
		var got toolsearch.Event
		require.NoError(t, gob.NewDecoder(&b).Decode(&got))
		assert.Equal(t, event, got)
	}
}

// told is a list of events as texts.
type told []string

func (l *told) add(e toolsearch.Event) {
	switch e := e.(type) {
	case *toolsearch.SearchEvent:
		*l = append(*l, fmt.Sprintf("search %s %s %v%v%s", e.Tool, e.Query, e.Matches, e.NotFound, e.Searcher))
	case *toolsearch.LoadEvent:
		*l = append(*l, fmt.Sprintf("load %v%v%v", e.Loaded, e.Unloaded, e.Refused)+map[bool]string{true: " changed"}[e.ToolsChanged])
	case *toolsearch.CallEvent:
		*l = append(*l, fmt.Sprintf("call %s %v", e.Tool, e.Err))
	case *toolsearch.CatalogEvent:
		*l = append(*l, fmt.Sprintf("catalog %d +%d -%d", e.Tools, e.Added, e.Removed))
	case *toolsearch.FailureEvent:
		*l = append(*l, fmt.Sprintf("failure %s, no mower: %v", e.Part, errors.Is(e.Err, errMower)))
	default:
		*l = append(*l, fmt.Sprintf("unknown %T", e))
	}
}

// listen runs an agent and returns the events that OnEvent got and the events that the caller got.
func listen[M adk.MessageType](t *testing.T, w way, config toolsearch.Config, static []tool.BaseTool, turns ...turn) (heard, sent told) {
	t.Helper()
	config.OnEvent = func(_ context.Context, e toolsearch.Event) { heard.add(e) }
	agentConfig := agentOver[M](t, config)
	agentConfig.ToolsConfig.Tools = static
	agentConfig.Model = toolsearchtest.NewModel[M](append(turns, say("done"))...)
	events := eventsOf(context.Background(), newAgent(t, agentConfig), w, encoded[M](question...))
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		assert.NoError(t, event.Err)
		if event.Output == nil {
			continue
		}
		if out := event.Output.MessageOutput; out != nil {
			_, err := out.GetMessage()
			assert.NoError(t, err)
		}
		if e, is := event.Output.CustomizedOutput.(toolsearch.Event); is {
			assert.Nil(t, event.Output.MessageOutput)
			sent.add(e)
		}
	}
	return heard, sent
}

// OnEvent gets every event in order, with and without SendEvents. With SendEvents the caller gets
// the same events, the ones before the first model call included.
func TestOnEvent(t *testing.T) { inAllWays(t, testOnEvent[chat], testOnEvent[agentic]) }

func testOnEvent[M adk.MessageType](t *testing.T, w way) {
	down := func(context.Context) ([]tool.BaseTool, error) { return nil, errMower }
	for _, tt := range []struct {
		name   string
		config toolsearch.Config
		static []tool.BaseTool
		turns  []turn
		want   told
	}{
		{name: "a run without searches"},
		{name: "a search, a call and two mistakes", turns: []turn{searching(`{"query":"mail"}`), calling("get_weather"),
			selecting("get_wether"), calling("get_wether")}, want: told{
			"search tool_search mail [send_mail][]index", "load [send_mail][][] changed", "call get_weather <nil>", "load [get_weather][][] changed",
			"search tool_search select:get_wether [][get_wether]", "load [][][get_wether]",
		}},
		{name: "a tool hidden again", config: maxLoaded(1), turns: []turn{selecting("send_mail"), selecting("get_weather")}, want: told{
			"search tool_search select:send_mail [send_mail][]", "load [send_mail][][] changed",
			"search tool_search select:get_weather [get_weather][]", "load [get_weather][send_mail][] changed",
		}},
		{name: "a tool found twice", turns: []turn{selecting("send_mail"), selecting("send_mail")}, want: told{
			"search tool_search select:send_mail [send_mail][]", "load [send_mail][][] changed", "search tool_search select:send_mail [send_mail][]",
		}},
		{name: "refused calls", config: toolsearch.Config{Unloaded: toolsearch.UnloadedRefuse},
			turns: []turn{callTools(call{Name: "get_weather"}, call{Name: "get_wether"})}, want: told{"load [][][get_weather get_wether]"}},
		{name: "a tool added and removed", config: using(toolsearch.ProtocolSearchAdd), turns: []turn{adding("send_mail"), removing("send_mail")},
			want: told{"load [send_mail][][] changed", "load [][send_mail][] changed"}},
		// The answer to wrong arguments has the definition.
		{name: "wrong arguments of a dispatched call", config: using(toolsearch.ProtocolDispatch),
			turns: []turn{dispatching("send_mail", `{"city":7}`)}, want: told{"load [][][send_mail]", "load [send_mail][][]"}},
		{name: "a source answers for the first time", config: toolsearch.Config{Groups: sourced("fax: Faxes", "cut_grass: Mows")},
			turns: []turn{selecting("fax")},
			want:  told{"catalog 7 +2 -0", "search tool_search select:fax [fax][]", "load [fax][][] changed"}},
		{name: "a source fails", config: toolsearch.Config{Groups: []toolsearch.Group{{Source: down}}}, turns: []turn{selecting("send_mail")},
			want: told{"failure Source, no mower: true", "search tool_search select:send_mail [send_mail][]", "load [send_mail][][] changed"}},
		{name: "a source has a tool with the name of a static tool", config: toolsearch.Config{Groups: sourced("clock: Lies", "fax: Faxes")},
			static: testtools.EchoTools("clock: The time"),
			want:   told{"catalog 7 +2 -0", "failure Source, no mower: false"}},
		{name: "the preselection fails", config: toolsearch.Config{Preselect: 1, Index: testtools.Canned{Err: errMower}.Index},
			want: told{"failure Preselect, no mower: true"}},
	} {
		for _, send := range []bool{false, true} {
			tt.config.DynamicTools, tt.config.SendEvents = testtools.NewsTools(), send
			heard, sent := listen[M](t, w, tt.config, tt.static, slices.Clone(tt.turns)...)
			assert.Equal(t, tt.want, heard, "%s: the events of OnEvent, SendEvents %v", tt.name, send)
			if send {
				assert.Equal(t, tt.want, sent, "%s: the events of the caller", tt.name)
			} else {
				assert.Empty(t, sent, "%s: the events of the caller without SendEvents", tt.name)
			}
		}
	}
}

// Nothing is locked while OnEvent runs. At the first event of each kind, OnEvent reads the session
// and runs another agent with the same middleware and session.
func TestNothingIsLockedWhileOnEventRuns(t *testing.T) { everyWay(t, testOnEventUnlocked) }

func testOnEventUnlocked(t *testing.T, w way) {
	s := &server{}
	s.serve("send_mail: Sends", "clock: Lies")
	session := toolsearch.NewSession()
	config := s.config()
	config.Preselect = 1
	ctx := toolsearch.WithSession(context.Background(), session)
	var agent func(c conversation) outcome
	run := func(turns ...turn) outcome {
		o := agent(conversation{ctx: ctx, static: testtools.EchoTools("clock: The time"), turns: turns})
		assert.NoError(t, o.err)
		return o
	}
	seen := map[string]int{}
	config.OnEvent = func(_ context.Context, e toolsearch.Event) {
		kind := fmt.Sprintf("%T", e)
		if seen[kind]++; seen[kind] > 1 {
			return
		}
		_, err := session.MarshalJSON()
		assert.NoError(t, err, kind)
		assert.Contains(t, run(selecting("get_weather")).last().ToolNames(), "get_weather", kind)
	}
	agent = playing(t, w, config)
	run(selecting("send_mail"), calling("no_such_tool"))
	for _, kind := range []string{"SearchEvent", "LoadEvent", "CatalogEvent", "FailureEvent"} {
		assert.Positive(t, seen["*toolsearch."+kind], kind)
	}
	assert.Subset(t, session.Loaded(), []string{"get_weather", "send_mail"})
}
