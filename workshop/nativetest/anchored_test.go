package nativetest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino-ext/components/model/claude"
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

// ProtocolAnchored on the wire: what the providers' caches see, and what happens where definitions cannot move.

// busy answers every request once with 429, and keeps what it gets.
type busy struct {
	mu     sync.Mutex
	bodies []string
}

func (b *busy) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bodies = append(b.bodies, string(text))
	if len(b.bodies)%2 == 1 {
		header := http.Header{"Retry-After-Ms": {"1"}, "Content-Type": {"application/json"}}
		body := io.NopCloser(strings.NewReader(`{"error":{"message":"tools are busy"}}`))
		return &http.Response{StatusCode: http.StatusTooManyRequests, Header: header, Body: body, Request: r}, nil
	}
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(text))
	return http.DefaultTransport.RoundTrip(again)
}

// signing signs requests, as a client of Bedrock does, before another transport gets them.
type signing struct{ http.RoundTripper }

func (s signing) RoundTrip(r *http.Request) (*http.Response, error) {
	signed := r.Clone(r.Context())
	signed.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=c")
	return s.RoundTripper.RoundTrip(signed)
}

// parts is a tool whose result has several parts.
type parts struct{ of *schema.ToolInfo }

func (p parts) Info(context.Context) (*schema.ToolInfo, error) { return p.of, nil }

func (p parts) InvokableRun(context.Context, *schema.ToolArgument, ...tool.Option) (*schema.ToolResult, error) {
	text := func(s string) schema.ToolOutputPart {
		return schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: s}
	}
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{text("one part"), text(`{"matches":["send_mail"]}`)}}, nil
}

// scene is a conversation under ProtocolAnchored, in a Session, with every adapter.
type scene struct {
	name      string
	transport func() http.RoundTripper // nil means AnchoredTransport
	model     string                   // "" means one that it knows
	loaded    []string                 // by the Session
	history   []message
	turns     []turn
	callable  string // at the last request
	problem   string // of the one FailureEvent; "" means that there is none, and that the tool list never changes
	refused   int    // requests that the provider refused
}

var (
	rounds = []turn{
		calls(selecting("get_weather"), selecting("send_mail"), search(`{"query":"zzz"}`)),
		calls(calling("get_weather"), calling("list_stocks"), calling("nothing"), selecting("get_forecast,get_weather")),
		calls(calling("get_forecast"), calling("parts"), calling("get_forecast")), calls(calling("list_stocks")), provider.Say("Done."),
	}
	everything = "get_weather send_mail list_stocks get_forecast parts"
)

var scenes = []scene{
	{name: "rounds", turns: rounds, callable: everything},
	{name: "a session", loaded: []string{"send_mail"}, turns: rounds, callable: everything},
	{name: "a question behind results", history: leftBehind(false)[:7], turns: rounds, callable: everything},
	{name: "a model that refuses", model: provider.Outdated, turns: rounds, callable: everything, refused: 1, problem: "refuses definitions"},
	{name: "an unknown model", model: "yours", turns: rounds, callable: everything, problem: "name it to AnchoredTransport"},
	{name: "no transport", transport: func() http.RoundTripper { return http.DefaultTransport },
		turns: rounds, callable: everything, problem: "no request through AnchoredTransport"},
	{name: "signed", transport: func() http.RoundTripper { return signing{anchoring()} },
		turns: rounds, callable: everything, problem: "no request through AnchoredTransport"},
}

func TestAnchored(t *testing.T) {
	for _, s := range scenes {
		for _, stream := range []bool{false, true} {
			if s.transport == nil {
				s.transport = anchoring
			}
			chat, agentic := sending(s.transport, s.model)
			name := s.name + "/" + title(true, stream) + "/"
			on(t, name, chat, func(t *testing.T, a adapter[*schema.Message]) { testAnchored(t, a, s, stream) })
			on(t, name, agentic, func(t *testing.T, a adapter[*schema.AgenticMessage]) { testAnchored(t, a, s, stream) })
		}
	}
}

