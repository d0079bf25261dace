package toolsearch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/marks"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/recent"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/toolpattern"
	"github.com/eino-toolsearch/toolsearch/internal/toolsource"
	"github.com/eino-toolsearch/toolsearch/internal/wrapped"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Tools come from supplies. DynamicTools and Config.Source are the first supply, and each group is
// another. An edition is the tools of all supplies at a point in time, compiled, with everything
// derived from them. It never changes.

type edition struct {
	catalog  *Catalog
	names    metaNames
	reader   *reader
	lots     []lot // by supply
	tools    []tool.BaseTool
	always   []int      // documents of Config.AlwaysLoaded, in their order
	hideable docset.Set // all documents but always

	announcement func() reminder    // the reminder of the whole edition, made when it is needed
	deferred     []*schema.ToolInfo // the definitions as deferred tools; nil if the mode defers none
	idle         []string           // patterns of Config.AlwaysLoaded that no tool matches
	unbounded    []string           // tools with schemas that calls are not checked against, and why

	filters recent.Set // the lists of FilterTools so far, and what was reported of them
}

// lot is the tools of a supply in an edition: the fixed tools first, then those of an answer.
type lot struct {
	*supply
	answer *toolsource.Answer // nil means none
	kept   []int              // the tools of the answer that the lot has, in its order
	left   []string           // a line for each tool of the answer that was left out or mended
	tools  []tool.BaseTool
	infos  []*schema.ToolInfo // as the model sees them
	start  int                // the document of the first tool
}

// supply is where tools come from.
type supply struct {
	Group                     // without a name: DynamicTools and Source of the Config
	fixed  []*schema.ToolInfo // of Tools, as the model sees them
	asking *toolsource.Source // nil means that there is no Source

	standing // guarded by editions.mu
}

// standing is the state of a supply's Source: its accepted answer and its last refusal.
type standing struct {
	answer   *toolsource.Answer // the current edition has tools of it; nil before the first good answer
	kept     []int              // these tools, as in lot
	refused  *refusal           // the last answer whose index took too long; nil means none
	reported []string           // the last reported lines about tools that were left out or mended
}

// refusal is an answer whose index took too long, and is not built again before end.
type refusal struct {
	answer *toolsource.Answer
	err    error
	end    time.Time
}

// fix reads the definitions of a supply's tools that do not change. A FailureEvent reports
// definitions that providers refuse. A group's definitions are also mended or left out, as those of
// a Source are.
func (s *supply) fix(ctx context.Context, config *Config, events *eventSink) error {
	infos, err := toolsource.Definitions(ctx, s.where(), s.Tools)
	if err != nil {
		return err
	}
	for _, info := range infos {
		s.fixed = append(s.fixed, s.named(info))
	}
	refused := toolsource.Refusals(s.fixed)
	if len(refused) == 0 {
		return nil
	}
	part := s.partOfTools()
	problem := toolsource.Problems(s.field(part)+": providers refuse", refused)
	switch {
	case config.StrictTools:
		return problem
	case s.Name != "":
		s.Tools, s.fixed = toolsource.Mended(s.Tools, s.fixed)
		problem = toolsource.Problems(s.field(part)+": left out or mended:", refused)
	}
	events.emit(ctx, s.failure(part, problem))
	return nil
}

// checkNames checks that no fixed tool has the name of another, or of a meta-tool.
func checkNames(config *Config, supplies []*supply) error {
	type place struct {
		supply *supply
		tool   int
	}
	first := make(map[string]place)
	metas := config.Protocol.names(config.ToolName)
	for _, s := range supplies {
		for i, info := range s.fixed {
			if metas.has(info.Name) {
				return fmt.Errorf("toolsearch: %stool %d has the name of a meta-tool, %q; rename it or set ToolName", s.where(), i, info.Name)
			}
			if other, taken := first[info.Name]; taken {
				return fmt.Errorf("toolsearch: %stool %d: duplicate name %q, tool %d of %s has it too; %s",
					s.where(), i, info.Name, other.tool, other.supply.field(other.supply.partOfTools()), usePrefix)
			}
			first[info.Name] = place{s, i}
		}
	}
	return nil
}

// usePrefix says what to do about tools of one name.
const usePrefix = "to have both, put the tools of each server into a Group with Prefix"

// where begins an error about a tool of the supply.
func (s *supply) where() string {
	if s.Name == "" {
		return ""
	}
	return fmt.Sprintf("group %q: ", s.Name)
}

// partSource is the field of the Config, or of a group, that tools of a Source are from.
const partSource = "Source"

// partOfTools returns the field that the supply's fixed tools are from.
func (s *supply) partOfTools() string {
	if s.Name == "" {
		return "DynamicTools"
	}
	return "Tools"
}

