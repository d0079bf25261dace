package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
	"github.com/eino-toolsearch/toolsearch/search"
)

// An Expansion is a line of a file of written questions: what people would ask who need a tool. A searcher that reads
// hints finds the tool by their words, too. `toolsearch expand` makes such a file and checks it.
type Expansion struct {
	Server    string   `json:"server,omitempty"`    // that the tool comes from; "" means none
	Name      string   `json:"name,omitempty"`      // the tool's, as in the catalog
	About     string   `json:"about,omitempty"`     // its description, for whoever writes the questions
	Questions []string `json:"questions,omitempty"` // in the words of people; none means that they are still to be written
	Skip      bool     `json:"skip,omitempty"`      // the line leaves out all tools of Server, and names no tool
}

// LoadExpansions reads expansions from a file, as ReadExpansions does.
func LoadExpansions(path string) ([]Expansion, error) { return load(path, ReadExpansions) }

// ReadExpansions reads expansions: JSONL with one object {"server", "name", "about", "questions", "skip"} a line.
// Blank questions are left out. Two lines for a tool are an error. The bounds are the same as for
// [ReadCatalog].
//
// file is the file's name in errors, which also name the line.
func ReadExpansions(r io.Reader, file string) (list []Expansion, err error) {
	s, err := readSource(r, file)
	if err != nil {
		return nil, err
	}
	firsts := make(map[string]int) // name -> offset where it was first seen
	err = toolfile.Values(s.data, func(offset, to int) error {
		var e Expansion
		line := json.NewDecoder(bytes.NewReader(s.data[offset:to]))
		line.DisallowUnknownFields() // perhaps of a catalog, or of notes that a writer of the file would lose
		if err := line.Decode(&e); err != nil {
			return s.at(offset, "%w", err)
		}
		first, taken := firsts[e.Name]
		switch {
		case e.Skip != (e.Name == ""):
			return s.at(offset, `want a "name", or else a "server" and "skip": true`)
		case taken && !e.Skip:
			return s.at(offset, "two lines for the tool %q, the other one on line %d", e.Name, s.line(first))
		}
		firsts[e.Name] = offset
		e.Questions = slices.DeleteFunc(e.Questions, func(text string) bool { return strings.TrimSpace(text) == "" })
		list = append(list, e)
		return nil
	})
	return list, s.fault(err)
}

// Hints returns the questions by the names of their tools, in the form of [search.Annotation.Hint]. A tool without
// questions, or of a server that is left out, has none.
func Hints(list []Expansion) map[string]string {
	skipped, hints := make(map[string]bool), make(map[string]string)
	for _, e := range list {
		skipped[e.Server] = skipped[e.Server] || e.Skip
	}
	for _, e := range list {
		if len(e.Questions) > 0 && !skipped[e.Server] {
			hints[e.Name] = strings.Join(e.Questions, "; ")
		}
	}
	return hints
}

// Hinted returns index with more hints, by the tools' names.
func Hinted(index search.Indexer, hints map[string]string) search.Indexer {
	return func(ctx context.Context, docs []search.Document) (search.Searcher, error) {
		docs = slices.Clone(docs)
		for i := range docs {
			if hint := hints[docs[i].Name]; hint != "" {
				docs[i].Hint = strings.TrimPrefix(docs[i].Hint+"; "+hint, "; ")
			}
		}
		return index(ctx, docs)
	}
}
