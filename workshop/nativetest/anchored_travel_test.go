package nativetest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	engines "github.com/eino-toolsearch/toolsearch/search"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

// Conversations of ProtocolAnchored over several runs, each of which has a new agent and a session read from JSON, as after
// a restart of the process.

// leg is a run of such a conversation.
type leg struct {
	change func(*setup) // what changes before it; nil means nothing
	cut    int          // messages that the history loses before it, or one of the constants
	turns  []turn
	isLost bool // the history does not get the answer
}

// goes returns a leg that ends with an answer.
func goes(rounds ...turn) leg { return leg{turns: append(rounds, say)} }

func (l leg) after(change func(*setup)) leg { return leg{change: change, cut: l.cut, turns: l.turns} }

func (l leg) without(messages int) leg { return leg{change: l.change, cut: messages, turns: l.turns} }

const (
	summarized = -1 // a summary takes the place of all messages
	whole      = -2 // the history has all its messages again
	unasked    = -3 // the history ends with the model's message
)

// trip is a conversation of legs.
type trip struct {
	name     string
	config   toolsearch.Config // the protocol is anchored
	session  string            // what it begins with, as JSON; "" means nothing
	isAlone  bool              // the runs have no session
	legs     []leg
	loaded   []string // before each model call; a tool with a tilde only where the provider cannot take it back
	breaks   []int    // the requests that do not extend the one before
	demanded []int    // those where Anthropic demands it
	says     string   // in the last request
	tells    string   // the failure that an event tells; "" means none

	additions int // definitions in the last request to a provider that takes changed ones; 0 means that it does not matter
}

// traveled is what was seen of a trip.
type traveled struct {
	requests []provider.Request
	failures []string
	changes  int // events that say that the tool list changed
}

func travel[M adk.MessageType](t *testing.T, a adapter[M], p trip, stream bool) (saw traveled) {
	t.Helper()
	var turns []turn
	for _, leg := range p.legs {
		turns = append(turns, leg.turns...)
	}
	server := provider.New(t, a.api, turns...)
	m := a.model(t, server)
	s := setup{config: p.config, stream: stream}
	s.config.Protocol = toolsearch.ProtocolAnchored
	s.config.OnEvent = func(_ context.Context, e toolsearch.Event) {
		switch e := e.(type) {
		case *toolsearch.FailureEvent:
			if text := e.Err.Error(); !slices.Contains(saw.failures, text) { // of another agent
				saw.failures = append(saw.failures, text)
			}
		case *toolsearch.LoadEvent:
			if e.ToolsChanged && s.config.Protocol == toolsearch.ProtocolAnchored {
				saw.changes++
			}
		}
	}
	text := []byte(cmp.Or(p.session, "[]"))
	var history, all []M
	for i, leg := range p.legs {
		s.history = []message{{Role: toolsearchtest.User, Text: fmt.Sprint("Part ", i)}}
		if leg.change != nil {
			leg.change(&s)
		}
		question := input[M](s)
		switch leg.cut {
		case summarized:
			history = []M{toolsearchtest.Encode[M](message{Role: toolsearchtest.User, Text: "Much was said."})}
		case whole:
			history = slices.Clone(all)
		case unasked:
			question = nil
		default:
			history = history[min(leg.cut, len(history)):]
		}
		for len(history) > 0 && toolsearchtest.Decode(history[0]).Role == toolsearchtest.Tool { // its call is gone
			history = history[1:]
		}
		var session toolsearch.Session
		require.NoError(t, json.Unmarshal(text, &session))
		ctx := context.Background()
		if !p.isAlone {
			ctx = toolsearch.WithSession(ctx, &session)
		}
		history = append(history, question...)
		events := testtools.Must(drain(newRunner(t, m, s).Run(ctx, history)))(t)
		if leg.isLost {
			events = nil
		}
		history = append(history, inCallOrder(events)...)
		all = append(append(all, question...), inCallOrder(events)...)
		text = testtools.Must(json.Marshal(&session))(t)
	}
	saw.requests = server.Requests()
	return saw
}

