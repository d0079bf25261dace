package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/search"
)

// cluster stands in for Elasticsearch: one index, whose documents it ranks by how many words of the
// query they have. It shows what the engine sends, not how Elasticsearch ranks.
type cluster struct {
	mu      sync.Mutex
	created bool
	docs    map[string]map[string]any
	refuses bool // every bulk
}

type hit struct {
	ID     string         `json:"_id"`
	Source map[string]any `json:"_source"`
	Score  float64        `json:"_score"`
	Sort   []any          `json:"sort,omitempty"`
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Header().Set("X-Elastic-Product", "Elasticsearch") // or the client refuses to talk
	w.Header().Set("Content-Type", "application/json")
	answer := map[string]any{}
	switch endpoint := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]; {
	case r.Method == http.MethodPut:
		c.created, c.docs = true, map[string]map[string]any{}
	case !c.created:
		w.WriteHeader(http.StatusNotFound)
		answer["error"] = map[string]string{"type": "index_not_found_exception", "reason": "no such index"}
	case r.Method == http.MethodDelete:
		c.created = false
	case endpoint == "_bulk" && c.refuses:
		w.WriteHeader(http.StatusTooManyRequests)
	case endpoint == "_bulk":
		c.bulk(r)
	case endpoint == "_search":
		answer["hits"] = map[string]any{"hits": c.search(r)}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (c *cluster) bulk(r *http.Request) {
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var action map[string]struct {
			ID string `json:"_id"`
		}
		_ = json.Unmarshal(lines.Bytes(), &action)
		if gone, ok := action["delete"]; ok {
			delete(c.docs, gone.ID)
			continue
		}
		if lines.Scan() {
			var doc map[string]any
			_ = json.Unmarshal(lines.Bytes(), &doc)
			c.docs[action["index"].ID] = doc
		}
	}
}

func (c *cluster) search(r *http.Request) []hit {
	text, hits := "", []hit{}
	var ask struct {
		Query struct {
			Match map[string]struct{ Query string }
		}
		After []any `json:"search_after"`
	}
	_ = json.NewDecoder(r.Body).Decode(&ask)
	for _, match := range ask.Query.Match {
		text = match.Query
	}
	if len(ask.After) > 0 {
		return hits // all documents are on one page
	}
	for id, doc := range c.docs {
		h := hit{ID: id, Source: doc, Sort: []any{doc[search.MetaName]}}
		content, _ := doc[contentField].(string)
		words := strings.FieldsFunc(strings.ToLower(content), func(r rune) bool { return r < 'a' || r > 'z' })
		for _, word := range strings.Fields(text) {
			if slices.Contains(words, word) {
				h.Score += 1 + 1/float64(len(words))
			}
		}
		if text == "" || h.Score > 0 {
			hits = append(hits, h)
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.ID, b.ID))
	})
	return hits
}

func start(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	t.Setenv("ELASTICSEARCH_URL", server.URL)
	return c
}

func TestProgram(t *testing.T) {
	start(t)
	var out strings.Builder
	require.NoError(t, run(t.Context(), &out))
	rest := out.String()
	for _, want := range []string{
		"first time: 166 tools written\n", "second time: 0 tools written\n",
		`tool_search {"query":"post message`, "mcp__slack__send_message", "The index is gone.", "from   fallback, toolsearch: the retriever failed: status: 404",
		"mcp__slack__send_message",
	} {
		require.Contains(t, rest, want, "in that place of\n%s", out.String())
		_, rest, _ = strings.Cut(rest, want)
	}
}

// A document that Elasticsearch refused does not count as stored, and a tool that left the catalog is
// deleted.
func TestSync(t *testing.T) {
	c := start(t)
	client, err := connect()
	require.NoError(t, err)
	e := &engine{client: client, index: throwAway()}
	require.NoError(t, e.create(t.Context()))
	infos := []*schema.ToolInfo{{Name: "open_door", Desc: "Opens the door"}, {Name: "close_door", Desc: "Closes the door"}}
	c.refuses = true
	_, err = e.sync(t.Context(), infos)
	assert.ErrorContains(t, err, "0 of 2 documents are stored")
	c.refuses = false
	written, err := e.sync(t.Context(), infos)
	require.NoError(t, err)
	assert.Equal(t, 2, written)
	written, err = e.sync(t.Context(), infos[:1])
	require.NoError(t, err)
	assert.Zero(t, written)
	assert.Len(t, c.docs, 1)
}
