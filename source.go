package toolsearch

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/conversation"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/sources"
	"github.com/eino-toolsearch/toolsearch/internal/tokens"
	"github.com/eino-toolsearch/toolsearch/search"
)

// A catalog that changes. Each run asks the Sources at its start, all at once, and keeps the edition
// that is current then:
//
//	ask -> changed? -> build: a snapshot with the change, compiled -> publish: the current edition
//
// Package sources waits for the Sources, and keeps what comes late. The code of an index may fail, hang, or ignore its
// context too. So a build runs on a goroutine of its own, one at a time, and no lock is held meanwhile. A run waits
// until the build ends only if it has no tools of a Source yet.

// editions keeps the current edition.
type editions struct {
	config  *Config
	events  eventSink
	defers  bool    // the mode takes deferred definitions
	groups  []Group // DynamicTools are the first
	sources *sources.Sources
	gate    foreign.Gate  // of one compilation
	slow    int           // parts of the build under way that took too long
	told    reportedTexts // of patterns that match no tool

	mu         sync.Mutex    // guards the fields below; held for moments
	last       *edition      // of the current snapshot
	building   chan struct{} // closed when the build under way ends; nil means none
	unreported []Event       // what no run has reported yet
	saved      time.Duration // that builds may take
	savedAt    time.Time
}

// Builds may take a share of the time, which they save up. So a Source with another answer for every run
// does not occupy the processors.
const (
	buildShare    = 10 // of so many parts, one
	maxBuildSaved = 5 * time.Second
	maxSlow       = 3 // parts of a change that may take too long, until the rest of them is given up
)

func newEditions(ctx context.Context, config *Config, events eventSink, defers bool) (*editions, error) {
	e := &editions{config: config, events: events, defers: defers, gate: make(foreign.Gate, 1)}
	e.groups = append([]Group{{Tools: config.DynamicTools}}, config.Groups...)
	given := make([]sources.Group, len(e.groups))
	for i := range e.groups {
		g := &e.groups[i]
		given[i] = sources.Group{Name: g.Name, Tools: g.Tools, Source: g.Source, PerCaller: g.PerCaller, Named: g.shown, AsGiven: i == 0}
	}
	names := config.Protocol.names(config.ToolName)
	rules := sources.Rules{Timeout: config.Limits.SourceTimeout, MaxDescription: search.MaxDescriptionBytes, IsMeta: names.has, IsFiltered: config.Filter != nil}
	var problems []sources.Problem
	var err error
	if e.sources, problems, err = sources.New(ctx, given, rules); err != nil {
		return nil, err
	}
	for _, p := range problems {
		events.emit(ctx, (*FailureEvent)(&p))
	}
	if e.last, err = e.compile(ctx, e.sources.Offer(nil, nil).Snapshot, &Catalog{}); err != nil {
		return nil, err
	}
	mayChange := slices.ContainsFunc(config.Groups, func(g Group) bool { return g.Source != nil })
	if e.last.idle != nil && !mayChange { // else the tools of a Source may match
		events.fail(ctx, PartAlwaysLoaded, e.last.idle)
	}
	if e.last.unbounded != nil {
		events.fail(ctx, PartProtocol, e.last.unbounded)
	}
	return e, nil
}

