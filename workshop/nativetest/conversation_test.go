// Package nativetest plays whole conversations through eino-ext's real model adapters against
// servers that check every request against the provider's rules. testdata has what went over
// the wire, one file per conversation. go test -update rewrites the files.
package nativetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

type (
	message = toolsearchtest.Message
	turn    = provider.Turn
)

const searchTool = "tool_search"

// search is a call of the search tool.
func search(arguments string) provider.Call {
	return provider.Call{Name: searchTool, Arguments: arguments}
}

func selecting(names string) provider.Call { return search(`{"query":"select:` + names + `"}`) }

func calling(name string) provider.Call {
	return provider.Call{Name: name, Arguments: `{"city":"Rome"}`}
}

func calls(of ...provider.Call) turn { return turn{Calls: of} }

func catalog() []tool.BaseTool {
	deleteAll := &schema.ToolInfo{
		Name: "delete_all", Desc: "Deletes everything", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{}),
	}
	return append(testtools.NewsTools()[:4], &testtools.ConfirmTool{PlainTool: testtools.PlainTool{Of: deleteAll}})
}

// setup is everything needed to run an agent.
type setup struct {
	config  toolsearch.Config // without DynamicTools
	dynamic []tool.BaseTool   // nil means the catalog
	static  bool              // the agent has a static tool, clock
	stream  bool
	store   adk.CheckPointStore
	history []message
}

func newRunner[M adk.MessageType](t *testing.T, m model.BaseModel[M], s setup, change ...func(*adk.TypedChatModelAgentConfig[M])) *adk.TypedRunner[M] {
	t.Helper()
	ctx := context.Background()
	s.config.DynamicTools = s.dynamic
	if s.dynamic == nil {
		s.config.DynamicTools = catalog()
	}
	middleware := testtools.Must(toolsearch.NewTyped[M](ctx, &s.config))(t)
	config := &adk.TypedChatModelAgentConfig[M]{
		Name: "helper", Description: "Helps", Instruction: "Be brief.", Model: m,
		Handlers: []adk.TypedChatModelAgentMiddleware[M]{middleware},
	}
	if s.static {
		config.ToolsConfig.Tools = testtools.EchoTools("clock: The time")
	}
	for _, c := range change {
		c(config)
	}
	agent := testtools.Must(adk.NewTypedChatModelAgent(ctx, config))(t)
	return adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, EnableStreaming: s.stream, CheckPointStore: s.store})
}

// run asks the question and returns the messages of the events.
func run[M adk.MessageType](t *testing.T, m model.BaseModel[M], s setup, change ...func(*adk.TypedChatModelAgentConfig[M])) ([]M, error) {
	t.Helper()
	return drain(newRunner(t, m, s, change...).Run(context.Background(), input[M](s)))
}

// runTwice asks the question twice, the second time of another model. The history of the second run has
// the events of the first.
func runTwice[M adk.MessageType](t *testing.T, s setup, first, second model.BaseModel[M], change func(*setup)) {
	t.Helper()
	question := input[M](s)
	events := testtools.Must(drain(newRunner(t, first, s).Run(context.Background(), question)))(t)
	change(&s)
	_, err := drain(newRunner(t, second, s).Run(context.Background(), slices.Concat(question, inCallOrder(events), question)))
	require.NoError(t, err, "the second run")
}

// input returns the history and the question.
func input[M adk.MessageType](s setup) (all []M) {
	for _, m := range append(slices.Clone(s.history), message{Role: toolsearchtest.User, Text: "What is new?"}) {
		all = append(all, toolsearchtest.Encode[M](m))
	}
	return all
}

func drain[M adk.MessageType](events *adk.AsyncIterator[*adk.TypedAgentEvent[M]]) (messages []M, err error) {
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		err = errors.Join(err, event.Err)
		if event.Output == nil || event.Output.MessageOutput == nil {
			continue
		}
		msg, msgErr := event.Output.MessageOutput.GetMessage()
		if err = errors.Join(err, msgErr); msgErr == nil {
			messages = append(messages, msg)
		}
	}
	return messages, err
}