func testAnchored[M adk.MessageType](t *testing.T, a adapter[M], s scene, stream bool) {
	a.skipRace(t, stream)
	play := func(protocol toolsearch.Protocol) (requests []provider.Request, problems []string) {
		server := provider.New(t, a.api, s.turns...)
		same := map[string]string{"description": "Finds tools.", "anchored description": "Finds tools."} // the only text that differs
		config := toolsearch.Config{Protocol: protocol, Texts: same, OnEvent: func(_ context.Context, e toolsearch.Event) {
			if f, ok := e.(*toolsearch.FailureEvent); ok {
				problems = append(problems, f.Err.Error())
			}
		}}
		setup := setup{config: config, static: true, stream: stream, history: s.history}
		setup.dynamic = append(catalog(), parts{infos("parts")[0]})
		ctx := toolsearch.WithLoaded(context.Background(), s.loaded...)
		_ = testtools.Must(drain(newRunner(t, a.model(t, server), setup).Run(ctx, input[M](setup))))(t)
		return server.Requests(), problems
	}
	all, problems := play(toolsearch.ProtocolAnchored)
	accepted := slices.DeleteFunc(slices.Clone(all), func(r provider.Request) bool { return r.Refused != "" })
	assert.Len(t, all, len(accepted)+s.refused, "requests, with those that were refused")
	require.Len(t, accepted, len(s.turns))
	assert.ElementsMatch(t, append(strings.Fields(s.callable), "clock", searchTool), accepted[len(accepted)-1].Callable)
	if s.problem == "" {
		assert.Empty(t, problems)
		checkExtends(t, accepted)
		return
	}
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], s.problem)
	ordinary, _ := play(toolsearch.ProtocolToolSearch)
	for i := range accepted {
		assert.Equal(t, string(ordinary[i].Body), string(accepted[i].Body), "request %d under ProtocolToolSearch, and here", i)
	}
}

// checkExtends checks that each request extends the one before it, but for breakpoints, of which there are as many.
func checkExtends(t *testing.T, requests []provider.Request) {
	t.Helper()
	before := requestOf(t, requests[0].Body)
	for i, r := range requests[1:] {
		now := requestOf(t, r.Body)
		assert.Equal(t, string(before.Tools), string(now.Tools), "the tool list of request %d", i+1)
		assert.Equal(t, string(before.System), string(now.System), "request %d", i+1)
		assert.True(t, bytes.HasPrefix(now.Messages, before.Messages), "request %d:\n%s\n%s", i+1, before.Messages, now.Messages)
		assert.Len(t, now.Marks, len(before.Marks), "breakpoints of request %d", i+1)
		before = now
	}
}

// TestAnchoredRetries: an adapter, or Eino, that sends a request again sends the same bytes, and nothing is added twice.
func TestAnchoredRetries(t *testing.T) {
	for _, stream := range []bool{false, true} {
		b := &busy{}
		chat, agentic := sending(func() http.RoundTripper { return toolsearch.AnchoredTransport(b, "gpt", "claude") }, "")
		on(t, title(false, stream)+"/", chat, func(t *testing.T, a adapter[*schema.Message]) { testAnchoredRetries(t, a, b, stream) })
		on(t, title(false, stream)+"/", agentic, func(t *testing.T, a adapter[*schema.AgenticMessage]) { testAnchoredRetries(t, a, b, stream) })
	}
}

func testAnchoredRetries[M adk.MessageType](t *testing.T, a adapter[M], b *busy, stream bool) {
	a.skipRace(t, stream)
	b.bodies = nil
	server := provider.New(t, a.api, calls(selecting("get_weather")), calls(calling("get_weather")), provider.Say("Done."))
	config := toolsearch.Config{Protocol: toolsearch.ProtocolAnchored}
	_, err := run(t, a.model(t, server), setup{config: config, stream: stream}, func(c *adk.TypedChatModelAgentConfig[M]) {
		c.ModelRetryConfig = &adk.TypedModelRetryConfig[M]{MaxRetries: 1}
	})
	require.NoError(t, err)
	checkExtends(t, server.Requests())
	require.Len(t, b.bodies, 6)
	for i, body := range b.bodies {
		assert.Equal(t, b.bodies[i-i%2], body, "the first attempt, and number %d", i)
		assert.Equal(t, i > 1, strings.Contains(body, "Current weather of a city"), "attempt %d", i)
	}
}

