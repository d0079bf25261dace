package conversations_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
	"github.com/eino-toolsearch/toolsearch/usage"
)

// These tests look at what belongs together: tools beside a match, and tools that other conversations call together.

// A tool that a match names in its description or in a parameter comes along, if it is of the same server.
func TestToolsThatMatchesName(t *testing.T) {
	docs := &testtools.PlainTool{Of: &schema.ToolInfo{Name: "lib__get_docs", Desc: "Fetches documentation", ParamsOneOf: schema.NewParamsOneOfByParams(
		map[string]*schema.ParameterInfo{"id": {Type: schema.String, Desc: "先调用resolve-id或者 'list' first; drop, other_tool and mail are elsewhere."}})}}
	tools := append(testtools.EchoTools("lib__resolve-id: Finds a number, see get_docs", "lib__list: Says all numbers", "lib__drop: Drops",
		"other_tool: Another", "mail: Mails", "resolve-id: Another"), docs)
	search := []turn{searching(`{"query":"fetch documentation"}`), searching(`{"query":"fetch documentation"}`)}
	one := []turn{searching(`{"query":"fetch documentation","max_results":1}`)}
	bm25, filtered := toolsearch.Config{Index: toolsearch.BM25}, toolsearch.Config{Index: toolsearch.BM25}
	filtered.Filter = toolsearch.FilterTools(nil, []string{"lib__get_docs", "lib__list"})
	both := "tool_search lib__get_docs lib__resolve-id lib__list"
	playAll(t, []conversation{
		{name: "once", dynamic: tools, config: bm25, turns: search, saw: []string{"tool_search", both, both}},
		{name: "no tool that the request may not see", dynamic: tools, config: filtered,
			turns: search[:1], saw: []string{"tool_search", "tool_search lib__get_docs lib__list"}},
		{name: "within the limit", dynamic: tools, config: bm25, turns: one, saw: []string{"tool_search", "tool_search lib__get_docs"}},
		{name: "behind the match that names it", dynamic: append(testtools.EchoTools("fetch__documentation: Fetch"), tools...), config: bm25,
			turns: []turn{searching(`{"query":"fetch documentation","max_results":2}`)}, saw: []string{"tool_search", "tool_search fetch__documentation lib__get_docs"}},
		{name: "not instead of a match that is named, too", config: bm25,
			dynamic: testtools.EchoTools("lib__a: Reads docs, all docs; see list_ids and make_id", "lib__b: Docs, read docs",
				"lib__make_id: Something for docs and many other things", "lib__list_ids: Lists"),
			turns: []turn{searching(`{"query":"read docs","max_results":3}`)}, saw: []string{"tool_search", "tool_search lib__b lib__a lib__make_id"}},
		{name: "not where a word is required", config: bm25, dynamic: tools, turns: []turn{searching(`{"query":"+fetches documentation"}`)},
			saw: []string{"tool_search", "tool_search lib__get_docs"}},
		{name: "not in Eino's own answers", dynamic: tools, turns: one, saw: []string{"tool_search", "tool_search lib__get_docs"}},
	})
}

