package toolsearch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// Events report what a middleware does, to the program (OnEvent) and to whoever runs the agent (SendEvents).

// An Event is a *SearchEvent, *LoadEvent, *CallEvent, *CatalogEvent or *FailureEvent. Listeners share it and must not change it.
//
// An Event logs itself, under stable keys: counts, names of tools, durations and types of errors. A query or the text
// of an error is not logged, since it may quote the user.
type Event interface {
	slog.LogValuer
	event()
}

// SearchEvent reports a search by the model.
type SearchEvent struct {
	Tool     string        // name of the meta-tool
	Query    string        // what the model asked for, cut to the longest query
	Matches  []string      // names of the tools found, in the order returned
	NotFound []string      // names the model asked for that no tool has
	Scores   []float64     // of Matches, in their order; 0 for a tool selected by name
	Total    int           // number of tools that matched before the limit
	Searcher string        // which searcher answered: "index", "fallback", or "keyword" if both failed; "" for a selection or no match
	Tokens   int           // estimated size of the definitions of Matches: what loading them adds to a request
	Duration time.Duration // of the search alone
	Err      error         // a failure that the search recovered from or ended with; nil means none
}

// LoadEvent reports the names of tools that were loaded, unloaded or refused, and whether the model's list of tools has
// changed for any reason, since then a provider bills the whole history anew. The tokens are estimates.
type LoadEvent struct {
	Loaded   []string // visible to the model from its next call on
	Unloaded []string // no longer visible
	Refused  []string // called, but not run: unknown, not loaded, or with wrong arguments

	// ToolsChanged means that the list of tools differs from that of the run's previous model call. It is false at the
	// first call, and in an event with Refused tools.
	ToolsChanged bool
	LoadedTokens int // of the definitions of Loaded
	ToolTokens   int // of all definitions in the list of tools; 0 where no model call follows
	ListTokens   int // of the reminder's list of names; 0 without a list, or where no model call follows
}

// CallEvent reports that a call of a dynamic tool has ended: also one through call_tool, by the name of the tool. A call
// that is interrupted or cancelled has not ended, and one that is refused is in a LoadEvent.
type CallEvent struct {
	Tool     string        // its name, as the model sees it
	Duration time.Duration // of the tool alone; of a stream, to its end
	Err      error         // why it failed, or that an MCP server's result says so; nil means that it succeeded
}

// CatalogEvent reports, once and in the run that found it, that a Source changed the catalog. Its first answer is a
// change too. A tool that keeps its name under a new definition is neither added nor removed. With Group.PerCaller the
// event counts the tools of the run's own key.
type CatalogEvent struct {
	Tools    int           // number of tools now
	Added    int           // number of tools whose names are new
	Removed  int           // number of tools whose names are gone
	Groups   []string      // names of the groups that changed; a Group may have none
	Duration time.Duration // of compiling and indexing, which may have been for another change

	Tokens     int // estimated size of all definitions: what showing every tool would add to a request
	ListTokens int // of the reminder's list of names, for a run that may see every tool
}

// FailureEvent reports a failure that did not end the run and that no SearchEvent reports.
type FailureEvent struct {
	Part  string // what failed: one of the constants below
	Group string // name of the Group that Part belongs to; "" means none
	Tool  string // name of the tool that the failure concerns, as in Err; "" means none, or several
	Err   error  // the reason
}

// The parts that a FailureEvent names: the field of a Config or of a Group.
const (
	PartDynamicTools = "DynamicTools"
	PartTools        = "Tools"
	PartSource       = "Source"
	PartFilter       = "Filter"
	PartUsage        = "Usage"
	PartAlwaysLoaded = "AlwaysLoaded"
	PartPreselect    = "Preselect"
	PartProtocol     = "Protocol"
	PartToolErrors   = "ToolErrors"
)

func (*SearchEvent) event()  {}
func (*LoadEvent) event()    {}
func (*CallEvent) event()    {}
func (*CatalogEvent) event() {}
func (*FailureEvent) event() {}

// LogValue implements slog.LogValuer.
func (e *SearchEvent) LogValue() slog.Value {
	return logged("search", "tool", e.Tool, "matches", len(e.Matches), "total", e.Total, "not_found", len(e.NotFound),
		"searcher", e.Searcher, "tokens", e.Tokens, "duration", e.Duration, "error_type", errorType(e.Err))
}

