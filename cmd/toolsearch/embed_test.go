package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
)

// An embedServer is an endpoint on the loopback address whose vectors know five meanings.
type embedServer struct {
	*httptest.Server
	mu       sync.Mutex
	batches  [][]string // that were asked for
	keys     []string   // that were sent
	models   []string
	instead  func(w http.ResponseWriter, request int) (done bool) // nil means a good answer
	requests int
}

var meanings = [][]string{{"parcel", "package", "shipment"}, {"letter", "mail"}, {"bell"}, {"weather", "rain"}, {"invoice"}}

func newEmbedServer(t *testing.T) *embedServer {
	t.Helper()
	cache := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, cache)
	}
	t.Setenv("TOOLSEARCH_EMBED_KEY", "")
	pause := cli.PostPause
	cli.PostPause = time.Millisecond
	s := &embedServer{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		cli.PostPause = pause
	})
	return s
}

// line is a command line with the flags of the endpoint.
func (s *embedServer) line(format string, args ...any) []string {
	return append(arguments(fmt.Sprintf(format, args...)), "-embed", s.URL+"/v1", "-model", "small")
}

func (s *embedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.instead != nil && s.instead(w, s.requests) {
		return
	}
	var asked struct {
		Model string
		Input []string
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.URL.Path != "/v1/embeddings" {
		http.Error(w, "what?", http.StatusBadRequest)
		return
	}
	s.batches, s.models = append(s.batches, asked.Input), append(s.models, asked.Model)
	s.keys = append(s.keys, r.Header.Get("Authorization"))
	type item struct {
		Index     int       `json:"index"`
		Embedding []float64 `json:"embedding"`
	}
	var data []item
	for i, text := range asked.Input {
		vector := []float64{0.01, 0, 0, 0, 0}
		for m, words := range meanings {
			for _, word := range words {
				if strings.Contains(text, word) {
					vector[m] = 1
				}
			}
		}
		data = append([]item{{i, vector}}, data...) // the last first: the index counts
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
}

// parcels is a catalog in which no tool has the word "parcel".
func parcels(t *testing.T, tools int) string {
	t.Helper()
	text := `{"name": "track", "description": "Where a shipment is"}` + "\n" + `{"name": "ring", "description": "Rings a bell"}` + "\n"
	for i := range tools - 2 {
		text += fmt.Sprintf(`{"name": "bill_%d", "description": "Sends invoice number %d"}`+"\n", i, i)
	}
	return written(t, "tools.jsonl", text)
}

// Vectors find what words do not. They are asked for in batches, and only once.
func TestSearchByVectors(t *testing.T) {
	s := newEmbedServer(t)
	t.Setenv("TOOLSEARCH_EMBED_KEY", "secret")
	catalog := parcels(t, 25)
	search := func(query string) string {
		stdout, stderr := prints(t, cli.Found, "", s.line("search -searcher embedding -n 1 %s %s", catalog, query)...)
		require.Empty(t, stderr)
		return stdout
	}
	assert.Regexp(t, `(?m)^1 +1  track +Where a shipment is$`, search("my parcel"))
	assert.Len(t, s.batches, 4, "25 tools in batches of 10, and the query")
	for i := range s.batches {
		assert.LessOrEqual(t, len(s.batches[i]), 10)
		assert.Equal(t, "Bearer secret", s.keys[i])
		assert.Equal(t, "small", s.models[i])
	}
	search("my parcel")
	assert.Len(t, s.batches, 4, "the same query again asks for nothing")
	search("the weather")
	require.Len(t, s.batches, 5, "another query asks for itself alone")
	assert.Equal(t, []string{"the weather"}, s.batches[4])
	line := fmt.Sprintf("search -searcher embedding -embed %s/v1/embeddings/ -model large %s my parcel", s.URL, catalog)
	_, stderr := prints(t, cli.Found, "", arguments(line)...)
	assert.Empty(t, stderr)
	assert.Len(t, s.batches, 9, "another model has its own vectors")
}

// An evaluation gets the vectors of its queries in batches, as inspect does for the tools'
// own words.
func TestEvalByVectors(t *testing.T) {
	s := newEmbedServer(t)
	catalog := parcels(t, 3)
	queries := ""
	for i := range 12 {
		queries += fmt.Sprintf(`{"query": "parcel %d", "gold": ["track"]}`+"\n", i)
	}
	stdout, _ := prints(t, cli.Found, queries, s.line("eval -resamples 0 -searcher keyword,hybrid %s -", catalog)...)
	assert.Regexp(t, `(?m)^R@1 +0\.0 +100\.0 `, stdout)
	assert.Len(t, s.batches, 3, "12 queries in batches of 10, then the tools")
	stdout, _ = prints(t, cli.Found, "", s.line("inspect -searcher hybrid %s", catalog)...)
	assert.Regexp(t, `(?m)^ +\d+  track +0        1        1  Where a shipment is$`, stdout)
	assert.Len(t, s.batches, 4, "three names and descriptions in one batch")
	stdout, _ = prints(t, cli.Found, "", s.line("explain -searcher embedding %s 'parcel 1' track", catalog)...)
	assert.Contains(t, stdout, "cosine")
	assert.Len(t, s.batches, 4, "explain needs nothing new")
}

// An endpoint that is busy is asked again, but not for ever.
func TestVectorsOfABusyEndpoint(t *testing.T) {
	s := newEmbedServer(t)
	s.instead = func(w http.ResponseWriter, request int) bool {
		if request < 3 {
			w.Header().Set("Retry-After", "0")
			http.Error(w, "later", http.StatusTooManyRequests)
		}
		return request < 3
	}
	catalog := parcels(t, 2)
	prints(t, cli.Found, "", s.line("search -searcher embedding %s parcel", catalog)...)
	assert.Equal(t, 4, s.requests, "twice in vain, the tools, the query")

	s.requests, s.instead = 0, func(w http.ResponseWriter, _ int) bool {
		http.Error(w, "broken", http.StatusInternalServerError)
		return true
	}
	_, stderr := prints(t, cli.Failed, "", s.line("search -searcher embedding %s bell", catalog)...)
	assert.Contains(t, stderr, "500 Internal Server Error: broken")
	assert.Equal(t, 4, s.requests)
}

// A wrong answer is an error that says what is wrong, and nothing of it is kept.
func TestVectorsThatAreNone(t *testing.T) {
	say := func(status int, text string) func(http.ResponseWriter, int) bool {
		return func(w http.ResponseWriter, _ int) bool {
			w.WriteHeader(status)
			fmt.Fprint(w, text)
			return true
		}
	}
	vector := func(numbers string) string {
		return `{"data": [{"index": 0, "embedding": [` + numbers + `]}, {"index": 1, "embedding": [` + numbers + `]}]}`
	}
	for _, test := range []struct {
		name    string
		instead func(http.ResponseWriter, int) bool
		want    string
	}{
		{"a page", say(200, "<html>hello</html>"), `want a list of embeddings, not "<html>hello</html>"`},
		{"nothing", say(200, ""), `want a list of embeddings, not ""`},
		{"no vectors", say(200, `{"data": null}`), "0 vectors for 2 texts"},
		{"one vector", say(200, `{"data": [{"embedding": [1]}]}`), "1 vector for 2 texts"},
		{"numbers", say(200, `[1, 2]`), "want a list of embeddings"},
		{"words", say(200, vector(`"a"`)), "want a list of embeddings"},
		{"zeros", say(200, vector("0, 0")), "has no direction: it is empty or zero"},
		{"two for one text", say(200, `{"data": [{"index": 1, "embedding": [1]}, {"index": 1, "embedding": [1]}]}`),
			"no vector, or two, for a text: index 1 of 2 texts"},
		{"an index beyond", say(200, `{"data": [{"index": 7, "embedding": [1]}, {"index": -1, "embedding": [1]}]}`), "index 7 of 2 texts"},
		{"lengths", say(200, `{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}`),
			"vectors of 1 and of 2 dimensions"},
		{"deep", say(200, `{"data": `+strings.Repeat("[", 100_000)), "want a list of embeddings"},
		{"too much", say(200, strings.Repeat(" ", 32<<20+1)), "it sent more than 32 MiB"},
		{"refused", say(401, `{"error": {"message": "wrong key s3cret\u001b[31m"}}`), "401 Unauthorized: wrong key *** [31m"},
		{"elsewhere", func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return true
		}, "307 Temporary Redirect"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newEmbedServer(t)
			t.Setenv("TOOLSEARCH_EMBED_KEY", "s3cret")
			s.instead = test.instead
			line := s.line("search -searcher hybrid %s parcel", parcels(t, 2))
			stdout, stderr := prints(t, cli.Failed, "", line...)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, test.want)
			assert.NotContains(t, stderr, "s3cret")
			assert.Equal(t, 1, s.requests, "a lasting fault is not asked for again")

			s.instead = nil
			prints(t, cli.Found, "", line...) // what was wrong is not kept
		})
	}
}

