package loopback

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// index holds the written documents, and the documents that are visible to searches since
// the last refresh.
type index struct {
	name    string
	fields  map[string]field
	written map[string]*document
	order   int // the order of the next document

	visible []*document               // in the order of writing
	lengths map[string]float64        // text field -> mean number of words
	holding map[string]map[string]int // text field -> word -> documents that have it
}

// field is a property of the mapping.
type field struct {
	Type       string `json:"type"` // keyword, text or dense_vector
	Dims       int    `json:"dims"`
	Similarity string `json:"similarity"`
}

type document struct {
	id      string
	order   int
	version int
	source  map[string]json.RawMessage
	exact   map[string][]string       // keyword field -> values
	words   map[string]map[string]int // text field -> word -> how often
	length  map[string]int            // text field -> words
	vectors map[string][]float64
}

func newIndex(name string, body []byte) (*index, error) {
	x := &index{name: name, fields: make(map[string]field), written: make(map[string]*document)}
	if len(body) == 0 {
		body = []byte("{}")
	}
	dynamic := "true"
	err := object(body, "create index", map[string]func(json.RawMessage) error{
		"settings": func(raw json.RawMessage) error {
			var shards, replicas int
			return object(raw, "settings", map[string]func(json.RawMessage) error{"number_of_shards": into(&shards), "number_of_replicas": into(&replicas)})
		},
		"mappings": func(raw json.RawMessage) error {
			return object(raw, "_doc", map[string]func(json.RawMessage) error{"dynamic": into(&dynamic), "properties": x.properties})
		},
	})
	if err == nil && dynamic != "strict" {
		err = refuse(http.StatusBadRequest, "mapper_parsing_exception", "this server has no dynamic mappings but [strict]")
	}
	return x, err
}

func (x *index) properties(raw json.RawMessage) error {
	var properties map[string]json.RawMessage
	if err := json.Unmarshal(raw, &properties); err != nil {
		return err
	}
	for name, raw := range properties {
		var f field
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&f); err != nil {
			return refuse(http.StatusBadRequest, "mapper_parsing_exception", "Failed to parse mapping: [%s]: %v", name, err)
		}
		isVector := f.Type == "dense_vector"
		if !isVector && f.Type != "keyword" && f.Type != "text" {
			return refuse(http.StatusBadRequest, "mapper_parsing_exception", "No handler for type [%s] declared on field [%s]", f.Type, name)
		}
		if isVector != (f.Dims > 0) || isVector != (f.Similarity == "cosine") {
			return refuse(http.StatusBadRequest, "mapper_parsing_exception", "field [%s]: a dense_vector, and nothing else, has dims and the similarity cosine", name)
		}
		x.fields[name] = f
	}
	return nil
}

// read turns a source into a document of the mapping.
func (x *index) read(id string, source json.RawMessage) (*document, error) {
	d := &document{id: id, exact: map[string][]string{}, words: map[string]map[string]int{}, length: map[string]int{}, vectors: map[string][]float64{}}
	if err := json.Unmarshal(source, &d.source); err != nil || d.source == nil {
		return nil, refuse(http.StatusBadRequest, "document_parsing_exception", "failed to parse: not an object")
	}
	for name, raw := range d.source {
		f, mapped := x.fields[name]
		if !mapped {
			return nil, refuse(http.StatusBadRequest, "strict_dynamic_mapping_exception", "mapping set to strict, dynamic introduction of [%s] within [_doc] is not allowed", name)
		}
		if err := d.add(name, f, raw); err != nil {
			return nil, refuse(http.StatusBadRequest, "document_parsing_exception", "failed to parse field [%s] of type [%s] in document with id '%s': %v", name, f.Type, id, err)
		}
	}
	return d, nil
}

func (d *document) add(name string, f field, raw json.RawMessage) error {
	if string(raw) == "null" {
		return nil
	}
	if f.Type == "dense_vector" {
		var vector []float64
		if err := json.Unmarshal(raw, &vector); err != nil {
			return err
		}
		if len(vector) != f.Dims {
			return fmt.Errorf("%d dimensions, want %d", len(vector), f.Dims)
		}
		if norm(vector) == 0 {
			return fmt.Errorf("the cosine similarity does not support vectors with zero magnitude")
		}
		d.vectors[name] = vector
		return nil
	}
	var values []string
	if json.Unmarshal(raw, &values) != nil {
		values = make([]string, 1)
		if err := json.Unmarshal(raw, &values[0]); err != nil {
			return err
		}
	}
	for _, value := range values {
		if f.Type == "keyword" {
			if len(value) > 32766 {
				return fmt.Errorf("immense term: %d bytes, the most is 32766", len(value))
			}
			d.exact[name] = append(d.exact[name], value)
			continue
		}
		if d.words[name] == nil {
			d.words[name] = make(map[string]int)
		}
		for _, word := range analyze(value) {
			d.words[name][word]++
			d.length[name]++
		}
	}
	return nil
}

// sourceOf returns the source, reduced to these fields if there are any.
func (d *document) sourceOf(fields []string) map[string]json.RawMessage {
	if fields == nil {
		return d.source
	}
	some := make(map[string]json.RawMessage)
	for _, name := range fields {
		if raw, there := d.source[name]; there {
			some[name] = raw
		}
	}
	return some
}

// put writes a document. It replaces a document with the same ID.
func (x *index) put(d *document) (result string, status int) {
	result, status, d.version = "created", http.StatusCreated, 1
	if before, there := x.written[d.id]; there {
		result, status, d.version = "updated", http.StatusOK, before.version+1
	}
	d.order = x.order
	x.order++
	x.written[d.id] = d
	return result, status
}

// refresh makes all written documents visible to searches.
func (x *index) refresh() {
	x.visible = nil
	x.lengths, x.holding = make(map[string]float64), make(map[string]map[string]int)
	for _, d := range x.written {
		x.visible = append(x.visible, d)
		for name, words := range d.words {
			if x.holding[name] == nil {
				x.holding[name] = make(map[string]int)
			}
			for word := range words {
				x.holding[name][word]++
			}
			x.lengths[name] += float64(d.length[name])
		}
	}
	for name := range x.lengths {
		x.lengths[name] /= float64(len(x.visible))
	}
	slices.SortFunc(x.visible, func(a, b *document) int { return a.order - b.order })
}

// analyze splits a text into words roughly as the standard analyzer does: lower-cased runs of
// letters, digits and underscores, and single Chinese characters.
func analyze(text string) (words []string) {
	text = strings.ToLower(text)
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		end := size
		switch {
		case unicode.Is(unicode.Han, r):
		case isWord(r):
			end = strings.IndexFunc(text, func(r rune) bool { return !isWord(r) || unicode.Is(unicode.Han, r) })
			if end < 0 {
				end = len(text)
			}
		default:
			text = text[size:]
			continue
		}
		words = append(words, text[:end])
		text = text[end:]
	}
	return words
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
