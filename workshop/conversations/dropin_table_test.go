package conversations_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// The programs of dropin_test.go: what runs with Eino's package, in its own tests and beyond them.

const (
	isMistake = "a model's mistake does not end the run"
	isInvalid = "New refuses what no provider takes, before a run does"

	allDeferred = "deferred: get_weather get_forecast send_mail list_stocks mcp__slack__send_message; search tool: tool_search"
	everyTwice  = "sees tool_search get_weather get_forecast send_mail list_stocks mcp__slack__send_message; " + allDeferred
)

func ofMessages(w way) bool            { return !w.agentic }
func agenticWithRunner(w way) bool     { return w.agentic && w.runner }
func agenticAlone(w way) bool          { return w.agentic && !w.runner }
func failUnknown(c *toolsearch.Config) { c.Unknown = toolsearch.UnknownFail }
func answerNames(_ context.Context, name, _ string) (string, error) {
	return "the handler answers " + name, nil
}

var dropInTable = []program{
	// Searches.
	{name: "keywords, then a call", defines: true, turns: []turn{searching(`{"query":"weather"}`), calling("get_weather")}},
	{name: "`+word`, and `max_results`", turns: []turn{searching(`{"query":"+send mail","max_results":1}`),
		searching(`{"query":"+slack send"}`), searching(`{"query":"weather","max_results":-1}`)}},
	{name: "five results by default", dynamic: numberedTools(9),
		turns: []turn{searching(`{"query":"does"}`), searching(`{"query":"does","max_results":8}`)}},
	{
		name: "60 results", dynamic: numberedTools(60), turns: []turn{searching(`{"query":"does","max_results":60}`)},
		eino:   []string{"call 2 sees 61 tools: tool_search tool_000 tool_001 …", `reads tool tool_search: {"matches":["tool_000",…`},
		here:   []string{"call 2 sees 51 tools: tool_search tool_000 tool_001 …", `reads tool tool_search: {"matches":["tool_000",…`},
		reason: "everything that a model asks for is bounded", setting: "`Limits: toolsearch.Limits{MaxResultsCap: 60}`",
		set: func(c *toolsearch.Config) { c.Limits.MaxResultsCap = 60 },
	},
	{name: "names in camel case and in Chinese", dynamic: testtools.EchoTools("NotebookEdit: Edits", "查询_天气: 天气", "HTTPServer: Serves"),
		turns: []turn{searching(`{"query":"notebook"}`), searching(`{"query":"天气"}`), searching(`{"query":"http server"}`)}},
	{name: "two searches in a message, and one of them again", turns: []turn{
		callTools(called("a", "tool_search", `{"query":"mail"}`), called("b", "tool_search", `{"query":"stocks"}`)),
		searching(`{"query":"mail"}`)}},
	{
		name: "nothing matches", turns: []turn{searching(`{"query":"zzzzzz"}`)},
		eino:   []string{`reads tool tool_search: {"matches":null}`},
		here:   []string{`reads tool tool_search: {"matches":[],"message":"No tool matches. …`},
		reason: "the model is told what to do instead",
	},
	{
		name: "an empty query", turns: []turn{searching(`{"query":" "}`)},
		eino: []string{"the run ends in an error", "messages for the caller: 1"},
		here: []string{"call 2 sees tool_search", `reads a call of tool_search with {"query":" "}`,
			`reads tool tool_search: {"matches":[],"message":"The query is empty. …`,
			"messages for the caller: 3"},
		reason: isMistake,
	},
	{
		name: "arguments that are not JSON", turns: []turn{searching(`weather`)},
		eino: []string{"the run ends in an error", "messages for the caller: 1"},
		here: []string{"call 2 sees tool_search get_weather get_forecast", "reads a call of tool_search with {}",
			`reads tool tool_search: {"matches":["get_weather","get_forecast"]}`,
			"messages for the caller: 3"},
		reason: isMistake + ", and what was meant is found",
	},
	{
		name: "a number as text", turns: []turn{searching(`{"query":"weather","max_results":"1"}`)},
		eino: []string{"the run ends in an error", "messages for the caller: 1"},
		here: []string{"call 2 sees tool_search get_weather",
			`reads a call of tool_search with {"query":"weather","max_results":"1"}`, `reads tool tool_search: {"matches":["get_weather"]}`,
			"messages for the caller: 3"},
		reason: isMistake,
	},
	{
		name: "a list of queries", turns: []turn{searching(`{"query":["weather","mail"]}`)},
		eino: []string{"the run ends in an error", "messages for the caller: 1"},
		here: []string{"call 2 sees tool_search get_weather send_mail get_forecast",
			`reads a call of tool_search with {"query":["weather","mail"]}`,
			`reads tool tool_search: {"matches":["get_weather","send_mail","get_forecast"]}`, "messages for the caller: 3"},
		reason: "here it is a feature",
	},
	{
		name: "a query of 65 words", turns: []turn{searching(`{"query":"` + strings.Repeat("zz ", 64) + `mail"}`)},
		eino:   []string{"call 2 sees tool_search send_mail", `reads tool tool_search: {"matches":["send_mail"]}`},
		here:   []string{"call 2 sees tool_search", `reads tool tool_search: {"matches":[],"message":"No tool matches. …`},
		reason: "a query is read up to 64 words or 4 KiB",
	},
	// Selections.
	{name: "`select:`", turns: []turn{searching(`{"query":"select: send_mail , list_stocks"}`),
		searching(`{"query":"select:get_weather","max_results":0}`)}},
	{
		name: "`select:` of a name that no tool has", turns: []turn{searching(`{"query":"select:send_mail,get_wether"}`)},
		eino:   []string{`reads tool tool_search: {"matches":["send_mail"]}`},
		here:   []string{`reads tool tool_search: {"matches":["send_mail"],"not_found":["get_wether"],"suggestions":["get_weather"],"message":"No tool has the names in…`},
		reason: "the model is told which name was wrong",
	},
	{
		name: "`select:` in another spelling", turns: []turn{searching(`{"query":"select:Send-Mail"}`)},
		eino:   []string{"call 2 sees tool_search", `reads tool tool_search: {"matches":null}`},
		here:   []string{"call 2 sees tool_search send_mail", `reads tool tool_search: {"matches":["send_mail"]}`},
		reason: "models mix up spellings",
	},
	{name: "`select:` of a name twice", turns: []turn{searching(`{"query":"select:send_mail,send_mail"}`)},
		eino: []string{`reads tool tool_search: {"matches":["send_mail","send_mail"]}`},
		here: []string{`reads tool tool_search: {"matches":["send_mail"]}`}, reason: "a tool is loaded once"},
	{
		name: "`select:` of 201 names", dynamic: numberedTools(201), turns: []turn{selecting(strings.Join(toolNames(201), ","))},
		eino:   []string{"call 2 sees 202 tools: tool_search tool_000 tool_001 …", `reads tool tool_search: {"matches":["tool_000",…`},
		here:   []string{"call 2 sees 201 tools: tool_search tool_000 tool_001 …", `reads tool tool_search: {"matches":["tool_000",…`},
		reason: "a selection is read up to 200 names",
	},
	// Tools.
	{name: "an instruction and own tools", prompt: "Be brief.", static: testtools.EchoTools("clock: The time"),
		turns: []turn{calling("clock"), searching(`{"query":"mail"}`), calling("send_mail")}},
	{name: "a tool that returns directly", tools: adk.ToolsConfig{ReturnDirectly: map[string]bool{"get_weather": true}},
		turns: []turn{searching(`{"query":"weather"}`), calling("get_weather")}},
	{name: "a tool that fails", dynamic: []tool.BaseTool{errorTool{testtools.InfoOnly{Of: takingNothing("cut_grass")}, mows}},
		turns: []turn{searching(`{"query":"grass"}`), calling("cut_grass")}},
	{name: "a tool that interrupts, and a resumption",
		dynamic: append(testtools.NewsTools(),
			&testtools.ConfirmTool{PlainTool: testtools.PlainTool{Of: takingNothing("delete_all")}}),
		interrupted: true, turns: []turn{selecting("get_weather,delete_all"), calling("delete_all"), calling("get_weather")}},
	{
		name: "a tool both in `ToolsConfig` and in `DynamicTools`", static: testtools.EchoTools("get_weather: Mine"),
		turns: []turn{calling("get_weather"), searching(`{"query":"weather"}`)},
		eino: []string{"call 1 sees tool_search", "reads the reminder of get_weather get_forecast send_mail list_stocks mcp__slack__send_message", "call 2 sees tool_search",
			"call 3 sees tool_search get_weather get_forecast", `reads tool tool_search: {"matches":["get_weather","get_forecast"]}`},
		here: []string{"call 1 sees get_weather tool_search",
			"reads the reminder of get_forecast send_mail list_stocks mcp__slack__send_message", "call 2 sees get_weather tool_search",
			"call 3 sees get_weather tool_search get_forecast", `reads tool tool_search: {"matches":["get_forecast"]}`},
		reason: "the agent's own tool comes first and stays visible; an event says so",
	},
	{
		name: "a call of a tool that was not searched for", turns: []turn{calling("get_weather"), calling("get_weather")},
		eino:   []string{"call 2 sees tool_search", "call 3 sees tool_search"},
		here:   []string{"call 2 sees tool_search get_weather", "call 3 sees tool_search get_weather"},
		reason: "the tool runs with both; here it stays loaded, so the next call is made with its parameters at hand",
	},
	{
		name: "a call of a name that no tool has", turns: []turn{calling("get_wether")},
		eino: []string{"the run ends in an error", "messages for the caller: 1"},
		here: []string{"call 2 sees tool_search", "reads a call of get_wether with {}",
			`reads tool get_wether: {"matches":[],"not_found":["get_wether"],"suggestions":["get_weather"],…`,
			"messages for the caller: 3",
			`the caller gets tool tool_search: {"matches":[],"not_found":["get_wether"],"suggestions":["get_weather"],…`},
		reason: isMistake, setting: "`Unknown: UnknownFail`", set: failUnknown,
	},
	{
		name: "an `UnknownToolsHandler`", turns: []turn{calling("get_wether")},
		tools: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{UnknownToolsHandler: answerNames}},
		eino:  []string{"reads tool get_wether: the handler answers get_wether", "messages for the caller: 2"},
		here: []string{`reads tool get_wether: {"matches":[],"not_found":["get_wether"],"suggestions":["get_weather"],…`,
			"messages for the caller: 3",
			`the caller gets tool tool_search: {"matches":[],"not_found":["get_wether"],"suggestions":["get_weather"],…`},
		reason: "a middleware cannot see the handler", setting: "`Unknown: UnknownFail`", set: failUnknown,
	},
	{
		name: "`ToolAliases`", turns: []turn{calling("meteo")},
		tools: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{
			ToolAliases: map[string]compose.ToolAliasConfig{"get_weather": {NameAliases: []string{"meteo"}}}}},
		eino: []string{"reads tool meteo: get_weather ran with {}"},
		here: []string{`reads tool meteo: {"matches":[],"not_found":["meteo"],"message":"There is no tool named…`,
			`the caller gets tool tool_search: {"matches":[],"not_found":["meteo"],…`},
		reason: "a middleware cannot see aliases", setting: "`Unknown: UnknownFail`", set: failUnknown,
	},
	// Histories.
	{name: "a history with a search", history: searchedBefore(`{"matches":["send_mail","gone"]}`), turns: []turn{calling("send_mail")}},
	{
		name:    "a stored history whose results lost the names of their tools",
		history: changed(searchedBefore(`{"matches":["send_mail"]}`), func(m *message) { m.ToolName = "" }),
		eino:    []string{"call 1 sees tool_search"},
		here:    []string{"call 1 sees tool_search send_mail"},
		reason:  "the call of a result says of which tool it is",
	},
	{name: "a history with a broken search", history: searchedBefore(`{"matches":["send_mail"`)},
	{name: "a history with the reminder", history: []message{systemSays("Be brief."),
		{Role: toolsearchtest.User, Text: einoReminder, Extra: einoMark}}},
	{name: "a stored history whose reminder lost its `Extra`", history: []message{userSays(einoReminder)},
		eino:   []string{"reads the reminder of get_weather get_forecast send_mail list_stocks mcp__slack__send_message, again"},
		reason: "a reminder is also recognised by its text"},
	{
		name: "a history with the reminder of other tools",
		history: []message{{Role: toolsearchtest.User, Text: "<available-deferred-tools>\ncut_grass\n</available-deferred-tools>",
			Extra: einoMark}},
		eino:   []string{"reads the reminder of cut_grass"},
		here:   []string{"reads the reminder of get_weather get_forecast send_mail list_stocks mcp__slack__send_message"},
		reason: "a reminder that is out of date is replaced",
	},
	// Native search.
	{
		name: "native search, `*schema.Message`", native: true, in: ofMessages, static: testtools.EchoTools("clock: The time"),
		turns:  []turn{searching(`{"query":"weather"}`), calling("get_weather")},
		here:   []string{`the caller gets tool tool_search: {"matches":["get_weather","get_forecast"]}`},
		reason: "in the history a result is text, since Eino's reduction ends a run over a native result; the model gets the native result",
	},
	{name: "native search, `*schema.AgenticMessage` with a Runner", native: true, in: agenticWithRunner,
		static: testtools.EchoTools("clock: The time"), turns: []turn{searching(`{"query":"weather"}`), calling("get_weather")}},
	{
		name: "native search, `*schema.AgenticMessage` without a Runner", native: true, in: agenticAlone,
		static: testtools.EchoTools("clock: The time"),
		turns:  []turn{searching(`{"query":"weather"}`), calling("get_weather")},
		eino:   []string{"call 2 sees clock; search tool: tool_search", "call 3 sees clock; search tool: tool_search"},
		here:   []string{"call 2 sees clock; " + allDeferred, "call 3 sees clock; " + allDeferred},
		reason: "Eino's package loses the catalog after the first call",
	},
	{
		name: "native search without own tools, `*schema.Message`", native: true, in: ofMessages,
		turns: []turn{searching(`{"query":"weather"}`), calling("get_weather")},
		eino:  []string{"call 2 " + everyTwice, "call 3 " + everyTwice},
		here: []string{"call 2 sees no tool; " + allDeferred, "call 3 sees no tool; " + allDeferred,
			`the caller gets tool tool_search: {"matches":["get_weather","get_forecast"]}`},
		reason: "Eino's package sends every tool twice",
	},
	{
		name: "native search without own tools, `*schema.AgenticMessage` with a Runner", native: true, in: agenticWithRunner,
		turns:  []turn{searching(`{"query":"weather"}`), calling("get_weather")},
		eino:   []string{"call 2 " + everyTwice, "call 3 " + everyTwice},
		here:   []string{"call 2 sees no tool; " + allDeferred, "call 3 sees no tool; " + allDeferred},
		reason: "Eino's package sends every tool twice",
	},
	{name: "native search without own tools, `*schema.AgenticMessage` without a Runner", native: true, in: agenticAlone,
		turns: []turn{searching(`{"query":"weather"}`), calling("get_weather")}},
	// Configurations.
	{name: "no config", nilConfig: true},
	{name: "no tools", dynamic: []tool.BaseTool{}},
	{name: "two tools with one name", dynamic: testtools.EchoTools("get_weather: One", "get_weather: Two")},
	{
		name: "two middlewares", twice: true,
		eino: []string{"call 1 sees tool_search tool_search",
			"reads the reminder of get_weather get_forecast send_mail list_stocks mcp__slack__send_message", "reads user: What is new?",
			"messages for the caller: 1"},
		here:   []string{"the run ends in an error", "messages for the caller: 0"},
		reason: "providers refuse two tools with one name; the error says to set `ToolName`",
	},
	{
		name: "a tool named `tool_search`", dynamic: testtools.EchoTools("tool_search: Mine"),
		eino: []string{"call 1 sees no tool", "reads the reminder of tool_search", "reads user: What is new?", "messages for the caller: 1"},
		here: []string{"New fails"}, reason: "the model could not search",
	},
	{name: "a nil tool", dynamic: []tool.BaseTool{nil}, eino: []string{"New fails by a panic"}, here: []string{"New fails"},
		reason: "a program can handle an error"},
	{
		name: "a tool without a name", dynamic: testtools.EchoTools(": Nameless", "get_weather: Weather"),
		eino: []string{"call 1 sees tool_search", "reads the reminder of  get_weather", "reads user: What is new?", "messages for the caller: 1"},
		here: []string{"New fails"}, reason: isInvalid,
	},
	{name: "a tool that cannot be called", dynamic: []tool.BaseTool{testtools.InfoOnly{Of: &schema.ToolInfo{Name: "show"}}},
		eino: []string{"the run ends in an error", "messages for the caller: 0"}, here: []string{"New fails"},
		reason: "you find an error at the start before a user does"},
	// Words.
	{
		name: "the words of the prompts", verbatim: true,
		eino: []string{"tool_search says Search for or select deferred tools to make them available for use.",
			`tool_search takes {"properties":{"max_results":{"description":"Maximum…`},
		here: []string{"tool_search says Finds tools and makes them callable.",
			`tool_search takes {"properties":{"max_results":{"description":"How many…`,
			"reads the reminder: Load these with tool_search before use:"},
		reason: "the prompts are this library's own; `Texts` replaces any of them",
	},
	{
		name: "a tool without parameters", defines: true, dynamic: []tool.BaseTool{&testtools.PlainTool{Of: &schema.ToolInfo{Name: "show", Desc: "Shows"}}}, turns: []turn{searching(`{"query":"show"}`)},
		eino: []string{"show takes null"}, here: []string{`show takes {"properties":{},"type":"object"}`},
		reason: "some adapters send no schema for null, which providers refuse",
	},
}

const einoReminder = "<available-deferred-tools>\nget_weather\nget_forecast\nsend_mail\nlist_stocks\nmcp__slack__send_message\n</available-deferred-tools>"

// einoMark is what Eino's package leaves in the Extra of its reminder.
var einoMark = map[string]any{"__toolsearch_reminder__": true}

func toolNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("tool_%03d", i))
	}
	return names
}

func numberedTools(n int) (tools []tool.BaseTool) {
	for _, name := range toolNames(n) {
		tools = append(tools, testtools.EchoTools(name+": Does")...)
	}
	return tools
}

func takingNothing(name string) *schema.ToolInfo {
	return &schema.ToolInfo{Name: name, ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{})}
}

func searchedBefore(result string) []message {
	return []message{
		userSays("Any mail?"),
		modelCalls(called("before", "tool_search", `{"query":"mail"}`)),
		toolSays("before", "tool_search", result),
		modelSays("No."),
	}
}