// breaksOf returns the requests that do not have the tools of the request before and its conversation as a prefix.
func breaksOf(t *testing.T, requests []provider.Request, api provider.API) (breaks []int) {
	t.Helper()
	key := map[provider.API]string{provider.Responses: "input", provider.Messages: "messages", provider.Chat: "messages"}[api]
	for i := 1; i < len(requests); i++ {
		before, now := elementsOf(t, requests[i-1], key), elementsOf(t, requests[i], key)
		sameTools := slices.Equal(elementsOf(t, requests[i-1], "tools"), elementsOf(t, requests[i], "tools"))
		if !sameTools || commonPrefix(before, now) < len(before) {
			breaks = append(breaks, i)
		}
	}
	return breaks
}

// weatherAs returns a change of the catalog: get_weather has another description, and needs a parameter.
func weatherAs(description, parameter string) func(*setup) {
	return func(s *setup) {
		s.dynamic = catalog()
		needed := map[string]*schema.ParameterInfo{parameter: {Type: schema.String, Required: true}}
		s.dynamic[0] = &testtools.PlainTool{Of: &schema.ToolInfo{
			Name: "get_weather", Desc: description, ParamsOneOf: schema.NewParamsOneOfByParams(needed)}}
	}
}

func withoutWeather(s *setup) { s.dynamic = catalog()[1:] }

// loading returns what is loaded before the model calls: the given, and then the same n times.
func loading(n int, same string, given ...string) []string {
	return append(given, slices.Repeat([]string{same}, n)...)
}

func preselecting(s *setup) {
	s.config.Preselect, s.config.Index = 1, testtools.Canned{Hits: []engines.Hit{{Doc: 0, Score: 1}}}.Index
}

func repeating(s *setup) { s.history = []message{{Role: toolsearchtest.User, Text: "Go on"}} }

func removing(s *setup) { s.config.Protocol = toolsearch.ProtocolSearchAdd }

func anchoredAgain(s *setup) { s.config.Protocol, s.dynamic = toolsearch.ProtocolAnchored, nil }

// manyWeathers are ten legs with another get_weather each.
func manyWeathers() (legs []leg) {
	legs = []leg{goes(calls(selecting("get_weather")))}
	for i := range 10 {
		legs = append(legs, goes().after(weatherAs(fmt.Sprintf("Weather %d", i), "city")))
	}
	return legs
}

// partZero is the place behind the question of a trip's first leg.
const partZero = `{"user":3,"text":"f087661128b8addc"}`

// hostile is a session whose definitions no request may have, at places that are nowhere or behind the user's first turn.
var hostile = func() string {
	var steps []string
	for _, definition := range []string{"", "{", `{"name":"other"}`, `{"function":{"name":"other"}}`} {
		for _, wire := range []string{"chat", "messages", "responses", "no such wire"} {
			text, _ := json.Marshal(definition)
			steps = append(steps, fmt.Sprintf(`{"at":%s,"wire":%q,"json":%s}`, partZero, wire, text))
		}
	}
	elements := []string{`"get_weather"`, `{"name":"list_stocks","steps":[{"at":{"user":-1}}]}`}
	for i, name := range []string{"get_weather", "send_mail", "gone", "gone_too"} {
		elements = append(elements, `{"name":"`+name+`","hash":"x","steps":[`+strings.Join(steps[4*i:4*i+4], ",")+`]}`)
	}
	return "[" + strings.Join(elements, ",") + "]"
}()

var noReminder = toolsearch.Config{Reminder: toolsearch.ReminderConfig{Disabled: true}}

var sendMail = testtools.Canned{Hits: []engines.Hit{{Doc: 2, Score: 1}}}.Index

var (
	say     = provider.Say("Well.")
	weather = goes(calls(selecting("get_weather")), calls(calling("get_weather")))
)

