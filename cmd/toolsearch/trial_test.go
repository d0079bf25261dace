package main_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/trial"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

const catalog = `{"name":"mail__send","description":"Sends an e-mail","server":"mail","parameters":{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}}
{"name":"mail__list","description":"Lists e-mails","server":"mail","outputSchema":{"type":"object","properties":{"subjects":{"type":"array","items":{"type":"string","examples":["Lunch"]}},"unread":{"type":"integer","minimum":3}}}}
{"name":"weather__forecast","description":"The weather of the next days","server":"weather"}
{"name":"stocks__price","description":"The price of a share","server":"stocks"}
`

const tasks = `{"id":"send","query":"send an e-mail to Ann","gold":["mail__send"],"arguments":{"mail__send":{"to":"Ann"}}}
{"id":"weather","query":"weather of the next days","accept":[["weather__forecast","stocks__price"]]}
`

// played is a model: a function from what it sees to its answer.
type played func(input []*schema.Message, tools []string) *schema.Message

func (p played) Generate(_ context.Context, input []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	var tools []string
	for _, info := range model.GetCommonOptions(nil, opts...).Tools {
		tools = append(tools, info.Name)
	}
	answer := p(input, tools)
	if answer == nil {
		return nil, errors.New("the model is out of order")
	}
	answer.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: 100, CompletionTokens: 10}}
	answer.ResponseMeta.Usage.PromptTokenDetails.CachedTokens = 60
	return answer, nil
}

func (p played) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	return nil, errors.New("trials do not stream")
}

func calling(name, arguments string) *schema.Message {
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "id" + name, Function: schema.FunctionCall{Name: name, Arguments: arguments}}})
}

// finder calls the tool of a task, which it searches for if it does not see it.
func finder(input []*schema.Message, tools []string) *schema.Message {
	asked := input[slices.IndexFunc(input, func(m *schema.Message) bool {
		return m.Role == schema.User && !strings.Contains(m.Content, "<available-deferred-tools>")
	})].Content
	name, arguments := "weather__forecast", `{}`
	if strings.Contains(asked, "Ann") {
		name, arguments = "mail__send", `{"to":"Ann"}`
	}
	last := input[len(input)-1]
	switch {
	case last.Role == schema.Tool && last.ToolName != "tool_search":
		return schema.AssistantMessage("Done.", nil)
	case slices.Contains(tools, name):
		return calling(name, arguments)
	case last.Role == schema.Tool && slices.Contains(tools, "call_tool"):
		return calling("call_tool", `{"name":"`+name+`","arguments":`+arguments+`}`)
	}
	return calling("tool_search", `{"query":"`+strings.ReplaceAll(name, "__", " ")+`"}`)
}

// files writes the catalog and the tasks, and returns their folder.
func files(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"tools.jsonl": catalog, "tasks.jsonl": tasks} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// catalogOf is the catalog of run, instead of the folder's.
var catalogOf string

// run runs the command over a folder's files with a model.
func run(t *testing.T, dir string, m played, args ...string) (out, problems string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args = append([]string{"-tasks", filepath.Join(dir, "tasks.jsonl"), "-model", "a@http://model.example", "-parallel", "1",
		"-o", filepath.Join(dir, "runs.jsonl"), cmp.Or(catalogOf, filepath.Join(dir, "tools.jsonl"))}, args...)
	buffer := bufio.NewWriter(&stdout)
	call := &cli.Call{Name: "trial", Stdin: strings.NewReader(""), Out: buffer, Stderr: &stderr}
	code, err := cli.Run(func() int {
		return trial.Trial(t.Context(), call, args, func(context.Context, trial.Address) (any, error) { return m, nil })
	})
	require.NoError(t, buffer.Flush())
	if err != nil {
		return stdout.String(), err.Error(), code
	}
	return stdout.String(), stderr.String(), code
}

// A report is what -json prints.
type report struct {
	Ways []struct {
		Way      string
		Runs     int
		Solved   float64
		Interval [2]float64
		Means    map[string]float64
		Notes    []string
	}
	Pairs []struct {
		One, Other   string
		Wins, Losses int
		P            float64
	}
	Needed []struct {
		Tool, Way           string
		Needed, Found, Used int
	}
	Advice []string
}

func reported(t *testing.T, dir string, m played, args ...string) (r report) {
	t.Helper()
	out, problems, code := run(t, dir, m, append(args, "-json")...)
	require.Equal(t, cli.Found, code, problems)
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	return r
}

