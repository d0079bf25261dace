// Package lock keeps a catalog as somebody approved it. A remote server may change the
// definitions of its tools after you read them, and add tools, or copies of other servers' tools.
// A lock file holds the definitions you approved: name, description and schema by namespace, each
// with its SHA-256. A Lock drops every tool that is new or changed:
//
//	l, err := lock.Open(lock.FileName, &lock.Options{
//		OnBlocked: func(ctx context.Context, f lock.Finding) { slog.WarnContext(ctx, "blocked", "tool", f) },
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
// its Config.Annotate. They must be the same as those of the program that wrote the file.
//
// What a lock does not do: it does not look at what a tool does or returns, and it does not keep
// the texts of blocked tools from Config.Index, Config.Annotate and the embedder behind them.
package lock

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Options are the settings of a Lock. Nil means the zero value.
type Options struct {
	// OnBlocked is called for a tool that Filter drops: once for each finding, by the run that
	// meets it first. A definition that changes again is another finding. It is never called for
	// Missing tools, which File.Verify finds. It may be called concurrently; its panics are
	// ignored. Nil means no calls.
	OnBlocked func(ctx context.Context, f Finding)
}

// A Lock lets the approved definitions pass. It is safe for concurrent use.
type Lock struct {
	path    string
	options Options
	reading sync.Mutex // held while the file is read, so that the newest content stays
	current atomic.Pointer[state]

	mu       sync.Mutex
	reported map[sum]bool // findings
}

// maxReported is how many findings are remembered. Beyond that, all are forgotten, and reported
// again if they are met again.
const maxReported = 1 << 16

// Open reads a lock file. Filter uses the file's present content until Reload.
func Open(path string, options *Options) (*Lock, error) {
	l := &Lock{path: path, reported: make(map[sum]bool)}
	if options != nil {
		l.options = *options
	}
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
	l.current.Store(&state{index: f.index(), verdicts: make(map[weak.Pointer[schema.ToolInfo]]verdict)})
	return nil
}

// Filter reports whether a document's definition is the approved one. It fits
// toolsearch.Config.Filter. The hash of a definition is computed once for as long as its Info is in
// use. The Info must not change; in a catalog it does not.
func (l *Lock) Filter(ctx context.Context, doc search.Document) bool {
	s := l.current.Load()
	passes, known := s.verdict(&doc)
	if known {
		return passes
	}
	finding, passes := s.index.judge(&doc)
	if !passes {
		l.tell(ctx, finding)
	}
	s.keep(&doc, passes)
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
	if l.options.OnBlocked == nil {
		return
	}
	hash := ""
	if f.Is != nil {
		hash = f.Is.SHA256()
	}
	key := sum(sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %q", f.Kind, f.Namespace, f.Name, hash, f.Original, f.Reason)))
	l.mu.Lock()
	known := l.reported[key]
	if len(l.reported) >= maxReported {
		clear(l.reported)
	}
	l.reported[key] = true
	l.mu.Unlock()
	if !known {
		_, _ = foreign.Guard(func() (any, error) { l.options.OnBlocked(ctx, f); return nil, nil })
	}
}

// A state is the content of the lock file at one reading, and the verdicts it gave.
//
// Filter is asked about every tool of a catalog at the start of every run, and hashing ten
// thousand definitions takes longer than such a run should. A catalog keeps the Infos of its
// documents for as long as it lives, so a verdict is kept by a weak pointer to the Info: it keeps
// no definition in memory, and differs from a pointer to another Info in the same place.
type state struct {
	index *index

	mu       sync.RWMutex
	verdicts map[weak.Pointer[schema.ToolInfo]]verdict
	sweep    int // the number of verdicts at which verdicts for vanished Infos are dropped
}

type verdict struct {
	namespace string
	passes    bool
}

func (s *state) verdict(doc *search.Document) (passes, known bool) {
	if doc.Info == nil {
		return false, false
	}
	s.mu.RLock()
	v, ok := s.verdicts[weak.Make(doc.Info)]
	s.mu.RUnlock()
	return v.passes, ok && v.namespace == doc.Namespace
}

func (s *state) keep(doc *search.Document, passes bool) {
	if doc.Info == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.verdicts) >= s.sweep {
		for info := range s.verdicts {
			if info.Value() == nil {
				delete(s.verdicts, info)
			}
		}
		s.sweep = 2*len(s.verdicts) + 1024
	}
	s.verdicts[weak.Make(doc.Info)] = verdict{doc.Namespace, passes}
}
