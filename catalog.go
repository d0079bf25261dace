package toolsearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/sources"
	"github.com/eino-toolsearch/toolsearch/internal/tokens"
	"github.com/eino-toolsearch/toolsearch/internal/wording"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Tools, compiled for search:
//
//	tools -> their infos -> documents, parameters flattened -> the index of a searcher
//
// The middleware has a catalog for each edition (source.go), and NewCatalog builds one without a middleware. The end of
// this file decides who may see which tool.

// A Catalog is a set of tools compiled for search. It never changes and is safe for concurrent use.
type Catalog struct {
	docs     []search.Document
	byName   map[string]int   // name -> index into docs, the first of a name; only a catalog for a Filter has others
	grouped  docset.Set       // the documents whose namespace is the name of their Group
	byFolded map[string][]int // folded name, as it is and as the reminder shows it -> indices into docs
	prompt   *wording.Texts

	searcher    search.Searcher
	fallback    search.Searcher          // nil means none
	preselector search.Searcher          // for whole sentences of users
	words       search.Searcher          // for the evidence of the user's request: BM25, or that of a Hybrid; nil means none
	narrower    *search.Narrower         // it also has Keyword, for when searchers fail
	names       func() *naming.NearIndex // for suggestions; built at the first name that is not found

	restrictions *docset.Recent[docset.Set, *restrictions] // for requests that may not see all tools

	schemas  schemacheck.Checker // of arguments, for calls that are dispatched
	measured []atomic.Int64      // the tokens of each definition plus one; 0 means not measured yet

	maxResults, maxResultsCap int
	isQuick                   bool                 // Keyword alone searches
	isMixed                   bool                 // not all tools are of one namespace
	takesPatterns             bool                 // the searcher reads texts as patterns, and so cannot rank a user's message
	copies                    func() map[int][]int // by document: those that differ in their server alone
	evidence                  evidence             // by CatalogOptions
}

// CatalogOptions configure a Catalog, as in a Config. The zero value of each is a good default.
type CatalogOptions struct {
	Annotate   func(*schema.ToolInfo) Annotation // nil means the function Annotate
	Index      Indexer                           // nil means Keyword
	Fallback   Indexer                           // nil means none
	MaxResults int                               // zero means DefaultMaxResults
	Related    map[string]float64                // what a CoUse returns, for an Index that ranks words; nil means nothing
}

// NewCatalog compiles tools for search. Nil options mean the defaults. It fails as NewTyped does on a tool that is not
// usable.
func NewCatalog(ctx context.Context, tools []tool.BaseTool, options *CatalogOptions) (*Catalog, error) {
	infos, err := sources.Definitions(ctx, "", tools)
	if err != nil {
		return nil, err
	}
	return NewCatalogFromInfos(ctx, infos, options)
}

// NewCatalogFromInfos is NewCatalog for definitions without their tools.
func NewCatalogFromInfos(ctx context.Context, infos []*schema.ToolInfo, options *CatalogOptions) (*Catalog, error) {
	options = cmp.Or(options, &CatalogOptions{})
	config, err := (&Config{
		Annotate: options.Annotate, Index: options.Index, Fallback: options.Fallback, MaxResults: options.MaxResults,
		Reminder: ReminderConfig{Disabled: true},
	}).withDefaults()
	if err = cmp.Or(err, naming.CheckDistinct(infos)); err != nil {
		return nil, err
	}
	c, err := newCatalog(ctx, infos, nil, nil, config, &Catalog{})
	if err == nil && options.Index != nil && !c.takesPatterns {
		c.evidence.use = c.all().strengths(options.Related)
	}
	return c, err
}

