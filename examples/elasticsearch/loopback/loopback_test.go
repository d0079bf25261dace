package loopback

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const mapping = `{"settings":{"number_of_shards":1},"mappings":{"dynamic":"strict","properties":{
	"name":{"type":"keyword"},"content":{"type":"text"},"vector":{"type":"dense_vector","dims":2,"similarity":"cosine"}}}}`

// send sends a request and returns the status and the answer.
func send(t *testing.T, s *Server, method, path, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, "Elasticsearch", response.Header.Get("X-Elastic-Product"), "%s %s", method, path)
	return response.StatusCode, string(text)
}

func started(t *testing.T) *Server {
	t.Helper()
	s := Start()
	t.Cleanup(s.Close)
	for _, request := range [][3]string{
		{"PUT", "/tools", mapping},
		{"POST", "/tools/_bulk", `{"index":{"_id":"1"}}
{"name":"a","content":"send mail to someone","vector":[1,0]}
{"index":{"_id":"2"}}
{"name":"b","content":"send","vector":[0,1]}
{"index":{"_id":"3"}}
{"name":"c","content":"天气 forecast"}
`},
		{"POST", "/tools/_refresh", ""},
	} {
		status, answer := send(t, s, request[0], request[1], request[2])
		require.Equal(t, 200, status, "%s %s: %s", request[0], request[1], answer)
		require.NotContains(t, answer, `"error"`, "%s %s", request[0], request[1])
	}
	return s
}

func TestRefusesWhatElasticsearchRefuses(t *testing.T) {
	s := started(t)
	long := strings.Repeat("x", 40_000)
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/tools/_settings", "", 400, "no handler found for uri [/tools/_settings] and method [GET]"},
		{"PATCH", "/tools", "", 400, "no handler found"},
		{"POST", "/tools/_search?routing=1", "{}", 400, "unrecognized parameter: [routing]"},
		{"HEAD", "/none", "", 404, ""}, {"HEAD", "/tools", "", 200, ""},
		{"PUT", "/tools", mapping, 400, "resource_already_exists_exception"},
		{"PUT", "/Tools", mapping, 400, "invalid_index_name_exception"},
		{"PUT", "/others", `{"mappings":{"dynamic":"strict","properties":{"a":{"type":"txt"}}}}`, 400, "No handler for type [txt]"},
		{"PUT", "/others", `{"mappings":{"dynamic":"strict","properties":{"a":{"type":"text","stored":true}}}}`, 400, "mapper_parsing_exception"},
		{"PUT", "/others", `{"mapping":{}}`, 400, "unknown field [mapping]"},
		{"DELETE", "/none", "", 404, "index_not_found_exception"},
		{"POST", "/none/_search", "{}", 404, "no such index [none]"},
		{"POST", "/none/_refresh", "", 404, "no such index [none]"},

		{"POST", "/tools/_bulk", "", 400, "request body is required"},
		{"POST", "/tools/_bulk", `{"delete":{"_id":"1"}}`, 400, "must be terminated by a newline"},
		{"POST", "/tools/_bulk", "{\"index\":{\"_id\":\"1\"}}\n", 400, "has no source"},
		{"POST", "/tools/_bulk", "{\"drop\":{\"_id\":\"1\"}}\n{}\n", 400, "Malformed action/metadata line [1]"},
		{"POST", "/tools/_bulk", "{}\n{}\n", 400, "Malformed action/metadata line [1]"},
		{"POST", "/tools/_bulk", "nonsense\n{}\n", 400, "Malformed action/metadata line [1]"},
		{"POST", "/tools/_bulk", "{\"index\":{\"_id\":\"\"}}\n{}\n", 400, "an id has 1 to 512 bytes"},
		{"POST", "/_bulk", "{\"index\":{\"_index\":\"none\",\"_id\":\"1\"}}\n{}\n", 200, `"status":404`},
		{"POST", "/tools/_bulk", "{\"delete\":{\"_id\":\"none\"}}\n", 200, "not_found"},
		{"POST", "/tools/_bulk", "{\"index\":{\"_id\":\"9\"}}\n{\"colour\":\"red\"}\n", 200, "strict_dynamic_mapping_exception"},
		{"POST", "/tools/_bulk", "{\"index\":{\"_id\":\"9\"}}\n{\"name\":7}\n", 200, "document_parsing_exception"},
		{"POST", "/tools/_bulk", "{\"index\":{\"_id\":\"9\"}}\n{\"name\":\"" + long + "\"}\n", 200, "immense term"},
		{"POST", "/tools/_bulk", "{\"index\":{\"_id\":\"9\"}}\n{\"vector\":[1,2,3]}\n", 200, "3 dimensions, want 2"},
		{"POST", "/tools/_bulk", "{\"index\":{\"_id\":\"9\"}}\n{\"vector\":[0,0]}\n", 200, "zero magnitude"},
		{"POST", "/tools/_bulk", "{\"index\":{\"_id\":\"9\"}}\n[]\n", 200, "not an object"},

		{"POST", "/tools/_search", `{"size":10001}`, 400, "Result window is too large"},
		{"POST", "/tools/_search", `{"form":1}`, 400, "unknown field [form]"},
		{"POST", "/tools/_search", `{"query":{"matches":{}}}`, 400, "unknown field [matches]"},
		{"POST", "/tools/_search", `{"query":{}}`, 400, "query malformed"},
		{"POST", "/tools/_search", `{"query":{"match":{"content":{"query":"a","fuzz":1}}}}`, 400, "unknown field [fuzz]"},
		{"POST", "/tools/_search", `{"query":{"match":{"name":{"query":"a"}}}}`, 400, "field [name] is no text"},
		{"POST", "/tools/_search", `{"query":{"term":{"content":{"value":"a"}}}}`, 400, "field [content] is no keyword"},
		{"POST", "/tools/_search", `{"query":{"script_score":{"query":{"match_all":{}},"script":{"source":"1"}}}}`, 400, "compile error"},
		{"POST", "/tools/_search", `{"knn":[{"field":"vector","query_vector":[1],"k":1,"num_candidates":1}]}`, 400, "no dense_vector of 1 dimensions"},
		{"POST", "/tools/_search", `{"knn":[{"field":"vector","query_vector":[1,1],"k":5,"num_candidates":1}]}`, 400, "cannot be less than [k]"},
		{"POST", "/tools/_search", `{"search_after":["a"]}`, 400, "requires a sort"},
		{"POST", "/tools/_search", `{"sort":[{"content":"asc"}]}`, 400, "sort by one keyword field"},
		{"POST", "/tools/_search", `{`, 400, "expected an object"},
		{"POST", "/tools/_mget", `{"id":[]}`, 400, "unknown field [id]"},
	} {
		status, answer := send(t, s, tt.method, tt.path, tt.body)
		assert.Equal(t, tt.status, status, "%s %s %.60s", tt.method, tt.path, tt.body)
		assert.Contains(t, answer, tt.want, "%s %s %.60s", tt.method, tt.path, tt.body)
	}
}

