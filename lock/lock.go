// Package lock keeps a catalog as somebody approved it. A remote server may change the
// definitions of its tools after you read them, and add tools, or copies of other servers' tools.
// A lock file holds the definitions you approved: name, description and schema by namespace, each
// with its SHA-256. A Lock drops every tool that is new or changed:
//
//	l, err := lock.Open(lock.FileName, func(ctx context.Context, f lock.Finding) {
//		slog.WarnContext(ctx, "blocked", "tool", f)
//	})
//	...
//	config.Filter = l.Filter // or l.And(filter), with a filter of your own
//
// For that run, a dropped tool is not in the catalog. It is back once its definition is approved
// and Lock.Reload has read the file. A lock file is written, compared and changed by the commands
// toolsearch lock, verify, diff and approve, or by the methods of File. It belongs under version
// control, where its changes are reviewed. Lint finds what a definition may try on a model, which
// no hash shows.
//
// A lock knows tools by namespace and name. The program that uses the file takes namespaces from
// its Groups or its Config.Annotate. They must be the same as those of the program that wrote the file. The
// name is that which the model sees or, for a Group that prefixes or alters names, the server's own.
//
// What a lock does not do: it does not look at what a tool does or returns, and it does not keep
// the texts of blocked tools from Config.Index, Config.Annotate and the embedder behind them.
package lock

import (
	"context"
	"crypto/sha256"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/search"
)

// A Lock lets the approved definitions pass. It is safe for concurrent use.
type Lock struct {
	path      string
	onBlocked func(ctx context.Context, f Finding)
	reading   sync.Mutex // held while the file is read, so that the newest content stays
	current   atomic.Pointer[approved]

	verdicts sync.Map // weak.Pointer to an Info -> verdict

	mu       sync.Mutex
	reported map[sum]bool // findings
}

// maxReported is how many findings are remembered. Beyond that, all are forgotten, and reported
// again if they are met again.
const maxReported = 1 << 16

// Open reads a lock file. Filter uses the file's present content until Reload.
//
// onBlocked is called for a tool that Filter drops: once for each finding, by the run that
// meets it first. A definition that changes again is another finding. It is never called for
// Missing tools, which File.Verify finds. It may be called concurrently; its panics are
// ignored. Nil means no calls.
func Open(path string, onBlocked func(ctx context.Context, f Finding)) (*Lock, error) {
	l := &Lock{path: path, onBlocked: onBlocked, reported: make(map[sum]bool)}
	if err := l.Reload(); err != nil {
		return nil, err
	}
	return l, nil
}

// Reload reads the lock file again. Runs that start afterwards use it. If the file cannot be read,
// Reload returns why, and the last good content stays.
func (l *Lock) Reload() error {
	l.reading.Lock()
	defer l.reading.Unlock()
	f, err := ReadFile(l.path)
	if err != nil {
		return err
	}
	l.current.Store(f.approved())
	return nil
}

// A verdict is what Filter said of a tool.
type verdict struct {
	by        *approved
	namespace string
	passes    bool
}

// Filter reports whether a document's definition is the approved one. It is for
// toolsearch.Config.Filter. The hash of a definition is computed once for as long as its Info is in
// use. The Info must not change; in a catalog it does not.
func (l *Lock) Filter(ctx context.Context, doc search.Document) bool {
	// Filter is asked about every tool of a catalog at the start of every run, and hashing ten
	// thousand definitions takes longer than such a run should. A weak pointer to an Info keeps no
	// definition in memory, and differs from a pointer to another Info in the same place.
	a, key := l.current.Load(), weak.Make(doc.Info)
	value, _ := l.verdicts.Load(key)
	if kept, known := value.(verdict); known && kept.by == a && kept.namespace == doc.Namespace {
		return kept.passes
	}
	finding, passes := a.judge(&doc)
	if !passes {
		l.tell(ctx, finding)
	}
	if doc.Info == nil {
		return passes
	}
	if _, known := l.verdicts.Swap(key, verdict{a, doc.Namespace, passes}); !known {
		runtime.AddCleanup(doc.Info, l.verdicts.Delete, any(key))
	}
	return passes
}

// And returns a Filter that passes the tools that both Filter and next pass. next is asked only
// about approved tools. A nil next passes everything.
func (l *Lock) And(next func(ctx context.Context, doc search.Document) bool) func(ctx context.Context, doc search.Document) bool {
	if next == nil {
		return l.Filter
	}
	return func(ctx context.Context, doc search.Document) bool { return l.Filter(ctx, doc) && next(ctx, doc) }
}

func (l *Lock) tell(ctx context.Context, f Finding) {
	if l.onBlocked == nil {
		return
	}
	text, _ := f.MarshalJSON() // it does not fail
	key := sum(sha256.Sum256(text))
	l.mu.Lock()
	known := l.reported[key]
	if len(l.reported) >= maxReported {
		clear(l.reported)
	}
	l.reported[key] = true
	l.mu.Unlock()
	if !known {
		_, _ = foreign.Guard(func() (any, error) { l.onBlocked(ctx, f); return nil, nil })
	}
}
