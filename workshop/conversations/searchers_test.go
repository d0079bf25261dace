package conversations_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// These tests search as users who may see different parts of a catalog. TestFilteredToolsLeaveNoTrace
// compares what the model gets; these tests say which searcher is asked.

// searchTool returns tool_search of a middleware. Each call of the tool is a run of its own.
func searchTool(t *testing.T, config toolsearch.Config) tool.InvokableTool {
	t.Helper()
	return searchToolOf[chat](t, config).(tool.InvokableTool)
}

// searchToolOf is searchTool for agents of either message type.
func searchToolOf[M adk.MessageType](t testing.TB, config toolsearch.Config) tool.BaseTool {
	t.Helper()
	_, runCtx, err := newMiddleware[M](t, config).BeforeAgent(context.Background(), &adk.ChatModelAgentContext{})
	require.NoError(t, err)
	return runCtx.Tools[0]
}

// as is the context of a user who may have the tools with these names.
func as(names string) context.Context {
	return context.WithValue(context.Background(), allowedKey{}, names)
}

// restrictable is a Restricter that finds its first document, and notes what it was restricted to.
type restrictable struct {
	testtools.Canned
	restrict func(ctx context.Context, docs []int) (search.Searcher, error)
}

func (r *restrictable) Restrict(ctx context.Context, docs []int) (search.Searcher, error) {
	return r.restrict(ctx, docs)
}

func (r *restrictable) Index(context.Context, []toolsearch.Document) (search.Searcher, error) {
	return r, nil
}

// A searcher is restricted once for each part of the catalog that users may see, and not for users
// who may see all. The searchers of eight parts are kept.
func TestRestrictedSearchersAreKept(t *testing.T) {
	var built []string
	index := &restrictable{Canned: testtools.Canned{Hits: []search.Hit{{Doc: 0, Score: 1}}}}
	index.restrict = func(_ context.Context, docs []int) (search.Searcher, error) {
		built = append(built, fmt.Sprint(docs))
		return testtools.Canned{Hits: []search.Hit{{Doc: docs[len(docs)-1], Score: 1}}}, nil
	}
	tools := searchTool(t, toolsearch.Config{
		DynamicTools: testtools.EchoTools("a: A", "b: B", "c: C", "d: D"), Index: index.Index, Fallback: index.Index, Filter: byUser,
	})
	for _, tt := range []struct{ user, want, built string }{
		{"a b c d", "a", ""}, {"a b", "b", "[0 1]"}, {"b a", "b", ""}, {"a c", "c", "[0 2]"}, {"a b c d", "a", ""}, {"a c", "c", ""},
		{"a", "a", "[0]"}, {"b", "b", "[1]"}, {"c", "c", "[2]"}, {"d", "d", "[3]"}, {"b c", "c", "[1 2]"}, {"b d", "d", "[1 3]"}, // eight
		{"a b", "b", ""}, {"c d", "d", "[2 3]"}, {"a b", "b", ""}, {"a c", "c", "[0 2]"}, {"b d", "d", ""},
	} {
		built = nil
		text, err := tools.InvokableRun(as(tt.user), `{"query":"x"}`)
		assert.NoError(t, err, "%q", tt.user)
		assert.Equal(t, []string{tt.want}, answerOf(t, text).Matches, "%q", tt.user)
		assert.Equal(t, tt.built, strings.Join(built, " "), "%q: what was restricted", tt.user)
	}
}

// A searcher that cannot be restricted has failed: the fallback answers, and in the end the keyword
// search. Hits outside of what the user may see are dropped.
func TestBadRestricters(t *testing.T) {
	down := errors.New("down")
	one := []search.Hit{{Doc: 2, Score: 1}, {Doc: 0, Score: 1}}
	for _, tt := range []struct {
		name     string
		restrict func() (search.Searcher, error)
		fallback toolsearch.Indexer
		want     string
		failure  string
	}{
		{"fails", func() (search.Searcher, error) { return nil, down }, testtools.Canned{Hits: one}.Index, "send_mail", "down"},
		{"fails, without a fallback", func() (search.Searcher, error) { return nil, down }, nil, "list_stocks", "down"},
		{"panics", func() (search.Searcher, error) { panic("oh") }, nil, "list_stocks", "panic: oh"},
		{"returns nil", func() (search.Searcher, error) { return (*restrictable)(nil), nil }, nil, "list_stocks", "there is no Searcher"},
		{"finds a hidden tool", func() (search.Searcher, error) { return testtools.Canned{Hits: one}, nil }, nil, "send_mail", ""},
	} {
		index := &restrictable{Canned: testtools.Canned{Hits: one}}
		index.restrict = func(context.Context, []int) (search.Searcher, error) { return tt.restrict() }
		config := toolsearch.Config{Index: index.Index, Fallback: tt.fallback, Filter: byUser}
		for range 2 { // a failure is not kept
			a, e, err := eventOf(t, as("send_mail list_stocks"), config, `{"query":"stocks"}`)
			assert.NoError(t, err, tt.name)
			assert.Equal(t, []string{tt.want}, a.Matches, tt.name)
			if tt.failure == "" {
				assert.NoError(t, e.Err, tt.name)
			} else {
				assert.ErrorContains(t, e.Err, tt.failure, tt.name)
			}
		}
	}
}

