package nativetest

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/cloudwego/eino-ext/components/model/agenticopenai"
	"github.com/cloudwego/eino-ext/components/model/claude"
	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

// adapter is an adapter of eino-ext, in the version of go.mod.
type adapter[M adk.MessageType] struct {
	name string
	api  provider.API
	new  func(ctx context.Context, url string) (model.BaseModel[M], error)
}

// anchoring is a transport that takes the models of these tests for such as accept definitions in the
// conversation. Requests of other protocols pass it as they are.
func anchoring() http.RoundTripper {
	return toolsearch.AnchoredTransport(nil, "gpt", "claude", provider.Outdated)
}

const key = "no key, the server is a script"

// sending returns the adapters with transports of their own, and once more the one that sets breakpoints. "" as the name of the
// model means the usual ones.
func sending(through func() http.RoundTripper, name string) (chat []adapter[*schema.Message], agentic []adapter[*schema.AgenticMessage]) {
	client := func() *http.Client { return &http.Client{Transport: through()} }
	gpt := cmp.Or(name, "gpt")
	claudes := func(cache *claude.CacheControl) func(context.Context, string) (model.BaseModel[*schema.Message], error) {
		return func(ctx context.Context, url string) (model.BaseModel[*schema.Message], error) {
			return claude.NewChatModel(ctx, &claude.Config{
				BaseURL: &url, APIKey: key, Model: cmp.Or(name, "claude"), MaxTokens: 1000, HTTPClient: client(), AutoCacheControl: cache,
			})
		}
	}
	chat = []adapter[*schema.Message]{
		{"claude", provider.Messages, claudes(nil)},
		{"openai", provider.Chat, func(ctx context.Context, url string) (model.BaseModel[*schema.Message], error) {
			return openai.NewChatModel(ctx, &openai.ChatModelConfig{BaseURL: url, APIKey: key, Model: gpt, HTTPClient: client()})
		}},
		{"caching claude", provider.Messages, claudes(&claude.CacheControl{})},
	}
	// agenticopenai's chat completions model has a type of its own, different from the Responses model's.
	agentic = []adapter[*schema.AgenticMessage]{
		{"agenticopenai", provider.Responses, func(ctx context.Context, url string) (model.BaseModel[*schema.AgenticMessage], error) {
			return agenticopenai.NewResponsesModel(ctx, &agenticopenai.ResponsesConfig{BaseURL: url, APIKey: key, Model: gpt, HTTPClient: client()})
		}},
		{"agenticopenai-chat", provider.Chat, func(ctx context.Context, url string) (model.BaseModel[*schema.AgenticMessage], error) {
			return agenticopenai.NewChatModel(ctx, &agenticopenai.ChatConfig{BaseURL: url, APIKey: key, Model: gpt, HTTPClient: client()})
		}},
	}
	return chat, agentic
}

var (
	chatAdapters, agenticAdapters = sending(anchoring, "")
	messageAdapters               = chatAdapters[:2:2]
)

// raceDetector says that the tests run with -race.
var raceDetector bool

// skipRace skips a test that an adapter fails under the race detector: claude's Stream writes
// its result err from two goroutines (docs/adapters.md).
func (a adapter[M]) skipRace(t *testing.T, stream bool) {
	t.Helper()
	if raceDetector && stream && a.api == provider.Messages {
		t.Skip("the claude adapter's Stream has a data race of its own")
	}
}

func (a adapter[M]) model(t *testing.T, server *provider.Server) model.BaseModel[M] {
	t.Helper()
	return testtools.Must(a.new(context.Background(), server.URL))(t)
}

// TestFailoverToAnotherAdapter: when a model fails in the middle of a run, a model of another provider takes
// over and sees the same loaded tools.
func TestFailoverToAnotherAdapter(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for i := range 2 {
			testFailover(t, messageAdapters[i], messageAdapters[1-i], dialects[0], stream)
			testFailover(t, agenticAdapters[i], agenticAdapters[1-i], dialects[0], stream)
		}
		// The first model searches natively, the second cannot.
		for _, d := range dialects[1:] {
			if d.name == "references" {
				testFailover(t, messageAdapters[0], messageAdapters[1], d, stream)
			} else {
				testFailover(t, agenticAdapters[0], agenticAdapters[1], d, stream)
			}
		}
	}
}

func testFailover[M adk.MessageType](t *testing.T, first, second adapter[M], d dialect, stream bool) {
	t.Run(d.name+" from "+first.name+"/"+title(false, stream), func(t *testing.T) {
		first.skipRace(t, stream)
		second.skipRace(t, stream)
		// The first model's script ends after two turns: its third request is refused.
		one := provider.New(t, first.api, calls(selecting("get_weather")), calls(calling("get_weather"), selecting("send_mail")))
		two := provider.New(t, second.api, calls(calling("send_mail"), selecting("list_stocks")), calls(calling("list_stocks")), say)
		_, err := run(t, first.model(t, one), setup{config: d.config, stream: stream}, failingOver(second.model(t, two)))
		assert.NoError(t, err)
		assert.Len(t, one.Requests(), 3, "requests to the first model")
		requests := two.Requests()
		before, after := "get_weather send_mail", "get_weather send_mail list_stocks"
		d.hidden = false // the second model searches with an ordinary tool
		checkRequests(t, requests, d, false, []string{before, after, after})
		for _, want := range []string{"get_weather ran with", "send_mail ran with", "list_stocks ran with"} {
			assert.Contains(t, lastBody(requests), want, "the last request")
		}
	})
}

