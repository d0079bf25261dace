package conversations_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// These tests play the protocols with other meta-tools. They check the tools that the model sees in
// each call, and the bytes of each answer.

// says returns a check of the answers to the model's calls, in the order of the calls. What ends in "…" is the
// beginning of an answer.
func says(want ...string) func(*testing.T, outcome) {
	return func(t *testing.T, o outcome) {
		t.Helper()
		var got []string
		for _, m := range o.last().Messages {
			if m.Role == toolsearchtest.Tool {
				got = append(got, m.Text)
			}
		}
		for i := range min(len(got), len(want)) {
			if beginning, cut := strings.CutSuffix(want[i], "…"); cut && strings.HasPrefix(got[i], beginning) {
				got[i] = want[i]
			}
		}
		assert.Equal(t, want, got, "the answers")
	}
}

const (
	noRegexpMatch = "No tool's name matches. Try a shorter pattern or another word, such as `mail|message`. If no tool can do it, tell the user."
	wrongPattern  = `{"selectedTools":[],"message":"The pattern is not a valid regular expression: `
	noNames       = `"No names were given. Give a list of names, such as {\"tool_names\": [\"name_one\", \"name_two\"]}."`
	badNames      = `"The arguments could not be read. Give a JSON object with a list of names, such as {\"tool_names\": [\"name_one\", \"name_two\"]}."`
	added         = `"Loaded: you can call them from your next turn on."`
)

func TestProtocolRegexp(t *testing.T) {
	pattern := func(p string) turn {
		arguments, _ := json.Marshal(map[string]string{"regex_pattern": p})
		return searching(string(arguments))
	}
	playAll(t, []conversation{
		{
			name: "tools whose names match are loaded, in the order of the catalog", config: using(toolsearch.ProtocolRegexp),
			turns: []turn{pattern("^GET_(weather|forecast)$"), pattern("send|stocks"), calling("get_weather")},
			saw: []string{"tool_search", "tool_search get_weather get_forecast",
				"tool_search get_weather get_forecast send_mail list_stocks mcp__slack__send_message",
				"tool_search get_weather get_forecast send_mail list_stocks mcp__slack__send_message"},
			check: says(`{"selectedTools":["get_weather","get_forecast"]}`,
				`{"selectedTools":["send_mail","list_stocks","mcp__slack__send_message"]}`, "get_weather ran with {}"),
		},
		{
			name:   "with an Index the best match comes first",
			config: toolsearch.Config{Protocol: toolsearch.ProtocolRegexp, Index: toolsearch.Regexp},
			turns:  []turn{pattern("send|^list_stocks$")},
			check:  says(`{"selectedTools":["list_stocks","send_mail","mcp__slack__send_message"]}`),
		},
		{
			name: "there is no list of names", config: using(toolsearch.ProtocolRegexp),
			check: func(t *testing.T, o outcome) {
				require.Len(t, o.last().Messages, 1, "what the model was told")
				assert.Equal(t, "What is new?", o.last().Messages[0].Text)
			},
		},
		{
			name: "there is a list of names where a Config asks for it", config: toolsearch.Config{
				Protocol: toolsearch.ProtocolRegexp, Reminder: toolsearch.ReminderConfig{Position: toolsearch.ReminderFirst}},
			check: func(t *testing.T, o outcome) {
				assert.Contains(t, o.last().Messages[0].Text, "<available-deferred-tools>\nLoad these with tool_search before use:\nget_weather\n")
			},
		},
		{name: "descriptions are not searched", config: using(toolsearch.ProtocolRegexp), turns: []turn{pattern("shares")},
			saw: []string{"tool_search", "tool_search"}, check: says(`{"selectedTools":[],"message":"` + noRegexpMatch + `"}`)},
		{
			name: "a wrong pattern is answered with the mistake and the fragment", config: using(toolsearch.ProtocolRegexp),
			turns: []turn{pattern("send(mail"), pattern("*mail"), pattern("(?=mail)"), pattern(strings.Repeat("(x{9}){9}", 9)),
				pattern(strings.Repeat("x", 300))},
			saw: slices.Repeat([]string{"tool_search"}, 6),
			check: says(
				wrongPattern+"missing closing ), in `send(mail`…", wrongPattern+"missing argument to repetition operator, in `*`…",
				wrongPattern+"invalid or unsupported Perl syntax, in `(?=`…", "…",
				`{"selectedTools":[],"message":"The pattern is longer than 256 bytes…`),
		},
		{
			name: "mistakes in the arguments", config: using(toolsearch.ProtocolRegexp),
			turns: []turn{searching(``), searching(`{}`), searching(`{"regex_pattern":""}`), searching(`{"regex_pattern":{}}`),
				searching(`{"words":"mail"}`)},
			check: says(slices.Concat(
				slices.Repeat([]string{`{"selectedTools":[],"message":"The pattern is empty. Give a regular expression …`}, 3),
				slices.Repeat([]string{`{"selectedTools":[],"message":"The arguments could not be read. Give a JSON object with a \"regex…`}, 2))...),
		},
		{
			name: "other spellings of the arguments", config: using(toolsearch.ProtocolRegexp),
			turns: []turn{searching(`{"query":"stocks"}`), searching(`{"pattern":"stocks"}`), searching(`"stocks"`),
				searching(`{"regex_pattern":["stocks","mail"]}`)},
			check: says(`{"selectedTools":["list_stocks"]}`, `{"selectedTools":["list_stocks"]}`, `{"selectedTools":["list_stocks"]}`,
				`{"selectedTools":["list_stocks","send_mail"]}`),
		},
		{
			name: "names can be selected, and the answer has the names that were not found", config: using(toolsearch.ProtocolRegexp),
			turns: []turn{pattern("select:send_mail,get_wether")}, saw: []string{"tool_search", "tool_search send_mail"},
			check: says(`{"selectedTools":["send_mail"],"not_found":["get_wether"],"suggestions":["get_weather"],"message":"…`),
		},
		{
			name: "the ceiling bounds the matches", config: using(toolsearch.ProtocolRegexp), dynamic: numberedTools(60),
			turns: []turn{pattern(".")},
			check: func(t *testing.T, o outcome) {
				assert.Len(t, o.last().Tools, 1+50, "tool_search and 50")
			},
		},
	})
}

