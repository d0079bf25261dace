package toolsearch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// A Session: as a value, over the runs of one agent, and shared by the agents of one run.

func TestSessionKeepsTheOrder(t *testing.T) {
	assert.Equal(t, []string{"b", "a", "c"}, toolsearch.NewSession("b", "a", "b", "", "c", "a").Loaded())
	assert.Empty(t, toolsearch.NewSession().Loaded())
	var zero toolsearch.Session
	assert.Empty(t, zero.Loaded())
	s := toolsearch.NewSession("a", "b")
	s.Loaded()[0] = "lies"
	assert.Equal(t, []string{"a", "b"}, s.Loaded(), "what Loaded returns is the caller's")
}

func TestSessionAsJSON(t *testing.T) {
	for _, tt := range []struct {
		names []string
		want  string
	}{
		{nil, `[]`},
		{[]string{"get_weather"}, `["get_weather"]`},
		{[]string{"b", "a", "日历", "\"<>\n"}, `["b","a","日历","\"<>\n"]`},
	} {
		text, err := json.Marshal(toolsearch.NewSession(tt.names...))
		require.NoError(t, err)
		assert.JSONEq(t, tt.want, string(text))
		var s toolsearch.Session
		require.NoError(t, json.Unmarshal(text, &s))
		assert.ElementsMatch(t, tt.names, s.Loaded())
	}
	var zero toolsearch.Session
	text, err := json.Marshal(&zero)
	require.NoError(t, err)
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
	for _, text := range []string{``, `{}`, `"a"`, `7`, `true`, `["a",7]`, `[["a"]]`, `["a"`, `["a"]]`} {
		s := toolsearch.NewSession("old")
		err := s.UnmarshalJSON([]byte(text))
		assert.ErrorContains(t, err, "toolsearch: a session is a list of names", text)
		assert.Equal(t, []string{"old"}, s.Loaded(), "%s: what the session has after the failure", text)
	}
}

// TestSessionInAStruct is how a program keeps one: beside what else it knows of a user.
func TestSessionInAStruct(t *testing.T) {
	type user struct {
		Name   string
		Loaded *toolsearch.Session
	}
	text, err := json.Marshal(user{"Ada", toolsearch.NewSession("get_weather")})
	require.NoError(t, err)
	assert.JSONEq(t, `{"Name":"Ada","Loaded":["get_weather"]}`, string(text))
	var back user
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, []string{"get_weather"}, back.Loaded.Loaded())
}

// The names loaded first are forgotten first, whichever way they came.
func TestSessionIsBounded(t *testing.T) {
	const most, many = 10_000, 20_000
	names := make([]string, many)
	for i := range names {
		names[i] = fmt.Sprintf("tool_%d", i)
	}
	text, err := json.Marshal(names)
	require.NoError(t, err)
	var read toolsearch.Session
	require.NoError(t, json.Unmarshal(text, &read))
	for name, s := range map[string]*toolsearch.Session{"given": toolsearch.NewSession(names...), "read": &read} {
		loaded := s.Loaded()
		require.Len(t, loaded, most, name)
		assert.Equal(t, names[most], loaded[0], name)
		assert.Equal(t, names[many-1], loaded[most-1], name)
	}
	// What was forgotten can be loaded again.
	ctx := toolsearch.WithSession(context.Background(), &read)
	middleware := newMiddleware[*schema.Message](t, toolsearch.Config{DynamicTools: testtools.EchoTools("tool_0: Was forgotten", "tool_1: Too")})
	o := converse(ctx, t, way{}, with(middleware), selecting("tool_0"))
	checkSaw(t, "the model", o, "tool_search", "tool_search tool_0")
	assert.Len(t, read.Loaded(), most)
	assert.Contains(t, read.Loaded(), "tool_0")
	assert.NotContains(t, read.Loaded(), names[most])
}

// TestSessionOverRuns: the caller keeps nothing but the session, and sends each request
// without history.
func TestSessionOverRuns(t *testing.T) {
	inAllWays(t, testSessionOverRuns[*schema.Message], testSessionOverRuns[*schema.AgenticMessage])
}

