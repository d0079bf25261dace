package toolsearch

import (
	"context"

	"github.com/cloudwego/eino/schema"
)

// The two tools of ProtocolDispatch: tool_search, which answers with definitions, and
// call_tool. Before any tool runs, a call of call_tool is replaced by a call of the tool it
// names: see intercept.go.

// foundDefinitions is the answer of tool_search.
type foundDefinitions struct {
	Matches []definition `json:"matches"`
	help
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
			found := foundDefinitions{Matches: make([]definition, len(matches)), help: answer.help}
			for i, m := range matches {
				found.Matches[i] = definitionOf(m.Info)
			}
			return toJSON(found), nil
		},
	}
}

// dispatchTool is call_tool. It runs only if its call was not replaced, which happens outside
// an agent.
func (h *host) dispatchTool() *metaTool {
	return &metaTool{
		info: h.toolInfo(h.names.call, "call-description", map[string]*schema.ParameterInfo{
			"name":      {Type: schema.String, Desc: h.prompt.text("call-name"), Required: true},
			"arguments": {Type: schema.Object, Desc: h.prompt.text("call-arguments")},
		}),
		run: func(context.Context, string) (string, error) {
			return saying(h.prompt.text("bad-dispatch")).String(), nil
		},
	}
}
