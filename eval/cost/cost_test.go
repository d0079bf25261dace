package cost

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// quickstart returns the 166 tools of the quickstart.
func quickstart(t *testing.T) (infos []*schema.ToolInfo) {
	t.Helper()
	for _, tool := range services.Tools() {
		info, err := tool.Info(context.Background())
		require.NoError(t, err)
		infos = append(infos, info)
	}
	return infos
}

// some returns n of the tools, from everywhere in the list.
func some(tools []*schema.ToolInfo, n int) []*schema.ToolInfo {
	_, partOf := nested(tools, nil)
	return partOf(n)
}

func provider(t *testing.T, name string) *Provider {
	t.Helper()
	p, ok := Named(Providers(), name)
	require.True(t, ok, name)
	return p
}

// words is a text of n tokens.
func words(n int) string { return strings.Repeat(" aaa", n) }

func request(at time.Duration, tools, messages string) Request {
	return Request{Tools: []byte(tools), Messages: []byte(messages), At: at, Output: 1,
		Marks: []int{len(tools), len(tools) + len(messages)}}
}

func TestBill(t *testing.T) {
	automatic := Provider{Cache: CacheAutomatic, MinTokens: 20, Block: 16, TTL: Duration(time.Minute)}
	billed := automatic
	billed.Written = 1
	marked := Provider{Cache: CacheMarked, Written: 1, MinTokens: 20, TTL: Duration(time.Minute)}
	first := request(0, words(30), words(70))
	grown := request(0, words(30), words(100))
	changed := request(0, words(30)+" bbb", words(70))
	for _, test := range []struct {
		name     string
		provider Provider
		requests []Request
		want     []Usage
	}{
		{"no cache", Provider{Cache: CacheNone}, []Request{first, grown}, []Usage{{0, 0, 100, 1}, {0, 0, 130, 1}}},
		{"a common beginning, in blocks", automatic, []Request{first, grown}, []Usage{{0, 0, 100, 1}, {96, 0, 34, 1}}},
		{"tools that change", automatic, []Request{first, changed}, []Usage{{0, 0, 100, 1}, {0, 0, 101, 1}}},
		{"a request before the last", automatic, []Request{first, changed, grown}, []Usage{{0, 0, 100, 1}, {0, 0, 101, 1}, {96, 0, 34, 1}}},
		{"writing has a price", billed, []Request{first, grown}, []Usage{{0, 100, 0, 1}, {96, 34, 0, 1}}},
		{"marks", marked, []Request{first, grown}, []Usage{{0, 100, 0, 1}, {100, 30, 0, 1}}},
		{"marks, and tools that change", marked, []Request{first, changed}, []Usage{{0, 100, 0, 1}, {30, 71, 0, 1}}},
		{"no marks", marked, []Request{{Messages: []byte(words(50))}, {Messages: []byte(words(50))}}, []Usage{{0, 0, 50, 0}, {0, 0, 50, 0}}},
		{"too short", automatic, []Request{request(0, words(5), words(10)), request(0, words(5), words(10))}, []Usage{{0, 0, 15, 1}, {0, 0, 15, 1}}},
		{"too late", automatic, []Request{first, request(2*time.Minute, words(30), words(100))}, []Usage{{0, 0, 100, 1}, {0, 0, 130, 1}}},
		{"kept alive by use", marked, []Request{
			first, request(50*time.Second, words(30), words(100)), request(100*time.Second, words(30), words(70)+" ccc"),
		}, []Usage{{0, 100, 0, 1}, {100, 30, 0, 1}, {100, 1, 0, 1}}},
	} {
		got := test.provider.Bill(nil, test.requests)
		for i := range got { // a word of three letters is 0.983 tokens
			assert.InDelta(t, test.want[i].Cached, got[i].Cached, 3, "%s: cached of request %d", test.name, i)
			assert.InDelta(t, test.want[i].Written, got[i].Written, 3, "%s: written of request %d", test.name, i)
			assert.InDelta(t, test.want[i].Plain, got[i].Plain, 3, "%s: plain of request %d", test.name, i)
			assert.Equal(t, test.want[i].Output, got[i].Output, "%s: output of request %d", test.name, i)
		}
	}
	assert.Equal(t, automatic.Bill(nil, []Request{first, grown})[1], automatic.Bill([]Request{first}, []Request{grown})[0], "the turn before")
}