func testSessionOverRuns[M adk.MessageType](t *testing.T, w way) {
	var session toolsearch.Session
	config := with(newMiddleware[M](t, toolsearch.Config{DynamicTools: testtools.NewsTools()}))
	run := func(name string, turns []turn, saw ...string) {
		t.Helper()
		checkSaw(t, name, converse(toolsearch.WithSession(context.Background(), &session), t, w, config, turns...), saw...)
	}
	run("the first run", []turn{selecting("send_mail,get_weather"), calling("list_stocks")},
		"tool_search", "tool_search send_mail get_weather", "tool_search send_mail get_weather list_stocks")
	assert.Equal(t, []string{"send_mail", "get_weather", "list_stocks"}, session.Loaded())

	text, err := json.Marshal(&session)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(`[]`), &session))
	require.NoError(t, json.Unmarshal(text, &session))
	const kept = "tool_search send_mail get_weather list_stocks"
	run("the second run", []turn{calling("get_weather"), selecting("get_forecast,send_mail")}, kept, kept, kept+" get_forecast")
	assert.Equal(t, []string{"send_mail", "get_weather", "list_stocks", "get_forecast"}, session.Loaded(), "in the order of first loading")
	o := converse(context.Background(), t, w, config)
	checkSaw(t, "a run without the session", o, "tool_search")
}

// TestWhatIsInASession: by what a run did to it.
func TestWhatIsInASession(t *testing.T) {
	inAllWays(t, testWhatIsInASession[*schema.Message], testWhatIsInASession[*schema.AgenticMessage])
}

func testWhatIsInASession[M adk.MessageType](t *testing.T, w way) {
	add := func(names string) turn {
		return toolsearchtest.CallTool("add_tool", `{"tool_names":["`+strings.ReplaceAll(names, ",", `","`)+`"]}`)
	}
	remove := func(name string) turn {
		return toolsearchtest.CallTool("remove_tool", `{"tool_names":["`+name+`"]}`)
	}
	const four = "search_tools add_tool show_all_tools remove_tool"
	for _, tt := range []struct {
		name   string
		config toolsearch.Config
		had    []string
		turns  []turn
		saw    []string
		want   []string
	}{
		{"removed tools leave it", toolsearch.Config{Protocol: toolsearch.ProtocolSearchAdd}, nil,
			[]turn{add("send_mail,get_weather"), remove("send_mail")},
			[]string{four, four + " send_mail get_weather", four + " get_weather"}, []string{"get_weather"}},
		{"also those it came with", toolsearch.Config{Protocol: toolsearch.ProtocolSearchAdd}, []string{"send_mail", "get_weather"},
			[]turn{remove("send_mail")}, []string{four + " send_mail get_weather", four + " get_weather"}, []string{"get_weather"}},
		{"removed and added again", toolsearch.Config{Protocol: toolsearch.ProtocolSearchAdd}, nil,
			[]turn{add("send_mail,get_weather"), remove("send_mail"), add("send_mail")},
			[]string{four, four + " send_mail get_weather", four + " get_weather", four + " get_weather send_mail"}, []string{"get_weather", "send_mail"}},
		{"evicted tools leave it", toolsearch.Config{MaxLoaded: 1}, nil, []turn{selecting("send_mail"), selecting("get_weather")},
			[]string{"tool_search", "tool_search send_mail", "tool_search get_weather"}, []string{"get_weather"}},
		{"evicted tools that it came with", toolsearch.Config{MaxLoaded: 1}, []string{"send_mail"}, []turn{selecting("get_weather")},
			[]string{"tool_search send_mail", "tool_search get_weather"}, []string{"get_weather"}},
		{"tools that are always loaded are not in it", toolsearch.Config{AlwaysLoaded: []string{"get_*"}}, nil, []turn{selecting("get_weather,send_mail")},
			[]string{"tool_search get_weather get_forecast", "tool_search get_weather get_forecast send_mail"}, []string{"send_mail"}},
		{"names no catalog has are kept", toolsearch.Config{}, []string{"no_such_tool", "get_weather", "tool_search"}, []turn{selecting("send_mail")},
			[]string{"tool_search get_weather", "tool_search get_weather send_mail"}, []string{"no_such_tool", "get_weather", "tool_search", "send_mail"}},
		{"what a Filter forbids is not shown and stays", toolsearch.Config{Filter: toolsearch.FilterTools(nil, []string{"get_*", "list_*"})}, []string{"send_mail", "get_weather"},
			[]turn{calling("send_mail"), selecting("send_mail,list_stocks")},
			[]string{"tool_search get_weather", "tool_search get_weather", "tool_search get_weather list_stocks"}, []string{"send_mail", "get_weather", "list_stocks"}},
		{"preselected tools", toolsearch.Config{Preselect: 1, Index: onlyFinding("send_mail")}, nil, nil, []string{"tool_search send_mail"}, []string{"send_mail"}},
		{"refused calls load nothing", toolsearch.Config{Unloaded: toolsearch.UnloadedRefuse}, nil, []turn{calling("send_mail")}, []string{"tool_search", "tool_search"}, nil},
	} {
		session := toolsearch.NewSession(tt.had...)
		tt.config.DynamicTools = testtools.NewsTools()
		o := converse(toolsearch.WithSession(context.Background(), session), t, w, with(newMiddleware[M](t, tt.config)), tt.turns...)
		require.NoError(t, o.err, tt.name)
		assert.Equal(t, tt.saw, o.saw(), "%s: what the model saw", tt.name)
		assert.Equal(t, tt.want, session.Loaded(), "%s: what the session has", tt.name)
	}
}

