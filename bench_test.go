package toolsearch_test

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
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

var benchQueries = []string{`{"query":"create issue"}`, `{"query":"slack send message"}`,
	`{"query":"+github list pull requests","max_results":10}`, `{"query":"read the content of a file"}`}

func BenchmarkKeyword(b *testing.B) {
	for _, size := range benchSizes() {
		infos := testtools.BenchCatalog(size)
		catalog, err := toolsearch.NewCatalogFromInfos(context.Background(), infos, nil)
		if err != nil {
			b.Fatal(err)
		}
		run := func(t tool.InvokableTool) func(b *testing.B) {
			return func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if _, err := t.InvokableRun(context.Background(), benchQueries[i%len(benchQueries)]); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
		b.Run(fmt.Sprintf("tools=%d/ours", size), run(catalog.Tool()))
		b.Run(fmt.Sprintf("tools=%d/eino", size), run(testtools.NewOracle(b, infos)))
	}
}

// BenchmarkKeywordWorstQueries measures the queries that an index helps least: single letters,
// which nearly every tool contains, and pieces that span two parts of a name.
func BenchmarkKeywordWorstQueries(b *testing.B) {
	catalog, err := toolsearch.NewCatalogFromInfos(context.Background(), testtools.BenchCatalog(10_000), nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, query := range []string{"e", "a b c d e f g h", "_", "e_issue", "t_1"} {
		b.Run(query, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := catalog.Search(context.Background(), query, 5); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBuild measures the time to compile a catalog. It is compared with a single query of
// Eino's scorer, which does that work for every query.
func BenchmarkBuild(b *testing.B) {
	for _, size := range benchSizes() {
		infos := testtools.BenchCatalog(size)
		b.Run(fmt.Sprintf("tools=%d/ours", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := toolsearch.NewCatalogFromInfos(context.Background(), infos, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("tools=%d/eino-query", size), func(b *testing.B) {
			theirs := testtools.NewOracle(b, infos)
			for b.Loop() {
				if _, err := theirs.InvokableRun(context.Background(), benchQueries[0]); err != nil {
					b.Fatal(err)
				}
			}
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
		const results = 500
		history := []M{toolsearchtest.Encode[M](toolsearchtest.Message{Role: toolsearchtest.User, Text: "hello"})}
		for i := range results {
			id := fmt.Sprintf("call_%d", i)
			text := `{"matches":[`
			for j := range 5 {
				if j > 0 {
					text += ","
				}
				text += `"` + infos[(i*5+j)%200].Name + `"`
			}
			history = append(history,
				toolsearchtest.Encode[M](toolsearchtest.Message{Role: toolsearchtest.Assistant, Calls: []toolsearchtest.Call{{ID: id, Name: "tool_search", Arguments: `{"query":"x"}`}}}),
				toolsearchtest.Encode[M](toolsearchtest.Message{Role: toolsearchtest.Tool, CallID: id, ToolName: "tool_search", Text: text + "]}"}))
		}
		ours, err := toolsearch.NewTyped[M](ctx, &toolsearch.Config{DynamicTools: tools})
		if err != nil {
			b.Fatal(err)
		}
		theirs, err := oracle.NewTyped[M](ctx, &oracle.Config{DynamicTools: tools})
		if err != nil {
			b.Fatal(err)
		}
		run := func(middleware adk.TypedChatModelAgentMiddleware[M]) func(b *testing.B) {
			return func(b *testing.B) {
				// The previous model call has hidden the catalog and shown the loaded tools.
				_, runCtx, err := middleware.BeforeAgent(ctx, &adk.ChatModelAgentContext{})
				if err != nil {
					b.Fatal(err)
				}
				state := &adk.TypedChatModelAgentState[M]{Messages: history, ToolInfos: []*schema.ToolInfo{testtools.MustInfo(b, runCtx.Tools[0])}}
				if _, state, err = middleware.BeforeModelRewriteState(ctx, state, nil); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := middleware.BeforeModelRewriteState(ctx, state, nil); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
		b.Run(fmt.Sprintf("tools=%d/ours", size), run(ours))
		b.Run(fmt.Sprintf("tools=%d/eino", size), run(theirs))
	}
}

func BenchmarkBM25(b *testing.B) {
	for _, size := range benchSizes() {
		infos := testtools.BenchCatalog(size)
		b.Run(fmt.Sprintf("tools=%d/build", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := toolsearch.NewCatalogFromInfos(context.Background(), infos, &toolsearch.CatalogOptions{Index: toolsearch.BM25}); err != nil {
					b.Fatal(err)
				}
			}
		})
		catalog, err := toolsearch.NewCatalogFromInfos(context.Background(), infos, &toolsearch.CatalogOptions{Index: toolsearch.BM25})
		if err != nil {
			b.Fatal(err)
		}
		search := catalog.Tool()
		b.Run(fmt.Sprintf("tools=%d/query", size), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := search.InvokableRun(context.Background(), benchQueries[i%len(benchQueries)]); err != nil {
					b.Fatal(err)
				}
			}
		})
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