// newCatalog compiles infos as the configuration says. own are the tools' own names, and groups their groups; nil means
// none. last is the catalog before, of the same configuration, or an empty catalog.
func newCatalog(
	ctx context.Context, infos []*schema.ToolInfo, own []string, groups []*Group, config *Config, last *Catalog,
) (*Catalog, error) {
	prompt, err := config.prompt()
	if err != nil {
		return nil, err
	}
	c := &Catalog{
		docs:          make([]search.Document, len(infos)),
		byName:        make(map[string]int, len(infos)),
		grouped:       docset.New(len(infos)),
		byFolded:      make(map[string][]int, len(infos)),
		measured:      make([]atomic.Int64, len(infos)),
		restrictions:  docset.NewRecent[docset.Set, *restrictions](maxRestrictions, slices.Equal),
		prompt:        prompt,
		maxResults:    config.MaxResults,
		maxResultsCap: config.Limits.MaxResultsCap,
	}
	// Parameters are the costliest part of a document, and the default searcher does not read them.
	indexer := config.indexer()
	c.isQuick = indexer == nil && config.Fallback == nil
	wantParameters := !c.isQuick || config.Preselect > 0
	for i, info := range infos {
		if _, taken := c.byName[info.Name]; !taken {
			c.byName[info.Name] = i
		}
		c.docs[i] = search.DocumentOf(info, config.Annotate)
		if wantParameters {
			c.docs[i].Parameters = search.ParametersOf(info)
		}
		if own != nil && !strings.HasSuffix(info.Name, own[i]) {
			c.docs[i].Original = own[i]
		}
		for _, name := range [...]string{info.Name, naming.Safe(info.Name), cmp.Or(c.docs[i].Original, info.Name)} {
			folded := naming.Fold(name)
			if list := c.byFolded[folded]; len(list) == 0 || list[len(list)-1] != i {
				c.byFolded[folded] = append(list, i)
			}
		}
		if groups != nil && groups[i].Name != "" {
			c.docs[i].Namespace, c.docs[i].NamespaceDescription = groups[i].Name, groups[i].Description
			c.grouped.Add(i)
		}
	}
	c.isMixed = slices.ContainsFunc(c.docs, func(d search.Document) bool { return d.Namespace != c.docs[0].Namespace })
	c.copies = sync.OnceValue(func() map[int][]int { return copiesOf(c.docs) })
	c.names = sync.OnceValue(func() *naming.NearIndex { return naming.NewNearIndex(toolNames(infos)) })
	if c.searcher, err = c.searcherOf(ctx, indexer, last.searcher); err != nil {
		return nil, fmt.Errorf("toolsearch: building the index: %w", err)
	}
	if config.Fallback != nil {
		if c.fallback, err = c.searcherOf(ctx, config.Fallback, last.fallback); err != nil {
			return nil, fmt.Errorf("toolsearch: building the fallback index: %w", err)
		}
	}
	if reader, ok := c.searcher.(search.QueryReader); ok {
		q, err := foreign.Guard(func() (search.Query, error) { return reader.ReadQuery("word"), nil })
		c.takesPatterns = err == nil && len(q.Keywords) == 0
	}
	if c.preselector = c.searcher; config.Preselect > 0 && (config.Index == nil || c.takesPatterns) {
		if c.preselector, err = c.searcherOf(ctx, search.BM25, nil); err != nil {
			return nil, fmt.Errorf("toolsearch: building the index for Preselect: %w", err)
		}
	}
	if s, ok := c.searcher.(interface{ ByWords() search.Searcher }); ok {
		c.words = s.ByWords()
	}
	c.narrower = search.NewNarrower(c.docs, c.searcher, c.fallback)
	return c, nil
}

// searcherOf builds a searcher. last is the same searcher of the catalog before; nil means none.
func (c *Catalog) searcherOf(ctx context.Context, indexer search.Indexer, last search.Searcher) (search.Searcher, error) {
	if indexer == nil {
		return search.Keyword(context.Background(), c.docs)
	}
	if rebuilder, ok := last.(search.Rebuilder); ok {
		indexer = rebuilder.Rebuild
	}
	// A copy, since nothing stops an Indexer from writing to what it is given.
	docs := slices.Clone(c.docs)
	searcher, err := foreign.Guard(func() (search.Searcher, error) { return indexer(ctx, docs) })
	if err == nil && foreign.IsNil(searcher) {
		err = errors.New("the Indexer returned no Searcher")
	}
	return searcher, err
}

// Search answers a query: keywords or "select:a,b". It returns at most maxResults tools, and no more than
// DefaultMaxResultsCap or CatalogOptions.MaxResults; zero means the latter, and a selection has no limit. After
// DefaultSearchTimeout, unless ctx has a deadline of its own, it returns what was found by then, with a Message. It
// returns an error only if ctx is done.
func (c *Catalog) Search(ctx context.Context, query string, maxResults int) (*Result, error) {
	limited, cancel := c.limited(ctx)
	defer cancel()
	result, _, err := c.all().find(ctx, limited, []string{query}, "", maxResults)
	return result, err
}

func (c *Catalog) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has || c.isQuick {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, DefaultSearchTimeout)
}