// A mark of an hour moves behind one of five minutes, where Anthropic takes none of an hour.
func TestAnchoredMarks(t *testing.T) {
	server := provider.New(t, provider.Messages, calls(selecting("get_weather")), calls(calling("get_weather")), provider.Say("Sunny."))
	s := setup{config: toolsearch.Config{Protocol: toolsearch.ProtocolAnchored}}
	question := []*schema.Message{claude.SetMessageCacheControl(input[*schema.Message](s)[0], nil)}
	hour := adk.WithChatModelOptions([]model.Option{claude.WithAutoCacheControl(&claude.CacheControl{TTL: claude.CacheTTL1h})})
	_, err := drain(newRunner(t, messageAdapters[0].model(t, server), s).Run(t.Context(), question, hour))
	require.NoError(t, err)
	checkExtends(t, server.Requests())
}

// TestAnchoredRights: a definition leaves the conversation with the user's right to the tool, which is where the bytes
// of earlier requests end. From there, requests extend each other again.
func TestAnchoredRights(t *testing.T) {
	for _, later := range [][]tool.BaseTool{catalog(), catalog()[1:]} { // in the second, the tool is gone
		onEvery(t, func(t *testing.T, a adapter[*schema.Message]) { testAnchoredRights(t, a, later) },
			func(t *testing.T, a adapter[*schema.AgenticMessage]) { testAnchoredRights(t, a, later) })
	}
}

func testAnchoredRights[M adk.MessageType](t *testing.T, a adapter[M], later []tool.BaseTool) {
	may := true
	s := setup{config: toolsearch.Config{Protocol: toolsearch.ProtocolAnchored, Filter: func(_ context.Context, d toolsearch.Document) bool {
		return may || d.Name != "get_weather"
	}}}
	server := provider.New(t, a.api, calls(selecting("get_weather,send_mail")), calls(calling("get_weather")), provider.Say("Sunny."),
		calls(calling("send_mail"), selecting("list_stocks,get_weather")), calls(calling("list_stocks")), provider.Say("Sent."))
	ctx, m := toolsearch.WithLoaded(context.Background()), a.model(t, server)
	said := testtools.Must(drain(newRunner(t, m, s).Run(ctx, input[M](s))))(t)
	may, s.dynamic = false, later
	_, err := drain(newRunner(t, m, s).Run(ctx, slices.Concat(input[M](s), said, input[M](s))))
	require.NoError(t, err)
	requests := server.Requests()
	checkRequests(t, requests, dialect{name: "anchored"}, false, []string{
		"", "get_weather send_mail", "get_weather send_mail", "send_mail", "send_mail list_stocks", "send_mail list_stocks",
	})
	checkExtends(t, requests[:3])
	checkExtends(t, requests[3:])
	for i, r := range requests[1:] {
		assert.Equal(t, i < 2, strings.Contains(string(r.Body), "Current weather of a city"), "the definition in request %d", i+1)
	}
}

// Where there is a Filter, it is asked about a tool that is gone, before the conversation takes the definition back: with
// the Document that it knew. A stored Session has no Document, so the definition leaves the conversation.
func TestAnchoredTakesBackWithAFilter(t *testing.T) {
	for _, a := range messageAdapters {
		for _, isStored := range []bool{false, true} {
			t.Run(fmt.Sprint(a.name, isStored), func(t *testing.T) {
				var asked []toolsearch.Document
				s := setup{config: toolsearch.Config{Protocol: toolsearch.ProtocolAnchored, Filter: func(_ context.Context, d toolsearch.Document) bool {
					asked = append(asked, d)
					return true
				}}, dynamic: catalog()}
				server := provider.New(t, a.api, calls(selecting("get_weather")), provider.Say("Found."), calls(calling("get_weather")), provider.Say("Gone."))
				session, m := toolsearch.NewSession(), a.model(t, server)
				said := testtools.Must(drain(newRunner(t, m, s).Run(toolsearch.WithSession(t.Context(), session), input[*schema.Message](s))))(t)
				isWeather := func(d toolsearch.Document) bool { return d.Name == "get_weather" }
				before := asked[slices.IndexFunc(asked, isWeather)]
				if isStored {
					text := testtools.Must(json.Marshal(session))(t)
					session = toolsearch.NewSession()
					require.NoError(t, json.Unmarshal(text, session))
				}
				s.dynamic, asked = catalog()[1:], nil
				ctx := toolsearch.WithSession(t.Context(), session)
				_, err := drain(newRunner(t, m, s).Run(ctx, slices.Concat(input[*schema.Message](s), said, input[*schema.Message](s))))
				require.NoError(t, err)
				last := lastBody(server.Requests())
				assert.Contains(t, last, "There is no tool named")
				assert.Equal(t, !isStored, strings.Contains(last, "Current weather of a city"))
				assert.Equal(t, !isStored && a.api == provider.Messages, strings.Contains(last, "tool_removal"))
				after := asked[max(0, slices.IndexFunc(asked, isWeather))]
				assert.Equal(t, !isStored, assert.ObjectsAreEqual(before, after), "the Document")
			})
		}
	}
}

