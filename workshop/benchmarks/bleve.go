package main

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Bleve searches with github.com/blevesearch/bleve/v2 in memory, for a fair comparison set up as well as we know how:
// names are cut into words, the English analyzer does stop words and stemming, everything that a search for tools does
// not need is off, and the index is built in batches on all cores. Of all set-ups tried, this one finds the most and is
// the fastest. The others were separate fields with boosts, scores by BM25, other sizes of batches, and upsidedown.
func Bleve(ctx context.Context, docs []search.Document) (search.Searcher, error) {
	text := bleve.NewTextFieldMapping()
	text.Analyzer = en.AnalyzerName
	text.Store, text.IncludeTermVectors, text.IncludeInAll, text.DocValues = false, false, false, false
	tool := bleve.NewDocumentStaticMapping()
	tool.AddFieldMappingsAt(bleveText, text)
	mapping := bleve.NewIndexMapping()
	mapping.DefaultMapping = tool
	mapping.DefaultAnalyzer = en.AnalyzerName
	index, err := bleve.NewUsing("", mapping, scorch.Name, bleve.Config.DefaultMemKVStore, nil)
	if err != nil {
		return nil, err
	}
	batch := index.NewBatch()
	for i := range docs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := batch.Index(strconv.Itoa(i), bleveDocument(&docs[i])); err != nil {
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
	return &bleveSearcher{index: index, docs: len(docs)}, nil
}

const (
	bleveBatch = 10_000 // tools that are indexed at once; a batch becomes a segment
	bleveText  = "text" // the field with all text
)

// bleveDocument returns the tool in the form that bleve reads without reflection.
func bleveDocument(doc *search.Document) map[string]any {
	text := words(doc.Name) + "\n" + doc.Description + "\n"
	for _, p := range doc.Parameters {
		text += strings.Join(append([]string{words(p.Name), p.Description}, p.Enum...), "\n") + "\n"
	}
	return map[string]any{bleveText: text}
}

// words puts blanks between the words of a name.
func words(name string) string { return strings.Join(naming.Parts(name), " ") }

// bleveSearcher runs goroutines, so it must be closed after use. It knows no Filter, since no benchmark has one.
type bleveSearcher struct {
	index bleve.Index
	docs  int
}

func (s *bleveSearcher) Close() error { return s.index.Close() }

func (s *bleveSearcher) Search(ctx context.Context, q search.Query) (search.Hits, error) {
	request := bleve.NewSearchRequestOptions(bleveQuery(q), cmp.Or(q.Limit, s.docs), 0, false)
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
		found.Hits = append(found.Hits, search.Hit{Doc: doc, Score: hit.Score})
	}
	return found, nil
}

// bleveQuery leaves the required words to the engine, which can filter by them.
func bleveQuery(q search.Query) query.Query {
	match := func(text string) query.Query {
		m := bleve.NewMatchQuery(words(text))
		m.SetField(bleveText)
		return m
	}
	all := match(strings.Join(q.Keywords, " "))
	if len(q.Required) == 0 {
		return all
	}
	must := bleve.NewBooleanQuery()
	must.AddShould(all)
	for _, word := range q.Required {
		must.AddMust(match(word))
	}
	return must
}
