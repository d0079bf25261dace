package ui

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/catalog"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/inspect"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/searchers"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

const (
	plain = `{"name": "theatre__buy_ticket", "description": "Buy a seat for a play", "server": "theatre"}
{"name": "train__buy_ticket", "description": "Buy a seat in a train", "server": "train"}
{"name": "train__timetable", "description": "When a train leaves", "server": "train",
	"parameters": {"type": "object", "properties": {"from": {}}}}
`
	image = `<img src=x onerror=alert(1)>`
)

// pageOf makes a page of tools as JSONL.
func pageOf(t *testing.T, tools string) Page {
	t.Helper()
	p := Page{
		Title: "test.jsonl", Chosen: []string{"keyword", "bm25"},
		Searchers: []searchers.Searcher{
			{Name: "keyword", About: "four tiers", Index: search.Keyword},
			{Name: "bm25", About: "words", Index: search.BM25},
			{Name: "regexp", Index: search.Regexp},
		},
	}
	for lines := json.NewDecoder(strings.NewReader(tools)); lines.More(); {
		p.Tools = append(p.Tools, catalog.Definition{})
		require.NoError(t, lines.Decode(&p.Tools[len(p.Tools)-1]))
	}
	return p
}

// start serves a page until end.
func start(t *testing.T, p Page) (s *Server, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s = testtools.Must(Listen(ctx, p, 0))(t)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	return s, func() {
		cancel()
		assert.NoError(t, <-ended)
	}
}

// serve serves a page until the test ends.
func serve(t *testing.T, p Page) *Server {
	t.Helper()
	s, end := start(t, p)
	t.Cleanup(end)
	return s
}

// fetch asks for an address below the page's and returns the status, the headers and the text. Like the page, it asks again
// for an answer that a busy machine has not made yet, unless a test is impatient.
func fetch(t *testing.T, s *Server, path string) (int, http.Header, string) {
	t.Helper()
	response := testtools.Must(http.Get(s.URL() + path))(t)
	defer response.Body.Close()
	if response.StatusCode == http.StatusAccepted && patience > impatience {
		return fetch(t, s, path)
	}
	return response.StatusCode, response.Header, string(testtools.Must(io.ReadAll(response.Body))(t))
}

const impatience = 20 * time.Millisecond

// ask returns an answer, which must be JSON.
func ask(t *testing.T, s *Server, path string) (status int, answer map[string]any) {
	t.Helper()
	status, header, text := fetch(t, s, path)
	require.Equal(t, "application/json", header.Get("Content-Type"), "%s", path)
	require.NoError(t, json.Unmarshal([]byte(text), &answer), "%s", text)
	return status, answer
}

// beImpatient makes requests wait only a moment, until the test ends.
func beImpatient(t *testing.T) {
	before := patience
	patience = impatience
	t.Cleanup(func() { patience = before })
}

// answers checks the whole of an answer.
func answers(t *testing.T, s *Server, path string, status int, want string) {
	t.Helper()
	got, _, text := fetch(t, s, path)
	assert.Equal(t, status, got, "%.60s", path)
	assert.JSONEq(t, want, text, "%.60s", path)
}

