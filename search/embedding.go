package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/components/embedding"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/vectors"
)

// Search by meaning. A sentence model turns the query and every tool into vectors of length 1. A tool's score is
// their dot product, which is the cosine of the angle between them.
//
//	build:  document -- embeddingText --> text -- Store, else Embedder --> vector
//	query:  text -- recent queries, else Embedder --> vector -- dot product --> every tool's vector
//
// At 512 numbers each, 10,000 tools take a few milliseconds. Any model takes longer for the query, and an approximate
// index would sometimes be wrong. The descriptions of parameters do not belong to a tool's text: a sentence encoder
// mixes everything it reads.

const (
	defaultEmbeddingBatch       = 10
	defaultEmbeddingConcurrency = 4
	defaultQueryTimeout         = 10 * time.Second
	defaultQueryCache           = 256
	defaultStoreSize            = 256 << 20 // bytes
	maxEmbeddingText            = 1000      // code points of a tool's text and of a query; services refuse long ones
	maxEmbedderQueries          = 32        // at a time; more wait, within their timeouts
)

// EmbeddingOptions configures Embedding. Only Embedder is required.
type EmbeddingOptions struct {
	// Embedder turns texts into vectors. It must be safe for concurrent use.
	Embedder embedding.Embedder

	// BatchSize is the maximum number of texts in one call of the Embedder when the catalog is built. Zero means 10,
	// which every service known to us accepts.
	BatchSize int

	// Concurrency is the maximum number of concurrent such calls. Zero means 4.
	Concurrency int

	// Progress is called with the number of the catalog's distinct texts that have their vectors. It is called once
	// after the Store was read, then after every batch, in order and never concurrently. Nil means no calls.
	Progress func(done, total int)

	// Store keeps vectors from one process to the next; NewFileStore returns one. It needs Model. If it fails,
	// OnStoreError is called, and the rest of the build does without it. Nil means that only the searcher keeps the
	// vectors.
	Store        VectorStore
	OnStoreError func(err error) // never called concurrently; nil means no calls

	// Model names the model that makes the vectors, such as "text-embedding-3-small/512". Change it with anything
	// that changes the vectors. Only a Store needs it.
	Model string

	// MinScore is the cosine that a match must exceed. Zero means 0, which nearly every tool
	// exceeds with most models. A good minimum depends on the model.
	MinScore float64

	// QueryTimeout is how long one query may wait for its vector before the search fails. Zero means 10 s. Negative
	// means as long as the context allows.
	QueryTimeout time.Duration

	// QueryCache is how many recent queries keep their vectors. Zero means 256. Negative means none.
	QueryCache int
}

// Embedding is the Indexer that ranks tools by how near their meaning is to the query's, according to e, with the
// defaults of EmbeddingOptions. It finds tools that share no word with the query, but misses names and rare words
// that a word search finds. Hybrid(BM25, Embedding(e)) is best.
//
// The text of a tool is its name, description, hint, aliases, tags and the names of its parameters. It and the query
// are cut at 1000 code points. The score is the cosine. A match must score above 0. Ties go by the order of the
// documents.
//
// The Indexer fails if e fails or returns unusable vectors: a wrong number of vectors, vectors of different lengths,
// empty or zero vectors, NaN or infinite numbers. The Searcher fails if e fails or does not answer in time.
//
// The searcher is a Rebuilder: for a catalog that changes, only new texts are embedded. e must give a text the same
// vector as long as the catalog lives.
func Embedding(e embedding.Embedder) Indexer { return EmbeddingOptions{Embedder: e}.Index }

// embeddingIndex implements Searcher. It is immutable except for the recent queries.
type embeddingIndex struct {
	options    EmbeddingOptions // with the defaults
	docs       []Document
	vectors    [][]float32 // by document; nil for a document without text
	dimensions int         // of the vectors; 0 means that there are none
	gate       foreign.Gate
	recent     *docset.Recent[string, []float32] // vectors of queries
}