// scoresOf searches and returns the scores by ID.
func scoresOf(t *testing.T, s *Server, body string) map[string]float64 {
	t.Helper()
	status, text := send(t, s, "POST", "/tools/_search", body)
	var answer struct {
		Hits struct {
			Hits []struct {
				ID    string   `json:"_id"`
				Score *float64 `json:"_score"`
			} `json:"hits"`
		} `json:"hits"`
	}
	require.Equal(t, 200, status, "%s: %s", body, text)
	require.NoError(t, json.Unmarshal([]byte(text), &answer), "%s: %s", body, text)
	scores := make(map[string]float64)
	for _, hit := range answer.Hits.Hits {
		scores[hit.ID] = math.NaN()
		if hit.Score != nil {
			scores[hit.ID] = *hit.Score
		}
	}
	return scores
}

func TestScores(t *testing.T) {
	s := started(t)
	mean := (4. + 1 + 3) / 3 // words; 天气 counts as two
	saturated := func(length float64) float64 { return 1 / (1 + 1.2*(0.25+0.75*length/mean)) }
	idf := func(holding float64) float64 { return math.Log(1 + (3-holding+0.5)/(holding+0.5)) }
	for _, tt := range []struct {
		body string
		want map[string]float64
	}{
		{`{"query":{"match":{"content":{"query":"Send MAIL"}}}}`,
			map[string]float64{"1": (idf(2) + idf(1)) * saturated(4), "2": idf(2) * saturated(1)}},
		{`{"query":{"match":{"content":{"query":"气"}}}}`, map[string]float64{"3": idf(1) * saturated(3)}},
		{`{"query":{"match":{"content":{"query":"none"}}}}`, map[string]float64{}},
		{`{"query":{"bool":{"must":[{"match":{"content":{"query":"send"}}}],"filter":[{"term":{"name":{"value":"b"}}}]}}}`,
			map[string]float64{"2": idf(2) * saturated(1)}},
		{`{"query":{"match_all":{}},"size":2}`, map[string]float64{"1": 1, "2": 1}},
		{`{"knn":[{"field":"vector","query_vector":[1,0],"k":1,"num_candidates":9}]}`, map[string]float64{"1": 1}},
		{`{"knn":[{"field":"vector","query_vector":[1,0],"k":9,"num_candidates":9,"filter":[{"term":{"name":{"value":"b"}}}]}]}`, map[string]float64{"2": 0.5}},
		{`{"query":{"term":{"name":{"value":"b"}}},"knn":[{"field":"vector","query_vector":[1,0],"k":2,"num_candidates":9}]}`,
			map[string]float64{"1": 1, "2": 1 + 0.5}},
		{`{"query":{"script_score":{"query":{"match_all":{}},"script":{"source":"cosineSimilarity(params.embedding, 'vector') + 1.0","params":{"embedding":[1,0]}}}}}`,
			map[string]float64{"1": 2, "2": 1}},
		{`{"query":{"match_all":{}},"min_score":1.5}`, map[string]float64{}},
		{`{"sort":[{"name":"asc"}],"search_after":["a"],"size":1}`, map[string]float64{"2": math.NaN()}},
	} {
		// A document without a score has NaN, which is only near NaN.
		assert.InDeltaMapValues(t, tt.want, scoresOf(t, s, tt.body), 1e-9, tt.body)
	}
}

// TestRefresh: a written document is found by ID at once, and by searches after a refresh.
func TestRefresh(t *testing.T) {
	s := started(t)
	send(t, s, "POST", "/tools/_bulk", "{\"index\":{\"_id\":\"4\"}}\n{\"content\":\"new\",\"name\":\"d\"}\n{\"delete\":{\"_id\":\"1\"}}\n")
	const query = `{"query":{"match":{"content":{"query":"new mail"}}}}`
	got := scoresOf(t, s, query)
	assert.Len(t, got, 1, "before a refresh")
	assert.NotZero(t, got["1"], "before a refresh")
	want := `{"docs":[{"_id":"4","_index":"tools","_source":{"name":"d"},"found":true},{"_id":"1","_index":"tools","found":false}]}`
	_, documents := send(t, s, "POST", "/tools/_mget?_source_includes=name", `{"ids":["4","1"]}`)
	assert.Equal(t, want, strings.TrimSpace(documents))
	send(t, s, "POST", "/tools/_refresh", "")
	got = scoresOf(t, s, query)
	assert.Len(t, got, 1, "after a refresh")
	assert.NotZero(t, got["4"], "after a refresh")
}
