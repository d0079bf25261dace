package toolsearch

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/search"
)

// What all meta-tools share, tool_search itself, and results as JSON: out to the model and,
// from a history of whichever protocol, in again. Arguments are read in arguments.go.

// nameEffect is what a call of a meta-tool does to the loaded tools, by names.
type nameEffect struct{ loads, unloads []string }

// host is where a meta-tool works: the run that its call belongs to, or a catalog alone.
type host struct {
	names  metaNames
	prompt *prompt
	scope  func(ctx context.Context) (scope, error)
	note   func(ctx context.Context, e nameEffect) // told what a call loads; nil: nobody
	teller *teller                                 // nil: nobody is told of searches

	// Of a run; only ProtocolSearchAdd asks.
	wasLoaded func(ctx context.Context, name string) (loaded, known bool) // at the last model call
	isPinned  func(ctx context.Context, name string) bool                 // always loaded
}

// metaTool is one of the tools the model sees in the place of the catalog. It answers
// every call, a mistaken one too, and returns an error only when its context is done.
type metaTool struct {
	info *schema.ToolInfo
	run  func(ctx context.Context, arguments string) (string, error)
}

// Info implements tool.BaseTool.
func (t *metaTool) Info(context.Context) (*schema.ToolInfo, error) { return t.info, nil }

// InvokableRun implements tool.InvokableTool.
func (t *metaTool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	return t.run(ctx, arguments)
}

// toolInfo describes a meta-tool in the words of the prompt.
func (h *host) toolInfo(name, description string, parameters map[string]*schema.ParameterInfo) *schema.ToolInfo {
	return &schema.ToolInfo{
		Name:        name,
		Desc:        h.prompt.text(description),
		ParamsOneOf: schema.NewParamsOneOfByParams(parameters),
	}
}

// searchTool is tool_search of the default protocol.
func (h *host) searchTool() *metaTool {
	return &metaTool{
		info: h.toolInfo(h.names.search, "description", map[string]*schema.ParameterInfo{
			"query":       {Type: schema.String, Desc: h.prompt.text("query"), Required: true},
			"max_results": {Type: schema.Integer, Desc: h.prompt.text("max-results")},
		}),
		run: func(ctx context.Context, arguments string) (string, error) {
			answer, _, err := h.search(ctx, arguments)
			if err != nil {
				return "", err
			}
			return answer.String(), nil
		},
	}
}

// Tool returns tool_search over the catalog, for a ToolsNode in a graph of one's own.
// Nothing there hides or shows tools: what is found is for the graph to act on.
func (c *Catalog) Tool() tool.InvokableTool {
	h := &host{
		names:  ProtocolToolSearch.names(DefaultToolName),
		prompt: c.prompt,
		scope:  func(context.Context) (scope, error) { return c.all(), nil },
	}
	return h.searchTool()
}

// search reads the arguments and does what they ask for. The matches come a second time
// with their definitions.
func (h *host) search(ctx context.Context, arguments string) (searchAnswer, []Match, error) {
	request := readRequest(arguments, "query", "queries", "q", "keywords")
	if answer, ok := h.excuse(ctx, request); ok {
		return answer, nil, nil
	}
	result, _, err := h.find(ctx, request, true)
	if err != nil {
		return searchAnswer{}, nil, err
	}
	return answerOf(result), result.Matches, nil
}

// excuse answers what is no search: a stand-in, or arguments that cannot be read.
func (h *host) excuse(ctx context.Context, r searchRequest) (searchAnswer, bool) {
	if r.stand != nil {
		return h.answerFor(ctx, r.stand), true
	}
	if r.unreadable {
		return saying(h.prompt.text("bad-arguments")), true
	}
	return searchAnswer{}, false
}

// find does a search, reports it, and notes what it loads, if it does.
func (h *host) find(ctx context.Context, r searchRequest, loads bool) (*Result, trace, error) {
	start := time.Now()
	scope, err := h.scope(ctx)
	if err != nil {
		return nil, trace{}, err
	}
	result, trace, err := scope.find(ctx, r.queries, r.namespace, r.limit)
	duration := time.Since(start)
	if err == nil && loads && h.note != nil {
		h.note(ctx, nameEffect{loads: matchNames(result.Matches)})
	}
	if h.teller == nil || !h.teller.listens() {
		return result, trace, err
	}
	event := SearchEvent{
		Tool: h.names.search, Query: naming.Cut(strings.Join(r.queries, " | "), search.MaxQueryBytes),
		Duration: duration, Err: cmp.Or(err, trace.failure), Searcher: trace.answered.role,
	}
	if err == nil {
		event.Matches, event.NotFound, event.Total = matchNames(result.Matches), result.NotFound, result.Total
		for _, m := range result.Matches {
			event.Scores = append(event.Scores, m.Score)
		}
	}
	h.teller.tell(ctx, event)
	return result, trace, err
}

