package toolsearch_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// What all protocols have in common.

// dialect is how a model speaks a protocol.
type dialect struct {
	protocol toolsearch.Protocol
	metas    string                   // as the model sees them
	load     func(name string) turn   // finds a tool and loads it
	run      func(name string) turn   // calls one
	unload   func(names string) turn  // nil: it cannot
	shows    func(text string) string // what a tool list is with those tools loaded
}

func dialects() []dialect {
	shows := func(metas string) func(string) string {
		return func(loaded string) string { return strings.TrimSpace(metas + " " + loaded) }
	}
	const adding, constant = "search_tools add_tool show_all_tools remove_tool", "tool_search call_tool"
	return []dialect{
		{toolsearch.ProtocolToolSearch, "tool_search", selecting, calling, nil, shows("tool_search")},
		{toolsearch.ProtocolRegexp, "tool_search", func(name string) turn { return search(`{"regex_pattern":"^` + name + `$"}`) }, calling, nil, shows("tool_search")},
		{toolsearch.ProtocolSearchAdd, adding, func(name string) turn { return toolsearchtest.CallTool("add_tool", `{"tool_names":["`+name+`"]}`) }, calling,
			func(name string) turn { return toolsearchtest.CallTool("remove_tool", `{"tool_names":["`+name+`"]}`) }, shows(adding)},
		{toolsearch.ProtocolRanked, "tool_search", selecting, calling, nil, shows("tool_search")},
		{toolsearch.ProtocolDispatch, constant, selecting, func(name string) turn { return dispatching(name, `{}`) }, nil, func(string) string { return constant }},
	}
}

// TestConversationsGoOnUnderAnotherProtocol: what was loaded under one protocol stays loaded
// under each other, for callers that keep the events.
func TestConversationsGoOnUnderAnotherProtocol(t *testing.T) {
	for _, from := range dialects() {
		for _, to := range dialects() {
			t.Run(fmt.Sprintf("%v to %v", from.protocol, to.protocol), func(t *testing.T) {
				inAllWays(t,
					func(t *testing.T, w way) { testGoOn[*schema.Message](t, w, from, to) },
					func(t *testing.T, w way) { testGoOn[*schema.AgenticMessage](t, w, from, to) })
			})
		}
	}
}

func testGoOn[M adk.MessageType](t *testing.T, w way, from, to dialect) {
	for _, unloaded := range []toolsearch.UnloadedPolicy{toolsearch.UnloadedLoadAndRun, toolsearch.UnloadedRefuse} {
		var loaded []string
		config := func(d dialect) *adk.TypedChatModelAgentConfig[M] {
			return with(newMiddleware[M](t, toolsearch.Config{
				DynamicTools: newsTools(), Protocol: d.protocol, Unloaded: unloaded,
				OnLoaded: func(_ context.Context, names []string) { loaded = names },
			}))
		}
		turns := []turn{from.load("get_weather"), from.run("get_weather"), from.load("list_stocks"), from.run("nothing")}
		want := "get_weather list_stocks"
		if unloaded == toolsearch.UnloadedLoadAndRun {
			turns = append(turns, from.run("send_mail")) // not searched for
			want += " send_mail"
		}
		if from.unload != nil {
			turns = append(turns, from.unload("list_stocks"))
			want = strings.Replace(want, " list_stocks", "", 1)
		}
		first := converse(context.Background(), t, w, config(from), turns...)
		if got := strings.Join(loaded, " "); first.err != nil || got != want {
			t.Fatalf("the first run loaded %s, want %s; %v", got, want, first.err)
		}

		// The runs' calls have ids of their own, as with a provider.
		for i := range first.events {
			m := &first.events[i]
			m.Calls = slices.Clone(m.Calls)
			for j := range m.Calls {
				m.Calls[j].ID = "first_" + m.Calls[j].ID
			}
			if m.CallID != "" {
				m.CallID = "first_" + m.CallID
			}
		}
		second := config(to)
		again := to.run("get_weather")
		again.Calls[0].ID = "again"
		scripted := toolsearchtest.NewModel[M](again, to.load("get_forecast"), toolsearchtest.Say("done"))
		second.Model = scripted
		events, err := runAgent(context.Background(), newAgent(t, second), w, slices.Concat(question, first.events, question))
		o := outcome{scripted.Requests(), events, err}
		checkSaw(t, "the second run's model", o, to.shows(want), to.shows(want), to.shows(want+" get_forecast"))
		if got := o.result(t, "again"); got != "get_weather ran with {}" {
			t.Errorf("get_weather was answered %s", got)
		}
		checkResultNames(t, o)
		if to.protocol == toolsearch.ProtocolDispatch { // where no tool list shows the order
			slices.Sort(loaded)
			want = strings.Join(slices.Sorted(slices.Values(strings.Fields(want+" get_forecast"))), " ")
		} else {
			want += " get_forecast"
		}
		if got := strings.Join(loaded, " "); got != want {
			t.Errorf("the second run ended with %s loaded, want %s", got, want)
		}
	}
}

