package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/examples/show"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// Users with different rights.

// userKey is the context key of the user's name. A server sets it when it checks the
// credentials. The name must not come from the conversation.
type userKey struct{}

// grants says which tools each user may have: whole services, and single tools of others.
var grants = map[string]func(context.Context, toolsearch.Document) bool{
	"Ann": toolsearch.FilterTools([]string{"stripe"}, []string{"zendesk:get_ticket"}),
	"Ben": toolsearch.FilterTools([]string{"weather"}, []string{"zendesk:*_ticket"}),
}

// allowed is the Filter. A user without a grant has no tools.
func allowed(ctx context.Context, doc toolsearch.Document) bool {
	user, _ := ctx.Value(userKey{}).(string)
	grant := grants[user]
	return grant != nil && grant(ctx, doc)
}

// The scripts are what a model does for each user.
var (
	scriptOfAnn = []toolsearchtest.Turn{
		toolsearchtest.CallTool("tool_search", `{"query":"refund charge","max_results":1}`),
		toolsearchtest.CallTool("mcp__stripe__refund_charge", `{"charge":"ch_17"}`),
		toolsearchtest.Say("The charge is refunded."),
	}
	scriptOfBen = []toolsearchtest.Turn{
		toolsearchtest.CallTool("mcp__stripe__refund_charge", `{"charge":"ch_18"}`),
		toolsearchtest.CallTool("tool_search", `{"query":"refund charge"}`),
		toolsearchtest.CallTool("tool_search", `{"query":"select:mcp__stripe__refund_charge"}`),
		toolsearchtest.CallTool("tool_search", `{"query":"escalate ticket","max_results":1}`),
		toolsearchtest.CallTool("mcp__zendesk__escalate_ticket", `{"ticket_id":7,"group":"billing","reason":"Wants ch_18 refunded"}`),
		toolsearchtest.Say("I may not refund, so I passed it on to billing."),
	}
)

// permissions gives each user a different part of one catalog, with Config.Filter.
//
// Watch the second conversation. Ben continues Ann's history, in which refund_charge was found
// and called. His model tries to search for it, to select it and to call it. For Ben the tool
// does not exist: it is not listed, found or suggested, and the call does not run. The last
// lines show the names in his model's list, which are all from his own services.
//
// The Filter does not change the text of the history. Your program decides who may see a
// history.
func permissions(ctx context.Context, out io.Writer) error {
	middleware, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: services.Tools(), Filter: allowed})
	if err != nil {
		return err
	}
	history, err := askAs(ctx, out, middleware, "Ann", "Refund charge ch_17.", nil, scriptOfAnn)
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	_, err = askAs(ctx, out, middleware, "Ben", "And ch_18, please.", history, scriptOfBen)
	return err
}

// askAs continues a user's conversation and returns the extended history.
func askAs(ctx context.Context, out io.Writer, middleware handler, user, question string,
	history []*schema.Message, script []toolsearchtest.Turn) ([]*schema.Message, error) {
	model := toolsearchtest.NewModel[*schema.Message](script...)
	agent, err := newAgent(ctx, "helper", model, []handler{middleware})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "%s: %s\n", user, question)
	history = append(history, schema.UserMessage(question))
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	answers, _, err := show.New(out, model).Run(runner.Run(context.WithValue(ctx, userKey{}, user), history))
	reminder := strings.Split(model.Requests()[0].Messages[0].Text, "\n")
	fmt.Fprintf(out, "the names %s's model was told of:\n  %s\n", user, strings.Join(reminder[2:len(reminder)-1], "\n  "))
	return append(history, answers...), err
}