var trips = []trip{
	{
		name: "found tools", legs: []leg{weather, goes(calls(calling("get_weather"), selecting("send_mail"))), goes()},
		loaded: []string{"", "get_weather", "get_weather", "get_weather", "get_weather send_mail", "get_weather send_mail"},
	},
	{
		name: "found tools, without a session", isAlone: true, tells: "without a Session",
		legs:   []leg{weather, goes(calls(calling("get_weather"), selecting("send_mail"))), goes()},
		loaded: []string{"", "get_weather", "get_weather", "get_weather", "get_weather send_mail", "get_weather send_mail"},
	},
	{
		name: "Preselect", config: toolsearch.Config{Preselect: 1, Index: sendMail},
		legs:   []leg{goes(), weather, goes(calls(calling("send_mail")))},
		loaded: loading(4, "send_mail get_weather", "send_mail", "send_mail"),
	},
	{
		name: "Preselect, without a session", config: toolsearch.Config{Preselect: 1, Index: sendMail}, isAlone: true, tells: "without a Session",
		legs: []leg{goes(), weather}, loaded: loading(2, "send_mail get_weather", "send_mail", "send_mail"),
		breaks: []int{1},
	},
	{
		name: "a session from elsewhere", session: `["get_weather","no_such_tool"]`,
		legs:   []leg{goes(calls(selecting("send_mail")), calls(calling("get_weather"))), goes()},
		loaded: loading(3, "get_weather send_mail", "get_weather"),
	},
	{
		name: "a session of an enemy", session: hostile,
		legs:   []leg{goes(), goes(calls(calling("get_weather")))},
		loaded: loading(3, "get_weather"),
	},
	{
		// The conversation may define the tool otherwise where the other provider goes on, so the call is checked.
		name:    "a definition of another provider",
		session: `["get_weather",{"name":"get_weather","hash":"other","steps":[{"at":{"call":"c"},"wire":"elsewhere","json":"{}"}]}]`,
		legs:    []leg{goes(calls(calling("get_weather"))).after(weatherAs("Now with a zone", "zone"))}, loaded: loading(2, "get_weather"), says: "zone",
	},
	{
		name: "a tool that another provider has, and that is gone for a while", config: noReminder,
		session: `["get_weather",{"name":"get_weather","hash":"x","steps":[{"at":` + partZero + `,"wire":"elsewhere","json":"{}"}]}]`,
		legs:    []leg{goes().after(withoutWeather), goes(), goes().after(anchoredAgain), goes()}, loaded: loading(2, "get_weather", "", ""),
	},
	{
		name: "a place that is lost, while that of another provider remains", config: noReminder, breaks: []int{2},
		session: `[{"name":"get_weather","hash":"x","steps":[{"at":{"user":9,"text":"6395be34b1d11228"},"wire":"elsewhere","json":"{}"}]}]`,
		legs:    []leg{goes(calls(selecting("get_weather"))), goes().after(withoutWeather).without(5), goes().after(anchoredAgain), goes()},
		loaded:  []string{"", "get_weather", "", "get_weather", "get_weather"},
	},
	{
		name: "a call of a tool that is gone", config: noReminder, loaded: []string{"", "", "", "get_weather"},
		legs: []leg{goes(calls(calling("get_weather")), calls(search(`{"query":"zzz"}`))).after(withoutWeather), goes().after(anchoredAgain)},
	},
	{
		name: "a question that repeats in what is left", config: noReminder, breaks: []int{4},
		legs: []leg{goes(calls(selecting("get_weather"))), goes().after(withoutWeather), goes().after(anchoredAgain),
			goes(calls(search(`{"query":"zzz"}`))).after(withoutWeather).without(8)},
		loaded: []string{"", "get_weather", "~get_weather", "get_weather", "", ""},
	},
	{
		name: "direct calls", legs: []leg{goes(calls(calling("get_weather"), calling("send_mail"))), goes(calls(calling("list_stocks")))},
		loaded: []string{"", "get_weather send_mail", "get_weather send_mail", "get_weather send_mail list_stocks"},
	},
	{
		name:   "a changed definition",
		legs:   []leg{weather, goes().after(weatherAs("Now with a zone", "zone")), goes(calls(calling("get_weather")))},
		loaded: loading(5, "get_weather", ""),
		says:   "zone", // in the second definition, or in what is wrong with the call
	},
	{
		name: "a changed definition whose place moves", legs: []leg{
			goes(), goes().after(preselecting),
			goes().after(weatherAs("Now with a zone", "zone")).without(3), goes(calls(calling("get_weather"))),
		},
		loaded: loading(4, "get_weather", ""), breaks: []int{2}, says: "zone",
	},
	{
		name: "a place that is lost again and again", session: `["get_weather"]`,
		legs:   append(slices.Repeat([]leg{goes().without(3)}, 10), goes(), goes().after(weatherAs("Now with a zone", "zone"))),
		loaded: loading(12, "get_weather"), breaks: []int{1, 2, 3, 4, 5, 6, 7, 8, 9}, additions: 2,
	},
	{
		name:   "a tool that vanished long ago",
		legs:   []leg{weather, goes().after(withoutWeather), goes().without(4)},
		loaded: []string{"", "get_weather", "get_weather", "~get_weather", ""}, breaks: []int{3, 4},
	},
	{
		name: "a tool that vanished, behind questions that repeat",
		legs: []leg{goes().after(repeating), goes().after(func(s *setup) { repeating(s); preselecting(s) }),
			goes().after(func(s *setup) { repeating(s); withoutWeather(s) }), goes().after(repeating).without(99), goes().after(repeating)},
		says: "Go on",
	},
	{
		name: "a refused call before Preselect", config: toolsearch.Config{Unloaded: toolsearch.UnloadedRefuse},
		legs:   []leg{goes(calls(calling("get_weather")), calls(selecting("send_mail"))), goes().after(preselecting), goes()},
		loaded: []string{"", "", "send_mail", "send_mail get_weather", "send_mail get_weather"},
	},
	{
		name: "an unanswered question", config: toolsearch.Config{Preselect: 1, Index: sendMail},
		legs: []leg{{turns: []turn{say}, isLost: true}, goes(), goes()}, loaded: loading(3, "send_mail"), demanded: []int{1},
	},
	{
		name:    "a session without room",
		session: `["get_weather",{"name":"gone","steps":[{"json":"` + strings.Repeat("x", 1<<20-100) + `"}]}]`,
		legs:    []leg{goes(calls(calling("get_weather")), calls(selecting("send_mail"))), goes()},
		loaded:  []string{"get_weather", "get_weather", "get_weather send_mail", "get_weather send_mail"}, breaks: []int{3},
	},
	{
		name: "a session that lost its room", session: `[{"name":"gone","steps":[{"json":"` + strings.Repeat("x", 1<<20-100) + `"}]}]`,
		legs:   []leg{goes(calls(selecting("send_mail"))), goes(), goes()},
		loaded: loading(3, "send_mail", ""),
	},
	{
		name: "a limit of loaded tools, without a session", config: toolsearch.Config{Limits: toolsearch.Limits{MaxLoaded: 1}},
		isAlone: true, tells: "without a Session",
		legs: []leg{goes(calls(selecting("get_weather")), calls(selecting("send_mail"))), goes(calls(calling("send_mail")))},
		// The first request of a run does not know of the transport yet.
		loaded: []string{"", "get_weather", "get_weather send_mail", "send_mail", "get_weather send_mail"}, breaks: []int{3},
	},
	{
		name:   "a history that is whole again",
		legs:   []leg{weather, goes().after(weatherAs("Now with a zone", "zone")).without(4), goes().without(whole)},
		loaded: loading(4, "get_weather", ""), breaks: []int{3, 4},
	},
	{
		name: "a definition that changes often", legs: manyWeathers(),
		loaded: loading(11, "get_weather", ""), additions: 8,
	},
	{
		name:   "a trimmed history",
		legs:   []leg{weather, goes().without(3), weather, weather.without(2), goes()},
		loaded: loading(10, "get_weather", ""), breaks: []int{3, 7},
	},
	{
		name: "a tool from elsewhere, when the model spoke last", config: noReminder, session: `["get_weather"]`, breaks: []int{2},
		legs:   []leg{goes().after(withoutWeather), goes().without(unasked), goes().after(anchoredAgain).without(unasked), goes()},
		loaded: loading(2, "get_weather", "", ""),
	},
	{
		name:   "a summary",
		legs:   []leg{weather, weather.without(summarized), goes(calls(calling("get_weather")))},
		loaded: loading(7, "get_weather", ""), breaks: []int{3},
	},
	{
		name: "remove_tool", legs: []leg{
			weather,
			goes(calls(provider.Call{Name: "remove_tool", Arguments: `{"tool_names":["get_weather"]}`})).after(removing),
			goes(calls(calling("get_weather")), calls(selecting("get_weather"))).after(anchoredAgain),
		},
		says: "is not loaded yet",
	},
	{
		name: "a tool that vanishes and comes back", says: "There is no tool named",
		legs:   []leg{weather, goes(calls(calling("get_weather"))).after(withoutWeather), goes().after(anchoredAgain)},
		loaded: []string{"", "get_weather", "get_weather", "~get_weather", "~get_weather", "get_weather"},
		breaks: []int{3, 5}, // the reminder changes
	},
	{
		name:   "a reminder before the user's newest message moves with it",
		config: toolsearch.Config{Reminder: toolsearch.ReminderConfig{Position: toolsearch.ReminderLast}},
		legs:   []leg{weather, goes(calls(selecting("send_mail"))), goes()},
		loaded: []string{"", "get_weather", "get_weather", "get_weather", "get_weather send_mail", "get_weather send_mail"}, breaks: []int{3, 5},
	},
}