// tokensOf estimates the tokens of a document's definition, once. Only events need that.
func (c *Catalog) tokensOf(doc int) int {
	if kept := c.measured[doc].Load(); kept > 0 {
		return int(kept) - 1
	}
	size := tokensOf(c.docs[doc].Info)
	c.measured[doc].Store(int64(size) + 1)
	return size
}

// tokensOf estimates the tokens of a definition in a request.
func tokensOf(info *schema.ToolInfo) int {
	return tokens.OfTool(info.Name, info.Desc, schemacheck.JSON(info))
}

// Len returns the number of tools in the catalog.
func (c *Catalog) Len() int { return len(c.docs) }

func (c scope) docNamed(name string) (doc int, ok bool) {
	doc, ok = c.byName[name]
	return doc, ok && c.has(doc)
}

func (c scope) hasTool(name string) bool { _, ok := c.docNamed(name); return ok }

// lookup finds a tool by its exact name, or as the only tool whose name is that in another case, with "-" for "_", or
// as the reminder shows it.
func (c scope) lookup(name string) (doc int, ok bool) {
	if doc, ok = c.docNamed(name); ok {
		return doc, true
	}
	found := slices.DeleteFunc(slices.Clone(c.byFolded[naming.Fold(name)]), func(doc int) bool { return !c.has(doc) })
	if len(found) != 1 {
		return 0, false
	}
	return found[0], true
}

// Explain says how the tool of that name scores for a keyword query, or which demand of the query it does not meet. It
// fails if there is no such tool, if the query selects by name, or if the catalog's searcher is not an Explainer.
func (c *Catalog) Explain(ctx context.Context, query, name string) (search.Explanation, error) {
	if _, isSelection := parseSelect(query); isSelection {
		return search.Explanation{}, errors.New("toolsearch: a selection by name has no score to explain")
	}
	doc, ok := c.all().lookup(name)
	if !ok {
		return search.Explanation{}, fmt.Errorf("toolsearch: no tool named %q", name)
	}
	explainer, ok := c.searcher.(search.Explainer)
	if !ok {
		return search.Explanation{}, fmt.Errorf("toolsearch: %T does not explain its scores", c.searcher)
	}
	q := c.narrower.Narrow(c.narrower.Read(c.searcher, query, "", nil), nil)
	if !q.Allows(doc) {
		why := search.Contribution{Detail: "a required word is missing"}
		if q.Namespace != "" && naming.Fold(q.Namespace) != naming.Fold(c.docs[doc].Namespace) {
			why = search.Contribution{Term: q.Namespace, Field: "namespace", Detail: "another namespace was asked for"}
		}
		return search.Explanation{Parts: []search.Contribution{why}}, ctx.Err()
	}
	e, err := explainer.Explain(ctx, q, doc)
	if err == nil && c.evidence.use[doc] > 0 {
		q.Limit = evidencePool
		ranked, _ := c.all().ask(ctx, c.searcher, q) // it has just answered
		if i := slices.IndexFunc(ranked.matches, func(m Match) bool { return m.Info.Name == c.docs[doc].Name }); i >= 0 {
			use := search.Contribution{Field: "use", Score: ranked.matches[i].Score - e.Score, Detail: "other conversations call it with the called tools"}
			e = search.Explanation{Score: ranked.matches[i].Score, Parts: append(e.Parts, use)}
		}
	}
	return e, cmp.Or(err, ctx.Err())
}

// Who may see which tool: filters made from lists, what a Filter lets a run have, and searchers of
// that part of the catalog.

// FilterTools returns a Config.Filter that passes the tools of the servers, the listed tools, and those of the tags. A
// server is a namespace, such as "github" or "github:*". A tool is a pattern as in Config.AlwaysLoaded, such as
// "github:create_issue" or "get_weather". With the tag "human", a user may ask a human whatever else the user may do.
// Empty lists and no tags pass nothing; for no filter at all, leave Config.Filter nil.
//
// Config.Annotate sets namespaces and tags. A malformed pattern matches nothing. A FailureEvent reports an entry that
// is malformed or that no tool of the whole catalog matches, once for each catalog. For that, a Filter of your own that
// calls this one must pass its context on.
func FilterTools(servers, tools []string, tags ...string) func(ctx context.Context, doc Document) bool {
	filter := naming.NewFilter(servers, tags, tools)
	return func(ctx context.Context, doc Document) bool {
		return filter.Passes(ctx, patternTool(&doc))
	}
}

