package toolsearch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
)

// Tools, compiled for search:
//
//	tools -> their infos -> documents, parameters flattened -> the index of a searcher
//
// The middleware works with one catalog per edition (source.go); without a middleware it is
// built by NewCatalog, and searched by Catalog.Search or by a model through Catalog.Tool.

// Defaults of Config.MaxResults and Config.MaxResultsCap.
const (
	DefaultMaxResults    = 5
	DefaultMaxResultsCap = 50
)

// A Document is a tool as a Searcher sees it.
type Document struct {
	Name        string
	Description string
	Parameters  []Parameter // every parameter, nested ones included, outer before inner
	Annotation
	Info *schema.ToolInfo // shared: not to be changed
}

// A Parameter is one property of a tool's JSON schema.
type Parameter struct {
	Name        string // the property's own name; "" for an unnamed part of a schema
	Description string
	Enum        []string // the values it may have, as text
}

// An Annotation is what is known of a tool beyond its own definition.
type Annotation struct {
	Namespace string   // the server or group it belongs to
	Hint      string   // more words to find it by, never shown
	Aliases   []string // other names to find it by
	Tags      []string // labels
}

// Annotate derives an Annotation from a tool's name: the namespace of
// mcp__server__tool and server__tool is server. It is the default of Config.Annotate.
func Annotate(info *schema.ToolInfo) Annotation {
	return Annotation{Namespace: namespaceOf(info.Name)}
}

// A Catalog is a set of tools compiled for search. It never changes once it is built and
// is safe for concurrent use.
type Catalog struct {
	docs     []Document
	byName   map[string]int   // name -> index into docs
	byFolded map[string][]int // folded name, as it is and as it is shown -> the tools of that name
	prompt   *prompt

	searcher    Searcher
	fallback    Searcher                 // nil: none
	keyword     func() (Searcher, error) // the last resort when searchers fail, built when it is needed
	preselector Searcher                 // for whole sentences of users
	names       func() *nameIndex        // for suggestions, built at the first name that is not found

	schemas schemas // of arguments, for calls that are dispatched

	maxResults, maxResultsCap int
}

// NewCatalog compiles tools for search with index; nil is Keyword. It fails, naming the
// tool and its position, on a nil tool, an Info that fails or returns nil, an empty or
// repeated name, and a tool that cannot be invoked in any of the four ways.
func NewCatalog(ctx context.Context, tools []tool.BaseTool, index Indexer) (*Catalog, error) {
	infos, err := toolInfos(ctx, tools)
	if err != nil {
		return nil, err
	}
	return NewCatalogFromInfos(ctx, infos, index)
}

// NewCatalogFromInfos is NewCatalog for tools of which only the definition is at hand.
func NewCatalogFromInfos(ctx context.Context, infos []*schema.ToolInfo, index Indexer) (*Catalog, error) {
	return newCatalog(ctx, infos, &Config{Index: index, Reminder: ReminderConfig{Disabled: true}})
}

// newCatalog compiles infos for search as config, whose defaults need not be filled in,
// says.
func newCatalog(ctx context.Context, infos []*schema.ToolInfo, config *Config) (*Catalog, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Catalog{
		docs:          make([]Document, len(infos)),
		byName:        make(map[string]int, len(infos)),
		byFolded:      make(map[string][]int, len(infos)),
		prompt:        config.prompt(),
		maxResults:    config.MaxResults,
		maxResultsCap: config.MaxResultsCap,
	}
	// Only searchers other than the default read parameters, and they are the dear part
	// of a document.
	index, fallback := config.index(), config.fallback()
	wantParameters := index != nil || fallback != nil || config.Preselect > 0
	for i, info := range infos {
		if err := c.add(i, info, config.Annotate, wantParameters); err != nil {
			return nil, err
		}
	}
	c.keyword = sync.OnceValues(func() (Searcher, error) { return Keyword(context.Background(), c.docs) })
	c.names = sync.OnceValue(func() *nameIndex { return newNameIndex(c.docs) })
	if c.searcher, err = c.index(ctx, index); err != nil {
		return nil, fmt.Errorf("toolsearch: building the index: %w", err)
	}
	if fallback != nil {
		if c.fallback, err = c.index(ctx, fallback); err != nil {
			return nil, fmt.Errorf("toolsearch: building the fallback index: %w", err)
		}
	}
	if c.preselector = c.searcher; config.Preselect > 0 && (config.Index == nil || ReadsPatterns(c.searcher)) {
		if c.preselector, err = c.index(ctx, BM25); err != nil {
			return nil, fmt.Errorf("toolsearch: building the index for Preselect: %w", err)
		}
	}
	return c, nil
}

func (c *Catalog) add(i int, info *schema.ToolInfo, annotate func(*schema.ToolInfo) Annotation, wantParameters bool) error {
	if info == nil {
		return fmt.Errorf("toolsearch: tool %d: no tool info", i)
	}
	if info.Name == "" {
		return fmt.Errorf("toolsearch: tool %d: empty name", i)
	}
	if first, taken := c.byName[info.Name]; taken {
		return fmt.Errorf("toolsearch: tool %d: duplicate name %q, tool %d has it too", i, info.Name, first)
	}
	c.byName[info.Name] = i
	folded := foldName(info.Name)
	c.byFolded[folded] = append(c.byFolded[folded], i)
	if shown := foldName(shownName(info.Name)); shown != folded {
		c.byFolded[shown] = append(c.byFolded[shown], i)
	}
	// A copy, since nothing stops the tool from changing what it returned.
	own := *info
	own.Extra = maps.Clone(info.Extra)
	if own.ParamsOneOf == nil { // some model adapters send no schema then, which providers refuse
		own.ParamsOneOf = schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{})
	}
	c.docs[i] = Document{Name: own.Name, Description: own.Desc, Annotation: annotate(&own), Info: &own}
	if wantParameters {
		c.docs[i].Parameters = parametersOf(info)
	}
	return nil
}