// A search that waits for another one of the same part, which restricts the searcher, ends with its own context.
func TestRestrictAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		index, restricted := &restrictable{}, 0
		index.restrict = func(ctx context.Context, _ []int) (search.Searcher, error) {
			restricted++
			<-ctx.Done()
			return nil, ctx.Err()
		}
		tools := searchTool(t, toolsearch.Config{DynamicTools: testtools.NewsTools(), Index: index.Index, Filter: byUser})
		ask := func(patience time.Duration) {
			ctx, cancel := context.WithTimeout(as("get_weather"), patience)
			defer cancel()
			start := time.Now()
			_, err := tools.InvokableRun(ctx, `{"query":"zzz"}`)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, patience, time.Since(start))
		}
		go ask(2 * time.Second)
		synctest.Wait()
		ask(time.Second)
		assert.Equal(t, 1, restricted, "how often the searcher was restricted")
		time.Sleep(time.Second) // until the first search ends, too
	})
}

// What the model gets from a search: names as they are shown, and what is left when searchers fail.

// A name can be selected in the form in which the reminder shows it. The search that a refusal
// advises loads the tool. Both hold whatever characters the name has.
func TestSelectWhatIsShown(t *testing.T) {
	names := []string{"plain", "a,b", "semi;colon", "日本、語", "`tick`", "[br]", `q"uote`, "zero\u200bwidth", "rtl\u202ex",
		"tag<b>x</b>", "nul\x00x", "new\nline", " blanks ", strings.Repeat("long_", 25)}
	var tools []tool.BaseTool
	for _, name := range names {
		tools = append(tools, echo(&schema.ToolInfo{Name: name, Desc: "Odd"}))
	}
	run := running(t, way{}, toolsearch.Config{DynamicTools: tools, Unloaded: toolsearch.UnloadedRefuse})
	catalog := testtools.Must(toolsearch.NewCatalog(t.Context(), tools, nil))(t)
	for i, name := range names {
		o := run(callTool(name, "{}"))
		_, advised, _ := strings.Cut(answerOf(t, o.result(t, "call_1")).Message, "{")
		advised = "{" + advised[:strings.LastIndexByte(advised, '}')+1]
		assert.Contains(t, run(searching(advised)).last().ToolNames(), name, "after the advised search %s", advised)
		shown := announced(o.last())[i]
		result := testtools.Must(catalog.Search(t.Context(), "select:"+shown, 0))(t, "%q, shown as %q", name, shown)
		assert.Equal(t, []string{name}, testtools.MatchNames(result), "shown as %q", shown)
	}
}

// eventOf makes one search and returns its answer and event.
func eventOf(t *testing.T, ctx context.Context, config toolsearch.Config, arguments string) (answer, *toolsearch.SearchEvent, error) {
	t.Helper()
	var events []*toolsearch.SearchEvent
	config.DynamicTools = testtools.NewsTools()
	config.OnEvent = hearing(&events)
	text, err := searchTool(t, config).InvokableRun(ctx, arguments)
	require.Len(t, events, 1)
	assert.Equal(t, len(events[0].Matches) > 0, events[0].Tokens > 0, "tokens of what was found")
	events[0].Duration, events[0].Tokens = 0, 0 // no test asserts a time
	if err != nil {
		return answer{}, events[0], err
	}
	return answerOf(t, text), events[0], nil
}

