package loopback

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"slices"
)

const maxResultWindow = 10_000

// request is the body of a search.
type request struct {
	size     int
	minScore *float64
	query    query // nil means none
	knn      []neighbours
	source   []string // fields to return; nil means all
	sort     string   // keyword field, ascending; "" means by score
	after    *string  // value of the sort field
}

// query scores a document. ok is false if the document does not match.
type query func(d *document) (score float64, ok bool)

type hit struct {
	document *document
	score    float64
}

func (s *Server) search(r *http.Request, body []byte) (any, error) {
	return s.with(r, func(x *index) (any, error) {
		q, err := x.readRequest(body)
		if err != nil {
			return nil, err
		}
		hits := x.find(q)
		total := len(hits)
		answers := make([]any, 0, q.size)
		var best any
		for i, h := range hits[:min(q.size, total)] {
			answer := map[string]any{"_index": x.name, "_id": h.document.id, "_score": h.score, "_source": h.document.sourceOf(q.source)}
			if q.sort != "" {
				answer["_score"], answer["sort"] = nil, []string{h.document.first(q.sort)}
			} else if i == 0 {
				best = h.score
			}
			answers = append(answers, answer)
		}
		return map[string]any{"took": 1, "timed_out": false, "_shards": shards, "hits": map[string]any{
			"total": map[string]any{"value": total, "relation": "eq"}, "max_score": best, "hits": answers}}, nil
	})
}

func (d *document) first(field string) string {
	if values := d.exact[field]; len(values) > 0 {
		return values[0]
	}
	return ""
}

func (x *index) readRequest(body []byte) (*request, error) {
	q := &request{size: 10}
	err := object(body, "search", map[string]func(json.RawMessage) error{
		"size": into(&q.size), "min_score": into(&q.minScore), "_source": into(&q.source),
		"query": func(raw json.RawMessage) (err error) { q.query, err = x.readQuery(raw); return err },
		"knn":   func(raw json.RawMessage) (err error) { q.knn, err = x.readNeighbours(raw); return err },
		"sort": func(raw json.RawMessage) error {
			var fields []map[string]string
			if err := json.Unmarshal(raw, &fields); err != nil {
				return err
			}
			for _, f := range fields {
				for name, order := range f {
					if q.sort != "" || x.fields[name].Type != "keyword" || order != "asc" {
						return refuse(http.StatusBadRequest, "illegal_argument_exception", "sort by one keyword field, asc, not [%s] [%s]", name, order)
					}
					q.sort = name
				}
			}
			return nil
		},
		"search_after": func(raw json.RawMessage) error {
			var values []string
			if err := json.Unmarshal(raw, &values); err != nil || len(values) != 1 {
				return refuse(http.StatusBadRequest, "illegal_argument_exception", "search_after has %d value(s) but sort has 1.", len(values))
			}
			q.after = &values[0]
			return nil
		},
	})
	switch {
	case err != nil:
		return nil, err
	case q.size < 0 || q.size > maxResultWindow:
		return nil, refuse(http.StatusBadRequest, "illegal_argument_exception", "Result window is too large, from + size must be less than or equal to: [%d] but was [%d]", maxResultWindow, q.size)
	case q.after != nil && q.sort == "":
		return nil, refuse(http.StatusBadRequest, "action_request_validation_exception", "search_after requires a sort")
	case q.query == nil && len(q.knn) == 0:
		q.query = matchAll
	}
	return q, nil
}

