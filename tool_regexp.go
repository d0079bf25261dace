package toolsearch

import (
	"context"

	"github.com/cloudwego/eino/schema"
)

// tool_search of ProtocolRegexp: a pattern in, names out.

// selectedTools is what the model reads. Keys but the first are there only when they have
// something to say.
type selectedTools struct {
	SelectedTools []string `json:"selectedTools"`
	NotFound      []string `json:"not_found,omitempty"`
	Suggestions   []string `json:"suggestions,omitempty"`
	Message       string   `json:"message,omitempty"`
}

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
			return toJSON(selectedTools{answer.Matches, answer.NotFound, answer.Suggestions, answer.Message}), nil
		},
	}
}
