// Package testtools holds what tests of several packages share: tools to search among, Eino's own search
// to compare with, and clocks for slow machines.
package testtools

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	oracle "github.com/cloudwego/eino/adk/middlewares/dynamictool/toolsearch"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/sources"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Oracle is Eino's own tool_search.
type Oracle struct{ tool.InvokableTool }

// InfoOnly is a definition of a tool that cannot be called.
type InfoOnly struct{ Of *schema.ToolInfo }

// Info implements tool.BaseTool.
func (t InfoOnly) Info(context.Context) (*schema.ToolInfo, error) { return t.Of, nil }

// NewOracle returns Eino's tool_search over the tools.
func NewOracle(ctx context.Context, infos []*schema.ToolInfo) (Oracle, error) {
	tools := make([]tool.BaseTool, len(infos))
	for i, info := range infos {
		tools[i] = InfoOnly{info}
	}
	middleware, err := oracle.New(ctx, &oracle.Config{DynamicTools: tools})
	if err != nil {
		return Oracle{}, err
	}
	_, runCtx, err := middleware.BeforeAgent(ctx, &adk.ChatModelAgentContext{})
	if err != nil {
		return Oracle{}, err
	}
	return Oracle{runCtx.Tools[0].(tool.InvokableTool)}, nil
}

// SearchArguments are those of a call of tool_search.
func SearchArguments(query string, limit int) string {
	text, _ := json.Marshal(map[string]any{"query": query, "max_results": limit}) // a text and a number
	return string(text)
}

// Search returns the names that the oracle, or any other tool_search, finds, in its order.
func (o Oracle) Search(ctx context.Context, query string, limit int) ([]string, error) {
	text, err := o.InvokableRun(ctx, SearchArguments(query, limit))
	if err != nil {
		return nil, err
	}
	var answer struct{ Matches []string }
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return answer.Matches, nil
}

// MatchNames returns the names of the tools found, the best first.
func MatchNames(result *toolsearch.Result) []string {
	var names []string
	for _, m := range result.Matches {
		names = append(names, m.Info.Name)
	}
	return names
}

// Pick returns one of a list at random.
func Pick[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }

// PlainTool is an invokable tool that answers with its name.
type PlainTool struct{ Of *schema.ToolInfo }

// Info implements tool.BaseTool.
func (p *PlainTool) Info(context.Context) (*schema.ToolInfo, error) { return p.Of, nil }

// InvokableRun implements tool.InvokableTool.
func (p *PlainTool) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	return p.Of.Name, nil
}

// NewsTools is a small catalog whose tools answer with their own name and arguments.
func NewsTools() []tool.BaseTool {
	return EchoTools(
		"get_weather: Current weather of a city",
		"get_forecast: Weather of the coming days",
		"send_mail: Sends an e-mail",
		"list_stocks: Prices of shares",
		"mcp__slack__send_message: Posts into a channel",
	)
}

// EchoTools makes a tool of each "name: description".
func EchoTools(specs ...string) []tool.BaseTool {
	tools := make([]tool.BaseTool, len(specs))
	for i, spec := range specs {
		name, text, _ := strings.Cut(spec, ": ")
		tools[i] = &EchoTool{PlainTool{Of: &schema.ToolInfo{Name: name, Desc: text, ParamsOneOf: schema.NewParamsOneOfByParams(
			map[string]*schema.ParameterInfo{"city": {Type: schema.String, Desc: "Where"}})}}}
	}
	return tools
}

// EchoTool is an invokable tool that answers with its name and its arguments.
type EchoTool struct{ PlainTool }

// InvokableRun implements tool.InvokableTool.
func (e *EchoTool) InvokableRun(_ context.Context, arguments string, _ ...tool.Option) (string, error) {
	return fmt.Sprintf("%s ran with %s", e.Of.Name, arguments), nil
}

// ConfirmTool is an invokable tool that interrupts the run at its call, and runs at the resume.
type ConfirmTool struct{ PlainTool }

// InvokableRun implements tool.InvokableTool.
func (*ConfirmTool) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	if was, _, _ := tool.GetInterruptState[any](ctx); !was {
		return "", tool.Interrupt(ctx, "really?")
	}
	return "confirmed", nil
}

// MemoryStore is a store of checkpoints.
type MemoryStore struct{ sync.Map }

// Get implements adk.CheckPointStore.
func (s *MemoryStore) Get(_ context.Context, id string) ([]byte, bool, error) {
	value, _ := s.Load(id)
	data, ok := value.([]byte)
	return data, ok, nil
}

// Set implements adk.CheckPointStore.
func (s *MemoryStore) Set(_ context.Context, id string, data []byte) error {
	s.Store(id, data)
	return nil
}

// Rounds returns how often a test of random cases repeats: less often in -short, which the
// race detector runs with, since the slow tests here have no goroutines.
func Rounds(long, short int) int {
	if testing.Short() {
		return short
	}
	return long
}

// SkipWithoutGoroutines skips, under -short, a test that takes seconds and in which no goroutine of the
// library takes part: the race detector runs with -short and would see nothing.
func SkipWithoutGoroutines(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds, and no goroutine of the library takes part")
	}
}

// Canned is a Searcher that always answers the same, whatever the context.
type Canned struct {
	Hits    []search.Hit
	Partial error
	Err     error
	During  func() // called by Search; may be nil
}

// Search implements search.Searcher.
func (c Canned) Search(context.Context, search.Query) (search.Hits, error) {
	if c.During != nil {
		c.During()
	}
	return search.Hits{Hits: c.Hits, Partial: c.Partial}, c.Err
}

// Index is a search.Indexer of the Searcher itself.
func (c Canned) Index(context.Context, []search.Document) (search.Searcher, error) {
	return c, nil
}

// MustInfo returns a tool's definition.
func MustInfo(t testing.TB, tl tool.BaseTool) *schema.ToolInfo {
	t.Helper()
	info, err := tl.Info(context.Background())
	require.NoError(t, err)
	return info
}

// Must returns the value of a step that must not fail, as in Must(os.Getwd())(t).
func Must[T any](value T, err error) func(t testing.TB, msgAndArgs ...any) T {
	return func(t testing.TB, msgAndArgs ...any) T {
		t.Helper()
		require.NoError(t, err, msgAndArgs...)
		return value
	}
}

// ReadFile returns the text of a file.
func ReadFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// Golden compares a text with a file, which update rewrites.
func Golden(t testing.TB, path, got string, update bool) {
	t.Helper()
	if update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
	}
	assert.Equal(t, ReadFile(t, path), got, "%s; -update rewrites it", path)
}

// RunPatiently is the TestMain of a package whose tests wait for Sources as long as it takes. On a
// busy machine, even a Source that answers at once may be late, and only the tests of late Sources are
// about that.
func RunPatiently(m *testing.M) {
	sources.Grace = time.Minute
	os.Exit(m.Run())
}
