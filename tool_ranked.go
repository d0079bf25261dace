package toolsearch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// tool_search of ProtocolRanked: a text that ranks the tools, with scores, when to use each, and
// parameters. Its last line is the same as JSON.

// rankedTools is the last line.
type rankedTools struct {
	Query      string       `json:"query"`
	Limit      int          `json:"limit"`            // the limit that was applied
	Candidates int          `json:"total_candidates"` // tools that were considered
	Matches    []rankedTool `json:"matches"`

	AlreadyLoaded []string `json:"already_loaded,omitempty"` // matches that the model sees already
	help
}

type rankedTool struct {
	Rank        int     `json:"rank"`
	Name        string  `json:"name"`
	Score       float64 `json:"score"`
	Description string  `json:"description"`
	WhenToUse   string  `json:"when_to_use,omitempty"` // the tool's Hint
	Usage       string  `json:"usage"`
}

// rankedOf returns the tool of a match, without its rank.
func (c scope) rankedOf(info *schema.ToolInfo) rankedTool {
	return rankedTool{
		Name: info.Name, Description: naming.ShortLine(info.Desc, maxBriefDescription),
		WhenToUse: naming.ShortLine(c.docs[c.byName[info.Name]].Hint, maxBriefDescription), Usage: usageOf(info),
	}
}

func (h *host) rankedTool() *metaTool {
	parameters := map[string]*schema.ParameterInfo{
		"query": {Type: schema.String, Desc: h.prompt.Text("query"), Required: true},
		"limit": {Type: schema.Integer, Desc: h.prompt.Text("max-results")},
	}
	sizeOf := func(r *run, info *schema.ToolInfo) int {
		return 2 * len(toJSON(r.scope.rankedOf(info))) // once as text and once as JSON
	}
	write := func(r *run, request searchRequest, result *Result, t trace) string {
		answer := rankedTools{AlreadyLoaded: t.seen, Matches: []rankedTool{}, help: helpOf(result)}
		if request.isSearch() {
			answer.Query = naming.Cut(strings.Join(request.queries, " | "), maxBriefDescription)
			answer.Limit, answer.Candidates = r.scope.limit(request.limit), r.scope.size()
		}
		for i, m := range result.Matches {
			t := r.scope.rankedOf(m.Info)
			t.Rank, t.Score = i+1, rounded(m.Score)
			answer.Matches = append(answer.Matches, t)
		}
		return h.rankedText(answer)
	}
	return h.searchTool(searching{parameters, readKeywords, sizeOf, write})
}

// rounded keeps four decimals: more mean nothing and differ between machines.
func rounded(score float64) float64 {
	f, _ := strconv.ParseFloat(strconv.FormatFloat(score, 'f', 4, 64), 64)
	return f
}

func (h *host) rankedText(r rankedTools) string {
	var b strings.Builder
	if len(r.Matches) > 0 {
		b.WriteString(h.prompt.Text("ranked", "{shown}", strconv.Itoa(len(r.Matches)), "{count}", strconv.Itoa(r.Candidates)) + "\n")
	}
	for _, t := range r.Matches {
		fmt.Fprintf(&b, "%d. %s (%s)\n", t.Rank, naming.Safe(t.Name), strconv.FormatFloat(t.Score, 'f', -1, 64))
		if t.Description != "" {
			b.WriteString("   " + t.Description + "\n")
		}
		if t.WhenToUse != "" {
			b.WriteString("   " + h.prompt.Text("when-to-use", "{hint}", t.WhenToUse) + "\n")
		}
		b.WriteString("   " + t.Usage + "\n")
	}
	if len(r.AlreadyLoaded) > 0 {
		b.WriteString(h.prompt.Text("seen", "{names}", strings.Join(r.AlreadyLoaded, ", ")) + "\n")
	}
	if r.Message != "" {
		b.WriteString(r.Message + "\n")
	}
	return b.String() + toJSON(r)
}

// maxUsageParameters bounds the parameters of a usage hint.
const maxUsageParameters = 12

// usageOf returns a usage hint: the tool's name and parameters. Optional parameters end in a
// question mark.
func usageOf(info *schema.ToolInfo) string {
	usage := naming.Safe(info.Name) + "("
	definition, err := foreign.Guard(info.ToJSONSchema)
	if err != nil || definition == nil || definition.Properties == nil {
		return usage + ")"
	}
	var required, optional []string
	for pair := definition.Properties.Oldest(); pair != nil; pair = pair.Next() {
		if name := naming.Safe(pair.Key); slices.Contains(definition.Required, pair.Key) {
			required = append(required, name)
		} else {
			optional = append(optional, name+"?")
		}
	}
	parameters := append(required, optional...)
	if len(parameters) > maxUsageParameters {
		parameters = append(parameters[:maxUsageParameters:maxUsageParameters], "…")
	}
	return usage + strings.Join(parameters, ", ") + ")"
}