// What the session has of a tool stays with the agent, the turn and the group that it is of, and with whom Filter lets see it.
func TestAnchoredKeepsApart(t *testing.T) {
	type label struct{ isSecret bool }
	may, secret := true, &testtools.EchoTool{PlainTool: testtools.PlainTool{Of: &schema.ToolInfo{
		Name: "get_weather", Desc: "Current weather of a city", Extra: map[string]any{"label": &label{true}},
	}}}
	byLabel := func(_ context.Context, d toolsearch.Document) bool {
		l, isLabel := d.Info.Extra["label"].(*label)
		return may || !isLabel || !l.isSecret
	}
	namesake := testtools.EchoTools("get_weather: Of the sea", "send_mail: Sends a mail")
	source := func(tools []tool.BaseTool) func(context.Context) ([]tool.BaseTool, error) {
		return func(context.Context) ([]tool.BaseTool, error) { return tools, nil }
	}
	for name, tt := range map[string]struct {
		config      toolsearch.Config
		first, then []tool.BaseTool
		history     []message
		instruction string
	}{
		"calls of another agent": {then: catalog()[1:], instruction: "Be polite."},
		"calls of another turn": {then: catalog()[1:], history: []message{
			{Role: toolsearchtest.User, Text: "What is new?"}, {Role: toolsearchtest.Assistant, Text: "Well."},
		}},
		"a Filter that reads what JSON does not keep": {config: toolsearch.Config{Filter: byLabel}, first: append(catalog()[1:], secret), then: catalog()[1:]},
		"a Filter that drops what the conversation has": {
			config: toolsearch.Config{Filter: func(_ context.Context, d toolsearch.Document) bool {
				return may || !strings.HasPrefix(d.Description, "Current")
			}},
			then: append(testtools.EchoTools("get_weather: The weather"), catalog()[1:]...),
		},
		"a group with the same name": {
			config: toolsearch.Config{Filter: func(_ context.Context, d toolsearch.Document) bool { return may || d.Namespace != "a" },
				Groups: []toolsearch.Group{{Name: "a", Source: source(catalog())}, {Name: "b", Source: source(namesake)}}},
			first: []tool.BaseTool{}, then: []tool.BaseTool{},
		},
	} {
		for _, a := range messageAdapters {
			t.Run(name+"/"+a.name, func(t *testing.T) {
				may = true
				s, session := setup{config: tt.config, dynamic: tt.first}, toolsearch.NewSession()
				s.config.Protocol = toolsearch.ProtocolAnchored
				play := func(change ...func(*adk.ChatModelAgentConfig)) string {
					server := provider.New(t, a.api, calls(selecting("get_weather,send_mail")), calls(calling("send_mail")), provider.Say("Done."))
					ctx := toolsearch.WithSession(t.Context(), session)
					_ = testtools.Must(drain(newRunner(t, a.model(t, server), s, change...).Run(ctx, input[*schema.Message](s))))(t)
					return lastBody(server.Requests())
				}
				assert.Contains(t, play(), "Current weather of a city")
				stored := testtools.Must(json.Marshal(session))(t)
				may, s.dynamic, s.history = false, tt.then, tt.history
				instruct := func(c *adk.ChatModelAgentConfig) { c.Instruction = cmp.Or(tt.instruction, c.Instruction) }
				assert.NotContains(t, play(instruct), "Current weather of a city")
				session = toolsearch.NewSession()
				require.NoError(t, json.Unmarshal(stored, session))
				assert.NotContains(t, play(instruct), "Current weather of a city", "with a session that was stored")
			})
		}
	}
}

