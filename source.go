package toolsearch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cloudwego/eino/components/tool"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/tokens"
	"github.com/eino-toolsearch/toolsearch/internal/toolsource"
)

// A catalog that changes. Each run asks the Sources at its start, all at once, and keeps the edition
// that is current then. A changed answer makes a new edition for this run and the next ones:
//
//	ask -> answers -> the same as before? -> stock -> compile -> the current edition
//
// A Source and the code of an index may fail, hang, or ignore their context. So each of them runs
// on a goroutine of its own, a run waits for neither longer than Config.SourceTimeout, and no lock
// is held meanwhile. A run waits only toolsource.Grace for a Source that already has a good answer:
// internal/toolsource keeps a late answer for a later run. At most one edition is compiled at a
// time. The other runs go on with the last good answers, or wait if a supply has none yet.

// editions keeps the current edition.
type editions struct {
	config   *Config
	events   *eventSink
	defers   bool      // the mode takes deferred definitions
	supplies []*supply // does not change, and neither do their groups
	changes  bool      // a supply has a Source

	mu         sync.Mutex // guards the fields below and the standing of supplies; held for moments
	last       *edition
	tools      []tool.BaseTool // the newest values of the tools of last: a source may have reconnected
	building   *building       // nil means that no edition is being compiled
	unreported []Event         // what no run has reported yet
}

// building is an edition that is being compiled of new answers.
type building struct {
	answers []*toolsource.Answer // by supply; nil means that there is no new answer
	done    chan struct{}
	errs    []error // by supply, set when done; nil if the answer is current now
}

func newEditions(ctx context.Context, config *Config, events *eventSink, defers bool) (*editions, error) {
	e := &editions{config: config, events: events, defers: defers}
	own := Group{Tools: config.DynamicTools, Source: config.Source}
	for _, group := range slices.Concat([]Group{own}, config.Groups) {
		s := &supply{Group: group}
		if s.Source != nil {
			s.asking = toolsource.New(s.Source, config.SourceTimeout, toolsource.Grace)
		}
		if err := s.fix(ctx, config, events); err != nil {
			return nil, err
		}
		e.supplies = append(e.supplies, s)
		e.changes = e.changes || s.asking != nil
	}
	if err := checkNames(config, e.supplies); err != nil {
		return nil, err
	}
	var err error
	if e.last, err = compile(ctx, config, e.stock(make([]*toolsource.Answer, len(e.supplies))), defers, &Catalog{}); err != nil {
		return nil, err
	}
	e.tools = e.last.tools
	if !e.changes && len(e.last.idle) > 0 { // else the tools of a Source may match
		e.events.fail(ctx, "AlwaysLoaded", e.last.idleError())
	}
	if len(e.last.unbounded) > 0 {
		e.events.fail(ctx, "Protocol", e.last.unboundedError())
	}
	return e, nil
}

