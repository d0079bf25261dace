package toolsearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/wrapped"
)

// A catalog that changes. An edition is the dynamic tools at a point in time, compiled, with
// everything derived from them. It never changes. Each run asks Config.Source at its start and
// keeps the edition that is current then. A changed answer makes a new edition for this run
// and the next ones:
//
//	ask -> answer -> the same as before? -> admit -> compile -> the current edition
//
// Source and the code of an index may fail, hang, or ignore their context. So each of them runs
// on a goroutine of its own, a run waits no longer than Config.SourceTimeout, and no lock is
// held meanwhile. At most one edition is compiled at a time. The other runs go on with the last
// good edition, or wait if there is none yet.

type edition struct {
	catalog  *Catalog
	names    metaNames
	reader   *reader
	tools    []tool.BaseTool
	always   []int      // documents of Config.AlwaysLoaded, in their order
	hideable docset.Set // all documents but always

	announcement func() reminder    // the reminder of the whole edition, made when it is needed
	deferred     []*schema.ToolInfo // the definitions as they are deferred; nil if the mode does not
	idle         []string           // patterns of Config.AlwaysLoaded that no tool matches
}

// editions keeps the current edition.
type editions struct {
	config *Config
	teller *teller
	defers bool               // the mode takes deferred definitions
	fixed  []*schema.ToolInfo // of DynamicTools
	asking foreign.Gate       // how many runs ask Source at once

	mu       sync.Mutex // guards the fields below; held for moments
	last     *edition
	tools    []tool.BaseTool // the newest values of the tools of last: a source may have reconnected
	answer   *sourceAnswer   // the answer that last is made of; nil before the first good answer
	asked    int             // number of answers asked for
	newest   int             // the number of the newest answer that was accepted
	building *building       // nil means that no edition is being compiled
	failed   *building       // the last one that took too long
	untold   []Event         // what no run has told yet
}

// maxAsking bounds the runs that ask Source at once, and so what a Source that hangs can pile up.
const maxAsking = 64

// building is an edition that is being compiled.
type building struct {
	answer *sourceAnswer
	done   chan struct{}

	err error     // set when done; nil if the edition is current now
	end time.Time // of one that took too long: when it may be tried again
}

func newEditions(ctx context.Context, config *Config, teller *teller, defers bool) (*editions, error) {
	infos, err := toolInfos(ctx, config.DynamicTools)
	if err != nil {
		return nil, err
	}
	e := &editions{config: config, teller: teller, defers: defers, fixed: infos, asking: make(foreign.Gate, maxAsking)}
	if refused := refusals(infos); len(refused) > 0 {
		err := problems("DynamicTools: providers refuse", refused)
		if config.StrictTools {
			return nil, err
		}
		teller.fail(ctx, "DynamicTools", err)
	}
	if e.last, err = e.compile(ctx, config.DynamicTools, infos); err != nil {
		return nil, err
	}
	e.tools = e.last.tools
	if config.Source == nil && len(e.last.idle) > 0 { // else its tools may match
		e.teller.fail(ctx, "AlwaysLoaded", e.last.idleError())
	}
	return e, nil
}

// refusals returns a line for every definition that providers refuse.
func refusals(infos []*schema.ToolInfo) (lines []string) {
	for i, info := range infos {
		if err := schemacheck.Refusal(info); err != nil {
			lines = append(lines, fmt.Sprintf("tool %d, %s: %v", i, quoted(info.Name), err))
		}
	}
	return lines
}

func quoted(name string) string { return strconv.Quote(naming.Cut(name, naming.MaxBytes)) }

// Bounds on an error about tools.
const (
	maxProblems     = 10 // tools that it names
	maxProblemBytes = 500
)

func problems(what string, lines []string) error {
	count := ""
	if len(lines) > maxProblems {
		count = fmt.Sprintf("; and %d more", len(lines)-maxProblems)
	}
	return fmt.Errorf("toolsearch: %s %s%s", what, strings.Join(lines[:min(len(lines), maxProblems)], "; "), count)
}

