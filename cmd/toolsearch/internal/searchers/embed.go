package searchers

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cloudwego/eino/components/embedding"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/vectors"
	"github.com/eino-toolsearch/toolsearch/search"
)

// The searchers embedding and hybrid. Their vectors come from the endpoint of -embed and -model,
// which takes POST /embeddings as OpenAI's does. The vectors of tools and of queries are kept in the user's cache
// folder, a file for each pair of URL and model.

const (
	embedKey     = "TOOLSEARCH_EMBED_KEY" // the variable of the environment with the key
	embedTimeout = 30 * time.Second       // of an attempt
	maxFile      = 256 << 20              // bytes of vectors that are kept
)

func needsEndpoint(searcher string) bool { return searcher == "embedding" || searcher == "hybrid" }

// Indexer returns the searcher of a name. It is the place for whatever a searcher needs
// besides its name.
func (c *Choice) Indexer(name string) search.Indexer {
	var names []string
	for _, s := range Menu {
		if s.Name == name && s.Index != nil {
			return s.Index
		}
		names = append(names, s.Name)
	}
	if !needsEndpoint(name) {
		cli.Check(&cli.UsageError{Text: fmt.Sprintf("no searcher %q; %s", name, cli.Near(name, names))})
	}
	c.openEndpoint(name)
	options := search.EmbeddingOptions{
		Embedder: c.endpoint, QueryTimeout: c.endpoint.Longest(),
		Progress: func(done, total int) { c.Step("embedding the tools", done, total) },
	}
	if name == "embedding" {
		return options.Index
	}
	return search.HybridOptions{
		Parts: []search.Indexer{search.BM25, options.Index}, Timeout: options.QueryTimeout,
	}.Index
}

// openEndpoint makes c.endpoint of -embed and -model.
func (c *Choice) openEndpoint(searcher string) {
	if c.endpoint != nil {
		return
	}
	if c.embed == "" || c.model == "" {
		c.WrongUsage("-searcher %s needs -embed URL and -model NAME", searcher)
	}
	at, err := cli.NewEndpoint(c.embed, "embeddings", embedKey, embedTimeout)
	if err != nil {
		c.WrongUsage("-embed: %v", err)
	}
	c.endpoint = &endpoint{Endpoint: at, model: c.model, stderr: c.Stderr}
	folder, err := os.UserCacheDir()
	sum := sha256.Sum256([]byte(c.endpoint.name()))
	c.endpoint.file = &vectors.File{Path: filepath.Join(folder, "toolsearch", fmt.Sprintf("vectors-%x", sum[:8])), MaxBytes: maxFile}
	c.endpoint.store = struct{ vectors.Store }{c.endpoint.file}
	c.endpoint.forget(err)
}

// Queries reads a file of queries, if there is one, and gets their vectors.
func (c *Choice) Queries(ctx context.Context, path string) []eval.Query {
	if path == "" {
		return nil
	}
	file, data := c.ReadFile(ctx, path)
	queries := cli.Await(ctx, c.Call, "reading "+file, func() ([]eval.Query, error) { return eval.ReadQueries(bytes.NewReader(data), file) })
	c.EmbedQueries(ctx, queries)
	return queries
}

// EmbedQueries gets the vectors of queries in batches, before each of them is searched for. It
// does nothing for searchers without vectors.
func (c *Choice) EmbedQueries(ctx context.Context, queries []eval.Query) {
	if c.endpoint == nil {
		return
	}
	const step = "embedding the queries"
	defer c.Waiting(step)()
	// The index of tools that have the queries as their descriptions embeds just these texts.
	docs := make([]search.Document, len(queries))
	for i, query := range queries {
		docs[i].Description = search.ParseQuery(query.Text).Text
	}
	_, err := search.EmbeddingOptions{
		Embedder: c.endpoint,
		Progress: func(done, total int) { c.Step(step, done, total) },
	}.Index(ctx, docs)
	if err != nil {
		cli.Check(fmt.Errorf("%s: %w", step, err))
	}
}

