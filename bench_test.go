package toolsearch_test

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	oracle "github.com/cloudwego/eino/adk/middlewares/dynamictool/toolsearch"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

var benchQueries = []string{
	`{"query":"create issue"}`, `{"query":"slack send message"}`,
	`{"query":"+github list pull requests","max_results":10}`, `{"query":"read the content of a file"}`,
}

// benchCatalog has names and descriptions like those of real servers: few distinct words that recur.
func benchCatalog(size int) []*schema.ToolInfo {
	services, verbs := strings.Fields("github slack jira gmail notion stripe"), strings.Fields("create get list update delete search send")
	nouns := strings.Fields("issue message file pull_request channel user page event invoice branch comment")
	infos := make([]*schema.ToolInfo, size)
	for i := range infos {
		service, verb, noun := services[i%len(services)], verbs[i%len(verbs)], nouns[i%len(nouns)]
		infos[i] = &schema.ToolInfo{
			Name: fmt.Sprintf("mcp__%s%d__%s_%s_%d", service, i%97, verb, noun, i),
			Desc: fmt.Sprintf("%ss a %s of the given workspace, with an optional filter by owner. Read the content of code K%d.", verb, noun, i%4096),
		}
	}
	return infos
}

// BenchmarkState measures the work before a model call, late in a long conversation, and the same work of Eino's package.
// Machines are noisy, so compare the two by their ratio. The module workshop/benchmarks measures searches.
//
//	go test -run '^$' -bench State -benchmem .
func BenchmarkState(b *testing.B) {
	b.Run("message", benchmarkState[*schema.Message])
	b.Run("agentic", benchmarkState[*schema.AgenticMessage])
}

func benchmarkState[M adk.MessageType](b *testing.B) {
	ctx := context.Background()
	for _, size := range []int{1_000, 10_000} {
		infos := benchCatalog(size)
		tools := make([]tool.BaseTool, size)
		for i, info := range infos {
			tools[i] = &testtools.PlainTool{Of: info}
		}
		history := []M{toolsearchtest.Encode[M](toolsearchtest.Message{Role: toolsearchtest.User, Text: "hello"})}
		for i := range 500 {
			id := fmt.Sprintf("call_%d", i)
			var names []string
			for j := range 5 {
				names = append(names, infos[(i*5+j)%200].Name)
			}
			asks := []toolsearchtest.Call{{ID: id, Name: "tool_search", Arguments: `{"query":"x"}`}}
			text := `{"matches":["` + strings.Join(names, `","`) + `"]}`
			history = append(history,
				toolsearchtest.Encode[M](toolsearchtest.Message{Role: toolsearchtest.Assistant, Calls: asks}),
				toolsearchtest.Encode[M](toolsearchtest.Message{Role: toolsearchtest.Tool, CallID: id, ToolName: "tool_search", Text: text}))
		}
		ours, err := toolsearch.NewTyped[M](ctx, &toolsearch.Config{DynamicTools: tools})
		require.NoError(b, err)
		theirs, err := oracle.NewTyped[M](ctx, &oracle.Config{DynamicTools: tools})
		require.NoError(b, err)
		for i, middleware := range []adk.TypedChatModelAgentMiddleware[M]{ours, theirs} {
			b.Run(fmt.Sprintf("tools=%d/%s", size, []string{"ours", "eino"}[i]), func(b *testing.B) {
				// The previous model call has hidden the catalog and shown the loaded tools.
				ctx, runCtx, err := middleware.BeforeAgent(ctx, &adk.ChatModelAgentContext{})
				require.NoError(b, err)
				shown := []*schema.ToolInfo{testtools.MustInfo(b, runCtx.Tools[0])}
				state := &adk.TypedChatModelAgentState[M]{Messages: history, ToolInfos: shown}
				_, state, err = middleware.BeforeModelRewriteState(ctx, state, nil)
				require.NoError(b, err)
				b.ReportAllocs()
				for b.Loop() {
					_, _, err := middleware.BeforeModelRewriteState(ctx, state, nil)
					require.NoError(b, err)
				}
			})
		}
	}
}

// A search by the tool, from JSON to JSON, makes at most twenty allocations, whatever the size of
// the catalog.
func TestKeywordAllocatesLittle(t *testing.T) {
	build, _ := debug.ReadBuildInfo()
	if build != nil && slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector allocates too")
	}
	ctx := context.Background()
	catalog := testtools.Must(toolsearch.NewCatalogFromInfos(ctx, benchCatalog(2_000), nil))(t)
	searchTool := catalog.Tool()
	for _, arguments := range benchQueries {
		var failure error
		allocations := testing.AllocsPerRun(100, func() {
			if _, err := searchTool.InvokableRun(ctx, arguments); err != nil {
				failure = err
			}
		})
		assert.NoError(t, failure, arguments)
		assert.LessOrEqual(t, allocations, 20.0, arguments)
	}
}