// An answer names the tools beside its best match on the server, if the model has no list of names.
func TestToolsBesideTheBest(t *testing.T) {
	rail := testtools.EchoTools("mcp__rail__list_stations: Lists", "mcp__rail__station_code: Finds a code", "mcp__other__codes: Codes of shops",
		"mcp__rail__today: Says the day", "mcp__rail__ticket: Buys a ticket", "mcp__rail__refund: Gives money back")
	config := func(p toolsearch.Protocol, change func(*toolsearch.Config)) toolsearch.Config {
		c := toolsearch.Config{Index: toolsearch.BM25, Protocol: p, Reminder: toolsearch.ReminderConfig{Disabled: true}}
		if change != nil {
			change(&c)
		}
		return c
	}
	const near = `"related_not_loaded":["mcp__rail__refund","mcp__rail__today","mcp__rail__station_code"]}`
	ticket := []turn{searching(`{"query":"buy ticket"}`)}
	ends := func(want string) func(*testing.T, outcome) {
		return func(t *testing.T, o outcome) {
			t.Helper()
			assert.Equal(t, want, o.result(t, "call_1")[max(0, len(o.result(t, "call_1"))-len(want)):])
		}
	}
	playAll(t, []conversation{
		{name: "names", dynamic: rail, config: config(toolsearch.ProtocolToolSearch, nil), turns: ticket,
			check: says(`{"matches":["mcp__rail__ticket"],` + near)},
		{name: "definitions", dynamic: rail, config: config(toolsearch.ProtocolDispatch, nil), turns: ticket, check: ends(near)},
		{name: "ranked", dynamic: rail, config: config(toolsearch.ProtocolRanked, nil), turns: ticket, check: ends(near)},
		{name: "a list of names", dynamic: rail, config: toolsearch.Config{Index: toolsearch.BM25}, turns: ticket,
			check: says(`{"matches":["mcp__rail__ticket"]}`)},
		{name: "Eino's own answers", dynamic: rail, config: config(toolsearch.ProtocolToolSearch, func(c *toolsearch.Config) { c.Index = nil }),
			turns: ticket, check: says(`{"matches":["mcp__rail__ticket"]}`)},
		{name: "what a Filter leaves, and what is visible", dynamic: rail, turns: ticket,
			config: config(toolsearch.ProtocolToolSearch, func(c *toolsearch.Config) {
				c.Filter = func(_ context.Context, doc toolsearch.Document) bool { return doc.Name != "mcp__rail__today" }
				c.AlwaysLoaded = []string{"*:refund"}
			}),
			check: says(`{"matches":["mcp__rail__ticket"],"related_not_loaded":["mcp__rail__station_code","mcp__rail__list_stations"]}`)},
		{name: "a best match that is visible", dynamic: rail, config: config(toolsearch.ProtocolToolSearch, nil),
			turns: []turn{selecting("mcp__rail__ticket"), ticket[0]},
			check: says(`{"matches":["mcp__rail__ticket"]}`, `{"matches":[],"already_loaded":["mcp__rail__ticket"],`+near)},
		{name: "several queries", dynamic: rail, config: config(toolsearch.ProtocolToolSearch, nil),
			turns: []turn{searching(`{"query":"buy ticket","queries":["shops"]}`)},
			check: says(`{"matches":["mcp__rail__ticket","mcp__other__codes"],` + near)},
	})
}

// Usage says which tools other conversations call together with those that this one has called. They come first among the
// matches of a search and of Preselect, and answers name them. What it may not say makes no difference.
func TestUsage(t *testing.T) {
	tools := testtools.EchoTools("open_ticket: Opens a ticket", "mail_a: Sends a mail", "mail_b: Sends a mail", "cut_grass: Mows")
	var mu sync.Mutex
	var asked []string
	using := func(strengths map[string]float64) toolsearch.Config {
		return toolsearch.Config{Index: toolsearch.BM25, Usage: func(context.Context) toolsearch.CoUse {
			return func(called []string, visible func(string) bool) map[string]float64 {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, fmt.Sprintf("%v %v %v", called, visible("mail_a"), visible("nobody")))
				return strengths
			}
		}}
	}
	b := using(map[string]float64{"mail_b": 0.5, "cut_grass": 0.1, "nobody": 1, "open_ticket": math.NaN()})
	filtered, patterns := b, b
	filtered.Filter = toolsearch.FilterTools(nil, []string{"open_ticket", "mail_a", "mail_b"})
	patterns.Protocol, patterns.Index = toolsearch.ProtocolRegexp, nil
	eino := b
	eino.Index = nil
	preselect := b
	preselect.Preselect = 1
	hostile := using(nil)
	hostile.Usage = func(context.Context) toolsearch.CoUse {
		return func([]string, func(string) bool) map[string]float64 { panic("no mower") }
	}
	panics := hostile
	panics.Usage = func(context.Context) toolsearch.CoUse { panic("no mower") }
	turns := []turn{calling("open_ticket"), searching(`{"query":"send a mail","max_results":1}`)}
	playAll(t, []conversation{
		{name: "nothing called", dynamic: tools, config: b, turns: turns[1:], check: says(`{"matches":["mail_a"]}`)},
		{name: "called before", dynamic: tools, config: b, turns: turns,
			check: says(`open_ticket ran with {}`, `{"matches":["mail_b"],"related_not_loaded":["cut_grass"]}`)},
		{name: "what a Filter leaves", dynamic: tools, config: filtered, turns: turns, check: says(`open_ticket ran with {}`, `{"matches":["mail_b"]}`)},
		{name: "Eino's own answers", dynamic: tools, config: eino, turns: turns, check: says(`open_ticket ran with {}`, `{"matches":["mail_a"]}`)},
		{name: "patterns", dynamic: tools, config: patterns, turns: []turn{turns[0], searching(`{"regex_pattern":"mail"}`)},
			check: says(`open_ticket ran with {}`, `{"selectedTools":["mail_a","mail_b"]}`)},
		{name: "a panic", dynamic: tools, config: hostile, turns: turns, check: says(`open_ticket ran with {}`, `{"matches":["mail_a"]}`)},
		{name: "a panic at the start", dynamic: tools, config: panics, turns: turns, check: says(`open_ticket ran with {}`, `{"matches":["mail_a"]}`)},
		{name: "Preselect", dynamic: tools, config: preselect, asks: "send a mail", history: []message{userSays("hello"),
			modelCalls(called("c", "open_ticket", "{}")), toolSays("c", "open_ticket", "done")},
			saw: []string{"tool_search open_ticket mail_b"}},
	})
	assert.Contains(t, asked, "[open_ticket] true false")
}

