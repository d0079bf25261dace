package toolsearch

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/bytedance/sonic"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/search"
)

// The two tools of ProtocolDispatch: tool_search, which answers with definitions, and
// call_tool. A call of call_tool is replaced by one of the tool it names before any tool
// runs: see intercept.go.

// foundDefinitions is the answer of tool_search.
type foundDefinitions struct {
	Matches     []definition `json:"matches"`
	NotFound    []string     `json:"not_found,omitempty"`
	Suggestions []string     `json:"suggestions,omitempty"`
	Message     string       `json:"message,omitempty"`
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

func (h *host) definitionsTool() *metaTool {
	return &metaTool{
		info: h.toolInfo(h.names.search, "description", map[string]*schema.ParameterInfo{
			"query":       {Type: schema.String, Desc: h.prompt.text("query"), Required: true},
			"max_results": {Type: schema.Integer, Desc: h.prompt.text("max-results")},
		}),
		run: func(ctx context.Context, arguments string) (string, error) {
			answer, matches, err := h.search(ctx, arguments)
			if err != nil {
				return "", err
			}
			if answer.Tool != nil {
				return answer.String(), nil
			}
			found := foundDefinitions{
				Matches:  make([]definition, len(matches)),
				NotFound: answer.NotFound, Suggestions: answer.Suggestions, Message: answer.Message,
			}
			for i, m := range matches {
				found.Matches[i] = definitionOf(m.Info)
			}
			return toJSON(found), nil
		},
	}
}

// dispatchTool is call_tool. It runs only where nothing replaced the call, which is outside
// of an agent.
func (h *host) dispatchTool() *metaTool {
	return &metaTool{
		info: h.toolInfo(h.names.call, "call-description", map[string]*schema.ParameterInfo{
			"name":      {Type: schema.String, Desc: h.prompt.text("call-name"), Required: true},
			"arguments": {Type: schema.Object, Desc: h.prompt.text("call-arguments")},
		}),
		run: func(context.Context, string) (string, error) {
			return searchAnswer{Message: h.prompt.text("bad-dispatch")}.String(), nil
		},
	}
}

// dispatch is what a call of call_tool asks for.
type dispatch struct {
	Name      string
	Arguments string // JSON; "{}" if there are none
	ok        bool   // it can be read
}

// readDispatch reads the arguments of call_tool, as leniently as those of a search. What it
// passes on is the model's own text where the model wrote it as the schema asks.
func readDispatch(arguments string) dispatch {
	var exact struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if sonic.ConfigStd.UnmarshalFromString(arguments, &exact) == nil && exact.Name != "" && len(exact.Arguments) > 0 && exact.Arguments[0] == '{' {
		return dispatch{strings.TrimSpace(exact.Name), string(exact.Arguments), strings.TrimSpace(exact.Name) != ""}
	}
	value, ok := readValue(arguments)
	object, isObject := value.(map[string]any)
	if !ok || !isObject {
		return dispatch{}
	}
	name, _ := firstOf(object, "name", "tool_name", "tool").(string)
	d := dispatch{Name: strings.TrimSpace(name), Arguments: "{}", ok: strings.TrimSpace(name) != ""}
	switch given := firstOf(object, "arguments", "args", "parameters", "params", "input").(type) {
	case nil:
	case string:
		if strings.TrimSpace(given) != "" {
			d.Arguments = unfence(given)
		}
	default:
		d.Arguments = toJSON(given)
	}
	return d
}

// dispatchProblem returns the stand-in for a dispatched call that cannot be run, or nil.
func (k *callable) dispatchProblem(d dispatch) *standIn {
	c, names := k.run.scope, &k.run.reader.names
	misuse := func(key string) *standIn {
		return &standIn{MisusedTool: names.call, Problem: c.prompt.text(key)}
	}
	doc, dynamic := k.dispatched(d.Name)
	switch {
	case !d.ok:
		return misuse("bad-dispatch")
	case names.has(d.Name):
		return misuse("dispatch-meta")
	case !dynamic && (!k.explain || containsName(k.all, d.Name)):
		return nil // left to Eino, or a tool the model sees, called the long way
	case !dynamic:
		return &standIn{UnknownTool: naming.Cut(d.Name, naming.MaxBytes), Suggestions: k.near(d.Name)}
	case k.refuse && !k.isLoaded(doc):
		return &standIn{UnloadedTool: c.docs[doc].Name}
	}
	if problem := c.schemas.Problem(doc, c.docs[doc].Info, d.Arguments); problem != "" {
		return &standIn{MisusedTool: c.docs[doc].Name, Problem: problem}
	}
	return nil
}

// dispatched returns the dynamic tool that a dispatched call means. A tool of the agent's own
// that has exactly that name comes before one that has it in another spelling.
func (k *callable) dispatched(name string) (doc int, ok bool) {
	if doc, ok = k.run.scope.byName[name]; ok && k.run.scope.sees(doc) {
		return doc, true
	}
	if containsName(k.all, name) {
		return 0, false
	}
	return k.run.scope.lookup(name)
}

// dispatchedName is the exact name of the tool a dispatched call means.
func (k *callable) dispatchedName(name string) string {
	if doc, ok := k.dispatched(name); ok {
		return k.run.scope.docs[doc].Name
	}
	return name
}

// misuse answers a dispatched call that was wrong, with the definition of the tool if it
// was its arguments.
func (h *host) misuse(ctx context.Context, s *standIn) searchAnswer {
	answer := searchAnswer{Message: s.Problem}
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
