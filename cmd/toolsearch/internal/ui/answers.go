package ui

import (
	"bytes"
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
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/costs"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/inspect"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/searchers"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/testtools/goals"
	"github.com/eino-toolsearch/toolsearch/internal/tokens"
	"github.com/eino-toolsearch/toolsearch/search"
)

// What the page asks for, and the JSON that it gets:
//
//	api/state                     the catalog, the menu
//	api/search?searcher=&q=       hits, each with its score taken apart
//	api/explain?searcher=&q=&id=  the score of one tool; query=N for the Nth query of the evaluation
//	api/tool?id=                  the whole definition
//	api/tools                     every tool with its tokens
//	api/findings                  what to fix
//	api/costs?provider=&shape=    what conversations cost; shape is a value of cost -shape, or nothing
//	api/model?protocol=&q=&may=   what the model sees before a search and after it; may has patterns of the tools that a
//	                              Filter passes, or nothing
//	api/eval?searcher=            metrics, and the queries with their ranks
//
// A tool's id is its place in the catalog, so that no text from outside is a part of an address. 202
// means that the answer is being made: ask again. Each question makes a new search, so a search
// that takes too long is an error.

// Bounds on the texts of an answer, in characters.
const (
	nameRunes       = 160
	lineRunes       = 300
	textRunes       = 20_000
	maxIndented     = 64 << 10 // bytes; indenting a deeply nested text would multiply it
	maxHits         = 20
	maxOfKind       = 1_000 // findings of a kind
	maxAlternatives = 20    // tools that are right for one query
)

// An object is an answer, or a part of it.
type object map[string]any

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
		"model":    s.model,
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
	tokens, servers := 0, make(map[string]bool)
	for i, t := range s.sizes {
		tokens += t.Tokens
		servers[s.servers[i]] = true
	}
	menu := cli.Each(s.Searchers, func(searcher searchers.Searcher) object {
		return object{"name": searcher.Name, "label": searchers.Label(searcher.Name), "about": searcher.About}
	})
	return object{
		"title": shown(s.Title, nameRunes), "tools": len(s.Tools), "tokens": tokens, "servers": len(servers),
		"searchers": menu, "chosen": s.Chosen, "queries": len(s.Queries), "findings": s.Page.Findings != nil,
		"providers": costs.Names(cost.Providers()), "protocols": protocols(), "examples": s.examples(),
	}, nil
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
			info := s.catalog.Tools[i*len(s.Tools)/most]
			text = strings.Join(naming.Parts(naming.Bare(info.Name, s.catalog.Annotate(info).Namespace)), " ")
		}
		if text = shown(text, 60); text != "" && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

func (s *site) search(ctx context.Context, r *http.Request) (any, error) {
	return s.asked(ctx, r, func(ctx context.Context, catalog *toolsearch.Catalog, query string) (any, error) {
		start := time.Now()
		result, err := catalog.Search(ctx, query, maxHits)
		if err != nil {
			return nil, err
		}
		millis, hits, message := float64(time.Since(start).Microseconds())/1000, []object{}, ""
		suggestions := cli.Each(result.Suggestions, func(name string) string { return shown(name, nameRunes) })
		if len(result.Matches) == 0 {
			message = result.Message
		}
		for _, m := range result.Matches {
			explanation, err := catalog.Explain(ctx, query, m.Info.Name)
			if err != nil && m.Score != 0 { // a selection by name has no score to take apart: its error says nothing
				message = err.Error()
			}
			explanation.Score = m.Score
			hit := s.scored(m.Info.Name, explanation)
			hit["description"] = oneLine(m.Info.Desc, lineRunes)
			hits = append(hits, hit)
		}
		return object{
			"hits": hits, "total": result.Total, "millis": millis, "suggestions": suggestions, "message": shown(message, lineRunes),
		}, nil
	})
}

func (s *site) explain(ctx context.Context, r *http.Request) (any, error) {
	id, err := s.id(r)
	if err != nil {
		return nil, err
	}
	return s.asked(ctx, r, func(ctx context.Context, catalog *toolsearch.Catalog, query string) (any, error) {
		name := s.catalog.Tools[id].Name
		explanation, err := catalog.Explain(ctx, query, name)
		return s.scored(name, explanation), err
	})
}

func (s *site) tool(_ context.Context, r *http.Request) (any, error) {
	id, err := s.id(r)
	if err != nil {
		return nil, err
	}
	t, info := s.sizes[id], s.catalog.Tools[id]
	text := []byte(s.Tools[id].Schema)
	var indented bytes.Buffer
	if len(text) <= maxIndented && json.Indent(&indented, text, "", "  ") == nil {
		text = indented.Bytes()
	}
	answer := s.named(info.Name)
	answer["description"], answer["schema"] = shown(info.Desc, textRunes), shown(string(text), textRunes)
	answer["tokens"], answer["parameters"], answer["refused"] = t.Tokens, t.Parameters, t.Refused
	return answer, nil
}

