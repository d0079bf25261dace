package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/catalog"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/lock"
	"github.com/eino-toolsearch/toolsearch/mcp"
	"github.com/eino-toolsearch/toolsearch/search"
)

// The problems of a catalog, and why each kind matters. What package lock warns of may be an attack
// on the model, or an honest tool that promotes itself.
const (
	kindName       = "name"           // a provider refuses the whole request over a wrong name
	kindDuplicate  = "duplicate"      // New refuses the catalog
	kindValue      = "value"          // it is lost
	kindNoText     = "no-description" // the model chooses by descriptions, and searchers find by them
	kindSchema     = "schema"         // providers want the schema of an object, and of what its arrays hold
	kindParameters = "parameters"     // the model guesses arguments without a description
	kindUnfindable = "unfindable"     // even the tool's own words find other tools first
	kindLexicon    = "lexicon"        // a line of -lexicon finds nothing over this catalog
)

// Kinds are the kinds of problems in the order of the report, with their headings.
var Kinds = []struct{ Kind, Heading string }{
	{kindName, "names a provider would refuse (^[a-zA-Z0-9_-]{1,64}$)"},
	{kindDuplicate, "names that several tools have"},
	{kindValue, "values of the wrong kind"},
	{kindSchema, "schemas a provider would refuse"},
	{lock.Hidden, "hidden characters"},
	{lock.Instructions, "instructions to the model"},
	{lock.ForeignNames, "names of other servers' tools"},
	{kindNoText, "no description"},
	{kindParameters, "parameters without a description"},
	{kindUnfindable, "tools no query finds"},
	{kindLexicon, "lines of the lexicon that do nothing"},
}

// A Problem is one thing to fix.
type Problem struct {
	Kind   string   `json:"kind"`
	Tools  []string `json:"tools"`
	Detail string   `json:"detail,omitempty"`
}

// A ToolReport says what one tool costs and whether it is found.
type ToolReport struct {
	Name              string `json:"name"`
	Server            string `json:"server,omitempty"`
	Refused           bool   `json:"refused,omitempty"` // by large providers
	Bytes             int    `json:"bytes"`
	Tokens            int    `json:"tokens"`
	Parameters        int    `json:"parameters"`
	RankByName        int    `json:"rank_by_name"`        // 0 means not among the first five
	RankByDescription int    `json:"rank_by_description"` // likewise, or no description
	Description       string `json:"description"`
}

// A Report is the result of an inspection.
type Report struct {
	Servers  []mcp.Info   `json:"servers,omitempty"` // that were asked
	Searcher string       `json:"searcher"`
	Emulated bool         `json:"emulated,omitempty"` // the searcher emulates somebody else's
	Bytes    int          `json:"bytes"`
	Tokens   int          `json:"tokens"`
	Tools    []ToolReport `json:"tools"`
	Problems []Problem    `json:"problems"`
}

// OfKind returns the problems of a kind.
func (r *Report) OfKind(kind string) []Problem {
	return slices.DeleteFunc(slices.Clone(r.Problems), func(p Problem) bool { return p.Kind != kind })
}

func (r *Report) add(kind, detail string, tools ...string) {
	r.Problems = append(r.Problems, Problem{kind, tools, detail})
}

// Tools makes the report. It fails only if ctx is done or the searcher fails.
func Tools(ctx context.Context, read *catalog.Contents, index search.Indexer) (*Report, error) {
	r := &Report{Servers: read.Servers, Problems: []Problem{}}
	tools := read.Tools
	if len(read.Servers) > 1 {
		var clashes []string
		tools, clashes = catalog.Apart(tools)
		for _, name := range clashes {
			r.add(kindDuplicate, "several servers have a tool of this name; a Prefix keeps such tools apart", name)
		}
	}
	r.inspectTools(tools)
	docs, _ := catalog.Documents(read.Tools)
	labels := make(map[lock.ID]string)
	for i, doc := range docs {
		doc.Info.Name = cmp.Or(doc.Info.Name, catalog.Label(tools, i)) // a finding has no number, so give it a name
		labels[lock.ID{Namespace: doc.Namespace, Name: doc.Info.Name}] = catalog.Label(tools, i)
	}
	for _, f := range lock.Lint(docs) {
		r.add(f.Kind, f.Reason, labels[f.ID])
	}
	return r, r.find(ctx, tools, index)
}

