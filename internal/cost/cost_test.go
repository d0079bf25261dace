package cost

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	odd := Request{Messages: []byte(words(50)), Marks: []int{-7, 1 << 40}}
	assert.Equal(t, 0, marked.Bill(nil, []Request{odd, odd})[1].Cached, "marks outside of the prompt")
	odd.Marks = []int{-7}
	assert.Equal(t, 0, marked.Bill(nil, []Request{odd, odd})[1].Written, "a mark before the prompt")
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

// randomRequests returns requests whose beginnings have much or little in common.
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

// A higher price never makes a conversation cheaper.
func TestCostGrowsWithPrices(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for range testtools.Rounds(25, 5) {
		requests := randomRequests(random)
		for _, p := range Providers() {
			before := p.Price(Sum(p.Bill(nil, requests)))
			for i, price := range []*float64{&p.Input, &p.Cached, &p.Written, &p.Output} {
				if *price > 0 { // Written means something else at 0
					*price *= 1 + random.Float64()
				}
				after := p.Price(Sum(p.Bill(nil, requests)))
				assert.GreaterOrEqual(t, after, before-1e-12, "%s: price %d", p.Name, i)
				before = after
			}
		}
	}
}

// Of two requests of the same length, the request that has more in common with its
// predecessor never costs more.
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

func TestShared(t *testing.T) {
	first := Request{Tools: []byte("tools\n"), System: []byte("system\n"), Messages: []byte("天a")}
	second := Request{Tools: []byte("tools\n"), System: []byte("system\n"), Messages: []byte("天b")}
	third := Request{Tools: []byte("tools\nmore\n"), System: []byte("system\n"), Messages: []byte("地")}
	assert.Equal(t, len("tools\nsystem\n天"), second.Shared([]Request{third, first, third}), "that with which it has most in common")
	assert.Equal(t, len("tools\n"), third.Shared([]Request{first, second}), "up to the tools that are new")
	assert.Equal(t, len("tools\nsystem\n天a"), first.Shared([]Request{first}), "the same request")
	other := Request{Tools: []byte("tools\n"), System: []byte("system\n"), Messages: []byte("夥")} // begins with the same byte
	assert.Equal(t, len("tools\nsystem\n"), first.Shared([]Request{other}), "between characters")
	assert.Zero(t, first.Shared(nil))
}

// Counting in pieces, or from another prompt's counts, gives the same as counting at once.
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
				test.calls -= test.searches - played.Searches // a search may also find the next step's tool
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

// Tools found together change the list of tools once. Tools found before the first call
// never change it.
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
	for _, test := range []struct {
		step Conversation
		want string
	}{
		{Conversation{History: -1}, "a text of -1 tokens"},
		{Conversation{System: 1e9}, "more than 4000000 tokens"},
		{Conversation{History: 3e6, Steps: []Step{{Result: 2e6}}}, "more than 4000000 tokens"},
		{Conversation{History: math.MaxInt, Said: math.MaxInt}, "more than 4000000 tokens"},
		{Conversation{Steps: []Step{{After: -time.Second}}}, "a call after -1s"},
		{Conversation{Steps: make([]Step, maxSteps+1)}, "300001 calls"},
		{Conversation{Steps: []Step{{Tool: "a", Arguments: "{"}}}, `a call of "a" with arguments that are not JSON`},
	} {
		_, err = Replay(t.Context(), Tools(1, 50), toolsearch.Config{}, WireChat, test.step)
		assert.ErrorContains(t, err, test.want)
	}
	_, err = Replay(t.Context(), Tools(1, 50), toolsearch.Config{}, "letter", Conversation{})
	assert.ErrorContains(t, err, `wire is "letter"`)
	_, err = Replay(t.Context(), []*schema.ToolInfo{nil}, toolsearch.Config{}, WireChat, Conversation{})
	assert.ErrorContains(t, err, "tool 1 is nil")
}

