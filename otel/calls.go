package otel

import (
	"context"
	"sync"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/eino-toolsearch/toolsearch"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Which tool was called after a search. Events do not report calls, and Eino's callbacks do not
// report searches: the context of a run joins the two.
//
//	a run starts   Handler puts a conversation into the context
//	a search       Observe records in it the rank of each tool
//	a call         Handler records the rank of the called tool

// conversation holds the ranks that the searches of a run gave to tools. Agents within the run
// share it.
type conversation struct {
	mu    sync.Mutex
	found map[string]place
}

// place is a tool's place in the newest search that found it.
type place struct {
	rank   int // 1 is the first
	source string
}

type conversationKey struct{}

// maxFound bounds a conversation. When it is full, it is forgotten.
const maxFound = 10_000

// recordFound records the ranks of a search. A selection by name ranks nothing.
func recordFound(ctx context.Context, e *toolsearch.SearchEvent) {
	c, ok := ctx.Value(conversationKey{}).(*conversation)
	if !ok || e.Searcher == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil || len(c.found)+len(e.Matches) > maxFound {
		c.found = make(map[string]place)
	}
	for i, name := range e.Matches {
		c.found[name] = place{rank: i + 1, source: e.Tool}
	}
}

// take returns a tool's place, and forgets it: only the first call after a search counts.
func (c *conversation) take(name string) (p place, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, found = c.found[name]
	delete(c.found, name)
	return p, found
}

// Handler returns a handler of Eino's callbacks that records toolsearch.call.rank: the rank,
// from 1, that the newest search of the run gave to the tool that is now called. The first call
// after a search counts. A selection by name does not, nor does a call in a later run.
//
// Give it to one run with adk.WithCallbacks, or once to all of them with
// callbacks.AppendGlobalHandlers, but not to both. Of the options of Observe, it uses
// WithMeterProvider, WithToolNames and WithAttributes. It is safe for concurrent use. It works
// with the Observe of any middleware within the run.
func Handler(options ...Option) callbacks.Handler {
	s := newSettings(options)
	rank := made(meterOf(s).Int64Histogram("toolsearch.call.rank", metric.WithUnit("{rank}"),
		metric.WithDescription("Where the search had the tool that was then called."), metric.WithExplicitBucketBoundaries(ranks...)))
	start := func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
		if info == nil {
			return ctx
		}
		c, within := ctx.Value(conversationKey{}).(*conversation)
		if !within { // whatever starts first, an agent or a graph, contains the rest
			return context.WithValue(ctx, conversationKey{}, new(conversation))
		}
		if info.Component != components.ComponentOfTool {
			return ctx
		}
		if p, ok := c.take(info.Name); ok {
			attributes := []attribute.KeyValue{keyDataSource.String(p.source)}
			if s.names != nil {
				attributes = append(attributes, s.names.attribute(info.Name))
			}
			rank.Record(ctx, int64(p.rank), metric.WithAttributes(s.attributes...), metric.WithAttributes(attributes...))
		}
		return ctx
	}
	return callbacks.NewHandlerBuilder().OnStartFn(start).Build()
}
