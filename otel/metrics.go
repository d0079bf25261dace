package otel

import (
	"cmp"
	"context"
	"sync"

	"github.com/eino-toolsearch/toolsearch"
	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Events as metrics, and as events of the current span. The package's doc lists the instruments.

// Buckets, each value an upper bound. Searches within the program take microseconds,
// searches by an engine take milliseconds, and SearchTimeout ends a search after seconds.
// Catalogs take up to SourceTimeout. Matches and ranks end at the default MaxResultsCap.
var (
	searchSeconds = []float64{10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3,
		0.1, 0.25, 0.5, 1, 2.5, 5, 10}
	refreshSeconds = []float64{1e-3, 5e-3, 10e-3, 50e-3, 0.1, 0.5, 1, 5, 10, 30, 60}
	matchCounts    = []float64{0, 1, 2, 3, 5, 10, 20, toolsearch.DefaultMaxResultsCap}
	listTokens     = []float64{256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072}
	ranks          = []float64{1, 2, 3, 4, 5, 10, 20, toolsearch.DefaultMaxResultsCap}
)

// An observer makes spans and metrics of events.
type observer struct {
	*settings
	tracer   trace.Tracer
	measured metric.MeasurementOption // the attributes of every metric

	duration, refresh metric.Float64Histogram
	matches, tokens   metric.Int64Histogram
	empty, notFound   metric.Int64Counter
	refused, loads    metric.Int64Counter
	unloads, changes  metric.Int64Counter
	failures          metric.Int64Counter
	size              metric.Int64Gauge
}

func newObserver(s *settings) *observer {
	m := meterOf(s)
	counter := func(name, unit, description string) metric.Int64Counter {
		return made(m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description)))
	}
	return &observer{
		settings: s,
		tracer:   s.tracers.Tracer(scope, trace.WithSchemaURL(schema)),
		measured: metric.WithAttributes(s.attributes...),

		duration: made(m.Float64Histogram("toolsearch.search.duration", metric.WithUnit("s"),
			metric.WithDescription("How long searches took."), metric.WithExplicitBucketBoundaries(searchSeconds...))),
		matches: made(m.Int64Histogram("toolsearch.search.matches", metric.WithUnit("{tool}"),
			metric.WithDescription("Tools that a search returned."), metric.WithExplicitBucketBoundaries(matchCounts...))),
		empty:    counter("toolsearch.search.empty", "{search}", "Searches that returned no tool."),
		notFound: counter("toolsearch.search.not_found", "{name}", "Names asked for that no tool has."),
		refused:  counter("toolsearch.call.refused", "{call}", "Calls that were not run: unknown, not loaded, wrong arguments."),
		loads:    counter("toolsearch.tool.loads", "{tool}", "Tools that became visible to the model."),
		unloads:  counter("toolsearch.tool.unloads", "{tool}", "Tools that are visible no longer."),
		changes:  counter("toolsearch.tool_list.changes", "{change}", "Changes of the model's list of tools."),
		tokens: made(m.Int64Histogram("toolsearch.tool_list.tokens", metric.WithUnit("{token}"),
			metric.WithDescription("Estimated size of the model's list of tools after a change."), metric.WithExplicitBucketBoundaries(listTokens...))),
		size: made(m.Int64Gauge("toolsearch.catalog.size", metric.WithUnit("{tool}"),
			metric.WithDescription("Tools of a catalog that changes."))),
		refresh: made(m.Float64Histogram("toolsearch.catalog.refresh.duration", metric.WithUnit("s"),
			metric.WithDescription("How long new catalogs took to build."), metric.WithExplicitBucketBoundaries(refreshSeconds...))),
		failures: counter("toolsearch.failures", "{failure}", "Failures that the run went on after."),
	}
}

func meterOf(s *settings) metric.Meter {
	return s.meters.Meter(scope, metric.WithSchemaURL(schema))
}

// made returns an instrument. The API promises an instrument even with an error, which then
// does nothing.
func made[I any](instrument I, err error) I {
	if err != nil {
		api.Handle(err)
	}
	return instrument
}

