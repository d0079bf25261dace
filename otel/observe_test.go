package otel_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/otel"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// These tests report single events.

// observing returns an SDK, and what reports events to it.
func observing(options ...otel.Option) (*telemetry, func(context.Context, toolsearch.Event)) {
	tel := newTelemetry()
	return tel, otel.Observe(tel.options(options...)...)
}

// A span lasts as long as the search, and ends when its event arrives.
func TestSpanTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel, observe := observing()
		observe(t.Context(), &toolsearch.SearchEvent{Tool: "tool_search", Duration: 3 * time.Second})
		spans := tel.spans.GetSpans()
		require.Len(t, spans, 1)
		assert.Equal(t, 3*time.Second, spans[0].EndTime.Sub(spans[0].StartTime))
		assert.True(t, spans[0].EndTime.Equal(time.Now()), "the bubble's clock stands still: %v", spans[0].EndTime)
	})
}

// selfWrapping is an error without an innermost error.
type selfWrapping struct{}

func (e *selfWrapping) Error() string { return "itself" }
func (e *selfWrapping) Unwrap() error { return e }

type timeout struct{}

func (timeout) Error() string { return "late" }

func TestErrorTypes(t *testing.T) {
	for _, tt := range []struct {
		err         error
		group, want string
	}{
		{context.DeadlineExceeded, "", "timeout"},
		{fmt.Errorf("search: %w", context.DeadlineExceeded), "", "timeout"},
		{fmt.Errorf("search: %w", context.Canceled), "", "canceled"},
		{fmt.Errorf("search: %w", fmt.Errorf("engine: %w", timeout{})), "", "otel_test.timeout"},
		{errors.Join(timeout{}, errBroken), "", "otel_test.timeout"},
		{&selfWrapping{}, "", "*otel_test.selfWrapping"},
		{nil, "", "_OTHER"},
		{errBroken, "github", "*errors.errorString toolsearch.group=github"}, // unlike a failure of the Config's own Source
	} {
		tel, observe := observing()
		observe(t.Context(), &toolsearch.FailureEvent{Part: "Source", Group: tt.group, Err: tt.err})
		assert.Contains(t, drawMetrics(t, tel), "  1: error.type="+tt.want+" toolsearch.part=Source\n", "%v", tt.err)
	}
}

// No text of a model, a server or a searcher can break a span.
func TestHostileContent(t *testing.T) {
	tel, observe := observing(otel.WithContent())
	observe(t.Context(), &toolsearch.SearchEvent{
		Tool: "tool_search", Query: "mail\xff", Matches: []string{"a\"\xff", "b", "c", "d"},
		Scores: []float64{math.NaN(), math.Inf(1), -1}, Err: errors.New("\xff"),
	})
	assert.Contains(t, drawSpans(tel.spans.GetSpans()), ""+
		". gen_ai.retrieval.query.text = mail\uFFFD\n"+
		"  . gen_ai.retrieval.documents = [{\"id\":\"a\\\"\\ufffd\"},{\"id\":\"b\"},{\"id\":\"c\",\"score\":-1},{\"id\":\"d\"}]\n")
}

// A server may have any number of tools. Metrics tell 1,000 names apart.
func TestToolNamesAreBounded(t *testing.T) {
	tel, observe := observing(otel.WithToolNames())
	for i := range 1500 {
		observe(t.Context(), &toolsearch.LoadEvent{Loaded: []string{fmt.Sprintf("tool_%d", i)}})
	}
	observe(t.Context(), &toolsearch.LoadEvent{Loaded: []string{"tool_7"}})
	list := tel.instruments(t)
	require.Len(t, list, 1)
	values := map[string]int64{}
	for _, p := range list[0].Data.(metricdata.Sum[int64]).DataPoints {
		name, _ := p.Attributes.Value("gen_ai.tool.name")
		values[name.AsString()] = p.Value
	}
	assert.Len(t, values, 1001)
	assert.Equal(t, int64(500), values["_OTHER"])
	assert.Equal(t, int64(2), values["tool_7"])
}