// onEvery runs a test on every adapter.
func onEvery(t *testing.T, ofChat func(*testing.T, adapter[*schema.Message]), ofAgentic func(*testing.T, adapter[*schema.AgenticMessage])) {
	on(t, "", messageAdapters, ofChat)
	on(t, "", agenticAdapters, ofAgentic)
}

// on runs a test on adapters, under names with a prefix.
func on[M adk.MessageType](t *testing.T, name string, adapters []adapter[M], test func(*testing.T, adapter[M])) {
	for _, a := range adapters {
		t.Run(name+a.name, func(t *testing.T) { test(t, a) })
	}
}

// TestTrips: requests extend one another over the runs of a conversation, and every tool that was loaded stays callable.
func TestTrips(t *testing.T) {
	onEvery(t, testTrips[*schema.Message], testTrips[*schema.AgenticMessage])
}

func testTrips[M adk.MessageType](t *testing.T, a adapter[M]) {
	for i, p := range trips {
		t.Run(p.name, func(t *testing.T) {
			saw := travel(t, a, p, i%2 == 1 && !raceDetector)
			loaded := slices.Clone(p.loaded)
			for i, names := range loaded {
				if loaded[i] = strings.ReplaceAll(names, "~", ""); names != loaded[i] && a.api == provider.Messages {
					loaded[i] = ""
				}
			}
			if loaded != nil {
				checkRequests(t, saw.requests, dialect{name: "anchored"}, false, loaded)
				breaks := p.breaks
				if a.api == provider.Messages {
					breaks = append(breaks, p.demanded...)
				}
				assert.Equal(t, breaks, breaksOf(t, saw.requests, a.api), "requests that do not extend the one before")
			}
			assert.Contains(t, lastBody(saw.requests), p.says)
			if a.api == provider.Messages && p.additions > 0 {
				assert.Equal(t, p.additions, strings.Count(lastBody(saw.requests), `"tool_addition"`))
			}
			assert.Len(t, saw.failures, map[bool]int{true: 1}[p.tells != ""], "%v", saw.failures)
			assert.Contains(t, strings.Join(saw.failures, ""), p.tells)
			assert.Zero(t, saw.changes, "changes of the tool list on the wire")
		})
	}
}

