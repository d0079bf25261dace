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

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Search in an engine: the index is in Elasticsearch, OpenSearch, Milvus, Redis or Qdrant,
// and a query costs one request to it.
//
//	once        tools -- StoreDocuments --> indexer.Indexer --> engine
//	a query     text --> retriever.Retriever --> engine's documents, at most Depth
//	            --> those of tools of the catalog that the query allows, each tool once
//	            --> hits, best first
//
// The engine is trusted with the ranking and with nothing else: it is another program,
// whose index others may write to, and which may be late, full or gone.
//
// Which number becomes the score? Eino's contract has two statements on the matter: the
// documents stand in the order of relevance, and a higher Score is more relevant. Engines
// keep both, or leave the score out, or return a distance in its place, which grows from
// the best to the worst. So the engine's scores count if each of them is a positive number
// and they do not simply grow along its order. Otherwise its order counts, and the score of
// a hit is 1/rank.

const (
	defaultRetrieverDepth   = 100 // twice what a model may ask for by default
	defaultRetrieverTimeout = 10 * time.Second
	filteredDepth           = 5      // times Depth, where a query drops tools
	maxRetrieverDepth       = 10_000 // Elasticsearch refuses more by default
	maxRetrievals           = 64     // of one searcher under way at once
)

// RetrieverOptions configures Retriever.
type RetrieverOptions struct {
	// Retriever asks the engine. Required. It must be safe for concurrent use.
	Retriever retriever.Retriever

	// Depth is how many documents the engine is asked for (retriever.WithTopK), whatever
	// the query's limit: a limit then only shortens an answer and never changes it. Queries
	// that do not allow every tool ask for five times as many.
	// At most 10,000 in either case, and what an engine returns beyond it is not read.
	// Zero: 100.
	Depth int

	// Timeout is the longest a query waits for the engine. Zero: 10 seconds. Negative:
	// as long as its context lets it.
	Timeout time.Duration

	// Options are for Retrieve, such as retriever.WithIndex, or the engine's own filter on
	// q.Namespace, which spares it documents that are dropped here. q.Limit is 0. A TopK
	// among them has no effect. Called concurrently. Nil: none.
	Options func(q Query) []retriever.Option
}

// Retriever is the Indexer of a catalog that lives in an engine: RetrieverOptions with all
// defaults. StoreDocuments writes the catalog there; building the searcher
// asks the engine nothing.
//
// A document of the engine is a tool's if its ID is DocumentID of the tool's name or the
// name itself, or else if MetaData[MetaName] is the name. Documents of no tool of the
// catalog are dropped; of several of one tool the best counts. What a query demands is checked
// against the catalog and not against what the engine stores.
//
// A query fails with the engine's error, or when the engine does not answer in time. A
// catalog then answers from Config.Fallback or by keywords, and SearchEvent.Err says why.
// Of one searcher at most 64 queries are with the engine at once, those it was too late
// for included; others wait.
func Retriever(r retriever.Retriever) Indexer {
	return RetrieverOptions{Retriever: r}.Index
}

// Index is an Indexer. It fails without a Retriever. See the function Retriever.
func (o RetrieverOptions) Index(ctx context.Context, docs []Document) (Searcher, error) {
	if foreign.IsNil(o.Retriever) {
		return nil, errors.New("toolsearch: RetrieverOptions without a Retriever")
	}
	x := &retrieverIndex{
		retriever: o.Retriever, options: o.Options, docs: docs,
		byID: make(map[string]int, len(docs)), byName: make(map[string]int, len(docs)),
		timeout: cmp.Or(o.Timeout, defaultRetrieverTimeout),
		gate:    make(foreign.Gate, maxRetrievals),
		info:    &callbacks.RunInfo{Component: components.ComponentOfRetriever},
	}
	x.depth = defaultRetrieverDepth
	if o.Depth > 0 {
		x.depth = min(o.Depth, maxRetrieverDepth)
	}
	x.info.Type, _ = components.GetType(o.Retriever)
	x.info.Name = x.info.Type + string(x.info.Component)
	for i := range docs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x.byID[DocumentID(docs[i].Name)] = i
		x.byName[docs[i].Name] = i
	}
	return x, ctx.Err()
}

// retrieverIndex implements Searcher. But for its gate it is immutable.
type retrieverIndex struct {
	retriever retriever.Retriever
	options   func(Query) []retriever.Option
	docs      []Document
	byID      map[string]int // DocumentID -> document
	byName    map[string]int
	depth     int
	timeout   time.Duration
	gate      foreign.Gate
	info      *callbacks.RunInfo
}

// retrieved is a tool the engine found.
type retrieved struct {
	doc   int
	rank  int // of its document among the engine's, from 1
	score float64
}

// retrieval is the engine's answer to one query.
type retrieval struct {
	text   string
	hits   []retrieved // best first
	ranked bool        // the scores are 1/rank
}

// String names the searcher.
func (x *retrieverIndex) String() string { return "Retriever" }

