package ui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search"
)

// What the page asks for, and the JSON that it gets:
//
//	api/state                     the catalog, the menu
//	api/search?searcher=&q=&n=    hits, each with its score taken apart
//	api/explain?searcher=&q=&id=  the score of one tool; query=N for the Nth query of the evaluation
//	api/tool?id=                  the whole definition
//	api/tools                     every tool with its tokens
//	api/findings                  what to fix
//	api/costs?provider=           what conversations cost
//	api/eval?searcher=            metrics, and the queries with their ranks
//
// A tool's id is its place in the catalog, so that no foreign text is a part of an address. 202
// means that the answer is being made: ask again. Each question makes a new search, so a search
// that takes too long is an error.

// Bounds on the texts of an answer, in characters.
const (
	nameRunes       = 160
	lineRunes       = 300
	textRunes       = 20_000
	maxIndented     = 64 << 10 // bytes; indenting a deeply nested text would multiply it
	maxHits         = toolsearch.DefaultMaxResultsCap
	defaultHits     = 20
	maxOfKind       = 1_000 // findings of a kind
	maxAlternatives = 20    // tools that are right for one query
)

type toolAnswer struct {
	ID          int    `json:"id"` // -1 means that the catalog has no such tool
	Name        string `json:"name"`
	Server      string `json:"server,omitempty"`
	Description string `json:"description,omitempty"`
}

type stateAnswer struct {
	Title     string           `json:"title"`
	Tools     int              `json:"tools"`
	Tokens    int              `json:"tokens"`
	Servers   int              `json:"servers"`
	Searchers []searcherAnswer `json:"searchers"`
	Chosen    []string         `json:"chosen"`
	Queries   int              `json:"queries"`
	Findings  bool             `json:"findings"`
	Providers []string         `json:"providers"`
	Examples  []string         `json:"examples"`
}

type searcherAnswer struct {
	Name  string `json:"name"`
	Label string `json:"label"`
	About string `json:"about"`
}

type searchAnswer struct {
	Hits        []hitAnswer `json:"hits"`
	Total       int         `json:"total"`
	Millis      float64     `json:"millis"`            // the search alone
	Message     string      `json:"message,omitempty"` // help after a miss, or why the searcher failed
	Suggestions []string    `json:"suggestions,omitempty"`
}

type hitAnswer struct {
	toolAnswer
	Score float64      `json:"score"`
	Parts []partAnswer `json:"parts"`
}

type partAnswer struct {
	Term   string  `json:"term"`
	Field  string  `json:"field,omitempty"`
	Score  float64 `json:"score"`
	Detail string  `json:"detail,omitempty"`
}

type definitionAnswer struct {
	toolAnswer
	Tokens     int    `json:"tokens"`
	Parameters int    `json:"parameters"`
	Refused    bool   `json:"refused,omitempty"`
	Schema     string `json:"schema,omitempty"`
}

type toolsAnswer struct {
	Servers []string    `json:"servers"`
	Tools   []toolPrice `json:"tools"` // in the order of the catalog
}

type toolPrice struct {
	Name       string `json:"name"`
	Server     int    `json:"server"` // of Servers
	Tokens     int    `json:"tokens"`
	Parameters int    `json:"parameters"`
	Refused    bool   `json:"refused,omitempty"`
}

type findingsAnswer struct {
	Kinds []kindAnswer `json:"kinds"`
}

type kindAnswer struct {
	Heading  string          `json:"heading"`
	Count    int             `json:"count"`
	Findings []findingAnswer `json:"findings"` // at most maxOfKind
}

type findingAnswer struct {
	Tools  []toolAnswer `json:"tools"`
	Detail string       `json:"detail,omitempty"`
}

type evalAnswer struct {
	Metrics []metricAnswer `json:"metrics"`
	Queries []queryAnswer  `json:"queries"`
}

type metricAnswer struct {
	Name string `json:"name"`
	eval.Estimate
}

type queryAnswer struct {
	ID      string        `json:"id"`
	Text    string        `json:"text"`
	Kind    string        `json:"kind,omitempty"`
	MaxRank int           `json:"max_rank,omitempty"`
	Wanted  []groupAnswer `json:"wanted"`
	First   *rankedAnswer `json:"first,omitempty"` // the best tool that is not wanted
}