// A model that has changed under its name has vectors of another length.
func TestVectorsOfAnotherModel(t *testing.T) {
	s := newEmbedServer(t)
	catalog := parcels(t, 2)
	prints(t, cli.Found, "", s.line("search -searcher embedding %s parcel", catalog)...)
	s.instead = func(w http.ResponseWriter, _ int) bool {
		fmt.Fprint(w, `{"data": [{"embedding": [1, 2]}]}`)
		return true
	}
	_, stderr := prints(t, cli.Failed, "", s.line("search -searcher embedding %s bell", catalog)...)
	assert.Regexp(t, `vectors of 2 numbers, but those before had 5; if the model has changed, remove \S+vectors-[0-9a-f]{16}\b`, stderr)
}

func TestEmbedFlags(t *testing.T) {
	newEmbedServer(t) // for its empty cache
	for flags, want := range map[string]string{
		"-searcher hybrid": "-searcher hybrid needs -embed URL and -model NAME",
		"-searcher embedding -embed http://localhost":                                    "-searcher embedding needs -embed URL and -model NAME",
		"-searcher embedding -embed localhost:80 -model small":                           "-embed: want a URL that begins with http:// or https://",
		"-embed http://localhost -model small":                                           "-embed and -model are for the searchers embedding and hybrid",
		"-searcher embedding -embed http://user:pass@127.0.0.1:1/v1?key=secret -model m": "127.0.0.1:1: ",
	} {
		_, stderr := prints(t, cli.Failed, "", arguments("search $TOOLS book "+flags)...)
		assert.Contains(t, stderr, want)
		assert.NotRegexp(t, "pass|secret", stderr)
	}
}