func (c *Catalog) index(ctx context.Context, index Indexer) (Searcher, error) {
	if index == nil {
		return c.keyword()
	}
	// A copy, since nothing stops an Indexer from writing to what it is given.
	docs := slices.Clone(c.docs)
	searcher, err := guard(func() (Searcher, error) { return index(ctx, docs) })
	if err == nil && isNil(searcher) {
		err = errors.New("the Indexer returned no Searcher")
	}
	return searcher, err
}

// guard turns a panic of foreign code into an error.
func guard[T any](f func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// Search answers a query, keywords or "select:a,b", with at most maxResults tools, and no
// more than DefaultMaxResultsCap. 0 is DefaultMaxResults; a selection has no such limit.
// It returns an error only if ctx is done.
func (c *Catalog) Search(ctx context.Context, query string, maxResults int) (*Result, error) {
	result, _, err := c.all().find(ctx, []string{query}, "", maxResults)
	return result, err
}

// Len returns the number of tools in the catalog.
func (c *Catalog) Len() int { return len(c.docs) }

// lookup finds a tool by name: exactly, or, if that leaves only one, in another case, with
// "-" for "_", or as the reminder shows it.
func (c scope) lookup(name string) (doc int, ok bool) {
	if doc, ok = c.byName[name]; ok && c.sees(doc) {
		return doc, true
	}
	found := -1
	for _, doc := range c.byFolded[foldName(name)] {
		switch {
		case !c.sees(doc):
		case found >= 0:
			return 0, false
		default:
			found = doc
		}
	}
	return max(found, 0), found >= 0
}

// docSet is a set of documents, a bit each.
type docSet []uint64

func newDocSet(docs int) docSet { return make(docSet, (docs+63)/64) }

func (s docSet) has(doc int) bool { return s[doc/64]&(1<<(doc%64)) != 0 }

// add reports whether doc was not in the set before.
func (s docSet) add(doc int) bool {
	if s.has(doc) {
		return false
	}
	s[doc/64] |= 1 << (doc % 64)
	return true
}

func (s docSet) remove(doc int) { s[doc/64] &^= 1 << (doc % 64) }

// toolInfos asks every tool for its definition, once.
func toolInfos(ctx context.Context, tools []tool.BaseTool) ([]*schema.ToolInfo, error) {
	infos := make([]*schema.ToolInfo, len(tools))
	for i, t := range tools {
		if isNil(t) {
			return nil, fmt.Errorf("toolsearch: tool %d is nil (%T)", i, t)
		}
		info, err := infoOf(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("toolsearch: tool %d (%T): Info: %w", i, t, err)
		}
		if info == nil {
			return nil, fmt.Errorf("toolsearch: tool %d (%T): Info returned nil", i, t)
		}
		if info.Name == "" {
			return nil, fmt.Errorf("toolsearch: tool %d (%T): empty name", i, t)
		}
		if kindOf(t) == 0 {
			return nil, fmt.Errorf("toolsearch: tool %d, %q (%T): it can be called in none of the four ways: "+
				"invokable, streamable, enhanced invokable, enhanced streamable", i, info.Name, t)
		}
		infos[i] = info
	}
	return infos, nil
}

// infoOf asks a tool for its definition. A wrapper with no tool inside panics over it, and
// it is better to learn which one that is.
func infoOf(ctx context.Context, t tool.BaseTool) (*schema.ToolInfo, error) {
	return guard(func() (*schema.ToolInfo, error) { return t.Info(ctx) })
}

// isNil also sees the nil pointer inside a non-nil interface.
func isNil(value any) bool {
	if value == nil {
		return true
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Slice, reflect.Chan, reflect.Interface:
		return v.IsNil()
	default:
		return false
	}
}

// Bounds on what is read of one tool's definition, which may come from a remote server.
const (
	maxDescriptionBytes = 64 << 10
	maxSchemaDepth      = 16
	maxParameters       = 512
)

// parametersOf lists the properties of a tool's schema, outer before inner. A schema
// that does not convert has none: it is the model adapter's to complain about.
func parametersOf(info *schema.ToolInfo) []Parameter {
	root, err := info.ParamsOneOf.ToJSONSchema()
	if err != nil || root == nil {
		return nil
	}
	var list []Parameter
	var walk func(name string, s *jsonschema.Schema, depth int)
	walk = func(name string, s *jsonschema.Schema, depth int) {
		if s == nil || depth > maxSchemaDepth || len(list) == maxParameters {
			return
		}
		if p := (Parameter{Name: name, Description: s.Description, Enum: enumTexts(s.Enum)}); depth > 0 &&
			(p.Name != "" || p.Description != "" || len(p.Enum) > 0) {
			list = append(list, p)
		}
		if s.Properties != nil {
			for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
				walk(pair.Key, pair.Value, depth+1)
			}
		}
		walk("", s.Items, depth+1)
		walk("", s.AdditionalProperties, depth+1)
		for _, alternatives := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
			for _, alternative := range alternatives {
				walk("", alternative, depth+1)
			}
		}
		for _, definition := range slices.Sorted(maps.Keys(s.Definitions)) {
			walk("", s.Definitions[definition], depth+1)
		}
	}
	walk("", root, 0)
	return list
}

func enumTexts(values []any) []string {
	texts := make([]string, 0, len(values))
	for _, v := range values {
		if s, ok := v.(string); ok {
			texts = append(texts, s)
		} else if v != nil {
			texts = append(texts, fmt.Sprint(v))
		}
	}
	return texts
}