// TestAnchoredAgents: an agent that is a tool of another, with another catalog, and two middlewares of one agent. Each
// conversation grows at its end, and defines its own tools alone.
func TestAnchoredAgents(t *testing.T) {
	onEvery(t, testAnchoredAgents[*schema.Message], testAnchoredAgents[*schema.AgenticMessage])
}

func testAnchoredAgents[M adk.MessageType](t *testing.T, a adapter[M]) {
	find := func(name string) provider.Call {
		return provider.Call{Name: "find_more", Arguments: `{"query":"select:` + name + `"}`}
	}
	insider := func(request string) provider.Call {
		return provider.Call{Name: "insider", Arguments: `{"request":"` + request + `"}`}
	}
	anchoring := toolsearch.Config{Protocol: toolsearch.ProtocolAnchored, DynamicTools: testtools.EchoTools("spy: Spies", "hide: Hides")}
	for _, ctx := range []context.Context{context.Background(), toolsearch.WithLoaded(context.Background())} {
		inside := []turn{calls(selecting("spy")), calls(calling("spy")), say}
		server := provider.New(t, a.api, slices.Concat([]turn{calls(selecting("get_weather")), calls(insider("What is new?"))}, inside,
			[]turn{calls(calling("get_weather"), insider("Again"))}, inside, []turn{calls(selecting("send_mail")), say})...)
		s := setup{config: toolsearch.Config{Protocol: toolsearch.ProtocolAnchored, Preselect: 1},
			dynamic: append(catalog(), testtools.EchoTools("list_news: What is new")...)} // the inner agent is asked the same
		inner := testtools.Must(adk.NewTypedChatModelAgent(ctx, &adk.TypedChatModelAgentConfig[M]{
			Name: "insider", Description: "Knows", Instruction: "Be inside.", Model: a.model(t, server),
			Handlers: []adk.TypedChatModelAgentMiddleware[M]{testtools.Must(toolsearch.NewTyped[M](ctx, &anchoring))(t)},
		}))(t)
		_, err := drain(newRunner(t, a.model(t, server), s, func(c *adk.TypedChatModelAgentConfig[M]) {
			c.ToolsConfig.Tools = []tool.BaseTool{adk.NewTypedAgentTool(ctx, adk.TypedAgent[M](inner))}
		}).Run(ctx, input[M](s)))
		require.NoError(t, err)
		var outer []provider.Request
		for i, r := range server.Requests() {
			assert.Empty(t, r.Refused, "request %d", i)
			isInside := strings.Contains(string(r.Body), "Be inside.")
			assert.NotRegexp(t, map[bool]string{true: "list_news|get_weather", false: "spy"}[isInside], r.Callable, "request %d", i)
			if !isInside {
				outer = append(outer, r)
			}
		}
		require.Len(t, outer, 5)
		assert.Empty(t, breaksOf(t, outer, a.api), "requests that do not extend the one before")
		assert.Empty(t, breaksOf(t, server.Requests()[2:5], a.api), "the same of the inner agent")
	}

	// Two middlewares share a session. Then the provider takes back what vanished from one of them, once.
	anchoring.ToolName = "find_more"
	anchoring.OnEvent = func(_ context.Context, e toolsearch.Event) {
		_, failed := e.(*toolsearch.FailureEvent)
		assert.False(t, failed)
	}
	server := provider.New(t, a.api, calls(selecting("get_weather"), find("spy")), calls(calling("get_weather"), calling("spy")),
		calls(find("hide")), calls(selecting("send_mail")), say, say)
	s := setup{config: toolsearch.Config{Protocol: toolsearch.ProtocolAnchored, OnEvent: anchoring.OnEvent}}
	ctx, history := toolsearch.WithLoaded(context.Background()), []M(nil)
	for range 2 {
		history = append(history, input[M](s)...)
		events := testtools.Must(drain(newRunner(t, a.model(t, server), s, func(c *adk.TypedChatModelAgentConfig[M]) {
			c.Handlers = append(c.Handlers, testtools.Must(toolsearch.NewTyped[M](ctx, &anchoring))(t))
		}).Run(ctx, history)))(t)
		history = append(history, inCallOrder(events)...)
		anchoring.DynamicTools = testtools.EchoTools("hide: Hides", "seek: Seeks")
	}
	const two = "find_more get_weather spy"
	last := map[bool]string{true: "find_more get_weather hide send_mail", false: two + " hide send_mail"}[a.api == provider.Messages]
	checkRequests(t, server.Requests(), dialect{name: "anchored"}, false,
		[]string{"find_more", two, two, two + " hide", two + " hide send_mail", last})
	assert.Equal(t, []int{5}, breaksOf(t, server.Requests(), a.api), "requests that do not extend the one before: the reminder changes")
	assert.LessOrEqual(t, strings.Count(lastBody(server.Requests()), `"tool_removal"`), 1)
}

