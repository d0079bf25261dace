package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// refund is a search and a call of the tool that it finds.
var refund = []toolsearchtest.Turn{
	toolsearchtest.CallTool("tool_search", `{"query":"select:mcp__stripe__refund_charge"}`),
	toolsearchtest.CallTool("mcp__stripe__refund_charge", `{"charge":"ch_17"}`),
	toolsearchtest.Say("It is refunded."),
}

// client is a browser.
type client struct {
	t    *testing.T
	url  string
	user string
}

// start starts the service over a folder. It ends with the test, or when stop is called.
func start(t *testing.T, folder string, chatModel model.BaseChatModel, limit int) (ann client, stop func()) {
	t.Helper()
	s := testtools.Must(newService(t.Context(), chatModel, files(folder), slog.New(slog.DiscardHandler)))(t)
	s.limit = limit
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return client{t, server.URL, "ann"}, server.Close
}

func (c client) do(ctx context.Context, method, path, kind, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-User", c.user)
	request.Header.Set("Content-Type", kind)
	return http.DefaultClient.Do(request)
}

// get returns the status and the body of an answer.
func (c client) get(method, path, kind, body string) (int, string) {
	c.t.Helper()
	response, err := c.do(c.t.Context(), method, path, kind, body)
	require.NoError(c.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	return response.StatusCode, string(text)
}

func (c client) begin() (path string) {
	c.t.Helper()
	status, text := c.get("POST", "/conversations", "", "")
	require.Equal(c.t, http.StatusOK, status, text)
	var made struct{ ID string }
	require.NoError(c.t, json.Unmarshal([]byte(text), &made))
	return "/conversations/" + made.ID
}

// ask returns the events of an answer, each as its name and its data. Pieces of text are joined.
func (c client) ask(path, question string) (events []string) {
	c.t.Helper()
	body, err := json.Marshal(map[string]string{"text": question})
	require.NoError(c.t, err)
	response, err := c.do(c.t.Context(), "POST", path, "application/json", string(body))
	require.NoError(c.t, err)
	defer response.Body.Close()
	require.Equal(c.t, http.StatusOK, response.StatusCode)
	assert.Equal(c.t, "text/event-stream; charset=utf-8", response.Header.Get("Content-Type"))
	lines, name, said := bufio.NewScanner(response.Body), "", ""
	for lines.Scan() {
		if n, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = n
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if name == "text" {
			var piece struct{ Text string }
			require.NoError(c.t, json.Unmarshal([]byte(data), &piece))
			said += piece.Text
			continue
		}
		if said != "" {
			events, said = append(events, "text "+said), ""
		}
		events = append(events, name+" "+data)
	}
	require.NoError(c.t, lines.Err())
	return events
}

// The service stops in the middle of a conversation. The next process has only the files. Its model
// has the tools that the first process loaded, even if the messages that loaded them are no longer
// kept.
func TestRestart(t *testing.T) {
	for name, limit := range map[string]int{"all messages are kept": maxMessages, "one turn is kept": 1} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			ann, stop := start(t, folder, toolsearchtest.NewModel[*schema.Message](
				append(refund[:3:3], toolsearchtest.Say("At your service."))...), limit)
			path := ann.begin()
			events := ann.ask(path, "Refund charge ch_17.")
			assert.Equal(t, `call {"arguments":"{\"query\":\"select:mcp__stripe__refund_charge\"}","name":"tool_search"}`, events[0])
			assert.Contains(t, events[1], `result {"name":"tool_search"`)
			assert.Equal(t, []string{"text It is refunded.", `done {"loaded":["mcp__stripe__refund_charge"]}`}, events[4:])
			ann.ask(path, "Thank you.")
			stop()

			scripted := toolsearchtest.NewModel[*schema.Message](
				toolsearchtest.CallTool("mcp__stripe__refund_charge", `{"charge":"ch_18"}`), toolsearchtest.Say("That one too."))
			ann, _ = start(t, folder, scripted, limit)
			status, text := ann.get("GET", path, "", "")
			assert.Equal(t, http.StatusOK, status)
			assert.Contains(t, text, `{"name":"question","data":{"text":"Thank you."}}`)
			assert.Equal(t, limit == maxMessages, strings.Contains(text, "ch_17"), "whether the first turn is still there: %s", text)
			assert.Contains(t, text, `"loaded":["mcp__stripe__refund_charge"]`)

			events = ann.ask(path, "And ch_18.")
			assert.Contains(t, events[1], `\"charge\":\"ch_18\"`)
			require.Len(t, scripted.Requests(), 2)
			first := scripted.Requests()[0]
			assert.Equal(t, []string{"tool_search", "mcp__stripe__refund_charge"}, first.ToolNames(), "what the model saw after the restart")
			var said []string
			for _, message := range first.Messages {
				if message.Role == toolsearchtest.User {
					said = append(said, message.Text)
				}
			}
			assert.Equal(t, "And ch_18.", said[len(said)-1])
			if limit == 1 {
				assert.Len(t, said, 3, "the list of names and two questions")
			}
		})
	}
}