func TestProtocolSearchAdd(t *testing.T) {
	find := func(arguments string) turn { return callTool("search_tools", arguments) }
	add := func(arguments string) turn { return callTool("add_tool", arguments) }
	remove := func(arguments string) turn { return callTool("remove_tool", arguments) }
	const metas = "search_tools add_tool show_all_tools remove_tool"
	start := using(toolsearch.ProtocolSearchAdd)
	always := using(toolsearch.ProtocolSearchAdd)
	always.AlwaysLoaded = []string{"send_*"}
	var many []string
	for i, name := range toolNames(600) {
		many = append(many, fmt.Sprintf("%s: Does <b>%d</b>\nand more", name, i))
	}
	list := func(from, to int) string { return `"` + strings.Join(toolNames(600)[from:to], `","`) + `"` }
	weather := `{"name":"get_weather","description":"Current weather of a city"}`
	forecast := `{"name":"get_forecast","description":"Weather of the coming days"}`
	playAll(t, []conversation{
		{
			name: "search_tools finds tools, and add_tool loads them", config: start,
			turns: []turn{find(`{"query":"weather"}`), add(`{"tool_names":["get_weather"]}`), calling("get_weather")},
			saw:   []string{metas, metas, metas + " get_weather", metas + " get_weather"},
			check: says(
				`{"found":2,"tools":[`+weather+`,`+forecast+`],"message":"2 found. Load what you need with add_tool."}`,
				`{"added":["get_weather"],"already_loaded":[],"not_found":[],"message":`+added+`}`,
				"get_weather ran with {}"),
		},
		{
			name: "required parameters, on one line", config: start, turns: []turn{find(`{"query":"pay"}`)},
			dynamic: []tool.BaseTool{&testtools.PlainTool{Of: &schema.ToolInfo{Name: "pay", Desc: "Pays\n\n\tnow", ParamsOneOf: schema.NewParamsOneOfByParams(
				map[string]*schema.ParameterInfo{"to": {Type: schema.String, Required: true}, "note": {Type: schema.String}})}}},
			check: says(`{"found":1,"tools":[{"name":"pay","description":"Pays now","required":"to"}],"message":"1 found. Load what you need with add_tool."}`),
		},
		{
			name: "a pattern that matches a description, a near word, and a word without a match", config: start,
			turns: []turn{find(`{"query":"prices.*shares"}`), find(`{"query":"wether"}`), find(`{"query":"zzzzzz"}`), find(`{"queries":["prices","PRICES "]}`)},
			check: says(
				`{"found":1,"tools":[{"name":"list_stocks","description":"Prices of shares"}],"message":"1 found. Load what you need with add_tool."}`,
				`{"found":1,"tools":[`+weather+`],"message":"Nothing matches exactly; the nearest are shown. Load what fits with add_tool."}`,
				`{"found":0,"tools":[],"message":"No tool matches. Try another word or a shorter pattern; show_all_tools lists every tool. If none can do it, tell the user."}`,
				`{"found":1,"tools":[{"name":"list_stocks","description":"Prices of shares","found_by":"prices | PRICES"}],"message":"1 found. Load what you need with add_tool."}`),
		},
		{
			name: "misspelled names and whole names that match nothing find their tools", config: start,
			dynamic: append(testtools.NewsTools(), testtools.EchoTools("tool_001: Does", "tool_002: Does", "hotel: 酒店预订工具")...),
			turns: []turn{find(`{"query":"get_wether"}`), find(`{"query":"send_mial"}`), find(`{"query":"tol_001"}`),
				find(`{"query":"wether city"}`), find(`{"query":"send msg"}`), find(`{"query":"Slack-Send-Message"}`), find(`{"query":"^send mail$"}`), find(`{"query":"预订酒店"}`)},
			check: func(t *testing.T, o outcome) {
				for i, want := range []string{"get_weather", "send_mail", "tool_001", "get_weather", "mcp__slack__send_message",
					"mcp__slack__send_message", "send_mail", "hotel"} {
					id := fmt.Sprintf("call_%d", i+1)
					var got struct {
						Found   int
						Tools   []struct{ Name string }
						Message string
					}
					require.NoError(t, json.Unmarshal([]byte(o.result(t, id)), &got), id)
					require.NotEmpty(t, got.Tools, id)
					assert.Equal(t, want, got.Tools[0].Name, id)
					assert.LessOrEqual(t, len(got.Tools), 5, "%s: the tools that are shown", id)
					assert.Len(t, got.Tools, got.Found, "%s: what has been found is what is shown", id)
					assert.Equal(t, "Nothing matches exactly; the nearest are shown. Load what fits with add_tool.", got.Message, id)
				}
			},
		},
		{
			name: "a wrong pattern", config: start,
			turns: []turn{find(`{"query":"send(mail"}`), find(`{"query":["send(mail","stocks"]}`)},
			check: says(
				`{"error":"invalid regex pattern: The pattern is not a valid regular expression: missing closing ), in `+"`send(mail`"+
					`. The syntax is RE2, without look-around or backreferences. Write `+"`.*`"+` for any text, and a backslash before a special character to match it literally."}`,
				`{"found":1,"tools":[{"name":"list_stocks","description":"Prices of shares","found_by":"stocks"}],"message":"The pattern is not a valid …`),
		},
		{name: "near tools beside one that is loaded", dynamic: testtools.EchoTools("weather_a: x", "weather_b: x", "weather_c: x", "weather_d: x"),
			config: toolsearch.Config{Protocol: toolsearch.ProtocolSearchAdd, Index: toolsearch.BM25, Fallback: toolsearch.Fuzzy},
			turns:  []turn{add(`{"tool_names":["weather_a"]}`), find(`{"query":"wethr","max_results":2}`)},
			check: says("…", `{"found":2,"tools":[{"name":"weather_b","description":"x"},{"name":"weather_c","description":"x"}],`+
				`"already_loaded":["weather_a"],"message":"Nothing matches exactly; the nearest are shown. Load what fits with add_tool."}`)},
		{name: "long queries that begin with the same words", dynamic: testtools.EchoTools("pulls: Pull requests", "bugs: Issues"),
			config: toolsearch.Config{Protocol: toolsearch.ProtocolSearchAdd, Index: toolsearch.BM25},
			turns:  []turn{find(`{"queries":["of everything in this repository list its pull requests","of everything in this repository list its issues"]}`)},
			check: says(`{"found":2,"tools":[{"name":"pulls","description":"Pull requests","found_by":"1. of everything in this repository list"},` +
				`{"name":"bugs","description":"Issues","found_by":"2. of everything in this repository list"}],"message":"2 found. Load what you need with add_tool."}`)},
		{name: "what is loaded is named", config: toolsearch.Config{Protocol: toolsearch.ProtocolSearchAdd, Index: toolsearch.BM25},
			turns: []turn{add(`{"tool_names":["get_weather","get_forecast"]}`), find(`{"query":"weather"}`)}, check: says("…",
				`{"found":2,"tools":[],"already_loaded":["get_weather","get_forecast"],"message":"2 found. Load what you need with add_tool."}`)},
		{
			name: "mistakes in a search", config: start,
			turns: []turn{find(``), find(`{}`), find(`{"query":" "}`), find(`{"query":{}}`), find(`{"words":"mail"}`)},
			check: says(slices.Concat(
				slices.Repeat([]string{`{"found":0,"tools":[],"message":"The query is empty. Give a regular expression …`}, 3),
				slices.Repeat([]string{`{"found":0,"tools":[],"message":"The arguments could not be read. Give a JSON object with a \"qu…`}, 2))...),
		},
		{
			name: "show_all_tools shows the names of all tools, and the reminder has the categories", config: start,
			turns: []turn{calling("show_all_tools"), callTool("show_all_tools", ``)},
			check: func(t *testing.T, o outcome) {
				const all = `{"total":5,"tools":["get_weather","get_forecast","send_mail","list_stocks","mcp__slack__send_message"]}`
				says(all, all)(t, o)
				const want = "5 tools can be searched with search_tools and loaded with add_tool, in these categories:\n" +
					"in no category (4): weather, mail, forecast, list, stocks, city, coming\nslack (1): message, channel, Posts"
				assert.Equal(t, reminderOpen+want+reminderClose, o.last().Messages[0].Text)
			},
		},
		{
			name: "of many tools the first are shown", config: toolsearch.Config{Protocol: toolsearch.ProtocolSearchAdd,
				Limits: toolsearch.Limits{MaxAnswerTokens: 1000}}, dynamic: testtools.EchoTools(many...),
			turns: []turn{calling("show_all_tools")},
			check: func(t *testing.T, o outcome) {
				var all struct {
					Total   int
					Tools   []string
					Message string
				}
				require.NoError(t, json.Unmarshal([]byte(o.result(t, "call_1")), &all))
				assert.Equal(t, 600, all.Total)
				assert.Equal(t, toolNames(len(all.Tools)), all.Tools)
				assert.Equal(t, fmt.Sprintf("The first %d are shown. Find others with search_tools.", len(all.Tools)), all.Message)
				assert.InDelta(t, 4000, len(o.result(t, "call_1")), 200, "bytes of show_all_tools")
			},
		},
		{
			name: "of many tools that match the best are shown, each in one line", config: start, dynamic: testtools.EchoTools(many...),
			turns: []turn{calling("show_all_tools"), find(`{"query":"tool"}`)},
			check: func(t *testing.T, o outcome) {
				var found struct {
					Found   int
					Tools   []struct{ Name, Description string }
					Message string
				}
				assert.NotContains(t, o.result(t, "call_1"), "message", "the names of 600 tools fit an answer")
				require.NoError(t, json.Unmarshal([]byte(o.result(t, "call_2")), &found))
				assert.Equal(t, 600, found.Found)
				require.Len(t, found.Tools, 50, "the tools of search_tools")
				assert.Equal(t, "Does ‹b›7‹/b› and more", found.Tools[7].Description)
				assert.True(t, strings.HasPrefix(found.Message, "600 found, the best 50 shown."),
					"the beginning of the message of search_tools: %q", found.Message)
			},
		},
		{
			name: "a server with many tools does not drown another", config: start,
			dynamic: testtools.EchoTools(append(slices.Collect(func(yield func(string) bool) {
				for i := 0; i < 100 && yield(fmt.Sprintf("evil__send_mail_%d: send an e-mail message, mails, sends", i)); i++ {
				}
			}), "office__send_mail: Sends an e-mail")...),
			turns: []turn{find(`{"query":"mail"}`), find(`{"query":"maill"}`)},
			check: func(t *testing.T, o outcome) {
				assert.Contains(t, o.result(t, "call_1"), "office__send_mail")
				assert.Contains(t, o.result(t, "call_2"), "office__send_mail")
			},
		},
		{
			name: "names that are added again, unknown names, and other spellings", config: start,
			turns: []turn{add(`{"tool_names":"get_weather"}`), add(`{"tool_names":["get_weather","send_mail","send_mail"]}`),
				add(`{"tool_names":["get_forcast","List-Stocks"]}`), add(`{"tool_names":["zzz"]}`),
				add(`{"names":"get_forecast, mcp__slack__send_message"}`)},
			saw: []string{metas, metas + " get_weather", metas + " get_weather send_mail", metas + " get_weather send_mail list_stocks",
				metas + " get_weather send_mail list_stocks", metas + " get_weather send_mail list_stocks get_forecast mcp__slack__send_message"},
			check: says(
				`{"added":["get_weather"],"already_loaded":[],"not_found":[],"message":`+added+`}`,
				`{"added":["send_mail"],"already_loaded":["get_weather"],"not_found":[],"message":`+added+`}`,
				`{"added":["list_stocks"],"already_loaded":[],"not_found":["get_forcast"],"suggestions":["get_forecast"],"message":"No tool has the names in \"not_found\"; \"suggestions\" lists similar names."}`,
				`{"added":[],"already_loaded":[],"not_found":["zzz"],"message":"No tool has the names in \"not_found\". Take exact names from search_tools or show_all_tools."}`,
				`{"added":["get_forecast","mcp__slack__send_message"],"already_loaded":[],"not_found":[],"message":`+added+`}`),
		},
		{
			name: "no names, and arguments that cannot be read", config: start,
			turns: []turn{add(``), add(`{}`), add(`{"tool_names":[]}`), add(`{"tool_names":null}`), add(`{"tool_names":[{}]}`),
				add(`{"tool_names":{"a":1}}`), add(`{"tool_names":["get_weather"`), add(`{"other":1}`)},
			saw: slices.Repeat([]string{metas}, 9),
			check: says(slices.Concat(
				slices.Repeat([]string{`{"added":[],"already_loaded":[],"not_found":[],"message":` + noNames + `}`}, 4),
				slices.Repeat([]string{`{"error":` + badNames + `}`}, 4))...),
		},
		{name: "a tool as a search returned it stands for its name", config: start,
			turns: []turn{add(`{"tool_names":[` + weather + `,"[\"send_mail\"]"]}`)}, saw: []string{metas, metas + " get_weather send_mail"},
			check: says(`{"added":["get_weather","send_mail"],"already_loaded":[],"not_found":[],"message":` + added + `}`)},
		{
			name: "many tools at once", config: start, dynamic: testtools.EchoTools(many...),
			turns: []turn{add(`{"tool_names":[` + list(0, 30) + `]}`), remove(`{"tool_names":[` + list(5, 30) + `]}`)},
			saw:   []string{metas, metas + " " + strings.Join(toolNames(30), " "), metas + " tool_000 tool_001 tool_002 tool_003 tool_004"},
			check: says(
				`{"added":[`+list(0, 30)+`],"already_loaded":[],"not_found":[],"message":`+added+`}`,
				`{"removed":[`+list(5, 30)+`],"not_found":[],"message":"Removed from your tool list."}`),
		},
		{name: "a name with a comma", config: start, dynamic: testtools.EchoTools("a,b: Both", "a: One", "c: Other"),
			turns: []turn{add(`{"tool_names":["a,b","c"]}`)}, saw: []string{metas, metas + " a,b c"}},
		{
			name: "tools are removed and added again, and some tools cannot be removed", config: always,
			turns: []turn{add(`{"tool_names":["get_weather","list_stocks","send_mail"]}`),
				remove(`{"tool_names":["get_weather"]}`), remove(`{"tool_names":["get_weather","send_mail","zzz","list_stocks"]}`),
				add(`{"tool_names":["get_weather"]}`), remove(`{}`), remove(`nonsense {`)},
			saw: []string{metas + " send_mail", metas + " send_mail get_weather list_stocks", metas + " send_mail list_stocks", metas + " send_mail",
				metas + " send_mail get_weather", metas + " send_mail get_weather", metas + " send_mail get_weather"},
			check: says(
				`{"added":["get_weather","list_stocks"],"already_loaded":["send_mail"],"not_found":[],"message":`+added+`}`,
				`{"removed":["get_weather"],"not_found":[],"message":"Removed from your tool list."}`,
				`{"removed":["list_stocks"],"not_found":["zzz","get_weather","send_mail"],"message":"The names in \"not_found\" were not removed: they are not loaded, or cannot be removed."}`,
				`{"added":["get_weather"],"already_loaded":[],"not_found":[],"message":`+added+`}`,
				`{"removed":[],"not_found":[],"message":`+noNames+`}`,
				`{"error":`+badNames+`}`),
		},
		{
			// The calls run at the same time. Each works with the tools that were loaded before the round.
			name: "the calls of one round do not see each other", config: start,
			turns: []turn{
				add(`{"tool_names":["list_stocks"]}`),
				callTools(
					called("a", "add_tool", `{"tool_names":["get_weather"]}`),
					called("b", "add_tool", `{"tool_names":["get_weather","list_stocks"]}`),
					called("c", "remove_tool", `{"tool_names":["get_weather"]}`), called("d", "remove_tool", `{"tool_names":["list_stocks"]}`),
					called("e", "add_tool", `{"tool_names":["list_stocks"]}`)),
			},
			saw: []string{metas, metas + " list_stocks", metas + " list_stocks get_weather"},
			check: says(
				`{"added":["list_stocks"],"already_loaded":[],"not_found":[],"message":`+added+`}`,
				`{"added":["get_weather"],"already_loaded":[],"not_found":[],"message":`+added+`}`,
				`{"added":["get_weather"],"already_loaded":["list_stocks"],"not_found":[],"message":`+added+`}`,
				`{"removed":[],"not_found":["get_weather"],"message":"The names in \"not_found\" were not removed: they are not loaded, or cannot be removed."}`,
				`{"removed":["list_stocks"],"not_found":[],"message":"Removed from your tool list."}`,
				`{"added":[],"already_loaded":["list_stocks"],"not_found":[],"message":`+added+`}`),
		},
		{
			name: "the characters of a tool's name cannot break out of the answer", config: start,
			dynamic: []tool.BaseTool{testtools.EchoTools("x\"],\"removed\":[\"y: Bad")[0], testtools.EchoTools("y: Good")[0]},
			turns:   []turn{add(`{"tool_names":["y"]}`), add(`{"tool_names":["x\"],\"removed\":[\"y"]}`)},
			saw:     []string{metas, metas + " y", metas + " y x\"],\"removed\":[\"y"},
		},
	})
}