// Six agents share a session and ask in turn, each in a conversation of its own. A seventh finds no room.
func TestAnchoredAgentsInTurn(t *testing.T) {
	onEvery(t, testAnchoredAgentsInTurn[*schema.Message], testAnchoredAgentsInTurn[*schema.AgenticMessage])
}

func testAnchoredAgentsInTurn[M adk.MessageType](t *testing.T, a adapter[M]) {
	s := setup{config: toolsearch.Config{Protocol: toolsearch.ProtocolAnchored}}
	for _, n := range []int{6, 7} {
		ctx, server := toolsearch.WithLoaded(t.Context(), "get_weather"), provider.New(t, a.api, slices.Repeat([]turn{say}, 2*n)...)
		histories, broken := make([][]M, n), 0
		for i := range 2 * n {
			history := &histories[i%n]
			*history = append(*history, input[M](s)...)
			said := testtools.Must(drain(newRunner(t, a.model(t, server), s, func(c *adk.TypedChatModelAgentConfig[M]) {
				c.Instruction = fmt.Sprint("Be number ", i%n)
			}).Run(ctx, *history)))(t)
			*history = append(*history, said...)
		}
		for i := range n {
			broken += len(breaksOf(t, []provider.Request{server.Requests()[i], server.Requests()[i+n]}, a.api))
		}
		assert.Equal(t, n > 6, broken > 0, "%d agents, %d requests that do not extend the one before", n, broken)
	}
}

// TestAnchoredTiedThinking: Claude takes its thinking back as long as the conversation grows at its end. If something else changed,
// it gets the request once more, and leaves the thinking out, as in the later requests of the run.
func TestAnchoredTiedThinking(t *testing.T) {
	chat, _ := sending(anchoring, provider.Tying)
	for _, a := range []adapter[*schema.Message]{chat[0], chat[2]} {
		found := goes(calls(calling("get_weather"), selecting("send_mail")), calls(calling("send_mail")))
		for _, p := range []trip{{legs: []leg{weather, found}}, {legs: []leg{weather, found.without(3)}, tells: "leaves that thinking out"}} {
			saw := travel(t, a, p, false)
			assert.Contains(t, lastBody(saw.requests), `"signature"`)
			assert.Contains(t, strings.Join(saw.failures, ""), p.tells)
			for i, r := range saw.requests {
				assert.Equal(t, p.tells != "" && i == 3, r.Refused != "", "request %d: %s", i, r.Refused)
			}
			assert.Len(t, saw.requests, map[bool]int{true: 7, false: 6}[p.tells != ""])
		}
	}
}

// A message with a result and a picture is a place for what is loaded then. Responses sends a text and a picture as two items.
func TestAnchoredBehindResultAndPicture(t *testing.T) {
	for _, a := range agenticAdapters {
		t.Run(a.name, func(t *testing.T) {
			s := setup{config: toolsearch.Config{Protocol: toolsearch.ProtocolAnchored, Preselect: 1, Index: sendMail}}
			server := provider.New(t, a.api, calls(selecting("get_forecast")), say, say)
			call := message{Role: toolsearchtest.Assistant, Calls: []toolsearchtest.Call{{ID: "c", Name: "tool_search", Arguments: `{"query":"select:get_weather"}`}}}
			mixed := toolsearchtest.Encode[*schema.AgenticMessage](
				message{Role: toolsearchtest.Tool, CallID: "c", ToolName: "tool_search", Text: `{"matches":["get_weather"]}`})
			hello, picture := schema.UserAgenticMessage("Hello"), schema.NewContentBlock(&schema.UserInputImage{URL: "https://example.com/now.png"})
			hello.ContentBlocks = append(hello.ContentBlocks, picture)
			mixed.ContentBlocks = append(mixed.ContentBlocks, picture)
			history := []*schema.AgenticMessage{hello, toolsearchtest.Encode[*schema.AgenticMessage](call), mixed}
			ctx := toolsearch.WithLoaded(t.Context())
			for range 2 {
				said := testtools.Must(drain(newRunner(t, a.model(t, server), s).Run(ctx, history)))(t)
				history = append(append(history, said...), schema.UserAgenticMessage("Go on"))
			}
			assert.Empty(t, breaksOf(t, server.Requests(), a.api))
		})
	}
}