// What fits the user's last request comes earlier among the matches of a query, and gets the places that are left since
// several queries found the same. The queries of one call that follow a long request keep their order.
func TestRequest(t *testing.T) {
	tools := testtools.EchoTools("mail_x: Sends a mail to a boss", "mail_y: Sends a mail to a gardener", "cut_grass: Mows grass", "prune: Cuts roses")
	const request, gardener = "let the gardener cut the grass, and the roses", "write to the gardener"
	bm25 := toolsearch.Config{Index: toolsearch.BM25, Reminder: toolsearch.ReminderConfig{Disabled: true}}
	filtered, visible, preselect, eino, patterns, dispatch, two, bounded, spread := bm25, bm25, bm25, bm25, bm25, bm25, bm25, bm25, bm25
	two.MaxResults, bounded.Limits.MaxLoaded, spread.Limits.MaxPerNamespace = 2, 9, 1
	dispatch.Protocol = toolsearch.ProtocolDispatch
	other := toolsearch.Config{Index: testtools.Canned{Hits: []search.Hit{{Doc: 3, Score: 2}, {Doc: 0, Score: 1}}}.Index}
	filtered.Filter = toolsearch.FilterTools(nil, []string{"mail_x", "mail_y", "prune"})
	visible.AlwaysLoaded, preselect.Preselect = []string{"cut_grass"}, 1
	eino.Index, patterns.Index, patterns.Protocol = nil, nil, toolsearch.ProtocolRegexp
	one := []turn{searching(`{"query":"send a mail","max_results":1}`)}
	same := []turn{searching(`{"queries":["send a mail","mail"],"max_results":1}`)}
	playAll(t, []conversation{
		{name: "another request", dynamic: tools, config: bm25, asks: "hello", turns: one, check: says(`{"matches":["mail_x"]}`)},
		{name: "one query", dynamic: tools, config: bm25, asks: request, turns: one, check: says(`{"matches":["mail_x"]}`)},
		{name: "what one query leaves", dynamic: tools, config: bm25, asks: request, turns: []turn{searching(`{"query":"boss","max_results":2}`)},
			check: says(`{"matches":["mail_x","cut_grass"]}`)},
		{name: "what a query for a name leaves", dynamic: tools, config: bm25, asks: request, turns: []turn{searching(`{"query":"mail_x"}`)},
			check: says(`{"matches":["mail_x","mail_y"]}`)},
		{name: "what many places leave", dynamic: tools, config: two, asks: request, turns: []turn{searching(`{"query":"boss","max_results":9}`)},
			check: says(`{"matches":["mail_x","cut_grass","prune"]}`)},
		{name: "what MaxLoaded leaves", dynamic: tools, config: bounded, asks: request, turns: []turn{searching(`{"query":"boss"}`)},
			check: says(`{"matches":["mail_x"]}`)},
		{name: "what MaxPerNamespace leaves", config: spread, asks: request, turns: []turn{searching(`{"query":"boss","max_results":3}`)},
			check: says(`{"matches":["a__mail","b__grass","c__mow"],"same_tool_on_other_servers":["d__mow"]}`),
			dynamic: testtools.EchoTools("a__mail: Sends a mail to a boss", "b__grass: Cuts the grass and roses of a gardener",
				"b__rose: Cuts the roses of a gardener", "c__mow: Cuts the grass of a gardener", "d__mow: Cuts the grass of a gardener")},
		{name: "places", dynamic: tools, config: bm25, asks: request, turns: same, check: says(`{"matches":["mail_x","cut_grass"]}`)},
		{name: "what a Filter leaves", dynamic: tools, config: filtered, asks: request, turns: same, check: says(`{"matches":["mail_y","prune"]}`)},
		{name: "the order of one query", dynamic: tools, config: bm25, asks: gardener, turns: one, check: says(`{"matches":["mail_y"]}`)},
		{name: "the order of several", dynamic: tools, config: bm25, asks: gardener, turns: same, check: says(`{"matches":["mail_y"]}`)},
		{name: "the order of one query after a long request", dynamic: tools, config: bm25, asks: gardener + strings.Repeat(" please", 74),
			turns: one, check: says(`{"matches":["mail_y"]}`)},
		{name: "the order of several after a long request", dynamic: tools, config: bm25, asks: gardener + strings.Repeat(" please", 74),
			turns: same, check: says(`{"matches":["mail_x","mail_y"]}`)},
		{name: "what is visible", dynamic: tools, config: visible, asks: request, turns: same, check: says(`{"matches":["mail_x","prune"]}`)},
		{name: "what Preselect loaded", dynamic: tools, config: preselect, asks: request, turns: same, check: says(`{"matches":["mail_x","prune"]}`)},
		{name: "an answer with definitions", dynamic: tools, config: dispatch, asks: request, turns: same, check: func(t *testing.T, o outcome) {
			assert.Equal(t, []bool{true, false}, []bool{strings.Contains(o.result(t, "call_1"), "mail_x"), strings.Contains(o.result(t, "call_1"), "cut_grass")})
		}},
		{name: "a searcher without BM25", dynamic: tools, config: other, asks: request, turns: same, check: says(`{"matches":["prune"]}`)},
		{name: "a miss", dynamic: tools, config: bm25, asks: request, turns: []turn{searching(`{"queries":["zebra","zebras"]}`)},
			check: says(`{"matches":[],"message":"No tool matches. Try a synonym, fewer words, or no \"+\". If no search finds a tool, tell the user."}`)},
		{name: "a required word", dynamic: tools, config: bm25, asks: request, turns: []turn{
			searching(`{"queries":["+mail_x send","+mail_x mail"],"max_results":1}`), searching(`{"queries":["select:mail_y,prune","select:prune"]}`)},
			check: says(`{"matches":["mail_x"]}`, `{"matches":["mail_y","prune"]}`)},
		{name: "Eino's own answers", dynamic: tools, config: eino, asks: request, turns: one, check: says(`{"matches":["mail_x"]}`)},
		{name: "patterns", dynamic: tools, config: patterns, asks: request, turns: []turn{searching(`{"regex_pattern":"mail"}`)},
			check: says(`{"selectedTools":["mail_x","mail_y"]}`)},
	})
}