// inCallOrder puts the results of each round into the order of the calls. Events come in the
// order of completion, which varies.
func inCallOrder[M adk.MessageType](messages []M) []M {
	place := make(map[string]int) // call id -> its place among all calls
	for _, m := range messages {
		for _, c := range toolsearchtest.Decode(m).Calls {
			place[c.ID] = len(place)
		}
	}
	ordered := slices.Clone(messages)
	for from := 0; from < len(ordered); {
		to := from
		for to < len(ordered) && toolsearchtest.Decode(ordered[to]).Role == toolsearchtest.Tool {
			to++
		}
		slices.SortStableFunc(ordered[from:to], func(a, b M) int {
			return place[toolsearchtest.Decode(a).CallID] - place[toolsearchtest.Decode(b).CallID]
		})
		from = to + 1
	}
	return ordered
}

// checkRequests checks that the provider accepted every request, and which tools the model
// could call at each: the static tool, the search tool if it is ordinary, and the loaded tools.
func checkRequests(t *testing.T, got []provider.Request, d dialect, static bool, loaded []string) {
	t.Helper()
	var before []string
	if static {
		before = append(before, "clock")
	}
	if !d.hidden {
		before = append(before, searchTool)
	}
	for i, r := range got {
		assert.Empty(t, r.Refused, "request %d was refused\n%s", i, r.Body)
		if i >= len(loaded) {
			continue
		}
		want := append(slices.Clone(before), strings.Fields(loaded[i])...)
		callable := slices.Clone(r.Callable)
		if d.name != "default" { // found tools come after ordinary tools, in any order of loading
			slices.Sort(want)
			slices.Sort(callable)
		}
		assert.Equal(t, want, callable, "what the model could call at request %d", i)
	}
	assert.Len(t, got, len(loaded))
}

// lastBody returns the body of the last request, or "" if there was none.
func lastBody(requests []provider.Request) string {
	if len(requests) == 0 {
		return ""
	}
	return string(requests[len(requests)-1].Body)
}

func title(static, stream bool) string {
	name := map[bool]string{false: "bare", true: "static"}[static]
	return fmt.Sprintf("%s/%s", name, map[bool]string{false: "whole", true: "stream"}[stream])
}

// dialect is a Config for a way to search, and the adapters it works with.
type dialect struct {
	name     string
	config   toolsearch.Config
	adapters string // names, joined by blanks; "" means all
	hidden   bool   // the search tool is not an ordinary tool
}

var dialects = []dialect{
	{name: "default"},
	{name: "deferred", adapters: "agenticopenai", hidden: true, config: toolsearch.Config{UseModelToolSearch: true}},
	{name: "anchored", config: toolsearch.Config{Protocol: toolsearch.ProtocolAnchored}},
	{name: "references", adapters: "claude", config: toolsearch.Config{Protocol: toolsearch.ProtocolNativeReferences}},
}

// conversation is played on every adapter in every dialect that fits, with and without a static
// tool, streaming and not.
type conversation struct {
	name   string
	turns  []turn
	loaded []string // before each model call, joined by blanks
	says   []string // texts that the last request's body must contain
	only   string   // adapters that can have this conversation; "" means all
}