// Index is an Indexer. See Embedding.
func (o EmbeddingOptions) Index(ctx context.Context, docs []Document) (Searcher, error) {
	return o.index(ctx, docs, nil)
}

// Rebuild makes the texts again rather than keep them, since a search does not need them.
func (x *embeddingIndex) Rebuild(ctx context.Context, docs []Document) (Searcher, error) {
	known := make(map[string][]float32, len(x.docs))
	for i := range x.docs {
		known[embeddingText(&x.docs[i])] = x.vectors[i]
	}
	return x.options.index(ctx, docs, known)
}

// index builds a searcher. known are vectors of texts.
func (o EmbeddingOptions) index(ctx context.Context, docs []Document, known map[string][]float32) (Searcher, error) {
	if foreign.IsNil(o.Embedder) {
		return nil, errors.New("toolsearch: EmbeddingOptions.Embedder is nil")
	}
	if !foreign.IsNil(o.Store) && o.Model == "" {
		return nil, errors.New("toolsearch: EmbeddingOptions.Model must name the model, since its vectors are stored")
	}
	o.MinScore, o.QueryTimeout = max(o.MinScore, 0), cmp.Or(o.QueryTimeout, defaultQueryTimeout)
	x := &embeddingIndex{
		options: o, docs: docs, vectors: make([][]float32, len(docs)),
		gate:   make(foreign.Gate, maxEmbedderQueries),
		recent: docset.NewRecent[string, []float32](cmp.Or(o.QueryCache, defaultQueryCache), func(a, b string) bool { return a == b }),
	}
	texts := make([]string, len(docs))
	for i := range docs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		texts[i] = embeddingText(&docs[i])
	}
	all, err := vectors.Options{
		Embedder: o.Embedder, BatchSize: cmp.Or(max(o.BatchSize, 0), defaultEmbeddingBatch),
		Concurrency: cmp.Or(max(o.Concurrency, 0), defaultEmbeddingConcurrency),
		Progress:    o.Progress, Store: o.Store, OnStoreError: o.OnStoreError, Model: o.Model,
	}.Make(ctx, texts, known)
	if err != nil {
		return nil, err
	}
	for i, text := range texts {
		x.vectors[i] = all[text]
		x.dimensions = max(x.dimensions, len(all[text]))
	}
	return x, nil
}

// embeddingText is the text that is embedded for a tool. The general comes before the particular, because models give
// the beginning more weight and texts are cut at the end.
func embeddingText(doc *Document) string {
	var b strings.Builder
	add := func(separator, text string) {
		text = strings.TrimSpace(text)
		if text == "" || b.Len() > maxEmbeddingText*4 {
			return
		}
		if b.Len() > 0 {
			b.WriteString(separator)
		}
		b.WriteString(strings.ToValidUTF8(naming.Cut(text, maxEmbeddingText*4), " "))
	}
	words := func(name string) string {
		return strings.Join(naming.Parts(naming.FoldSeparators(naming.Cut(name, naming.MaxBytes))), " ")
	}
	add("", words(doc.Name))
	add(". ", doc.Description)
	add(". ", doc.Hint)
	for _, alias := range append(slices.Clip(doc.Aliases), doc.Original) {
		add(". ", words(alias))
	}
	add(". ", strings.Join(doc.Tags, ", "))
	separator := ". "
	for i := range doc.Parameters {
		add(separator, words(doc.Parameters[i].Name))
		separator = ", "
	}
	return strings.TrimSpace(naming.CutRunes(b.String(), maxEmbeddingText))
}

func (x *embeddingIndex) String() string { return "Embedding" }

func (x *embeddingIndex) Search(ctx context.Context, q Query) (Hits, error) {
	vector, err := x.queryVector(ctx, q)
	if vector == nil || err != nil {
		return Hits{}, err
	}
	return rank(ctx, &q, nil, len(x.docs), x.options.MinScore, func(doc int) float64 {
		return float64(vectors.Dot(x.vectors[doc], vector)) // 0 for a tool without a text, whose vector has no numbers
	})
}

