package conversations_test

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// What stays the same: the same input gives the same bytes, tools are only appended, and nothing is written to.

// busyTurns are searches, calls and mistakes, some in parallel.
func busyTurns() []turn {
	return []turn{
		callTools(call{Name: "tool_search", Arguments: `{"query":"select:list_stocks,get_wether"}`},
			call{Name: "tool_search", Arguments: `{"query":"send weather","max_results":3}`}),
		callTools(call{Name: "get_wether", Arguments: `{}`}, call{Name: "get_forecast", Arguments: `{"city":"Rome"}`}, call{Name: "zzz"}),
		searching(`{"query":["zzz","mal","wether"]}`),
		searching(`not { JSON`),
		callTool("clock", `{}`),
		say("done"),
	}
}

// runWith runs an agent with one middleware and returns its model.
func runWith[M adk.MessageType](t *testing.T, w way, middleware adk.TypedChatModelAgentMiddleware[M], static []tool.BaseTool,
	input []M, turns ...turn) *toolsearchtest.Model[M] {
	t.Helper()
	model, config := toolsearchtest.NewModel[M](turns...), with(middleware)
	config.Model, config.ToolsConfig.Tools = model, static
	_, err := drain(eventsOf(context.Background(), newAgent(t, config), w, input))
	require.NoError(t, err)
	return model
}

func userInput[M adk.MessageType]() []M {
	return []M{toolsearchtest.Encode[M](message{Role: toolsearchtest.System, Text: "Be brief.", Extra: map[string]any{"k": "v"}}),
		toolsearchtest.Encode[M](userSays("What is new?"))}
}

// randomID matches the random ID that Eino gives a message.
var randomID = regexp.MustCompile(`"_eino_msg_id":"[^"]*"`)

// asked returns every byte that a model got.
func asked[M adk.MessageType](t *testing.T, model *toolsearchtest.Model[M]) string {
	t.Helper()
	var b strings.Builder
	requests := model.Requests()
	for i, messages := range model.Inputs() {
		text := testtools.Must(json.Marshal([]any{messages, requests[i].Tools, requests[i].Deferred, requests[i].SearchTool}))(t)
		b.Write(append(text, '\n'))
	}
	return randomID.ReplaceAllString(b.String(), `"_eino_msg_id":""`)
}

// Nothing that the user hands over is written to. It is compared with a twin that was made the same
// way and not used.
func TestNothingIsMutated(t *testing.T) {
	inAllWays(t, testNothingIsMutated[chat], testNothingIsMutated[agentic])
}

func testNothingIsMutated[M adk.MessageType](t *testing.T, w way) {
	handOver := func(native bool) (toolsearch.Config, []tool.BaseTool, []M) {
		tools, static := testtools.NewsTools(), testtools.EchoTools("clock: The time")
		for _, tl := range append(slices.Clone(tools), static...) {
			testtools.MustInfo(t, tl).Extra = map[string]any{"owner": "me"}
		}
		return toolsearch.Config{DynamicTools: tools, UseModelToolSearch: native}, static, userInput[M]()
	}
	for _, native := range []bool{false, true} {
		config, static, input := handOver(native)
		middleware := testtools.Must(toolsearch.NewTyped[M](context.Background(), &config))(t)
		for range 2 { // a second run would find what the first run left behind
			runWith(t, w, middleware, static, input, busyTurns()...)
		}
		twinConfig, twinStatic, twinInput := handOver(native)
		assert.Equal(t, twinConfig, config, "native=%v: the Config", native)
		assert.Equal(t, twinStatic, static, "native=%v: the agent's tools", native)
		assert.Equal(t, twinInput, input, "native=%v: the input", native)
	}
}

// A catalog never changes. The Config may change after New, and an Indexer may write to its
// documents.
func TestCatalogNeverChanges(t *testing.T) {
	ctx := context.Background()
	run := func(change func(*toolsearch.Config)) string {
		config := toolsearch.Config{DynamicTools: testtools.NewsTools()}
		middleware := testtools.Must(toolsearch.NewTyped[chat](ctx, &config))(t)
		change(&config)
		return asked(t, runWith(t, way{}, middleware, testtools.EchoTools("clock: The time"), userInput[chat](), busyTurns()...))
	}
	want := run(func(*toolsearch.Config) {})
	got := run(func(config *toolsearch.Config) {
		clear(config.DynamicTools)
		*config = toolsearch.Config{
			UseModelToolSearch: true, MaxResults: 1, Limits: toolsearch.Limits{MaxResultsCap: 1}, ToolName: "other", Language: toolsearch.Chinese,
			Unloaded: toolsearch.UnloadedRefuse, Unknown: toolsearch.UnknownFail, Reminder: toolsearch.ReminderConfig{Disabled: true},
		}
	})
	assert.Equal(t, want, got, "what the model gets after the Config has changed")

	infos := dynamicInfos()
	catalog := testtools.Must(toolsearch.NewCatalogFromInfos(ctx, infos,
		&toolsearch.CatalogOptions{Index: func(ctx context.Context, docs []toolsearch.Document) (search.Searcher, error) {
			defer clear(docs)
			return toolsearch.Keyword(ctx, slices.Clone(docs))
		}}))(t)
	for _, info := range infos {
		info.Name, info.Desc = "changed", "changed"
	}
	clear(infos)
	for _, query := range []string{"mail", "select:send_mail"} {
		result := testtools.Must(catalog.Search(ctx, query, 1))(t, query)
		require.Equal(t, []string{"send_mail"}, testtools.MatchNames(result), query)
		assert.Equal(t, "Sends an e-mail", result.Matches[0].Info.Desc, query)
	}
}