// A groupAnswer is one or more tools of which any is right.
type groupAnswer struct {
	Rank  int          `json:"rank"` // 0 means not found
	Tools []toolAnswer `json:"tools"`
}

type rankedAnswer struct {
	toolAnswer
	Rank int `json:"rank"`
}

// A refusal is an error that is the asker's mistake.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// route adds the answers to mux.
func (s *site) route(mux *http.ServeMux) {
	for path, answer := range map[string]func(ctx context.Context, r *http.Request) (any, error){
		"state":    s.state,
		"search":   s.search,
		"explain":  s.explain,
		"tool":     s.tool,
		"tools":    s.tools,
		"findings": s.fix,
		"eval":     s.eval,
		"costs":    s.cost,
	} {
		mux.HandleFunc("GET /api/"+path, func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), patience)
			defer cancel()
			result, err := answer(ctx, r)
			wrong, status := (*refusal)(nil), http.StatusOK
			switch {
			case errors.As(err, &wrong):
				result, status = map[string]string{"error": wrong.text}, wrong.status
			case r.Context().Err() != nil:
				return // nobody waits for the answer
			case errors.Is(err, errPending):
				result, status = map[string]bool{"pending": true}, http.StatusAccepted
			case err != nil:
				result, status = map[string]string{"error": shown(err.Error(), lineRunes)}, http.StatusInternalServerError
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(result) // it fails only if the browser is gone
		})
	}
}

func (s *site) state(context.Context, *http.Request) (any, error) {
	answer := stateAnswer{
		Title: shown(s.Title, nameRunes), Tools: len(s.Tools), Chosen: s.Chosen,
		Queries: len(s.Queries), Findings: s.Page.Findings != nil, Providers: s.Providers, Examples: s.examples(),
	}
	servers := make(map[string]bool)
	for i, t := range s.Tools {
		answer.Tokens += t.Tokens
		servers[s.servers[i]] = true
	}
	answer.Servers = len(servers)
	for _, searcher := range s.Searchers {
		answer.Searchers = append(answer.Searchers, searcherAnswer{searcher.Name, cmp.Or(searcher.Label, searcher.Name), searcher.About})
	}
	return answer, nil
}