// A model that takes no definitions gets as many tools as MaxLoaded says, from its first request on, and the one that it has to call.
func TestAnchoredListOfAnotherModel(t *testing.T) {
	a := messageAdapters[1]
	others, _ := sending(anchoring, "other")
	s := setup{config: toolsearch.Config{Protocol: toolsearch.ProtocolAnchored, Limits: toolsearch.Limits{MaxLoaded: 1}}}
	server := provider.New(t, a.api, calls(selecting("get_weather")), calls(selecting("send_mail")), say, say, say)
	ctx, history := toolsearch.WithLoaded(t.Context()), input[*schema.Message](s)
	said := testtools.Must(drain(newRunner(t, a.model(t, server), s).Run(ctx, history)))(t)
	for _, choice := range []model.Option{model.WithTemperature(0), model.WithToolChoice(schema.ToolChoiceForced, "get_weather")} {
		one := adk.WithChatModelOptions([]model.Option{choice})
		_, err := drain(newRunner(t, others[1].model(t, server), s).Run(ctx, slices.Concat(history, said, history), one))
		require.NoError(t, err)
	}
	both := "get_weather send_mail"
	checkRequests(t, server.Requests(), dialect{name: "anchored"}, false, []string{"", "get_weather", both, "send_mail", both})
}

// TestAnchoredAfterAList: a list that is bounded after one request passed by the transport takes no tool from the conversation.
func TestAnchoredAfterAList(t *testing.T) {
	onEvery(t, testAnchoredAfterAList[*schema.Message], testAnchoredAfterAList[*schema.AgenticMessage])
}

func testAnchoredAfterAList[M adk.MessageType](t *testing.T, a adapter[M]) {
	for _, policy := range []toolsearch.UnloadedPolicy{toolsearch.UnloadedLoadAndRun, toolsearch.UnloadedRefuse} {
		server := provider.New(t, a.api, calls(selecting("get_weather")), calls(selecting("send_mail")), calls(calling("send_mail")),
			calls(calling("list_stocks"), calling("get_weather")), say)
		s := setup{config: toolsearch.Config{Protocol: toolsearch.ProtocolAnchored, Unloaded: policy, Limits: toolsearch.Limits{MaxLoaded: 1}}}
		ctx := toolsearch.WithLoaded(t.Context(), "list_stocks")
		_, err := drain(newRunner[M](t, &elsewhere[M]{BaseModel: a.model(t, server), only: 3}, s).Run(ctx, input[M](s)))
		require.NoError(t, err)
		requests, all := server.Requests(), "list_stocks get_weather send_mail"
		checkRequests(t, requests, dialect{name: "anchored"}, false, []string{"list_stocks", "list_stocks get_weather", all, all, all})
		assert.Empty(t, breaksOf(t, slices.Concat(requests[:2], requests[3:]), a.api), "requests that do not extend the one before")
		assert.Equal(t, 3, strings.Count(lastBody(requests), " ran with"))

		// Who does not see a definition that was moved can search for it.
		server = provider.New(t, a.api, calls(selecting("get_weather")), calls(selecting("send_mail")), calls(calling("send_mail")),
			calls(search(`{"query":"weather"}`)), say)
		s.config.Index = toolsearch.BM25
		_, err = drain(newRunner[M](t, &elsewhere[M]{BaseModel: a.model(t, server), only: -3}, s).Run(t.Context(), input[M](s)))
		require.NoError(t, err)
		checkRequests(t, server.Requests(), dialect{name: "anchored"}, false,
			[]string{"", "get_weather", "get_weather send_mail", "send_mail", "get_weather"})
	}
}