func TestCompareFails(t *testing.T) {
	openai := *provider(t, "openai")
	with := func(change func(*Provider)) *Provider { p := openai; change(&p); return &p }
	for _, test := range []struct {
		tools    []*schema.ToolInfo
		provider *Provider
		shapes   []Shape
		want     string
	}{
		{nil, &openai, Shapes, "no tool of the catalog's 0"},
		{[]*schema.ToolInfo{nil}, &openai, Shapes, "tool 1 is nil"},
		{Tools(2, 50), &openai, nil, "no conversations"},
		{Tools(2, 50), &openai, []Shape{{}}, "(0, 0, 0): want 2 calls of the model or more"},
		{Tools(2, 50), &openai, []Shape{{10, 1, 1, 0}}, "want 2 calls of the model or more"},
		{Tools(2, 50), &openai, []Shape{{10, 3, 0, 0}}, "1 load or more"},
		{Tools(2, 50), &openai, []Shape{{10, 3, 3, 0}}, "fewer than calls"},
		{Tools(2, 50), &openai, []Shape{{-10, 3, 1, 0}}, "(-10, 3, 1): a text of -10 tokens"},
		{Tools(2, 50), &openai, []Shape{{10, 3, 1, -7}}, "a text of -7 tokens"},
		{Tools(2, 50), &openai, []Shape{{1e9, 3, 1, 0}}, "more than 4000000 tokens"},
		{Tools(2, 50), &openai, []Shape{{10, math.MaxInt, 1, 0}}, "more than 300000 calls"},
		{Tools(2, 50), &openai, []Shape{{3e6, 200, 1, 0}}, "too many to play"},
		{Tools(2, 50), with(func(p *Provider) { p.Cached = math.NaN() }), Shapes, "a price of NaN"},
		{Tools(2, 50), with(func(p *Provider) { p.Input = math.Inf(1) }), Shapes, "a price of +Inf"},
		{Tools(2, 50), with(func(p *Provider) { p.Output = -1 }), Shapes, "a price of -1"},
		{Tools(2, 50), with(func(p *Provider) { p.Block = -1 }), Shapes, "must not be negative"},
		{Tools(2, 50), &Provider{}, Shapes, `cache is ""`},
	} {
		_, err := Compare(t.Context(), test.tools, test.provider, test.shapes)
		assert.ErrorContains(t, err, test.want)
	}
	_, err := CompareLog(t.Context(), Tools(2, 50), &Provider{}, []Run{{}})
	assert.ErrorContains(t, err, `cache is ""`)
	assert.Empty(t, Script(Tools(2, 50), Shape{Calls: math.MaxInt, Loads: math.MaxInt - 1}).Steps)
}

// A catalog of one tool is a catalog: each conversation loads that tool, and is played once.
func TestCompareOneTool(t *testing.T) {
	r, err := Compare(t.Context(), Tools(1, 50), provider(t, "deepseek"), Shapes)
	require.NoError(t, err)
	var shapes []string
	for _, row := range r.Rows {
		shapes = append(shapes, row.Shape.String())
	}
	assert.Equal(t, []string{"2k, 10, 1", "20k, 10, 1", "50k, 30, 1"}, shapes)
	assert.Equal(t, "With deepseek-flash and this tool: show it; hiding does not pay in these conversations.", r.Advice)
}

// Two goroutines may compare the same tools with the same provider at the same time.
func TestCompareConcurrently(t *testing.T) {
	tools, p := Tools(9, 50), provider(t, "anthropic")
	advice := make([]string, 4)
	var group sync.WaitGroup
	for i := range advice {
		group.Add(1)
		go func() {
			defer group.Done()
			if r, err := Compare(t.Context(), tools, p, Shapes[:2]); assert.NoError(t, err) {
				advice[i] = r.Advice
			}
		}()
	}
	group.Wait()
	assert.NotEmpty(t, advice[0])
	assert.Len(t, slices.Compact(advice), 1)
}

// With a free provider, every way costs nothing.
func TestCompareFree(t *testing.T) {
	p := *provider(t, "deepseek")
	p.Input, p.Cached, p.Output = 0, 0, 0
	r, err := Compare(t.Context(), Tools(30, 50), &p, Shapes[:1])
	require.NoError(t, err)
	assert.Equal(t, Way{All: true}, r.Best)
	assert.Zero(t, r.Price(r.Best))
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
	assert.Empty(t, Tools(-1, 120))
	tools := Tools(12, 120)
	require.Len(t, tools, 12)
	for _, info := range tools {
		assert.InDelta(t, 120, definitionTokens(info), 10, info.Name)
	}
}