func TestTrial(t *testing.T) {
	dir := files(t)
	args := []string{"-way", "all,eino,default+bm25,dispatch", "-n", "2", "-provider", "kimi"}
	r := reported(t, dir, finder, args...)
	require.Len(t, r.Ways, 4)
	for i, w := range r.Ways {
		assert.Equal(t, 1.0, w.Solved, w.Way)
		assert.Equal(t, 4, w.Runs, w.Way)
		assert.InDelta(t, 0.342, w.Interval[0], 0.001, "%s: of two tasks", w.Way)
		hidden := min(1, float64(i))
		assert.Equal(t, 2+hidden, w.Means["calls"], w.Way)
		assert.Equal(t, hidden, w.Means["searches"], w.Way)
		assert.InDelta(t, w.Means["calls"]*(40*3+60*0.3+10*15)/1e6, w.Means["dollars"], 1e-12, w.Way)
	}
	assert.Equal(t, []string{"Take all: it solves 100 %; it is the cheapest of 4 ways whose difference may be noise (sign test over 2 tasks, least p 1.00)."}, r.Advice)

	log := testtools.Must(os.ReadFile(filepath.Join(dir, "runs.jsonl")))(t)
	runs := testtools.Must(cost.ReadLog(bytes.NewReader(log)))(t)
	assert.Len(t, runs, 16, "runs that cost -log reads")
	called := make(map[string]string)
	require.NoError(t, eval.ReadCalls(bytes.NewReader(log), func(conversation string, e toolsearch.Event) {
		called[conversation] += e.(*toolsearch.CallEvent).Tool + ";"
	}))
	assert.Len(t, called, 12, "conversations with events: Eino's package has none")
	for conversation, tools := range called {
		assert.Contains(t, []string{"mail__send;", "weather__forecast;"}, tools, conversation)
	}

	// Nothing is played twice, and a line that was cut off is played again.
	whole, _, _ := run(t, dir, nil, args...)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "runs.jsonl"), log[:len(log)-20], 0o600))
	again, _, code := run(t, dir, finder, args...)
	assert.Equal(t, cli.Found, code)
	assert.Equal(t, whole, again)
	after := testtools.Must(os.ReadFile(filepath.Join(dir, "runs.jsonl")))(t)
	assert.Equal(t, bytes.Count(log, []byte(`"event":"run"`)), bytes.Count(after, []byte(`"event":"run"`)))
}

// What a model does wrong is counted, and ends no trial.
func TestModelsThatFail(t *testing.T) {
	never := func(input []*schema.Message, tools []string) *schema.Message {
		if slices.Contains(tools, "tool_search") {
			return schema.AssistantMessage("I cannot do that.", nil)
		}
		return finder(input, tools)
	}
	r := reported(t, files(t), never, "-way", "all,default", "-n", "3")
	assert.Equal(t, []float64{1, 0}, []float64{r.Ways[0].Solved, r.Ways[1].Solved})
	assert.Equal(t, 0.5, r.Pairs[0].P, "two tasks of two")
	assert.Equal(t, 2, r.Pairs[0].Wins)
	require.Len(t, r.Advice, 2)
	assert.Equal(t, "Do not hide with default, by AlwaysLoaded: mail__send (0 of 3 runs, shown 3 of 3), weather__forecast (0 of 3 runs, shown 3 of 3).", r.Advice[1])

	wrong := func(input []*schema.Message, _ []string) *schema.Message {
		said := 0
		for _, m := range input {
			if m.Role == schema.Assistant {
				said++
			}
		}
		return [...]*schema.Message{calling("tool_search", `{"query":"nothing like it"}`), calling("no_such_tool", `{}`),
			calling("mail__send", `{"to":5}`), calling("mail__list", `{}`), schema.AssistantMessage("Done.", nil)}[said]
	}
	for _, way := range []string{"eino", "default", "dispatch"} {
		r = reported(t, files(t), wrong, "-way", way)
		assert.Zero(t, r.Ways[0].Solved, way)
		assert.Equal(t, 1.0, r.Ways[0].Means["misses"], way)
		require.Len(t, r.Ways[0].Notes, 2, way)
		assert.Regexp(t, `^mail__send: error: .*to`, r.Ways[0].Notes[0], way)
		assert.Regexp(t, `^no_such_tool: .*no tool `, r.Ways[0].Notes[1], way)
		assert.Equal(t, 2.0, r.Ways[0].Means["refused"], way)
		assert.Equal(t, 0.5, r.Ways[0].Means["siblings"], way)
	}

	endless := func([]*schema.Message, []string) *schema.Message { return calling("weather__forecast", `{}`) }
	r = reported(t, files(t), endless, "-way", "all")
	assert.Equal(t, 30.0, r.Ways[0].Means["calls"])
	assert.Equal(t, 0.5, r.Ways[0].Solved, "the task of the weather is solved")

	out, problems, code := run(t, files(t), func(input []*schema.Message, tools []string) *schema.Message {
		if len(tools) > 3 { // as a provider with a limit
			return nil
		}
		return finder(input, tools)
	}, "-way", "all,default")
	assert.Equal(t, cli.Failed, code)
	assert.Regexp(t, `the trial is not complete, and goes on when it is started again: all: .*out of order`, problems)
	assert.Regexp(t, `\nall +0 +0%`, out, "the report")
	assert.Regexp(t, `\ndefault +2 +100%`, out, "other ways go on")
}