func TestProtocolRanked(t *testing.T) {
	ranked := using(toolsearch.ProtocolRanked)
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("send_%02d: Sends", i))
	}
	last := func(t *testing.T, text string) (structured struct {
		Candidates int `json:"total_candidates"`
		Matches    []struct{ Name string }
		Message    string
	}) {
		t.Helper()
		require.NoError(t, json.Unmarshal([]byte(text[strings.LastIndexByte(text, '\n')+1:]), &structured), "the last line of\n%s", text)
		return structured
	}
	playAll(t, []conversation{
		{
			name: "the answer is a ranked text, and the names as JSON", config: ranked,
			dynamic: testtools.EchoTools("send_mail: Sends an e-mail\nto <someone>", "get_weather: Weather", "list_stocks: Prices"),
			turns:   []turn{searching(`{"query":"send mail","limit":1}`), calling("send_mail")},
			saw:     []string{"tool_search", "tool_search send_mail", "tool_search send_mail"},
			check: func(t *testing.T, o outcome) {
				assert.Equal(t, "Loaded, with scores:\n1. send_mail (0.5804)\n   Sends an e-mail to ‹someone›\n"+
					`{"total_candidates":3,"matches":[{"name":"send_mail"}]}`, o.result(t, "call_1"))
			},
		},
		{
			name:    "of several queries, the answer says which found a tool",
			config:  toolsearch.Config{Protocol: toolsearch.ProtocolRanked, Index: toolsearch.Hybrid(toolsearch.BM25, toolsearch.LSA)},
			dynamic: testtools.EchoTools("send_mail: Sends an e-mail", "get_weather: Weather", "look: Looks"),
			turns:   []turn{searching(`{"query":"mail to somebody who is not in this house","queries":["get weather","send mail","select:look"],"limit":1}`)},
			check: func(t *testing.T, o outcome) {
				assert.Regexp(t, `with scores:\n1. send_mail \([0-9]\.[0-9]+\): mail to somebody who is not in this \| send mail\n.*\n2. get_weather \([0-9]\.[0-9]+\): get weather\n`, o.result(t, "call_1"))
			},
		},
		{
			name: "exact names without select:, and words that are names", config: ranked,
			dynamic: testtools.EchoTools("send_mail: Sends", "get_mail: Weather", "send: Posts", "mail: Letters", "mail_to: Any"),
			turns:   []turn{searching(`{"query":"get_mail, mail_to"}`), searching(`{"query":"send mail","limit":3}`)},
			saw:     []string{"tool_search", "tool_search get_mail mail_to", "tool_search get_mail mail_to send_mail send mail"},
		},
		{
			name: "the default limit is 5, and the largest limit is 10", config: ranked, dynamic: testtools.EchoTools(many...),
			turns: []turn{searching(`{"query":"send"}`), searching(`{"query":"send","limit":2}`),
				searching(`{"query":"send","limit":100}`), searching(`{"query":"send","limit":"7"}`), searching(`{"query":"send","limit":-1}`)},
			check: func(t *testing.T, o outcome) {
				for i, want := range []int{5, 2, 10, 7, 5} {
					got := last(t, o.result(t, fmt.Sprintf("call_%d", i+1)))
					assert.Len(t, got.Matches, want, "search %d", i)
					assert.Equal(t, 30, got.Candidates, "search %d", i)
				}
			},
		},
		{
			name: "a search without a match, and mistakes", config: ranked,
			turns: []turn{searching(`{"query":"0123456789"}`), searching(`{}`), searching(`{"query":{}}`)},
			saw:   slices.Repeat([]string{"tool_search"}, 4),
			check: func(t *testing.T, o outcome) {
				for i, want := range []string{"No tool matches.", "The query is empty.", "The arguments could not be read."} {
					text := o.result(t, fmt.Sprintf("call_%d", i+1))
					got := last(t, text)
					assert.Empty(t, got.Matches, "search %d", i)
					assert.True(t, strings.HasPrefix(got.Message, want), "search %d: the message %q begins with %s", i, got.Message, want)
					assert.Contains(t, text, `"matches":[]`, "search %d", i)
				}
			},
		},
		{
			name:    "a tool's hint says when to use it",
			dynamic: testtools.EchoTools("send_mail: Sends an e-mail", "get_weather: Weather", "list_stocks: Prices"),
			config: toolsearch.Config{
				Protocol: toolsearch.ProtocolRanked,
				Annotate: func(info *schema.ToolInfo) toolsearch.Annotation {
					if info.Name == "send_mail" {
						return toolsearch.Annotation{Hint: "To write to <someone>\nwho is not in the room. " + strings.Repeat("long ", 100)}
					}
					return toolsearch.Annotation{}
				},
				Filter: toolsearch.FilterTools(nil, []string{"send_mail", "get_weather"}),
			},
			turns: []turn{searching(`{"query":"someone not in the room","limit":1}`)},
			check: func(t *testing.T, o outcome) {
				text := o.result(t, "call_1")
				got := last(t, text)
				require.Len(t, got.Matches, 1)
				_, hint, _ := strings.Cut(text, "   When to use: ")
				hint, _, _ = strings.Cut(hint, "\n")
				assert.Equal(t, "send_mail", got.Matches[0].Name, "hints are searched")
				assert.True(t, strings.HasPrefix(hint, "To write to ‹someone› who is not in the room. long"), "the hint %q", hint)
				assert.LessOrEqual(t, len(hint), 200, "bytes of the hint")
				assert.Contains(t, text, "\n   Sends an e-mail\n   When to use: "+hint+"\n{")
				assert.Equal(t, 2, got.Candidates, "a tool that Filter drops is not considered")
			},
		},
		{
			name: "names can be selected", config: ranked, turns: []turn{searching(`{"query":"select:send_mail,get_wether"}`)},
			saw: []string{"tool_search", "tool_search send_mail"},
			check: func(t *testing.T, o outcome) {
				assert.True(t, strings.HasPrefix(o.result(t, "call_1"), "1. send_mail\n   "), "the answer %s has neither candidates nor scores", o.result(t, "call_1"))
				assert.Contains(t, o.result(t, "call_1"), `"not_found":["get_wether"],"suggestions":["get_weather"]`)
			},
		},
	})
}