// current asks the Sources and returns the edition for a run that starts now, the run's scope before the Filter, and the
// offer that the scope was made of. The error is the context's. A Source that is slow or gone leaves its last answer; one
// that is wrong is refused; another one makes a new edition. Only first answers are waited for: docs/operating.md.
func (e *editions) current(ctx context.Context) (*edition, scope, *sources.Offer, error) {
	mine, failures := e.sources.Ask(ctx)
	e.update(ctx, mine)
	if len(mine) > 0 && ctx.Err() != nil {
		return nil, scope{}, nil, ctx.Err()
	}
	e.mu.Lock()
	last, offer, unreported := e.last, e.sources.Offer(mine, failures), e.unreported
	e.unreported = nil
	e.mu.Unlock() // before a listener is called, which may do anything
	unfiltered := last.catalog.all()
	unfiltered.allowed = offer.Docs
	if offer.IsChanged && e.events.listens() {
		change := &CatalogEvent{
			Tools: unfiltered.size(), Added: offer.Added, Removed: offer.Removed, Groups: offer.Changed, Duration: last.took,
		}
		for doc := range unfiltered.docs {
			if unfiltered.has(doc) {
				change.Tokens += unfiltered.tokensOf(doc)
			}
		}
		change.ListTokens = tokens.Of(newReminder(unfiltered, last.isAlways, e.config).text)
		e.events.emit(ctx, change)
	}
	for _, event := range unreported {
		e.events.emit(ctx, event)
	}
	for _, p := range offer.Problems {
		e.events.emit(ctx, (*FailureEvent)(&p))
	}
	return last, unfiltered, offer, nil
}

// down returns the names of the groups that do not answer, as far as a request of the filtered scope may know of them:
// it may see one of the group's last tools or, without a Filter, the group has none.
func (e *editions) down(filtered *scope, unfiltered scope, offer *sources.Offer) (names []string) {
	for _, group := range offer.Down {
		hasTools, seesOne := false, false
		for doc, of := range offer.Of {
			if of == group && unfiltered.has(doc) {
				hasTools, seesOne = true, seesOne || filtered.has(doc)
			}
		}
		isKnown := seesOne || !hasTools && e.config.Filter == nil
		if name := e.groups[group].Name; isKnown && name != "" && len(names) < maxDown {
			names = append(names, naming.Safe(name))
		}
	}
	return names
}

const maxDown = 5 // groups that do not answer, which a miss names

// update makes the pending change current, as far as this run waits for it. A build that another run began may lack
// this run's answers. The next build has all of them, so a run waits at most twice.
func (e *editions) update(ctx context.Context, mine sources.Callers) {
	for range 2 {
		e.mu.Lock()
		change, now := e.sources.Pending(mine), time.Now()
		e.saved, e.savedAt = min(e.saved+now.Sub(e.savedAt)/buildShare, maxBuildSaved), now
		begins := change != nil && e.building == nil && (change.IsFirst || e.saved > 0) // this run begins the build
		if begins {
			e.building = make(chan struct{})
			go e.build(context.WithoutCancel(ctx), change)
		}
		done := e.building
		e.mu.Unlock()
		if change == nil || done == nil || !begins && !change.IsFirst {
			return
		}
		waiting, cancel := context.WithTimeout(ctx, sources.Grace)
		if change.IsFirst { // until it ends
			waiting = ctx
		}
		select {
		case <-done:
		case <-waiting.Done():
		}
		cancel()
		if begins {
			return
		}
	}
}

// build makes a change current, as far as that can be done.
func (e *editions) build(ctx context.Context, change *sources.Change) {
	start := time.Now()
	e.slow = 0
	e.advance(ctx, change)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.saved -= time.Since(start)
	close(e.building)
	e.building = nil
}

// advance compiles the current snapshot with a change, and makes the edition current. If that fails, it does so with
// each half: an answer that cannot be compiled costs the others nothing. Annotate and Index may do anything.
func (e *editions) advance(ctx context.Context, change *sources.Change) {
	limited, cancel := context.WithTimeout(ctx, e.config.Limits.SourceTimeout)
	defer cancel()
	start, last := time.Now(), e.last.catalog // only builds set e.last, and they run one at a time
	next, err := foreign.Through(limited, e.gate, func(ctx context.Context) (*edition, error) {
		snapshot, err := e.sources.Apply(change)
		if err != nil {
			return nil, err
		}
		return e.compile(ctx, snapshot, last)
	})
	if err == nil {
		next.took = time.Since(start)
		e.publish(next)
		return
	}
	tookTooLong, halves := limited.Err() != nil, change.Halves()
	if tookTooLong {
		err = fmt.Errorf("no index within %v", e.config.Limits.SourceTimeout)
		e.slow++
	}
	if len(halves) == 0 || e.slow > maxSlow { // else it is not known which answer is to blame
		e.sources.Refuse(change, err, tookTooLong)
		return
	}
	for _, half := range halves {
		e.advance(ctx, half)
	}
}