// field returns the name of a field for messages, with its group.
func (s *supply) field(part string) string {
	if s.Name == "" {
		return part
	}
	return fmt.Sprintf("%s of group %q", part, s.Name)
}

// failure returns the event for the failure of a field.
func (s *supply) failure(part string, err error) FailureEvent {
	return FailureEvent{Part: part, Group: s.Name, Err: err}
}

// compile compiles lots. defers means that the mode takes deferred definitions. last is the catalog of
// the edition before, or an empty catalog.
func compile(ctx context.Context, config *Config, lots []lot, defers bool, last *Catalog) (*edition, error) {
	var tools []tool.BaseTool
	var infos []*schema.ToolInfo
	var groups []*Group
	for i := range lots {
		l := &lots[i]
		l.start = len(tools)
		tools, infos = append(tools, l.tools...), append(infos, l.infos...)
		groups = append(groups, slices.Repeat([]*Group{&l.Group}, len(l.tools))...)
	}
	catalog, err := newCatalog(ctx, infos, groups, config, last)
	if err != nil {
		return nil, err
	}
	names := config.Protocol.names(config.ToolName)
	patterns, err := toolpattern.ParseAll(config.AlwaysLoaded)
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
		reader:   &reader{catalog: catalog, countCalls: config.Unloaded == UnloadedLoadAndRun && config.Protocol != ProtocolNativeServer},
		lots:     lots,
		tools:    make([]tool.BaseTool, len(tools)),
		hideable: docset.New(len(catalog.docs)),
	}
	ed.put(ed.tools, 0, tools)
	for i := range catalog.docs {
		doc := &catalog.docs[i]
		if defers {
			ed.deferred = append(ed.deferred, marks.Deferred(doc.Info, names.search))
		}
		if toolpattern.Any(patterns, patternTool(doc)) {
			ed.always = append(ed.always, i)
		} else {
			ed.hideable.Add(i)
		}
		if config.Protocol != ProtocolDispatch { // no other protocol checks arguments
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := schemacheck.Bound(doc.Info); err != nil {
			ed.unbounded = append(ed.unbounded, fmt.Sprintf("%s: %v", naming.Quoted(doc.Name), err))
		}
	}
	for i := range patterns {
		if !catalog.hasMatch(&patterns[i]) {
			ed.idle = append(ed.idle, strconv.Quote(patterns[i].String()))
		}
	}
	ed.announcement = sync.OnceValue(func() reminder {
		return newReminder(catalog, ed.announced(func(int) bool { return true }), config)
	})
	return ed, nil
}

// put puts tools into a list of the edition's tools, starting at the document from.
func (ed *edition) put(list []tool.BaseTool, from int, tools []tool.BaseTool) {
	for i, t := range tools {
		list[from+i] = wrapped.Tool(t, ed.catalog.docs[from+i].Info)
	}
}

// origin returns where a document is from: the supply and its field.
func (ed *edition) origin(doc int) (*supply, string) {
	i := len(ed.lots) - 1
	for ed.lots[i].start > doc {
		i--
	}
	if l := &ed.lots[i]; doc < l.start+len(l.fixed) {
		return l.supply, l.partOfTools()
	}
	return ed.lots[i].supply, partSource
}

func (ed *edition) idleError() error {
	return toolsource.Problems("AlwaysLoaded: no tool matches", ed.idle)
}

func (ed *edition) unboundedError() error {
	return toolsource.Problems("the arguments of these tools will not be checked:", ed.unbounded)
}

// announced returns the documents that the reminder names, of those that sees accepts.
func (ed *edition) announced(sees func(doc int) bool) []int {
	docs := make([]int, 0, len(ed.catalog.docs))
	for doc := range ed.catalog.docs {
		if ed.hideable.Has(doc) && sees(doc) {
			docs = append(docs, doc)
		}
	}
	return docs
}

// admit adds the tools of the answer that can be in a catalog, and notes those that were left out
// or mended. taken are the names that other tools have; admit adds the names of these tools.
func (l *lot) admit(metas *metaNames, taken map[string]bool) {
	var tools []tool.BaseTool
	var infos []*schema.ToolInfo
	tools, infos, l.kept, l.left = l.answer.Admit(taken, l.named, func(info *schema.ToolInfo) error {
		switch {
		case len(info.Desc) > search.MaxDescriptionBytes:
			return fmt.Errorf("a description of %d bytes; at most %d are taken", len(info.Desc), search.MaxDescriptionBytes)
		case metas.has(info.Name):
			return errors.New("a meta-tool has this name")
		case taken[info.Name]:
			return errors.New("another dynamic tool has this name; " + usePrefix)
		default:
			return nil
		}
	})
	l.tools, l.infos = append(l.tools, tools...), append(l.infos, infos...)
}