func patternTool(doc *Document) *naming.Tool {
	return &naming.Tool{Name: doc.Name, Original: doc.Original, Namespace: doc.Namespace, Tags: doc.Tags}
}

func (c *Catalog) hasMatch(p *naming.Pattern) bool {
	return slices.ContainsFunc(c.docs, func(doc Document) bool { return p.Matches(patternTool(&doc)) })
}

// reportedTexts remembers up to maxReportedTexts texts, and then forgets them all. It is safe for concurrent use.
type reportedTexts struct {
	mu  sync.Mutex
	has map[string]bool
}

const maxReportedTexts = 1000

// isNew remembers a text, and reports whether it was not remembered before.
func (s *reportedTexts) isNew(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has == nil || len(s.has) > maxReportedTexts {
		s.has = make(map[string]bool)
	}
	known := s.has[text]
	s.has[text] = true
	return !known
}

// filtered asks a Filter about every tool of the scope, and returns those that a run may have. A tool on which it
// panics does not pass. If somebody listens, filtered reports the first panic, that no tool passes, and list entries
// that match no tool of the catalog, unless reported has them.
func (c scope) filtered(
	ctx context.Context, filter func(context.Context, Document) bool, reported *reportedTexts, events eventSink,
) docset.Set {
	asking, watch := naming.NewWatch(ctx)
	allowed, failed := docset.New(len(c.docs)), error(nil)
	for i := range c.docs {
		passes, err := foreign.Guard(func() (bool, error) { return c.has(i) && filter(asking, c.docs[i]), nil })
		if failed = cmp.Or(failed, err); passes && err == nil {
			allowed.Add(i)
		}
	}
	if !events.listens() {
		return allowed
	}
	if failed == nil && c.size() > 0 && allowed.Len() == 0 {
		failed = fmt.Errorf("lets none of %d tools pass", c.size())
	}
	if failed != nil {
		events.fail(ctx, PartFilter, fmt.Errorf("toolsearch: Filter %w", failed))
	}
	all := watch.Idle(func(*naming.Pattern) bool { return false }) // the same for the same entries
	if reported.isNew(strings.Join(all, "")) {
		if err := sources.Problems("Filter: no tool matches", watch.Idle(c.hasMatch)); err != nil && reported.isNew(err.Error()) {
			events.fail(ctx, PartFilter, err)
		}
	}
	return allowed
}

// assignNames returns the first allowed tool of each name, and removes the others from allowed.
func (c *Catalog) assignNames(allowed docset.Set) map[string]int {
	if len(c.byName) == len(c.docs) {
		return c.byName
	}
	byName := maps.Clone(c.byName)
	for doc := range c.docs {
		name := c.docs[doc].Name
		switch first := byName[name]; {
		case first == doc || !allowed.Has(doc):
		case allowed.Has(first):
			allowed.Remove(doc)
		default:
			byName[name] = doc
		}
	}
	return byName
}

// restrictions are searchers of some documents alone, by the searchers of all.
type restrictions = docset.Recent[search.Restricter, search.Searcher]

const maxRestrictions = 8 // sets of documents whose restrictions are kept

// restricted returns a searcher of the documents alone, s itself if they are all documents, or nil if s is not a
// Restricter. What a request may not see must not affect its rankings either, as the frequency of a word would.
func (c *Catalog) restricted(ctx context.Context, s search.Searcher, docs docset.Set) (search.Searcher, error) {
	from, ok := s.(search.Restricter)
	switch {
	case !ok:
		return nil, nil
	case docs.Len() == len(c.docs):
		return s, nil
	}
	of, err := c.restrictions.Of(ctx, slices.Clone(docs), func(context.Context) (*restrictions, error) {
		return docset.NewRecent[search.Restricter, search.Searcher](maxRestrictions, foreign.AreSame), nil
	})
	if err != nil {
		return nil, err
	}
	return of.Of(ctx, from, func(ctx context.Context) (search.Searcher, error) {
		s, err := foreign.Guard(func() (search.Searcher, error) { return from.Restrict(ctx, slices.Collect(docs.All())) })
		if err == nil && foreign.IsNil(s) {
			err = errors.New("there is no Searcher")
		}
		if err != nil {
			err = fmt.Errorf("toolsearch: restricting %T: %w", from, err)
		}
		return s, err
	})
}
