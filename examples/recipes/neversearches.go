package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/examples/show"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// A model that never searches.

// requests are what users say, and the tool that each request needs first.
var requests = []struct{ text, tool string }{
	{"Please give Ann her money back for the second payment.", "mcp__stripe__refund_charge"},
	{"Will I need an umbrella this afternoon in Hamburg?", "mcp__weather__hourly_rain"},
	{"Let the team know in #general that lunch is here.", "mcp__slack__send_message"},
	{"Can you set up a call with Joe and Mia on Friday at ten?", "mcp__calendar__create_event"},
	{"The checkout page crashes on Safari, please file a bug for the shop repository.", "mcp__github__create_issue"},
	{"Did the build of main pass?", "mcp__github__list_workflow_runs"},
	{"I'm away next week, please tell everyone who mails me.", "mcp__gmail__set_vacation_reply"},
	{"Why is the payment pod not coming up?", "mcp__kubernetes__describe_pod"},
	{"We need two more replicas of the web deployment.", "mcp__kubernetes__scale_deployment"},
	{"Which customers have not paid yet?", "mcp__stripe__list_invoices"},
	{"What did Mia write in the thread about the offsite?", "mcp__slack__search_messages"},
	{"Move SHOP-12 to done.", "mcp__jira__transition_ticket"},
	{"How much time did I spend on SHOP-12? Add two hours to it.", "mcp__jira__log_work"},
	{"Which columns does the orders table have?", "mcp__postgres__describe_table"},
	{"The report query takes a minute, find out why.", "mcp__postgres__explain_query"},
	{"Give Joe edit rights for the budget spreadsheet.", "mcp__drive__share_file"},
	{"Make a link so that the auditor can download the export until tomorrow.", "mcp__s3__presign_url"},
	{"Stop Ben's monthly plan at the end of the month.", "mcp__stripe__cancel_subscription"},
	{"What is the air like in Delhi today?", "mcp__weather__air_quality"},
	{"Show me where the crash happens in the code.", "mcp__sentry__get_stack_trace"},
	{"How happy were customers with our support in May?", "mcp__zendesk__satisfaction_report"},
	{"Write down the decision in the wiki, below the meeting notes.", "mcp__notion__append_to_page"},
	{"What will we sell this quarter?", "mcp__salesforce__pipeline_report"},
	{"Is there a room for eight people on Tuesday morning?", "mcp__calendar__book_room"},
}

// usual are the tools that most conversations of this workplace need.
var usual = []string{"slack:send_message", "gmail:send_email", "github:create_issue", "calendar:create_event", "jira:create_ticket"}

// neversearches measures what helps a model that does not search: how often the model sees the tool
// that a request needs anyway, and what that costs in every call. The requests were written for
// this program before it was run, and the searcher is BM25.
func neversearches(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, "%-22s %14s %16s\n", "set", "tool in sight", "tokens of tools")
	for _, row := range []struct {
		name   string
		config toolsearch.Config
	}{
		{"nothing", toolsearch.Config{}},
		{"AlwaysLoaded: usual", toolsearch.Config{AlwaysLoaded: usual}},
		{"Preselect: 1", toolsearch.Config{Preselect: 1}},
		{"Preselect: 3", toolsearch.Config{Preselect: 3}},
		{"Preselect: 5", toolsearch.Config{Preselect: 5}},
		{"Preselect: 10", toolsearch.Config{Preselect: 10}},
		{"both, 5", toolsearch.Config{AlwaysLoaded: usual, Preselect: 5}},
		{"all tools", toolsearch.Config{DeferFrom: 1000}},
	} {
		config := row.config
		config.DynamicTools, config.Index = services.Tools(), toolsearch.BM25
		seen, cost, err := measure(ctx, &config)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-22s %8d of %2d %16d\n", row.name, seen, len(requests), cost)
	}
	return nil
}

// measure returns for how many requests the model saw the tool, and the mean cost of a call's
// tools.
func measure(ctx context.Context, config *toolsearch.Config) (seen, cost int, err error) {
	middleware, err := toolsearch.New(ctx, config)
	if err != nil {
		return 0, 0, err
	}
	for _, request := range requests {
		model := toolsearchtest.NewModel[*schema.Message](toolsearchtest.Say("I cannot do that."))
		if err := show.Ask(ctx, io.Discard, model, request.text, middleware); err != nil {
			return 0, 0, err
		}
		shown := model.Requests()[0]
		if slices.Contains(shown.ToolNames(), request.tool) {
			seen++
		}
		cost += show.Tokens(shown.Tools...)
	}
	return seen, cost / len(requests), nil
}