// onlyFinding is an index that finds one tool, whatever it is asked.
func onlyFinding(name string) toolsearch.Indexer {
	return func(_ context.Context, docs []toolsearch.Document) (toolsearch.Searcher, error) {
		at := slices.IndexFunc(docs, func(d toolsearch.Document) bool { return d.Name == name })
		return finding(at), nil
	}
}

type finding int

func (f finding) Search(context.Context, toolsearch.Query) ([]toolsearch.Hit, error) {
	return []toolsearch.Hit{{Doc: int(f), Score: 1}}, nil
}

// TestWithSessionNil ends what an outer context shares; so does another session.
func TestWithSessionNil(t *testing.T) {
	inAllWays(t, testWithSessionNil[*schema.Message], testWithSessionNil[*schema.AgenticMessage])
}

func testWithSessionNil[M adk.MessageType](t *testing.T, w way) {
	var session toolsearch.Session
	shared := toolsearch.WithSession(context.Background(), &session)
	for _, tt := range []struct {
		name string
		ctx  context.Context
		saw  string
	}{
		{"shared", shared, " send_mail"},
		{"ended", toolsearch.WithSession(shared, nil), ""},
		{"ended, and begun again", toolsearch.WithSession(toolsearch.WithSession(shared, nil), &session), " send_mail"},
		{"another", toolsearch.WithSession(shared, toolsearch.NewSession("get_forecast")), " get_forecast"},
		{"WithLoaded", toolsearch.WithLoaded(context.Background(), "list_stocks", "", "no_such_tool", "get_forecast"), " list_stocks get_forecast"},
		{"WithLoaded within", toolsearch.WithLoaded(shared, "list_stocks"), " list_stocks"},
		{"WithLoaded of nothing within", toolsearch.WithLoaded(shared), ""},
	} {
		require.NoError(t, session.UnmarshalJSON([]byte(`["send_mail"]`)))
		o := converse(tt.ctx, t, w, with(over[M](t, testtools.NewsTools()...)), selecting("get_weather"))
		checkSaw(t, tt.name, o, "tool_search"+tt.saw, "tool_search"+tt.saw+" get_weather")
		want := []string{"send_mail"}
		if tt.saw == " send_mail" {
			want = append(want, "get_weather")
		}
		assert.Equal(t, want, session.Loaded(), "%s: what the outer session has", tt.name)
	}
}