// A searcher that fails makes the search worse and does not end the run. A searcher that breaks
// its contract does no harm. Document 0 is get_weather, and document 2 is send_mail.
func TestBadSearchers(t *testing.T) {
	down, alsoDown := errors.New("down"), errors.New("also down")
	hits := func(docs ...int) (list []search.Hit) {
		for _, doc := range docs {
			list = append(list, search.Hit{Doc: doc, Score: 1})
		}
		return list
	}
	tests := []struct {
		name            string
		index, fallback testtools.Canned
		want            []string
		total           int
		err             error
	}{
		{"fails", testtools.Canned{Err: down}, testtools.Canned{Err: down}, []string{"send_mail"}, 1, down},
		{"fails with hits", testtools.Canned{Hits: hits(1), Err: down}, testtools.Canned{Hits: hits(0)}, []string{"get_weather"}, 1, down},
		{"fails, and the fallback fails too", testtools.Canned{Err: down}, testtools.Canned{Err: alsoDown}, []string{"send_mail"}, 1, down},
		{"finds nothing", testtools.Canned{}, testtools.Canned{Hits: hits(0)}, []string{"get_weather"}, 1, nil},
		{"finds nothing, and the fallback fails", testtools.Canned{}, testtools.Canned{Err: down}, []string{}, 0, down},
		{"fails in part", testtools.Canned{Hits: hits(0), Partial: down}, testtools.Canned{Hits: hits(2)}, []string{"get_weather"}, 1, down},
		{"fails in part and finds nothing", testtools.Canned{Partial: down}, testtools.Canned{Hits: hits(2)}, []string{"send_mail"}, 1, down},
		{"fails in part and finds nothing, and the fallback finds nothing", testtools.Canned{Partial: down}, testtools.Canned{},
			[]string{}, 0, down},
		{"out of range", testtools.Canned{Hits: hits(-1, 5, math.MaxInt, 2, math.MinInt)}, testtools.Canned{}, []string{"send_mail"}, 1, nil},
		{"all out of range", testtools.Canned{Hits: hits(-1, 5)}, testtools.Canned{Hits: hits(0)}, []string{"get_weather"}, 1, nil},
		{"duplicates", testtools.Canned{Hits: hits(2, 2, 0, 2)}, testtools.Canned{}, []string{"send_mail", "get_weather"}, 2, nil},
		{"panics", testtools.Canned{During: func() { panic(down) }}, testtools.Canned{Err: alsoDown}, []string{"send_mail"}, 1, down},
		{"too many", testtools.Canned{Hits: slices.Repeat(hits(2, -1, 0, 1), 500)}, testtools.Canned{},
			[]string{"send_mail", "get_weather"}, 3, nil},
		{"scores that are not finite", testtools.Canned{Hits: []search.Hit{{Doc: 0, Score: math.NaN()},
			{Doc: 2, Score: math.Inf(-1)}}}, testtools.Canned{}, []string{"get_weather", "send_mail"}, 2, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			config := toolsearch.Config{Index: tt.index.Index, Fallback: tt.fallback.Index}
			if tt.name == "fails" {
				config.Fallback = nil
			}
			a, e, err := eventOf(t, context.Background(), config, `{"query":"mail","max_results":2}`)
			assert.NoError(t, err)
			assert.Equal(t, tt.want, a.Matches)
			if len(a.Matches) == 0 {
				assert.NotEmpty(t, a.Message, "the help of an answer without a match")
			}
			if tt.name == "panics" {
				assert.ErrorContains(t, e.Err, "down", "the event has the failure")
			} else { // assert.Equal takes two errors with the same text for equal
				assert.True(t, e.Err == tt.err, "the event's error is %v itself, not %v", tt.err, e.Err)
			}
			assert.Equal(t, tt.total, e.Total, "the event's total")
		})
	}
}

func TestSearchEvents(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	type event = toolsearch.SearchEvent
	for _, tt := range []struct {
		ctx       context.Context
		arguments string
		want      event
	}{
		{nil, `{"query":" send ","max_results":1}`, event{Query: " send ", Matches: []string{"mcp__slack__send_message"},
			Scores: []float64{10}, Total: 2, Searcher: "index"}},
		{nil, `{"query":"select:send_mail, get_wether"}`, event{Query: "select:send_mail, get_wether",
			Matches: []string{"send_mail"}, NotFound: []string{"get_wether"}, Scores: []float64{0}, Total: 1}},
		{nil, `{"query":["mail","stocks"]}`, event{Query: "mail | stocks", Matches: []string{"send_mail", "list_stocks"},
			Scores: []float64{10, 10}, Total: 2, Searcher: "index"}},
		{nil, `{"query":"zzz"}`, event{Query: "zzz", Matches: []string{}}},
		{cancelled, `{"query":"mail"}`, event{Query: "mail", Err: context.Canceled}},
	} {
		if tt.ctx == nil {
			tt.ctx = context.Background()
		}
		_, got, _ := eventOf(t, tt.ctx, toolsearch.Config{ToolName: "find"}, tt.arguments)
		tt.want.Tool = "find"
		assert.Equal(t, &tt.want, got, tt.arguments)
	}
}
