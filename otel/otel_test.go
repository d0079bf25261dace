package otel_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/otel"
	"github.com/eino-toolsearch/toolsearch/search"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// These tests play a conversation with every kind of event, and compare what
// OpenTelemetry's SDK got with golden files.

var update = flag.Bool("update", false, "rewrite the golden files and the dashboard")

// telemetry is an SDK that keeps what it gets.
type telemetry struct {
	spans   *tracetest.InMemoryExporter
	tracers *sdktrace.TracerProvider
	metrics *sdkmetric.ManualReader
	meters  *sdkmetric.MeterProvider
}

func newTelemetry() *telemetry {
	t := &telemetry{spans: tracetest.NewInMemoryExporter(), metrics: sdkmetric.NewManualReader()}
	t.tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(t.spans))
	t.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(t.metrics))
	return t
}

func (t *telemetry) options(more ...otel.Option) []otel.Option {
	return append([]otel.Option{otel.WithTracerProvider(t.tracers), otel.WithMeterProvider(t.meters)}, more...)
}

// callSpans makes a span of every tool call, as the tracing of a program does.
func (t *telemetry) callSpans() callbacks.Handler {
	tracer := t.tracers.Tracer("program")
	end := func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackOutput) context.Context {
		if info.Component == components.ComponentOfTool {
			trace.SpanFromContext(ctx).End()
		}
		return ctx
	}
	return callbacks.NewHandlerBuilder().OnStartFn(func(ctx context.Context, info *callbacks.RunInfo,
		_ callbacks.CallbackInput) context.Context {
		if info.Component == components.ComponentOfTool {
			ctx, _ = tracer.Start(ctx, "execute_tool "+info.Name)
		}
		return ctx
	}).OnEndFn(end).Build()
}

// A brittle searcher finds by keywords, and fails for a query that has the word "broken".
type brittle struct{ search.Searcher }

var errBroken = errors.New("the engine is broken")

func (b brittle) Search(ctx context.Context, q search.Query) (search.Hits, error) {
	if slices.Contains(q.Keywords, "broken") {
		return search.Hits{}, fmt.Errorf("search %q: %w", q.Text, errBroken)
	}
	return b.Searcher.Search(ctx, q)
}

func brittleIndex(ctx context.Context, docs []toolsearch.Document) (search.Searcher, error) {
	searcher, err := toolsearch.Keyword(ctx, docs)
	return brittle{searcher}, err
}

func searching(query string) toolsearchtest.Turn {
	return toolsearchtest.CallTool("tool_search", fmt.Sprintf(`{"query":%q}`, query))
}

// converse plays the conversation within a span that the program makes for the agent.
func converse[M adk.MessageType](t *testing.T, tel *telemetry, options ...otel.Option) {
	t.Helper()
	middleware, err := toolsearch.NewTyped[M](context.Background(), &toolsearch.Config{
		Groups: []toolsearch.Group{{Source: func(context.Context) ([]tool.BaseTool, error) { return testtools.NewsTools(), nil }}},
		Index:  brittleIndex,
		Limits: toolsearch.Limits{MaxLoaded: 2},
		// No tool of the catalog matches it, and an event says so.
		AlwaysLoaded: []string{"no_such_tool"},
		OnEvent:      otel.Observe(tel.options(options...)...),
	})
	require.NoError(t, err)
	play[M](t, tel, middleware, []callbacks.Handler{tel.callSpans(), otel.Handler(tel.options(options...)...)},
		searching("mail weather"),
		toolsearchtest.CallTool("send_mail", "{}"),
		toolsearchtest.CallTool("send_mail", "{}"), // the second call does not count
		searching("select:get_weather,no_such_tool"),
		searching("zzz"),
		searching("broken channel"),
		toolsearchtest.CallTool("mcp__slack__send_message", "{}"),
		searching("broken zzz"),
		toolsearchtest.CallTool("get_wether", "{}"),
	)
}

func play[M adk.MessageType](t *testing.T, tel *telemetry, middleware adk.TypedChatModelAgentMiddleware[M], handlers []callbacks.Handler, turns ...toolsearchtest.Turn) {
	t.Helper()
	agent := testtools.Must(adk.NewTypedChatModelAgent(context.Background(), &adk.TypedChatModelAgentConfig[M]{
		Name: "reporter", Description: "Tells the news",
		Model:    toolsearchtest.NewModel[M](append(turns, toolsearchtest.Say("done"))...),
		Handlers: []adk.TypedChatModelAgentMiddleware[M]{middleware},
	}))(t)
	ctx, span := tel.tracers.Tracer("program").Start(context.Background(), "invoke_agent reporter")
	defer span.End()
	question := toolsearchtest.Encode[M](toolsearchtest.Message{Role: toolsearchtest.User, Text: "What is new?"})
	runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent})
	events := runner.Run(ctx, []M{question}, adk.WithCallbacks(handlers...))
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		require.NoError(t, event.Err)
	}
}

