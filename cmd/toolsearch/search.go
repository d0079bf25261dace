package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/eino-toolsearch/toolsearch"
)

// The commands search and explain. They print tables for people and the structs below as
// JSON for machines.

type searchOutput struct {
	Query       string        `json:"query"`
	Total       int           `json:"total"` // matches before the limit
	Matches     []matchOutput `json:"matches"`
	NotFound    []string      `json:"not_found,omitempty"`
	Suggestions []string      `json:"suggestions,omitempty"`
	Message     string        `json:"message,omitempty"`  // for a pattern: what is wrong, or what to try
	Emulated    bool          `json:"emulated,omitempty"` // the searcher emulates somebody else's
}

type matchOutput struct {
	Name        string  `json:"name"`
	Score       float64 `json:"score"`
	Server      string  `json:"server,omitempty"`
	Description string  `json:"description"`
}

// patience is how long a search may take: an endpoint for vectors is asked up to four times.
const patience = 5 * time.Minute

func (c *command) search(ctx context.Context, operands []string) (int, error) {
	from, terms, ok := c.origin(operands)
	if !ok || len(terms) == 0 {
		return failed, wrongUsage("search: want CATALOG QUERY..., or QUERY... -- COMMAND")
	}
	if c.n < 1 || c.n > toolsearch.DefaultMaxResultsCap {
		return failed, wrongUsage("search: -n %d: want a number from 1 to %d", c.n, toolsearch.DefaultMaxResultsCap)
	}
	tools, catalog, err := c.compiled(ctx, from)
	if err != nil {
		return failed, err
	}
	query := strings.Join(terms, " ")
	done := c.waiting("searching %s", plural(len(tools.Tools), "tool"))
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	result, err := catalog.Search(limited, query, c.n)
	done()
	if err = cmp.Or(err, c.vectorFailure()); err != nil {
		return failed, err
	}
	output := searchOutput{
		Query: query, Total: result.Total, Matches: []matchOutput{},
		NotFound: result.NotFound, Suggestions: result.Suggestions, Emulated: isEmulated(c.searcher),
	}
	if len(result.Matches) == 0 && strings.Contains(c.searcher, "regex") {
		output.Message = result.Message
	}
	for _, m := range result.Matches {
		output.Matches = append(output.Matches, matchOutput{m.Info.Name, m.Score, tools.Annotate(m.Info).Namespace, m.Info.Desc})
	}
	code := found
	if len(output.Matches) == 0 {
		code = nothing
	}
	if c.json {
		return code, c.printJSON(output)
	}
	return code, c.printSearch(output)
}

func (c *command) printSearch(output searchOutput) error {
	if len(output.Matches) == 0 {
		fmt.Fprintln(c.stderr, strings.TrimSpace("Nothing found. "+output.Message))
	}
	if len(output.NotFound) > 0 {
		fmt.Fprintf(c.stderr, "No tool named: %s\n", oneLine(strings.Join(output.NotFound, ", "), 1000))
	}
	if len(output.Suggestions) > 0 {
		fmt.Fprintf(c.stderr, "Near names: %s\n", oneLine(strings.Join(output.Suggestions, ", "), 1000))
	}
	if len(output.Matches) == 0 {
		return nil
	}
	t := table{styles: map[int]style{0: dim, 2: named}}
	t.row("", "score", "tool", "description")
	scores := make([]float64, len(output.Matches))
	for i, m := range output.Matches {
		scores[i] = m.Score
	}
	for i, score := range scoreTexts(scores...) {
		m := output.Matches[i]
		t.row(fmt.Sprint(i+1), score, oneLine(m.Name, 64), oneLine(m.Description, 80))
	}
	if err := c.print(&t); err != nil {
		return err
	}
	if more := output.Total - len(output.Matches); more > 0 {
		fmt.Fprintln(c.out, c.paint(dim, fmt.Sprintf("and %d more", more)))
	}
	return c.noteEmulated()
}

type explainOutput struct {
	Query string       `json:"query"`
	Tool  string       `json:"tool"`
	Score float64      `json:"score"`
	Parts []partOutput `json:"parts"`

	Emulated bool `json:"emulated,omitempty"`
}

type partOutput struct {
	Term   string  `json:"term"`
	Field  string  `json:"field,omitempty"`
	Score  float64 `json:"score"`
	Detail string  `json:"detail,omitempty"`
}

func (c *command) explain(ctx context.Context, operands []string) (int, error) {
	from, rest, ok := c.origin(operands)
	if !ok || len(rest) != 2 {
		return failed, wrongUsage("explain: want CATALOG QUERY TOOL; quote a query of several words")
	}
	query, tool := rest[0], rest[1]
	_, catalog, err := c.compiled(ctx, from)
	if err != nil {
		return failed, err
	}
	done := c.waiting("explaining the score")
	explanation, err := catalog.Explain(ctx, query, tool)
	done()
	if err != nil {
		if result, wrong := catalog.Search(ctx, "select:"+tool, 1); wrong == nil && len(result.Suggestions) > 0 {
			err = fmt.Errorf("%w; near names: %s", err, oneLine(strings.Join(result.Suggestions, ", "), 300))
		}
	}
	if err != nil {
		return failed, err
	}
	output := explainOutput{Query: query, Tool: tool, Score: explanation.Score, Parts: []partOutput{}, Emulated: isEmulated(c.searcher)}
	for _, p := range explanation.Parts {
		output.Parts = append(output.Parts, partOutput{p.Term, p.Field, p.Score, p.Detail})
	}
	code := found
	if explanation.Score == 0 {
		code = nothing
	}
	if c.json {
		return code, c.printJSON(output)
	}
	t := table{styles: map[int]style{1: named, 2: dim}}
	t.row("score", "term", "field", "because")
	scores := []float64{output.Score}
	for _, p := range output.Parts {
		scores = append(scores, p.Score)
	}
	texts := scoreTexts(scores...)
	for i, p := range output.Parts {
		t.row(texts[i+1], oneLine(p.Term, 40), p.Field, oneLine(p.Detail, 100))
	}
	t.row(texts[0], "", "", "in all")
	if err := c.print(&t); err != nil {
		return failed, err
	}
	return code, c.noteEmulated()
}

func (c *command) printJSON(v any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := c.out.Write(visible(text.Bytes()))
	return err
}
