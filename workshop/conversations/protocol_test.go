package conversations_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// These tests hold for every protocol.

// dialect says how a model uses a protocol.
type dialect struct {
	protocol toolsearch.Protocol
	metas    string                  // the names of the meta-tools
	load     func(name string) turn  // finds a tool and loads it
	run      func(name string) turn  // calls a tool
	unload   func(names string) turn // nil means that the model cannot unload
}

// shows returns the tool list with those tools loaded.
func (d dialect) shows(loaded string) string {
	if d.protocol == toolsearch.ProtocolDispatch {
		return d.metas
	}
	return d.metas + " " + loaded
}

func dialects() []dialect {
	matching := func(name string) turn { return searching(`{"regex_pattern":"^` + name + `$"}`) }
	through := func(name string) turn { return dispatching(name, `{}`) }
	return []dialect{
		{toolsearch.ProtocolToolSearch, "tool_search", selecting, calling, nil},
		{toolsearch.ProtocolRegexp, "tool_search", matching, calling, nil},
		{toolsearch.ProtocolSearchAdd, "search_tools add_tool show_all_tools remove_tool", adding, calling, removing},
		{toolsearch.ProtocolRanked, "tool_search", selecting, calling, nil},
		{toolsearch.ProtocolDispatch, "tool_search call_tool", selecting, through, nil},
	}
}

// Tools that were loaded under a protocol stay loaded under each other protocol, if the caller
// keeps the events.
func TestConversationsGoOnUnderAnotherProtocol(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		for i, from := range dialects() {
			for j, to := range dialects() {
				if playedIn(i+j, w) {
					t.Run(fmt.Sprintf("%v to %v", from.protocol, to.protocol), func(t *testing.T) { testGoOn(t, w, from, to) })
				}
			}
		}
	})
}

func testGoOn(t *testing.T, w way, from, to dialect) {
	for _, unloaded := range []toolsearch.UnloadedPolicy{toolsearch.UnloadedLoadAndRun, toolsearch.UnloadedRefuse} {
		run := func(d dialect, history []message, turns ...turn) (outcome, []string) {
			session := toolsearch.NewSession()
			config := toolsearch.Config{Protocol: d.protocol, Unloaded: unloaded,
				Reminder: toolsearch.ReminderConfig{Position: toolsearch.ReminderFirst}}
			ctx := toolsearch.WithSession(context.Background(), session)
			o := play(t, conversation{config: config, ctx: ctx, history: history, turns: turns}, w)
			require.NoError(t, o.err)
			return o, session.Loaded()
		}
		turns := []turn{from.load("get_weather"), from.run("get_weather"), from.load("list_stocks"), from.run("nothing")}
		want := "get_weather list_stocks"
		if unloaded == toolsearch.UnloadedLoadAndRun {
			turns = append(turns, from.run("send_mail")) // a call without a search
			want += " send_mail"
		}
		if from.unload != nil {
			turns = append(turns, from.unload("list_stocks"))
			want = strings.Replace(want, " list_stocks", "", 1)
		}
		first, loaded := run(from, nil, turns...)
		require.Equal(t, want, strings.Join(loaded, " "), "what the first run loaded")

		// Each run's calls have other IDs, as with a provider.
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
		again := to.run("get_weather")
		again.Calls[0].ID = "again"
		o, loaded := run(to, slices.Concat(question, first.events), again, to.load("get_forecast"))
		checkSaw(t, "the second run's model", o, to.shows(want), to.shows(want), to.shows(want+" get_forecast"))
		assert.Equal(t, "get_weather ran with {}", o.result(t, "again"))
		checkResultNames(t, o)
		names := strings.Fields(want + " get_forecast")
		if to.protocol == toolsearch.ProtocolDispatch { // no tool list shows the order
			assert.ElementsMatch(t, names, loaded, "what was loaded at the end of the second run")
		} else {
			assert.Equal(t, names, loaded, "what was loaded at the end of the second run")
		}
	}
}

// checkResultNames checks that each result has the tool name of its call. Some providers compare the two.
func checkResultNames(t *testing.T, o outcome) {
	t.Helper()
	for _, r := range o.requests {
		names := map[string]string{}
		for _, m := range r.Messages {
			for _, c := range m.Calls {
				names[c.ID] = c.Name
			}
			if m.Role == toolsearchtest.Tool {
				assert.Equal(t, names[m.CallID], m.ToolName, "the name of the result of %s", m.CallID)
			}
		}
	}
}