// Each user has tools and conversations of their own.
func TestUsers(t *testing.T) {
	scripted := toolsearchtest.NewModel[*schema.Message](append(refund[:3:3], refund...)...)
	ann, _ := start(t, t.TempDir(), scripted, maxMessages)
	anns := ann.begin()
	ann.ask(anns, "Refund charge ch_17.")

	ben := client{t, ann.url, "ben"}
	status, _ := ben.get("GET", anns, "", "")
	assert.Equal(t, http.StatusNotFound, status)
	status, _ = ben.get("POST", anns, "application/json", `{"text":"Refund it again"}`)
	assert.Equal(t, http.StatusNotFound, status)
	require.Len(t, scripted.Requests(), 3, "the model was not asked")

	events := ben.ask(ben.begin(), "Refund charge ch_17.")
	assert.Contains(t, events[1], `not_found`)
	assert.Contains(t, events[3], `There is no tool named`)
	assert.Equal(t, `done {"loaded":[]}`, events[len(events)-1])

	for _, user := range []string{"", "eve"} {
		status, _ := client{t, ann.url, user}.get("POST", "/conversations", "", "")
		assert.Equal(t, http.StatusUnauthorized, status, user)
		status, _ = client{t, ann.url, user}.get("GET", anns, "", "")
		assert.Equal(t, http.StatusUnauthorized, status, user)
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	scripted := toolsearchtest.NewModel[*schema.Message]()
	ann, _ := start(t, t.TempDir(), scripted, maxMessages)
	path := ann.begin()
	const json = "application/json"
	for _, tt := range []struct {
		method, path, kind, body string
		want                     int
	}{
		{"POST", path, json, `{"text":"` + strings.Repeat("a", maxBody) + `"}`, http.StatusBadRequest},
		{"POST", path, json, `{"text":" "}`, http.StatusBadRequest},
		{"POST", path, json, ``, http.StatusBadRequest},
		{"POST", path, "text/plain", `{"text":"Hello"}`, http.StatusBadRequest},
		{"POST", "/conversations/AAAAAAAAAAAAAAAAAAAAAAAAAA", json, `{"text":"Hello"}`, http.StatusNotFound},
		{"GET", "/conversations/..%2F..%2Fetc%2Fpasswd", "", "", http.StatusNotFound},
		{"GET", "/conversations/x", "", "", http.StatusNotFound},
		{"DELETE", path, "", "", http.StatusMethodNotAllowed},
		{"GET", "/no.js", "", "", http.StatusNotFound},
		{"GET", "/page.js", "", "", http.StatusOK},
	} {
		status, text := ann.get(tt.method, tt.path, tt.kind, tt.body)
		assert.Equal(t, tt.want, status, "%s %s %.30s: %s", tt.method, tt.path, tt.body, text)
	}
	assert.Empty(t, scripted.Requests(), "what the model was asked")
}

// A failure is an event. Its details are not for the browser. The steps before it are kept, and
// the user can continue.
func TestFailure(t *testing.T) {
	scripted := toolsearchtest.NewModel[*schema.Message](
		refund[0], refund[1], toolsearchtest.Fail(errors.New("the key sk-123 has expired")), toolsearchtest.Say("It was refunded."))
	ann, _ := start(t, t.TempDir(), scripted, maxMessages)
	path := ann.begin()
	events := ann.ask(path, "Refund charge ch_17.")
	assert.Equal(t, []string{`error {"text":"The answer failed. Ask again."}`, `done {"loaded":["mcp__stripe__refund_charge"]}`}, events[4:])
	assert.NotContains(t, strings.Join(events, "\n"), "sk-123")

	assert.Equal(t, []string{"text It was refunded.", `done {"loaded":["mcp__stripe__refund_charge"]}`}, ann.ask(path, "And?"))
	var calls []string
	for _, message := range scripted.Requests()[3].Messages {
		for _, call := range message.Calls {
			calls = append(calls, call.Name)
		}
	}
	assert.Equal(t, []string{"tool_search", "mcp__stripe__refund_charge"}, calls, "the calls that the model knows of")
}

// waiting is a chat model that answers when its context ends.
type waiting struct{ asked, left chan struct{} }

func (m waiting) Generate(ctx context.Context, _ []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	close(m.asked)
	<-ctx.Done()
	close(m.left)
	return nil, ctx.Err()
}

func (m waiting) Stream(
	ctx context.Context, input []*schema.Message, options ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	_, err := m.Generate(ctx, input, options...)
	return nil, err
}

// A run ends when its browser leaves. Only then does the conversation take another question.
func TestTheBrowserLeaves(t *testing.T) {
	folder, slow := t.TempDir(), waiting{make(chan struct{}), make(chan struct{})}
	ann, stop := start(t, folder, slow, maxMessages)
	path := ann.begin()
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		response, err := ann.do(ctx, "POST", path, "application/json", `{"text":"Refund charge ch_17."}`)
		if err == nil {
			response.Body.Close()
		}
	}()
	<-slow.asked
	status, _ := ann.get("POST", path, "application/json", `{"text":"Hurry up."}`)
	assert.Equal(t, http.StatusConflict, status)
	leave()
	<-slow.left // otherwise the test would not end
	<-ended
	stop() // waits for the handler

	ann, _ = start(t, folder, toolsearchtest.NewModel[*schema.Message](toolsearchtest.Say("Here I am.")), maxMessages)
	_, text := ann.get("GET", path, "", "")
	assert.Contains(t, text, "Refund charge ch_17.")
	assert.Equal(t, []string{"text Here I am.", `done {"loaded":[]}`}, ann.ask(path, "Are you there?"))
}

// The demo finds a tool for a question, and calls it without a search for the next.
func TestDemo(t *testing.T) {
	ann, _ := start(t, t.TempDir(), demo{}, maxMessages)
	path := ann.begin()
	names := func(events []string) (calls []string) {
		for _, e := range events {
			for _, m := range regexp.MustCompile(`^call .*"name":"(.*)"}$`).FindAllStringSubmatch(e, 1) {
				calls = append(calls, m[1])
			}
		}
		return calls
	}
	assert.Equal(t, []string{"tool_search", "mcp__stripe__refund_charge"}, names(ann.ask(path, "Refund charge ch_17")))
	assert.Equal(t, []string{"mcp__stripe__refund_charge"}, names(ann.ask(path, "Refund charge ch_18")))
	ben := client{t, ann.url, "ben"}
	assert.NotContains(t, names(ben.ask(ben.begin(), "Refund charge ch_17")), "mcp__stripe__refund_charge")
	ben.ask(ben.begin(), "zzz qqq") // no tool, and no error
}
