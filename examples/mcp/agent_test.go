package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// request is a user's request, the model's search for it, and the right tool.
type request struct {
	question, query, want string
}

var requests = []request{
	{"Open a pull request for my branch.", "pull request create", "create_pull_request"},
	{"Rerun the workflow that failed.", "rerun workflow", "actions_run_trigger"},
	{"Who am I?", "me authenticated user", "get_me"},
	{"Merge number 12.", "merge pull request", "merge_pull_request"},
	{"What does go.mod say?", "read file contents", "get_file_contents"},
	{"Star cloudwego/eino.", "star repository", "star_repository"},
	{"Is there anything new for me?", "list unread notifications", "list_notifications"},
	{"Save this as a gist.", "create gist", "create_gist"},
	{"I have read that one, take it away.", "dismiss notification", "dismiss_notification"},
	{"Who still calls ioutil.ReadAll?", "search code", "search_code"},
	{"Report this bug.", "create issue", "issue_write"},
	{"Why is the build red?", "failed job logs", "get_job_logs"},
	{"Looks good, approve it.", "pull request review approve", "pull_request_review_write"},
	{"Did we leak a password?", "secret scanning alerts", "list_secret_scanning_alerts"},
}

func TestFindsTools(t *testing.T) {
	tools := serverTools(t)
	t.Run("Message", func(t *testing.T) { findsTools[*schema.Message](t, tools) })
	t.Run("AgenticMessage", func(t *testing.T) { findsTools[*schema.AgenticMessage](t, tools) })
	t.Run("main", func(t *testing.T) { mainShowsRun(t, tools) })
}

func findsTools[M adk.MessageType](t *testing.T, tools []tool.BaseTool) {
	search, err := toolsearch.NewTyped[M](t.Context(), &toolsearch.Config{DynamicTools: tools})
	require.NoError(t, err)
	names := namesOf(t, tools)
	require.Len(t, names, 82)
	for _, r := range requests {
		t.Run(r.want, func(t *testing.T) { findsTool(t, search, names, r) })
	}
}

func namesOf(t *testing.T, tools []tool.BaseTool) []string {
	t.Helper()
	names := make([]string, len(tools))
	for i, tl := range tools {
		info, err := tl.Info(t.Context())
		require.NoError(t, err)
		names[i] = info.Name
	}
	return names
}

// findsTool lets a model search once, and checks what it was shown before and after.
func findsTool[M adk.MessageType](t *testing.T, search adk.TypedChatModelAgentMiddleware[M], names []string, r request) {
	arguments, err := json.Marshal(map[string]string{"query": r.query})
	require.NoError(t, err)
	shown := converse(t, search, r.question,
		toolsearchtest.CallTool(toolsearch.DefaultToolName, string(arguments)),
		toolsearchtest.Say("Found it."),
	)
	before, after := shown[0], shown[1]

	assert.Equal(t, []string{toolsearch.DefaultToolName}, before.ToolNames(), "before the search")
	for _, request := range shown {
		assert.Empty(t, without(names, listed(t, request)), "not in the reminder")
	}

	found := matches(t, after)
	// A search returns five tools by default.
	assert.LessOrEqual(t, len(found), 5, "%q found %q", r.query, found)
	assert.Contains(t, found, r.want, "found by %q", r.query)
	assert.Equal(t, append(before.ToolNames(), found...), after.ToolNames(), "after the search")
}

// converse runs an agent whose model plays turns, and returns what the model was shown in each
// turn.
func converse[M adk.MessageType](t *testing.T, search adk.TypedChatModelAgentMiddleware[M], question string, turns ...toolsearchtest.Turn) []toolsearchtest.Request {
	t.Helper()
	return converseWith(t, []adk.TypedChatModelAgentMiddleware[M]{search}, question, turns...)
}

func converseWith[M adk.MessageType](t *testing.T, handlers []adk.TypedChatModelAgentMiddleware[M], question string, turns ...toolsearchtest.Turn) []toolsearchtest.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	model := toolsearchtest.NewModel[M](turns...)
	agent, err := adk.NewTypedChatModelAgent(ctx, &adk.TypedChatModelAgentConfig[M]{
		Name: "assistant", Description: "Helps with GitHub", Model: model,
		Handlers: handlers,
	})
	require.NoError(t, err)
	events := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent}).Query(ctx, question)
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		require.NoError(t, event.Err)
	}
	require.Len(t, model.Requests(), len(turns), "calls of the model")
	return model.Requests()
}

// listed returns the lines of the reminder.
func listed(t *testing.T, request toolsearchtest.Request) []string {
	t.Helper()
	for _, message := range request.Messages {
		if message.Role == toolsearchtest.User && strings.HasPrefix(message.Text, "<available-deferred-tools>") {
			return strings.Split(message.Text, "\n")
		}
	}
	require.FailNow(t, "the model got no <available-deferred-tools>")
	return nil
}

// matches returns the names in the search result that the model was shown.
func matches(t *testing.T, request toolsearchtest.Request) []string {
	t.Helper()
	for _, message := range request.Messages {
		if message.Role != toolsearchtest.Tool {
			continue
		}
		var result struct{ Matches []string }
		require.NoError(t, json.Unmarshal([]byte(message.Text), &result), "search result %q", message.Text)
		return result.Matches
	}
	require.FailNow(t, "the model got no search result")
	return nil
}

// without returns the names that are not in list.
func without(names, list []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(list, name) })
}

// mainShowsRun checks the program's output after it connected.
func mainShowsRun(t *testing.T, tools []tool.BaseTool) {
	var out strings.Builder
	require.NoError(t, ask(t.Context(), &out, func(context.Context) ([]tool.BaseTool, error) { return tools, nil }, "Rerun it."))
	// The adapter writes the fields of a result in any order.
	require.Contains(t, out.String(), `"isError":true`)
	rest := out.String()
	for _, want := range []string{
		"Model call 1:", "sees  tool_search\n",
		"Model call 2:", "sees  tool_search, ", "actions_run_trigger", "127.0.0.1", // the run continues
		"Model call 3:", "Assistant: ", "showing all 82 tools",
	} {
		require.Contains(t, rest, want, "in that place of\n%s", out.String())
		_, rest, _ = strings.Cut(rest, want)
	}
}