// failingOver lets another model take over where one fails.
func failingOver[M adk.MessageType](to model.BaseModel[M]) func(*adk.TypedChatModelAgentConfig[M]) {
	return func(c *adk.TypedChatModelAgentConfig[M]) {
		c.ModelFailoverConfig = &adk.ModelFailoverConfig[M]{MaxRetries: 1,
			ShouldFailover: func(_ context.Context, _ M, err error) bool { return err != nil },
			GetFailoverModel: func(context.Context, *adk.FailoverContext[M]) (model.BaseModel[M], []M, error) {
				return toolsearch.WithoutNative(to), nil, nil
			}}
	}
}

// leftBehind is a conversation in which two tools were loaded, with the results of the searches as text or in native form.
func leftBehind(native bool) []message {
	called := func(id, name, arguments string) message {
		return message{Role: toolsearchtest.Assistant, Calls: []toolsearchtest.Call{{ID: id, Name: name, Arguments: arguments}}}
	}
	searched := func(id string, names ...string) message {
		m := message{Role: toolsearchtest.Tool, CallID: id, ToolName: searchTool}
		if native {
			m.Native, m.Found = true, infos(names...)
		} else {
			m.Text = `{"matches":["` + strings.Join(names, `","`) + `"]}`
		}
		return m
	}
	return []message{
		{Role: toolsearchtest.User, Text: "How is the weather?"},
		called("c1", searchTool, `{"query":"select:get_weather"}`), searched("c1", "get_weather"),
		called("c2", "get_weather", `{"city":"Rome"}`),
		{Role: toolsearchtest.Tool, CallID: "c2", ToolName: "get_weather", Text: "get_weather ran in Rome"},
		called("c3", searchTool, `{"query":"select:send_mail"}`), searched("c3", "send_mail"),
		{Role: toolsearchtest.Assistant, Text: "Sunny."},
	}
}

// goOn is how each conversation continues.
var goOn = []turn{calls(calling("send_mail"), selecting("list_stocks,get_weather")), calls(calling("list_stocks")), provider.Say("Done.")}

// A history of one adapter continues with another adapter, in another dialect. Loaded tools
// stay loaded, and no provider gets anything it does not know.
func TestHistoryOfAnotherAdapter(t *testing.T) {
	inDialects(t, messageAdapters, testHistoryOfAnotherAdapter)
	inDialects(t, agenticAdapters, testHistoryOfAnotherAdapter)
}

func testHistoryOfAnotherAdapter[M adk.MessageType](t *testing.T, a adapter[M], d dialect, static, stream bool) {
	for _, native := range []bool{false, true} {
		server := provider.New(t, a.api, goOn...)
		_, err := run(t, a.model(t, server), setup{config: d.config, static: static, stream: stream, history: leftBehind(native)})
		assert.NoError(t, err)
		before, after := "get_weather send_mail", "get_weather send_mail list_stocks"
		checkRequests(t, server.Requests(), d, static, []string{before, after, after})
		assert.Contains(t, lastBody(server.Requests()), "list_stocks ran with", "the last request")
		assert.Contains(t, lastBody(server.Requests()), "Rome", "the last request")
	}
}

// TestNativeSearchIsTurnedOff runs natively first and continues in default mode with the messages of the
// run's events, including the adapter's marks.
func TestNativeSearchIsTurnedOff(t *testing.T) {
	native := agenticAdapters[0]
	for _, then := range agenticAdapters {
		for _, stream := range []bool{false, true} {
			t.Run("then "+then.name+"/"+title(false, stream), func(t *testing.T) {
				first := provider.New(t, native.api,
					calls(selecting("get_weather"), search(`{"query":"zzz"}`)), calls(selecting("send_mail")), calls(calling("get_weather")),
					provider.Say("Sunny."))
				second := provider.New(t, then.api, goOn...)
				s := setup{config: toolsearch.Config{UseModelToolSearch: true}, stream: stream}
				runTwice(t, s, native.model(t, first), then.model(t, second), func(s *setup) { s.config.UseModelToolSearch = false })
				before, after := "get_weather send_mail", "get_weather send_mail list_stocks"
				checkRequests(t, second.Requests(), dialect{}, false, []string{before, after, after})
				last := lastBody(second.Requests())
				assert.NotContains(t, last, `"type":"tool_search`, "something native is left")
				assert.NotContains(t, last, "defer_loading", "something native is left")
			})
		}
	}
}