func (e *editions) compile(ctx context.Context, tools []tool.BaseTool, infos []*schema.ToolInfo) (*edition, error) {
	last := &Catalog{}
	if e.last != nil { // needs no lock, since only what was compiled before sets it
		last = e.last.catalog
	}
	catalog, err := newCatalog(ctx, infos, e.config, last)
	if err != nil {
		return nil, err
	}
	names := e.config.Protocol.names(e.config.ToolName)
	for _, name := range names.all() {
		if doc, clash := catalog.byName[name]; clash {
			return nil, fmt.Errorf("toolsearch: tool %d has the name of a meta-tool, %q; rename it or set ToolName", doc, name)
		}
	}
	patterns, err := parseToolPatterns(e.config.AlwaysLoaded)
	if err != nil {
		return nil, fmt.Errorf("toolsearch: AlwaysLoaded: %w", err)
	}
	for _, name := range loaderNames {
		if _, dynamic := catalog.byName[name]; dynamic {
			names.taken = append(names.taken, name)
		}
	}
	ed := &edition{
		catalog:  catalog,
		names:    names,
		reader:   &reader{catalog: catalog, countCalls: e.config.Unloaded == UnloadedLoadAndRun && e.config.Protocol != ProtocolNativeServer},
		tools:    wrapAll(tools, catalog),
		hideable: docset.New(len(catalog.docs)),
	}
	if e.defers {
		ed.deferred = deferredCopies(catalog, names.search)
	}
	for i := range catalog.docs {
		if matchesAny(patterns, &catalog.docs[i]) {
			ed.always = append(ed.always, i)
		} else {
			ed.hideable.Add(i)
		}
	}
	for i := range patterns {
		if !slices.ContainsFunc(catalog.docs, func(doc Document) bool { return patterns[i].matches(&doc) }) {
			ed.idle = append(ed.idle, strconv.Quote(patterns[i].text))
		}
	}
	ed.announcement = sync.OnceValue(func() reminder {
		return newReminder(catalog, ed.announced(func(int) bool { return true }), e.config)
	})
	return ed, nil
}

func (ed *edition) idleError() error { return problems("AlwaysLoaded: no tool matches", ed.idle) }

// announced returns the documents that the reminder names, if sees accepts them.
func (ed *edition) announced(sees func(doc int) bool) []int {
	docs := make([]int, 0, len(ed.catalog.docs))
	for doc := range ed.catalog.docs {
		if ed.hideable.Has(doc) && sees(doc) {
			docs = append(docs, doc)
		}
	}
	return docs
}

func wrapAll(tools []tool.BaseTool, c *Catalog) []tool.BaseTool {
	list := make([]tool.BaseTool, len(tools))
	for i, t := range tools {
		list[i] = wrapped.Tool(t, c.docs[i].Info)
	}
	return list
}

// current returns the edition for a run that starts now, and its tools: these may be newer
// values than the edition's, with the same definitions. The error is that of the context.
func (e *editions) current(ctx context.Context) (*edition, []tool.BaseTool, error) {
	if e.config.Source == nil {
		return e.last, e.last.tools, nil
	}
	a, err := e.ask(ctx)
	if err == nil {
		err = e.accept(ctx, a)
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	e.mu.Lock()
	last, tools, untold := e.last, e.tools, e.untold
	e.untold = nil
	e.mu.Unlock()
	// A listener may do anything, so the lock is released before it is called.
	for _, event := range untold {
		e.teller.tell(ctx, event)
	}
	if err != nil {
		e.teller.fail(ctx, "Source", fmt.Errorf("toolsearch: Source: %w; the last good catalog of %d tools stays", err, len(tools)))
	}
	return last, tools, nil
}

// ask asks Source.
func (e *editions) ask(ctx context.Context) (*sourceAnswer, error) {
	e.mu.Lock()
	e.asked++
	a, last := &sourceAnswer{number: e.asked}, e.answer
	e.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, e.config.SourceTimeout)
	defer cancel()
	_, err := foreign.Through(limited, e.asking, func(ctx context.Context) (any, error) {
		tools, err := e.config.Source(ctx)
		if err != nil {
			return nil, err
		}
		if !a.repeats(ctx, tools, last) {
			a.read(ctx, tools)
		}
		return nil, nil
	})
	switch {
	case ctx.Err() == nil && limited.Err() != nil:
		return nil, fmt.Errorf("no answer within %v", e.config.SourceTimeout)
	case err != nil:
		return nil, err
	case len(a.tools) == 0:
		return nil, errors.New("it returned no tools")
	}
	return a, nil
}

