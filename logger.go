package toolsearch

import (
	"context"
	"fmt"
	"log/slog"
)

// A Logger writes what a middleware reports to a slog.Logger. Nothing is logged unless its
// methods are given to a Config:
//
//	log := toolsearch.Logger{To: slog.Default()}
//	config := toolsearch.Config{OnSearch: log.Search, OnError: log.Error, ...}
//
// It is safe for concurrent use.
type Logger struct {
	To *slog.Logger // nil: slog.Default()

	// Texts logs queries and names of tools too. What a model searches for may quote its
	// user. False: counts alone.
	Texts bool
}

// Search logs a search at level Info, or Warn when a searcher failed. It is for
// Config.OnSearch.
func (l Logger) Search(ctx context.Context, e SearchEvent) {
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("tool", e.Tool),
		slog.Int("matches", len(e.Matches)),
		slog.Int("total", e.Total),
		slog.Int("not_found", len(e.NotFound)),
		slog.String("searcher", e.Searcher),
		slog.Duration("duration", e.Duration),
	}
	if l.Texts {
		attrs = append(attrs, slog.String("query", e.Query),
			slog.Any("matched_tools", e.Matches), slog.Any("missing_tools", e.NotFound))
	}
	if e.Err != nil {
		level = slog.LevelWarn
		attrs = append(attrs, l.failure(e.Err))
	}
	l.to().LogAttrs(ctx, level, "tool search", attrs...)
}

// Error logs a failure that a run went on after, at level Warn. It is for Config.OnError.
func (l Logger) Error(ctx context.Context, err error) {
	l.to().LogAttrs(ctx, slog.LevelWarn, "tool search", l.failure(err))
}

// failure is an error's text, or its type alone: the text may quote a query.
func (l Logger) failure(err error) slog.Attr {
	if l.Texts {
		return slog.String("error", err.Error())
	}
	return slog.String("error_type", fmt.Sprintf("%T", err))
}

func (l Logger) to() *slog.Logger {
	if l.To == nil {
		return slog.Default()
	}
	return l.To
}