var conversations = []conversation{
	{
		name:   "search and call",
		turns:  []turn{calls(search(`{"query":"mail"}`)), calls(calling("send_mail")), provider.Say("Sent.")},
		loaded: []string{"", "send_mail", "send_mail"},
		says:   []string{"send_mail ran with"},
	},
	{
		name:   "two searches at once that overlap",
		turns:  []turn{calls(selecting("get_weather,send_mail"), selecting("send_mail,list_stocks")), calls(calling("get_weather"), calling("list_stocks")), provider.Say("Sunny.")},
		loaded: []string{"", "get_weather send_mail list_stocks", "get_weather send_mail list_stocks"},
		says:   []string{"get_weather ran with", "list_stocks ran with"},
	},
	{
		name:   "two searches one after the other that overlap",
		turns:  []turn{calls(search(`{"query":"get weather"}`)), calls(selecting("get_weather,send_mail")), calls(selecting("get_weather")), calls(calling("send_mail")), provider.Say("Sent.")},
		loaded: []string{"", "get_weather get_forecast", "get_weather get_forecast send_mail", "get_weather get_forecast send_mail", "get_weather get_forecast send_mail"},
		says:   []string{"send_mail ran with"},
	},
	{
		name:   "a search without a match",
		turns:  []turn{calls(search(`{"query":"zzz"}`)), calls(selecting("no_such_tool")), calls(search(`{"query":"mail"}`)), calls(calling("send_mail")), provider.Say("Sent.")},
		loaded: []string{"", "", "", "send_mail", "send_mail"},
		says:   []string{"send_mail ran with"},
	},
	{
		name:   "bad arguments",
		turns:  []turn{calls(search(`{}`)), calls(search(`{"query":{}}`), search(`{"query":""}`)), calls(search(`{"max_results":"5","query":["mail"]}`)), calls(calling("send_mail")), provider.Say("Sent.")},
		loaded: []string{"", "", "", "send_mail", "send_mail"},
		says:   []string{"send_mail ran with"},
	},
	{
		// Anthropic's models write objects. TestBrokenInput has an object that breaks off.
		name:   "arguments that are no JSON",
		turns:  []turn{calls(search(`{"query":`)), calls(search(`mail`)), calls(provider.Call{Name: "send_mail", Arguments: `{"city":`}), provider.Say("Sent.")},
		loaded: []string{"", "", "send_mail", "send_mail"},
		says:   []string{"send_mail ran with"},
		only:   "openai agenticopenai agenticopenai-chat",
	},
	{
		name:   "a hidden tool and an unknown one are called",
		turns:  []turn{calls(calling("list_stocks"), calling("send_male"), selecting("get_weather")), calls(calling("get_weather")), provider.Say("Up.")},
		loaded: []string{"", "list_stocks get_weather", "list_stocks get_weather"},
		says:   []string{"list_stocks ran with", "get_weather ran with"},
	},
	{
		name: "five rounds",
		turns: []turn{
			calls(selecting("get_weather")), calls(calling("get_weather"), selecting("get_forecast")),
			calls(calling("get_forecast")), calls(selecting("send_mail,list_stocks"), calling("get_weather")),
			calls(calling("send_mail"), calling("list_stocks")), provider.Say("Done."),
		},
		loaded: []string{
			"", "get_weather", "get_weather get_forecast", "get_weather get_forecast",
			"get_weather get_forecast send_mail list_stocks", "get_weather get_forecast send_mail list_stocks",
		},
		says: []string{"get_weather ran with", "get_forecast ran with", "send_mail ran with", "list_stocks ran with"},
	},
}

// inDialects calls play for every combination of adapter, dialect, static tool and streaming.
func inDialects[M adk.MessageType](t *testing.T, adapters []adapter[M], play func(t *testing.T, a adapter[M], d dialect, static, stream bool)) {
	t.Helper()
	for _, a := range adapters {
		for _, d := range dialects {
			if !includes(d.adapters, a.name) {
				continue
			}
			for _, static := range []bool{false, true} {
				for _, stream := range []bool{false, true} {
					t.Run(a.name+"/"+d.name+"/"+title(static, stream), func(t *testing.T) {
						a.skipRace(t, stream)
						play(t, a, d, static, stream)
					})
				}
			}
		}
	}
}

func includes(names, name string) bool {
	return names == "" || strings.Contains(" "+names+" ", " "+name+" ")
}

// golden returns the file name of a conversation.
func golden(a string, d dialect, static bool, name string) string {
	kind := map[bool]string{false: "bare", true: "static"}[static]
	return a + "/" + d.name + "/" + strings.ReplaceAll(name, " ", "-") + "." + kind
}