// publish makes an edition current, and keeps what runs will report of it.
func (e *editions) publish(next *edition) {
	var events []Event
	if next.idle != nil && e.told.isNew(next.idle.Error()) {
		events = append(events, &FailureEvent{Part: PartAlwaysLoaded, Err: next.idle})
	}
	if next.unbounded != nil && foreign.ErrorText(next.unbounded) != foreign.ErrorText(e.last.unbounded) {
		events = append(events, &FailureEvent{Part: PartProtocol, Err: next.unbounded})
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sources.Accept(next.snapshot)
	e.last, e.unreported = next, append(e.unreported, events...)
}

// An edition is a snapshot of all dynamic tools, compiled, with everything derived from it. It never changes.
type edition struct {
	catalog  *Catalog
	snapshot *sources.Snapshot
	always   []int // documents of Config.AlwaysLoaded, ascending

	announcement func() reminder    // the reminder of the whole edition, made when it is needed
	deferred     []*schema.ToolInfo // the definitions as deferred tools; nil if the mode defers none
	idle         error              // which patterns of Config.AlwaysLoaded match no tool; nil means none
	unbounded    error              // which tools have schemas that calls are not checked against; nil means none

	took    time.Duration // to compile
	filters reportedTexts // the lists of FilterTools so far, and what was reported of them
}

// compile compiles a snapshot. last is the catalog of the edition before, or an empty catalog.
func (e *editions) compile(ctx context.Context, snapshot *sources.Snapshot, last *Catalog) (*edition, error) {
	config := e.config
	groups := make([]*Group, len(snapshot.Infos))
	for i := range groups {
		groups[i] = &e.groups[snapshot.Of[i]]
	}
	catalog, err := newCatalog(ctx, snapshot.Infos, snapshot.Names, groups, config, last)
	if err != nil {
		return nil, err
	}
	var idle, unbounded []string
	patterns := make([]naming.Pattern, len(config.AlwaysLoaded))
	for i, text := range config.AlwaysLoaded {
		if patterns[i], err = naming.ParsePattern(text); err != nil {
			return nil, fmt.Errorf("toolsearch: AlwaysLoaded: %w", err)
		}
		if !catalog.hasMatch(&patterns[i]) {
			idle = append(idle, strconv.Quote(patterns[i].String()))
		}
	}
	ed := &edition{catalog: catalog, snapshot: snapshot}
	for i := range catalog.docs {
		doc := &catalog.docs[i]
		if e.defers {
			ed.deferred = append(ed.deferred, conversation.MarkDeferred(doc.Info, config.ToolName))
		}
		subject := patternTool(doc)
		if slices.ContainsFunc(patterns, func(p naming.Pattern) bool { return p.Matches(subject) }) {
			ed.always = append(ed.always, i)
		}
		if config.Protocol != ProtocolDispatch || groups[i].PerCaller != nil { // no other checks arguments; no run tells of others' tools
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := schemacheck.Bound(doc.Info); err != nil {
			unbounded = append(unbounded, fmt.Sprintf("%s: %v", naming.Quoted(doc.Name), err))
		}
	}
	ed.idle = sources.Problems("AlwaysLoaded: no tool matches", idle)
	ed.unbounded = sources.Problems("the arguments of these tools will not be checked:", unbounded)
	ed.announcement = sync.OnceValue(func() reminder { return newReminder(catalog.all(), ed.isAlways, config) })
	return ed, nil
}

func (ed *edition) isAlways(doc int) bool {
	_, found := slices.BinarySearch(ed.always, doc)
	return found
}
