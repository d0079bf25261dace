package toolsearch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"unicode"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// These tests search by a Catalog or by tool_search. They test the bounds of a search, searchers
// that fail, and what the events say.

// A model may send a query of any size. The cost of the search and the size of the answer are
// bounded.
func TestBounds(t *testing.T) {
	testtools.SkipWithoutGoroutines(t)
	ctx := context.Background()
	catalog := numberedCatalog(t, 1000)
	words := strings.Repeat("x", 63) + " " // 64 words are 4 KiB
	for name, text := range map[string]string{
		"many words":       strings.Repeat("n7 ", 1<<20/3),
		"few long words":   "n7 " + strings.Repeat(strings.Repeat("x", 1000)+" ", 1<<10),
		"one word":         "n7 " + strings.Repeat("x", 1<<20),
		"cut at a blank":   strings.Repeat("x", 1023) + " " + strings.Repeat("x", queryBytes-1024-4) + " n77 " + strings.Repeat(words, 1<<14),
		"cut after a word": strings.Repeat("x", 1023) + " " + strings.Repeat("x", queryBytes-1024-4) + " n7" + " " + strings.Repeat(words, 1<<14),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := catalog.Search(ctx, text, 5)
			require.NoError(t, err)
			start := text[:queryBytes]
			if rest := text[queryBytes:]; rest[0] != ' ' { // the cut is within a word, which does not count
				start = start[:strings.LastIndexByte(start, ' ')]
			}
			want, err := catalog.Search(ctx, start, 5)
			require.NoError(t, err)
			assert.Equal(t, want, got, "the result of the first 4 KiB, and of the whole text")
		})
	}

	const names = 100_000
	for name, separators := range map[string][]string{
		"commas": {","}, "blanks": {" "}, "groups of words": append(slices.Repeat([]string{" "}, 149), ","), "lines": {"\n"},
	} {
		for _, prefix := range []string{"n", "N", "missing"} {
			t.Run("select/"+name+"/"+prefix, func(t *testing.T) {
				var b strings.Builder
				b.WriteString("select:")
				for i := range names {
					fmt.Fprintf(&b, "%s%d%s", prefix, i%1000, separators[i%len(separators)])
				}
				result, err := catalog.Search(ctx, b.String(), 5)
				require.NoError(t, err)
				found := testtools.MatchNames(result)
				assert.LessOrEqual(t, len(found)+len(result.NotFound), 200, "%d matches, %d not found", len(found), len(result.NotFound))
				assert.Len(t, sortedSet(found), len(found), "the matches are distinct")
				assert.LessOrEqual(t, len(result.Suggestions), 5, "suggestions")
			})
		}
	}

	queries := make([]string, 1000)
	for i := range queries {
		queries[i] = fmt.Sprint("n", i)
	}
	for limit, most := range map[int]int{0: 10 * toolsearch.DefaultMaxResults, math.MaxInt32: 10 * toolsearch.DefaultMaxResultsCap} {
		arguments, err := json.Marshal(map[string]any{"query": queries, "max_results": limit})
		require.NoError(t, err)
		text, err := catalog.Tool().InvokableRun(ctx, string(arguments))
		require.NoError(t, err)
		a := answerOf(t, text)
		assert.NotEmpty(t, a.Matches, "1000 queries with max_results %d", limit)
		assert.LessOrEqual(t, len(a.Matches), most, "1000 queries with max_results %d", limit)
	}
}

