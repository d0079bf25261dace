package loopback

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
)

// bulk runs actions. Each action is a line; an action that writes a document is followed by a
// line with its source. A malformed bulk is refused as a whole. In a well-formed bulk, every
// action has its own answer.
func (s *Server) bulk(r *http.Request, body []byte) (any, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, refuse(http.StatusBadRequest, "parse_exception", "request body is required")
	}
	if body[len(body)-1] != '\n' {
		return nil, refuse(http.StatusBadRequest, "illegal_argument_exception", `The bulk request must be terminated by a newline [\n]`)
	}
	actions, err := readBulk(bytes.Split(body[:len(body)-1], []byte("\n")), r.PathValue("index"))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	items, failed := make([]any, len(actions)), false
	for i, a := range actions {
		item := s.run(a)
		failed = failed || item["error"] != nil
		items[i] = map[string]any{a.kind: item}
	}
	return map[string]any{"took": 1, "errors": failed, "items": items}, nil
}

type action struct {
	kind, index, id string
	source          json.RawMessage
}

func readBulk(lines [][]byte, index string) (actions []action, err error) {
	for i := 0; i < len(lines); i++ {
		a := action{index: index}
		meta := func(raw json.RawMessage) error {
			return object(raw, "bulk", map[string]func(json.RawMessage) error{"_index": into(&a.index), "_id": into(&a.id)})
		}
		err := object(lines[i], "bulk", map[string]func(json.RawMessage) error{
			"index":  func(raw json.RawMessage) error { a.kind += "index"; return meta(raw) },
			"delete": func(raw json.RawMessage) error { a.kind += "delete"; return meta(raw) },
		})
		if err == nil && a.kind != "index" && a.kind != "delete" {
			err = errors.New("want one action")
		}
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "illegal_argument_exception", "Malformed action/metadata line [%d]: %v", i+1, err)
		}
		if a.id == "" || len(a.id) > 512 {
			return nil, refuse(http.StatusBadRequest, "illegal_argument_exception", "line [%d]: an id has 1 to 512 bytes here, not %d", i+1, len(a.id))
		}
		if a.kind == "index" {
			if i++; i == len(lines) {
				return nil, refuse(http.StatusBadRequest, "illegal_argument_exception", "Validation Failed: 1: the last action has no source")
			}
			a.source = lines[i]
		}
		actions = append(actions, a)
	}
	return actions, nil
}

func (s *Server) run(a action) map[string]any {
	item := map[string]any{"_index": a.index, "_id": a.id}
	fail := func(err error) map[string]any {
		f := (*failure)(nil)
		errors.As(err, &f) // every error here is a failure
		item["status"], item["error"] = f.status, map[string]any{"type": f.kind, "reason": f.reason}
		return item
	}
	x, there := s.indexes[a.index]
	if !there {
		return fail(noIndex(a.index))
	}
	if a.kind == "delete" {
		item["result"], item["status"] = "not_found", http.StatusNotFound
		if _, there := x.written[a.id]; there {
			item["result"], item["status"] = "deleted", http.StatusOK
		}
		delete(x.written, a.id)
		return item
	}
	d, err := x.read(a.id, a.source)
	if err != nil {
		return fail(err)
	}
	item["result"], item["status"] = x.put(d)
	item["_version"], item["_shards"] = d.version, shards
	return item
}
