package cost

import (
	"context"
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
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/internal/tokens"
	"github.com/eino-toolsearch/toolsearch/search"
)

func provider(t *testing.T, name string) *Provider {
	t.Helper()
	p, ok := Named(Providers(), name)
	require.True(t, ok, name)
	return p
}

// replayed returns a conversation as it was played.
func replayed(t *testing.T, tools []*schema.ToolInfo, config toolsearch.Config, wire string, c Conversation) *Replayed {
	t.Helper()
	return testtools.Must(Replay(t.Context(), tools, config, wire, c))(t, "%s, %v", wire, config.Protocol)
}

// words is a text of n tokens.
func words(n int) string { return strings.Repeat(" aaa", n) }

// billed returns what a conversation costs, with some requests before it.
func billed(p *Provider, earlier, requests []Request) float64 {
	return p.Price(Sum(p.Bill(earlier, requests)))
}

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
		{"too short", automatic, []Request{request(0, words(5), words(10)), request(0, words(5), words(10))},
			[]Usage{{0, 0, 15, 1}, {0, 0, 15, 1}}},
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
				require.Equal(t, tokens.Of(requests[i].Prompt()), u.Input(), "%s: %+v", p.Name, u)
				require.GreaterOrEqual(t, min(u.Cached, u.Written, u.Plain), 0, "%s: %+v", p.Name, u)
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

