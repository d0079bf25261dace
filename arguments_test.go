package toolsearch_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// A model writes the queries and the arguments, a remote server the names, a store the
// history: each of them can be any bytes at all, and has its fuzz targets.
//
//	go test -run '^$' -fuzz '^FuzzArguments$' -fuzztime 60s -fuzzminimizetime 10x .
//
// Without the last flag Go spends most of the time on shortening what it finds.

func FuzzArguments(f *testing.F) {
	for _, arguments := range []string{
		``, `{}`, `null`, `[]`, `"stocks"`, `stocks`, `{"query":"send","max_results":1}`, `{"query":"+mail x","limit":"2"}`,
		`{"query":"select:send_mail,get_wether"}`, `{"query":"select:send_mail send_mail, SEND-MAIL"}`, `{"query":"select:a,A"}`,
		`{"query":["mail","weather",["x"],null,7,true]}`, `{"queries":[]}`, "```json\n{\"query\":\"a\"}\n```", `Sure: {"query":"a"}.`,
		`"{\"query\":\"mail\"}"`, `{"query":"mail"`, `{"unknown_tool":"x","suggestions":["y",1]}`, `{"unloaded_tool":"get_weather"}`,
		`{"unknown_tool":""}`, "{\"query\":\"\xff\"}", "select:\xff\xfe", "select:\u2028,</a>", `{"query":"select:</a>&"}`, `{"query":"zzz","max_results":1e999}`,
		`{"query":"` + strings.Repeat("a ", 40_000) + `"}`, `{"query":"select:` + strings.Repeat("a ", 150) + strings.Repeat(", a a", 100) + `"}`,
		"\x00", "\ufeff{}", `{"query":"\u0000\ud800"}`, `{"q":1,"query":null}`, `[[["a"]]]`, `{{}}`, "`", "```", `{"query":{"query":"a"}}`,
	} {
		f.Add(arguments)
	}
	ctx := context.Background()
	tools := append(testtools.NewsTools(), testtools.EchoTools(`a: A`, `b]"c\: <b> & more`, "日历_创建: 新建", "select: Selects", "b\x01d\u202e: Bad")...)
	known := map[string]bool{}
	for _, t := range tools {
		known[mustInfo(f, t).Name] = true
	}
	catalog, err := toolsearch.NewCatalog(ctx, tools, nil)
	require.NoError(f, err)
	ours := catalog.Tool()
	// A chat model's results become native on their way to it.
	chat := searchToolOf[*schema.Message](f, tools).(tool.InvokableTool)
	agentic := searchToolOf[*schema.AgenticMessage](f, tools).(tool.EnhancedInvokableTool)
	f.Fuzz(func(t *testing.T, arguments string) {
		text, err := ours.InvokableRun(ctx, arguments)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := ours.InvokableRun(ctx, arguments); again != text {
			t.Errorf("the same arguments gave %q, then %q", text, again)
		}
		matches := checkAnswerText(t, text, known)
		if answer, err := chat.InvokableRun(ctx, arguments); err != nil || answer != text {
			t.Errorf("for a chat model %q, %v; want %q", answer, err, text)
		}
		result, err := agentic.InvokableRun(ctx, &schema.ToolArgument{Text: arguments})
		if err != nil || result == nil || len(result.Parts) != 1 {
			t.Fatalf("got %+v, %v; want one part", result, err)
		}
		part := result.Parts[0]
		if part.ToolSearchResult == nil { // the stand-in of a call that could not be run
			if part.Text != text || len(matches) > 0 {
				t.Errorf("in words %q, want %q", part.Text, text)
			}
			return
		}
		var names []string
		for _, info := range part.ToolSearchResult.Tools {
			names = append(names, info.Name)
		}
		if !slices.Equal(names, matches) {
			t.Errorf("natively %q, otherwise %q", names, matches)
		}
	})
}

// searchToolOf returns the native search tool, as an agent gets it.
func searchToolOf[M adk.MessageType](t testing.TB, tools []tool.BaseTool) tool.BaseTool {
	t.Helper()
	middleware := newMiddleware[M](t, toolsearch.Config{
		DynamicTools: tools, UseModelToolSearch: true,
		Reminder: toolsearch.ReminderConfig{Disabled: true}, // words of help as Catalog.Tool's, which knows of no list
	})
	_, runCtx, err := middleware.BeforeAgent(context.Background(), &adk.ChatModelAgentContext{})
	require.NoError(t, err)
	return runCtx.Tools[0]
}

// checkAnswerText checks what holds for every answer of tool_search, and returns its
// matches.
func checkAnswerText(t *testing.T, text string, known map[string]bool) []string {
	t.Helper()
	var a answer
	if err := json.Unmarshal([]byte(text), &a); err != nil || a.Matches == nil || !utf8.ValidString(text) {
		t.Fatalf("not an answer: %q: %v", text, err)
	}
	// What it cannot have more of: the arguments, read up to 64 KiB and escaped.
	if len(text) > 512<<10 || len(a.Matches) > 10*200 || len(a.NotFound) > 10*200 || len(a.Suggestions) > 5 {
		t.Errorf("%d bytes, %d matches, %d not found, %d suggestions", len(text), len(a.Matches), len(a.NotFound), len(a.Suggestions))
	}
	if strings.ContainsAny(text, "<>&") || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
		t.Errorf("not escaped: %q", text)
	}
	if len(a.Matches) == 0 && a.Message == "" {
		t.Errorf("no match and no word about it: %s", text)
	}
	for i, name := range a.Matches {
		if !known[name] || slices.Contains(a.Matches[:i], name) {
			t.Fatalf("match %d, %q, is repeated or in no catalog", i, name)
		}
	}
	return a.Matches
}