// Following the recommendation costs at most 5 % more than the best way, in each of the
// scripted conversations, with each provider, over catalogs of all sizes. Providers that get
// the same requests share one play.
func TestRecommendation(t *testing.T) {
	catalogs := map[string][]*schema.ToolInfo{"small": Tools(8, 60), "in between": Tools(60, 120), "quickstart": quickstart(t)}
	if !testing.Short() { // it takes long
		catalogs["large"] = Tools(200, 120)
	}
	for name, tools := range catalogs {
		type key struct {
			wire  string
			way   Way
			shape Shape
		}
		played := make(map[key]*Replayed)
		for _, p := range Providers() {
			r := &Report{Provider: p, Tools: len(tools), Ways: Ways(&p)}
			for _, shape := range Shapes {
				row := Row{Shape: shape}
				for _, way := range r.Ways {
					k := key{p.Wire, way, shape}
					if played[k] == nil {
						var err error
						played[k], err = Replay(t.Context(), tools, way.Config(len(tools)), p.Wire, Script(tools, shape))
						require.NoError(t, err)
					}
					row.Outcomes = append(row.Outcomes, Outcome{Way: way,
						ColdPrice: p.Price(Sum(p.Bill(nil, played[k].Requests))),
						WarmPrice: p.Price(Sum(p.Bill(played[k].Earlier, played[k].Requests))),
					})
				}
				r.Rows = append(r.Rows, row)
			}
			r.Advice = r.advice(r.advise())
			checkAdvice(t, name+", "+p.Name, r)
			assert.Contains(t, r.Advice, p.Model)
			assert.Less(t, len(r.Advice), 500, "a person reads it")
			t.Log(name, r.Advice)
		}
	}
}

// Where a provider caches, ProtocolDispatch costs less than the default, also in the shortest
// conversations, cold and warm: docs/protocols.md says so.
func TestDispatchUnderACache(t *testing.T) {
	tools := quickstart(t)
	for _, shape := range append([]Shape{{0, 2, 1, 0}, {0, 3, 2, 0}, {500, 3, 1, 0}, {2_000, 3, 2, 0}}, Shapes...) {
		c := Script(tools, shape)
		played := make(map[string][2]*Replayed) // by wire
		for _, p := range Providers() {
			if p.Cache == CacheNone {
				continue
			}
			pair, ok := played[p.Wire]
			if !ok {
				for i, protocol := range []toolsearch.Protocol{toolsearch.ProtocolToolSearch, toolsearch.ProtocolDispatch} {
					var err error
					pair[i], err = Replay(t.Context(), tools, Way{Protocol: protocol}.Config(len(tools)), p.Wire, c)
					require.NoError(t, err)
				}
				played[p.Wire] = pair
			}
			price := func(r *Replayed, earlier []Request) float64 { return p.Price(Sum(p.Bill(earlier, r.Requests))) }
			assert.Less(t, price(pair[1], nil), price(pair[0], nil), "%s: (%v), cold", p.Name, shape)
			assert.Less(t, price(pair[1], pair[1].Earlier), price(pair[0], pair[0].Earlier), "%s: (%v), warm", p.Name, shape)
		}
	}
}