// A ranked search gives its places to tools that the model does not see yet, and names the others.
func TestNothingTwice(t *testing.T) {
	var six []string
	for i := range 6 {
		six = append(six, fmt.Sprintf("mail_%d: Mail", i))
	}
	const (
		mails  = `{"query":"mail","max_results":3}`
		first  = `{"matches":["mail_0","mail_1","mail_2"]}`
		second = `{"matches":["mail_3","mail_4","mail_5"],"already_loaded":["mail_0","mail_1","mail_2"]}`
		all    = "tool_search mail_0 mail_1 mail_2 mail_3 mail_4 mail_5"
	)
	byBM25 := toolsearch.Config{Index: toolsearch.BM25}
	alwaysFirst := toolsearch.Config{Index: toolsearch.BM25, AlwaysLoaded: []string{"mail_0"}}
	atMostThree := func(name string, protocol toolsearch.Protocol) conversation {
		limits := toolsearch.Limits{MaxLoaded: 3}
		return conversation{name: name, config: toolsearch.Config{Protocol: protocol, Index: toolsearch.BM25, Limits: limits}, dynamic: testtools.EchoTools(six...),
			turns: []turn{searching(mails), selecting("mail_3,mail_4,mail_5"), searching(mails), searching(mails)},
			saw: []string{"tool_search", "tool_search mail_0 mail_1 mail_2", "tool_search mail_3 mail_4 mail_5", "tool_search mail_0 mail_1 mail_2",
				"tool_search mail_0 mail_1 mail_3"},
			check: says(first, `{"matches":["mail_3","mail_4","mail_5"]}`, first,
				`{"matches":["mail_3"],"already_loaded":["mail_0","mail_1"]}`)}
	}
	shown := func(numbers ...int) string {
		parts := make([]string, len(numbers))
		for i, n := range numbers {
			parts[i] = definitionOf(fmt.Sprintf("mail_%d", n), "Mail")
		}
		return `{"matches":[` + strings.Join(parts, ",") + `]`
	}
	wrong := `{"matches":[],"tool":` + definitionOf("mail_2", "Mail") + `}` // after a call with wrong arguments
	playAll(t, []conversation{
		{
			name: "two equal searches of three make six tools visible, and a third one none", config: byBM25, dynamic: testtools.EchoTools(six...),
			turns: []turn{searching(mails), searching(mails), searching(mails)},
			saw:   []string{"tool_search", "tool_search mail_0 mail_1 mail_2", all, all},
			check: says(first, second, `{"matches":[],"already_loaded":["mail_0","mail_1","mail_2"]}`),
		},
		{name: "calls of one message know what was seen before it", config: byBM25, dynamic: testtools.EchoTools(six...),
			turns: []turn{callTools(called("", "tool_search", mails), called("", "tool_search", mails)), searching(mails)},
			saw:   []string{"tool_search", "tool_search mail_0 mail_1 mail_2", all}, check: says(first, first, second)},
		{name: "without an Index, as Eino's package", dynamic: testtools.EchoTools(six...),
			turns: []turn{searching(mails), searching(mails)}, check: says(first, first)},
		{name: "select: asks for names", config: byBM25, dynamic: testtools.EchoTools(six...),
			turns: []turn{searching(mails), selecting("mail_1"), searching(`{"query":["select:mail_1","mail"],"max_results":3}`)},
			check: says(first, `{"matches":["mail_1"]}`, `{"matches":["mail_1","mail_3","mail_4","mail_5"],"already_loaded":["mail_0","mail_2"]}`)},
		{name: "what only the fallback found stays", config: toolsearch.Config{Index: toolsearch.BM25, Fallback: toolsearch.Fuzzy},
			dynamic: testtools.EchoTools("one__widget: widgets", "three__widgetry: things", "three__idgetz: things", "four__wigdets: things"),
			turns:   []turn{selecting("one__widget"), searching(`{"query":"widgets"}`)},
			check: says(`{"matches":["one__widget"]}`,
				`{"matches":["three__widgetry","four__wigdets","three__idgetz"],"already_loaded":["one__widget"]}`)},
		{name: "what is always listed is seen", config: alwaysFirst, dynamic: testtools.EchoTools(six...),
			turns: []turn{searching(mails)}, check: says(`{"matches":["mail_1","mail_2","mail_3"],"already_loaded":["mail_0"]}`)},
		atMostThree("a tool that MaxLoaded took away is shown again, and a search loads no more", toolsearch.ProtocolToolSearch),
		atMostThree("so it is where no transport moves definitions", toolsearch.ProtocolAnchored),
		{
			name: "a definition in a result is not sent again", config: dispatch(func(c *toolsearch.Config) { c.Index = toolsearch.BM25 }),
			dynamic: testtools.EchoTools(six...), turns: []turn{searching(mails), searching(mails)},
			check: says(shown(0, 1, 2)+"}", shown(3, 4, 5)+`,"already_loaded":["mail_0","mail_1","mail_2"]}`),
		},
		{name: "a definition that left the history is sent again; one whose result lost its name is not",
			config:  dispatch(func(c *toolsearch.Config) { c.Index, c.Unloaded = toolsearch.BM25, toolsearch.UnloadedRefuse }),
			dynamic: testtools.EchoTools(six...), turns: []turn{searching(mails)},
			history: []message{userSays("Mail?"), modelCalls(called("h", "tool_search", mails)),
				toolSays("h", "", shown(1)+"}"), modelCalls(called("i", "tool_search", mails)), toolSays("i", "tool_search", "[cleared]"),
				modelCalls(called("j", "tool_search", "{}")), toolSays("j", "tool_search", wrong)},
			check: says(shown(1)+"}", "[cleared]", wrong, shown(0, 3, 4)+`,"already_loaded":["mail_1","mail_2"]}`)},
		{
			name: "a ranked answer names them in one line", config: toolsearch.Config{Protocol: toolsearch.ProtocolRanked},
			dynamic: testtools.EchoTools(six...), turns: []turn{searching(mails), searching(mails)},
			saw: []string{"tool_search", "tool_search mail_0 mail_1 mail_2", all},
			check: func(t *testing.T, o outcome) {
				assert.Contains(t, o.result(t, "call_2"), `"already_loaded":["mail_0","mail_1","mail_2"]`)
			},
		},
	})
}