func TestPrice(t *testing.T) {
	p := Provider{Input: 2, Cached: 0.2, Written: 2.5, Output: 10}
	assert.InDelta(t, 0.2+2*2.5+3*2+4*10, p.Price(Usage{1e6, 2e6, 3e6, 4e6}), 1e-9)
	p.Written = 0
	assert.InDelta(t, 2*2, p.Price(Usage{Written: 2e6}), 1e-9, "writing without a price of its own")
	assert.Equal(t, Usage{2, 4, 6, 8}, Sum([]Usage{{1, 2, 3, 4}, {1, 2, 3, 4}}))
	assert.Equal(t, 6, Usage{1, 2, 3, 4}.Input())
}

// randomRequests are requests whose beginnings have much or little in common.
func randomRequests(random *rand.Rand) (requests []Request) {
	tools, messages := "", ""
	for range 1 + random.IntN(6) {
		switch random.IntN(4) {
		case 0:
			tools += words(random.IntN(1500)) + "天"
		case 1:
			messages = words(random.IntN(20)) + messages
		default:
			messages += words(random.IntN(2000)) + "天"
		}
		r := request(time.Duration(random.IntN(900))*time.Second, tools, messages)
		r.Output = random.IntN(100)
		requests = append(requests, r)
	}
	slices.SortFunc(requests, func(a, b Request) int { return int(a.At - b.At) })
	return requests
}

// Whatever is cached, every token is billed once, and the parts have no negative tokens.
func TestEveryTokenIsBilledOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range testtools.Rounds(50, 10) {
		requests := randomRequests(random)
		for _, p := range Providers() {
			for i, u := range p.Bill(nil, requests) {
				require.Equal(t, Tokens(string(requests[i].Prompt())), u.Input(), "%s: %+v", p.Name, u)
				require.GreaterOrEqual(t, min(u.Cached, u.Written, u.Plain), 0, "%s: %+v", p.Name, u)
			}
		}
	}
}

// Without a cache the cost is the tokens.
func TestWithoutACacheCostIsTokens(t *testing.T) {
	random, none := rand.New(rand.NewPCG(2, 2)), provider(t, "none")
	for range testtools.Rounds(25, 5) {
		requests := randomRequests(random)
		count := 0
		for _, r := range requests {
			count += Tokens(string(r.Prompt())) + r.Output
		}
		assert.InDelta(t, float64(count)/1e6, none.Price(Sum(none.Bill(requests, requests))), 1e-12)
	}
}

// No price that rises makes a conversation cheaper.
func TestCostGrowsWithPrices(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for range testtools.Rounds(25, 5) {
		requests := randomRequests(random)
		for _, p := range Providers() {
			before := p.Price(Sum(p.Bill(nil, requests)))
			for i, price := range []*float64{&p.Input, &p.Cached, &p.Written, &p.Output} {
				if *price > 0 { // from 0 to something, Written has another meaning
					*price *= 1 + random.Float64()
				}
				after := p.Price(Sum(p.Bill(nil, requests)))
				assert.GreaterOrEqual(t, after, before-1e-12, "%s: price %d", p.Name, i)
				before = after
			}
		}
	}
}