// examples returns some queries to begin with: of the evaluation, or the names of tools as words.
func (s *site) examples() []string {
	const most = 4
	list := []string{}
	for i := range most {
		text := ""
		if n := len(s.Queries); n > 0 {
			text = s.Queries[i*n/most].Text
		} else {
			info := s.Catalog.Tools[i*len(s.Tools)/most]
			text = strings.Join(naming.Parts(naming.Bare(info.Name, s.Catalog.Annotate(info).Namespace)), " ")
		}
		if text = shown(text, 60); text != "" && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

func (s *site) search(ctx context.Context, r *http.Request) (any, error) {
	catalog, query, err := s.asked(ctx, r)
	if err != nil {
		return nil, err
	}
	n := defaultHits
	if text := r.FormValue("n"); text != "" {
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > maxHits {
			return nil, &refusal{http.StatusBadRequest, fmt.Sprintf("n is a number from 1 to %d", maxHits)}
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return nil, &refusal{http.StatusServiceUnavailable, fmt.Sprintf("%d other searches have not ended within %v", searching, patience)}
	}
	start := time.Now()
	result, err := catalog.Search(ctx, query, n)
	if ctx.Err() != nil {
		return nil, late(r)
	}
	if err != nil {
		return nil, err
	}
	answer := searchAnswer{
		Hits: []hitAnswer{}, Total: result.Total, Millis: float64(time.Since(start).Microseconds()) / 1000,
		Suggestions: shownAll(result.Suggestions),
	}
	if len(result.Matches) == 0 {
		answer.Message = shown(result.Message, lineRunes)
	}
	for _, m := range result.Matches {
		explanation, err := catalog.Explain(ctx, query, m.Info.Name)
		if ctx.Err() != nil {
			return nil, late(r)
		}
		hit := hitAnswer{toolAnswer: s.named(m.Info.Name), Score: m.Score, Parts: []partAnswer{}}
		hit.Description = oneLine(m.Info.Desc, lineRunes)
		switch {
		case err == nil:
			hit.Parts = partsOf(explanation)
		case m.Score != 0: // a selection by name has no score to take apart: its error says nothing
			answer.Message = shown(err.Error(), lineRunes)
		}
		answer.Hits = append(answer.Hits, hit)
	}
	return answer, nil
}

func (s *site) explain(ctx context.Context, r *http.Request) (any, error) {
	id, err := s.id(r)
	if err != nil {
		return nil, err
	}
	catalog, query, err := s.asked(ctx, r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	info := s.Catalog.Tools[id]
	explanation, err := catalog.Explain(ctx, query, info.Name)
	if ctx.Err() != nil {
		return nil, late(r)
	}
	if err != nil {
		return nil, err
	}
	return hitAnswer{s.named(info.Name), explanation.Score, partsOf(explanation)}, nil
}

func (s *site) tool(_ context.Context, r *http.Request) (any, error) {
	id, err := s.id(r)
	if err != nil {
		return nil, err
	}
	t, info := s.Tools[id], s.Catalog.Tools[id]
	answer := definitionAnswer{toolAnswer: s.named(info.Name), Tokens: t.Tokens, Parameters: t.Parameters, Refused: t.Refused}
	answer.Description = shown(info.Desc, textRunes)
	text := bytes.NewBuffer(t.Schema)
	if len(t.Schema) <= maxIndented {
		var indented bytes.Buffer
		if json.Indent(&indented, t.Schema, "", "  ") == nil {
			text = &indented
		}
	}
	answer.Schema = shown(text.String(), textRunes)
	return answer, nil
}

func (s *site) tools(context.Context, *http.Request) (any, error) {
	answer, at := toolsAnswer{Servers: []string{}}, make(map[string]int)
	for i, t := range s.Tools {
		server, ok := at[s.servers[i]]
		if !ok {
			server = len(answer.Servers)
			at[s.servers[i]] = server
			answer.Servers = append(answer.Servers, shown(s.servers[i], nameRunes))
		}
		answer.Tools = append(answer.Tools, toolPrice{shown(s.Catalog.Tools[i].Name, nameRunes), server, t.Tokens, t.Parameters, t.Refused})
	}
	return answer, nil
}

func (s *site) fix(ctx context.Context, _ *http.Request) (any, error) {
	if s.Page.Findings == nil {
		return nil, &refusal{http.StatusNotFound, "no findings"}
	}
	list, err := s.findings.get(ctx, func() ([]Finding, error) { return s.Page.Findings(s.ctx) })
	if err != nil {
		return nil, err
	}
	answer, at := findingsAnswer{Kinds: []kindAnswer{}}, make(map[string]int)
	for _, f := range list {
		k, ok := at[f.Heading]
		if !ok {
			k, at[f.Heading] = len(answer.Kinds), len(answer.Kinds)
			answer.Kinds = append(answer.Kinds, kindAnswer{Heading: f.Heading})
		}
		kind := &answer.Kinds[k]
		if kind.Count++; kind.Count > maxOfKind {
			continue
		}
		finding := findingAnswer{Tools: []toolAnswer{}, Detail: oneLine(f.Detail, lineRunes)}
		for _, name := range f.Tools[:min(len(f.Tools), maxAlternatives)] {
			finding.Tools = append(finding.Tools, s.named(name))
		}
		kind.Findings = append(kind.Findings, finding)
	}
	return answer, nil
}

func (s *site) cost(ctx context.Context, r *http.Request) (any, error) {
	provider := r.FormValue("provider")
	if s.costs[provider] == nil {
		return nil, &refusal{http.StatusNotFound, "no such provider"}
	}
	return s.costs[provider].get(ctx, func() (any, error) { return s.Page.Costs(s.ctx, provider) })
}

func (s *site) eval(ctx context.Context, r *http.Request) (any, error) {
	if len(s.Queries) == 0 {
		return nil, &refusal{http.StatusNotFound, "no queries; toolsearch ui -queries FILE has some"}
	}
	searcher, err := s.searcher(r)
	if err != nil {
		return nil, err
	}
	report, err := s.report(ctx, searcher)
	if err != nil {
		return nil, err
	}
	answer := evalAnswer{}
	for m, name := range report.Metrics {
		answer.Metrics = append(answer.Metrics, metricAnswer{name, report.Means[m]})
	}
	for _, q := range report.Queries {
		answer.Queries = append(answer.Queries, s.query(q))
	}
	return answer, nil
}

func (s *site) query(q eval.QueryResult) queryAnswer {
	answer := queryAnswer{
		ID: shown(q.Query.ID, nameRunes), Text: oneLine(q.Query.Text, search.MaxQueryBytes),
		Kind: shown(q.Query.Kind, nameRunes), MaxRank: q.Query.MaxRank,
	}
	for g, group := range q.Query.Groups {
		wanted := groupAnswer{Rank: q.Ranks[g]}
		if wanted.Rank > 0 { // the tool that was found comes first
			wanted.Tools = append(wanted.Tools, s.named(q.Found[wanted.Rank-1]))
		}
		for _, name := range group[:min(len(group), maxAlternatives)] {
			if wanted.Rank == 0 || name != q.Found[wanted.Rank-1] {
				wanted.Tools = append(wanted.Tools, s.named(name))
			}
		}
		answer.Wanted = append(answer.Wanted, wanted)
	}
	for i, name := range q.Found {
		if !slices.ContainsFunc(q.Query.Groups, func(group []string) bool { return slices.Contains(group, name) }) {
			answer.First = &rankedAnswer{s.named(name), i + 1}
			break
		}
	}
	return answer
}

// searcher returns the name of the searcher that is asked for, if the menu has it.
func (s *site) searcher(r *http.Request) (string, error) {
	name := r.FormValue("searcher")
	if s.indexes[name] == nil {
		return "", &refusal{http.StatusNotFound, "no such searcher"}
	}
	return name, nil
}

// asked returns the catalog and the query of a request. The page sends the number of an evaluation's
// query, since it has the text only as it is shown.
func (s *site) asked(ctx context.Context, r *http.Request) (catalog *toolsearch.Catalog, query string, err error) {
	name, err := s.searcher(r)
	if err != nil {
		return nil, "", err
	}
	query = r.FormValue("q")
	if number := r.FormValue("query"); number != "" {
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n >= len(s.Queries) {
			return nil, "", &refusal{http.StatusNotFound, "no such query"}
		}
		query = naming.Cut(s.Queries[n].Text, search.MaxQueryBytes)
	}
	if len(query) > search.MaxQueryBytes {
		return nil, "", &refusal{http.StatusBadRequest, fmt.Sprintf("a query is at most %d bytes", search.MaxQueryBytes)}
	}
	catalog, err = s.index(ctx, name)
	return catalog, query, err
}

// late is the error of a request whose searcher took too long.
func late(r *http.Request) error {
	return &refusal{http.StatusGatewayTimeout, fmt.Sprintf("the searcher %s has not answered within %v", r.FormValue("searcher"), patience)}
}

// id returns the place of a tool in the catalog.
func (s *site) id(r *http.Request) (int, error) {
	id, err := strconv.Atoi(r.FormValue("id"))
	if err != nil || id < 0 || id >= len(s.Tools) {
		return 0, &refusal{http.StatusNotFound, "no such tool"}
	}
	return id, nil
}

func (s *site) named(name string) toolAnswer {
	id, ok := s.ids[name]
	if !ok {
		return toolAnswer{ID: -1, Name: shown(name, nameRunes)}
	}
	return toolAnswer{ID: id, Name: shown(name, nameRunes), Server: shown(s.servers[id], nameRunes)}
}

func partsOf(e search.Explanation) []partAnswer {
	parts := make([]partAnswer, len(e.Parts))
	for i, p := range e.Parts {
		parts[i] = partAnswer{shown(p.Term, nameRunes), shown(p.Field, nameRunes), p.Score, shown(p.Detail, lineRunes)}
	}
	return parts
}

// oneLine does what shown does, with single blanks for all white space.
func oneLine(text string, limit int) string {
	return shown(strings.Join(strings.Fields(naming.CutRunes(text, 4*limit)), " "), limit)
}

func shownAll(texts []string) []string {
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = shown(text, nameRunes)
	}
	return list
}

// shown writes foreign text for a page: hidden characters as escapes, lines as lines, and at most
// limit characters.
func shown(text string, limit int) string {
	var b strings.Builder
	for line := range strings.Lines(naming.CutRunes(text, limit+1)) {
		if limit <= 0 {
			b.WriteString("…")
			break
		}
		body := strings.TrimRight(line, "\r\n")
		b.WriteString(naming.Visible(strings.ReplaceAll(body, "\t", "    "), limit))
		if len(body) < len(line) {
			b.WriteByte('\n')
		}
		limit -= max(1, utf8.RuneCountInString(body))
	}
	return b.String()
}