// Traces and dashboards that are made of Eino's callbacks call a meta-tool by its type, and a tool with a prefix by the
// name that the model saw.
func TestTypesOfMetaTools(t *testing.T) { everyWay(t, testTypesOfMetaTools) }

func testTypesOfMetaTools(t *testing.T, w way) {
	names, search := `{"tool_names":["send_mail"]}`, callTool("tool_search", `{"query":"mail","regex_pattern":"mail"}`)
	prefixed := []toolsearch.Group{{Name: "b", Tools: testtools.EchoTools("delete_all: Deletes"), Prefix: true}}
	for _, tt := range []struct {
		config toolsearch.Config
		turns  []turn
		want   []string // "name type" of each tool that runs
	}{
		{toolsearch.Config{}, []turn{search}, []string{"tool_search ToolSearch"}},
		{using(toolsearch.ProtocolRegexp), []turn{search}, []string{"tool_search ToolSearch"}},
		{using(toolsearch.ProtocolRanked), []turn{search}, []string{"tool_search ToolSearch"}},
		{using(toolsearch.ProtocolDispatch), []turn{search}, []string{"tool_search ToolSearch"}},
		{using(toolsearch.ProtocolNativeDeferred), []turn{search}, []string{"tool_search ToolSearch"}},
		{using(toolsearch.ProtocolSearchAdd), []turn{callTool("search_tools", `{"query":"mail"}`), callTool("add_tool", names),
			calling("show_all_tools"), callTool("remove_tool", names)},
			[]string{"search_tools ToolSearch", "add_tool AddTool", "show_all_tools ShowAllTools", "remove_tool RemoveTool"}},
		{toolsearch.Config{Groups: prefixed}, []turn{calling("b__delete_all")}, []string{"b__delete_all EchoTool"}},
	} {
		var got []string
		ctx := callbacks.InitCallbacks(context.Background(), nil, callbacks.NewHandlerBuilder().
			OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
				if info.Component == components.ComponentOfTool {
					got = append(got, info.Name+" "+info.Type)
				}
				return ctx
			}).Build())
		o := play(t, conversation{config: tt.config, ctx: ctx, turns: tt.turns}, w)
		assert.NoError(t, o.err, "protocol %d", tt.config.Protocol)
		assert.Equal(t, tt.want, got, "protocol %d", tt.config.Protocol)
	}

	// In an agent, the call of a dispatched tool replaces that of call_tool, which never runs itself.
	for _, middleware := range []interface {
		BeforeAgent(context.Context, *adk.ChatModelAgentContext) (context.Context, *adk.ChatModelAgentContext, error)
	}{newMiddleware[chat](t, using(toolsearch.ProtocolDispatch)), newMiddleware[agentic](t, using(toolsearch.ProtocolDispatch))} {
		_, given, err := middleware.BeforeAgent(context.Background(), &adk.ChatModelAgentContext{})
		require.NoError(t, err)
		name, _ := components.GetType(given.Tools[1])
		assert.Equal(t, "CallTool", name)
	}
}