// A request that has more in common with the one before never costs more than one of the same
// length that has less.
func TestALongerCommonBeginningNeverCostsMore(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for range testtools.Rounds(25, 5) {
		length := 1 + random.IntN(5000)
		before := request(0, "", words(length))
		last := map[string]float64{}
		for common := 0; common <= length; common += 1 + random.IntN(900) {
			now := Request{Messages: []byte(words(common) + strings.Repeat(" bbb", length-common)), Marks: []int{4 * length}}
			for _, p := range Providers() {
				price := p.Price(p.Bill([]Request{before}, []Request{now})[0])
				if most, ok := last[p.Name]; ok {
					assert.LessOrEqual(t, price, most+1e-12, "%s: %d of %d words in common", p.Name, common, length)
				}
				last[p.Name] = price
			}
		}
	}
}

// What is counted in pieces, or taken over from another prompt, is what is counted at once.
func TestCount(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for range testtools.Rounds(25, 5) {
		var last *counted
		for _, r := range randomRequests(random) {
			text := r.Prompt()
			last = count(text, last)
			length := random.IntN(len(text) + 1)
			length = commonPrefix(text, text[:length])
			assert.Equal(t, Tokens(string(text[:length])), last.tokens(length))
		}
	}
}

func TestReplay(t *testing.T) {
	tools := quickstart(t)
	shape := Shape{History: 1000, Calls: 7, Loads: 3, Result: 50}
	c := Script(tools, shape)
	c.System = 100
	for _, wire := range []string{WireMessages, WireChat} {
		for _, test := range []struct {
			config   toolsearch.Config
			calls    int
			searches int
			changes  int
		}{
			{toolsearch.Config{DeferFrom: len(tools) + 1}, 7, 0, 0},
			{toolsearch.Config{}, 10, 3, 3},
			{toolsearch.Config{Protocol: toolsearch.ProtocolRegexp}, 10, 3, 3},
			{toolsearch.Config{Protocol: toolsearch.ProtocolSearchAdd}, 13, 6, 3},
			{toolsearch.Config{Protocol: toolsearch.ProtocolRanked}, 10, 3, 3},
			{toolsearch.Config{Protocol: toolsearch.ProtocolDispatch}, 10, 3, 0},
			{toolsearch.Config{Protocol: toolsearch.ProtocolNativeReferences}, 10, 3, 0},
			{toolsearch.Config{Protocol: toolsearch.ProtocolNativeDeferred}, 10, 3, 0},
			{toolsearch.Config{AlwaysLoaded: []string{"*"}}, 7, 0, 0},
		} {
			name := fmt.Sprintf("%s, %v", wire, test.config.Protocol)
			played, err := Replay(t.Context(), tools, test.config, wire, c)
			require.NoError(t, err, name)
			again, err := Replay(t.Context(), tools, test.config, wire, c)
			require.NoError(t, err, name)
			assert.Equal(t, played, again, "%s: the same conversation again", name)
			if test.config.Protocol == toolsearch.ProtocolDispatch {
				test.calls -= test.searches - played.Searches // one search's definitions may have the next tool
				test.searches = played.Searches
			}
			assert.Len(t, played.Requests, test.calls, "%s: model calls", name)
			assert.Equal(t, test.searches, played.Searches, "%s: searches", name)
			assert.Equal(t, test.changes, played.Changes, "%s: changes of the tools", name)
			last := played.Requests[len(played.Requests)-1]
			assert.Equal(t, 6, strings.Count(string(last.Messages), `"`+filler(50)+`"`), "%s: answers of tools", name)
			assert.InDelta(t, 100, Tokens(string(last.System)), 30, "%s: tokens of the system message", name)
			assert.True(t, strings.HasPrefix(string(last.Messages), string(played.Earlier[0].Messages)), "%s: the turn before", name)
			for i, r := range played.Requests {
				assert.Positive(t, r.Output, "%s: output of request %d", name, i)
			}
		}
	}
}

