package main

import (
	"context"
	"strconv"
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/eino-toolsearch/toolsearch/search"
)

// Bleve searches with github.com/blevesearch/bleve/v2 in memory. For a fair comparison it is
// set up as well as we know how:
//
//   - Names are cut at underscores and humps, since bleve takes mcp__a__b for one word.
//   - The English analyzer does stop words and stemming.
//   - Everything that a search for tools does not need is off: stored fields, term vectors, doc
//     values, the _all field.
//   - The scorch index is in memory and is built in batches, which bleve analyzes on all cores.
//
// Of all set-ups tried, this one finds the most and is the fastest. The others were separate fields with
// boosts, scores by BM25, other sizes of batches, and upsidedown in place of scorch.
func Bleve(ctx context.Context, docs []search.Document) (search.Searcher, error) {
	return bleveSetup{}.Index(ctx, docs)
}

// BleveFields is Bleve with separate fields for name, description and parameters, the obvious
// first set-up. Boosts other than 1 found less.
func BleveFields(ctx context.Context, docs []search.Document) (search.Searcher, error) {
	return bleveSetup{fields: true}.Index(ctx, docs)
}

type bleveSetup struct{ fields bool }

// bleveBatch is how many tools are indexed at once. A batch becomes a segment.
const bleveBatch = 10_000

// The fields of a document in the index.
const (
	bleveText        = "text" // all text in one field
	bleveName        = "name"
	bleveDescription = "description"
	bleveParameters  = "parameters"
)

func (s bleveSetup) names() []string {
	if s.fields {
		return []string{bleveName, bleveDescription, bleveParameters}
	}
	return []string{bleveText}
}

// document returns the tool in the form that bleve reads without reflection.
func (s bleveSetup) document(doc *search.Document) map[string]any {
	var parameters strings.Builder
	for _, p := range doc.Parameters {
		for _, text := range append([]string{words(p.Name), p.Description}, p.Enum...) {
			parameters.WriteString(text)
			parameters.WriteByte('\n')
		}
	}
	name := words(doc.Name)
	if s.fields {
		return map[string]any{bleveName: name, bleveDescription: doc.Description, bleveParameters: parameters.String()}
	}
	return map[string]any{bleveText: name + "\n" + doc.Description + "\n" + parameters.String()}
}

// words puts blanks between the words of a name, also at humps.
func words(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case unicode.IsUpper(r) && lower:
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(r)
	}
	return b.String()
}

func (s bleveSetup) mapping() mapping.IndexMapping {
	text := bleve.NewTextFieldMapping()
	text.Analyzer = en.AnalyzerName
	text.Store, text.IncludeTermVectors, text.IncludeInAll, text.DocValues = false, false, false, false
	tool := bleve.NewDocumentStaticMapping()
	for _, field := range s.names() {
		tool.AddFieldMappingsAt(field, text)
	}
	m := bleve.NewIndexMapping()
	m.DefaultMapping = tool
	m.DefaultAnalyzer = en.AnalyzerName
	return m
}

// Index is an Indexer.
func (s bleveSetup) Index(ctx context.Context, docs []search.Document) (search.Searcher, error) {
	index, err := bleve.NewUsing("", s.mapping(), scorch.Name, bleve.Config.DefaultMemKVStore, nil)
	if err != nil {
		return nil, err
	}
	batch := index.NewBatch()
	for i := range docs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := batch.Index(strconv.Itoa(i), s.document(&docs[i])); err != nil {
			return nil, err
		}
		if batch.Size() == bleveBatch {
			if err := index.Batch(batch); err != nil {
				return nil, err
			}
			batch = index.NewBatch()
		}
	}
	if err := index.Batch(batch); err != nil {
		return nil, err
	}
	return &bleveSearcher{bleveSetup: s, index: index, docs: len(docs)}, nil
}

// bleveSearcher runs goroutines, so it must be closed after use.
type bleveSearcher struct {
	bleveSetup
	index bleve.Index
	docs  int
}

func (s *bleveSearcher) Close() error { return s.index.Close() }

func (s *bleveSearcher) Search(ctx context.Context, q search.Query) (search.Hits, error) {
	limit := q.Limit
	if limit == 0 || q.Allowed != nil { // tools that are not allowed are dropped below
		limit = s.docs
	}
	request := bleve.NewSearchRequestOptions(s.query(q), limit, 0, false)
	result, err := s.index.SearchInContext(ctx, request)
	if err != nil {
		return search.Hits{}, err
	}
	found := search.Hits{Total: int(result.Total)}
	for _, hit := range result.Hits {
		doc, err := strconv.Atoi(hit.ID)
		if err != nil {
			return search.Hits{}, err
		}
		if q.Allows(doc) {
			found.Hits = append(found.Hits, search.Hit{Doc: doc, Score: hit.Score})
		}
	}
	if q.Allowed != nil {
		found.Total = len(found.Hits)
		if q.Limit > 0 {
			found.Hits = found.Hits[:min(q.Limit, found.Total)]
		}
	}
	return found, nil
}

// query leaves the required words to the engine, which can filter by them.
func (s *bleveSearcher) query(q search.Query) query.Query {
	all := s.anywhere(strings.Join(q.Keywords, " "))
	if len(q.Required) == 0 {
		return all
	}
	must := bleve.NewBooleanQuery()
	must.AddShould(all)
	for _, word := range q.Required {
		must.AddMust(s.anywhere(word))
	}
	return must
}

// anywhere looks for the words of a text in all fields.
func (s *bleveSearcher) anywhere(text string) query.Query {
	text = words(text)
	var list []query.Query
	for _, field := range s.names() {
		match := bleve.NewMatchQuery(text)
		match.SetField(field)
		list = append(list, match)
	}
	if len(list) == 1 {
		return list[0]
	}
	return bleve.NewDisjunctionQuery(list...)
}