// TestAnchoredResume: what Preselect defines keeps its place when another process goes on from a checkpoint, with the
// session as JSON.
func TestAnchoredResume(t *testing.T) {
	onEvery(t, testAnchoredResume[*schema.Message], testAnchoredResume[*schema.AgenticMessage])
}

func testAnchoredResume[M adk.MessageType](t *testing.T, a adapter[M]) {
	server := provider.New(t, a.api, calls(selecting("get_weather")),
		calls(calling("get_weather"), provider.Call{Name: "delete_all", Arguments: `{}`}), calls(calling("send_mail")), say)
	s := setup{store: &testtools.MemoryStore{}}
	s.config = toolsearch.Config{Protocol: toolsearch.ProtocolAnchored, Preselect: 1, Index: sendMail}
	var before, after toolsearch.Session
	ctx := toolsearch.WithSession(context.Background(), &before)
	_ = testtools.Must(drain(newRunner(t, a.model(t, server), s).Run(ctx, input[M](s), adk.WithCheckPointID("1"))))(t)
	require.NoError(t, json.Unmarshal(testtools.Must(json.Marshal(&before))(t), &after))
	ctx = toolsearch.WithSession(context.Background(), &after)
	_, err := drain(testtools.Must(newRunner(t, a.model(t, server), s).Resume(ctx, "1"))(t))
	require.NoError(t, err)
	const all = "send_mail get_weather delete_all"
	checkRequests(t, server.Requests(), dialect{name: "anchored"}, false, []string{"send_mail", "send_mail get_weather", all, all})
	assert.Empty(t, breaksOf(t, server.Requests(), a.api), "requests that do not extend the one before")
}