// What is found at once, or before the first call, changes the list of tools once, or never.
func TestReplayAtOnce(t *testing.T) {
	tools := quickstart(t)[:40]
	c := Script(tools, Shape{Calls: 7, Loads: 3})
	var words []string
	for _, step := range c.Steps {
		words = append(words, step.Query)
	}
	apart, err := Replay(t.Context(), tools, toolsearch.Config{Index: search.BM25, MaxResults: 1}, WireChat, c)
	require.NoError(t, err)
	assert.Equal(t, 3, apart.Changes, "a search for each tool")

	c.Question = strings.Join(words, " ")
	preselected, err := Replay(t.Context(), tools, toolsearch.Config{Preselect: 30}, WireChat, c)
	require.NoError(t, err)
	assert.Zero(t, preselected.Searches)
	assert.Zero(t, preselected.Changes)
	unselected, err := Replay(t.Context(), tools, toolsearch.Config{}, WireChat, c)
	require.NoError(t, err)
	assert.Equal(t, unselected.Earlier, preselected.Earlier, "the turn before asked for something else")
	assert.Greater(t, len(preselected.Requests[0].Tools), len(preselected.Earlier[0].Tools))

	c.AtOnce = true
	list, err := Replay(t.Context(), tools, toolsearch.Config{Index: search.BM25, MaxResults: 1}, WireChat, c)
	require.NoError(t, err)
	assert.Equal(t, 1, list.Searches, "a list of queries")
	assert.Equal(t, 1, list.Changes)
}

func TestReplayFails(t *testing.T) {
	_, err := Replay(t.Context(), nil, toolsearch.Config{}, WireChat, Conversation{})
	assert.ErrorContains(t, err, "no DynamicTools")
	_, err = Replay(t.Context(), Tools(1, 50), toolsearch.Config{}, WireChat, Conversation{Steps: []Step{{Tool: "tool_search"}}})
	assert.ErrorContains(t, err, `already has the name "tool_search"`, "a tool of the agent's own")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Compare(ctx, Tools(2, 50), provider(t, "openai"), Shapes)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = Compare(t.Context(), nil, provider(t, "openai"), Shapes)
	assert.ErrorContains(t, err, "no tool of the catalog's 0")
}

func TestScript(t *testing.T) {
	tools := quickstart(t)
	c := Script(tools, Shape{History: 10, Calls: 10, Loads: 3})
	var called []string
	for _, s := range c.Steps {
		called = append(called, s.Tool)
	}
	require.Len(t, called, 9)
	assert.Len(t, slices.Compact(called), 3, "one tool after the other")
	assert.Empty(t, Script(nil, Shape{Calls: 10, Loads: 1}).Steps)
	assert.Empty(t, Script(tools, Shape{Calls: 1, Loads: 1}).Steps, "one call only answers")
	assert.Equal(t, "20k, 10, 3", Shape{20_000, 10, 3, 0}.String())
	assert.Equal(t, "1500, 10, 3", Shape{1_500, 10, 3, 0}.String())

	picky := &schema.ToolInfo{Name: "picky", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"kind": {Type: schema.String, Enum: []string{"a", "b"}, Required: true},
		"many": {Type: schema.Array, ElemInfo: &schema.ParameterInfo{Type: schema.String}, Required: true},
		"deep": {Type: schema.Object, Required: true, SubParams: map[string]*schema.ParameterInfo{"n": {Type: schema.Integer, Required: true}}},
		"else": {Type: schema.String},
	})}
	arguments, ok := argumentsFor(picky)
	assert.True(t, ok)
	assert.JSONEq(t, `{"kind":"a","many":[],"deep":{"n":1}}`, arguments)
	assert.Equal(t, "github create issue", queryFor(&schema.ToolInfo{Name: "mcp__github__create_issue"}))
}

func TestSizes(t *testing.T) {
	for _, n := range []int{14, 100, 5000} {
		assert.InEpsilon(t, n, Tokens(filler(n)), 0.07, "a filler of %d tokens", n)
	}
	tools := Tools(12, 120)
	require.Len(t, tools, 12)
	for _, info := range tools {
		assert.InDelta(t, 120, definitionTokens(info), 10, info.Name)
	}
}

