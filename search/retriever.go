package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Search in an engine, such as Elasticsearch, OpenSearch, Milvus, Redis or Qdrant.
//
//	once        tools -- StoreDocuments --> indexer.Indexer --> engine
//	a query     text --> retriever.Retriever --> engine's documents, at most Depth
//	            --> tools of the catalog that the query allows, each tool once
//	            --> hits, best first
//
// Eino's contract says that documents come in the order of relevance, and that a higher Score is more relevant. Some
// engines leave the score out, or return a distance, which grows along that order. So scores count only if all are
// positive numbers and they do not simply grow. Otherwise the score of a hit is 1/rank.

const (
	defaultRetrieverDepth   = 100 // twice what a model may ask for by default
	defaultRetrieverTimeout = 10 * time.Second
	filteredDepth           = 5      // times as many documents, for a query that drops tools
	enoughPart              = 10     // Depth / enoughPart tools are enough for such a query
	maxRetrieverDepth       = 10_000 // Elasticsearch refuses more by default
	maxRetrievals           = 64     // concurrent queries of one searcher
)

// RetrieverOptions configures Retriever.
type RetrieverOptions struct {
	// Retriever searches the engine. It is required and must be safe for concurrent use.
	Retriever retriever.Retriever

	// Depth is how many documents the engine is asked for (retriever.WithTopK), whatever the query's limit. Further
	// documents in an answer are not read. Zero means 100.
	//
	// A query that does not allow every tool asks for five times as many. While the engine gives as many as it was
	// asked for, and fewer than a tenth of Depth belong to tools that the query allows, it is asked again for five
	// times as many, up to 10,000. If it fails then, the earlier documents count, and Hits.Partial says why.
	Depth int

	// Timeout is how long a query waits for the engine, however often it asks. Zero means 10 seconds. Negative means
	// as long as the context allows.
	Timeout time.Duration

	// Options returns the options for Retrieve, such as retriever.WithIndex or a filter of the engine on q.Namespace.
	// q.Limit is 0. A TopK option is ignored. Options is called concurrently. Nil means none.
	Options func(q Query) []retriever.Option
}

// Retriever is the Indexer of a catalog that StoreDocuments wrote to an engine, with the defaults of
// RetrieverOptions. Building the searcher sends no request.
//
// A document of the engine belongs to a tool if its ID is the tool's name or the DocumentID of that name, or else if
// MetaData[MetaName] is the name. Documents of unknown tools are dropped. If several documents belong to one tool,
// the best counts. The demands of a query are checked against the catalog, not against the engine's documents.
//
// The searcher is a Restricter: documents of other tools are dropped as those of unknown tools are. The engine's own
// scores may still depend on all documents in the engine.
//
// A query fails with the engine's error, or if the engine does not answer in time. One searcher sends at most 64
// queries to the engine at once, and others wait. A query that timed out counts until the engine returns.
func Retriever(r retriever.Retriever) Indexer {
	return RetrieverOptions{Retriever: r}.Index
}

// Index is an Indexer. It fails without a Retriever. See the function Retriever.
func (o RetrieverOptions) Index(ctx context.Context, docs []Document) (Searcher, error) {
	if foreign.IsNil(o.Retriever) {
		return nil, errors.New("toolsearch: RetrieverOptions without a Retriever")
	}
	o.Depth, o.Timeout = min(cmp.Or(max(o.Depth, 0), defaultRetrieverDepth), maxRetrieverDepth), cmp.Or(o.Timeout, defaultRetrieverTimeout)
	x := &retrieverIndex{
		options: o, docs: docs,
		byKey: make(map[string]int, 2*len(docs)),
		gate:  make(foreign.Gate, maxRetrievals),
		info:  runInfo(components.ComponentOfRetriever, o.Retriever),
	}
	for i := range docs {
		x.byKey[docs[i].Name] = i
	}
	for i := range docs { // even if another tool has this ID as its name
		x.byKey[DocumentID(docs[i].Name)] = i
	}
	return x, ctx.Err()
}

func runInfo(kind components.Component, component any) *callbacks.RunInfo {
	typeName, _ := components.GetType(component)
	return &callbacks.RunInfo{Component: kind, Type: typeName, Name: typeName + string(kind)}
}

// Restrict implements Restricter. The restricted searcher shares the bound on concurrent queries.
func (x *retrieverIndex) Restrict(ctx context.Context, docs []int) (Searcher, error) {
	within, err := setOf(x.docs, docs)
	if err != nil {
		return nil, err
	}
	r := *x
	r.within = within
	return &r, ctx.Err()
}

// retrieverIndex implements Searcher. It is immutable except for its gate.
type retrieverIndex struct {
	options RetrieverOptions // with the defaults
	docs    []Document
	within  docset.Set     // the documents that are searched; nil means all
	byKey   map[string]int // name or DocumentID -> document
	gate    foreign.Gate
	info    *callbacks.RunInfo
}

// retrieved is a tool that the engine found.
type retrieved struct {
	doc   int
	rank  int // of its document among those of the tools that are searched, from 1
	score float64
}

// retrieval is the engine's answer to one query.
type retrieval struct {
	text    string
	hits    []retrieved // best first
	allowed []Hit       // those of hits that the query allows
	ranked  bool        // the scores are 1/rank
	partial error       // of asking for more documents
}

func (x *retrieverIndex) String() string { return "Retriever" }

// Search counts only matches among the documents that the engine was asked for.
func (x *retrieverIndex) Search(ctx context.Context, q Query) (Hits, error) {
	answer, err := x.retrieve(ctx, q)
	if err != nil {
		return Hits{}, err
	}
	hits := answer.allowed
	if q.Limit > 0 {
		hits = hits[:min(q.Limit, len(hits))]
	}
	return Hits{Hits: hits, Total: len(answer.allowed), Partial: answer.partial}, nil
}