// checkResultNames checks that each result is named after its call: there are providers that
// hold them against each other.
func checkResultNames(t *testing.T, o outcome) {
	t.Helper()
	for _, r := range o.requests {
		names := map[string]string{}
		for _, m := range r.Messages {
			for _, c := range m.Calls {
				names[c.ID] = c.Name
			}
			if m.Role == toolsearchtest.Tool && m.ToolName != names[m.CallID] {
				t.Errorf("the result of %s, a call of %s, is named %s", m.CallID, names[m.CallID], m.ToolName)
			}
		}
	}
}

// TestForeignHistories: of Eino v0.8 and of other writers of the formats that the protocols come from.
func TestForeignHistories(t *testing.T) {
	round := func(tool, arguments, result string) []message {
		return []message{
			{Role: toolsearchtest.Assistant, Calls: []call{called("c_"+tool, tool, arguments)}},
			{Role: toolsearchtest.Tool, CallID: "c_" + tool, ToolName: tool, Text: result},
		}
	}
	for _, d := range dialects() {
		playAll(t, []conversation{
			{
				name: d.protocol.String() + ": selectedTools of Eino v0.8", config: using(d.protocol),
				history: round("tool_search", `{"regex_pattern":"weather|mail"}`, `{"selectedTools":["get_weather","send_mail","gone"]}`),
				saw:     []string{d.shows("get_weather send_mail")},
			},
			{
				name: d.protocol.String() + ": add and remove", config: using(d.protocol),
				history: slices.Concat(
					round("search_tools", `{"query":"."}`, `{"found":1,"tools":[{"name":"list_stocks","description":"Prices"}],"message":"1 found."}`),
					round("add_tool", `{"tool_names":["get_weather","send_mail"]}`, `{"added":["get_weather"],"already_loaded":["send_mail"],"not_found":["list_stocks"],"message":"Added."}`),
					round("remove_tool", `{"tool_names":["get_weather"]}`, `{"removed":["get_weather"],"not_found":["send_mail"]}`)),
				saw: []string{d.shows("send_mail")},
			},
			{
				name: d.protocol.String() + ": ranked text, and definitions", config: using(d.protocol),
				history: slices.Concat(
					round("tool_search", `{"query":"mail"}`, "The best tool:\n1. list_stocks (0.9)\n"+`{"query":"mail","limit":5,"total":1,"matches":[{"rank":1,"name":"send_mail","score":0.9}]}`),
					round("tool_search", `{"query":"weather"}`, `{"matches":[{"name":"get_weather","parameters":{"type":"object"}},{"name":7},{},null,"get_forecast"]}`)),
				saw: []string{d.shows("send_mail get_weather get_forecast")},
			},
			{
				name: d.protocol.String() + ": results of other tools, and broken ones", config: using(d.protocol),
				history: slices.Concat(
					round("grep", `{}`, `{"selectedTools":["get_weather"]}`),
					round("tool_search", `{}`, `{"selectedTools":["get_weather"`),
					round("add_tool", `{}`, "{\"added\":\n[\"send_mail\"]"),
					round("remove_tool", `{}`, `{"removed":"get_weather"}`),
					round("", dispatched("get_weather", `{}`), `sunny`)),
				saw: []string{d.metas},
			},
		})
	}
}