// LogValue implements slog.LogValuer.
func (e *LoadEvent) LogValue() slog.Value {
	return logged("load", "loaded", e.Loaded, "unloaded", e.Unloaded, "refused", len(e.Refused), "tools_changed", e.ToolsChanged,
		"loaded_tokens", e.LoadedTokens, "tool_tokens", e.ToolTokens, "list_tokens", e.ListTokens)
}

// LogValue implements slog.LogValuer.
func (e *CallEvent) LogValue() slog.Value {
	return logged("call", "tool", e.Tool, "duration", e.Duration, "error_type", errorType(e.Err))
}

// LogValue implements slog.LogValuer.
func (e *CatalogEvent) LogValue() slog.Value {
	return logged("catalog", "tools", e.Tools, "added", e.Added, "removed", e.Removed, "groups", e.Groups,
		"tokens", e.Tokens, "list_tokens", e.ListTokens, "duration", e.Duration)
}

// LogValue implements slog.LogValuer.
func (e *FailureEvent) LogValue() slog.Value {
	return logged("failure", "part", e.Part, "group", e.Group, "tool", e.Tool, "error_type", errorType(e.Err))
}

func logged(event string, pairs ...any) slog.Value {
	return slog.Group("", append([]any{"event", event}, pairs...)...).Value
}

func errorType(err error) string {
	if err == nil {
		return ""
	}
	for range 32 { // the types that wrap an error say little; an error of foreign code may wrap itself
		err = cmp.Or(errors.Unwrap(err), err)
	}
	return fmt.Sprintf("%T", err)
}

// Eino keeps the events of a run in its checkpoint by gob, which does not take every error. So only its text is kept.
func init() {
	schema.Register[*SearchEvent]()
	schema.Register[*LoadEvent]()
	schema.Register[*CallEvent]()
	schema.Register[*CatalogEvent]()
	schema.Register[*FailureEvent]()
}

type (
	gobSearchEvent  SearchEvent
	gobCallEvent    CallEvent
	gobFailureEvent FailureEvent
)

// encode encodes an event without its failure, and the text of that.
func encode(event any, failure error) ([]byte, error) {
	var b bytes.Buffer
	out := gob.NewEncoder(&b)
	err := cmp.Or(out.Encode(event), out.Encode(foreign.ErrorText(failure)))
	return b.Bytes(), err
}

func decode(data []byte, event any, failure *error) error {
	text, in := "", gob.NewDecoder(bytes.NewReader(data))
	err := cmp.Or(in.Decode(event), in.Decode(&text))
	if text != "" {
		*failure = errors.New(text)
	}
	return err
}

// GobEncode implements gob.GobEncoder. It keeps the text of Err.
func (e *SearchEvent) GobEncode() ([]byte, error) {
	kept := gobSearchEvent(*e)
	kept.Err = nil
	return encode(kept, e.Err)
}

// GobDecode implements gob.GobDecoder.
func (e *SearchEvent) GobDecode(data []byte) error { return decode(data, (*gobSearchEvent)(e), &e.Err) }

// GobEncode implements gob.GobEncoder. It keeps the text of Err.
func (e *CallEvent) GobEncode() ([]byte, error) {
	return encode(gobCallEvent{Tool: e.Tool, Duration: e.Duration}, e.Err)
}

// GobDecode implements gob.GobDecoder.
func (e *CallEvent) GobDecode(data []byte) error { return decode(data, (*gobCallEvent)(e), &e.Err) }

// GobEncode implements gob.GobEncoder. It keeps the text of Err.
func (e *FailureEvent) GobEncode() ([]byte, error) {
	return encode(gobFailureEvent{Part: e.Part, Group: e.Group, Tool: e.Tool}, e.Err)
}

// GobDecode implements gob.GobDecoder.
func (e *FailureEvent) GobDecode(data []byte) error {
	return decode(data, (*gobFailureEvent)(e), &e.Err)
}

// eventSink is who is told of events: the program and whoever runs the agent.
type eventSink []func(ctx context.Context, e Event)

func (s eventSink) listens() bool { return len(s) > 0 }

// emit reports an event. A listener's panic ends neither a run nor, on the goroutine of a tool, the process.
func (s eventSink) emit(ctx context.Context, e Event) {
	for _, listener := range s {
		_, _ = foreign.Guard(func() (any, error) { listener(ctx, e); return nil, nil })
	}
}

func (s eventSink) fail(ctx context.Context, part string, err error) {
	s.emit(ctx, &FailureEvent{Part: part, Err: err})
}