// accept makes an answer the current edition, unless it is already. It waits for an edition that
// is being compiled if there is no good edition yet.
func (e *editions) accept(ctx context.Context, a *sourceAnswer) error {
	for {
		e.mu.Lock()
		current, failed, b, isStale := e.answer, e.failed, e.building, a.number < e.newest
		e.mu.Unlock()
		switch {
		case isStale: // a newer answer was faster
			return nil
		case current != nil && a.sameAs(current):
			if e.refresh(current, a) {
				return nil
			}
			continue
		case failed != nil && time.Now().Before(failed.end) && a.sameAs(failed.answer):
			return failed.err
		case b != nil && current != nil:
			return nil
		}
		isMine := b == nil
		if isMine {
			if b = e.start(ctx, current, a); b == nil {
				continue
			}
		}
		wait := time.NewTimer(e.config.SourceTimeout)
		select {
		case <-b.done:
			wait.Stop()
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		case <-wait.C:
			return e.late()
		}
		if isMine {
			return b.err
		}
	}
}

func (e *editions) late() error { return fmt.Errorf("no index within %v", e.config.SourceTimeout) }

// refresh takes the tools of an answer with the same definitions as the current answer. It
// reports false if another answer is current meanwhile.
func (e *editions) refresh(current, a *sourceAnswer) bool {
	isSame := &a.tools[0] == &current.tools[0] || a.sameTools(current)
	if !isSame { // outside the lock
		a.once.Do(a.print)
		current.once.Do(current.print)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.answer != current {
		return false
	}
	if a.kept = current.kept; !isSame {
		var tools []tool.BaseTool
		tools, a.kept = a.standIns(current)
		e.tools = wrapAll(slices.Concat(e.config.DynamicTools, tools), e.last.catalog)
	}
	e.answer, e.newest = a, max(e.newest, a.number)
	return true
}

// start starts to compile an answer. It returns nil if the situation has changed meanwhile.
func (e *editions) start(ctx context.Context, current, a *sourceAnswer) *building {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.building != nil || e.answer != current {
		return nil
	}
	e.building = &building{answer: a, done: make(chan struct{})}
	go e.build(context.WithoutCancel(ctx), e.building)
	return e.building
}

// build compiles an edition and makes it the current edition.
func (e *editions) build(ctx context.Context, b *building) {
	limited, cancel := context.WithTimeout(ctx, e.config.SourceTimeout)
	defer cancel()
	start := time.Now()
	var left []string
	// A guard, since Annotate and Index read texts of a remote server.
	next, err := foreign.Guard(func() (*edition, error) {
		tools, infos, why := b.answer.admit(e)
		if left = why; len(tools) == 0 {
			return nil, problems("no tool can be used:", left)
		}
		return e.compile(limited, slices.Concat(e.config.DynamicTools, tools), slices.Concat(e.fixed, infos))
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.building, b.err = nil, err
	switch {
	case err == nil:
		e.untold = append(e.untold, changeOf(e.last.catalog, next.catalog, time.Since(start)))
		if len(left) > 0 {
			e.untold = append(e.untold, FailureEvent{Part: "Source", Err: problems("Source: left out or mended:", left)})
		}
		if len(next.idle) > 0 {
			e.untold = append(e.untold, FailureEvent{Part: "AlwaysLoaded", Err: next.idleError()})
		}
		e.last, e.tools, e.answer, e.newest, e.failed = next, next.tools, b.answer, b.answer.number, nil
	case limited.Err() != nil:
		b.err, b.end = e.late(), time.Now().Add(e.config.SourceTimeout)
		e.failed = b
	}
	close(b.done)
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

// sourceAnswer is an answer of Source.
type sourceAnswer struct {
	number int // answers asked for later have greater numbers
	tools  []tool.BaseTool
	infos  []*schema.ToolInfo // nil for a tool without
	seen   []definitionSeen
	kept   []int // the tools that the edition has, in its order

	once   sync.Once
	order  []int               // the tools by name: a server that lists them in another order has not changed
	prints []schemacheck.Print // in that order
}

// definitionSeen is what a definition was when it was read. A later change of what its pointer
// points to is not seen.
type definitionSeen struct {
	info       *schema.ToolInfo
	name, desc string
	parameters *schema.ParamsOneOf
	problem    string // why there is no definition; "" if there is one
}

// repeats reports whether an answer has the same tools as the last answer, with the same
// definitions. The answer then takes over what was read of the last answer.
func (a *sourceAnswer) repeats(ctx context.Context, tools []tool.BaseTool, last *sourceAnswer) bool {
	if last == nil || len(tools) != len(last.tools) {
		return false
	}
	for i, t := range tools {
		seen := &last.seen[i]
		if seen.info == nil || !foreign.AreSame(t, last.tools[i]) {
			return false
		}
		info, err := infoOf(ctx, t)
		if err != nil || info != seen.info || info.Name != seen.name || info.Desc != seen.desc || info.ParamsOneOf != seen.parameters {
			return false
		}
	}
	a.tools, a.infos, a.seen = last.tools, last.infos, last.seen
	return true
}

// read asks the tools for their definitions.
func (a *sourceAnswer) read(ctx context.Context, tools []tool.BaseTool) {
	a.tools = slices.Clone(tools)
	a.infos, a.seen = make([]*schema.ToolInfo, len(tools)), make([]definitionSeen, len(tools))
	for i, t := range a.tools {
		info, err := usableInfo(ctx, t)
		if err != nil {
			a.seen[i].problem = naming.Cut(err.Error(), maxProblemBytes)
			continue
		}
		a.infos[i], a.seen[i] = info, definitionSeen{info: info, name: info.Name, desc: info.Desc, parameters: info.ParamsOneOf}
	}
}

// sameAs reports whether two answers have the same definitions. Definitions that are the same
// values are not read.
func (a *sourceAnswer) sameAs(b *sourceAnswer) bool {
	if len(a.tools) != len(b.tools) {
		return false
	}
	if len(a.seen) > 0 && &a.seen[0] == &b.seen[0] || slices.Equal(a.seen, b.seen) {
		return true
	}
	a.once.Do(a.print)
	b.once.Do(b.print)
	return slices.Equal(a.prints, b.prints)
}

// print sorts the tools by name and hashes their definitions.
func (a *sourceAnswer) print() {
	a.order, a.prints = make([]int, len(a.tools)), make([]schemacheck.Print, len(a.tools))
	for i := range a.order {
		a.order[i] = i
	}
	slices.SortStableFunc(a.order, func(i, j int) int { return strings.Compare(a.seen[i].name, a.seen[j].name) })
	for i, at := range a.order {
		seen := &a.seen[at]
		definition := schema.ToolInfo{Name: seen.name, Desc: cmp.Or(seen.problem, seen.desc), ParamsOneOf: seen.parameters}
		if a.infos[at] != nil {
			definition.Extra = a.infos[at].Extra
		}
		a.prints[i] = schemacheck.PrintOf(&definition)
	}
}

// sameTools reports whether two answers with the same definitions have the same tools in the same
// order.
func (a *sourceAnswer) sameTools(b *sourceAnswer) bool {
	return slices.EqualFunc(a.tools, b.tools, foreign.AreSame)
}

// standIns returns the tools in the places of those that the edition has of another answer with
// the same definitions. Both answers are printed.
func (a *sourceAnswer) standIns(b *sourceAnswer) (tools []tool.BaseTool, kept []int) {
	at := make([]int, len(a.order))
	for i := range a.order {
		at[b.order[i]] = a.order[i]
	}
	for _, before := range b.kept {
		kept = append(kept, at[before])
		tools = append(tools, a.tools[at[before]])
	}
	return tools, kept
}

// admit returns the tools of an answer that can be in a catalog, by name, and a line for every
// tool that was left out or mended. One bad tool does not cost the others of its answer.
func (a *sourceAnswer) admit(e *editions) (tools []tool.BaseTool, infos []*schema.ToolInfo, left []string) {
	a.once.Do(a.print)
	meta := e.config.Protocol.names(e.config.ToolName)
	a.kept = nil
	taken := make(map[string]bool, len(a.tools)+len(e.fixed))
	for _, info := range e.fixed {
		taken[info.Name] = true
	}
	for _, at := range a.order {
		info, err := a.infos[at], error(nil)
		switch {
		case info == nil:
			err = errors.New(a.seen[at].problem)
		case !schemacheck.IsValidName(info.Name):
			err = schemacheck.Refusal(info)
		case meta.has(info.Name):
			err = errors.New("a meta-tool has this name")
		case taken[info.Name]:
			err = errors.New("another dynamic tool has this name")
		default:
			var refusal error
			if info, refusal = schemacheck.Mended(info); info == nil {
				err = refusal
			} else if refusal != nil {
				left = append(left, fmt.Sprintf("tool %d, %s: mended: %v", at, quoted(info.Name), refusal))
			}
		}
		if err != nil {
			left = append(left, fmt.Sprintf("tool %d, %s: %v", at, quoted(a.seen[at].name), err))
			continue
		}
		taken[info.Name] = true
		a.kept = append(a.kept, at)
		tools, infos = append(tools, a.tools[at]), append(infos, info)
	}
	return tools, infos, left
}