func TestOnlyTheAddressOpensThePage(t *testing.T) {
	s := serve(t, pageOf(t, plain))
	at := testtools.Must(url.Parse(s.URL()))(t)
	assert.Equal(t, "127.0.0.1", at.Hostname())
	token := strings.Trim(at.Path, "/")
	assert.Len(t, token, 32, "192 bits in base64")
	for _, test := range []struct {
		name, method, host, path string
		status                   int
	}{
		{"the page", "GET", at.Host, at.Path, http.StatusOK},
		{"its head", "HEAD", at.Host, at.Path, http.StatusOK},
		{"a file", "GET", at.Host, at.Path + "page.js", http.StatusOK},
		{"an answer", "GET", at.Host, at.Path + "api/state", http.StatusOK},
		{"without the last slash", "GET", at.Host, "/" + token, http.StatusSeeOther},
		{"no token", "GET", at.Host, "/", http.StatusForbidden},
		{"no token for a file", "GET", at.Host, "/page.js", http.StatusForbidden},
		{"no token for an answer", "GET", at.Host, "/api/state", http.StatusForbidden},
		{"the token of another page", "GET", at.Host, "/" + strings.Repeat("a", len(token)) + "/", http.StatusForbidden},
		{"the beginning of the token", "GET", at.Host, "/" + token[:31] + "/", http.StatusForbidden},
		{"the token behind a path", "GET", at.Host, "/api/../" + token + "x/", http.StatusForbidden},
		{"a name that resolves to 127.0.0.1", "GET", "evil.example:" + at.Port(), at.Path, http.StatusMisdirectedRequest},
		{"another port's host", "GET", "127.0.0.1", at.Path, http.StatusMisdirectedRequest},
		{"a form of another site", "POST", at.Host, at.Path + "api/state", http.StatusMethodNotAllowed},
		{"no such file", "GET", at.Host, at.Path + "nothing", http.StatusNotFound},
		{"a file outside", "GET", at.Host, at.Path + "../../server.go", http.StatusTemporaryRedirect}, // to where a token is wanted
	} {
		t.Run(test.name, func(t *testing.T) {
			request := testtools.Must(http.NewRequestWithContext(t.Context(), test.method, "http://"+at.Host+test.path, http.NoBody))(t)
			request.Host = test.host
			response, err := http.DefaultTransport.RoundTrip(request) // which follows no redirect
			require.NoError(t, err)
			defer response.Body.Close()
			text := testtools.Must(io.ReadAll(response.Body))(t)
			assert.Equal(t, test.status, response.StatusCode)
			assert.Equal(t, "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "+
				"base-uri 'none'; form-action 'none'; frame-ancestors 'none'", response.Header.Get("Content-Security-Policy"))
			if test.status != http.StatusNotFound { // the file server removes the header from its errors
				assert.Equal(t, "no-store", response.Header.Get("Cache-Control"))
			}
			assert.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"))
			assert.Equal(t, "no-referrer", response.Header.Get("Referrer-Policy"))
			assert.Empty(t, response.Header.Values("Set-Cookie"), "cookies")
			assert.Empty(t, response.Header.Get("Access-Control-Allow-Origin"))
			if test.status == http.StatusForbidden || test.status == http.StatusMisdirectedRequest {
				assert.NotContains(t, string(text)+response.Header.Get("Location"), token, "what a stranger is told")
			}
		})
	}
	other := serve(t, pageOf(t, plain))
	assert.NotContains(t, other.URL(), token, "two pages have two tokens")
}

func TestSearchTakesScoresApart(t *testing.T) {
	s := serve(t, pageOf(t, plain))
	_, answer := ask(t, s, "api/search?searcher=keyword&q=train+seat")
	assert.EqualValues(t, 3, answer["total"])
	hits := answer["hits"].([]any)
	require.Len(t, hits, 3)
	first := hits[0].(map[string]any)
	assert.Equal(t, "Buy a seat in a train", first["description"])
	delete(first, "description")
	text := testtools.Must(json.Marshal(first))(t)
	assert.JSONEq(t, `{"id": 1, "name": "train__buy_ticket", "server": "train", "score": 12, "parts": [
		{"term": "train", "field": "name", "score": 10, "detail": "a part of the name equals it"},
		{"term": "seat", "field": "description", "score": 2, "detail": "the description contains it"}
	]}`, string(text))
	answers(t, s, "api/explain?searcher=keyword&q=train+seat&id=1", http.StatusOK, string(text))

	_, selected := ask(t, s, "api/search?searcher=bm25&q=select:train__timetable")
	require.Len(t, selected["hits"], 1)
	assert.Empty(t, selected["hits"].([]any)[0].(map[string]any)["parts"], "a selection has no score")
	_, missed := ask(t, s, "api/search?searcher=keyword&q=trian__timetable")
	assert.Equal(t, []any{"train__timetable"}, missed["suggestions"])
	_, wrong := ask(t, s, "api/search?searcher=regexp&q=(")
	assert.NotEmpty(t, wrong["message"], "what is wrong with the pattern")
}

// failing is a searcher that ends with an error.
type failing func(ctx context.Context) error

func (f failing) Search(ctx context.Context, _ search.Query) (search.Hits, error) {
	return search.Hits{}, f(ctx)
}

func (f failing) Explain(ctx context.Context, _ search.Query, _ int) (search.Explanation, error) {
	return search.Explanation{}, f(ctx)
}

// with serves a page with one more searcher.
func with(t *testing.T, name string, s search.Searcher, err error) *Server {
	t.Helper()
	p := pageOf(t, plain)
	p.Chosen = nil // so that nothing else is searched
	p.Searchers = append(p.Searchers, searchers.Searcher{
		Name: name, Index: func(context.Context, []search.Document) (search.Searcher, error) { return s, err },
	})
	return serve(t, p)
}

