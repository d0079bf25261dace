package toolsearch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/anchor"
	"github.com/eino-toolsearch/toolsearch/internal/conversation"
	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search"
)

// run is the state of the middleware during a run of an agent, from its start or resumption to its end. A session is
// the only changing state that runs may share.
type run struct {
	*edition
	config *Config
	mode   mode
	events eventSink
	told   *reportedTexts // the engine's: what is told once

	scope      scope
	tools      []tool.BaseTool // dynamic tools the agent can run
	reminder   reminder
	hidesNone  bool            // few tools: the model sees all of them and no meta-tool
	yielded    map[string]bool // names that belong to other tools of the agent, so the catalog's are hidden
	hasYielded bool            // whether names went to the tools of later middlewares too
	names      metaNames       // the meta-tools', and which default names belong to other tools

	session  *Session           // nil means none
	isAlone  bool               // the session ends with the run
	shared   map[string]bool    // the names the session had at the last model call, as far as this run knows
	listed   []*schema.ToolInfo // the tool list of the last model call
	notebook conversation.Notebook
	effects  sync.Map // text of a meta-tool's result -> effect
	replayed string   // the calls of the last round that the tool list reflects

	coUse   CoUse        // of Config.Usage; nil means none
	related atomic.Value // a map[int]float64 as in evidence, of the last model call

	request       string // the user's last before the first model call
	onceRelevance sync.Once
	relevance     map[int]float64 // of tools to the request, as in evidence
	onceRecalled  sync.Once
	recalled      docset.Set // what the model saw before the interrupt, in a resumed run that begins with calls

	// Under ProtocolAnchored:
	begun      map[string][]anchor.Step // by tool: the steps that the session had when the run began
	planned    map[string]anchor.At     // by tool: where it belonged at the last model call, if the session did not know
	unreported atomic.Bool              // the transport has not reported on the last model call
	moves      atomic.Bool              // the last request could have its definitions in the conversation
	drops      atomic.Bool              // a request asked to leave out thinking
	excess     []int                    // what MaxLoaded leaves out of a list if they cannot move
	hidden     []int                    // loaded tools that MaxLoaded keeps out of the list alone, since the conversation defines them
}

// shown returns a function that says whether the model's next request defines a tool, whatever the calls of its last
// message find. Nil means that results do not depend on it, as those of Eino's own search, also as the provider's search
// tool, and of patterns.
func (r *run) shown() func(doc int) bool {
	switch {
	case !r.isInAgent(),
		r.scope.takesPatterns && r.mode != dispatchMode,
		r.config.Index == nil && (r.config.Protocol == ProtocolToolSearch || r.mode.searches()):
		return nil
	}
	return r.seen().Has
}

// seen returns the tools that the last model call defines. A result in the history defines a tool under native protocols.
func (r *run) seen() docset.Set {
	seen := r.notebook.Defined()
	if r.mode.isNative() {
		seen = r.notebook.Loaded()
	}
	if seen == nil {
		return r.recalled
	}
	return seen
}

// remember keeps what the calls of the model's message depend on, since they may run after an interrupt, in another process:
// the user's request, the ids of the calls, and the names of the tools that the model sees.
func (r *run) remember(ctx context.Context, calls []string) {
	names := toolNames(r.infos(slices.Collect(r.seen().All())))
	names = slices.Insert(names, 0, naming.CutWords(r.request, search.MaxQueryBytes), strings.Join(calls, "\n"))
	_ = adk.SetRunLocalValue(ctx, "toolsearch."+r.names.search, names) // it fails without a Runner, which alone resumes
}

// recall recalls what remember kept, in a resumed run that begins with calls. An agent within a call, without a Runner,
// may have kept its own in the same place.
func (r *run) recall(ctx context.Context) {
	r.onceRecalled.Do(func() {
		value, _, _ := adk.GetRunLocalValue(ctx, "toolsearch."+r.names.search)
		names, _ := value.([]string)
		if len(names) > 1 && r.seen() == nil && slices.Contains(strings.Split(names[1], "\n"), compose.GetToolCallID(ctx)) {
			r.request, r.recalled = names[0], docset.New(len(r.scope.docs), r.docsNamed(names[2:])...)
		}
	})
}

// sendsDefinitions reports whether a search sends the definitions of its matches. The provider's own search tool with an
// unset Index is Eino's, bit for bit.
func (r *run) sendsDefinitions() bool {
	return r.isInAgent() && !r.scope.takesPatterns &&
		(r.config.Protocol == ProtocolRanked || r.mode != textMode && (r.config.Index != nil || !r.mode.searches()))
}

func (r *run) countsCalls() bool {
	return r.config.Unloaded == UnloadedLoadAndRun && r.mode != serverMode
}