// From the break-even on, the recommended way costs less than showing all in every part of
// the catalog.
func TestBreakEven(t *testing.T) {
	shapes := []Shape{{1000, 4, 1, 20}, {8_000, 4, 2, 20}}
	catalogs := map[string][]*schema.ToolInfo{"quickstart": quickstart(t), "small": Tools(8, 60), "large": Tools(40, 150)}
	for name, tools := range catalogs {
		for _, p := range Providers() {
			if p.Name != "anthropic" && (testing.Short() || name == "quickstart") { // it takes long
				continue
			}
			r, err := Compare(t.Context(), tools, &p, shapes)
			require.NoError(t, err)
			checkAdvice(t, name+", "+p.Name, r)
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
				if n > r.BreakEven+3 && n%5 != 0 {
					continue
				}
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

// If no example can call most tools of a catalog, the tools that can be called price it.
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

// Every part has the tools that are called, and all tools of the parts before it.
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

// The advice names other ways for conversations in which the recommended way is too expensive,
// and describes these by what they have in common.
func TestAdvice(t *testing.T) {
	all, native := Way{All: true}, Way{Protocol: toolsearch.ProtocolNativeReferences}
	dispatch, add := Way{Protocol: toolsearch.ProtocolDispatch}, Way{Protocol: toolsearch.ProtocolSearchAdd}
	ways := []Way{all, native, dispatch, add}
	// row has the prices of ways, cold and warm.
	row := func(shape Shape, cold, warm [4]float64) Row {
		r := Row{Shape: shape}
		for i, way := range ways {
			r.Outcomes = append(r.Outcomes, Outcome{Way: way, ColdPrice: cold[i], WarmPrice: warm[i]})
		}
		return r
	}
	short, middle, long := Shape{History: 1000, Calls: 10, Loads: 1}, Shape{History: 5000, Calls: 10, Loads: 2}, Shape{History: 9500, Calls: 10, Loads: 3}
	onlyAll, onlyNative := [4]float64{9, 20, 20, 20}, [4]float64{20, 9, 20, 20}
	onlyDispatch, onlyAdd := [4]float64{40, 40, 19, 40}, [4]float64{20, 20, 20, 9}
	two := [4]float64{20, 9, 9.3, 20}
	const nativeSaid = "ProtocolNativeReferences if the model's adapter is claude"
	for _, test := range []struct {
		tools, from int
		rows        []Row
		want        string
	}{
		{30, 12, []Row{row(short, onlyDispatch, onlyDispatch)}, "these 30 tools: ProtocolDispatch, from 12 tools on."},
		{30, 1, []Row{row(short, onlyDispatch, onlyDispatch)}, "these 30 tools: ProtocolDispatch, from 1 tool on."},
		{1, 0, []Row{row(short, onlyAll, onlyAll)}, "this tool: show it; hiding does not pay in these conversations."},
		{30, 12, []Row{row(short, onlyDispatch, onlyDispatch), row(middle, onlyDispatch, onlyDispatch), row(long, onlyAdd, onlyAdd)},
			"these 30 tools: ProtocolDispatch, from 12 tools on. For conversations with at least 9500 tokens of history: ProtocolSearchAdd."},
		{30, 12, []Row{row(short, onlyDispatch, onlyAll), row(middle, onlyDispatch, onlyAll), row(long, onlyDispatch, onlyDispatch)},
			"these 30 tools: ProtocolDispatch, from 12 tools on. For conversations with at most 5k tokens of history and a warm cache: show them all."},
		{30, 12, []Row{row(short, onlyAll, onlyAll), row(middle, onlyDispatch, onlyDispatch), row(long, onlyDispatch, onlyAll)},
			"these 30 tools: ProtocolDispatch, from 12 tools on." +
				" For conversations with at most 1k tokens of history, or with at least 9500 tokens of history and a warm cache: show them all."},
		{30, 12, []Row{row(short, onlyDispatch, onlyDispatch), row(middle, onlyAll, onlyDispatch), row(long, onlyDispatch, onlyAdd)},
			"these 30 tools: ProtocolDispatch, from 12 tools on. For conversations with 5k tokens of history and a cold cache: show them all." +
				" For conversations with at least 9500 tokens of history and a warm cache: ProtocolSearchAdd."},
		{30, 12, []Row{row(short, two, two), row(long, two, onlyAll)},
			"these 30 tools: " + nativeSaid + ", from 12 tools on. With another adapter: ProtocolDispatch." +
				" Either way, for conversations with at least 9500 tokens of history and a warm cache: show them all."},
		{30, 12, []Row{row(short, onlyDispatch, onlyDispatch), row(middle, onlyDispatch, onlyDispatch), row(long, onlyNative, onlyAdd)},
			"these 30 tools: ProtocolDispatch, from 12 tools on." +
				" For conversations with at least 9500 tokens of history and a cold cache: " + nativeSaid + "." +
				" For conversations with at least 9500 tokens of history and a warm cache: ProtocolSearchAdd." +
				" With another adapter: ProtocolDispatch; for conversations with at least 9500 tokens of history: ProtocolSearchAdd."},
	} {
		r := &Report{Provider: *provider(t, "anthropic"), Tools: test.tools, Ways: ways, BreakEven: test.from, Rows: test.rows}
		assert.Equal(t, "With claude-sonnet-5-5 and "+test.want, r.advice(r.advise()))
	}

	// Runs of a log may differ in nothing that words can tell. They are named.
	r := &Report{Provider: *provider(t, "deepseek"), Tools: 30, Ways: []Way{all, dispatch, add}, Checks: make([]Check, 3),
		Rows: []Row{row(short, onlyDispatch, onlyDispatch), row(short, onlyAll, onlyDispatch), row(short, onlyAll, onlyDispatch)}}
	assert.Equal(t, "With deepseek-flash and these 30 tools: ProtocolDispatch. For run 2 with a cold cache and run 3 with a cold cache: show them all.", r.advice(r.advise()))
	r.Provider = *provider(t, "none") // cold and warm are the same, and a run is named once
	r.Rows = []Row{row(short, onlyDispatch, onlyDispatch), row(short, onlyDispatch, onlyDispatch), row(short, onlyAll, onlyAll)}
	assert.Equal(t, "With no prompt cache and these 30 tools: ProtocolDispatch. For run 3: show them all.", r.advice(r.advise()))
}

// A conversation that is too long to play is refused before any of it is played. The model's words
// besides its calls are in no prompt.
func TestConversationsTooLongToPlay(t *testing.T) {
	long := scenario{Shape: Shape{Calls: 300}, Conversation: Conversation{History: 300_000, Said: 10_000_000}}
	require.NoError(t, long.check(30_000))
	assert.ErrorContains(t, long.check(50_000), "300 requests of up to 350000 tokens are too many to play")
	run := Run{Conversation: Conversation{Steps: make([]Step, 1999)}, Calls: []ModelCall{{Prompt: 3_000_000}}}
	for i := range run.Conversation.Steps {
		run.Conversation.Steps[i] = Step{Tool: "get_weather"}
	}
	_, _, err := run.fit(t.Context(), nil, 60_000, provider(t, "anthropic"))
	assert.ErrorContains(t, err, "2000 requests of up to")
}

// adviser reads advice as a person does, and returns the way to take.
type adviser struct {
	advice string
	native bool // whether the model's adapter searches natively
}

var (
	otherAdapter = regexp.MustCompile(` With another adapter: ([^.]+)\.`)
	exceptFor    = regexp.MustCompile(`[Ff]or ([^:;.]+): ([^;.]+)[;.]`)
	condition    = regexp.MustCompile(`^(?:at (most|least) )?(\d+k?)(?: to (\d+k?))? (token|model call|load)s?(?: of history)?$`)
)

func (a adviser) way(t *testing.T, s Shape, warm bool) Way {
	t.Helper()
	text := a.advice
	if other := otherAdapter.FindStringSubmatch(text); other != nil {
		_, after, _ := strings.Cut(text, other[0])
		text = strings.Replace(text, other[0], "", 1)
		if !a.native {
			text = "With another adapter: " + other[1] + "." + after
		}
	}
	for _, exception := range exceptFor.FindAllStringSubmatch(text, -1) {
		groups, ok := strings.CutPrefix(exception[1], "conversations with ")
		require.True(t, ok, "%s", exception[0])
		for _, conditions := range strings.Split(groups, ", or with ") {
			if meets(t, conditions, s, warm) {
				return wayOf(t, exception[2])
			}
		}
	}
	_, best, ok := strings.Cut(text, ": ")
	require.True(t, ok, "%s", text)
	return wayOf(t, best)
}

// meets reports whether a conversation meets all conditions.
func meets(t *testing.T, conditions string, s Shape, warm bool) bool {
	t.Helper()
	number := func(text string) int {
		n, err := strconv.Atoi(strings.Replace(text, "k", "000", 1))
		require.NoError(t, err, "%s", conditions)
		return n
	}
	for _, c := range strings.Split(strings.ReplaceAll(conditions, " and ", ", "), ", ") {
		if state, ok := strings.CutPrefix(c, "a "); ok {
			if want := map[bool]string{false: "cold cache", true: "warm cache"}[warm]; state != want {
				return false
			}
			continue
		}
		m := condition.FindStringSubmatch(c)
		require.NotNil(t, m, "the condition %q", c)
		has := map[string]int{"token": s.History, "model call": s.Calls, "load": s.Loads}[m[4]]
		least, most := number(m[2]), number(m[2])
		switch {
		case m[1] == "most":
			least = 0
		case m[1] == "least":
			most = math.MaxInt
		case m[3] != "":
			most = number(m[3])
		}
		if has < least || has > most {
			return false
		}
	}
	return true
}

// wayOf returns the way that a text begins with.
func wayOf(t *testing.T, words string) Way {
	t.Helper()
	if strings.HasPrefix(words, "show ") {
		return Way{All: true}
	}
	for protocol, name := range goNames {
		if strings.HasPrefix(words, name) {
			return Way{Protocol: protocol}
		}
	}
	require.Fail(t, "no way", words)
	return Way{}
}

// checkAdvice checks that following the advice costs at most 5 % more than the best way, in each
// conversation, cold and warm, with an adapter that searches natively and with another.
func checkAdvice(t *testing.T, name string, r *Report) {
	t.Helper()
	native, hasNative := r.Provider.native()
	for _, row := range r.Rows {
		for _, warm := range []bool{false, true} {
			for _, isNative := range []bool{true, false} {
				way := adviser{r.Advice, isNative}.way(t, row.Shape, warm)
				least, price := math.Inf(1), 0.0
				for _, o := range row.Outcomes {
					p := o.ColdPrice
					if warm {
						p = o.WarmPrice
					}
					if isNative || !hasNative || o.Way != (Way{Protocol: native}) {
						least = min(least, p)
						if o.Way == way {
							price = p
						}
					}
				}
				where := fmt.Sprintf("%s: (%v), warm %v, native %v: %v by %q", name, row.Shape, warm, isNative, way, r.Advice)
				require.Positive(t, price, "the way is one of the report's: %s", where)
				assert.LessOrEqual(t, price, 1.05*least, where)
				want := [2][2]Way{{row.ColdText, row.WarmText}, {row.Cold, row.Warm}}
				assert.Equal(t, want[map[bool]int{true: 1}[isNative]][map[bool]int{true: 1}[warm]], way, where)
			}
		}
	}
	least := math.Inf(1)
	for _, way := range r.Ways {
		least = min(least, r.Price(way))
	}
	assert.LessOrEqual(t, r.Price(r.Best), 1.05*least, "%s: %v over all conversations", name, r.Best)
}

// Whatever the prices are, following the advice costs at most 5 % more than the best way.
func TestAdviceForRandomPrices(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	for range testtools.Rounds(300, 30) {
		for _, name := range []string{"anthropic", "openai", "qwen", "none"} {
			r := &Report{Provider: *provider(t, name), Tools: 30}
			r.Ways = Ways(&r.Provider)
			shapes := map[Shape]bool{}
			for range 1 + random.IntN(7) {
				shapes[Shape{History: 500 * random.IntN(30), Calls: 2 + random.IntN(3), Loads: 1 + random.IntN(3)}] = true
			}
			ordered := slices.SortedFunc(maps.Keys(shapes), func(a, b Shape) int { return strings.Compare(a.String(), b.String()) })
			for _, shape := range ordered {
				row := Row{Shape: shape}
				for _, way := range r.Ways {
					o := Outcome{Way: way, ColdPrice: 1 + random.Float64()/5, WarmPrice: 1 + random.Float64()/5}
					if name == "none" {
						o.WarmPrice = o.ColdPrice
					}
					row.Outcomes = append(row.Outcomes, o)
				}
				r.Rows = append(r.Rows, row)
			}
			r.Advice = r.advice(r.advise())
			if !strings.Contains(r.Advice, " (") { // conversations of too many kinds are named
				checkAdvice(t, name, r)
			}
		}
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
	const line = `{"name":"a","model":"m","input":1,"cached":0.5,"output":2,"cache":"automatic","ttl":"5m","wire":"chat","date":"2026-01-02","source":"here"}`
	list, err := ReadProviders(strings.NewReader("[" + line + "]"))
	require.NoError(t, err)
	assert.Equal(t, []Provider{{Name: "a", Model: "m", Input: 1, Cached: 0.5, Output: 2, Cache: CacheAutomatic, TTL: Duration(5 * time.Minute),
		Wire: WireChat, Date: "2026-01-02", Source: "here"}}, list)
	for _, test := range []struct{ old, new, want string }{
		{`"input":1`, `"input":-1`, "a price of -1"},
		{`"input":1`, `"input":1e300`, "a price of 1e+300"},
		{`"input":1,`, ``, `provider 1, "a": want a price of input`},
		{`"cached":0.5,`, ``, "of cached input if there is a cache"},
		{`"output":2`, `"output":null`, "of output"},
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
	for text, want := range map[string]string{
		"": "want a list of providers", "{}": "want a list of providers", "[]": "no providers", "[1]": "provider 1",
		"[" + line + "," + line + "]": "two providers", "[" + line + "] and more": "after top-level value",
		strings.Repeat(" ", maxPriceBytes) + "[" + line + "]": "more than 1 MiB",
	} {
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

// ProtocolDispatch repeats a definition when its tool is found again. A name instead would save
// little: docs/settings.md says how little. The shortened requests have the writer's marks.
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