func (s *site) tools(context.Context, *http.Request) (any, error) {
	servers, tools, at := []string{}, []object{}, make(map[string]int)
	for i, t := range s.sizes {
		server, ok := at[s.servers[i]]
		if !ok {
			server = len(servers)
			at[s.servers[i]] = server
			servers = append(servers, shown(s.servers[i], nameRunes))
		}
		tools = append(tools, object{
			"name": shown(t.Name, nameRunes), "server": server,
			"tokens": t.Tokens, "parameters": t.Parameters, "refused": t.Refused,
		})
	}
	return object{"servers": servers, "tools": tools}, nil // in the order of the catalog
}

func (s *site) fix(ctx context.Context, _ *http.Request) (any, error) {
	if s.Page.Findings == nil {
		return nil, &refusal{http.StatusNotFound, "no findings"}
	}
	report, err := get(ctx, s, "findings", func() (*inspect.Report, error) { return s.Page.Findings(s.ctx) })
	if err != nil {
		return nil, err
	}
	kinds := []object{}
	for _, k := range inspect.Kinds {
		problems := report.OfKind(k.Kind)
		findings := cli.Each(problems[:min(len(problems), maxOfKind)], func(p inspect.Problem) object {
			tools := cli.Each(p.Tools[:min(len(p.Tools), maxAlternatives)], s.named)
			return object{"tools": tools, "detail": oneLine(p.Detail, lineRunes)}
		})
		if len(problems) > 0 {
			kinds = append(kinds, object{"heading": k.Heading, "count": len(problems), "findings": findings})
		}
	}
	return object{"kinds": kinds}, nil
}

func (s *site) cost(ctx context.Context, r *http.Request) (any, error) {
	provider, ok := cost.Named(cost.Providers(), r.FormValue("provider"))
	if !ok {
		return nil, &refusal{http.StatusNotFound, "no such provider"}
	}
	shapes, text := cost.Shapes, r.FormValue("shape")
	if text != "" {
		shape, err := costs.ReadShape(text)
		if err != nil {
			return nil, &refusal{http.StatusBadRequest, err.Error()}
		}
		shapes = []cost.Shape{shape}
	}
	play := func(ctx context.Context) (any, error) {
		report, err := cost.Compare(ctx, s.catalog.Tools, provider, shapes)
		if err != nil {
			return nil, err
		}
		return costs.JSON(report), nil
	}
	if text != "" { // there are too many to keep
		return s.inTurn(ctx, "a conversation of this shape", func() (any, error) { return play(ctx) })
	}
	return get(ctx, s, "costs "+provider.Name, func() (any, error) { return play(s.ctx) })
}

// protocols returns the names of the protocols that can be shown: the provider's own search cannot.
func protocols() (names []string) {
	for p := toolsearch.ProtocolToolSearch; p <= toolsearch.ProtocolAnchored; p++ {
		if _, ok := cost.WayNamed(p.String()); ok {
			names = append(names, p.String())
		}
	}
	return names
}

// model plays a conversation in which the model searches once.
func (s *site) model(ctx context.Context, r *http.Request) (any, error) {
	way, ok := cost.WayNamed(r.FormValue("protocol"))
	query, may := r.FormValue("q"), r.FormValue("may")
	if !ok || query == "" || len(query) > search.MaxQueryBytes || len(may) > search.MaxQueryBytes {
		return nil, &refusal{http.StatusBadRequest, "want a protocol and a query"}
	}
	config := way.Config(len(s.Tools))
	config.Annotate = s.catalog.Annotate
	if may != "" {
		config.Filter = toolsearch.FilterTools(nil, strings.FieldsFunc(may, func(r rune) bool { return r == ',' || r == ' ' }))
	}
	var played *cost.Replayed
	if _, err := s.inTurn(ctx, "the protocol "+way.String(), func() (_ any, err error) {
		played, err = cost.Replay(ctx, s.catalog.Tools, config, cost.WireChat, cost.Conversation{
			Question: query, Steps: []cost.Step{{Query: query}},
		})
		return nil, err
	}); err != nil {
		return nil, err
	}
	requests, before := []object{}, cost.Request{}
	for _, request := range played.Requests {
		of := func(name string, text, before []byte) object {
			rest, isAgain := bytes.CutPrefix(text, before)
			return object{"name": name, "bytes": len(text), "tokens": tokens.Of(text), "text": shown(string(rest), textRunes), "again": isAgain && len(before) > 0}
		}
		requests = append(requests, object{"parts": []object{of("tools", request.Tools, before.Tools),
			of("system message", request.System, before.System), of("messages", request.Messages, before.Messages)}})
		before = request
	}
	return object{"requests": requests}, nil
}

