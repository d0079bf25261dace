package toolsearch

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// tool_search of ProtocolRanked: a text that ranks the tools, with scores, what each does, and when to use it. The last
// line is JSON: the names, for those who read the history, and what else there is to say.

// rankedNames is the last line.
type rankedNames struct {
	Candidates int                 `json:"total_candidates,omitempty"` // tools that were considered; 0 if names were asked for
	Matches    []map[string]string `json:"matches"`                    // the name of each
	help
}

func (h *host) rankedTool() *metaTool {
	parameters := h.queryParameter("query")
	parameters["limit"] = &schema.ParameterInfo{Type: schema.Integer, Desc: h.prompt.Text("max-results")}
	write := func(r *run, _ searchRequest, result *Result, t trace) string {
		last := rankedNames{Matches: []map[string]string{}, help: helpOf(result, t)}
		if t.ranked > 0 {
			last.Candidates = r.scope.size()
		}
		var text strings.Builder
		if slices.ContainsFunc(result.Matches, func(m Match) bool { return m.Score != 0 }) {
			text.WriteString(h.prompt.Text("ranked") + "\n")
		}
		for i, m := range result.Matches {
			text.WriteString(h.rankedText(r, i+1, m, t))
			last.Matches = append(last.Matches, map[string]string{"name": m.Info.Name})
		}
		return text.String() + toJSON(last)
	}
	return h.searchTool(parameters, readKeywords, write)
}

// rankedText returns the lines of a match: its name, the score of a ranked match, and which of several queries found
// it; below, what the tool does and, from its Hint, when to use it.
func (h *host) rankedText(r *run, rank int, m Match, t trace) string {
	text := strconv.Itoa(rank) + ". " + naming.Safe(m.Info.Name)
	if m.Score != 0 { // four decimals: more mean nothing and differ between machines
		if r.scope.words != nil { // BM25 lifts a tool that the query names above all others
			m.Score = math.Mod(m.Score, docset.Named)
		}
		score, _ := strconv.ParseFloat(strconv.FormatFloat(m.Score, 'f', 4, 64), 64)
		text += " (" + strconv.FormatFloat(score, 'f', -1, 64) + ")"
	}
	if query := t.foundBy[m.Info.Name]; query != "" {
		text += ": " + query
	}
	text += "\n"
	if does := naming.ShortLine(m.Info.Desc, maxBriefDescription); does != "" {
		text += "   " + does + "\n"
	}
	if hint := naming.ShortLine(r.scope.docs[r.scope.byName[m.Info.Name]].Hint, maxBriefDescription); hint != "" {
		text += "   " + h.prompt.Text("when-to-use", "{hint}", hint) + "\n"
	}
	return text
}
