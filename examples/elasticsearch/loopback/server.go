// Package loopback is a server on the loopback interface that speaks a part of Elasticsearch
// 8: the part that eino-ext's es8 indexer and retriever and this example's engine use. It
// lets the example run and be tested over the real protocol without a cluster.
//
//	HEAD, PUT, DELETE /{index}       exists, create with a mapping, delete
//	POST /{index}/_bulk, /_bulk      actions index and delete
//	POST /{index}/_refresh           makes what was written visible to searches, and not before
//	POST /{index}/_mget              by ID, visible at once
//	POST /{index}/_search            match, match_all, term, bool, script_score and knn; sort
//
// It is as strict as Elasticsearch: it refuses anything unknown in an address, a parameter, a
// mapping, a bulk or a query, with a status and an error of Elasticsearch's form. Texts are
// ranked by BM25 with Lucene's parameters, vectors by cosine. An index must be created before
// it is written to, as with action.auto_create_index: false.
package loopback

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const maxBody = 32 << 20 // Elasticsearch's default is 100 MB

// A Server is a cluster of one node. It is safe for concurrent use.
type Server struct {
	URL string

	http    *httptest.Server
	mu      sync.Mutex
	indexes map[string]*index
	fault   func(http.ResponseWriter, *http.Request) bool
}

// Start starts a server without an index. The caller must close it.
func Start() *Server {
	s := &Server{indexes: make(map[string]*index)}
	mux := http.NewServeMux()
	for pattern, e := range map[string]endpoint{
		"HEAD /{index}":          {s.exists, nil},
		"PUT /{index}":           {s.create, nil},
		"DELETE /{index}":        {s.delete, nil},
		"POST /_bulk":            {s.bulk, nil},
		"POST /{index}/_bulk":    {s.bulk, nil},
		"POST /{index}/_refresh": {s.refresh, nil},
		"POST /{index}/_mget":    {s.multiGet, []string{"_source_includes"}},
		"POST /{index}/_search":  {s.search, []string{"typed_keys"}},
		"/":                      {noHandler, nil},
	} {
		mux.Handle(pattern, s.handler(e))
	}
	s.http = httptest.NewServer(mux)
	s.URL = s.http.URL
	return s
}

// Close stops the server and waits for running requests.
func (s *Server) Close() { s.http.Close() }

// Break calls fault for every request. A request for which fault returns true is answered by
// fault alone. A nil fault restores the server.
func (s *Server) Break(fault func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

type endpoint struct {
	answer     func(r *http.Request, body []byte) (any, error)
	parameters []string // allowed parameters
}

// failure is an Elasticsearch error.
type failure struct {
	status       int
	kind, reason string
}

func (f *failure) Error() string { return f.kind + ": " + f.reason }

func refuse(status int, kind, format string, args ...any) error {
	return &failure{status, kind, fmt.Sprintf(format, args...)}
}

func (s *Server) handler(e endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		fault := s.fault
		s.mu.Unlock()
		w.Header().Set("X-Elastic-Product", "Elasticsearch") // the client requires it
		w.Header().Set("Content-Type", "application/json")
		// The body comes first: a server does not notice that its client is gone while there
		// is a body to read.
		body, tooLarge := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if fault != nil && fault(w, r) {
			return
		}
		answer, err := e.serve(r, body, tooLarge)
		status := http.StatusOK
		if err != nil {
			f := (*failure)(nil)
			if !errors.As(err, &f) {
				f = &failure{http.StatusBadRequest, "parsing_exception", err.Error()}
			}
			cause := map[string]any{"type": f.kind, "reason": f.reason}
			status = f.status
			answer = map[string]any{"error": map[string]any{"root_cause": []any{cause}, "type": f.kind, "reason": f.reason}, "status": status}
		}
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			json.NewEncoder(w).Encode(answer) // the client may be gone
		}
	}
}