func (s *site) eval(ctx context.Context, r *http.Request) (any, error) {
	if len(s.Queries) == 0 {
		return nil, &refusal{http.StatusNotFound, "no queries; toolsearch ui -queries FILE has some"}
	}
	searcher, err := s.searcher(r)
	if err != nil {
		return nil, err
	}
	report, err := get(ctx, s, "eval "+searcher.Name, func() (*eval.Report, error) {
		return eval.Run(s.ctx, s.catalog, s.Queries, eval.Options{Index: searcher.Index})
	})
	if err != nil {
		return nil, err
	}
	var metrics []object
	for m, name := range report.Metrics {
		mean := report.Means[m]
		metrics = append(metrics, object{"name": name, "value": mean.Value, "low": mean.Low, "high": mean.High})
	}
	return object{"metrics": metrics, "queries": cli.Each(report.Queries, s.query)}, nil
}

func (s *site) query(q eval.Query) object {
	var wanted []object
	for g, group := range q.Groups { // any of the tools of a group is right
		var names []string
		rank := q.Ranks[g]
		if rank > 0 { // the tool that was found comes first
			names = append(names, q.Found[rank-1])
		}
		for _, name := range group[:min(len(group), maxAlternatives)] {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		wanted = append(wanted, object{"rank": rank, "tools": cli.Each(names, s.named)})
	}
	answer := object{
		"id": shown(q.ID, nameRunes), "text": oneLine(q.Text, search.MaxQueryBytes),
		"kind": shown(q.Kind, nameRunes), "max_rank": q.MaxRank, "wanted": wanted,
	}
	if at := goals.Unwanted(q); at >= 0 {
		first := s.named(q.Found[at])
		first["rank"], answer["first"] = at+1, first
	}
	return answer
}

// searcher returns the searcher that is asked for, if the menu has it.
func (s *site) searcher(r *http.Request) (found searchers.Searcher, err error) {
	if at := s.menuAt(r.FormValue("searcher")); at >= 0 {
		return s.Searchers[at], nil
	}
	return found, &refusal{http.StatusNotFound, "no such searcher"}
}

// asked calls f with the catalog and the query of a request, for an answer within patience. The page
// sends the number of an evaluation's query, since it has the text only as it is shown.
func (s *site) asked(ctx context.Context, r *http.Request,
	f func(ctx context.Context, catalog *toolsearch.Catalog, query string) (any, error)) (any, error) {
	searcher, err := s.searcher(r)
	if err != nil {
		return nil, err
	}
	query := r.FormValue("q")
	if r.FormValue("query") != "" {
		n, err := number(r, "query", len(s.Queries))
		if err != nil {
			return nil, err
		}
		query = naming.Cut(s.Queries[n].Text, search.MaxQueryBytes)
	}
	if len(query) > search.MaxQueryBytes {
		return nil, &refusal{http.StatusBadRequest, fmt.Sprintf("a query is at most %d bytes", search.MaxQueryBytes)}
	}
	catalog, err := s.index(ctx, searcher)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	return s.inTurn(ctx, "the searcher "+searcher.Name, func() (any, error) { return f(ctx, catalog, query) })
}

// inTurn calls f, which ends with ctx, when few enough others run.
func (s *site) inTurn(ctx context.Context, who string, f func() (any, error)) (any, error) {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return nil, &refusal{http.StatusServiceUnavailable, fmt.Sprintf("%d other searches have not ended within %v", searching, patience)}
	}
	answer, err := f()
	if ctx.Err() != nil {
		return nil, &refusal{http.StatusGatewayTimeout, fmt.Sprintf("%s has not answered within %v", who, patience)}
	}
	return answer, err
}

// id returns the place of a tool in the catalog.
func (s *site) id(r *http.Request) (int, error) { return number(r, "id", len(s.Tools)) }

// number returns a value of a request that is the place of something in a list.
func number(r *http.Request, key string, length int) (int, error) {
	n, err := strconv.Atoi(r.FormValue(key))
	if err != nil || n < 0 || n >= length {
		return 0, &refusal{http.StatusNotFound, "no such " + map[string]string{"id": "tool", "query": "query"}[key]}
	}
	return n, nil
}

// named returns what the page shows of a name. An id of -1 means that the catalog has no such tool.
func (s *site) named(name string) object {
	if id, ok := s.ids[name]; ok {
		return object{"id": id, "name": shown(name, nameRunes), "server": shown(s.servers[id], nameRunes)}
	}
	return object{"id": -1, "name": shown(name, nameRunes)}
}

// scored returns a tool with its score taken apart.
func (s *site) scored(name string, e search.Explanation) object {
	answer := s.named(name)
	answer["score"], answer["parts"] = e.Score, cli.Each(e.Parts, func(p search.Contribution) object {
		return object{
			"term": shown(p.Term, nameRunes), "field": shown(p.Field, nameRunes), "score": p.Score, "detail": shown(p.Detail, lineRunes),
		}
	})
	return answer
}

// oneLine does what shown does, with single blanks for all white space.
func oneLine(text string, limit int) string {
	return shown(strings.Join(strings.Fields(naming.CutRunes(text, 4*limit)), " "), limit)
}

// shown writes text from outside for a page: hidden characters as escapes, lines as lines, and at most
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
