package conversations_test

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

const newsReminder = `<available-deferred-tools>
Load these with tool_search before use:
get_weather
get_forecast
send_mail
list_stocks
mcp__slack__send_message
</available-deferred-tools>`

var oddRune = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// onTheWire returns the call as the model sees it again: as the model made it, but for what providers refuse.
func onTheWire(c call) call {
	var object map[string]any
	if !utf8.ValidString(c.Arguments) || json.Unmarshal([]byte(c.Arguments), &object) != nil || object == nil {
		c.Arguments = "{}"
	}
	c.Name = oddRune.ReplaceAllString(c.Name, "_")
	c.Name = cmp.Or(c.Name[:min(len(c.Name), 64)], "unknown")
	return c
}

// checkCallAsMade checks that the model sees its own call, and a result of the tool it called.
func checkCallAsMade(t *testing.T, o outcome, want call) {
	t.Helper()
	want = onTheWire(want)
	made, answered := false, false
	for _, m := range o.last().Messages {
		made = made || slices.Contains(m.Calls, want)
		answered = answered || m.Role == toolsearchtest.Tool && m.CallID == want.ID && m.ToolName == want.Name
	}
	assert.True(t, made, "the model does not see its call %v", want)
	assert.True(t, answered, "the model does not see a result of the tool it called: %v", want)
}

// answer is the JSON that tool_search returns.
type answer struct {
	Matches     []string `json:"matches"`
	NotFound    []string `json:"not_found"`
	Suggestions []string `json:"suggestions"`
	Message     string   `json:"message"`
}

func answerOf(t *testing.T, text string) answer {
	t.Helper()
	var a answer
	require.NoError(t, json.Unmarshal([]byte(text), &a), "not an answer of tool_search: %q", text)
	assert.NotNil(t, a.Matches, "matches is missing or null in %s", text)
	return a
}

