// Package otel reports what a tool search middleware does to OpenTelemetry: a span for every
// search, and metrics.
//
// One call makes a Config.OnEvent:
//
//	middleware, err := toolsearch.New(ctx, &toolsearch.Config{
//		DynamicTools: tools,
//		OnEvent:      otel.Observe(),
//	})
//
// # Spans
//
// A search is a span "retrieval tool_search" under the span in its context: the span of the
// tool's call, if your tracing makes one. Its attributes follow the semantic conventions for
// generative AI, as of version 1.41: gen_ai.operation.name is "retrieval" and
// gen_ai.data_source.id the name of the search tool. The span fails, with error.type, if a
// failure left the model without a match. A failure that a fallback recovered from is an event of
// the span. All other events of a middleware become events of the current span: toolsearch.load,
// toolsearch.catalog and toolsearch.failure.
//
// # Metrics
//
//	toolsearch.search.duration           histogram  s           how long searches took
//	toolsearch.search.matches            histogram  {tool}      tools that a search returned
//	toolsearch.search.empty              counter    {search}    searches that returned no tool
//	toolsearch.search.not_found          counter    {name}      names asked for that no tool has
//	toolsearch.call.refused              counter    {call}      calls that were not run: unknown, not loaded, wrong arguments
//	toolsearch.call.rank                 histogram  {rank}      where the search had the tool that was then called; needs Handler
//	toolsearch.tool.loads                counter    {tool}      tools that became visible to the model
//	toolsearch.tool.unloads              counter    {tool}      tools that are visible no longer
//	toolsearch.tool_list.changes         counter    {change}    changes of the model's list of tools, each of which ends the cached prefix
//	toolsearch.tool_list.tokens          histogram  {token}     estimated size of the list after a change
//	toolsearch.catalog.size              gauge      {tool}      tools of a catalog that changes
//	toolsearch.catalog.refresh.duration  histogram  s           how long new catalogs took to build
//	toolsearch.failures                  counter    {failure}   failures that the run went on after
//
// The buckets of durations begin at 10 µs for a search and 1 ms for a refresh, and end at 10 s and
// 60 s. The buckets of matches and ranks hold one value each up to 3 and 5, and end at 50. The
// buckets of tokens double from 256 to 131,072. A View of your MeterProvider replaces them.
//
// The metrics of searches and toolsearch.call.rank have gen_ai.data_source.id. The duration and the
// matches of a search have toolsearch.searcher: "index", "fallback", "keyword", or "none" for a
// selection by name or no match. The duration has error.type if the search failed. Failures have
// toolsearch.part, the field of toolsearch.Config that failed, or of the Group that
// toolsearch.group names, and error.type.
//
// # What leaves the program
//
// Queries, the texts of errors and names of tools may quote users. They are left out unless
// WithContent or WithToolNames asks for them. Your configuration bounds the values of every
// metric attribute except names of tools, of which 1,000 are told apart.
package otel

import (
	"cmp"
	"context"

	"github.com/eino-toolsearch/toolsearch"
	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// This file holds what programs call. spans.go and metrics.go turn events into spans and
// metrics, and calls.go records which tool was called after a search.

// scope is the name of the instrumentation, and schema the conventions that it follows.
const (
	scope  = "github.com/eino-toolsearch/toolsearch/otel"
	schema = "https://opentelemetry.io/schemas/1.41.0"
)

// An Option changes what Observe and Handler report, and to whom.
type Option func(*settings)

type settings struct {
	tracers    trace.TracerProvider
	meters     metric.MeterProvider
	content    bool
	names      *toolNames // nil means that metrics have no names of tools
	attributes []attribute.KeyValue
}

// WithTracerProvider sets who gets the spans. Nil, or leaving the option out, means the global
// provider.
func WithTracerProvider(provider trace.TracerProvider) Option {
	return func(s *settings) { s.tracers = provider }
}

// WithMeterProvider sets who gets the metrics. Nil, or leaving the option out, means the global
// provider.
func WithMeterProvider(provider metric.MeterProvider) Option {
	return func(s *settings) { s.meters = provider }
}

// WithContent adds texts of users and models to the spans: the query
// (gen_ai.retrieval.query.text), the tools found with their scores (gen_ai.retrieval.documents)
// and the texts of errors. It does not change the metrics.
func WithContent() Option {
	return func(s *settings) { s.content = true }
}

// WithToolNames adds gen_ai.tool.name to the metrics toolsearch.call.rank, toolsearch.tool.loads
// and toolsearch.tool.unloads. It multiplies their time series by the number of tools. Each
// Observe and each Handler tells the first 1,000 names apart and calls all others "_OTHER".
func WithToolNames() Option {
	return func(s *settings) { s.names = &toolNames{known: make(map[string]bool)} }
}

// WithAttributes adds attributes to every span and every metric, such as the name of an agent to
// tell two middlewares apart. They must have few distinct values.
func WithAttributes(attributes ...attribute.KeyValue) Option {
	return func(s *settings) { s.attributes = append(s.attributes, attributes...) }
}

func newSettings(options []Option) *settings {
	s := new(settings)
	for _, option := range options {
		if option != nil {
			option(s)
		}
	}
	s.tracers = cmp.Or(s.tracers, api.GetTracerProvider())
	s.meters = cmp.Or(s.meters, api.GetMeterProvider())
	return s
}

// Observe returns a Config.OnEvent that makes spans and metrics of events. It is safe for
// concurrent use, even by several middlewares. An instrument that the provider refuses goes to
// OpenTelemetry's error handler, and its metric is not recorded.
func Observe(options ...Option) func(ctx context.Context, e toolsearch.Event) {
	o := newObserver(newSettings(options))
	return func(ctx context.Context, e toolsearch.Event) {
		switch e := e.(type) {
		case *toolsearch.SearchEvent:
			recordFound(ctx, e)
			o.search(ctx, e)
		case *toolsearch.LoadEvent:
			o.load(ctx, e)
		case *toolsearch.CatalogEvent:
			o.catalog(ctx, e)
		case *toolsearch.FailureEvent:
			o.failure(ctx, e)
		}
	}
}