// An agent that runs without a Runner takes its callbacks from the context. A selection by name
// ranks nothing, so the place comes from the search before it.
func TestRankWithoutARunner(t *testing.T) {
	tel, observe := observing()
	middleware := testtools.Must(toolsearch.New(t.Context(), &toolsearch.Config{DynamicTools: testtools.NewsTools(), OnEvent: observe}))(t)
	agent := testtools.Must(adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "reporter", Description: "Tells the news", Handlers: []adk.ChatModelAgentMiddleware{middleware},
		Model: toolsearchtest.NewModel[*schema.Message](searching("mail weather"), searching("select:send_mail"),
			toolsearchtest.CallTool("send_mail", "{}"), toolsearchtest.Say("done")),
	}))(t)
	ctx := callbacks.InitCallbacks(t.Context(), nil, otel.Handler(tel.options()...))
	events := agent.Run(ctx, &adk.AgentInput{Messages: []*schema.Message{schema.UserMessage("What is new?")}})
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		require.NoError(t, event.Err)
	}
	assert.Contains(t, drawMetrics(t, tel),
		"toolsearch.call.rank: histogram in {rank}. Where the search had the tool that was then called.\n  1, sum 2,")
}

// An agent within a run shares what the run's searches found, and another run does not.
func TestRankWithinARun(t *testing.T) {
	tel, observe := observing()
	handler := otel.Handler(tel.options()...)
	agent := &callbacks.RunInfo{Component: adk.ComponentOfAgent}
	run := handler.OnStart(t.Context(), agent, nil)
	inner, other := handler.OnStart(run, agent, nil), handler.OnStart(t.Context(), agent, nil)
	observe(run, &toolsearch.SearchEvent{Tool: "tool_search", Searcher: "index", Matches: []string{"get_weather", "send_mail"}})
	call := &callbacks.RunInfo{Component: components.ComponentOfTool, Name: "send_mail"}
	handler.OnStart(other, call, nil)
	assert.NotContains(t, drawMetrics(t, tel), "toolsearch.call.rank")
	handler.OnStart(inner, call, nil)
	assert.Contains(t, drawMetrics(t, tel), "  1, sum 2, [0 1 0 0 0 0 0 0 0]")
}

// A run that finds ever more tools keeps the places of the newest.
func TestRankIsBounded(t *testing.T) {
	tel, observe := observing()
	handler := otel.Handler(tel.options()...)
	run := handler.OnStart(t.Context(), &callbacks.RunInfo{Component: adk.ComponentOfAgent}, nil)
	for i := range 10_001 {
		observe(run, &toolsearch.SearchEvent{Tool: "tool_search", Searcher: "index", Matches: []string{fmt.Sprintf("tool_%d", i)}})
	}
	call := func(name string) {
		handler.OnStart(run, &callbacks.RunInfo{Component: components.ComponentOfTool, Name: name}, nil)
	}
	call("tool_0")
	assert.NotContains(t, drawMetrics(t, tel), "toolsearch.call.rank")
	call("tool_10000")
	assert.Contains(t, drawMetrics(t, tel), "toolsearch.call.rank")
}

// The global providers are asked when no others are given.
func TestGlobalProviders(t *testing.T) {
	tel := newTelemetry()
	tracers, meters := api.GetTracerProvider(), api.GetMeterProvider()
	api.SetTracerProvider(tel.tracers)
	api.SetMeterProvider(tel.meters)
	defer api.SetTracerProvider(tracers)
	defer api.SetMeterProvider(meters)
	otel.Observe(otel.WithTracerProvider(nil), otel.WithMeterProvider(nil), nil)(t.Context(), &toolsearch.SearchEvent{Tool: "tool_search"})
	assert.Len(t, tel.spans.GetSpans(), 1)
	assert.NotEmpty(t, tel.instruments(t))
}

// Runs that share a middleware report events concurrently.
func TestConcurrentEvents(t *testing.T) {
	tel, observe := observing(otel.WithToolNames(), otel.WithContent())
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for j := range 50 {
				name := fmt.Sprintf("tool_%d", i*j)
				observe(context.Background(), &toolsearch.SearchEvent{Tool: "tool_search", Matches: []string{name}})
				observe(context.Background(), &toolsearch.LoadEvent{Loaded: []string{name}, Refused: []string{name}})
				observe(context.Background(), &toolsearch.FailureEvent{Part: "Source", Err: errBroken})
			}
		})
	}
	wait.Wait()
	assert.Len(t, tel.spans.GetSpans(), 400)
	assert.Contains(t, drawMetrics(t, tel), "  400: error.type=*errors.errorString toolsearch.part=Source\n")
}