// Explain asks the engine once more.
func (x *retrieverIndex) Explain(ctx context.Context, q Query, doc int) (Explanation, error) {
	if doc < 0 || doc >= len(x.docs) {
		return Explanation{}, fmt.Errorf("toolsearch: no document %d", doc)
	}
	answer, err := x.retrieve(ctx, q)
	if err != nil {
		return Explanation{}, err
	}
	part := Contribution{Term: answer.text, Detail: fmt.Sprintf("not among the %d tools the engine found", len(answer.hits))}
	if i := slices.IndexFunc(answer.hits, func(hit retrieved) bool { return hit.doc == doc }); i >= 0 {
		part.Score = answer.hits[i].score
		part.Detail = fmt.Sprintf("the engine's score; its document %d of this catalog", answer.hits[i].rank)
		if answer.ranked {
			part.Detail = fmt.Sprintf("1/%d, as it is the engine's document %[1]d of this catalog", answer.hits[i].rank)
		}
	}
	return Explanation{Score: part.Score, Parts: []Contribution{part}}, nil
}

// retrieve asks the engine and reads its answer. It does not ask for a query without words.
func (x *retrieverIndex) retrieve(outer context.Context, q Query) (retrieval, error) {
	words := strings.Fields(naming.CutWords(strings.ToValidUTF8(q.text(), " "), MaxQueryBytes))
	answer := retrieval{text: strings.Join(words, " "), allowed: []Hit{}}
	if err := outer.Err(); err != nil || answer.text == "" || len(x.docs) == 0 {
		return answer, err
	}
	ctx, cancel := foreign.WithTimeout(outer, x.options.Timeout)
	defer cancel()
	depth, enough := x.options.Depth, 0
	if x.within != nil || q.Namespace != "" || len(q.Required) > 0 || q.Allowed != nil {
		depth, enough = min(filteredDepth*depth, maxRetrieverDepth), x.enough(&q)
	}
	for ; ; depth = min(filteredDepth*depth, maxRetrieverDepth) {
		documents, err := x.ask(ctx, q, answer.text, depth)
		if err != nil {
			switch {
			case outer.Err() != nil:
				return answer, outer.Err()
			case ctx.Err() != nil:
				err = fmt.Errorf("toolsearch: the retriever took longer than %v: %w: %w", x.options.Timeout, ctx.Err(), err)
			default:
				err = fmt.Errorf("toolsearch: the retriever failed: %w", err)
			}
			if answer.hits != nil { // of fewer documents: the engine may refuse to give so many
				answer.partial, err = err, nil
			}
			return answer, err
		}
		answer.hits, answer.ranked = x.read(documents[:min(depth, len(documents))])
		answer.allowed = make([]Hit, 0, len(answer.hits))
		for _, hit := range answer.hits {
			if q.Allows(hit.doc) {
				answer.allowed = append(answer.allowed, Hit{Doc: hit.doc, Score: hit.score})
			}
		}
		if len(answer.allowed) >= enough || len(documents) < depth || depth == maxRetrieverDepth {
			return answer, nil
		}
	}
}

func (x *retrieverIndex) searches(doc int) bool { return x.within == nil || x.within.Has(doc) }

// enough returns how many tools are enough for a query that drops tools.
func (x *retrieverIndex) enough(q *Query) int {
	most, n := max(1, x.options.Depth/enoughPart), 0
	for doc := 0; doc < len(x.docs) && n < most; doc++ {
		if x.searches(doc) && q.Allows(doc) {
			n++
		}
	}
	return n
}

// ask calls the retriever, and waits no longer than the context allows, even if the retriever ignores it.
func (x *retrieverIndex) ask(ctx context.Context, q Query, text string, depth int) ([]*schema.Document, error) {
	return foreign.Through(ctx, x.gate, func(ctx context.Context) ([]*schema.Document, error) {
		var options []retriever.Option
		if x.options.Options != nil {
			q.Limit = 0 // the answer must not depend on the limit
			options = slices.Clone(x.options.Options(q))
		}
		options = append(options, retriever.WithTopK(depth))
		return x.options.Retriever.Retrieve(callbacks.ReuseHandlers(ctx, x.info), text, options...)
	})
}

// read turns the engine's documents into tools, best first. Ties go by name.
func (x *retrieverIndex) read(documents []*schema.Document) (hits []retrieved, ranked bool) {
	all := make([]retrieved, 0, len(documents))
	for _, document := range documents {
		if document == nil {
			continue
		}
		doc, ok := x.byKey[document.ID]
		if !ok {
			name, _ := document.MetaData[MetaName].(string)
			doc, ok = x.byKey[name]
		}
		if ok && x.searches(doc) {
			all = append(all, retrieved{doc: doc, rank: len(all) + 1, score: document.Score()})
		}
	}
	// The engine's scores count if all are positive numbers, and they are not distances, which grow.
	isWrong := func(hit retrieved) bool { return !(hit.score > 0) || math.IsInf(hit.score, 0) }
	grows := slices.IsSortedFunc(all, func(a, b retrieved) int { return cmp.Compare(a.score, b.score) })
	ranked = slices.ContainsFunc(all, isWrong) || grows && len(all) > 0 && all[0].score != all[len(all)-1].score
	if ranked {
		for i := range all {
			all[i].score = 1 / float64(all[i].rank)
		}
	}
	slices.SortStableFunc(all, func(a, b retrieved) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(x.docs[a.doc].Name, x.docs[b.doc].Name))
	})
	seen := docset.New(len(x.docs))
	return slices.DeleteFunc(all, func(hit retrieved) bool { return !seen.Add(hit.doc) }), ranked
}