// current returns the edition for a run that starts now, and its tools: these may be newer
// values than the edition's, with the same definitions. The error is that of the context.
func (e *editions) current(ctx context.Context) (*edition, []tool.BaseTool, error) {
	if !e.changes {
		return e.last, e.last.tools, nil
	}
	answers, failures := e.askAll(ctx)
	for i, err := range e.accept(ctx, answers) {
		failures[i] = cmp.Or(failures[i], err)
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	e.mu.Lock()
	last, tools, unreported := e.last, e.tools, e.unreported
	e.unreported = nil
	e.mu.Unlock()
	// A listener may do anything, so the lock is released before it is called.
	for _, event := range unreported {
		if change, ok := event.(CatalogEvent); ok && e.events.listens() && change.Tools == len(last.catalog.docs) {
			for doc := range last.catalog.docs {
				change.Tokens += last.catalog.tokensOf(doc)
			}
			change.ListTokens = tokens.Of(last.announcement().text)
			event = change
		}
		e.events.emit(ctx, event)
	}
	for i, s := range e.supplies {
		if err := failures[i]; err != nil {
			e.events.emit(ctx, s.failure(partSource, fmt.Errorf("toolsearch: %s: %w; the last good catalog of %d tools stays", s.field(partSource), err, len(tools))))
		}
	}
	return last, tools, nil
}

// askAll asks all Sources. The answers and errors are by supply.
func (e *editions) askAll(ctx context.Context) (answers []*toolsource.Answer, errs []error) {
	answers, errs = make([]*toolsource.Answer, len(e.supplies)), make([]error, len(e.supplies))
	var all sync.WaitGroup
	for i, s := range e.supplies {
		if s.asking == nil {
			continue
		}
		all.Add(1)
		go func() {
			defer all.Done()
			e.mu.Lock()
			current := s.answer
			e.mu.Unlock()
			answers[i], errs[i] = s.asking.Newest(ctx, current)
		}()
	}
	all.Wait()
	return answers, errs
}

// accept makes answers current, unless they are already. It waits for an edition that is being
// compiled if a supply has no good answer yet. Answers and errors are by supply; nil means no
// answer. It changes the list of answers.
func (e *editions) accept(ctx context.Context, answers []*toolsource.Answer) []error {
	errs := make([]error, len(answers))
	for {
		e.mu.Lock()
		b, stands := e.building, make([]standing, len(answers))
		for i, s := range e.supplies {
			stands[i] = s.standing
		}
		e.mu.Unlock()
		isNew, isFirst, isOld := false, false, false
		for i, a := range answers {
			if a == nil {
				continue
			}
			switch now := &stands[i]; {
			case a.Number < e.supplies[i].asking.Accepted(): // a newer answer was faster
				answers[i] = nil
			case now.answer != nil && a.SameAs(now.answer):
				if e.refresh(i, now.answer, a) {
					answers[i] = nil
				} else {
					isOld = true
				}
			case now.refused != nil && time.Now().Before(now.refused.end) && a.SameAs(now.refused.answer):
				answers[i], errs[i] = nil, now.refused.err
			default:
				isNew, isFirst = true, isFirst || now.answer == nil
			}
		}
		switch {
		case isOld: // the standing has changed meanwhile
			continue
		case !isNew || b != nil && !isFirst:
			return errs
		}
		isMine := b == nil
		if isMine {
			if b = e.start(ctx, stands, answers); b == nil {
				continue
			}
		}
		select {
		case <-b.done:
		case <-ctx.Done():
			return errs
		case <-time.After(e.config.SourceTimeout):
			for _, i := range fresh(answers) {
				errs[i] = e.late()
			}
			return errs
		}
		if isMine {
			for i := range answers {
				errs[i] = cmp.Or(errs[i], b.errs[i])
			}
			return errs
		}
	}
}

func (e *editions) late() error { return fmt.Errorf("no index within %v", e.config.SourceTimeout) }

// refresh takes the tools of an answer of supply i with the same definitions as its current answer.
// It reports false if another answer has become current meanwhile.
func (e *editions) refresh(i int, current, a *toolsource.Answer) bool {
	isRepeated := a.Repeats(current)
	isSame := isRepeated || a.SameTools(current)
	if !isSame { // outside the lock
		a.Print()
		current.Print()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.supplies[i]
	if s.answer != current {
		return false
	}
	if !isSame {
		var tools []tool.BaseTool
		tools, s.kept = a.Refreshed(current, s.kept)
		e.tools = slices.Clone(e.tools) // runs have the list
		e.last.put(e.tools, e.last.lots[i].start+len(s.fixed), tools)
	}
	if !isRepeated {
		s.answer = a
	}
	s.asking.Accept(max(s.asking.Accepted(), a.Number))
	return true
}

// start starts to compile answers. It returns nil if another build has started or stands is out of
// date.
func (e *editions) start(ctx context.Context, stands []standing, answers []*toolsource.Answer) *building {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.building != nil {
		return nil
	}
	for i, s := range e.supplies {
		if answers[i] != nil && s.answer != stands[i].answer {
			return nil
		}
	}
	e.building = &building{answers: slices.Clone(answers), done: make(chan struct{})}
	go e.build(context.WithoutCancel(ctx), e.building)
	return e.building
}

// build makes answers current: together, or each by itself if that fails, so that a supply
// whose tools cannot be compiled costs the others nothing.
func (e *editions) build(ctx context.Context, b *building) {
	news, err := fresh(b.answers), e.advance(ctx, b.answers)
	b.errs = make([]error, len(b.answers))
	for _, i := range news {
		b.errs[i] = err
	}
	if err != nil && len(news) > 1 {
		// The smallest answer first, so that it does not wait for a larger answer whose index takes all
		// the time there is.
		size := make([]int, len(b.answers))
		for _, i := range news {
			size[i] = b.answers[i].Size()
		}
		slices.SortStableFunc(news, func(i, j int) int { return cmp.Compare(size[i], size[j]) })
		for _, i := range news {
			alone := make([]*toolsource.Answer, len(b.answers))
			alone[i] = b.answers[i]
			b.errs[i] = e.advance(ctx, alone)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, i := range news {
		e.supplies[i].asking.Drop(b.answers[i]) // it is current now, or of no use
	}
	e.building = nil
	close(b.done)
}

// fresh returns the supplies that have new answers.
func fresh(answers []*toolsource.Answer) (supplies []int) {
	for i, a := range answers {
		if a != nil {
			supplies = append(supplies, i)
		}
	}
	return supplies
}

// advance compiles an edition with new answers and makes it current.
func (e *editions) advance(ctx context.Context, answers []*toolsource.Answer) error {
	limited, cancel := context.WithTimeout(ctx, e.config.SourceTimeout)
	defer cancel()
	start := time.Now()
	// A guard, since Annotate and Index read text from remote servers.
	next, err := foreign.Guard(func() (*edition, error) {
		lots := e.stock(answers)
		for i, l := range lots {
			if answers[i] != nil && len(l.kept) == 0 {
				return nil, toolsource.Problems("no tool can be used:", l.left)
			}
		}
		// No lock, since only builds set last, and they run one at a time.
		return compile(limited, e.config, lots, e.defers, e.last.catalog)
	})
	switch {
	case err == nil:
		e.publish(next, answers, time.Since(start))
	case limited.Err() != nil:
		err = e.late()
		e.refuse(answers, err)
	}
	return err
}

// refuse notes an answer whose index took too long. With several answers it is not known which is
// to blame.
func (e *editions) refuse(answers []*toolsource.Answer, err error) {
	if of := fresh(answers); len(of) == 1 {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.supplies[of[0]].refused = &refusal{answer: answers[of[0]], err: err, end: time.Now().Add(e.config.SourceTimeout)}
	}
}

// publish makes an edition with new answers current.
func (e *editions) publish(next *edition, answers []*toolsource.Answer, took time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := 0; i < len(e.supplies); {
		l := &next.lots[i]
		if newer := l.supply.answer; answers[i] == nil && newer != l.answer { // refreshed meanwhile
			e.mu.Unlock()
			var tools []tool.BaseTool
			tools, l.kept = newer.Refreshed(l.answer, l.kept)
			next.put(next.tools, l.start+len(l.fixed), tools)
			l.answer = newer
			e.mu.Lock()
			i = 0
			continue
		}
		i++
	}
	change := changeOf(e.last.catalog, next.catalog, took)
	var left []Event
	for i := range next.lots {
		l := &next.lots[i]
		if now := &l.supply.standing; answers[i] != nil {
			now.answer, now.kept, now.refused = l.answer, l.kept, nil
			l.asking.Accept(l.answer.Number)
			if l.Name != "" {
				change.Groups = append(change.Groups, l.Name)
			}
		} else {
			now.kept = l.kept
		}
		if len(l.left) > 0 && (answers[i] != nil || !slices.Equal(l.left, l.reported)) {
			left = append(left, l.failure(partSource, toolsource.Problems(l.field(partSource)+": left out or mended:", l.left)))
		}
		l.reported = l.left
	}
	e.unreported = append(append(e.unreported, change), left...)
	if len(next.idle) > 0 {
		e.unreported = append(e.unreported, FailureEvent{Part: "AlwaysLoaded", Err: next.idleError()})
	}
	if len(next.unbounded) > 0 && !slices.Equal(next.unbounded, e.last.unbounded) {
		e.unreported = append(e.unreported, FailureEvent{Part: "Protocol", Err: next.unboundedError()})
	}
	e.last, e.tools = next, next.tools
}

// changeOf describes the change from one catalog to another.
func changeOf(before, after *Catalog, took time.Duration) CatalogEvent {
	e := CatalogEvent{Tools: len(after.docs), Duration: took}
	for name := range after.byName {
		if _, known := before.byName[name]; !known {
			e.Added++
		}
	}
	e.Removed = len(before.docs) + e.Added - len(after.docs)
	return e
}

// stock returns the lots of an edition with new answers.
func (e *editions) stock(answers []*toolsource.Answer) []lot {
	lots := make([]lot, len(e.supplies))
	e.mu.Lock()
	for i, s := range e.supplies {
		lots[i] = lot{supply: s, answer: cmp.Or(answers[i], s.answer)}
	}
	e.mu.Unlock()
	taken := make(map[string]bool)
	for _, s := range e.supplies {
		for _, info := range s.fixed {
			taken[info.Name] = true
		}
	}
	metas := e.config.Protocol.names(e.config.ToolName)
	for i := range lots {
		l := &lots[i]
		l.tools, l.infos = slices.Clone(l.Tools), slices.Clone(l.fixed)
		if l.answer != nil {
			l.admit(&metas, taken)
		}
	}
	return lots
}