// TestAnchoredAfterOtherProtocols: a conversation goes on under ProtocolAnchored and back under the other protocol, and
// loaded tools stay loaded.
func TestAnchoredAfterOtherProtocols(t *testing.T) {
	native := map[toolsearch.Protocol]provider.API{
		toolsearch.ProtocolNativeDeferred: provider.Responses, toolsearch.ProtocolNativeReferences: provider.Messages}
	for p := toolsearch.ProtocolToolSearch; p < toolsearch.ProtocolNativeServer; p++ {
		on(t, p.String()+"/", messageAdapters, func(t *testing.T, a adapter[*schema.Message]) { testAfterOtherProtocols(t, a, p, native[p]) })
		on(t, p.String()+"/", agenticAdapters, func(t *testing.T, a adapter[*schema.AgenticMessage]) {
			testAfterOtherProtocols(t, a, p, native[p])
		})
	}
}

func testAfterOtherProtocols[M adk.MessageType](t *testing.T, a adapter[M], p toolsearch.Protocol, only provider.API) {
	if a.api != cmp.Or(only, a.api) {
		t.Skip("the adapter does not search natively")
	}
	find := selecting("get_weather")
	call := func(name string) provider.Call { return calling(name) }
	switch p {
	case toolsearch.ProtocolRegexp:
		find = search(`{"regex_pattern":"get_weather"}`)
	case toolsearch.ProtocolSearchAdd:
		find = provider.Call{Name: "add_tool", Arguments: `{"tool_names":["get_weather"]}`}
	case toolsearch.ProtocolDispatch:
		call = func(name string) provider.Call {
			return provider.Call{Name: "call_tool", Arguments: `{"name":"` + name + `","arguments":{"city":"Rome"}}`}
		}
	}
	for _, isAlone := range []bool{false, true} {
		other := func(s *setup) { s.config.Protocol = p }
		saw := travel(t, a, trip{isAlone: isAlone, legs: []leg{
			goes(calls(find), calls(call("get_weather"))).after(other),
			goes(calls(calling("get_weather"), selecting("send_mail")), calls(calling("send_mail"))).after(anchoredAgain),
			goes(calls(call("send_mail"), call("get_weather"))).after(other),
		}}, false)
		for i, r := range saw.requests {
			assert.Empty(t, r.Refused, "request %d", i)
		}
		require.Len(t, saw.requests, 8)
		assert.Subset(t, saw.requests[3].Callable, []string{searchTool, "get_weather"})
		assert.ElementsMatch(t, saw.requests[5].Callable, []string{searchTool, "get_weather", "send_mail"})
		assert.Equal(t, 5, strings.Count(lastBody(saw.requests), "ran with"), "results in the last request")
		if p != toolsearch.ProtocolDispatch {
			assert.Subset(t, saw.requests[7].Callable, []string{"get_weather", "send_mail"})
		}
		later := slices.DeleteFunc(breaksOf(t, saw.requests[:6], a.api), func(i int) bool { return i <= 3 })
		assert.Empty(t, later, "requests under ProtocolAnchored that do not extend the one before")
	}
}

// elsewhere is a model whose requests do not pass the transport, or of which one does not, or none from one on.
type elsewhere[M adk.MessageType] struct {
	model.BaseModel[M]
	only, n int
}

func (m *elsewhere[M]) Generate(ctx context.Context, input []M, opts ...model.Option) (M, error) {
	if m.n++; m.only == 0 || m.n == m.only || m.only < 0 && m.n >= -m.only {
		ctx = context.Background()
	}
	return m.BaseModel.Generate(ctx, input, opts...)
}

// TestAnchoredFailover: a model without the transport takes over, and has the loaded tools in its list. MaxLoaded bounds that
// list alone.
func TestAnchoredFailover(t *testing.T) {
	for i, a := range messageAdapters {
		t.Run(a.name, func(t *testing.T) { testAnchoredFailover(t, a, messageAdapters[1-i]) })
	}
	for i, a := range agenticAdapters {
		t.Run(a.name, func(t *testing.T) { testAnchoredFailover(t, a, agenticAdapters[1-i]) })
	}
}