// Sizes returns the part of a report on tools that needs no search.
func Sizes(tools []catalog.Definition) []ToolReport {
	var r Report
	r.inspectTools(tools)
	return r.Tools
}

func (r *Report) inspectTools(tools []catalog.Definition) {
	first := make(map[string]bool)
	for i := range tools {
		r.inspectTool(&tools[i], catalog.Label(tools, i), first)
	}
}

// inspectTool adds the problems of a single tool.
func (r *Report) inspectTool(d *catalog.Definition, label string, first map[string]bool) {
	t := ToolReport{Name: d.Name, Server: d.Server, Bytes: d.Bytes(), Tokens: d.Tokens(), Description: d.Description}
	if !naming.IsValid(d.Name) {
		r.add(kindName, nameProblem(d.Name), label)
		t.Refused = true
	}
	if first[d.Name] && d.Name != "" {
		r.add(kindDuplicate, "only the first can be in a catalog", label)
	}
	first[d.Name] = true
	for _, key := range d.Wrong {
		r.add(kindValue, fmt.Sprintf("the %s is not a string", key), label)
	}
	if strings.TrimSpace(d.Description) == "" {
		r.add(kindNoText, "", label)
	}
	count, silent, bare := d.Parameters()
	if text := d.Problem(bare); text != "" {
		r.add(kindSchema, text, label)
		t.Refused = true
	}
	if t.Parameters = count; len(silent) > 0 {
		const shown = 5
		list := strings.Join(silent[:min(len(silent), shown)], ", ")
		if len(silent) > shown {
			list += ", ..."
		}
		r.add(kindParameters, fmt.Sprintf("%d of %d: %s", len(silent), count, list), label)
	}
	r.Bytes, r.Tokens = r.Bytes+t.Bytes, r.Tokens+t.Tokens
	r.Tools = append(r.Tools, t)
}

func nameProblem(name string) string {
	switch {
	case name == "":
		return "empty"
	case len(name) > 64 && naming.IsValid(name[:64]):
		return fmt.Sprintf("%d characters", len(name))
	}
	for _, r := range name {
		if !naming.IsValid(string(r)) {
			return fmt.Sprintf("has %q", r)
		}
	}
	return "too long"
}

// findWithin is the rank a tool must reach to count as found. It is the number of results
// that tool_search shows by default.
const findWithin = toolsearch.DefaultMaxResults

// find searches for every tool by the words of its name and by those of its description.
func (r *Report) find(ctx context.Context, tools []catalog.Definition, index search.Indexer) error {
	catalog, _, err := catalog.Of(tools)
	if err != nil || catalog == nil {
		return err
	}
	compiled, err := catalog.Compile(ctx, index)
	if err != nil {
		return err
	}
	seen := map[string]bool{"": true}
	for i := range tools {
		d, t := &tools[i], &r.Tools[i]
		if seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		if t.RankByName, err = rankOf(ctx, compiled, d.Name, d.Name); err != nil {
			return err
		}
		if t.RankByDescription, err = rankOf(ctx, compiled, d.Name, d.Description); err != nil {
			return err
		}
		if t.RankByName+t.RankByDescription == 0 {
			r.add(kindUnfindable, fmt.Sprintf("not among the first %d for the words of its name or of its description", findWithin), d.Name)
		}
	}
	return nil
}

// ownWords is the query for a tool by its own name or description. Only its words are searched for, so a "+", a
// "select:" or a namespace in the text has no meaning.
func ownWords(text string) string {
	return strings.Join(strings.FieldsFunc(naming.Cut(text, 8<<10), func(r rune) bool {
		return !unicode.In(r, unicode.Letter, unicode.Digit, unicode.Mark)
	}), " ")
}

// rankOf returns the rank of a tool for the words of a text, or 0 if it is not found.
func rankOf(ctx context.Context, c *toolsearch.Catalog, tool, text string) (int, error) {
	result, err := c.Search(ctx, ownWords(text), findWithin)
	if err != nil {
		return 0, err
	}
	return 1 + slices.IndexFunc(result.Matches, func(m toolsearch.Match) bool { return m.Info.Name == tool }), nil
}