func TestReplay(t *testing.T) {
	tools := services.Infos()
	shape := Shape{History: 1000, Calls: 7, Loads: 3, Result: 50}
	c := Script(tools, shape)
	c.System = 100
	for _, wire := range []string{WireMessages, WireChat} {
		for _, test := range []struct {
			config                   toolsearch.Config
			calls, searches, changes int
		}{
			{toolsearch.Config{DeferFrom: len(tools) + 1}, 7, 0, 0},
			{toolsearch.Config{}, 10, 3, 3},
			{toolsearch.Config{Protocol: toolsearch.ProtocolRegexp}, 10, 3, 3},
			{toolsearch.Config{Protocol: toolsearch.ProtocolSearchAdd}, 13, 6, 3},
			{toolsearch.Config{Protocol: toolsearch.ProtocolRanked}, 10, 3, 3},
			{toolsearch.Config{Protocol: toolsearch.ProtocolDispatch}, 10, 3, 0},
			{toolsearch.Config{Protocol: toolsearch.ProtocolNativeReferences}, 10, 3, 0},
			{toolsearch.Config{Protocol: toolsearch.ProtocolNativeDeferred}, 10, 3, 0},
			{toolsearch.Config{Protocol: toolsearch.ProtocolAnchored}, 10, 3, 0},
			{toolsearch.Config{AlwaysLoaded: []string{"*"}}, 7, 0, 0},
		} {
			name := fmt.Sprintf("%s, %v", wire, test.config.Protocol)
			played := replayed(t, tools, test.config, wire, c)
			assert.Equal(t, played, replayed(t, tools, test.config, wire, c), "%s: the same conversation again", name)
			if test.config.Protocol == toolsearch.ProtocolDispatch {
				test.calls -= test.searches - played.Searches // a search may also find the next step's tool
				test.searches = played.Searches
			}
			assert.Len(t, played.Requests, test.calls, "%s: model calls", name)
			assert.Equal(t, test.searches, played.Searches, "%s: searches", name)
			assert.Equal(t, test.changes, played.Changes, "%s: changes of the tools", name)
			last := played.Requests[len(played.Requests)-1]
			assert.Equal(t, 6, strings.Count(string(last.Messages), `"`+filler(50)+`"`), "%s: answers of tools", name)
			assert.InDelta(t, 100, tokens.Of(last.System), 30, "%s: tokens of the system message", name)
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
	tools := services.Infos()[:40]
	c := Script(tools, Shape{Calls: 7, Loads: 3})
	var words []string
	for _, step := range c.Steps {
		words = append(words, step.Query)
	}
	apart := replayed(t, tools, toolsearch.Config{Index: search.BM25, MaxResults: 1}, WireChat, c)
	assert.Equal(t, 3, apart.Changes, "a search for each tool")

	c.Question = strings.Join(words, " ")
	preselected := replayed(t, tools, toolsearch.Config{Preselect: 30}, WireChat, c)
	assert.Zero(t, preselected.Searches)
	assert.Zero(t, preselected.Changes)
	unselected := replayed(t, tools, toolsearch.Config{}, WireChat, c)
	assert.Equal(t, unselected.Earlier, preselected.Earlier, "the turn before asked for something else")
	assert.Greater(t, len(preselected.Requests[0].Tools), len(preselected.Earlier[0].Tools))

	c.AtOnce = true
	list := replayed(t, tools, toolsearch.Config{Index: search.BM25, MaxResults: 1}, WireChat, c)
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
	_, err = Compare(t.Context(), Tools(2, 50), provider(t, "openai"), []Shape{{3e6, 200, 1, 0}})
	assert.ErrorContains(t, err, "too many to play")
	_, err = Compare(t.Context(), Tools(2, 50), provider(t, "openai"), []Shape{{3e6, 3, 1, 2e6}})
	assert.ErrorContains(t, err, "more than 4000000 tokens")
}

func TestScript(t *testing.T) {
	tools := services.Infos()
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
}

func TestSizes(t *testing.T) {
	for _, n := range []int{14, 100, 5000} {
		assert.InEpsilon(t, n, tokens.Of(filler(n)), 0.07, "a filler of %d tokens", n)
	}
	assert.Empty(t, Tools(-1, 120))
	tools := Tools(12, 120)
	require.Len(t, tools, 12)
	for _, info := range tools {
		assert.InDelta(t, 120, tokensOf([]*schema.ToolInfo{info}), 10, info.Name)
	}
}

// docs/protocols.md says: where a provider caches, ProtocolDispatch costs less than the default, also in the shortest
// conversations, cold and warm. In the conversations of its tables ProtocolAnchored costs what native search costs, and
// no more than ProtocolDispatch.
func TestUnderACache(t *testing.T) {
	tools := services.Infos()
	for _, shape := range append([]Shape{{0, 2, 1, 0}, {0, 3, 2, 0}, {500, 3, 1, 0}, {2_000, 3, 2, 0}}, Shapes...) {
		c := Script(tools, shape)
		played := make(map[string]*Replayed)
		for _, p := range Providers() {
			if p.Cache == CacheNone {
				continue
			}
			prices := func(protocol toolsearch.Protocol) [2]float64 { // cold and warm
				key := p.Wire + protocol.String()
				if played[key] == nil {
					played[key] = replayed(t, tools, Way{Protocol: protocol}.Config(len(tools)), p.Wire, c)
				}
				r := played[key]
				return [2]float64{billed(&p, nil, r.Requests), billed(&p, r.Earlier, r.Requests)}
			}
			found, dispatched := prices(toolsearch.ProtocolToolSearch), prices(toolsearch.ProtocolDispatch)
			for i, state := range []string{Cold, Warm} {
				assert.Less(t, dispatched[i], found[i], "%s: (%v), %s", p.Name, shape, state)
			}
			if !p.Anchored || !slices.Contains(Shapes, shape) {
				continue
			}
			anchored := prices(toolsearch.ProtocolAnchored)
			for i, state := range []string{Cold, Warm} {
				assert.LessOrEqual(t, anchored[i], dispatched[i], "%s: (%v), %s", p.Name, shape, state)
			}
			if protocol, ok := p.native(); ok {
				for i, searched := range prices(protocol) {
					assert.InEpsilon(t, searched, anchored[i], 0.03, "%s: (%v), cold or warm", p.Name, shape)
				}
			}
		}
	}
}

// Under ProtocolAnchored a request extends the one before it, and ends with a breakpoint. What the turns before
// have loaded is defined in them.
func TestReplayAnchored(t *testing.T) {
	tools := services.Infos()
	c := Script(tools, Shape{History: 1000, Calls: 3, Loads: 2})
	c.Loaded = []string{tools[0].Name}
	for _, wire := range []string{WireMessages, WireChat} {
		played := replayed(t, tools, toolsearch.Config{Protocol: toolsearch.ProtocolAnchored}, wire, c)
		before := played.Earlier[0]
		assert.Equal(t, 1, strings.Count(string(before.Messages), `"name":"`+tools[0].Name+`"`), "%s: the tool is defined in the turn before", wire)
		for i, r := range played.Requests {
			assert.Equal(t, string(before.Tools), string(r.Tools), "%s: tools of request %d", wire, i)
			assert.True(t, strings.HasPrefix(string(r.Messages), string(before.Messages)), "%s: messages of request %d", wire, i)
			assert.NotContains(t, string(r.Prompt()), "cache_control", "%s: request %d", wire, i)
			if wire == WireMessages {
				assert.Equal(t, len(r.Prompt()), r.Marks[len(r.Marks)-1], "the last breakpoint of request %d", i)
			}
			before = r
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
	report := testtools.Must(Compare(t.Context(), tools, provider(t, "none"), Shapes[:1]))(t)
	assert.False(t, report.Take()[0].All)
}

// The way to take is the simplest that costs at most 5 % more than the cheapest.
func TestTake(t *testing.T) {
	all, anchored := Way{All: true}, Way{Protocol: toolsearch.ProtocolAnchored}
	native, dispatch := Way{Protocol: toolsearch.ProtocolNativeReferences}, Way{Protocol: toolsearch.ProtocolDispatch}
	add := Way{Protocol: toolsearch.ProtocolSearchAdd}
	// row has the prices of five ways.
	row := func(prices [5]float64) (r Row) {
		for i, way := range []Way{all, anchored, native, dispatch, add} {
			r.Outcomes = append(r.Outcomes, Outcome{Way: way, Price: prices[i]})
		}
		return r
	}
	cold, warm := row([5]float64{20, 9.5, 9.4, 9.5, 9}), row([5]float64{10, 9, 9, 11, 9.6})
	assert.Equal(t, []Way{native, add}, cold.Take(), "9.5 is more than 5 % above 9")
	assert.Equal(t, []Way{anchored, native, all}, warm.Take())

	onlyAll, onlyDispatch := [5]float64{9, 20, 20, 20, 20}, [5]float64{40, 40, 40, 19, 40}
	onlyNative, both := [5]float64{20, 20, 9, 12, 20}, [5]float64{20, 9, 9, 12, 20}
	for _, test := range []struct {
		tools int
		rows  []Row
		best  []Way
		want  string
	}{
		{1, []Row{row(onlyAll), row(onlyAll)}, []Way{all}, "With claude-sonnet-5-5 and this tool, in each of these conversations: show it."},
		{30, []Row{row(onlyAll), row(onlyAll)}, []Way{all}, "With claude-sonnet-5-5 and these 30 tools, in each of these conversations: show them all."},
		{30, []Row{row(onlyDispatch), row(onlyDispatch), row(onlyDispatch), row(onlyDispatch)}, []Way{dispatch},
			"With claude-sonnet-5-5 and these 30 tools, in each of these conversations: dispatch."},
		{30, []Row{row(onlyNative), row(onlyNative)}, []Way{native, dispatch}, "With claude-sonnet-5-5 and these 30 tools, " +
			"in each of these conversations: native_references if the model's adapter is claude, else dispatch."},
		{30, []Row{row(both), row(both)}, []Way{anchored, native, dispatch}, "With claude-sonnet-5-5 and these 30 tools, " +
			"in each of these conversations: anchored if requests pass its transport, " +
			"else native_references if the model's adapter is claude, else dispatch."},
		{30, []Row{row(onlyDispatch), row(onlyAll)}, []Way{dispatch},
			"With claude-sonnet-5-5 and these 30 tools, the way to take depends on the conversation."},
		{30, []Row{row(onlyNative), row(onlyNative), row(onlyNative), row(onlyDispatch)}, []Way{dispatch},
			"With claude-sonnet-5-5 and these 30 tools, the way to take depends on the conversation."},
	} {
		r := &Report{Provider: *provider(t, "anthropic"), Tools: test.tools, Rows: test.rows}
		assert.Equal(t, test.want, r.Advice())
		assert.Equal(t, test.best, r.Take(), "%s", test.want)
	}
}

// A conversation that is too long to play is refused before any of it is played. The model's words
// besides its calls are in no prompt.
func TestConversationsTooLongToPlay(t *testing.T) {
	long := scenario{Shape: Shape{Calls: 300}, Conversation: Conversation{History: 300_000, Said: 10_000_000}}
	require.NoError(t, long.check(30_000))
	assert.ErrorContains(t, long.check(50_000), "300 requests of up to 350000 tokens are too many to play")
	run := Run{conversation: Conversation{Steps: slices.Repeat([]Step{{Tool: "get_weather"}}, 1999)}, calls: []record{{Prompt: 3_000_000}}}
	_, _, err := run.reconstruct(t.Context(), nil, 60_000, provider(t, "anthropic"))
	assert.ErrorContains(t, err, "2000 requests of up to")
}

func TestProviders(t *testing.T) {
	var names []string
	for _, p := range Providers() {
		names = append(names, p.Name)
		assert.NotEmpty(t, p.Model, p.Name)
		assert.Equal(t, p.Native == "", p.With == "", "%s: an adapter for native search", p.Name)
		assert.NotEmpty(t, Ways(&p), p.Name)
	}
	assert.Equal(t, []string{"anthropic", "openai", "kimi", "deepseek", "qwen", "gemini", "none"}, names)
	_, ok := Named(Providers(), "nobody")
	assert.False(t, ok)
}

func TestReadProviders(t *testing.T) {
	const line = `{"name":"a","model":"m","input":1,"cached":0.5,"output":2,"cache":"automatic","ttl":"5m","wire":"chat","date":"2026-01-02","source":"here"}`
	list := testtools.Must(ReadProviders(strings.NewReader("[" + line + "]")))(t)
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