// A catalog whose searcher fails answers by keywords. The page says so.
func TestSearcherThatFails(t *testing.T) {
	s := with(t, "broken", failing(func(context.Context) error { return errors.New("no answer of the endpoint") }), nil)
	status, answer := ask(t, s, "api/search?searcher=broken&q=train")
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "no answer of the endpoint", answer["message"])
	assert.NotEmpty(t, answer["hits"])
	answers(t, s, "api/explain?searcher=broken&q=train&id=0", http.StatusInternalServerError, `{"error": "no answer of the endpoint"}`)
}

// A searcher that is too slow is an error, which the page shows. If the page asked again, the
// search would begin anew each time, without end.
func TestSearcherThatIsSlow(t *testing.T) {
	searches := atomic.Int32{}
	s := with(t, "slow", failing(func(ctx context.Context) error {
		searches.Add(1)
		<-ctx.Done() // nobody waits any more
		return ctx.Err()
	}), nil)
	beImpatient(t)
	for _, path := range []string{"api/search?searcher=slow&q=train", "api/explain?searcher=slow&q=train&id=0"} {
		searches.Store(0)
		status, answer := ask(t, s, path)
		for searches.Load() == 0 { // the index is being made, or the time was up before the search began
			status, answer = ask(t, s, path)
		}
		assert.Equal(t, http.StatusGatewayTimeout, status, path)
		assert.Equal(t, map[string]any{"error": "the searcher slow has not answered within 20ms"}, answer, path)
		assert.EqualValues(t, 1, searches.Load(), "how often %s searched", path)
	}
}

// An index that was not made within the indexer's own time is an error.
func TestIndexThatIsLate(t *testing.T) {
	s := with(t, "late", nil, context.DeadlineExceeded)
	status, answer := ask(t, s, "api/search?searcher=late&q=train")
	assert.Equal(t, http.StatusInternalServerError, status)
	assert.Contains(t, answer["error"], context.DeadlineExceeded.Error())
}

func TestTheCatalog(t *testing.T) {
	p := pageOf(t, plain)
	p.Tools[1].Schema = []byte(`{"type": "string"}`)
	s := serve(t, p)
	answers(t, s, "api/state", http.StatusOK, `{
		"title": "test.jsonl", "tools": 3, "servers": 2, "tokens": 75, "chosen": ["keyword", "bm25"],
		"searchers": [
			{"name": "keyword", "label": "keyword", "about": "four tiers"},
			{"name": "bm25", "label": "bm25", "about": "words"},
			{"name": "regexp", "label": "regexp", "about": ""}
		],
		"examples": ["buy ticket", "timetable"], "findings": false, "queries": 0, "providers": ["anthropic", "openai", "kimi", "deepseek", "qwen", "gemini", "none"],
		"protocols": ["tool_search", "regexp", "search_add", "ranked", "dispatch", "native_deferred", "native_references", "anchored"]
	}`)
	answers(t, s, "api/tools", http.StatusOK, `{"servers": ["theatre", "train"], "tools": [
		{"name": "theatre__buy_ticket", "server": 0, "tokens": 26, "parameters": 0, "refused": false},
		{"name": "train__buy_ticket", "server": 1, "tokens": 23, "parameters": 0, "refused": true},
		{"name": "train__timetable", "server": 1, "tokens": 26, "parameters": 1, "refused": false}
	]}`)
	answers(t, s, "api/tool?id=2", http.StatusOK, `{
		"id": 2, "name": "train__timetable", "server": "train", "description": "When a train leaves",
		"schema": "{\n  \"type\": \"object\",\n  \"properties\": {\n    \"from\": {}\n  }\n}", "tokens": 26, "parameters": 1, "refused": false
	}`)
	_, costs := ask(t, s, "api/costs?provider=none")
	assert.Contains(t, costs["advice"], "these 3 tools", "what the command cost prints")
	answers(t, s, "api/costs?provider=three", http.StatusNotFound, `{"error": "no such provider"}`)
	answers(t, s, "api/costs?provider=none&shape=5,2,2", http.StatusBadRequest,
		`{"error": "want at most 1000000 tokens of history, 2 to 200 calls, and 1 load or more but fewer than calls"}`)
	answers(t, s, "api/model?protocol=native_server&q=train", http.StatusBadRequest, `{"error": "want a protocol and a query"}`)
	beImpatient(t)
	answers(t, s, "api/costs?provider=none&shape=400000,200,1", http.StatusGatewayTimeout,
		`{"error": "a conversation of this shape has not answered within 20ms"}`)
}

