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

// Most benchmarks measure the same work of Eino's package in the same run. Machines are noisy, so
// compare the two by their ratio.
//
//	go test -run '^$' -bench . -benchmem

// benchSizes returns the sizes of catalogs. With -short, no index takes a second to build.
func benchSizes() []int {
	sizes := []int{100, 1_000, 10_000, 100_000}
	return sizes[:testtools.Rounds(4, 3)]
}

var benchQueries = []string{
	`{"query":"create issue"}`, `{"query":"slack send message"}`,
	`{"query":"+github list pull requests","max_results":10}`, `{"query":"read the content of a file"}`,
}

func measure(b *testing.B, work func(i int) error) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := work(i); err != nil {
			b.Fatal(err)
		}
	}
}

// asking is the work of asking a tool all queries in turn.
func asking(t tool.InvokableTool) func(i int) error {
	return func(i int) error {
		_, err := t.InvokableRun(context.Background(), benchQueries[i%len(benchQueries)])
		return err
	}
}

func BenchmarkKeyword(b *testing.B) {
	for _, size := range benchSizes() {
		infos := testtools.BenchCatalog(size)
		catalog, err := toolsearch.NewCatalogFromInfos(context.Background(), infos, nil)
		require.NoError(b, err)
		b.Run(fmt.Sprintf("tools=%d/ours", size), func(b *testing.B) { measure(b, asking(catalog.Tool())) })
		b.Run(fmt.Sprintf("tools=%d/eino", size), func(b *testing.B) { measure(b, asking(testtools.NewOracle(b, infos))) })
	}
}

// BenchmarkKeywordWorstQueries measures the queries that an index helps least: single letters,
// which nearly every tool contains, and pieces that span two parts of a name.
func BenchmarkKeywordWorstQueries(b *testing.B) {
	catalog, err := toolsearch.NewCatalogFromInfos(context.Background(), testtools.BenchCatalog(10_000), nil)
	require.NoError(b, err)
	for _, query := range []string{"e", "a b c d e f g h", "_", "e_issue", "t_1"} {
		b.Run(query, func(b *testing.B) {
			measure(b, func(int) error {
				_, err := catalog.Search(context.Background(), query, 5)
				return err
			})
		})
	}
}

// BenchmarkBuild measures the time to compile a catalog. It is compared with a single query of
// Eino's scorer, which does that work for every query.
func BenchmarkBuild(b *testing.B) {
	for _, size := range benchSizes() {
		infos := testtools.BenchCatalog(size)
		b.Run(fmt.Sprintf("tools=%d/ours", size), func(b *testing.B) {
			measure(b, func(int) error {
				_, err := toolsearch.NewCatalogFromInfos(context.Background(), infos, nil)
				return err
			})
		})
		b.Run(fmt.Sprintf("tools=%d/eino-query", size), func(b *testing.B) {
			theirs := testtools.NewOracle(b, infos)
			measure(b, func(int) error {
				_, err := theirs.InvokableRun(context.Background(), benchQueries[0])
				return err
			})
		})
	}
}

// BenchmarkState measures the work before a model call, late in a long conversation.
func BenchmarkState(b *testing.B) {
	b.Run("message", benchmarkState[*schema.Message])
	b.Run("agentic", benchmarkState[*schema.AgenticMessage])
}

func benchmarkState[M adk.MessageType](b *testing.B) {
	ctx := context.Background()
	for _, size := range []int{1_000, 10_000} {
		infos := testtools.BenchCatalog(size)
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
				measure(b, func(int) error {
					_, _, err := middleware.BeforeModelRewriteState(ctx, state, nil)
					return err
				})
			})
		}
	}
}

func BenchmarkBM25(b *testing.B) {
	for _, size := range benchSizes() {
		infos := testtools.BenchCatalog(size)
		build := func() (*toolsearch.Catalog, error) {
			return toolsearch.NewCatalogFromInfos(context.Background(), infos, &toolsearch.CatalogOptions{Index: toolsearch.BM25})
		}
		b.Run(fmt.Sprintf("tools=%d/build", size), func(b *testing.B) {
			measure(b, func(int) error {
				_, err := build()
				return err
			})
		})
		catalog, err := build()
		require.NoError(b, err)
		b.Run(fmt.Sprintf("tools=%d/query", size), func(b *testing.B) { measure(b, asking(catalog.Tool())) })
	}
}

// A search by the tool, from JSON to JSON, makes at most twenty allocations, whatever the size of
// the catalog.
func TestKeywordAllocatesLittle(t *testing.T) {
	if raceDetector() {
		t.Skip("the race detector allocates too")
	}
	ctx := context.Background()
	catalog, err := toolsearch.NewCatalogFromInfos(ctx, testtools.BenchCatalog(2_000), nil)
	require.NoError(t, err)
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

// raceDetector reports whether the test was built with -race.
func raceDetector() bool {
	build, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
