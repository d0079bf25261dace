package figures

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/examples/show"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
	"github.com/eino-toolsearch/toolsearch/internal/cost/agents"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// A spending is what a protocol spends on the quickstart's 166 tools, in tokens of four bytes.
type spending struct {
	meta   int // definitions of the meta-tools, in every call
	list   int // the reminder's list of names, in every call
	found  int // results of the search, and of loading if the protocol has a tool for it
	loaded int // definitions of the loaded tools when the tool is called
	turns  int // model calls until the tool has run
}

const question = "Open an issue: checkout fails."

const issueArguments = `{"owner":"acme","repo":"checkout","title":"Checkout fails"}`

// searching and creating are the model's turns under most protocols: it searches for the tool that opens a GitHub
// issue and calls it.
var (
	searching = toolsearchtest.CallTool("tool_search", `{"query":"create github issue"}`)
	creating  = toolsearchtest.CallTool("mcp__github__create_issue", issueArguments)
)

// conversations has the model's turns under each protocol.
var conversations = map[toolsearch.Protocol][]toolsearchtest.Turn{
	toolsearch.ProtocolToolSearch: {searching, creating},
	toolsearch.ProtocolAnchored:   {searching, creating},
	toolsearch.ProtocolRegexp:     {toolsearchtest.CallTool("tool_search", `{"regex_pattern":"github.*issue"}`), creating},
	toolsearch.ProtocolSearchAdd: {toolsearchtest.CallTool("search_tools", `{"query":"github.*issue"}`),
		toolsearchtest.CallTool("add_tool", `{"tool_names":["mcp__github__create_issue"]}`), creating},
	toolsearch.ProtocolRanked: {searching, creating},
	toolsearch.ProtocolDispatch: {searching,
		toolsearchtest.CallTool("call_tool", `{"name":"mcp__github__create_issue","arguments":`+issueArguments+`}`)},
}

// costOf plays the conversation of the config's protocol.
func costOf(ctx context.Context, config toolsearch.Config) (c spending) {
	config.DynamicTools = services.Tools()
	middleware := must(toolsearch.New(ctx, &config))
	turns := conversations[config.Protocol]
	model := toolsearchtest.NewModel[*schema.Message](append(turns[:len(turns):len(turns)], toolsearchtest.Say("Done."))...)
	must(0, agents.Run(ctx, &adk.ChatModelAgentConfig{
		Name: "helper", Description: "Helps", Model: model, Handlers: []adk.ChatModelAgentMiddleware{middleware},
	}, []adk.Message{schema.UserMessage(question)}))
	requests := model.Requests()
	c.turns = len(turns)
	before := requests[len(turns)-1] // the last turn calls the tool; before is what the model saw then
	for _, info := range before.Tools {
		if strings.HasPrefix(info.Name, "mcp__") { // a tool of the catalog
			c.loaded += show.Tokens(info)
		} else {
			c.meta += show.Tokens(info)
		}
	}
	for _, m := range before.Messages {
		switch m.Role {
		case toolsearchtest.Tool:
			c.found += len(m.Text) / 4
		case toolsearchtest.User:
			if m.Text != question {
				c.list += len(m.Text) / 4
			}
		}
	}
	if config.Protocol == toolsearch.ProtocolAnchored { // its transport moves them into the conversation
		c.found, c.loaded = c.found+c.loaded, 0
	}
	return c
}

// What conversations over the quickstart's 166 tools cost compared with showing every tool,
// with the prices and the prompt cache of one provider.

// pricedBy is the provider whose prices the pages use.
const pricedBy = "anthropic"

// over returns by how many percent prices are higher than others, each without a cache, cold and warm.
func over(prices, others [3]float64) (percent [3]any) {
	for i := range prices {
		percent[i] = int(100*prices[i]/others[i]+0.5) - 100
	}
	return percent
}

// shown is the conversation of the tables that have only one.
var shown = cost.Shape{History: 20_000, Calls: 10, Loads: 3}

func providerNamed(name string) *cost.Provider {
	p, ok := cost.Named(cost.Providers(), name)
	if !ok {
		panic("no prices of " + name)
	}
	return p
}

// bills returns the rows of the table of bills, with a column for each of four protocols.
func bills(ctx context.Context, tools []*schema.ToolInfo) table {
	p, rows := providerNamed(pricedBy), table{}
	for _, shape := range cost.Shapes {
		conversation := cost.Script(tools, shape)
		all := idea{}.prices(ctx, tools, p, cost.Way{All: true}, conversation)
		for _, protocol := range []toolsearch.Protocol{toolsearch.ProtocolToolSearch, toolsearch.ProtocolDispatch,
			toolsearch.ProtocolAnchored, toolsearch.ProtocolNativeReferences} {
			percent := over(idea{}.prices(ctx, tools, p, cost.Way{Protocol: protocol}, conversation), all)
			rows[shape.String()] = append(rows[shape.String()], fmt.Sprintf("%+d / %+d / %+d %%", percent[:]...))
		}
	}
	return rows
}

// advice returns the rows of the table of recommendations: for each provider the way to take, and
// the way that every model and adapter can take.
func advice(ctx context.Context, tools []*schema.ToolInfo) table {
	rows := table{}
	for _, p := range cost.Providers() {
		r := must(cost.Compare(ctx, tools, &p, []cost.Shape{shown}))
		change := func(way cost.Way) string {
			return fmt.Sprintf("`%v`, %+.0f %%", way, 100*(r.Price(way)/r.Price(cost.Way{All: true})-1))
		}
		take := r.Take()
		rows["`"+p.Name+"`"] = cells(p.Model, change(cost.Way{Protocol: toolsearch.ProtocolToolSearch}), change(take[0]), change(take[len(take)-1]))
	}
	return rows
}

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