func TestCancelledSearch(t *testing.T) {
	one := []search.Hit{{Doc: 2}}
	check := func(t *testing.T, index toolsearch.Indexer, query string, newContext func() context.Context) {
		t.Helper()
		catalog, err := toolsearch.NewCatalog(context.Background(), testtools.NewsTools(), &toolsearch.CatalogOptions{Index: index})
		require.NoError(t, err)
		result, err := catalog.Search(newContext(), query, 5)
		assert.ErrorIs(t, err, context.Canceled, "%q: Search gave %+v", query, result)
		text, err := catalog.Tool().InvokableRun(newContext(), `{"query":"`+query+`"}`)
		assert.ErrorIs(t, err, context.Canceled, "%q: the tool gave %q", query, text)
	}
	t.Run("before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, index := range []toolsearch.Indexer{nil, testtools.Canned{Hits: one}.Index, testtools.Canned{Err: errors.New("down")}.Index} {
			for _, query := range []string{"mail", "+send a b c", "select:send_mail", "zzz"} {
				check(t, index, query, func() context.Context { return ctx })
			}
		}
	})
	t.Run("meanwhile", func(t *testing.T) {
		var cancel context.CancelFunc
		newContext := func() (ctx context.Context) {
			ctx, cancel = context.WithCancel(context.Background())
			return ctx
		}
		for _, answer := range []testtools.Canned{{Hits: one}, {}, {Err: errors.New("down")}} {
			answer.During = func() { cancel() }
			check(t, answer.Index, "mail", newContext)
		}
	})
}

// eventOf makes one search and returns its answer and event.
func eventOf(t *testing.T, ctx context.Context, config toolsearch.Config, arguments string) (answer, *toolsearch.SearchEvent, error) {
	t.Helper()
	var events []*toolsearch.SearchEvent
	config.DynamicTools = testtools.NewsTools()
	config.OnEvent = onSearch(func(e *toolsearch.SearchEvent) { events = append(events, e) })
	_, runCtx, err := newMiddleware[*schema.Message](t, config).BeforeAgent(context.Background(), &adk.ChatModelAgentContext{})
	require.NoError(t, err)
	text, err := runCtx.Tools[0].(tool.InvokableTool).InvokableRun(ctx, arguments)
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
		{"fails in part and finds nothing, and the fallback finds nothing", testtools.Canned{Partial: down}, testtools.Canned{}, []string{}, 0, down},
		{"out of range", testtools.Canned{Hits: hits(-1, 5, math.MaxInt, 2, math.MinInt)}, testtools.Canned{}, []string{"send_mail"}, 1, nil},
		{"all out of range", testtools.Canned{Hits: hits(-1, 5)}, testtools.Canned{Hits: hits(0)}, []string{"get_weather"}, 1, nil},
		{"duplicates", testtools.Canned{Hits: hits(2, 2, 0, 2)}, testtools.Canned{}, []string{"send_mail", "get_weather"}, 2, nil},
		{"too many", testtools.Canned{Hits: slices.Repeat(hits(2, -1, 0, 1), 500)}, testtools.Canned{}, []string{"send_mail", "get_weather"}, 3, nil},
		{"scores that are not finite", testtools.Canned{Hits: []search.Hit{{Doc: 0, Score: math.NaN()}, {Doc: 2, Score: math.Inf(-1)}}}, testtools.Canned{}, []string{"get_weather", "send_mail"}, 2, nil},
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
			// assert.Equal takes two errors with the same text for equal.
			assert.True(t, e.Err == tt.err, "the event's error is %v itself, not %v", tt.err, e.Err)
			assert.Equal(t, tt.total, e.Total, "the event's total")
		})
	}
}

