package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

// prices has prices whose sums show which tokens were billed how.
const prices = `[{"name":"ours","model":"ours","input":1000,"cached":100,"written":2000,"output":10000,"cache":"automatic","wire":"chat","date":"2026-11-01","source":"a test"}]`

const key = "the-key-of-nobody"

// A front is what stands between the command and a scripted provider.
type front struct {
	*httptest.Server
	first []http.HandlerFunc // for the first requests, instead of the provider
	asked atomic.Int32
}

func newFront(t *testing.T, api provider.API, behind *provider.Server, first ...http.HandlerFunc) *front {
	f := &front{first: first}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(f.asked.Add(1))
		if n <= len(f.first) {
			f.first[n-1](w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		request, err := http.NewRequestWithContext(r.Context(), r.Method, strings.TrimSuffix(behind.URL, "/v1")+r.URL.Path, bytes.NewReader(body))
		assert.NoError(t, err)
		request.Header = r.Header
		response, err := http.DefaultClient.Do(request)
		assert.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		assert.NoError(t, err)
		w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
		w.WriteHeader(response.StatusCode)
		_, _ = w.Write(cached(api, text))
	}))
	t.Cleanup(f.Close)
	return f
}

// cached adds 60 cached tokens to a provider's bill of 10, and 30 written ones where its form has them.
func cached(api provider.API, answer []byte) []byte {
	text := string(answer)
	switch api {
	case provider.Messages:
		return []byte(strings.Replace(text, `"input_tokens":10`, `"input_tokens":10,"cache_read_input_tokens":60,"cache_creation_input_tokens":30`, 1))
	case provider.Chat:
		return []byte(strings.Replace(text, `"prompt_tokens":10`, `"prompt_tokens":70,"prompt_tokens_details":{"cached_tokens":60}`, 1))
	}
	return []byte(strings.NewReplacer(`"input_tokens":10`, `"input_tokens":70`, `"cached_tokens":0`, `"cached_tokens":60`).Replace(text))
}