func testAnchoredFailover[M adk.MessageType](t *testing.T, first, second adapter[M]) {
	one := provider.New(t, first.api, calls(selecting("get_weather")), calls(selecting("send_mail")))
	two := provider.New(t, second.api, calls(calling("send_mail")), calls(calling("get_weather")), say)
	var failures []string
	s := setup{config: toolsearch.Config{Protocol: toolsearch.ProtocolAnchored, Limits: toolsearch.Limits{MaxLoaded: 1},
		OnEvent: func(_ context.Context, e toolsearch.Event) {
			if failure, ok := e.(*toolsearch.FailureEvent); ok {
				failures = append(failures, failure.Err.Error())
			}
		}}}
	session := toolsearch.NewSession()
	runner := newRunner(t, first.model(t, one), s, failingOver[M](&elsewhere[M]{BaseModel: second.model(t, two)}))
	_, err := drain(runner.Run(toolsearch.WithSession(t.Context(), session), input[M](s)))
	require.NoError(t, err)
	assert.Equal(t, []string{"get_weather", "send_mail"}, session.Loaded(), "a list of another model unloads nothing")
	anchored := dialect{name: "anchored"}
	checkRequests(t, one.Requests()[:2], anchored, false, []string{"", "get_weather"})
	checkRequests(t, two.Requests(), anchored, false, []string{"get_weather send_mail", "send_mail", "get_weather"})
	assert.Len(t, failures, 1)
	assert.Contains(t, failures[0], "no request through AnchoredTransport")
}

// TestRandomTalks plays random conversations. No request is refused, each extends the one before unless the history was
// cut, and every tool that was found, called or in the session can be called.
func TestRandomTalks(t *testing.T) {
	onEvery(t, testRandomTalks[*schema.Message], testRandomTalks[*schema.AgenticMessage])
}

func testRandomTalks[M adk.MessageType](t *testing.T, a adapter[M]) {
	for seed := range uint64(testtools.Rounds(16, 4)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { testRandomTalk(t, a, seed) })
	}
}

func testRandomTalk[M adk.MessageType](t *testing.T, a adapter[M], seed uint64) {
	random := rand.New(rand.NewPCG(seed, 5))
	names := []string{"get_weather", "get_forecast", "send_mail", "list_stocks"}
	p := trip{config: toolsearch.Config{Limits: toolsearch.Limits{MaxLoaded: 2 + random.IntN(3)}}, isAlone: random.IntN(4) == 0}
	var loaded []string
	if p.isAlone {
		p.config.Limits.MaxLoaded = 0 // it bounds the first request of a run, whose transport is not known yet
	} else if random.IntN(2) == 0 {
		p.config.Preselect, p.config.Index, loaded = 1, sendMail, []string{"send_mail", testtools.Pick(random, names)}
		p.session = `["` + strings.Join(loaded, `","`) + `"]`
	}
	var shown [][]string // before each model call
	messages, cuts := 0, []int(nil)
	for n := range 4 {
		l := leg{}
		if n > 0 && !p.isAlone && random.IntN(3) == 0 {
			l.cut = 1 + random.IntN(messages)
			cuts = append(cuts, len(shown))
		}
		for range random.IntN(4) {
			var round []provider.Call
			shown = append(shown, slices.Clone(loaded))
			for range 1 + random.IntN(3) {
				name := testtools.Pick(random, names)
				kinds := []provider.Call{calling(name), selecting(name), search(`{"query":"zzz"}`), calling("no_such_tool")}
				round = append(round, testtools.Pick(random, kinds))
				if last := round[len(round)-1]; strings.Contains(last.Name+last.Arguments, name) {
					loaded = append(loaded, name)
				}
			}
			l.turns = append(l.turns, calls(round...))
		}
		shown = append(shown, slices.Clone(loaded))
		l.turns = append(l.turns, say)
		messages += 2 * len(l.turns)
		p.legs = append(p.legs, l)
	}
	saw := travel(t, a, p, seed%2 == 0 && !raceDetector)
	require.Len(t, saw.requests, len(shown))
	for i, r := range saw.requests {
		require.Empty(t, r.Refused, "request %d", i)
		require.Subset(t, r.Callable, shown[i], "what the model could call at request %d", i)
	}
	assert.Subset(t, cuts, breaksOf(t, saw.requests, a.api), "requests that do not extend the one before, but of those after a cut")
	assert.Len(t, saw.failures, map[bool]int{true: 1}[p.isAlone], "%v", saw.failures)
}