func TestBadIndexers(t *testing.T) {
	down := errors.New("down")
	for name, index := range map[string]toolsearch.Indexer{
		"fails":   func(context.Context, []toolsearch.Document) (toolsearch.Searcher, error) { return nil, down },
		"nothing": func(context.Context, []toolsearch.Document) (toolsearch.Searcher, error) { return nil, nil },
		"nil": func(context.Context, []toolsearch.Document) (toolsearch.Searcher, error) {
			return (*testtools.Canned)(nil), nil
		},
		"panics": func(context.Context, []toolsearch.Document) (toolsearch.Searcher, error) { panic("down") },
	} {
		for _, config := range []toolsearch.Config{{Index: index}, {Fallback: index}} {
			config.DynamicTools = testtools.NewsTools()
			_, err := toolsearch.New(context.Background(), &config)
			assert.ErrorContains(t, err, "index", name)
			if name == "fails" {
				assert.ErrorIs(t, err, down, name)
			} else {
				assert.NotErrorIs(t, err, down, name)
			}
		}
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
		{nil, `{"query":" send ","max_results":1}`, event{Query: " send ", Matches: []string{"mcp__slack__send_message"}, Scores: []float64{10}, Total: 2, Searcher: "index"}},
		{nil, `{"query":"select:send_mail, get_wether"}`, event{Query: "select:send_mail, get_wether", Matches: []string{"send_mail"}, NotFound: []string{"get_wether"}, Scores: []float64{0}, Total: 1}},
		{nil, `{"query":["mail","stocks"]}`, event{Query: "mail | stocks", Matches: []string{"send_mail", "list_stocks"}, Scores: []float64{10, 10}, Total: 2, Searcher: "index"}},
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

// A searcher that panics is treated like a searcher that fails.
func TestPanickingSearcher(t *testing.T) {
	config := toolsearch.Config{Index: testtools.Canned{During: func() { panic("down") }}.Index}
	a, e, err := eventOf(t, context.Background(), config, `{"query":"mail"}`)
	assert.NoError(t, err)
	assert.Contains(t, a.Matches, "send_mail", "the keyword search answers")
	assert.ErrorContains(t, e.Err, "down", "the event has the failure")
}

// A name can be selected in the form in which the reminder shows it. The search that a refusal
// advises loads the tool. Both hold whatever characters the name has.
func TestSelectWhatIsShown(t *testing.T) {
	ctx := context.Background()
	names := []string{
		"plain", "a,b", "semi;colon", "日本、語", "`tick`", "[br]", `q"uote`, "zero\u200bwidth", "rtl\u202ex",
		"tag<b>x</b>", "nul\x00x", "new\nline", " blanks ", strings.Repeat("long_", 25),
	}
	var tools []tool.BaseTool
	for _, name := range names {
		tools = append(tools, &testtools.EchoTool{PlainTool: testtools.PlainTool{Of: &schema.ToolInfo{Name: name, Desc: "Odd"}}})
	}
	for _, name := range names {
		config := toolsearch.Config{DynamicTools: tools, Unloaded: toolsearch.UnloadedRefuse}
		var shown, advised string
		scripted := toolsearchtest.NewModel[*schema.Message](
			toolsearchtest.CallTool(name, "{}"),
			turn{Decide: func(r request) turn {
				for i, line := range strings.Split(r.Messages[0].Text, "\n")[2:] {
					if i < len(names) && names[i] == name {
						shown = line
					}
				}
				// answerOf may call FailNow, which must not be called on a goroutine of the agent.
				var a answer
				assert.NoError(t, json.Unmarshal([]byte(r.Messages[len(r.Messages)-1].Text), &a), "%q", name)
				assert.NotNil(t, a.Matches, "%q", name)
				_, rest, _ := strings.Cut(a.Message, "{")
				advised = "{" + rest[:strings.LastIndexByte(rest, '}')+1]
				return searching(advised)
			}},
			toolsearchtest.Say("done"))
		agent := newAgent(t, &adk.ChatModelAgentConfig{Model: scripted, Handlers: []adk.ChatModelAgentMiddleware{newMiddleware[*schema.Message](t, config)}})
		_, err := runAgent(ctx, agent, way{}, question)
		require.NoError(t, err, "%q", name)
		require.Len(t, scripted.Requests(), 3, "%q", name)
		assert.Contains(t, scripted.Requests()[2].ToolNames(), name, "after the advised search %s", advised)
		catalog, err := toolsearch.NewCatalog(ctx, tools, nil)
		require.NoError(t, err)
		result, err := catalog.Search(ctx, "select:"+shown, 0)
		require.NoError(t, err, "%q, shown as %q", name, shown)
		assert.Equal(t, []string{name}, testtools.MatchNames(result), "shown as %q", shown)
	}
}

// A selection that is too long is cut between two names, not within a name.
func TestSelectionIsNotTorn(t *testing.T) {
	catalog := catalogOf(t, "get_weather")
	result, err := catalog.Search(context.Background(), "select:"+strings.Repeat("get_weather,", 100_000), 0)
	require.NoError(t, err)
	assert.Len(t, result.Matches, 1)
	assert.Empty(t, result.NotFound)
	assert.Empty(t, result.Message)
}

// No text mentions the list of names when the model does not see it.
func TestUnlisted(t *testing.T) {
	for _, language := range []toolsearch.Language{toolsearch.English, toolsearch.Chinese} {
		o := play[*schema.Message](t, conversation{
			config: toolsearch.Config{Language: language, Reminder: toolsearch.ReminderConfig{Disabled: true}},
			turns:  []turn{searching(`{"query":"zzz"}`), searching(`{"query":"select:zzz"}`), searching(`{}`)},
		}, way{})
		text := o.last().Tools[0].Desc
		for _, m := range o.last().Messages {
			text += m.Text
		}
		assert.NotContains(t, text, "deferred", "the texts mention the list of names")
		assert.NotContains(t, text, "列表中取", "the texts mention the list of names")
	}
}

func catalogOf(t testing.TB, names ...string) *toolsearch.Catalog {
	t.Helper()
	infos := make([]*schema.ToolInfo, len(names))
	for i, name := range names {
		infos[i] = &schema.ToolInfo{Name: name}
	}
	catalog, err := toolsearch.NewCatalogFromInfos(context.Background(), infos, nil)
	require.NoError(t, err)
	return catalog
}

// When the engine is down, the model gets what the fallback or the keyword search finds.
func TestRetrieverFailureDegrades(t *testing.T) {
	down := errors.New("no route to engine")
	broken := toolsearch.Retriever(brokenEngine{down})
	inEngine := func(ctx context.Context, docs []toolsearch.Document) (toolsearch.Searcher, error) {
		e := &demoEngine{}
		if _, err := search.StoreDocuments(ctx, e, docs, search.StoreOptions{}); err != nil {
			return nil, err
		}
		return toolsearch.Retriever(e)(ctx, docs)
	}
	for _, tt := range []struct {
		what            string
		index, fallback toolsearch.Indexer
		query           string
		found           string
		failed          bool
	}{
		{"keyword search answers", broken, nil, "weather", "get_weather get_forecast", true},
		{"the fallback answers", broken, toolsearch.Fuzzy, "wether", "get_weather", true},
		{"both are down", broken, broken, "weather", "get_weather get_forecast", true},
		{"the fallback is down", inEngine, broken, "shares", "list_stocks", false},
		{"the fallback of an engine that finds nothing is down", inEngine, broken, "nothing", "", true},
		{"nothing is down", inEngine, nil, "+slack message", "mcp__slack__send_message", false},
	} {
		reason := down
		if !tt.failed {
			reason = nil
		}
		config := toolsearch.Config{Index: tt.index, Fallback: tt.fallback}
		t.Run(tt.what, func(t *testing.T) {
			inAllWays(t,
				func(t *testing.T, w way) { degrades[*schema.Message](t, w, config, tt.query, tt.found, reason) },
				func(t *testing.T, w way) { degrades[*schema.AgenticMessage](t, w, config, tt.query, tt.found, reason) })
		})
	}
}

func degrades[M adk.MessageType](t *testing.T, w way, config toolsearch.Config, query, found string, reason error) {
	var events []*toolsearch.SearchEvent
	config.OnEvent = onSearch(func(e *toolsearch.SearchEvent) { events = append(events, e) })
	o := play[M](t, conversation{config: config, turns: []turn{searching(`{"query":"` + query + `"}`)}}, w)
	require.NoError(t, o.err)
	require.Len(t, events, 1)
	assert.Equal(t, found, strings.Join(events[0].Matches, " "))
	if reason == nil {
		assert.NoError(t, events[0].Err)
	} else {
		assert.ErrorIs(t, events[0].Err, reason)
	}
	assert.Equal(t, append([]string{"tool_search"}, strings.Fields(found)...), o.last().ToolNames(), "what the model saw")
}

// brokenEngine is a retriever that fails.
type brokenEngine struct{ err error }

func (e brokenEngine) Retrieve(context.Context, string, ...retriever.Option) ([]*schema.Document, error) {
	return nil, e.err
}

// A namespace gets at most MaxPerNamespace places of a result while other namespaces match. The
// same holds for tools from DynamicTools and from Source.
func TestMaxPerNamespace(t *testing.T) {
	specs := []string{"office__send: Sends mail", "post__send: Sends a letter", "pigeon__send: Sends a note", "send: Sends"}
	for i := range 20 {
		specs = append(specs, fmt.Sprintf("evil__send_send_%02d: send, send, send", i))
	}
	for _, tt := range []struct {
		name   string
		config toolsearch.Config
		query  string
		evil   int // tools of evil among the five found
		others int // tools of other namespaces
	}{
		{"default of Keyword", toolsearch.Config{}, "send_send", 5, 0},
		{"default of Keyword as an Index", toolsearch.Config{Index: toolsearch.Keyword}, "_send", 4, 1},
		{"default of BM25", toolsearch.Config{Index: toolsearch.BM25}, "evil send", 4, 0}, // the fifth tool has no namespace
		{"default of a protocol", toolsearch.Config{Protocol: toolsearch.ProtocolRegexp, Limits: toolsearch.Limits{MaxResultsCap: 5}}, "evil__send|post", 4, 1},
		{"a fallback", toolsearch.Config{Fallback: toolsearch.Fuzzy, Limits: toolsearch.Limits{MaxPerNamespace: 4}}, "sendd", 4, 1},
		{"one", toolsearch.Config{Index: toolsearch.BM25, Limits: toolsearch.Limits{MaxPerNamespace: 1}}, "evil send", 1, 3},
		{"two", toolsearch.Config{Index: toolsearch.BM25, Limits: toolsearch.Limits{MaxPerNamespace: 2}}, "evil send", 2, 2},
		{"two of Keyword", toolsearch.Config{Limits: toolsearch.Limits{MaxPerNamespace: 2}}, "_send", 2, 3},
		{"two, and no other namespace matches", toolsearch.Config{Index: toolsearch.BM25, Limits: toolsearch.Limits{MaxPerNamespace: 2}}, "evil", 5, 0},
		{"as many as there are places", toolsearch.Config{Index: toolsearch.BM25, Limits: toolsearch.Limits{MaxPerNamespace: 5}}, "evil send", 5, 0},
		{"more than there are places", toolsearch.Config{Index: toolsearch.BM25, Limits: toolsearch.Limits{MaxPerNamespace: 50}}, "evil send", 5, 0},
		{"no limit", toolsearch.Config{Index: toolsearch.BM25, Limits: toolsearch.Limits{MaxPerNamespace: -1}}, "evil send", 5, 0},
	} {
		for _, sourced := range []bool{false, true} {
			config := tt.config
			config.Reminder.Disabled = true
			if tools := testtools.EchoTools(specs...); sourced {
				config.Groups = []toolsearch.Group{{Source: func(context.Context) ([]tool.BaseTool, error) { return tools, nil }}}
			} else {
				config.DynamicTools = tools
			}
			var event *toolsearch.SearchEvent
			config.OnEvent = onSearch(func(e *toolsearch.SearchEvent) { event = e })
			o := converse(context.Background(), t, way{}, with(newMiddleware[*schema.Message](t, config)),
				searching(fmt.Sprintf(`{"query":%q,"regex_pattern":%q}`, tt.query, tt.query)))
			require.NoError(t, o.err, tt.name)
			evil, others := 0, 0
			for _, name := range event.Matches {
				switch namespace, _, found := strings.Cut(name, "__"); {
				case namespace == "evil":
					evil++
				case found:
					others++
				}
			}
			assert.Len(t, event.Matches, 5, "%s, sourced: %t: found %v", tt.name, sourced, event.Matches)
			assert.Len(t, sortedSet(event.Matches), 5, "%s, sourced: %t: found %v", tt.name, sourced, event.Matches)
			assert.Equal(t, tt.evil, evil, "%s, sourced: %t: found %v", tt.name, sourced, event.Matches)
			assert.Equal(t, tt.others, others, "%s, sourced: %t: found %v", tt.name, sourced, event.Matches)
			assert.Greater(t, event.Total, 5, "%s, sourced: %t", tt.name, sourced)
		}
	}
}

// Explain says which demand of a query a tool does not meet, whichever searcher the catalog has.
func TestExplainSaysWhichDemandIsNotMet(t *testing.T) {
	infos := []*schema.ToolInfo{{Name: "github__create_issue", Desc: "Opens a report"}, {Name: "jira__create_issue", Desc: "Opens a ticket"}}
	for _, tt := range []struct {
		index       toolsearch.Indexer
		query, want string
	}{
		{toolsearch.BM25, "jira: create issue", "0\n  +0  \"jira\" in namespace: another namespace was asked for"},
		{toolsearch.BM25, "+tickets create", "0\n  +0  \"\": a required word is missing"},
		{toolsearch.BM25, "github: +tickets create", "0\n  +0  \"\": a required word is missing"},
		{toolsearch.Similarity, "+tickets create", "0\n  +0  \"\": a required word is missing"},
		{nil, "+ticket create", "0\n  +0  \"\": a required word is missing"},
		{nil, "jira: create", "10\n  +0  \"jira:\": not found\n  +10  \"create\" in name: a part of the name equals it"},
		{nil, "+report create", "12\n  +2  \"report\" in description: the description contains it\n  +10  \"create\" in name: a part of the name equals it"},
	} {
		catalog, err := toolsearch.NewCatalogFromInfos(t.Context(), infos, &toolsearch.CatalogOptions{Index: tt.index})
		require.NoError(t, err)
		e, err := catalog.Explain(t.Context(), tt.query, "github__create_issue")
		require.NoError(t, err, "%q", tt.query)
		assert.Equal(t, tt.want, e.String(), "%q", tt.query)
	}
}

// The bounds on a query, as ParseQuery documents them.
const (
	queryBytes = 4 << 10
	queryWords = 64
)

func FuzzParseQuery(f *testing.F) {
	for _, text := range []string{
		"", " ", "+", "++", "+++a ++", "+a a", "a +a", "create issue", "+github create  issue", "select:a,b", "\u2003x\u0085y\u00a0z",
		"+\xff \xe2\x80", strings.Repeat("a ", 5000), strings.Repeat("+", 5000), strings.Repeat("+a ", 63) + strings.Repeat("b", 5000),
		strings.Repeat("\x80", 5000), strings.Repeat("日", 2000) + " x", "a" + strings.Repeat("\u2028", 3000) + "b", "ns:word", "A a Ä ä İ ı",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q := search.ParseQuery(text)
		if len(q.Text) > queryBytes || !strings.Contains(text, "+") && !strings.Contains(text, q.Text) {
			t.Errorf("Text has %d bytes, and is too long or is not a piece of what was typed", len(q.Text))
		}
		if len(q.Keywords) > queryWords {
			t.Errorf("%d keywords", len(q.Keywords))
		}
		for _, word := range q.Keywords {
			if word == "" || strings.ContainsFunc(word, unicode.IsSpace) {
				t.Errorf("keyword %q", word)
			}
		}
		// The words of Text are the keywords, up to the bound on their number.
		if words := strings.Fields(q.Text); !slices.Equal(words[:min(len(words), queryWords)], q.Keywords) {
			t.Errorf("Text has the words %q, want %q", words, q.Keywords)
		}
		// String writes a "+" before every occurrence of a required word, although one "+" is
		// enough. The text can so grow past the bound. Within the bound it parses to the same query.
		typed := q.String()
		if len(typed) > queryBytes {
			return
		}
		again := search.ParseQuery(typed)
		if !slices.Equal(again.Keywords, q.Keywords) || !slices.Equal(sortedSet(again.Required), sortedSet(q.Required)) {
			t.Errorf("%q parses to %q, %q; want %q, %q", typed, again.Keywords, again.Required, q.Keywords, q.Required)
		}
		for _, word := range q.Required {
			if !slices.Contains(q.Keywords, word) {
				t.Errorf("%q is required but is not a keyword", word)
			}
		}
	})
}

func sortedSet(words []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(words)))
}