// VectorFailure returns the first failure of the endpoint. A catalog whose searcher fails answers by
// keywords, and a measurement must not take that for the searcher's answer.
func (c *Choice) VectorFailure() error {
	if c.endpoint == nil {
		return nil
	}
	c.endpoint.mu.Lock()
	defer c.endpoint.mu.Unlock()
	return c.endpoint.failed
}

// An endpoint is an Embedder that remembers: package vectors asks it only for texts that store does not have.
type endpoint struct {
	*cli.Endpoint
	model  string
	file   *vectors.File
	stderr io.Writer

	mu     sync.Mutex
	store  vectors.Store // file without its Flush, which frees the memory; nil after it failed
	length int           // of the vectors so far; 0 means that there are none
	failed error         // the first failure
}

// EmbedStrings implements embedding.Embedder.
func (e *endpoint) EmbedStrings(ctx context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	answer, err := e.embed(ctx, texts)
	if err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.failed = cmp.Or(e.failed, err)
	}
	return answer, err
}

func (e *endpoint) embed(ctx context.Context, texts []string) ([][]float64, error) {
	e.mu.Lock()
	options := vectors.Options{
		Embedder: asked(e.ask), BatchSize: len(texts), Concurrency: 1,
		Store: e.store, Model: e.name(),
		OnStoreError: func(err error) {
			if ctx.Err() == nil {
				e.forget(err)
			}
		},
	}
	e.mu.Unlock()
	made, err := options.Make(ctx, texts, nil)
	if err != nil {
		return nil, cmp.Or(errors.Unwrap(err), err) // whoever needs the vectors says for which texts, too
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	answer := make([][]float64, len(texts))
	for i, text := range texts {
		vector := made[text]
		if e.length = cmp.Or(e.length, len(vector)); len(vector) != e.length {
			return nil, fmt.Errorf("%s: vectors of %d numbers, but those before had %d; if the model has changed, remove %s",
				e.URL.Host, len(vector), e.length, e.file.Path)
		}
		answer[i] = cli.Each(vector, func(x float32) float64 { return float64(x) })
	}
	return answer, nil
}

// name tells the vectors of this endpoint and model from those of others.
func (e *endpoint) name() string { return fmt.Sprintf("%q %q", e.URL, e.model) }

// forget gives the store up if it has failed.
func (e *endpoint) forget(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.store = nil
		fmt.Fprintf(e.stderr, "Vectors are not kept: %s\n", cli.OneLine(err.Error(), 300))
	}
}

// asked is an Embedder that remembers nothing.
type asked func(ctx context.Context, texts []string) ([][]float64, error)

func (f asked) EmbedStrings(ctx context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	return f(ctx, texts)
}

// ask asks the endpoint for vectors.
func (e *endpoint) ask(ctx context.Context, texts []string) (list [][]float64, err error) {
	asked := map[string]any{"model": e.model, "input": texts, "encoding_format": "float"}
	err = e.Post(ctx, asked, func(answer []byte) error {
		list, err = readVectors(answer, len(texts))
		return err
	})
	return list, err
}

// readVectors reads the answer for a number of texts.
func readVectors(answer []byte, texts int) ([][]float64, error) {
	var read struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float64 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &read); err != nil {
		return nil, fmt.Errorf("want a list of embeddings, not %q", cli.OneLine(string(answer[:min(len(answer), 400)]), 80))
	}
	if len(read.Data) != texts {
		return nil, fmt.Errorf("%s for %s", cli.Plural(len(read.Data), "vector"), cli.Plural(texts, "text"))
	}
	list := make([][]float64, texts)
	for i, d := range read.Data {
		if d.Index != nil {
			i = *d.Index
		}
		if i < 0 || i >= texts || list[i] != nil {
			return nil, fmt.Errorf("no vector, or two, for a text: index %d of %s", i, cli.Plural(texts, "text"))
		}
		list[i] = d.Embedding
	}
	return list, nil
}