// A request that the page itself never makes gets a reason, and causes no work.
func TestBounds(t *testing.T) {
	s := serve(t, pageOf(t, plain))
	for _, test := range []struct {
		path   string
		status int
		text   string
	}{
		{"api/search?searcher=keyword&q=" + strings.Repeat("a", search.MaxQueryBytes+1), http.StatusBadRequest, "a query is at most 4096 bytes"},
		{"api/search?searcher=oracle&q=a", http.StatusNotFound, "no such searcher"},
		{"api/explain?searcher=keyword&q=a&id=3", http.StatusNotFound, "no such tool"},
		{"api/explain?searcher=keyword&q=a&id=-1", http.StatusNotFound, "no such tool"},
		{"api/explain?searcher=keyword&id=0&query=0", http.StatusNotFound, "no such query"},
		{"api/explain?searcher=keyword&id=0&query=x", http.StatusNotFound, "no such query"},
		{"api/tool?id=x", http.StatusNotFound, "no such tool"},
		{"api/eval?searcher=keyword", http.StatusNotFound, "no queries; toolsearch ui -queries FILE has some"},
		{"api/findings", http.StatusNotFound, "no findings"},
	} {
		answers(t, s, test.path, test.status, `{"error": "`+test.text+`"}`)
	}
	longest := url.Values{"searcher": {"bm25"}, "q": {strings.Repeat("天", search.MaxQueryBytes/3)}}
	status, _ := ask(t, s, "api/search?"+longest.Encode())
	assert.Equal(t, http.StatusOK, status, "the longest query, escaped")
	status, _, _ = fetch(t, s, "api/state?"+strings.Repeat("a", 64<<10))
	assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, status, "headers without end")
}

// Texts from outside arrive as texts: no character remains that hides, reorders its neighbours or
// begins an element.
func TestHostileTexts(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	hostile := image + "\u202egnp.exe\u200b\x1b[31m\u2028"
	var lines strings.Builder
	for _, tool := range []map[string]any{
		{"name": hostile, "description": "One " + hostile + "\nTwo\tthree " + long, "server": hostile},
		{"name": long, "description": strings.Repeat(long, 100)},
	} {
		require.NoError(t, json.NewEncoder(&lines).Encode(tool))
	}
	p := pageOf(t, lines.String())
	p.Title = hostile
	deep := strings.Repeat("[", 60) + strings.Repeat("1,", 100_000) + "1" + strings.Repeat("]", 60)
	p.Tools[0].Schema = []byte(`{"description":"` + image + `\u202e","deep":` + deep + `}`)
	p.Queries = []eval.Query{
		{ID: hostile, Text: "One " + hostile, Kind: hostile, Groups: [][]string{{hostile, long}}},
		{Text: long, Groups: [][]string{{hostile}}},
	}
	p.Findings = func(context.Context) (*inspect.Report, error) {
		return &inspect.Report{Problems: []inspect.Problem{{Kind: "hidden", Tools: []string{hostile, "gone" + hostile}, Detail: hostile}}}, nil
	}
	s := serve(t, p)
	for _, path := range []string{
		"api/state", "api/tools", "api/findings", "api/eval?searcher=keyword", "api/tool?id=0", "api/tool?id=1",
		"api/search?searcher=keyword&q=One", "api/search?searcher=bm25&q=" + url.QueryEscape(hostile),
		"api/explain?searcher=bm25&id=0&query=1", "api/search?searcher=regexp&q=" + url.QueryEscape("("+hostile),
	} {
		status, header, text := fetch(t, s, path)
		require.Equal(t, http.StatusOK, status, "%.60s: %.200s", path, text)
		assert.Equal(t, "application/json", header.Get("Content-Type"), "%.60s", path)
		assert.Less(t, len(text), 100_000, "%.60s: the bytes of an answer", path)
		assert.NotContains(t, text, "<", "%.60s", path)
		for _, hidden := range []string{"\u202e", "\u200b", "\x1b", "\u2028", `\u202e"`, "\\u001b"} {
			assert.NotContains(t, strings.ReplaceAll(text, `\\u`, "escaped"), hidden, "%.60s", path)
		}
	}
	_, found := ask(t, s, "api/search?searcher=keyword&q=One")
	first := found["hits"].([]any)[0].(map[string]any)
	assert.Equal(t, image+`\u202egnp.exe\u200b\u001b[31m\u2028`, first["name"], "the name, with escapes for what hides")
	_, definition := ask(t, s, "api/tool?id=0")
	assert.Contains(t, definition["description"], "\nTwo    three xxx", "lines stay lines")
}