// What a tool answers is made of its output schema.
func TestAnswers(t *testing.T) {
	dir := files(t)
	var answers []string
	reported(t, dir, func(input []*schema.Message, _ []string) *schema.Message {
		if last := input[len(input)-1]; last.Role == schema.Tool {
			answers = append(answers, last.Content)
			return schema.AssistantMessage("Done.", nil)
		}
		return calling("mail__list", `{}`)
	}, "-way", "all", "-n", "2")
	assert.Equal(t, slices.Repeat([]string{`{"subjects":["Lunch"],"unread":3}`}, 4), answers)
}

// With -run, the tools of a server are called: those that say that they only read, and with -destructive all.
func TestRun(t *testing.T) {
	var mu sync.Mutex
	var ran []string
	server := sdk.NewServer(&sdk.Implementation{Name: "notes"}, nil)
	for name, hints := range map[string]*sdk.ToolAnnotations{"look": {ReadOnlyHint: true}, "wipe": {DestructiveHint: new(bool)}, "plain": nil} {
		server.AddTool(&sdk.Tool{Name: name, Annotations: hints, InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				mu.Lock()
				defer mu.Unlock()
				ran = append(ran, name)
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done by " + name}}, IsError: name == "plain"}, nil
			})
	}
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	defer web.Close()
	dir := files(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tasks.jsonl"), []byte(`{"id":"x","query":"y","gold":["look","wipe","plain"]}`), 0o600))
	var answers []string
	caller := func(input []*schema.Message, _ []string) *schema.Message {
		if input[len(input)-1].Role != schema.Tool {
			return schema.AssistantMessage("", slices.Concat(calling("look", ``).ToolCalls, calling("wipe", `{}`).ToolCalls, calling("plain", `{}`).ToolCalls))
		}
		for _, m := range input[len(input)-3:] {
			answers = append(answers, m.Content)
		}
		return schema.AssistantMessage("Done.", nil)
	}
	catalogOf = web.URL
	defer func() { catalogOf = "" }()
	const barred = "error: this tool was not run: it does not say that it only reads, and -destructive was not given"
	r := reported(t, dir, caller, "-way", "all", "-run")
	assert.Equal(t, []string{"done by look", barred, barred}, answers)
	assert.Equal(t, []string{"look"}, ran)
	assert.Equal(t, []string{"plain: " + barred, "wipe: " + barred}, r.Ways[0].Notes)
	answers = nil
	r = reported(t, dir, caller, "-way", "all", "-run", "-destructive")
	assert.Equal(t, []string{"done by look", "done by wipe", "error: done by plain"}, answers)
	assert.Equal(t, []string{"plain: error: done by plain"}, r.Ways[0].Notes, "a failed call is not counted as run")
	assert.Zero(t, r.Ways[0].Solved)
}

func TestTasks(t *testing.T) {
	dir := files(t)
	path := filepath.Join(dir, "tasks.jsonl")
	_, problems, _ := run(t, dir, nil, "-write", path)
	assert.Contains(t, problems, "tasks.jsonl is there already", "what a user wrote stays")
	require.NoError(t, os.Remove(path))
	_, problems, code := run(t, dir, nil, "-write", path)
	require.Equal(t, cli.Found, code, problems)
	text := testtools.Must(os.ReadFile(path))(t)
	assert.Equal(t, 4+4+4, bytes.Count(text, []byte("\n")), "a task a tool, and over two and three servers")
	assert.Contains(t, string(text), `{"id":"mail__send+stocks__price","query":"","gold":["mail__send","stocks__price"],"about":["Sends an e-mail","The price of a share"]}`)

	filled := strings.Replace(strings.ReplaceAll(string(text), "The price of a share", "股票的价格"), `"query":""`, `"query":"send an e-mail to Ann"`, 1)
	require.NoError(t, os.WriteFile(path, []byte(filled), 0o600))
	nameless := files(t)
	require.NoError(t, os.WriteFile(filepath.Join(nameless, "tools.jsonl"), []byte(`[{"description":"x"}]`), 0o600))
	_, problems, _ = run(t, nameless, finder)
	assert.Contains(t, problems, "no tool has a name")
	out, problems, _ := run(t, dir, finder, "-way", "all")
	assert.Contains(t, problems, "Left out: 11 tasks without a request.")
	assert.Contains(t, out, "a, 4 tools, 1 task\n")

	for fault, want := range map[string]string{
		`{"id":"x","query":"y","gold":["nothing"]}`:                                  `task "x": the catalog has no tool "nothing"`,
		`{"id":"x","query":"y","gold":["mail__send"],"arguments":{"nothing":{}}}`:    `task "x": the catalog has no tool "nothing"`,
		`{"id":"x","query":"y","gold":["mail__send"],"arguments":{"mail__send":[]}}`: `tasks.jsonl:1: json: cannot unmarshal array`,
	} {
		require.NoError(t, os.WriteFile(path, []byte(fault), 0o600))
		_, problems, code := run(t, dir, finder)
		assert.Equal(t, cli.Failed, code, fault)
		assert.Contains(t, problems, want)
	}
}

func TestWrongUse(t *testing.T) {
	dir := files(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-way", "nothing"}, `no way "nothing"; want all, eino, default or a protocol`},
		{[]string{"-way", "eino+bm25"}, `no way "eino+bm25"`},
		{[]string{"-model", "x", "-api", "chat"}, "for chat an address, as in x@https://..."},
		{[]string{"-budget", "1"}, "no price of a is known"},
		{[]string{"-run"}, "-run wants servers, not a file of tools"},
		{[]string{"-destructive"}, "-destructive wants -run"},
		{[]string{"-model", "manual", "-way", "native_deferred"}, "you cannot search as a provider does"},
	} {
		_, problems, code := run(t, dir, finder, tt.args...)
		assert.Equal(t, cli.Failed, code, tt.args)
		assert.Contains(t, problems, tt.want)
	}
}

// A program plays the model at the address that the command prints.
func TestManual(t *testing.T) {
	dir := files(t)
	stderr, printed := io.Pipe()
	args := []string{"-tasks", filepath.Join(dir, "tasks.jsonl"), "-model", "manual", "-way", "default", "-json",
		"-o", filepath.Join(dir, "runs.jsonl"), filepath.Join(dir, "tools.jsonl")}
	var stdout bytes.Buffer
	buffer := bufio.NewWriter(&stdout)
	ended := make(chan error, 1)
	go func() {
		_, err := cli.Run(func() int {
			return trial.Trial(t.Context(), &cli.Call{Name: "trial", Out: buffer, Stderr: printed}, args, nil)
		})
		ended <- errors.Join(err, buffer.Flush(), printed.Close())
	}()
	line := testtools.Must(bufio.NewReader(stderr).ReadString('\n'))(t)
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+/[\w-]+/`).FindString(line)
	require.NotEmpty(t, address)
	ask := func(method, path, body string) (int, string) {
		request := testtools.Must(http.NewRequestWithContext(t.Context(), method, address+path, strings.NewReader(body)))(t)
		if method == "HOST" {
			request.Method, request.Host = "GET", "evil.example"
		}
		response, err := http.DefaultTransport.RoundTrip(request) // which follows no redirect: the trial may be over
		require.NoError(t, err)
		defer response.Body.Close()
		return response.StatusCode, string(testtools.Must(io.ReadAll(response.Body))(t))
	}
	_, text := ask("GET", "next", "")
	assert.Contains(t, text, "== user\nsend an e-mail to Ann\n")
	assert.Contains(t, text, "== tool tool_search\n")
	code, _ := ask("HOST", "next", "")
	assert.Equal(t, http.StatusMisdirectedRequest, code)
	for _, body := range []string{"", "{}", `{"calls":5}`, "calls=5", "%"} {
		code, _ = ask("POST", "reply", body)
		assert.Equal(t, http.StatusBadRequest, code, body)
	}
	code, _ = ask("POST", "reply", `{"calls":[{"name":"tool_search","arguments":{"query":"e-mail"}}]}`)
	assert.Equal(t, http.StatusOK, code)
	_, text = ask("GET", "next", "")
	assert.Contains(t, text, "== result of tool_search\n")
	assert.Contains(t, text, "== as before: system, user, user, assistant, tool tool_search\n")
	_, page := ask("GET", "", "")
	assert.Contains(t, page, `<details class="new" open><summary>tool mail__send</summary>`)
	assert.Contains(t, page, `<details><summary>tool tool_search</summary>`)
	_, _ = ask("POST", "reply", `calls=[{"name":"mail__send","arguments":{"to":"Ann"}}]`)
	for range 2 { // the end of this task, and of the next
		_, _ = ask("GET", "next", "")
		_, _ = ask("POST", "reply", "say=Done.")
	}
	require.NoError(t, <-ended)
	var r report
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &r))
	assert.Equal(t, 0.5, r.Ways[0].Solved)
	assert.Greater(t, r.Ways[0].Means["prompt"], 100.0, "estimated")
}