func TestConversations(t *testing.T) {
	inDialects(t, messageAdapters, testConversations)
	inDialects(t, agenticAdapters, testConversations)
}

func testConversations[M adk.MessageType](t *testing.T, a adapter[M], d dialect, static, stream bool) {
	for _, c := range conversations {
		if !includes(c.only, a.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			server := provider.New(t, a.api, c.turns...)
			_, err := run(t, a.model(t, server), setup{config: d.config, static: static, stream: stream})
			assert.NoError(t, err)
			requests := server.Requests()
			checkRequests(t, requests, d, static, c.loaded)
			checkCached(t, requests, a.api)
			last := lastBody(requests)
			for _, want := range c.says {
				assert.Contains(t, last, want, "the last request")
			}
			checkGolden(t, golden(a.name, d, static, c.name), stream, requests)
		})
	}
}

// checkCached checks what a prompt cache needs: the conversation grows only at its end, and so
// does the list of tools, which comes first in the prompt.
func checkCached(t *testing.T, requests []provider.Request, api provider.API) {
	t.Helper()
	checkPrefix(t, requests, map[provider.API]string{provider.Responses: "input", provider.Messages: "messages", provider.Chat: "messages"}[api])
	checkPrefix(t, requests, "system")
	checkPrefix(t, requests, "tools")
}

// TestResume interrupts a run in a round of calls and resumes it from a checkpoint. Everything
// else is new, as after a restart of the process.
func TestResume(t *testing.T) {
	inDialects(t, messageAdapters, testResume)
	inDialects(t, agenticAdapters, testResume)
}

func testResume[M adk.MessageType](t *testing.T, a adapter[M], d dialect, static, stream bool) {
	server := provider.New(t, a.api,
		calls(selecting("get_weather")),
		// In one round: a search, an unknown name, and a tool that interrupts.
		calls(selecting("send_mail"), calling("send_male"), provider.Call{Name: "delete_all", Arguments: `{}`}),
		calls(calling("send_mail")), provider.Say("Done."))
	s := setup{config: d.config, static: static, stream: stream, store: &testtools.MemoryStore{}}
	testtools.Must(drain(newRunner(t, a.model(t, server), s).Run(context.Background(), input[M](s), adk.WithCheckPointID("1"))))(t)
	require.Len(t, server.Requests(), 2, "requests before the interrupt")
	_, err := drain(testtools.Must(newRunner(t, a.model(t, server), s).Resume(context.Background(), "1"))(t))
	assert.NoError(t, err, "the resumed run")
	requests := server.Requests()
	after := "get_weather delete_all send_mail"
	checkRequests(t, requests, d, static, []string{"", "get_weather", after, after})
	checkCached(t, requests, a.api)
	checkGolden(t, golden(a.name, d, static, "interrupt and resume"), stream, requests)
}

// TestSecondRun uses the messages of the first run's events as the history of a second run.
func TestSecondRun(t *testing.T) {
	inDialects(t, messageAdapters, testSecondRun)
	inDialects(t, agenticAdapters, testSecondRun)
}

func testSecondRun[M adk.MessageType](t *testing.T, a adapter[M], d dialect, static, stream bool) {
	server := provider.New(t, a.api,
		calls(selecting("get_weather"), search(`{}`)), calls(calling("get_weather"), calling("list_stocks")), provider.Say("Sunny."),
		calls(selecting("get_weather,send_mail")), calls(calling("send_mail"), calling("get_weather")), provider.Say("Sent."))
	m := a.model(t, server)
	runTwice(t, setup{config: d.config, static: static, stream: stream}, m, m, func(*setup) {})
	first, second := "get_weather list_stocks", "get_weather list_stocks send_mail"
	requests := server.Requests()
	checkRequests(t, requests, d, static, []string{"", "get_weather", first, first, second, second})
	require.Len(t, requests, 6)
	assert.Equal(t, 4, strings.Count(string(requests[5].Body), "ran with"), "results in the last request")
}
