package vectors

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cloudwego/eino/components/embedding"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// How texts become vectors. Known vectors are taken first, then the store's vectors. The embedder
// makes the missing vectors in batches. They are saved batch by batch in the order of the texts, so
// an interrupted build continues where it stopped.

const storeBatch = 1000 // keys in one call of a store

// vectorKey is 64 hexadecimal digits. The lengths keep the model and the text apart.
func vectorKey(model, text string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "toolsearch vector 1 %d %d %s%s", len(model), len(text), model, text))
	return hex.EncodeToString(sum[:])
}

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

// build is one build of a matrix.
type build struct {
	Options
	texts   []string
	known   map[string][]float32 // by text
	keys    []string             // of the texts that are not known; nil means no store
	vectors [][]float32
	batches [][]int // of the texts without a vector, ascending

	mu       sync.Mutex
	done     int          // texts
	finished map[int]bool // finished batches that wait for an earlier one to be reported
	next     int          // batch to report
}

// errDimensions means that the known or the stored vectors come from a model other than
// the embedder's.
var errDimensions = errors.New("vectors of different dimensions")

// Make returns one vector for each text, scaled to length 1. The result may contain known
// vectors, which Make does not change.
func (o Options) Make(ctx context.Context, texts []string, known map[string][]float32) ([][]float32, error) {
	b := &build{Options: o, texts: texts, known: known}
	if foreign.IsNil(o.Store) {
		b.Store = nil
	}
	err := b.run(ctx)
	b.flush()
	if errors.Is(err, errDimensions) && known != nil {
		return o.Make(ctx, texts, nil)
	}
	if errors.Is(err, errDimensions) && b.Store != nil { // start again without the store
		b.storeFailed(fmt.Errorf("%w in the store and from the embedder: is Model still %q?", errDimensions, o.Model))
		return b.Make(ctx, texts, nil)
	}
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, err
	}
	return b.vectors, nil
}

func (b *build) run(ctx context.Context) error {
	b.vectors = make([][]float32, len(b.texts))
	for i, text := range b.texts {
		b.vectors[i] = b.known[text]
	}
	b.load(ctx)
	missing := b.without()
	b.batches, b.finished = slices.Collect(slices.Chunk(missing, b.BatchSize)), make(map[int]bool)
	b.done = len(b.texts) - len(missing)
	b.progress()
	if err := foreign.InParallel(ctx, b.Concurrency, len(b.batches), b.embedBatch); err != nil { // the first failure stops the others
		return err
	}
	for _, v := range b.vectors {
		if len(v) != len(b.vectors[0]) {
			return errDimensions
		}
	}
	return nil
}

// without returns the texts without a vector.
func (b *build) without() (texts []int) {
	for i, v := range b.vectors {
		if v == nil {
			texts = append(texts, i)
		}
	}
	return texts
}

// Load takes vectors from the store. An invalid vector counts as missing.
func (b *build) load(ctx context.Context) {
	if b.Store == nil {
		return
	}
	b.keys = make([]string, len(b.texts))
	for texts := range slices.Chunk(b.without(), storeBatch) {
		if ctx.Err() != nil {
			return
		}
		keys := make([]string, len(texts))
		for i, text := range texts {
			keys[i] = vectorKey(b.Model, b.texts[text])
			b.keys[text] = keys[i]
		}
		loaded, err := foreign.Guard(func() ([][]float32, error) { return b.Store.Load(ctx, keys) })
		if err == nil && len(loaded) != len(keys) {
			err = fmt.Errorf("%d vectors for %d keys", len(loaded), len(keys))
		}
		if err != nil {
			b.storeFailed(fmt.Errorf("loading vectors: %w", err))
			return
		}
		for i, v := range loaded {
			if len(v) <= maxDimensions {
				b.vectors[texts[i]] = Normalized(v)
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

// Flush tells the store that the build has ended.
func (b *build) flush() {
	store, ok := b.Store.(interface{ Flush() error })
	if !ok {
		return
	}
	if _, err := foreign.Guard(func() (bool, error) { return true, store.Flush() }); err != nil {
		b.storeFailed(fmt.Errorf("saving vectors: %w", err))
	}
}

func (b *build) progress() {
	if b.Progress != nil {
		b.Progress(b.done, len(b.texts))
	}
}

func (b *build) embedBatch(ctx context.Context, batch int) error {
	missing := b.batches[batch]
	texts := make([]string, len(missing))
	for i, text := range missing {
		texts[i] = b.texts[text]
	}
	vectors, err := Embed(ctx, make(foreign.Gate, 1), b.Embedder, texts)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("toolsearch: embedding %d texts, the first of them %q: %w", len(texts), naming.Cut(texts[0], 60), err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, text := range missing {
		b.vectors[text] = vectors[i]
	}
	b.finished[batch] = true
	for ; b.finished[b.next]; b.next++ {
		delete(b.finished, b.next)
		b.save(ctx, b.batches[b.next])
		b.done += len(b.batches[b.next])
		b.progress()
	}
	return nil
}

func (b *build) save(ctx context.Context, texts []int) {
	if b.Store == nil || ctx.Err() != nil {
		return
	}
	keys, vectors := make([]string, len(texts)), make([][]float32, len(texts))
	for i, text := range texts {
		keys[i], vectors[i] = b.keys[text], b.vectors[text]
	}
	_, err := foreign.Guard(func() (bool, error) { return true, b.Store.Save(ctx, keys, vectors) })
	if err != nil && ctx.Err() == nil {
		b.storeFailed(fmt.Errorf("saving vectors: %w", err))
	}
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
