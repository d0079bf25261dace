package vectors

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cloudwego/eino/components/embedding"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// How texts become vectors: from the known vectors, then the store, then the embedder, in batches. Every batch is
// saved at once, so an interrupted build continues where it stopped.

const storeBatch = 1000 // keys in one call of a store

// Options are what Make needs. search.EmbeddingOptions describes the fields.
type Options struct {
	Embedder     embedding.Embedder
	BatchSize    int // texts in one call of the Embedder; more than 0
	Concurrency  int // calls of the Embedder; more than 0
	Progress     func(done, total int)
	Store        Store // nil means none
	OnStoreError func(err error)
	Model        string
}

// A Store keeps vectors under keys. search.VectorStore describes it.
type Store interface {
	Load(ctx context.Context, keys []string) ([][]float32, error)
	Save(ctx context.Context, keys []string, vectors [][]float32) error
}

// build is one build of vectors.
type build struct {
	Options
	mu      sync.Mutex
	vectors map[string][]float32 // by text
	total   int                  // texts
}

// errDimensions means that the known or the stored vectors come from a model other than the embedder's.
var errDimensions = errors.New("vectors of different dimensions")

// Make returns the vectors of texts, scaled to length 1; an empty text gets none. It does not change known vectors.
func (o Options) Make(ctx context.Context, texts []string, known map[string][]float32) (map[string][]float32, error) {
	b := &build{Options: o, vectors: make(map[string][]float32)}
	if foreign.IsNil(o.Store) {
		b.Store = nil
	}
	if o.Progress == nil {
		b.Progress = func(done, total int) {}
	}
	err := b.run(ctx, texts, known)
	if store, ok := b.Store.(interface{ Flush() error }); ok {
		b.saved(store.Flush)
	}
	if errors.Is(err, errDimensions) && (known != nil || b.Store != nil) { // start again without them
		if known == nil {
			b.storeFailed(fmt.Errorf("%w in the store and from the embedder: is Model still %q?", errDimensions, o.Model))
		}
		return b.Make(ctx, texts, nil)
	}
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, err
	}
	return b.vectors, nil
}

func (b *build) run(ctx context.Context, texts []string, known map[string][]float32) error {
	seen := make(map[string]bool)
	var missing []string
	for _, text := range texts {
		if text == "" || seen[text] {
			continue
		}
		seen[text] = true
		if v := known[text]; v != nil {
			b.vectors[text] = v
		} else {
			missing = append(missing, text)
		}
	}
	b.total = len(seen)
	b.load(ctx, missing)
	missing = slices.DeleteFunc(missing, func(text string) bool { return b.vectors[text] != nil })
	b.Progress(len(b.vectors), b.total)
	batches := slices.Collect(slices.Chunk(missing, b.BatchSize))
	// The first failure stops the others.
	err := foreign.InParallel(ctx, b.Concurrency, len(batches), func(ctx context.Context, i int) error { return b.embed(ctx, batches[i]) })
	if err != nil {
		return err
	}
	dimensions := 0
	for _, v := range b.vectors {
		if dimensions = cmp.Or(dimensions, len(v)); len(v) != dimensions {
			return errDimensions
		}
	}
	return nil
}

// keys returns the keys of texts, of 64 hexadecimal digits. The lengths keep the model and the text apart.
func (b *build) keys(texts []string) []string {
	keys := make([]string, len(texts))
	for i, text := range texts {
		key := fmt.Appendf(nil, "toolsearch vector 1 %d %d %s%s", len(b.Model), len(text), b.Model, text)
		keys[i] = fmt.Sprintf("%x", sha256.Sum256(key))
	}
	return keys
}

// load reads vectors from the store. An invalid vector counts as missing.
func (b *build) load(ctx context.Context, missing []string) {
	for texts := range slices.Chunk(missing, storeBatch) {
		if b.Store == nil || ctx.Err() != nil {
			return
		}
		loaded, err := foreign.Guard(func() ([][]float32, error) { return b.Store.Load(ctx, b.keys(texts)) })
		if err == nil && len(loaded) != len(texts) {
			err = fmt.Errorf("%d vectors for %d keys", len(loaded), len(texts))
		}
		if err != nil {
			b.storeFailed(fmt.Errorf("loading vectors: %w", err))
			return
		}
		for i, v := range loaded {
			if unit := Normalized(v); unit != nil && len(unit) <= maxDimensions {
				b.vectors[texts[i]] = unit
			}
		}
	}
}

func (b *build) storeFailed(err error) {
	b.Store = nil
	if b.OnStoreError != nil {
		b.OnStoreError(fmt.Errorf("toolsearch: the vector store: %w", err))
	}
}

func (b *build) saved(save func() error) {
	if _, err := foreign.Guard(func() (bool, error) { return true, save() }); err != nil {
		b.storeFailed(fmt.Errorf("saving vectors: %w", err))
	}
}

func (b *build) embed(ctx context.Context, texts []string) error {
	vectors, err := Embed(ctx, make(foreign.Gate, 1), b.Embedder, texts)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("toolsearch: embedding %d texts, the first of them %q: %w", len(texts), naming.Cut(texts[0], 60), err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, text := range texts {
		b.vectors[text] = vectors[i]
	}
	if b.Store != nil {
		b.saved(func() error {
			if err := b.Store.Save(ctx, b.keys(texts), vectors); ctx.Err() == nil {
				return err
			}
			return nil
		})
	}
	b.Progress(len(b.vectors), b.total)
	return nil
}

// Embed gets the vectors of texts from an Embedder, checks them and scales them to length 1.
func Embed(ctx context.Context, g foreign.Gate, e embedding.Embedder, texts []string) ([][]float32, error) {
	answers, err := foreign.Through(ctx, g, func(ctx context.Context) ([][]float64, error) { return e.EmbedStrings(ctx, texts) })
	if err != nil {
		return nil, err
	}
	if len(answers) != len(texts) {
		return nil, fmt.Errorf("the embedder returned %d vectors for %d texts", len(answers), len(texts))
	}
	vectors := make([][]float32, len(answers))
	for i, answer := range answers {
		if len(answer) > maxDimensions {
			return nil, fmt.Errorf("vector %d has %d dimensions, more than %d", i, len(answer), maxDimensions)
		}
		if len(answer) != len(answers[0]) {
			return nil, fmt.Errorf("the embedder returned vectors of %d and of %d dimensions", len(answers[0]), len(answer))
		}
		if vectors[i] = Normalized(answer); vectors[i] == nil {
			return nil, fmt.Errorf("the vector of %q has no direction: it is empty or zero, or has a NaN or an infinity", naming.Cut(texts[i], 60))
		}
	}
	return vectors, nil
}