// A recommendation costs at most 5 % more than the best way on the scripted conversations, and
// from the break-even on, in every part of the catalog, less than showing all.
func TestRecommendation(t *testing.T) {
	shapes := []Shape{{1000, 4, 1, 20}, {8_000, 4, 2, 20}}
	catalogs := map[string][]*schema.ToolInfo{"quickstart": quickstart(t), "small": Tools(8, 60), "large": Tools(40, 150)}
	for name, tools := range catalogs {
		for _, p := range Providers() {
			if p.Name != "anthropic" && (testing.Short() || name == "quickstart") { // it takes long
				continue
			}
			r, err := Compare(t.Context(), tools, &p, shapes)
			require.NoError(t, err)
			for _, way := range r.Ways {
				assert.LessOrEqual(t, r.Price(r.Best), 1.05*r.Price(way), "%s, %s: %v, and %v", name, p.Name, r.Best, way)
			}
			assert.Contains(t, r.Advice, p.Model)
			if r.Best.All {
				assert.Zero(t, r.BreakEven)
				continue
			}
			assert.Contains(t, r.Advice, goNames[r.Best.Protocol])
			require.Positive(t, r.BreakEven, "%s, %s", name, p.Name)
			var scenarios []scenario
			for _, shape := range shapes {
				scenarios = append(scenarios, scenario{shape, Script(tools, shape)})
			}
			least, partOf := nested(tools, scenarios)
			for n := max(least, r.BreakEven-3); n <= len(tools); n++ {
				rows, err := play(t.Context(), partOf(n), &p, []Way{{All: true}, r.Best}, scenarios)
				require.NoError(t, err)
				part := Report{Rows: rows}
				pays := part.Price(r.Best) < part.Price(Way{All: true})
				switch {
				case n >= r.BreakEven:
					assert.True(t, pays, "%s, %s: %d tools, of which hiding pays from %d on", name, p.Name, n, r.BreakEven)
				case n == r.BreakEven-1:
					assert.False(t, pays, "%s, %s: %d tools", name, p.Name, n)
				}
			}
		}
	}
}

// A catalog most of whose tools no example can call is priced by the tools that can be called.
func TestCompareWithFewCallableTools(t *testing.T) {
	tools := Tools(40, 3_000)
	for _, info := range tools[:28] {
		parameters := &jsonschema.Schema{Type: "object", Required: []string{"id"}, Properties: jsonschema.NewProperties()}
		parameters.Properties.Set("id", &jsonschema.Schema{Type: "string", Pattern: "^[0-9]{4}$"})
		info.ParamsOneOf = schema.NewParamsOneOfByJSONSchema(parameters)
	}
	_, ok := argumentsFor(tools[0])
	require.False(t, ok, "a tool that no example can call")
	r, err := Compare(t.Context(), tools, provider(t, "none"), Shapes[:1])
	require.NoError(t, err)
	assert.False(t, r.Best.All)
	assert.Positive(t, r.BreakEven)
}

// Parts have the tools that are called, and each has all tools of the parts before it.
func TestNested(t *testing.T) {
	tools := Tools(37, 40)
	scenarios := []scenario{{Conversation: Conversation{Loaded: []string{tools[30].Name}, Steps: []Step{{Tool: tools[4].Name}, {Tool: "own"}}}}}
	least, partOf := nested(tools, scenarios)
	assert.Equal(t, 2, least)
	assert.Equal(t, []*schema.ToolInfo{tools[4], tools[30]}, partOf(2))
	for n := least; n < len(tools); n++ {
		assert.Subset(t, partOf(n+1), partOf(n))
	}
	assert.Equal(t, tools, partOf(len(tools)), "in the catalog's order")
}