// find returns all hits, best first. Hits with equal scores are in the order of writing.
func (x *index) find(q *request) []hit {
	scores := make(map[*document]float64)
	if q.query != nil {
		for _, d := range x.visible {
			if score, ok := q.query(d); ok {
				scores[d] = score
			}
		}
	}
	for _, n := range q.knn { // kNN scores are added to the query's scores
		for _, h := range n.nearest(x.visible) {
			scores[h.document] += h.score
		}
	}
	var hits []hit
	for _, d := range x.visible {
		score, found := scores[d]
		if found && (q.minScore == nil || score >= *q.minScore) && (q.after == nil || d.first(q.sort) > *q.after) {
			hits = append(hits, hit{d, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		if q.sort != "" {
			return cmp.Compare(a.document.first(q.sort), b.document.first(q.sort))
		}
		return cmp.Compare(b.score, a.score)
	})
	return hits
}

func matchAll(*document) (float64, bool) { return 1, true }

// readQuery reads a query, an object whose only key is the query's kind.
func (x *index) readQuery(raw json.RawMessage) (q query, err error) {
	kinds := 0
	kind := func(read func(json.RawMessage) (query, error)) func(json.RawMessage) error {
		return func(raw json.RawMessage) (err error) { kinds++; q, err = read(raw); return err }
	}
	err = object(raw, "query", map[string]func(json.RawMessage) error{
		"match_all": kind(func(raw json.RawMessage) (query, error) { return matchAll, object(raw, "match_all", nil) }),
		"match":     kind(x.readMatch), "term": kind(x.readTerm), "bool": kind(x.readBool), "script_score": kind(x.readScript),
	})
	if err == nil && kinds != 1 {
		err = refuse(http.StatusBadRequest, "parsing_exception", "query malformed: %d kinds of query in one object", kinds)
	}
	return q, err
}

// readOf reads {field: {key: text}} for a field of that type.
func (x *index) readOf(raw json.RawMessage, kind, key, fieldType string) (name, text string, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || len(fields) != 1 {
		return "", "", refuse(http.StatusBadRequest, "parsing_exception", "[%s] query wants one field, found %d", kind, len(fields))
	}
	for field, raw := range fields {
		name = field
		if err := object(raw, kind, map[string]func(json.RawMessage) error{key: into(&text)}); err != nil {
			return "", "", err
		}
	}
	if x.fields[name].Type != fieldType {
		return "", "", refuse(http.StatusBadRequest, "query_shard_exception", "[%s]: field [%s] is no %s", kind, name, fieldType)
	}
	return name, text, nil
}

// readMatch scores by BM25 with Lucene's k1 = 1.2 and b = 0.75.
func (x *index) readMatch(raw json.RawMessage) (query, error) {
	name, text, err := x.readOf(raw, "match", "query", "text")
	words := analyze(text)
	return func(d *document) (score float64, ok bool) {
		for _, word := range words {
			count := float64(d.words[name][word])
			if count == 0 {
				continue
			}
			n, holding := float64(len(x.visible)), float64(x.holding[name][word])
			idf := math.Log(1 + (n-holding+0.5)/(holding+0.5))
			score += idf * count / (count + 1.2*(1-0.75+0.75*float64(d.length[name])/x.lengths[name]))
			ok = true
		}
		return score, ok
	}, err
}

func (x *index) readTerm(raw json.RawMessage) (query, error) {
	name, value, err := x.readOf(raw, "term", "value", "keyword")
	return func(d *document) (float64, bool) { return 1, slices.Contains(d.exact[name], value) }, err
}

func (x *index) readBool(raw json.RawMessage) (query, error) {
	var must, filter []query
	list := func(queries *[]query) func(json.RawMessage) error {
		return func(raw json.RawMessage) (err error) { *queries, err = x.readQueries(raw); return err }
	}
	err := object(raw, "bool", map[string]func(json.RawMessage) error{"must": list(&must), "filter": list(&filter)})
	return func(d *document) (sum float64, ok bool) {
		for _, q := range must {
			score, ok := q(d)
			if !ok {
				return 0, false
			}
			sum += score
		}
		return sum, all(filter, d)
	}, err
}

func (x *index) readQueries(raw json.RawMessage) (queries []query, err error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	for _, raw := range list {
		q, err := x.readQuery(raw)
		if err != nil {
			return nil, err
		}
		queries = append(queries, q)
	}
	return queries, nil
}

func all(queries []query, d *document) bool {
	return !slices.ContainsFunc(queries, func(q query) bool { _, ok := q(d); return !ok })
}

var cosineScript = regexp.MustCompile(`^cosineSimilarity\(params\.embedding, '([^']+)'\) \+ 1\.0$`)

// readScript accepts one script, the es8 retriever's cosine similarity.
func (x *index) readScript(raw json.RawMessage) (query, error) {
	var inner query
	var source string
	var vector []float64
	err := object(raw, "script_score", map[string]func(json.RawMessage) error{
		"query": func(raw json.RawMessage) (err error) { inner, err = x.readQuery(raw); return err },
		"script": func(raw json.RawMessage) error {
			return object(raw, "script", map[string]func(json.RawMessage) error{"source": into(&source), "params": func(raw json.RawMessage) error {
				return object(raw, "params", map[string]func(json.RawMessage) error{"embedding": into(&vector)})
			}})
		},
	})
	if err != nil {
		return nil, err
	}
	match := cosineScript.FindStringSubmatch(source)
	if match == nil || inner == nil {
		return nil, refuse(http.StatusBadRequest, "script_exception", "compile error: [%s]", source)
	}
	if err := x.checkVector(match[1], vector); err != nil {
		return nil, err
	}
	return func(d *document) (float64, bool) {
		_, ok := inner(d)
		if d.vectors[match[1]] == nil {
			return 0, false
		}
		return cosine(vector, d.vectors[match[1]]) + 1, ok
	}, nil
}

func (x *index) checkVector(name string, vector []float64) error {
	if f := x.fields[name]; f.Type != "dense_vector" || f.Dims != len(vector) {
		return refuse(http.StatusBadRequest, "query_shard_exception", "field [%s] is no dense_vector of %d dimensions", name, len(vector))
	}
	return nil
}

// neighbours is a kNN search. It is exact here; Elasticsearch approximates.
type neighbours struct {
	field         string
	vector        []float64
	k, candidates int
	filter        []query
}

func (x *index) readNeighbours(raw json.RawMessage) (list []neighbours, err error) {
	var searches []json.RawMessage
	if err := json.Unmarshal(raw, &searches); err != nil {
		return nil, err
	}
	for _, raw := range searches {
		n := neighbours{k: 10, candidates: 100}
		err := object(raw, "knn", map[string]func(json.RawMessage) error{
			"field": into(&n.field), "query_vector": into(&n.vector), "k": into(&n.k), "num_candidates": into(&n.candidates),
			"filter": func(raw json.RawMessage) (err error) { n.filter, err = x.readQueries(raw); return err },
		})
		if err == nil {
			err = x.checkVector(n.field, n.vector)
		}
		if err == nil && (n.k < 1 || n.candidates < n.k || n.candidates > maxResultWindow) {
			err = refuse(http.StatusBadRequest, "action_request_validation_exception", "[num_candidates] %d cannot be less than [k] %d or exceed [%d]", n.candidates, n.k, maxResultWindow)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

func (n neighbours) nearest(documents []*document) (hits []hit) {
	for _, d := range documents {
		if vector := d.vectors[n.field]; vector != nil && all(n.filter, d) {
			hits = append(hits, hit{d, (1 + cosine(n.vector, vector)) / 2})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	return hits[:min(n.k, len(hits))]
}

func norm(vector []float64) (sum float64) {
	for _, v := range vector {
		sum += v * v
	}
	return math.Sqrt(sum)
}

func cosine(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	if length := norm(a) * norm(b); length > 0 {
		return sum / length
	}
	return 0
}
