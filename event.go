package toolsearch

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cloudwego/eino/schema"
)

// What a middleware tells: Config.OnEvent tells the program, Config.SendEvents the agent's
// caller.

// An Event is one of SearchEvent, LoadEvent, CatalogEvent and FailureEvent, each a value.
//
// An Event logs itself: its keys are stable and its values are counts, names of tools,
// durations and types of errors. What a model searched for is left out, since it may quote the
// user, and so is the text of an error, which may quote the query.
//
//	OnEvent: func(ctx context.Context, e toolsearch.Event) {
//		slog.InfoContext(ctx, "toolsearch", "event", e)
//	}
type Event interface {
	slog.LogValuer
	event()
}

// SearchEvent tells of one search of the model's.
type SearchEvent struct {
	Tool     string        // name of the meta-tool
	Query    string        // what the model asked for, cut to the bound on its length
	Matches  []string      // names found, in the order returned
	NotFound []string      // names asked for that no tool has
	Scores   []float64     // of Matches, in their order; 0 for a tool selected by name
	Total    int           // number of tools that matched before the limit
	Searcher string        // what answered: "index", "fallback", "keyword" when both failed; "" for a selection or no match
	Duration time.Duration // of the search alone
	Err      error         // a searcher's failure the search recovered from, or the failure it ended with
}

// LoadEvent tells what became of tools.
type LoadEvent struct {
	Loaded   []string // visible to the model from its next call on
	Unloaded []string // not visible any more
	Refused  []string // called, but not run: unknown, not loaded, or with wrong arguments
}

// CatalogEvent tells that a Source changed the catalog: it was compiled anew. The first answer
// of a Source is a change too, since there were DynamicTools alone before. A tool with another
// definition under its old name is neither added nor removed. What New compiles is not told,
// and neither is an answer with the same definitions. A change is told once, in the run that
// found it.
type CatalogEvent struct {
	Tools    int           // number of tools now
	Added    int           // of these, the tools whose names are new
	Removed  int           // number of tools whose names are gone
	Duration time.Duration // of compiling, the index included
}

// FailureEvent tells of a failure that a run went on after and that no SearchEvent tells.
type FailureEvent struct {
	Part string // what failed: the name of the Config's field, such as "Source" or "Preselect"
	Err  error  // why
}

func (SearchEvent) event()  {}
func (LoadEvent) event()    {}
func (CatalogEvent) event() {}
func (FailureEvent) event() {}

// LogValue implements slog.LogValuer.
func (e SearchEvent) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("event", "search"),
		slog.String("tool", e.Tool),
		slog.Int("matches", len(e.Matches)),
		slog.Int("total", e.Total),
		slog.Int("not_found", len(e.NotFound)),
		slog.String("searcher", e.Searcher),
		slog.Duration("duration", e.Duration),
		slog.String("error_type", errorType(e.Err)),
	)
}

// LogValue implements slog.LogValuer.
func (e LoadEvent) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("event", "load"),
		slog.Any("loaded", e.Loaded),
		slog.Any("unloaded", e.Unloaded),
		slog.Int("refused", len(e.Refused)),
	)
}

// LogValue implements slog.LogValuer.
func (e CatalogEvent) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("event", "catalog"),
		slog.Int("tools", e.Tools),
		slog.Int("added", e.Added),
		slog.Int("removed", e.Removed),
		slog.Duration("duration", e.Duration),
	)
}

// LogValue implements slog.LogValuer.
func (e FailureEvent) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("event", "failure"),
		slog.String("part", e.Part),
		slog.String("error_type", errorType(e.Err)),
	)
}

// errorType is the type of an error, "" for none.
func errorType(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%T", err)
}

// Eino keeps the events of a run in its checkpoint, by gob, which takes no error: of an error
// the text is kept.
func init() {
	schema.Register[SearchEvent]()
	schema.Register[LoadEvent]()
	schema.Register[CatalogEvent]()
	schema.Register[FailureEvent]()
}

type (
	plainSearchEvent  SearchEvent
	plainFailureEvent FailureEvent
)

// GobEncode implements gob.GobEncoder. Of Err the text is kept.
func (e SearchEvent) GobEncode() ([]byte, error) {
	text := errorText(e.Err)
	e.Err = nil
	return encodeEvent(plainSearchEvent(e), text)
}

// GobDecode implements gob.GobDecoder.
func (e *SearchEvent) GobDecode(data []byte) (err error) {
	e.Err, err = decodeEvent(data, (*plainSearchEvent)(e))
	return err
}

// GobEncode implements gob.GobEncoder. Of Err the text is kept.
func (e FailureEvent) GobEncode() ([]byte, error) {
	text := errorText(e.Err)
	e.Err = nil
	return encodeEvent(plainFailureEvent(e), text)
}

// GobDecode implements gob.GobDecoder.
func (e *FailureEvent) GobDecode(data []byte) (err error) {
	e.Err, err = decodeEvent(data, (*plainFailureEvent)(e))
	return err
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func encodeEvent(event any, failure string) ([]byte, error) {
	var b bytes.Buffer
	encoder := gob.NewEncoder(&b)
	if err := encoder.Encode(failure); err != nil {
		return nil, err
	}
	err := encoder.Encode(event)
	return b.Bytes(), err
}

func decodeEvent(data []byte, event any) (failure, err error) {
	decoder := gob.NewDecoder(bytes.NewReader(data))
	var text string
	if err := decoder.Decode(&text); err != nil {
		return nil, err
	}
	if err := decoder.Decode(event); err != nil {
		return nil, err
	}
	if text != "" {
		failure = errors.New(text)
	}
	return failure, nil
}

// teller tells events to whoever listens.
type teller struct {
	onEvent func(ctx context.Context, e Event) // Config.OnEvent; nil means nobody
	send    func(ctx context.Context, e Event) // to the agent's caller; nil means nobody
}

// listens reports whether anybody is told.
func (t *teller) listens() bool { return t.onEvent != nil || t.send != nil }

func (t *teller) tell(ctx context.Context, e Event) {
	if t.onEvent != nil {
		t.onEvent(ctx, e)
	}
	if t.send != nil {
		t.send(ctx, e)
	}
}

func (t *teller) fail(ctx context.Context, part string, err error) {
	t.tell(ctx, FailureEvent{Part: part, Err: err})
}