// The advice names another way for conversations for which the recommended way is too dear.
func TestAdvice(t *testing.T) {
	all, dispatch, add := Way{All: true}, Way{Protocol: toolsearch.ProtocolDispatch}, Way{Protocol: toolsearch.ProtocolSearchAdd}
	native := Way{Protocol: toolsearch.ProtocolNativeReferences}
	row := func(history int, prices ...float64) Row {
		r := Row{Shape: Shape{History: history, Calls: 10, Loads: 1}}
		for i, way := range []Way{all, native, dispatch, add} {
			r.Outcomes = append(r.Outcomes, Outcome{Way: way, ColdPrice: prices[i]})
		}
		return r
	}
	with := func(tools int, best, text Way, from int, rows ...Row) *Report {
		return &Report{Provider: *provider(t, "anthropic"), Tools: tools, Ways: []Way{all, native, dispatch, add}, Best: best, BestText: text, BreakEven: from, Rows: rows}
	}
	const model = "With claude-sonnet-5-5 and "
	for _, test := range []struct {
		report *Report
		want   string
	}{
		{with(30, dispatch, dispatch, 12, row(1, 20, 20, 10.5, 10)), "these 30 tools: ProtocolDispatch, from 12 tools on."},
		{with(30, dispatch, dispatch, 12, row(1, 20, 20, 10.6, 10), row(2, 20, 20, 10, 20), row(1, 20, 20, 11, 10)),
			"these 30 tools: ProtocolDispatch, from 12 tools on. For conversations like (1, 10, 1): ProtocolSearchAdd."},
		{with(30, native, dispatch, 12, row(1, 20, 20, 20, 9), row(2, 10, 20, 20, 20), row(3, 20, 20, 20, 9)),
			"these 30 tools: ProtocolNativeReferences if the model's adapter is claude, from 12 tools on. With another adapter: ProtocolDispatch." +
				" For conversations like (2, 10, 1): show them all. For conversations like (1, 10, 1) and (3, 10, 1): ProtocolSearchAdd."},
		{with(30, all, all, 0, row(1, 20, 9, 20, 20), row(2, 20, 9, 20, 20), row(3, 20, 9, 20, 20), row(4, 20, 9, 20, 20), row(5, 20, 9, 20, 20)),
			"these 30 tools: show them all. For conversations like (1, 10, 1), (2, 10, 1), (3, 10, 1) and 2 more: ProtocolNativeReferences if the model's adapter is claude."},
		{with(30, native, all, 1), "these 30 tools: ProtocolNativeReferences if the model's adapter is claude, from 1 tool on. With another adapter: show them all."},
		{with(1, all, all, 0), "this tool: show it; hiding does not pay in these conversations."},
	} {
		assert.Equal(t, model+test.want, test.report.advice())
	}
}

func TestProviders(t *testing.T) {
	var names []string
	for _, p := range Providers() {
		names = append(names, p.Name)
		assert.NotEmpty(t, p.Model, p.Name)
		assert.Equal(t, p.Native == "", p.With == "", "%s: an adapter for native search", p.Name)
		assert.NotEmpty(t, Ways(&p), p.Name)
	}
	assert.Equal(t, []string{"anthropic", "openai", "deepseek", "qwen", "gemini", "none"}, names)
	_, ok := Named(Providers(), "nobody")
	assert.False(t, ok)
}

