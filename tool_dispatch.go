package toolsearch

import (
	"context"
	"encoding/json"

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