// A model gets a result that says what to do, whatever arguments it writes, and the run goes on.
func TestModelMistakes(t *testing.T) {
	help := func(t *testing.T, a answer) {
		t.Helper()
		assert.Empty(t, a.Matches)
		assert.Contains(t, a.Message, "query", "the message says how to write a query")
	}
	finds := func(names ...string) func(*testing.T, answer) {
		return func(t *testing.T, a answer) {
			t.Helper()
			assert.Equal(t, names, a.Matches)
		}
	}
	count := func(want int) func(*testing.T, answer) {
		return func(t *testing.T, a answer) {
			t.Helper()
			assert.Len(t, a.Matches, want)
		}
	}
	tests := []struct {
		check     func(*testing.T, answer)
		arguments []string
	}{
		{help, []string{
			``, `  `, `{`, `{}`, `[]`, `null`, `{"query":""}`, `{"query":" \n"}`, `{"query":null}`, `{"query":"+"}`, `{"query":"select:"}`,
			`{"query":"select: , ,"}`, `{"query":{"text":"mail"}}`, `{"query":"mail"`, `{'query':'mail'}`, `{"query":["mail"}`, `[1,`, `{]`,
			`{"queries":{"text":"mail"}}`, strings.Repeat("[", 1<<20), strings.Repeat(`{"query":`, 1<<18),
		}},
		{count(0), []string{
			`{"query":7}`, `{"query":"[stocks]"}`, `{"query":"send","namespace":"no such"}`,
			`{"query":"` + strings.Repeat("x", 1<<20) + `"}`, `{"query":"` + strings.Repeat(`\`, 1<<20) + `"}`,
		}},
		{finds("send_mail", "list_stocks"), []string{
			`{"query":["send_mail","stocks"]}`, `{"query":["select:send_mail","stocks"]}`,
			`{"query":"","queries":["mail","stocks"],"max_results":5}`, `{"query":"select:send_mail list_stocks"}`,
		}},
		{finds("list_stocks"), []string{
			`{"query":["stocks",["mail"],null,7]}`, `{"queries":["stocks"]}`, `{"query":"stocks","queries":[]}`,
			`{"query":"stocks","queries":{"text":"mail"}}`, `{"query":"stocks","queries":[` + strings.Repeat(`"zzz",`, 8000) + `"mail"]}`,
			`{"query":" [\"stocks\"] ","max_results":1}`, `"stocks"`, `stocks`, `["stocks"]`, "```json\n{\"query\":\"stocks\"}\n```",
			"```{\"query\":\"stocks\"}```", "```\nstocks\n```", `Sure: {"query":"stocks"}.`, `"{\"query\":\"stocks\"}"`,
			`"\"{\\\"query\\\":\\\"stocks\\\"}\""`, "\ufeff" + `{"query":"stocks"}`, `"stocks`,
			`"` + "```json\\n{\\\"query\\\":\\\"stocks\\\"}\\n```" + `"`,
			`{"query":"` + strings.Repeat("stocks ", 150_000) + `"}`,
		}},
		{finds("list_stocks", "send_mail"), []string{
			`{"query":"stocks","queries":["mail"]}`, `{"query":"stocks","queries":["select:send_mail","stocks",""]}`,
			`{"query":"stocks","queries":"mail"}`, `{"query":"[\"stocks\",\"mail\"]"}`,
		}},
		{count(1), []string{
			`{"query":"send","max_results":1}`, `{"query":"send","limit":1}`, `{"query":"send","namespace":"slack"}`,
			`{"query":"send","server":"Slack"}`, `{"query":"send","max_results":"1"}`, `{"query":"send","max_results":1.5}`,
		}},
		{count(2), []string{
			`{"query":"send","max_results":"5"}`, `{"query":"send","max_results":2.0}`, `{"query":"send","max_results":-1}`,
			`{"query":"send","max_results":0}`, `{"query":"send","max_results":null}`, `{"query":"send","max_results":"many"}`,
			`{"query":"send","max_results":9223372036854775808}`, `{"query":"send","max_results":1e999}`,
			`{"query":"send","max_results":-1e999}`, `{"query":"send","max_results":[1]}`, `{"query":"send","unknown":true}`,
		}},
		{finds("send_mail", "list_stocks", "get_weather"), []string{
			`{"query":"SELECT : 'send_mail' ，\"LIST-STOCKS\"、 [get_weather]"}`,
		}},
		{finds("get_weather"), []string{`{"query":"select:Get Weather"}`}},
	}
	var table []conversation
	for _, tt := range tests {
		for _, arguments := range tt.arguments {
			table = append(table, conversation{
				name:  arguments[:min(len(arguments), 40)],
				turns: []turn{searching(arguments)},
				check: func(t *testing.T, o outcome) { tt.check(t, answerOf(t, o.result(t, "call_1"))) },
			})
		}
	}
	playAll(t, table)
}

func TestNotFound(t *testing.T) {
	playAll(t, []conversation{{
		name: "names and words that no tool has",
		turns: []turn{selecting("get_wether"), selecting("send_mail,get_wether"), selecting("send_mial"), searching(`{"query":"wether"}`),
			selecting("zzz"), searching(`{"query":"zzz"}`)},
		check: says(
			`{"matches":[],"not_found":["get_wether"],"suggestions":["get_weather"],"message":"No …`,
			`{"matches":["send_mail"],"not_found":["get_wether"],"suggestions":["get_weather"],"message":"No …`,
			`{"matches":[],"not_found":["send_mial"],"suggestions":["send_mail"],"message":"No …`,
			`{"matches":[],"suggestions":["get_weather"],"message":"No …`,
			`{"matches":[],"not_found":["zzz"],"message":"No …`,
			`{"matches":[],"message":"No …`),
	}})
}

// Config.Texts replaces the texts that the model reads.

// headings returns the headings of a file, which are the keys of Config.Texts, with the placeholders
// of their texts, and the file's first line, which is not a key.
func headings(t *testing.T, file string) (placeholders map[string][]string, preface string) {
	t.Helper()
	text := testtools.Must(os.ReadFile(file))(t)
	placeholders = map[string][]string{}
	sections := strings.Split(string(text), "\n# ")
	for _, section := range sections[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		assert.NotContains(t, placeholders, heading, "the headings of %s before %q", file, heading)
		assert.NotEmpty(t, strings.TrimSpace(body), "the text of %s under %q", file, heading)
		placeholders[heading] = sortedSet(placeholder.FindAllString(body, -1))
	}
	preface, _, _ = strings.Cut(sections[0], "\n")
	return placeholders, preface
}

// Both languages have the same texts. Every text can be replaced, alone and with all others.
func TestEveryTextCanBeReplaced(t *testing.T) {
	english, _ := headings(t, "../../prompt/en.md")
	chinese, _ := headings(t, "../../prompt/zh.md")
	require.GreaterOrEqual(t, len(english), 50)
	assert.Equal(t, english, chinese, "the placeholders under each heading")
	all := map[string]string{}
	for _, language := range []toolsearch.Language{toolsearch.English, toolsearch.Chinese} {
		for key := range english {
			all[key] = "My " + key
			_, err := toolsearch.New(context.Background(), &toolsearch.Config{
				DynamicTools: testtools.NewsTools(), Language: language, Texts: map[string]string{key: "My " + key},
			})
			assert.NoError(t, err, "%q in language %d", key, language)
		}
		_, err := toolsearch.New(context.Background(), &toolsearch.Config{DynamicTools: testtools.NewsTools(), Language: language, Texts: all})
		assert.NoError(t, err, "language %d", language)
	}
}

// A key without a heading is an error of New that names the key.
func TestUnknownTexts(t *testing.T) {
	_, preface := headings(t, "../../prompt/en.md")
	require.NotEmpty(t, preface)
	_, prefaceOfChinese := headings(t, "../../prompt/zh.md")
	require.NotEmpty(t, prefaceOfChinese)
	for _, key := range []string{"descriptoin", "", "Description", "# description", " description", "ranked  description",
		"ranked no-match-unlisted", preface, prefaceOfChinese} {
		for _, language := range []toolsearch.Language{toolsearch.English, toolsearch.Chinese} {
			_, err := toolsearch.NewTyped[agentic](context.Background(), &toolsearch.Config{
				DynamicTools: testtools.NewsTools(), Language: language, Texts: map[string]string{"description": "x", key: "y"},
			})
			assert.ErrorContains(t, err, "toolsearch: Texts: ", "%q", key)
			assert.ErrorContains(t, err, `"`+key+`"`, "%q", key)
		}
	}
	_, err := toolsearch.New(context.Background(), &toolsearch.Config{
		DynamicTools: testtools.NewsTools(), Texts: map[string]string{"z": "", "b": "", "y": ""},
	})
	assert.ErrorContains(t, err, `"b"`, "the error names the first of several keys, in the order of the keys")
}

// descriptionOf returns the descriptions of a tool and its parameters in the first request.
func descriptionOf(t *testing.T, o outcome, name string) (description string, parameters map[string]string) {
	t.Helper()
	require.NotEmpty(t, o.requests)
	for _, info := range o.requests[0].Tools {
		if info.Name != name {
			continue
		}
		definition := testtools.Must(info.ToJSONSchema())(t)
		parameters = map[string]string{}
		for pair := definition.Properties.Oldest(); pair != nil; pair = pair.Next() {
			parameters[pair.Key] = pair.Value.Description
		}
		return info.Desc, parameters
	}
	require.Fail(t, "a tool is missing", name)
	return "", nil
}

func TestTexts(t *testing.T) {
	messageOf := func(want string) func(t *testing.T, o outcome) {
		return func(t *testing.T, o outcome) {
			assert.Equal(t, want, answerOf(t, o.result(t, "call_1")).Message)
		}
	}
	describes := func(tool, want string) func(t *testing.T, o outcome) {
		return func(t *testing.T, o outcome) {
			description, _ := descriptionOf(t, o, tool)
			assert.Equal(t, want, description)
		}
	}
	reminds := func(want string) func(t *testing.T, o outcome) {
		return func(t *testing.T, o outcome) {
			assert.Equal(t, want, leadOf(o.requests[0].Messages[0].Text))
		}
	}
	row := func(name string, config toolsearch.Config, texts map[string]string, turns []turn,
		check func(t *testing.T, o outcome)) conversation {
		config.Texts = texts
		return conversation{name: name, config: config, turns: turns, check: check}
	}
	hidden := toolsearch.ReminderConfig{Disabled: true}
	nothing := []turn{searching(`{"query":"zzz"}`)}
	playAll(t, []conversation{
		row("a description", toolsearch.Config{}, map[string]string{"description": "Looks."}, nil, describes("tool_search", "Looks.")),
		row("an empty text", toolsearch.Config{}, map[string]string{"description": ""}, nil, describes("tool_search", "")),
		row("a description in Chinese", toolsearch.Config{Language: toolsearch.Chinese},
			map[string]string{"description": "Looks."}, nil, describes("tool_search", "Looks.")),
		row("names and numbers are filled in", toolsearch.Config{ToolName: "find", MaxResults: 3, Limits: toolsearch.Limits{MaxResultsCap: 7}},
			map[string]string{"description": "{tool}: {default} of {cap}, {name}, {}"}, nil, describes("find", "find: 3 of 7, {name}, {}")),
		row("parameters", toolsearch.Config{}, map[string]string{"query": "What?", "queries": "What else?",
			"max-results": "How many? {cap}"}, nil, func(t *testing.T, o outcome) {
			_, parameters := descriptionOf(t, o, "tool_search")
			assert.Equal(t, map[string]string{"query": "What?", "queries": "What else?", "max_results": "How many? 50"}, parameters)
		}),
		row("a search without a match", toolsearch.Config{}, map[string]string{"no-match": "Nothing. Try {tool}."}, nothing,
			messageOf("Nothing. Try tool_search.")),
		row("a query without words", toolsearch.Config{}, map[string]string{"empty-query": "Words!"},
			[]turn{searching(`{"query":" "}`)}, messageOf("Words!")),
		row("an unknown tool", toolsearch.Config{}, map[string]string{"unknown-tool": "{name}? Use {tool}, {name}."},
			[]turn{calling("zzz")}, messageOf("zzz? Use tool_search, zzz.")),
		// The model's words are filled in last, so a placeholder in them stays.
		row("a placeholder as a name", toolsearch.Config{}, map[string]string{"unknown-tool-near": "{name}?"},
			[]turn{calling("{tool}")}, messageOf("{tool}?")),
		row("a tool that is not loaded", toolsearch.Config{Unloaded: toolsearch.UnloadedRefuse},
			map[string]string{"unloaded-tool": "{name} by {search}"}, []turn{calling("send_mail")},
			messageOf(`send_mail by {"query":"select:send_mail"}`)),
		row("a reminder", toolsearch.Config{}, map[string]string{"reminder": "By {tool}:"}, nil, reminds("By tool_search:")),
		row("a reminder with a number alone", toolsearch.Config{Reminder: toolsearch.ReminderConfig{MaxTokens: 1}},
			map[string]string{"reminder-count": "{count} by {tool}"}, nil, reminds("5 by tool_search")),

		row("the description of a protocol", using(toolsearch.ProtocolDispatch), map[string]string{
			"description": "no", "dispatch description": "Looks, for {call}.", "ranked description": "no",
		}, nil, describes("tool_search", "Looks, for call_tool.")),
		row("a protocol's own text comes before the common text", using(toolsearch.ProtocolDispatch),
			map[string]string{"reminder": "no", "dispatch reminder": "{tool}, {call}"}, nil,
			reminds("tool_search, call_tool")),
		row("a protocol without its own text has the common text", using(toolsearch.ProtocolRanked),
			map[string]string{"reminder": "By {tool}:"}, nil, reminds("By tool_search:")),
		row("the second tool of a protocol", using(toolsearch.ProtocolDispatch),
			map[string]string{"dispatch call-description": "Runs what {tool} found."}, nil,
			describes("call_tool", "Runs what tool_search found.")),
		row("the tools of search_add", using(toolsearch.ProtocolSearchAdd), map[string]string{
			"search_add show-all-description": "{tool} {add} {remove} {show-all}",
		}, nil, describes("show_all_tools", "search_tools add_tool remove_tool show_all_tools")),
		row("a search without a match under regexp", using(toolsearch.ProtocolRegexp), map[string]string{"regexp no-match": "None."},
			[]turn{searching(`{"regex_pattern":"zzz"}`)}, func(t *testing.T, o outcome) { assert.Contains(t, o.result(t, "call_1"), `"None."`) }),

		row("the description for models that see no names", toolsearch.Config{Reminder: hidden},
			map[string]string{"description": "no", "description-unlisted": "Looks in the dark."}, nil,
			describes("tool_search", "Looks in the dark.")),
		row("a search without a match, for models that see no names", toolsearch.Config{Reminder: hidden},
			map[string]string{"no-match": "no", "no-match-unlisted": "Dark."}, nothing, messageOf("Dark.")),
		row("a text for every form", toolsearch.Config{Reminder: hidden}, map[string]string{"no-match": "Dark or not."}, nothing,
			messageOf("Dark or not.")),
		row("the description for models that see groups", toolsearch.Config{DynamicTools: officeTools(), Reminder: toolsearch.ReminderConfig{MaxTokens: 40}},
			map[string]string{"description": "no", "description-groups": "Looks in groups."}, nil, describes("tool_search", "Looks in groups.")),
		row("the description for models that see names", toolsearch.Config{},
			map[string]string{"description": "Looks.", "description-unlisted": "no"}, nil, describes("tool_search", "Looks.")),
		row("a protocol's own text comes before the text for models that see no names",
			toolsearch.Config{Protocol: toolsearch.ProtocolDispatch, Reminder: hidden},
			map[string]string{"dispatch description": "Looks.", "description-unlisted": "no"}, nil, describes("tool_search", "Looks.")),
	})
}