func TestReadProviders(t *testing.T) {
	const line = `{"name":"a","model":"m","input":1,"output":2,"cache":"automatic","ttl":"5m","wire":"chat","date":"2026-01-02","source":"here"}`
	list, err := ReadProviders(strings.NewReader("[" + line + "]"))
	require.NoError(t, err)
	assert.Equal(t, []Provider{{Name: "a", Model: "m", Input: 1, Output: 2, Cache: CacheAutomatic, TTL: Duration(5 * time.Minute),
		Wire: WireChat, Date: "2026-01-02", Source: "here"}}, list)
	for _, test := range []struct{ old, new, want string }{
		{`"input":1`, `"input":-1`, "a price of -1"},
		{`"input":1`, `"inptu":1`, "inptu"},
		{`"name":"a"`, `"name":""`, "no name"},
		{`"automatic"`, `"always"`, `cache is "always"`},
		{`"chat"`, `"letter"`, `wire is "letter"`},
		{`"ttl":"5m"`, `"ttl":"soon"`, "soon"},
		{`"ttl":"5m"`, `"block":-1`, "block -1"},
		{`"ttl":"5m"`, `"native":"native_server"`, `native is "native_server"`},
		{`"2026-01-02"`, `"yesterday"`, `date "yesterday"`},
		{`"here"`, `" "`, "no source"},
	} {
		_, err := ReadProviders(strings.NewReader("[" + strings.Replace(line, test.old, test.new, 1) + "]"))
		assert.ErrorContains(t, err, test.want)
	}
	for text, want := range map[string]string{"": "EOF", "[]": "no providers", "[" + line + "," + line + "]": "two providers"} {
		_, err := ReadProviders(strings.NewReader(text))
		assert.ErrorContains(t, err, want)
	}
}

func TestReadBody(t *testing.T) {
	definition := `{"name":"found","defer_loading":true,"input_schema":{"type":"object"}}`
	for _, test := range []struct{ name, body, tools, system, messages string }{
		{
			"Anthropic, with breakpoints and a reference",
			`{"model":"m","tools":[{"name":"a","cache_control":{"type":"ephemeral"}},` + definition + `],"system":[{"text":"s","type":"text"}],` +
				`"messages":[{"role":"user","content":"q: \"cache_control\":{}, yes"},{"role":"user","content":[{"content":[{"type":"tool_reference","tool_name":"found"}],` +
				`"cache_control":{"type":"ephemeral","ttl":"1h"},"type":"tool_result"}]}]}`,
			"{\"name\":\"a\"}\n", "{\"text\":\"s\",\"type\":\"text\"}\n",
			`{"role":"user","content":"q: \"cache_control\":{}, yes"}` + "\n" +
				`{"role":"user","content":[{"content":[{"type":"tool_reference","tool_name":"found"}],"type":"tool_result"}]}` + "\n" + definition + "\n",
		},
		{
			"OpenAI's chat completions", `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"}],"tools":[{"type":"function"}]}`,
			"{\"type\":\"function\"}\n", `{"role":"system","content":"s"}` + "\n", `{"role":"user","content":"q"}` + "\n",
		},
		{"OpenAI's Responses", `{"instructions":"s","input":[{"role":"user"}],"tools":null}`, "", "\"s\"\n", "{\"role\":\"user\"}\n"},
		{"a text as input", `{"input":"q"}`, "", "", "\"q\"\n"},
		{"only a system message", `{"messages":[{"role":"developer"}]}`, "", "{\"role\":\"developer\"}\n", ""},
	} {
		r, err := ReadBody([]byte(test.body))
		require.NoError(t, err, test.name)
		assert.Equal(t, test.tools, string(r.Tools), "%s: tools", test.name)
		assert.Equal(t, test.system, string(r.System), "%s: system", test.name)
		assert.Equal(t, test.messages, string(r.Messages), "%s: messages", test.name)
		for _, mark := range r.Marks {
			assert.Equal(t, byte('\n'), r.Prompt()[mark-1], "%s: a mark ends a line", test.name)
		}
		assert.Len(t, r.Marks, strings.Count(test.body, `,"cache_control":{"type"`), "%s: marks", test.name)
	}
	for _, body := range []string{"", "[]", "{}", `{"tools":1,"messages":[]}`} {
		_, err := ReadBody([]byte(body))
		assert.Error(t, err, body)
	}
	r, err := ReadBody([]byte(`{"messages":[{"role":"user","content":"q"}],"cache_control":{"type":"ephemeral"}}`))
	require.NoError(t, err)
	assert.Equal(t, []int{len(r.Prompt())}, r.Marks, "a breakpoint of the whole request")

	const (
		tool  = `{"name":"a","input_schema":{"properties":{"cache_control":{"type":"object"},"x":{"default":{"cache_control":{"type":"ephemeral"}}}}}}`
		call  = `{"role":"assistant","content":[{"type":"tool_use","input":{"cache_control":{"type":"ephemeral"},"content":[{"cache_control":{"type":"ephemeral"}}]}}]}`
		other = `{"name":"b","cache_control":null}`
	)
	r, err = ReadBody([]byte(`{"tools":[` + tool + `,` + other + `],"messages":[` + call + `],"cache_control":null}`))
	require.NoError(t, err)
	assert.Empty(t, r.Marks, "a name in a schema and in arguments")
	assert.Equal(t, tool+"\n"+other+"\n"+call+"\n", string(r.Prompt()), "a name in a schema and in arguments")

	const mark = `"cache_control" : {"type":"ephemeral"}`
	r, err = ReadBody([]byte(`{"tools":[{` + mark + ` , "name":"a"},{` + mark + `}],"messages":[{"content":[{` + mark + `,` + mark + `,"text":"b",` + mark + `}]}]}`))
	require.NoError(t, err)
	assert.Len(t, r.Marks, 3, "one for each element")
	assert.Equal(t, `{ "name":"a"}`+"\n{}\n"+`{"content":[{"text":"b"}]}`+"\n", string(r.Prompt()), "a breakpoint in any place of an object")
}