// Histories of Eino v0.8, and of the programs from which the protocols come, load their tools.
func TestForeignHistories(t *testing.T) {
	round := func(tool, arguments, result string) []message {
		return []message{
			modelCalls(called("c_"+tool, tool, arguments)),
			toolSays("c_"+tool, tool, result),
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
					round("add_tool", `{"tool_names":["get_weather","send_mail"]}`,
						`{"added":["get_weather"],"already_loaded":["send_mail"],"not_found":["list_stocks"],"message":"Added."}`),
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
				name: d.protocol.String() + ": results of other tools, and broken results", config: using(d.protocol),
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

// A dynamic tool or the agent's own tool may have the name of another protocol's meta-tool. Its results load nothing
// and unload nothing.
func TestToolsNamedLikeMetaTools(t *testing.T) {
	var shop []tool.BaseTool
	for name, text := range map[string]string{
		"search_tools": `{"matches":["list_stocks"],"found":1,"tools":[{"name":"list_stocks"}]}`,
		"add_tool":     `{"added":["list_stocks"]}`, "remove_tool": `{"removed":["get_weather"]}`, "call_tool": "called",
	} {
		shop = append(shop, fixed(name, "Shop", text))
	}
	const loaded = "tool_search get_weather"
	rows := []conversation{{
		name: "dynamic tools", dynamic: append(testtools.NewsTools(), shop...),
		turns: []turn{selecting("get_weather"), calling("search_tools"), calling("add_tool"), calling("remove_tool"),
			callTool("call_tool", dispatched("send_mail", `{}`)), selecting("get_weather")},
		saw: []string{"tool_search", loaded, loaded + " search_tools", loaded + " search_tools add_tool",
			loaded + " search_tools add_tool remove_tool", loaded + " search_tools add_tool remove_tool call_tool",
			loaded + " search_tools add_tool remove_tool call_tool"},
	}}
	for _, p := range []toolsearch.Protocol{toolsearch.ProtocolToolSearch, toolsearch.ProtocolRegexp, toolsearch.ProtocolRanked} {
		rows = append(rows, conversation{
			name: fmt.Sprint("the agent's own, ", p), config: using(p), static: shop,
			turns: []turn{callTool("tool_search", `{"query":"select:get_weather","regex_pattern":"get_weather"}`),
				calling("search_tools"), calling("add_tool"), calling("remove_tool"), calling("get_weather")},
			check: func(t *testing.T, o outcome) {
				assert.Equal(t, `{"removed":["get_weather"]}`, o.result(t, "call_4"))
				assert.Contains(t, o.saw()[1], "get_weather")
				assert.Equal(t, slices.Repeat(o.saw()[1:2], 5), o.saw()[1:])
			},
		})
	}
	playAll(t, rows)
}

// fixedTool always answers with the same text.
type fixedTool struct {
	testtools.PlainTool
	text string
}

func fixed(name, description, text string) tool.BaseTool {
	return &fixedTool{testtools.PlainTool{Of: &schema.ToolInfo{Name: name, Desc: description}}, text}
}

func (f *fixedTool) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	return f.text, nil
}

// UnloadedRefuse answers a call of a hidden tool with how to load it. A call of an unknown name is
// answered with near names. Both use the words of the protocol.
func TestPoliciesUnderEveryProtocol(t *testing.T) {
	for _, d := range dialects() {
		if d.protocol == toolsearch.ProtocolDispatch {
			continue // TestProtocolDispatch tests this protocol
		}
		playAll(t, []conversation{{
			name: d.protocol.String(), config: toolsearch.Config{Protocol: d.protocol, Unloaded: toolsearch.UnloadedRefuse},
			turns: []turn{calling("get_weather"), calling("get_wether"), calling("utterly_different"), d.load("get_weather"),
				calling("get_weather")},
			saw: []string{d.metas, d.metas, d.metas, d.metas, d.shows("get_weather"), d.shows("get_weather")},
			check: func(t *testing.T, o outcome) {
				how := map[toolsearch.Protocol]string{
					toolsearch.ProtocolToolSearch: `Load it with tool_search and {\"query\":\"select:get_weather\"}`,
					toolsearch.ProtocolRegexp:     `Load it with tool_search and a pattern that its name matches`,
					toolsearch.ProtocolSearchAdd:  `Load it with add_tool`,
					toolsearch.ProtocolRanked:     `Load it with tool_search and {\"query\":\"select:get_weather\"}`,
				}[d.protocol]
				for id, want := range map[string]string{
					"call_1": how, "call_2": `"suggestions":["get_weather"`, "call_3": `There is no tool named \"utterly_different\"`,
					"call_5": "get_weather ran with {}",
				} {
					assert.Contains(t, o.result(t, id), want, id)
				}
				for _, c := range []call{called("call_1", "get_weather", "{}"), called("call_2", "get_wether", "{}"),
					called("call_3", "utterly_different", "{}")} {
					checkCallAsMade(t, o, c)
				}
			},
		}})
	}
}

// The meta-tools of each protocol have these parameters. The schemas are part of the prompt, so a
// change of a byte changes the prompt of every user.
func TestMetaTools(t *testing.T) {
	schemas := map[toolsearch.Protocol][]string{
		toolsearch.ProtocolToolSearch: {`tool_search query:string! queries:array max_results:integer`},
		toolsearch.ProtocolRegexp:     {`tool_search regex_pattern:string!`},
		toolsearch.ProtocolSearchAdd: {`search_tools query:string!`, `add_tool tool_names:array!`, `show_all_tools`,
			`remove_tool tool_names:array!`},
		toolsearch.ProtocolRanked:   {`tool_search query:string! limit:integer`},
		toolsearch.ProtocolDispatch: {`tool_search query:string! queries:array max_results:integer`, `call_tool name:string! arguments:object`},
	}
	for _, d := range dialects() {
		for _, language := range []toolsearch.Language{toolsearch.English, toolsearch.Chinese} {
			playAll(t, []conversation{{
				name: fmt.Sprint(d.protocol, " ", language), config: toolsearch.Config{Protocol: d.protocol, Language: language},
				saw: []string{d.metas},
				check: func(t *testing.T, o outcome) {
					for i, info := range o.last().Tools {
						definition := testtools.Must(info.ToJSONSchema())(t, info.Name)
						require.NotNil(t, definition, info.Name)
						require.NotNil(t, definition.Properties, info.Name)
						want := strings.Fields(schemas[d.protocol][i])
						assert.Equal(t, want[0], info.Name, "tool %d", i)
						assert.Equal(t, "object", definition.Type, info.Name)
						assert.Equal(t, len(want)-1, definition.Properties.Len(), "%s: the number of parameters", info.Name)
						checkProse(t, language, info.Desc)
						for _, parameter := range want[1:] {
							name, kind, _ := strings.Cut(parameter, ":")
							kind, required := strings.CutSuffix(kind, "!")
							property, ok := definition.Properties.Get(name)
							require.True(t, ok, "%s has the parameter %s", info.Name, name)
							assert.Equal(t, kind, property.Type, "%s: parameter %s", info.Name, name)
							assert.Equal(t, required, slices.Contains(definition.Required, name), "%s: whether %s is required", info.Name, name)
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

// checkProse checks that a text for the model is not empty, has no placeholder, and is in the language.
func checkProse(t *testing.T, language toolsearch.Language, text string) {
	t.Helper()
	assert.NotEmpty(t, text, "language %d", language)
	assert.NotRegexp(t, placeholder, text, "language %d", language)
	assert.Equal(t, language == toolsearch.Chinese, chinese.MatchString(text), "language %d: whether %q is Chinese", language, text)
}

// typedModel is a model with the type name of an adapter.
type typedModel struct {
	*toolsearchtest.Model[chat]
	name string
}

func (m *typedModel) GetType() string { return m.name }

// looselyTyped is a model whose GetType has a value receiver.
type looselyTyped string

func (m looselyTyped) GetType() string { return string(m) }

func TestProtocolFor(t *testing.T) {
	for name, want := range map[string]toolsearch.Protocol{
		"Claude":                  toolsearch.ProtocolNativeReferences,
		"AgenticClaude":           toolsearch.ProtocolNativeDeferred,
		"AgenticOpenAI/Responses": toolsearch.ProtocolNativeDeferred,
		"AgenticOpenAI":           toolsearch.ProtocolToolSearch,
		"OpenAI":                  toolsearch.ProtocolToolSearch,
		"claude":                  toolsearch.ProtocolToolSearch,
		"Claude ":                 toolsearch.ProtocolToolSearch,
		"Ark":                     toolsearch.ProtocolToolSearch,
		"":                        toolsearch.ProtocolToolSearch,
	} {
		assert.Equal(t, want, toolsearch.ProtocolFor(&typedModel{name: name}), "%q", name)
		assert.Equal(t, want, toolsearch.ProtocolFor(looselyTyped(name)), "%q, a value", name)
	}
	for name, chatModel := range map[string]any{
		"nil":                    nil,
		"a nil pointer":          (*typedModel)(nil),
		"a model without a type": toolsearchtest.NewModel[chat](),
		"a model within another": &struct{ model *typedModel }{&typedModel{name: "Claude"}},
		"a number":               7,
	} {
		assert.Equal(t, toolsearch.ProtocolToolSearch, toolsearch.ProtocolFor(chatModel), name)
	}
}

// New refuses an unknown protocol, UseModelToolSearch with another protocol, and a dynamic tool with
// the name of a meta-tool. A run fails if a static tool has such a name.
func TestProtocolConfigs(t *testing.T) {
	ctx := context.Background()
	for _, d := range dialects() {
		for _, name := range strings.Fields(d.metas) {
			mine := testtools.EchoTools(name + ": Mine")
			_, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: mine, Protocol: d.protocol})
			assert.ErrorContains(t, err, name, "%v: a dynamic tool named %s", d.protocol, name)
			o := play(t, conversation{config: using(d.protocol), static: mine}, way{})
			assert.ErrorContains(t, o.err, name, "%v: a static tool named %s", d.protocol, name)
		}
	}
	for p := toolsearch.ProtocolRegexp; p <= toolsearch.ProtocolAnchored; p++ {
		_, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: testtools.NewsTools(), UseModelToolSearch: true, Protocol: p})
		if p != toolsearch.ProtocolNativeDeferred {
			assert.ErrorContains(t, err, "UseModelToolSearch means native_deferred", "%v", p)
			assert.ErrorContains(t, err, p.String())
		}
	}
	for _, p := range []toolsearch.Protocol{-1, toolsearch.ProtocolAnchored + 1} {
		_, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: testtools.NewsTools(), Protocol: p})
		assert.Error(t, err, "Protocol %d", p)
		assert.Equal(t, fmt.Sprintf("Protocol(%d)", p), p.String())
	}
}

// What the model reads of the hidden tools fits what the reminder shows of them: names, groups, or a number at most.
func TestTextsFitTheReminder(t *testing.T) {
	testtools.SkipWithoutGoroutines(t)
	forms := []struct {
		name, lead string // of the reminder
		config     toolsearch.ReminderConfig
		forbidden  string // in every other text
		taught     bool   // group: words, and +group
	}{
		{"names", "Load|Look|6 |用 |这些|下列", toolsearch.ReminderConfig{}, "in these groups|`github: |所在的分组", false},
		{"groups", "6 ", toolsearch.ReminderConfig{MaxTokens: 40},
			`names from|name from|their names;|from the list|[加s] ?列表中的|它们的名称`, true},
		{"a number", "6 ", toolsearch.ReminderConfig{MaxTokens: 1}, "available-deferred-tools|group|分组", false},
		{"no groups", "6 ", toolsearch.ReminderConfig{MaxTokens: 40}, "available-deferred-tools|group|分组", false},
		{"nothing", "^$", toolsearch.ReminderConfig{Disabled: true}, "deferred|列表中取|group|分组", false},
		{"nothing to list", "^$", toolsearch.ReminderConfig{}, "deferred|列表中取|group|分组", false},
	}
	mistakes := []turn{searching(`{"query":"zzz"}`), searching(`{"query":"select:get_wether"}`), searching(`{"query":"select:zzz"}`),
		searching(`{}`), searching(`{"query":{}}`), calling("zzz"), calling("get_wether"), calling("get_weather")}
	for _, form := range forms {
		for _, protocol := range []toolsearch.Protocol{
			toolsearch.ProtocolToolSearch, toolsearch.ProtocolRanked, toolsearch.ProtocolDispatch, toolsearch.ProtocolNativeReferences,
			toolsearch.ProtocolAnchored, toolsearch.ProtocolSearchAdd,
		} {
			for language, name := range map[toolsearch.Language]string{toolsearch.English: "English", toolsearch.Chinese: "Chinese"} {
				t.Run(fmt.Sprintf("%s/%v/%s", form.name, protocol, name), func(t *testing.T) {
					config := toolsearch.Config{DynamicTools: officeTools(), Protocol: protocol, Language: language, Reminder: form.config}
					switch form.name {
					case "nothing to list":
						config.AlwaysLoaded = []string{"*"}
					case "no groups":
						config.Annotate = func(*schema.ToolInfo) toolsearch.Annotation { return toolsearch.Annotation{} }
					}
					assert.Regexp(t, form.lead, strings.TrimPrefix(reminderOf(t, config), reminderOpen))
					o := play(t, conversation{config: config, turns: mistakes}, way{})
					require.NoError(t, o.err)
					var texts strings.Builder
					for _, info := range o.requests[0].Tools {
						description, parameters := descriptionOf(t, o, info.Name)
						fmt.Fprintln(&texts, description, parameters)
					}
					for _, m := range o.last().Messages {
						if !strings.HasPrefix(m.Text, reminderOpen) {
							texts.WriteString("\n" + m.Text)
						}
					}
					assert.NotRegexp(t, form.forbidden, texts.String())
					isTaught := form.taught && protocol != toolsearch.ProtocolSearchAdd // whose patterns know no groups
					assert.Equal(t, isTaught, strings.Contains(texts.String(), "`github: close issue`"), texts.String())
				})
			}
		}
	}
}