// play runs the command with a task over a catalog of two tools.
func play(ctx context.Context, t *testing.T, url string, api provider.API, args ...string) (out, problems string, code int) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"prices.json": prices,
		"tools.jsonl": `{"name":"send_mail","description":"Sends an e-mail"}` + "\n" + `{"name":"get_weather","description":"The weather"}`,
		"tasks.jsonl": `{"id":"a","query":"Send an e-mail.","gold":["send_mail"]}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	t.Setenv("TOOLSEARCH_MODEL_KEY", key)
	if api != provider.Messages {
		url += "/v1"
	}
	names := map[provider.API]string{provider.Messages: "messages", provider.Chat: "chat", provider.Responses: "responses"}
	args = append([]string{"-tasks", filepath.Join(dir, "tasks.jsonl"), "-model", "gpt@" + url, "-api", names[api], "-json", "-o", filepath.Join(dir, "runs.jsonl"),
		"-prices", filepath.Join(dir, "prices.json"), "-provider", "ours", filepath.Join(dir, "tools.jsonl")}, args...)
	var stdout, stderr bytes.Buffer
	code = run(ctx, args, strings.NewReader(""), &stdout, &stderr)
	assert.NotContains(t, stdout.String()+stderr.String(), key)
	return stdout.String(), stderr.String(), code
}

type report struct {
	Ways []struct {
		Runs   int
		Solved float64
		Means  map[string]float64
		Notes  []string
	}
}

var turns = []provider.Turn{
	{Calls: []provider.Call{{Name: "tool_search", Arguments: `{"query":"mail"}`}}}, {Calls: []provider.Call{{Name: "send_mail", Arguments: `{}`}}}, provider.Say("Sent."),
}

// Every wire, after a refusal for haste and a fault of the server, which are not billed.
func TestWires(t *testing.T) {
	refuse := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "0")
			http.Error(w, `{"error":{"type":"x","message":"not now"}}`, status)
		}
	}
	for _, tt := range []struct {
		api   provider.API
		ways  []string
		price float64 // of a call, in millionths of a dollar; what is not read from the cache counts as written
	}{
		{provider.Messages, []string{"default", "native_references", "anchored"}, 60*100 + 40*2000 + 5*10000},
		{provider.Chat, []string{"default", "anchored"}, 60*100 + 10*2000 + 5*10000},
		{provider.Responses, []string{"default", "native_deferred", "anchored"}, 60*100 + 10*2000 + 5*10000},
	} {
		for _, way := range tt.ways {
			what := fmt.Sprint(tt.api, " ", way)
			behind := provider.New(t, tt.api, turns...)
			f := newFront(t, tt.api, behind, refuse(http.StatusTooManyRequests), refuse(http.StatusInternalServerError))
			out, problems, code := play(t.Context(), t, f.URL, tt.api, "-way", way)
			require.Equal(t, cli.Found, code, "%s: %s", what, problems)
			var r report
			require.NoError(t, json.Unmarshal([]byte(out), &r), what)
			assert.Equal(t, 1.0, r.Ways[0].Solved, "%s: %s", what, out)
			assert.Equal(t, 3.0, r.Ways[0].Means["calls"], what)
			assert.Equal(t, 180.0, r.Ways[0].Means["cached"], what)
			assert.InDelta(t, 3*tt.price/1e6, r.Ways[0].Means["dollars"], 1e-9, what)
			assert.Empty(t, r.Ways[0].Notes, what)
		}
	}
}

// A budget is never exceeded, and what an answer without a bill may have cost counts.
func TestBudget(t *testing.T) {
	long := make([]provider.Turn, 0, 300)
	for range 100 {
		long = append(long, turns...)
	}
	behind := provider.New(t, provider.Chat, long...)
	garbage := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\n\n\x00\xff")
	}
	f := newFront(t, provider.Chat, behind, garbage)
	out, problems, code := play(t.Context(), t, f.URL, provider.Chat, "-way", "default", "-n", "100", "-parallel", "3", "-budget", "95")
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, problems, "the budget is used up: the next call may cost 4")
	var r report
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	assert.Greater(t, r.Ways[0].Runs, 0)
	assert.Less(t, r.Ways[0].Runs, 100)
	const call = (60*100 + 10*2000 + 5*10000) / 1e6
	assert.LessOrEqual(t, float64(len(behind.Requests()))*call+40.96, 95.0, "with the answer of garbage")
	assert.Greater(t, float64(len(behind.Requests()))*call+3*46, 95.0, "it stopped too early")
}

// What ends a trial: a wrong key, which is not printed; a redirect, which is not followed; an interruption of a call
// that takes long.
func TestEnds(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the key went elsewhere") }))
	defer elsewhere.Close()
	for api, header := range map[provider.API]string{provider.Messages: "X-Api-Key", provider.Chat: "Authorization", provider.Responses: "Authorization"} {
		behind := provider.New(t, api)
		f := newFront(t, api, behind)
		for range 100 {
			f.first = append(f.first, func(w http.ResponseWriter, r *http.Request) {
				http.Error(w, `{"error":{"type":"x","message":"wrong key `+r.Header.Get(header)+`"}}`, http.StatusUnauthorized)
			})
		}
		_, problems, code := play(t.Context(), t, f.URL, api, "-way", "all")
		assert.Equal(t, cli.Failed, code, api)
		assert.Contains(t, problems, "wrong key", api)

		f = newFront(t, api, behind)
		for range 100 {
			f.first = append(f.first, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
			})
		}
		_, _, code = play(t.Context(), t, f.URL, api, "-way", "all")
		assert.Equal(t, cli.Failed, code, api)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f := newFront(t, provider.Chat, provider.New(t, provider.Chat), func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until then the server does not see that the client is gone
		cancel()
		<-r.Context().Done()
	})
	_, problems, code := play(ctx, t, f.URL, provider.Chat, "-way", "all")
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, problems, "goes on when it is started again")
	assert.Equal(t, int32(1), f.asked.Load(), "requests after the interruption")
}