// ProtocolDispatch gives a definition again when it is found again. A name in its place would save
// little: docs/settings.md says how little. The marks of requests that are made shorter are those
// of the writer.
func TestDefinitionsThatComeAgain(t *testing.T) {
	tools := quickstart(t)
	var github []*schema.ToolInfo
	for _, info := range tools {
		if strings.HasPrefix(info.Name, "mcp__github__") {
			github = append(github, info)
		}
	}
	type definition struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	for _, test := range []struct {
		history       int
		of            []*schema.ToolInfo
		found, repeat int
		saving        float64
	}{
		{2_000, github, 15, 2, 0.04}, {20_000, github, 15, 2, 0.03}, {20_000, tools, 10, 0, 0},
	} {
		way := Way{Protocol: toolsearch.ProtocolDispatch}
		conversation := Script(test.of, Shape{History: test.history, Calls: 10, Loads: 3})
		for _, name := range []string{"anthropic", "openai"} {
			p := provider(t, name)
			played, err := Replay(t.Context(), tools, way.Config(len(tools)), p.Wire, conversation)
			require.NoError(t, err)
			requests := slices.Clone(played.Requests)
			found, repeated := 0, 0
			for i := range requests {
				found, repeated = 0, 0
				r := &requests[i]
				messages := string(r.Messages)
				for _, info := range tools {
					quoted := string(text(string(text(definition{info.Name, info.Desc, json.RawMessage(schemacheck.JSON(info))}))))
					quoted = strings.Trim(quoted, `"`)
					first, rest, ok := strings.Cut(messages, quoted)
					if ok {
						found, repeated = found+1+strings.Count(rest, quoted), repeated+strings.Count(rest, quoted)
						messages = first + quoted + strings.ReplaceAll(rest, quoted, `{\"name\":\"`+info.Name+`\"}`)
					}
				}
				r.Messages = []byte(messages)
				if len(r.Marks) > 0 {
					r.Marks = []int{len(r.Tools), len(r.Tools) + len(r.System) + len(r.Messages)}
				}
			}
			assert.Equal(t, test.found, found, "%s, %d: definitions in the last request", name, test.history)
			assert.Equal(t, test.repeat, repeated, "%s, %d: of them, repeated", name, test.history)
			for _, earlier := range [][]Request{nil, played.Earlier} {
				before, after := p.Price(Sum(p.Bill(earlier, played.Requests))), p.Price(Sum(p.Bill(earlier, requests)))
				assert.LessOrEqual(t, 1-after/before, test.saving, "%s, %d, %d requests before: the share saved", name, test.history, len(earlier))
			}
		}
	}
}