// owns returns the dynamic tool of that name, unless another tool of the agent has the name.
func (r *run) owns(name string) (doc int, ok bool) {
	doc, ok = r.scope.byName[name]
	return doc, ok && !r.yielded[name]
}

// recordOwnTool records that the agent has its own tool under one of our default names, such as add_tool.
func (r *run) recordOwnTool(name string) {
	if slices.Contains(loaderNames, name) && !slices.Contains(r.names.taken, name) && !r.names.has(name) && !slices.Contains(r.names.agents, name) {
		r.names.agents = append(slices.Clip(r.names.agents), name)
	}
}

// defined returns what the conversation defines of a tool under ProtocolAnchored, or nil.
func (r *run) defined(doc int) *anchored {
	if r.mode != anchoredMode {
		return nil
	}
	name := r.scope.docs[doc].Name
	definitions, _ := r.session.definitions()
	if at := slices.IndexFunc(definitions, func(a anchored) bool { return a.Name == name }); at >= 0 {
		return &definitions[at]
	}
	return nil
}

// docsNamed returns the documents of names. It skips names that the catalog does not have.
func (r *run) docsNamed(names []string) (docs []int) {
	for _, name := range names {
		if doc, ok := r.scope.byName[name]; ok {
			docs = append(docs, doc)
		}
	}
	return docs
}

func (r *run) infos(docs []int) []*schema.ToolInfo {
	list := make([]*schema.ToolInfo, 0, len(docs))
	for _, doc := range docs {
		if r.scope.has(doc) {
			list = append(list, r.scope.docs[doc].Info)
		}
	}
	return list
}

// isInAgent reports whether an agent runs, which reads the notebook. The tool of a Catalog needs none.
func (r *run) isInAgent() bool { return r.edition != nil }

func (r *run) recordEffect(ctx context.Context, e conversation.Effect) {
	r.notebook.RecordEffect(compose.GetToolCallID(ctx), e)
}

// effect is the documents that the result of a meta-tool loads, unloads and defines.
type effect struct{ loads, unloads, defines []int }

// effectOf returns the effect of a meta-tool's result, and remembers it, since every model call reads the text again.
func (r *run) effectOf(result *resultView) effect {
	if result.native {
		return effect{loads: r.docsNamed(toolNames(result.found))}
	}
	if known, ok := r.effects.Load(result.text); ok {
		return known.(effect)
	}
	loads, unloads, defines := readResult(result.text)
	e := effect{r.docsNamed(loads), r.docsNamed(unloads), r.docsNamed(defines)}
	r.effects.Store(result.text, e)
	return e
}

// limited returns a context that ends when the searches since the last model call have taken Config.SearchTimeout
// together. Calls of one message may run at the same time.
func (r *run) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if !r.isInAgent() || r.scope.isQuick {
		return r.scope.limited(ctx)
	}
	return context.WithDeadline(ctx, r.notebook.Deadline(r.config.Limits.SearchTimeout))
}

// relevances returns how relevant tools are to the user's last request before the run's first model call, as in evidence.
// It is worked out once, by BM25 alone, which takes no time worth mentioning and asks nobody.
func (r *run) relevances(ctx context.Context) map[int]float64 {
	if r.request == "" || r.scope.words == nil {
		return nil
	}
	r.onceRelevance.Do(func() {
		found, _ := r.scope.askFor(ctx, r.scope.words, r.request, evidencePool) // it fails only if ctx is done
		best := 0.0
		r.relevance = make(map[int]float64)
		for _, m := range found.matches {
			if m.Score < docset.Named {
				best = cmp.Or(best, m.Score)
			}
			if share := min(1, m.Score/best); share >= farRatio { // 1 for a tool that the request names
				r.relevance[r.scope.byName[m.Info.Name]] = share
			}
		}
	})
	return r.relevance
}

// recordCalled records the tools that the conversation has called, for what other conversations call together with them.
// Eino's own answers, and patterns, do not depend on it.
func (r *run) recordCalled(ctx context.Context, called []int) {
	if r.coUse == nil || len(called) == 0 || r.config.indexer() == nil || r.scope.takesPatterns {
		return
	}
	var names []string
	for _, doc := range slices.Backward(called) {
		if name := r.scope.docs[doc].Name; r.scope.has(doc) && len(names) < maxCalled && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	strengths, err := foreign.Guard(func() (map[string]float64, error) { return r.coUse(names, r.scope.hasTool), nil })
	if err != nil {
		r.events.fail(ctx, PartUsage, fmt.Errorf("toolsearch: Usage: %w", err))
	}
	r.related.Store(r.scope.strengths(strengths))
}
