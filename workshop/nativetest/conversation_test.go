package nativetest

import (
	"context"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

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
		turns:  []turn{calls(search(`{"query":"weather"}`)), calls(selecting("get_weather,send_mail")), calls(selecting("get_weather")), calls(calling("send_mail")), provider.Say("Sent.")},
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
	s := setup{config: d.config, static: static, stream: stream, store: &memoryStore{}}
	_, err := drain(newRunner(t, a.model(t, server), s).Run(context.Background(), input[M](s), adk.WithCheckPointID("1")))
	require.NoError(t, err)
	require.Len(t, server.Requests(), 2, "requests before the interrupt")
	_, err = drain(testtools.Must(newRunner(t, a.model(t, server), s).Resume(context.Background(), "1"))(t))
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
