package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/cloudwego/eino/components/embedding"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// How a catalog's texts become vectors. The vectors of the catalog before are taken first, then
// those of the store. The embedder makes the missing vectors in batches. They are saved batch by batch in the order of the texts, so
// an interrupted build continues where it stopped.

// A VectorStore keeps vectors under keys. A key is made of the text and of
// EmbeddingOptions.Model, so the vector under a key never changes. One store may serve any
// number of catalogs and models.
//
// One build calls its store from one goroutine at a time. A store that several catalogs
// share must be safe for concurrent use. One call has at most 1000 keys.
//
// A store may put off writing until the build ends. If it also has a method Flush() error,
// the build calls Flush once after the last Save, even if the build fails.
type VectorStore interface {
	// Load returns the vector under each key, in the order of the keys. A vector is nil if
	// the store does not have it.
	Load(ctx context.Context, keys []string) ([][]float32, error)

	// Save keeps a vector under each key. It must not change or keep the slices.
	Save(ctx context.Context, keys []string, vectors [][]float32) error
}

const storeBatch = 1000 // keys in one call of a store

// vectorKey is 64 hexadecimal digits. The lengths keep the model and the text apart.
func vectorKey(model, text string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "toolsearch vector 1 %d %d %s%s", len(model), len(text), model, text))
	return hex.EncodeToString(sum[:])
}

// vectorBuild is one build of a matrix.
type vectorBuild struct {
	EmbeddingOptions
	texts   []string
	known   map[string][]float32 // by text
	keys    []string             // of the texts that are not known; nil means no store
	vectors [][]float32
	missing []int   // texts without a vector, ascending
	batches [][]int // of missing

	mu       sync.Mutex
	done     int          // texts
	finished map[int]bool // finished batches that wait for an earlier one to be reported
	next     int          // batch to report
}

// errDimensions means that the known or the store's vectors are of another model than the
// embedder's.
var errDimensions = errors.New("vectors of different dimensions")

// vectors returns one vector for each text, scaled to length 1. It does not change the known
// vectors, which are some of those.
func (o EmbeddingOptions) vectors(ctx context.Context, texts []string, known map[string][]float32) ([][]float32, error) {
	b := &vectorBuild{EmbeddingOptions: o, texts: texts, known: known}
	if foreign.IsNil(o.Store) {
		b.Store = nil
	}
	err := b.build(ctx)
	b.flush()
	if errors.Is(err, errDimensions) && known != nil {
		return o.vectors(ctx, texts, nil)
	}
	if errors.Is(err, errDimensions) && b.Store != nil { // begin again without the store
		b.storeFailed(fmt.Errorf("%w in the store and from the embedder: is Model still %q?", errDimensions, o.Model))
		b = &vectorBuild{EmbeddingOptions: b.EmbeddingOptions, texts: texts}
		b.Store = nil
		err = b.build(ctx)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return b.vectors, nil
}

func (b *vectorBuild) build(ctx context.Context) error {
	b.vectors = make([][]float32, len(b.texts))
	for i, text := range b.texts {
		b.vectors[i] = b.known[text]
	}
	b.load(ctx)
	b.missing = b.without()
	b.done = len(b.texts) - len(b.missing)
	b.progress()
	if err := b.embedMissing(ctx); err != nil {
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
func (b *vectorBuild) without() (texts []int) {
	for i, v := range b.vectors {
		if v == nil {
			texts = append(texts, i)
		}
	}
	return texts
}

// load takes vectors from the store. An invalid vector counts as missing.
func (b *vectorBuild) load(ctx context.Context) {
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
				b.vectors[texts[i]] = normalized(v)
			}
		}
	}
}

func (b *vectorBuild) storeFailed(err error) {
	b.Store = nil
	if b.OnStoreError != nil {
		b.OnStoreError(fmt.Errorf("toolsearch: the vector store: %w", err))
	}
}

// flush tells the store that the build has ended.
func (b *vectorBuild) flush() {
	store, ok := b.Store.(interface{ Flush() error })
	if !ok {
		return
	}
	if _, err := foreign.Guard(func() (bool, error) { return true, store.Flush() }); err != nil {
		b.storeFailed(fmt.Errorf("saving vectors: %w", err))
	}
}

func (b *vectorBuild) progress() {
	if b.Progress != nil {
		b.Progress(b.done, len(b.texts))
	}
}

// embedMissing embeds the missing texts. The first batch that fails stops the others.
func (b *vectorBuild) embedMissing(ctx context.Context) error {
	b.finished = make(map[int]bool)
	b.batches = slices.Collect(slices.Chunk(b.missing, positive(b.BatchSize, defaultEmbeddingBatch)))
	return foreign.InParallel(ctx, positive(b.Concurrency, defaultEmbeddingConcurrency), len(b.batches), b.embedBatch)
}

// positive returns n if n is positive, and otherwise the default.
func positive(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}

func (b *vectorBuild) embedBatch(ctx context.Context, batch int) error {
	missing := b.batches[batch]
	texts := make([]string, len(missing))
	for i, text := range missing {
		texts[i] = b.texts[text]
	}
	vectors, err := embed(ctx, make(foreign.Gate, 1), b.Embedder, texts)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("toolsearch: embedding %d tools, the first of them %q: %w", len(texts), naming.Cut(texts[0], 60), err)
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

func (b *vectorBuild) save(ctx context.Context, texts []int) {
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

// embed gets the vectors of texts from an Embedder, checks them and scales them to length 1.
func embed(ctx context.Context, g foreign.Gate, e embedding.Embedder, texts []string) ([][]float32, error) {
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
		if vectors[i] = normalized(answer); vectors[i] == nil {
			return nil, fmt.Errorf("the vector of %q has no direction: empty, zero, or with numbers that are none", naming.Cut(texts[i], 60))
		}
	}
	return vectors, nil
}

// normalized scales a vector to length 1. It returns nil if the vector has no direction.
// The division by the largest number keeps the squares from overflowing.
func normalized[F float32 | float64](v []F) []float32 {
	largest, sum := 0.0, 0.0
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil
		}
		largest = max(largest, math.Abs(float64(x)))
	}
	if largest == 0 {
		return nil
	}
	for _, x := range v {
		scaled := float64(x) / largest
		sum += float64(scaled * scaled)
	}
	length := math.Sqrt(sum)
	unit := make([]float32, len(v))
	for i, x := range v {
		unit[i] = float32(float64(x) / largest / length)
	}
	return unit
}

// dot sums up in four lanes, which the processor works on at once. The conversions make
// every machine round alike.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += float32(a[i] * b[i])
		s1 += float32(a[i+1] * b[i+1])
		s2 += float32(a[i+2] * b[i+2])
		s3 += float32(a[i+3] * b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += float32(a[i] * b[i])
	}
	return (s0 + s1) + (s2 + s3)
}
