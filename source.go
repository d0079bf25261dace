package toolsearch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bytedance/sonic"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/wrapped"
)

// A catalog that changes. An edition is the dynamic tools at a point in time, compiled, with
// everything derived from them. It never changes. Each run asks Config.Source at its start and
// keeps the edition that is current then. A changed answer makes a new edition for this run
// and the next ones.

type edition struct {
	catalog  *Catalog
	names    metaNames
	reader   *reader
	tools    []tool.BaseTool
	prints   [][sha256.Size]byte // of the definitions of Source's tools
	always   []int               // documents of Config.AlwaysLoaded, in their order
	hideable docset.Set          // all documents but always

	announcement func() reminder    // the reminder of the whole edition, made when it is needed
	deferred     []*schema.ToolInfo // the definitions as they are deferred; nil if the mode does not
}

// editions keeps the current edition.
type editions struct {
	config *Config
	teller *teller
	defers bool               // the mode takes deferred definitions
	fixed  []*schema.ToolInfo // of DynamicTools
	lock   chan struct{}      // guards the fields below; a channel, to wait with a context
	last   *edition
	tools  []tool.BaseTool // the newest values of the tools of last: a source may have reconnected
	took   time.Duration   // the time to compile last
}

func newEditions(ctx context.Context, config *Config, teller *teller, defers bool) (*editions, error) {
	infos, err := toolInfos(ctx, config.DynamicTools)
	if err != nil {
		return nil, err
	}
	e := &editions{config: config, teller: teller, defers: defers, fixed: infos, lock: make(chan struct{}, 1)}
	if e.last, err = e.compile(ctx, config.DynamicTools, infos); err != nil {
		return nil, err
	}
	e.tools = e.last.tools
	return e, nil
}

func (e *editions) compile(ctx context.Context, tools []tool.BaseTool, infos []*schema.ToolInfo) (*edition, error) {
	catalog, err := newCatalog(ctx, infos, e.config)
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
	ed.announcement = sync.OnceValue(func() reminder {
		return newReminder(catalog, ed.announced(func(int) bool { return true }), e.config)
	})
	return ed, nil
}

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
// values than the edition's, with the same definitions.
func (e *editions) current(ctx context.Context) (*edition, []tool.BaseTool, error) {
	if e.config.Source == nil {
		return e.last, e.last.tools, nil
	}
	answer, sourceErr := e.ask(ctx)
	select {
	case e.lock <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	before := e.last
	if sourceErr == nil {
		// A guard, since Annotate and Index read texts of a remote server.
		_, sourceErr = foreign.Guard(func() (any, error) { return nil, e.accept(ctx, answer) })
	}
	last, tools, took := e.last, e.tools, e.took
	<-e.lock
	// A listener may do anything, so the lock is released before it is called.
	if sourceErr == nil {
		if last != before && e.teller.listens() {
			e.teller.tell(ctx, changeOf(before.catalog, last.catalog, took))
		}
		return last, tools, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	e.teller.fail(ctx, "Source", fmt.Errorf("toolsearch: Source: %w; the last good catalog of %d tools stays", sourceErr, len(tools)))
	return last, tools, nil
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

// accept makes the answer the current edition, unless it is already.
func (e *editions) accept(ctx context.Context, a *answered) error {
	if slices.Equal(a.prints, e.last.prints) {
		e.tools = wrapAll(a.tools, e.last.catalog)
		return nil
	}
	start := time.Now()
	next, err := e.compile(ctx, a.tools, a.infos)
	if err != nil {
		return err
	}
	next.prints = a.prints
	e.last, e.tools, e.took = next, next.tools, time.Since(start)
	return nil
}

// answered is the tools of DynamicTools and of an answer of Source.
type answered struct {
	tools  []tool.BaseTool
	infos  []*schema.ToolInfo
	prints [][sha256.Size]byte // fingerprints of Source's tools
}

// ask asks Source and returns its tools after DynamicTools. Source's tools are sorted by name:
// a server that lists its tools in another order each time has not changed.
func (e *editions) ask(ctx context.Context) (*answered, error) {
	answer, err := foreign.Guard(func() ([]tool.BaseTool, error) { return e.config.Source(ctx) })
	if err != nil {
		return nil, err
	}
	if len(answer) == 0 {
		return nil, errors.New("it returned no tools")
	}
	infos, err := toolInfos(ctx, answer)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(infos))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(infos[a].Name, infos[b].Name) })
	a := &answered{
		tools:  slices.Clone(e.config.DynamicTools),
		infos:  slices.Clone(e.fixed),
		prints: make([][sha256.Size]byte, len(order)),
	}
	for i, at := range order {
		a.tools, a.infos = append(a.tools, answer[at]), append(a.infos, infos[at])
		a.prints[i] = fingerprint(infos[at])
	}
	return a, nil
}

// fingerprint returns a hash that is equal for equal definitions.
func fingerprint(info *schema.ToolInfo) [sha256.Size]byte {
	definition := struct {
		Name, Description string
		Parameters        any
		Extra             map[string]any
	}{Name: info.Name, Description: info.Desc, Extra: info.Extra}
	// Parameters that cannot be written are left out of the fingerprint.
	if schema, err := foreign.Guard(info.ToJSONSchema); err == nil && schemacheck.IsWritable(schema) {
		definition.Parameters = schema
	}
	text, err := sonic.ConfigStd.Marshal(definition) // ConfigStd sorts the keys of maps
	if err != nil {                                  // Extra cannot be JSON
		definition.Extra = nil
		text, err = sonic.ConfigStd.Marshal(definition)
	}
	if err != nil { // the parameters cannot either, and no model can get them
		definition.Parameters = nil
		text, _ = sonic.ConfigStd.Marshal(definition)
	}
	return sha256.Sum256(text)
}