// Search implements Searcher. It counts what matches among the documents the engine was asked
// for.
func (x *retrieverIndex) Search(ctx context.Context, q Query) (Hits, error) {
	answer, err := x.retrieve(ctx, q)
	if err != nil {
		return Hits{}, err
	}
	hits := make([]Hit, 0, len(answer.hits))
	for _, hit := range answer.hits {
		if q.Allows(hit.doc) {
			hits = append(hits, Hit{Doc: hit.doc, Score: hit.score})
		}
	}
	total := len(hits)
	if q.Limit > 0 {
		hits = hits[:min(q.Limit, total)]
	}
	return Hits{Hits: hits, Total: total}, nil
}

// Explain implements Explainer. It asks the engine once more.
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
		part.Detail = fmt.Sprintf("the engine's score; its document %d", answer.hits[i].rank)
		if answer.ranked {
			part.Detail = fmt.Sprintf("1/%d, as it is the engine's document %[1]d", answer.hits[i].rank)
		}
	}
	return Explanation{Score: part.Score, Parts: []Contribution{part}}, nil
}

// retrieve asks the engine and reads its answer. A query without words is not asked.
func (x *retrieverIndex) retrieve(ctx context.Context, q Query) (retrieval, error) {
	answer := retrieval{text: retrieverText(q)}
	if err := ctx.Err(); err != nil || answer.text == "" || len(x.docs) == 0 {
		return answer, err
	}
	depth := x.depth
	if q.Namespace != "" || len(q.Required) > 0 || q.Allowed != nil {
		depth = min(filteredDepth*depth, maxRetrieverDepth)
	}
	documents, err := x.ask(ctx, q, answer.text, depth)
	if err != nil {
		return answer, err
	}
	answer.hits, answer.ranked = x.read(documents[:min(depth, len(documents))])
	return answer, nil
}

// retrieverText is the query as it goes to the engine: its words, blanks between them.
func retrieverText(q Query) string {
	return strings.Join(strings.Fields(naming.CutWords(strings.ToValidUTF8(q.text(), " "), MaxQueryBytes)), " ")
}

// ask calls the retriever, but waits no longer than the timeout and ctx allow, even for a
// retriever that heeds neither.
func (x *retrieverIndex) ask(outer context.Context, q Query, text string, depth int) ([]*schema.Document, error) {
	ctx := outer
	if x.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(outer, x.timeout)
		defer cancel()
	}
	documents, err := foreign.Through(ctx, x.gate, func(ctx context.Context) ([]*schema.Document, error) {
		var options []retriever.Option
		if x.options != nil {
			q.Limit = 0 // or the answer could depend on it
			options = slices.Clone(x.options(q))
		}
		options = append(options, retriever.WithTopK(depth))
		return x.retriever.Retrieve(callbacks.ReuseHandlers(ctx, x.info), text, options...)
	})
	if err != nil {
		return nil, x.failure(outer, ctx, err)
	}
	return documents, nil
}

// failure says why there is no answer: ctx's own error if that is done, the timeout, or
// what the engine said.
func (x *retrieverIndex) failure(outer, ctx context.Context, err error) error {
	if outer.Err() != nil {
		return outer.Err()
	}
	if ctx.Err() != nil {
		return fmt.Errorf("toolsearch: the retriever took longer than %v: %w: %w", x.timeout, ctx.Err(), err)
	}
	return fmt.Errorf("toolsearch: the retriever failed: %w", err)
}

// read turns the engine's documents into tools, best first, equal ones by name.
func (x *retrieverIndex) read(documents []*schema.Document) (hits []retrieved, ranked bool) {
	all := make([]retrieved, 0, len(documents))
	for i, document := range documents {
		if doc, ok := x.toolOf(document); ok {
			all = append(all, retrieved{doc: doc, rank: i + 1, score: document.Score()})
		}
	}
	if ranked = !areScores(all); ranked {
		for i := range all {
			all[i].score = 1 / float64(all[i].rank)
		}
	}
	slices.SortStableFunc(all, func(a, b retrieved) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(x.docs[a.doc].Name, x.docs[b.doc].Name))
	})
	seen := make(map[int]bool, len(all))
	for _, hit := range all {
		if !seen[hit.doc] {
			seen[hit.doc] = true
			hits = append(hits, hit)
		}
	}
	return hits, ranked
}

// areScores reports whether the engine's scores rank: they are positive numbers and no
// distances.
func areScores(hits []retrieved) bool {
	growing := true
	for i, hit := range hits {
		if !(hit.score > 0) || math.IsInf(hit.score, 0) {
			return false
		}
		growing = growing && (i == 0 || hit.score >= hits[i-1].score)
	}
	return !growing || len(hits) == 0 || hits[0].score == hits[len(hits)-1].score
}

// toolOf finds the tool a document is of.
func (x *retrieverIndex) toolOf(document *schema.Document) (doc int, ok bool) {
	if document == nil {
		return 0, false
	}
	if doc, ok = x.byID[document.ID]; ok {
		return doc, true
	}
	if doc, ok = x.byName[document.ID]; ok {
		return doc, true
	}
	name, _ := document.MetaData[MetaName].(string)
	doc, ok = x.byName[name]
	return doc, ok
}