func (x *embeddingIndex) queryVector(ctx context.Context, q Query) ([]float32, error) {
	text := strings.TrimSpace(strings.ToValidUTF8(naming.CutRunes(q.text(), maxEmbeddingText), " "))
	if err := ctx.Err(); err != nil || text == "" || x.dimensions == 0 {
		return nil, err
	}
	return x.recent.Of(ctx, text, func(ctx context.Context) ([]float32, error) { return x.embed(ctx, text) })
}

func (x *embeddingIndex) embed(ctx context.Context, text string) ([]float32, error) {
	timed, cancel := foreign.WithTimeout(ctx, x.options.QueryTimeout)
	defer cancel()
	answers, err := vectors.Embed(timed, x.gate, x.options.Embedder, []string{text})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case timed.Err() != nil && errors.Is(err, timed.Err()):
		return nil, fmt.Errorf("toolsearch: embedding the query: no answer within %v: %w", x.options.QueryTimeout, err)
	case err != nil:
		return nil, fmt.Errorf("toolsearch: embedding the query: %w", err)
	case len(answers[0]) != x.dimensions:
		return nil, fmt.Errorf("toolsearch: embedding the query: %d dimensions, but the tools have %d: "+
			"did another model embed the tools?", len(answers[0]), x.dimensions)
	}
	return answers[0], nil
}

// Explain implements Explainer. It calls the Embedder unless the query is a recent one.
func (x *embeddingIndex) Explain(ctx context.Context, q Query, doc int) (Explanation, error) {
	if doc < 0 || doc >= len(x.docs) {
		return Explanation{}, fmt.Errorf("toolsearch: no document %d", doc)
	}
	vector, err := x.queryVector(ctx, q)
	if vector == nil || err != nil {
		return Explanation{}, err
	}
	cosine, floor := float64(vectors.Dot(x.vectors[doc], vector)), x.options.MinScore
	part := Contribution{Term: q.text(), Detail: fmt.Sprintf("the cosine, %.4f, is not above %g", cosine, floor)}
	if cosine > floor {
		part.Score, part.Detail = cosine, "cosine of the query's and the tool's vectors"
	}
	return Explanation{Score: part.Score, Parts: []Contribution{part}}, nil
}

// Stores: where vectors are kept from one process to the next.

// A VectorStore keeps vectors under keys, which are made of the text and of EmbeddingOptions.Model: the vector under
// a key never changes. One store may serve any number of catalogs and models. One build calls it from one goroutine
// at a time, for at most 1000 keys. A store that several catalogs share must be safe for concurrent use.
//
// A store may put off writing until the build ends. If it also has a method Flush() error, the build calls Flush once
// after the last Save, even if the build fails.
type VectorStore interface {
	// Load returns the vector under each key, in the order of the keys, or nil where there is none.
	Load(ctx context.Context, keys []string) ([][]float32, error)

	// Save keeps a vector under each key. It must not change or keep the slices.
	Save(ctx context.Context, keys []string, vectors [][]float32) error
}

// NewFileStore returns a VectorStore in the file at path. It is safe for concurrent use, and has a method Flush()
// error. The first write makes the file and its folder, readable by their owner only. A file that is damaged or of
// another format is an error, and stays as it is.
//
// maxBytes is how large the file may grow. Zero means 256 MiB, which is 125,000 vectors of 512 dimensions. A larger
// file is an error. If it would become larger, only the newest vectors that fit into half of maxBytes are kept.
//
// The store holds the file's vectors in memory from the first Load or Save until Flush. A build calls Flush when it
// ends, and so must a program that calls Save itself. Every Save writes a file of up to 1 MiB. A larger file is
// written when an eighth of it is new. A crash leaves either the old file or the new one. If two processes write the
// file at the same time, the vectors that one of them added may have to be embedded again.
func NewFileStore(path string, maxBytes int64) VectorStore {
	return &vectors.File{Path: path, MaxBytes: cmp.Or(max(maxBytes, 0), defaultStoreSize)}
}