// TestToolsNamedLikeMetaTools: a dynamic tool may be named as a meta-tool of another protocol
// is. It is a tool like any other: what it answers loads nothing and unloads nothing.
func TestToolsNamedLikeMetaTools(t *testing.T) {
	tools := newsTools()
	for name, text := range map[string]string{
		"search_tools": `{"matches":["list_stocks"]}`, "add_tool": `{"added":["list_stocks"]}`, "remove_tool": `{"removed":["get_weather"]}`, "call_tool": `called`,
	} {
		tools = append(tools, &fixedTool{plainTool{&schema.ToolInfo{Name: name, Desc: "Shop"}}, text})
	}
	const loaded = "tool_search get_weather"
	playAll(t, []conversation{{
		name: "a shop of tools", dynamic: tools,
		turns: []turn{
			selecting("get_weather"), calling("search_tools"), calling("add_tool"), calling("remove_tool"),
			toolsearchtest.CallTool("call_tool", dispatched("send_mail", `{}`)), selecting("get_weather"),
		},
		saw: []string{
			"tool_search", loaded, loaded + " search_tools", loaded + " search_tools add_tool", loaded + " search_tools add_tool remove_tool",
			loaded + " search_tools add_tool remove_tool call_tool", loaded + " search_tools add_tool remove_tool call_tool",
		},
	}})
}

// fixedTool answers with the same text always.
type fixedTool struct {
	plainTool
	text string
}

func (f *fixedTool) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	return f.text, nil
}

// TestPoliciesUnderEveryProtocol: UnloadedRefuse answers with how to load the tool, and an
// unknown name with near ones, in the words of each protocol.
func TestPoliciesUnderEveryProtocol(t *testing.T) {
	for _, d := range dialects() {
		if d.protocol == toolsearch.ProtocolDispatch {
			continue // see TestProtocolDispatch
		}
		playAll(t, []conversation{{
			name: d.protocol.String(), config: toolsearch.Config{Protocol: d.protocol, Unloaded: toolsearch.UnloadedRefuse},
			turns: []turn{calling("get_weather"), calling("get_wether"), calling("utterly_different"), d.load("get_weather"), calling("get_weather")},
			saw:   []string{d.metas, d.metas, d.metas, d.metas, d.shows("get_weather"), d.shows("get_weather")},
			check: func(t *testing.T, o outcome) {
				how := map[toolsearch.Protocol]string{
					toolsearch.ProtocolToolSearch: `Load it with tool_search and {\"query\":\"select:get_weather\"}`,
					toolsearch.ProtocolRegexp:     `Load it with tool_search and a pattern that its name matches`,
					toolsearch.ProtocolSearchAdd:  `Load it with add_tool`,
					toolsearch.ProtocolRanked:     `Load it with tool_search and {\"query\":\"select:get_weather\"}`,
				}[d.protocol]
				for id, want := range map[string]string{
					"call_1": how, "call_2": `"suggestions":["get_weather"`, "call_3": `There is no tool named \"utterly_different\"`, "call_5": "get_weather ran with {}",
				} {
					if got := o.result(t, id); !strings.Contains(got, want) {
						t.Errorf("%s: got %s, want %s", id, got, want)
					}
				}
				for _, c := range []call{called("call_1", "get_weather", "{}"), called("call_2", "get_wether", "{}"), called("call_3", "utterly_different", "{}")} {
					checkCallAsMade(t, o, c)
				}
			},
		}})
	}
}