func TestFindings(t *testing.T) {
	p := pageOf(t, plain)
	asked := atomic.Int32{}
	release := make(chan struct{})
	p.Findings = func(context.Context) (*inspect.Report, error) {
		if asked.Add(1) == 1 {
			return nil, errors.New("the first time fails")
		}
		<-release
		return &inspect.Report{Problems: []inspect.Problem{
			{Kind: "name", Tools: []string{"train__timetable", "(tool 4)"}, Detail: "x\ny"},
			{Kind: "value", Tools: []string{"train__buy_ticket"}},
			{Kind: "name", Tools: []string{"train__buy_ticket"}},
		}}, nil
	}
	s := serve(t, p)
	answers(t, s, "api/findings", http.StatusInternalServerError, `{"error": "the first time fails"}`)
	beImpatient(t)
	for range 3 {
		answers(t, s, "api/findings", http.StatusAccepted, `{"pending": true}`)
	}
	close(release)
	for status := http.StatusAccepted; status == http.StatusAccepted; {
		status, _ = ask(t, s, "api/findings")
	}
	answers(t, s, "api/findings", http.StatusOK, `{"kinds": [
		{"heading": "names a provider would refuse (^[a-zA-Z0-9_-]{1,64}$)", "count": 2, "findings": [
			{"tools": [{"id": 2, "name": "train__timetable", "server": "train"}, {"id": -1, "name": "(tool 4)"}], "detail": "x y"},
			{"tools": [{"id": 1, "name": "train__buy_ticket", "server": "train"}], "detail": ""}
		]},
		{"heading": "values of the wrong kind", "count": 1, "findings": [{"tools": [{"id": 1, "name": "train__buy_ticket", "server": "train"}], "detail": ""}]}
	]}`)
	assert.EqualValues(t, 2, asked.Load(), "it is made once for all who ask, and once more after the failure")
}

// A query tells where its tools are and what came first instead.
func TestEval(t *testing.T) {
	p := pageOf(t, plain)
	p.Queries = []eval.Query{
		{ID: "1", Text: "buy train seat", Groups: [][]string{{"theatre__buy_ticket"}}, MaxRank: 1, Kind: "words"},
		{ID: "2", Text: "train", Groups: [][]string{{"theatre__buy_ticket", "train__timetable"}}},
	}
	s := serve(t, p)
	status, answer := ask(t, s, "api/eval?searcher=keyword")
	require.Equal(t, http.StatusOK, status)
	assert.Equal(t, "R@1", answer["metrics"].([]any)[0].(map[string]any)["name"])
	queries := answer["queries"].([]any)
	require.Len(t, queries, 2)
	text := testtools.Must(json.Marshal(queries))(t)
	const first = `{"id": 1, "name": "train__buy_ticket", "server": "train", "rank": 1}`
	const theatre = `{"id": 0, "name": "theatre__buy_ticket", "server": "theatre"}`
	assert.JSONEq(t, `[
		{"id": "1", "text": "buy train seat", "kind": "words", "max_rank": 1,
			"wanted": [{"rank": 2, "tools": [`+theatre+`]}], "first": `+first+`},
		{"id": "2", "text": "train", "kind": "", "max_rank": 0, "wanted": [
			{"rank": 2, "tools": [{"id": 2, "name": "train__timetable", "server": "train"}, `+theatre+`]}
		], "first": `+first+`}
	]`, string(text), "the tool that was found comes first")
	_, explained := ask(t, s, "api/explain?searcher=keyword&query=0&id=1")
	assert.EqualValues(t, 10+10+2, explained["score"], "the score of what came first")

	p.Queries = []eval.Query{{ID: "3", Text: "train", Groups: [][]string{{"plane"}}}}
	status, answer = ask(t, serve(t, p), "api/eval?searcher=keyword")
	assert.Equal(t, http.StatusInternalServerError, status)
	assert.Contains(t, answer["error"], `the catalog has no tool "plane"`)
}

// Serve ends with its context, and so does the work that the page began.
func TestServeEnds(t *testing.T) {
	p := pageOf(t, plain)
	began, ended := make(chan struct{}), make(chan struct{})
	p.Findings = func(ctx context.Context) (*inspect.Report, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}
	s, end := start(t, p)
	go func() {
		if response, err := http.Get(s.URL() + "api/findings"); err == nil {
			response.Body.Close()
		}
	}()
	<-began
	end()
	<-ended
	_, err := http.Get(s.URL())
	assert.Error(t, err, "the port is closed")
}