// Both message types give the same telemetry, byte for byte.
func TestConversation(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options []otel.Option
	}{
		{"default", nil},
		{"content", []otel.Option{otel.WithContent(), otel.WithToolNames(), otel.WithAttributes(attribute.String("agent", "reporter"))}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			message, agentic := newTelemetry(), newTelemetry()
			converse[*schema.Message](t, message, tt.options...)
			converse[*schema.AgenticMessage](t, agentic, tt.options...)
			for _, tel := range []*telemetry{message, agentic} {
				testtools.Golden(t, "testdata/"+tt.name+".spans.golden", drawSpans(tel.spans.GetSpans()), *update)
				testtools.Golden(t, "testdata/"+tt.name+".metrics.golden", drawMetrics(t, tel), *update)
			}
		})
	}
}

// drawSpans draws the tree of the spans, each with its attributes and events.
func drawSpans(stubs tracetest.SpanStubs) string {
	var b strings.Builder
	var draw func(parent trace.SpanID, indent string)
	draw = func(parent trace.SpanID, indent string) {
		for _, s := range stubs {
			if s.Parent.SpanID() != parent {
				continue
			}
			fmt.Fprintf(&b, "%s%s", indent, s.Name)
			if strings.HasPrefix(s.Name, "retrieval") {
				fmt.Fprintf(&b, " (%s)", s.SpanKind)
			}
			if s.Status.Code != codes.Unset {
				fmt.Fprintf(&b, " %s %q", s.Status.Code, s.Status.Description)
			}
			b.WriteString("\n")
			drawAttributes(&b, indent+"  . ", s.Attributes)
			for _, e := range s.Events {
				fmt.Fprintf(&b, "%s  ! %s\n", indent, e.Name)
				drawAttributes(&b, indent+"    . ", e.Attributes)
			}
			draw(s.SpanContext.SpanID(), indent+"  ")
		}
	}
	draw(trace.SpanID{}, "")
	return b.String()
}

func drawAttributes(b *strings.Builder, indent string, attributes []attribute.KeyValue) {
	for _, a := range attributes {
		value := a.Value.String()
		if a.Key == "toolsearch.tokens" && a.Value.AsInt64() > 0 {
			value = "some" // any change of a definition changes the number
		}
		fmt.Fprintf(b, "%s%s = %s\n", indent, a.Key, value)
	}
}

// instruments returns what the SDK collected, in the order of the names.
func (tel *telemetry) instruments(t *testing.T) []metricdata.Metrics {
	t.Helper()
	var data metricdata.ResourceMetrics
	require.NoError(t, tel.metrics.Collect(context.Background(), &data))
	require.Len(t, data.ScopeMetrics, 1)
	list := data.ScopeMetrics[0].Metrics
	slices.SortFunc(list, func(a, b metricdata.Metrics) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// kindOf returns the docs' word for the kind of an instrument.
func kindOf(m metricdata.Metrics) string {
	switch m.Data.(type) {
	case metricdata.Histogram[float64], metricdata.Histogram[int64]:
		return "histogram"
	case metricdata.Sum[int64]:
		return "counter"
	case metricdata.Gauge[int64]:
		return "gauge"
	}
	return fmt.Sprintf("%T", m.Data)
}

// drawMetrics draws the metrics. For durations and tokens it draws only how often they were
// recorded.
func drawMetrics(t *testing.T, tel *telemetry) string {
	t.Helper()
	var b strings.Builder
	for _, m := range tel.instruments(t) {
		fmt.Fprintf(&b, "%s: %s in %s. %s\n", m.Name, kindOf(m), m.Unit, m.Description)
		var lines []string
		point := func(attributes attribute.Set, value string) {
			var line strings.Builder
			for _, a := range attributes.ToSlice() {
				fmt.Fprintf(&line, " %s=%s", a.Key, a.Value.String())
			}
			lines = append(lines, fmt.Sprintf("  %s:%s\n", value, line.String()))
		}
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				point(p.Attributes, fmt.Sprintf("%d in buckets up to %v", p.Count, p.Bounds))
			}
		case metricdata.Histogram[int64]:
			for _, p := range data.DataPoints {
				value := fmt.Sprint(p.Count)
				if m.Unit != "{token}" {
					value += fmt.Sprintf(", sum %d, %v", p.Sum, p.BucketCounts)
				}
				point(p.Attributes, fmt.Sprintf("%s in buckets up to %v", value, p.Bounds))
			}
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				point(p.Attributes, fmt.Sprint(p.Value))
			}
		case metricdata.Gauge[int64]:
			for _, p := range data.DataPoints {
				point(p.Attributes, fmt.Sprint(p.Value))
			}
		}
		slices.Sort(lines)
		b.WriteString(strings.Join(lines, ""))
	}
	return b.String()
}