// TestMetaTools is what a model sees of each protocol's tools. Their schemas are part of the
// prompt: a change of a byte is a change for every user's cache.
func TestMetaTools(t *testing.T) {
	schemas := map[toolsearch.Protocol][]string{
		toolsearch.ProtocolToolSearch: {`tool_search query:string! max_results:integer`},
		toolsearch.ProtocolRegexp:     {`tool_search regex_pattern:string!`},
		toolsearch.ProtocolSearchAdd:  {`search_tools query:string!`, `add_tool tool_names:array!`, `show_all_tools`, `remove_tool tool_names:array!`},
		toolsearch.ProtocolRanked:     {`tool_search query:string! limit:integer`},
		toolsearch.ProtocolDispatch:   {`tool_search query:string! max_results:integer`, `call_tool name:string! arguments:object`},
	}
	for _, d := range dialects() {
		for _, language := range []toolsearch.Language{toolsearch.English, toolsearch.Chinese} {
			playAll(t, []conversation{{
				name: fmt.Sprint(d.protocol, " ", language), config: toolsearch.Config{Protocol: d.protocol, Language: language},
				saw: []string{d.metas},
				check: func(t *testing.T, o outcome) {
					for i, info := range o.last().Tools {
						definition, err := info.ToJSONSchema()
						if err != nil || definition == nil || definition.Properties == nil {
							t.Fatalf("%s has the schema %+v, %v", info.Name, definition, err)
						}
						want := strings.Fields(schemas[d.protocol][i])
						if info.Name != want[0] || definition.Type != "object" || definition.Properties.Len() != len(want)-1 {
							t.Errorf("tool %d is %s with %d parameters, want %s", i, info.Name, definition.Properties.Len(), want)
						}
						checkProse(t, language, info.Desc)
						for _, parameter := range want[1:] {
							name, kind, _ := strings.Cut(parameter, ":")
							kind, required := strings.CutSuffix(kind, "!")
							property, ok := definition.Properties.Get(name)
							if !ok || property.Type != kind || required != slices.Contains(definition.Required, name) {
								t.Errorf("%s: parameter %s is %+v, required %v", info.Name, name, property, definition.Required)
								continue
							}
							checkProse(t, language, property.Description)
						}
					}
				},
			}})
		}
	}
}

var (
	placeholder = regexp.MustCompile(`\{[a-z-]+\}`)
	chinese     = regexp.MustCompile(`\p{Han}`)
)

// checkProse checks a text the model reads: there, in the language, filled in.
func checkProse(t *testing.T, language toolsearch.Language, text string) {
	t.Helper()
	if text == "" || placeholder.MatchString(text) || chinese.MatchString(text) != (language == toolsearch.Chinese) {
		t.Errorf("language %d: %q", language, text)
	}
}

// TestChineseAnswers: what goes wrong is said in Chinese under every protocol.
func TestChineseAnswers(t *testing.T) {
	for _, d := range dialects() {
		searchTool, _, _ := strings.Cut(d.metas, " ")
		ask := func(arguments string) turn { return toolsearchtest.CallTool(searchTool, arguments) }
		turns := []turn{ask(`{"query":"zzzzzz"}`), ask(`{}`), ask(`{"x":1}`), d.run("get_wether"), d.run("utterly_different"), d.run("send_mail"), ask(`{"query":"(mail"}`)}
		if d.unload != nil {
			turns = append(turns, d.load("zzz"), d.load("get_wether"), d.load("list_stocks"), d.unload("list_stocks"), d.unload("zzz"), ask(`{"query":"mail"}`),
				toolsearchtest.CallTool("add_tool", `{}`), toolsearchtest.CallTool("add_tool", `{"x":1}`))
		}
		if d.protocol == toolsearch.ProtocolDispatch {
			turns = append(turns, search(`{"query":"select:get_weather"}`), toolsearchtest.CallTool("call_tool", `{}`), dispatching("call_tool", `{}`), dispatching("get_weather", `{"city":1}`))
		}
		playAll(t, []conversation{{
			name: d.protocol.String(), config: toolsearch.Config{Protocol: d.protocol, Language: toolsearch.Chinese, Unloaded: toolsearch.UnloadedRefuse}, turns: turns,
			check: func(t *testing.T, o outcome) {
				for _, m := range o.last().Messages {
					if m.Role != toolsearchtest.Tool || strings.HasPrefix(m.Text, `{"matches":[{`) {
						continue
					}
					if !chinese.MatchString(m.Text) || placeholder.MatchString(m.Text) {
						t.Errorf("%s was answered %s", m.CallID, m.Text)
					}
				}
				checkProse(t, toolsearch.Chinese, o.requests[0].Messages[0].Text)
			},
		}})
	}
}