func matchNames(matches []Match) []string {
	names := make([]string, len(matches))
	for i, m := range matches {
		names[i] = m.Info.Name
	}
	return names
}

// saying is an answer of nothing but words.
func saying(message string) searchAnswer { return searchAnswer{help: help{Message: message}} }

func answerOf(r *Result) searchAnswer {
	return searchAnswer{Matches: matchNames(r.Matches), help: helpOf(r)}
}

// help is what any answer may add: names that were not found, names that come near, and what
// to do. Its keys are there only when they have something to say.
type help struct {
	NotFound    []string `json:"not_found,omitempty"`
	Suggestions []string `json:"suggestions,omitempty"`
	Message     string   `json:"message,omitempty"`
}

func helpOf(r *Result) help { return help{r.NotFound, r.Suggestions, r.Message} }

// searchAnswer is the answer of tool_search by default.
type searchAnswer struct {
	Matches []string `json:"matches"`
	help

	Tool *definition `json:"tool,omitempty"` // of ProtocolDispatch: the one called with wrong arguments
}

func (a searchAnswer) String() string {
	if a.Matches == nil {
		a.Matches = []string{}
	}
	return toJSON(a)
}

// answerFor puts a stand-in into words.
func (h *host) answerFor(ctx context.Context, s *standIn) searchAnswer {
	switch {
	case s.MisusedTool != "":
		return h.misuse(ctx, s)
	case s.UnloadedTool != "":
		search := toJSON(map[string]string{"query": "select:" + s.UnloadedTool})
		return saying(h.prompt.text("unloaded-tool", "{name}", naming.Shown(s.UnloadedTool), "{search}", search))
	case len(s.Suggestions) > 0:
		return searchAnswer{help: help{[]string{s.UnknownTool}, s.Suggestions,
			h.prompt.text("unknown-tool-near", "{name}", naming.Shown(s.UnknownTool))}}
	default:
		return searchAnswer{help: help{[]string{s.UnknownTool}, nil,
			h.prompt.text("unknown-tool", "{name}", naming.Shown(s.UnknownTool))}}
	}
}

// definition is a tool as a model needs it to call it.
type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// maxDefinitionBytes bounds the parameters of one tool in an answer.
const maxDefinitionBytes = 32 << 10

func definitionOf(info *schema.ToolInfo) definition {
	d := definition{Name: info.Name, Description: naming.Cut(info.Desc, search.MaxDescriptionBytes), Parameters: json.RawMessage(schemacheck.JSON(info))}
	if len(d.Parameters) > maxDefinitionBytes {
		d.Parameters = json.RawMessage(`{"type":"object"}`)
	}
	return d
}

// misuse answers a dispatched call that was wrong, with the definition of the tool if it
// was its arguments.
func (h *host) misuse(ctx context.Context, s *standIn) searchAnswer {
	answer := saying(s.Problem)
	scope, err := h.scope(ctx)
	if err != nil {
		return answer
	}
	if doc, ok := scope.byName[s.MisusedTool]; ok && scope.sees(doc) {
		answer.Message = h.prompt.text("bad-tool-arguments", "{name}", naming.Shown(s.MisusedTool), "{problem}", s.Problem)
		tool := definitionOf(scope.docs[doc].Info)
		answer.Tool = &tool
	}
	return answer
}

// selectedTools is the answer of tool_search of ProtocolRegexp.
type selectedTools struct {
	SelectedTools []string `json:"selectedTools"`
	help
}

// regexpTool is tool_search of ProtocolRegexp: a pattern in, names out.
func (h *host) regexpTool() *metaTool {
	return &metaTool{
		info: h.toolInfo(h.names.search, "description", map[string]*schema.ParameterInfo{
			"regex_pattern": {Type: schema.String, Desc: h.prompt.text("query"), Required: true},
		}),
		run: func(ctx context.Context, arguments string) (string, error) {
			request := readRequest(arguments, "regex_pattern", "pattern", "regex", "query", "q")
			answer, excused := h.excuse(ctx, request)
			if !excused {
				request.limit = unlimited // the ceiling is the limit: a pattern says itself what it wants
				result, _, err := h.find(ctx, request, true)
				if err != nil {
					return "", err
				}
				answer = answerOf(result)
			}
			if answer.Matches == nil {
				answer.Matches = []string{}
			}
			return toJSON(selectedTools{answer.Matches, answer.help}), nil
		},
	}
}