func (e endpoint) serve(r *http.Request, body []byte, tooLarge error) (any, error) {
	for name := range r.URL.Query() {
		if !slices.Contains(e.parameters, name) {
			return nil, refuse(http.StatusBadRequest, "illegal_argument_exception", "request [%s] contains unrecognized parameter: [%s]", r.URL.Path, name)
		}
	}
	if tooLarge != nil {
		return nil, refuse(http.StatusRequestEntityTooLarge, "circuit_breaking_exception", "%v", tooLarge)
	}
	if kind := r.Header.Get("Content-Type"); len(body) > 0 && !strings.Contains(kind, "json") {
		return nil, refuse(http.StatusNotAcceptable, "media_type_header_exception", "Content-Type header [%s] is not supported", kind)
	}
	return e.answer(r, body)
}

func noHandler(r *http.Request, _ []byte) (any, error) {
	return nil, refuse(http.StatusBadRequest, "illegal_argument_exception", "no handler found for uri [%s] and method [%s]", r.URL.Path, r.Method)
}

// with locks the server and calls f with the index of a request.
func (s *Server) with(r *http.Request, f func(*index) (any, error)) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := r.PathValue("index")
	x, there := s.indexes[name]
	if !there {
		return nil, noIndex(name)
	}
	return f(x)
}

func noIndex(name string) error {
	return refuse(http.StatusNotFound, "index_not_found_exception", "no such index [%s]", name)
}

func (s *Server) exists(r *http.Request, _ []byte) (any, error) {
	return s.with(r, func(*index) (any, error) { return nil, nil })
}

var indexName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,254}$`)

func (s *Server) create(r *http.Request, body []byte) (any, error) {
	name := r.PathValue("index")
	if !indexName.MatchString(name) {
		return nil, refuse(http.StatusBadRequest, "invalid_index_name_exception", "Invalid index name [%s]", name)
	}
	x, err := newIndex(name, body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.indexes[name] != nil {
		return nil, refuse(http.StatusBadRequest, "resource_already_exists_exception", "index [%s] already exists", name)
	}
	s.indexes[name] = x
	return map[string]any{"acknowledged": true, "shards_acknowledged": true, "index": name}, nil
}

func (s *Server) delete(r *http.Request, _ []byte) (any, error) {
	return s.with(r, func(x *index) (any, error) {
		delete(s.indexes, x.name)
		return map[string]any{"acknowledged": true}, nil
	})
}

func (s *Server) refresh(r *http.Request, _ []byte) (any, error) {
	return s.with(r, func(x *index) (any, error) {
		x.refresh()
		return map[string]any{"_shards": shards}, nil
	})
}

var shards = map[string]any{"total": 1, "successful": 1, "skipped": 0, "failed": 0}

func (s *Server) multiGet(r *http.Request, body []byte) (any, error) {
	var ids []string
	err := object(body, "mget", map[string]func(json.RawMessage) error{"ids": into(&ids)})
	if err != nil {
		return nil, err
	}
	return s.with(r, func(x *index) (any, error) {
		documents := make([]any, len(ids))
		for i, id := range ids {
			d, there := x.written[id]
			found := map[string]any{"_index": x.name, "_id": id, "found": there}
			if there {
				found["_source"] = d.sourceOf(includes(r.URL.Query()))
			}
			documents[i] = found
		}
		return map[string]any{"docs": documents}, nil
	})
}

func includes(parameters url.Values) []string {
	if list := parameters.Get("_source_includes"); list != "" {
		return strings.Split(list, ",")
	}
	return nil
}

// object reads an object with a reader for each key. An unknown key is an error.
func object(raw json.RawMessage, what string, keys map[string]func(json.RawMessage) error) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return refuse(http.StatusBadRequest, "parsing_exception", "[%s] expected an object, found [%.60s]", what, raw)
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		read, known := keys[key]
		if !known {
			return refuse(http.StatusBadRequest, "parsing_exception", "[%s] unknown field [%s]", what, key)
		}
		if err := read(fields[key]); err != nil {
			if f := (*failure)(nil); errors.As(err, &f) {
				return err
			}
			return refuse(http.StatusBadRequest, "x_content_parse_exception", "[%s] failed to parse field [%s]: %v", what, key, err)
		}
	}
	return nil
}

func into(value any) func(json.RawMessage) error {
	return func(raw json.RawMessage) error { return json.Unmarshal(raw, value) }
}