// Relevance is tested by a golden file for each searcher. The file has the searcher's figures and
// its ranks for 246 queries over the tools of the quickstart and of an office that works in
// Chinese. In review, a change of scoring shows as a difference of ranks. Rewrite the files with
//
//	go test -run Ranking -update .
//
// The queries are of the kinds that agents write:
//
//	keywords   a model knows how tools are named
//	sentence   a model copies what its user says
//	twin       several tools have similar names
//	typo       a word is misspelt
//	synonym    the words are not in the definition
//	parameter  the words are only in the schema of the parameters
//	chinese    the words are Chinese, without spaces
//	identifier the query has an identifier of a thing
//	brand      a product's name in another spelling
//	mixed      the query is in Chinese and the tool in English, or the other way round
//	jargon     words of a trade

var update = flag.Bool("update", false, "rewrite golden files")

// rankingSearchers are the searchers with a file testdata/ranking/<name>.golden.
var rankingSearchers = []struct {
	name  string
	index toolsearch.Indexer
}{
	{"keyword", toolsearch.Keyword},
	{"bm25", toolsearch.BM25},
}

func TestRanking(t *testing.T) {
	folder := filepath.Join("testdata", "ranking")
	catalog, err := eval.LoadCatalog(filepath.Join(folder, "tools.jsonl"))
	require.NoError(t, err)
	for _, tool := range services.Tools() {
		info, err := tool.Info(t.Context())
		require.NoError(t, err)
		catalog.Tools = append(catalog.Tools, info)
	}
	queries, err := eval.LoadQueries(filepath.Join(folder, "queries.jsonl"))
	require.NoError(t, err)
	for _, searcher := range rankingSearchers {
		t.Run(searcher.name, func(t *testing.T) {
			report, err := eval.Run(t.Context(), catalog, queries, eval.Options{
				Index: searcher.index, Depth: len(catalog.Tools), Resamples: -1,
			})
			require.NoError(t, err)
			got := rankingText(report, len(catalog.Tools))
			golden := filepath.Join(folder, searcher.name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(golden, got, 0o666))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			reportLines(t, golden, got, want)
		})
	}
}

