package figures

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
)

// Ideas that may make a conversation cheaper under a prompt cache, each measured by itself.

// An idea changes the way, the conversation, or the requests that are played.
type idea struct {
	config       func(*toolsearch.Config)
	conversation func(*cost.Conversation)
	requests     func([]cost.Request)
	notDispatch  bool // it would change nothing under ProtocolDispatch
}

var ideas = map[string]idea{
	"`Preselect: 5`":             {config: func(c *toolsearch.Config) { c.Preselect = 5 }, notDispatch: true},
	"`Preselect: 15`":            {config: func(c *toolsearch.Config) { c.Preselect = 15 }, notDispatch: true},
	"`Preselect: PreselectAuto`": {config: func(c *toolsearch.Config) { c.Preselect = toolsearch.PreselectAuto }, notDispatch: true},
	"one list of queries":        {conversation: func(c *cost.Conversation) { c.AtOnce = true }},
	"`MaxResults: 3`":            {config: func(c *toolsearch.Config) { c.MaxResults = 3 }},
	"`MaxResults: 10`":           {config: func(c *toolsearch.Config) { c.MaxResults = 10 }},
	"`MaxResults: 20`":           {config: func(c *toolsearch.Config) { c.MaxResults = 20 }},
	"loaded tools in the order of their names": {requests: func(requests []cost.Request) {
		for i := range requests {
			lines := bytes.SplitAfter(requests[i].Tools, []byte("\n"))
			slices.SortFunc(lines[:len(lines)-1], bytes.Compare)
			requests[i].Tools = bytes.Join(lines, nil)
		}
	}, notDispatch: true},
}

// ideaRows returns a row for each idea: how much more the conversation costs with it than without
// it, cold and warm, by provider and protocol.
func ideaRows(ctx context.Context, tools []*schema.ToolInfo) table {
	conversation := cost.Script(tools, shown)
	var words []string // the user's, who names all three tools
	for _, step := range conversation.Steps {
		if !slices.Contains(words, step.Query) {
			words = append(words, step.Query)
		}
	}
	conversation.Question = strings.Join(words, ", ")
	rows := table{}
	for _, protocol := range []toolsearch.Protocol{toolsearch.ProtocolToolSearch, toolsearch.ProtocolDispatch} {
		for _, name := range []string{"anthropic", "openai"} {
			p, way := providerNamed(name), cost.Way{Protocol: protocol}
			without := idea{}.prices(ctx, tools, p, way, conversation)
			for label, idea := range ideas {
				cell := notMeasured
				if !idea.notDispatch || protocol != toolsearch.ProtocolDispatch {
					percent := over(idea.prices(ctx, tools, p, way, conversation), without)
					cell = fmt.Sprintf("%+d / %+d %%", percent[1:]...)
				}
				rows[label] = append(rows[label], cell)
			}
		}
	}
	return rows
}

// prices plays a conversation in a way.
func (i idea) prices(ctx context.Context, tools []*schema.ToolInfo, p *cost.Provider, way cost.Way, c cost.Conversation) [3]float64 {
	config := way.Config(len(tools))
	if i.config != nil {
		i.config(&config)
	}
	if i.conversation != nil {
		i.conversation(&c)
	}
	played := must(cost.Replay(ctx, tools, config, p.Wire, c))
	if i.requests != nil {
		i.requests(played.Earlier)
		i.requests(played.Requests)
	}
	return played.Prices(p)
}
