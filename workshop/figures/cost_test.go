package figures

import (
	"context"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/examples/show"
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