// A store is fed by the events of agents and tells others what goes together. A failed call teaches nothing.
func TestUsageOfAStore(t *testing.T) {
	store, conversation := new(usage.Store), ""
	config := toolsearch.Config{
		DynamicTools: append(testtools.EchoTools("open_ticket: Opens a ticket", "mail_x: Sends a mail", "mail_y: Sends a mail", "other: Does"),
			errorTool{testtools.InfoOnly{Of: testtools.MustInfo(t, testtools.EchoTools("broken: Fails")[0])}, mows}),
		Index: toolsearch.BM25, ToolErrors: toolsearch.ToolErrorsExplain, Usage: store.Snapshot,
		OnEvent: func(ctx context.Context, e toolsearch.Event) { store.Observe(ctx, conversation, e) },
	}
	run := running(t, way{}, config)
	for i := range 4 {
		conversation = fmt.Sprint(i)
		run(calling("open_ticket"), calling("mail_y"), calling("broken"))
		conversation = fmt.Sprint("other", i)
		run(calling("other"))
	}
	conversation = "" // learns nothing
	assert.Equal(t, `{"matches":["mail_y"]}`, run(calling("open_ticket"), searching(`{"query":"send a mail","max_results":1}`)).result(t, "call_2"))
}

// The numbers of package usage: five folds over the tasks of a public set, and the first of five over those of a larger
// one. Half of a task's tools are called, and the task's text is the query.
func TestUsageOverTasks(t *testing.T) {
	for _, tt := range []struct {
		set           string
		folds         int
		without, with float64 // the rest of a task's tools among the first five matches, in percent
	}{{"mcpbench", 5, 48.8, 55.2}, {"ultratool_en", 1, 74.8, 89.1}} {
		dir := publicSet(t, tt.set)
		store := new(usage.Store)
		config := toolsearch.Config{Index: toolsearch.BM25, Reminder: toolsearch.ReminderConfig{Disabled: true},
			Usage: func(ctx context.Context) toolsearch.CoUse { return store.Snapshot(ctx) }}
		config.DynamicTools = echoes(testtools.Must(eval.LoadCatalog(dir + "tools.jsonl"))(t).Tools)
		agent := agentOver[chat](t, config)
		queries := testtools.Must(eval.LoadQueries(dir + "queries.jsonl"))(t)
		needed := func(q eval.Query) (names []string) {
			for _, group := range q.Groups {
				names = append(names, group[0])
			}
			return names
		}
		random := rand.New(rand.NewPCG(1, 2))
		random.Shuffle(len(queries), func(i, j int) { queries[i], queries[j] = queries[j], queries[i] })
		var tasks, without, with float64
		for fold := range tt.folds {
			others := new(usage.Store)
			for i, q := range queries {
				for _, name := range needed(q) {
					if i%5 != fold {
						others.Observe(t.Context(), q.ID, &toolsearch.CallEvent{Tool: name})
					}
				}
			}
			for i, q := range queries {
				names := needed(q)
				if i%5 != fold || len(names) < 2 {
					continue
				}
				random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
				calls, rest := names[:len(names)/2], names[len(names)/2:]
				talk := []message{userSays("hello")} // the text is the query alone
				for _, name := range calls {
					talk = append(talk, modelCalls(called(name, name, "{}")), toolSays(name, name, "done"))
				}
				found := func(known *usage.Store) (share float64) {
					store = known
					arguments := testtools.Must(json.Marshal(map[string]any{"query": q.Text, "max_results": 5}))(t)
					o := converseOn(t.Context(), t, way{}, agent, talk, searching(string(arguments)))
					require.NoError(t, o.err)
					var answer struct{ Matches []string }
					require.NoError(t, json.Unmarshal([]byte(o.last().Messages[len(o.last().Messages)-1].Text), &answer))
					for _, name := range answer.Matches[:min(5, len(answer.Matches))] {
						if slices.Contains(rest, name) {
							share += 100 / float64(len(rest))
						}
					}
					return share
				}
				tasks++
				without += found(new(usage.Store))
				with += found(others)
			}
		}
		assert.InDelta(t, tt.without, without/tasks, 0.05, tt.set)
		assert.InDelta(t, tt.with, with/tasks, 0.05, tt.set)
	}
}