// rankingText returns a table of kinds and a line for each query. The line has the rank of the
// wanted tool, or "-" if the tool was not found, and the tool that was found first.
func rankingText(report *eval.Report, tools int) []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%d tools, %d queries\n\n", tools, len(report.Queries))
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "kind\tqueries\trecall@1\trecall@5\tMRR")
	line := func(kind string, r *eval.Report) {
		fmt.Fprintf(table, "%s\t%d", kind, len(r.Queries))
		for _, metric := range []string{"R@1", "R@5", "MRR"} {
			mean, _ := r.Mean(metric)
			fmt.Fprintf(table, "\t%.3f", mean.Value)
		}
		fmt.Fprintln(table)
	}
	line("all", report)
	for _, kind := range report.Kinds() {
		line(kind, report.OfKind(kind))
	}
	table.Flush()
	fmt.Fprintln(&text)
	for _, result := range report.Queries {
		rank, first := "-", "nothing"
		if r := result.Rank(); r > 0 {
			rank = fmt.Sprint(r)
		}
		if len(result.Found) > 0 {
			first = result.Found[0]
		}
		query := result.Query
		fmt.Fprintf(&text, "%4s  %-12s  %s -> %s", rank, query.ID, query.Text, query.Groups[0][0])
		if rank != "1" {
			fmt.Fprintf(&text, ", first %s", first)
		}
		fmt.Fprintln(&text)
	}
	return text.Bytes()
}

// reportLines shows the lines in which a golden file differs.
func reportLines(t *testing.T, golden string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	gotLines, wantLines := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range max(len(gotLines), len(wantLines)) {
		var g, w []byte
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			w = wantLines[i]
		}
		assert.Equal(t, string(w), string(g), "%s:%d", golden, i+1)
	}
	t.Log("go test -run Ranking -update . rewrites the file")
}

// The queries stay enough for the figures that the docs quote.
func TestRankingSet(t *testing.T) {
	queries, err := eval.LoadQueries(filepath.Join("testdata", "ranking", "queries.jsonl"))
	require.NoError(t, err)
	kinds := make(map[string]int)
	var texts []string
	for _, query := range queries {
		kinds[query.Kind]++
		assert.NotContains(t, texts, query.Text, "line %d repeats a query", query.Line)
		texts = append(texts, query.Text)
	}
	for kind, n := range kinds {
		assert.NotEmpty(t, kind, "the kind of %d queries", n)
		assert.GreaterOrEqual(t, n, 10, "queries of kind %q", kind)
	}
	assert.GreaterOrEqual(t, len(queries), 200, "queries")
	assert.GreaterOrEqual(t, len(services.Tools()), 150, "tools of the quickstart")
}