// TestPromptsSayTheSame: every text is there in both languages, with the same things to fill in.
func TestPromptsSayTheSame(t *testing.T) {
	sections := func(file string) map[string][]string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string][]string{}
		for _, section := range strings.Split(string(text), "\n# ")[1:] {
			heading, body, _ := strings.Cut(section, "\n")
			if _, twice := found[heading]; twice {
				t.Errorf("%s has %q twice", file, heading)
			}
			if strings.TrimSpace(body) == "" {
				t.Errorf("%s has nothing under %q", file, heading)
			}
			found[heading] = slices.Compact(slices.Sorted(slices.Values(placeholder.FindAllString(body, -1))))
		}
		return found
	}
	english, chinese := sections("prompt/en.md"), sections("prompt/zh.md")
	for heading, placeholders := range english {
		if other, ok := chinese[heading]; !ok || !slices.Equal(placeholders, other) {
			t.Errorf("%q: in English it fills in %q, in Chinese %q (there: %v)", heading, placeholders, other, ok)
		}
	}
	for heading := range chinese {
		if _, ok := english[heading]; !ok {
			t.Errorf("%q is there in Chinese only", heading)
		}
	}
	if len(english) < 50 {
		t.Errorf("%d texts", len(english))
	}
}

// TestTwoProtocolsInOneAgent: each middleware has its own meta-tools and reads its own results.
func TestTwoProtocolsInOneAgent(t *testing.T) {
	inAllWays(t, testTwoProtocols[*schema.Message], testTwoProtocols[*schema.AgenticMessage])
}

func testTwoProtocols[M adk.MessageType](t *testing.T, w way) {
	garden := echoTools("cut_grass: Mows", "water_plants: Waters")
	for _, news := range dialects() {
		for _, other := range []struct {
			protocol    toolsearch.Protocol
			metas, then string
			load, run   turn
		}{
			{toolsearch.ProtocolSearchAdd, "find find_add_tool find_show_all_tools find_remove_tool", " cut_grass",
				toolsearchtest.CallTool("find_add_tool", `{"tool_names":["cut_grass"]}`), calling("cut_grass")},
			{toolsearch.ProtocolDispatch, "find find_call_tool", "",
				toolsearchtest.CallTool("find", `{"query":"select:cut_grass"}`), toolsearchtest.CallTool("find_call_tool", dispatched("cut_grass", `{}`))},
			{toolsearch.ProtocolRegexp, "find", " cut_grass", toolsearchtest.CallTool("find", `{"regex_pattern":"grass"}`), calling("cut_grass")},
		} {
			for _, newsFirst := range []bool{true, false} {
				name := fmt.Sprintf("%v and %v, in order: %v", news.protocol, other.protocol, newsFirst)
				config := with(
					newMiddleware[M](t, toolsearch.Config{DynamicTools: newsTools(), Protocol: news.protocol, Unloaded: toolsearch.UnloadedRefuse}),
					newMiddleware[M](t, toolsearch.Config{DynamicTools: garden, Protocol: other.protocol, ToolName: "find", Unloaded: toolsearch.UnloadedRefuse}))
				metas := news.metas + " " + other.metas
				if !newsFirst {
					slices.Reverse(config.Handlers)
					metas = other.metas + " " + news.metas
				}
				o := converse(context.Background(), t, w, config,
					news.load("get_weather"), other.load, news.run("get_weather"), other.run, news.run("get_wether"), calling("water_plants"))
				if o.err != nil {
					t.Fatalf("%s: %v", name, o.err)
				}
				loaded := strings.TrimPrefix(news.shows("get_weather"), news.metas)
				for i, want := range []string{metas, metas + loaded, metas + loaded + other.then} {
					if got := o.saw()[i]; got != want {
						t.Errorf("%s, call %d: the model saw %s, want %s", name, i, got, want)
					}
				}
				for id, want := range map[string]string{
					"call_3": "get_weather ran with {}", "call_4": "cut_grass ran with {}", "call_5": "get_wether", "call_6": "so nothing was run",
				} {
					if got := o.result(t, id); !strings.Contains(got, want) {
						t.Errorf("%s: %s was answered %s, want %s", name, id, got, want)
					}
				}
				for i, c := range []call{news.run("get_weather").Calls[0], other.run.Calls[0], news.run("get_wether").Calls[0]} {
					c.ID = fmt.Sprintf("call_%d", i+3)
					checkCallAsMade(t, o, c)
				}
			}
		}
	}
}