func (o *observer) search(ctx context.Context, e *toolsearch.SearchEvent) {
	ctx = o.searchSpan(ctx, e) // an exemplar of a metric leads to the span
	source := keyDataSource.String(e.Tool)
	ofSource := metric.WithAttributes(source)
	attributes := []attribute.KeyValue{source, keySearcher.String(cmp.Or(e.Searcher, noSearcher))}
	o.matches.Record(ctx, int64(len(e.Matches)), o.measured, metric.WithAttributes(attributes...))
	if hasFailed(e) {
		attributes = append(attributes, keyErrorType.String(errorType(e.Err)))
	}
	o.duration.Record(ctx, e.Duration.Seconds(), o.measured, metric.WithAttributes(attributes...))
	if len(e.Matches) == 0 {
		o.empty.Add(ctx, 1, o.measured, ofSource)
	}
	if len(e.NotFound) > 0 {
		o.notFound.Add(ctx, int64(len(e.NotFound)), o.measured, ofSource)
	}
	if e.Err != nil {
		o.countFailure(ctx, searchFailure(e))
	}
}

func (o *observer) load(ctx context.Context, e *toolsearch.LoadEvent) {
	attributes := []attribute.KeyValue{
		attribute.Int("toolsearch.loaded", len(e.Loaded)), attribute.Int("toolsearch.unloaded", len(e.Unloaded)),
		attribute.Int("toolsearch.refused", len(e.Refused)), attribute.Bool("toolsearch.tool_list.changed", e.ToolsChanged),
	}
	o.addTools(ctx, o.loads, e.Loaded)
	o.addTools(ctx, o.unloads, e.Unloaded)
	if e.ToolsChanged {
		o.changes.Add(ctx, 1, o.measured)
	}
	if e.ToolTokens > 0 {
		attributes = append(attributes, keyTokens.Int(e.ToolTokens))
		o.tokens.Record(ctx, int64(e.ToolTokens), o.measured)
	}
	if len(e.Refused) > 0 { // the model makes up their names, so there is no bound on them
		o.refused.Add(ctx, int64(len(e.Refused)), o.measured)
	}
	o.add(trace.SpanFromContext(ctx), "toolsearch.load", attributes...)
}

func (o *observer) addTools(ctx context.Context, counter metric.Int64Counter, names []string) {
	if o.names == nil {
		if len(names) > 0 {
			counter.Add(ctx, int64(len(names)), o.measured)
		}
		return
	}
	for _, name := range names {
		counter.Add(ctx, 1, o.measured, metric.WithAttributes(o.names.attribute(name)))
	}
}

func (o *observer) catalog(ctx context.Context, e *toolsearch.CatalogEvent) {
	o.size.Record(ctx, int64(e.Tools), o.measured)
	o.refresh.Record(ctx, e.Duration.Seconds(), o.measured)
	o.add(trace.SpanFromContext(ctx), "toolsearch.catalog",
		attribute.Int("toolsearch.tools", e.Tools), attribute.Int("toolsearch.added", e.Added),
		attribute.Int("toolsearch.removed", e.Removed), attribute.StringSlice("toolsearch.groups", e.Groups))
}

func (o *observer) failure(ctx context.Context, e *toolsearch.FailureEvent) {
	o.failureEvent(trace.SpanFromContext(ctx), e)
	o.countFailure(ctx, e)
}

func (o *observer) countFailure(ctx context.Context, e *toolsearch.FailureEvent) {
	o.failures.Add(ctx, 1, o.measured, metric.WithAttributes(failureAttributes(e)...))
}

// maxToolNames bounds the names of tools that metrics tell apart, since servers may have any
// number of tools.
const maxToolNames = 1000

// toolNames are the names seen so far.
type toolNames struct {
	mu    sync.Mutex
	known map[string]bool
}

func (n *toolNames) attribute(name string) attribute.KeyValue {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.known[name] {
		if len(n.known) == maxToolNames {
			return keyToolName.String("_OTHER")
		}
		n.known[name] = true
	}
	return keyToolName.String(name)
}
