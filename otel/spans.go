package otel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/eino-toolsearch/toolsearch"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// The span of a search, and what events of spans say.

// Attributes that several spans and metrics have. Those that begin with gen_ai are of the semantic conventions,
// of which Go's package does not have all yet.
const (
	keyDataSource = attribute.Key("gen_ai.data_source.id")
	keyToolName   = attribute.Key("gen_ai.tool.name")
	keyErrorType  = attribute.Key("error.type")
	keySearcher   = attribute.Key("toolsearch.searcher")
	keyTokens     = attribute.Key("toolsearch.tokens") // estimated size of the definitions of the matches, or of the list of tools
)

// searchSpan makes the span of a search that has just ended. It returns the context of the span.
func (o *observer) searchSpan(ctx context.Context, e *toolsearch.SearchEvent) context.Context {
	end := time.Now()
	ctx, span := o.tracer.Start(ctx, "retrieval "+e.Tool,
		trace.WithTimestamp(end.Add(-e.Duration)),
		trace.WithSpanKind(trace.SpanKindClient), // the conventions' kind, even for a search within the program
		trace.WithAttributes(attribute.String("gen_ai.operation.name", "retrieval"), keyDataSource.String(e.Tool)),
		trace.WithAttributes(o.attributes...))
	defer span.End(trace.WithTimestamp(end))
	if !span.IsRecording() {
		return ctx
	}
	span.SetAttributes(
		keySearcher.String(cmp.Or(e.Searcher, noSearcher)),
		attribute.Int("toolsearch.matches", len(e.Matches)), // how many of the tools found the model got
		attribute.Int("toolsearch.total", e.Total),          // that matched before the limit
		attribute.Int("toolsearch.not_found", len(e.NotFound)),
		keyTokens.Int(e.Tokens))
	if o.content {
		span.SetAttributes(
			attribute.String("gen_ai.retrieval.query.text", strings.ToValidUTF8(e.Query, "\uFFFD")),
			attribute.String("gen_ai.retrieval.documents", documents(e)))
	}
	switch {
	case e.Err == nil:
	case hasFailed(e):
		span.SetAttributes(keyErrorType.String(errorType(e.Err)))
		span.SetStatus(codes.Error, o.message(e.Err))
	default:
		o.failureEvent(span, searchFailure(e))
	}
	return ctx
}

// hasFailed reports whether a failure left the model without a match. A failure that the search
// recovered from does not fail the span: the conventions leave out handled errors.
func hasFailed(e *toolsearch.SearchEvent) bool { return e.Err != nil && len(e.Matches) == 0 }

// noSearcher is the searcher of a selection by name, and of a search without a match.
const noSearcher = "none"

// documents returns the tools found in the form of the conventions: a list of identifiers and
// scores.
func documents(e *toolsearch.SearchEvent) string {
	type document struct {
		ID    string   `json:"id"`
		Score *float64 `json:"score,omitempty"`
	}
	list := make([]document, len(e.Matches))
	for i, name := range e.Matches {
		list[i].ID = name
		if i < len(e.Scores) && !math.IsNaN(e.Scores[i]) && !math.IsInf(e.Scores[i], 0) {
			list[i].Score = &e.Scores[i]
		}
	}
	text, _ := json.Marshal(list) // texts and finite numbers
	return string(text)
}

// searchFailure returns the failure of a search in the form of a FailureEvent. "Index" is no part of a
// FailureEvent that the library emits, since a SearchEvent reports the failure of a search.
func searchFailure(e *toolsearch.SearchEvent) *toolsearch.FailureEvent {
	return &toolsearch.FailureEvent{Part: "Index", Err: e.Err}
}

// failureAttributes returns a failure's attributes for metrics and spans. The configuration
// bounds the groups.
func failureAttributes(e *toolsearch.FailureEvent) []attribute.KeyValue {
	attributes := []attribute.KeyValue{attribute.String("toolsearch.part", e.Part), keyErrorType.String(errorType(e.Err))}
	if e.Group != "" {
		attributes = append(attributes, attribute.String("toolsearch.group", e.Group))
	}
	return attributes
}

func (o *observer) failureEvent(span trace.Span, e *toolsearch.FailureEvent) {
	attributes := failureAttributes(e)
	if message := o.message(e.Err); message != "" {
		attributes = append(attributes, attribute.String("toolsearch.message", message))
	}
	o.add(span, "toolsearch.failure", attributes...)
}

func (o *observer) add(span trace.Span, name string, attributes ...attribute.KeyValue) {
	if span.IsRecording() {
		span.AddEvent(name, trace.WithAttributes(attributes...), trace.WithAttributes(o.attributes...))
	}
}

// message returns the text of an error if content may leave the program, and "" if not.
func (o *observer) message(err error) string {
	if !o.content || err == nil {
		return ""
	}
	return strings.ToValidUTF8(err.Error(), "\uFFFD")
}

// maxDepth bounds how deep errors are unwrapped: an error of a searcher may wrap itself, on which
// errors.Is would not end.
const maxDepth = 32

// errorType returns a name for the kind of an error: "timeout", "canceled", or the type of the
// innermost error, since the types that wrap it say little. A program has few such types.
func errorType(err error) string {
	if err == nil {
		return "_OTHER"
	}
	for range maxDepth {
		inner := errors.Unwrap(err)
		if list, ok := err.(interface{ Unwrap() []error }); ok && len(list.Unwrap()) > 0 {
			inner = list.Unwrap()[0]
		}
		if inner == nil {
			break
		}
		err = inner
	}
	switch err {
	case context.DeadlineExceeded:
		return "timeout"
	case context.Canceled:
		return "canceled"
	}
	return reflect.TypeOf(err).String()
}