// One search with the text of a task, and five results: the tasks of several tools of which it finds all tools, of which a
// search by itself does, and of which the answer names those that it does not load too (docs/protocols.md).
func TestCompleteSetsOverTasks(t *testing.T) {
	for name, want := range map[string][4]int{"mcpbench": {97, 10, 10, 20}, "ultratool_en": {810, 385, 390, 390}} {
		set := publicSet(t, name)
		catalog := testtools.Must(eval.LoadCatalog(set + "tools.jsonl"))(t)
		config := toolsearch.Config{Index: toolsearch.BM25, DynamicTools: echoes(catalog.Tools), Annotate: catalog.Annotate}
		config.Reminder.Disabled, config.Limits.MaxPerNamespace = true, -1
		options := &toolsearch.CatalogOptions{Index: config.Index, Annotate: config.Annotate}
		alone := testtools.Must(toolsearch.NewCatalog(t.Context(), config.DynamicTools, options))(t)
		agent := agentOver[chat](t, config)
		var got [4]int
		for _, q := range testtools.Must(eval.LoadQueries(set + "queries.jsonl"))(t) {
			count := func(at int, names []string) {
				isMissed := func(group []string) bool {
					return !slices.ContainsFunc(group, func(name string) bool { return slices.Contains(names, name) })
				}
				if len(q.Groups) > 1 && !slices.ContainsFunc(q.Groups, isMissed) {
					got[at]++
				}
			}
			count(0, slices.Concat(q.Groups...))
			var found []string
			for _, m := range testtools.Must(alone.Search(t.Context(), q.Text, 5))(t).Matches {
				found = append(found, m.Info.Name)
			}
			count(1, found)
			query := testtools.Must(json.Marshal(map[string]string{"query": q.Text}))(t)
			o := converseOn(t.Context(), t, way{}, agent, []message{userSays(q.Text)}, searching(string(query)))
			require.NoError(t, o.err)
			var answer struct {
				Matches []string
				Related []string `json:"related_not_loaded"`
			}
			require.NoError(t, json.Unmarshal([]byte(o.last().Messages[len(o.last().Messages)-1].Text), &answer))
			count(2, answer.Matches)
			count(3, slices.Concat(answer.Matches, answer.Related))
		}
		assert.Equal(t, want, got, name)
	}
}