// TestProtocolConfigs: New refuses what cannot work.
func TestProtocolConfigs(t *testing.T) {
	ctx := context.Background()
	for _, d := range dialects() {
		_, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: newsTools(), Protocol: d.protocol, UseModelToolSearch: true})
		if native := d.protocol == toolsearch.ProtocolToolSearch; (err == nil) != native || err != nil && !strings.Contains(err.Error(), d.protocol.String()) {
			t.Errorf("%v with UseModelToolSearch: %v", d.protocol, err)
		}
		for _, name := range strings.Fields(d.metas) {
			config := &toolsearch.Config{DynamicTools: echoTools(name + ": Mine"), Protocol: d.protocol}
			if _, err := toolsearch.New(ctx, config); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v: a dynamic tool named %s: %v", d.protocol, name, err)
			}
			agent := newAgent(t, &adk.TypedChatModelAgentConfig[*schema.Message]{
				Model: toolsearchtest.NewModel[*schema.Message](), ToolsConfig: toolsConfig(echoTools(name + ": Mine")...),
				Handlers: []adk.ChatModelAgentMiddleware{newMiddleware[*schema.Message](t, toolsearch.Config{DynamicTools: newsTools(), Protocol: d.protocol})},
			})
			if _, err := runAgent(ctx, adk.TypedAgent[*schema.Message](agent), way{}, question); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v: a static tool named %s: %v", d.protocol, name, err)
			}
		}
	}
	for _, p := range []toolsearch.Protocol{-1, toolsearch.ProtocolDispatch + 1} {
		if _, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: newsTools(), Protocol: p}); err == nil {
			t.Errorf("Protocol %d is taken", p)
		}
	}
}

// TestCatalogToolInAGraph: tool_search without an agent, in a plain graph with a ToolsNode.
func TestCatalogToolInAGraph(t *testing.T) {
	ctx := context.Background()
	catalog, err := toolsearch.NewCatalog(ctx, newsTools(), toolsearch.BM25)
	if err != nil {
		t.Fatal(err)
	}
	node, err := compose.NewToolNode(ctx, &compose.ToolsNodeConfig{Tools: append([]tool.BaseTool{catalog.Tool()}, newsTools()...)})
	if err != nil {
		t.Fatal(err)
	}
	graph := compose.NewGraph[*schema.Message, []*schema.Message]()
	for _, err := range []error{graph.AddToolsNode("tools", node), graph.AddEdge(compose.START, "tools"), graph.AddEdge("tools", compose.END)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	run, err := graph.Compile(ctx)
	if err != nil {
		t.Fatal(err)
	}
	asking := toolsearchtest.Encode[*schema.Message](message{Role: toolsearchtest.Assistant, Calls: []call{
		called("1", "tool_search", `{"query":"price of shares","max_results":1}`), called("2", "tool_search", `{}`), called("3", "get_weather", `{}`),
	}})
	want := []string{`{"matches":["list_stocks"]}`, `{"matches":[],"message":`, "get_weather ran with {}"}
	check := func(how string, results []*schema.Message, err error) {
		if err != nil || len(results) != len(want) {
			t.Fatalf("%s: got %v, %v", how, results, err)
		}
		for i, result := range results {
			if !strings.HasPrefix(result.Content, want[i]) || result.ToolCallID != fmt.Sprint(i+1) {
				t.Errorf("%s: call %d was answered %+v, want %s", how, i+1, result, want[i])
			}
		}
	}
	results, err := run.Invoke(ctx, asking)
	check("invoked", results, err)
	stream, err := run.Stream(ctx, asking)
	if err != nil {
		t.Fatal(err)
	}
	results, err = schema.ConcatMessageArray(collect(t, stream))
	check("streamed", results, err)
}

func collect[T any](t *testing.T, stream *schema.StreamReader[T]) (all []T) {
	t.Helper()
	defer stream.Close()
	for {
		value, err := stream.Recv()
		if err != nil {
			return all
		}
		all = append(all, value)
	}
}
